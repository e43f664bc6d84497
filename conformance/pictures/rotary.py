"""RoPE: one pair turning with the position, how the logit falls with the distance; heads that turn in part, or by axes."""

from typing import TYPE_CHECKING

import numpy as np

from conformance.pictures.panels import HERE, INK, PALE, SHADE, STROKES, heat, label, title
from refimpl import analysis
from refimpl.schemes import axial_rope as axial
from refimpl.schemes import mixed_rope as mixed
from refimpl.schemes import mrope as multimodal
from refimpl.schemes import partial_rope as part
from refimpl.schemes import rope as rotation
from refimpl.schemes import xpos as fading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DISTANCES = 256
WIDTH = 128


def rope(figure: "Figure") -> None:
    """Draw the turning pair, the envelope and the bound."""
    title(figure, "RoPE turns every pair by an angle that grows with the position; logits decay with distance, but not at every step")
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.3))
    turning(figure.add_subplot(grid[:, 0]))
    distances = analysis.whole_distances(DISTANCES, like=HERE)
    for row, (measure, heading, unit) in enumerate(
        (
            (analysis.alignment, "logits of equal queries and keys", r"mean of $\cos(s\,\theta_j)$"),
            (analysis.abel_bound, "RoFormer's bound", "mean of $|S_i|$"),
        )
    ):
        decay(figure.add_subplot(grid[row, 1]), np.asarray(measure(distances, head_dim=WIDTH)), f"{heading}, head {WIDTH} wide", unit)


def turning(axes: "Axes") -> None:
    """Draw one pair of a head at the first positions."""
    positions = np.arange(8)
    x = np.zeros((1, 1, 8, 16))
    x[..., 2] = 1.0
    pairs = np.asarray(rotation.rotate(x, positions, head_dim=16))[0, 0, :, 2:4]
    around = np.linspace(0, 2 * np.pi, 97)
    axes.plot(np.cos(around), np.sin(around), color=PALE, linewidth=0.8)
    for position, (first, second) in zip(positions, pairs, strict=True):
        axes.plot([0, first], [0, second], color=INK, linewidth=1.4, alpha=0.35 + 0.65 * (position == 0))
        axes.plot([first], [second], "o", color=INK, markersize=4)
        axes.text(1.12 * first, 1.12 * second, f"{position}", horizontalalignment="center", verticalalignment="center")
    axes.set(aspect="equal", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
    label(axes, "pair 1 of a head 16 wide, positions 0 to 7\n0.316 radians per token, counter-clockwise", "channel 2", "channel 3")


def decay(axes: "Axes", values: np.ndarray, heading: str, unit: str) -> None:
    """Draw a curve over the distance, and every step on which it rises."""
    climbs = np.append(analysis.rises(values), False) | np.append(False, analysis.rises(values))
    first = analysis.first_rise(values)
    axes.plot(values, color=SHADE, linewidth=1)
    axes.plot(np.where(climbs, values, np.nan), color=INK, linewidth=3, solid_capstyle="butt", label=f"rises, first after distance {first}")
    axes.legend(loc="upper right")
    label(axes, heading, "distance s (tokens)", unit)


def partial_rope(figure: "Figure") -> None:
    """Draw which channels turn, and how fast, beside two rules that are taken for it."""
    title(figure, "Partial RoPE turns a part of each head like a head of that width; the other channels carry no position")
    left, right = figure.subplots(1, 2)
    positions, width, turning_part = np.arange(48), 16, 8
    ones = np.ones((1, 1, len(positions), width))
    turned = np.asarray(part.rotate(ones, positions, head_dim=width, rotary_dim=turning_part))[0, 0]
    heat(left, turned, "result for x = 1", vmin=-1.5, vmax=1.5)
    label(left, f"head {width} wide, the first {turning_part} channels turn", "channel", "position (tokens)")
    ladders = {
        "width of the part, 64 of 256: right": rotation.frequencies(head_dim=64, like=HERE),
        "width of the head, 256: a mistake": rotation.frequencies(head_dim=256, like=HERE)[:32],
    }
    for stroke, (words, theta) in zip(STROKES, ladders.items(), strict=False):
        right.semilogy(np.asarray(theta), label=words, **stroke)
    right.legend(loc="lower left")
    label(right, "frequencies by the width in the exponent", "pair", "frequency (radians per token)")


def axial_rope(figure: "Figure") -> None:
    """Draw which axis turns which channels in every order, and the scores over an image."""
    title(figure, "Axial RoPE turns some channels by the row of a patch and others by its column")
    left, right = figure.subplots(1, 2)
    orders = ("block", "joined", "alternating")
    owners = np.zeros((len(orders), 16))
    for line, order in enumerate(orders):
        for axis, pairs in enumerate(axial.pairs_of_axes((8, 8), order)):
            owners[line, axial.channels_of(pairs, order, "half", 8)] = axis
    left.imshow(owners, aspect="auto", interpolation="nearest")
    left.set_yticks(range(len(orders)), orders)
    label(left, "layout half, 16 channels; dark: row, light: column", "channel", "order")
    rows, columns = np.divmod(np.arange(24 * 32), 32)
    ones = np.ones((1, 1, rows.size, 64))
    turned = np.asarray(axial.rotate(ones, np.stack([rows - 12, columns - 16], axis=-1), head_dim=64, axes=(32, 32), base=100.0))
    heat(right, turned.sum(axis=-1).reshape(24, 32) / 64, "mean over the channels")
    label(right, "ones, turned at each patch; origin in the middle, base 100", "column (patches)", "row (patches)")


def mixed_rope(figure: "Figure") -> None:
    """Draw the scores of one head over an image, and the frequencies with which two heads begin."""
    title(figure, "Mixed RoPE turns every pair by the row and the column of a patch at once; every head learns directions of its own")
    frequencies = np.asarray(mixed.beginning(6, 64, HERE))[:, 1:3]
    left, right = figure.subplots(1, 2)
    rows, columns = np.divmod(np.arange(24 * 32), 32)
    places = np.stack([columns - 16, rows - 12], axis=-1)
    turned = np.asarray(mixed.rotate(np.ones((1, 1, rows.size, 64)), places, frequencies[:, :1], head_dim=64))
    heat(left, turned.sum(axis=-1).reshape(24, 32) / 64, "mean over the channels")
    label(left, "head 1: ones, turned at each patch; origin in the middle", "column (patches)", "row (patches)")
    for head, marker in enumerate("ox"):
        right.plot(*frequencies[:, head], marker, color=STROKES[head]["color"], label=f"head {head + 1}")
    right.legend(loc="lower right")
    right.set(aspect="equal", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    label(right, "frequencies of 32 pairs as training begins", "of the column (radians per patch)", "of the row (radians per patch)")


def mrope(figure: "Figure") -> None:
    """Draw where tokens stand on every axis, which axis each pair of a head follows in every order, and how fast the pairs turn."""
    title(figure, "Multimodal RoPE lets some pairs follow the time of a token, others its height or width")
    grid = figure.add_gridspec(2, 2)
    standing(figure.add_subplot(grid[0, :]))
    left, right = (figure.add_subplot(grid[1, column]) for column in range(2))
    orders = {"contiguous": (16, 24, 24), "interleaved": (24, 20, 20), "first_last": (20, 22, 22)}
    owners = [multimodal.axes_of_pairs(sections, order) for order, sections in orders.items()]
    left.imshow(np.asarray(owners), aspect="auto", interpolation="nearest")
    left.set_yticks(range(len(orders)), [f"{order}\n{', '.join(map(str, sections))}" for order, sections in orders.items()])
    label(left, "64 pairs; dark: time, middle: height, light: width", "pair", "order and sections")
    theta = np.asarray(rotation.frequencies(head_dim=128, base=1_000_000.0, like=HERE))
    again = np.concatenate([np.asarray(rotation.frequencies(head_dim=2 * pairs, base=1_000_000.0, like=HERE)) for pairs in (16, 24, 24)])
    ladders = {"over the whole head: right": theta, "begun again for every axis: axial RoPE": again}
    for stroke, (words, ladder) in zip(STROKES, ladders.items(), strict=False):
        right.semilogy(ladder, label=words, **stroke)
    right.set_ylim(bottom=theta.min() / 300)  # room for the legend
    right.legend(loc="lower left")
    label(right, "frequencies, base 1,000,000", "pair", "frequency (radians per position)")


def standing(axes: "Axes") -> None:
    """Draw the places of the tokens of text, an image, text, a video and text: numbers apart, positions close."""
    places = np.asarray(multimodal.positions(np.arange(96), text=(8, 6), times=(1, 8), heights=(4, 2), widths=(7, 2)))
    for stroke, (words, axis) in zip(STROKES, {"time": 0, "height": 1, "width": 2}.items(), strict=False):
        axes.plot(places[:, axis], label=words, **stroke)
    axes.legend(loc="upper left")
    label(axes, "text, an image of 4 x 7 tokens, text, 8 steps of a video of 2 x 2, text", "number of the token", "position")


def xpos(figure: "Figure") -> None:
    """Draw what multiplies pairs of queries and keys over the position, and the mean score of equal queries and keys."""
    title(figure, "xPos multiplies queries by powers that fall with the position, and keys by their reciprocals")
    left, right = figure.subplots(1, 2)
    positions = np.arange(0, 2_049, 8)
    for stroke, pair in zip(STROKES, (0, 21, 42), strict=False):
        for sign, factor in enumerate((fading.query_factor, fading.key_factor)):
            curve = np.asarray(factor(positions, head_dim=WIDTH))[:, pair]
            left.semilogy(positions, curve, **{**stroke, "label": None if sign else f"pair {pair} of 64"})
    left.legend(loc="upper left")
    label(left, "what multiplies a pair: queries below 1, keys above", "position (tokens)", "factor")
    ones = np.ones((1, 1, positions.size, WIDTH))
    query, key = fading.rotate_query_key(ones[:, :, :1], ones, np.array([2_048]), positions, head_dim=WIDTH)
    plain = rotation.rotate_query_key(ones[:, :, :1], ones, np.array([2_048]), positions, head_dim=WIDTH)
    for stroke, (words, (q, k)) in zip(STROKES, {"xPos": (query, key), "RoPE": plain}.items(), strict=False):
        right.plot(2_048 - positions, np.asarray(k)[0, 0] @ np.asarray(q)[0, 0, 0] / WIDTH, label=words, **stroke)
    right.legend(loc="upper right")
    label(right, "score of equal queries and keys", "distance (tokens)", "mean over the channels")
