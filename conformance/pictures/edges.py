"""Shaw's edges: which row of the table joins a query to a key."""

from typing import TYPE_CHECKING

import numpy as np

from conformance.pictures.panels import counted, heat, label, title
from refimpl.schemes import shaw as edge
from refimpl.schemes.shaw import Clip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOKENS = 12


def shaw(figure: "Figure") -> None:
    """Draw the rows for both ways to clip that code has."""
    title(figure, "Shaw: the clipped distance between query and key picks a row of a learned table")
    left, right = figure.subplots(1, 2)
    rows(left, "symmetric", 9)
    rows(right, "lower_closed", 8)


def rows(axes: "Axes", clip: Clip, count: int) -> None:
    """Show the row of every pair: a table that numbers its rows makes the logit of query 1 and key 0 the row itself."""
    one, places = np.ones((1, 1, TOKENS, 1)), np.arange(TOKENS)
    numbered = np.arange(float(count))[:, None]
    chosen = np.asarray(edge.logits(one, 0 * one, numbered, places, places, max_distance=4, clip=clip))[0, 0]
    heat(axes, chosen, "row of the table", vmin=0, vmax=8)
    for query, key in np.ndindex(chosen.shape):
        shade = "white" if chosen[query, key] < 5 else "black"
        axes.text(key, query, f"{chosen[query, key]:.0f}", color=shade, horizontalalignment="center", verticalalignment="center")
    counted(axes, TOKENS, TOKENS)
    label(axes, f"clip={clip}, max_distance=4: {count} rows", "key position (tokens)", "query position (tokens)")
