"""Connect every operation of the reference to an adapter: implementation number one goes through the same door."""

import functools
from typing import Any

from conformance.adapt.adapter import Adapter
from conformance.spec.declarations import operations
from refimpl.arrays import Array, array_namespace
from refimpl.spec import Operation


def connect(adapter: Adapter, *, like: Array) -> None:
    """Offer all operations through the reference; ``like`` fixes the library and device where no array comes in."""
    for name, operation in operations().items():
        adapter.implements(name)(functools.partial(answer, operation, like))


def answer(operation: Operation, like: Array, *arrays: Array, dtype: Any = None, **parameters: Any) -> Any:
    """Return what the reference returns, in the dtype asked for where no array decides it."""
    if operation.takes_like:
        parameters["like"] = like
    result = operation.function(*arrays, **parameters)
    if isinstance(result, tuple):
        return tuple(_cast(part, dtype) for part in result)
    return result if isinstance(result, float) else _cast(result, dtype)


def _cast(result: Array, dtype: Any) -> Array:
    xp = array_namespace(result)
    keep = dtype is None or not xp.isdtype(result.dtype, "real floating")
    return result if keep else xp.astype(result, dtype)
