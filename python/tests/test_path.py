"""The penalty path against independent computations, and the choice on it."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from madbayes import BPMeans, DPMeans, penalty_path
from madbayes.plots import plot_path
from madbayes.simulate import feature_mixture, gaussian_mixture
from sklearn.metrics import adjusted_rand_score


@pytest.fixture(scope="module")
def blobs():
    return gaussian_mixture(300, n_clusters=4, separation=7, random_state=1)


@pytest.fixture(scope="module")
def path(blobs):
    return penalty_path(blobs[0])


def least_losses(x):
    """The least loss of every number of groups of a few numbers, by looking at all ways to cut them in order."""
    x = np.sort(x)
    losses = {}
    for k in range(1, len(x) + 1):
        cuts = itertools.combinations(range(1, len(x)), k - 1)
        losses[k] = min(sum(((part - part.mean()) ** 2).sum() for part in np.split(x, cut)) for cut in cuts)
    return losses


def test_the_path_of_a_few_numbers_is_that_of_brute_force():
    x = np.array([0.0, 0.4, 1.0, 5.0, 5.3, 9.0, 9.9])
    losses = least_losses(x)
    table = penalty_path(x[:, None], max_groups=7).table
    assert table.dtype.names == ("k", "penalty_low", "penalty_high", "loss", "persistence")
    for k, low, high, loss, persistence in table:
        assert loss == pytest.approx(losses[k], abs=1e-12)
        slopes = {other: (losses[other] - loss) / (k - other) for other in losses if other != k}
        assert high == pytest.approx(min((s for other, s in slopes.items() if other < k), default=np.inf))
        assert low == pytest.approx(max((s for other, s in slopes.items() if other > k), default=0.0), abs=1e-12)
        assert persistence == pytest.approx(np.log(high / low) if low > 0 else np.inf)


def test_the_choice_is_that_of_the_estimator(blobs, path):
    X, truth, _ = blobs
    model = DPMeans().fit(X)
    assert path.best_k == model.n_clusters_ == 4
    assert path.best_penalty == model.penalty_ == path.penalty_for(4)
    assert (path.penalty_range, path.confidence, path.runners_up) == (
        model.penalty_range_,
        model.confidence_,
        model.runners_up_,
    )
    assert adjusted_rand_score(path.labels(), truth) > 0.95
    np.testing.assert_array_equal(path.labels(4), model.labels_)


def test_every_number_on_the_path_is_what_its_penalty_leads_to(blobs, path):
    X, _, _ = blobs
    for k in (1, 2, 3, 4):
        if k in path.table["k"]:
            assert DPMeans(penalty=path.penalty_for(k)).fit(X).n_clusters_ == k


def test_labels_have_the_losses_that_are_told(blobs, path):
    X, _, _ = blobs
    for k in (1, 3, 7):
        labels = path.labels(k)
        assert labels.dtype == np.int32 and set(labels) == set(range(k)) and labels[0] == 0
        loss = sum(((X[labels == j] - X[labels == j].mean(0)) ** 2).sum() for j in range(k))
        assert loss == pytest.approx(path.losses[k], rel=1e-3)


def test_weights_count_rows(blobs):
    X, _, _ = blobs
    once = penalty_path(X, sample_weight=np.ones(len(X))).table
    np.testing.assert_array_equal(once, penalty_path(X).table)
    twice = penalty_path(X, max_groups=6, sample_weight=2.0).table
    np.testing.assert_allclose(twice["loss"], 2 * penalty_path(X, max_groups=6).table["loss"])


def test_bounds_end_the_path(blobs, path):
    X, _, _ = blobs
    assert penalty_path(X, max_groups=5).table["k"].max() <= 5
    bounded = penalty_path(X, least_penalty=path.best_penalty)
    assert bounded.table["penalty_low"][-1] <= path.best_penalty and bounded.table["k"].max() < path.table["k"].max()


def test_the_same_bits_for_any_number_of_jobs(blobs):
    X, _, _ = blobs
    one, two = penalty_path(X, n_jobs=1), penalty_path(X, n_jobs=2)
    np.testing.assert_array_equal(one.table, two.table)
    assert one.best_penalty == two.best_penalty


def test_frames_pickles_and_pictures(path):
    frame = path.to_frame()
    assert list(frame.columns) == ["k", "penalty_low", "penalty_high", "loss", "persistence"]
    assert frame["k"].tolist() == path.table["k"].tolist()
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.labels(2), path.labels(2))
    ax = path.plot()
    assert (ax.get_xscale(), ax.get_ylabel()) == ("log", "number of clusters")
    assert ax.get_title().startswith("4 clusters, confidence ") and len(ax.patches) == len(path.table)
    assert plot_path(path, ax=ax) is ax
    assert repr(path).startswith("PenaltyPath(kind='clusters', best_k=4, best_penalty=")


@pytest.mark.parametrize("X", [[[3.0]], [[1.0], [2.0]], [[5.0]] * 10])
def test_degenerate_data_have_a_path(X):
    path = penalty_path(X)
    assert path.best_k == 1 and 0 < path.best_penalty < np.inf
    assert path.labels().tolist() == [0] * len(X)
    path.plot()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "states"}, "kind must be 'clusters'"),
        ({"max_groups": 0}, "max_groups must be between 1 and the number of rows"),
        ({"max_groups": 301}, "max_groups must be between 1 and the number of rows, 300, got 301"),
        ({"max_groups": 2.5}, "max_groups must be between 1"),
        ({"least_penalty": -1.0}, "least_penalty must be a positive finite number, got -1"),
        ({"least_penalty": "1"}, "least_penalty must be a positive finite number or None, got '1'"),
        ({"random_state": -1}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"sample_weight": [1.0]}, "sample_weight must have 300 numbers"),
    ],
)
def test_arguments_are_named(blobs, arguments, message):
    with pytest.raises(ValueError, match=message):
        penalty_path(blobs[0], **arguments)


def test_numbers_beyond_the_path_are_named(path):
    with pytest.raises(ValueError, match=r"k must be one of 1, 2, .*no penalty makes another number optimal"):
        path.penalty_for(10_000)
    for k in (0, 10_000, 2.5):
        with pytest.raises(ValueError, match="k must be between 1 and"):
            path.labels(k)


def test_a_path_of_features_has_allocations_and_the_choice_of_the_estimator():
    X, Z, _ = feature_mixture(120, n_features=20, n_components=3, noise=0.3, random_state=2)
    path = penalty_path(X, kind="features")
    model = BPMeans().fit(X)
    assert path.best_k == model.n_components_ == 3 and path.best_penalty == model.penalty_
    assert (path.penalty_range, path.confidence, path.runners_up) == (
        model.penalty_range_,
        model.confidence_,
        model.runners_up_,
    )
    assert path.table["k"][0] == 0 and path.losses[0] == pytest.approx((X**2).sum())
    Z = path.allocation(2)
    assert Z.dtype == bool and Z.shape == (120, 2)
    residuals = X - Z @ np.linalg.lstsq(Z.astype(float), X, rcond=None)[0]
    assert path.losses[2] == pytest.approx((residuals**2).sum())
    assert path.plot().get_ylabel() == "number of features"
    with pytest.raises(ValueError, match=r"use allocation\(k\)"):
        path.labels()
    with pytest.raises(ValueError, match="k must be one of 0, 1, 2"):
        path.allocation(99)


def test_rows_without_features_have_none():
    X = np.random.default_rng(0).normal(size=(80, 4))
    model = BPMeans().fit(X)
    assert model.n_components_ == 0 and model.allocation_.shape == (80, 0)
    assert 0 <= model.confidence_ <= 1 and model.reconstruction_err_ == pytest.approx((X**2).sum())
