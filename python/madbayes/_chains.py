"""What all samplers share: how long chains run, and whether they agree."""

from __future__ import annotations

import numbers
import warnings
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import is_count, number_of
from ._estimator import warn_caller, warn_unconverged

if TYPE_CHECKING:
    from ._core import Chains, StateChains

# Chains whose R-hat is above this disagree.
LARGEST_R_HAT = 1.1


def schedule_of(estimator: Any) -> dict[str, int]:
    """The number of sweeps, burn-in, thinning and chains, checked.

    The burn-in for None is half of the sweeps, down to a multiple of ``thin``: so the draws kept of fewer sweeps, as far as
    they are wanted, are those kept of more.
    """
    for name in ("n_sweeps", "thin", "n_chains"):
        if not is_count(getattr(estimator, name)):
            raise ValueError(f"{name} must be an integer of at least 1, got {getattr(estimator, name)!r}")
    burn_in = estimator.burn_in
    if burn_in is not None and not (isinstance(burn_in, numbers.Integral) and int(burn_in) >= 0):
        raise ValueError(f"burn_in must be None or an integer of at least 0, got {burn_in!r}")
    n_sweeps, thin = int(estimator.n_sweeps), int(estimator.thin)
    return {
        "n_sweeps": n_sweeps,
        "burn_in": n_sweeps // 2 // thin * thin if burn_in is None else int(burn_in),
        "thin": thin,
        "n_chains": int(estimator.n_chains),
    }


def separation_of(estimator: Any) -> dict[str, Any]:
    """The discriminative term of an estimator."""
    return {
        "discriminative": None if estimator.discriminative is None else str(estimator.discriminative),
        "discriminative_scale": number_of("discriminative_scale", estimator.discriminative_scale),
        "new_cluster": str(estimator.new_cluster),
    }


def keep_hyperplanes(estimator: Any, learned: dict[str, Any]) -> None:
    """Set the hyperplanes that were learned, or forget those of an earlier fit."""
    for name in ("hyperplanes", "intercepts"):
        if name in learned:
            setattr(estimator, f"{name}_", learned[name])
        elif hasattr(estimator, f"{name}_"):
            delattr(estimator, f"{name}_")


def goes_on(estimator: Any, earlier: Chains | StateChains, options: dict[str, Any]) -> bool:
    """Whether the chains have sweeps left to do; the seed is theirs where ``random_state`` is a generator."""
    least, most = earlier.sweeps
    if options["n_sweeps"] < most:
        raise ValueError(
            f"n_sweeps must be at least the {most} already done with warm_start=True, got {options['n_sweeps']}: it counts "
            "from the beginning of the chains; warm_start=False begins anew"
        )
    if options["n_sweeps"] == least:
        warnings.warn(
            f"the {least} sweeps are done already, and nothing was: with warm_start=True raise n_sweeps, which counts from "
            "the beginning of the chains",
            stacklevel=3,
        )
        return False
    if not isinstance(estimator.random_state, numbers.Integral | None):
        options["seed"] = earlier.seed
    return True


def warn_disagreement(r_hat: dict[str, float]) -> None:
    """Tell that chains disagree, and by how much."""
    worst = ", ".join(f"{name} {value:.2f}" for name, value in r_hat.items())
    warn_unconverged(f"chains disagree or still move (R-hat: {worst}; at most {LARGEST_R_HAT} is wanted): raise n_sweeps")


def warn_redundant(likelihood: str, rows: Any, columns: list[str]) -> None:
    """Tell of columns that make groups fewer though they say nothing, where the spread of every group is learned."""
    if likelihood not in ("gaussian", "diagonal"):
        return
    kinds = ("the same in every row", "a linear combination of other columns")
    for found, fault in zip(_core.redundant_columns(rows), kinds, strict=True):
        # Where nothing varies there is nothing to be said.
        if 0 < len(found) < len(columns):
            named = ", ".join(columns[j] for j in found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
            one = len(found) == 1
            what = f"column {named} is" if one else f"columns {named} are"
            advice = "it says nothing, but groups become fewer; leave it out"
            warn_caller(f"{what} {fault}: {advice if one else advice.replace('it says', 'they say').replace('leave it', 'leave them')}")
