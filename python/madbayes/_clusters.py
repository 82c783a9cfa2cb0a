"""Hard clustering: DPMeans and KMeans."""

from __future__ import annotations

import os
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arguments import (
    check_cluster_numbers,
    check_runs,
    is_count,
    number_of,
    penalty_or_rule,
    progress_of,
    seed_of,
    threads_of,
    weights_of,
)
from ._counts import DIVERGENCES, checked_rows, count_rows, divergences
from ._estimator import Estimator, raise_if_interrupted, warn_unconverged
from ._report import NO_PATH, keep_run, page, rows_of, truth_of, write_clusters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Labels = NDArray[np.int32]

__all__ = ["DPMeans", "KMeans"]


class _Centres(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
    """What DPMeans and KMeans share: everything after the constructor."""

    _model: _core.Model | _core.CountsModel
    _units: tuple[Floats, Floats] | None
    cluster_centers_: Floats
    labels_: Labels

    def _options(self) -> dict[str, Any]:
        raise NotImplementedError

    def _of_counts(self) -> bool:
        """Whether rows are counts, compared by their Kullback-Leibler divergence."""
        return False

    def _checked(self, X: Any, *, reset: bool) -> Any:
        return checked_rows(self, X, reset=reset) if self._of_counts() else self._rows(X, reset=reset)

    def _common_options(self, n_clusters: int | None) -> dict[str, Any]:
        """The options that both classes have under the same names."""
        given = np.asarray(self.init, dtype=np.float64) if not isinstance(self.init, str) else None
        if given is None and self.init not in ("++", "mean"):
            raise ValueError(f"init must be '++', 'mean' or an array of centres, got {self.init!r}")
        if given is not None and (given.ndim != 2 or given.shape[1] != self.n_features_in_):
            raise ValueError(
                f"init must have shape (n_centres, {self.n_features_in_}), one column per column of X, got {given.shape}"
            )
        check_runs(self.n_init, self.max_iter)
        if n_clusters is not None and not is_count(n_clusters):
            raise ValueError(f"n_clusters must be an integer of at least 1, got {n_clusters!r}")
        return {
            "penalty": None,
            "rule": "",
            "n_clusters": n_clusters,
            "max_clusters": None,
            "plain_k_means": False,
            "algorithm": self.algorithm,
            "init": None if given is None else np.ascontiguousarray(given),
            "mean": given is None and self.init == "mean",
            "n_init": None if self.n_init == "auto" else int(self.n_init),
            "max_iter": int(self.max_iter),
            "tol": number_of("tol", self.tol, "a number of at least 0"),
            "seed": seed_of(self.random_state),
            "threads": threads_of(self.n_jobs),
        }

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or, for counts, sparse matrix of shape (n_samples, n_features)
            float32 and float64 in C order are used as they are, without a copy.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 counts a row twice, 0 ignores it.

        Returns
        -------
        self
        """
        begin = perf_counter()
        rows = self._checked(X, reset=True)
        options = self._options()
        weights = weights_of(sample_weight, rows.shape[0])
        with progress_of(self.verbose) as progress:
            if self._of_counts():
                counts = count_rows(rows) if weights is None else count_rows(rows).weighted(weights)
                learned = _core.fit_counts(counts, self._columns(), options, progress)
            else:
                learned = _core.fit(rows, weights, self._columns(), options, progress)
        keep_run(self, rows, begin, options["seed"], weights)
        self._learn(learned)
        return self

    def _learn(self, learned: dict[str, Any]) -> None:
        """Keeps what a fit found; an interrupted one is kept too, then raised."""
        self.labels_ = learned["labels"]
        self.cluster_centers_ = learned["centres"]
        self.inertia_ = learned["loss"]
        # The last assignment, which makes labels and centres fit together, is no pass of its own.
        self.n_iter_ = min(len(learned["trace"]), int(self.max_iter))
        self.objective_trace_ = learned["trace"]
        self.converged_ = learned["converged"]
        self._n_features_out = len(self.cluster_centers_)
        self._units = None
        self._model = learned["model"]
        if not self._of_counts():
            self._weights = learned["weights"]
        raise_if_interrupted(learned)
        if not self.converged_:
            warn_unconverged(f"not converged within max_iter={self.max_iter} passes: raise max_iter or tol")

    def _assign(self, X: Any) -> tuple[Labels, Floats]:
        check_is_fitted(self)
        rows: Any = self._checked(X, reset=False)
        rows = count_rows(rows) if self._of_counts() else rows
        return self._model.assign(rows, threads_of(self.n_jobs))

    def predict(self, X: ArrayLike) -> Labels:
        """The nearest cluster of each row.

        Counts in a column that no cluster has counts in are infinitely far from all: such a row is given to the cluster whose
        loss it would raise least.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._assign(X)[0]

    def transform(self, X: ArrayLike) -> Any:
        """Distances to the centres; for counts x. KL(x/x. || centre), infinite where a centre lacks a column of the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        if self._of_counts():
            return divergences(rows, self.cluster_centers_).astype(rows.dtype, copy=False)
        # About the reference point, since far from 0 differences of squares lose digits; a model that the program
        # standardised measures distances in those units.
        middle, scales = self._model.fields()["reference"], np.ones(1)
        if self._units is not None:
            middle, scales = self._units
        distances = euclidean_distances((rows - middle) / scales, (self.cluster_centers_ - middle) / scales)
        return distances.astype(rows.dtype, copy=False)

    def fit_transform(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Any:
        """Fit, then distances of the same rows to the centres."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def fit_predict(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Labels:
        """Fit, then the cluster of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def score(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the loss of the rows: the higher, the better for a given number of clusters.

        More clusters always lose less, on new rows too as a rule: a grid search over ``penalty`` or ``n_clusters`` by this
        score takes the most clusters it is offered.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
            -sum of w |x - nearest centre|^2, or of w x. KL(x/x. || nearest centre).
        """
        distances = self._assign(X)[1]
        weights = weights_of(sample_weight, len(distances))
        return -float(distances.sum() if weights is None else distances @ weights)

    def report(self, path: str | os.PathLike[str], X: ArrayLike | None = None, *, labels: ArrayLike | None = None) -> None:
        """Write a page to look at in any browser: one file that asks nothing of the network.

        A slider over the penalties shows the clusters at each of them.

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
        counts, k = self._of_counts(), len(self.cluster_centers_)
        streamed = hasattr(self, "_stream_state")
        penalty, rule = getattr(self, "penalty_", None), getattr(self, "penalty", None)
        of_all = " of all rows seen" if streamed else ""
        more = {"Penalty": penalty, f"Loss{of_all}": self.inertia_, f"Objective{of_all}": getattr(self, "objective_", None)}
        shown = page(self, "cluster", k, rows, more, NO_PATH["stream" if streamed else "other" if counts else "long"])
        shown.update(
            # A stream has no path: what came before the last batch is not there to be clustered anew.
            path=not counts and not streamed,
            choose=rule == "auto" and self.n_clusters is None and not streamed,
            max_clusters=getattr(self, "max_clusters", None),
            penalties=None if streamed else getattr(self, "penalty_range_", None),
            truth=truth_of(labels, len(self.labels_)),
        )
        if streamed:
            here = len(np.unique(self.labels_))
            shown["sentences"] = [
                f"These are the {k:,} clusters of all rows of the stream; {here:,} of them have rows in the last batch, and this "
                f"page shows the {len(self.labels_):,} rows of that batch alone."
            ]
        if counts:
            own = np.zeros(len(self.labels_))
            for cluster, centre in enumerate(self.cluster_centers_):
                mine = np.flatnonzero(self.labels_ == cluster)
                own[mine] = divergences(rows.rows[mine], centre[None])[:, 0]
            shown["row_losses"] = ("Kullback-Leibler divergence (nats)", own.tolist())
        write_clusters(path, rows, self.labels_, counts, shown)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _takes_batches(estimator: Any) -> bool:
    if estimator.divergence == "kullback-leibler":
        raise AttributeError("partial_fit is for divergence='euclidean': use fit for counts")
    return True


class DPMeans(_Centres):
    """DP-means: clusters without saying how many.

    Minimises sum_n |x_n - mu_{z_n}|^2 + (K - 1) penalty over labels, centres and their number K [1]_.

    Parameters
    ----------
    penalty : float, "auto", "validation" or "farthest-first:K", default="auto"
        lambda^2, the price of one more cluster in squared-distance units, or the rule that chooses it from the data.

        "auto": each K is optimal for the penalties from some low to some high one. The K > 1 of highest score sqrt(K)
        log(high/low) is taken, and the middle of its penalties, if rows of the same covariance without clusters do not show the
        like: 24 such data sets (8 of each of 3 shapes) are made and clustered to compare, unless the score is decisive. Else
        one cluster is the answer. ``penalty_path`` shows the whole path.

        "validation": the largest K whose clusters in one half of the rows those of the other half predict [3]_.

        "farthest-first:8" (or another number): the squared distance of the 8th row when starting from the mean the row
        farthest from all taken before is taken next [2]_; leads to about 8 clusters where they are far apart.
    n_clusters : int, default=None
        Exactly this many clusters; ``penalty`` is not used, and ``penalty_`` is one for which this K is optimal.
    max_clusters : int, default=None
        Never more clusters than this.
    divergence : {"euclidean", "kullback-leibler"}, default="euclidean"
        "kullback-leibler" is for rows of counts, such as how often each word occurs in each text, as an array or a SciPy CSR
        matrix (never filled up with its zeros). It minimises sum_n x_n. KL(x_n/x_n. || mu_{z_n}) + (K - 1) penalty, where x_n. is
        the sum of row n and a centre is the share of each column in all counts of its cluster: the limit of a Dirichlet process
        mixture of multinomials. The penalty is in nats times counts: twice as many words per text need twice the penalty. Of the
        rules there is "auto" alone: the path is one of merges, and data without clusters are rows of one Dirichlet-multinomial
        distribution of the same spread.
    algorithm : {"parallel", "serial", "collapsed"}, default="parallel"
        All rows at once with split, merge and swap moves; row after row as in [2]_; row after row with the means following
        every move ([1]_, Alg. 2). For counts: all rows at once, then row after row; or row after row alone; splits,
        merges and swaps in both.
    init : {"++", "mean"} or array-like of shape (n_centres, n_features), default="++"
        Where a run begins; "++" for counts.
    n_init : int or "auto", default="auto"
        Number of runs, the best is kept. "auto": many for tiny data, one for large. With a penalty and more than a few hundred
        rows "auto" is also quick: a number, be it 1, tries moves that do not pay at once, too, and takes longer for an
        objective that is often a few parts in a thousand lower.
    max_iter : int, default=300
        Most passes of one run.
    tol : float, default=1e-6
        A run has converged when a pass lowers the objective by less than this share of it; with a penalty, 2,000 times this share
        once it has done 600 million multiply-adds. 0 goes on until nothing changes.
    random_state : int, generator or None, default=None
        None means 0: the same bits on every run.
    n_jobs : int, default=None
        Threads; None and -1 use all processors. The result does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
    n_clusters_ : int
    penalty_ : float
        NaN if ``n_clusters`` was given and no penalty makes it optimal.
    penalty_range_ : tuple of two floats or None
        The penalties for which this number of clusters is optimal, where ``n_clusters`` was given or a rule chose the penalty;
        None if there are none, or they were not looked for.
    confidence_ : float or None
        Under "auto" from 0 to 1: by what share the score of the next best K is below that of the chosen one; for one cluster,
        how far the data are from showing more than data without structure do. None otherwise.
    runners_up_ : list of int or None
        Under "auto" other numbers of clusters worth a look, the best first. None otherwise.
    objective_ : float
        inertia_ + (n_clusters_ - 1) penalty_.
    inertia_ : float
        Sum of weighted squared distances to the centres, or of weighted divergences.
    objective_trace_ : ndarray
        The objective after every pass of the best run.
    n_iter_ : int
    converged_ : bool

    References
    ----------
    .. [1] T. Broderick, B. Kulis, M. I. Jordan, "MAD-Bayes: MAP-based asymptotic derivations from Bayes", ICML 2013.
    .. [2] B. Kulis, M. I. Jordan, "Revisiting k-means: new algorithms via Bayesian nonparametrics", ICML 2012.
    .. [3] R. Tibshirani, G. Walther, "Cluster validation by prediction strength", JCGS 2005.

    Examples
    --------
    >>> from madbayes import DPMeans
    >>> from madbayes.simulate import gaussian_mixture
    >>> X, truth, _ = gaussian_mixture(300, n_clusters=4, separation=7)
    >>> DPMeans(penalty=200).fit(X).n_clusters_
    4
    >>> DPMeans().fit(X).n_clusters_
    4

    Counts of five words in six texts, three about football and three about an election:

    >>> from scipy.sparse import csr_matrix
    >>> X = csr_matrix([[9, 4, 0, 0, 7], [6, 5, 1, 0, 8], [8, 7, 0, 0, 9], [0, 0, 9, 5, 6], [0, 1, 7, 6, 8], [0, 0, 6, 8, 9]])
    >>> model = DPMeans(divergence="kullback-leibler", penalty=20).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.cluster_centers_.round(2)
    array([[0.36, 0.25, 0.02, 0.  , 0.38],
           [0.  , 0.02, 0.34, 0.29, 0.35]])
    """

    def __init__(
        self,
        *,
        penalty: float | str = "auto",
        n_clusters: int | None = None,
        max_clusters: int | None = None,
        divergence: str = "euclidean",
        algorithm: str = "parallel",
        init: str | ArrayLike = "++",
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
        self.divergence = divergence
        self.algorithm = algorithm
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _of_counts(self) -> bool:
        if self.divergence not in DIVERGENCES:
            raise ValueError(f"divergence must be 'euclidean' or 'kullback-leibler', got {self.divergence!r}")
        return bool(self.divergence == "kullback-leibler")

    def _options(self) -> dict[str, Any]:
        penalty, rule = penalty_or_rule(self.penalty)
        if self._of_counts() and not (isinstance(self.init, str) and self.init == "++"):
            raise ValueError(f"init must be '++' where the divergence is 'kullback-leibler', got {self.init!r}")
        check_cluster_numbers(self.n_clusters, self.max_clusters, self.penalty)
        return {
            **self._common_options(self.n_clusters),
            "penalty": penalty,
            "rule": rule,
            "max_clusters": self.max_clusters,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = self.divergence == "kullback-leibler"
        return tags

    def _learn(self, learned: dict[str, Any]) -> None:
        self.n_clusters_ = len(learned["centres"])
        self.penalty_ = float("nan") if learned["penalty"] is None else learned["penalty"]
        self.penalty_range_ = learned["penalty_range"]
        self.confidence_ = learned["confidence"]
        self.runners_up_ = learned["runners_up"]
        self.objective_ = learned["objective"]
        super()._learn(learned)

    @available_if(_takes_batches)
    def partial_fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Take a batch of a stream in; K can grow and shrink.

        Earlier rows, or those of a ``fit``, are kept as at most a few hundred weighted points. Where a rule such as
        ``penalty="auto"`` chooses, the first batch decides the penalty. ``labels_`` are those of the batch. The objective sums over all rows seen, so a penalty that is right for a
        thousand rows splits clusters after a hundred thousand: give one for as many rows as you expect.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        begin, state = perf_counter(), getattr(self, "_stream_state", None)
        if state is None and hasattr(self, "_model"):
            # What a fit, or a model file, has left: its clusters as points.
            fields = self._model.fields()
            weights = getattr(self, "_weights", np.asarray(fields["sizes"], dtype=np.float64))
            state = (self.cluster_centers_, weights, fields["losses"])
        rows = self._rows(X, reset=state is None)
        stream = _core.Stream(rows.shape[1]) if state is None else _core.Stream.from_state(*state)
        options = self._options()
        if state is not None and options["penalty"] is None and options["n_clusters"] is None:
            options["penalty"] = self.penalty_
        learned = stream.update(rows, weights_of(sample_weight, len(rows)), self._columns(), options)
        self._stream_state = stream.state()
        keep_run(self, rows, begin, options["seed"], weights_of(sample_weight, len(rows)))
        self._learn(learned)
        return self

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:  # noqa: D102
        self.__dict__.pop("_stream_state", None)
        return super().fit(X, sample_weight=sample_weight)

    fit.__doc__ = _Centres.fit.__doc__


class KMeans(_Centres):
    """K-means by the same machinery: exactly ``n_clusters`` clusters of least inertia.

    Split, merge and swap moves free it from most local minima, so one run is usually enough.

    Parameters
    ----------
    n_clusters : int, default=8
    algorithm : {"parallel", "serial", "collapsed"}, default="parallel"
    init : {"++", "mean"} or array-like of shape (n_centres, n_features), default="++"
    n_init : int or "auto", default="auto"
    max_iter : int, default=300
    tol : float, default=1e-6
        A run has converged when a pass lowers the inertia by less than this share of it.
    random_state : int, generator or None, default=None
        None means 0.
    n_jobs : int, default=None
    verbose : int, default=0

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    labels_ : ndarray of shape (n_samples,)
    inertia_ : float
    n_iter_ : int
    objective_trace_ : ndarray
        The inertia after every pass of the best run.
    converged_ : bool

    Examples
    --------
    >>> from madbayes import KMeans
    >>> KMeans(n_clusters=2).fit([[0.0], [1.0], [10.0], [11.0]]).inertia_
    1.0
    """

    def __init__(
        self,
        *,
        n_clusters: int = 8,
        algorithm: str = "parallel",
        init: str | ArrayLike = "++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        if self.n_clusters is None:
            raise ValueError("n_clusters must be an integer of at least 1, got None: DPMeans finds the number by itself")
        return {**self._common_options(self.n_clusters), "plain_k_means": True}

    def _learn(self, learned: dict[str, Any]) -> None:
        found = len(learned["centres"])
        if found < self.n_clusters:
            warn_unconverged(f"only {found} distinct rows, so {found} clusters instead of {self.n_clusters}")
        super()._learn(learned)
