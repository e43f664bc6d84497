"""The operations as the reference declares them, read once."""

import functools
from collections.abc import Mapping

import refimpl.schemes
from refimpl.spec import Operation


@functools.cache
def operations() -> Mapping[str, Operation]:
    """Return every operation by its full name."""
    return refimpl.schemes.operations()


def features(operation: Operation) -> str | None:
    """Return the name of the array whose dtype the result must have, or ``None`` where there is none."""
    return next((name for name in operation.arrays if name not in operation.integers | operation.numbers), None)
