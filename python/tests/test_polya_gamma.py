"""Polya-Gamma draws against PyPI's ``polyagamma``, an implementation by others."""

from __future__ import annotations

import numpy as np
import pytest
from madbayes import _core
from scipy.stats import kstest

polyagamma = pytest.importorskip("polyagamma", reason="the draws are compared with those of polyagamma")

N = 100_000
# The 1 in 1,000 limit of Kolmogorov's statistic times the root of N; seeds are fixed, so it is met or not for good.
LIMIT = 1.95


@pytest.mark.parametrize("z", [0.0, 0.7, 2.0, 3.1, 5.0, 12.0, 50.0])
def test_draws_have_the_mean_variance_and_distribution_of_polyagamma(z):
    ours = _core.polya_gamma(z, N, seed=3)
    theirs = polyagamma.random_polyagamma(1, z, size=N, method="devroye", random_state=np.random.default_rng(4))
    spread = np.sqrt(ours.var() / N + theirs.var() / N)
    assert abs(ours.mean() - theirs.mean()) < 4 * spread
    # Fourth moments give the error of the variances.
    errors = [np.var((draws - draws.mean()) ** 2) / N for draws in (ours, theirs)]
    assert abs(ours.var() - theirs.var()) < 4 * np.sqrt(sum(errors))
    # Its distribution function, beside the draws of its alternating series: the two are independent of each other.
    found = kstest(ours, lambda x: polyagamma.polyagamma_cdf(x, 1, z))
    assert found.statistic * np.sqrt(N) < LIMIT
    assert kstest(ours, theirs).statistic * np.sqrt(N / 2) < LIMIT


def test_a_wrong_z_is_named():
    with pytest.raises(ValueError, match="z must be a finite number"):
        _core.polya_gamma(float("nan"), 1, seed=0)
