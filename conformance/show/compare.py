"""Time and memory of schemes in attention, as ratios to no encoding in the same run (the ALiBi paper's figure 2, for the reference)."""

import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from conformance.adapt import frameworks
from conformance.adapt.adapter import near_miss
from conformance.adapt.selection import SelectionError, verify_names
from conformance.show import bench
from conformance.show.terminal import Line
from conformance.version import __version__
from refimpl import attention
from refimpl.errors import SpecificationError
from refimpl.schemes import SCHEMES
from refimpl.spec import Law

#: So many schemes are compared unless some are asked for.
USUAL = 4
LONGEST = 8_192
#: The scheme under which the order of keys changes nothing.
BASELINE = next(name for name, scheme in SCHEMES.items() if any(Law.PERMUTATION in laws for laws in scheme.laws.values()))
HEADS, WIDTH = 8, 64
REPEATS = 5
MEBIBYTE = 1 << 20

Call = Callable[[], object]


@dataclass(frozen=True)
class Backend:
    """An array library on a device: how arrays get there, how to wait for it, and how to weigh a call in bytes.

    Where it can't weigh, ``peak`` is ``None`` and ``unweighed`` says why.
    """

    name: str
    device: str
    put: Callable[[np.ndarray], Any]
    finish: Callable[[Any], object]
    peak: Callable[[Call], int] | None
    unweighed: str = ""


@dataclass(frozen=True)
class Measurement:
    """The median seconds and the peak bytes of one scheme at one length, or why there are none."""

    scheme: str
    length: int
    seconds: float | None
    memory: int | None
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """What was measured, where."""

    backend: Backend
    measurements: tuple[Measurement, ...]


def numpy() -> Backend:
    """Return NumPy, whose arrays ``tracemalloc`` weighs."""
    return Backend("numpy", bench.processor(), lambda values: values, lambda _: None, _traced)


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

    if not library.cuda.is_available():
        return Backend("torch", bench.processor(), library.asarray, lambda _: None, None, "torch counts no memory on a processor")

    def weighed(call: Call) -> int:
        library.cuda.reset_peak_memory_stats()
        before = library.cuda.memory_allocated()
        call()
        return int(library.cuda.max_memory_allocated() - before)

    name = library.cuda.get_device_name(0)
    return Backend("torch", name, lambda values: library.asarray(values, device="cuda"), lambda _: library.cuda.synchronize(), weighed)


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
    return Backend("cupy", name, library.asarray, lambda _: library.cuda.Device().synchronize(), weighed)


def jax() -> Backend:
    """Return JAX with the 64-bit numbers that the reference needs."""
    import jax as library

    library.config.update("jax_enable_x64", val=True)
    device = library.devices()[0]
    name = bench.processor() if device.platform == "cpu" else device.device_kind
    return Backend("jax", name, library.numpy.asarray, library.block_until_ready, None, "JAX does not count the memory of one call")


BACKENDS: Mapping[str, Callable[[], Backend]] = {"numpy": numpy, "torch": torch, "cupy": cupy, "jax": jax}


def backend(name: str) -> Backend:
    """Return a backend by name, or raise ``SelectionError`` where there is none or its library is absent."""
    if name not in BACKENDS:
        message = f"backend must be one of {', '.join(BACKENDS)}, got {name!r}{near_miss(name, BACKENDS)}"
        raise SelectionError(message)
    if find_spec(name) is None:
        message = f"backend must be installed, got {name!r} (pip install 'posenc[{name}]')"
        raise SelectionError(message)
    return BACKENDS[name]()


def lengths(text: str) -> tuple[int, ...]:
    """Return the lengths that a person wrote, or raise ``SelectionError``."""
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not (part.isascii() and part.isdigit() and 1 <= int(part) <= LONGEST):
            message = f"lengths must be whole numbers from 1 to {LONGEST} with commas between, got {part!r}"
            raise SelectionError(message)
    return tuple(dict.fromkeys(int(part) for part in parts))


def usual() -> tuple[str, ...]:
    """Return the first schemes of the table that act in attention in different ways."""
    ways: dict[tuple[object, ...], str] = {}
    for name, scheme in SCHEMES.items():
        layer = attention.Layer() if scheme.layer is None else scheme.layer(num_heads=HEADS, head_dim=WIDTH, like=np.zeros(1))
        ways.setdefault(tuple(bool(part) for part in vars(layer).values()), name)
    return tuple(ways.values())[:USUAL]


def verified(schemes: Sequence[str]) -> tuple[str, ...]:
    """Return the schemes to compare, the baseline first, or raise ``SelectionError``."""
    verify_names("scheme", schemes, SCHEMES)
    for scheme in schemes:
        if SCHEMES[scheme].layer is None:
            message = f"scheme must say how it acts in attention, got {scheme!r}"
            raise SelectionError(message)
    return tuple(dict.fromkeys([BASELINE, *(schemes or usual())]))


def compare(
    schemes: Sequence[str], tokens: Sequence[int], library: Backend, progress: Callable[[int, int, str], None] | None = None
) -> Comparison:
    """Measure every scheme at every length."""
    return Comparison(library, tuple(one for rows in by_length(schemes, tokens, library, progress) for one in rows))


def by_length(
    schemes: Sequence[str], tokens: Sequence[int], library: Backend, progress: Callable[[int, int, str], None] | None = None
) -> Iterator[list[Measurement]]:
    """Yield the measurements of all schemes, one length after the other."""
    for done, length in enumerate(tokens):
        if progress is not None:
            progress(done, len(tokens), f"{length} tokens")
        yield _at(schemes, length, library)


def _at(schemes: Sequence[str], length: int, library: Backend) -> list[Measurement]:
    """Measure the schemes in turns, so that a slow moment of the machine meets all of them."""
    calls = {scheme: _call(scheme, length, library) for scheme in schemes}
    reasons = {scheme: refusal(call) for scheme, call in calls.items()}
    able = {scheme: call for scheme, call in calls.items() if not reasons[scheme]}
    rounds = [{scheme: _seconds(call, library) for scheme, call in able.items()} for _ in range(REPEATS)]
    return [
        Measurement(
            scheme,
            length,
            statistics.median(one[scheme] for one in rounds) if scheme in able else None,
            library.peak(calls[scheme]) if scheme in able and library.peak is not None else None,
            reasons[scheme],
        )
        for scheme in schemes
    ]


def _call(scheme: str, length: int, library: Backend) -> Call:
    """Return causal attention over random queries, keys and values, with the scheme in it."""
    noise = np.random.default_rng(0)
    q, k, v = (library.put(noise.standard_normal((1, HEADS, length, WIDTH)).astype(np.float32)) for _ in range(3))
    positions = library.put(np.arange(length))
    layer = SCHEMES[scheme].layer
    acting = attention.Layer() if layer is None else layer(num_heads=HEADS, head_dim=WIDTH, like=library.put(np.zeros(1)))
    return lambda: attention.attend(acting, q, k, v, positions, positions, causal=True)


def refusal(call: Call) -> str:
    """Warm the call up, and return why the scheme refuses the length, or nothing."""
    try:
        call()
    except SpecificationError as error:
        return str(error)
    except (MemoryError, RuntimeError) as error:
        # torch and JAX have no exception of the standard library for it.
        if isinstance(error, RuntimeError) and "memory" not in str(error).lower():
            raise
        return "needs more memory than there is"
    return ""


def _seconds(call: Call, library: Backend) -> float:
    started = time.perf_counter()
    library.finish(call())
    return time.perf_counter() - started


def lines(comparison: Comparison) -> Iterator[Line]:
    """Yield the comparison as a table per length, what it was measured on first."""
    library = comparison.backend
    versions = f"{library.name} {frameworks.version(library.name)}, posenc {__version__}, Python {platform.python_version()}"
    yield "head", "time and memory of causal attention, as ratios to no encoding"
    yield "", f"backend {versions}"
    yield "", f"device {library.device}"
    yield "", f"1 sequence, {HEADS} heads of {WIDTH} channels, median of {REPEATS} interleaved runs"
    for length in dict.fromkeys(one.length for one in comparison.measurements):
        yield from _table(length, [one for one in comparison.measurements if one.length == length])
    yield from _reasons(comparison)


def _table(length: int, rows: Sequence[Measurement]) -> Iterator[Line]:
    """Yield the rows of one length; the first is the baseline."""
    yield "", ""
    yield "head", f"{f'{length} tokens':<24} {'time ms':>10} {'ratio':>8} {'memory MiB':>12} {'ratio':>8}"
    for one in rows:
        time_columns = _columns(one.seconds, rows[0].seconds, 1e-3, 10)
        yield "", f"{one.scheme:<24} {time_columns} {_columns(one.memory, rows[0].memory, MEBIBYTE, 12)}"


def _columns(value: float | None, baseline: float | None, unit: float, columns: int) -> str:
    """Return a value in its unit and its ratio to the baseline, or dashes."""
    if value is None or not baseline:
        return f"{'-':>{columns}} {'-':>8}"
    return f"{value / unit:>{columns}.2f} {value / baseline:>8.2f}"


def _reasons(comparison: Comparison) -> Iterator[Line]:
    """Yield why there are dashes."""
    said = [f"{one.scheme} at {one.length} tokens: {one.reason}" for one in comparison.measurements if one.reason]
    said += [comparison.backend.unweighed] if comparison.backend.unweighed else []
    yield from [("", ""), *(("quiet", f"- {reason}") for reason in said)] if said else []
