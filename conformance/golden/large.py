"""Draw calls at real sizes: many heads, long sequences and odd tails, with the elements of their results that are to be judged."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from conformance.calls.takes import Takes
from conformance.golden import features, places, sampling
from conformance.golden.settings import MODEL_EVERY, settings
from conformance.spec.arguments import Arguments, Parameters, is_position, result_shape
from conformance.spec.choices import candidates
from conformance.spec.constraints import constrained
from conformance.spec.ranges import WIDTHS
from refimpl.spec import Operation, axis_names, fixed_size

Generator = np.random.Generator
Arrays = dict[str, np.ndarray]
#: No array holds more numbers; a call with wider heads gets fewer of them.
MOST, MOST_AT_FULL = 9 << 20, 1 << 25
#: How many elements of a result are judged, at least and at most; of rows that weigh all keys so many at least, and of each so many.
FEWEST, ELEMENTS, ROWS, EACH = 12, 320, 3, 3
#: How many numbers the square of a bias holds, of all heads.
SQUARE = 1 << 26
#: How wide queries are at most whose positions are projected: every distance takes the square of it.
PROJECTED = 16
#: How many angles the encodings of a judged row's keys have together, where a declaration asks for wider ones.
ANGLES = 1 << 16
#: How many channels of a judged query aren't zero, where all keys are weighed.
LIVE = 1
#: Axes of queries, and of a matrix.
FULL, MATRIX = 4, 2
#: How many keys a cache keeps that slides where no window is declared, and what multiplies those before them.
WINDOW, EARLY = 4_096, 256.0
#: How many products of channels the oracle is asked for in one call.
PRODUCTS = 800
#: Real inputs repeat after so many numbers: a prime, so that no two rows are alike.
POOL = 65_521
GROWING = frozenset({"token", "query", "key", "offset", "distance", "..."})


@dataclass(frozen=True)
class Large:
    """A call at a real size, the flat indices of what is judged of every result, and how to make it: non-contiguous, and how often."""

    arguments: Arguments
    at: Mapping[str, np.ndarray]
    strided: bool = False
    times: str = "once"


@dataclass(frozen=True)
class Room:
    """How large a call is: batch, query heads per key head, tokens (or queries), keys, width of a head, how its positions run, a mask."""

    batch: int
    heads: int
    tokens: int
    keys: int
    width: int
    group: int = 1
    runs: str = "counted"
    causal: bool = False

    def size(self, axis: str) -> int:
        """Return the size of an axis that no parameter fixes."""
        return {
            "batch": self.batch,
            "key": self.keys,
            "distance": self.tokens + self.keys,
            **dict.fromkeys(("head_dim", "dim"), self.width),
            "pair": self.width // 2,
            "key_head": self.heads // self.group,
            **dict.fromkeys(("head", "query_head"), self.heads),
        }.get(axis, self.tokens)


#: Orders of a few tokens more than small calls have, which are told from one another by what lies between the ends.
ORDERS = {
    each.__name__: each
    for each in (places.disordered, places.repeated, places.negative, places.padded, places.listed, places.restarted)
}
#: Orders in which distances are more than the positions' own integers hold.
APART = {each.__name__: each for each in places.SIDES}
#: Vectors that are worked out token by token. Those that are compared with their parts come second and third: more rows of tokens, and
#: more batches times heads, than 16 bits count.
TOKENS = (
    Room(2, 2, 129, 129, 32, runs="disordered"),
    Room(1, 65, 1_025, 1_025, 16, group=65),
    Room(513, 128, 1, 1, 8, runs="rows"),
    Room(2, 1, 65_539, 65_539, 16, runs="rows"),
    Room(5, 9, 257, 65, 128, group=3, runs="rows"),
    Room(3, 257, 9, 10, 256, runs="late"),
    Room(33, 2, 65, 2_049, 144, runs="disordered"),
    Room(2, 8, 17, 65, 1_026, runs="late"),
    *(Room(1, 1, 9, 9, 16, runs=order) for order in ORDERS),
)
TOKENS_AT_FULL = (
    Room(1, 32, 4_096, 4_096, 128),
    Room(2, 40, 513, 513, 64, runs="rows"),
    Room(1, 1, 131_075, 131_075, 64, runs="late"),
    Room(1, 160, 129, 129, 128, runs="shuffled"),
)
#: Encodings, whose tokens have neither heads nor a batch.
ENCODINGS = (
    Room(1, 3, 129, 129, 64, runs="disordered"),
    Room(1, 33, 8_195, 8_195, 64),
    Room(1, 40, 257, 257, 1_024, runs="late"),
    Room(1, 160, 33, 33, 16_384, runs="shuffled"),
    Room(1, 3, 65_539, 65_539, 16),
    *(Room(1, 3, 9, 9, 64, runs=order) for order in ORDERS),
)
ENCODINGS_AT_FULL = (Room(1, 32, 32_771, 32_771, 128), Room(1, 32, 4_097, 4_097, 768, runs="late"))
#: Biases of queries and keys: square, many heads, long, and one query in decoding with more keys than 16 bits count.
BIASES = (
    Room(1, 3, 33, 129, 64, runs="shuffled"),
    Room(1, 12, 257, 257, 64),
    Room(1, 257, 3, 2_049, 64),
    Room(1, 40, 65, 513, 64, runs="late"),
    Room(1, 2, 2_051, 2_051, 64),
    Room(1, 9, 1, 65_541, 64),
    Room(1, 160, 5, 33, 64, runs="shuffled"),
    *(Room(1, 2, 3, 9, 64, runs=order) for order in APART),
    Room(1, 2, 205, 333, 64),
)
BIASES_AT_FULL = (Room(1, 2, 2_049, 2_049, 64), Room(1, 71, 129, 257, 64, runs="shuffled"), Room(1, 32, 5, 8_195, 64, runs="late"))
#: Attention: few keys but one more than a tile, groups, batches, many heads, wide ones, lengths of several tiles, more keys than a cache
#: keeps that slides, lengths that are one more than a multiple of 160, 176 or 192, and some that leave 13 rows over of tiles of 16, 32 and
#: 64, and 77 of tiles of 128: the last row may come out right, unlike those beside it.
ATTENTION = (
    Room(2, 10, 5, 65, 16, group=5, runs="one side"),
    Room(1, 6, 97, 257, 80, group=3, causal=True),
    Room(35, 128, 1, 5, 8, group=128, runs="ragged", causal=True),
    Room(2, 8, 3, 2_049, 128, group=8, runs="disordered"),
    Room(7, 12, 10, 10, 264, group=3, runs="rows", causal=True),
    Room(2, 10, 3, 257, 16, group=10, runs="ragged", causal=True),
    Room(1, 40, 65, 129, 64, group=5, causal=True),
    Room(1, 128, 2, 33, 64, group=16, runs="late"),
    Room(5, 4, 3, 17, 576, group=2, runs="late"),
    Room(1, 2, 4, 1_025, 200, group=2, runs="shuffled", causal=True),
    Room(1, 1, 1, 4_355, 16),
    Room(1, 4, 1, 2_113, 64, group=4),
    Room(1, 4, 1, 1_921, 64, group=2, causal=True),
    Room(1, 2, 577, 801, 16, group=2, runs="shuffled", causal=True),
    *(Room(1, 2, 9, 9, 16, group=2, runs=order, causal=True) for order in ("disordered", "repeated", *APART)),
    Room(2, 2, 205, 333, 16, group=2),
)
ATTENTION_AT_FULL = (
    Room(1, 32, 129, 1_025, 128, group=4, runs="late"),
    Room(7, 20, 65, 33, 80, group=2, runs="rows"),
    Room(1, 2, 1, 8_195, 64, group=2),
    Room(513, 128, 1, 5, 8, group=64, runs="late"),
)
#: Calls of several rows, heads and tokens, beside which neighbours are asked for: each row from elsewhere, or in an order of its own;
#: where queries meet keys they are smaller, and smallest where positions are projected.
BESIDE = tuple(Room(3, 4, 33, 33, 16, runs=runs) for runs in ("rows", "disordered"))
BESIDE_MEETING = tuple(Room(3, 4, 9, 17, 8, group=2, runs=runs, causal=runs == "rows") for runs in ("rows", "disordered"))
NARROW = 4
#: How many calls of any size follow those that are planned, the most of each axis in them, and of vectors, or of pairs of a query and key.
ANY = {"smoke": 0, "core": 2, "full": 24}
UP_TO = {"batch": 600, "heads": 160, "tokens": 16_384, "keys": 16_384}
TOGETHER = 1 << 16
#: The same where queries meet keys: layers that take one row of a batch at a time need their time for each.
MEETING = {"batch": 16, "heads": 160, "tokens": 1_024, "keys": 1_024}

#: How often the first calls are made, and those that follow.
TIMES = ("often", "twice", "twice", "once")

Plans = tuple[tuple[Room, ...], tuple[Room, ...]]


def large(operation: Operation, *, restrictions: Mapping[str, object], takes: Takes, dtype: str, seed: int, level: str) -> Iterator[Large]:
    """Yield calls at real sizes inside a declaration: one small one at ``smoke``, and the largest ones at ``full`` only.

    Those of ``beside`` are no larger than their neighbours need.
    """
    if not _axes(operation) & GROWING:
        return
    most = MOST_AT_FULL if level == "full" else MOST
    for number, planned in enumerate(_rooms(operation, level)):
        rng = np.random.default_rng((seed, number, *operation.name.encode()))
        whole = planned or _any(operation, rng)
        room = replace(whole, width=min(whole.width, PROJECTED)) if projected(operation) else whole
        parameters = _parameters(operation, restrictions, room, rng, number)
        if parameters is not None:
            call = _call(operation, parameters, _fitting(operation, parameters, room, takes, most), takes, dtype, rng)
            at = _judged(operation, call, rng)
            strided, times = number % 2 == 0 and not takes.contiguous, TIMES[min(number, len(TIMES) - 1)]
            thinned = call if level == "beside" else _thinned(operation, call, at, rng)
            yield Large(thinned, at, strided=strided, times=times if level != "smoke" else "twice")


def _rooms(operation: Operation, level: str) -> tuple[Room | None, ...]:
    """Return the rooms of a level, none where it may be any: at full only where queries meet keys, since layers may need long."""
    if level == "beside":
        rooms = BESIDE_MEETING if "q" in operation.arrays else BESIDE
        return tuple(replace(room, width=NARROW) for room in rooms) if projected(operation) else rooms
    core, full = _plans(operation)
    core = tuple(room for room in core if room.keys <= WINDOW or not (weighs(operation) and _learned(operation)))
    planned = {"smoke": core[:1], "core": core, "full": core + full}[level]
    return (*planned, *[None] * (ANY[level] if _apart(operation) or level == "full" else 0))


def _any(operation: Operation, rng: Generator) -> Room:
    """Return a room of any size: whichever axis comes first may be long, and the others have what is left."""
    paired = not _apart(operation)
    upmost = MEETING if paired else UP_TO
    sizes, left = dict[str, int](), TOGETHER
    for axis in (list(UP_TO)[int(i)] for i in rng.permutation(len(UP_TO))):
        sizes[axis] = int(np.exp2(rng.uniform(0.0, math.log2(min(left, upmost[axis]) + 1))))
        left = max(left // sizes[axis], 1) if paired or axis != "keys" else left
    groups = [count for count in range(1, sizes["heads"] + 1) if sizes["heads"] % count == 0]
    runs = ("counted", "shuffled", "late", "rows", "one side")[int(rng.integers(5))]
    width, group = int(rng.choice(WIDTHS)), int(rng.choice(groups))
    return Room(**{**sizes, "keys": max(sizes["keys"], 2)}, width=width, group=group, runs=runs, causal=bool(rng.integers(2)))


def _axes(operation: Operation) -> set[str]:
    """Return the axes of all arrays."""
    return set(" ".join(operation.arrays.values()).replace("[", " ").replace("]", " ").split())


def _vectors(operation: Operation) -> bool:
    """Whether it takes vectors of tokens, in batches and heads."""
    return any({"batch", "head_dim"} <= set(axes.split()) or "distance" in axes for axes in operation.arrays.values())


def _apart(operation: Operation) -> bool:
    """Whether no result depends on queries and keys together."""
    return "key" not in _axes(operation) or any("key" in axes and "query" not in axes for axes in operation.results.values())


def weighs(operation: Operation) -> bool:
    """Whether each element takes the logits of all keys, as a softmax does: these operations may be causal."""
    return "causal" in operation.parameters


def _learned(operation: Operation) -> bool:
    """Whether what queries and keys meet with depends on tables or weights, so that the oracle has to work for every key."""
    return any("batch" not in axes and not is_position(name) for name, axes in operation.arrays.items())


def projected(operation: Operation) -> bool:
    """Whether queries meet encodings of positions, which have a width of their own."""
    return "q" in operation.arrays and "dim" in operation.parameters


def _plans(operation: Operation) -> Plans:
    if _apart(operation) and "distance" not in _axes(operation):
        return (TOKENS, TOKENS_AT_FULL) if "batch" in _axes(operation) or "[batch]" in _axes(operation) else (ENCODINGS, ENCODINGS_AT_FULL)
    return (ATTENTION, ATTENTION_AT_FULL) if _vectors(operation) else (BIASES, BIASES_AT_FULL)


def _parameters(operation: Operation, restrictions: Mapping[str, object], room: Room, rng: Generator, number: int) -> Parameters | None:
    """Return parameters inside the declaration that agree with each other, with the room's width and heads where these may be had.

    Those of the n-th room are the n-th that are drawn from a released model, where any is inside.
    """
    wishes: Mapping[str, object] = {
        "head_dim": room.width,
        "dim": room.width,
        "num_heads": room.heads,
        "memory": max(room.keys - room.tokens, 0),
        "causal": room.causal,
    }
    wished = {
        name: wishes[name]
        for name, parameter in operation.parameters.items()
        if name in wishes and (name not in restrictions or wishes[name] in candidates(parameter, restrictions[name]))
    }
    return next(islice(settings(operation, {**restrictions, **wished}, rng), MODEL_EVERY * number, None), None) or next(
        settings(operation, restrictions, rng), None
    )


def _fitting(operation: Operation, parameters: Parameters, room: Room, takes: Takes, most: int) -> Room:
    """Return a room whose positions are taken, and whose results hold no more than they may: fewer heads, then fewer tokens."""
    longest = min(_bounds(operation, parameters, room, takes).size, _side(operation, parameters, room, takes))
    if projected(operation) and weighs(operation):
        longest = min(longest, max(ANGLES // int(parameters["dim"]), 2))
    tokens = min(room.tokens, longest, room.keys if takes.queries == "at_end" else longest)
    fits = replace(room, tokens=tokens, keys=min(room.keys, longest))
    while _numbers(operation, parameters, fits) > most and (fits.batch, fits.heads, fits.tokens) != (1, fits.group, 1):
        fits = _half(fits)
    return fits


def _side(operation: Operation, parameters: Parameters, room: Room, takes: Takes) -> int:
    """Return how many queries or keys a bias has at most: code that counts both may build the whole square."""
    if not takes.counted or _vectors(operation) or not any({"query", "key"} <= {*axes.split()} for axes in operation.results.values()):
        return max(room.tokens, room.keys)
    return math.isqrt(SQUARE // int(parameters.get("num_heads", room.heads)))


def _half(room: Room) -> Room:
    """Return a room of half the heads, or, where groups can't be halved, of half the batch, or of half the tokens."""
    if room.heads > room.group:
        return replace(room, heads=room.heads // 2 // room.group * room.group or room.group)
    if room.batch > 1:
        return replace(room, batch=room.batch // 2)
    return replace(room, tokens=room.tokens // 2 + 1 if room.tokens > 2 else 1, keys=room.keys // 2 + 1)


def _bounds(operation: Operation, parameters: Parameters, room: Room, takes: Takes) -> places.Room:
    """Return where positions may lie: in a table of as many rows as tokens, where the operation takes one."""
    return places.room(parameters, {"length": room.size("length")} if "length" in _axes(operation) else {}, takes)


def _numbers(operation: Operation, parameters: Parameters, room: Room) -> int:
    """Return how many numbers the largest array or result holds."""
    every = [*operation.arrays.values(), *operation.results.values()]
    return max(math.prod(_shape(axes, parameters, room, optional=True)) for axes in every)


def _shape(axes: str, parameters: Parameters, room: Room, *, optional: bool) -> tuple[int, ...]:
    if axes == "...":
        return room.tokens, 3
    rank = len(axes.split()) - (0 if optional else axes.count("["))
    return tuple(_size(axis, parameters, room) for axis in axis_names(axes, rank) or ())


def _size(axis: str, parameters: Parameters, room: Room) -> int:
    """Return the size of an axis; key heads are shared by heads that a parameter counts."""
    fixed, free = fixed_size(axis, parameters), room.size(axis)
    if axis == "key_head":
        return math.gcd(free, fixed_size("head", parameters) or free)
    return free if fixed is None else fixed


def _call(operation: Operation, parameters: Parameters, room: Room, takes: Takes, dtype: str, rng: Generator) -> Arguments:
    """Return the arrays of a call of that size."""
    bounds = _bounds(operation, parameters, room, takes)
    shapes = {name: _shape(axes, parameters, room, optional=_has_rows(name, room, takes)) for name, axes in operation.arrays.items()}
    arrays = _on_axes(operation, shapes, lambda each: _positions(each, room.runs, bounds, takes, rng, masked=_masked(room, parameters)))
    for name, shape in shapes.items():
        if name not in arrays:
            plain = numbers(rng, shape, dtype)
            arrays[name] = features.to_tell(rng, plain, features.reach(arrays)) if name == "distance_weight" else plain
    fitted = constrained(operation.name, {name: arrays[name] for name in operation.arrays}, parameters)
    exact = {name: a if is_position(name) or a is arrays[name] else features.exact(a, dtype) for name, a in fitted.items()}
    return Arguments(exact, parameters)


def _masked(room: Room, parameters: Parameters) -> bool:
    """Whether a call has a mask."""
    return room.causal and bool(parameters.get("causal"))


def _on_axes(
    operation: Operation, shapes: Mapping[str, tuple[int, ...]], positions: Callable[[Mapping[str, tuple[int, ...]]], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return the positions of arrays of such shapes; where tokens stand on several axes, others on each."""
    several = {name: shape for name, shape in shapes.items() if is_position(name) and operation.arrays[name].endswith(" axis")}
    found = positions({name: shape for name, shape in shapes.items() if name not in several})
    rows = {name: [positions({name: shape[:-1]})[name] for _ in range(shape[-1])] for name, shape in several.items()}
    return found | {name: np.stack(each, axis=-1) for name, each in rows.items()}


def _has_rows(name: str, room: Room, takes: Takes) -> bool:
    """Whether an array of positions has a row for each of the batch: all of them, or those of queries alone."""
    alone = room.runs == "one side" and name == "query_positions" and takes.queries == "any"
    return room.batch > 1 and (room.runs in ("rows", "disordered", "ragged") or alone) and not takes.one_row


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
            counted = start + np.arange(shape[-1])
            found[name] = counted if takes.counted else _ordered(counted, runs, bounds, takes, rng)
    if "key_positions" in found:
        shape = shapes["query_positions"]
        keys, count = found["key_positions"], shape[-1]
        ragged = runs == "ragged" and keys.ndim > 1 and not takes.counted and takes.queries == "any"
        queries = _ragged(keys, count, rng) if ragged else _queries(keys, count, takes, masked=masked)
        found["query_positions"] = queries if queries.ndim == len(shape) else _turned(queries, shape[0])
    return found


def _ordered(counted: np.ndarray, runs: str, bounds: places.Room, takes: Takes, rng: Generator) -> np.ndarray:
    """Return positions in the order of a room: counted, in any, in any between the ends of each row, or as small calls have them."""
    if counted.ndim > 1 and counted.shape[-1] > 1 and runs == "disordered":
        return np.concatenate([counted[..., :1], rng.permuted(counted[..., 1:-1], axis=-1), counted[..., -1:]], axis=-1)
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


def _judged(operation: Operation, call: Arguments, rng: Generator) -> dict[str, np.ndarray]:
    """Return what is judged of every result of a call, by flat index."""
    return {name: _elements(operation, call, name, rng) for name in operation.results}


def _elements(operation: Operation, call: Arguments, name: str, rng: Generator) -> np.ndarray:
    shape = result_shape(operation, call, name)
    axes = axis_names(operation.results[name], len(shape)) or ()
    cost = _cost(operation, call)
    if weighs(operation):
        return sampling.rows(shape, 3, min(max(PRODUCTS // cost, ROWS), FEWEST), EACH if cost <= WINDOW else 1, rng)
    at = sampling.elements(axes, shape, max(min(ELEMENTS, PRODUCTS // cost), FEWEST), rng)
    return sampling.with_anchors(at, shape[-1]) if axes[-1:] == ("key",) else at


def _thinned(operation: Operation, call: Arguments, at: Mapping[str, np.ndarray], rng: Generator) -> Arguments:
    """Leave few channels in judged queries, and few weights: what is zero costs the oracle nothing, and is nothing special to code."""
    if "q" not in call.arrays or _apart(operation):
        return call
    weights = {name: _few(a, rng) for name, a in call.arrays.items() if "head" in operation.arrays[name].split()[:2] and a.ndim < FULL}
    q = call.arrays["q"].copy()
    for name, flat in at.items():
        judged = np.unique(np.stack(np.unravel_index(flat, result_shape(operation, call, name))[:3]), axis=1)
        for batch, head, query in judged.T:
            q[batch, head, query, np.arange(q.shape[-1]) != _live(q.shape[-1], rng)] = 0.0
    if not weighs(operation):
        return call.with_arrays(q=q, **weights)
    beyond = WINDOW < call.arrays["k"].shape[2] < 2 * WINDOW
    return call.with_arrays(q=q, **weights, **(_early(call) if beyond else _risen(call)))


def _live(width: int, rng: Generator) -> int:
    """Return the channel of a query that isn't zero: one of a fast pair, in either layout, or any; slow pairs hardly turn."""
    return (0, width // 2, int(rng.integers(width)))[int(rng.integers(3))]


def _early(call: Arguments) -> Arrays:
    """Return keys of which those before a window are so large that they are looked at, and values; most others are zero."""
    count = call.arrays["k"].shape[2]
    kept = np.zeros((count, 1))
    kept[: count - WINDOW] = kept[sampling.edges(count)] = 1.0
    factors = {"k": np.where(np.arange(count) < count - WINDOW, EARLY, 1.0)[:, None] * kept, "v": kept}
    return {name: call.arrays[name] * factor for name, factor in factors.items() if name in call.arrays}


def _risen(call: Arguments) -> Arrays:
    """Double the second half of the keys, so that maxima rise, and let values at edges weigh as much as the others, the last alone too.

    Else a running sum that isn't rescaled, or one key forgotten among thousands, would stay below what rounding may do. What is allowed
    goes with the largest value, so all are alike, and positive, in the last channel, which is always judged: there a sum of weights shows
    that is off by a few keys.
    """
    count = call.arrays["k"].shape[2]
    edges = sampling.edges(count)
    louder = np.ones((count, 1))
    louder[edges] = 2.0 ** round(math.log2(count / len(edges)))
    louder[-1] = 2.0 ** round(math.log2(count))
    rising = np.where(np.arange(count) < count // 2, 1.0, 2.0)[:, None]
    averaged = {name: call.arrays[name] * louder for name in ("v", "values") if name in call.arrays}
    for name, array in averaged.items():
        array[..., -1] = np.abs(call.arrays[name][..., -1])
    return {"k": call.arrays["k"] * rising, **averaged}


def _few(weights: np.ndarray, rng: Generator) -> np.ndarray:
    """Leave few rows, or columns where there are no more than two axes, that aren't zero."""
    kept = weights.copy()
    if kept.ndim > MATRIX:
        kept[rng.permutation(kept.shape[0])[LIVE:]] = 0.0
    elif kept.ndim == MATRIX:
        kept[:, rng.permutation(kept.shape[1])[LIVE:]] = 0.0
    return kept


def _cost(operation: Operation, call: Arguments) -> int:
    """Return how many products one element takes: one for each channel of a query, and for each key where it weighs all of them."""
    if _apart(operation) or "q" not in call.arrays:
        return 1
    channels = LIVE * (call.arrays["q"].shape[-1] if projected(operation) else 1)
    return channels * call.arrays["k"].shape[2] if weighs(operation) else channels
