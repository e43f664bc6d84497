"""What every second route needs: 60 digits, tensors, the oracle's golden values, and pairs that turn as complex numbers do."""

from collections.abc import Iterable, Sequence
from typing import Any

from mpmath import MPContext

from conformance.oracle import Tensor, answer

#: Arithmetic with 60 digits.
mp = MPContext()
mp.dps = 60

X = (0.5, -1.25, 2.0, 0.0625, -0.75, 1.0, 1.9375, -0.125)
Y = (1.5, 0.25, -0.5, 1.0, 0.375, -2.0, 0.8125, 1.75)
V = (0.125, -1.0, 1.75, 0.5, -0.0625, 2.0, -1.5, 0.25)
Pair = tuple[int, int]


def real(*values: float, shape: tuple[int, ...] | None = None) -> Tensor:
    """Return a real tensor, a vector unless said."""
    return Tensor(shape or (len(values),), tuple(float(value) for value in values))


def whole(*values: int) -> Tensor:
    """Return a vector of integers."""
    return Tensor((len(values),), values)


def rounded(values: Sequence[Any]) -> tuple[float, ...]:
    """Round to binary64."""
    return tuple(float(value) for value in values)


def golden(operation: str, inputs: dict[str, Tensor], name: str = "result", **parameters: object) -> tuple[float, ...]:
    """Return the oracle's values."""
    return answer(operation, inputs, parameters).expected[name].values


def members(layout: str, pairs: int, start: int = 0) -> list[tuple[Pair, Pair]]:
    """Return the channels that every pair is read from, and those that it is written to."""
    channels = range(start, start + 2 * pairs)
    halves, neighbours = (list(zip(*both, strict=True)) for both in ((channels[:pairs], channels[pairs:]), (channels[::2], channels[1::2])))
    return list(zip(halves if layout == "half" else neighbours, neighbours if layout == "interleaved" else halves, strict=True))


def turned(x: Sequence[float], pairs: Iterable[tuple[Pair, Pair]], angles: Iterable[Any], size: Any = 1) -> tuple[float, ...]:
    """Return channels of which pairs are turned and grown as complex numbers; others stay as they are."""
    found = [mp.mpf(value) for value in x]
    for ((a, b), (c, d)), angle in zip(pairs, angles, strict=True):
        product = size * mp.mpc(x[a], x[b]) * mp.expj(angle)
        found[c], found[d] = product.real, product.imag
    return rounded(found)
