"""Say what the judged cases cover: the range of every parameter, of positions, and of the sizes of their axes."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from conformance.calls.takes import WHEN
from conformance.spec.arguments import is_position
from conformance.spec.choices import agree, candidates
from conformance.spec.ranges import VALUES
from conformance.spec.vectors import Vector
from refimpl.spec import Operation, axis_names

#: Up to so many values of a parameter are listed, more are said by their ends.
LISTED = 4
#: With so many settings that were judged each other value of a parameter is tried.
SETTINGS = 12
#: The axes of an array that may have any.
ANY = "..."


def covered(operation: Operation, vectors: Sequence[Vector]) -> dict[str, str]:
    """Return what the cases cover, by parameter, ``positions`` and axis."""
    if not vectors:
        return {}
    found = {name: _values([vector.parameters[name] for vector in vectors]) for name in operation.parameters}
    places = [array for vector in vectors for name, array in vector.inputs.items() if is_position(name) and array.size]
    if places:
        found["positions"] = _range(min(array.min() for array in places), max(array.max() for array in places))
    sizes = [_sizes(operation, vector) for vector in vectors]
    for axis in dict.fromkeys(axis for each in sizes for axis in each if axis not in found):
        own = [each[axis] for each in sizes if axis in each]
        found[axis] = _range(min(own), max(own))
    return found


def left_out(operation: Operation, restrictions: Mapping[str, object], vectors: Sequence[Vector]) -> dict[str, str]:
    """Return which values of parameters, of those that are tried, the predicates of a declaration take with none of the judged settings."""
    admits = restrictions.get(WHEN)
    if not callable(admits):
        return {}
    settings = list({repr(vector.parameters): vector.parameters for vector in vectors}.values())[:SETTINGS]
    found: dict[str, str] = {}
    for name, parameter in operation.parameters.items():
        others = ({**setting, name: value} for value in candidates(parameter, restrictions.get(name, ...), VALUES) for setting in settings)
        asked: dict[object, bool] = {}
        for other in filter(agree, others):
            asked[other[name]] = asked.get(other[name], False) or bool(admits(other))
        never = [value for value, taken in asked.items() if not taken]
        if never:
            found[name] = _named(never)
    return found


def _named(values: Sequence[object]) -> str:
    """Return values in order, the first few by name."""
    ordered = sorted(values, key=lambda value: (isinstance(value, str), value if isinstance(value, int | float) else 0, str(value)))
    return ", ".join(map(number, ordered[:LISTED])) + (f" and {len(ordered) - LISTED} more" if len(ordered) > LISTED else "")


def _sizes(operation: Operation, vector: Vector) -> dict[str, int]:
    """Return the size of every axis of a call, and how many numbers there are where axes have no names."""
    found: dict[str, int] = {}
    for name, axes in operation.arrays.items():
        shape = vector.inputs[name].shape
        if axes == ANY:
            found["count"] = vector.inputs[name].size
            continue
        found |= dict(zip(axis_names(axes, len(shape)) or (), shape, strict=False))
    return found


def _values(values: Iterable[object]) -> str:
    """Return different values as a list where they are few or no numbers, else as a range."""
    different = list(dict.fromkeys(values))
    numbers = [float(value) for value in different if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(different) or len(different) <= LISTED // 2:
        return _listed(different)
    return _range(min(numbers), max(numbers))


def _listed(values: Sequence[object]) -> str:
    words = sorted({number(value) for value in values})
    return ", ".join(words[:LISTED]) + (f" and {len(words) - LISTED} more" if len(words) > LISTED else "")


def _range(least: float, most: float) -> str:
    return number(least) if least == most else f"{number(least)} to {number(most)}"


def number(value: object) -> str:
    """Return a value as a person writes it: 10,000, 1e+06, half."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return str(value)
    plain = float(value)  # of Python or NumPy
    return f"{int(plain):,}" if plain.is_integer() and abs(plain) < 1e8 else f"{plain:g}"
