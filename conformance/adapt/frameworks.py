"""The libraries whose arrays code under test takes, each with what it does otherwise than NumPy."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from conformance.adapt.adapter import Unsupported
from conformance.adapt.arrays import NumPy, narrowed, repeating
from conformance.adapt.wording import attribute
from conformance.calls.manner import MATRIX, MODES, NO_GRAD, swappable
from conformance.spec.profiles import CAST, CIRCUMSTANCES, HALVES, META

#: What to install where a framework is absent, and what holds its version: the distribution, where it has another name.
DISTRIBUTIONS = {"paddle": "paddlepaddle", "array_api_strict": "array-api-strict"}


def unless_refused(call: Callable[[], list[Any]]) -> list[Any]:
    """Return what a call gives that code needn't take: none where it raises."""
    try:
        return call()
    except Exception:  # noqa: BLE001  whatever it raises
        return []


class Tensors(NumPy):
    """Tensors of a library that names its dtypes as NumPy does."""

    devices = ()

    def dtype(self, name: str) -> Any:
        """Return the library's dtype of that name."""
        return getattr(self.library, name)

    @property
    def place(self) -> str:
        """The device that tensors are put on, with the name of a GPU."""
        device = self.floats(np.zeros(1), "float32").device
        return f"{device} ({self.library.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)

    def owns(self, value: object) -> bool:
        """Whether the value is a tensor."""
        return isinstance(value, self.library.Tensor)


class Torch(Tensors):
    """PyTorch tensors."""

    module = "torch"
    circumstances = CIRCUMSTANCES

    def under(self, circumstance: str, dtype: str) -> AbstractContextManager[object]:
        """Return autocast, or the cast of every module that is called, to the half precision of the call, else to bfloat16.

        Nothing is around a call of modules that were built without memory.
        """
        if circumstance == META:
            return nullcontext()
        half = self.dtype(dtype if dtype in HALVES else "bfloat16")
        if circumstance == CAST:
            return self._casting(half)
        place = self.library.device(self.device or "cpu").type
        return self.library.autocast(place, dtype=half)  # type: ignore[no-any-return]  # torch's own

    def mode(self, way: str, function: Callable[..., Any]) -> AbstractContextManager[object]:
        """Return one in which no gradient is asked for, where the way is one."""
        return self._inferring(way, attribute(function, "__self__", function)) if way in MODES else nullcontext()

    @contextmanager
    def _inferring(self, way: str, owner: Any) -> Iterator[None]:
        """Turn gradients off, and a module to eval mode and back."""
        module = owner if issubclass(type(owner), self.library.nn.Module) else self.library.nn.Module()
        was = [(each, each.training) for each in module.modules()]
        try:
            with (self.library.no_grad if way == NO_GRAD else self.library.inference_mode)():
                module.eval()
                yield
        finally:
            module.train(was[0][1])
            for each, training in was:
                each.training = training

    @contextmanager
    def _casting(self, half: Any) -> Iterator[None]:
        def cast(module: Any, _: object) -> None:
            module.to(half)

        handle = self.library.nn.modules.module.register_module_forward_pre_hook(cast)
        try:
            yield
        finally:
            handle.remove()

    def floats(self, values: np.ndarray, dtype: str) -> Any:
        """Return real numbers as a tensor."""
        return self.library.tensor(values, dtype=self.dtype(dtype), device=self.device)

    def integers(self, values: np.ndarray) -> Any:
        """Return integers as a tensor."""
        return self.library.tensor(values, dtype=self.library.int64, device=self.device)

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
        """Return the same numbers as a view: as heads and tokens that were swapped have, a transposed matrix, or every second element."""
        if swappable(array):
            return array.transpose(-3, -2).contiguous().transpose(-3, -2)
        if array.ndim == MATRIX and min(array.shape) > 1 and array.is_floating_point():
            return array.T.contiguous().T
        return array.repeat_interleave(2, dim=-1)[..., ::2] if array.ndim else array

    def reversed(self, array: Any) -> Any:
        """Return the same numbers as another view: no tensor runs from its end to its start."""
        return self.strided(array)

    def expanded(self, array: Any) -> Any:
        """Return the same numbers as a view of a tensor that holds those once which are the same along an axis."""
        axes = repeating(array)
        return array.as_strided(array.shape, [0 if axis in axes else stride for axis, stride in enumerate(array.stride())])

    def tracked(self, array: Any) -> Any:
        """Return the same numbers as a tensor that requires a gradient, into which code may write: it is no leaf."""
        return array.requires_grad_().clone() if array.is_floating_point() or array.is_complex() else array

    def shares(self, one: Any, other: Any) -> bool:
        """Whether two tensors have one storage."""
        try:
            places = {tensor.untyped_storage().data_ptr() for tensor in (one, other)}
        except (NotImplementedError, RuntimeError):
            return False
        return len(places) == 1 and 0 not in places

    def gradients(self, function: Callable[[list[Any]], list[Any]], arrays: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Return the gradient of every array, or ``None`` where none reaches it, of the product of a function's results with others.

        It is asked for twice, before that of another call which was made since: what either overwrites shows in what is returned.
        """
        real = [array.is_floating_point() for array in arrays]
        leaves = [array.detach().requires_grad_(floating) for array, floating in zip(arrays, real, strict=True)]
        results = function([leaf.clone() for leaf in leaves])
        later = unless_refused(lambda: function([leaf.flip(-1).clone() for leaf in leaves]))
        broadcast = self.library.broadcast_tensors  # a bias may have one row for all queries
        pairs = [broadcast(one, other) for one, other in zip(results, cotangents, strict=True) if getattr(one, "requires_grad", False)]
        if not pairs:
            return [None] * len(arrays)
        outputs = [one for one, _ in pairs]
        wanted = [leaf for leaf, floating in zip(leaves, real, strict=True) if floating]
        given = [other.to(one.dtype) for one, other in pairs]
        gradient = partial(self.library.autograd.grad, inputs=wanted, retain_graph=True, allow_unused=True)
        were = [each.clone() for each in given]
        first = gradient(outputs, grad_outputs=given)
        untouched = all(map(self.library.equal, given, were))
        again = (untouched and unless_refused(lambda: list(gradient(outputs, grad_outputs=given)))) or first
        unless_refused(lambda: list(gradient([part.sum() for part in later])))
        same = all(one is None or self.library.equal(one, other) for one, other in zip(first, again, strict=True))
        found = iter(first if same else again)
        return [next(found) if floating else None for floating in real]


class Jax(NumPy):
    """JAX arrays; 64 bits only where the adapter has enabled them."""

    module = "jax"
    devices = ()
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
    devices = ()

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


class TensorFlow(Tensors):
    """TensorFlow tensors."""

    module = "tensorflow"
    mutable = False

    def floats(self, values: np.ndarray, dtype: str) -> Any:
        """Return real numbers as a tensor."""
        with self.library.device(self.device):
            return self.library.cast(self.library.constant(values), self.dtype(dtype))

    def integers(self, values: np.ndarray) -> Any:
        """Return integers as a tensor."""
        with self.library.device(self.device):
            return self.library.constant(values, dtype=self.library.int64)

    def owns(self, value: object) -> bool:
        """Whether the value is a tensor."""
        return isinstance(value, self.library.Tensor | self.library.Variable)

    def host(self, value: Any) -> tuple[np.ndarray, str]:
        """Return the tensor on the host."""
        return value.numpy(), value.dtype.name


class Mlx(NumPy):
    """MLX arrays: no float64."""

    module = "mlx.core"
    devices = ("cpu", "gpu")
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


class Paddle(Tensors):
    """Paddle tensors."""

    module = "paddle"

    def floats(self, values: np.ndarray, dtype: str) -> Any:
        """Return real numbers as a tensor."""
        return self.library.to_tensor(values, place=self.device).astype(dtype)

    def integers(self, values: np.ndarray) -> Any:
        """Return integers as a tensor."""
        return self.library.to_tensor(values.astype(np.int64), place=self.device)

    def host(self, value: Any) -> tuple[np.ndarray, str]:
        """Return the tensor on the host."""
        name = str(value.dtype).rsplit(".", 1)[-1]
        return (value.astype("float64") if "float" in name else value).numpy(), name


class CuPy(NumPy):
    """CuPy arrays."""

    module = "cupy"
    devices = ("cuda", "gpu")

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
    if name == NumPy.module:
        return np.__version__
    import importlib.metadata

    try:
        return importlib.metadata.version(DISTRIBUTIONS.get(name, name))
    except importlib.metadata.PackageNotFoundError:
        return None
