"""The penalties for which each number of groups is optimal, as bars on a logarithmic axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._feature_plots import import_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._path import PenaltyPath

# Blue and orange of Okabe and Ito: the others, and the choice.
COLOURS = ("#0072B2", "#E69F00")


def plot_path(path: PenaltyPath, *, ax: Axes | None = None) -> Axes:
    """Draw the penalties of each number of groups; lengths are persistences, and the choice stands out.

    Parameters
    ----------
    path : PenaltyPath
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from madbayes import penalty_path
    >>> from madbayes.plots import plot_path
    >>> ax = plot_path(penalty_path([[0.0], [0.1], [5.0], [5.2], [9.0], [9.1]]))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('penalty', 'number of clusters')
    """
    pyplot = import_pyplot()
    if ax is None:
        ax = pyplot.subplots(layout="constrained")[1]
    from matplotlib.ticker import MaxNLocator

    low, high = path.table["penalty_low"], path.table["penalty_high"]
    ends = np.concatenate([low, high])
    ends = ends[np.isfinite(ends) & (ends > 0)]
    first, last = (ends.min() / 2, ends.max() * 2) if len(ends) else (0.5, 2.0)
    left, right = np.clip(low, first, last), np.clip(high, first, last)
    chosen = (path.table["k"] == path.best_k).astype(int)
    ax.barh(path.table["k"], right - left, left=left, height=0.8, color=[COLOURS[i] for i in chosen])
    ax.set_xscale("log")
    ax.set_xlim(first, last)
    ax.invert_yaxis()
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("penalty")
    ax.set_ylabel(f"number of {path.kind}")
    # Without its last letter it is a single one.
    ax.set_title(f"{path.best_k} {path.kind if path.best_k != 1 else path.kind[:-1]}, confidence {path.confidence:.2f}")
    return ax
