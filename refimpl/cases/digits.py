"""Inputs that need every digit of their format: dyadic sixteenths look the same in all of them, so narrowing those goes unseen."""

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

from refimpl.spec import Case

#: Significant bits of float32 and float64, and the narrower format that loses some.
WIDTHS = {"single-digits": (24, "half"), "double-digits": (53, "single")}
#: What the numbers of bfloat16 don't suffice for.
FINER = ("finer_input",)
#: An odd number near the golden ratio times 2^62, so that multiples look irregular.
STRIDE = 2_850_178_824_336_293_037


def digits(bits: int, *shape: int) -> Any:
    """Return nested lists of numbers with that many significant bits, the last one set, between 1 and 2 with changing sign."""
    return _folded([_number(bits, index) for index in range(1, prod(shape) + 1)], shape)


def narrowed(build: Callable[..., Case], shapes: Mapping[str, tuple[int, ...]], *, ending: str = "", **arguments: object) -> Iterator[Case]:
    """Yield a case per format whose arrays need all of it; ``build`` takes a name, what it exposes, and arguments."""
    for name, (bits, narrower) in WIDTHS.items():
        arrays = {array: digits(bits, *shape) for array, shape in shapes.items()}
        yield build(f"{name}{ending}", f"inputs narrowed to {narrower} precision", tags=FINER, **arrays, **arguments)


def named(operation: str, **usual: Any) -> Callable[..., Case]:
    """Return what builds a case of an operation, with arguments that are usual where nothing else is said."""
    return lambda name, exposes, **arguments: Case(f"{operation}/{name}", exposes=exposes, **{**usual, **arguments})


def _number(bits: int, index: int) -> float:
    first = 1 << (bits - 1)
    whole = (index * STRIDE >> 8) % first | first | 1
    return (-whole if index % 2 else whole) / first


def _folded(values: list[float], shape: tuple[int, ...]) -> Any:
    if len(shape) == 1:
        return values
    size = len(values) // shape[0]
    return [_folded(values[start : start + size], shape[1:]) for start in range(0, len(values), size)]
