"""What goes wrong with the binary code: the order of digits, the width of integers, floats on the way."""

from collections.abc import Callable, Iterator

import numpy as np

from conformance.mutants.building import Mistake
from conformance.mutants.positions import frozen, index, run
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

ENCODE = "binary.encode"
Encode = Callable[..., Array]


def digits(positions: Array, *, bits: int) -> Array:
    """Return the digits of any integer, in two's complement where it is negative."""
    return np.right_shift(positions[:, None], np.arange(bits)) & 1


def of(change: Callable[[Array], Array]) -> Encode:
    """Return the digits of other positions."""
    return lambda positions, *, bits: digits(change(positions), bits=bits)


def remade(change: Callable[[Array], Array]) -> Encode:
    """Return other digits of the right positions."""
    return lambda positions, *, bits: change(digits(positions, bits=bits))


def through(dtype: type) -> Encode:
    """Return the digits of positions that were stored in a narrower type."""
    return of(lambda positions: positions.astype(dtype).astype(np.int64))


def shifted(by: Callable[[Array], Array]) -> Encode:
    """Return digits found by other shifts."""
    return lambda positions, *, bits: np.right_shift(positions[:, None], by(np.arange(bits))) & 1


WRITTEN_OUT = "in the style of tutorials that write numbers as on paper"
NARROW = "in the style of integers that are narrower than the position"
FROM_POSITIONS = "in the style of position ids made from the shape of the input"
MISTAKES: tuple[tuple[Mistake, Encode], ...] = (
    Mistake(
        "most-significant-first",
        does="writes the most significant digit first",
        should="write the digit of 2^0 first, as sinusoids start with the fastest pair",
        fix="reverse the last axis",
        origin=WRITTEN_OUT,
    ).made_by(remade(lambda code: code[:, ::-1].copy())),
    Mistake(
        "gray-code",
        does="writes the reflected (Gray) code",
        should="write the binary digits",
        fix="leave out the exclusive or with the position shifted by one",
        origin="in the style of counters in which one digit changes at a time",
    ).made_by(of(lambda positions: positions ^ (positions >> 1))),
    Mistake(
        "plus-minus-one",
        does="writes -1 for the digit 0",
        should="write 0 and 1",
        fix="don't centre the digits",
        origin="in the style of codes that are centred before they are added",
    ).made_by(remade(lambda code: 2 * code - 1)),
    Mistake(
        "complemented",
        does="exchanges 0 and 1",
        should="write 1 where the power of two is part of the position",
        fix="compare the remainder with 1, not with 0",
        origin="in the style of comparisons turned round",
    ).made_by(remade(lambda code: 1 - code)),
    Mistake(
        "not-reduced",
        does="leaves out the remainder modulo 2: channel k counts the multiples of 2^k",
        should="take the quotient modulo 2",
        fix="append % 2",
        origin="in the style of formulas copied without a term",
    ).made_by(lambda positions, *, bits: np.right_shift(positions[:, None], np.arange(bits))),
    Mistake(
        "rounded-quotient",
        does="rounds p / 2^k to the nearest integer",
        should="round it down",
        fix="use an integer division",
        origin="in the style of true division where the language has two",
    ).made_by(lambda positions, *, bits: np.rint(positions[:, None] / 2.0 ** np.arange(bits)).astype(np.int64) % 2),
    Mistake(
        "powers-from-one",
        does="starts at 2^1: the fastest channel is missing",
        should="start at 2^0",
        fix="count channels from zero",
        origin="in the style of off-by-one starts",
    ).made_by(shifted(lambda channels: channels + 1)),
    Mistake(
        "shifts-modulo-32",
        does="shifts by the channel modulo 32, as 32-bit machines do: the digits repeat",
        should="shift by the channel",
        fix="divide by 2.0^k, or shift 64-bit integers",
        origin="in the style of JavaScript and C shifts of 32-bit integers",
    ).made_by(shifted(lambda channels: channels % 32)),
    Mistake(
        "positions-in-int32",
        does="stores positions in 32 bits: the digits from the 32nd on are the sign",
        should="keep 64 bits",
        fix="use int64 positions, or refuse more than 31 bits",
        origin=NARROW,
    ).made_by(through(np.int32)),
    Mistake(
        "positions-in-uint8",
        does="stores positions in a byte: position 256 has the code of 0",
        should="keep every position",
        fix="use a wider integer for the positions",
        origin=NARROW,
    ).made_by(through(np.uint8)),
    Mistake(
        "positions-in-float16",
        does="stores positions in float16, exact to 2048 only",
        should="keep integers",
        fix="leave the positions integers",
        origin=NARROW,
    ).made_by(of(lambda positions: np.minimum(positions, 65_504).astype(np.float16).astype(np.int64))),
    Mistake(
        "positions-in-float32",
        does="stores positions in float32, exact to 2^24 only",
        should="keep integers",
        fix="leave the positions integers",
        origin=NARROW,
    ).made_by(through(np.float32)),
    Mistake(
        "positions-in-float64",
        does="stores positions in float64, exact to 2^53 only",
        should="keep integers",
        fix="leave the positions integers",
        origin=NARROW,
    ).made_by(through(np.float64)),
    Mistake(
        "positions-from-one",
        does="counts positions from one",
        should="count them from zero",
        fix="don't add 1 to the positions",
        origin="in the style of off-by-one starts",
    ).made_by(of(lambda positions: positions + 1)),
    Mistake(
        "positions-ignored",
        does="ignores the positions and uses the index of the token",
        should="use the positions that are given",
        fix="pass the positions on",
        origin=FROM_POSITIONS,
    ).made_by(of(index)),
    Mistake(
        "first-position-counts",
        does="takes the first position and counts up from it",
        should="use every position that is given",
        fix="pass all positions on",
        origin=FROM_POSITIONS,
    ).made_by(of(run)),
    Mistake(
        "positions-frozen",
        does="gives every token the first token's code",
        should="advance with the token",
        fix="encode every position",
        origin=FROM_POSITIONS,
    ).made_by(of(frozen)),
)


def mutants() -> Iterator[Mutant]:
    """Return all mutants of the binary code."""
    for mistake, function in MISTAKES:
        yield mistake.at(ENCODE, function)
