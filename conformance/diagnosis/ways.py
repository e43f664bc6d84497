"""Ways in which code takes its arrays, and gives results, that the adapter says or translates: axes in another order, tables, squares."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from conformance.calls.takes import PLACES, is_bias
from refimpl.spec import Operation, axis_names

HEADS = {"head", "query_head", "key_head"}
TOKENS = set(PLACES)
TABLES = ("cos", "sin")

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Way:
    """What code does with axes, what to write in the adapter, and the two translations: of what is given, and of what comes back.

    ``declared`` is what an adapter says of it, where there are words for it.
    """

    name: str
    does: str
    write: str
    given: Callable[[Operation, Arrays], Arrays]
    back: Callable[[Operation, Arrays, Arrays], Arrays]
    declared: str = ""


def ways(operation: Operation) -> Iterator[Way]:
    """Yield the ways in which an operation's arrays are often taken, the declared one first."""
    yield AS_DECLARED
    if _on_axes(operation):
        yield AXIS_FIRST
    if any("[batch]" in operation.arrays[name] for name in _on_axes(operation)):
        yield AXIS_FIRST_EACH
    if any(_swapped(axes) is not None for axes in operation.arrays.values()):
        yield from (TOKENS_FIRST, ARRAYS_SWAPPED)
    if any(_swapped(axes) is not None for axes in operation.results.values()):
        yield RESULTS_SWAPPED
    if operation.results.keys() == {"query", "key"}:
        yield KEYS_FIRST
    if any(map(of_places, operation.results.values())):
        yield from (RESULTS_AXIS_FIRST, RESULTS_AXIS_FIRST_EACH)
    if {"cos", "sin"} & {*operation.arrays, *operation.results}:
        yield from (TILED, REPEATED)
    if all({"head", "query", "key"} <= set(axes.split()) for axes in operation.results.values()):
        yield HEADS_LAST
    if is_bias(operation):
        yield SQUARE


def _on_axes(operation: Operation) -> list[str]:
    """Return the arrays of positions that have several axes."""
    return [name for name, axes in operation.arrays.items() if axes.endswith(" axis")]


def of_places(axes: str) -> bool:
    """Whether a result has time, height and width on its last axis."""
    return axes.endswith(" 3")


def _each_row(_: Operation, arrays: Arrays) -> Arrays:
    """Return positions with a row for each sequence."""
    return {name: array[None] if name in PLACES.values() and array.ndim == 1 else array for name, array in arrays.items()}


def _axis_last(operation: Operation, _: Arrays, results: Arrays) -> Arrays:
    """Return places with their axis last."""
    first = [name for name, array in results.items() if array.ndim and of_places(operation.results[name])]
    return {name: np.moveaxis(array, 0, -1) if name in first else array for name, array in results.items()}


def _axis_last_each(operation: Operation, given: Arrays, results: Arrays) -> Arrays:
    """Return places with their axis last, and the only row where one was asked for."""
    single = all(array.ndim == 1 for array in given.values())
    return {name: array[0] if single and len(array) == 1 else array for name, array in _axis_last(operation, given, results).items()}


def _axis_first(operation: Operation, arrays: Arrays, *, each: bool = False) -> Arrays:
    """Return positions with their axis first, and where it shall be, a row of them for each sequence."""
    several = _on_axes(operation)
    rows = {name: np.repeat(arrays[name][None], len(arrays["x"]), axis=0) for name in several if each and arrays[name].ndim == 2}
    return {name: np.moveaxis(array, -1, 0) if name in several else array for name, array in {**arrays, **rows}.items()}


def _swapped(axes: str) -> tuple[int, int] | None:
    """Return which two axes are swapped where tokens go before heads, counted from the end."""
    names = axes.split()
    heads, tokens = ([i - len(names) for i, name in enumerate(names) if name in group] for group in (HEADS, TOKENS))
    return (heads[0], tokens[0]) if len(heads) == len(tokens) == 1 and not axes.startswith("[") else None


def _with_swapped(every: Mapping[str, str], arrays: Arrays) -> Arrays:
    """Return arrays with their heads and tokens in the other order; one of another rank stays."""
    return {name: _swap(every[name], array) for name, array in arrays.items()}


def _swap(axes: str, array: np.ndarray) -> np.ndarray:
    pair = _swapped(axes)
    return array if pair is None or array.ndim != len(axes.split()) else np.swapaxes(array, *pair)


def _tiled(arrays: Arrays) -> Arrays:
    return {name: np.concatenate([array, array], axis=-1) if name in TABLES else array for name, array in arrays.items()}


def _repeated(arrays: Arrays) -> Arrays:
    return {name: np.repeat(array, 2, axis=-1) if name in TABLES else array for name, array in arrays.items()}


def _once(results: Arrays, doubled: Callable[[Arrays], Arrays], *, every: int) -> Arrays:
    """Return tables with each column once, where all columns are there twice."""
    once = {name: array[..., ::every] if every > 1 else array[..., : array.shape[-1] // 2] for name, array in results.items() if array.ndim}
    again = doubled(once)
    return {name: once[name] if name in TABLES and np.array_equal(again[name], array) else array for name, array in results.items()}


def _heads_first(results: Arrays) -> Arrays:
    return {name: np.moveaxis(array, -1, -3) if array.ndim > 2 else array for name, array in results.items()}


def _square(arrays: Arrays) -> Arrays:
    """Return as many positions of queries as of keys, counted from 0."""
    longest = max(arrays[name].shape[-1] for name in PLACES.values() if name in arrays)
    return {name: np.arange(longest) if name in PLACES.values() else array for name, array in arrays.items()}


def _corner(operation: Operation, given: Arrays, results: Arrays) -> Arrays:
    """Return the queries and keys that were asked for."""
    return {name: array[_asked(axis_names(operation.results[name], array.ndim) or (), given)] for name, array in results.items()}


def _asked(axes: Sequence[str], given: Arrays) -> tuple[slice, ...]:
    return tuple(slice(given[PLACES[axis]].shape[-1] if axis in PLACES else None) for axis in axes)


AS_DECLARED = Way("", "", "", lambda _, arrays: arrays, lambda _, __, results: results)
AXIS_FIRST = Way(
    "positions-axis-first",
    "takes the axis of positions first, ([batch], token, axis) as (axis, [batch], token)",
    "",
    _axis_first,
    lambda _, __, results: results,
    'axes="axis batch token"',
)
AXIS_FIRST_EACH = replace(
    AXIS_FIRST,
    does="takes the axis of positions first, and a row of them for each sequence: (axis, batch, token)",
    given=partial(_axis_first, each=True),
    declared='axes="axis batch token", rows="each"',
)
TOKENS_FIRST = Way(
    "tokens-first",
    "takes its tokens before its heads, (batch, token, head, ...)",
    "",
    lambda operation, arrays: _with_swapped(operation.arrays, arrays),
    lambda operation, _, results: _with_swapped(operation.results, results),
    'axes="batch token head head_dim"',
)
RESULTS_SWAPPED = Way(
    "results-tokens-first",
    "returns its tokens before its heads, (batch, token, head, ...), and takes them after these",
    "swap axes 1 and 2 of what it returns, or give it (batch, token, head, ...) too and declare axes='batch token head head_dim'",
    lambda _, arrays: arrays,
    lambda operation, _, results: _with_swapped(operation.results, results),
)
ARRAYS_SWAPPED = Way(
    "arrays-tokens-first",
    "takes its tokens before its heads, (batch, token, head, ...), and returns them after these",
    "don't swap axes 1 and 2 of what it is given, or swap those of what it returns too and declare axes='batch token head head_dim'",
    lambda operation, arrays: _with_swapped(operation.arrays, arrays),
    lambda _, __, results: results,
)
KEYS_FIRST = Way(
    "results-keys-first",
    "returns the keys before the queries",
    "return the queries first, then the keys",
    lambda _, arrays: arrays,
    lambda _, __, results: {"query": results["key"], "key": results["query"]},
)
TILED = Way(
    "tables-tiled",
    "has cosines and sines with all columns twice, (c, c)",
    "",
    lambda _, arrays: _tiled(arrays),
    lambda _, __, results: _once(results, _tiled, every=1),
    'tables="tiled"',
)
REPEATED = Way(
    "tables-repeated",
    "has cosines and sines with each column twice, (c0, c0, c1, c1)",
    "",
    lambda _, arrays: _repeated(arrays),
    lambda _, __, results: _once(results, _repeated, every=2),
    'tables="repeated"',
)
RESULTS_AXIS_FIRST = Way(
    "results-axis-first",
    "returns the axis of time, height and width first, ([batch], token, axis) as (axis, [batch], token)",
    "",
    lambda _, arrays: arrays,
    _axis_last,
    AXIS_FIRST.declared,
)
RESULTS_AXIS_FIRST_EACH = replace(
    RESULTS_AXIS_FIRST,
    does="takes a row of positions for each sequence, and returns the axis of time, height and width first: (axis, batch, token)",
    given=_each_row,
    back=_axis_last_each,
    declared=AXIS_FIRST_EACH.declared,
)
HEADS_LAST = Way(
    "heads-last",
    "returns its heads last, (query, key, head)",
    "",
    lambda _, arrays: arrays,
    lambda _, __, results: _heads_first(results),
    'axes="query key head"',
)
SQUARE = Way(
    "square",
    "returns as many queries as keys, whatever is asked for",
    "ask it for max(queries, keys) and return [..., :queries, :keys] of that",
    lambda _, arrays: _square(arrays),
    _corner,
)
