"""Attention without an encoding: what it can't see."""

from typing import TYPE_CHECKING

import numpy as np

from conformance.pictures.panels import counted, heat, label, scattered, title
from refimpl.schemes import none as plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORDS = ("the", "dog", "bites", "the", "man")
#: "the man bites the dog"
REORDERED = (0, 4, 2, 3, 1)


def none(figure: "Figure") -> None:
    """Draw the weights of a sentence and of the same words in another order."""
    title(figure, "Without an encoding, reordered words get the same weights, reordered: order is invisible")
    left, right = figure.subplots(1, 2)
    vectors = 2 * scattered(4, 6)[[0, 1, 2, 0, 3]]
    weigh(left, vectors, WORDS, "one order")
    weigh(right, vectors[list(REORDERED)], tuple(WORDS[i] for i in REORDERED), "another order")


def weigh(axes: "Axes", vectors: np.ndarray, words: tuple[str, ...], heading: str) -> None:
    """Show the attention weights of one sentence, in numbers too."""
    x, places = vectors[None, None], np.arange(len(words))
    weights = np.asarray(plain.weights(x, x, places, places))[0, 0]
    heat(axes, weights, "attention weight", vmin=0, vmax=1)
    counted(axes, len(words), len(words))
    axes.set_xticklabels(words)
    axes.set_yticklabels(words)
    for row, column in np.ndindex(weights.shape):
        shade = "white" if weights[row, column] < 0.6 else "black"
        axes.text(column, row, f"{weights[row, column]:.2f}", color=shade, horizontalalignment="center", verticalalignment="center")
    label(axes, heading, "key", "query")
