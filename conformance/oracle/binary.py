"""The binary code of a position: its digits, by repeated halving."""

from collections.abc import Sequence
from functools import cache

from flint import arb

from conformance.oracle.additive import adding
from conformance.oracle.arithmetic import Exact
from conformance.oracle.tensor import Inputs, Results, over

Digits = tuple[tuple[int, ...], Sequence[tuple[int, ...]]]


def digits(position: int, bits: int) -> list[int]:
    """Return so many digits in base 2, the last one first."""
    found = []
    for _ in range(bits):
        position, digit = divmod(position, 2)
        found.append(digit)
    if position:
        message = f"positions must lie between 0 and 2^bits - 1, got {position} beyond the digits"
        raise ValueError(message)
    return found


def encode(a: Exact, inputs: Inputs, *, bits: int) -> dict[str, Digits]:
    """Return the digits of every position; they are exact whatever the arithmetic."""
    del a
    positions = inputs["positions"].values
    code = cache(lambda position: digits(int(position), bits))
    return {"result": over((len(positions), bits), lambda token, channel: (code(positions[token])[channel],))}


def real(a: Exact, inputs: Inputs, *, bits: int) -> Results:
    """Return the digits as real numbers."""
    shape, digit = encode(a, inputs, bits=bits)["result"]
    return {"result": (shape, [arb(*each) for each in digit])}


add = adding(real)
