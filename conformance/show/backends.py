"""Array libraries to measure on: how arrays get there, how to wait for them, how to weigh a call, how to differentiate."""

import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from conformance.adapt.adapter import near_miss
from conformance.adapt.frameworks import FRAMEWORKS
from conformance.adapt.selection import SelectionError, bring_in
from conformance.show import bench

Call = Callable[[], object]
#: A function of arrays that gives one, the arrays, and what its gradient is multiplied with: the gradient of every array.
Gradients = Callable[[Callable[[Sequence[Any]], Sequence[Any]], Sequence[Any], Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True)
class Backend:
    """An array library on a device: how arrays get there, how to wait for one, how to weigh a call in bytes, how to differentiate.

    Where it can't weigh or differentiate, ``peak`` or ``gradients`` is ``None``, and ``lacks`` says so.
    """

    name: str
    device: str
    put: Callable[[np.ndarray], Any]
    finish: Callable[[Any], object]
    peak: Callable[[Call], int] | None = None
    gradients: Gradients | None = None
    lacks: Sequence[str] = ()


def numpy() -> Backend:
    """Return NumPy, whose arrays ``tracemalloc`` weighs."""
    return Backend("numpy", bench.processor(), lambda values: values, lambda _: None, _traced, lacks=("NumPy has no gradients",))


def _traced(call: Call) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def torch() -> Backend:
    """Return torch on a GPU where there is one."""
    import torch as library

    gradients = FRAMEWORKS["torch"]().gradients
    if not library.cuda.is_available():
        uncounted = ("torch counts no memory on a processor",)
        return Backend("torch", bench.processor(), library.asarray, lambda _: None, None, gradients, uncounted)

    def weighed(call: Call) -> int:
        library.cuda.reset_peak_memory_stats()
        before = library.cuda.memory_allocated()
        call()
        return int(library.cuda.max_memory_allocated() - before)

    def put(values: np.ndarray) -> Any:
        return library.asarray(values, device="cuda")

    return Backend("torch", library.cuda.get_device_name(0), put, lambda _: library.cuda.synchronize(), weighed, gradients)


def cupy() -> Backend:
    """Return CuPy, whose emptied pool grows to what a call needs."""
    import cupy as library

    if not library.cuda.is_available():
        message = "backend must find a GPU, got none for 'cupy'"
        raise SelectionError(message)
    pool = library.get_default_memory_pool()

    def weighed(call: Call) -> int:
        pool.free_all_blocks()
        before = pool.total_bytes()
        call()
        return int(pool.total_bytes() - before)

    name = library.cuda.runtime.getDeviceProperties(0)["name"].decode()
    finish = library.cuda.Device().synchronize
    return Backend("cupy", name, library.asarray, lambda _: finish(), weighed, lacks=("CuPy has no gradients",))


def jax() -> Backend:
    """Return JAX with the 64-bit numbers that the reference needs."""
    import jax as library

    library.config.update("jax_enable_x64", val=True)
    device = library.devices()[0]
    name = bench.processor() if device.platform == "cpu" else device.device_kind

    def gradients(function: Callable[[Sequence[Any]], Sequence[Any]], arrays: Sequence[Any], cotangents: Sequence[Any]) -> Sequence[Any]:
        pulled: Sequence[Any] = library.vjp(lambda *given: function(given), *arrays)[1](list(cotangents))
        return pulled

    uncounted = ("JAX does not count the memory of one call",)
    return Backend("jax", name, library.numpy.asarray, library.block_until_ready, None, gradients, uncounted)


BACKENDS: Mapping[str, Callable[[], Backend]] = {"numpy": numpy, "torch": torch, "cupy": cupy, "jax": jax}


def backend(name: str) -> Backend:
    """Return a backend by name, or raise ``SelectionError`` where there is none or its library is absent."""
    if name not in BACKENDS:
        message = f"backend must be one of {', '.join(BACKENDS)}, got {name!r}{near_miss(name, BACKENDS)}"
        raise SelectionError(message)
    if find_spec(name) is None:
        message = f"backend must be installed, got {name!r} (pip install '.[{name}]' from a checkout)"
        raise SelectionError(message)
    bring_in(name)
    return BACKENDS[name]()
