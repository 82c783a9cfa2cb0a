"""What all estimators do with their arguments: seeds, threads, progress."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ._core import Progress


def seed_of(random_state: Any) -> int:
    """The seed that a ``random_state`` means: None is 0, generators give their next number."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    if isinstance(random_state, numbers.Integral) and 0 <= int(random_state) < 2**64:
        return int(random_state)
    raise ValueError(
        f"random_state must be None, an integer from 0 to 2**64 - 1 or a NumPy generator, got {random_state!r}: "
        "None means 0, and the same seed gives the same bits"
    )


def threads_of(n_jobs: Any) -> int:
    """Threads that an ``n_jobs`` means: None and -1 are all processors, -2 all but one."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if isinstance(n_jobs, numbers.Integral) and int(n_jobs) != 0:
        wanted = int(n_jobs)
        return wanted if wanted > 0 else max(1, (os.cpu_count() or 1) + 1 + wanted)
    raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}: -1 uses all processors")


def number_of(name: str, value: Any, allowed: str = "a number or None") -> float | None:
    """A number as float, None as None; anything else is an error that names it."""
    if value is None:
        return None
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"{name} must be {allowed}, got {value!r}")


def penalty_of(penalty: Any, group: str) -> float | None:
    """A penalty as float; None for "auto"."""
    if isinstance(penalty, str) and penalty == "auto":
        return None
    if isinstance(penalty, numbers.Real) and not isinstance(penalty, bool):
        return float(penalty)
    raise ValueError(
        f"penalty must be a positive finite number or 'auto', got {penalty!r}: it is the price of one more {group} in "
        "squared-distance units"
    )


def penalty_or_rule(penalty: Any) -> tuple[float | None, str]:
    """A penalty of clusters as float, or None and the name of the rule that chooses it; the core knows the names."""
    if isinstance(penalty, str):
        return None, penalty
    if isinstance(penalty, numbers.Real) and not isinstance(penalty, bool):
        return float(penalty), ""
    raise ValueError(
        f"penalty must be a positive finite number or 'auto', 'validation' or 'farthest-first:K', got {penalty!r}: it is the "
        "price of one more cluster in squared-distance units"
    )


def rows_of(n: Any) -> int:
    """A number of rows to draw."""
    if isinstance(n, numbers.Integral) and not isinstance(n, bool) and int(n) >= 0:
        return int(n)
    raise ValueError(f"n must be a whole number of at least 0, got {n!r}: it is the number of rows to draw")


def weights_of(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Row weights as the core wants them."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        return np.full(n_rows, float(sample_weight))  # type: ignore[arg-type]
    weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be 1D, one number per row, got {weights.ndim} dimensions")
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight must have {n_rows} numbers, one per row, got {len(weights)}")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("sample_weight must be finite numbers of at least 0: a weight of 2 counts a row twice")
    return weights


def is_count(value: Any) -> bool:
    """Whether it is a whole number of at least 1."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1


def check_runs(n_init: Any, max_iter: Any) -> None:
    """An error unless they say how many runs and passes there may be."""
    if n_init != "auto" and not is_count(n_init):
        raise ValueError(f"n_init must be 'auto' or an integer of at least 1, got {n_init!r}")
    if not is_count(max_iter):
        raise ValueError(f"max_iter must be an integer of at least 1, got {max_iter!r}")


def check_cluster_numbers(n_clusters: Any, max_clusters: Any, penalty: Any) -> None:
    """An error unless at most one of them decides the number of clusters."""
    if n_clusters is not None and not is_count(n_clusters):
        raise ValueError(f"n_clusters must be an integer of at least 1, got {n_clusters!r}")
    if max_clusters is not None and not is_count(max_clusters):
        raise ValueError(
            f"max_clusters must be between 1 and the number of rows, or None for no cap, got {max_clusters!r}"
        )
    if n_clusters is not None and max_clusters is not None:
        raise ValueError(
            f"n_clusters and max_clusters cannot both be given, got {n_clusters!r} and {max_clusters!r}: leave one of them out"
        )
    if n_clusters is not None and penalty != "auto":
        raise ValueError(
            f"penalty and n_clusters cannot both be given, got {penalty!r} and {n_clusters!r}: the number of clusters follows "
            "from the penalty; leave one of them out"
        )


@contextmanager
def progress_of(
    verbose: Any, *, unit: str = "pass", total: int | None = None, groups: str = "clusters"
) -> Iterator[Progress]:
    """A callback that shows progress under ``verbose``: a tqdm bar where that is installed, lines otherwise.

    Units are summed over runs; ``total`` is how many there will be, if that is known; ``groups`` is what is counted.
    """
    if not verbose:
        yield None
        return
    bar, show = _bar(unit, total, groups)
    try:
        yield show
    finally:
        if bar is not None:
            bar.close()


def _bar(unit: str, total: int | None, groups: str) -> tuple[Any, Callable[[int, int, int, float], object]]:
    # A sampler's objective is minus its log joint probability.
    value, sign = ("objective", 1.0) if unit == "pass" else ("log joint", -1.0)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        import sys

        def line(run: int, done: int, count: int, objective: float) -> None:
            print(f"run {run + 1}, {unit} {done}: {count} {groups}, {value} {sign * objective:.6g}", file=sys.stderr)

        return None, line
    bar = tqdm(desc="madbayes", unit=unit, total=total)
    done_by: dict[int, int] = {}

    def show(run: int, done: int, count: int, objective: float) -> None:
        done_by[run] = done
        bar.set_postfix({"run": run + 1, groups: count, value: f"{sign * objective:.6g}"})
        bar.update(max(0, sum(done_by.values()) - bar.n))

    return bar, show
