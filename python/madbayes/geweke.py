"""Geweke's joint test: is a sampler of a posterior right? For your own samplers, and for those of this package.

Parameters and data have one joint distribution, and there are two ways to draw from it. One draws parameters from the prior and
data given them, anew each time. The other alternates the sampler under test (parameters given data) with fresh data (data
given parameters). If the sampler leaves the posterior unchanged, as it must, both ways give the same distribution of
everything; if a conditional, a Jacobian or a normalising constant is wrong, they drift apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from . import _core
from ._arguments import is_count, seed_of
from ._feature_plots import import_pyplot
from ._mixture import DPMixture, prior_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["JointTest", "joint_test", "mixture_test"]


@dataclass(frozen=True, repr=False)
class JointTest:
    """What both ways to draw from the joint distribution gave, and whether they agree.

    Attributes
    ----------
    draws : dict
        By the name of each statistic: its values in independent draws, and along the chain.
    means : dict
        The means of these.
    z : dict
        Their difference in standard errors: that of independent draws, and the chain's by means of 50 batches, since its draws
        depend on each other.
    limit : float
        The largest absolute z that passes.
    passed : bool
        Whether every statistic is within it.

    References
    ----------
    .. [1] J. Geweke, "Getting it right: joint distribution tests of posterior simulators", JASA 2004.
    """

    draws: dict[str, tuple[Floats, Floats]]
    means: dict[str, tuple[float, float]]
    z: dict[str, float]
    limit: float

    @property
    def passed(self) -> bool:
        """Whether every statistic is within the limit."""
        return all(abs(z) < self.limit for z in self.z.values())

    def __repr__(self) -> str:
        width = max(map(len, self.z))
        lines = [f"{name:{width}}  {a:12.5g} {b:12.5g}  z {self.z[name]:7.2f}" for name, (a, b) in self.means.items()]
        verdict = "passed" if self.passed else "FAILED: the sampler does not leave the posterior unchanged"
        return "\n".join([f"{'':{width}}  {'independent':>12} {'chain':>12}", *lines, verdict])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw, for every statistic, the share of chain draws below a value against that of independent draws.

        A right sampler stays on the diagonal; a curve below or above it shows where draws are missing.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib Axes
        """
        pyplot = import_pyplot()
        if ax is None:
            ax = pyplot.subplots(layout="constrained")[1]
        ax.plot([0, 1], [0, 1], color="#7F7F7F", linewidth=1)
        for name, both in self.draws.items():
            values = np.unique(np.quantile(np.concatenate(both), np.linspace(0, 1, 513)))
            # Half of those that are equal: numbers that take few values are compared as they are.
            shares = [
                (np.searchsorted(np.sort(side), values, "left") + np.searchsorted(np.sort(side), values, "right")) / 2 / len(side)
                for side in both
            ]
            ax.plot(*shares, label=f"{name}, z = {self.z[name]:.1f}")
        ax.set_xlabel("share of independent draws below")
        ax.set_ylabel("share of the chain below")
        ax.set_aspect("equal")
        ax.legend(fontsize="small")
        return ax


def joint_test(
    draw_prior: Callable[[np.random.Generator], Any],
    draw_data: Callable[[Any, np.random.Generator], Any],
    step: Callable[[Any, Any, np.random.Generator], Any],
    statistics: Mapping[str, Callable[[Any, Any], float]],
    *,
    n_draws: int = 10_000,
    limit: float = 4.0,
    random_state: Any = None,
) -> JointTest:
    """Test a sampler of your own.

    Parameters
    ----------
    draw_prior : callable
        ``draw_prior(rng)`` returns parameters drawn from their prior.
    draw_data : callable
        ``draw_data(parameters, rng)`` returns data drawn given them. Make the data small, so that the chain moves freely.
    step : callable
        ``step(parameters, data, rng)`` returns the parameters after one step of the sampler under test.
    statistics : dict
        By name, functions ``f(parameters, data)`` whose values are compared. Take the parameters, their squares and products
        with each other and with the data: a wrong variance leaves means as they are. Their variance must be finite; where tails
        are long, take x / (1 + abs(x)).
    n_draws : int, default=10000
        Draws of either kind. Four times as many find errors of half the size.
    limit : float, default=4.0
        The largest absolute z that passes. A right sampler exceeds 4 once in 16,000 statistics.
    random_state : int, generator or None, default=None
        None means 0: the same result on every run.

    Returns
    -------
    JointTest

    Examples
    --------
    A normal mean with a standard normal prior and three data of variance 1. Its posterior is normal with mean sum / 4 and
    variance 1 / 4:

    >>> from madbayes.geweke import joint_test
    >>> def draw_prior(rng):
    ...     return rng.normal()
    >>> def draw_data(mean, rng):
    ...     return rng.normal(mean, 1.0, size=3)
    >>> def step(mean, data, rng):
    ...     return rng.normal(data.sum() / 4, 0.5)
    >>> statistics = {
    ...     "mean": lambda mean, data: mean,
    ...     "squared": lambda mean, data: mean**2,
    ...     "with data": lambda mean, data: mean * data[0],
    ... }
    >>> joint_test(draw_prior, draw_data, step, statistics).passed
    True

    The same with its variance for its standard deviation:

    >>> def wrong(mean, data, rng):
    ...     return rng.normal(data.sum() / 4, 0.25)
    >>> joint_test(draw_prior, draw_data, wrong, statistics).passed
    False
    """
    if not statistics:
        raise ValueError("statistics must have at least one function, got none: take the parameters and their squares")
    if not (is_count(n_draws) and n_draws >= 2):
        raise ValueError(f"n_draws must be an integer of at least 2, got {n_draws!r}")
    rng = np.random.default_rng(seed_of(random_state))
    independent = {name: np.empty(n_draws) for name in statistics}
    chain = {name: np.empty(n_draws) for name in statistics}
    parameters = draw_prior(rng)
    data = draw_data(parameters, rng)
    for i in range(n_draws):
        fresh = draw_prior(rng)
        seen = draw_data(fresh, rng)
        for name, statistic in statistics.items():
            independent[name][i] = _finite(name, statistic(fresh, seen))
        parameters = step(parameters, data, rng)
        if parameters is None:
            raise ValueError("step must return the new parameters, got None: return them even where they are changed in place")
        data = draw_data(parameters, rng)
        for name, statistic in statistics.items():
            chain[name][i] = _finite(name, statistic(parameters, data))
    return _compared({name: (independent[name], chain[name]) for name in statistics}, limit)


def mixture_test(
    estimator: DPMixture | None = None,
    *,
    n_features: int | None = None,
    n_samples: int = 7,
    n_draws: int = 20_000,
    limit: float = 4.0,
    random_state: Any = None,
) -> JointTest:
    """Test the sampler of ``DPMixture`` with the likelihood and the priors of an estimator.

    Partition, concentration and rows are drawn both ways; the rows enter as x / (1 + abs(x)), since tails may be long.

    Parameters
    ----------
    estimator : DPMixture, default=None
        Whose ``likelihood``, prior parameters, ``prior``, ``concentration``, ``max_clusters`` and ``split_merge`` are used. Of
        a fitted one also the prior that was taken from its data (``prior_``). What is still open: means of 0, unit scales,
        ``prior_strength`` 0.5, ``prior_dof`` n_features + 5, ``variance`` 1, ``prior_variance`` 4, ``pseudocount`` 0.5.
        None: ``DPMixture()``.
    n_features : int, default=None
        Columns of the rows. None: those of the prior parameters, else 2.
    n_samples : int, default=7
        Rows: few, so that the chain moves freely.
    n_draws : int, default=20000
        Draws of either kind.
    limit : float, default=4.0
        The largest absolute z that passes.
    random_state : int, generator or None, default=None
        None means 0: the same result on every run.

    Returns
    -------
    JointTest

    Examples
    --------
    >>> from madbayes import DPMixture
    >>> from madbayes.geweke import mixture_test
    >>> test = mixture_test(DPMixture(likelihood="diagonal", prior="finite", max_clusters=3), n_draws=2000)
    >>> test.passed
    True
    >>> list(test.z)[:3]
    ['groups', 'first two together', 'largest group']
    """
    if estimator is None:
        estimator = DPMixture()
    for name, value, least in (("n_samples", n_samples, 2), ("n_draws", n_draws, 2)):
        if not (is_count(value) and value >= least):
            raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    given = getattr(estimator, "prior_", {})
    if estimator.discriminative is not None:
        raise ValueError(
            "discriminative must be None, got "
            f"{estimator.discriminative!r}: hyperplanes are given the rows, so that rows cannot be drawn given them"
        )
    model = clone(estimator).set_params(random_state=random_state, **given)
    columns = [len(values) for values in (model.prior_mean, model.prior_scale) if values is not None]
    if n_features is None:
        n_features = columns[0] if columns else 2
    elif not is_count(n_features):
        raise ValueError(f"n_features must be None or an integer of at least 1, got {n_features!r}")
    open_parameters = {
        "prior_mean": np.zeros(n_features),
        "prior_strength": 0.5,
        "prior_dof": n_features + 5.0,
        "prior_scale": np.eye(n_features) if model.likelihood == "gaussian" else np.ones(n_features),
        "variance": 1.0,
        "prior_variance": 4.0,
        "pseudocount": 0.5,
    }
    for name in prior_names(model):
        if getattr(model, name) is None:
            model.set_params(**{name: open_parameters[name]})
    drawn = _core.mixture_joint_test(model._options(), int(n_features), int(n_samples), int(n_draws))
    return _compared({name: (independent, chain) for name, independent, chain in drawn}, limit)


def _finite(name: str, value: Any) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"statistics must be finite numbers, got {number} for {name!r}: long tails want x / (1 + abs(x))")
    return number


def _compared(draws: dict[str, tuple[Floats, Floats]], limit: float) -> JointTest:
    means, z = {}, {}
    for name, (independent, chain) in draws.items():
        a, b, z[name] = _core.joint_agreement(independent, chain)
        means[name] = (a, b)
    return JointTest(draws=draws, means=means, z=z, limit=float(limit))
