"""How many clusters there are, and which rows are in which.

Estimators with scikit-learn's conventions on a Rust core:

>>> import numpy as np
>>> from madbayes import DPMeans
>>> X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
>>> DPMeans(penalty=1.0).fit_predict(X)
array([0, 0, 0, 1, 1, 1], dtype=int32)
"""

from . import geweke, metrics, plots, priors, simulate
from ._buffet import IndianBuffet
from ._clusters import DPMeans, KMeans
from ._core import __version__
from ._covariances import FullCovarianceMeans
from ._features import BPMeans, KFeatures
from ._load import load
from ._mixture import DPMixture
from ._path import PenaltyPath, penalty_path
from ._states import InfiniteHMM

__all__ = [
    "BPMeans",
    "DPMeans",
    "DPMixture",
    "FullCovarianceMeans",
    "IndianBuffet",
    "InfiniteHMM",
    "KFeatures",
    "KMeans",
    "PenaltyPath",
    "__version__",
    "geweke",
    "load",
    "metrics",
    "penalty_path",
    "plots",
    "priors",
    "simulate",
]
