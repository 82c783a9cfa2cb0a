"""DPMixture against exact enumeration, its own formulas, ArviZ and scikit-learn's conventions."""

from __future__ import annotations

import itertools
import pickle
import warnings

import arviz
import madbayes
import numpy as np
import pytest
from madbayes import DPMixture
from madbayes.priors import CRP, DirichletMultinomial
from madbayes.simulate import gaussian_mixture
from scipy.sparse import csr_matrix
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks


@parametrize_with_checks([DPMixture(n_sweeps=60), DPMixture(likelihood="diagonal", n_sweeps=60)])
def test_scikit_learns_own_checks_pass(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return gaussian_mixture(300, n_clusters=4, separation=6, random_state=2)


@pytest.fixture(scope="module")
def fitted(blobs):
    return DPMixture(likelihood="spherical", n_sweeps=400).fit(blobs[0])


def test_columns_that_say_nothing_are_named(blobs):
    X = np.column_stack([blobs[0], np.ones(len(blobs[0])), blobs[0].sum(axis=1)])
    last = X.shape[1]
    for likelihood in ("gaussian", "diagonal"):
        with pytest.warns(UserWarning) as caught:
            DPMixture(likelihood=likelihood, n_sweeps=10).fit(X)
        texts = [str(warning.message) for warning in caught]
        assert any(f"column {last - 1} is the same in every row" in text for text in texts)
        assert any(f"column {last} is a linear combination" in text for text in texts)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        DPMixture(likelihood="spherical", n_sweeps=10).fit(X)
        DPMixture(n_sweeps=10).fit(blobs[0])


def test_a_guessed_scale_is_held_more_firmly_than_a_given_one(blobs):
    d = blobs[0].shape[1]
    guessed = DPMixture(n_sweeps=10).fit(blobs[0]).prior_
    assert guessed["prior_dof"] == 3 * d + 2
    given = DPMixture(n_sweeps=10, prior_scale=np.eye(d)).fit(blobs[0]).prior_
    assert given["prior_dof"] == d + 2
    assert np.array_equal(given["prior_scale"], np.eye(d))
    # The same mean of the covariance, whatever the degrees of freedom.
    firm = DPMixture(n_sweeps=10, prior_dof=50).fit(blobs[0]).prior_
    assert np.allclose(firm["prior_scale"] / (50 - d - 1), guessed["prior_scale"] / (2 * d + 1))


def log_marginal(rows, variance, mean, prior_variance):
    """Rows of one cluster as one Gaussian: covariance variance I + prior_variance 11', column by column."""
    n = len(rows)
    covariance = variance * np.eye(n) + prior_variance
    return sum(multivariate_normal.logpdf(rows[:, j], np.full(n, mean[j]), covariance) for j in range(rows.shape[1]))


def test_draws_follow_the_exact_posterior():
    X = np.array([[0.3, 1.0], [0.5, 0.7], [2.5, -1.0], [2.1, -0.4]])
    variance, mean, prior_variance, concentration = 0.6, [1.0, 0.0], 2.0, 0.8
    partitions = [z for z in itertools.product(range(4), repeat=4) if all(z[i] <= max(z[:i], default=-1) + 1 for i in range(4))]
    assert len(partitions) == 15
    log_weights = []
    for z in partitions:
        z = np.array(z)
        groups = sum(log_marginal(X[z == k], variance, mean, prior_variance) for k in np.unique(z))
        log_weights.append(CRP(concentration=concentration).log_prob(z) + groups)
    exact = np.exp(np.array(log_weights) - logsumexp(log_weights))
    model = DPMixture(
        likelihood="spherical",
        variance=variance,
        prior_mean=mean,
        prior_variance=prior_variance,
        concentration=concentration,
        n_sweeps=60_000,
        burn_in=1000,
        thin=1,
    ).fit(X)
    draws, counts = np.unique(model.draws_.reshape(-1, 4), axis=0, return_counts=True)
    seen = {tuple(draw): count / counts.sum() for draw, count in zip(draws.tolist(), counts, strict=True)}
    assert 0.5 * sum(abs(p - seen.get(z, 0.0)) for z, p in zip(partitions, exact, strict=True)) < 0.01
    # The trace is the log joint of its draw, and the best partition has the highest.
    kept = model.log_joint_trace_[:, model.burn_in_ :].ravel()
    by_partition = {z: w for z, w in zip(partitions, log_weights, strict=True)}
    for draw, traced in zip(model.draws_.reshape(-1, 4)[:200].tolist(), kept[:200], strict=True):
        assert traced == pytest.approx(by_partition[tuple(draw)])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_draws_of_the_finite_prior_follow_its_exact_posterior_and_predictive():
    X = np.array([[0.3], [0.5], [2.5], [2.1], [-1.0]])
    law = {"variance": 0.6, "prior_mean": [1.0], "prior_variance": 2.0}
    prior = DirichletMultinomial(n_components=3, theta=0.5)
    weight = {}
    for z in itertools.product(range(3), repeat=5):
        if all(z[i] <= max(z[:i], default=-1) + 1 for i in range(5)):
            labels = np.array(z)
            groups = sum(log_marginal(X[labels == k], 0.6, [1.0], 2.0) for k in np.unique(labels))
            weight[z] = prior.log_prob(labels) + groups
    assert len(weight) == 41
    total = logsumexp(list(weight.values()))
    model = DPMixture(
        likelihood="spherical", **law, prior="finite", max_clusters=3, concentration=1.5, n_sweeps=60_000, burn_in=500, thin=1
    ).fit(X)
    draws, counts = np.unique(model.draws_.reshape(-1, 5), axis=0, return_counts=True)
    seen = {tuple(draw): count / counts.sum() for draw, count in zip(draws.tolist(), counts, strict=True)}
    assert 0.5 * sum(abs(np.exp(w - total) - seen.pop(z, 0.0)) for z, w in weight.items()) < 0.01 and not seen
    # One draw, its predictive written out: n + theta for a cluster, theta for each component that is empty.
    short = DPMixture(
        likelihood="spherical", **law, prior="finite", max_clusters=3, concentration=1.5, n_sweeps=2, burn_in=1, thin=1, n_chains=1
    )
    z = short.fit(X).draws_[0, 0]
    new = np.array([[0.7]])
    terms = []
    for rows in [X[z == k] for k in np.unique(z)]:
        ratio = log_marginal(np.vstack([rows, new]), 0.6, [1.0], 2.0) - log_marginal(rows, 0.6, [1.0], 2.0)
        terms.append(np.log(len(rows) + 0.5) + ratio)
    empty = 3 - len(terms)
    if empty:
        terms.append(np.log(0.5 * empty) + log_marginal(new, 0.6, [1.0], 2.0))
    assert short.score_samples(new)[0] == pytest.approx(logsumexp(terms) - np.log(5 + 1.5))
    drawn = DPMixture(prior="finite", max_clusters=4, n_sweeps=60).fit(np.vstack([X, X + 9]))
    assert "concentration" in drawn.r_hat_ and np.ptp(drawn.concentration_trace_) > 0
    assert drawn.n_clusters_trace_.max() <= 4


def assert_same_run(resumed, whole):
    for name in ("draws_", "n_clusters_trace_", "log_joint_trace_", "concentration_trace_", "labels_", "certainty_"):
        assert getattr(resumed, name).tobytes() == getattr(whole, name).tobytes(), name
        assert getattr(resumed, name).shape == getattr(whole, name).shape, name
    np.testing.assert_equal(resumed.r_hat_, whole.r_hat_)
    np.testing.assert_equal(resumed.effective_size_, whole.effective_size_)
    assert (resumed.n_clusters_, resumed.burn_in_) == (whole.n_clusters_, whole.burn_in_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("burn_in", [None, 120])
@pytest.mark.parametrize("parameters", [{}, {"likelihood": "diagonal", "prior": "finite", "max_clusters": 5}])
def test_500_sweeps_and_500_more_are_1000_bit_for_bit(blobs, parameters, burn_in):
    X = blobs[0][:100]
    whole = DPMixture(n_sweeps=1000, burn_in=burn_in, **parameters).fit(X)
    first = DPMixture(n_sweeps=500, burn_in=burn_in, warm_start=True, **parameters).fit(X)
    copy = pickle.loads(pickle.dumps(first))
    for model in (first, copy):
        before = model.log_joint_trace_
        assert model.set_params(n_sweeps=1000).fit(X) is model
        assert_same_run(model, whole)
        assert model.log_joint_trace_[:, :500].tobytes() == before.tobytes()
        assert model.score_samples(X).tobytes() == whole.score_samples(X).tobytes()
    # Odd steps, thinning and all: always what one run would have kept.
    steps = DPMixture(n_sweeps=101, thin=7, warm_start=True, random_state=np.random.default_rng(3), **parameters).fit(X)
    for n_sweeps in (150, 333):
        steps.set_params(n_sweeps=n_sweeps).fit(X)
    at_once = DPMixture(n_sweeps=333, thin=7, random_state=np.random.default_rng(3), **parameters).fit(X)
    assert_same_run(steps, at_once)


def test_counts_dense_or_sparse_go_on_too():
    rng = np.random.default_rng(0)
    X = np.array([rng.multinomial(30, rng.dirichlet(np.full(12, 0.3))) for _ in range(50)])
    whole = DPMixture(likelihood="multinomial", n_sweeps=200).fit(csr_matrix(X))
    for first, then in ((X, csr_matrix(X)), (csr_matrix(X), csr_matrix(X)), (csr_matrix(X), X)):
        model = DPMixture(likelihood="multinomial", n_sweeps=80, warm_start=True).fit(first)
        assert_same_run(model.set_params(n_sweeps=200).fit(then), whole)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_going_on_with_something_else_is_refused(blobs):
    X = blobs[0][:60]
    model = DPMixture(n_sweeps=60, warm_start=True).fit(X)
    other = X.copy()
    other[3, 1] += 1e-9
    refused = [(other, "rows are not those"), (X[:50], "50 rows"), (X[::-1], "rows are not those"), (X[:, :1], "feature")]
    for rows, message in refused:
        with pytest.raises(ValueError, match=message):
            model.set_params(n_sweeps=90).fit(rows)
    for change, message in [
        ({"n_sweeps": 40}, "n_sweeps must be at least the 60 already done"),
        ({"n_sweeps": 90, "thin": 2}, "thin must be the 5 of the chains"),
        ({"n_sweeps": 90, "burn_in": 10}, "burn_in must be 30, that and a multiple of 5"),
        ({"n_sweeps": 90, "concentration": 2.0}, "parameters are not those"),
        ({"n_sweeps": 90, "likelihood": "diagonal"}, "parameters are not those"),
        ({"n_sweeps": 90, "random_state": 5}, "parameters are not those"),
    ]:
        with pytest.raises(ValueError, match=message):
            pickle.loads(pickle.dumps(model)).set_params(**change).fit(X)
    before = model.draws_
    with pytest.warns(UserWarning, match="the 60 sweeps are done already"):
        model.set_params(n_sweeps=60).fit(X)
    assert model.draws_ is before
    # Without warm_start every fit begins anew.
    again = model.set_params(warm_start=False, n_sweeps=40).fit(other)
    assert again.log_joint_trace_.shape == (2, 40)


def test_the_answer_and_its_certainty(blobs, fitted):
    X, truth, _ = blobs
    assert fitted.n_clusters_ == 4 == len(np.unique(fitted.labels_))
    assert adjusted_rand_score(truth, fitted.labels_) > 0.95
    assert fitted.converged_ and max(fitted.r_hat_.values()) < 1.1
    assert fitted.draws_.shape == (2, 40, 300)
    assert fitted.n_clusters_trace_.shape == fitted.log_joint_trace_.shape == fitted.concentration_trace_.shape == (2, 400)
    draws = fitted.draws_.reshape(-1, 300)
    cluster = [fitted.labels_ == k for k in fitted.labels_]
    group = [draws == draws[:, [i]] for i in range(300)]
    overlap = [((c & g).sum(1) / (c | g).sum(1)).mean() for c, g in zip(cluster, group, strict=True)]
    np.testing.assert_allclose(fitted.certainty_, overlap)
    together = np.mean([draw[:, None] == draw for draw in draws], axis=0)
    np.testing.assert_allclose(fitted.coclustering(), together)
    pairs = np.array([[0, 1], [5, 200], [7, 7]])
    np.testing.assert_allclose(fitted.coclustering(pairs), together[pairs[:, 0], pairs[:, 1]])
    assert fitted.prior_["variance"] == pytest.approx(1.0, rel=0.2)
    np.testing.assert_allclose(fitted.prior_["prior_mean"], X.mean(0))
    assert fitted.prior_["prior_variance"] == pytest.approx(X.var(0).mean())


def test_predictions_average_over_draws(blobs, fitted):
    X, _, _ = blobs
    rng = np.random.default_rng(0)
    new = X[:20] + rng.normal(size=(20, 2))
    s2, m0, r2 = (fitted.prior_[name] for name in ("variance", "prior_mean", "prior_variance"))
    concentrations = fitted.concentration_trace_[:, fitted.burn_in_ :: 5].ravel()
    densities = np.zeros(20)
    together = np.zeros((20, fitted.n_clusters_))
    for draw, alpha in zip(fitted.draws_.reshape(-1, 300), concentrations, strict=True):
        groups = [X[draw == k] for k in np.unique(draw)]
        sizes = np.array([len(g) for g in groups] + [0.0])
        sums = np.array([g.sum(0) for g in groups] + [np.zeros(2)])
        means = (r2 * sums + s2 * m0) / (sizes * r2 + s2)[:, None]
        variances = s2 + s2 * r2 / (sizes * r2 + s2)
        squares = ((new[:, None] - means) ** 2).sum(2)
        weights = np.append(sizes[:-1], alpha) / (alpha + 300)
        joint = weights * np.exp(-squares / (2 * variances)) / (2 * np.pi * variances)
        densities += joint.sum(1) / len(concentrations)
        shares = np.array([[np.mean(draw[fitted.labels_ == c] == k) for c in range(4)] for k in np.unique(draw)])
        together += (joint / joint.sum(1, keepdims=True))[:, :-1] @ shares
    np.testing.assert_allclose(fitted.score_samples(new), np.log(densities))
    np.testing.assert_array_equal(fitted.predict(new), together.argmax(1))
    assert fitted.score(new) == pytest.approx(np.log(densities).mean())


def test_arviz_reads_the_chains_and_agrees_on_r_hat(fitted):
    chains = fitted.to_arviz()
    assert chains.posterior["n_clusters"].shape == (2, 200)
    np.testing.assert_array_equal(chains.sample_stats["lp"].values, fitted.log_joint_trace_[:, 200:])
    assert fitted.r_hat_["log_joint"] == pytest.approx(float(arviz.rhat(chains.sample_stats)["lp"]))
    for name in ("n_clusters", "concentration"):
        assert fitted.r_hat_[name] == pytest.approx(float(arviz.rhat(chains)[name]))
    fixed = DPMixture(concentration=1.0, n_sweeps=40).fit([[0.0], [1.0], [9.0]])
    assert "concentration" not in fixed.to_arviz().posterior and "concentration" not in fixed.r_hat_


def test_the_same_bits_for_any_number_of_jobs(blobs, fitted):
    again = DPMixture(likelihood="spherical", n_sweeps=400, n_jobs=1).fit(blobs[0])
    np.testing.assert_array_equal(again.draws_, fitted.draws_)
    assert again.log_joint_trace_.tobytes() == fitted.log_joint_trace_.tobytes()
    other = DPMixture(likelihood="spherical", n_sweeps=400, random_state=1).fit(blobs[0])
    assert other.log_joint_trace_.tobytes() != fitted.log_joint_trace_.tobytes()


@pytest.mark.parametrize("init", ["dp-means", "one", "random"])
def test_every_start_finds_clear_clusters(init):
    X, truth, _ = gaussian_mixture(150, n_clusters=3, separation=9)
    model = DPMixture(init=init, n_sweeps=300).fit(X.astype(np.float32))
    assert adjusted_rand_score(truth, model.labels_) > 0.97


def test_models_are_saved_loaded_and_pickled(blobs, fitted, tmp_path):
    X, _, _ = blobs
    fitted.save(tmp_path / "mixture.json")
    for copy in (madbayes.load(tmp_path / "mixture.json"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(copy.predict(X), fitted.predict(X))
        assert copy.score_samples(X).tobytes() == fitted.score_samples(X).tobytes()
        assert copy.n_clusters_ == 4 and copy.prior_["variance"] == fitted.prior_["variance"]
    assert not hasattr(clone(fitted), "labels_")
    loaded = madbayes.load(tmp_path / "mixture.json")
    for ask in (loaded.coclustering, loaded.to_arviz):
        with pytest.raises(ValueError, match="read from a file"):
            ask()


def test_chains_that_disagree_are_told():
    X, _, _ = gaussian_mixture(400, n_clusters=8, separation=7, random_state=1)
    with pytest.warns(ConvergenceWarning, match="R-hat: n_clusters"):
        model = DPMixture(init="one", n_sweeps=12, burn_in=0, thin=1).fit(X)
    assert not model.converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"likelihood": "spherical", "variance": -1.0}, "variance must be a positive finite number, got -1"),
        ({"likelihood": "spherical", "prior_variance": 0}, "prior_variance must be"),
        ({"prior_mean": [1.0]}, "prior_mean must be 2 finite numbers"),
        ({"prior_mean": [[1.0, 2.0]]}, "prior_mean must be one number per column"),
        ({"prior_scale": [1.0, 2.0]}, "prior_scale must be a matrix"),
        ({"prior_scale": [[1.0, 2.0], [2.0, 1.0]]}, "prior_scale must be a positive definite matrix"),
        ({"prior_dof": 1.0}, "prior_dof must be a finite number above the number of columns less 1, 1"),
        ({"variance": 1.0}, "variance is no parameter of likelihood='gaussian'"),
        ({"likelihood": "poisson"}, "likelihood must be one of 'gaussian', 'diagonal'"),
        ({"likelihood": "multinomial"}, "(?i)negative"),
        ({"max_clusters": 0}, "max_clusters must be a whole number of at least 1"),
        ({"prior": "finite"}, "max_clusters must be a whole number of at least 1 for the finite prior, got none"),
        ({"prior": "uniform"}, "prior must be 'dirichlet-process' or 'finite', got \"uniform\""),
        ({"loss": "squared"}, "loss must be 'variation-of-information' or 'binder'"),
        ({"concentration": 0}, "concentration must be"),
        ({"n_sweeps": 0}, "n_sweeps must be an integer of at least 1"),
        ({"n_chains": 1.5}, "n_chains must be an integer"),
        ({"burn_in": 100, "n_sweeps": 50}, "burn_in must be less than the number of sweeps, 50"),
        ({"burn_in": -1}, "burn_in must be None or"),
        ({"init": "two"}, "init must be 'dp-means', 'one' or 'random'"),
    ],
)
def test_bad_parameters_are_named(blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        DPMixture(**parameters).fit(blobs[0])


def test_mistakes_with_draws_are_named(fitted):
    with pytest.raises(NotFittedError):
        DPMixture().coclustering()
    for pairs, message in [([1, 2], "shape"), ([[0, 300]], "from 0 to 299"), ([[0.5, 1.0]], "integers")]:
        with pytest.raises(ValueError, match=message):
            fitted.coclustering(pairs)
    with pytest.raises(TypeError, match="sample_weight"):
        DPMixture().fit([[1.0]], sample_weight=[1.0])


def test_rows_far_from_all_go_to_the_nearest_cluster():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    X[50:] += 8
    model = DPMixture(n_sweeps=100).fit(X)
    near, far = model.predict([[8.0, 8.0]]), model.predict([[20, 20], [50, 50]])
    assert (far == near).all()


def student_t(x, rows, prior):
    """scipy's predictive of x in a cluster of these rows under a normal-inverse-Wishart prior."""
    m0, k0, v0, p0 = (prior[name] for name in ("prior_mean", "prior_strength", "prior_dof", "prior_scale"))
    n, d = len(rows), len(m0)
    mean = rows.mean(0) if n else m0
    k, v = k0 + n, v0 + n
    m = (k0 * m0 + n * mean) / k
    scale = p0 + (rows - mean).T @ (rows - mean) + k0 * n / k * np.outer(mean - m0, mean - m0)
    return multivariate_t.logpdf(x, m, scale * (k + 1) / (k * (v - d + 1)), v - d + 1)


def test_the_density_of_full_covariances_is_scipys_multivariate_t_averaged_over_draws(blobs):
    X = blobs[0][:80]
    model = DPMixture(n_sweeps=120, thin=10).fit(X)
    new = np.array([[0.0, 1.0], [50.0, -20.0]])
    draws = model.draws_.reshape(-1, len(X))
    alphas = model.concentration_trace_[:, model.burn_in_ :: 10].ravel()
    densities = []
    for z, alpha in zip(draws, alphas, strict=True):
        groups = [(np.sum(z == k), X[z == k]) for k in np.unique(z)] + [(alpha, X[:0])]
        terms = [np.log(weight) + np.array([student_t(x, rows, model.prior_) for x in new]) for weight, rows in groups]
        densities.append(logsumexp(terms, axis=0) - np.log(alpha + len(X)))
    expected = logsumexp(densities, axis=0) - np.log(len(draws))
    np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-8)


def test_elongated_clusters_want_covariances_of_their_own():
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1, 2], 100)
    X = rng.normal(size=(300, 2)) * [8, 0.4] + np.array([0, 4])[None] * truth[:, None]
    model = DPMixture(prior_scale=[[30, 0], [0, 0.3]], n_sweeps=200).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.95


def test_topics_are_found_in_counts():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.1), size=4)
    truth = rng.integers(4, size=150)
    X = np.array([rng.multinomial(60, topics[k]) for k in truth])
    model = DPMixture(likelihood="multinomial", n_sweeps=150).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.98
    assert model.prior_ == {"pseudocount": 0.01}
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.score_samples(X), model.score_samples(X))
    sparse = DPMixture(likelihood="multinomial", n_sweeps=150).fit(csr_matrix(X))
    np.testing.assert_array_equal(sparse.draws_, model.draws_)
    np.testing.assert_array_equal(sparse.score_samples(csr_matrix(X)), model.score_samples(X))
    with pytest.raises(ValueError, match="pseudocount must be a positive number"):
        DPMixture(likelihood="multinomial", pseudocount=-1.0).fit(X)
    with pytest.raises(TypeError, match="dense"):
        DPMixture().fit(csr_matrix(X))


def test_no_more_clusters_than_allowed_and_another_loss(blobs):
    model = DPMixture(max_clusters=3, loss="binder", n_sweeps=100).fit(blobs[0])
    assert model.n_clusters_trace_.max() == 3
    assert model.n_clusters_ == 3


def test_effective_sizes_are_arvizs(fitted):
    kept = fitted.log_joint_trace_[:, fitted.burn_in_ :]
    assert fitted.effective_size_["log_joint"] == pytest.approx(float(arviz.ess(kept)), rel=1e-6)
