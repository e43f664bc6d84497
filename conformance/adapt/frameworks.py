"""Arrays of the library under test: made exactly from NumPy, and read back exactly."""

import importlib
import importlib.metadata
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from conformance.adapt.adapter import Unsupported
from conformance.adapt.wording import told
from conformance.calls.limits import LARGEST_PAYLOAD
from conformance.calls.manner import EXPANDED, PARTS, REVERSED, SWAPPED
from conformance.spec.profiles import CAST, CIRCUMSTANCES, HALVES
from conformance.spec.shown import shown

#: What to install where a framework is absent, and what holds its version: the distribution, where it has another name.
DISTRIBUTIONS = {"paddle": "paddlepaddle", "array_api_strict": "array-api-strict"}
#: What a frame of the channel holds of 8-byte numbers.
LARGEST_RESULT = LARGEST_PAYLOAD // 8
LARGEST_INTEGER = np.iinfo(np.int64).max
#: Bytes of the widest real numbers that are judged.
WIDEST = 8
#: Libraries whose arrays are places in memory, which a program lays out and shares.
IN_MEMORY = ("numpy", "torch", "cupy")


class MalformedError(Exception):
    """The function returned something that is no result of its operation."""


class MisfitError(MalformedError):
    """The adapter is at fault: its function can't be called as the operation is, or returns what is no array."""


class NumPy:
    """NumPy arrays; bfloat16 where ml_dtypes is installed."""

    module = "numpy"
    mutable = True
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
        return self.device or str(getattr(self.floats(np.zeros(1), "float32"), "device", "cpu"))

    def owns(self, value: object) -> bool:
        """Whether the value is an array of this library."""
        return isinstance(value, np.ndarray | np.generic)

    def finish(self, value: Any) -> None:
        """Wait until the value is computed."""

    def host(self, value: Any) -> tuple[np.ndarray, str]:
        """Return the value as a NumPy array that holds it exactly, and the name of the dtype that it had."""
        return np.asarray(value), str(value.dtype)

    def stacked(self, arrays: Sequence[Any]) -> Any:
        """Return arrays along a new first axis; what is none is left to be refused."""
        return self.library.stack(arrays) if all(map(self.owns, arrays)) else arrays[0]

    @property
    def manners(self) -> tuple[str, ...]:
        """How calls can be made, beyond plainly."""
        return ("repeated", "strided", "refilled") if self.module in IN_MEMORY else ("repeated",)

    def view(self, array: Any, way: str) -> Any:
        """Return the same numbers as a view, in one of the ways that a manner has."""
        return {SWAPPED: self.strided, REVERSED: self.reversed, EXPANDED: self.expanded, PARTS: self.part}[way](array)

    def reversed(self, array: Any) -> Any:
        """Return the same numbers as a view of an array that holds them from the last to the first."""
        backwards = (slice(None, None, -1),) * array.ndim
        return array[backwards].copy()[backwards] if array.ndim else array

    def expanded(self, array: Any) -> Any:
        """Return the same numbers as a view of an array that holds those once which are the same along an axis."""
        if self.module not in IN_MEMORY:
            return array
        shape, strides = array.shape, array.strides
        once = [0 if axis in _repeating(array) else stride for axis, stride in enumerate(strides)]
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

    def refill(self, array: Any, values: Any) -> None:
        """Write other numbers into an array."""
        array[...] = values

    def strided(self, array: Any) -> Any:
        """Return the same numbers as a view: as heads and tokens that were swapped have, else every second element of a larger array."""
        if array.ndim > 2 and min(array.shape[-3:-1]) > 1:
            return array.swapaxes(-3, -2).copy().swapaxes(-3, -2)
        return self.library.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array

    def gradients(self, function: Any, arrays: Any, cotangents: Any) -> list[Any]:  # noqa: ARG002  who differentiates needs them
        """Refuse: it differentiates no function that is called as it is."""
        message = f"a library that differentiates must be asked for gradients, got {self.module}"
        raise Unsupported(message)

    def shares(self, one: Any, other: Any) -> bool:
        """Whether two arrays of the library may share memory."""
        return self.module in IN_MEMORY and bool(self.library.may_share_memory(one, other))


class Torch(NumPy):
    """PyTorch tensors."""

    module = "torch"
    circumstances = CIRCUMSTANCES

    def under(self, circumstance: str, dtype: str) -> AbstractContextManager[object]:
        """Return autocast, or the cast of every module that is called, to the half precision of the call, else to bfloat16."""
        half = self.dtype(dtype if dtype in HALVES else "bfloat16")
        if circumstance == CAST:
            return self._casting(half)
        place = self.library.device(self.device or "cpu").type
        return self.library.autocast(place, dtype=half)  # type: ignore[no-any-return]  # torch's own

    @contextmanager
    def _casting(self, half: Any) -> Iterator[None]:
        def cast(module: Any, _: object) -> None:
            module.to(half)

        handle = self.library.nn.modules.module.register_module_forward_pre_hook(cast)
        try:
            yield
        finally:
            handle.remove()

    def dtype(self, name: str) -> Any:
        """Return the library's dtype of that name."""
        return getattr(self.library, name)

    def floats(self, values: np.ndarray, dtype: str) -> Any:
        """Return real numbers as a tensor."""
        return self.library.tensor(values, dtype=self.dtype(dtype), device=self.device)

    def integers(self, values: np.ndarray) -> Any:
        """Return integers as a tensor."""
        return self.library.tensor(values, dtype=self.library.int64, device=self.device)

    @property
    def place(self) -> str:
        """The device that tensors are put on, with the name of a GPU."""
        device = self.floats(np.zeros(1), "float32").device
        return f"{device} ({self.library.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)

    def owns(self, value: object) -> bool:
        """Whether the value is a tensor."""
        return isinstance(value, self.library.Tensor)

    def finish(self, value: Any) -> None:
        """Wait for the GPU."""
        if value.device.type == "cuda":
            self.library.cuda.synchronize()

    def host(self, value: Any) -> tuple[np.ndarray, str]:
        """Return the tensor on the host: half precisions by way of float64, which holds them."""
        tensor = value.detach().cpu()
        name = str(value.dtype).removeprefix("torch.")
        return (tensor.double() if tensor.is_floating_point() else tensor).resolve_neg().numpy(), name

    @property
    def manners(self) -> tuple[str, ...]:
        """How calls can be made, beyond plainly."""
        return (*super().manners, "differentiated")

    def strided(self, array: Any) -> Any:
        """Return the same numbers as a view: as heads and tokens that were swapped have, else every second element of a larger tensor."""
        if array.ndim > 2 and min(array.shape[-3:-1]) > 1:
            return array.transpose(-3, -2).contiguous().transpose(-3, -2)
        return array.repeat_interleave(2, dim=-1)[..., ::2] if array.ndim else array

    def reversed(self, array: Any) -> Any:
        """Return the same numbers as another view: no tensor runs from its end to its start."""
        return self.strided(array)

    def expanded(self, array: Any) -> Any:
        """Return the same numbers as a view of a tensor that holds those once which are the same along an axis."""
        axes = _repeating(array)
        return array.as_strided(array.shape, [0 if axis in axes else stride for axis, stride in enumerate(array.stride())])

    def shares(self, one: Any, other: Any) -> bool:
        """Whether two tensors have one storage."""
        try:
            places = {tensor.untyped_storage().data_ptr() for tensor in (one, other)}
        except (NotImplementedError, RuntimeError):
            return False
        return len(places) == 1 and 0 not in places

    def gradients(self, function: Callable[[list[Any]], list[Any]], arrays: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Return the gradient of every array, or ``None`` where none reaches it, of the product of a function's results with others."""
        real = [array.is_floating_point() for array in arrays]
        leaves = [array.detach().requires_grad_(floating) for array, floating in zip(arrays, real, strict=True)]
        results = function([leaf.clone() for leaf in leaves])
        pairs = [(one, other) for one, other in zip(results, cotangents, strict=True) if getattr(one, "requires_grad", False)]
        if not pairs:
            return [None] * len(arrays)
        outputs = [one for one, _ in pairs]
        wanted = [leaf for leaf, floating in zip(leaves, real, strict=True) if floating]
        found = iter(self.library.autograd.grad(outputs, wanted, [other.to(one.dtype) for one, other in pairs], allow_unused=True))
        return [next(found) if floating else None for floating in real]


class Jax(NumPy):
    """JAX arrays; 64 bits only where the adapter has enabled them."""

    module = "jax"
    mutable = False

    @property
    def wide(self) -> bool:
        """Whether 64-bit numbers exist."""
        return bool(self.library.config.jax_enable_x64)

    def dtype(self, name: str) -> Any:
        """Return the library's dtype of that name."""
        if name == "float64" and not self.wide:
            message = "float64 needs jax_enable_x64"
            raise Unsupported(message)
        return self.library.numpy.dtype(name)

    def floats(self, values: np.ndarray, dtype: str) -> Any:
        """Return real numbers as an array."""
        return self._put(narrowed(values, self.dtype(dtype)))

    def integers(self, values: np.ndarray) -> Any:
        """Return integers as an array: int32 unless 64 bits are enabled."""
        return self._put(values.astype(np.int64 if self.wide else np.int32))

    @property
    def place(self) -> str:
        """The device that arrays are put on: platform, number, kind."""
        (device,) = self.floats(np.zeros(1), "float32").devices()
        return f"{device.platform}:{device.id} ({device.device_kind})"

    def owns(self, value: object) -> bool:
        """Whether the value is a JAX array."""
        return isinstance(value, self.library.Array)

    def stacked(self, arrays: Sequence[Any]) -> Any:
        """Return arrays along a new first axis; what is none is left to be refused."""
        return self.library.numpy.stack(arrays) if all(map(self.owns, arrays)) else arrays[0]

    def finish(self, value: Any) -> None:
        """Wait until the value is computed."""
        value.block_until_ready()

    def _put(self, values: np.ndarray) -> Any:
        device = self.library.devices(self.device)[0] if self.device else None
        return self.library.device_put(values, device)


class ArrayApiStrict(NumPy):
    """Arrays of the strict reference of the array API standard, on the device that the adapter names."""

    module = "array_api_strict"

    def dtype(self, name: str) -> Any:
        """Return the library's dtype of that name."""
        if not hasattr(self.library, name):
            message = f"the array API standard has no {name}"
            raise Unsupported(message)
        return getattr(self.library, name)

    def floats(self, values: np.ndarray, dtype: str) -> Any:
        """Return real numbers as an array."""
        kind = self.dtype(dtype)
        return self.library.asarray(narrowed(values, dtype), dtype=kind, device=self._device())

    def integers(self, values: np.ndarray) -> Any:
        """Return integers as an array."""
        return self.library.asarray(values.astype(np.int64), dtype=self.library.int64, device=self._device())

    def owns(self, value: object) -> bool:
        """Whether the value is an array of the strict library."""
        return isinstance(value, type(self.library.asarray(0)))

    def host(self, value: Any) -> tuple[np.ndarray, str]:
        """Return the array on the host."""
        near = value.to_device(self.library.Device("CPU_DEVICE"))
        return np.asarray(near), str(value.dtype).rsplit(".", 1)[-1]

    def _device(self) -> Any:
        return self.library.Device(self.device) if self.device else None


class TensorFlow(NumPy):
    """TensorFlow tensors."""

    module = "tensorflow"
    mutable = False

    def dtype(self, name: str) -> Any:
        """Return the library's dtype of that name."""
        return getattr(self.library, name)

    def floats(self, values: np.ndarray, dtype: str) -> Any:
        """Return real numbers as a tensor."""
        with self.library.device(self.device):
            return self.library.cast(self.library.constant(values), self.dtype(dtype))

    def integers(self, values: np.ndarray) -> Any:
        """Return integers as a tensor."""
        with self.library.device(self.device):
            return self.library.constant(values, dtype=self.library.int64)

    @property
    def place(self) -> str:
        """The device that tensors are put on, with the name of a GPU."""
        device = self.floats(np.zeros(1), "float32").device
        return f"{device} ({self.library.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)

    def owns(self, value: object) -> bool:
        """Whether the value is a tensor."""
        return isinstance(value, self.library.Tensor | self.library.Variable)

    def host(self, value: Any) -> tuple[np.ndarray, str]:
        """Return the tensor on the host."""
        return value.numpy(), value.dtype.name


class Mlx(NumPy):
    """MLX arrays: no float64."""

    module = "mlx.core"
    mutable = False

    def dtype(self, name: str) -> Any:
        """Return the library's dtype of that name."""
        if name == "float64":
            message = "MLX has no float64 on its devices"
            raise Unsupported(message)
        return getattr(self.library, name)

    def floats(self, values: np.ndarray, dtype: str) -> Any:
        """Return real numbers as an array."""
        return self.library.array(narrowed(values, np.float32)).astype(self.dtype(dtype))

    def integers(self, values: np.ndarray) -> Any:
        """Return integers as an array."""
        return self.library.array(values.astype(np.int64))

    def owns(self, value: object) -> bool:
        """Whether the value is an MLX array."""
        return isinstance(value, self.library.array)

    def finish(self, value: Any) -> None:
        """Evaluate the value."""
        self.library.eval(value)

    def host(self, value: Any) -> tuple[np.ndarray, str]:
        """Return the array on the host: half precisions by way of float32, which holds them."""
        name = str(value.dtype).rsplit(".", 1)[-1]
        floating = self.library.issubdtype(value.dtype, self.library.floating)
        return np.array(value.astype(self.library.float32) if floating else value), name


class Paddle(NumPy):
    """Paddle tensors."""

    module = "paddle"

    def dtype(self, name: str) -> Any:
        """Return the library's dtype of that name."""
        return getattr(self.library, name)

    def floats(self, values: np.ndarray, dtype: str) -> Any:
        """Return real numbers as a tensor."""
        return self.library.to_tensor(values, place=self.device).astype(dtype)

    def integers(self, values: np.ndarray) -> Any:
        """Return integers as a tensor."""
        return self.library.to_tensor(values.astype(np.int64), place=self.device)

    @property
    def place(self) -> str:
        """The device that tensors are put on, with the name of a GPU."""
        device = self.floats(np.zeros(1), "float32").device
        return f"{device} ({self.library.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)

    def owns(self, value: object) -> bool:
        """Whether the value is a tensor."""
        return isinstance(value, self.library.Tensor)

    def host(self, value: Any) -> tuple[np.ndarray, str]:
        """Return the tensor on the host."""
        name = str(value.dtype).rsplit(".", 1)[-1]
        return (value.astype("float64") if "float" in name else value).numpy(), name


class CuPy(NumPy):
    """CuPy arrays."""

    module = "cupy"

    def floats(self, values: np.ndarray, dtype: str) -> Any:
        """Return real numbers as an array."""
        if dtype == "bfloat16":
            message = "CuPy has no bfloat16"
            raise Unsupported(message)
        return self.library.asarray(narrowed(values, dtype))

    def integers(self, values: np.ndarray) -> Any:
        """Return integers as an array."""
        return self.library.asarray(values.astype(np.int64))

    def owns(self, value: object) -> bool:
        """Whether the value is a CuPy array."""
        return isinstance(value, self.library.ndarray)

    def finish(self, value: Any) -> None:  # noqa: ARG002  the whole device is waited for
        """Wait for the GPU."""
        self.library.cuda.Device().synchronize()

    def host(self, value: Any) -> tuple[np.ndarray, str]:
        """Return the array on the host."""
        return value.get(), str(value.dtype)


FRAMEWORKS: dict[str, type[NumPy]] = {
    "numpy": NumPy,
    "torch": Torch,
    "jax": Jax,
    "tensorflow": TensorFlow,
    "mlx": Mlx,
    "paddle": Paddle,
    "cupy": CuPy,
    "array_api_strict": ArrayApiStrict,
}


def version(name: str) -> str | None:
    """Return the version of a framework's distribution, or ``None`` where it can't be told."""
    try:
        return importlib.metadata.version(DISTRIBUTIONS.get(name, name))
    except importlib.metadata.PackageNotFoundError:
        return None


def exact(value: object, framework: NumPy) -> tuple[np.ndarray, str]:
    """Return one result as float64 or int64 and the dtype that it had, or raise ``MalformedError`` for what is no number."""
    if isinstance(value, bool | int | float):
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            message = f"a result that is an integer must be within {LARGEST_INTEGER}, got {shown(value)}"
            raise MalformedError(message)
        array = np.asarray(value)
        return _wide(array), array.dtype.name
    if isinstance(value, np.ma.MaskedArray):
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
    hint = f': declare Adapter(..., framework="{library}")' if library in FRAMEWORKS else ""
    message = f"a result must be an array of {framework.module} or a number, got {_kind(value)}{hint}"
    raise MisfitError(message)


def narrowed(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Return numbers in a dtype; what is beyond its range becomes infinite without a warning, as in every other library."""
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def _repeating(array: Any) -> list[int]:
    """Return the axes along which all numbers of an array are the same."""
    first = [(slice(None),) * axis + (slice(0, 1),) for axis in range(array.ndim)]
    return [axis for axis, index in enumerate(first) if array.shape[axis] > 1 and bool((array == array[index]).all())]


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
        raise MalformedError(message) from error


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


def _bfloat16() -> Any:
    try:
        return importlib.import_module("ml_dtypes").bfloat16
    except ModuleNotFoundError:
        message = "bfloat16 in NumPy needs ml_dtypes"
        raise Unsupported(message) from None
