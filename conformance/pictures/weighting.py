"""What multiplies logits: DA-Transformer's sigmoid of the distance, RetNet's decay, and the temperature of a query's position."""

from typing import TYPE_CHECKING

import numpy as np

from conformance.pictures.panels import STROKES, heat, label, title
from refimpl.forms import windowed
from refimpl.forms.joining import those_of
from refimpl.schemes import da_transformer as aware
from refimpl.schemes import dual_chunk as chunked
from refimpl.schemes import rerope as clamped
from refimpl.schemes import retnet as keeping
from refimpl.schemes import self_extend as grouping
from refimpl.schemes import temperature as growing

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


def temperature(figure: "Figure") -> None:
    """Draw what multiplies a query over its position, and the first step of both shifts."""
    title(figure, "Queries of far positions are multiplied by a number that grows with the logarithm of the position")
    left, right = figure.subplots(1, 2)
    far, near = np.arange(0, 131_072, 16), np.arange(8_186, 8_198)
    curves = {
        "Llama 4: steps of 8192": growing.scale(far),
        "Ministral 3: steps of 16384": growing.scale(far, floor_scale=16_384, shift=0),
        "Qwen: beyond 8192": growing.log_scale(far, original_length=8_192),
    }
    for stroke, (name, scale) in zip(STROKES, curves.items(), strict=False):
        left.plot(far, np.asarray(scale), label=name, **stroke)
    left.legend(loc="lower right")
    label(left, "what multiplies the query", "position (tokens)", "factor")
    for stroke, shift, marker in zip(STROKES, (1, 0), "ox", strict=False):
        steps = np.asarray(growing.scale(near, shift=shift))
        right.plot(near, steps, marker=marker, drawstyle="steps-post", label=f"shift = {shift}", **stroke)
    right.legend(loc="upper left")
    label(right, "the first step: at 8191, or one position later", "position (tokens)", "factor")


def retnet(figure: "Figure") -> None:
    """Draw what heads keep of a key over the distance, by both rates, and the matrix of one head."""
    title(figure, "Every head of RetNet keeps a constant part of a product with each further token; later keys get nothing")
    left, right = figure.subplots(1, 2)
    distances, places, heads = np.arange(513), np.arange(64), 8
    kinds: tuple[keeping.Rates, ...] = ("doubling", "spread")
    for kind, stroke in zip(kinds, STROKES, strict=False):
        kept = np.asarray(keeping.decay(distances, np.zeros(1, dtype=np.int64), num_heads=heads, rates=kind))[..., 0]
        for head in (0, 3, 7):
            left.plot(distances, kept[head], **{**stroke, "label": None if head else f'rates = "{kind}"'})
    left.legend(loc="upper right")
    label(left, f"the 1st, 4th and 8th of {heads} heads, from below", "distance (tokens)", "decay")
    heat(right, np.asarray(keeping.decay(places, places, num_heads=heads))[0], "decay")
    label(right, "the first head, which loses 1/32 per token", "key position (tokens)", "query position (tokens)")


def rerope(figure: "Figure") -> None:
    """Draw the distances that queries and keys are turned by, and what a pair of a query and an equal key comes to."""
    title(figure, "ReRoPE turns by the distance up to a window, and by the window beyond it")
    distances_of(figure, clamped.FORM, window=8)


def self_extend(figure: "Figure") -> None:
    """Draw the distances that queries and keys are turned by within the window, and by groups beyond it."""
    title(figure, "SelfExtend turns by the distance up to a window, and by groups of positions beyond it")
    distances_of(figure, grouping.FORM, window=8, group_size=4)


def dual_chunk(figure: "Figure") -> None:
    """Draw the distances that queries and keys are turned by in their own chunk, in the one before and farther back."""
    title(figure, "Dual chunks turn by the distance up to chunk_size; far keys count from the beginning of their chunk")
    distances_of(figure, chunked.FORM, chunk_size=10, local_size=3)


def distances_of(figure: "Figure", form: windowed.Windowed, **rule: int) -> None:
    """Draw by which distance keys are turned to a query, and how much rope has left of equal queries and keys at that distance."""
    left, right = figure.subplots(1, 2)
    places = np.arange(32)
    beyond = [np.asarray(each) for each in form.far(places, places, **those_of(form.far, rule))]
    near = np.asarray(form.near(places, places, **those_of(form.near, rule)))
    turned = np.where(near, places[:, None] - places, beyond[0][:, None] - beyond[1])
    heat(left, np.where(places[:, None] >= places, turned.astype(float), np.nan), "distance (tokens)")
    label(left, ", ".join(f"{name} {value}" for name, value in rule.items()), "key position (tokens)", "query position (tokens)")
    for stroke, query in zip(STROKES, (16, 24, 31), strict=False):
        right.plot(query - places[: query + 1], turned[query, : query + 1], label=f"query at {query}", **stroke)
    right.legend(loc="lower right")
    label(right, "what a query is turned by", "distance to the key (tokens)", "distance that it is turned by (tokens)")
