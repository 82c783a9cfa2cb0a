"""Priors over partitions and over feature allocations: draws and log probabilities.

References
----------
T. Broderick, B. Kulis, M. I. Jordan, "MAD-Bayes: MAP-based asymptotic derivations from Bayes", ICML 2013 (Eq. 1, 4,
11, 13).
T. L. Griffiths, Z. Ghahramani, "The Indian buffet process: an introduction and review", JMLR 12 (2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import rows_of, seed_of
from .metrics import _bits, _numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CRP", "IBP", "BetaBernoulli", "DirichletMultinomial", "PolyaUrn"]


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
        return _core.crp_sample(self.concentration, rows_of(n), seed_of(random_state))

    def log_prob(self, structure: ArrayLike) -> float:
        """Log probability of a partition given by labels."""
        return _core.crp_log_prob(self.concentration, _numbers(structure, "structure"))

    def expected_groups(self, n: int) -> float:
        """Mean number of groups among ``n`` rows: sum over i < n of theta / (theta + i)."""
        return _core.crp_expected_groups(self.concentration, rows_of(n))


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
        return _core.dirichlet_multinomial_sample(self.n_components, self.theta, rows_of(n), seed_of(random_state))

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
        return _core.polya_urn_sample(self.concentration, self.base, self.parameters, rows_of(n), seed_of(random_state))

    def log_prob(self, structure: ArrayLike) -> float:
        """Log density of a sequence of colours."""
        colours = np.asarray(structure, dtype=np.float64).tolist()
        return _core.polya_urn_log_prob(self.concentration, self.base, self.parameters, colours)


@dataclass(frozen=True, kw_only=True)
class IBP:
    """Indian buffet process: overlapping features, Poisson(mass) of them in each row, a few more with every further row.

    Parameters
    ----------
    mass : float, default=1.0
        gamma > 0: the higher, the more features.

    Examples
    --------
    >>> from madbayes.priors import IBP
    >>> import math
    >>> round(math.exp(IBP(mass=1.0).log_prob([[1], [1]])), 12) == round(math.exp(-1.5) / 2, 12)
    True
    """

    mass: float = 1.0

    def sample(self, n: int, random_state: Any = None) -> NDArray[np.bool_]:
        """The features of ``n`` rows as an (n, K) array, in order of first appearance; K is random."""
        return _core.ibp_sample(self.mass, rows_of(n), seed_of(random_state))

    def log_prob(self, structure: ArrayLike) -> float:
        """Log probability of an (N, K) array of bits as a set of features: their order means nothing, and columns that
        no row has are ignored."""
        return _core.ibp_log_prob(self.mass, _bits(structure, "structure"))

    def expected_features(self, n: int) -> float:
        """Mean number of features among ``n`` rows: mass (1 + 1/2 + ... + 1/n)."""
        return _core.ibp_expected_features(self.mass, rows_of(n))


@dataclass(frozen=True, kw_only=True)
class BetaBernoulli:
    """Beta-Bernoulli: ``n_features`` features, each in a share of the rows drawn from Beta(gamma, 1).

    Parameters
    ----------
    n_features : int, default=2
    gamma : float, default=1.0
        The higher, the more rows have each feature. With gamma / n_features and many features this is the IBP.

    Examples
    --------
    >>> from madbayes.priors import BetaBernoulli
    >>> import math
    >>> round(math.exp(BetaBernoulli(n_features=2).log_prob([[1, 0]])), 12)  # one of four matrices
    0.25
    """

    n_features: int = 2
    gamma: float = 1.0

    def sample(self, n: int, random_state: Any = None) -> NDArray[np.bool_]:
        """An (n, n_features) array of bits; some columns may be empty."""
        return _core.beta_bernoulli_sample(self.n_features, self.gamma, rows_of(n), seed_of(random_state))

    def log_prob(self, structure: ArrayLike) -> float:
        """Log probability of an (N, n_features) array of bits, its columns in this order; missing columns are empty."""
        return _core.beta_bernoulli_log_prob(self.n_features, self.gamma, _bits(structure, "structure"))
