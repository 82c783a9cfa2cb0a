"""Dirichlet process mixtures by Gibbs sampling: not only an answer, but how sure it is."""

from __future__ import annotations

import os
from numbers import Integral
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arguments import number_of, progress_of, seed_of, threads_of
from ._chains import (
    LARGEST_R_HAT,
    goes_on,
    keep_hyperplanes,
    schedule_of,
    separation_of,
    warn_disagreement,
    warn_redundant,
)
from ._counts import checked_rows, count_rows
from ._estimator import Estimator, raise_if_interrupted
from ._report import ESTIMATES, NO_PATH, chains, keep_run, page, rows_of, truth_of, write_clusters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Labels = NDArray[np.int32]

__all__ = ["DPMixture"]

# Rows up to which all pairs may be asked for: 800 MB.
MOST_ROWS_FOR_ALL_PAIRS = 10_000


# The parameters of each likelihood.
PARAMETERS = {
    "gaussian": ("prior_mean", "prior_strength", "prior_dof", "prior_scale"),
    "diagonal": ("prior_mean", "prior_strength", "prior_dof", "prior_scale"),
    "spherical": ("variance", "prior_mean", "prior_variance"),
    "multinomial": ("pseudocount",),
}
ALL_PARAMETERS = sorted({name for names in PARAMETERS.values() for name in names})


class DPMixture(ClusterMixin, Estimator):
    """Dirichlet process mixture: clusters, their number, and the uncertainty of both.

    Rows of a cluster share a law whose parameters are integrated out; the partition has a Chinese restaurant process prior, or
    that of a finite mixture.
    Collapsed Gibbs sampling [1]_ with split-merge moves [2]_ draws partitions from the posterior; the answer is the partition
    of least expected variation of information [3]_.

    Parameters
    ----------
    likelihood : {"gaussian", "diagonal", "spherical", "multinomial"}, default="gaussian"
        The rows of a cluster: Gaussian with a covariance of its own, with variances of its own and independent columns, or
        with one known variance in every direction; or counts, as whole numbers.
    prior_mean : array-like of shape (n_features,), default=None
        Mean of the clusters' means. None: the mean of the rows.
    prior_strength : float, default=None
        "gaussian" and "diagonal": how many rows the prior mean is worth. None: 0.01, so that clusters may lie anywhere.
    prior_dof : float, default=None
        "gaussian" and "diagonal": how many rows the prior scale is worth; more keep small clusters from breaking away. None:
        n_features + 2 for a given scale (for "diagonal" 3), 3 n_features + 2 (5) for a guessed one.
    prior_scale : array-like of shape (n_features, n_features), for "diagonal" (n_features,), default=None
        With ``prior_dof`` by default the covariance (the variances) to be expected within a cluster; in general that times
        ``prior_dof - n_features - 1`` (``prior_dof - 2``). None: that within the clusters of ``DPMeans()``. It decides how
        fine the clusters are; give it if you know it.
    variance : float, default=None
        "spherical": variance of a row about its cluster's mean in every column. None: that within the clusters of
        ``DPMeans()``, and no better than those.
    prior_variance : float, default=None
        "spherical": variance of the clusters' means. None: the mean variance of the columns.
    pseudocount : float, default=None
        "multinomial": added to every count of a cluster. None: 0.01.
    prior : {"dirichlet-process", "finite"}, default="dirichlet-process"
        How rows fall into clusters before anything is known of them. "finite": a mixture of ``max_clusters`` components whose
        weights are Dirichlet(alpha / max_clusters); components without rows are no clusters. With many components it is close
        to the Dirichlet process; with few the sizes of clusters are less unequal.
    concentration : float, default=None
        alpha of the prior, about how readily clusters open. None: drawn anew in every sweep with a Gamma(1, 1) prior [4]_.
    discriminative : {None, "svm", "logistic"}, default=None
        A hyperplane for every cluster, drawn with it, that has its rows on one side and all others on the other [5]_: clusters
        that are alike inside and separated outside, by the factor exp(-2 max(1 - y f, 0)) or 1 / (1 + exp(-y f)) for every row
        and cluster, with f the hyperplane's value at the row and y = 1 inside, -1 outside. The first ten sweeps are without.
        Hyperplanes see the rows less their mean, all columns divided by the root of their mean variance, and have an intercept.
    discriminative_scale : float, default=1.0
        Prior variance of a hyperplane's coefficients: the higher, the stronger the separation; 0 turns it off, draw for draw.
    new_cluster : {"exact", "paper"}, default="exact"
        Where the hyperplane of a new cluster comes from. "exact": the law of an empty cluster's, which leaves a joint
        distribution invariant. "paper": the prior, as published; it leaves none invariant, and
        clusters are then not split or merged.
    max_clusters : int, default=None
        With the Dirichlet process: the prior restricted to at most so many clusters. With "finite", where it must be given: the
        number of components.
    split_merge : bool, default=True
        Whether whole clusters are split and merged too. Without, rows move one by one, and two halves of a cluster may stay
        apart for ever.
    n_sweeps : int, default=1000
        Sweeps of each chain, burn-in included.
    burn_in : int, default=None
        First sweeps whose draws are not kept. None: half of them, down to a multiple of ``thin``.
    thin : int, default=5
        Every how many sweeps after that a draw is kept.
    n_chains : int, default=2
        Independent chains. Chains that disagree have not run long enough; chains that agree from one start may all have
        missed another answer, which ``init="random"`` can show.
    init : {"dp-means", "one", "random"}, default="dp-means"
        Where chains begin: at the clusters of ``DPMeans()``, with all rows in one cluster, or at random.
    loss : {"variation-of-information", "binder"}, default="variation-of-information"
        What the answer is expected to have least of. Binder's loss counts pairs of rows and tends to small extra clusters.
    warm_start : bool, default=False
        Whether another ``fit`` goes on with the chains of the last one, up to a larger ``n_sweeps``, which counts from their
        beginning: 500 sweeps and then 500 more are 1,000, bit for bit. After Ctrl-C the same ``n_sweeps`` takes chains to their
        end. The rows must be the same, and so must all parameters but ``n_sweeps``, ``burn_in`` (to a later sweep), ``loss``,
        ``n_jobs`` and ``verbose``. Pickled estimators can go on too.
    random_state : int, generator or None, default=None
        None means 0: the same bits on every run.
    n_jobs : int, default=None
        Threads; None and -1 use all processors. The result does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The point estimate.
    n_clusters_ : int
        Clusters of the point estimate; the distribution is in ``n_clusters_trace_``.
    certainty_ : ndarray of shape (n_samples,)
        How sure each row's cluster is: the mean over draws of the overlap |C and G| / |C or G| of its cluster C with its group
        G in the draw.
    draws_ : ndarray of shape (n_chains, n_draws, n_samples)
        Labels of each draw kept. Numbers of clusters mean nothing across draws.
    n_clusters_trace_, log_joint_trace_, concentration_trace_ : ndarray of shape (n_chains, n_sweeps)
        After every sweep, burn-in included.
    burn_in_ : int
    r_hat_ : dict
        Rank-normalised split R-hat of ``n_clusters``, ``log_joint`` and, if it is drawn, ``concentration``, after the burn-in.
        Near 1 the chains agree; 1 also where nothing varies.
    effective_size_ : dict
        Rank-normalised bulk effective sample size of the same: how many independent draws the chains are worth.
    converged_ : bool
        Whether no R-hat is above 1.1.
    prior_ : dict
        The prior that was used, under the names of the parameters.
    hyperplanes_ : ndarray of shape (n_clusters_, n_features)
        With ``discriminative``: the mean hyperplane of each cluster of the point estimate, as coefficients of the columns;
        ``X @ hyperplanes_.T + intercepts_`` is above 0 on the cluster's side.
    intercepts_ : ndarray of shape (n_clusters_,)

    References
    ----------
    .. [1] R. M. Neal, "Markov chain sampling methods for Dirichlet process mixture models", JCGS 2000, Algorithm 3.
    .. [2] S. Jain, R. M. Neal, "A split-merge Markov chain Monte Carlo procedure for the Dirichlet process mixture model",
       JCGS 2004.
    .. [3] S. Wade, Z. Ghahramani, "Bayesian cluster analysis", Bayesian Analysis 2018.
    .. [4] M. D. Escobar, M. West, "Bayesian density estimation and inference using mixtures", JASA 1995.
    .. [5] V. Nguyen et al., "Discriminative Bayesian nonparametric clustering", IJCAI 2017.

    Examples
    --------
    >>> from madbayes import DPMixture
    >>> from madbayes.simulate import gaussian_mixture
    >>> X, truth, _ = gaussian_mixture(200, n_clusters=3, separation=7)
    >>> model = DPMixture(n_sweeps=200).fit(X)
    >>> model.n_clusters_
    3
    >>> bool(model.certainty_.min() > 0.5)
    True

    Not sure that this was long enough? Go on, instead of beginning anew:

    >>> model = DPMixture(n_sweeps=100, warm_start=True).fit(X)
    >>> longer = model.set_params(n_sweeps=200).fit(X)
    >>> longer.log_joint_trace_.shape
    (2, 200)
    """

    _model: _core.Mixture
    _chains: _core.Chains
    labels_: Labels
    draws_: NDArray[np.int32]

    def __init__(
        self,
        *,
        likelihood: str = "gaussian",
        prior_mean: ArrayLike | None = None,
        prior_strength: float | None = None,
        prior_dof: float | None = None,
        prior_scale: ArrayLike | None = None,
        variance: float | None = None,
        prior_variance: float | None = None,
        pseudocount: float | None = None,
        prior: str = "dirichlet-process",
        concentration: float | None = None,
        discriminative: str | None = None,
        discriminative_scale: float = 1.0,
        new_cluster: str = "exact",
        max_clusters: int | None = None,
        split_merge: bool = True,
        n_sweeps: int = 1000,
        burn_in: int | None = None,
        thin: int = 5,
        n_chains: int = 2,
        init: str = "dp-means",
        loss: str = "variation-of-information",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.likelihood = likelihood
        self.prior_mean = prior_mean
        self.prior_strength = prior_strength
        self.prior_dof = prior_dof
        self.prior_scale = prior_scale
        self.variance = variance
        self.prior_variance = prior_variance
        self.pseudocount = pseudocount
        self.prior = prior
        self.concentration = concentration
        self.discriminative = discriminative
        self.discriminative_scale = discriminative_scale
        self.new_cluster = new_cluster
        self.max_clusters = max_clusters
        self.split_merge = split_merge
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.init = init
        self.loss = loss
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _options(self) -> dict[str, Any]:
        options = prior_options(self)
        if self.max_clusters is not None and not (isinstance(self.max_clusters, Integral) and self.max_clusters >= 1):
            raise ValueError(f"max_clusters must be a whole number of at least 1 or None, got {self.max_clusters!r}")
        return {
            **options,
            "prior": str(self.prior),
            "concentration": number_of("concentration", self.concentration),
            **separation_of(self),
            "max_clusters": self.max_clusters,
            "split_merge": bool(self.split_merge),
            **schedule_of(self),
            "init": self.init,
            "loss": self.loss,
            "seed": seed_of(self.random_state),
            "threads": threads_of(self.n_jobs),
        }

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Sample partitions of the rows of X from their posterior; with ``warm_start`` go on with it.

        Parameters
        ----------
        X : array-like or, for counts, sparse matrix of shape (n_samples, n_features)
            float32 and float64 in C order are used as they are, without a copy.
        y : ignored

        Returns
        -------
        self
        """
        options = self._options()
        earlier = getattr(self, "_chains", None) if self.warm_start else None
        if earlier is not None and not goes_on(self, earlier, options):
            return self
        begin = perf_counter()
        rows = self._checked(X, reset=earlier is None)
        if earlier is None and not self._of_counts():
            warn_redundant(self.likelihood, rows, self._columns())
        total = options["n_sweeps"] * options["n_chains"]
        with progress_of(self.verbose, unit="sweep", total=total) as progress:
            if self._of_counts():
                learned = _core.fit_count_mixture(count_rows(rows), self._columns(), options, earlier, progress)
            else:
                learned = _core.fit_mixture(rows, self._columns(), options, earlier, progress)
        keep_run(self, rows, begin, options["seed"])
        self.labels_ = learned["labels"]
        self.n_clusters_ = learned["n_clusters"]
        self.certainty_ = learned["certainty"]
        self.draws_ = learned["draws"]
        self.n_clusters_trace_ = learned["n_clusters_trace"]
        self.log_joint_trace_ = learned["log_joint_trace"]
        self.concentration_trace_ = learned["concentration_trace"]
        self.burn_in_ = options["burn_in"]
        names = ("n_clusters", "log_joint", "concentration")[: 3 if self.concentration is None else 2]
        self.r_hat_ = dict(zip(names, learned["r_hat"], strict=False))
        self.effective_size_ = dict(zip(names, learned["effective_size"], strict=False))
        self.converged_ = all(r_hat <= LARGEST_R_HAT for r_hat in self.r_hat_.values())
        self.prior_ = learned["prior"]
        keep_hyperplanes(self, learned)
        self._model = learned["model"]
        self._chains = learned["chains"]
        raise_if_interrupted(learned)
        if not self.converged_:
            warn_disagreement(self.r_hat_)
        return self

    def fit_predict(self, X: ArrayLike, y: object = None) -> Labels:
        """Fit, then the cluster of each row in the point estimate."""
        return self.fit(X).labels_

    def predict(self, X: ArrayLike) -> Labels:
        """The cluster of the point estimate whose rows each row is most probably with, averaged over draws.

        For the rows of the fit this may differ from ``labels_``, which weighs all rows together. With ``discriminative`` the
        side of each cluster's hyperplane counts too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._assign(X)[0]

    def score_samples(self, X: ArrayLike) -> Floats:
        """The log predictive density of each row, averaged over (at most 500) draws.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._assign(X)[1]

    def score(self, X: ArrayLike, y: object = None) -> float:
        """The mean log predictive density of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def _assign(self, X: Any) -> tuple[Labels, Floats]:
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        if self._of_counts():
            return self._model.assign_counts(count_rows(rows), threads_of(self.n_jobs))
        return self._model.assign(rows, threads_of(self.n_jobs))

    def _of_counts(self) -> bool:
        return self.likelihood == "multinomial"

    def _checked(self, X: Any, *, reset: bool) -> Any:
        return checked_rows(self, X, reset=reset) if self._of_counts() else self._rows(X, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = self._of_counts()
        return tags

    def coclustering(self, pairs: ArrayLike | None = None) -> Floats:
        """The share of draws in which rows are in one cluster.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2), default=None
            Rows to compare, as numbers from 0. None: all pairs, for at most 10,000 rows.

        Returns
        -------
        ndarray of shape (n_pairs,) or (n_samples, n_samples)

        Examples
        --------
        >>> from madbayes import DPMixture
        >>> model = DPMixture(likelihood="spherical", variance=0.3, n_sweeps=200).fit([[0.0], [0.5], [1.0], [20.0], [20.5]])
        >>> together, apart = model.coclustering([[0, 1], [0, 3]])
        >>> bool(together > 0.8), bool(apart < 0.1)
        (True, True)
        """
        check_is_fitted(self)
        if not hasattr(self, "draws_"):
            raise ValueError("this model was read from a file, which holds no draws: fit it again")
        n_rows = self.draws_.shape[2]
        draws = self.draws_.reshape(-1, n_rows)
        if len(draws) == 0:
            raise ValueError("no draws were kept: the fit was stopped before the burn-in was over")
        if pairs is None:
            if n_rows > MOST_ROWS_FOR_ALL_PAIRS:
                raise ValueError(
                    f"all pairs of {n_rows} rows are too many, at most {MOST_ROWS_FOR_ALL_PAIRS} rows are allowed: "
                    "give the pairs you want"
                )
            return _core.coclustering(draws, None)
        chosen = np.asarray(pairs)
        if chosen.ndim != 2 or chosen.shape[1] != 2 or not np.issubdtype(chosen.dtype, np.integer):
            raise ValueError(f"pairs must be integers of shape (n_pairs, 2), got {chosen.dtype} of shape {chosen.shape}")
        if chosen.size and not (0 <= chosen.min() and chosen.max() < n_rows):
            raise ValueError(f"pairs must be rows from 0 to {n_rows - 1}, got {chosen.min()} to {chosen.max()}")
        return _core.coclustering(draws, [(int(a), int(b)) for a, b in chosen])

    def report(self, path: str | os.PathLike[str], X: ArrayLike | None = None, *, labels: ArrayLike | None = None) -> None:
        """Write a page to look at in any browser: one file that asks nothing of the network.

        It shows the clusters of the point estimate, how sure they are, and the chains.

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
        more = {
            "Chains": f"{len(self.log_joint_trace_)} of {self.n_sweeps} sweeps",
            "Largest log joint": float(self.log_joint_trace_.max()),
        }
        shown = page(self, "cluster", self.n_clusters_, rows, more, NO_PATH["sampled"])
        shown.update(truth=truth_of(labels, len(self.labels_)), estimate=ESTIMATES[self.loss])
        of_chains = chains(
            self.n_clusters_trace_, self.log_joint_trace_, self.burn_in_, self.r_hat_, self.draws_, self.certainty_
        )
        write_clusters(path, rows, self.labels_, self._of_counts(), shown, of_chains)

    def to_arviz(self) -> Any:
        """The chains after the burn-in as ArviZ has them, for its plots and diagnostics (needs ``arviz``).

        Returns
        -------
        arviz.InferenceData
            ``posterior`` with ``n_clusters`` and, if it is drawn, ``concentration``; ``sample_stats`` with ``lp``, the log
            joint; all of shape (chain, draw), one draw per sweep. (An ``xarray.DataTree`` from ArviZ 1.0 on.)
        """
        check_is_fitted(self)
        if not hasattr(self, "draws_"):
            raise ValueError("this model was read from a file, which holds no draws: fit it again")
        try:
            import arviz
        except ImportError as error:
            raise ImportError("to_arviz needs ArviZ: pip install arviz") from error
        posterior = {"n_clusters": self.n_clusters_trace_[:, self.burn_in_ :]}
        if self.concentration is None:
            posterior["concentration"] = self.concentration_trace_[:, self.burn_in_ :]
        groups: dict[str, Any] = {"posterior": posterior, "sample_stats": {"lp": self.log_joint_trace_[:, self.burn_in_ :]}}
        if hasattr(arviz, "InferenceData"):
            return arviz.from_dict(**groups)
        return arviz.from_dict(groups)


def prior_names(estimator: Any) -> tuple[str, ...]:
    """The parameters of the likelihood of an estimator."""
    names = PARAMETERS.get(estimator.likelihood)
    if names is None:
        raise ValueError(f"likelihood must be one of {', '.join(map(repr, PARAMETERS))}, got {estimator.likelihood!r}")
    return names


def prior_options(estimator: Any) -> dict[str, Any]:
    """The likelihood of an estimator and its parameters, checked."""
    of_law = prior_names(estimator)
    for name in ALL_PARAMETERS:
        if name not in of_law and getattr(estimator, name) is not None:
            raise ValueError(f"{name} is no parameter of likelihood={estimator.likelihood!r}, which has {', '.join(of_law)}")
    return {
        "likelihood": estimator.likelihood,
        "prior_mean": numbers_of("prior_mean", estimator.prior_mean, 1),
        "prior_strength": number_of("prior_strength", estimator.prior_strength),
        "prior_dof": number_of("prior_dof", estimator.prior_dof),
        "prior_scale": numbers_of("prior_scale", estimator.prior_scale, 2 if estimator.likelihood == "gaussian" else 1),
        "variance": number_of("variance", estimator.variance),
        "prior_variance": number_of("prior_variance", estimator.prior_variance),
        "pseudocount": number_of("pseudocount", estimator.pseudocount),
    }


def numbers_of(name: str, values: ArrayLike | None, dimensions: int) -> list[float] | None:
    """The numbers of an array of one or two dimensions, row by row."""
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != dimensions:
        wanted = "one number per column" if dimensions == 1 else "a matrix, columns by columns"
        raise ValueError(f"{name} must be {wanted}, got an array of shape {array.shape}")
    return array.ravel().tolist()
