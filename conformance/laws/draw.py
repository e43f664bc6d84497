"""Draw arguments for an operation from its signature: parameters and arrays that every conforming implementation takes."""

import functools
import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from conformance.calls.takes import PLACES, WHEN, Takes, is_bias, sharing
from conformance.spec.arguments import Arguments, is_position
from conformance.spec.choices import TYPICAL, agree, candidates
from conformance.spec.constraints import constrained
from conformance.spec.ranges import VALUES
from refimpl.spec import Operation, axis_names, fixed_size

NEAR = (0, 1, 2, 9)
LISTED = (255, 256, 257, 2047, 2048, 2049, 4095, 4096, 4097, 65_535, 131_071, 1_048_575, 1_048_576)
REACHES = (8, 300, 5_000, 131_072, 1_048_576)
CONSECUTIVE_END = 131_071
#: How far apart positions lie where every pair of them is computed.
LONGEST_SQUARE = 63
#: How often a declaration's predicates are asked, and how many of the parameters that they take are enough.
ASKED, ADMITTED = 1_000, 48
SIZE_CHOICES = st.binary(min_size=10, max_size=10)
LARGEST_AXIS = {
    "batch": 2, "head": 3, "query_head": 2, "key_head": 2, "token": 3, "query": 3, "key": 4, "offset": 3,
    "pair": 4, "length": 6, "head_dim": 6,
}


@functools.cache
def dyadic(shape: tuple[int, ...]) -> SearchStrategy[np.ndarray]:
    """Draw numbers ``k / 16`` with ``|k| <= 32``, exact in every dtype; they shrink to 0."""
    size = math.prod(shape)

    def values(drawn: bytes) -> np.ndarray:
        steps = np.frombuffer(drawn, dtype=np.uint8).astype(np.int64)
        return (((steps + 32) % 65 - 32) / 16.0).reshape(shape)

    return st.binary(min_size=size, max_size=size).map(values)


def parameters(operation: Operation, restrictions: Mapping[str, object] | None = None) -> SearchStrategy[dict[str, object]]:
    """Draw every parameter inside its rule and its restriction, so that together they are accepted; they shrink to the first candidates."""
    narrowed = restrictions or {}
    every = {name: candidates(parameter, narrowed.get(name, ...)) for name, parameter in operation.parameters.items()}
    admitted = _admitted(operation, narrowed) if WHEN in narrowed else []
    if admitted:
        return st.sampled_from(admitted)

    def chosen(drawn: bytes) -> dict[str, object]:
        return {name: values[choice % len(values)] for choice, (name, values) in zip(drawn, every.items(), strict=True)}

    every_choice = st.binary(min_size=len(every), max_size=len(every)).map(chosen)
    return every_choice.filter(agree)


def _admitted(operation: Operation, restrictions: Mapping[str, Any]) -> list[dict[str, object]]:
    """Return parameters that a declaration's predicates take, of typical values or else of those of models; none where hardly any is."""
    for values in (TYPICAL, VALUES):
        every = {name: candidates(parameter, restrictions.get(name, ...), values) for name, parameter in operation.parameters.items()}
        chance, found = random.Random(0), dict[tuple[int, ...], dict[str, object]]()  # noqa: S311  no secret
        for _ in range(ASKED):
            chosen = tuple(chance.randrange(len(choices)) for choices in every.values())
            drawn = {name: choices[index] for (name, choices), index in zip(every.items(), chosen, strict=True)}
            if len(found) < ADMITTED and agree(drawn) and restrictions[WHEN](drawn):
                found[chosen] = drawn
        if found:
            return [found[chosen] for chosen in sorted(found)]
    return []


def arguments(
    operation: Operation,
    *,
    restrictions: Mapping[str, object] | None = None,
    takes: Takes | None = None,
    farthest: int | None = None,
) -> SearchStrategy[Arguments]:
    """Draw a whole call that a declaration takes."""
    chosen, declared = parameters(operation, restrictions), takes or Takes()
    reaches = _reaches(operation, declared, farthest)

    @st.composite
    def draw_call(draw: DrawFn) -> Arguments:
        drawn = draw(chosen)
        choices = draw(SIZE_CHOICES)
        sizes, reach = axis_sizes(operation, drawn, choices[1:]), reaches[choices[0] % len(reaches)]
        if declared.queries == "at_end" and {"query", "key"} <= sizes.keys():
            sizes["key"] = max(sizes["query"], sizes["key"])
        if declared.heads == "equal":
            sizes["key_head"] = sizes[sharing(operation)]
        arrays = {name: draw(_array(operation, name, sizes, reach, declared)) for name in operation.arrays}
        arrays = taken(operation, arrays, declared)
        fitted = constrained(operation.name, seen_by_all(arrays) if drawn.get("causal") else arrays, drawn)
        return Arguments(fitted, drawn)

    return draw_call()


def _reaches(operation: Operation, takes: Takes, farthest: int | None) -> list[int]:
    """Return how far positions may lie from the first one; half as far as they may, so that laws can move them."""
    low, high = takes.bounds
    squared = LONGEST_SQUARE if takes.counted and is_bias(operation) else math.inf
    end = int(min(REACHES[-1], math.inf if farthest is None else farthest, squared, (high - _first(low, high)) // 2))
    return [*(reach for reach in REACHES if reach < end), end]


def _first(low: float, high: float) -> int:
    """Return the position inside of bounds that lies nearest to 0."""
    return int(min(max(low, 0), high))


def taken(operation: Operation, arrays: Mapping[str, np.ndarray], takes: Takes) -> dict[str, np.ndarray]:
    """Return drawn arrays whose positions count, end together and hide nothing, where the declaration asks for it.

    Biases of code that counts are picked from larger ones, so their positions needn't count. Where a bias is masked no key comes after a
    query: what is hidden is for golden values to judge.
    """
    placed = dict(arrays)
    if takes.counted and not is_bias(operation):
        placed |= _counting({name: arrays[name] for name in PLACES.values() if name in arrays}, takes)
    if "query_positions" in placed and takes.queries == "at_end":
        keys, count = placed["key_positions"], placed["query_positions"].shape[-1]
        placed["query_positions"] = keys[..., keys.shape[-1] - count :].copy()
    if takes.masked:
        placed["query_positions"] = np.maximum(placed["query_positions"], placed["key_positions"].max())
    return placed


def _counting(places: Mapping[str, np.ndarray], takes: Takes) -> dict[str, np.ndarray]:
    """Return positions that count up from one start."""
    longest = max((values.shape[-1] for values in places.values()), default=0)
    last = min(CONSECUTIVE_END, takes.bounds[1]) - longest
    start = 0 if takes.positions == "from_zero" else int(min([*(values.flat[0] for values in places.values() if values.size), last]))
    return {name: start + np.arange(values.shape[-1]) for name, values in places.items()}


def axis_sizes(operation: Operation, drawn: Mapping[str, object], choices: bytes) -> dict[str, int]:
    """Choose the size of every axis that the parameters leave open; ``optional`` says whether optional axes are there."""
    axes = " ".join(operation.arrays.values())
    sizes = {}
    for axis, choice in zip(dict.fromkeys(axes.replace("[", " ").replace("]", " ").split()), choices[1:], strict=False):
        fixed = fixed_size(axis, drawn)
        sizes[axis] = fixed if fixed is not None else 1 + choice % LARGEST_AXIS.get(axis, 3)
    own = sharing(operation)
    if own and fixed_size(own, drawn) is None:
        sizes[own] *= sizes["key_head"]
    elif own:
        sizes["key_head"] = math.gcd(sizes["key_head"], sizes[own])
    if "pair" in sizes and "head_dim" in sizes:
        sizes["head_dim"] = 2 * sizes["pair"]
    return {**sizes, "optional": choices[0] % 2 if "[" in axes else 0}


def _array(operation: Operation, name: str, sizes: Mapping[str, int], reach: int, takes: Takes) -> SearchStrategy[np.ndarray]:
    shape = _shape(operation.arrays[name], sizes, keep_optional=bool(sizes["optional"]) and not takes.one_row)
    if not is_position(name):
        return dyadic(shape)
    low, high = takes.bounds
    if name in operation.numbers and not takes.whole:
        return _inside(_real_or_integer(shape, reach), low, high)
    return _inside(places(shape, reach, signed=name == "relative_positions"), low, high)


def _inside(drawn: SearchStrategy[np.ndarray], low: float, high: float) -> SearchStrategy[np.ndarray]:
    """Return positions that lie in bounds, moved as a whole where 0 doesn't."""
    if (low, high) == (-math.inf, math.inf):
        return drawn
    return drawn.map(lambda values: np.clip(values + _first(low, high), low, high).astype(values.dtype))


@functools.cache
def _real_or_integer(shape: tuple[int, ...], reach: int) -> SearchStrategy[np.ndarray]:
    whole = places(shape, reach)
    return st.one_of(whole, whole, dyadic(shape).map(np.abs))


def _shape(axes: str, sizes: Mapping[str, int], *, keep_optional: bool) -> tuple[int, ...]:
    if axes == "...":
        return (sizes.get("...", 3) + 1,)
    rank = len(axes.split()) - (0 if keep_optional else axes.count("["))
    return tuple(sizes[axis] for axis in axis_names(axes, rank) or ())


@functools.cache
def places(shape: tuple[int, ...], reach: int, *, signed: bool = False) -> SearchStrategy[np.ndarray]:
    """Draw integers up to a reach, half of them from those where mistakes begin to show; they shrink to 0."""
    size = math.prod(shape)
    listed = np.array([value for value in (*NEAR, *LISTED) if value <= reach])

    def values(drawn: bytes) -> np.ndarray:
        low, high, choice = np.frombuffer(drawn, dtype=np.uint8).astype(np.int64).reshape(3, size)
        anywhere = (low + 256 * high) * (reach + 1) >> 16
        chosen = np.where(choice % 4 < 2, listed[low % listed.size], np.where(choice % 4 == 2, anywhere, low % (reach + 1)))
        return (chosen * np.where(signed & (choice >= 128), -1, 1)).reshape(shape)

    return st.binary(min_size=3 * size, max_size=3 * size).map(values)


def seen_by_all(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Shift the keys to where every query sees one."""
    queries, keys = arrays["query_positions"], arrays["key_positions"]
    ahead = keys.min(axis=-1, keepdims=True) - queries.min(axis=-1, keepdims=True)
    return {**arrays, "key_positions": keys - np.maximum(ahead, 0)}
