"""Data from the models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import seed_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Simulated = tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]

__all__ = ["crp_mixture", "gaussian_mixture"]


def gaussian_mixture(
    n_samples: int = 100,
    *,
    n_features: int = 2,
    n_clusters: int = 3,
    separation: float = 5.0,
    weights_concentration: float | None = None,
    random_state: Any = None,
) -> Simulated:
    """Round clusters of unit variance whose closest centres are at least ``separation`` apart.

    Parameters
    ----------
    n_samples, n_features, n_clusters : int
    separation : float, default=5.0
        In standard deviations.
    weights_concentration : float, default=None
        None: equal shares. A number: shares drawn from a Dirichlet distribution with it.
    random_state : int, generator or None, default=None
        None means 0.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,)
    centres : ndarray of shape (n_clusters, n_features)

    Examples
    --------
    >>> from madbayes.simulate import gaussian_mixture
    >>> X, labels, centres = gaussian_mixture(60, n_clusters=4)
    >>> X.shape, centres.shape
    ((60, 2), (4, 2))
    """
    seed = seed_of(random_state)
    return _core.gaussian_mixture(n_samples, n_features, n_clusters, separation, weights_concentration, seed)


def crp_mixture(
    n_samples: int = 100,
    *,
    concentration: float = 1.0,
    variance: float = 1.0,
    prior_mean: ArrayLike = (0.0, 0.0),
    prior_variance: float = 25.0,
    random_state: Any = None,
) -> Simulated:
    """Data from the CRP Gaussian mixture: a partition from the CRP, means ~ N(prior_mean, prior_variance I),
    rows ~ N(mean, variance I).

    Parameters
    ----------
    n_samples : int
    concentration, variance, prior_variance : float
    prior_mean : array-like of shape (n_features,)
    random_state : int, generator or None, default=None
        None means 0.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,)
    centres : ndarray of shape (n_clusters, n_features)

    Examples
    --------
    >>> from madbayes.simulate import crp_mixture
    >>> X, labels, means = crp_mixture(50, prior_mean=[0.0, 0.0, 0.0])
    >>> X.shape
    (50, 3)
    """
    mean = np.atleast_1d(np.asarray(prior_mean, dtype=np.float64)).tolist()
    return _core.crp_mixture(n_samples, concentration, variance, mean, prior_variance, seed_of(random_state))
