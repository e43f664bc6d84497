"""The parts that pictures share: labelled axes, heat maps, strokes that differ in grey."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Any array of the library in which the numbers are made.
HERE = np.zeros(())
INK, SHADE, PALE, GOLD = "#00224e", "#575d6d", "#9b9476", "#c8a415"
STROKES: tuple[dict[str, Any], ...] = (
    {"color": INK, "linestyle": "-"},
    {"color": SHADE, "linestyle": "--"},
    {"color": PALE, "linestyle": "-."},
    {"color": "black", "linestyle": ":"},
    {"color": GOLD, "linestyle": (0, (6, 2, 1, 2, 1, 2))},
)


def title(figure: "Figure", sentence: str) -> None:
    """Write one sentence above the picture."""
    figure.suptitle(sentence, fontsize="large")


def label(axes: "Axes", heading: str, x: str, y: str) -> None:
    """Write what a panel shows, and its axes with their units."""
    axes.set_title(heading)
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def heat(axes: "Axes", values: np.ndarray, unit: str, ticks: Sequence[float] | None = None, **options: Any) -> None:
    """Show a matrix, its first row on top, with a bar that says what the shades mean; what isn't a number is hatched."""
    axes.patch.set(hatch="////", facecolor="white", edgecolor="0.75")
    image = axes.imshow(values, aspect="auto", interpolation="nearest", **options)
    axes.spines[:].set_visible(True)
    axes.figure.colorbar(image, ax=axes, label=unit, ticks=ticks)


def counted(axes: "Axes", columns: int, rows: int) -> None:
    """Put a tick at every cell of a small matrix."""
    axes.set_xticks(range(columns))
    axes.set_yticks(range(rows))


def scattered(rows: int, columns: int) -> np.ndarray:
    """Return sixteenths between -1 and 1 that look arbitrary and are the same everywhere, in place of learned numbers."""
    index = np.arange(rows * columns)
    sixteenths: np.ndarray = (37 * index + index * index // 3 + index * index * index // 5) % 33 - 16
    return sixteenths.reshape(rows, columns) / 16.0


def hide_later_keys(values: np.ndarray) -> np.ndarray:
    """Return a square matrix over queries and keys without the keys that a causal mask hides."""
    rows, columns = np.indices(values.shape)
    return np.where(columns <= rows, values, np.nan)
