"""What a function returned, read back exactly, or refused as no result."""

import math
import sys
from typing import Any

import numpy as np

from conformance.adapt.arrays import MalformedError, MisfitError, NumPy, UnfilledError
from conformance.adapt.frameworks import FRAMEWORKS
from conformance.adapt.wording import told
from conformance.calls.limits import LARGEST_PAYLOAD
from conformance.spec.shown import shown

#: What a frame of the channel holds of 8-byte numbers.
LARGEST_RESULT = LARGEST_PAYLOAD // 8
LARGEST_INTEGER = np.iinfo(np.int64).max
#: What to write where a function returns none of what is judged, by the name of its type.
INSTEAD = {
    "coroutine": ": write def, not async def",
    "generator": ": return the array, don't yield it",
    "list": ": return it as one array",
    "dict": ": return the array that it holds",
}
#: Bytes of the widest real numbers that are judged.
WIDEST = 8


def exact(value: object, framework: NumPy) -> tuple[np.ndarray, str]:
    """Return one result as float64 or int64 and the dtype that it had, or raise ``MalformedError`` for what is no number.

    Raises ``MisfitError`` for what is no array of the library, or holds no numbers that can be read (torch's device ``meta``).
    """
    if isinstance(value, bool | int | float):
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            message = f"a result that is an integer must be within {LARGEST_INTEGER}, got {shown(value)}"
            raise MalformedError(message)
        array = np.asarray(value)
        return _wide(array), array.dtype.name
    if _is_masked(value):
        message = "a result must hold a number everywhere, got a masked array"
        raise MalformedError(message)
    if framework.owns(value):
        _sendable(value)
        framework.finish(value)
        array, name = _on_host(value, framework)
        return _wide(array), name
    if isinstance(value, np.ndarray | np.generic):
        _sendable(value)
        return _wide(np.asarray(value)), value.dtype.name
    library = type(value).__module__.partition(".")[0].removesuffix("lib")
    hint = f': declare Adapter(..., framework="{library}")' if library in FRAMEWORKS else INSTEAD.get(type(value).__name__, "")
    message = f"a result must be an array of {framework.module} or a number, got {_kind(value)}{hint}"
    raise MisfitError(message)


def _is_masked(value: object) -> bool:
    """Return whether it is an array of ``numpy.ma``, which is not imported for that: a call may have left no file to open."""
    module = sys.modules.get("numpy.ma")
    return module is not None and isinstance(value, module.MaskedArray)


def _sendable(value: Any) -> None:
    """Refuse what is too large before it is copied: a broadcast array may be larger than the memory."""
    count = math.prod(value.shape)
    if count > LARGEST_RESULT:
        message = f"a result must hold at most {LARGEST_RESULT} numbers, got shape {tuple(value.shape)}"
        raise MalformedError(message)


def _on_host(value: Any, framework: NumPy) -> tuple[np.ndarray, str]:
    try:
        return framework.host(value)
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        message = f"a result must be readable as an array, got {_kind(value)}: {told(error)}"
        kind = UnfilledError if getattr(value, "is_meta", False) else MisfitError
        raise kind(message) from error


def _wide(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "u" and array.size and array.max() > LARGEST_INTEGER:
        message = f"a result of {array.dtype.name} must hold at most {LARGEST_INTEGER}, got {array.max()}"
        raise MalformedError(message)
    if array.dtype.kind in "biu":
        return array.astype(np.int64)
    if (array.dtype.kind == "f" and array.dtype.itemsize <= WIDEST) or array.dtype.name in ("bfloat16", "float16"):
        return array.astype(np.float64)
    message = f"a result must hold real numbers of at most {8 * WIDEST} bits or integers, got {array.dtype.name}"
    raise MalformedError(message)


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__
