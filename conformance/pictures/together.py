"""Pictures of no single scheme: what attention makes of the same tokens under each, and how a code is added to the input."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from conformance.pictures.panels import HERE, STROKES, counted, heat, hide_later_keys, label, scattered, title
from refimpl import attention
from refimpl.adding import added
from refimpl.attention import Layer
from refimpl.schemes import SCHEMES
from refimpl.schemes import alibi as linear
from refimpl.schemes import rope as rotation
from refimpl.schemes import sinusoidal as waves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEADS, WIDTH, LENGTH = 2, 16, 28
COLUMNS = 7
#: Shades end at an eighth and at eight times of an even share.
WIDEST = 3
WORDS = ("the", "man", "bites", "the", "dog")


def weights(figure: "Figure") -> None:
    """Draw the causal attention weights of the same queries and keys under every scheme that has a softmax."""
    figure.set_size_inches(9.6, 6.8)
    title(figure, "Attention weights of equal tokens under every scheme with a softmax: positions alone make the patterns")
    every = {name: scheme.layer(num_heads=HEADS, head_dim=WIDTH, like=HERE) for name, scheme in SCHEMES.items() if scheme.layer is not None}
    layers = {name: layer for name, layer in every.items() if layer.weigh is None}
    grid = figure.subplots(math.ceil(len(layers) / COLUMNS), COLUMNS, sharex=True, sharey=True)
    for axes, (name, layer) in zip(grid.flat[: len(layers)], layers.items(), strict=True):
        shares = weighed(layer) * (1 + np.arange(LENGTH))[:, None]
        powers = np.clip(np.log2(np.maximum(shares, 2.0**-WIDEST)), -WIDEST, WIDEST)
        image = axes.imshow(hide_later_keys(powers), interpolation="nearest", vmin=-WIDEST, vmax=WIDEST)
        axes.set(xticks=range(0, LENGTH, 8), yticks=range(0, LENGTH, 8))
        label(axes, name.replace("_", "\n", 1).replace("_", " "), "key", "query")
        axes.label_outer()
    for axes in grid.flat[len(layers) :]:
        axes.remove()
    unit = "log2(attention weight / mean weight of the visible keys)"
    figure.colorbar(image, ax=[*grid.flat[: len(layers)]], label=unit, shrink=0.6, extend="both")


def weighed(layer: Layer) -> np.ndarray:
    """Return the causal attention weights of the first head over equal tokens: with values that are all told apart, the averages."""
    x, positions = np.broadcast_to(1.5 * scattered(1, WIDTH), (1, HEADS, LENGTH, WIDTH)), np.arange(LENGTH)
    apart = np.broadcast_to(np.eye(LENGTH), (1, HEADS, LENGTH, LENGTH))
    cache = attention.append(layer, None, x, x, positions)._replace(values=apart)
    averages: np.ndarray = attention.decode(replace(layer, mix=None), cache, x, positions)[0, 0]
    return averages


def adding(figure: "Figure") -> None:
    """Draw embeddings, sinusoids, and their sum."""
    title(figure, "x + PE: the sinusoid is added to the embedding times sqrt(d), so one word at two positions gives two inputs")
    x = scattered(4, WIDTH)[[0, 1, 2, 0, 3]] / math.sqrt(WIDTH)
    places = np.arange(len(WORDS))
    codes = np.asarray(waves.encode(places, dim=WIDTH))
    scaled = math.sqrt(WIDTH) * x
    summed = np.asarray(added(scaled[None, None], places, lambda flat: waves.encode(flat, dim=WIDTH)))[0, 0]
    parts = {f"embeddings times sqrt({WIDTH})": scaled, "+ sinusoids of positions 0 to 4": codes, "= what the first layer sees": summed}
    for axes, (heading, values) in zip(figure.subplots(3, 1, sharex=True), parts.items(), strict=True):
        heat(axes, values, "value", vmin=-2, vmax=2)
        counted(axes, WIDTH, len(WORDS))
        axes.set_yticklabels(WORDS)
        label(axes, heading, "channel", "word")


def biasing(figure: "Figure") -> None:
    """Draw products of queries and keys, ALiBi's bias, and their sum."""
    title(figure, "q k + bias: the products don't depend on positions; the bias of ALiBi depends on nothing else")
    figure.set_size_inches(9.6, 3.6)
    x, places = scattered(4, WIDTH)[[0, 1, 2, 0, 3]], np.arange(len(WORDS))
    products = x @ x.T / math.sqrt(WIDTH)
    bias = np.asarray(linear.bias(places, places, num_heads=8))[1]
    parts = {"q k / sqrt(d), q = k": products, "+ ALiBi's bias, slope 1/4": bias, "= logits": products + bias}
    for axes, (heading, values) in zip(figure.subplots(1, 3), parts.items(), strict=True):
        heat(axes, hide_later_keys(values), "logits", vmin=-1.5, vmax=1.5)
        counted(axes, len(WORDS), len(WORDS))
        axes.set_xticklabels(WORDS)
        axes.set_yticklabels(WORDS)
        label(axes, heading, "key", "query")


def turning(figure: "Figure") -> None:
    """Draw the matrix that a rotation is, and two words that keep their angle."""
    title(figure, "RoPE is a sparse matrix of 2 x 2 rotations; two words that move together keep the angle between them")
    figure.set_size_inches(9.6, 4.6)
    left, right = figure.subplots(1, 2)
    units = np.broadcast_to(np.eye(WIDTH), (1, 1, WIDTH, WIDTH))
    matrix = np.asarray(rotation.rotate(units, np.full(WIDTH, 3), head_dim=WIDTH))[0, 0].T
    heat(left, np.where(matrix == 0, np.nan, matrix), "element (hatched: 0)", vmin=-1, vmax=1)
    label(left, f"R at position 3: {2 * WIDTH} of {WIDTH * WIDTH} elements are not 0", "input channel", "output channel")
    words_turned(right)


def words_turned(axes: "Axes") -> None:
    """Draw one pair of two words, three tokens apart, at two places."""
    x = np.array([[1.0, 0.0], [0.5, 0.75]]).reshape(1, 1, 2, 2)
    for stroke, start in zip(STROKES, (0, 2), strict=False):
        places = np.array([start, start + 3])
        turned = np.asarray(rotation.rotate(x, places, head_dim=2))[0, 0]
        axes.plot(*np.insert(turned, 1, 0, axis=0).T, label=f"positions {start} and {start + 3}", **stroke)
        for word, place, (first, second) in zip("qk", places, turned, strict=True):
            axes.text(1.28 * first, 1.28 * second, f"{word} at {place}", horizontalalignment="center", verticalalignment="center")
    axes.legend(loc="upper right")
    axes.set(aspect="equal", xlim=(-1.5, 1.5), ylim=(-1.5, 1.5))
    label(axes, "one pair, turned by 1 radian per token", "channel 0", "channel 1")
