"""Overlapping features by Gibbs sampling: the Indian buffet process."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from . import _core
from ._arguments import number_of, progress_of, seed_of, threads_of
from ._chains import LARGEST_R_HAT, schedule_of, warn_disagreement
from ._estimator import raise_if_interrupted
from ._features import FeatureEstimator
from ._report import NO_PATH, Seen, chains, keep_run, page

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["IndianBuffet"]


class IndianBuffet(FeatureEstimator):
    """Overlapping features by Gibbs sampling: the Indian buffet process with a linear-Gaussian likelihood.

    Rows are N(z A, noise I), features A ~ N(0, scale I), and the binary matrix Z has an Indian buffet process prior [1]_.
    Keeps the state of highest joint probability.

    Parameters
    ----------
    mass : float, default=None
        gamma, the expected number of features of a row. None: drawn anew in every sweep with a Gamma(1, 1) prior.
    noise : float, default=None
        Variance of a row about the sum of its features. None: drawn anew in every sweep.
    scale : float, default=None
        Variance of the features about 0. None: drawn anew in every sweep.
    collapsed : bool, default=True
        Whether the features' values are integrated out, which mixes faster.
    n_sweeps : int, default=1000
        Sweeps of each chain, burn-in included.
    burn_in : int, default=None
        First sweeps whose draws are not kept. None: half of them, down to a multiple of ``thin``.
    thin : int, default=5
        Every how many sweeps after that a draw is kept.
    n_chains : int, default=2
        Independent chains.
    init : {"bp-means", "one", "random"}, default="bp-means"
        Where chains begin: at the features of ``BPMeans()``, with one feature that all rows share, or at random.
    random_state : int, generator or None, default=None
        None means 0: the same bits on every run.
    n_jobs : int, default=None
        Threads; None and -1 use all processors. The result does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    allocation_ : ndarray of bool of shape (n_samples, n_components_)
        Z of the best state.
    components_ : ndarray of shape (n_components_, n_features)
        A of the best state: the mean of the features given all else.
    n_components_ : int
    mass_, noise_, scale_ : float
        Of the best state.
    draws_ : list of lists of ndarrays of bool
        The allocations kept, by chain. Features have no order across draws.
    n_components_trace_, log_joint_trace_, mass_trace_, noise_trace_, scale_trace_ : ndarray of shape (n_chains, n_sweeps)
        After every sweep, burn-in included.
    burn_in_ : int
    r_hat_ : dict
        Rank-normalised split R-hat of ``n_components``, ``log_joint`` and, if it is drawn, ``mass``, after the burn-in.
    converged_ : bool
        Whether no R-hat is above 1.1.

    References
    ----------
    .. [1] T. L. Griffiths, Z. Ghahramani, "The Indian buffet process: an introduction and review", JMLR 2011.

    Examples
    --------
    >>> from madbayes import IndianBuffet
    >>> from madbayes.simulate import feature_mixture
    >>> X, Z, A = feature_mixture(60, n_features=20, n_components=3)
    >>> IndianBuffet(n_sweeps=200).fit(X).n_components_
    3
    """

    def __init__(
        self,
        *,
        mass: float | None = None,
        noise: float | None = None,
        scale: float | None = None,
        collapsed: bool = True,
        n_sweeps: int = 1000,
        burn_in: int | None = None,
        thin: int = 5,
        n_chains: int = 2,
        init: str = "bp-means",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.mass = mass
        self.noise = noise
        self.scale = scale
        self.collapsed = collapsed
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.init = init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Sample feature allocations of the rows of X from their posterior.

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
        options: dict[str, Any] = {
            **{name: number_of(name, getattr(self, name)) for name in ("mass", "noise", "scale")},
            **schedule_of(self),
            "collapsed": bool(self.collapsed),
            "init": self.init,
            "seed": seed_of(self.random_state),
            "threads": threads_of(self.n_jobs),
        }
        total = options["n_sweeps"] * options["n_chains"]
        with progress_of(self.verbose, unit="sweep", total=total, groups="features") as progress:
            learned = _core.fit_buffet(rows, self._columns(), options, progress)
        keep_run(self, rows, begin, options["seed"])
        self._keep(learned)
        for name in ("mass", "noise", "scale"):
            setattr(self, f"{name}_", learned[name])
        for name in ("n_components", "log_joint", "mass", "noise", "scale"):
            setattr(self, f"{name}_trace_", learned[f"{name}_trace"])
        self.draws_ = learned["draws"]
        self.burn_in_ = options["burn_in"]
        self.r_hat_ = dict(zip(("n_components", "log_joint", "mass"), learned["r_hat"], strict=True))
        if self.mass is not None:
            del self.r_hat_["mass"]
        self.converged_ = all(r_hat <= LARGEST_R_HAT for r_hat in self.r_hat_.values())
        raise_if_interrupted(learned)
        if not self.converged_:
            warn_disagreement(self.r_hat_)
        return self

    def _report_page(self, rows: Seen) -> tuple[dict[str, Any], float, Any]:
        more = {"Mass": self.mass_, "Noise": self.noise_, "Scale": self.scale_}
        shown = page(self, "feature", self.n_components_, rows, more, NO_PATH["sampled"])
        shown["estimate"] = "the most probable state of all chains"
        loss = float(((rows.rows - self.inverse_transform(self.allocation_)) ** 2).sum())
        return shown, loss, chains(self.n_components_trace_, self.log_joint_trace_, self.burn_in_, self.r_hat_)
