"""Transformer-XL: sinusoids of the distance, and the shift that moves scores from distances to keys."""

from typing import TYPE_CHECKING

import numpy as np

from conformance.pictures.panels import counted, heat, label, title
from refimpl.schemes import transformer_xl as recurrent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, DISTANCES = 16, 32
QUERIES, MEMORY = 5, 3


def transformer_xl(figure: "Figure") -> None:
    """Draw the encoding of the distance, and scores before and after the shift."""
    title(figure, "Transformer-XL encodes the distance, then shifts every row of scores so that a column becomes a key")
    waves, before, after = figure.subplots(1, 3)
    heat(waves, relative_sinusoids(), "value", vmin=-1, vmax=1)
    label(waves, f"sinusoids of the distance, {WIDTH} wide", "channel (sines, then cosines)", "query - key position (tokens)")
    span = QUERIES + MEMORY
    scores = np.tile(np.arange(span)[::-1], (QUERIES, 1)).astype(np.float64)
    shifted = np.asarray(recurrent.shift(scores[None, None], memory=MEMORY))[0, 0]
    query, key = np.indices(shifted.shape)
    numbered(before, scores, "scores by distance", "column")
    numbered(after, np.where(key <= query + MEMORY, shifted, np.nan), f"shifted, memory of {MEMORY}", "key (hatched: meaningless)")


def relative_sinusoids() -> np.ndarray:
    """Return the encoding of every distance: a head per channel, whose position term picks that channel."""
    nothing, one = np.zeros((1, WIDTH, 1, 1)), np.ones((WIDTH, 1))
    keys = np.zeros((1, WIDTH, DISTANCES, 1))
    query, key = np.asarray([DISTANCES - 1]), np.arange(DISTANCES)[::-1]
    picks = np.eye(WIDTH)[:, :, None]
    return np.asarray(recurrent.logits(nothing, keys, picks, 0 * one, one, query, key, dim=WIDTH))[0, :, 0, :].T


def numbered(axes: "Axes", values: np.ndarray, heading: str, columns: str) -> None:
    """Show which distance every entry belongs to, in numbers too."""
    heat(axes, values, "distance (tokens)", vmin=0, vmax=QUERIES + MEMORY - 1)
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        shade = "white" if values[row, column] < 5 else "black"
        axes.text(column, row, f"{values[row, column]:.0f}", color=shade, horizontalalignment="center", verticalalignment="center")
    counted(axes, values.shape[1], values.shape[0])
    label(axes, heading, columns, "query")
