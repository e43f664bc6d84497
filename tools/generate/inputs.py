"""Fill a case: complete its parameters, find the size of every axis, and draw dyadic numbers from the hash of its name."""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from refimpl.spec import Case, Operation, axis_names, fixed_size
from tools.generate.errors import GenerationError

DEFAULT_SIZES = {"batch": 1, "head": 2, "query_head": 2}
SLOW_PAIRS = 2
NOT_PARAMETERS = frozenset({"equality"})


@dataclass(frozen=True)
class Filled:
    """One array of numbers, flat in C order."""

    shape: tuple[int, ...]
    values: tuple[int | float, ...]
    integer: bool


def parameters(operation: Operation, case: Case) -> dict[str, object]:
    """Return all parameters of a case, defaults filled in; a real parameter that was given as an integer becomes a float."""
    given = {name: value for name, value in case.arguments.items() if name not in operation.arrays and name not in NOT_PARAMETERS}
    complete: dict[str, object] = {}
    for name, parameter in operation.parameters.items():
        if name in given or not parameter.required:
            value = given.pop(name, parameter.default)
            whole = isinstance(value, int) and not isinstance(value, bool)
            complete[name] = float(value) if parameter.kind is float and whole else value  # type: ignore[arg-type]  # whole: an int
    return complete | given


def arrays(identity: str, operation: Operation, case: Case, values: Mapping[str, object]) -> dict[str, Filled]:
    """Return every array of a case: as given, or filled."""
    given = {name: _given(identity, name, case.arguments[name], whole=name in operation.integers) for name in _explicit(operation, case)}
    sizes = _sizes(operation, case, given)
    return {name: given[name] if name in given else _filled(identity, name, operation, case, values, sizes) for name in operation.arrays}


def _explicit(operation: Operation, case: Case) -> list[str]:
    return [name for name in operation.arrays if name in case.arguments and not isinstance(case.arguments[name], str)]


def _given(identity: str, name: str, nested: Any, *, whole: bool) -> Filled:
    shape = tuple(_shape(nested))
    values = tuple(_flat(nested))
    if len(values) != math.prod(shape):
        message = f"{identity}: {name} must have rows of one length, got {nested!r}"
        raise GenerationError(message)
    integer = whole and all(isinstance(value, int) for value in values)
    return Filled(shape, values if integer else tuple(map(float, values)), integer)


def _shape(nested: Any) -> Iterator[int]:
    while isinstance(nested, list | tuple):
        yield len(nested)
        nested = nested[0] if nested else None


def _flat(nested: Any) -> Iterator[int | float]:
    if isinstance(nested, list | tuple):
        for item in nested:
            yield from _flat(item)
    else:
        yield nested


def _sizes(operation: Operation, case: Case, given: Mapping[str, Filled]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, array in given.items():
        names = axis_names(operation.arrays[name], len(array.shape)) or ()
        sizes |= {axis: size for axis, size in zip(names, array.shape, strict=True) if axis not in sizes} if names else {}
    return {**DEFAULT_SIZES, **sizes, **case.sizes}


def _filled(identity: str, name: str, operation: Operation, case: Case, values: Mapping[str, object], sizes: Mapping[str, int]) -> Filled:
    axes = _axes(operation.arrays[name], case)
    shape = tuple(_size(identity, name, axis, values, sizes, bad=case.error is not None) for axis in axes)
    if name in operation.integers:
        return Filled(shape, tuple(range(math.prod(shape))), integer=True)
    numbers = dyadic(f"{identity}/{name}", math.prod(shape))
    if case.arguments.get(name) == "sparse":
        kept = _sparse_columns(name, str(values.get("layout", "interleaved")), shape[-1])
        numbers = tuple(number if i % shape[-1] in kept else 0.0 for i, number in enumerate(numbers))
    return Filled(shape, numbers, integer=False)


def _axes(axes: str, case: Case) -> list[str]:
    """Return the axes to fill; an optional one only where the case gives its size."""
    return [axis.strip("[]") for axis in axes.split() if not axis.startswith("[") or axis in case.sizes]


def _size(identity: str, name: str, axis: str, values: Mapping[str, object], sizes: Mapping[str, int], *, bad: bool) -> int:
    fixed = fixed_size(axis, values)
    if axis == "key_head" and axis not in sizes:
        return sizes["query_head"]
    size = sizes.get(axis) if fixed is None or (bad and axis in sizes) else fixed
    if size is None and not bad:
        message = f"{identity}: axis '{axis}' of {name} must be given by an array, a parameter or sizes, got nothing"
        raise GenerationError(message)
    return max(size if size is not None else 2, 0)


def dyadic(seed: str, count: int) -> tuple[float, ...]:
    """Return ``k / 16`` with ``0 < |k| <= 32``, exact in every dtype down to bfloat16, from the hash of a text."""
    needed = -(-count // 32)
    stream = b"".join(hashlib.sha256(f"{seed}/{block}".encode()).digest() for block in range(needed))
    return tuple((1 + byte % 32) / (16 if byte & 32 else -16) for byte in stream[:count])


def _sparse_columns(name: str, layout: str, width: int) -> frozenset[int]:
    """Return the columns of pair 0 and of the slowest pairs, in the layout in which the array is read."""
    half = layout == "half" or (layout == "interleaved_to_half" and name == "cotangent")
    pairs = width // 2
    chosen = {0, *range(max(pairs - SLOW_PAIRS, 0), pairs)}
    return frozenset(column for j in chosen for column in ((j, j + pairs) if half else (2 * j, 2 * j + 1)))
