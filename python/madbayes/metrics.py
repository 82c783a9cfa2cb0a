"""Agreement of two clusterings, where scikit-learn has no function for it.

References
----------
M. Meila, "Comparing clusterings: an information based distance", Journal of Multivariate Analysis 98 (2007).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["pairwise_f1", "purity", "variation_of_information"]


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
