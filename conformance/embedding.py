"""Feed code that only takes consecutive positions: put tokens where they belong in a longer, zero-padded input."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from conformance.adapter import Unsupported
from conformance.frameworks import MalformedError
from conformance.takes import Positions
from refimpl.spec import Operation, axis_names

FARTHEST = 131_071
LARGEST = 1 << 25
PLACES = ("positions", "query_positions", "key_positions")

Arrays = Mapping[str, np.ndarray]
Call = Callable[[Sequence[np.ndarray]], Mapping[str, np.ndarray]]


def natural(operation: Operation, arrays: Arrays, positions: Positions) -> bool:
    """Whether the code can take these positions as they are."""
    return all(_natural(arrays[name], positions) for name in PLACES if name in operation.arrays)


def embed(operation: Operation, arrays: Arrays, positions: Positions, call: Call) -> dict[str, np.ndarray]:
    """Call with longer inputs that hold every token at its position, and pick the rows that were asked for."""
    _embeddable(operation, arrays)
    work = _Embedding(operation, arrays, positions, call)
    for batch, tokens in _calls(arrays["positions"]):
        work.place(batch, tokens)
    return work.results


def _natural(values: np.ndarray, positions: Positions) -> bool:
    if positions == "any":
        return True
    first = values[..., :1] if positions == "consecutive" and values.size else 0
    return bool(np.array_equal(values, np.broadcast_to(first + np.arange(values.shape[-1]), values.shape)))


def _embeddable(operation: Operation, arrays: Arrays) -> None:
    values = arrays.get("positions")
    if values is None or any(name in operation.arrays for name in PLACES[1:]):
        message = "positions that don't count up: its rows depend on one another, so they can't be embedded"
    elif not np.array_equal(values, np.floor(values)):
        message = "real positions can't be embedded"
    elif values.min(initial=0) < 0:
        message = "negative positions can't be embedded"
    elif values.max(initial=0) > FARTHEST:
        message = f"positions beyond {FARTHEST} can't be embedded"
    else:
        return
    raise Unsupported(message)


def _calls(positions: np.ndarray) -> Iterator[tuple[int | None, np.ndarray]]:
    """Yield batch rows (``None`` for all) and tokens such that no position occurs twice."""
    rows = [(None, positions)] if positions.ndim == 1 else list(enumerate(positions))
    for batch, row in rows:
        left = np.arange(row.size)
        while left.size:
            _, first = np.unique(row[left], return_index=True)
            yield batch, left[np.sort(first)]
            left = np.delete(left, first)


@dataclass(frozen=True)
class _Embedding:
    """The call that was asked for, and the rows of its results that are known so far."""

    operation: Operation
    arrays: Arrays
    positions: Positions
    call: Call
    results: dict[str, np.ndarray] = field(default_factory=dict)

    def place(self, batch: int | None, tokens: np.ndarray) -> None:
        """Make one call for some tokens, and put their rows into the results."""
        places = self.arrays["positions"]
        wanted = (places if batch is None else places[batch])[tokens].astype(np.int64)
        start = 0 if self.positions == "from_zero" else int(wanted.min())
        rows = wanted - start
        length = int(rows.max()) + 1
        longer = {name: self._longer(name, batch, (tokens, rows), length) for name in self.arrays}
        longer["positions"] = start + np.arange(length)
        for name, value in self.call(list(longer.values())).items():
            self._pick(name, value, batch, (tokens, rows), length)

    def _longer(self, name: str, batch: int | None, rows: tuple[np.ndarray, np.ndarray], length: int) -> np.ndarray:
        values = self.arrays[name]
        axes = axis_names(self.operation.arrays[name], values.ndim) or ()
        if "token" not in axes:
            return values
        axis = axes.index("token")
        chosen = values[[batch]] if batch is not None and "batch" in axes else values
        shape = (*chosen.shape[:axis], length, *chosen.shape[axis + 1 :])
        if np.prod(shape) > LARGEST:
            message = f"an embedded input must hold at most {LARGEST} numbers, got {np.prod(shape)}"
            raise Unsupported(message)
        longer = np.zeros(shape, dtype=values.dtype)
        np.moveaxis(longer, axis, 0)[rows[1]] = np.moveaxis(chosen, axis, 0)[rows[0]]
        return longer

    def _pick(self, name: str, value: np.ndarray, batch: int | None, rows: tuple[np.ndarray, np.ndarray], length: int) -> None:
        axes = axis_names(self.operation.results[name], value.ndim) or ()
        if "token" not in axes or value.shape[axes.index("token")] != length:
            message = f"{name} must have axes ({self.operation.results[name]}), got shape {value.shape}"
            raise MalformedError(message)
        if batch is not None and "batch" not in axes:
            value, axes = value[None], ("batch", *axes)
        target = self.results.setdefault(name, self._empty(value, axes, batch))
        part = target if batch is None else target[batch : batch + 1]
        axis = axes.index("token")
        np.moveaxis(part, axis, 0)[rows[0]] = np.moveaxis(value, axis, 0)[rows[1]]

    def _empty(self, value: np.ndarray, axes: tuple[str, ...], batch: int | None) -> np.ndarray:
        places = self.arrays["positions"]
        sizes = {"token": places.shape[-1]} if batch is None else {"token": places.shape[-1], "batch": places.shape[0]}
        return np.zeros([sizes.get(axis, size) for axis, size in zip(axes, value.shape, strict=True)], dtype=value.dtype)
