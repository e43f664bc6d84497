"""What goes wrong with sinusoids on a grid: what goes wrong on a line; which axis has which channels, and where patches stand."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.mutants import sinusoidal
from conformance.mutants.building import Function, Mistake, altered, conventions
from conformance.mutants.composing import assembled
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import sincos_2d
from refimpl.schemes.sinusoidal import encode

ENCODE = "sincos_2d.encode"
THREADS = {"column_first": ("https://github.com/facebookresearch/mae/issues/18",)}
#: What an encoding of an axis is told that has no such parameters.
LINE: dict[str, Any] = {"spacing": "paper", "odd": "error", "scale": 1.0}
#: What goes wrong on a line with what an image has not.
ABSENT = ("scale-forgotten", "scale-on-angle", "odd-column-first", "odd-width-filled", "position-by-row-of-batch")


@assembled
def sided(line: Function) -> Function:
    """Return the encoding with another one of each axis."""
    return lambda positions, **rule: sincos_2d.sided(lambda places, **own: line(places, **{**LINE, **own}), positions, **rule)


def placed(change: Callable[[Array], Array]) -> Function:
    """Return the encoding of other positions."""
    return altered(ENCODE, arrays=lambda arrays, _: {"positions": change(arrays["positions"])})


def by_columns(positions: Array) -> Array:
    """Return where patches stand that are numbered by rows, if the numbers are taken for those by columns."""
    height, width = positions.max(axis=0, initial=0) + 1
    number = positions[:, 0] * width + positions[:, 1]
    return np.stack([number % height, number // height], axis=-1)


def normalised(positions: Array) -> Array:
    """Return coordinates that end at two pi."""
    return 2 * np.pi * positions / (positions.max(axis=0, initial=0) + 1e-6)


def over_the_whole(places: Array, *, dim: int, layout: str, **rule: Any) -> Array:
    """Return the first half of the frequencies of the whole width."""
    both = encode(places, dim=2 * dim, layout="interleaved", **rule)[:, :dim]
    return both if layout == "interleaved" else np.concatenate([both[:, 0::2], both[:, 1::2]], axis=-1)


def summed(positions: Array, *, order: str, layout: str, **rule: Any) -> Array:
    """Return the encodings of both axes over all channels, added."""
    laid: Any = "interleaved" if layout == "interleaved" else "halves"
    return sum(encode(positions[:, axis], layout=laid, **rule) for axis in sincos_2d.AXES[order]) / np.sqrt(2)


def in_turns(positions: Array, **rule: Any) -> Array:
    """Return channels that belong to the axes in turns."""
    rows = sincos_2d.encode(positions, **rule)
    return rows.reshape(len(rows), 2, -1).transpose(0, 2, 1).reshape(rows.shape)


MISTAKES: tuple[tuple[Mistake, Function], ...] = (
    Mistake(
        "flattened-by-columns",
        does="flattens the grid column by column, where the image is flattened row by row: square images get the other order, others are "
        "scrambled",
        should="flatten both row by row",
        fix="make the grid of height and width, in this order, with indexing='ij', or of width and height with indexing='xy'",
        threads=("https://github.com/huggingface/transformers/pull/41380",),
    ).made_by(placed(by_columns)),
    Mistake(
        "row-for-both",
        does="encodes the row twice, and the column nowhere",
        should="give each axis half of the channels",
        fix="index the positions by the axis",
        origin="in the style of halves that are both made of the same coordinate",
    ).made_by(placed(lambda positions: positions[:, [0, 0]])),
    Mistake(
        "axes-added",
        does="encodes the sum of row and column on both axes",
        should="give each axis half of the channels",
        fix="keep the axes apart",
        origin="in the style of positions flattened along an image",
    ).made_by(placed(lambda positions: np.repeat(positions.sum(axis=-1, keepdims=True), 2, axis=-1))),
    Mistake(
        "coordinates-normalised",
        does="divides coordinates by the last of the call, and multiplies them by 2 pi",
        should="encode the coordinates that are given",
        fix="leave the scale to whoever makes the positions",
        origin="in the style of DETR with normalize=True",
    ).made_by(placed(normalised)),
    Mistake(
        "exponent-over-the-whole-width",
        does="divides the exponent by dim: frequencies of both axes fall over twice as many pairs",
        should="divide it by the width of an axis, dim / 2",
        fix="use arange(dim / 4) / (dim / 4)",
        origin="in the style of the first half of a table for text",
    ).made_by(sided(over_the_whole)),
    Mistake(
        "endpoint-spacing",
        does="spaces the exponents so that the slowest frequency is exactly 1 / base",
        should="use base^(-4 i / dim) for pair i of each axis",
        fix="divide by dim / 4, not by dim / 4 - 1",
        origin="in the style of tensor2tensor's signals on several axes",
    ).made_by(sided(lambda places, **rule: encode(places, **{**rule, "spacing": "endpoint"}))),
    Mistake(
        "sides-summed",
        does="encodes each axis over all channels and adds both, divided by the root of 2",
        should="give each axis channels of its own",
        fix="concatenate two encodings of half the width",
        origin="in the style of row and column embeddings that are added",
    ).made_by(summed),
    Mistake(
        "channels-in-turns",
        does="lets the two axes have the channels in turns",
        should="give the first axis the first half of the channels, or of the sines and of the cosines",
        fix="concatenate on the last axis instead of stacking there",
        origin="in the style of stack and flatten in the place of concatenate",
    ).made_by(in_turns),
)


def mutants() -> Iterator[Mutant]:
    """Return all mutants of sinusoids on a grid."""
    yield from conventions(ENCODE, THREADS)
    for mistake, function in MISTAKES:
        yield mistake.at(ENCODE, function)
    for mutant in sinusoidal.mutants():
        line, _, slug = mutant.name.partition("/")
        if line == sinusoidal.ENCODE and mutant.kind != "convention" and slug not in ABSENT:
            origin = mutant.origin or "reported for sinusoids on a line"
            own = replace(mutant, name=f"{ENCODE}/{slug}", operation=ENCODE, function=sided(mutant.function))
            yield replace(own, threads=(), origin=origin, inherited=True)
