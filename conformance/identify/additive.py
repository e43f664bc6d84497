"""Recover an encoding of positions from values: sines and cosines with their order, spacing, base, scale and offset; digits; tables."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from conformance.calls.takes import SIDE
from conformance.identify import angles, reach, rotary
from conformance.identify.angles import Measured, Read
from conformance.identify.asking import Refused
from conformance.identify.described import described
from conformance.identify.findings import Confidence, Identity, Seen, near
from conformance.identify.ladders import Growth, Ladder, rule, sized
from conformance.identify.probe import Probe
from conformance.identify.rules import giving, taking
from conformance.identify.turns import DTYPES
from conformance.spec.declarations import schemes
from refimpl.spec import Operation

LONGEST = 4_096
LAYOUTS = ("interleaved", "halves", "halves_cosine_first", "interleaved_cosine_first")
FIRST = np.array([0, 1, 2, 3, 5, 11, 40])
#: Where tokens stand in an image.
NEAR = np.array([0, 1, 2, 3, 5, 11, 30])
WHOLE = 0.5
#: How wrong a length may be that is read in float32, and by how much scales differ that are no more the same.
READ, ANOTHER = 2.0**-22, 2e-5
TURN = "an adapter: no operation has such tables; have the function judged that turns vectors by them, or gives the frequencies"
#: Said of code that counts its rows itself, but not from 0.
LATER = "an adapter: its first row is that of position {:g}, and no call asks for a sequence that starts there"
#: Said of rows as embeddings of classes have them.
ONE_HOT = "one-hot rows: each holds a single 1, whose place may say a position, an offset or a bucket; no operation gives such rows"
#: Said of code that encodes the places of an image in no known way.
OF_PLACES = "a row of numbers for each place of an image, which belong to no known operation"
OF_SIDES = "the row of a place changes with the sides of the image, as where places are divided by them"
#: Said of rows as any table may hold them.
UNKNOWN = "rows of no formula that is known"
TOLERANCE = {"float64": 2e-5, "float32": 2e-5, "float16": 2.0**-8, "bfloat16": 2.0**-5}


@dataclass(frozen=True)
class Encoding:
    """A function as ``encode(positions)``, which returns rows of numbers, one array for each result.

    ``batched`` where positions must be those of a batch of one; ``like`` is how wide the array is of which the values have no meaning.
    ``axes`` says on how many axes tokens stand, if on several: each at the same number on all.
    """

    probe: Probe
    counted: bool
    rows: Callable[[np.ndarray], list[np.ndarray]] | None = None
    narrower: "Callable[[], Encoding] | None" = None
    batched: bool = False
    like: int = 64
    axes: int = 0

    def __call__(self, positions: np.ndarray) -> list[np.ndarray]:
        """Return the rows of the positions."""
        if self.rows is not None:
            return self.rows(positions)
        if self.sides:
            return [self.placed(np.stack([positions] * self.axes, axis=-1))]
        if not self.counted:
            return [_rows(part, positions.size) for part in self.called(positions)]
        length = int(positions.max()) + 1
        if length > LONGEST or positions.min() < 0 or not np.array_equal(positions, np.floor(positions)):
            message = f"positions must be whole and below {LONGEST}"
            raise Refused(message)
        return [_rows(part, length)[positions.astype(int)] for part in self.called(np.arange(length))]

    def reach(self, position: int) -> list[np.ndarray]:
        """Return what a call gives that reaches a position."""
        if self.rows is not None or self.sides:
            return self(np.array([position]))
        positions = np.array([position])
        return [_rows(part, position + 1 if self.counted else 1) for part in self.called(positions)]

    def called(self, positions: np.ndarray) -> list[np.ndarray]:
        """Return the results of one call as they come, cosines and sines apart where they are side by side on the last axis."""
        parts = self.probe(**self._given(positions))
        tokens = int(positions.max()) + 1 if self.counted else positions.size
        return [parts[0][..., 0], parts[0][..., 1]] if len(parts) == 1 and _stacked(parts[0], tokens) else parts

    @property
    def sides(self) -> bool:
        """Whether it takes the sides of an image, and returns a row for each of its places."""
        return self.probe.takes("height") or self.probe.takes("side")

    def placed(self, places: np.ndarray) -> np.ndarray:
        """Return the rows of places on several axes."""
        if not self.sides:
            return _rows(self.probe(positions=places)[0], len(places))
        if places.min() < 0 or places.max() > SIDE or not np.array_equal(places, np.floor(places)):
            message = f"places must be whole and from 0 to {SIDE}"
            raise Refused(message)
        height, width = (int(side) + 1 for side in places.max(axis=0))
        height, width = (max(height, width),) * 2 if self.probe.takes("side") else (height, width)
        part = self.probe(height=height, across=width, side=width)[0]
        rows = _rows(part.reshape(-1, part.shape[-1]), height * width)
        return np.asarray(rows[(places @ (width, 1)).astype(int)])

    @property
    def complex(self) -> bool:
        """Whether cosines and sines come as one complex array."""
        return self.probe.answer(self._given(np.arange(3)))[1]

    @property
    def stacked(self) -> bool:
        """Whether cosines and sines come as the last axis of one array."""
        return _stacked(self.probe(**self._given(np.arange(3)))[0], 3)

    def _given(self, positions: np.ndarray) -> dict[str, object]:
        places = np.stack([positions] * self.axes, axis=-1) if self.axes else positions
        places = places[None] if self.batched else places
        count = int(positions.max()) + 1
        counts = dict.fromkeys(("tokens", "height", "across", "side"), count)
        return {"positions": places, **counts, "like": np.zeros((1, self.like))}


def opened(probe: Probe) -> Encoding:
    """Return the function in the first dtype in which it gives rows, or raise ``Refused``."""
    last = Refused("it gave no result")
    for dtype, batched in itertools.product(DTYPES, (False,) if probe.takes("tokens") else (False, True)):
        encoding = Encoding(probe.at(dtype), probe.takes("tokens"), batched=batched)
        try:
            encoding(np.arange(5))
        except Refused as refusal:
            if refusal.hopeless:
                raise
            last = refusal
            continue
        return encoding
    raise last


def sided(probe: Probe) -> Identity | None:
    """Return which encoding of the places on several axes gives the same, if any does."""
    places = np.stack([NEAR, 2 * NEAR + 1], axis=-1)
    for encoding in (Encoding(probe.at(dtype), counted=False, axes=2) for dtype in DTYPES):
        try:
            (square,), rows = encoding(NEAR), encoding.placed(places)
        except Refused:
            continue
        known = [operation for operation in taking("positions") if operation.arrays["positions"].endswith(" axis")]
        fit = giving(known, {"positions": places}, rows, TOLERANCE[encoding.probe.dtype], probe.settings, {"dim": rows.shape[1]})
        width = {} if probe.takes("width") else {"dim": Seen(rows.shape[1])}
        if fit is not None:
            return Identity(fit.operation.name, fit.words, {**fit.parameters, **width}, (), fit.notes, encoding)
        return _placed(encoding, places, square, rows) if encoding.sides else None
    return None


def _placed(encoding: Encoding, places: np.ndarray, square: np.ndarray, rows: np.ndarray) -> Identity | None:
    """Say what rows of the places of an image are that no operation gives; nothing of rows that are as long as the image is large."""
    if square.shape[1] != rows.shape[1] or not np.all(np.isfinite(rows)):
        return None
    few = encoding.placed(places[:3])
    moving = np.abs(few - rows[:3]).max() > TOLERANCE[encoding.probe.dtype]
    return Identity(None, OF_PLACES, {"dim": Seen(rows.shape[1])}, (OF_SIDES,) if moving else (), view=encoding)


def identify(encoding: Encoding) -> Identity:
    """Return what a function on positions is."""
    parts = encoding(FIRST)
    if any(not np.all(np.isfinite(part)) for part in parts):
        return Identity(None, "its numbers aren't finite")
    if len(parts) == 2:
        return _tables(encoding, parts)
    rows = parts[0]
    return _formula(encoding, rows, whole=True) or _sinusoids(encoding, rows) or _formula(encoding, rows, whole=False) or _unknown(encoding)


def _stacked(part: np.ndarray, tokens: int) -> bool:
    """Whether the last axis of rows holds two numbers, one beside the other."""
    shape = [length for length in part.shape[:-2] if length != 1]
    return part.ndim > 2 and part.shape[-1] == 2 and part.shape[-2] > 1 and shape == [tokens]


def _rows(part: np.ndarray, tokens: int) -> np.ndarray:
    axes = tuple(i for i in range(part.ndim - 2) if part.shape[i] == 1)
    rows = part.squeeze(axes)
    rows = rows[:, 0, :] if rows.ndim == 3 and rows.shape[1] == 1 else rows
    if rows.ndim != 2 or rows.shape[0] != tokens:
        message = f"the result has shape {part.shape} for {tokens} positions"
        raise Refused(message)
    return rows


def _tables(encoding: Encoding, parts: Sequence[np.ndarray]) -> Identity:
    """Return the identity of cosines and sines."""
    tolerance = TOLERANCE[encoding.probe.dtype]
    first, second = parts
    size = np.hypot(first, second)
    if first.shape != second.shape or np.ptp(size) > 8 * tolerance * size.max() or not size.any():
        return Identity(None, "two tables, but they are no cosines and sines of the same angles")
    cosine_first = np.abs(first[0]).sum() >= np.abs(second[0]).sum()
    repeat, columns = repeats(first, second, tolerance)

    def read(positions: np.ndarray) -> np.ndarray:
        cos, sin = encoding(positions)[:: 1 if cosine_first else -1]
        return np.asarray(np.arctan2(sin, cos)[:, columns])

    measured = angles.measured(read, encoding.probe.dtype)
    if measured is None:
        return Identity(None, "cosines and sines at position 0", unseen=("base can't be seen: only position 0 was accepted",))
    other = rotary.other_calls(measured, read, free=not encoding.counted)
    if other is not None:
        inside = rotary.lists_inside(read, encoding.probe.dtype)
        grown = rotary.grown_by(float(np.median(size)))
        return rotary.changes("tables of cosines and sines", other, {"tables": Seen(repeat)}, inside, grown)
    sign, pairs = -1.0 if measured.theta[0] < 0 else 1.0, len(columns)
    moved = sign < 0 or measured.offset
    found = _laddered(rotary.ladder(measured, sign), encoding, pairs, lambda parts: np.hypot(*parts))
    written = {"tables": Seen(repeat), "order": Seen("cosine, sine" if cosine_first else "sine, cosine"), "head_dim": Seen(2 * pairs)}
    return Identity(
        None if moved else found.operation,
        f"tables of cosines and sines{': ' if found.what else ''}{found.what}",
        {**written, **found.parameters},
        (*_described(encoding, measured, read, known=found.ruled), *found.seen),
        found.unseen,
        values_of=None if moved else found.values_of,
    )


def _laddered(ladder: Ladder, encoding: Encoding, pairs: int, sizes: Callable[[Sequence[np.ndarray]], np.ndarray]) -> Identity:
    """Return the operation whose tables have such frequencies, else the one that turns vectors by them."""

    def grown(probe: Probe) -> tuple[float, float] | None:
        return None if encoding.rows else sized(sizes(replace(encoding, probe=probe)(FIRST)))

    known = (taking("positions", axes=["[batch] token pair"] * 2), rotary.whole())
    growth = Growth(sized(sizes(encoding(FIRST)))[0], encoding.probe, grown)
    settings = encoding.probe.settings
    tables, turning = (rotary.named([ladder], group, {"head_dim": 2 * pairs}, settings, growth) for group in known)
    if tables.operation is not None or turning.operation is None:
        return tables
    return replace(turning, operation=None, values_of=turning.operation, unseen=(*turning.unseen, TURN))


def repeats(first: np.ndarray, second: np.ndarray, tolerance: float) -> tuple[str, np.ndarray]:
    """Return how a pair's numbers are repeated, and the columns that hold each pair once."""
    both, half = np.concatenate([first, second]), first.shape[1] // 2
    if first.shape[1] % 2 == 0 and half:
        if np.abs(both[:, :half] - both[:, half:]).max() <= tolerance:
            return "tiled: (c, c)", np.arange(half)
        if np.abs(both[:, 0::2] - both[:, 1::2]).max() <= tolerance:
            return "repeated: c0 c0 c1 c1", np.arange(half) * 2
    return "one column per pair", np.arange(first.shape[1])


def _formula(encoding: Encoding, rows: np.ndarray, *, whole: bool) -> Identity | None:
    """Return the operation on positions that gives rows as wide as these, of whole numbers or of others, by its own formula."""
    for candidate in taking("positions"):
        width = {axis: rows.shape[1] for name in candidate.results for axis in _wide(candidate, name)}
        if len(candidate.results) != 1 or not width or whole != bool(candidate.results.keys() & candidate.integers):
            continue
        allowed = WHOLE if whole else TOLERANCE[encoding.probe.dtype]
        found = giving([candidate], {"positions": FIRST}, rows, allowed, {}, width)
        if found is not None:
            shown = {name: Seen(size) for name, size in width.items()}
            scheme = schemes()[candidate.name.partition(".")[0]]
            return Identity(candidate.name, scheme.summary, {**shown, **found.parameters}, (), found.notes)
    return None


def _wide(operation: Operation, result: str) -> list[str]:
    """Return the parameter that says how wide rows of a result are, in a list, if there is one."""
    return [axis for axis in operation.results[result].split()[-1:] if axis in operation.parameters]


def _sinusoids(encoding: Encoding, rows: np.ndarray) -> Identity | None:
    """Return the identity of sines and cosines, or ``None`` where no order of channels makes pairs of one length."""
    width, tolerance = rows.shape[1], TOLERANCE[encoding.probe.dtype]
    odd = bool(width % 2) and not np.abs(rows[:, -1]).max()
    for layout in LAYOUTS if width > 1 else ():
        sine, cosine = _columns(layout, width // 2)
        size = np.hypot(rows[:, sine], rows[:, cosine])
        scale, spread = sized(size)
        if spread <= 8 * tolerance and scale > tolerance:
            found = _waves(encoding, layout, width, scale, max(spread, READ))
            if found is not None:
                odds = {"odd": Seen("zero_column")} if odd else {}
                return replace(found, parameters={**found.parameters, **odds})
    return None


def _columns(layout: str, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    pair = np.arange(pairs)
    first, second = (2 * pair, 2 * pair + 1) if layout.startswith("interleaved") else (pair, pair + pairs)
    return (second, first) if layout.endswith("cosine_first") else (first, second)


def _waves(encoding: Encoding, layout: str, width: int, scale: float, error: float) -> Identity | None:
    sine, cosine = _columns(layout, width // 2)
    flipped = bool(np.mean(encoding(np.array([0]))[0][0, cosine]) < 0)
    sign = -1.0 if flipped else 1.0

    def read(positions: np.ndarray) -> np.ndarray:
        rows = sign * encoding(positions)[0]
        return np.asarray(np.arctan2(rows[:, sine], rows[:, cosine]))

    measured = angles.measured(read, encoding.probe.dtype)
    if measured is None or (np.any(measured.theta <= 0) and measured.offset != 0):
        return None
    if measured.farthest == 1:
        return Identity(None, "sines and cosines of angles that are no multiples of the position: position 2 has another")
    narrow = _narrower(encoding, layout, sign)
    ladders = [rotary.ladder(measured, 1.0, {"dim": width}), *([narrow.ladder] if narrow else [])]
    found, rounded = rule(ladders, taking("positions", axes=["token dim"]), {"odd": "zero_column"}, {})
    shown, said = _scaled(width, sign * scale, error, narrow)
    rounded = (*rounded, *said)
    alike = Seen(layout, confidence=Confidence.GUESS) if width == 2 else Seen(layout)
    common = {"layout": alike, **shown}
    offset = measured.offset
    common |= {} if offset == 0 else {"offset": Seen(offset)}
    plain = found is None and not flipped and offset == 0
    ladder = rotary.ladder(measured, 1.0)
    slowed = _laddered(ladder, encoding, width // 2, lambda rows: np.hypot(rows[0][:, sine], rows[0][:, cosine])) if plain else None
    ruled = found is not None or (slowed is not None and slowed.ruled)
    seen = (*_described(encoding, measured, read, known=ruled), *rounded)
    if slowed is not None and slowed.operation is None and slowed.values_of is not None:
        written = {"layout": alike, "head_dim": Seen(width), **slowed.parameters}
        return replace(slowed, what=f"cosines and sines side by side: {slowed.what}", parameters=written, seen=(*seen, *slowed.seen))
    if found is None:
        listed = ", ".join(f"{theta:.6g}" for theta in measured.theta)
        what = "sines and cosines, but their frequencies are on no known ladder"
        return Identity(None, what, common, (*seen, f"radians per position: {listed}"))
    laid = layout in found.operation.parameters["layout"].choices
    known = laid and (offset == 0 or (offset is not None and not encoding.counted))
    unseen = found.notes if narrow or not _root(width, scale) else (*found.notes, f"scale: {scale:.6g} is {_root(width, scale)} too")
    later = laid and not known and offset is not None and not flipped
    unseen = (*unseen, LATER.format(offset)) if later else unseen
    named = found.operation.name
    return Identity(named if known else None, found.words, {**common, **found.parameters}, seen, unseen, values_of=named if later else None)


@dataclass(frozen=True)
class _Narrow:
    """The same waves in fewer channels."""

    width: int
    scale: float
    ladder: Ladder


def _narrower(encoding: Encoding, layout: str, sign: float) -> _Narrow | None:
    """Return the frequencies and the scale of another width, if the function has one."""
    if encoding.narrower is None:
        return None
    try:
        other = encoding.narrower()
        rows = other(FIRST)[0]
        sine, cosine = _columns(layout, rows.shape[1] // 2)

        def read(positions: np.ndarray) -> np.ndarray:
            rows = sign * other(positions)[0]
            return np.asarray(np.arctan2(rows[:, sine], rows[:, cosine]))

        measured = angles.measured(read, encoding.probe.dtype)
    except Refused:
        return None
    if measured is None or np.any(measured.theta <= 0):
        return None
    size = sign * float(np.median(np.hypot(rows[:, sine], rows[:, cosine])))
    return _Narrow(rows.shape[1], size, rotary.ladder(measured, 1.0, {"dim": rows.shape[1]}))


def _scaled(width: int, scale: float, error: float, narrow: _Narrow | None) -> tuple[dict[str, Seen], tuple[str, ...]]:
    """Return the scale, and the width where it holds at that width only."""
    seen = {"scale": near(scale, error)}
    if narrow is None or near(scale, max(error, ANOTHER)).holds(narrow.scale):
        return seen, ()
    law = _root(width, abs(scale)) if _root(width, abs(scale)) == _root(narrow.width, abs(narrow.scale)) else None
    how = f"the scale changes with the width: {scale:.6g} at {width}, {narrow.scale:.6g} at {narrow.width}{f', {law}' if law else ''}"
    return {**seen, "dim": Seen(width, why="the scale is another at other widths")}, (how,)


def _root(width: int, scale: float) -> str | None:
    """Return which power of the width a scale is, other than 1."""
    powers = {"dim ** -0.5": width**-0.5, "dim ** 0.5": width**0.5, "1 / dim": 1 / width, "(dim / 2) ** -0.5": (width / 2) ** -0.5}
    return next((words for words, value in powers.items() if width > 1 and abs(scale / value - 1) < ANOTHER), None)


def _described(encoding: Encoding, measured: Measured, read: Read, *, known: bool) -> tuple[str, ...]:
    reach = f"{measured.farthest + 1} rows looked at" if encoding.counted else f"positions: right to {measured.farthest} at least"
    return described(measured, read, reach, free=not encoding.counted, known=known)


def _unknown(encoding: Encoding) -> Identity:
    """Say what numbers on no formula are."""
    rows = encoding(np.arange(8))[0]
    if _one_hot(rows):
        return Identity(None, ONE_HOT)
    step = np.diff(rows, axis=0)
    if not step.any():
        return Identity(None, "the same row at every position that was asked for")
    if np.abs(step - step[0]).max() <= TOLERANCE[encoding.probe.dtype] * max(1.0, np.abs(step).max()):
        return Identity(None, "every number grows in proportion to the position: angles, not yet their sines and cosines")
    last = reach.last(encoding.reach)
    if last is None:
        return Identity(None, UNKNOWN, seen=(f"no position up to {reach.FARTHEST} is refused",))
    end = f"the last position that is taken is {last}, as where a table has {last + 1} rows from position 0 on"
    table = None if encoding.probe.plan.guessed else taking("positions", "table")[0].name
    return Identity(None, f"{UNKNOWN}, as those of a table inside", seen=(end,), values_of=table)


def _one_hot(rows: np.ndarray) -> bool:
    """Whether every row holds a single 1, and zeros besides."""
    return bool(np.all((rows == 0) | (rows == 1)) and np.all(rows.sum(axis=1) == 1) and rows.shape[1] > 1)
