"""Agreement of two clusterings or of two feature allocations, where scikit-learn has no function for it.

References
----------
M. Meila, "Comparing clusterings: an information based distance", Journal of Multivariate Analysis 98 (2007).
H. W. Kuhn, "The Hungarian method for the assignment problem", Naval Research Logistics Quarterly 2 (1955).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["FeatureMatching", "match_features", "pairwise_f1", "purity", "variation_of_information"]


def _numbers(labels: Any, name: str) -> list[int]:
    """Labels of any kind as numbers."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got {array.ndim} dimensions: one label per row")
    return np.unique(array, return_inverse=True)[1].tolist()  # type: ignore[no-any-return]


def _bits(allocation: Any, name: str) -> NDArray[np.bool_]:
    """A feature allocation of 0 and 1, or False and True, as bits."""
    array = np.asarray(allocation)
    if array.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional, got {array.ndim} dimensions: a column for each feature")
    if array.dtype != np.bool_:
        bits = array == 1
        if not np.all(bits | (array == 0)):
            raise ValueError(f"{name} must be 0 and 1, got other values: 1 where the row has the feature")
        array = bits
    return np.ascontiguousarray(array)


def pairwise_f1(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """F1 score of the pairs of rows put together.

    Precision is the share of pairs together in ``labels_pred`` that are together in ``labels_true``, recall the other way
    round, F1 = 2 P R / (P + R).

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Returns
    -------
    float
        Between 0 and 1; 1 for equal partitions.

    Examples
    --------
    >>> from madbayes.metrics import pairwise_f1
    >>> pairwise_f1([0, 0, 1, 1], ["a", "a", "b", "c"])
    0.6666666666666666
    """
    return _core.pairwise_f1(_numbers(labels_true, "labels_true"), _numbers(labels_pred, "labels_pred"))[2]


def variation_of_information(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Variation of information H(a|b) + H(b|a), in nats: a metric on partitions, 0 for equal ones.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Returns
    -------
    float

    Examples
    --------
    >>> from madbayes.metrics import variation_of_information
    >>> variation_of_information([0, 0, 1, 1], [1, 1, 0, 0])
    0.0
    """
    return _core.variation_of_information(_numbers(labels_true, "labels_true"), _numbers(labels_pred, "labels_pred"))


def purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of rows that belong to the commonest true label of their cluster.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Returns
    -------
    float

    Examples
    --------
    >>> from madbayes.metrics import purity
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    return _core.purity(_numbers(labels_true, "labels_true"), _numbers(labels_pred, "labels_pred"))


@dataclass(frozen=True)
class FeatureMatching:
    """How well found features agree with true ones.

    Attributes
    ----------
    truth, found : ndarray of int of shape (n_pairs,)
        Column of the truth and the column found for it; as many pairs as the smaller number of features.
    distance : ndarray of int of shape (n_pairs,)
        Rows in which the two differ.
    complement : ndarray of bool of shape (n_pairs,)
        Whether the found feature is the absence of the true one.
    equal_bits : float
        Share of equal bits, out of rows times the larger number of features; no bit of a feature without a partner counts.
    n_exact : int
        Features recovered in every row.
    """

    truth: NDArray[np.int64]
    found: NDArray[np.int64]
    distance: NDArray[np.int64]
    complement: NDArray[np.bool_]
    equal_bits: float
    n_exact: int


def match_features(
    allocation_true: ArrayLike, allocation_pred: ArrayLike, *, complements: bool = False
) -> FeatureMatching:
    """The one-to-one matching of features in which the fewest bits differ.

    Parameters
    ----------
    allocation_true, allocation_pred : array-like of bool of shape (n_samples, n_features)
        Their numbers of features may differ.
    complements : bool, default=False
        Whether a feature may be matched with its opposite. That is right where every row has a base feature: a feature
        may then mean that something is taken away.

    Returns
    -------
    FeatureMatching

    Examples
    --------
    >>> from madbayes.metrics import match_features
    >>> matching = match_features([[1, 1], [1, 0], [0, 1]], [[0, 1], [1, 1], [0, 0]], complements=True)
    >>> matching.found, matching.complement, matching.equal_bits
    (array([1, 0]), array([False,  True]), 1.0)
    """
    bits = _bits(allocation_true, "allocation_true"), _bits(allocation_pred, "allocation_pred")
    pairs, equal_bits, n_exact = _core.match_features(*bits, complements)
    truth, found, distance, complement = np.array(pairs, dtype=np.int64).reshape(-1, 4).T
    return FeatureMatching(truth, found, distance, complement.astype(bool), equal_bits, n_exact)
