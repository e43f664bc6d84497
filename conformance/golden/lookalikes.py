"""Calls that careless caches take for one another: alike in shapes, lengths, ends or sums of positions, and otherwise different."""

from collections.abc import Callable, Iterator

import numpy as np

from conformance.calls.takes import Takes
from conformance.golden.places import Room, room
from conformance.spec.arguments import Arguments, is_position, on_every_axis
from conformance.spec.declarations import features
from refimpl.spec import Operation, bind

QUERIES, KEYS = "query_positions", "key_positions"
#: Batch, heads, tokens and channels.
FULL = 4
Row = Callable[[np.ndarray], np.ndarray]


def lookalikes(operation: Operation, arguments: Arguments, *, takes: Takes) -> Iterator[Arguments]:
    """Yield calls inside the declaration that agree with one in what caches are keyed by, and must be answered otherwise."""
    allowed = _room(operation, arguments, takes)
    seen = {arguments.key}
    for call in _changed(operation, arguments, takes, allowed):
        if call.key not in seen and _sighted(call):
            seen.add(call.key)
            yield call


def _room(operation: Operation, arguments: Arguments, takes: Takes) -> Room:
    """Return where positions may lie; rows of a table before its offset belong to none."""
    shapes = {name: array.shape for name, array in arguments.arrays.items()}
    sizes = bind(operation.arrays, shapes, arguments.parameters)
    if "length" in sizes:
        sizes = {**sizes, "length": sizes["length"] - int(arguments.parameters.get("offset", 0))}
    return room(arguments.parameters, sizes, takes)


def _changed(operation: Operation, arguments: Arguments, takes: Takes, allowed: Room) -> Iterator[Arguments]:
    yield arguments.with_arrays(**{name: later_changed(array) for name, array in arguments.arrays.items() if array.ndim == FULL})
    if not takes.counted:
        for change in (inside_rolled, inside_moved, backwards):
            yield _at(operation, arguments, takes, change)
        if takes.queries == "any" and QUERIES in arguments.arrays:
            yield arguments.with_arrays(**{QUERIES: shifted(arguments.arrays[QUERIES], allowed)})
    if takes.positions != "from_zero":
        yield _at(operation, arguments, takes, lambda row: shifted(row, allowed))
    owner = features(operation)
    if owner is not None:
        yield arguments.with_arrays(**{owner: np.roll(arguments.arrays[owner], 1, axis=-1)})


def _at(operation: Operation, arguments: Arguments, takes: Takes, change: Row) -> Arguments:
    """Return the call at other positions; queries that must be the last keys remain these."""
    placed = {name: array for name, array in arguments.arrays.items() if is_position(name) and array.size}
    changed = {**arguments.arrays, **{name: on_every_axis(operation.arrays[name], array, change) for name, array in placed.items()}}
    if takes.queries == "at_end" and QUERIES in changed:
        changed[QUERIES] = changed[KEYS][..., changed[KEYS].shape[-1] - changed[QUERIES].shape[-1] :]
    return Arguments(changed, arguments.parameters)


def _sighted(call: Arguments) -> bool:
    """Whether every query sees a key, where it may not see all."""
    if not call.parameters.get("causal"):
        return True
    return bool(np.all(call.arrays[KEYS].min(axis=-1) <= call.arrays[QUERIES].min(axis=-1)))


def later_changed(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of which those of the first token are the same, and the others hold the same numbers elsewhere."""
    return np.concatenate([vectors[..., :1, :], np.roll(vectors[..., 1:, :], 1, axis=-1)], axis=-2)


def inside_rolled(rows: np.ndarray) -> np.ndarray:
    """Return rows with the same first, last, sum and numbers, in another order between."""
    return np.concatenate([rows[..., :1], np.roll(rows[..., 1:-1], 1, axis=-1), rows[..., -1:]], axis=-1) if rows.shape[-1] > 2 else rows


def inside_moved(rows: np.ndarray) -> np.ndarray:
    """Return rows with the same first, last and sum: between them the largest is one less and the smallest one more."""
    inside = rows[..., 1:-1]
    if not inside.shape[-1] or inside.dtype.kind != "i":
        return rows
    steps = np.zeros_like(inside)
    np.put_along_axis(steps, inside.argmax(axis=-1)[..., None], -1, axis=-1)
    np.put_along_axis(steps, inside.argmin(axis=-1)[..., None], 1, axis=-1)
    apart = inside.max(axis=-1, keepdims=True) > inside.min(axis=-1, keepdims=True) + 1
    return np.concatenate([rows[..., :1], inside + np.where(apart, steps, 0), rows[..., -1:]], axis=-1)


def backwards(rows: np.ndarray) -> np.ndarray:
    """Return rows with the same sum and numbers, the last of them first."""
    return rows[..., ::-1].copy()


def shifted(rows: np.ndarray, allowed: Room) -> np.ndarray:
    """Return rows with the same differences, one further where there is room, else one less far."""
    step = 1 if rows.max(initial=allowed.lowest) < allowed.highest else -1
    return rows + step if rows.min(initial=allowed.highest) + step >= allowed.lowest else rows
