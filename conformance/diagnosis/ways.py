"""Ways in which code takes its arrays, and gives its results, that a line of the adapter translates: axes in another order, squares."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from conformance.calls.takes import PLACES, is_bias
from refimpl.spec import Operation, axis_names

HEADS = {"head", "query_head", "key_head"}
TOKENS = set(PLACES)

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Way:
    """What code does with axes, what to write in the adapter, and the two translations: of what is given, and of what comes back."""

    name: str
    does: str
    write: str
    given: Callable[[Operation, Arrays], Arrays]
    back: Callable[[Operation, Arrays, Arrays], Arrays]


def ways(operation: Operation) -> Iterator[Way]:
    """Yield the ways in which an operation's arrays are often taken, the declared one first."""
    yield AS_DECLARED
    if any(_swapped(axes) is not None for axes in operation.arrays.values()):
        yield TOKENS_FIRST
    if all({"head", "query", "key"} <= set(axes.split()) for axes in operation.results.values()):
        yield HEADS_LAST
    if is_bias(operation):
        yield SQUARE


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
TOKENS_FIRST = Way(
    "tokens-first",
    "takes its tokens before its heads, (batch, token, head, ...)",
    "swap axes 1 and 2 of what it is given, and of what it returns",
    lambda operation, arrays: _with_swapped(operation.arrays, arrays),
    lambda operation, _, results: _with_swapped(operation.results, results),
)
HEADS_LAST = Way(
    "heads-last",
    "returns its heads last, (query, key, head)",
    "move the last axis of what it returns to the front",
    lambda _, arrays: arrays,
    lambda _, __, results: _heads_first(results),
)
SQUARE = Way(
    "square",
    "returns as many queries as keys, whatever is asked for",
    "ask it for max(queries, keys) and return [..., :queries, :keys] of that",
    lambda _, arrays: _square(arrays),
    _corner,
)
