"""Infinite hidden Markov models: the states of sequences, and how many there are."""

from __future__ import annotations

import os
from numbers import Integral, Real
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
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
from ._mixture import prior_options
from ._report import ESTIMATES, NO_PATH, chains, keep_run, page, rows_of, truth_of, write_clusters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Labels = NDArray[np.int32]

__all__ = ["InfiniteHMM"]


class InfiniteHMM(Estimator):
    """Hidden Markov model whose number of states is not known (hierarchical Dirichlet process).

    Rows are a sequence, or several one after another. Rows of a state share a law; the rows of the transition matrix share
    what states there are [1]_. Sampled by beam sampling [2]_ or row by row.

    Parameters
    ----------
    likelihood : {"gaussian", "diagonal", "spherical", "multinomial"}, default="gaussian"
        The rows of a state, as in :class:`DPMixture`.
    prior_mean, prior_strength, prior_dof, prior_scale, variance, prior_variance, pseudocount : default=None
        As in :class:`DPMixture`. None: from the data.
    concentration : float, default=None
        How alike the rows of the transition matrix are: alpha, or alpha + kappa with ``sticky``. None: drawn anew in every
        sweep with a Gamma(1, 1) prior.
    gamma : float, default=None
        How evenly states are used. None: drawn with a Gamma(1, 1) prior.
    sticky : bool or float, default=False
        Whether staying in a state has an extra share kappa / (alpha + kappa) [3]_. True: drawn anew in every sweep with a uniform
        prior. A number above 0 and below 1: the share itself, fixed. For states that last long.
    discriminative : {"svm", "logistic"}, default=None
        Draw a hyperplane with every state that keeps the rows of all others on its far side [4]_, as in :class:`DPMixture`. None:
        a plain hidden Markov model.
    discriminative_scale : float, default=1.0
        Prior variance of a hyperplane's coefficients, for inputs of variance 1; 0 turns the term off.
    new_cluster : {"exact", "paper"}, default="exact"
        Where the hyperplane of a new state comes from: the law of an empty state's, which leaves a joint distribution invariant,
        or the prior, as published, which leaves none.
    sampler : {"beam", "direct"}, default="beam"
        "beam" redraws all states of a sequence at once; "direct" row by row with everything else integrated out, which is
        slow to change where its neighbours hold a row fast.
    max_clusters : int, default=None
        No more states than this: their weights are then Dirichlet(gamma / max_clusters, ..).
    split_merge : bool, default=True
        Whether whole states are split and merged too, with either sampler [5]_. Without, states only change by their rows, and
        halves of one state may stay apart for long. Under ``new_cluster="paper"`` they are not.
    n_sweeps : int, default=1000
        Sweeps of each chain, burn-in included.
    burn_in : int, default=None
        First sweeps whose draws are not kept. None: half of them.
    thin : int, default=5
        Every how many sweeps after that a draw is kept.
    n_chains : int, default=2
        Independent chains.
    init : {"dp-means", "one", "random"}, default="dp-means"
        Where chains begin. "dp-means": at the clusters of ``DPMeans()``, or at random where that has led a chain to a clearly
        higher log joint after 20 sweeps; ``init_`` tells. "one": with all rows in one state. "random": at random.
    loss : {"variation-of-information", "binder"}, default="variation-of-information"
        What the answer is expected to have least of.
    warm_start : bool, default=False
        Whether ``fit`` goes on with the chains of the last fit, of the same rows and sequences, up to ``n_sweeps``, which counts
        from their beginning: 500 sweeps and then 500 more are 1,000, bit for bit.
    random_state : int, generator or None, default=None
        None means 0: the same bits on every run.
    n_jobs : int, default=None
        Threads; None and -1 use all processors. The result does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    states_ : ndarray of shape (n_samples,)
        The point estimate of the state of each row.
    n_states_ : int
    certainty_ : ndarray of shape (n_samples,)
        How sure each row's state is: the mean over draws of the overlap of its state with its state in the draw.
    transmat_ : ndarray of shape (n_states_, n_states_)
        Posterior mean of the transitions between the states, each row divided by its sum.
    new_state_ : ndarray of shape (n_states_,)
        The probability of going on to a state that was not seen so far, which ``transmat_`` leaves out.
    next_states_ : ndarray of shape (n_sequences, n_states_ + 1)
        The probability of each state, the last a new one, for the row after the end of each sequence.
    draws_ : ndarray of shape (n_chains, n_draws, n_samples)
        States of each draw kept. Numbers of states mean nothing across draws.
    n_states_trace_, log_joint_trace_, concentration_trace_, gamma_trace_ : ndarray of shape (n_chains, n_sweeps)
        After every sweep, burn-in included.
    stickiness_trace_ : ndarray of shape (n_chains, n_sweeps)
        The extra share kappa / (alpha + kappa) of staying; 0 where nothing is sticky.
    burn_in_ : int
    init_ : {"dp-means", "one", "random"}
        Where the chains began: at random instead of the clusters of ``DPMeans()`` if that led higher. None for chains gone on with
        that an earlier version began and did not say.
    r_hat_, effective_size_ : dict
        Rank-normalised split R-hat and bulk effective sample size of ``n_states``, ``log_joint`` and what is drawn of
        ``concentration`` and ``gamma``, after the burn-in.
    converged_ : bool
        Whether no R-hat is above 1.1.
    prior_ : dict
        The prior that was used, under the names of the parameters.
    hyperplanes_ : ndarray of shape (n_states_, n_features)
        With ``discriminative``: the mean hyperplane of each state of the point estimate, as coefficients of the columns;
        ``X @ hyperplanes_.T + intercepts_`` is above 0 on the state's side.
    intercepts_ : ndarray of shape (n_states_,)

    References
    ----------
    .. [1] Y. W. Teh, M. I. Jordan, M. J. Beal, D. M. Blei, "Hierarchical Dirichlet processes", JASA 2006.
    .. [2] J. Van Gael, Y. Saatci, Y. W. Teh, Z. Ghahramani, "Beam sampling for the infinite hidden Markov model", ICML 2008.
    .. [3] E. B. Fox, E. B. Sudderth, M. I. Jordan, A. S. Willsky, "A sticky HDP-HMM with application to speaker
       diarization", Annals of Applied Statistics 2011.
    .. [4] V. Nguyen et al., "Discriminative Bayesian nonparametric clustering", IJCAI 2017.
    .. [5] S. Jain, R. M. Neal, "A split-merge Markov chain Monte Carlo procedure for the Dirichlet process mixture model",
       Journal of Computational and Graphical Statistics 2004.

    Examples
    --------
    >>> from madbayes import InfiniteHMM
    >>> from madbayes.simulate import hidden_markov
    >>> X, truth, _ = hidden_markov(300, n_states=3, separation=6)
    >>> model = InfiniteHMM(n_sweeps=200).fit(X)
    >>> model.n_states_
    3
    >>> model.transmat_.shape
    (3, 3)

    Not sure that this was long enough? Go on, instead of beginning anew:

    >>> model = InfiniteHMM(n_sweeps=100, discriminative="logistic", warm_start=True).fit(X)
    >>> longer = model.set_params(n_sweeps=200).fit(X)
    >>> longer.log_joint_trace_.shape
    (2, 200)
    >>> longer.hyperplanes_.shape
    (3, 2)
    """

    _model: _core.StatesModel
    _chains: _core.StateChains
    states_: Labels

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
        concentration: float | None = None,
        gamma: float | None = None,
        sticky: bool | float = False,
        discriminative: str | None = None,
        discriminative_scale: float = 1.0,
        new_cluster: str = "exact",
        sampler: str = "beam",
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
        self.concentration = concentration
        self.gamma = gamma
        self.sticky = sticky
        self.discriminative = discriminative
        self.discriminative_scale = discriminative_scale
        self.new_cluster = new_cluster
        self.sampler = sampler
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
            "concentration": number_of("concentration", self.concentration),
            "gamma": number_of("gamma", self.gamma),
            **_stickiness(self.sticky),
            **separation_of(self),
            "sampler": self.sampler,
            "max_states": self.max_clusters,
            "split_merge": bool(self.split_merge),
            **schedule_of(self),
            "init": self.init,
            "loss": self.loss,
            "seed": seed_of(self.random_state),
            "threads": threads_of(self.n_jobs),
        }

    def fit(self, X: ArrayLike, y: object = None, lengths: ArrayLike | None = None) -> Self:
        """Sample state sequences of the rows of X from their posterior; with ``warm_start`` go on with it.

        Parameters
        ----------
        X : array-like or, for counts, sparse matrix of shape (n_samples, n_features)
            Rows in order.
        y : ignored
        lengths : array-like of shape (n_sequences,), default=None
            Rows of each sequence, one after another. None: all rows are one sequence.

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
        cut = _lengths(lengths)
        if earlier is None and not self._of_counts():
            warn_redundant(self.likelihood, rows, self._columns())
        total = options["n_sweeps"] * options["n_chains"]
        with progress_of(self.verbose, unit="sweep", total=total) as progress:
            if self._of_counts():
                learned = _core.fit_count_states(count_rows(rows), cut, self._columns(), options, earlier, progress)
            else:
                learned = _core.fit_states(rows, cut, self._columns(), options, earlier, progress)
        keep_run(self, rows, begin, options["seed"], lengths=cut)
        self.states_ = learned["states"]
        self.certainty_ = learned["certainty"]
        self.draws_ = learned["draws"]
        self.n_states_trace_ = learned["n_states_trace"]
        self.log_joint_trace_ = learned["log_joint_trace"]
        self.concentration_trace_ = learned["concentration_trace"]
        self.gamma_trace_ = learned["gamma_trace"]
        self.stickiness_trace_ = learned["share_trace"]
        self.burn_in_ = options["burn_in"]
        self.init_ = learned["init"]
        self.r_hat_ = self._of_drawn(learned["r_hat"])
        self.effective_size_ = self._of_drawn(learned["effective_size"])
        self.converged_ = all(r_hat <= LARGEST_R_HAT for r_hat in self.r_hat_.values())
        self._keep(learned["model"])
        self._chains = learned["chains"]
        raise_if_interrupted(learned)
        if not self.converged_:
            warn_disagreement(self.r_hat_)
        return self

    def report(
        self,
        path: str | os.PathLike[str],
        X: ArrayLike | None = None,
        *,
        lengths: ArrayLike | None = None,
        labels: ArrayLike | None = None,
    ) -> None:
        """Write a page to look at in any browser: one file that asks nothing of the network.

        It shows the sequences, the states of the point estimate, how sure they are, and the chains.

        Parameters
        ----------
        path : path-like
            Where to write it, such as ``"report.html"``.
        X : array-like, default=None
            The rows of the fit, where they are not kept: after unpickling.
        lengths : array-like of shape (n_sequences,), default=None
            Rows of each sequence, where X is given.
        labels : array-like of shape (n_samples,), default=None
            Known labels to compare with.
        """
        check_is_fitted(self, "states_")
        rows = rows_of(self, X, len(self.states_))
        more = {
            "Chains": f"{len(self.log_joint_trace_)} of {self.n_sweeps} sweeps",
            "Largest log joint": float(self.log_joint_trace_.max()),
        }
        shown = page(self, "state", self.n_states_, rows, more, NO_PATH["sampled"])
        cut = _lengths(lengths) or rows.lengths or [len(self.states_)]
        shown["estimate"] = ESTIMATES[self.loss]
        shown.update(truth=truth_of(labels, len(self.states_)), sequences=(cut, self.transmat_.ravel().tolist()))
        of_chains = chains(
            self.n_states_trace_, self.log_joint_trace_, self.burn_in_, self.r_hat_, self.draws_, self.certainty_
        )
        write_clusters(path, rows, self.states_, self._of_counts(), shown, of_chains)

    def _of_drawn(self, values: list[float]) -> dict[str, float]:
        """By name, without what is fixed."""
        fixed = {"concentration": self.concentration, "gamma": self.gamma}
        names = ("n_states", "log_joint", "concentration", "gamma")
        return {name: value for name, value in zip(names, values, strict=True) if fixed.get(name) is None}

    def _keep(self, model: _core.StatesModel) -> dict[str, Any]:
        """What the model file holds too."""
        fields = model.fields()
        self._model = model
        self.n_states_ = len(fields["sizes"])
        self.transmat_ = fields["transitions"]
        self.new_state_ = fields["new_state"]
        self.next_states_ = model.next_states()
        self.prior_ = fields["prior"]
        keep_hyperplanes(self, fields)
        return fields

    def fit_predict(self, X: ArrayLike, y: object = None, lengths: ArrayLike | None = None) -> Labels:
        """Fit, then the state of each row in the point estimate."""
        return self.fit(X, lengths=lengths).states_

    def predict(self, X: ArrayLike, lengths: ArrayLike | None = None) -> Labels:
        """The most probable state of each row of new sequences, by forward-backward, averaged over (at most 100) draws.

        For the rows of the fit this may differ from ``states_``, which weighs all rows together. With ``discriminative`` the
        side of each state's hyperplane counts too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        lengths : array-like of shape (n_sequences,), default=None

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._assign(X, lengths)[0]

    def predict_proba(self, X: ArrayLike, lengths: ArrayLike | None = None) -> Floats:
        """The probability of each state for each row; what is missing to 1 is that of a state not seen so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        lengths : array-like of shape (n_sequences,), default=None

        Returns
        -------
        ndarray of shape (n_samples, n_states_)
        """
        return self._assign(X, lengths)[1]

    def score(self, X: ArrayLike, y: object = None, lengths: ArrayLike | None = None) -> float:
        """The log predictive density of the sequences, divided by the number of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        lengths : array-like of shape (n_sequences,), default=None

        Returns
        -------
        float
        """
        states, _, densities = self._assign(X, lengths)
        return float(densities.sum() / len(states))

    def _assign(self, X: Any, lengths: ArrayLike | None) -> tuple[Labels, Floats, Floats]:
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        threads = threads_of(self.n_jobs)
        if self._of_counts():
            return self._model.assign_counts(count_rows(rows), _lengths(lengths), threads)
        return self._model.assign(rows, _lengths(lengths), threads)

    def _of_counts(self) -> bool:
        return self.likelihood == "multinomial"

    def _checked(self, X: Any, *, reset: bool) -> Any:
        return checked_rows(self, X, reset=reset) if self._of_counts() else self._rows(X, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = self._of_counts()
        return tags


def _stickiness(sticky: Any) -> dict[str, Any]:
    """Whether staying has an extra share, and that share where it is fixed."""
    if isinstance(sticky, bool | np.bool_):
        return {"sticky": bool(sticky), "stickiness": None}
    if isinstance(sticky, Real) and 0 < float(sticky) < 1:
        return {"sticky": True, "stickiness": float(sticky)}
    raise ValueError(
        f"sticky must be True, False or a number above 0 and below 1, got {sticky!r}: the number is the extra share of staying, "
        "kappa / (alpha + kappa); True has it drawn"
    )


def _lengths(lengths: ArrayLike | None) -> list[int] | None:
    """The rows of each sequence."""
    if lengths is None:
        return None
    array = np.asarray(lengths)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer) or (array < 1).any():
        raise ValueError(f"lengths must be whole numbers of at least 1, one for each sequence, got {lengths!r}")
    return [int(length) for length in array]
