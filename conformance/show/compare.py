"""Time and memory of schemes in attention, as ratios to no encoding in the same run (the ALiBi paper's figure 2, for the reference)."""

import math
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np

from conformance.adapt import frameworks
from conformance.adapt.selection import SelectionError, verify_names
from conformance.isolate.interrupts import leaving
from conformance.show.backends import Backend, Call
from conformance.show.terminal import Line
from conformance.version import __version__
from refimpl import attention
from refimpl.arrays import cast_like, exact_float64
from refimpl.attention import Layer
from refimpl.errors import SpecificationError
from refimpl.schemes import SCHEMES
from refimpl.spec import Law

#: So many schemes are compared unless some are asked for.
USUAL = 4
LONGEST = 8_192
#: The scheme under which the order of keys changes nothing.
BASELINE = next(name for name, scheme in SCHEMES.items() if any(Law.PERMUTATION in laws for laws in scheme.laws.values()))
HEADS, WIDTH = 8, 64
#: How many runs of each are timed in turn, for how many seconds at least, and how often all are timed until the machine is too busy.
REPEATS = 7
LEAST_SECONDS = 0.01
TRIES = 3
#: By which part of their median the runs of one scheme may differ, the fastest and the slowest left out.
NOISE = 0.25
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Measurement:
    """The seconds of every run and the peak bytes of one scheme in one phase at one length, or why there are none."""

    scheme: str
    phase: str
    length: int
    seconds: tuple[float, ...] = ()
    memory: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Table:
    """One phase at one length; the first row is the baseline."""

    rows: tuple[Measurement, ...]

    @property
    def noisy(self) -> bool:
        """Whether the runs of one scheme differ too much for any ratio."""
        return any(map(_scattered, (row.seconds for row in self.rows if row.seconds)))

    def ratios(self, row: Measurement) -> tuple[float, ...]:
        """Return what a scheme took, over what the baseline took in the same turn, in ascending order; nothing where that says nothing."""
        if self.noisy:
            return ()
        return tuple(sorted(one / other for one, other in zip(row.seconds, self.rows[0].seconds, strict=False)))

    @property
    def heading(self) -> str:
        """The length and the phase."""
        return f"{self.rows[0].length} tokens, {self.rows[0].phase}"

    @property
    def reasons(self) -> Iterator[str]:
        """Why there are dashes."""
        yield from (f"{row.scheme}, {self.heading}: {row.reason}" for row in self.rows if row.reason)
        if self.noisy:
            row = next(row for row in self.rows if row.seconds and _scattered(row.seconds))
            took = f"{1e3 * min(row.seconds):.3g} to {1e3 * max(row.seconds):.3g} ms"
            yield f"{self.heading}: the machine is too busy for ratios; {row.scheme} took {took}"


def _scattered(seconds: Sequence[float]) -> bool:
    """Whether runs differ too much, the fastest and the slowest left out."""
    middle = sorted(seconds)[1:-1]
    return middle[-1] - middle[0] > NOISE * statistics.median(seconds)


@dataclass(frozen=True)
class Comparison:
    """What was measured, where."""

    backend: Backend
    tables: tuple[Table, ...]


def lengths(text: str) -> tuple[int, ...]:
    """Return the lengths that a person wrote, or raise ``SelectionError``."""
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not (part.isascii() and part.isdigit() and len(part) <= len(str(LONGEST)) and 1 <= int(part) <= LONGEST):
            message = f"lengths must be whole numbers from 1 to {LONGEST} with commas between, got {part!r}"
            raise SelectionError(message)
    return tuple(dict.fromkeys(int(part) for part in parts))


def usual() -> tuple[str, ...]:
    """Return the first schemes of the table that act in attention in different ways."""
    ways: dict[tuple[object, ...], str] = {}
    for name in SCHEMES:
        ways.setdefault(tuple(bool(part) for part in vars(_layer(name, np.zeros(1))).values()), name)
    return tuple(ways.values())[:USUAL]


def verified(schemes: Sequence[str]) -> tuple[str, ...]:
    """Return the schemes to compare, the baseline first, or raise ``SelectionError``."""
    verify_names("scheme", schemes, SCHEMES)
    for scheme in schemes:
        if SCHEMES[scheme].layer is None:
            message = f"scheme must say how it acts in attention, got {scheme!r}"
            raise SelectionError(message)
    return tuple(dict.fromkeys([BASELINE, *(schemes or usual())]))


def phases(chosen: Sequence[str], library: Backend) -> tuple[str, ...]:
    """Return the phases that were chosen, or all that a library has; it must differentiate where the backward pass is chosen."""
    if BACKWARD in chosen and library.gradients is None:
        message = f"--phase backward must come with a backend that has gradients (torch, jax), got {library.name}"
        raise SelectionError(message)
    return tuple(chosen) or tuple(phase for phase in PHASES if phase != BACKWARD or library.gradients is not None)


def tables(
    schemes: Sequence[str],
    tokens: Sequence[int],
    phases: Sequence[str],
    library: Backend,
    progress: Callable[[int, int, str], None] | None = None,
) -> Iterator[Table]:
    """Yield what all schemes take, one length and phase after the other."""
    wanted = list(product(tokens, phases))
    for done, (length, phase) in enumerate(wanted):
        if progress is not None:
            progress(done, len(wanted), f"{length} tokens, {phase}")
        with leaving([f"{length} tokens, {phase}" for length, phase in wanted[done:]]):
            table = _table(schemes, phase, length, library)
        yield table


def _table(schemes: Sequence[str], phase: str, length: int, library: Backend) -> Table:
    """Measure the schemes in turns, so that a slow moment of the machine meets all of them; and again where it was a long one."""
    calls = {scheme: ready(partial(_call, scheme, phase, length, library)) for scheme in schemes}
    able = {scheme: call for scheme, call in calls.items() if not isinstance(call, str)}
    times = max([1, *(math.ceil(LEAST_SECONDS / _seconds(call, library)) for call in islice(able.values(), 1))])
    for _ in range(TRIES):
        turns = [{scheme: _seconds(call, library, times) for scheme, call in able.items()} for _ in range(REPEATS)]
        found = Table(tuple(_measured(scheme, phase, length, call, turns, library) for scheme, call in calls.items()))
        if not found.noisy:
            break
    return found


def _measured(
    scheme: str, phase: str, length: int, call: Call | str, turns: Sequence[Mapping[str, float]], library: Backend
) -> Measurement:
    if isinstance(call, str):
        return Measurement(scheme, phase, length, reason=call)
    memory = library.peak(call) if library.peak is not None else None
    return Measurement(scheme, phase, length, tuple(turn[scheme] for turn in turns), memory)


def ready(make: Callable[[], Call]) -> Call | str:
    """Return a call that was made once, or why the scheme refuses it."""
    try:
        call = make()
        call()
    except SpecificationError as error:
        return str(error)
    except (MemoryError, RuntimeError) as error:
        # torch and JAX have no exception of the standard library for it.
        if isinstance(error, RuntimeError) and "memory" not in str(error).lower():
            raise
        return "needs more memory than there is"
    return call


def _seconds(call: Call, library: Backend, times: int = 1) -> float:
    """Return the seconds of one call, the mean of some."""
    started = time.perf_counter()
    for _ in range(times):
        library.finish(call())
    return (time.perf_counter() - started) / times


def _layer(scheme: str, like: Any) -> Layer:
    made = SCHEMES[scheme].layer
    return Layer() if made is None else made(num_heads=HEADS, head_dim=WIDTH, like=like)


def _call(scheme: str, phase: str, length: int, library: Backend) -> Call:
    """Return one phase of causal attention over random queries, keys and values, with the scheme in it."""
    noise = np.random.default_rng(0)
    arrays = [library.put(noise.standard_normal((1, HEADS, length, WIDTH)).astype(np.float32)) for _ in range(3)]
    layer = _layer(scheme, library.put(np.zeros(1)))
    return PHASES[phase](layer, arrays, library.put(np.arange(length)), library)


def _embedded(layer: Layer, x: Any, positions: Any) -> tuple[Layer, Any]:
    """Return the layer without what it does to its input, which is done once before the projections, and that input."""
    if layer.embed is None:
        return layer, x
    return replace(layer, embed=None), cast_like(layer.embed(exact_float64(x), positions), x)


def _attended(layer: Layer, arrays: Sequence[Any], positions: Any) -> Any:
    q, k, v = arrays
    inner, embedded = _embedded(layer, q, positions)
    return attention.attend(inner, embedded, k, v, positions, positions, causal=True)


def _forward(layer: Layer, arrays: Sequence[Any], positions: Any, _: Backend) -> Call:
    """Return attention of all tokens, as before the first one is generated."""
    return partial(_attended, layer, arrays, positions)


def _backward(layer: Layer, arrays: Sequence[Any], positions: Any, library: Backend) -> Call:
    """Return attention of all tokens and its gradient in queries, keys and values, as in training."""
    if library.gradients is None:
        message = f"backend must differentiate, got {library.name!r}"
        raise SelectionError(message)
    return partial(library.gradients, lambda given: [_attended(layer, given, positions)], arrays, [arrays[2]])


def _decoding(layer: Layer, arrays: Sequence[Any], positions: Any, _: Backend) -> Call:
    """Return what the last token costs where keys and values of those before are kept."""
    q, k, v = (array[..., -1:, :] for array in arrays)
    keys, values = (array[..., :-1, :] for array in arrays[1:])
    cache = attention.append(layer, None, keys, values, positions[:-1]) if positions.shape[0] > 1 else None

    def call() -> object:
        inner, embedded = _embedded(layer, q, positions[-1:])
        return attention.decode(inner, attention.append(inner, cache, k, v, positions[-1:]), embedded, positions[-1:])

    return call


BACKWARD = "backward"
PHASES: Mapping[str, Callable[[Layer, Sequence[Any], Any, Backend], Call]] = {
    "forward": _forward,
    BACKWARD: _backward,
    "decoding": _decoding,
}


def lines(comparison: Comparison) -> Iterator[Line]:
    """Yield the comparison as a table per length and phase, what it was measured on first."""
    library = comparison.backend
    yield "head", "time and memory of causal attention, as ratios to no encoding"
    yield "", f"backend {versions(library)}"
    yield "", f"device {library.device}"
    yield "", f"1 sequence, {HEADS} heads of {WIDTH} channels, median and range of {REPEATS} interleaved runs"
    for table in comparison.tables:
        yield from _told(table)
    reasons = [*(reason for table in comparison.tables for reason in table.reasons), *library.lacks]
    yield from [("", ""), *(("quiet", f"- {reason}") for reason in reasons)] if reasons else []


def versions(library: Backend) -> str:
    """Return what was measured with."""
    return f"{library.name} {frameworks.version(library.name)}, posenc {__version__}, Python {platform.python_version()}"


def _told(table: Table) -> Iterator[Line]:
    """Yield the rows of one table."""
    yield "", ""
    yield "head", f"{table.heading:<24} {'time ms':>10} {'ratio':>7} {'from - to':>12} {'memory MiB':>11} {'ratio':>7}"
    for row in table.rows:
        ratios = table.ratios(row)
        taken = f"{1e3 * statistics.median(row.seconds):>10.2f}" if row.seconds else f"{'-':>10}"
        spread = f"{statistics.median(ratios):>7.2f} {f'{ratios[0]:.2f} - {ratios[-1]:.2f}':>12}" if ratios else f"{'-':>7} {'-':>12}"
        yield "", f"{row.scheme:<24} {taken} {spread} {_weighed(row.memory, table.rows[0].memory)}"


def _weighed(memory: int | None, baseline: int | None) -> str:
    """Return bytes in MiB and as a ratio to the baseline, or dashes."""
    if memory is None or not baseline:
        return f"{'-':>11} {'-':>7}"
    return f"{memory / MEBIBYTE:>11.2f} {memory / baseline:>7.2f}"
