"""DPMeans on counts: scikit-learn's checks, brute force, sparse and dense alike, mistakes."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from madbayes import DPMeans, FullCovarianceMeans, load
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

KL = "kullback-leibler"
WEIGHTS = "another local optimum is possible, as for scikit-learn's own KMeans"
NEGATIVE = "takes negative numbers for counts, whatever the tags say"


def expected_failures(_estimator: object) -> dict[str, str]:
    return {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
        "check_clustering": NEGATIVE,
    }


@parametrize_with_checks([DPMeans(divergence=KL)], expected_failed_checks=expected_failures)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture
def texts():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(80, 0.1), size=4)
    truth = np.repeat(np.arange(4), 50)
    return np.array([rng.multinomial(60, topics[t]) for t in truth]).astype(float), truth


def objective(X, labels, penalty):
    """sum_n x_n. KL(x_n/x_n. || centre) + (K - 1) penalty, by NumPy."""
    total = (len(np.unique(labels)) - 1) * penalty
    for k in np.unique(labels):
        rows = X[labels == k]
        centre = rows.sum(0) / rows.sum()
        for x in rows:
            on = x > 0
            total += (x[on] * np.log(x[on] / x.sum() / centre[on])).sum()
    return total


def test_the_best_of_all_partitions_is_found():
    rng = np.random.default_rng(0)
    for _ in range(5):
        X = rng.integers(0, 6, (5, 3)).astype(float)
        X[:, 0] += 1
        labelled = (np.array(labels) for labels in itertools.product(range(5), repeat=5))
        best = min(objective(X, labels, 2.0) for labels in labelled if (np.diff(np.unique(labels)) == 1).all())
        model = DPMeans(divergence=KL, penalty=2.0).fit(X)
        assert model.objective_ == pytest.approx(best)
        assert model.objective_ == pytest.approx(objective(X, model.labels_, 2.0))


@pytest.mark.parametrize("parameters", [{}, {"n_clusters": 4}, {"penalty": 500.0}, {"n_clusters": 4, "algorithm": "collapsed"}])
def test_topics_are_found(texts, parameters):
    X, truth = texts
    model = DPMeans(divergence=KL, **parameters).fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(truth, model.labels_) > 0.98
    assert model.objective_ == pytest.approx(objective(X, model.labels_, model.penalty_))
    assert (np.diff(model.objective_trace_) <= 1e-9 * model.objective_).all()
    np.testing.assert_allclose(model.cluster_centers_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.inertia_)


def test_one_topic_is_one_cluster():
    rng = np.random.default_rng(3)
    X = rng.multinomial(50, rng.dirichlet(np.full(60, 0.5)), size=150)
    model = DPMeans(divergence=KL).fit(X)
    assert model.n_clusters_ == 1
    assert model.penalty_range_[1] == np.inf


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array, sparse.csr_array])
def test_sparse_and_dense_give_the_same_bits(texts, make):
    X = texts[0]
    dense, thin = (DPMeans(divergence=KL, penalty=300).fit(x) for x in (X, make(X)))
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    assert dense.objective_ == thin.objective_
    np.testing.assert_allclose(dense.transform(X), thin.transform(make(X)), rtol=1e-12)
    np.testing.assert_array_equal(dense.predict(X), thin.predict(make(X)))


def test_a_matrix_with_repeated_and_unsorted_cells_is_summed_and_not_changed():
    X = sparse.csr_matrix((np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 0, 1, 2]), np.array([0, 3, 4])), shape=(2, 3))
    model = DPMeans(divergence=KL, penalty=1.0).fit(X)
    assert X.nnz == 4
    np.testing.assert_array_equal(model.labels_, DPMeans(divergence=KL, penalty=1.0).fit(X.toarray()).labels_)


@pytest.mark.filterwarnings("ignore:not converged")
def test_a_wide_sparse_matrix_is_never_filled_up():
    rng = np.random.default_rng(1)
    # 20,000 x 1,000,000 would be 160 GB.
    X = sparse.random(20_000, 1_000_000, density=1e-5, format="csr", random_state=rng)
    model = DPMeans(divergence=KL, n_clusters=2, n_init=1, max_iter=2, tol=1.0).fit(X)
    assert model.n_clusters_ == 2


def test_unknown_words_lead_to_the_cluster_that_they_raise_least(texts):
    X = texts[0].copy()
    X[:, -1] = 0
    model = DPMeans(divergence=KL, n_clusters=4).fit(X)
    new = X.copy()
    new[:, -1] = 1
    assert np.isinf(model.transform(new)).all()
    assert (model.predict(new) == model.labels_).mean() > 0.98
    assert np.isfinite(model.score(new))


def test_weights_are_factors_of_counts(texts):
    X = texts[0]
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = DPMeans(divergence=KL, n_clusters=4).fit(X, sample_weight=weights)
    multiplied = DPMeans(divergence=KL, n_clusters=4).fit(X * weights[:, None])
    assert weighted.objective_ == multiplied.objective_


def test_saved_and_pickled_models_say_the_same(texts, tmp_path):
    X = texts[0]
    model = DPMeans(divergence=KL, penalty=300).fit(X)
    model.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert other.divergence == KL
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_, rtol=1e-12)
        assert (other.penalty_, other.objective_) == (model.penalty_, model.objective_)


def test_threads_change_no_bit(texts):
    X = np.tile(texts[0], (20, 1))
    one, two = (DPMeans(divergence=KL, n_clusters=4, n_jobs=jobs, n_init=3).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.objective_trace_, two.objective_trace_)


@pytest.mark.parametrize(
    ("parameters", "X", "says"),
    [
        ({"divergence": "manhattan"}, np.eye(3), "divergence must be"),
        ({"divergence": KL}, -np.eye(3), "Negative values in data: counts are numbers of at least 0, got -1"),
        ({"divergence": KL, "init": "mean"}, np.eye(3), "init must be"),
        ({"divergence": KL, "algorithm": "serial"}, np.eye(3), "algorithm must be"),
        ({"divergence": KL, "penalty": "validation"}, np.eye(3), "penalty must be a positive number or 'auto' for counts"),
        ({"divergence": KL, "n_clusters": 3}, np.ones((5, 2)), "n_clusters must be at most the number of distinct rows, 1"),
    ],
)
def test_mistakes_are_named(parameters, X, says):
    with pytest.raises(ValueError, match=says):
        DPMeans(**parameters).fit(X)


def test_dense_methods_refuse_sparse_rows_and_streams_refuse_counts():
    for estimator in (DPMeans(), FullCovarianceMeans()):
        with pytest.raises(TypeError, match="toarray"):
            estimator.fit(sparse.eye_array(10, format="csr"))
    with pytest.raises(AttributeError) as error:
        DPMeans(divergence=KL).partial_fit(np.eye(10))
    assert "use fit for counts" in str(error.value.__cause__)
