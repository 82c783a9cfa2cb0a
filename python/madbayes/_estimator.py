"""What all estimators share beyond scikit-learn's base: checked rows, model files, pickles that know their version."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core


class Estimator(BaseEstimator):
    """A class that learns ``_model``, an object of the core with ``to_bytes``."""

    _model: Any

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """X as the core wants it, without a copy where it is so already."""
        if reset and _is_ready(X):
            # Nothing is left to convert, and the core names a bad cell; scikit-learn's checks would take longer than a small fit.
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X
        return validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=reset)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit came to its end: one that failed may have left the number of columns behind."""
        seen = {"n_features_in_", "feature_names_in_"}
        return any(name.endswith("_") and not name.startswith("__") and name not in seen for name in vars(self))

    def _columns(self) -> list[str]:
        """The names of the columns, or their numbers from 1."""
        names = getattr(self, "feature_names_in_", None)
        return [str(j + 1) for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _set_columns(self, columns: list[str]) -> None:
        """The columns of a model that was read from a file."""
        self.n_features_in_ = len(columns)
        if columns != [str(j + 1) for j in range(len(columns))]:
            self.feature_names_in_ = np.asarray(columns, dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file that ``madbayes.load`` and the program read.

        It holds what new rows need, not labels, draws, traces or the parameters of the fit; pickle keeps those too.

        Parameters
        ----------
        path : path-like
        """
        check_is_fitted(self)
        with open(path, "wb") as file:
            file.write(self._model.to_bytes())

    def __getstate__(self) -> dict[str, Any]:
        state = {**super().__getstate__(), "_madbayes_version": _core.__version__}
        # The rows of the fit are the caller's, and may be large.
        state.pop("_seen", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        version = state.pop("_madbayes_version", "an unknown version")
        if version != _core.__version__:
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=f"madbayes {_core.__version__}",
                    original_sklearn_version=f"madbayes {version}",
                ),
                stacklevel=2,
            )
        super().__setstate__(state)


_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def _is_ready(X: Any) -> bool:
    """Whether X is a plain array of floats, row after row."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in _FLOATS or X.size == 0:
        return False
    return bool(X.flags.c_contiguous and X.flags.aligned)


def raise_if_interrupted(learned: dict[str, Any]) -> None:
    """Ctrl-C, once what was learned has been kept."""
    if learned["interrupted"]:
        raise KeyboardInterrupt("stopped; the best result so far is kept in the estimator")


def warn_unconverged(message: str) -> None:
    """A ConvergenceWarning that points to the caller's own line."""
    warn_caller(message, ConvergenceWarning)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning that points to the caller's own line, beyond this package and scikit-learn's pipelines."""
    level, frame, packages = 1, sys._getframe(), (os.path.dirname(__file__), os.path.dirname(sklearn.__file__))
    while frame.f_back is not None and frame.f_code.co_filename.startswith(packages):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
