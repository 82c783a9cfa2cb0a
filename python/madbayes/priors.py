"""Priors over partitions: draws and log probabilities.

References
----------
T. Broderick, B. Kulis, M. I. Jordan, "MAD-Bayes: MAP-based asymptotic derivations from Bayes", ICML 2013 (Eq. 1, 11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import seed_of
from .metrics import _numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CRP", "DirichletMultinomial", "PolyaUrn"]


@dataclass(frozen=True, kw_only=True)
class CRP:
    """Chinese restaurant process: P(z) = theta^(K-1) Gamma(theta+1)/Gamma(theta+N) prod_k (S_k - 1)!.

    Parameters
    ----------
    concentration : float, default=1.0
        theta > 0: the higher, the more groups.

    Examples
    --------
    >>> from madbayes.priors import CRP
    >>> import math
    >>> round(math.exp(CRP(concentration=1.0).log_prob([0, 0, 1])), 12)  # one of five partitions of three rows
    0.166666666667
    """

    concentration: float = 1.0

    def sample(self, n: int, random_state: Any = None) -> NDArray[np.int32]:
        """Labels of ``n`` rows, in order of first appearance."""
        return _core.crp_sample(self.concentration, n, seed_of(random_state))

    def log_prob(self, structure: ArrayLike) -> float:
        """Log probability of a partition given by labels."""
        return _core.crp_log_prob(self.concentration, _numbers(structure, "structure"))

    def expected_groups(self, n: int) -> float:
        """Mean number of groups among ``n`` rows: sum over i < n of theta / (theta + i)."""
        return _core.crp_expected_groups(self.concentration, n)


@dataclass(frozen=True, kw_only=True)
class DirichletMultinomial:
    """Dirichlet-multinomial: at most ``n_components`` groups, each with weight theta.

    Parameters
    ----------
    n_components : int, default=2
    theta : float, default=1.0

    Examples
    --------
    >>> from madbayes.priors import DirichletMultinomial
    >>> import math
    >>> round(math.exp(DirichletMultinomial(n_components=1).log_prob([0, 0, 0])), 12)
    1.0
    """

    n_components: int = 2
    theta: float = 1.0

    def sample(self, n: int, random_state: Any = None) -> NDArray[np.int32]:
        """Labels of ``n`` rows, in order of first appearance."""
        return _core.dirichlet_multinomial_sample(self.n_components, self.theta, n, seed_of(random_state))

    def log_prob(self, structure: ArrayLike) -> float:
        """Log probability of a partition given by labels."""
        return _core.dirichlet_multinomial_log_prob(self.n_components, self.theta, _numbers(structure, "structure"))


@dataclass(frozen=True, kw_only=True)
class PolyaUrn:
    """Polya urn: the CRP with a colour drawn from a base measure for every group.

    Parameters
    ----------
    concentration : float, default=1.0
    base : {"normal", "uniform"}, default="normal"
    parameters : tuple of two floats, default=(0.0, 1.0)
        Mean and standard deviation, or low and high.

    Examples
    --------
    >>> from madbayes.priors import PolyaUrn
    >>> len(PolyaUrn(concentration=2.0).sample(5))
    5
    """

    concentration: float = 1.0
    base: str = "normal"
    parameters: tuple[float, float] = (0.0, 1.0)

    def sample(self, n: int, random_state: Any = None) -> NDArray[np.float64]:
        """Colours of ``n`` balls."""
        return _core.polya_urn_sample(self.concentration, self.base, self.parameters, n, seed_of(random_state))

    def log_prob(self, structure: ArrayLike) -> float:
        """Log density of a sequence of colours."""
        colours = np.asarray(structure, dtype=np.float64).tolist()
        return _core.polya_urn_log_prob(self.concentration, self.base, self.parameters, colours)
