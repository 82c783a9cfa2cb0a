"""FullCovarianceMeans: scikit-learn's checks, its own formula by NumPy, strips, guesses and mistakes."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from madbayes import DPMeans, FullCovarianceMeans, load
from madbayes.simulate import gaussian_mixture
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

WEIGHTS = "another local optimum is possible, as for scikit-learn's own KMeans"


def expected_failures(_estimator: object) -> dict[str, str]:
    return {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    }


@parametrize_with_checks(
    [FullCovarianceMeans(), FullCovarianceMeans(n_clusters=2, algorithm="frozen")], expected_failed_checks=expected_failures
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture
def strips():
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], 60)
    X = np.column_stack([rng.normal(0, 4, 180), 1.5 * truth + rng.normal(0, 0.2, 180)])
    return X, truth, np.diag([16.0, 0.04])


def objective(X, model):
    """The objective in the class's description, term by term."""
    c, phi, d = model.covariance_penalty_, model.covariance_prior_, X.shape[1]
    total = (model.n_clusters_ - 1) * (0.0 if np.isnan(model.penalty_) else model.penalty_)
    for k, (mu, s) in enumerate(zip(model.cluster_centers_, model.covariances_, strict=True)):
        away = X[model.labels_ == k] - mu
        total += np.einsum("ni,ij,nj->", away, np.linalg.inv(s), away)
        total += c * np.linalg.slogdet(s)[1] + np.trace(phi @ np.linalg.inv(s)) - c * np.linalg.slogdet(phi)[1]
        total += c * d * np.log(c) - c * d
    return total


def test_strips_are_found_where_their_covariance_is_given(strips):
    X, truth, expected = strips
    for c in (60.0, 150.0, 1000.0):
        model = FullCovarianceMeans(covariance_penalty=c, covariance_prior=c * expected).fit(X)
        assert model.n_clusters_ == 3
        assert adjusted_rand_score(truth, model.labels_) > 0.99
        np.testing.assert_array_equal(model.covariance_prior_, c * expected)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert adjusted_rand_score(truth, DPMeans(n_clusters=3).fit(X).labels_) < 0.7


def test_the_objective_is_that_of_what_was_learned(strips):
    X = strips[0]
    for model in (FullCovarianceMeans(), FullCovarianceMeans(n_clusters=4), FullCovarianceMeans(penalty=5.0, tol=0)):
        model.fit(X)
        assert model.objective_ == pytest.approx(objective(X, model), rel=1e-9)
        assert model.objective_trace_[-1] == model.objective_
        assert (np.diff(model.objective_trace_) <= 1e-9 * model.objective_).all()
        assert model.covariances_.shape == (model.n_clusters_, 2, 2)
        nearest = model.transform(X).argmin(axis=1)
        np.testing.assert_array_equal(nearest, model.predict(X))
        assert model.score(X) == pytest.approx(-(model.transform(X).min(axis=1) ** 2).sum())


def test_defaults_find_round_clusters_in_any_units():
    for columns, clusters in [(1, 3), (2, 5), (6, 4)]:
        X, truth, _ = gaussian_mixture(400, n_features=columns, n_clusters=clusters, separation=7, random_state=2)
        for scale in (1e-6, 1.0, 1e6):
            model = FullCovarianceMeans().fit(scale * X + 3 * scale)
            assert model.n_clusters_ == clusters
            assert adjusted_rand_score(truth, model.labels_) > 0.95
            assert 0.9 < model.penalty_ / (400 / clusters) < 4
            assert model.covariance_penalty_ == pytest.approx(columns * 400 / clusters)


@pytest.mark.filterwarnings("error")
def test_defaults_fit_ten_rows_of_anything():
    rng = np.random.default_rng(0)
    for X in [
        rng.normal(size=(10, 3)),
        rng.normal(size=(10, 30)),
        np.zeros((10, 2)),
        np.repeat(rng.normal(size=(2, 4)), 5, axis=0),
        np.column_stack([np.ones(10), np.arange(10)]),
        1e8 + rng.normal(size=(10, 2)).astype(np.float32),
        1e100 * rng.normal(size=(10, 2)),
    ]:
        model = FullCovarianceMeans().fit(X)
        assert len(model.labels_) == 10
        assert np.isfinite(model.objective_)


def test_given_covariances_are_held(strips):
    X, truth, expected = strips
    shared = FullCovarianceMeans(covariances=expected).fit(X)
    assert (shared.n_clusters_, adjusted_rand_score(truth, shared.labels_)) == (3, 1.0)
    each = FullCovarianceMeans(covariances=np.array([expected] * 3)).fit(X)
    assert adjusted_rand_score(truth, each.labels_) == 1.0
    np.testing.assert_array_equal(each.covariances_, [expected] * 3)
    assert each.covariance_prior_ is None and np.isnan(each.penalty_)


def test_the_collapsed_form_is_never_worse_than_the_frozen_one(strips):
    X, truth, expected = strips
    parameters = {"covariance_penalty": 60, "covariance_prior": 60 * expected, "n_clusters": 3, "n_init": 3}
    frozen, collapsed = (FullCovarianceMeans(algorithm=form, **parameters).fit(X) for form in ("frozen", "collapsed"))
    assert adjusted_rand_score(truth, frozen.labels_) == 1.0
    assert collapsed.objective_ <= frozen.objective_ * (1 + 1e-9)
    for model in (frozen, collapsed):
        assert model.objective_ == pytest.approx(objective(X, model), rel=1e-9)
        assert (np.diff(model.objective_trace_) <= 1e-9 * abs(model.objective_)).all()


def test_without_a_prior_a_covariance_is_the_scatter_over_c(strips):
    X = strips[0]
    model = FullCovarianceMeans(n_clusters=1, covariance_prior=0, covariance_penalty=len(X)).fit(X)
    np.testing.assert_allclose(model.covariances_[0], np.cov(X.T, bias=True))
    assert model.covariance_prior_ is None
    # The objective as published: sum of Mahalanobis distances + c log|S|.
    assert model.objective_ == pytest.approx(2 * len(X) + len(X) * np.linalg.slogdet(model.covariances_[0])[1])


def test_weights_count_rows(strips):
    X, _, expected = strips
    parameters = {"covariance_penalty": 60, "covariance_prior": 60 * expected, "penalty": 60}
    twice = FullCovarianceMeans(**parameters).fit(X, sample_weight=np.full(len(X), 2.0))
    repeated = FullCovarianceMeans(**parameters).fit(np.repeat(X, 2, axis=0))
    assert twice.objective_ == pytest.approx(repeated.objective_)


def test_the_same_bits_for_any_number_of_threads(strips):
    one, two = (FullCovarianceMeans(n_jobs=jobs, n_init=7).fit(strips[0]) for jobs in (1, 2))
    np.testing.assert_array_equal(one.covariances_, two.covariances_)
    np.testing.assert_array_equal(one.objective_trace_, two.objective_trace_)


def test_saved_and_pickled_models_say_the_same(strips, tmp_path):
    X = strips[0]
    model = FullCovarianceMeans(n_clusters=3).fit(X)
    model.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        np.testing.assert_array_equal(other.covariances_, model.covariances_)
        np.testing.assert_array_equal(other.covariance_prior_, model.covariance_prior_)
        assert other.objective_ == model.objective_ == other.inertia_


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"penalty": 0}, "penalty must be"),
        ({"penalty": "validation"}, "penalty must be"),
        ({"penalty": 3.0, "n_clusters": 2}, "penalty and n_clusters cannot both"),
        ({"n_clusters": 2, "max_clusters": 3}, "n_clusters and max_clusters"),
        ({"covariance_penalty": -1}, "covariance_penalty must be"),
        ({"covariance_penalty": None}, "covariance_penalty must be"),
        ({"covariance_prior": np.eye(2)}, "covariance_penalty must be a number where covariance_prior is given"),
        ({"covariance_prior": np.eye(3), "covariance_penalty": 5}, r"covariance_prior must have shape \(2, 2\)"),
        ({"covariance_prior": [[1, 2], [2, 1]], "covariance_penalty": 5}, "covariance_prior must be"),
        ({"covariance_prior": 0}, "n_clusters must be given where there is no covariance prior"),
        ({"covariance_prior": 0, "n_clusters": 100}, "covariance_prior must be given where a cluster may have no spread"),
        ({"covariances": np.eye(3)}, "covariances must have shape"),
        ({"covariances": [np.eye(2)] * 2, "n_clusters": 3}, "n_clusters must be 2 or None"),
        ({"covariances": [np.eye(2)] * 2, "penalty": 3.0}, "n_clusters must be 2 or None"),
        ({"covariances": np.eye(2), "covariance_prior": 1}, "must be left out where covariances are given"),
        ({"algorithm": "serial"}, "algorithm must be"),
        ({"tol": -1}, "tol must be"),
        ({"n_init": 0}, "n_init must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_mistakes_are_named(strips, parameters, says):
    with pytest.raises(ValueError, match=says):
        FullCovarianceMeans(**parameters).fit(strips[0])


def test_an_unconverged_fit_warns(strips):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        FullCovarianceMeans(n_clusters=8, max_iter=1, n_init=1).fit(strips[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FullCovarianceMeans(n_clusters=8).fit(strips[0])
