"""BPMeans, KFeatures and IndianBuffet against brute force, NumPy and scikit-learn's conventions."""

from __future__ import annotations

import itertools
import pickle
import warnings

import madbayes
import numpy as np
import pytest
from madbayes import BPMeans, IndianBuffet, KFeatures
from madbayes.metrics import match_features
from madbayes.simulate import feature_mixture
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks


@parametrize_with_checks([BPMeans(), KFeatures(), IndianBuffet(n_sweeps=60)])
def test_scikit_learns_own_checks_pass(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def planted():
    return feature_mixture(150, n_features=24, n_components=4, noise=0.3, random_state=1)


def loss(X, Z):
    """|X - Z A|^2 with the best A, by NumPy."""
    Z = np.asarray(Z, dtype=float)
    return float(((X - Z @ np.linalg.lstsq(Z, X, rcond=None)[0]) ** 2).sum())


def all_allocations(n, k):
    """Every set of k different nonempty columns."""
    columns = [column for column in itertools.product([0, 1], repeat=n) if any(column)]
    return (np.array(chosen).reshape(k, n).T for chosen in itertools.combinations(columns, k))


@pytest.mark.parametrize("algorithm", ["alternating", "collapsed", "stepwise"])
def test_the_best_of_all_allocations_is_found(algorithm):
    rng = np.random.default_rng(0)
    reached = 0
    for _ in range(8):
        X = rng.normal(size=(4, 3)) * 2
        best = min(loss(X, Z) + 3.0 * k for k in range(5) for Z in all_allocations(4, k))
        model = BPMeans(penalty=3.0, algorithm=algorithm, n_init=20).fit(X)
        assert model.objective_ >= best - 1e-9
        reached += model.objective_ <= best + 1e-9
    assert reached >= 7


def test_attributes_fit_together(planted):
    X, Z, _ = planted
    model = BPMeans(penalty=40.0).fit(X)
    assert model.n_components_ == 4 == len(model.components_)
    assert model.allocation_.dtype == bool and model.allocation_.shape == (150, 4)
    assert match_features(Z, model.allocation_).equal_bits > 0.98
    fitted = model.allocation_.astype(float) @ model.components_
    assert model.reconstruction_err_ == pytest.approx(((X - fitted) ** 2).sum())
    assert model.reconstruction_err_ == pytest.approx(loss(X, model.allocation_))
    assert model.objective_ == pytest.approx(model.reconstruction_err_ + 4 * 40.0)
    assert model.objective_trace_[-1] == pytest.approx(model.objective_)
    assert (np.diff(model.objective_trace_) <= 1e-9 * model.objective_).all()
    # Every row has the best of all 2^4 combinations.
    combinations = np.array(list(itertools.product([0, 1], repeat=4)))
    squares = ((X[:, None] - combinations @ model.components_) ** 2).sum(2)
    np.testing.assert_array_equal(model.transform(X), combinations[squares.argmin(1)].astype(bool))
    assert model.score(X) == pytest.approx(-squares.min(1).sum())
    np.testing.assert_allclose(model.inverse_transform(model.allocation_), fitted)


def test_the_number_is_found_or_given(planted):
    X, Z, _ = planted
    assert BPMeans().fit(X).n_components_ == 4
    assert BPMeans(penalty=40.0, max_components=3).fit(X).n_components_ == 3
    exact = KFeatures(n_components=4).fit(X)
    assert exact.reconstruction_err_ <= loss(X, Z) * (1 + 1e-9)
    assert BPMeans(penalty=1e9).fit(X).n_components_ == 0
    nothing = BPMeans(penalty=1e9).fit(X)
    assert nothing.transform(X).shape == (150, 0) and nothing.inverse_transform(np.zeros((2, 0))).shape == (2, 24)


@pytest.mark.parametrize("init", ["spectral", "++", "given"])
@pytest.mark.parametrize("row_solver", ["auto", "exact", "coordinate", "paper"])
def test_every_start_and_row_solver_reaches_the_planted_features(planted, init, row_solver):
    X, Z, A = planted
    model = KFeatures(n_components=4, init=A if init == "given" else init, row_solver=row_solver, n_init=10).fit(X)
    assert model.reconstruction_err_ <= 1.05 * loss(X, Z)


def test_without_polishing_it_is_the_published_alternation(planted):
    X, _, _ = planted
    combinations = np.array(list(itertools.product([0, 1], repeat=4)), dtype=float)
    stuck = 0
    for seed in range(5):
        start = X[np.random.default_rng(seed).choice(len(X), 4, replace=False)]
        A, Z = start, None
        while True:
            nearest = ((X[:, None] - combinations @ A) ** 2).sum(2).argmin(1)
            if Z is not None and (combinations[nearest] == Z).all():
                break
            Z = combinations[nearest]
            A = np.linalg.lstsq(Z, X, rcond=None)[0]
        plain, polished = (KFeatures(n_components=4, init=start, n_init=1, polish=polish).fit(X) for polish in (False, True))
        np.testing.assert_array_equal(plain.allocation_, Z)
        assert plain.reconstruction_err_ == pytest.approx(loss(X, Z))
        stuck += polished.reconstruction_err_ < 0.99 * plain.reconstruction_err_
    assert stuck >= 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_for_any_number_of_jobs(dtype):
    X = feature_mixture(6000, n_features=16, n_components=4, noise=0.5)[0].astype(dtype)
    one, two = (KFeatures(n_components=4, n_jobs=jobs, random_state=3, n_init=2).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one.allocation_, two.allocation_)
    assert one.components_.tobytes() == two.components_.tobytes()


@pytest.mark.parametrize("estimator", [BPMeans(penalty=40.0), KFeatures(n_components=4)])
def test_models_are_saved_loaded_and_pickled(planted, tmp_path, estimator):
    X, _, _ = planted
    model = clone(estimator).fit(X)
    model.save(tmp_path / "model.json")
    for copy in (madbayes.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        assert type(copy) is type(model)
        np.testing.assert_array_equal(copy.transform(X), model.transform(X))
        assert copy.components_.tobytes() == model.components_.tobytes()
    frame = make_pipeline(StandardScaler(), clone(estimator)).set_output(transform="pandas").fit(X).transform(X)
    assert list(frame.columns)[0] == f"{type(model).__name__.lower()}0"


def test_the_sampler_finds_the_planted_features(planted):
    X, Z, _ = planted
    model = IndianBuffet(n_sweeps=200).fit(X)
    assert model.n_components_ == 4 and match_features(Z, model.allocation_).equal_bits > 0.98
    assert model.noise_ == pytest.approx(0.09, rel=0.2)
    assert model.n_components_trace_.shape == model.log_joint_trace_.shape == model.mass_trace_.shape == (2, 200)
    assert [len(chain) for chain in model.draws_] == [20, 20] and model.draws_[0][0].shape[0] == 150
    assert set(model.r_hat_) == {"n_components", "log_joint", "mass"}
    again = IndianBuffet(n_sweeps=200, n_jobs=1).fit(X)
    assert again.log_joint_trace_.tobytes() == model.log_joint_trace_.tobytes()
    one = IndianBuffet(n_sweeps=200, init="one", collapsed=False, mass=1.0).fit(X)
    assert "mass" not in one.r_hat_ and (one.mass_trace_ == 1.0).all()
    assert model.score(X) == pytest.approx(-loss(X, model.allocation_), rel=0.01)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (BPMeans(penalty=-1.0), "penalty must be a positive finite number, got -1"),
        (BPMeans(penalty="cheap"), "penalty must be a positive finite number or 'auto'"),
        (BPMeans(algorithm="fast"), "algorithm must be 'alternating', 'collapsed' or 'stepwise'"),
        (BPMeans(max_components=0), "max_components must be None or"),
        (BPMeans(init="random"), "init must be 'spectral'"),
        (BPMeans(init=np.zeros((2, 5))), r"init must have shape \(n_components, 24\)"),
        (BPMeans(row_solver="guess"), "row_solver must be 'auto'"),
        (KFeatures(n_components=0), "n_components must be an integer of at least 1"),
        (KFeatures(n_components=151), "between 1 and the number of rows, 150"),
        (KFeatures(max_iter=0), "max_iter must be"),
        (IndianBuffet(mass=-1.0), "mass must be"),
        (IndianBuffet(noise=0.0), "noise must be"),
        (IndianBuffet(n_sweeps=10, burn_in=10), "burn_in must be less than"),
        (IndianBuffet(init="two"), "init must be 'bp-means'"),
    ],
)
def test_bad_parameters_are_named(planted, estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(planted[0])


def test_mistakes_with_new_rows_are_named(planted):
    with pytest.raises(NotFittedError):
        BPMeans().transform(planted[0])
    model = KFeatures(n_components=4).fit(planted[0])
    with pytest.raises(ValueError, match="Z must have 4 columns"):
        model.inverse_transform(np.ones((3, 2)))
