"""Pictures of features show the features: tested on what matplotlib was told to draw."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from madbayes.plots import plot_features, plot_reconstructions

SHAPE = (4, 5)


class Nearest(BaseEstimator):
    """Features given beforehand; a row has those whose sum is nearest to it."""

    def __init__(self, components=None):
        self.components = components

    def fit(self, X, y=None):
        self.components_ = np.asarray(self.components, dtype=float)
        self.allocation_ = self.transform(X)
        return self

    def transform(self, X):
        self.seen_ = type(X)
        codes = np.arange(2 ** len(self.components_))
        every = (codes[:, None] >> np.arange(len(self.components_)) & 1).astype(bool)
        distances = ((np.asarray(X)[:, None, :] - every @ self.components_) ** 2).sum(axis=2)
        return every[distances.argmin(axis=1)]

    def inverse_transform(self, Z):
        return Z @ self.components_


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def features(n_columns, k=3):
    return np.random.default_rng(0).normal(size=(k, n_columns))


def fitted(n_columns):
    Z = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    components = features(n_columns)
    X = Z @ components + 0.001
    return Nearest(components).fit(X), X, Z


def drawn(ax):
    (image,) = ax.get_images()
    return np.asarray(image.get_array())


def test_grey_features_are_drawn_in_units_of_their_largest_entry():
    components = features(20)
    axes = plot_features(components, shape=SHAPE)
    assert axes.shape == (3,)
    for ax, component in zip(axes, components, strict=True):
        largest = np.abs(component).max()
        np.testing.assert_allclose(drawn(ax), component.reshape(SHAPE) / largest, rtol=1e-12)
        (image,) = ax.get_images()
        assert image.get_clim() == (-1, 1)
        red, _, blue, _ = image.to_rgba(np.array([[1.0]]))[0, 0]
        assert red > 0.3 > blue, "what is added is red"
        assert ax.get_xlabel() == f"largest {largest:.3g}"


def test_one_channel_may_be_named():
    components = features(20)
    for one, other in zip(
        plot_features(components, shape=SHAPE), plot_features(components, shape=(4, 5, 1)), strict=True
    ):
        np.testing.assert_array_equal(drawn(one), drawn(other))


def test_colour_features_have_what_they_add_above_what_they_take_away():
    components = features(60)
    axes = plot_features(components, shape=(4, 5, 3))
    assert axes.shape == (2, 3)
    for k, component in enumerate(components):
        picture = component.reshape(4, 5, 3) / np.abs(component).max()
        np.testing.assert_allclose(drawn(axes[0, k]), np.maximum(picture, 0), rtol=1e-12)
        np.testing.assert_allclose(drawn(axes[1, k]), np.maximum(-picture, 0), rtol=1e-12)
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["adds", "takes away"]


def test_titles_count_the_rows_of_each_feature():
    estimator, _, _ = fitted(20)
    assert [ax.get_title() for ax in plot_features(estimator, shape=SHAPE)] == [
        "feature 0: 3 rows",
        "feature 1: 3 rows",
        "feature 2: 2 rows",
    ]
    estimator.allocation_[1, 2] = False
    assert plot_features(estimator, shape=SHAPE)[2].get_title() == "feature 2: 1 row"


def test_a_feature_of_nothing_is_drawn_as_nothing():
    (ax,) = plot_features(np.zeros((1, 20)), shape=SHAPE)
    assert not drawn(ax).any()
    assert ax.get_xlabel() == "largest 0"


def test_no_features_make_an_empty_figure_that_says_so():
    assert plot_features(np.zeros((0, 60)), shape=(4, 5, 3)).shape == (2, 0)
    assert pyplot.gcf().get_suptitle() == "no features"


def test_more_than_eight_features_go_on_in_the_next_lines():
    axes = plot_features(features(60, k=10), shape=(4, 5, 3))
    assert axes.shape == (2, 10)
    places = [[ax.get_subplotspec().rowspan.start for ax in line] for line in axes]
    assert places == [[0] * 8 + [2] * 2, [1] * 8 + [3] * 2]


def test_pictures_are_above_their_reconstructions_with_the_features_they_have():
    estimator, X, Z = fitted(20)
    limits = (X.min(), X.max())
    axes = plot_reconstructions(estimator, X, shape=SHAPE, limits=limits)
    assert axes.shape == (2, 5)

    def bright(row):
        return ((row - limits[0]) / (limits[1] - limits[0])).clip(0, 1).reshape(SHAPE)

    for n in range(5):
        np.testing.assert_allclose(drawn(axes[0, n]), bright(X[n]), atol=1e-12)
        np.testing.assert_allclose(drawn(axes[1, n]), bright(Z[n] @ estimator.components_), atol=1e-12)
    assert [ax.get_xlabel() for ax in axes[1]] == ["0", "1, 2", "0, 1", "none", "0, 1, 2"]
    assert [ax.get_title() for ax in axes[0]] == [f"row {n}" for n in range(5)]


@pytest.mark.parametrize(("rows", "shown"), [(2, [0, 1]), (99, [0, 1, 2, 3, 4]), ([4, 0], [4, 0]), ([], [])])
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_rows_are_the_first_or_those_named(rows, shown, kind):
    estimator, X, _ = fitted(60)
    X = X - X.min()
    axes = plot_reconstructions(estimator, kind(X), shape=(4, 5, 3), rows=rows, limits=(0, X.max()))
    assert axes.shape == (2, len(shown))
    assert estimator.seen_ is type(kind(X)), "a frame keeps its column names"
    for ax, n in zip(axes[0], shown, strict=True):
        np.testing.assert_allclose(drawn(ax), X[n].reshape(4, 5, 3) / X.max(), atol=1e-12)
        assert ax.get_title() == f"row {n}"


@pytest.mark.parametrize(
    ("values", "low", "high"), [([0.1, 0.9], 0, 1), ([0, 200], 0, 255), ([-3, 2], -3, 2), ([-1, -1], -1, 0)]
)
def test_black_and_white_follow_from_the_values(values, low, high):
    X = np.array([values, values], dtype=float)
    axes = plot_reconstructions(Nearest(X[:1]).fit(X), X, shape=(1, 2))
    np.testing.assert_allclose(drawn(axes[0, 0])[0], (X[0] - low) / (high - low))


def test_given_axes_are_drawn_into_and_returned():
    _, given = pyplot.subplots(2, 3)
    returned = plot_features(features(60), shape=(4, 5, 3), axes=given)
    assert (returned == given).all()
    _, line = pyplot.subplots(1, 3)
    assert list(plot_features(features(20), shape=SHAPE, axes=line)) == list(line)
    estimator, X, _ = fitted(20)
    assert (plot_reconstructions(estimator, X, shape=SHAPE, rows=3, axes=given) == given).all()
    assert len(pyplot.get_fignums()) == 2
    with pytest.raises(ValueError, match="axes must be 6 matplotlib Axes, got 3"):
        plot_features(features(60), shape=(4, 5, 3), axes=line)


@pytest.mark.parametrize("shape", [(20,), (4, 5, 2), (4, 5, 1, 1), (4, -5), (4.0, 5.0), ()])
def test_shapes_are_those_of_pictures(shape):
    with pytest.raises(ValueError, match=r"shape must be \(height, width\)"):
        plot_features(features(20), shape=shape)


def test_wrong_arguments_are_named():
    estimator, X, _ = fitted(20)
    with pytest.raises(ValueError, match="components has 20 columns, but pictures of shape 4 x 4 have 16"):
        plot_features(estimator, shape=(4, 4))
    with pytest.raises(ValueError, match="X has 19 columns"):
        plot_reconstructions(estimator, X[:, 1:], shape=SHAPE)
    for wrong in (0, -1, True, 1.5, [5], [-1], [[0]], [0.5], "all"):
        with pytest.raises(ValueError, match="rows must be an integer of at least 1 or an array"):
            plot_reconstructions(estimator, X, shape=SHAPE, rows=wrong)
    with pytest.raises(ValueError, match="limits must be two numbers, the lower first"):
        plot_reconstructions(estimator, X, shape=SHAPE, limits=(1, 1))
    for wrong in (object(), [1.0, 2.0], "features"):
        with pytest.raises(ValueError, match="an array with a row per feature"):
            plot_features(wrong, shape=SHAPE)
    with pytest.raises(NotFittedError):
        plot_features(Nearest(X), shape=SHAPE)
    assert not pyplot.get_fignums(), "a failed picture leaves no empty figure"


def test_without_matplotlib_the_functions_say_what_to_install():
    script = """
import sys
sys.modules["matplotlib"] = None
from madbayes.plots import plot_features
try:
    plot_features([[1.0, 2.0]], shape=(1, 2))
except ImportError as error:
    assert str(error) == "plots need matplotlib: pip install 'madbayes[plots]'", error
else:
    raise AssertionError("drawn without matplotlib")
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
