"""The penalty path: which number of groups is optimal for which penalties, and which number stands out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_array

from . import _core
from ._arguments import is_count, number_of, progress_of, seed_of, threads_of, weights_of
from ._path_plot import plot_path
from ._report import NO_PATH, facts, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["PenaltyPath", "penalty_path"]

COLUMNS = [("k", np.int64), *((name, np.float64) for name in ("penalty_low", "penalty_high", "loss", "persistence"))]


@dataclass(frozen=True, repr=False, eq=False)
class PenaltyPath:
    """What ``penalty_path`` finds.

    Attributes
    ----------
    kind : str
        "clusters" or "features".
    table : structured ndarray
        One row for each number of groups that is optimal for some penalty, with the columns ``k``, ``penalty_low``,
        ``penalty_high``, ``loss`` and ``persistence`` = log(penalty_high / penalty_low). ``path.table["loss"]`` is a column,
        ``to_frame()`` a pandas frame. The first k has no upper end; the last has a persistence of 0, since nothing is
        known below its ``penalty_high``, unless its loss is 0.
    best_k : int
        The chosen number of groups.
    best_penalty : float
        A penalty for which it is optimal.
    penalty_range : tuple of two floats
        All of them.
    confidence : float
        From 0 to 1: by what share the score of the first runner-up is below that of the choice; for one cluster, how far the
        data are from showing more than data without structure do.
    runners_up : list of int
        Other numbers of groups worth a look, the best first.
    evidence : tuple of two floats or None
        How many standard deviations the data are above data of the same covariance without structure, in the loss explained
        and in persistence (None for features); None where the choice is too clear to need that.
    losses : dict of int to float
        The least loss found for each number of groups tried.
    sampled_rows : int or None
        How many rows were searched, where not all were; what was found there was then refined on all rows.
    """

    kind: str
    table: NDArray[Any]
    best_k: int
    best_penalty: float
    penalty_range: tuple[float, float]
    confidence: float
    runners_up: list[int]
    evidence: tuple[float, float | None] | None
    losses: dict[int, float]
    sampled_rows: int | None
    _penalties: dict[int, float]
    _rows: Any
    _centres: list[NDArray[np.float64]]
    _reference: NDArray[np.float64] | None
    _allocations: dict[int, NDArray[np.bool_]]
    _threads: int
    _columns: list[str]
    _weights: Any
    # How it was sought.
    _search: dict[str, Any]

    def penalty_for(self, k: int) -> float:
        """A penalty for which k groups are optimal, the middle of its interval.

        Parameters
        ----------
        k : int

        Returns
        -------
        float
        """
        if k not in self._penalties:
            raise ValueError(
                f"k must be one of {', '.join(map(str, self._penalties))}, got {k!r}: no penalty makes another number optimal, "
                "or it is beyond the path (raise max_groups)"
            )
        return self._penalties[k]

    def labels(self, k: int | None = None) -> NDArray[np.int32]:
        """The cluster of each row in the best clustering found with k clusters, optimal for some penalty or not.

        Parameters
        ----------
        k : int, default=None
            None means ``best_k``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if self._reference is None:
            raise ValueError("a path of features has no labels, since a row can have several features: use allocation(k)")
        wanted = self.best_k if k is None else k
        if not (is_count(wanted) and wanted <= len(self._centres)):
            raise ValueError(f"k must be between 1 and {len(self._centres)}, got {k!r}: raise max_groups for a longer path")
        return _core.path_labels(self._rows, self._centres[wanted - 1], self._reference, self._threads)

    def allocation(self, k: int | None = None) -> NDArray[np.bool_]:
        """Which row has which of the k features, in the best allocation found with that many.

        Parameters
        ----------
        k : int, default=None
            None means ``best_k``.

        Returns
        -------
        ndarray of bool of shape (n_samples, k)
        """
        if self._reference is not None:
            raise ValueError("a path of clusters has no allocation, since a row has one cluster: use labels(k)")
        wanted = self.best_k if k is None else k
        if wanted not in self._allocations:
            raise ValueError(
                f"k must be one of {', '.join(map(str, self._allocations))}, got {k!r}: raise max_groups for a longer path"
            )
        return self._allocations[wanted]

    def to_frame(self) -> Any:
        """The table as a pandas frame."""
        import pandas

        return pandas.DataFrame({name: self.table[name] for name, _ in COLUMNS})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the penalties of each number of groups; lengths are persistences, and the choice stands out.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return plot_path(self, ax=ax)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page to look at in any browser, with a slider over the penalties: one file that asks nothing of the network.

        Parameters
        ----------
        path : path-like
            Where to write it, such as ``"report.html"``.
        """
        group = self.kind[:-1]
        low, high = self.penalty_range
        more = {"Penalty": self.best_penalty, "The same number is optimal for penalties": f"from {low:.5g} to {high:.5g}"}
        shown = {
            "title": f"Path of {self.kind}",
            "answer": f"{self.best_k:,} {group}{'' if self.best_k == 1 else 's'}",
            "group": group,
            "no_slider": NO_PATH["long"],
            "all_rows": f"{'labels' if self.kind == 'clusters' else 'allocation'}(k) of the path has all of them.",
            "estimate": "",
            "sentences": [],
            "run": facts(f"penalty_path(X, kind={self.kind!r})", self._rows.shape, more, float("nan")),
            "columns": self._columns,
            "path": True,
            "choose": True,
            "max_clusters": None,
            "penalties": self.penalty_range,
            "truth": None,
            "row_losses": None,
            "sequences": None,
            **self._search,
        }
        if self.kind == "clusters":
            write(path, _core.report_clusters(self._rows, self._weights, self.labels(), shown, None))
        else:
            loss = self.losses[self.best_k]
            write(path, _core.report_features(self._rows, self.allocation(), None, loss, shown, None))

    def __repr__(self) -> str:
        next_best = f", then {', '.join(map(str, self.runners_up))}" if self.runners_up else ""
        return (
            f"PenaltyPath(kind={self.kind!r}, best_k={self.best_k}, best_penalty={self.best_penalty:.6g}, "
            f"confidence={self.confidence:.2f}{next_best})"
        )


def penalty_path(
    X: ArrayLike,
    kind: str = "clusters",
    max_groups: int | None = None,
    *,
    least_penalty: float | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> PenaltyPath:
    """Find which number of groups is optimal for which penalties, and which number stands out.

    min over K of loss(K) + K penalty is a lower envelope of lines in the penalty, so that each K is optimal for the penalties
    between two slopes of the lower convex hull of its loss, or for none. Without ``max_groups`` and ``least_penalty`` the choice
    is that of ``DPMeans(penalty="auto")``, or of ``BPMeans(penalty="auto")`` for features: their path begins with none.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    kind : {"clusters", "features"}, default="clusters"
        Each row in one cluster, or with any number of overlapping features.
    max_groups : int, default=None
        Numbers of groups up to this one. None: as many as the choice needs, about 1.5 times the root of the number of rows
        for clusters, at most 12 features.
    least_penalty : float, default=None
        Only numbers of groups that are optimal for some penalty above this one.
    sample_weight : array-like of shape (n_samples,), default=None
        A weight of 2 counts a row twice, 0 ignores it. Features know no weights.
    random_state : int, generator or None, default=None
        None means 0: the same bits on every run.
    n_jobs : int, default=None
        Threads; None and -1 use all processors. The result does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    PenaltyPath
        After Ctrl-C the path so far is ``path`` of the KeyboardInterrupt.

    Examples
    --------
    >>> from madbayes import penalty_path
    >>> from madbayes.simulate import gaussian_mixture
    >>> X, truth, _ = gaussian_mixture(300, n_clusters=4, separation=7)
    >>> path = penalty_path(X)
    >>> path.best_k
    4
    >>> low, high = path.penalty_range
    >>> low < path.best_penalty == path.penalty_for(4) < high
    True
    """
    search = _search(kind)
    if max_groups is not None and not is_count(max_groups):
        raise ValueError(f"max_groups must be between 1 and the number of rows, or None, got {max_groups!r}")
    rows = check_array(X, dtype=[np.float64, np.float32], order="C")
    options = {
        "max_groups": max_groups,
        "least_penalty": number_of("least_penalty", least_penalty, "a positive finite number or None"),
        "seed": seed_of(random_state),
        "threads": threads_of(n_jobs),
    }
    weights, names = weights_of(sample_weight, len(rows)), getattr(X, "columns", None)
    with progress_of(verbose, groups=kind) as progress:
        found = search(rows, weights, options, progress)
    table = np.empty(len(found["k"]), dtype=COLUMNS)
    for name, _ in COLUMNS:
        table[name] = found[name]
    table.setflags(write=False)
    penalties = dict(zip(found["k"].tolist(), found["penalty"].tolist(), strict=True))
    path = PenaltyPath(
        kind=kind,
        table=table,
        losses=dict(found["losses"]),
        _penalties={**penalties, found["best_k"]: found["best_penalty"]},
        _rows=rows,
        _centres=found.get("centres", []),
        _reference=found.get("reference"),
        _allocations=found.get("allocations", {}),
        _threads=threads_of(n_jobs),
        _columns=[str(name) for name in (range(1, rows.shape[1] + 1) if names is None else names)],
        _weights=weights,
        _search=options,
        **{name: found[name] for name in _SAME},
    )
    if found["interrupted"]:
        stopped = KeyboardInterrupt("stopped; the path so far is `path` of this exception")
        stopped.path = path  # type: ignore[attr-defined]
        raise stopped
    return path


# What a path and the core call by the same names.
_SAME = ("best_k", "best_penalty", "penalty_range", "confidence", "runners_up", "evidence", "sampled_rows")


def _search(kind: str) -> Any:
    """The search of the core for a kind of groups."""
    searches = {"clusters": _core.cluster_path, "features": _core.feature_path}
    if kind not in searches:
        raise ValueError(f"kind must be {' or '.join(map(repr, searches))}, got {kind!r}")
    return searches[kind]
