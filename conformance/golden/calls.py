"""Draw small calls inside a declaration, for the oracle to answer: from what models use and from where mistakes show."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import cycle, product

import numpy as np

from conformance.calls.takes import Takes
from conformance.golden import features, grids, places
from conformance.golden.places import Pattern, Room
from conformance.golden.settings import Settings, dealt, settings
from conformance.golden.sizes import AS_MANY_AS_AXES, ROWS, SCENES, Sizes, Sizing
from conformance.spec.arguments import Arguments, Parameters, is_position, on_every_axis
from conformance.spec.constraints import constrained
from conformance.spec.ranges import KERNELS, SATURATIONS
from refimpl.schemes import SCHEMES
from refimpl.spec import Law, Operation, axis_names, fixed_size

Generator = np.random.Generator
#: What an operation looks up or averages: its result is as large.
PASSED_ON = ("v", "table")
Arrays = Mapping[str, np.ndarray]
#: What a mask is tried by: keys that are large against the query that sees the fewest, or where none may look, or nothing; how large.
MASKS = (*product(("opposing", "outweighing"), features.OUTWEIGHING), ("none", 0.0))
#: How numbers of one call differ from plain ones: energy in few pairs, magnitudes that overflow when squared or are nothing in half
#: precision, large logits, a power of two.
MANNERS = ("plain", "sparse", "huge", "tiny", "plain", "loud", "plain", "scaled")
#: Whether the positions of tokens, or of queries and of keys, have rows of their own for a batch.
BATCHED = ((True, True), (False, False), (True, False), (False, True))
#: Every so many calls of an operation that takes real positions have some that aren't whole.
REAL_EVERY = 4
#: Every so many calls that list grids have positions anywhere beyond the last.
BEYOND_EVERY = 4
#: Positions with a fraction are numbers below 2, times two to this power at most: half precision has no fractions there.
FARTHEST_REAL = 13
#: The last position of a sweep; the numbers of a longer input that holds positions for code that counts them, and what else it holds.
SWEPT, LONGER = 4_096, 1 << 20
BESIDE_TOKENS = frozenset(("batch", "head", "query_head", "head_dim", "dim"))
#: Weights of distances are drawn as if keys lay so far away at least.
NEARBY = 1 << 9
#: How many rows a small projection has at most; calls at real sizes have more.
PROJECTED = 512
#: After so many calls without arrays that were all drawn before, nothing new is left.
EXHAUSTED = 200


def drawn(operation: Operation, *, restrictions: Mapping[str, object], takes: Takes, dtype: str, seed: int) -> Iterator[Arguments]:
    """Yield small calls inside a declaration, the same for the same arguments; without end where new ones can be drawn."""
    rng = generator(operation, dtype, seed)
    source = settings(operation, restrictions, rng, rows=PROJECTED)
    if not operation.arrays:
        yield from _once(source)
        return
    hands = _Hands(rng)
    for number, parameters in enumerate(source):
        sizing = Sizing(operation, parameters, takes, next(hands.scenes), next(hands.rows))
        batched = (False, False) if takes.one_row else hands.batched(sizing)
        yield _Call(operation, parameters, takes, dtype, rng, hands, number, sizing.draw(rng), batched, hands.dyadic(parameters)).draw()


def of_sizes(
    operation: Operation, every: Iterable[tuple[Settings, Sizes, tuple[bool, bool]]], takes: Takes, dtype: str, rng: Generator
) -> Iterator[Arguments]:
    """Yield a call for each setting of parameters, with sizes of axes, and with rows of positions or without."""
    hands = _Hands(rng)
    for number, (parameters, sizes, batched) in enumerate(every):
        yield _Call(operation, parameters, takes, dtype, rng, hands, number, sizes, batched, hands.dyadic(parameters)).draw()


def generator(operation: Operation, *words: object) -> Generator:
    """Return random numbers that depend on the operation and some words alone."""
    digest = hashlib.sha256(repr((operation.name, *words)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def _once(source: Iterator[Settings]) -> Iterator[Arguments]:
    """Yield each call without arrays once."""
    came: set[bytes] = set()
    old = 0
    for parameters in source:
        call = Arguments({}, parameters)
        old = old + 1 if call.key in came else 0
        if old == 0:
            came.add(call.key)
            yield call
        elif old > EXHAUSTED:
            return


@dataclass
class _Hands:
    """What takes turns from call to call."""

    rng: Generator
    scenes: Iterator[str] = field(init=False)
    rows: Iterator[int] = field(init=False)
    manners: Iterator[str] = field(init=False)
    masks: Iterator[tuple[str, float]] = field(init=False)
    patterns: dict[tuple[Pattern, ...], Iterator[Pattern]] = field(init=False, default_factory=dict)
    batches: dict[str, Iterator[tuple[bool, bool]]] = field(init=False)
    fineness: dict[str, bool] = field(init=False, default_factory=dict)
    uneven: Iterator[bool] = field(init=False, default_factory=lambda: cycle((True, False)))

    def __post_init__(self) -> None:
        """Begin every turn."""
        self.scenes, self.rows, self.manners = dealt(SCENES, self.rng), dealt(ROWS, self.rng), dealt(MANNERS, self.rng)
        self.masks = dealt(MASKS, self.rng)
        self.batches = {scene: dealt(BATCHED, self.rng) for scene in SCENES}

    def pattern(self, patterns: tuple[Pattern, ...]) -> Pattern:
        """Return the next of the patterns that are taken; with negative ones among them those come early."""
        return next(self.patterns.setdefault(patterns, dealt(patterns, self.rng)))

    def batched(self, sizing: Sizing) -> tuple[bool, bool]:
        """Return whether positions have rows of their own: where as many as axes, they do; where as many tokens, they don't."""
        drawn = next(self.batches[sizing.scene])
        alike = AS_MANY_AS_AXES.get(sizing.scene) if sizing.on_axes else None
        return drawn if alike is None else (alike == "batch", alike == "batch")

    def dyadic(self, parameters: Settings) -> bool:
        """Return in turn, of each combination of conventions, whether numbers are dyadic or use every bit of the significand."""
        conventions = str([value for value in parameters.values() if isinstance(value, str | bool)])
        self.fineness[conventions] = not self.fineness.get(conventions, len(self.fineness) % 2 == 0)
        return self.fineness[conventions]


@dataclass(frozen=True)
class _Call:
    """One call in the making."""

    operation: Operation
    parameters: Settings
    takes: Takes
    dtype: str
    rng: Generator
    hands: _Hands
    number: int
    sizes: Sizes
    batched: tuple[bool, bool]
    dyadic: bool

    def draw(self) -> Arguments:
        """Draw every array and make them fit each other."""
        places = self._places()
        made = {**places, **self._numbers(features.reach(places))}
        if self.parameters.get("causal") and "k" in made and self.dtype != "float16" and (self._free or hides(made)):
            made |= self._disguised(made)
        fitted = constrained(self.operation.name, {name: made[name] for name in self.operation.arrays}, self.parameters)
        whole = self.operation.integers
        arrays = {name: a if name in whole or a.dtype.kind == "i" else features.exact(a, self.dtype) for name, a in fitted.items()}
        return Arguments({name: arrays[name] for name in self.operation.arrays}, self.parameters)

    def _shape(self, name: str, *, batched: bool) -> tuple[int, ...]:
        axes = self.operation.arrays[name]
        if axes == "...":
            return (self.sizes["..."],)
        rank = len(axes.split()) - (0 if batched else axes.count("["))
        return tuple(self.sizes[axis] for axis in axis_names(axes, rank) or ())

    def _places(self) -> dict[str, np.ndarray]:
        names = [name for name in self.operation.arrays if is_position(name)]
        if not names:
            return {}
        room, takes = self._room(names[0])
        empty = np.empty(self._shape(names[0], batched=self.batched[0]), dtype=np.int64)
        if names[0] in self.operation.numbers and not self.takes.whole and self.number % REAL_EVERY == REAL_EVERY - 1:
            return {names[0]: self._real(empty.shape, room)}
        pattern = self.hands.pattern(places.patterns(room, takes, alone=len(names) == 1))
        if len(names) > 1:
            return self._two(names, room, pattern, takes)
        return {names[0]: on_every_axis(self.operation.arrays[names[0]], empty, lambda a: self._rows(a.shape, room, pattern, takes))}

    def _rows(self, shape: tuple[int, ...], room: Room, pattern: Pattern, takes: Takes) -> np.ndarray:
        """Draw positions; of those that have several rows, every second time uneven ones."""
        uneven = math.prod(shape[:-1]) > 1 and next(self.hands.uneven)
        return places.rows(self.rng, shape, room, pattern, takes, uneven=uneven)

    def _room(self, name: str) -> tuple[Room, Takes]:
        """Return where positions lie and how; code that counts gets others inside of longer inputs, in every second call."""
        lowest = max(self.takes.lowest or 0, 0) if name in self.operation.from_zero else self.takes.lowest
        room = places.room(self.parameters, self.sizes, replace(self.takes, lowest=lowest))
        if grids.ends(self.parameters) and self.number % BEYOND_EVERY != BEYOND_EVERY - 1:
            room = places.among(self.parameters, room, self.takes)
        apart = "causal" not in self.operation.parameters and self.number % 2 == 1
        if self.operation.arrays[name] == "...":
            return room, replace(self.takes, positions="any")
        if not (self.takes.counted and apart):
            return room, self.takes
        reach = longest(self.operation, self.parameters, self.sizes, self.takes) - 1
        return places.nearer(room, reach, self.takes), replace(self.takes, positions="any", queries="any")

    def _two(self, names: list[str], room: Room, pattern: Pattern, takes: Takes) -> dict[str, np.ndarray]:
        """Draw the positions of queries and keys, with a batch on both sides, one, or none."""
        batched = (self.batched[0], self.batched[0]) if takes.queries == "at_end" else self.batched
        keys = self._rows(self._shape(names[1], batched=any(batched)), room, pattern, takes)
        queries = places.queries_of(self.rng, keys, self.sizes["query"], room, pattern, takes)
        # Code that counts may get keys up to a query that stands after them all, and a bias may count from the last of them.
        queries = np.minimum(queries, keys.max()) if self.takes.counted and not takes.counted else queries
        queries, keys = (rows[0] if rows.ndim > 1 and not kept else rows for rows, kept in zip((queries, keys), batched, strict=True))
        if self.parameters.get("causal"):
            keys = places.seen(queries, keys, room, 2 if keys.shape[-1] > 2 and self._free else 1)
        return {names[0]: queries.copy(), names[1]: keys}

    @property
    def _free(self) -> bool:
        """Whether queries and keys may stand anywhere."""
        return not self.takes.counted and self.takes.queries == "any"

    def _disguised(self, made: Arrays) -> Arrays:
        """Return the arrays that are to be others, so that a mask is tried."""
        mask, size = next(self.hands.masks)
        if mask == "opposing":
            return opposing(alone(made) if self._free else made, size)
        return {"k": outweighing(made, size)} if mask == "outweighing" else {}

    def _real(self, shape: tuple[int, ...], room: Room) -> np.ndarray:
        """Draw positions that aren't all whole, exact in the dtype: a half first, and the last far away where dtypes have fractions."""
        exponents = self.rng.integers(0, FARTHEST_REAL, shape)
        exponents[..., -1] = FARTHEST_REAL
        values = features.full(self.rng, shape, self.dtype) * np.exp2(exponents)
        if room.lowest >= 0:
            values = np.abs(values)
        if self.rng.random() < 0.5 or shape[-1] > 1:
            values[..., 0] = 0.5
        return np.asarray(np.clip(values, room.lowest, room.highest))

    def _numbers(self, reach: int) -> dict[str, np.ndarray]:
        names = [name for name in self.operation.arrays if not is_position(name)]
        manner = next(self.hands.manners)
        batched = bool(self.rng.integers(2)) and not self.takes.one_row
        numbers = {name: self._number(name, manner, reach, batched=batched) for name in names}
        if {"cos", "sin"} <= numbers.keys() and self.rng.integers(2):
            numbers["cos"], numbers["sin"] = features.circle(self.rng, numbers["cos"].shape, self.dtype)
        return numbers

    def _number(self, name: str, manner: str, reach: int, *, batched: bool) -> np.ndarray:
        shape = self._shape(name, batched=batched)
        if name == "saturation":
            limit = self._largest_saturation()
            return np.asarray(self.rng.choice([value for value in SATURATIONS if value <= limit], shape))
        # Angles by dyadic frequencies are exact or not by chance, which the same angles of another axis then aren't.
        dyadic = self.dyadic and name != "frequencies"
        plain = features.dyadic(self.rng, shape) if dyadic else features.full(self.rng, shape, self.dtype)
        if name == "distance_weight":
            return features.to_tell(self.rng, plain, max(reach, NEARBY))
        if name.endswith("factors"):
            return np.asarray(plain * np.exp2(self.rng.integers(0, 6)))
        if name in KERNELS and not self.dyadic:
            return np.asarray(plain * np.exp2(self.rng.integers(*KERNELS[name], shape)))
        return self._mannered(name, plain, manner)

    def _largest_saturation(self) -> float:
        if "q" in self.operation.arrays:
            return 3.0
        return 10.0 if self.dtype == "float16" else 80.0

    def _mannered(self, name: str, plain: np.ndarray, manner: str) -> np.ndarray:
        axes = self.operation.arrays[name]
        linear = Law.LINEAR in laws(self.operation)
        passed_on = name in PASSED_ON or (linear and axes in self.operation.results.values())
        if manner in ("huge", "tiny") and passed_on:
            return plain * 2.0 ** (features.HUGE if manner == "huge" else features.TINY)[self.dtype]
        if manner == "loud" and not linear and {"query", "head_dim"} <= {*axes.split()}:
            loud = self.rng.random((*plain.shape[:-1], 1)) < 1 / 2
            loud[..., 0, :] = True
            return np.where(loud, features.LOUD[self.dtype] * plain, plain)
        if manner == "scaled":
            return plain * 2.0 ** int(self.rng.integers(-4, 3))
        if manner == "sparse" and "layout" in self.parameters and name != "v":
            return self._sparse(name, plain)
        return plain

    def _sparse(self, name: str, plain: np.ndarray) -> np.ndarray:
        """Keep the first and the slowest pairs of the axis whose pairs turn, where these are summed: a sum would hide a wrong one."""
        axes = self.operation.arrays[name].split()
        width = "dim" if "dim" in self.parameters else "head_dim"
        apart = "causal" not in self.parameters and any(width in result.split() for result in self.operation.results.values())
        if apart or width not in axes or plain.shape[axes.index(width)] % 2:
            return plain
        turned = np.moveaxis(plain, axes.index(width), -1)
        kept = features.sparse(turned, str(self.parameters["layout"]))
        return np.ascontiguousarray(np.moveaxis(kept, -1, axes.index(width)))


def hides(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether the query that sees the fewest keys doesn't see all of them."""
    queries, keys = (np.atleast_2d(arrays[name])[0] for name in ("query_positions", "key_positions"))
    return bool(keys.max() > queries.min())


def outweighing(arrays: Arrays, size: float) -> np.ndarray:
    """Return keys of which those are so large that no query sees, or else the last that one doesn't: they must not be looked at."""
    queries, keys, k = arrays["query_positions"], arrays["key_positions"], arrays["k"]
    farthest, nearest = queries.max(axis=-1, keepdims=True), queries.min(axis=-1, keepdims=True)
    unseen = keys > farthest
    if not unseen.any():
        unseen = (keys == keys.max()) & (keys > nearest)
    return np.where(_of_keys(unseen, k), _toward(arrays, size), k)


def opposing(arrays: Arrays, size: float) -> Arrays:
    """Return keys that are large and against the query that sees the fewest: any number that stands for a hidden logit outweighs them."""
    queries, keys, k = arrays["query_positions"], arrays["key_positions"], arrays["k"]
    seen = keys <= queries.min(axis=-1, keepdims=True)
    return {"query_positions": queries, "k": np.where(_of_keys(seen, k), -_toward(arrays, size), k)}


def alone(arrays: Arrays) -> Arrays:
    """Return a call whose lowest query sees one key only, at its own position: what it gives is certain, however large the logit."""
    queries, keys = arrays["query_positions"].copy(), arrays["key_positions"]
    first = keys.min(axis=-1)
    queries[..., _lowest(arrays)] = first if queries.ndim == keys.ndim else first.max()
    return {**arrays, "query_positions": queries}


def _toward(arrays: Arrays, size: float) -> np.ndarray:
    """Return large keys with the signs of the query that sees the fewest: where nothing turns them, their product is large.

    Where queries are loud the keys are less so: no logit comes near a number that models take for infinity.
    """
    q, k, lowest = arrays["q"], arrays["k"], _lowest(arrays)
    loudness = 2.0 ** max(math.ceil(math.log2(np.abs(q).max())) - 1, 0)
    return np.asarray(size / loudness * np.sign(q[:, :: q.shape[1] // k.shape[1], lowest : lowest + 1]) * np.abs(k))


def _lowest(arrays: Arrays) -> int:
    """Return which query stands lowest, of the first row."""
    return int(np.atleast_2d(arrays["query_positions"])[0].argmin())


def _of_keys(chosen: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return what is said of keys' positions for every batch row, head and channel."""
    return np.broadcast_to(np.atleast_2d(chosen), (k.shape[0], k.shape[2]))[:, None, :, None]


def longest(operation: Operation, parameters: Parameters, sizes: Sizes, takes: Takes) -> int:
    """Return how many positions from 0 on a call may hold that stays small; where code counts, tables of queries and keys are square."""
    axes = {*" ".join((*operation.arrays.values(), *operation.results.values())).replace("[", "").replace("]", "").split()}
    beside = math.prod(sizes.get(axis) or fixed_size(axis, parameters) or 1 for axis in axes & BESIDE_TOKENS)
    paired = any({"query", "key"} <= set(words.split()) for words in operation.results.values())
    return min(SWEPT + 1, math.isqrt(LONGER // beside) if paired and takes.counted else LONGER // beside)


def laws(operation: Operation) -> tuple[Law, ...]:
    """Return what the operation's scheme claims of it."""
    scheme, _, name = operation.name.partition(".")
    return tuple(SCHEMES[scheme].laws.get(name, ()))
