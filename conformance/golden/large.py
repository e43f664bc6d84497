"""Draw calls at real sizes: many heads, long sequences and odd tails, with the elements of their results that are to be judged."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from conformance.calls.takes import Takes
from conformance.golden import features, places
from conformance.golden.extents import APART, COLUMNS, ORDERS, Extent, any_extent, axes_of, of_vectors, planned, projected, weighs
from conformance.golden.judged import judged, thinned, tuned
from conformance.golden.settings import MODEL_EVERY, settings
from conformance.spec.arguments import Arguments, Parameters, is_position
from conformance.spec.choices import candidates, obeys
from conformance.spec.constraints import constrained
from conformance.spec.ranges import BESIDE
from refimpl.spec import Operation, axis_names, fixed_size

Generator = np.random.Generator
#: No array holds more numbers; a call with wider heads gets fewer of them.
MOST, MOST_AT_FULL = 9 << 20, 1 << 25
#: How many numbers the square of a bias holds, of all heads.
SQUARE = 1 << 26
#: How wide queries are at most whose positions are projected: every distance takes the square of it.
PROJECTED = 16
#: How many angles the encodings of a judged row's keys have together, where a declaration asks for wider ones.
ANGLES = 1 << 16
#: Real inputs repeat after so many numbers: a prime, so that no two rows are alike.
POOL = 65_521
#: The largest distance that buckets tell apart where positions lie farther from each other than any window.
BUCKETED = 1_000_000
#: Calls of more keys, in positions that are counted, have parameters that are lengths below half of that, where some of so many drawn do.
LONG, DRAWN = 1_024, 8
GROWING = frozenset({"token", "query", "key", "offset", "distance", "projection", "..."})


@dataclass(frozen=True)
class Large:
    """A call at a real size, the flat indices of what is judged of every result, and how to make it: non-contiguous, and how often."""

    arguments: Arguments
    at: Mapping[str, np.ndarray]
    strided: bool = False
    times: str = "once"


#: How often the first calls are made, and those that follow.
TIMES = ("often", "twice", "twice", "once")


def large(operation: Operation, *, restrictions: Mapping[str, object], takes: Takes, dtype: str, seed: int, level: str) -> Iterator[Large]:
    """Yield calls at real sizes inside a declaration: one small one at ``smoke``, and the largest ones at ``full`` only.

    Those of ``beside`` are no larger than their neighbours need.
    """
    if not axes_of(operation) & GROWING:
        return
    most = MOST_AT_FULL if level == "full" else MOST
    for number, known in enumerate(planned(operation, level)):
        rng = np.random.default_rng((seed, number, *operation.name.encode()))
        whole = known or any_extent(operation, rng)
        extent = replace(whole, width=min(whole.width, PROJECTED)) if projected(operation) else whole
        parameters = _parameters(operation, restrictions, extent, rng, number, counted=takes.counted)
        if parameters is not None:
            call = _call(operation, parameters, _fitting(operation, parameters, extent, takes, most), takes, dtype, rng)
            at = judged(operation, call, rng)
            strided, times = number % 2 == 0 and not takes.contiguous, TIMES[min(number, len(TIMES) - 1)]
            light = call if level == "beside" else tuned(operation, call, at) if whole.tuned else thinned(operation, call, at, rng)
            yield Large(light, at, strided=strided, times=times if level != "smoke" else "twice")


def _parameters(
    operation: Operation, restrictions: Mapping[str, object], extent: Extent, rng: Generator, number: int, *, counted: bool
) -> Parameters | None:
    """Return parameters inside the declaration that agree with each other, with the extent's width and heads where these may be had.

    Those of every second extent are drawn from a released model, where any is inside: the others have what no model may have. Where
    positions are ``counted``, long calls reach beyond lengths.
    """
    wishes: Mapping[str, object] = {
        "head_dim": extent.width,
        "dim": extent.width,
        "num_heads": extent.heads,
        "memory": max(extent.keys - extent.tokens, 0),
        "causal": extent.causal,
        **({"max_distance": BUCKETED} if "num_buckets" in operation.parameters and extent.runs == places.shorts_apart.__name__ else {}),
    }
    wished = {
        name: wishes[name]
        for name, parameter in operation.parameters.items()
        if name in wishes
        and obeys(parameter, wishes[name])
        and (name not in restrictions or wishes[name] in candidates(parameter, restrictions[name]))
    }
    place = MODEL_EVERY * number + number % 2
    end = place + (DRAWN if counted and extent.keys > LONG else 1)
    found = list(islice(settings(operation, {**restrictions, **wished}, rng), place, end))
    if not found:
        return next(islice(settings(operation, restrictions, rng), number, None), None)
    return min(found, key=lambda drawn: sum(isinstance(drawn.get(name), int) and 2 * drawn[name] > extent.keys for name in BESIDE))


def _fitting(operation: Operation, parameters: Parameters, extent: Extent, takes: Takes, most: int) -> Extent:
    """Return an extent whose positions are taken, and whose results hold no more than they may: fewer heads, then fewer tokens."""
    if takes.heads == "equal":
        extent = replace(extent, group=1, equal=True)
    longest = _side(operation, parameters, extent, takes)
    if takes.gridded or not _several(operation):  # an image has more places than a side; code sees no more tokens than a grid has places
        room = _bounds(operation, parameters, extent, takes).size
        longest = min(longest, room * room if takes.gridded else room)
    if projected(operation) and weighs(operation):
        longest = min(longest, max(ANGLES // int(parameters["dim"]), 2))
    tokens = min(extent.tokens, longest, extent.keys if takes.queries == "at_end" else longest)
    fits = replace(extent, tokens=tokens, keys=min(extent.keys, longest))
    while _numbers(operation, parameters, fits) > most and (fits.batch, fits.heads, fits.tokens) != (1, fits.group, 1):
        fits = _half(fits)
    return fits


def _side(operation: Operation, parameters: Parameters, extent: Extent, takes: Takes) -> int:
    """Return how many queries or keys a bias has at most: code that counts both may build the whole square."""
    if not takes.counted or of_vectors(operation) or not any({"query", "key"} <= {*axes.split()} for axes in operation.results.values()):
        return max(extent.tokens, extent.keys)
    return math.isqrt(SQUARE // int(parameters.get("num_heads", extent.heads)))


def _half(extent: Extent) -> Extent:
    """Return an extent of half the heads, or, where groups can't be halved, of half the batch, or of half the tokens."""
    if extent.heads > extent.group:
        return replace(extent, heads=extent.heads // 2 // extent.group * extent.group or extent.group)
    if extent.batch > 1:
        return replace(extent, batch=extent.batch // 2)
    return replace(extent, tokens=extent.tokens // 2 + 1 if extent.tokens > 2 else 1, keys=extent.keys // 2 + 1)


def _bounds(operation: Operation, parameters: Parameters, extent: Extent, takes: Takes) -> places.Room:
    """Return where positions may lie: in a table of as many rows as tokens, where the operation takes one."""
    return places.room(parameters, {"length": extent.size("length")} if "length" in axes_of(operation) else {}, takes)


def _numbers(operation: Operation, parameters: Parameters, extent: Extent) -> int:
    """Return how many numbers the largest array or result holds."""
    every = [*operation.arrays.values(), *operation.results.values()]
    return max(math.prod(_shape(axes, parameters, extent, optional=True)) for axes in every)


def _shape(axes: str, parameters: Parameters, extent: Extent, *, optional: bool) -> tuple[int, ...]:
    if axes == "...":
        return extent.tokens, 3
    rank = len(axes.split()) - (0 if optional else axes.count("["))
    return tuple(_size(axis, parameters, extent) for axis in axis_names(axes, rank) or ())


def _size(axis: str, parameters: Parameters, extent: Extent) -> int:
    """Return the size of an axis; key heads are shared by heads that a parameter counts, or as many."""
    fixed, free = fixed_size(axis, parameters), extent.size(axis)
    if axis == "key_head":
        heads = fixed_size("head", parameters) or free
        return heads if extent.equal else math.gcd(free, heads)
    return free if fixed is None else fixed


def _call(operation: Operation, parameters: Parameters, extent: Extent, takes: Takes, dtype: str, rng: Generator) -> Arguments:
    """Return the arrays of a call of that size."""
    bounds = _bounds(operation, parameters, extent, takes)
    shapes = {name: _shape(axes, parameters, extent, optional=_has_rows(name, extent, takes)) for name, axes in operation.arrays.items()}
    arrays = _on_axes(operation, shapes, lambda each: _positions(each, extent.runs, bounds, takes, rng, masked=_masked(extent, parameters)))
    arrays |= _moved(operation, arrays, extent.runs, bounds, takes, dtype, rng)
    for name, shape in shapes.items():
        if name not in arrays:
            plain = numbers(rng, shape, dtype)
            arrays[name] = features.to_tell(rng, plain, features.reach(arrays)) if name == "distance_weight" else plain
    fitted = constrained(operation.name, {name: arrays[name] for name in operation.arrays}, parameters)
    exact = {name: a if is_position(name) or a is arrays[name] else features.exact(a, dtype) for name, a in fitted.items()}
    return Arguments(exact, parameters)


def _masked(extent: Extent, parameters: Parameters) -> bool:
    """Whether a call has a mask."""
    return extent.causal and bool(parameters.get("causal"))


def _on_axes(
    operation: Operation, shapes: Mapping[str, tuple[int, ...]], positions: Callable[[Mapping[str, tuple[int, ...]]], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return the positions of arrays of such shapes; where tokens stand on several axes, others on each."""
    several = {name: shapes[name] for name in _several(operation)}
    found = positions({name: shape for name, shape in shapes.items() if name not in several})
    rows = {name: [positions({name: shape[:-1]})[name] for _ in range(shape[-1])] for name, shape in several.items()}
    return found | {name: np.stack(each, axis=-1) for name, each in rows.items()}


def _moved(
    operation: Operation, arrays: Mapping[str, np.ndarray], runs: str, bounds: places.Room, takes: Takes, dtype: str, rng: Generator
) -> dict[str, np.ndarray]:
    """Return positions of a grid that is listed column by column; and late ones with fractions, where dtypes have these far away."""
    if takes.counted:
        return {}
    if runs == COLUMNS:
        grids = {name: np.zeros_like(arrays[name]) + _columns(*arrays[name].shape[-2:]) for name in _several(operation)}
        return {name: np.clip(grid + max(bounds.lowest, 0), None, bounds.highest) for name, grid in grids.items()}
    real = operation.numbers if runs == "late" and not takes.whole and dtype in ("float32", "float64") else ()
    fractions = {name: arrays[name] + rng.random(arrays[name].shape) for name in real}
    return {name: features.exact(np.minimum(values, bounds.highest), dtype) for name, values in fractions.items()}


def _columns(tokens: int, axes: int) -> np.ndarray:
    """Return the places of a square grid column by column: the last axis but one counts fastest, those before stand still."""
    column, row = np.divmod(np.arange(tokens), math.isqrt(tokens))
    return np.stack([*[np.zeros(tokens, np.int64)] * (axes - 2), row, column], axis=-1)


def _several(operation: Operation) -> list[str]:
    """Return the names of positions on several axes."""
    return [name for name, axes in operation.arrays.items() if is_position(name) and axes.endswith(" axis")]


def _has_rows(name: str, extent: Extent, takes: Takes) -> bool:
    """Whether an array of positions has a row for each of the batch: all of them, or those of queries alone."""
    alone = extent.runs == "one side" and name == "query_positions" and takes.queries == "any"
    return extent.batch > 1 and (extent.runs in ("rows", "disordered", "ragged") or alone) and not takes.one_row


def numbers(rng: Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return numbers that use every bit of the dtype's significand; they repeat after a prime number of them."""
    return np.resize(features.full(rng, (min(math.prod(shape), POOL),), dtype), shape)


def _positions(
    shapes: Mapping[str, tuple[int, ...]], runs: str, bounds: places.Room, takes: Takes, rng: Generator, *, masked: bool
) -> dict[str, np.ndarray]:
    """Return the positions of a call: counted from 0 or late, each row from elsewhere, or shuffled, as far as that is taken."""
    found = {}
    for name, shape in shapes.items():
        if name == "relative_positions":
            found[name] = rng.permutation(math.prod(shape)).reshape(shape) - math.prod(shape) // 2
        elif is_position(name) and not (name == "query_positions" and "key_positions" in shapes):
            start = _starts(shape, runs, bounds, takes, rng)
            first = max(bounds.lowest, 0)
            counted = first + (start - first + np.arange(shape[-1])) % bounds.size
            found[name] = counted if takes.counted else _ordered(counted, runs, bounds, takes, rng)
    if "key_positions" in found:
        shape = shapes["query_positions"]
        keys, count = found["key_positions"], shape[-1]
        free = not takes.counted and takes.queries == "any"
        if free and runs == "ragged" and keys.ndim > 1:
            queries = _ragged(keys, count, rng)
        elif free and runs == "shuffled" and masked and count == 1:  # the first key of some tile is hidden, others of it aren't
            queries = np.sort(keys, axis=-1)[..., keys.shape[-1] // 3, None]
        else:
            queries = _queries(keys, count, takes, masked=masked)
        if free and queries.shape[-1] == keys.shape[-1] == 1:
            queries = np.roll(queries, 1, axis=0)  # the only query of a row stands elsewhere than its only key
        if free and runs == "disordered" and queries.shape[-1:] == keys.shape[-1:]:
            queries = places.between_ends(rng, queries)  # of keys that are as many and have the same ends
        found["query_positions"] = queries if queries.ndim == len(shape) else _turned(queries, shape[0])
    return found


def _ordered(counted: np.ndarray, runs: str, bounds: places.Room, takes: Takes, rng: Generator) -> np.ndarray:
    """Return positions in the order of an extent: counted, in any, in any between the ends of each row, or as small calls have them."""
    if counted.ndim > 1 and counted.shape[-1] > 1 and runs == "disordered":
        return places.between_ends(rng, counted)
    order = {**ORDERS, **APART}.get(runs)
    if order is not None and order in places.patterns(bounds, takes, alone=True):
        drawn = order(rng, counted.size, bounds)
        return np.asarray(np.clip(drawn, bounds.lowest, bounds.highest).reshape(counted.shape))
    return rng.permutation(counted) if runs in ("shuffled", "one side") else counted


def _turned(row: np.ndarray, count: int) -> np.ndarray:
    """Return as many rows of the same positions, each in another order."""
    return np.stack([np.roll(row, turn) for turn in range(count)])


def _starts(shape: tuple[int, ...], runs: str, bounds: places.Room, takes: Takes, rng: Generator) -> np.ndarray:
    """Return where each row of positions begins."""
    first = max(bounds.lowest, 0)
    if runs not in ("late", "rows") or takes.positions == "from_zero":
        return np.full((*shape[:-1], 1), first)
    begins = np.concatenate([[first], bounds.edges[(bounds.edges >= first) & (bounds.edges <= bounds.highest - shape[-1] + 1)]])
    return np.asarray(rng.choice(begins, (*shape[:-1], 1)))


def _queries(keys: np.ndarray, count: int, takes: Takes, *, masked: bool) -> np.ndarray:
    """Return the positions of queries: the last of the keys, or from the first key on where code counts both from there.

    Where they needn't be and there is a mask, they are those in the middle: the last query, which is always judged, has keys to hide.
    """
    after = keys.shape[-1] - count
    if takes.queries == "at_end" or not (takes.counted or after < 0):
        first = after // 2 if masked and takes.queries != "at_end" else after
        return keys[..., first : first + count].copy()
    return np.asarray(keys.min(axis=-1, keepdims=True) + np.arange(count))


def _ragged(keys: np.ndarray, count: int, rng: Generator) -> np.ndarray:
    """Return the positions of queries that are others of the keys in each row: the first ones, any, and in the last row the last."""
    after = keys.shape[-1] - count
    first = np.concatenate([[0], rng.integers(0, after + 1, len(keys) - 2), [after]])
    return np.take_along_axis(keys, first[:, None] + np.arange(count), axis=-1)
