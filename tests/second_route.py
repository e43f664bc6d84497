"""What every second route needs: 60 digits, tensors, and the oracle's golden values."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from mpmath import mp

from conformance.oracle import Tensor, answer

X = (0.5, -1.25, 2.0, 0.0625, -0.75, 1.0, 1.9375, -0.125)
Y = (1.5, 0.25, -0.5, 1.0, 0.375, -2.0, 0.8125, 1.75)
V = (0.125, -1.0, 1.75, 0.5, -0.0625, 2.0, -1.5, 0.25)


@pytest.fixture(autouse=True)
def sixty_digits() -> Iterator[None]:
    """Work with 60 digits."""
    with mp.workdps(60):
        yield


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
