"""DPMeans and KMeans against independent computations and scikit-learn's conventions."""

from __future__ import annotations

import itertools
import json
import pickle
import warnings

import madbayes
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import sklearn.cluster
from madbayes import DPMeans, KMeans
from madbayes.simulate import gaussian_mixture
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

WEIGHTS = "another local optimum is possible, as for scikit-learn's own KMeans"


def expected_failures(_estimator: object) -> dict[str, str]:
    return {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    }


@pytest.mark.filterwarnings("ignore:only .* distinct rows")
@parametrize_with_checks([DPMeans(), KMeans()], expected_failed_checks=expected_failures)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture
def blobs():
    return gaussian_mixture(400, n_clusters=5, separation=7, random_state=1)


def objective(X, labels, penalty):
    """B Eq. 9, by NumPy."""
    groups = [X[labels == k] for k in np.unique(labels)]
    return sum(((g - g.mean(0)) ** 2).sum() for g in groups) + (len(groups) - 1) * penalty


@pytest.mark.parametrize("algorithm", ["parallel", "collapsed"])
def test_the_best_of_all_partitions_is_found(algorithm):
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.uniform(0, 10, (6, 2))
        labelled = (np.array(labels) for labels in itertools.product(range(6), repeat=6))
        best = min(objective(X, labels, 8.0) for labels in labelled if (np.diff(np.unique(labels)) == 1).all())
        model = DPMeans(penalty=8.0, algorithm=algorithm).fit(X)
        assert model.objective_ == pytest.approx(best)
        assert model.objective_ == pytest.approx(objective(X, model.labels_, 8.0))


def test_attributes_fit_together(blobs):
    X, truth, _ = blobs
    model = DPMeans(penalty=300).fit(X)
    assert model.n_clusters_ == 5 == len(model.cluster_centers_)
    assert adjusted_rand_score(truth, model.labels_) > 0.99
    for k in range(5):
        np.testing.assert_allclose(model.cluster_centers_[k], X[model.labels_ == k].mean(0))
    assert model.objective_ == pytest.approx(model.inertia_ + 4 * model.penalty_)
    assert model.objective_trace_[-1] == pytest.approx(model.objective_)
    assert (np.diff(model.objective_trace_) <= 1e-9 * model.objective_).all()
    assert model.n_iter_ == len(model.objective_trace_)
    assert model.score(X) == pytest.approx(-model.inertia_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X).min(1) ** 2, ((X - model.cluster_centers_[model.labels_]) ** 2).sum(1))


def test_the_penalty_is_found_or_follows_from_the_number(blobs):
    X, _, _ = blobs
    assert DPMeans().fit(X).n_clusters_ == 5
    exact = DPMeans(n_clusters=5).fit(X)
    assert exact.n_clusters_ == 5
    assert exact.objective_ == pytest.approx(exact.inertia_ + 4 * exact.penalty_) == exact.objective_trace_[-1]
    assert DPMeans(penalty=exact.penalty_).fit(X).n_clusters_ == 5
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert np.isnan(DPMeans(n_clusters=3).fit(square).penalty_)


def test_a_choice_says_how_sure_it_is_and_what_else_could_be(blobs):
    X, _, _ = blobs
    model = DPMeans().fit(X)
    low, high = model.penalty_range_
    assert low < model.penalty_ < high
    assert 0 <= model.confidence_ <= 1
    assert model.runners_up_ and 5 not in model.runners_up_
    assert DPMeans(penalty=model.penalty_).fit(X).objective_ == model.objective_
    model.set_params(penalty=300).fit(X)
    assert model.penalty_range_ is model.confidence_ is model.runners_up_ is None
    model.set_params(penalty="auto").partial_fit(X)
    assert model.n_clusters_ == 5


def test_validation_and_farthest_first_are_alternatives(blobs):
    X, _, _ = blobs
    model = DPMeans(penalty="validation").fit(X)
    assert model.n_clusters_ == 5 and model.penalty_range_[0] < model.penalty_ < model.penalty_range_[1]
    assert model.confidence_ is None
    middle = X.mean(0)
    farthest = ((X - middle) ** 2).sum(1)
    assert DPMeans(penalty="farthest-first:1").fit(X).penalty_ == pytest.approx(farthest.max())
    second = np.minimum(farthest, ((X - X[farthest.argmax()]) ** 2).sum(1)).max()
    assert DPMeans(penalty="farthest-first:2").fit(X).penalty_ == pytest.approx(second)


def test_data_without_structure_are_one_cluster():
    model = DPMeans().fit(np.random.default_rng(0).uniform(size=(200, 2)))
    assert model.n_clusters_ == 1 and model.penalty_range_[1] == np.inf


@pytest.mark.parametrize("k", [1, 2, 5])
def test_given_centres_are_a_start_for_exactly_as_many(blobs, k):
    X, _, centres = blobs
    model = DPMeans(n_clusters=k, init=centres[:k]).fit(X)
    assert model.n_clusters_ == k
    low, high = model.penalty_range_
    assert low < model.penalty_ < high
    assert model.inertia_ == pytest.approx(DPMeans(n_clusters=k).fit(X).inertia_)


def test_k_means_equals_scikit_learns_from_the_same_start(blobs):
    X, _, centres = blobs
    ours = KMeans(n_clusters=5, init=centres, tol=0).fit(X)
    theirs = sklearn.cluster.KMeans(5, init=centres, n_init=1, tol=0).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    assert ours.inertia_ == pytest.approx(theirs.inertia_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_for_any_number_of_jobs(dtype):
    X, _, _ = gaussian_mixture(20_000, n_clusters=6, n_features=4, separation=5)
    X = X.astype(dtype)
    one, two = (DPMeans(penalty=5000, n_jobs=jobs, random_state=3).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.cluster_centers_.tobytes() == two.cluster_centers_.tobytes()


def test_weights_count_rows(blobs):
    X, _, _ = blobs
    weights = np.arange(len(X)) % 3
    repeated = np.repeat(X, weights, axis=0)
    weighted = DPMeans(penalty=300).fit(X, sample_weight=weights)
    assert weighted.inertia_ == pytest.approx(DPMeans(penalty=300).fit(repeated).inertia_)
    assert weighted.score(X, sample_weight=weights) == pytest.approx(-weighted.inertia_)


def test_a_stream_of_batches_finds_clusters_as_they_come():
    X, labels, _ = gaussian_mixture(3000, n_clusters=4, separation=8)
    order = np.argsort(labels < 2, kind="stable")[::-1]
    model = DPMeans(penalty=2000)
    found = [model.partial_fit(X[part]).n_clusters_ for part in np.array_split(order, 6)]
    assert found[0] == 2 and found[-1] == 4
    assert len(model.labels_) == 500
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[:500])
    np.testing.assert_array_equal(again.cluster_centers_, model.partial_fit(X[:500]).cluster_centers_)
    assert not hasattr(clone(model), "cluster_centers_")


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda data, columns: pl.DataFrame(data, schema=columns)])
def test_frames_go_in_and_pandas_comes_out(blobs, frame):
    X, _, _ = blobs
    table = frame(X, columns=["length", "width"])
    model = DPMeans(penalty=300).set_output(transform="pandas").fit(table)
    assert list(model.feature_names_in_) == ["length", "width"]
    assert list(model.transform(table).columns) == [f"dpmeans{k}" for k in range(5)]


def test_pipelines_grids_and_routing(blobs):
    X, _, _ = blobs
    pipeline = make_pipeline(StandardScaler(), DPMeans(penalty=20))
    assert pipeline.fit(X)[-1].n_clusters_ == 5
    search = GridSearchCV(DPMeans(), {"n_clusters": [2, 5]}, cv=3).fit(X)
    assert search.best_params_ == {"n_clusters": 5}
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, DPMeans(penalty=20).set_fit_request(sample_weight=True))
        routed.fit(X, sample_weight=np.ones(len(X)))


def test_models_are_saved_loaded_and_pickled(blobs, tmp_path):
    X, _, _ = blobs
    model = DPMeans(penalty=300).fit(X)
    model.save(tmp_path / "model.json")
    loaded = madbayes.load(tmp_path / "model.json")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.labels_)
        assert other.penalty_ == model.penalty_
    standardised = json.loads((tmp_path / "model.json").read_text())
    standardised["standardise"] = {"means": [1.0, 2.0], "scales": [3.0, 4.0]}
    (tmp_path / "model.json").write_text(json.dumps(standardised))
    loaded = madbayes.load(tmp_path / "model.json")
    original = X * [3.0, 4.0] + [1.0, 2.0]
    np.testing.assert_array_equal(loaded.predict(original), model.labels_)
    np.testing.assert_allclose(loaded.cluster_centers_, model.cluster_centers_ * [3.0, 4.0] + [1.0, 2.0])
    np.testing.assert_allclose(loaded.transform(original), model.transform(X))
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(ValueError, match="not a madbayes model"):
        madbayes.load(tmp_path / "model.json")
    state = model.__getstate__() | {"_madbayes_version": "0.0.1"}
    with pytest.warns(InconsistentVersionWarning, match="0.0.1"):
        DPMeans().__setstate__(state)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (DPMeans(penalty=-1), "penalty must be a positive finite number, got -1"),
        (DPMeans(penalty="big"), "'auto', 'validation' or 'farthest-first:K' with a number K, got 'big'"),
        (DPMeans(penalty=10, n_clusters=3), "penalty and n_clusters cannot both be given"),
        (DPMeans(max_clusters=0), "max_clusters must be between 1 and the number of rows"),
        (DPMeans(n_clusters=1000), "n_clusters must be between 1 and the number of rows, 400, got 1000"),
        (DPMeans(algorithm="best"), "algorithm must be 'parallel', 'serial' or 'collapsed'"),
        (DPMeans(init="corner"), "init must be"),
        (DPMeans(n_init=0), "n_init must be"),
        (DPMeans(max_iter=0), "max_iter must be"),
        (DPMeans(random_state=-1), "random_state must be"),
        (DPMeans(n_jobs=0), "n_jobs must be"),
        (KMeans(n_clusters=None), "n_clusters must be an integer"),
        (DPMeans(penalty="validate"), "penalty must be a positive finite number or 'auto', 'validation' or"),
        (DPMeans(penalty="farthest-first:"), "got 'farthest-first:'"),
        (DPMeans(penalty="farthest-first:401"), "penalty must be farthest-first:K with K between 1 and the number of rows"),
    ],
)
def test_bad_parameters_are_named(blobs, estimator, message):
    with pytest.raises(ValueError) as raised:
        estimator.fit(blobs[0])
    assert message in str(raised.value)


def test_unfitted_and_unconverged_estimators_say_so(blobs):
    X, _, _ = blobs
    with pytest.raises(NotFittedError):
        DPMeans().predict(X)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        DPMeans(penalty=1, algorithm="serial", init="mean", n_init=1, max_iter=1, tol=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="only 2 distinct rows"):
        assert KMeans(n_clusters=3).fit([[0.0], [0.0], [1.0]]).inertia_ == 0


def test_constructors_are_never_changed_by_fit(blobs):
    model = DPMeans(penalty="auto", init=np.zeros((1, 2)))
    before = model.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(blobs[0])
    assert all(model.get_params()[name] is value for name, value in before.items())


def test_distances_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(0)
    seconds = 1.7e9 + np.r_[rng.normal(0, 60, 50), rng.normal(1000, 60, 50)][:, None]
    model = DPMeans(n_clusters=2).fit(seconds)
    np.testing.assert_allclose(model.transform(seconds), abs(seconds - model.cluster_centers_.T), rtol=1e-6)
    np.testing.assert_array_equal(model.transform(seconds).argmin(1), model.labels_)


def test_a_fit_and_a_model_file_can_be_continued_by_a_stream(blobs, tmp_path):
    X, _, _ = blobs
    model = DPMeans(penalty=300).fit(X)
    model.save(tmp_path / "model.json")
    for continued in (model, madbayes.load(tmp_path / "model.json")):
        continued.partial_fit(X)
        assert continued.inertia_ == pytest.approx(-2 * continued.score(X), rel=0.01)


def test_the_loss_of_a_stream_is_that_of_all_rows_seen():
    X, _, _ = gaussian_mixture(6000, n_clusters=4, separation=8)
    model = DPMeans(penalty=5000)
    for part in np.array_split(X, 12):
        model.partial_fit(part)
    assert model.inertia_ == pytest.approx(-model.score(X), rel=0.01)
    assert model.objective_ == pytest.approx(model.inertia_ + (model.n_clusters_ - 1) * 5000)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_clusters": "3"}, "max_clusters must be between 1 and the number of rows, or None"),
        ({"max_clusters": 2.5}, "max_clusters must be between 1 and the number of rows, or None"),
        ({"n_clusters": 5, "max_clusters": 3}, "cannot both be given"),
        ({"penalty": None}, "penalty must be a positive finite number or 'auto'"),
        ({"penalty": True}, "penalty must be a positive finite number or 'auto'"),
        ({"init": [1.0, 2.0], "penalty": 3.0}, r"init must have shape \(n_centres, 2\)"),
        ({"tol": "a", "penalty": 3.0}, "tol must be a number"),
        ({"tol": -1.0, "penalty": 3.0}, "tol must be"),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        DPMeans(**parameters).fit(blobs[0])


@pytest.mark.parametrize("weights", [[-1.0] * 400, [np.nan] * 400, [1.0] * 3])
def test_weights_are_checked_wherever_they_are_given(blobs, weights):
    X, _, _ = blobs
    model = DPMeans(penalty=300).fit(X)
    for use in (model.score, model.fit):
        with pytest.raises(ValueError, match="sample_weight must"):
            use(X, sample_weight=weights)


def test_warnings_point_to_the_users_line(blobs):
    with pytest.warns(ConvergenceWarning) as caught:
        make_pipeline(StandardScaler(), DPMeans(penalty=0.01, max_iter=1, n_init=1)).fit(blobs[0])
    assert caught[0].filename == __file__


def test_a_bad_cell_is_named_and_leaves_nothing_that_looks_fitted():
    X = np.ones((5, 2), dtype=np.float32)
    X[3, 1] = np.nan
    model = DPMeans(penalty=1.0)
    with pytest.raises(ValueError, match=r"row 3, column 1 \(counted from 0\) is NaN"):
        model.fit(X)
    with pytest.raises(NotFittedError):
        model.predict(X[:2])
