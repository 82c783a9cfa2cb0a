"""Features of pictures, and pictures beside their reconstructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array, check_is_fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    # An array of matplotlib Axes.
    Grid = NDArray[np.object_]

# Pictures next to each other in a new figure.
ACROSS = 8


def plot_features(estimator_or_components: Any, *, shape: Sequence[int], axes: ArrayLike | None = None) -> Grid:
    """Draw features of pictures: what each adds to a picture that has it, and what it takes away.

    Each feature is drawn in units of its own largest entry, which is written below it.

    Parameters
    ----------
    estimator_or_components : fitted estimator or array-like of shape (n_components, n_features)
        An estimator with ``components_`` (and ``allocation_``, from which the titles count the rows of each feature), or the
        features themselves.
    shape : (height, width) or (height, width, channels)
        The shape of one picture. Grey pictures (one channel) are drawn red where a feature adds and blue where it takes away;
        colour pictures (three channels) are drawn twice, what is added above what is taken away, both as light on black.
    axes : array-like of matplotlib Axes, default=None
        Where to draw: as many as are returned. None makes a new figure.

    Returns
    -------
    numpy array of matplotlib Axes, of shape (n_components,) for grey and (2, n_components) for colour pictures

    Examples
    --------
    >>> import numpy as np
    >>> from madbayes.plots import plot_features
    >>> cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    >>> axes = plot_features([cross.ravel(), -cross.ravel()], shape=(3, 3))
    >>> [ax.get_title() for ax in axes]
    ['feature 0', 'feature 1']
    """
    height, width, channels = _shape(shape)
    components = _components(estimator_or_components)
    _check_columns("components", components, shape)
    largest = np.abs(components).max(axis=1, initial=0.0)
    pictures = (components / np.where(largest > 0, largest, 1.0)[:, None]).reshape(-1, height, width, channels)
    grid = _grid(axes, lines=1 if channels == 1 else 2, pictures=len(pictures), aspect=height / width, empty="no features")
    for k, picture in enumerate(pictures):
        if channels == 1:
            grid[0, k].imshow(picture[:, :, 0], cmap="RdBu_r", vmin=-1, vmax=1)
        else:
            grid[0, k].imshow(picture.clip(0, 1))
            grid[1, k].imshow((-picture).clip(0, 1))
        grid[0, k].set_title(_feature_title(estimator_or_components, k), fontsize="small")
        grid[-1, k].set_xlabel(f"largest {largest[k]:.3g}", fontsize="small")
    if channels == 3 and len(pictures):
        grid[0, 0].set_ylabel("adds")
        grid[1, 0].set_ylabel("takes away")
    return grid[0] if channels == 1 else grid


def plot_reconstructions(
    estimator: Any,
    X: Any,
    *,
    shape: Sequence[int],
    rows: int | ArrayLike = 8,
    limits: tuple[float, float] | None = None,
    axes: ArrayLike | None = None,
) -> Grid:
    """Draw pictures above what is left of them when only the features that each has are added up.

    Parameters
    ----------
    estimator : fitted estimator
        With ``transform``, which features a row has, and ``inverse_transform``, the sum of these features.
    X : array-like of shape (n_samples, n_features)
        Pictures, one per row.
    shape : (height, width) or (height, width, channels)
        The shape of one picture; one channel is grey, three are red, green and blue.
    rows : int or array-like of int, default=8
        The first this many rows, or the numbers of the rows to draw.
    limits : (low, high), default=None
        The values of black and of full brightness. None: 0 and 1, or 0 and 255, if the rows drawn lie within, otherwise their
        smallest and largest value.
    axes : array-like of matplotlib Axes, default=None
        Where to draw: twice as many as rows. None makes a new figure.

    Returns
    -------
    numpy array of matplotlib Axes, of shape (2, number of rows)
        Pictures in the first line, their reconstructions in the second, with the features each has below.
    """
    height, width, channels = _shape(shape)
    values = check_array(X, dtype=np.float64)
    _check_columns("X", values, shape)
    numbers = _row_numbers(rows, len(values))
    allocation = np.asarray(estimator.transform(_safe_indexing(X, numbers)))
    originals, rebuilt = values[numbers], np.asarray(estimator.inverse_transform(allocation), dtype=np.float64)
    low, high = _limits(originals) if limits is None else limits
    if not low < high:
        raise ValueError(f"limits must be two numbers, the lower first, got {limits!r}")
    grid = _grid(axes, lines=2, pictures=len(numbers), aspect=height / width, empty="no rows")
    for line, pictures in enumerate((originals, rebuilt)):
        bright = ((pictures - low) / (high - low)).clip(0, 1).reshape(-1, height, width, channels)
        for ax, picture in zip(grid[line], bright, strict=True):
            ax.imshow(picture[:, :, 0] if channels == 1 else picture, cmap="gray", vmin=0, vmax=1)
    for i, n in enumerate(numbers):
        grid[0, i].set_title(f"row {n}", fontsize="small")
        on = ", ".join(map(str, np.flatnonzero(allocation[i])))
        grid[1, i].set_xlabel(on or "none", fontsize="small")
    if len(numbers):
        grid[0, 0].set_ylabel("picture")
        grid[1, 0].set_ylabel("features")
    return grid


def import_pyplot() -> Any:
    """matplotlib.pyplot, or an error that says what to install."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'madbayes[plots]'") from error
    return pyplot


def _shape(shape: Sequence[int]) -> tuple[int, int, int]:
    """Height, width and channels, checked."""
    sides = [int(side) for side in shape if isinstance(side, (int, np.integer)) and side > 0]
    if len(sides) != len(shape) or len(sides) not in (2, 3) or sides[2:] not in ([], [1], [3]):
        raise ValueError(f"shape must be (height, width) or (height, width, 1 or 3), got {shape!r}")
    height, width, *channels = sides
    return height, width, channels[0] if channels else 1


def _check_columns(name: str, values: Floats, shape: Sequence[int]) -> None:
    if values.shape[1] != np.prod(shape):
        product = " x ".join(map(str, shape))
        raise ValueError(
            f"{name} has {values.shape[1]} columns, but pictures of shape {product} have {np.prod(shape)}: give the shape "
            "that the pictures had before they became rows"
        )


def _components(source: Any) -> Floats:
    if hasattr(source, "fit"):
        check_is_fitted(source)
    components = np.asarray(getattr(source, "components_", source))
    if components.dtype == object or components.ndim != 2:
        raise ValueError(
            f"estimator_or_components must be an estimator with components_ or an array with a row per feature, got "
            f"{type(source).__name__}"
        )
    floats: Floats = check_array(components, dtype=np.float64, ensure_min_samples=0)
    return floats


def _feature_title(source: Any, k: int) -> str:
    allocation = getattr(source, "allocation_", None)
    if allocation is None:
        return f"feature {k}"
    count = int(np.count_nonzero(np.asarray(allocation)[:, k]))
    return f"feature {k}: {count:,} row{'' if count == 1 else 's'}"


def _row_numbers(rows: Any, n_rows: int) -> NDArray[np.intp]:
    if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool) and rows > 0:
        return np.arange(min(int(rows), n_rows))
    numbers = np.asarray(rows)
    wrong = numbers.ndim != 1 or (numbers.size > 0 and not np.issubdtype(numbers.dtype, np.integer))
    if wrong or np.any((numbers < 0) | (numbers >= n_rows)):
        raise ValueError(
            f"rows must be an integer of at least 1 or an array of row numbers from 0 to {n_rows - 1}, got {rows!r}"
        )
    return numbers.astype(np.intp)


def _limits(values: Floats) -> tuple[float, float]:
    """The values of black and white."""
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    if low >= 0 and high <= 255:
        return 0.0, 1.0 if high <= 1 else 255.0
    return low, high if high > low else low + 1


def _grid(axes: Any, *, lines: int, pictures: int, aspect: float, empty: str) -> Grid:
    """Axes without ticks, `lines` of them for each picture: those given, or a new figure with lines of at most eight."""
    pyplot = import_pyplot()
    if axes is not None:
        grid = np.asarray(axes, dtype=object)
        if grid.size != lines * pictures:
            raise ValueError(f"axes must be {lines * pictures} matplotlib Axes, got {grid.size}")
        grid = grid.reshape(lines, pictures)
    else:
        across, blocks = max(min(pictures, ACROSS), 1), max(-(-pictures // ACROSS), 1)
        tall = 1.6 * min(max(aspect, 0.2), 5.0)
        figure = pyplot.figure(figsize=(1.6 * across, (tall * lines + 0.5) * blocks), layout="constrained")
        places = figure.add_gridspec(lines * blocks, across)
        grid = np.empty((lines, pictures), dtype=object)
        for line, i in np.ndindex(grid.shape):
            grid[line, i] = figure.add_subplot(places[i // ACROSS * lines + line, i % ACROSS])
        if pictures == 0:
            figure.suptitle(empty)
    for ax in grid.flat:
        ax.set(xticks=[], yticks=[])
    return grid
