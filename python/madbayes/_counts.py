"""Rows of counts, dense or sparse, as the core wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from . import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIVERGENCES = ("euclidean", "kullback-leibler")


def checked_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as an array or a CSR matrix of floats, checked as scikit-learn does."""
    rows = validate_data(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=reset)
    # The minimum of a sparse matrix would sum its repeated cells, in the caller's own.
    values = rows.data if sparse.issparse(rows) else rows
    least = values.min(initial=0.0)
    if least < 0:
        raise ValueError(f"Negative values in data: counts are numbers of at least 0, got {least}")
    return rows


def count_rows(X: Any) -> _core.CountRows:
    """Counts of a checked array or CSR matrix; a matrix is never filled up with its zeros."""
    if not sparse.issparse(X):
        return _core.CountRows.dense(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return _core.CountRows.sparse(
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        np.ascontiguousarray(X.indices, dtype=np.int64),
        np.ascontiguousarray(X.data, dtype=np.float64),
        X.shape[1],
    )


def divergences(X: Any, centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """x. KL(x/x. || centre) of every row and centre: infinite where a row has a column that the centre has not."""
    X = X.astype(np.float64)
    totals = np.asarray(X.sum(axis=1)).reshape(-1, 1)
    # x log x, of the values above 0.
    entries = X.data if sparse.issparse(X) else X
    logs = entries * np.log(np.where(entries > 0, entries, 1.0))
    if sparse.issparse(X):
        own = X.copy()
        own.data = logs
        own = np.asarray(own.sum(axis=1)).reshape(-1, 1)
    else:
        own = logs.sum(axis=1, keepdims=True)
    own = own - totals * np.log(np.where(totals > 0, totals, 1.0))
    found = own - np.asarray(X @ np.log(np.where(centres > 0, centres, 1.0)).T)
    missing = np.asarray(X @ (centres == 0).T.astype(np.float64)) > 0
    result: NDArray[np.float64] = np.where(missing, np.inf, np.maximum(found, 0.0))
    return result
