"""Call code as its declaration says: row by row, or with longer inputs of which the rows and columns that were asked for are picked."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from conformance.adapt import grid
from conformance.adapt.adapter import Unsupported
from conformance.adapt.arrays import MalformedError
from conformance.calls.takes import BOUNDED, PLACES, Takes
from refimpl.errors import SpecificationError
from refimpl.spec import Operation, axis_names, bind

#: The longest run of positions, the largest input, table of queries and keys, and grid that are built for it.
FARTHEST = 131_071
LARGEST = 1 << 25
LONGEST_SIDE = 1 << 10
LARGEST_GRID = 1 << 15

Arrays = Mapping[str, np.ndarray]
Call = Callable[[Sequence[np.ndarray]], Mapping[str, np.ndarray]]
#: For every axis: which entries.
Entries = Mapping[str, np.ndarray]


class OutsideError(Unsupported):
    """The declaration says that the code doesn't take this call."""


def answer(operation: Operation, arrays: Arrays, takes: Takes, call: Call) -> dict[str, np.ndarray]:
    """Return what a call gives, made as the declaration says; raise ``OutsideError`` where it says that the code doesn't take it."""
    if not _agree(operation, arrays):
        return dict(call(list(arrays.values())))
    _check_bounds(arrays, takes)
    _check_whole(operation, arrays, takes)
    _check_heads(arrays, takes)
    batched = [values for name, values in arrays.items() if _may_lack_batch(operation, name) and _has_batch(operation, name, values)]
    if not takes.one_row or not batched:
        return _one_row(operation, arrays, takes, call)
    rows = [_one_row(operation, _row(operation, arrays, index), takes, call) for index in range(len(batched[0]))]
    return {name: np.concatenate([_with_batch(operation, name, row[name]) for row in rows]) for name in rows[0]}


def natural(operation: Operation, arrays: Arrays, takes: Takes) -> bool:
    """Whether the code takes these positions, one row for the batch or more, as they are."""
    places = [arrays[name] for name in _places(operation).values()]
    if takes.gridded:
        return all(grid.is_whole(values, takes) for values in places)
    queries, keys = arrays.get("query_positions"), arrays.get("key_positions")
    if takes.queries == "at_end" and queries is not None and keys is not None:
        count = queries.shape[-1]
        if count > keys.shape[-1] or not _same(queries, keys[..., keys.shape[-1] - count :]):
            return False
        places = [keys]
    if not takes.counted or not any(values.size for values in places):
        return True
    start = 0 if takes.positions == "from_zero" else next(values.flat[0] for values in places if values.size)
    return all(_same(values, start + np.arange(values.shape[-1])) for values in places)


def _agree(operation: Operation, arrays: Arrays) -> bool:
    """Whether arrays agree about their axes; a call in which they don't is for the code to refuse."""
    several = {name: (0,) * array.shape[-1] for name, array in arrays.items() if operation.arrays[name].endswith(" axis")}
    try:
        bind(operation.arrays, {name: array.shape for name, array in arrays.items()}, several)
    except SpecificationError:
        return False
    return True


def _places(operation: Operation) -> dict[str, str]:
    """Return the operation's axes of tokens, and the arrays that say where these are."""
    return {axis: name for axis, name in PLACES.items() if name in operation.arrays}


def _same(values: np.ndarray, others: np.ndarray) -> bool:
    """Whether positions are the same, be one of them a row for the whole batch."""
    one, other = np.broadcast_arrays(values, others)
    return np.array_equal(one, other)


def _check_bounds(arrays: Arrays, takes: Takes) -> None:
    low, high = takes.bounds
    for name in BOUNDED:
        values = arrays.get(name)
        if values is not None and values.size and not low <= values.min() <= values.max() <= high:
            broken, got = (f"at least {low}", values.min()) if values.min() < low else (f"at most {high}", values.max())
            message = f"{name.replace('_', ' ')} must be {broken} by its declaration, got {got}"
            raise OutsideError(message)


def _check_whole(operation: Operation, arrays: Arrays, takes: Takes) -> None:
    for values in (arrays[name] for name in _places(operation).values() if takes.whole):
        real = values[values != np.floor(values)]
        if real.size:
            message = f"positions must be whole by its declaration, got {real[0]:g}"
            raise OutsideError(message)


def _check_heads(arrays: Arrays, takes: Takes) -> None:
    if takes.heads == "equal" and arrays["k"].shape[1] != arrays["q"].shape[1]:
        message = f"key heads must be as many as query heads by its declaration, got {arrays['k'].shape[1]} for {arrays['q'].shape[1]}"
        raise OutsideError(message)


def _may_lack_batch(operation: Operation, name: str) -> bool:
    return "[batch]" in operation.arrays[name]


def _has_batch(operation: Operation, name: str, values: np.ndarray) -> bool:
    return "batch" in (axis_names(operation.arrays[name], values.ndim) or ())


def _row(operation: Operation, arrays: Arrays, index: int) -> dict[str, np.ndarray]:
    """Return one row of the batch, without the axis of the batch where an array may lack it."""

    def row(name: str, values: np.ndarray) -> np.ndarray:
        if not _has_batch(operation, name, values):
            return values
        return values[index] if _may_lack_batch(operation, name) else values[[index]]

    return {name: row(name, values) for name, values in arrays.items()}


def _with_batch(operation: Operation, name: str, value: np.ndarray) -> np.ndarray:
    return value if "batch" in _axes(operation, name, value) else value[None]


def _axes(operation: Operation, name: str, value: np.ndarray) -> tuple[str, ...]:
    axes = axis_names(operation.results[name], value.ndim)
    if axes is None:
        message = f"{name} must have axes ({operation.results[name]}), got shape {value.shape}"
        raise MalformedError(message)
    return axes


def _one_row(operation: Operation, arrays: Arrays, takes: Takes, call: Call) -> dict[str, np.ndarray]:
    """Make the call as it is, or longer ones that the code takes."""
    if natural(operation, arrays, takes):
        return dict(call(list(arrays.values())))
    reason = _not_embeddable(operation, arrays, takes)
    if reason is not None:
        raise OutsideError(reason)
    work = _Embedding(operation, arrays, takes, call)
    for entries in work.groups():
        work.place(entries)
    return work.results


def _not_embeddable(operation: Operation, arrays: Arrays, takes: Takes) -> str | None:
    """Return why no longer input holds the tokens that are asked for, or ``None``."""
    values = np.concatenate([arrays[name].ravel() for name in _places(operation).values()])
    if takes.gridded:
        return None
    if not takes.counted:
        return "queries must be the last of the keys by its declaration"
    declared = "start at 0" if takes.positions == "from_zero" else "count up from one start"
    ending = ", the queries the last of the keys," if takes.queries == "at_end" and "query" in _places(operation) else ""
    rule = f"positions must {declared}{ending} by its declaration"
    if "causal" in operation.parameters:
        return f"{rule}; results of attention depend on one another, so they can't be embedded"
    if takes.positions == "from_zero" and values.min() < 0:
        return f"{rule}; negative positions can't be embedded"
    if values.max() - _start(values, takes) > FARTHEST:
        return f"{rule}; positions more than {FARTHEST} beyond the start can't be embedded"
    return None


def _start(values: np.ndarray, takes: Takes) -> int:
    return 0 if takes.positions == "from_zero" else int(values.min())


@dataclass(frozen=True)
class _Run:
    """An axis of a longer input: all its positions, and which of them the tokens are."""

    positions: np.ndarray
    rows: np.ndarray

    @property
    def length(self) -> int:
        """How many positions there are."""
        return len(self.positions)


@dataclass(frozen=True)
class _Embedding:
    """The call that was asked for, and the elements of its results that are known so far."""

    operation: Operation
    arrays: Arrays
    takes: Takes
    call: Call
    results: dict[str, np.ndarray] = field(default_factory=dict)

    def groups(self) -> Iterator[Entries]:
        """Yield tokens of every axis such that all are met with all, and no two with vectors of their own stand at one position."""
        axes = _places(self.operation)
        parts = [self._apart(axis, self.arrays[name]) for axis, name in axes.items()]
        for chosen in product(*parts):
            yield dict(zip(axes, chosen, strict=True))

    def place(self, entries: Entries) -> None:
        """Make one call for some tokens, and put their elements into the results."""
        runs = self._runs({axis: self.arrays[PLACES[axis]][chosen].astype(np.int64) for axis, chosen in entries.items()})
        self._check_size(runs)
        longer = {name: self._longer(name, entries, runs) for name in self.arrays}
        for axis, run in runs.items():
            longer[PLACES[axis]] = run.positions
        for name, value in self.call(list(longer.values())).items():
            self._pick(name, value, entries, runs)

    def _apart(self, axis: str, places: np.ndarray) -> list[np.ndarray]:
        """Return the tokens of an axis in groups without a position twice, or all where they have no vectors."""
        left, groups = np.arange(len(places)), []
        if not any(axis in axes.split() for name, axes in self.operation.arrays.items() if name not in PLACES.values()):
            return [left]
        while left.size:
            _, first = np.unique(places[left], axis=0, return_index=True)
            groups.append(left[np.sort(first)])
            left = np.delete(left, first)
        return groups

    def _runs(self, wanted: Mapping[str, np.ndarray]) -> dict[str, _Run]:
        """Return what every axis counts through: up to its last token, or queries from their first to the end of all keys."""
        if self.takes.gridded:
            return {axis: self._filled(places) for axis, places in wanted.items()}
        start = _start(np.concatenate(list(wanted.values())), self.takes)
        runs = {axis: _Run(np.arange(start, int(places.max()) + 1), places - start) for axis, places in wanted.items()}
        if self.takes.queries == "at_end" and "query" in runs:
            length = max(run.length for run in runs.values())
            first = int(runs["query"].rows.min())
            queries = _Run(np.arange(start + first, start + length), runs["query"].rows - first)
            return {"query": queries, "key": _Run(np.arange(start, start + length), runs["key"].rows)}
        return runs

    def _filled(self, places: np.ndarray) -> _Run:
        """Return the smallest grid that holds all tokens, row by row."""
        sides = grid.sides(places, self.takes)
        if math.prod(sides) > LARGEST_GRID:
            message = f"an embedded grid must have at most {LARGEST_GRID} places, got {' x '.join(map(str, sides))}"
            raise OutsideError(message)
        return _Run(grid.places(sides, self.takes), np.ravel_multi_index(tuple(grid.slowest_first(places, self.takes).T), sides))

    def _check_size(self, runs: Mapping[str, _Run]) -> None:
        paired = any({"query", "key"} <= set(axes.split()) for axes in self.operation.results.values())
        longest = max(runs["query"].length, runs["key"].length) if paired else 0
        if longest > LONGEST_SIDE:
            message = f"an embedded table must have at most {LONGEST_SIDE} queries or keys, since code may build the square, got {longest}"
            raise OutsideError(message)

    def _longer(self, name: str, entries: Entries, runs: Mapping[str, _Run]) -> np.ndarray:
        values = self.arrays[name]
        axes = axis_names(self.operation.arrays[name], values.ndim) or ()
        axis = next((axis for axis in axes if axis in runs), None)
        if axis is None or name in PLACES.values():
            return values
        index, run = axes.index(axis), runs[axis]
        shape = (*values.shape[:index], run.length, *values.shape[index + 1 :])
        if np.prod(shape) > LARGEST:
            message = f"an embedded input must hold at most {LARGEST} numbers, got {np.prod(shape)}"
            raise OutsideError(message)
        longer = np.zeros(shape, dtype=values.dtype)
        np.moveaxis(longer, index, 0)[run.rows] = np.moveaxis(values, index, 0)[entries[axis]]
        return longer

    def _pick(self, name: str, value: np.ndarray, entries: Entries, runs: Mapping[str, _Run]) -> None:
        axes = axis_names(self.operation.results[name], value.ndim) or ()
        known = [axis for axis in axes if axis in runs]
        if not known or any(size != runs[axis].length for axis, size in zip(axes, value.shape, strict=False) if axis in runs):
            message = f"{name} must have axes ({self.operation.results[name]}), got shape {value.shape}"
            raise MalformedError(message)
        sizes = [len(self.arrays[PLACES[axis]]) if axis in runs else size for axis, size in zip(axes, value.shape, strict=True)]
        target = self.results.setdefault(name, np.zeros(sizes, dtype=value.dtype))
        target[_grid(axes, sizes, entries)] = value[_grid(axes, value.shape, {axis: runs[axis].rows for axis in known})]


def _grid(axes: Sequence[str], sizes: Sequence[int], entries: Entries) -> tuple[np.ndarray, ...]:
    """Return the index of all combinations of some entries of some axes, and all of the others."""
    return np.ix_(*(entries.get(axis, np.arange(size)) for axis, size in zip(axes, sizes, strict=True)))
