"""Calls beside those that were made, which a careless cache takes for them: what is kept of the one then answers the other."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from conformance.golden.neighbours import AXES, ELIDED, KEPT, ROWS, Row, changes_of_numbers, changes_of_positions, nearly
from conformance.golden.places import Room
from conformance.identify.plans import SPELLED
from conformance.identify.probe import Exchange, others
from conformance.spec.arguments import is_position
from conformance.spec.declarations import operations
from conformance.spec.words import SETTINGS

#: How many tokens calls have, one less for each kind of neighbours, down to the fewest; and so many that words leave out most of them.
TOKENS, FEWEST, MANY = 32, 8, ELIDED + 200
#: The most tokens and numbers of a call that others are made like.
LONGEST, LARGEST = 63, 1 << 13
#: How far positions are moved so that half precision doesn't hold each of them, or whole numbers don't.
MOVED = {"rounded alike": 1 << 12, "cut alike": 0.5}
#: What counts from 0, as a rule; distances don't.
STARTS = ("positions", "query_positions", "key_positions", "offset")
#: Of so many rows of positions very many pairs would be made.
PAIR = 2
#: The fewest axes of vectors of several sequences.
VECTORS = 3
#: To how many other values a setting is changed, besides those that are nearly the same.
VALUES = 2
#: So many pairs of calls that differ in their numbers alone tell a key of ten bits, or fewer, in all but one function of a hundred.
CROWD = 96
#: In which dtype a call is made beside one in another: what is made in fewer bits, or in more than the call's own, shows.
COARSER, FINER = {"float64": "float32", "float32": "float16"}, {"float32": "float64", "float16": "float32", "bfloat16": "float32"}


@dataclass(frozen=True)
class Neighbour:
    """A call, another from which it differs in one respect, and in which: in none where it is made twice."""

    call: Exchange
    beside: Exchange
    what: str


Beside = Callable[[Exchange], Iterator[Neighbour]]


def neighbours(seen: Sequence[Exchange]) -> tuple[list[Neighbour], list[Neighbour]]:
    """Return neighbours of calls as they were made last and answered; of the second ones each kind beside a call of its own length.

    So a cache that leaves out what one kind differs in hasn't met the call itself where the neighbours alone are asked for. Settings come
    first: what is made of them alone is kept whatever the length.
    """
    answered = [each for each in seen if each.answered and not before_zero(each)]
    answered = [each for each in answered if _way(each) == _way(answered[-1])]
    kinds = _of_settings, _of_places, _of_numbers, _of_dtypes, _of_crowds
    wanted = itertools.chain.from_iterable(kind(answered) for kind in kinds) if answered else ()
    each = (each for index, (base, beside) in enumerate(wanted) for each in beside(_own(base, index)))
    return [*_of_extremes(answered), *_of_restarts(answered)], [*each]


def _of_restarts(answered: Sequence[Exchange]) -> Iterator[Neighbour]:
    """Yield calls of one token at the start of a sequence, and later in it: some code goes on from there by itself."""
    later = _filled(_sized(_nearest(answered), 1), 0) if answered else None
    places = {} if later is None else {name: value for name, value in _given(later).items() if _placed(name, value) or name == "offset"}
    if later is not None and places:
        start = _with(later, {name: value * 0 for name, value in places.items()})
        yield Neighbour(start, replace(start), "")
        yield Neighbour(replace(start), later, " and ".join(places))
        yield Neighbour(replace(later), start, " and ".join(places))


def _of_extremes(answered: Sequence[Exchange]) -> Iterator[Neighbour]:
    """Yield the nearest call beside the farthest, the widest, the longest and the largest one: some code keeps the most that it has met.

    They come first, so that the nearest one, asked for alone, has met none of them, and before it the same call in more bits.
    """
    if answered:
        nearest = _nearest(answered)
        yield from _finer(_filled(nearest, 0))
        for what, most in {"positions": _farthest, "width": _width, "lengths": _tokens, "batches": _rows}.items():
            beside = max(answered, key=most)
            if most(beside) > most(nearest):
                yield Neighbour(_filled(nearest, 0), beside, what)


def _nearest(answered: Sequence[Exchange]) -> Exchange:
    return min(answered, key=lambda each: (_farthest(each) == 0, _farthest(each), _size(each)))  # at 0 nothing turns


def _farthest(exchange: Exchange) -> float:
    return max((float(np.abs(value).max(initial=0)) for name, value in _given(exchange).items() if _placed(name, value)), default=0.0)


def _width(exchange: Exchange) -> int:
    width = max((value.shape[-1] for name, value in _given(exchange).items() if np.ndim(value) > 1 and not is_position(name)), default=0)
    return max(width, int(exchange.probe.settings.get("width", 0)))


def before_zero(exchange: Exchange) -> bool:
    """Whether a call asks for positions below 0, for which tables are read from their ends, wherever these are by now."""
    starts = (value for name, value in _given(exchange).items() if name in STARTS)
    return any(np.min(value, initial=0) < 0 for value in starts)


def _way(exchange: Exchange) -> object:
    return exchange.probe.plan, tuple(_given(exchange))


def _given(exchange: Exchange) -> dict[str, Any]:
    """Return what a call is given beside settings."""
    plan = exchange.probe.plan
    return {name: value for name, value in exchange.arrays.items() if name in {*plan.arguments, *plan.keywords.values()}}


def _placed(name: str, value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0 and is_position(name)


def _tokens(exchange: Exchange) -> int:
    return max((max(value.shape) for name, value in _given(exchange).items() if _placed(name, value)), default=0)


def _size(exchange: Exchange) -> int:
    return sum(int(np.size(value)) for value in _given(exchange).values())


def _batch(exchange: Exchange) -> int:
    return max((len(value) for value in _given(exchange).values() if np.ndim(value) >= VECTORS), default=2)


def _rows(exchange: Exchange) -> int:
    """Return a number that grows with the batch, and with the tokens of one batch."""
    return _batch(exchange) * (LONGEST + 1) + _tokens(exchange)


def _small(answered: Sequence[Exchange], key: Callable[[Exchange], int]) -> Exchange:
    """Return the call with most of something among those that are cheap."""
    cheap = [each for each in answered if _tokens(each) <= LONGEST and _size(each) <= LARGEST]
    return max(cheap or answered, key=key)


def _own(exchange: Exchange, index: int) -> Exchange:
    """Return the call with a number of tokens of its own, unless it has very many, and numbers of its own."""
    sized = exchange if _tokens(exchange) == MANY else _sized(exchange, max(TOKENS - index, FEWEST))
    counts = {name: max(value - index, 1) for name, value in _given(sized).items() if name.endswith("tokens")}
    return _filled(_with(sized, counts), index)


def _filled(exchange: Exchange, index: int) -> Exchange:
    """Return the call with numbers of its own that differ from each other."""

    def filled(name: str, value: Any, start: int) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or is_position(name):
            return value
        return ((1 + (start + np.arange(value.size)) % 7 / 4) * (1 + index / 16)).reshape(value.shape)

    return _with(exchange, {name: filled(name, value, start) for start, (name, value) in enumerate(_given(exchange).items())})


def _sized(exchange: Exchange, tokens: int) -> Exchange:
    """Return the call with so many tokens: the first ones, or all of them again and again."""
    now = _tokens(exchange)
    again = np.arange(tokens) % max(now, 1)

    def sized(value: Any) -> Any:
        for axis in (axis for axis, length in enumerate(np.shape(value)) if length == now):
            value = value.take(again, axis=axis)
        return value

    return _with(exchange, {name: sized(value) for name, value in _given(exchange).items()})


def _with(exchange: Exchange, arrays: Mapping[str, Any]) -> Exchange:
    return replace(exchange, arrays={**exchange.arrays, **arrays})


def _beside(base: Exchange, arrays: Mapping[str, Any], what: str) -> Iterator[Neighbour]:
    """Yield the call with other arrays, unless they are the same."""
    if not all(np.array_equal(value, base.arrays[name]) for name, value in arrays.items()):
        yield Neighbour(_with(base, arrays), base, what)


def _of_settings(answered: Sequence[Exchange]) -> Iterator[tuple[Exchange, Beside]]:
    """Yield a call for every setting that it takes, numbers first: words count for less than is kept."""
    base = _small(answered, _tokens)
    plan = base.probe.plan
    taken = dict.fromkeys((*plan.arguments, *plan.keywords.values(), *plan.optional.values()))
    roles = [role for role in taken if role in SETTINGS and role not in base.arrays]
    for role in sorted(roles, key=lambda role: (bool(_choices(role)), role == "width")):
        yield base, _narrower if role == "width" else partial(_set_otherwise, role)


def _choices(role: str, value: object = ...) -> tuple[object, ...]:
    """Return what a setting may be whose values are listed, among which a value is; nothing for a number."""
    named = (parameter for one in operations().values() for name, parameter in one.parameters.items() if SPELLED.get(name, name) == role)
    listed = (parameter.choices or (False, True) * (parameter.kind is bool) for parameter in named)
    return next((tuple(choices) for choices in listed if choices and value in (..., *choices)), ())


def _set_otherwise(role: str, base: Exchange) -> Iterator[Neighbour]:
    """Yield the call with a setting changed: to what is nearly the same, and to what isn't."""
    probe, value = base.probe, base.probe.asked.get(role)
    near = (next(nearly(value, kept), None) for kept in KEPT.values()) if isinstance(value, float) else ()
    later = (value + 1,) if isinstance(value, int) else ()
    other = (each for each in _choices(role, value) or others(role) or later if each != value)
    for each in (*itertools.islice(other, VALUES), *near):  # what is nearly the same may be answered alike
        if each is not None:
            yield Neighbour(replace(base, probe=probe.having(**{role: each})), base, role)


def _narrower(base: Exchange) -> Iterator[Neighbour]:
    """Yield the call at half its width."""
    width = int(base.probe.settings.get("width", 0))
    cut = {
        name: value[..., : width // 2]
        for name, value in _given(base).items()
        if isinstance(value, np.ndarray) and value.ndim > 1 and value.shape[-1] == width and not is_position(name)
    }
    if width > 1:
        yield Neighbour(replace(_with(base, cut), probe=base.probe.having(width=width // 2)), base, "width")


def _of_places(answered: Sequence[Exchange]) -> Iterator[tuple[Exchange, Beside]]:
    """Yield calls for every argument that holds positions, and for all of them together: a long row, several rows, a very long one."""
    base, batch = _small(answered, _tokens), _small(answered, _rows)
    names = [name for name, value in _given(base).items() if _placed(name, value)]
    for some in [*([name] for name in names), *([names] if len(names) > 1 else [])]:
        moved = partial(_moved, some, _room(some, answered))
        yield base, moved
        yield batch, partial(_in_rows, some)
        if len(names) < PAIR:
            yield _sized(base, MANY), partial(_first, moved)
    for name, value in _given(base).items():
        if isinstance(value, int):
            yield base, partial(_counted, name)


def _room(names: Sequence[str], answered: Sequence[Exchange]) -> Room:
    """Return between which positions answers came."""
    ends = [(int(value.min()), int(value.max())) for each in answered for name, value in _given(each).items() if name in names]
    return Room(min(low for low, _ in ends), max(high for _, high in ends), np.array([], dtype=np.int64))


def _moved(names: Sequence[str], room: Room, base: Exchange) -> Iterator[Neighbour]:
    """Yield the call with other positions: reordered first."""
    changes, what = changes_of_positions(room), " and ".join(names)
    along = [changes["reordered"], *(change for kind, change in changes.items() if kind != "reordered")]
    across: list[Row] = [*AXES.values(), *map(_across, along)] if all(base.arrays[name].ndim > 1 for name in names) else []
    for change in (*along, *across):
        yield from _beside(base, {name: change(base.arrays[name]) for name in names}, what)
    changes = changes_of_positions(replace(room, highest=room.highest + 1))
    for kind, by in MOVED.items():
        far = _with(base, {name: value + by for name, value in _given(base).items() if _placed(name, value)})
        yield from _beside(far, {name: changes[kind](far.arrays[name]) for name in names}, what)


def _across(change: Row) -> Row:
    return lambda rows: change(rows.swapaxes(-1, -2)).swapaxes(-1, -2)


def _in_rows(names: Sequence[str], base: Exchange) -> Iterator[Neighbour]:
    """Yield the call with a row of positions for each sequence, of which one or two differ."""
    placed = {name: value for name, value in _given(base).items() if _placed(name, value)}
    rows = {name: np.stack([np.roll(value, row) for row in range(_batch(base))]) for name, value in placed.items() if value.ndim == 1}
    base = _with(base, rows)
    for change in ROWS.values():
        yield from _beside(base, {name: change(base.arrays[name]) for name in names}, " and ".join(names))


def _first(beside: Beside, base: Exchange) -> Iterator[Neighbour]:
    return itertools.islice(beside(base), 1)


def _counted(name: str, base: Exchange) -> Iterator[Neighbour]:
    """Yield the call with one token more, or one position later."""
    yield from _beside(base, {name: base.arrays[name] + 1}, name)


def _of_numbers(answered: Sequence[Exchange]) -> Iterator[tuple[Exchange, Beside]]:
    """Yield calls for every array of numbers: of a long row, of several rows, and of a very long one."""
    base, batch = _small(answered, _tokens), _small(answered, _rows)
    for name, value in _given(base).items():
        if isinstance(value, np.ndarray) and not is_position(name):
            changed = partial(_changed, name)
            yield base, changed
            yield batch, changed
            if sum(_placed(*each) for each in _given(base).items()) < PAIR:
                yield _sized(base, MANY), partial(_first, changed)


def _changed(name: str, base: Exchange) -> Iterator[Neighbour]:
    """Yield the call with other numbers in an array."""
    for change in changes_of_numbers(base.arrays[name]).values():
        yield from _beside(base, {name: change(base.arrays[name])}, name)


def _of_dtypes(answered: Sequence[Exchange]) -> Iterator[tuple[Exchange, Beside]]:
    """Yield a call that is made beside itself in fewer bits."""
    yield _small(answered, _tokens), _beside_coarser


def _beside_coarser(base: Exchange) -> Iterator[Neighbour]:
    """Yield the call beside itself in fewer bits."""
    coarser = COARSER.get(base.probe.dtype)
    if coarser is not None:
        yield Neighbour(base, replace(base, probe=base.probe.at(coarser)), "dtype")


def _finer(base: Exchange) -> Iterator[Neighbour]:
    """Yield the call in more bits, beside itself."""
    finer = FINER.get(base.probe.dtype)
    if finer is not None:
        yield Neighbour(replace(base, probe=base.probe.at(finer)), base, "dtype")


def _of_crowds(answered: Sequence[Exchange]) -> Iterator[tuple[Exchange, Beside]]:
    """Yield a call for every array: of many others that differ in it, some may have its key where this is a number of few bits."""
    base = _small(answered, _tokens)
    for name, value in _given(base).items():
        if isinstance(value, np.ndarray) and value.ndim > 0:
            yield base, partial(_crowd, name)


def _crowd(name: str, base: Exchange) -> Iterator[Neighbour]:
    """Yield calls with the numbers of an array in other orders."""
    orders = np.random.default_rng(0)
    calls = [_with(base, {name: orders.permuted(base.arrays[name], axis=-1)}) for _ in range(2 * CROWD)]
    yield from (Neighbour(call, beside, name) for call, beside in zip(calls[::2], calls[1::2], strict=True))
