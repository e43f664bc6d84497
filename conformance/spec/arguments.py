"""What one call gets: arrays by name, and parameters."""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from refimpl.spec import Operation, axis_names, bind, fixed_size

#: Values by name, each of the type that the operation declares.
Parameters = Mapping[str, Any]
#: For an axis of results that no array has: the axis that is as long.
AS_LONG: Mapping[str, str] = {"key": "distance"}


@dataclass(frozen=True)
class Arguments:
    """What one call gets: arrays by name, in the declared order, and every parameter."""

    arrays: Mapping[str, np.ndarray]
    parameters: Parameters

    def with_arrays(self, **arrays: np.ndarray) -> "Arguments":
        """Return the same call with other arrays."""
        return Arguments({**self.arrays, **arrays}, self.parameters)

    def with_parameters(self, **parameters: object) -> "Arguments":
        """Return the same call with other parameters."""
        return Arguments(self.arrays, {**self.parameters, **parameters})

    @functools.cached_property
    def key(self) -> bytes:
        """The call as bytes, to tell equal calls."""
        arrays = b"".join(repr((name, a.dtype.str, a.shape)).encode() + a.tobytes() for name, a in self.arrays.items())
        return arrays + repr(sorted(self.parameters.items())).encode()

    @property
    def farthest(self) -> int | None:
        """The largest position, if the call has any."""
        sizes = [int(np.abs(array).max()) for name, array in self.arrays.items() if is_position(name) and array.size]
        return max(sizes, default=None)


def is_position(name: str) -> bool:
    """Whether an array of that name holds positions or their differences."""
    return name.endswith("positions") or name == "offsets"


def members_apart(parameters: Parameters) -> bool:
    """Whether the two members of a pair turn by angles of their own, so that nothing rotates and no turn undoes another."""
    return parameters.get("order") == "doubled" or parameters.get("ladder") == "tiled"


def result_shape(operation: Operation, arguments: Arguments, name: str) -> tuple[int, ...]:
    """Return the shape that a result must have, from its axes."""
    axes = operation.results[name]
    if axes == "...":
        return next(iter(arguments.arrays.values())).shape
    shapes = {array: value.shape for array, value in arguments.arrays.items()}
    sizes = bind(operation.arrays, shapes, arguments.parameters)
    absent = sum(axis not in sizes for axis in re.findall(r"\[(\w+)\]", axes))
    names = axis_names(axes, len(axes.split()) - absent) or ()
    return tuple(_size(axis, sizes, arguments.parameters) for axis in names)


def _size(axis: str, sizes: Mapping[str, int], parameters: Parameters) -> int:
    fixed = fixed_size(axis, parameters)
    return sizes[axis if axis in sizes else AS_LONG[axis]] if fixed is None else fixed


def on_every_axis(axes: str, positions: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return positions changed row by row of tokens; where tokens stand on several axes, the rows of each axis by themselves."""
    if not axes.endswith(" axis"):
        return change(positions)
    return np.stack([change(positions[..., axis]) for axis in range(positions.shape[-1])], axis=-1)


def farthest(axes: str, positions: np.ndarray) -> np.ndarray:
    """Return how far every token lies from 0: on the axis where it lies farthest, if there are several."""
    return np.asarray(np.abs(outermost(axes, positions)))


def outermost(axes: str, positions: np.ndarray) -> np.ndarray:
    """Return the position of every token: on the axis where it lies farthest from 0, if there are several."""
    if not axes.endswith(" axis"):
        return positions
    return np.take_along_axis(positions, np.abs(positions).argmax(axis=-1, keepdims=True), axis=-1)[..., 0]


def rows_of_their_own(axes: str, positions: np.ndarray) -> bool:
    """Whether every sequence of a batch has positions of its own."""
    return "batch" in (axis_names(axes, positions.ndim) or ())


def flat(nested: object) -> Iterator[int | float]:
    """Yield every number of nested lists, in order."""
    if isinstance(nested, list | tuple):
        for each in nested:
            yield from flat(each)
    elif isinstance(nested, int | float):
        yield nested
