"""Data from the models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import seed_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Features = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]
    Simulated = tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]

__all__ = ["crp_mixture", "feature_mixture", "gaussian_mixture", "hidden_markov", "ibp_mixture", "tabletop"]


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


def hidden_markov(
    n_samples: int = 1000,
    *,
    n_features: int = 2,
    n_states: int = 5,
    separation: float = 4.0,
    stay: float = 0.95,
    random_state: Any = None,
) -> Simulated:
    """A sequence of rows whose hidden state now and then changes; the rows of a state are round and of unit variance.

    Parameters
    ----------
    n_samples, n_features, n_states : int
    separation : float, default=4.0
        The least distance of two states' means, in standard deviations.
    stay : float, default=0.95
        The probability that the next row has the same state; all others are equally likely.
    random_state : int, generator or None, default=None
        None means 0.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    states : ndarray of shape (n_samples,)
    means : ndarray of shape (n_states, n_features)

    Examples
    --------
    >>> from madbayes.simulate import hidden_markov
    >>> X, states, means = hidden_markov(200, n_states=3)
    >>> X.shape, means.shape
    ((200, 2), (3, 2))
    """
    return _core.hidden_markov(n_samples, n_features, n_states, separation, stay, seed_of(random_state))


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


def feature_mixture(
    n_samples: int = 100,
    *,
    n_features: int = 10,
    n_components: int = 4,
    probability: float = 0.5,
    noise: float = 0.1,
    scale: float = 1.0,
    base_feature: bool = False,
    random_state: Any = None,
) -> Features:
    """Rows that are sums of overlapping components: X = Z A + noise, A ~ N(0, scale^2), each component in some row.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Rows, columns, and components, that of the base included.
    probability : float, default=0.5
        Chance that a row has a component.
    noise, scale : float
        Standard deviations of the noise in every cell and of the components.
    base_feature : bool, default=False
        Whether every row has the first component.
    random_state : int, generator or None, default=None
        None means 0.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    allocation : ndarray of bool of shape (n_samples, n_components)
    components : ndarray of shape (n_components, n_features)

    Examples
    --------
    >>> from madbayes.simulate import feature_mixture
    >>> X, allocation, components = feature_mixture(60, n_components=3, noise=0.0)
    >>> bool(abs(X - allocation @ components).max() < 1e-12)
    True
    """
    shape = (n_samples, n_features, n_components)
    return _core.feature_mixture(shape, probability, noise, scale, base_feature, seed_of(random_state))


def ibp_mixture(
    n_samples: int = 100,
    *,
    n_features: int = 10,
    mass: float = 1.0,
    noise: float = 0.1,
    scale: float = 1.0,
    random_state: Any = None,
) -> Features:
    """Data from the linear-Gaussian model of the Indian buffet process: Z ~ IBP(mass), A ~ N(0, scale^2),
    X ~ N(Z A, noise^2).

    Parameters
    ----------
    n_samples, n_features : int
    mass, noise, scale : float
    random_state : int, generator or None, default=None
        None means 0.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    allocation : ndarray of bool of shape (n_samples, n_components)
    components : ndarray of shape (n_components, n_features)

    Examples
    --------
    >>> from madbayes.simulate import ibp_mixture
    >>> X, allocation, components = ibp_mixture(50, n_features=3)
    >>> X.shape, allocation.shape[1] == len(components)
    ((50, 3), True)
    """
    return _core.ibp_mixture(n_samples, n_features, mass, noise, scale, seed_of(random_state))


def tabletop(
    n_samples: int = 100,
    *,
    height: int = 30,
    width: int = 40,
    colour: bool = False,
    probability: float = 0.5,
    jitter: float = 0.2,
    lighting: float = 0.03,
    noise: float = 0.03,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], list[str]]:
    """Pictures of a dark table on which each of four objects lies or does not.

    The table is on every picture: a model of the pixels has a base feature and one for each object.

    Parameters
    ----------
    n_samples, height, width : int
        Number of pictures and their size in pixels.
    colour : bool, default=False
        Red, green and blue for each pixel, or one grey.
    probability : float, default=0.5
        Chance that an object lies on the table.
    jitter, lighting, noise : float
        Standard deviations of an object's place (pixels), of the brightness of a picture, and of each pixel.
    random_state : int, generator or None, default=None
        None means 0.

    Returns
    -------
    images : ndarray of shape (n_samples, height, width) or (n_samples, height, width, 3)
        From 0, black, to 1; ``images.reshape(len(images), -1)`` has a row for each picture.
    allocation : ndarray of bool of shape (n_samples, 4)
        Which object lies on which picture.
    names : list of str
        The names of the objects.

    Examples
    --------
    >>> from madbayes.simulate import tabletop
    >>> images, allocation, names = tabletop(20, random_state=1)
    >>> images.shape, allocation.shape, names
    ((20, 30, 40), (20, 4), ['ball', 'ring', 'book', 'pen'])
    """
    shape = (n_samples, height, width)
    disturbances = (jitter, lighting, noise)
    images, allocation, names = _core.tabletop(shape, colour, probability, disturbances, seed_of(random_state))
    return images if colour else images[..., 0], allocation, names
