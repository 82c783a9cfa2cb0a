"""Pictures of clusters, of features and of fits, drawn by matplotlib (``pip install 'madbayes[plots]'``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_array, check_is_fitted

from ._feature_plots import import_pyplot, plot_features, plot_reconstructions
from ._path_plot import plot_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["plot_clusters", "plot_features", "plot_path", "plot_reconstructions", "plot_trace"]

# Okabe and Ito's colours, which colour-blind people tell apart, and a grey. Their black is left to the centres, and their
# yellow, faint on white, is darker here. Clusters beyond the eighth take the same colours with the next marker.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#C8B400", "#7F7F7F")
MARKERS = ("o", "^", "s", "D", "v", "P", "<", "X", ">", "*")

# More numbers than this would hide the rows.
MOST_NUMBERED_CENTRES = 40

# What a trace can be of, in the order of preference, with the name of its axis.
TRACES = {
    "objective": "objective",
    "n_clusters": "number of clusters",
    "log_joint": "log joint probability",
    "concentration": "concentration",
}


def plot_clusters(
    estimator_or_labels: Any, X: Any, *, ax: Axes | None = None, centres: bool = True, max_rows: int = 20_000
) -> Axes:
    """Draw the rows of X, coloured by cluster.

    Two columns are drawn as they are, one column against the row number, more columns by their first two principal
    components.

    Parameters
    ----------
    estimator_or_labels : fitted estimator or array-like of shape (n_samples,)
        An estimator, whose ``predict`` labels the rows, or one label per row, of any kind. Pass ``estimator.labels_`` to see
        the labels of the fit itself where these may differ, as a sampler's point estimate.
    X : array-like of shape (n_samples, n_features)
        The column names of a pandas or polars frame become the names of the axes.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    centres : bool, default=True
        Whether to draw the centres with their clusters' names: ``cluster_centers_`` of the estimator where it has them,
        the means of the rows otherwise. Beyond 40 clusters the names are left out.
    max_rows : int, default=20000
        If there are more rows, this many are drawn, evenly spaced over X; the title says so.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from madbayes import DPMeans
    >>> from madbayes.plots import plot_clusters
    >>> from madbayes.simulate import gaussian_mixture
    >>> X, truth, _ = gaussian_mixture(300, n_clusters=4, separation=7)
    >>> ax = plot_clusters(DPMeans(penalty=200).fit(X), X)
    >>> ax.get_title()
    '4 clusters, 300 rows'
    """
    if isinstance(max_rows, bool) or not isinstance(max_rows, (int, np.integer)) or max_rows < 1:
        raise ValueError(f"max_rows must be an integer of at least 1, got {max_rows!r}")
    rows = check_array(X)
    names, clusters, middles = _clusters(estimator_or_labels, X, rows)
    points, middles, axis_names = _flatten(rows, middles, _column_names(X, rows.shape[1]))
    shown = np.linspace(0, len(rows) - 1, min(len(rows), max_rows)).round().astype(np.intp)

    ax = _axes(ax)
    _draw_rows(ax, points[shown], clusters[shown])
    if centres:
        if rows.shape[1] == 1:
            # A centre of one column is a value at no row in particular: a line, named at its right end.
            ax.hlines(middles[:, 1], 0, middles[:, 0], colors=[_colour(k) for k in range(len(names))], lw=1, zorder=1)
        _draw_centres(ax, middles, names)
    ax.set_xlabel(axis_names[0])
    ax.set_ylabel(axis_names[1])
    title = f"{_count(len(names), 'cluster')}, {_count(len(rows), 'row')}"
    ax.set_title(title if len(shown) == len(rows) else f"{title} ({len(shown):,} shown)")
    return ax


def plot_trace(estimator: Any, *, what: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw how a fit went: the objective after each pass, or what a sampler recorded after each sweep.

    Parameters
    ----------
    estimator : fitted estimator
    what : {"objective", "n_clusters", "log_joint", "concentration"}, default=None
        Which trace: "objective" of hard estimators, the others of samplers, with one line per chain and the burn-in shaded.
        None takes the first of these that the estimator has.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from madbayes import DPMeans
    >>> from madbayes.plots import plot_trace
    >>> from madbayes.simulate import gaussian_mixture
    >>> X, truth, _ = gaussian_mixture(300, n_clusters=4, separation=7)
    >>> ax = plot_trace(DPMeans(penalty=200).fit(X))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('pass', 'objective')
    """
    what = _trace_name(estimator, what)
    chains = np.atleast_2d(np.asarray(getattr(estimator, f"{what}_trace_"), dtype=np.float64))
    ax = _axes(ax)
    from matplotlib.ticker import MaxNLocator

    steps = np.arange(1, chains.shape[1] + 1)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if what == "objective":
        ax.plot(steps, chains[0], color=PALETTE[0], marker="o" if len(steps) <= 50 else "")
        ax.set_xlabel("pass")
    else:
        _draw_chains(ax, steps, chains, burn_in=getattr(estimator, "burn_in_", None), whole=what == "n_clusters")
        ax.set_xlabel("sweep")
    ax.set_ylabel(TRACES[what])
    return ax


def _clusters(source: Any, X: Any, rows: Floats) -> tuple[list[str], NDArray[np.intp], Floats]:
    """Names of the clusters, number of the cluster of each row, centres."""
    labels = np.asarray(source.predict(X) if hasattr(source, "predict") else source)
    if labels.ndim != 1:
        raise ValueError(
            f"estimator_or_labels must be an estimator with predict or a one-dimensional array of labels, got "
            f"{type(source).__name__}"
        )
    if len(labels) != len(rows):
        raise ValueError(f"there are {len(labels)} labels but X has {len(rows)} rows: one label per row is needed")
    centres = getattr(source, "cluster_centers_", None)
    if centres is not None:
        # Numbers are kept even if some clusters have no row in X, so that a cluster has one colour in all pictures.
        return [str(k) for k in range(len(centres))], labels.astype(np.intp), np.asarray(centres, dtype=np.float64)
    names, clusters = np.unique(labels, return_inverse=True)
    means = np.stack([rows[clusters == k].mean(axis=0) for k in range(len(names))])
    return [str(name) for name in names], clusters, means


def _column_names(X: Any, n_columns: int) -> list[str]:
    columns = list(getattr(X, "columns", ()))
    # Like scikit-learn, only strings count as names: a pandas frame made from an array has numbers.
    if len(columns) == n_columns and all(isinstance(column, str) for column in columns):
        return columns
    return [f"column {j + 1}" for j in range(n_columns)]


def _flatten(rows: Floats, centres: Floats, columns: list[str]) -> tuple[Floats, Floats, list[str]]:
    """Rows and centres in the plane, and the names of its axes."""
    if rows.shape[1] == 2:
        return rows, centres, columns
    if rows.shape[1] == 1:
        right_end = np.full(len(centres), 1.03 * len(rows))
        return (
            np.column_stack([np.arange(len(rows)), rows[:, 0]]),
            np.column_stack([right_end, centres[:, 0]]),
            ["row", columns[0]],
        )
    if len(rows) < 2:
        raise ValueError(f"X has 1 row of {rows.shape[1]} columns: principal components need at least 2 rows")
    with np.errstate(invalid="ignore"):  # 0 / 0 if all rows are equal
        components = PCA(n_components=2, random_state=0).fit(rows)
    shares = np.nan_to_num(components.explained_variance_ratio_)
    names = [
        f"{which} principal component ({100 * share:.0f} % of variance)"
        for which, share in zip(("first", "second"), shares, strict=True)
    ]
    return components.transform(rows), components.transform(centres), names


def _draw_rows(ax: Axes, points: Floats, clusters: NDArray[np.intp]) -> None:
    """One collection per marker with the rows in their order, so that no cluster lies on top of all others."""
    colours = np.array([_colour(k) for k in range(int(clusters.max()) + 1)])
    markers = clusters // len(PALETTE) % len(MARKERS)
    size = float(np.clip(12_000 / len(points), 12 if markers.any() else 5, 30))  # shapes need room to be seen
    for marker in np.unique(markers):
        chosen = markers == marker
        ax.scatter(
            points[chosen, 0],
            points[chosen, 1],
            s=size,
            c=colours[clusters[chosen]].tolist(),
            marker=MARKERS[marker],
            alpha=0.8,
            linewidths=0,
            rasterized=len(points) > 5_000,  # keeps SVG and PDF files small
        )


def _draw_centres(ax: Axes, centres: Floats, names: list[str]) -> None:
    x, y = centres[:, 0], centres[:, 1]
    ax.scatter(x, y, s=70, c="black", marker="X", edgecolors="white", linewidths=1, zorder=3, label="centres")
    if len(names) > MOST_NUMBERED_CENTRES:
        return
    for k, (centre, name) in enumerate(zip(centres, names, strict=True)):
        ax.annotate(
            name,
            (centre[0], centre[1]),
            xytext=(7, 7),
            textcoords="offset points",
            fontsize="small",
            bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": _colour(k), "alpha": 0.9},
            zorder=4,
        )


def _draw_chains(ax: Axes, steps: NDArray[np.int_], chains: Floats, *, burn_in: Any, whole: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    if burn_in:
        ax.axvspan(0.5, burn_in + 0.5, color="0.9", zorder=0, label="burn-in")
    for c, chain in enumerate(chains):
        ax.plot(
            steps, chain, color=_colour(c), lw=1, drawstyle="steps-mid" if whole else "default", label=f"chain {c + 1}"
        )
    if whole:
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlim(0.5, len(steps) + 0.5)
    if len(chains) <= len(PALETTE):
        ax.legend(fontsize="small")


def _trace_name(estimator: Any, what: str | None) -> str:
    """The trace to draw, checked."""
    if what is not None and what not in TRACES:
        raise ValueError(f"what must be one of {', '.join(map(repr, TRACES))} or None, got {what!r}")
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    kind = type(estimator).__name__
    present = [name for name in TRACES if getattr(estimator, f"{name}_trace_", None) is not None]
    if not present:
        raise ValueError(f"this {kind} has no trace: model files hold none, so draw the estimator that was fitted")
    if what is not None and what not in present:
        raise ValueError(f"this {kind} has no trace of {what!r}: what can be {' or '.join(map(repr, present))}")
    return what or present[0]


def _axes(ax: Axes | None) -> Axes:
    pyplot = import_pyplot()
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _colour(k: int) -> str:
    return PALETTE[k % len(PALETTE)]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
