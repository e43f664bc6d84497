"""The DA-Transformer's rescaling: a learned sigmoid of the distance that multiplies the clipped logits."""

from typing import TYPE_CHECKING

import numpy as np

from conformance.pictures.panels import STROKES, heat, label, title
from refimpl.schemes import da_transformer as aware

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEADS = ((0.5, 1.0), (0.5, -1.0), (-0.5, 1.0), (-0.1, 1.0))


def da_transformer(figure: "Figure") -> None:
    """Draw the sigmoid for heads that look far and near, and the matrix of one."""
    title(figure, "A learned sigmoid of the distance multiplies the logits: some heads prefer far keys, others near ones")
    left, right = figure.subplots(1, 2)
    weight, saturation = (np.asarray(numbers) for numbers in zip(*HEADS, strict=True))
    sigmoids(left, weight, saturation)
    places = np.arange(24)
    heat(right, np.asarray(aware.rescale(places, places, weight, saturation))[2], "factor")
    label(right, f"factor of the head with w = {HEADS[2][0]:g}, v = {HEADS[2][1]:g}", "key position (tokens)", "query position (tokens)")


def sigmoids(axes: "Axes", weight: np.ndarray, saturation: np.ndarray) -> None:
    """Draw the factor over the distance, and the bound that it tends to."""
    distances = np.arange(25)
    factors = np.asarray(aware.rescale(np.zeros(1, dtype=np.int64), distances, weight, saturation))[:, 0]
    for stroke, (w, v), factor in zip(STROKES, HEADS, factors, strict=False):
        axes.plot(distances, factor, label=f"w = {w:g}, v = {v:g}", **stroke)
    axes.axhline(1, color="0.8", linewidth=0.8)
    axes.legend(loc="center right")
    label(axes, "factor: 1 at distance 0, below $1 + e^v$", "distance (tokens)", "factor")
