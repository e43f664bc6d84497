"""The schemes and operations as the reference declares them, read once, and only when asked for: a worker can be started before."""

import functools
from collections.abc import Mapping

from refimpl.spec import Operation, Scheme


@functools.cache
def schemes() -> Mapping[str, Scheme]:
    """Return every scheme by its name."""
    from refimpl.schemes import SCHEMES

    return SCHEMES


@functools.cache
def operations() -> Mapping[str, Operation]:
    """Return every operation by its full name."""
    from refimpl.schemes import operations

    return operations()


def features(operation: Operation) -> str | None:
    """Return the name of the array whose dtype the result must have, or ``None`` where there is none."""
    return next((name for name in operation.arrays if name not in operation.integers | operation.numbers), None)


@functools.cache
def example() -> str:
    """Return the operation that stands for all where one is enough: the first that turns features to their positions."""
    return next(name for name, known in operations().items() if features(known) and "positions" in known.arrays)


@functools.cache
def plain(name: str) -> Operation | None:
    """Return, of the operations that do the same with fewer arguments, the one with the fewest."""
    known = operations()[name]
    alike = [other for other in operations().values() if _kind(other) == _kind(known) and acts(other)]
    fewer = [other for other in alike if _arguments(other) < _arguments(known)]
    return min(fewer, key=lambda other: len(_arguments(other)), default=None)


def acts(operation: Operation) -> bool:
    """Whether an operation is told more than sizes: if not, it leaves vectors alone."""
    return not operation.parameters.keys() <= {axis for axes in operation.arrays.values() for axis in axes.split()}


def _arguments(operation: Operation) -> set[str]:
    return {*operation.arrays, *operation.parameters}


def _kind(operation: Operation) -> tuple[str, dict[str, int]]:
    word = operation.name.partition(".")[2].partition("_")[0]
    return word, {name: len(axes.split()) for name, axes in operation.results.items()}
