"""Neighbours of a call: alike in all that careless caches are keyed by but one thing, on which the right answer depends."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice, permutations

import numpy as np

from conformance.calls.takes import WHEN, Takes
from conformance.golden.places import Room, room
from conformance.spec.arguments import Arguments, Parameters, is_position, on_every_axis
from conformance.spec.choices import agree, candidates, obeys
from conformance.spec.constraints import constrained
from conformance.spec.ranges import VALUES
from refimpl.errors import SpecificationError
from refimpl.spec import Operation, Parameter, axis_names, bind, fixed_size

QUERIES, KEYS = "query_positions", "key_positions"
#: Batch, heads, tokens and channels.
FULL = 4
#: How many tokens at both ends keep their places, where a row is long enough: some keys are made of both ends.
MARGINS = (8, 4, 1)
#: Numbers beyond which an array is put into words without those in the middle.
ELIDED = 1_000
#: What keys keep of a number, and among how many halves of its size what they don't keep is looked for.
KEPT: Mapping[str, Callable[[float], object]] = {"in four digits": "{:.4g}".format, "as an integer": int, "in half precision": np.float16}
HALVES = range(8, 24)
#: What a key that is sorted, or a sum, keeps of a list.
REORDERED = "in another order"
#: What a key that is made of the first entry doesn't hold.
AT_END = "at its end"
#: How many other values of a parameter are tried.
TRIED = 3
#: Parameters that are lengths of a sequence, and what is said of another value that lies between the same others of these: what was kept
#: of the longer sequence isn't let go of where a shorter one has outgrown the original length too.
LENGTHS = ("original_length", "length", "max_length")
BETWEEN = "between the same lengths"
#: How many orders of a list of integers are looked at.
ORDERS = 24
#: The largest number of float16, and what positions are moved by that are kept in 8 or 16 bits.
LARGEST, WRAP = 65_504, 1 << 16

Row = Callable[[np.ndarray], np.ndarray]
Named = tuple[str, Arguments]
#: The name of a neighbour, and what makes it.
Unmade = tuple[str, Callable[[], Arguments]]
#: Whether no neighbour of a name is asked for any more.
Settled = Callable[[str], bool]


def _nothing(_: str) -> bool:
    return False


def neighbours(
    operation: Operation, call: Arguments, *, restrictions: Mapping[str, object], takes: Takes, settled: Settled = _nothing
) -> Iterator[Named]:
    """Yield calls inside the declaration that differ from one in one respect each, and the name of that; of some names several."""
    yield from placed_otherwise(operation, call, takes, settled)
    yield from _suiting(operation, call, _made(_of_numbers(call), settled))
    yield from _suiting(operation, call, _of_parameters(operation, call, restrictions, takes, settled))


def placed_otherwise(operation: Operation, call: Arguments, takes: Takes, settled: Settled = _nothing) -> Iterator[Named]:
    """Yield the neighbours whose positions differ."""
    if any(is_position(name) and array.size for name, array in call.arrays.items()):
        yield from _suiting(operation, call, _made(_of_positions(operation, call, takes), settled))


def _made(others: Iterator[Unmade], settled: Settled) -> Iterator[Named]:
    yield from ((name, make()) for name, make in others if not settled(name))


def under_other_conventions(
    operation: Operation, call: Arguments, other: Arguments, *, restrictions: Mapping[str, object], takes: Takes
) -> Iterator[tuple[Arguments, Arguments]]:
    """Yield a call and its neighbour once more for every other choice of one parameter."""
    for name, changed in _of_parameters(operation, call, restrictions, takes):
        parameter = operation.parameters.get(name)
        if parameter is not None and parameter.choices:
            yield changed, other.with_parameters(**changed.parameters)


def _suiting(operation: Operation, call: Arguments, others: Iterator[Named]) -> Iterator[Named]:
    """Yield those that aren't the call itself, that every implementation takes, and in which every query sees a key."""
    kept = constrained(operation.name, dict(call.arrays), call.parameters)
    ruled = [name for name, array in call.arrays.items() if np.array_equal(kept[name], array)]
    for name, other in others:
        held = constrained(operation.name, dict(other.arrays), other.parameters)
        suited = other.with_arrays(**{each: held[each] for each in ruled})
        if suited.key != call.key and _bound(operation, suited) and _sighted(suited):
            yield name, suited


def _bound(operation: Operation, call: Arguments) -> bool:
    """Whether the shapes of all arrays agree with each other and with the parameters."""
    try:
        sizes = bind(operation.arrays, {name: array.shape for name, array in call.arrays.items()}, call.parameters)
    except SpecificationError:
        return False
    return bool((sizes.get("head", 0) or sizes.get("query_head", 0)) % sizes.get("key_head", 1) == 0)


def _sighted(call: Arguments) -> bool:
    """Whether every query sees a key, where it may not see all."""
    if not call.parameters.get("causal"):
        return True
    return bool(np.all(call.arrays[KEYS].min(axis=-1) <= call.arrays[QUERIES].min(axis=-1)))


def _of_positions(operation: Operation, call: Arguments, takes: Takes) -> Iterator[Unmade]:
    names = [name for name in call.arrays if is_position(name)]
    allowed = _room(operation, call, takes)
    together = len(names) == 1 or takes.counted or takes.queries == "at_end"
    sides = [names] if together else [[name] for name in reversed(names)]
    moved = [names] if together else [[QUERIES], names]
    changes = _counted(allowed, takes) if takes.counted else changes_of_positions(allowed)
    if not takes.counted and any(call.arrays[name].shape[-1] > ELIDED for name in names):
        changes = {"reordered of many": changes["reordered"]}
    for what, change in {**changes, **({} if takes.one_row else ROWS)}.items():
        for side in moved if what == "shifted" else sides:
            yield f"{' '.join(side)} {what}", partial(_at, operation, call, takes, side, change)
    if takes.queries == "at_end" and not takes.counted:
        yield f"{KEYS} reordered before the queries", partial(_before_queries, call)
    for name in names:
        if operation.arrays[name].endswith(" axis"):
            for what, change in AXES.items():
                yield f"{name} {what}", partial(_changed, call, name, change)


def _changed(call: Arguments, name: str, change: Row) -> Arguments:
    return call.with_arrays(**{name: change(call.arrays[name])})


def _room(operation: Operation, call: Arguments, takes: Takes) -> Room:
    """Return where positions may lie; rows of a table before its offset belong to none."""
    sizes = bind(operation.arrays, {name: array.shape for name, array in call.arrays.items()}, call.parameters)
    if "length" in sizes:
        sizes = {**sizes, "length": sizes["length"] - int(call.parameters.get("offset", 0))}
    return room(call.parameters, sizes, takes)


def _roomy(operation: Operation, call: Arguments, takes: Takes) -> bool:
    """Whether all positions lie where they may."""
    allowed = _room(operation, call, takes)
    placed = (array for name, array in call.arrays.items() if is_position(name) and array.size)
    return all(array.min() >= allowed.lowest and array.max() <= allowed.highest for array in placed)


def _at(operation: Operation, call: Arguments, takes: Takes, names: list[str], change: Row) -> Arguments:
    """Return the call at other positions; queries that must be the last keys remain these."""
    changed = {name: on_every_axis(operation.arrays[name], call.arrays[name], change) for name in names}
    if takes.queries == "at_end" and QUERIES in changed:
        keys, count = changed[KEYS], changed[QUERIES].shape[-1]
        changed[QUERIES] = keys[..., keys.shape[-1] - count :]
    return call.with_arrays(**changed)


def _before_queries(call: Arguments) -> Arguments:
    """Return the call with those keys reordered that aren't queries too, but for the first."""
    keys, count = call.arrays[KEYS].copy(), call.arrays[KEYS].shape[-1] - call.arrays[QUERIES].shape[-1]
    keys[..., 1:count] = np.roll(keys[..., 1:count], 1, axis=-1)
    return call.with_arrays(**{KEYS: keys})


def _counted(allowed: Room, takes: Takes) -> dict[str, Row]:
    """Return what may be changed of positions that count up."""
    return {} if takes.positions == "from_zero" else {"shifted": lambda rows: shifted(rows, allowed)}


def changes_of_positions(allowed: Room) -> dict[str, Row]:
    """Return what is changed of rows of positions, by what changes: all else that a key may be made of stays, as far as it can."""

    def inside(change: Row) -> Row:
        def kept_inside(rows: np.ndarray) -> np.ndarray:
            changed = change(rows)
            return changed if changed.min() >= allowed.lowest and changed.max() <= allowed.highest else rows

        return kept_inside

    return {
        "shifted": lambda rows: shifted(rows, allowed),
        "reordered": lambda rows: _turned(rows, _inside(rows.shape[-1])),
        "reordered between": lambda rows: _turned(rows, np.arange(2, rows.shape[-1] - 1, 2)),
        "turned": lambda rows: np.roll(rows, 1, axis=-1),
        "moved": inside_moved,
        "ended otherwise": lambda rows: np.concatenate([rows[..., :-1], shifted(rows[..., -1:], allowed)], axis=-1),
        "rounded alike": inside(_rounded_alike),
        "nearly equal": inside(_nearly_equal),
        "wrapped alike": inside(_wrapped_alike),
        "of other signs": inside(lambda rows: _one(rows, lambda inner: -inner)),
        "cut alike": inside(_cut_alike),
    }


def shifted(rows: np.ndarray, allowed: Room) -> np.ndarray:
    """Return rows with the same differences, one further where there is room, else one less far."""
    step = 1 if rows.max(initial=allowed.lowest) < allowed.highest else -1
    return rows + step if rows.dtype.kind == "i" and rows.min(initial=allowed.highest) + step >= allowed.lowest else rows


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


def _inside(count: int) -> np.ndarray:
    """Return every second index, as far from both ends as leaves two of them; none where there are too few."""
    odd = [np.arange(margin | 1, count - margin, 2) for margin in MARGINS]
    return next((indices for indices in odd if indices.size > 1), odd[0][:0])


def _turned(rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return rows in which the numbers at some indices have changed places."""
    changed = rows.copy()
    changed[..., at] = np.roll(rows[..., at], 1, axis=-1)
    return changed


def _one(rows: np.ndarray, change: Row) -> np.ndarray:
    """Return rows with the number in the middle changed."""
    changed, middle = rows.copy(), rows.shape[-1] // 2
    changed[..., middle] = change(rows[..., middle])
    return changed


def _rounded_alike(rows: np.ndarray) -> np.ndarray:
    """Return rows whose farther numbers are one more or less, and the same in half precision."""
    for step in (1, -1):
        moved = rows + step
        same = (_half(moved) == _half(rows)) & (np.abs(moved) <= LARGEST)
        if same.any() and rows.dtype.kind == "i":
            return np.where(same, moved, rows)
    return rows


def _nearly_equal(rows: np.ndarray) -> np.ndarray:
    """Return rows whose far numbers are one nearer to 0, which ``numpy.allclose`` takes for the same."""
    nearer = rows - np.sign(rows)
    return np.where(np.isclose(nearer, rows), nearer, rows) if rows.dtype.kind == "i" else rows


def _half(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(rows, -LARGEST, LARGEST), np.float16)


def _wrapped_alike(rows: np.ndarray) -> np.ndarray:
    """Return rows with a number in the middle that is the same in 16 bits."""
    return _one(rows, lambda inner: inner + WRAP) if rows.dtype.kind == "i" else rows


def _cut_alike(rows: np.ndarray) -> np.ndarray:
    """Return rows with other fractions: whole numbers stay."""
    fraction = rows - np.floor(rows)
    return np.where(fraction > 0, np.floor(rows) + np.where(fraction == 1 / 2, 1 / 4, 1 / 2), rows) if rows.dtype.kind == "f" else rows


def _in_row(which: int) -> Row:
    """Return what reorders one row alone, where there are several."""

    def change(rows: np.ndarray) -> np.ndarray:
        changed = rows.copy()
        if rows.ndim > 1 and len(rows) > 1:
            changed[which] = _turned(rows[which], _inside(rows.shape[-1]))
        return changed

    return change


def _between_rows(rows: np.ndarray) -> np.ndarray:
    """Return rows of which two have exchanged what stands at some indices."""
    changed = rows.copy()
    if rows.ndim > 1 and len(rows) > 1:
        at = [index for index in _inside(rows.shape[-1]) if index < rows.shape[1]]
        changed[0, at], changed[-1, at] = rows[-1, at], rows[0, at]
    return changed


ROWS: Mapping[str, Row] = {
    "reordered in the last row": _in_row(-1),
    "reordered in the first row": _in_row(0),
    "exchanged between rows": _between_rows,
}


def _on_last_axis(positions: np.ndarray) -> np.ndarray:
    """Return positions reordered on their last axis alone."""
    return np.concatenate([positions[..., :-1], _turned(positions[..., -1], _inside(positions.shape[-2]))[..., None]], axis=-1)


def _between_axes(positions: np.ndarray) -> np.ndarray:
    """Return positions of which some have their axes exchanged."""
    changed, at = positions.copy(), _inside(positions.shape[-2])
    changed[..., at, :] = np.roll(positions[..., at, :], 1, axis=-1)
    return changed


AXES: Mapping[str, Row] = {"reordered on the last axis": _on_last_axis, "exchanged between axes": _between_axes}


def _of_numbers(call: Arguments) -> Iterator[Unmade]:
    """Yield the call with every array of numbers in turn changed: between its ends, in one row and head, with the same sum; or turned."""
    for name, array in call.arrays.items():
        if array.dtype.kind == "f" and not is_position(name) and array.size > 1:
            for what, change in changes_of_numbers(array).items():
                yield f"{name} {what}", partial(_changed, call, name, change)


def changes_of_numbers(array: np.ndarray) -> dict[str, Row]:
    """Return what is changed of an array of numbers, by what changes."""
    last = partial(_within, which=-1)
    changes: dict[str, Row] = {f"inside{' of many' * (array.size > ELIDED)}": last}
    if array.ndim == FULL and len(array) > 1:
        changes |= {"inside the last row": last, "inside the first row": partial(_within, which=0)}
    changes["turned"] = lambda numbers: np.roll(numbers, 1, axis=-1)
    if array.ndim == 1:
        changes["ended otherwise"] = lambda numbers: np.concatenate([numbers[:-1], numbers[-1:] / 2])
    return changes


def _within(array: np.ndarray, which: int) -> np.ndarray:
    """Return an array in which every second token between the ends has changed places with others, in every second channel."""
    changed = array.copy()
    part = changed[(which,) * max(array.ndim - 2, 0)]
    if part.ndim == 1:
        part[...] = _turned(part, _inside(part.size))
    elif part.shape[-1] > 1:
        part[:, 1::2] = _turned(part[:, 1::2].T, _inside(len(part))).T
    return changed


def _of_parameters(
    operation: Operation, call: Arguments, restrictions: Mapping[str, object], takes: Takes, settled: Settled = _nothing
) -> Iterator[Named]:
    """Yield the call with every parameter that isn't declared in turn changed, and nearly the same where it is any number."""
    admits = restrictions.get(WHEN)
    for name, parameter in operation.parameters.items():
        left = {f"{name} {words}": 1 for words in (*KEPT, REORDERED, AT_END)} | {name: TRIED, f"{name} {BETWEEN}": TRIED}
        for words, value in _others(parameter, call.parameters[name], restrictions.get(name, ...)):
            changed = {**call.parameters, name: value}
            told = f"{name} {BETWEEN}" if words == name and _ordered_alike(changed, call.parameters) else words
            if left[told] and not settled(told) and agree(changed) and (not callable(admits) or admits(changed)):
                resized = _resized(operation, call, changed)
                if resized is not None and _bound(operation, resized) and _roomy(operation, resized, takes):
                    left[told] -= 1
                    yield told, resized


def _ordered_alike(one: Parameters, other: Parameters) -> bool:
    """Whether the same lengths are beyond the same others, where there are several."""
    pairs = list(permutations([name for name in LENGTHS if name in one], 2))
    return bool(pairs) and all((one[a] > one[b]) == (other[a] > other[b]) for a, b in pairs)


def _others(parameter: Parameter, value: object, restriction: object) -> Iterator[tuple[str, object]]:
    """Yield other values of a parameter: those of which keys keep the same, then the nearest first."""
    if isinstance(value, tuple) and restriction is ...:
        orders = islice(permutations(value), ORDERS)
        yield from ((f"{parameter.name} {REORDERED}", order) for order in dict.fromkeys(orders) if order != value)
        yield from ((f"{parameter.name} {AT_END}", (*value[:-1], last + 1)) for last in value[1:][-1:])
    if isinstance(value, float) and restriction is ...:
        for words, kept in KEPT.items():
            yield from ((f"{parameter.name} {words}", near) for near in nearly(value, kept) if obeys(parameter, near))
    others = [each for each in candidates(parameter, restriction, VALUES) if each != value]
    if isinstance(value, int | float):
        others.sort(key=lambda other: abs(other - value) if isinstance(other, int | float) else np.inf)
    yield from ((parameter.name, each) for each in others)


def nearly(value: float, kept: Callable[[float], object]) -> Iterator[float]:
    """Yield numbers of float32 of which a key keeps the same, the farthest first."""
    with np.errstate(over="ignore"):
        every = (float(np.float32(value * (1 + 2.0**-halves))) for halves in HALVES)
        yield from (near for near in every if near != value and kept(near) == kept(value))


def _resized(operation: Operation, call: Arguments, parameters: Parameters) -> Arguments | None:
    """Return the call with other parameters, in arrays as large as these ask for; none where that would change positions."""
    arrays = dict(call.arrays)
    for name, array in call.arrays.items():
        for along, axis in enumerate(axis_names(operation.arrays[name], array.ndim) or ()):
            was, now = (fixed_size(axis, each) for each in (call.parameters, parameters))
            if was != now and now is not None:
                if is_position(name):
                    return None
                arrays[name] = arrays[name].take(np.arange(now) % array.shape[along], axis=along)
    return Arguments(arrays, parameters)
