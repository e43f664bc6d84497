"""Arrays of the library under test: made exactly from NumPy."""

import functools
import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from conformance.adapt.adapter import Unsupported
from conformance.calls.manner import EXPANDED, MATRIX, MODES, PARTS, REVERSED, SWAPPED, TRACKED, swappable

#: Libraries whose arrays are places in memory, which a program lays out and shares.
IN_MEMORY = ("numpy", "torch", "cupy")


class MalformedError(Exception):
    """The function returned something that is no result of its operation."""


class MisfitError(MalformedError):
    """The adapter is at fault: its function can't be called as the operation is, or returns what is no array."""


class UnfilledError(MisfitError):
    """The function returned a tensor of the meta device: what a module lost that was built there."""


class NumPy:
    """NumPy arrays; bfloat16 where ml_dtypes is installed."""

    module = "numpy"
    mutable = True
    #: The devices that may be named; none where the library is handed the name, and says whether it has it.
    devices: tuple[str, ...] = ("cpu",)
    #: Which of the circumstances it has.
    circumstances: tuple[str, ...] = ()

    def __init__(self, device: str | None = None) -> None:
        """Import the library."""
        self.library: Any = importlib.import_module(self.module)
        self.device = device

    def under(self, circumstance: str, dtype: str) -> AbstractContextManager[object]:  # noqa: ARG002  who has it needs the dtype
        """Return that circumstance around a call in a dtype."""
        message = f"circumstance must be one that {self.module} has, got {circumstance!r}"
        raise Unsupported(message)

    def mode(self, way: str, function: Callable[..., Any]) -> AbstractContextManager[object]:  # noqa: ARG002  who has modes needs them
        """Return the mode around a call of a function, where the way is one."""
        return nullcontext()

    def dtype(self, name: str) -> Any:
        """Return the library's dtype of that name."""
        if name == "bfloat16":
            return _bfloat16()
        return np.dtype(name)

    def floats(self, values: np.ndarray, dtype: str) -> Any:
        """Return real numbers as an array in that dtype: always a fresh, writable one."""
        return narrowed(values, self.dtype(dtype))

    def integers(self, values: np.ndarray) -> Any:
        """Return integers as an array in the library's own integer dtype."""
        return values.astype(np.int64)

    @property
    def place(self) -> str:
        """The device that arrays are put on, in the adapter's words, else in the library's."""
        made = self.floats(np.zeros(1), "float32")
        return self.device or str(getattr(made, "device", "cpu"))

    def owns(self, value: object) -> bool:
        """Whether the value is an array of this library."""
        return isinstance(value, np.ndarray | np.generic)

    def finish(self, value: Any) -> None:
        """Wait until the value is computed."""

    def host(self, value: Any) -> tuple[np.ndarray, str]:
        """Return the value as a NumPy array that holds it exactly, and the name of the dtype that it had."""
        return np.asarray(value), _named(value.dtype)

    def stacked(self, arrays: Sequence[Any]) -> Any:
        """Return arrays along a new first axis; what is none is left to be refused."""
        return self.library.stack(arrays) if all(map(self.owns, arrays)) else arrays[0]

    @property
    def manners(self) -> tuple[str, ...]:
        """How calls can be made, beyond plainly."""
        return ("repeated", "strided", "refilled") if self.module in IN_MEMORY else ("repeated",)

    def view(self, array: Any, way: str) -> Any:
        """Return the same numbers as a view, in one of the ways that a manner has."""
        ways = {SWAPPED: self.strided, REVERSED: self.reversed, EXPANDED: self.expanded, PARTS: self.part, TRACKED: self.tracked}
        return array if way in MODES else ways[way](array)

    def reversed(self, array: Any) -> Any:
        """Return the same numbers as a view of an array that holds them from the last to the first."""
        backwards = (slice(None, None, -1),) * array.ndim
        return array[backwards].copy()[backwards] if array.ndim else array

    def expanded(self, array: Any) -> Any:
        """Return the same numbers as a view of an array that holds those once which are the same along an axis."""
        if self.module not in IN_MEMORY:
            return array
        shape, strides = array.shape, array.strides
        once = [0 if axis in repeating(array) else stride for axis, stride in enumerate(strides)]
        return self.library.lib.stride_tricks.as_strided(array, shape, once)

    def part(self, array: Any) -> Any:
        """Return the same numbers as a view of a larger array: every second index of each axis but the last, the first half of that."""
        if not array.ndim:
            return array
        whole = array
        for axis in range(array.ndim):
            whole = self.library.concatenate([whole, whole], axis)
        view = whole[(*(slice(None, None, 2),) * (array.ndim - 1), slice(array.shape[-1]))]
        self.refill(view, array)
        return view

    def tracked(self, array: Any) -> Any:
        """Return the same numbers as an array of which a gradient is asked for, where the library differentiates what is called."""
        return array

    def refill(self, array: Any, values: Any) -> None:
        """Write other numbers into an array."""
        array[...] = values

    def strided(self, array: Any) -> Any:
        """Return the same numbers as a view: as heads and tokens that were swapped have, a transposed matrix, or every second element."""
        if swappable(array):
            return array.swapaxes(-3, -2).copy().swapaxes(-3, -2)
        if array.ndim == MATRIX and min(array.shape) > 1 and array.dtype.kind == "f":
            return array.T.copy().T
        return self.library.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array

    def gradients(self, function: Any, arrays: Any, cotangents: Any) -> list[Any]:  # noqa: ARG002  who differentiates needs them
        """Refuse: it differentiates no function that is called as it is."""
        message = f"a library that differentiates must be asked for gradients, got {self.module}"
        raise Unsupported(message)

    def shares(self, one: Any, other: Any) -> bool:
        """Whether two arrays of the library may share memory."""
        return self.module in IN_MEMORY and bool(self.library.may_share_memory(one, other))


def narrowed(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Return numbers in a dtype; what is beyond its range becomes infinite without a warning, as in every other library."""
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def repeating(array: Any) -> list[int]:
    """Return the axes along which all numbers of an array are the same."""
    first = [(slice(None),) * axis + (slice(0, 1),) for axis in range(array.ndim)]
    return [axis for axis, index in enumerate(first) if array.shape[axis] > 1 and bool((array == array[index]).all())]


@functools.cache
def _named(dtype: Any) -> str:
    """Return the name of a dtype, which NumPy puts together anew each time."""
    return str(dtype)


def _bfloat16() -> Any:
    try:
        return importlib.import_module("ml_dtypes").bfloat16
    except ModuleNotFoundError:
        message = "bfloat16 in NumPy needs ml_dtypes"
        raise Unsupported(message) from None
