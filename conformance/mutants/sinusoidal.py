"""What goes wrong with the sinusoidal encoding."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.mutants.building import Mistake, altered, conventions, forcing, moving
from conformance.mutants.composing import assembled
from conformance.mutants.positions import position_mutants
from conformance.mutants.rope import DEGREES, base_mutants, index
from conformance.mutants.rounding import to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import sinusoidal

ENCODE, SHIFT = "sinusoidal.encode", "sinusoidal.shift_matrix"
CONVENTION_THREADS = {
    "halves": ("https://github.com/tensorflow/tensor2tensor/issues/1423",),
    "endpoint": ("https://github.com/tensorflow/tensor2tensor/issues/1423",),
}
POSITION_SLUGS = (
    "positions-from-one",
    "positions-from-minus-one",
    "positions-ignored",
    "first-position-counts",
    "positions-frozen",
    "clamped-at-2048",
    "clamped-at-4096",
    "negative-positions-clamped",
)
Waves = Callable[[Array, int, float, str], tuple[Array, Array]]


@assembled
def encoding(waves: Waves) -> Callable[..., Array]:
    """Return an encoding whose sines and cosines are made by ``waves(positions, dim, base, spacing)``."""

    def encode(positions: Array, *, dim: int, base: float, layout: str, spacing: str, odd: str, scale: float) -> Array:  # noqa: ARG001  the operation's signature
        values = scale * sinusoidal.arrange(*waves(positions.astype(np.float64), dim, base, spacing), layout)
        return np.concatenate([values, np.zeros_like(values[:, : dim % 2])], axis=-1)

    return encode


@assembled
def shifting(waves: Waves) -> Callable[..., Array]:
    """Return a shift matrix whose sines and cosines are made by ``waves(offsets, dim, base, spacing)``."""

    def shift_matrix(offsets: Array, *, dim: int, base: float, spacing: str) -> Array:
        sine, cosine = waves(offsets.astype(np.float64), dim, base, spacing)
        return np.stack([np.stack([cosine, sine], axis=-1), np.stack([-sine, cosine], axis=-1)], axis=-2)

    return shift_matrix


@assembled
def waves(
    *,
    spectrum: Callable[[int, float, str], Array] | None = None,
    position: Callable[[Array], Array] = np.asarray,
    frequency: Callable[[Array], Array] = np.asarray,
    angle: Callable[[Array], Array] = np.asarray,
    table: Callable[[Array], Array] = np.asarray,
) -> Waves:
    """Return sines and cosines with one step replaced."""

    def made(positions: Array, dim: int, base: float, spacing: str) -> tuple[Array, Array]:
        right = sinusoidal.frequencies(dim, base, spacing, like=np.zeros(1)) if spectrum is None else spectrum(dim, base, spacing)
        with np.errstate(invalid="ignore", over="ignore"):
            angles = angle(position(positions)[:, None] * frequency(right))
            return table(np.sin(angles)), table(np.cos(angles))

    return made


def exponent_of_channel(positions: Array, dim: int, base: float, spacing: str) -> tuple[Array, Array]:  # noqa: ARG001  whatever is asked for
    """Use the exponent 2 c / dim for channel c, so that sine and cosine of a pair differ in frequency."""
    even = positions[:, None] * base ** (-4.0 * index(dim) / dim)
    odd = positions[:, None] * base ** (-2.0 * (2 * index(dim) + 1) / dim)
    return np.sin(even), np.cos(odd)


def exponent_of_own_channel(positions: Array, dim: int, base: float, spacing: str) -> tuple[Array, Array]:  # noqa: ARG001  whatever is asked for
    """Use the exponent c / dim for channel c, so that the cosine of a pair is slower than its sine."""
    even, odd = (positions[:, None] * base ** (-(2.0 * index(dim) + own) / dim) for own in (0, 1))
    return np.sin(even), np.cos(odd)


def swapped(sine_cosine: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the cosine first."""
    return sine_cosine[1], sine_cosine[0]


WAVE_MISTAKES: tuple[tuple[Mistake, Waves], ...] = (
    Mistake(
        "exponent-of-channel",
        does="puts the channel's index into the exponent: 2 c / dim for channel c",
        should="use 2 floor(c / 2) / dim: sine and cosine of a pair share a frequency",
        fix="use 2 * (c // 2)",
        threads=("https://github.com/Kyubyong/transformer/issues/38",),
    ).made_by(exponent_of_channel),
    Mistake(
        "exponent-of-own-channel",
        does="gives the cosine the exponent of its own channel: (2 i + 1) / dim for pair i",
        should="use 2 i / dim for both: sine and cosine of a pair share a frequency",
        fix="use 2 * (c // 2) / dim for channel c",
        origin="in the style of arange(dim) / dim where the channels of a pair share an exponent",
    ).made_by(exponent_of_own_channel),
    Mistake(
        "exponent-doubled",
        does="doubles the exponent: 4 i / dim for pair i",
        should="use 2 i / dim for pair i",
        fix="use arange(0, dim, 2) / dim",
        threads=("https://github.com/Kyubyong/transformer/issues/38",),
    ).made_by(waves(spectrum=lambda dim, base, _: base ** (-4.0 * index(dim) / dim))),
    Mistake(
        "exponent-without-two",
        does="uses the exponent i / dim",
        should="use 2 i / dim",
        fix="divide by dim / 2",
        origin="in the style of mistakes in the exponent that were reported for other sinusoids",
    ).made_by(waves(spectrum=lambda dim, base, _: base ** (-index(dim) / dim))),
    Mistake(
        "pairs-from-one",
        does="counts pairs from one",
        should="start at frequency 1",
        fix="count from 0",
        origin="in the style of the 1-based formula of the rope paper",
    ).made_by(waves(spectrum=lambda dim, base, _: base ** (-2.0 * (index(dim) + 1) / dim))),
    (DEGREES, waves(angle=np.deg2rad)),
    Mistake(
        "cosine-first",
        does="swaps sine and cosine",
        should="put the sine first",
        fix="swap them; if all cosines come before all sines by intent, declare layout='halves_cosine_first'",
        origin="in the style of flip_sin_to_cos",
    ).made_by(lambda *arguments: swapped(waves()(*arguments))),
)


def half_mistakes() -> Iterator[tuple[Mistake, Waves]]:
    """Return what goes wrong where one intermediate is kept in a half format."""
    steps = {"positions": "position", "frequencies": "frequency", "angles": "angle", "tables": "table"}
    for dtype in ("bfloat16", "float16"):
        for what, step in steps.items():
            mistake = Mistake(
                f"{dtype}-{what}",
                does=f"rounds its {what} to {dtype}",
                should="compute in float32 or wider and round the result only",
                fix=f"compute {what} in float32 and cast last",
                threads=("https://github.com/keras-team/keras-hub/pull/1508",),
                kind="precision",
                origin="reported for rope; keras-hub's sinusoid casts its positions alike",
            )
            rounding: dict[str, Any] = {step: to(dtype)}
            yield mistake, waves(**rounding)


ENCODE_MISTAKES: tuple[tuple[Mistake, Callable[..., Any]], ...] = (
    Mistake(
        "scale-forgotten",
        does="forgets the scale",
        should="multiply the encoding by scale",
        fix="multiply the sines and cosines by scale",
        origin="in the style of x-transformers' scaled form without its factor",
    ).made_by(forcing(ENCODE, {"scale": 1.0})),
    Mistake(
        "scale-on-angle",
        does="multiplies the angle by scale",
        should="multiply the values",
        fix="apply scale after sine and cosine",
        origin="diffusers' `scale` multiplies the angle",
    ).made_by(lambda positions, *, scale, **p: sinusoidal.encode(positions * scale, scale=1.0, **p)),
    Mistake(
        "positions-truncated",
        does="truncates real positions to integers",
        should="encode real positions",
        fix='keep positions real, or declare positions="whole"',
        origin="in the style of tables that are indexed by position",
    ).made_by(moving(ENCODE, np.trunc)),
    Mistake(
        "position-by-row-of-batch",
        does="indexes the encoding by the row of the batch, so a batch of one is all position 0",
        should="index it by the token",
        fix="transpose the (token, batch, dim) table",
        threads=("https://github.com/songyangco/GETNext/issues/2",),
    ).made_by(moving(ENCODE, np.zeros_like)),
    Mistake(
        "odd-column-first",
        does="puts the zero column of an odd width first",
        should="put it last",
        fix="pad at the end",
        threads=("https://github.com/codertimo/BERT-pytorch/issues/78",),
        origin="in the style of repairs of an odd width",
    ).made_by(lambda positions, *, dim, **p: np.roll(sinusoidal.encode(positions, dim=dim, **p), dim % 2, axis=-1)),
    Mistake(
        "odd-width-filled",
        does="fills the last column of an odd width with one more sine",
        should="leave it zero",
        fix="append a zero column",
        threads=("https://github.com/codertimo/BERT-pytorch/issues/78",),
        origin="in the style of repairs of an odd width",
    ).made_by(lambda positions, *, dim, **p: sinusoidal.encode(positions, dim=dim + dim % 2, **p)[:, :dim]),
)
TRANSPOSED = Mistake(
    "matrix-transposed",
    does="returns the transposed matrix, which acts on [cos, sin] columns or moves back",
    should="return [[cos, sin], [-sin, cos]], which acts on [sin, cos] columns",
    fix="transpose the last two axes",
    origin="the [cos, sin] order of several expositions",
)


def mutants() -> Iterator[Mutant]:
    """Return all mutants of the sinusoidal encoding."""
    for operation, build in ((ENCODE, encoding), (SHIFT, shifting)):
        yield from conventions(operation, CONVENTION_THREADS)
        for mistake, changed in (*WAVE_MISTAKES, *half_mistakes()):
            yield mistake.at(operation, build(changed))
        yield from base_mutants(operation)
    for mistake, function in ENCODE_MISTAKES:
        yield mistake.at(ENCODE, function)
    yield from position_mutants(ENCODE, POSITION_SLUGS)
    yield TRANSPOSED.at(SHIFT, altered(SHIFT, result=lambda matrix: np.swapaxes(matrix, -1, -2)))
