"""Overlapping features by hard objectives: BPMeans and KFeatures."""

from __future__ import annotations

import os
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from . import _core
from ._arguments import is_count, number_of, penalty_of, progress_of, seed_of, threads_of
from ._estimator import Estimator, raise_if_interrupted, warn_unconverged
from ._report import NO_PATH, Seen, keep_run, page, picture_of, rows_of, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Bits = NDArray[np.bool_]

__all__ = ["BPMeans", "FeatureEstimator", "KFeatures"]


class FeatureEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """What all estimators of features share: new rows, and rows as sums of features."""

    _model: _core.FeaturesModel
    # Zeros, or what the program took from every row before the fit.
    _offset: Floats
    allocation_: Bits
    components_: Floats

    def _solver(self) -> str:
        return getattr(self, "row_solver", "auto")

    def _keep(self, learned: dict[str, Any]) -> None:
        self.allocation_ = learned["allocation"]
        self.components_ = learned["components"]
        self.n_components_ = len(self.components_)
        self._n_features_out = self.n_components_
        self._offset = np.zeros(self.n_features_in_)
        self._model = learned["model"]

    def _allocate(self, X: Any) -> tuple[Bits, Floats]:
        check_is_fitted(self)
        return self._model.allocate(self._rows(X, reset=False), self._solver(), threads_of(self.n_jobs))

    def transform(self, X: ArrayLike) -> Any:
        """Which features each row has: those that leave the least squared residual.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of bool of shape (n_samples, n_components_)
        """
        return self._allocate(X)[0]

    def inverse_transform(self, Z: ArrayLike) -> Floats:
        """Rows as sums of their features, Z A.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components_)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        bits = check_array(Z, dtype=np.float64, ensure_min_features=0)
        if bits.shape[1] != self.n_components_:
            raise ValueError(f"Z must have {self.n_components_} columns, one per feature, got {bits.shape[1]}")
        sums: Floats = bits @ self.components_ + self._offset
        return sums

    def _report_page(self, rows: Seen) -> tuple[dict[str, Any], float, Any]:
        """What the page says, the loss, and the chains."""
        raise NotImplementedError

    def report(
        self, path: str | os.PathLike[str], X: ArrayLike | None = None, *, shape: Sequence[int] | None = None
    ) -> None:
        """Write a page to look at in any browser: one file that asks nothing of the network.

        It shows what the features add, rows taken apart, and how often features occur together.

        Parameters
        ----------
        path : path-like
            Where to write it, such as ``"report.html"``.
        X : array-like, default=None
            The rows of the fit, where they are not kept: after unpickling.
        shape : (height, width) or (height, width, channels), default=None
            Where rows are pictures, from 0, black, to 1, or to the brightest where they go beyond.
        """
        check_is_fitted(self, "allocation_")
        rows = rows_of(self, X, len(self.allocation_))
        picture = picture_of(shape, self.n_features_in_)
        shown, loss, of_chains = self._report_page(rows)
        write(path, _core.report_features(rows.rows, self.allocation_, picture, loss, shown, of_chains))

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Minus the loss of the rows: the higher, the better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        float
            -sum |x - z A|^2 with the best z of each row.
        """
        return -float(self._allocate(X)[1].sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class _Hard(FeatureEstimator):
    """What BPMeans and KFeatures share."""

    def _options(self) -> dict[str, Any]:
        raise NotImplementedError

    def _common_options(self) -> dict[str, Any]:
        given = self.init if not isinstance(self.init, str) else None
        if given is None and self.init not in ("spectral", "++"):
            raise ValueError(f"init must be 'spectral', '++' or an array of components, got {self.init!r}")
        components = None if given is None else np.ascontiguousarray(given, dtype=np.float64)
        if components is not None and components.shape[1:] != (self.n_features_in_,):
            raise ValueError(
                f"init must have shape (n_components, {self.n_features_in_}), one column per column of X, got "
                f"{components.shape}"
            )
        if self.n_init != "auto" and not is_count(self.n_init):
            raise ValueError(f"n_init must be 'auto' or an integer of at least 1, got {self.n_init!r}")
        if not is_count(self.max_iter):
            raise ValueError(f"max_iter must be an integer of at least 1, got {self.max_iter!r}")
        return {
            "penalty": None,
            "n_components": None,
            "max_components": None,
            "algorithm": "alternating",
            "init": components,
            "plus_plus": given is None and self.init == "++",
            "row_solver": self.row_solver,
            "base_feature": bool(self.base_feature),
            "polish": bool(self.polish),
            "n_init": None if self.n_init == "auto" else int(self.n_init),
            "max_iter": int(self.max_iter),
            "tol": number_of("tol", self.tol, "a number of at least 0"),
            "seed": seed_of(self.random_state),
            "threads": threads_of(self.n_jobs),
        }

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn features of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 and float64 in C order are used as they are, without a copy.
        y : ignored

        Returns
        -------
        self
        """
        begin = perf_counter()
        rows = self._rows(X, reset=True)
        options = self._options()
        with progress_of(self.verbose, groups="features") as progress:
            learned = _core.fit_features(rows, self._columns(), options, progress)
        keep_run(self, rows, begin, options["seed"])
        self._keep(learned)
        self.reconstruction_err_ = learned["loss"]
        self.objective_ = learned["objective"]
        self.objective_trace_ = learned["trace"]
        self.n_iter_ = len(learned["trace"])
        self.converged_ = learned["converged"]
        self._learn_penalty(learned)
        raise_if_interrupted(learned)
        if not self.converged_:
            warn_unconverged(f"not converged within max_iter={self.max_iter} passes: raise max_iter or tol")
        return self

    def _learn_penalty(self, learned: dict[str, Any]) -> None:
        pass

    def _report_page(self, rows: Seen) -> tuple[dict[str, Any], float, Any]:
        more = {"Penalty": getattr(self, "penalty_", None), "Loss": self.reconstruction_err_, "Objective": self.objective_}
        shown = page(self, "feature", self.n_components_, rows, more, NO_PATH["long"])
        shown.update(path=True, choose=getattr(self, "penalty", None) == "auto", penalties=getattr(self, "penalty_range_", None))
        return shown, self.reconstruction_err_, None


class BPMeans(_Hard):
    """BP-means: overlapping features without saying how many.

    Every row is a sum of some of K features. Minimises |X - Z A|^2 + K penalty over the binary matrix Z, the features A and
    their number K [1]_ (Eq. 6).

    Parameters
    ----------
    penalty : float or "auto", default="auto"
        lambda^2, the price of one more feature in squared-distance units. "auto": of all K up to 12 the one with the largest
        sqrt(K) log(high/low), where [low, high] are the penalties for which it is optimal; or one feature or none, where data
        of the same mean and covariance without features would be explained as well. See ``penalty_path``.
    algorithm : {"alternating", "collapsed", "stepwise"}, default="alternating"
        All rows, then all features, in turn ([1]_, Alg. 1); row after row with the features following every move ([1]_,
        Alg. 3); K = 1, 2, ... until one more does not pay ([1]_, Sec. 5).
    max_components : int, default=None
        Never more features than this.
    init : {"spectral", "++"} or array-like of shape (n_components, n_features), default="spectral"
        Where a run begins: 0/1 columns near the column space of X, which usually finds the optimum the first time; the random
        residuals of [1]_; or given features.
    row_solver : {"auto", "exact", "coordinate", "paper"}, default="auto"
        The features of one row: the best of all 2^K, by flips of one or two bits, or each bit once as in [1]_. "auto" is
        exact where K allows.
    base_feature : bool, default=True
        Also try starts with a feature that every row has, and keep the better.
    polish : bool, default=True
        Whether features are also replaced by sums and differences, dropped and grown again, until nothing helps. False: the
        algorithms as published, with ``init="++"`` and ``row_solver="paper"``; for comparison.
    n_init : int or "auto", default="auto"
        Number of runs, the best is kept.
    max_iter : int, default=300
        Most passes of one run.
    tol : float, default=1e-6
        Passes over more than 2,048 rows end when one lowers the objective by less than this share of it.
    random_state : int, generator or None, default=None
        None means 0: the same bits on every run.
    n_jobs : int, default=None
        Threads; None and -1 use all processors. The result does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    allocation_ : ndarray of bool of shape (n_samples, n_components_)
        Z: which row has which feature.
    components_ : ndarray of shape (n_components_, n_features)
        A: what each feature adds.
    n_components_ : int
    penalty_ : float
    penalty_range_ : tuple of two floats or None
        Under "auto" the penalties for which this number of features is optimal. None otherwise.
    confidence_ : float or None
        Under "auto" from 0 to 1: by what share the score of the next best K is below that of the chosen one; for one feature
        or none, how far the data are from showing more than data without features do. None otherwise.
    runners_up_ : list of int or None
        Under "auto" other numbers of features worth a look, the best first. None otherwise.
    objective_ : float
        reconstruction_err_ + n_components_ penalty_.
    reconstruction_err_ : float
        |X - Z A|^2, the sum of squared residuals.
    objective_trace_ : ndarray
        The objective after every pass of the best run.
    n_iter_ : int
    converged_ : bool

    References
    ----------
    .. [1] T. Broderick, B. Kulis, M. I. Jordan, "MAD-Bayes: MAP-based asymptotic derivations from Bayes", ICML 2013.

    Examples
    --------
    >>> from madbayes import BPMeans
    >>> from madbayes.simulate import feature_mixture
    >>> X, Z, A = feature_mixture(100, n_features=20, n_components=3)
    >>> BPMeans().fit(X).n_components_
    3
    """

    def __init__(
        self,
        *,
        penalty: float | str = "auto",
        algorithm: str = "alternating",
        max_components: int | None = None,
        init: str | ArrayLike = "spectral",
        row_solver: str = "auto",
        base_feature: bool = True,
        polish: bool = True,
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.penalty = penalty
        self.algorithm = algorithm
        self.max_components = max_components
        self.init = init
        self.row_solver = row_solver
        self.base_feature = base_feature
        self.polish = polish
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        penalty = penalty_of(self.penalty, "feature")
        if self.max_components is not None and not is_count(self.max_components):
            raise ValueError(f"max_components must be None or an integer of at least 1, got {self.max_components!r}")
        return {
            **self._common_options(),
            "penalty": penalty,
            "max_components": self.max_components,
            "algorithm": self.algorithm,
        }

    def _learn_penalty(self, learned: dict[str, Any]) -> None:
        self.penalty_ = learned["penalty"]
        self.penalty_range_ = learned["penalty_range"]
        self.confidence_ = learned["confidence"]
        self.runners_up_ = learned["runners_up"]


class KFeatures(_Hard):
    """K-features: exactly ``n_components`` overlapping features.

    Minimises |X - Z A|^2 over the binary matrix Z and the features A ([1]_, Eq. 14).

    Parameters
    ----------
    n_components : int, default=2
    init : {"spectral", "++"} or array-like of shape (n_components, n_features), default="spectral"
    row_solver : {"auto", "exact", "coordinate", "paper"}, default="auto"
    base_feature : bool, default=True
    polish : bool, default=True
    n_init : int or "auto", default="auto"
    max_iter : int, default=300
    tol : float, default=1e-6
    random_state : int, generator or None, default=None
        None means 0.
    n_jobs : int, default=None
    verbose : int, default=0

    Attributes
    ----------
    allocation_ : ndarray of bool of shape (n_samples, n_components)
    components_ : ndarray of shape (n_components, n_features)
    n_components_ : int
    objective_, reconstruction_err_ : float
        |X - Z A|^2, the sum of squared residuals.
    objective_trace_ : ndarray
    n_iter_ : int
    converged_ : bool

    See Also
    --------
    BPMeans : the same with a penalty instead of a number, and what the parameters mean.

    References
    ----------
    .. [1] T. Broderick, B. Kulis, M. I. Jordan, "MAD-Bayes: MAP-based asymptotic derivations from Bayes", ICML 2013.

    Examples
    --------
    >>> from madbayes import KFeatures
    >>> model = KFeatures(n_components=2).fit([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [1.0, 3.0]])
    >>> bool(model.reconstruction_err_ < 1e-20)
    True
    """

    def __init__(
        self,
        *,
        n_components: int = 2,
        init: str | ArrayLike = "spectral",
        row_solver: str = "auto",
        base_feature: bool = True,
        polish: bool = True,
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.row_solver = row_solver
        self.base_feature = base_feature
        self.polish = polish
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        if not is_count(self.n_components):
            raise ValueError(f"n_components must be an integer of at least 1, got {self.n_components!r}")
        return {**self._common_options(), "n_components": int(self.n_components)}
