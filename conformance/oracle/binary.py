"""The binary code of a position: its digits, by repeated halving."""

from conformance.oracle.arithmetic import Exact
from conformance.oracle.rope import Inputs

Digits = tuple[tuple[int, ...], list[tuple[int, ...]]]


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
    return {"result": ((len(positions), bits), [(digit,) for position in positions for digit in digits(int(position), bits)])}
