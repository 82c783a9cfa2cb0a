"""Hard clusters with covariances of their own: FullCovarianceMeans."""

from __future__ import annotations

import numbers
import os
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arguments import check_cluster_numbers, check_runs, number_of, penalty_of, progress_of, seed_of, threads_of, weights_of
from ._estimator import Estimator, raise_if_interrupted, warn_unconverged
from ._report import NO_PATH, keep_run, page, rows_of, truth_of, write_clusters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Labels = NDArray[np.int32]

__all__ = ["FullCovarianceMeans"]


class FullCovarianceMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
    """Clusters of any elliptic shape: each learns a covariance S_k beside its centre.

    Minimises over labels, centres, covariances and their number K

        sum_k [ sum_{n in k} (x_n - mu_k)' S_k^-1 (x_n - mu_k) + c log|S_k| + tr(Phi S_k^-1) - c log|Phi| + cD log c - cD ]
        + (K - 1) penalty,

    the objective of [1]_ (Sup. E) with the terms that keep it bounded and independent of the units. At the optimum
    S_k = (scatter_k + Phi) / c. **Give** ``covariance_prior`` where you can: no guess of it is right for everyone.

    Parameters
    ----------
    penalty : float or "auto", default="auto"
        The price of one more cluster, in squared standard deviations of a cluster. "auto": a guess from the n0 rows of a typical
        cluster when the data choose among spherical ones (in the units of the expected covariance where that is given): two thirds
        of the way, on a log scale, from what cutting such a cluster in half gains to what making one of two costs that are 6
        standard deviations apart; 1 to 4 times n0 with the default c. Lower it where clusters overlap more.
    n_clusters : int, default=None
        Exactly this many clusters; ``penalty`` is not used.
    max_clusters : int, default=None
        Never more clusters than this.
    covariance_penalty : float or "auto", default="auto"
        c, in rows: how firmly covariances keep to the prior. S_k = (scatter_k + Phi) / c grows with the cluster, so c is of the
        order of a cluster's size. "auto": D n0, with n0 as above or n_samples / n_clusters; a guess. Give the size of the
        clusters you expect, times the number of columns where that is above about 3.
    covariance_prior : array-like of shape (n_features, n_features) or float, default=None
        Phi, with which a cluster of one row has the covariance Phi / c. **Give c times the covariance you expect within a
        cluster** (a number v means v times the unit matrix), and c itself as ``covariance_penalty``. See the example.

        None: a guess, c times the pooled covariance within the clusters of a spherical fit. Good for clusters that are nearly
        round; long clusters are cut by such a fit, and are usually not found with it.

        0: no prior, the objective as published; ``n_clusters`` must be given, and a cluster without spread in some direction
        is an error, since the objective is unbounded below there.
    covariances : array-like of shape (n_features, n_features) or (n_clusters, n_features, n_features), default=None
        Known covariances, held fixed: one for all clusters, whose number is free (DP-means in its units), or one for each.
    algorithm : {"collapsed", "frozen"}, default="collapsed"
        "frozen": rows choose the nearest cluster while means and covariances are held still, then these are renewed; merges.
        "collapsed": then also row after row, means and covariances following every move.
    n_init : int or "auto", default="auto"
        Number of runs, the best is kept. "auto": many for tiny data, one for large.
    max_iter : int, default=300
        Most passes of one run.
    tol : float, default=1e-6
        A run has converged when a pass lowers the objective by less than this share of it.
    random_state : int, generator or None, default=None
        None means 0: the same bits on every run.
    n_jobs : int, default=None
        Threads, which share the runs; None and -1 use all processors. The result does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
    covariances_ : ndarray of shape (n_clusters_, n_features, n_features)
    n_clusters_ : int
    penalty_ : float
        As given or guessed; NaN if ``n_clusters`` was given.
    covariance_penalty_ : float
        c as given or guessed.
    covariance_prior_ : ndarray of shape (n_features, n_features) or None
        Phi as given or guessed; None without a prior.
    objective_ : float
    inertia_ : float
        The objective without (K - 1) penalty.
    objective_trace_ : ndarray
        The objective after every pass of the best run.
    n_iter_ : int
    converged_ : bool

    References
    ----------
    .. [1] T. Broderick, B. Kulis, M. I. Jordan, "MAD-Bayes: MAP-based asymptotic derivations from Bayes", ICML 2013.

    Examples
    --------
    Three long strips, 20 times as long as wide. We know what a strip looks like, and that it has about 50 rows:

    >>> import numpy as np
    >>> from madbayes import DPMeans, FullCovarianceMeans
    >>> from sklearn.metrics import adjusted_rand_score
    >>> rng = np.random.default_rng(0)
    >>> strip = np.repeat([0, 1, 2], 50)
    >>> X = np.column_stack([rng.normal(0, 4, 150), 1.5 * strip + rng.normal(0, 0.2, 150)])
    >>> expected = np.diag([4.0**2, 0.2**2])
    >>> c = 50
    >>> model = FullCovarianceMeans(covariance_penalty=c, covariance_prior=c * expected).fit(X)
    >>> model.n_clusters_, adjusted_rand_score(strip, model.labels_)
    (3, 1.0)
    >>> bool(adjusted_rand_score(strip, DPMeans(n_clusters=3).fit(X).labels_) < 0.1)
    True

    Where nothing is known all defaults are guesses, good for clusters that are nearly round:

    >>> from madbayes.simulate import gaussian_mixture
    >>> X, truth, _ = gaussian_mixture(300, n_clusters=4, separation=7)
    >>> FullCovarianceMeans().fit(X).n_clusters_
    4
    """

    _model: _core.CovariancesModel

    def __init__(
        self,
        *,
        penalty: float | str = "auto",
        n_clusters: int | None = None,
        max_clusters: int | None = None,
        covariance_penalty: float | str = "auto",
        covariance_prior: ArrayLike | None = None,
        covariances: ArrayLike | None = None,
        algorithm: str = "collapsed",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.penalty = penalty
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.covariance_penalty = covariance_penalty
        self.covariance_prior = covariance_prior
        self.covariances = covariances
        self.algorithm = algorithm
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        penalty = penalty_of(self.penalty, "cluster")
        check_runs(self.n_init, self.max_iter)
        check_cluster_numbers(self.n_clusters, self.max_clusters, self.penalty)
        c: float | None = None
        if not (isinstance(self.covariance_penalty, str) and self.covariance_penalty == "auto"):
            c = number_of("covariance_penalty", self.covariance_penalty, "a positive number or 'auto'")
            if c is None:
                raise ValueError("covariance_penalty must be a positive number or 'auto', got None")
        n_clusters = self.n_clusters
        if self.covariances is not None:
            known, n_clusters = self._fixed(n_clusters)
        else:
            known = self._prior(c)
        return {
            "penalty": penalty,
            "n_clusters": n_clusters,
            "max_clusters": self.max_clusters,
            "covariance_penalty": c,
            "known": known,
            "algorithm": str(self.algorithm),
            "n_init": None if self.n_init == "auto" else int(self.n_init),
            "max_iter": int(self.max_iter),
            "tol": number_of("tol", self.tol, "a number of at least 0"),
            "seed": seed_of(self.random_state),
            "threads": threads_of(self.n_jobs),
        }

    def _prior(self, c: float | None) -> tuple[str, list[float]]:
        """What is known of covariances that are to be learned: Phi / c."""
        if self.covariance_prior is None:
            return "guessed", []
        d = self.n_features_in_
        phi = np.asarray(self.covariance_prior, dtype=np.float64)
        if phi.ndim == 0:
            phi = float(phi) * np.eye(d)
        if phi.shape != (d, d):
            raise ValueError(
                f"covariance_prior must have shape ({d}, {d}), one row and column per column of X, or be a number, got "
                f"{phi.shape}"
            )
        if not phi.any():
            return "nothing", []
        if c is None:
            raise ValueError(
                "covariance_penalty must be a number where covariance_prior is given, got 'auto': the prior is "
                "covariance_penalty times the covariance you expect within a cluster, so give both; the size of a typical "
                "cluster is a good covariance_penalty"
            )
        return "expected", list((phi / c).ravel() if c != 0 else phi.ravel())

    def _fixed(self, n_clusters: int | None) -> tuple[tuple[str, list[float]], int | None]:
        """Covariances that are given, and the number of clusters that follows."""
        d, given = self.n_features_in_, np.asarray(self.covariances, dtype=np.float64)
        if self.covariance_prior is not None or not isinstance(self.covariance_penalty, str):
            raise ValueError(
                "covariance_prior and covariance_penalty must be left out where covariances are given: these are held fixed, "
                "and nothing is learned about them"
            )
        if given.shape == (d, d):
            return ("shared", list(given.ravel())), n_clusters
        if given.ndim != 3 or given.shape[1:] != (d, d) or len(given) == 0:
            raise ValueError(
                f"covariances must have shape ({d}, {d}), one for all clusters, or (n_clusters, {d}, {d}), got {given.shape}"
            )
        if n_clusters not in (None, len(given)) or isinstance(self.penalty, numbers.Real):
            raise ValueError(
                f"n_clusters must be {len(given)} or None and penalty 'auto' where {len(given)} covariances are given, got "
                f"{n_clusters!r} and {self.penalty!r}: there is one cluster for each; give one covariance for all to leave "
                "their number free"
            )
        if self.max_clusters is not None:
            raise ValueError("max_clusters must be None where every cluster has its covariance given: their number is fixed")
        return ("fixed", list(given.ravel())), len(given)

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 counts a row twice, 0 ignores it.

        Returns
        -------
        self
        """
        begin = perf_counter()
        rows = self._rows(X, reset=True)
        options = self._options()
        weights = weights_of(sample_weight, len(rows))
        with progress_of(self.verbose) as progress:
            learned = _core.fit_covariances(rows, weights, self._columns(), options, progress)
        keep_run(self, rows, begin, options["seed"], weights)
        self._model = learned["model"]
        self.labels_: Labels = learned["labels"]
        self._keep(learned)
        self.objective_trace_: Floats = learned["trace"]
        self.n_iter_ = len(learned["trace"])
        self.converged_: bool = learned["converged"]
        raise_if_interrupted(learned)
        if not self.converged_:
            warn_unconverged(f"not converged within max_iter={self.max_iter} passes: raise max_iter or tol")
        return self

    def _keep(self, found: dict[str, Any]) -> None:
        """What a fit and a model file have in common."""
        self.cluster_centers_: Floats = found["centres"]
        self.covariances_: Floats = found["covariances"]
        self.n_clusters_ = self._n_features_out = len(self.cluster_centers_)
        self.penalty_ = float("nan") if found["penalty"] is None else float(found["penalty"])
        self.covariance_penalty_ = float(found["covariance_penalty"])
        expected = found["expected"]
        self.covariance_prior_: Floats | None = None if expected is None else self.covariance_penalty_ * expected
        self.objective_ = float(found["objective"])
        price = 0.0 if found["penalty"] is None else (self.n_clusters_ - 1) * self.penalty_
        self.inertia_ = self.objective_ - price

    def _assign(self, X: Any) -> tuple[Labels, Floats]:
        check_is_fitted(self)
        return self._model.assign(self._rows(X, reset=False), threads_of(self.n_jobs))

    def predict(self, X: ArrayLike) -> Labels:
        """The nearest cluster of each row by Mahalanobis distance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._assign(X)[0]

    def transform(self, X: ArrayLike) -> Any:
        """Mahalanobis distances to the centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        distances = np.empty((len(rows), self.n_clusters_))
        for k, (centre, covariance) in enumerate(zip(self.cluster_centers_, self.covariances_, strict=True)):
            along = np.linalg.solve(np.linalg.cholesky(covariance), (rows - centre).T)
            distances[:, k] = np.sqrt((along**2).sum(axis=0))
        return distances.astype(rows.dtype, copy=False)

    def fit_predict(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Labels:
        """Fit, then the cluster of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Any:
        """Fit, then distances of the same rows to the centres."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the sum of squared Mahalanobis distances to the nearest centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        distances = self._assign(X)[1]
        weights = weights_of(sample_weight, len(distances))
        return -float(distances.sum() if weights is None else distances @ weights)

    def report(self, path: str | os.PathLike[str], X: ArrayLike | None = None, *, labels: ArrayLike | None = None) -> None:
        """Write a page to look at in any browser: one file that asks nothing of the network.

        It shows the clusters, what tells them apart, and the rows that fit worst.

        Parameters
        ----------
        path : path-like
            Where to write it, such as ``"report.html"``.
        X : array-like, default=None
            The rows of the fit, where they are not kept: after unpickling.
        labels : array-like of shape (n_samples,), default=None
            Known labels to compare with.
        """
        check_is_fitted(self, "labels_")
        rows = rows_of(self, X, len(self.labels_))
        more = {"Penalty": self.penalty_, "Covariance penalty": self.covariance_penalty_, "Objective": self.objective_}
        shown = page(self, "cluster", self.n_clusters_, rows, more, NO_PATH["other"])
        shown["truth"] = truth_of(labels, len(self.labels_))
        own = np.zeros(len(self.labels_))
        for k, (centre, covariance) in enumerate(zip(self.cluster_centers_, self.covariances_, strict=True)):
            gaps = rows.rows[self.labels_ == k] - centre
            own[self.labels_ == k] = (gaps * np.linalg.solve(covariance, gaps.T).T).sum(axis=1)
        shown["row_losses"] = ("squared Mahalanobis distance", own.tolist())
        write_clusters(path, rows, self.labels_, False, shown)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
