"""Codes that are added to the input: the binary counter, the sinusoids, the learned table."""

from typing import TYPE_CHECKING

import numpy as np

from conformance.pictures.panels import HERE, INK, PALE, counted, heat, label, scattered, title
from refimpl import analysis
from refimpl.schemes import binary as counter
from refimpl.schemes import learned as table
from refimpl.schemes import sincos_2d as grid
from refimpl.schemes import sinusoidal as waves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LENGTH = 4_096
WIDTH = 512


def binary(figure: "Figure") -> None:
    """Draw the counter in base 2, one row per position."""
    title(figure, "Each binary digit of the position toggles half as often as the one before it")
    axes = figure.subplots()
    count(axes, 32, 5)
    axes.set_yticks(range(0, 32, 2))


def count(axes: "Axes", positions: int, bits: int) -> None:
    """Show the digits of every position."""
    heat(axes, np.asarray(counter.encode(np.arange(positions), bits=bits)), "digit", ticks=(0, 1), vmin=0, vmax=1)
    axes.set_xticks(range(bits))
    label(axes, "binary counter", "bit, least significant first", "position (tokens)")


def sinusoidal(figure: "Figure") -> None:
    """Draw the counter, the sinusoids beside it, their clock hands, and how much of the circle they use."""
    title(figure, "Sinusoids are smooth and repeat ever more slowly, as binary digits do: low channels turn fast, high ones hardly")
    grid = figure.subplots(2, 2, width_ratios=(3, 4), height_ratios=(1, 1))
    count(grid[0, 0], 32, 5)
    heat(grid[0, 1], np.asarray(waves.encode(np.arange(32), dim=32)), "value", vmin=-1, vmax=1)
    label(grid[0, 1], "sinusoids, 32 channels", "channel (sine and cosine in turn)", "position (tokens)")
    clocks(grid[1, 0])
    coverage(grid[1, 1])


def clocks(axes: "Axes") -> None:
    """Draw the pairs (sine, cosine) as hands of clocks: at 12 at position 0, and turning clockwise."""
    positions, pairs = 8, 5
    codes = np.asarray(waves.encode(np.arange(positions), dim=16))
    around = np.linspace(0, 2 * np.pi, 49)
    for position in range(positions):
        for pair in range(pairs):
            sine, cosine = 0.42 * codes[position, 2 * pair : 2 * pair + 2]
            axes.plot(position + 0.42 * np.cos(around), pair + 0.42 * np.sin(around), color=PALE, linewidth=0.8)
            axes.plot([position, position + sine], [pair, pair - cosine], color=INK, linewidth=1.8)
    counted(axes, positions, pairs)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    label(axes, "clock hands of the first pairs, 16 channels", "position (tokens)", "pair")


def coverage(axes: "Axes") -> None:
    """Draw how many turns every pair makes, and where the circle is no longer closed."""
    turns = np.asarray(analysis.circle_coverage(length=LENGTH, dim=WIDTH, like=HERE).turns)
    axes.semilogy(turns, color=INK)
    axes.axhline(1, color=PALE, linestyle="--")
    whole = int(np.sum(turns >= 1))
    axes.text(0, 1.2, f"{whole} pairs turn at least once", verticalalignment="bottom")
    axes.text(0, 0.8, f"{len(turns) - whole} pairs never do", verticalalignment="top")
    label(axes, f"turns over {LENGTH} positions, {WIDTH} channels", "pair", "turns (whole circles)")


def sincos_2d(figure: "Figure") -> None:
    """Draw which axis has which channels in every layout, and how alike the codes of patches are to that of one in the middle."""
    title(figure, "Half of the channels encode the row of a patch and half its column")
    left, right = figure.subplots(1, 2)
    layouts, still, moved = ("halves", "interleaved", "joined"), np.zeros((1, 2)), np.array([[1, 0]])
    codes = [[np.asarray(grid.encode(at, dim=16, layout=layout))[0] for at in (still, moved)] for layout in layouts]  # type: ignore[arg-type]  # one of its choices
    left.imshow([2 * (here == there) + here for here, there in codes], aspect="auto", interpolation="nearest")
    left.set_yticks(range(len(layouts)), layouts)
    label(left, "16 channels, row first; from dark to light: sines and\ncosines of the row, then of the column", "channel", "layout")
    image = np.asarray(grid.encode(np.stack(np.divmod(np.arange(24 * 32), 32), axis=-1), dim=64)).reshape(24, 32, 64)
    heat(right, image @ image[12, 16] / 32, "dot product (1: the same)")
    label(right, "codes beside that of row 12, column 16; 64 channels", "column (patches)", "row (patches)")


def learned(figure: "Figure") -> None:
    """Draw a table, and the rows that positions read with an offset of 2."""
    title(figure, "A learned table is read at position + offset: with offset 2 its first two rows belong to no position")
    rows = scattered(14, 12)
    left, right = figure.subplots(1, 2)
    heat(left, rows, "learned number (here arbitrary)", vmin=-1, vmax=1)
    label(left, "table", "channel", "row")
    heat(right, np.asarray(table.encode(np.arange(12), rows, offset=2)), "code", vmin=-1, vmax=1)
    label(right, "codes of positions 0 to 11, offset 2", "channel", "position (tokens)")
    left.axhline(1.5, color="white", linestyle="--", linewidth=2)
    counted(left, 12, 14)
    counted(right, 12, 12)
