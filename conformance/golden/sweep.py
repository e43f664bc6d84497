"""Draw one call that holds every position from 0 on, or calls at many widths: a mistake at a single one shows nowhere else."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from conformance.calls.takes import Takes, sharing
from conformance.golden import features, grids, places, sampling
from conformance.golden.calls import generator, longest
from conformance.golden.large import Large
from conformance.golden.settings import Settings, settings
from conformance.spec.arguments import Arguments, is_position, on_every_axis, result_shape
from conformance.spec.choices import candidates
from conformance.spec.constraints import constrained
from conformance.spec.ranges import VALUES
from refimpl.spec import Operation, axis_names, fixed_size

#: What is narrow in a sweep, and far enough, where the declaration leaves it open.
WISHED: Mapping[str, object] = {
    "head_dim": 8,
    "dim": 8,
    "num_heads": 3,
    "bits": 13,
    "length": 131_072,
    "original_length": 4_096,
    "scale_base": 2_048.0,
    "max_distance": 128,
    "num_buckets": 32,
}
#: Buckets of WavLM, whose edges come near whole distances, and more than a signed byte counts; more patches in blocks than are swept.
FURTHER: tuple[Settings, ...] = (
    {"num_buckets": 320, "max_distance": 800, "bidirectional": True},
    {"num_buckets": 192, "max_distance": 512, "bidirectional": True},
    {"times": (2,), "heights": (34,), "widths": (66,), "merge": 2},
)
#: How many ends of buckets are swept besides.
ENDS = 2
#: How many lists of many grids are swept where none are merged.
REPEATED = 3
#: At which widths, or numbers of heads, numbers are asked for, of these at how many, and at most how many of their elements are judged.
EACH: Mapping[str, tuple[object, ...]] = {**dict.fromkeys(("head_dim", "dim"), tuple(range(2, 513, 2))), "num_heads": tuple(range(1, 161))}
MANY, FEW = 160, 3
#: Axes along which positions run; those of a table of queries and keys run along its keys.
RUNNING = ("token", "key", "query", "offset", "...")


def sweep(operation: Operation, *, restrictions: Mapping[str, object], takes: Takes, dtype: str, seed: int) -> Iterator[Large]:
    """Yield a call with every position from 0 to 4,096 that is taken, and an element of every one; none where queries meet keys.

    Others follow where a position is given a place by parameters that may be chosen. Where nothing but numbers is taken, calls at many
    widths come instead.
    """
    rng = generator(operation, dtype, seed, "sweep")
    if not operation.arrays:
        yield from _widths(operation, restrictions, rng)
    alone = any(map(is_position, operation.arrays)) and not (_paired(operation) and "q" in operation.arrays)
    if not alone or "causal" in operation.parameters:
        return
    wished = {name: value for name, value in WISHED.items() if name in operation.parameters and name not in restrictions}
    further = (each for each in FURTHER if _taken(operation, each, restrictions))
    every = [
        next(settings(operation, {**restrictions, **wishes}, rng), None)
        for wishes in (wished, *further, *_ends(operation, restrictions, rng), *_many_grids(operation, restrictions, rng))
    ]
    for parameters in (every[0] or next(settings(operation, restrictions, rng), None), *every[1:]):
        if parameters is not None:
            swept = _call(operation, parameters, takes, dtype, rng)
            yield swept
            yield from _decoded(operation, swept.arguments, takes)


def _decoded(operation: Operation, call: Arguments, takes: Takes) -> Iterator[Large]:
    """Yield calls of one token past the last grid, as decoding makes them."""
    end = max(grids.ends(call.parameters), default=0)
    if end and not takes.gridded and not takes.counted:
        room = places.room(call.parameters, {"token": 1}, takes)
        for number in (end, end + 1):
            if room.lowest <= number <= room.highest:
                alone = call.with_arrays(positions=np.full((1,), number))
                counts = {name: math.prod(result_shape(operation, alone, name)) for name in operation.results}
                yield Large(alone, {name: np.arange(count) for name, count in counts.items()})


def _widths(operation: Operation, restrictions: Mapping[str, object], rng: np.random.Generator) -> Iterator[Large]:
    """Yield calls at widths, or numbers of heads, most of which no model has: ``arange(0, 1, 2 / 98)`` gives one number too many."""
    name = next((name for name in EACH if name in operation.parameters), None)
    if name is None:
        return
    every = candidates(operation.parameters[name], restrictions.get(name, ...), EACH)
    for width in (every[int(i)] for i in rng.permutation(len(every))[:MANY]):
        parameters = next(settings(operation, {**restrictions, name: width}, rng), None)
        if parameters is not None:
            call = Arguments({}, parameters)
            counts = {result: math.prod(result_shape(operation, call, result)) for result in operation.results}
            yield Large(call, {result: np.unique(rng.integers(count, size=FEW)) for result, count in counts.items()})


def _ends(operation: Operation, restrictions: Mapping[str, object], rng: np.random.Generator) -> list[Settings]:
    """Return a few other distances at which buckets end, of those that may be chosen: each has edges of its own."""
    if "num_buckets" not in operation.parameters:
        return []
    every = candidates(operation.parameters["max_distance"], restrictions.get("max_distance", ...), VALUES)
    values = [value for value in every if value != WISHED["max_distance"]]
    return [{"max_distance": values[int(i)]} for i in rng.permutation(len(values))[:ENDS]]


def _many_grids(operation: Operation, restrictions: Mapping[str, object], rng: np.random.Generator) -> Iterator[Settings]:
    """Yield lists of many grids for every number of patches that may be merged; nothing where a declaration lists grids."""
    lists = grids.free(operation, restrictions)
    if lists and lists == grids.free(operation, ()):
        merge = operation.parameters.get("merge")
        merged = [{"merge": each} for each in candidates(merge, restrictions.get("merge", ...), VALUES)] if merge else [{}] * REPEATED
        yield from ({**each, **grids.drawn(rng, lists, each, many=True)} for each in merged)


def _taken(operation: Operation, wishes: Settings, restrictions: Mapping[str, object]) -> bool:
    """Whether the operation has such parameters, and a declaration takes them."""
    known = operation.parameters
    return wishes.keys() <= known.keys() and all(
        name not in restrictions or value in candidates(known[name], restrictions[name]) for name, value in wishes.items()
    )


def _call(operation: Operation, parameters: Settings, takes: Takes, dtype: str, rng: np.random.Generator) -> Large:
    axes = {*" ".join(operation.arrays.values()).replace("[", "").replace("]", "").split()}
    sizes = _sizes(operation, parameters, takes, axes)
    arrays = {name: _array(operation, name, sizes, parameters, takes, dtype, rng) for name in operation.arrays}
    if "distance_weight" in arrays:
        arrays["distance_weight"] = features.to_tell(rng, arrays["distance_weight"], features.reach(arrays), every=True)
    fitted = constrained(operation.name, arrays, parameters)
    call = Arguments({name: a if is_position(name) else features.exact(a, dtype) for name, a in fitted.items()}, parameters)
    return Large(call, {name: _elements(operation, call, name, rng) for name in operation.results})


def _sizes(operation: Operation, parameters: Settings, takes: Takes, axes: set[str]) -> dict[str, int]:
    """Return one of everything but tokens; of a table of queries and keys, one query."""
    sizes = {axis: fixed_size(axis, parameters) or 1 for axis in axes}
    sizes |= {"head_dim": 2} if "head_dim" in axes and "head_dim" not in parameters else {}
    sizes |= {"key_head": sizes[sharing(operation)]} if takes.heads == "equal" else {}
    sizes |= {"row": 2 * int(parameters["max_distance"]) + 1} if "row" in axes else {}
    sizes |= {"length": longest(operation, parameters, sizes, takes)} if "length" in axes else {}
    count = min(longest(operation, parameters, sizes, takes), places.room(parameters, sizes, takes).size)
    sizes |= {axis: count for axis in RUNNING if axis in axes}
    return sizes | ({"query": 1} if _paired(operation) else {})


def _paired(operation: Operation) -> bool:
    return any({"query", "key"} <= set(axes.split()) for axes in operation.results.values())


def _array(
    operation: Operation, name: str, sizes: Mapping[str, int], parameters: Settings, takes: Takes, dtype: str, rng: np.random.Generator
) -> np.ndarray:
    axes = operation.arrays[name]
    rank = len(axes.split()) - axes.count("[")
    shape = (sizes["..."],) if axes == "..." else tuple(sizes[axis] for axis in axis_names(axes, rank) or ())
    if not is_position(name):
        return features.full(rng, shape, dtype)
    room = places.room(parameters, sizes, takes)
    if axes == "query" and _paired(operation):
        last = sizes["key"] - 1
        both_sides = parameters.get("bidirectional") and not takes.counted and takes.queries == "any"
        return np.array([max(room.lowest, 0) + (last // 2 if both_sides else last)])

    def every(empty: np.ndarray) -> np.ndarray:
        first = max(room.lowest, -(empty.shape[-1] // 2)) if axes == "..." else max(room.lowest, 0)
        counted = first + np.arange(empty.shape[-1])
        return counted if takes.counted or takes.queries == "at_end" else rng.permutation(counted)

    return on_every_axis(axes, np.empty(shape), every)


def _elements(operation: Operation, call: Arguments, name: str, rng: np.random.Generator) -> np.ndarray:
    """Return an element of every position by flat index: any head, any channel."""
    shape = result_shape(operation, call, name)
    axes = ("...",) if operation.results[name] == "..." else axis_names(operation.results[name], len(shape)) or ()
    along = next(axes.index(axis) for axis in RUNNING if axis in axes)
    if _paired(operation):
        rest = [int(rng.integers(size)) for size in shape]
        indices = [np.full(shape[along], index) for index in rest]
    else:
        indices = [rng.integers(size, size=shape[along]) for size in shape]
    indices[along] = np.arange(shape[along])
    at = np.unique(np.ravel_multi_index(tuple(indices), shape))
    return sampling.with_anchors(at, shape[-1]) if _paired(operation) else at
