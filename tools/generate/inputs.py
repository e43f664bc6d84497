"""Fill a case: complete its parameters, find the size of every axis, and draw dyadic numbers from the hash of its name."""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.spec.arguments import flat
from refimpl.spec import Case, Operation, axis_names, fixed_size
from tools.generate.errors import GenerationError

DEFAULT_SIZES = {"batch": 1, "head": 2, "query_head": 2}
SIZE_OF_BAD_INPUT = 2
SLOW_PAIRS = 2
BYTES_OF_A_HASH = 32

Number = int | float


@dataclass(frozen=True)
class Filled:
    """One array of numbers, flat in C order."""

    shape: tuple[int, ...]
    values: tuple[Number, ...]
    integer: bool


def parameters(operation: Operation, case: Case) -> dict[str, object]:
    """Return all parameters of a case, defaults filled in; a real parameter that was given as an integer becomes a float."""
    given = {name: value for name, value in case.arguments.items() if name not in operation.arrays}
    complete: dict[str, object] = {}
    for name, parameter in operation.parameters.items():
        if name in given or not parameter.required:
            value = given.pop(name, parameter.default)
            complete[name] = float(value) if parameter.kind is float and type(value) is int else value
    return complete | given


def arrays(identity: str, operation: Operation, case: Case, values: Mapping[str, object]) -> dict[str, Filled]:
    """Return every array of a case: as given, or filled."""
    whole = operation.integers | operation.numbers
    given = {name: _given(identity, name, case.arguments[name], whole=name in whole) for name in _explicit(operation, case)}
    filler = _Filler(identity, operation, case, values, DEFAULT_SIZES | _sizes(operation, given) | case.sizes)
    return {name: given[name] if name in given else filler.fill(name) for name in operation.arrays}


def _explicit(operation: Operation, case: Case) -> list[str]:
    return [name for name in operation.arrays if isinstance(case.arguments.get(name), list | tuple)]


def _given(identity: str, name: str, nested: object, *, whole: bool) -> Filled:
    shape, values = tuple(_shape(nested)), tuple(flat(nested))
    if len(values) != math.prod(shape):
        message = f"{identity}: {name} must have rows of one length, got {nested!r}"
        raise GenerationError(message)
    integer = whole and all(isinstance(value, int) for value in values)
    return Filled(shape, values if integer else tuple(map(float, values)), integer)


def _shape(nested: object) -> Iterator[int]:
    while isinstance(nested, list | tuple):
        yield len(nested)
        nested = nested[0] if nested else None


def _sizes(operation: Operation, given: Mapping[str, Filled]) -> dict[str, int]:
    """Return the size of every axis of the arrays that are given; the first array that has it decides."""
    sizes: dict[str, int] = {}
    for name, array in given.items():
        names = axis_names(operation.arrays[name], len(array.shape)) or ()
        sizes = dict(zip(names, array.shape, strict=False)) | sizes
    return sizes


@dataclass(frozen=True)
class _Filler:
    """What is needed to fill the arrays that a case doesn't give."""

    identity: str
    operation: Operation
    case: Case
    parameters: Mapping[str, object]
    sizes: Mapping[str, int]

    def fill(self, name: str) -> Filled:
        """Return an array of dyadic numbers, of 0, 1, 2, ... where it is of integers."""
        shape = tuple(self.size(name, axis) for axis in self.axes(name))
        if name in self.operation.integers:
            return Filled(shape, tuple(range(math.prod(shape))), integer=True)
        numbers = dyadic(f"{self.identity}/{name}", math.prod(shape))
        if self.case.arguments.get(name) == "sparse":
            numbers = _keep(numbers, _sparse_columns(self.layout(name), shape[-1]), shape[-1])
        return Filled(shape, numbers, integer=False)

    def axes(self, name: str) -> list[str]:
        """Return the axes to fill; an optional one only where the case gives its size."""
        axes = self.operation.arrays[name].split()
        return [axis.strip("[]") for axis in axes if not axis.startswith("[") or axis.strip("[]") in self.case.sizes]

    def size(self, name: str, axis: str) -> int:
        """Return the size of an axis; a bad input may contradict its parameters, and need not say everything."""
        bad = self.case.error is not None
        known = self.sizes.get(axis, self._query_heads() if axis == "key_head" else None)
        fixed = fixed_size(axis, self.parameters)
        size = known if fixed is None or (bad and known is not None) else fixed
        if size is None and not bad:
            message = f"{self.identity}: axis '{axis}' of {name} must be given by an array, a parameter or sizes, got nothing"
            raise GenerationError(message)
        return max(SIZE_OF_BAD_INPUT if size is None else size, 0)

    def _query_heads(self) -> int:
        """Return how many heads the queries have."""
        axis = self.operation.arrays["q"].split()[1]
        return fixed_size(axis, self.parameters) or self.sizes[axis]

    def layout(self, name: str) -> str:
        """Return the layout in which an array is read; a cotangent comes in the layout that is written."""
        layout = str(self.parameters.get("layout", "interleaved"))
        if layout != "interleaved_to_half":
            return layout
        return "half" if name == "cotangent" else "interleaved"


def dyadic(seed: str, count: int) -> tuple[float, ...]:
    """Return ``k / 16`` with ``0 < |k| <= 32``, exact in every dtype down to bfloat16, from the hash of a text."""
    blocks = range(-(-count // BYTES_OF_A_HASH))
    stream = b"".join(hashlib.sha256(f"{seed}/{block}".encode()).digest() for block in blocks)
    return tuple((1 + byte % 32) / (16 if byte & 32 else -16) for byte in stream[:count])


def _sparse_columns(layout: str, width: int) -> frozenset[int]:
    """Return the columns of pair 0 and of the slowest pairs."""
    pairs = width // 2
    chosen = {0, *range(max(pairs - SLOW_PAIRS, 0), pairs)}
    return frozenset(column for j in chosen for column in ((j, j + pairs) if layout == "half" else (2 * j, 2 * j + 1)))


def _keep(numbers: tuple[float, ...], columns: frozenset[int], width: int) -> tuple[float, ...]:
    return tuple(number if i % width in columns else 0.0 for i, number in enumerate(numbers))
