"""Pictures show the data: tested on what matplotlib was told to draw."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import madbayes
from madbayes import DPMeans, KMeans
from madbayes.plots import MARKERS, PALETTE, plot_clusters, plot_trace
from madbayes.simulate import gaussian_mixture


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture
def data():
    return gaussian_mixture(90, n_clusters=3, separation=8)[0]


@pytest.fixture
def fitted(data):
    return DPMeans(penalty=200).fit(data)


@pytest.fixture
def sampler():
    generator = np.random.default_rng(0)
    return SimpleNamespace(
        burn_in_=10,
        n_clusters_trace_=generator.integers(1, 6, size=(3, 40)),
        log_joint_trace_=generator.normal(size=(3, 40)),
    )


def drawn_rows(ax):
    """Scatters of rows: all but that of the centres and lines."""
    return [c for c in ax.collections if hasattr(c, "get_sizes") and c.get_label() != "centres"]


def drawn_centres(ax):
    return next(c for c in ax.collections if c.get_label() == "centres")


def colours(collection):
    return [to_hex(colour) for colour in collection.get_facecolors()]


def names_at_centres(ax):
    return [text.get_text() for text in ax.texts]


def test_two_columns_are_drawn_as_they_are_with_one_colour_per_cluster(data, fitted):
    ax = plot_clusters(fitted, data)
    (rows,) = drawn_rows(ax)
    np.testing.assert_array_equal(rows.get_offsets(), data)
    assert colours(rows) == [PALETTE[label].lower() for label in fitted.labels_]
    assert len(set(colours(rows))) == 3
    assert ax.get_title() == "3 clusters, 90 rows"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column 1", "column 2")


def test_centres_are_those_of_the_estimator_and_named(data, fitted):
    ax = plot_clusters(fitted, data)
    np.testing.assert_array_equal(drawn_centres(ax).get_offsets(), fitted.cluster_centers_)
    assert names_at_centres(ax) == ["0", "1", "2"]
    np.testing.assert_array_equal([text.xy for text in ax.texts], fitted.cluster_centers_)


def test_centres_of_plain_labels_are_means_and_bear_the_labels(data, fitted):
    labels = np.array(["ant", "bee", "cow"])[fitted.labels_]
    ax = plot_clusters(labels, data)
    means = [data[labels == name].mean(axis=0) for name in ("ant", "bee", "cow")]
    np.testing.assert_allclose(drawn_centres(ax).get_offsets(), means, rtol=1e-12)
    assert names_at_centres(ax) == ["ant", "bee", "cow"]


def test_centres_can_be_left_out(data, fitted):
    ax = plot_clusters(fitted, data, centres=False)
    assert len(ax.collections) == 1
    assert not ax.texts


def test_a_pipeline_is_drawn_in_the_units_of_the_data(data):
    pipeline = make_pipeline(StandardScaler(), KMeans(n_clusters=3)).fit(data)
    labels = pipeline.predict(data)
    means = [data[labels == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(drawn_centres(plot_clusters(pipeline, data)).get_offsets(), means, rtol=1e-12)


def test_a_cluster_keeps_its_colour_on_rows_that_lack_other_clusters(data, fitted):
    only = data[fitted.labels_ == 2]
    (rows,) = drawn_rows(plot_clusters(fitted, only))
    assert set(colours(rows)) == {PALETTE[2].lower()}


def test_new_rows_as_many_as_the_fitted_ones_get_labels_of_their_own(data, fitted):
    backwards = data[::-1]
    (rows,) = drawn_rows(plot_clusters(fitted, backwards))
    assert colours(rows) == [PALETTE[label].lower() for label in fitted.labels_[::-1]]


def test_clusters_beyond_the_palette_differ_by_marker():
    n = len(PALETTE) * 2 + 1
    X = np.column_stack([np.arange(n), np.zeros(n)])
    ax = plot_clusters(np.arange(n), X)
    looks = [
        (colour, tuple(collection.get_paths()[0].vertices.ravel()))
        for collection in drawn_rows(ax)
        for colour in colours(collection)
    ]
    assert len(set(looks)) == n


def test_more_clusters_than_looks_are_still_drawn():
    n = len(PALETTE) * len(MARKERS) + 1
    ax = plot_clusters(np.arange(n), np.column_stack([np.arange(n), np.zeros(n)]))
    assert sum(len(c.get_offsets()) for c in drawn_rows(ax)) == n
    assert names_at_centres(ax) == []


def test_wide_data_are_drawn_by_principal_components_with_their_share_of_variance():
    X = gaussian_mixture(80, n_clusters=3, n_features=5, separation=8)[0]
    fitted = DPMeans(n_clusters=3).fit(X)
    ax = plot_clusters(fitted, X)
    components = PCA(n_components=2).fit(X)
    (rows,) = drawn_rows(ax)
    np.testing.assert_allclose(rows.get_offsets(), components.transform(X), atol=1e-9)
    np.testing.assert_allclose(
        drawn_centres(ax).get_offsets(), components.transform(fitted.cluster_centers_), atol=1e-9
    )
    first, second = 100 * components.explained_variance_ratio_
    assert ax.get_xlabel() == f"first principal component ({first:.0f} % of variance)"
    assert ax.get_ylabel() == f"second principal component ({second:.0f} % of variance)"


def test_wide_rows_that_are_all_equal_have_no_variance_to_share():
    ax = plot_clusters([0, 0, 0], np.ones((3, 4)))
    assert ax.get_xlabel() == "first principal component (0 % of variance)"


def test_one_column_is_drawn_against_the_row_number():
    X = np.array([[0.0], [9.0], [0.2], [9.2]])
    ax = plot_clusters(DPMeans(penalty=1.0).fit(X), X)
    (rows,) = drawn_rows(ax)
    np.testing.assert_array_equal(rows.get_offsets(), [[0, 0.0], [1, 9.0], [2, 0.2], [3, 9.2]])
    np.testing.assert_allclose(np.asarray(drawn_centres(ax).get_offsets())[:, 1], [0.1, 9.1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("row", "column 1")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_name_the_axes(frame, data):
    table = frame({"length": data[:, 0], "width": data[:, 1]})
    ax = plot_clusters(DPMeans(penalty=200).fit(table), table)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")
    ax = plot_clusters(np.zeros(90), table[["width"]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("row", "width")


def test_many_rows_are_thinned_evenly_and_the_title_says_so():
    X = np.column_stack([np.arange(50_001.0), np.zeros(50_001)])
    ax = plot_clusters(np.zeros(50_001, dtype=int), X)
    (rows,) = drawn_rows(ax)
    shown = np.asarray(rows.get_offsets())[:, 0]
    assert len(shown) == 20_000
    assert (shown[0], shown[-1]) == (0, 50_000)
    assert set(np.diff(shown)) == {2, 3}
    assert ax.get_title() == "1 cluster, 50,001 rows (20,000 shown)"
    # The centre is that of all rows, not of those shown.
    np.testing.assert_allclose(drawn_centres(ax).get_offsets(), [[25_000, 0]])


def test_as_many_rows_as_may_be_shown_are_not_thinned(data, fitted):
    assert plot_clusters(fitted, data, max_rows=90).get_title() == "3 clusters, 90 rows"
    assert plot_clusters(fitted, data, max_rows=89).get_title() == "3 clusters, 90 rows (89 shown)"


def test_given_axes_are_drawn_into_and_returned(data, fitted, sampler):
    _, (left, right) = pyplot.subplots(ncols=2)
    assert plot_clusters(fitted, data, ax=left) is left
    assert plot_trace(sampler, ax=right) is right
    assert left.collections
    assert right.lines
    assert len(pyplot.get_fignums()) == 1


def test_without_axes_every_picture_has_a_new_figure(data, fitted):
    assert plot_clusters(fitted, data).figure is not plot_trace(fitted).figure


def test_unfitted_estimators_cannot_be_drawn(data):
    for unfitted in (DPMeans(), KMeans(), make_pipeline(StandardScaler(), DPMeans())):
        with pytest.raises(NotFittedError):
            plot_clusters(unfitted, data)
        with pytest.raises(NotFittedError):
            plot_trace(unfitted)
    assert not pyplot.get_fignums(), "a failed picture leaves no empty figure"


@pytest.mark.parametrize(
    ("labels", "X", "text"),
    [
        ([0, 1], np.zeros((3, 2)), "there are 2 labels but X has 3 rows"),
        ([[0, 1]], np.zeros((1, 2)), "one-dimensional array of labels, got list"),
        (object(), np.zeros((1, 2)), "an estimator with predict .* got object"),
        ([0], np.zeros((1, 3)), "X has 1 row of 3 columns"),
        ([0], np.full((1, 2), np.nan), "NaN"),
    ],
)
def test_wrong_labels_and_rows_are_named(labels, X, text):
    with pytest.raises(ValueError, match=text):
        plot_clusters(labels, X)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True])
def test_max_rows_is_a_count(wrong, data, fitted):
    with pytest.raises(ValueError, match="max_rows must be an integer of at least 1"):
        plot_clusters(fitted, data, max_rows=wrong)


@pytest.mark.parametrize("estimator", [DPMeans(penalty=200), KMeans(n_clusters=3)])
def test_trace_of_a_hard_fit_is_its_objective_after_each_pass(estimator, data):
    estimator.fit(data)
    ax = plot_trace(estimator)
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), estimator.objective_trace_)
    np.testing.assert_array_equal(line.get_xdata(), 1 + np.arange(estimator.n_iter_))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("pass", "objective")


@pytest.mark.parametrize(
    ("what", "name"), [("n_clusters", "number of clusters"), ("log_joint", "log joint probability")]
)
def test_trace_of_a_sampler_has_a_line_per_chain_with_the_burn_in_shaded(what, name, sampler):
    ax = plot_trace(sampler, what=what)
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], getattr(sampler, f"{what}_trace_"))
    assert len({line.get_color() for line in ax.lines}) == 3
    (shade,) = ax.patches
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == (0.5, 10.5)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("sweep", name)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["burn-in", "chain 1", "chain 2", "chain 3"]


def test_trace_of_a_sampler_is_of_the_number_of_clusters_unless_told(sampler):
    assert plot_trace(sampler).get_ylabel() == "number of clusters"


def test_without_burn_in_nothing_is_shaded(sampler):
    sampler.burn_in_ = 0
    assert not plot_trace(sampler).patches


def test_traces_that_are_not_there_are_named_with_those_that_are(fitted, sampler):
    with pytest.raises(ValueError, match="DPMeans has no trace of 'log_joint': what can be 'objective'"):
        plot_trace(fitted, what="log_joint")
    with pytest.raises(ValueError, match="no trace of 'objective': what can be 'n_clusters' or 'log_joint'"):
        plot_trace(sampler, what="objective")
    with pytest.raises(ValueError, match="what must be one of 'objective', .* got 'loss'"):
        plot_trace(fitted, what="loss")


def test_a_loaded_model_can_be_drawn_but_has_no_trace(data, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = madbayes.load(tmp_path / "model")
    (rows,) = drawn_rows(plot_clusters(loaded, data))
    assert colours(rows) == [PALETTE[label].lower() for label in fitted.labels_]
    with pytest.raises(ValueError, match="model files hold none"):
        plot_trace(loaded)


def test_without_matplotlib_the_module_imports_and_its_functions_say_what_to_install():
    script = """
import sys
sys.modules["matplotlib"] = None
from types import SimpleNamespace
from madbayes.plots import plot_clusters, plot_trace
for draw in (lambda: plot_clusters([0], [[0.0, 1.0]]), lambda: plot_trace(SimpleNamespace(objective_trace_=[1.0]))):
    try:
        draw()
    except ImportError as error:
        assert str(error) == "plots need matplotlib: pip install 'madbayes[plots]'", error
    else:
        raise AssertionError("drawn without matplotlib")
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
