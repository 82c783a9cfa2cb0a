"""Geweke's joint test: right samplers pass it, subtly wrong ones do not."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from madbayes import DPMixture, geweke
from madbayes.simulate import gaussian_mixture

matplotlib.use("Agg")

STATISTICS = {
    "mean": lambda p, x: p[0],
    "squared mean": lambda p, x: p[0] ** 2,
    "precision": lambda p, x: p[1],
    "squared precision": lambda p, x: p[1] ** 2,
    "mean times data": lambda p, x: p[0] * x.mean(),
    "spread of the data": lambda p, x: np.log(x.var()),
}


def draw_prior(rng):
    """A normal of unknown mean and precision: mean ~ N(0, 1), precision ~ Gamma(3, rate 3)."""
    return np.array([rng.normal(), rng.gamma(3, 1 / 3)])


def draw_data(p, rng):
    return rng.normal(p[0], p[1] ** -0.5, size=5)


def sampler(mean_variance=lambda precision: 1 / (1 + 5 * precision), shape=3 + 2.5):
    """Gibbs steps of mean and precision, from their conditionals unless others are given."""

    def step(p, x, rng):
        weight = 1 / (1 + 5 * p[1])
        mean = rng.normal(weight * p[1] * x.sum(), np.sqrt(mean_variance(p[1])))
        return np.array([mean, rng.gamma(shape, 1 / (3 + 0.5 * ((x - mean) ** 2).sum()))])

    return step


def test_a_right_sampler_passes_and_subtly_wrong_ones_fail():
    right = geweke.joint_test(draw_prior, draw_data, sampler(), STATISTICS)
    assert right.passed and max(map(abs, right.z.values())) < 4, right
    # The prior's precision forgotten in the variance of the mean; a shape with n - 1 for n.
    for wrong in (sampler(mean_variance=lambda precision: 1 / (5 * precision)), sampler(shape=3 + 2)):
        test = geweke.joint_test(draw_prior, draw_data, wrong, STATISTICS)
        assert not test.passed and "FAILED" in repr(test), test


def test_the_error_of_the_chain_knows_that_its_draws_depend_on_each_other():
    # A right sampler that seldom moves: plain standard errors would call it wrong.
    def slow(p, x, rng):
        return sampler()(p, x, rng) if rng.random() < 0.05 else p

    statistics = {"mean": STATISTICS["mean"], "precision": STATISTICS["precision"]}
    test = geweke.joint_test(draw_prior, draw_data, slow, statistics, random_state=1)
    assert test.passed, test
    independent, chain = test.draws["mean"]
    batches = chain.reshape(50, -1).mean(axis=1)
    error = np.sqrt(independent.var(ddof=1) / len(independent) + batches.var(ddof=1) / 50)
    assert test.z["mean"] == pytest.approx((independent.mean() - chain.mean()) / error)
    assert test.means["mean"] == pytest.approx((independent.mean(), chain.mean()))
    assert batches.var(ddof=1) / 50 > 5 * chain.var(ddof=1) / len(chain)


def test_the_same_seed_gives_the_same_test():
    first, again, other = (
        geweke.joint_test(draw_prior, draw_data, sampler(), STATISTICS, n_draws=200, random_state=seed) for seed in (None, 0, 1)
    )
    assert first.z == again.z != other.z


@pytest.mark.parametrize("likelihood", ["gaussian", "diagonal", "spherical", "multinomial"])
@pytest.mark.parametrize("prior", [{}, {"prior": "finite", "max_clusters": 3}])
def test_every_built_in_likelihood_passes(likelihood, prior):
    test = geweke.mixture_test(DPMixture(likelihood=likelihood, **prior), n_features=3, n_draws=5000)
    assert test.passed and len(test.z) == 9, test
    groups = test.draws["groups"]
    assert groups[0].shape == groups[1].shape == (5000,)
    assert max(map(np.max, groups)) <= (3 if prior else 7)


def test_the_priors_of_an_estimator_are_those_tested():
    few = geweke.mixture_test(DPMixture(concentration=0.01), n_draws=500)
    many = geweke.mixture_test(DPMixture(concentration=1000.0), n_draws=500)
    assert few.means["groups"][0] < 1.2 and many.means["groups"][0] > 6.8
    X, _, _ = gaussian_mixture(60, n_features=3, n_clusters=2, separation=7)
    fitted = DPMixture(likelihood="spherical", n_sweeps=50).fit(X + 50)
    test = geweke.mixture_test(fitted, n_draws=500)
    # Three columns about 50: x / (1 + x) is near 1.
    assert test.means["mean"][0] > 0.97 and test.means["square"][0] > 2.8
    assert fitted.variance is None, "the estimator is left as it was"


def test_the_plot_has_a_curve_for_every_statistic_that_follows_the_diagonal():
    test = geweke.joint_test(draw_prior, draw_data, sampler(), STATISTICS, n_draws=4000)
    ax = test.plot()
    curves = ax.get_lines()[1:]
    assert len(curves) == len(STATISTICS)
    for curve in curves:
        x, y = curve.get_data()
        assert np.abs(x - y).max() < 0.06
    wrong = geweke.joint_test(draw_prior, draw_data, sampler(shape=3 + 1), STATISTICS, n_draws=4000)
    x, y = next(c for c in wrong.plot(ax=ax).get_lines()[::-1] if c.get_label().startswith("precision")).get_data()
    assert np.abs(x - y).max() > 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"statistics": {}}, "statistics must have at least one function"),
        ({"n_draws": 1}, "n_draws must be an integer of at least 2, got 1"),
        ({"step": lambda p, x, rng: None}, "step must return the new parameters, got None"),
        ({"statistics": {"far": lambda p, x: np.inf}}, "got inf for 'far'"),
    ],
)
def test_mistakes_are_named(change, message):
    arguments = {"draw_prior": draw_prior, "draw_data": draw_data, "step": sampler(), "statistics": STATISTICS} | change
    with pytest.raises(ValueError, match=message):
        geweke.joint_test(**arguments)


@pytest.mark.parametrize(
    ("estimator", "arguments", "message"),
    [
        (DPMixture(prior="finite"), {}, "max_clusters must be"),
        (DPMixture(likelihood="poisson"), {}, "likelihood must be one of"),
        (DPMixture(prior_mean=[0.0, 1.0]), {"n_features": 3}, "prior_mean must be 3 finite numbers"),
        (DPMixture(), {"n_samples": 1}, "n_samples must be an integer of at least 2"),
        (DPMixture(), {"n_features": 0}, "n_features must be None or an integer of at least 1"),
    ],
)
def test_mistakes_with_mixtures_are_named(estimator, arguments, message):
    with pytest.raises(ValueError, match=message):
        geweke.mixture_test(estimator, **arguments)


def test_a_discriminative_mixture_is_refused():
    with pytest.raises(ValueError, match="discriminative must be None, got 'svm'"):
        geweke.mixture_test(DPMixture(discriminative="svm"))
