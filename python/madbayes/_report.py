"""The page of a fit: one file to look at in any browser, the same as the program writes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import threads_of
from ._counts import count_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

NO_PATH = {
    "sampled": "A sampler has no penalty to move: the numbers that its draws have are below.",
    "other": "There is no slider over other penalties here: a path is of round clusters compared by distance.",
    "stream": "There is no slider over other penalties here: of the rows before the last batch only summaries are kept.",
    "long": "There is no slider over other penalties here, since a path takes long for so many rows: penalty='auto' has one.",
}

# Where an estimator keeps the groups of all rows.
KEPT = {"cluster": "labels_", "feature": "allocation_", "state": "states_"}
# How the groups shown are taken from the draws of a sampler, by the name of the loss.
ESTIMATES = {
    "variation-of-information": "the labels with the least expected variation of information from the draws",
    "binder": "the labels with the least expected Binder loss over the draws",
}


@dataclass(frozen=True)
class Seen:
    """The rows of a fit, or of the last batch of a stream, and how long it took."""

    rows: Any
    weights: Any
    lengths: list[int] | None
    seconds: float


def keep_run(
    estimator: Any, rows: Any, begin: float, seed: int, weights: Any = None, lengths: list[int] | None = None
) -> None:
    """Keeps the rows and the seed of a fit that began at a time of ``perf_counter``.

    A generator that is asked for a seed again gives another one: the seed of the fit is known only now.
    """
    estimator._seen = Seen(rows, weights, lengths, perf_counter() - begin)
    estimator._seed = seed


def rows_of(estimator: Any, X: ArrayLike | None, n_rows: int) -> Seen:
    """The rows of the fit: those kept, or those given again."""
    kept: Seen | None = getattr(estimator, "_seen", None)
    if X is None:
        if kept is None:
            raise ValueError(
                "the rows of the fit are not kept in a pickle or a copy: give them again, report(path, X), in the same order"
            )
        return kept
    checked = estimator._checked(X, reset=False) if hasattr(estimator, "_checked") else estimator._rows(X, reset=False)
    if checked.shape[0] != n_rows:
        raise ValueError(f"X must have the {n_rows} rows of the fit, got {checked.shape[0]}")
    return Seen(checked, None, None, float("nan")) if kept is None else Seen(checked, kept.weights, kept.lengths, kept.seconds)


def facts(command: str, shape: tuple[int, ...], more: dict[str, Any], seconds: float) -> list[tuple[str, str]]:
    """What was run, as pairs of a name and a value."""

    def text(value: Any) -> str:
        return f"{value:.5g}" if isinstance(value, float) else str(value)

    told = [
        ("Command", command),
        ("Version", f"madbayes {_core.__version__} (Python)"),
        ("Data", f"{shape[0]:,} rows x {shape[1]:,} columns"),
    ]
    told += [(name, text(value)) for name, value in more.items() if value is not None and value == value]
    return told if seconds != seconds else [*told, ("Time", f"{seconds:.3f} s")]


def page(estimator: Any, group: str, k: int, rows: Seen, more: dict[str, Any], no_slider: str) -> dict[str, Any]:
    """What all pages have; a path is left out."""
    run_facts = {**more, "Converged": "yes" if estimator.converged_ else "no", "Seed": estimator._seed}
    name, streamed = type(estimator).__name__, hasattr(estimator, "_stream_state")
    command = f"{' '.join(repr(estimator).split())}.{'partial_fit' if streamed else 'fit'}(X)"
    return {
        "title": f"{group.capitalize()}s found by {name}",
        "answer": f"{k:,} {group}{'' if k == 1 else 's'}",
        "group": group,
        "no_slider": no_slider,
        "all_rows": f"{KEPT[group]} of the model has all of them.",
        "estimate": "",
        "sentences": [],
        "run": facts(command, rows.rows.shape, run_facts, rows.seconds),
        "columns": estimator._columns(),
        "path": False,
        "choose": False,
        "max_groups": None,
        "least_penalty": None,
        "max_clusters": None,
        "penalties": None,
        "truth": None,
        "row_losses": None,
        "sequences": None,
        "seed": estimator._seed,
        "threads": threads_of(estimator.n_jobs),
    }


def chains(
    numbers: Any, joints: Any, burn_in: int, r_hat: dict[str, float], draws: Any = None, certainty: Any = ()
) -> dict[str, Any]:
    """Chains of a sampler as the core takes them."""
    return {
        "numbers": np.asarray(numbers, dtype=np.float64).tolist(),
        "joints": np.asarray(joints, dtype=np.float64).tolist(),
        "burn_in": burn_in,
        "r_hat": [(name.replace("_", " "), float(value)) for name, value in r_hat.items()],
        "draws": None if draws is None else np.ascontiguousarray(draws.reshape(-1, draws.shape[-1])),
        "certainty": [float(value) for value in certainty],
    }


def truth_of(labels: ArrayLike | None, n_rows: int) -> tuple[str, list[str]] | None:
    """Known labels, one for each row."""
    if labels is None:
        return None
    name = getattr(labels, "name", None)
    values = np.asarray(labels)
    if values.shape != (n_rows,):
        raise ValueError(f"labels must have shape ({n_rows},), one for each row, got {values.shape}")
    return ("labels" if name is None else str(name), [str(value) for value in values])


def write_clusters(
    path: str | os.PathLike[str], rows: Seen, labels: Any, of_counts: bool, page: dict[str, Any], chains: Any = None
) -> None:
    """Writes the page of rows in groups."""
    if of_counts:
        html = _core.report_counts(count_rows(rows.rows), labels, page, chains)
    else:
        html = _core.report_clusters(rows.rows, rows.weights, labels, page, chains)
    write(path, html)


def picture_of(shape: Any, n_columns: int) -> list[int] | None:
    """Height, width and channels of rows that are pictures."""
    if shape is None:
        return None
    sides = [int(side) for side in shape]
    sides += [1] * (len(sides) == 2)
    if len(sides) != 3 or min(sides) < 1 or int(np.prod(sides)) != n_columns:
        raise ValueError(f"shape must be (height, width) or (height, width, channels) of {n_columns} numbers, got {shape!r}")
    return sides


def write(path: str | os.PathLike[str], html: str) -> None:
    """Writes a page."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(html)
