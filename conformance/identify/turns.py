"""A function that may turn vectors, seen as ``turn(x, positions)`` whatever order of axes, form of positions and width it wants."""

import contextlib
import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from conformance.calls.takes import Positions
from conformance.identify.asking import Refused
from conformance.identify.probe import Probe
from conformance.spec import ranges
from conformance.spec.declarations import operations

#: Orders of axes; ``row`` is batch and head in one.
ORDERS = ("batch head token dim", "batch token head dim", "token batch head dim", "row token dim", "token row dim", "token dim")
#: Heads side by side on the last axis.
MERGED = "batch token (head dim)"
#: How positions are given: one row for all, one per sequence, or one per head too.
FORMS = ("token", "row token", "one token", "batch head token")
#: How tables are given besides: with axes of length 1, which vectors of such an order broadcast.
BROADCAST = {
    "batch head token dim": "one one token",
    "batch token head dim": "one token one",
    "token batch head dim": "token one one",
    "token row dim": "token one",
}
FIRST_WIDTHS = (64, 32, 128, 16, 8, 4, 96, 80, 48, 24, 12, 256)
#: The widths that are tried: after the usual ones those that models have besides.
WIDTHS = (*FIRST_WIDTHS, *(width for width in ranges.WIDTHS if width not in FIRST_WIDTHS))
#: Settings that say how wide vectors are.
TOLD = ("width", "bits")
DTYPES = ("float32", "float64", "bfloat16", "float16")
#: The longest input that holds tokens at chosen positions where the function counts for itself.
LONGEST = 4_096
TABLES = ("pair", "tiled", "repeated")
#: Rows of a table that is added.
ROWS = 24
SAME = 1e-6
#: How far apart queries and keys are that come back unlike, which a half format doesn't make them.
APART = 5e-2
#: Where queries and keys are compared that both come back.
FAR = 500
#: How many orders and forms are tried with position 0 alone, at every width.
PATIENCE = 6
#: What says which of several lists of factors counts.
LENGTHS = ("original_length", "length", "max_length", "start_tokens")
#: The only numbers of heads or tokens that code may take, where no exception names one.
COUNTS = (8, 12, 16, 32, 128, 64, 256, 512, 196, 197, 1_024)
#: Numbers in what an exception says, but for the line where it came from, and those that were given.
NUMBER = re.compile(r"(?<![\w.:])\d+(?![\w.])")
GIVEN = {0, 1, 2, 3, 4, 5}
NAMED = 6
#: Arrays with a number for every pair; those called factors divide its frequency, others are exponents.
OF_PAIRS = frozenset(name for known in operations().values() for name, axes in known.arrays.items() if axes == "pair")
FACTORS = "factors"
#: So many widths are tried with numbers that no exception names.
NARROW = 4
UNEVEN = "its result differs between equal vectors of different sequences or heads, or doesn't follow the tokens"


@dataclass(frozen=True)
class Turns:
    """A function as ``turn(x, positions)``: ``x`` is (batch, head, token, width), positions are one row.

    ``length`` is that of a sequence whose last token stands behind the others in every call: for who takes the length from the positions.
    ``heads`` and ``tokens`` are how many it takes, where it takes no other number: the rest are zeros. ``rounded`` is the dtype as which
    its results are read, if that isn't the one of the call.
    """

    probe: Probe
    width: int
    order: str
    form: str
    positions: Positions | Literal["only_zero"] = "any"
    tables: str = "pair"
    result: int = 0
    length: int | None = None
    heads: int | None = None
    tokens: int | None = None
    rounded: str = ""

    @property
    def read_as(self) -> str:
        """The dtype whose rounding results have."""
        return self.rounded or self.probe.dtype

    def __call__(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the result, or raise ``Refused``."""
        if self.length is not None:
            return self._closed(x, positions, self.length)
        if self.positions in ("any", "only_zero"):
            return self.called(x, positions)
        start = 0 if self.positions == "from_zero" else int(positions.min())
        rows = (positions - start).astype(int)
        length = int(rows.max()) + 1
        if length > LONGEST or rows.min() < 0 or not np.array_equal(positions, np.floor(positions)):
            message = f"positions must lie within {LONGEST} of the first, got {positions.max()}"
            raise Refused(message)
        longer = np.zeros((*x.shape[:2], length, x.shape[3]))
        longer[:, :, rows] = x
        return self.called(longer, start + np.arange(length))[:, :, rows]

    def _closed(self, x: np.ndarray, positions: np.ndarray, length: int) -> np.ndarray:
        """Return the result of a call whose last token is that of a sequence, without it."""
        if positions.max() >= length:
            message = f"positions must lie in a sequence of {length}, got {positions.max()}"
            raise Refused(message)
        return self.called(np.append(x, np.zeros_like(x[:, :, :1]), axis=2), np.append(positions, length - 1))[:, :, :-1]

    def called(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the result of one call with exactly these tokens."""
        if self.order == "token dim" and x.shape[0] * x.shape[1] > 1:
            rows = [self.called(row[None, None], positions) for row in x.reshape(-1, *x.shape[2:])]
            return np.concatenate(rows).reshape(x.shape)
        if self.heads is not None and x.shape[1] != self.heads:
            whole = _filled(x, 1, -x.shape[1] % self.heads)
            groups = [self.called(whole[:, i : i + self.heads], positions) for i in range(0, whole.shape[1], self.heads)]
            return np.concatenate(groups, axis=1)[:, : x.shape[1]]
        if self.tokens is not None and x.shape[2] != self.tokens:
            if x.shape[2] > self.tokens:
                message = f"there must be at most {self.tokens} tokens, got {x.shape[2]}"
                raise Refused(message)
            return self.called(_filled(x, 2, self.tokens - x.shape[2]), np.arange(self.tokens))[:, :, : x.shape[2]]
        shaped = arranged(x, self.order)
        probe = self.probe.having(num_heads=x.shape[1]) if self.order == MERGED and self.heads is None else self.probe
        values = probe(**self._arrays(shaped, positions, x.shape))
        value = values[self.result]
        if value.shape != shaped.shape:
            message = f"the result has shape {value.shape} where x has {shaped.shape}"
            raise Refused(message)
        return restored(value, self.order, x.shape)

    @functools.cached_property
    def ignored(self) -> str | None:
        """The argument that says where positions begin and counts for nothing, by its role."""
        role = next(filter(self.probe.takes, ("offset", "positions", "query_positions")), None)
        if role is None or self.positions != "from_zero":
            return None
        x, rows = 1 + np.arange(5 * self.width).reshape(1, 1, 5, -1) % 7 / 4, np.arange(5)
        try:
            return role if np.array_equal(self.called(x, rows), self.called(x, rows + 3)) else None
        except Refused:
            return None

    def unlike(self) -> bool:
        """Whether queries and keys come back, and unlike where the same went in."""
        near = np.zeros(3, dtype=int) if self.positions == "only_zero" else np.arange(3)
        for positions in (np.arange(FAR) if self.positions == "from_zero" else FAR + near, near):  # what fades is alike near position 0
            x = 1 + np.arange(positions.size * self.width).reshape(1, 1, positions.size, -1) % 7 / 4
            shaped = arranged(x, self.order)
            with contextlib.suppress(Refused):
                values = self.probe(**self._arrays(shaped, positions, x.shape))
                same_shape = len(values) > 1 and values[0].shape == values[1].shape == shaped.shape
                return same_shape and not np.allclose(values[0], values[1], atol=APART * np.abs(x).max())
        return False

    def first_of(self) -> Literal["q", "k"]:
        """Return of which of queries and keys the first result is made, where both come back."""
        x = 1 + np.arange(self.width).reshape(1, 1, 1, -1) % 7 / 4
        shaped = arranged(x, self.order)
        arrays = self._arrays(shaped, np.zeros(1, dtype=int), x.shape)
        alike, apart = self.probe(**arrays)[self.result], self.probe(**{**arrays, "k": 0 * shaped})[self.result]
        return "q" if np.array_equal(alike, apart) else "k"

    def reach(self, position: int) -> list[np.ndarray]:
        """Return what a call gives that reaches a position."""
        positions = np.arange(position + 1) if self.positions == "from_zero" else np.array([position])
        return [self.called(np.ones((1, 1, positions.size, self.width)), positions)]

    def _arrays(self, x: np.ndarray, positions: np.ndarray, shape: tuple[int, ...]) -> dict[str, object]:
        needs = self.probe.plan.probed
        given = _formed(positions, self.form, shape)
        arrays: dict[str, object] = {role: x for role in ("x", "q", "k") if role in needs}
        arrays |= {role: given for role in ("positions", "query_positions", "key_positions") if role in needs}
        arrays |= {"offset": int(positions[0]), "tokens": positions.size}
        if "cotangent" in needs:
            arrays |= {"x": np.ones_like(x), "cotangent": x}
        if "table" in needs:
            arrays["table"] = table(self.width)
        if self.probe.plan.given_tables:
            arrays |= _tables(positions, self.width, self.tables, self.form, shape[0])
        return {**arrays, **self.factors()}

    def factors(self) -> dict[str, np.ndarray]:
        """Return the factors, or exponents, of the pairs that a call is given: those that are set, else without effect."""
        return of_pairs(self.probe, self.width // 2)

    def set_to(self) -> dict[str, int]:
        """Return the lengths that a call with factors is set to; the length itself may count without."""
        lengths = LENGTHS if self.factors() else ("length",)
        own = {} if self.length is None else {"length": self.length}
        return {name: self.probe.settings[name] for name in lengths if name in self.probe.settings} | own

    def having(self, **settings: Any) -> "Turns":
        """Return the same with other settings."""
        length = self.length and settings.get("length", self.length)
        return replace(self, probe=self.probe.having(**settings), length=length)


def of_pairs(probe: Probe, pairs: int) -> dict[str, np.ndarray]:
    """Return the number of every pair that a call is given: those that are set, else without effect."""
    without = {name: np.full(pairs, float(name.endswith(FACTORS))) for name in probe.plan.probed if name in OF_PAIRS}
    return {name: probe.settings.get(name, numbers) for name, numbers in without.items()}


def lists(names: Iterable[str], pairs: int) -> dict[str, np.ndarray]:
    """Return such numbers that slow every pair, no two lists alike, which single precision holds exactly."""
    slowing = (1 + np.arange(pairs) / 8, 2 + np.arange(pairs)[::-1] / 4)
    return {name: each if name.endswith(FACTORS) else -each / 16 for name, each in zip(names, slowing, strict=False)}


def table(width: int) -> np.ndarray:
    """Return a table of few rows, no two alike, of numbers that every dtype holds."""
    row, column = np.arange(ROWS)[:, None], np.arange(width)
    return ((37 * row + 11 * column + row * column) % 509 - 254) / 256


def _filled(x: np.ndarray, axis: int, count: int) -> np.ndarray:
    """Return an array with so many zeros at the end of an axis."""
    return np.pad(x, [(0, count if each == axis else 0) for each in range(x.ndim)])


def opened(probe: Probe) -> Turns:
    """Return the first way in which the function takes vectors and positions and returns one vector for each, or raise ``Refused``."""
    refusals: list[str] = []
    ways = list(_ways(probe))
    for turns in ways:
        try:
            positions = _counted(turns)
        except Refused as refusal:
            refusals.append(str(refusal))
            if refusal.hopeless:
                raise
            if _settled(refusals, len(ways) // len(DTYPES)):
                break
            continue
        if positions is not None:
            return replace(turns, positions=positions)
    placed = {"positions", "query_positions", "offset"} & set(probe.plan.probed)
    first = ways[: PATIENCE * len(_widths(probe))]
    at_start = next((turns for turns in first if _starts(turns)), None) if placed else None
    if at_start is not None:
        return replace(at_start, positions="only_zero")
    raise Refused(refusals[0] if refusals else UNEVEN)


def of_one_count(probe: Probe) -> Turns | None:
    """Return the first way in which a function takes one number of tokens, or of heads: one that exceptions name, or a usual one."""
    refusals = [] if "query_positions" in probe.plan.probed else [*_refusals(probe)]
    if not refusals:
        return None
    numbers = Counter(int(number) for reason in refusals for number in NUMBER.findall(reason) if len(number) <= len(str(LONGEST)))
    named = [number for number, _ in numbers.most_common() if number not in GIVEN][:NAMED]
    kinds = ("heads",) if "positions" in probe.plan.probed else ("tokens", "heads")
    widths = FIRST_WIDTHS if named else FIRST_WIDTHS[:NARROW]
    quiet = replace(probe, seen=None)  # what is kept of so many calls fills the memory
    narrow = [turns for turns in _ways(quiet) if turns.probe.dtype == DTYPES[0] and turns.width in widths and turns.tables == "pair"]
    for kind, count in itertools.product(kinds, named or COUNTS):
        for turns in narrow if kind == "tokens" else [turns for turns in narrow if "head" in turns.order]:
            only = replace(turns, tokens=count) if kind == "tokens" else replace(turns, heads=count)
            with contextlib.suppress(Refused):
                positions = _counted(only)
                if positions is not None:
                    return replace(only, probe=replace(only.probe, seen=probe.seen), positions=positions)
    return None


def _refusals(probe: Probe) -> Iterator[str]:
    """Yield why vectors of usual widths are refused."""
    for width in _widths(probe)[:NAMED]:
        try:
            _everywhere(Turns(probe, width, ORDERS[0], FORMS[0]), (2, 3, 5))
        except Refused as refusal:
            yield str(refusal)


def merged(turns: Turns) -> Iterator[Turns]:
    """Yield the function as one of vectors whose heads lie side by side: as many as it is told, or so many and no other number."""
    told = turns.probe.takes("num_heads")
    forms = ("row token", turns.form) if turns.form == "one token" else (turns.form,)
    for form, heads in itertools.product(forms, (1,) if told else COUNTS):
        if turns.order == "row token dim" and turns.width % (2 * heads) == 0:
            yield replace(turns, order=MERGED, form=form, heads=None if told else heads, width=turns.width // heads)


def _starts(turns: Turns) -> bool:
    """Whether position 0 is taken, and no other is."""
    return _answers(turns, np.zeros(5, dtype=int)) and not _answers(turns, np.arange(1, 6))


def _answers(turns: Turns, positions: np.ndarray) -> bool:
    try:
        turns.called(np.ones((2, 3, 5, turns.width)), positions)
    except Refused:
        return False
    return True


def _settled(refusals: list[str], ways: int) -> bool:
    """Whether the same is said whatever the arrays look like, in all ways that one dtype has."""
    last = refusals[-ways:]
    return len(last) == ways and len(set(last)) == 1


def told(probe: Probe) -> int | None:
    """Return how wide vectors are, where a call says so."""
    return next((int(probe.settings[name]) for name in TOLD if probe.takes(name)), None)


def _widths(probe: Probe) -> tuple[int, ...]:
    width = told(probe)
    return WIDTHS if width is None else (width,)


def _ways(probe: Probe) -> Iterator[Turns]:
    tables = TABLES if {"cos", "angles"} & set(probe.plan.probed) else ("pair",)
    for dtype, order in itertools.product(DTYPES, ORDERS):
        for form, table, width in itertools.product(_forms(probe, order), tables, _widths(probe)):
            yield Turns(probe.at(dtype), width, order, form, tables=table)


def _forms(probe: Probe, order: str) -> list[str]:
    """Return how positions, or tables, are given where vectors have such an order of axes: one sequence has one row."""
    placed = {"positions", "query_positions"} & set(probe.plan.probed)
    given = (*FORMS[:2], *filter(None, [BROADCAST.get(order)])) if probe.plan.given_tables else FORMS if placed else FORMS[:1]
    return [form for form in given if (order, form) != ("token dim", "row token")]


def _counted(turns: Turns) -> Positions | None:
    """Return which positions the function takes, if one vector everywhere comes back different at different tokens only.

    Sizes grow from the batch to the tokens, then the other way: an axis that is taken for another may be long enough in one of them.
    """
    x, rows = _everywhere(turns, (2, 3, 5))
    counted = None if rows is None else _kept(turns, x, rows)
    return counted if counted is None or _everywhere(turns, (5, 4, 3))[1] is not None else None


def _everywhere(turns: Turns, sizes: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray | None]:
    """Return one vector at every token of so many sequences and heads, and what comes back of each token, if that is the same for all."""
    x = np.broadcast_to(1 + np.arange(turns.width) % 7 / 4, (*sizes, turns.width)).copy()
    rows = turns.called(x, np.arange(sizes[2])).reshape(-1, sizes[2], turns.width)
    return x, rows[0] if np.allclose(rows, rows[0], atol=SAME * np.abs(rows).max()) else None


def _kept(turns: Turns, x: np.ndarray, counted: np.ndarray) -> Positions | None:
    """Return how positions that don't count up are answered: as they are, from the first on, or not at all."""
    try:
        mixed = turns.called(x, np.array([3, 1, 4, 1, 2]))[0, 0]
    except Refused:
        return "from_zero"
    if np.allclose(mixed, counted[[3, 1, 4, 1, 2]], atol=SAME * np.abs(counted).max()):
        return "any"
    if np.allclose(mixed, counted, atol=SAME * np.abs(counted).max()):
        return "from_zero"
    later = turns.called(x, np.arange(5) + 3)[0, 0]
    return "consecutive" if np.allclose(mixed, later, atol=SAME * np.abs(later).max()) else None


def arranged(x: np.ndarray, order: str) -> np.ndarray:
    """Return (batch, head, token, width) in another order of axes."""
    rows = x.reshape(-1, *x.shape[2:])
    match order:
        case "batch token head dim":
            return x.swapaxes(1, 2)
        case "token batch head dim":
            return x.transpose(2, 0, 1, 3)
        case "row token dim" | "token row dim":
            return rows.swapaxes(0, 1) if order.startswith("token") else rows
        case "token dim":
            return np.asarray(rows[0])
        case "batch token (head dim)":
            return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)
    return x


def restored(value: np.ndarray, order: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return what came in an order of axes as (batch, head, token, width)."""
    match order:
        case "batch token head dim":
            return np.asarray(value.swapaxes(1, 2))
        case "token batch head dim":
            return np.asarray(value.transpose(1, 2, 0, 3))
        case "token row dim":
            return np.asarray(value.swapaxes(0, 1).reshape(shape))
        case "batch token (head dim)":
            return np.asarray(value.reshape(shape[0], shape[2], shape[1], shape[3]).swapaxes(1, 2))
    return np.asarray(value.reshape(shape))


def _formed(positions: np.ndarray, form: str, shape: tuple[int, ...]) -> np.ndarray:
    match form:
        case "row token":
            return np.broadcast_to(positions, (shape[0], shape[2])).copy()
        case "one token":
            return positions[None]
        case "batch head token":
            return np.broadcast_to(positions, shape[:3]).copy()
    return positions


def _tables(positions: np.ndarray, width: int, tables: str, form: str, rows: int) -> dict[str, np.ndarray]:
    """Return the tables of positions: once, once for each row of a batch, or with axes of length 1."""
    angles = positions[:, None] * 10_000.0 ** (-2 * np.arange(width // 2) / width)
    whole = {"pair": angles, "tiled": np.tile(angles, 2), "repeated": np.repeat(angles, 2, axis=1)}[tables]
    shape = (rows, *whole.shape) if form == "row token" else tuple(positions.size if axis == "token" else 1 for axis in form.split())
    whole = np.broadcast_to(whole, shape).copy() if form == "row token" else whole.reshape(*shape, -1)
    return {"cos": np.cos(whole), "sin": np.sin(whole), "waves": np.exp(1j * whole), "angles": whole}
