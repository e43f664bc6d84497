"""Recover a rotary encoding from values: the map at each position, its pairs, angles, frequencies, and the rule behind them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.diagnosis.search import digits
from conformance.identify import angles, maps
from conformance.identify.angles import Measured, Read
from conformance.identify.asking import Refused
from conformance.identify.described import ARITHMETIC, RIGHT, SMALL, described, reached
from conformance.identify.findings import Identity, Seen, near
from conformance.identify.ladders import NOISE, OFF, Growth, Ladder, followed, grown, known, rule, turned
from conformance.identify.maps import TOLERANCE, Rotation
from conformance.identify.rules import Rule, giving, identified, taking, written
from conformance.identify.turns import LONGEST, Turns, lists
from conformance.spec.declarations import acts, operations
from conformance.spec.mutant import Mutant
from refimpl.spec import Operation

BASE = 10_000.0
#: A length that lies between two calls.
SWITCH = 64
AROUND = ({"original_length": SWITCH, "length": SWITCH}, {"original_length": SWITCH, "length": SWITCH + 1})
#: Lengths within and beyond those of training, where frequencies may follow them.
LONGER = tuple({"length": length} for length in (1, 1_000, 10_000, 100_000, 1_000_000))
#: How many channels turn, where not all do.
PART = "rotary_dim"
#: Which is the first of them, where they lie at neither end.
FIRST_CHANNEL = "first_channel"
#: What says that the fast pairs of a head turn, and how slowly.
RESTING = {"base", "factor", "turned_pairs", "head_dim"}
#: The token from which given factors count.
START = "start_tokens"
#: Lists of factors of which a length chooses one.
PAIR = 2
#: How far apart angles are of factors that count and that don't.
APART = 1e-4
#: So many decimals of an exponent are seen.
DECIMALS = 6
#: So many tokens are more than a short sequence has.
MANY = 8_192
#: Positions at which pairs are compared that fade.
NEARBY = np.array([0, 1, 2, 3, 8, 31, 101])
FEW = 5
#: How far from position 0 a centre may lie.
FARTHEST = 1 << 20
FIRST = 4


def identify(turns: Turns, only: str | None = None) -> Identity:
    """Return what a function on vectors and positions is; ``only`` one operation is tried for its frequencies, where it is said."""
    tolerance = TOLERANCE[turns.read_as]
    strange = _not_linear(turns, tolerance)
    if strange is not None:
        return Identity(None, strange)
    positions, matrices = maps.matrices(turns)
    if positions.size == 1:
        return Identity(None, "only position 0 was accepted, where nothing can be told from another encoding", unseen=(ONLY_ZERO,))
    found = maps.rotation(matrices, tolerance)
    if np.abs(matrices - matrices[0]).max() <= tolerance:
        return Identity(None, maps.trouble(matrices, tolerance))
    return _rotating(turns, found, only) if found is not None else _no_rotation(turns, positions, matrices, tolerance)


def _no_rotation(turns: Turns, positions: np.ndarray, matrices: np.ndarray, tolerance: float) -> Identity:
    """Return what maps are that are linear and no rotation; where pairs turn all the same, with the rule of their angles."""
    coarse = maps.rotation(matrices, TOLERANCE[HALF]) if tolerance < TOLERANCE[HALF] else None
    rounded = None if coarse is None else _rotating(replace(turns, rounded=HALF), coarse)
    if rounded is not None and rounded.operation is not None:
        return replace(rounded, seen=(ROUNDED, *(line for line in rounded.seen if not line.startswith(ARITHMETIC))))
    pairing = maps.stretched(matrices, tolerance)
    mistaken = maps.mistaken(matrices, tolerance) if pairing is None else None
    if mistaken is not None:
        return _mistaken(turns, *mistaken)
    if pairing is None:
        return Identity(None, maps.trouble(matrices, tolerance))
    what = maps.stretch(positions, matrices, pairing, tolerance)
    turning = _rotating(turns, Rotation(pairing, 1.0)) if what.startswith("pairs") else None
    fading = None if turning is None or turning.operation is None else _fading(turns, pairing, turning, tolerance)
    if fading is not None:
        return fading
    return Identity(None, what, {} if turning is None else {"layout": turning.parameters["layout"]}, _by_rule(turning))


def _mistaken(turns: Turns, pairing: maps.Pairing, mistake: Mutant) -> Identity:
    """Return what a known mistake makes of a rotation, with the rule of its angles."""
    turning = _rotating(turns, Rotation(pairing, 1.0))
    what = f"no rotation, as by the known mistake {mistake.name.partition('/')[2]}: {mistake.does}"
    return Identity(None, what, {"layout": turning.parameters["layout"]}, (f"fix: {mistake.fix}", *_by_rule(turning)))


def _by_rule(turning: Identity | None) -> tuple[str, ...]:
    """Say by which rule pairs turn."""
    return () if turning is None or turning.operation is None else (f"the angles are those of {turning.operation}: {turning.what}",)


def fades(known: Operation) -> bool:
    """Whether an operation multiplies queries and keys by powers of their positions."""
    return getattr(getattr(known.function, "form", None), "key_factor", None) is not None


def _fading(turns: Turns, pairing: maps.Pairing, turning: Identity, tolerance: float) -> Identity | None:
    """Return which operation turns pairs by those angles and multiplies each by powers of the position, if one does."""
    x = np.random.default_rng(0).integers(1, 17, (1, 1, NEARBY.size, turns.width)) / 8
    value = turns(x, NEARBY)
    centre = _centre(turns, pairing, NEARBY)
    told = {"head_dim": turns.width, "centre": centre, **{name: seen.value for name, seen in turning.parameters.items()}}
    allowed = 8 * tolerance * np.maximum(1.0, np.abs(value))
    fading = [known for known in taking("x", "positions") if fades(known)]
    fit = giving(fading, {"x": x, "positions": NEARBY}, value, allowed, turns.probe.settings, told)
    if fit is None:
        return None
    parameters, few = {**turning.parameters, **fit.parameters}, NEARBY[:FEW]
    other = _centre(turns, pairing, few)
    if other != centre:
        moves = f"its centre moves: {centre} where the last position is {NEARBY[-1]}, {other} where it is {few[-1]}"
        return Identity(None, f"as {fit.operation.name}, {fit.words}, but {moves}; an operation has one centre for all calls", parameters)
    values = known(fit.operation, {**told, **{name: one.value for name, one in fit.parameters.items()}})
    seen = _to_the_ends(turns, pairing, turning.seen, lambda each: fit.operation.function(each[0], each[1], **values))
    return Identity(fit.operation.name, fit.words, {**parameters, "centre": Seen(centre)}, seen, fit.notes)


def _to_the_ends(
    turns: Turns, pairing: maps.Pairing, seen: tuple[str, ...], right: Callable[[tuple[np.ndarray, np.ndarray]], np.ndarray]
) -> tuple[str, ...]:
    """Return what was seen, where right numbers are too small or too large for the dtype from somewhere on: there it shows nothing."""
    measured = angles.measured(reader(turns, Rotation(pairing, 1.0)), turns.read_as)
    if measured is None or reached(turns, measured) not in seen:
        return seen
    (first, _), written = pairing.read(), pairing.written()
    x = np.zeros((1, 1, 1, turns.width))
    x[..., first] = 1.0
    with np.errstate(all="ignore"):
        y = np.asarray(right((x, np.array([2 * measured.farthest]))))[0, 0, 0]
        size = np.hypot(y[written[0]], y[written[1]])
    limits = np.finfo(turns.probe.dtype if turns.probe.dtype in ("float16", "float64") else "float32")
    if np.all((size >= limits.tiny) & (size <= limits.max)):
        return seen
    ends = f"{RIGHT} {measured.farthest} at least; at twice that right numbers are too small or too large for {turns.probe.dtype}"
    return tuple(ends if line == reached(turns, measured) else line for line in seen)


def _centre(turns: Turns, pairing: maps.Pairing, positions: np.ndarray) -> int:
    """Return the position at which vectors keep their length, by the pair whose length changes the most."""
    (first, _), written = pairing.read(), pairing.written()
    x = np.zeros((1, 1, positions.size, turns.width))
    x[..., first] = 1.0
    y = turns(x, positions)[0, 0]
    with np.errstate(all="ignore"):
        lengths = np.log(np.hypot(y[:, written[0]], y[:, written[1]]))
        pair = np.argmax(np.abs(lengths[-1] - lengths[0]))
        step = (lengths[-1, pair] - lengths[0, pair]) / (positions[-1] - positions[0])
        centre = positions[0] - lengths[0, pair] / step
    return int(np.rint(centre)) if np.abs(centre) < FARTHEST else 0


def reader(turns: Turns, found: Rotation) -> Read:
    """Return what reads the angle of every pair at positions."""
    (first, _), written = found.pairing.read(), found.pairing.written()

    def read(positions: np.ndarray) -> np.ndarray:
        x = np.zeros((1, 1, positions.size, turns.width))
        x[..., first] = 1.0
        y = turns(x, positions)[0, 0]
        if not np.all(np.isfinite(y)):
            message = "the result is not finite"
            raise Refused(message)
        return np.asarray(np.arctan2(y[:, written[1]], y[:, written[0]]))

    return read


def _not_linear(turns: Turns, tolerance: float) -> str | None:
    positions = np.arange(3) if turns.positions != "only_zero" else np.zeros(3, dtype=int)
    generator = np.random.default_rng(0)
    x, z = (generator.integers(-16, 17, (1, 1, 3, turns.width)) / 8 for _ in range(2))
    if np.abs(turns(np.zeros_like(x), positions)).max() > tolerance:
        return ADDED
    both, apart = turns(x + z, positions), turns(x, positions) + turns(z, positions)
    if not np.all(np.isfinite([both, apart])):
        return NOT_FINITE
    if np.abs(both - apart).max() > 16 * tolerance:
        return "the result isn't linear in x"
    z[:, :, 1] = 0.0
    there = np.abs(turns(x + z, positions) - turns(x, positions))[:, :, 1].max()
    return None if there <= 16 * tolerance else MIXING


#: Said where frequencies change with the rest of a call.
CHANGING = "the rule by which its frequencies change; make the length of the sequence an argument, called length, to have it looked for"
INSIDE = "the factors are its own: no adapter can hand it others; make them arguments to have it judged"
ONLY_ZERO = "base, direction and scaling can't be seen: only position 0 was accepted"
MIXING = "what comes out at a token depends on other tokens too, as in attention and convolutions: give the part that takes each alone"
NOT_FINITE = "not linear in x: finite numbers give NaN or infinity"
#: Said of tables of few digits, and as what they are read.
ROUNDED, HALF = "its cosines and sines are rounded to a half format", "float16"
#: A whole number that belongs to no models is one of more digits, and no multiple of that.
FEW_DIGITS, UNIT = 2, 1_024
#: The axes of vectors that turn.
HEADS = "batch head token head_dim"
#: Said of a function that gives numbers for x = 0, which an additive encoding does.
ADDED = "not linear in x: x = 0 doesn't give 0"


def _rotating(turns: Turns, found: Rotation, only: str | None = None) -> Identity:
    read = reader(turns, found)
    measured = angles.measured(read, turns.read_as)
    parameters = _shape(turns, found)
    if measured is None:
        return Identity(None, "a rotation in pairs at position 0", parameters, (), (ONLY_ZERO,))
    arrays = lists(turns.factors(), found.pairing.width // 2)
    for each in (read, *([reader(turns.having(**arrays), found)] if arrays else [])):
        other = other_calls(measured, each, free=turns.positions == "any")
        if other is not None:
            inside = None if arrays else lists_inside(read, turns.probe.dtype)
            return changes("a rotation in pairs", other, parameters, inside, grown_by(found.growth))
    offset = measured.offset
    if offset is None:
        return Identity(None, "a rotation in pairs, but position 0 is turned by angles that belong to no position", parameters)
    if measured.farthest == 1 and turns.positions == "any":
        what = "a rotation in pairs by angles that are no multiples of the position: position 2 turns by another"
        return Identity(None, what, parameters)
    sign = -1.0 if measured.theta[0] < 0 else 1.0
    parameters |= {"direction": Seen("negative" if sign < 0 else "positive"), **({"offset": Seen(offset)} if offset else {})}
    switch = _switch(turns, found)
    ladders = [ladder(measured, sign, turns.set_to(), turns.factors()), *_with_factors(turns, found, sign, switch)]
    parts, every = ([one for one in each if only in (None, one.name)] for each in _turning(*turns.factors()))
    told = {"head_dim": found.pairing.width, **{name: seen.value for name, seen in parameters.items() if name in (PART, "placement")}}
    told |= {} if switch is None else {"original_length": switch}
    placed = told.get("placement") in ("first", "last")
    readings = [(ladders, parts, told, parameters)] if placed else []
    if told.get("placement") == "first" and found.pairing.layout == "interleaved":  # the last pairs of a wider head may rest
        resting = {name: one for name, one in parameters.items() if name not in (PART, "placement")}
        readings.append(([one.padded(turns.width // 2) for one in ladders], every, {"head_dim": turns.width}, resting))
    readings.append((ladders, every, told, parameters))
    growth = Growth(found.growth, turns.probe, lambda probe: _grown(replace(turns, probe=probe)))
    read_as = [(named(seen, group, known, turns.probe.settings, growth), shape) for seen, group, known, shape in readings]
    fitting = [each for each in read_as if each[0].operation is not None]
    identity, shape = min(fitting, key=lambda each: _against(turns.probe.settings, each[0].parameters), default=read_as[-1])
    seen = described(measured, read, reached(turns, measured), free=turns.positions == "any", known=identity.ruled)
    if any(line.startswith(OFF) for line in identity.seen):  # what was measured is right by its own frequencies alone
        seen = tuple(line for line in seen if not line.startswith((RIGHT, ARITHMETIC)))
    start, lowest = _start(turns, found, identity, sign)
    shown = {**shape, **identity.parameters, **start}
    shown |= {} if switch is None or identity.operation is None else {"original_length": Seen(switch)}
    return replace(
        identity, parameters=shown, seen=(*_inside(turns, found.pairing), *seen, *identity.seen, *_also(identity.parameters)), lowest=lowest
    )


def _also(parameters: Mapping[str, Seen]) -> Iterator[str]:
    """Yield as what else the fast pairs of a head can be read: all pairs of its first channels, at divided positions."""
    seen = {name: one.value for name, one in parameters.items()}
    if seen.keys() >= RESTING and seen["factor"] != 1:
        channels = 2 * seen["turned_pairs"]
        base = float(written(seen["base"] ** (channels / seen["head_dim"])))
        if digits(base) <= digits(seen["base"]):
            slower = f"at positions divided by {written(seen['factor'])}"
            scheme = _turning()[0][0].name.partition(".")[0]
            yield f"the same as base {written(base)} over the first {channels} channels ({scheme}) {slower}"


def _grown(turns: Turns) -> tuple[float, float] | None:
    found = maps.rotation(maps.matrices(turns)[1], TOLERANCE[turns.read_as])
    return None if found is None else (found.growth, found.spread)


def _turning(*factors: str) -> tuple[list[Operation], list[Operation]]:
    """Return the operations that turn vectors at positions: those on a part of the channels, and those on all of them."""
    taken = [known for known in taking("x", "positions", *factors) if acts(known) and not fades(known)]
    candidates = [known for known in taken if {*known.arrays.values()} >= {"[batch] token", HEADS}]
    return [known for known in candidates if PART in known.parameters], [known for known in candidates if PART not in known.parameters]


def whole() -> list[Operation]:
    """Return the operations that turn all channels of vectors at positions."""
    return _turning()[1]


def _against(asked: Mapping[str, Any], parameters: Mapping[str, Seen]) -> int:
    """Return how many parameters are seen to be other than a call asked for."""
    return sum(name in asked and not seen.holds(asked[name]) for name, seen in parameters.items())


def changes(what: str, other: str, parameters: Mapping[str, Seen], inside: tuple[str, ...] | None, seen: tuple[str, ...] = ()) -> Identity:
    """Return what changes with the rest of a call: one of two lists of factors inside, or by no rule that is known."""
    if inside is None:
        return Identity(None, f"{what}, but {other}", parameters, unseen=(CHANGING,))
    (known,) = taking("x", "positions", "short_factors", "long_factors")
    return Identity(None, f"{what}, with two lists of factors inside", parameters, (*seen, *inside), (INSIDE,), values_of=known.name)


def other_calls(measured: Measured, read: Read, *, free: bool) -> str | None:
    """Say where the first positions are turned by other angles: alone, or among many tokens."""
    first, last = np.arange(FIRST), MANY if free else LONGEST
    beside = np.append(first, max(FIRST, measured.farthest))
    seen = [(words, _first(read, positions)) for positions, words in (
        (beside, f"beside position {beside[-1]}"), (first, "alone"), (np.arange(last), f"among {last} tokens"),
    )]  # fmt: skip
    taken = [(words, angle) for words, angle in seen if angle is not None]
    for words, angle in taken[1:]:
        if np.abs(angles.wrapped(angle - taken[0][1])).max() > SMALL:
            return f"its first positions are turned otherwise {words} than {taken[0][0]}: what else is in a call changes the frequencies"
    return None


def _first(read: Read, positions: np.ndarray) -> np.ndarray | None:
    """Return the angles of the first positions of a call."""
    try:
        return read(positions)[:FIRST]
    except Refused:
        return None


def ladder(
    measured: Measured, sign: float, settings: Mapping[str, Any] | None = None, arrays: Mapping[str, np.ndarray] | None = None
) -> Ladder:
    """Return what was measured in one call as a ladder."""
    return Ladder(sign * measured.theta, measured.error / np.maximum(np.abs(measured.theta), 1e-12), settings or {}, arrays or {})


def _with_factors(turns: Turns, found: Rotation, sign: float, switch: int | None) -> Iterator[Ladder]:
    """Yield what a rotation shows of given factors that are not 1, on both sides of the length at which others may count."""
    arrays = lists(turns.factors(), found.pairing.width // 2)
    lengths = LONGER if not arrays else AROUND if switch is None else ({"length": switch}, {"length": switch + 1})
    for settings in lengths if _follows(turns) else ({START: 0},) if arrays else ():
        view = turns.having(**settings, **arrays)
        read = reader(view, found)
        measured = angles.measured(_near(read) if arrays else read, turns.read_as)
        if measured is not None:
            yield ladder(measured, sign, {**turns.set_to(), **settings}, arrays)


def _follows(turns: Turns) -> bool:
    """Whether a call says how long its sequence is."""
    return turns.length is not None or turns.probe.takes("length")


def _switch(turns: Turns, found: Rotation) -> int | None:
    """Return the length beyond which other factors count than up to it, where no call is set to it and lengths show one."""
    if len(turns.factors()) != PAIR or turns.probe.takes("original_length") or not _follows(turns):
        return None
    factors = lists(turns.factors(), found.pairing.width // 2)
    return _changing(lambda length: reader(turns.having(length=length, **factors), found)(np.array([1])))


def _changing(seen: Callable[[int], np.ndarray]) -> int | None:
    """Return the length up to which angles are those of a short sequence, and beyond which they are those of a long one."""

    def alike(length: int, other: int) -> bool:
        return bool(np.abs(angles.wrapped(seen(length) - seen(other))).max() <= APART)

    low, high = 2, FARTHEST
    if alike(low, high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if alike(middle, 2) else (low, middle)
    return low if alike(high, FARTHEST) and alike((high + FARTHEST) // 2, FARTHEST) else None


def lists_inside(read: Read, dtype: str) -> tuple[str, ...] | None:
    """Return the factors of the pairs in short and in long sequences, in words, where a length chooses one of two lists, else nothing."""

    def within(length: int) -> Read:
        def closed(positions: np.ndarray) -> np.ndarray:
            if positions.max() >= length:
                message = f"positions must lie in a sequence of {length}, got {positions.max()}"
                raise Refused(message)
            return read(np.append(positions, length - 1))[:-1]

        return closed

    try:
        switch = _changing(lambda length: within(length)(np.array([1])))
        ends = [angles.measured(within(length), dtype) for length in (switch or 2, FARTHEST)]
    except Refused:
        return None
    if switch is None or None in ends:
        return None
    where = f"up to {switch} tokens", "beyond"
    return tuple(f"{words}, {_factors(np.abs(each.theta))}" for words, each in zip(where, ends, strict=True) if each is not None)


def _start(turns: Turns, found: Rotation, identity: Identity, sign: float) -> tuple[Mapping[str, Seen], int | None]:
    """Return the token from which factors count, where the operation has one, and 0 where it gives something else below position 0."""
    operation = operations().get(str(identity.operation))
    if operation is None or START not in operation.parameters:
        return {}, None
    arrays = lists(turns.factors(), found.pairing.width // 2)
    read = reader(replace(turns, probe=turns.probe.having(**arrays)), found)

    def compared(positions: np.ndarray) -> Rule:
        seen = sign * read(positions)

        def off(one: Operation, parameters: Mapping[str, Any]) -> np.ndarray:
            return np.asarray(angles.wrapped(seen - np.angle(turned(one, arrays, parameters, positions))) / APART).ravel()

        values = {name: one.value for name, one in identity.parameters.items()}
        return Rule(operation, known(operation, {"head_dim": found.pairing.width, **values}), off)

    fit = identified([compared(np.arange(SWITCH // 2))], turns.probe.settings)
    if fit is None:
        return {}, None
    try:
        below = compared(np.array([-3, -1])).fits({name: one.value for name, one in fit.parameters.items()})
    except Refused:
        below = True
    return fit.parameters, None if below else 0


def _near(read: Read) -> Read:
    def within(positions: np.ndarray) -> np.ndarray:
        if positions.max() >= SWITCH:
            message = f"positions must be below {SWITCH}, got {positions.max()}"
            raise Refused(message)
        return read(positions)

    return within


def _shape(turns: Turns, found: Rotation) -> dict[str, Seen]:
    pairing = found.pairing
    if pairing.width == turns.width:
        return {"layout": Seen(pairing.layout)}
    end = "first" if pairing.first == 0 else "last" if pairing.first + pairing.width == turns.width else None
    where = {FIRST_CHANNEL: Seen(pairing.first)} if end is None else {"placement": Seen(end)}
    return {"layout": Seen(pairing.layout), PART: Seen(pairing.width), **where}


def _inside(turns: Turns, pairing: maps.Pairing) -> Iterator[str]:
    """Say which channels turn where that is neither the first part nor the last."""
    if pairing.first > 0 and (end := pairing.first + pairing.width) < turns.width:
        yield f"channels {pairing.first} to {end - 1} of {turns.width} turn, those before and after them stay as they are"


def named(
    ladders: Sequence[Ladder], candidates: Sequence[Operation], told: Mapping[str, Any], asked: Mapping[str, Any], growth: Growth
) -> Identity:
    """Return which operation shows in frequencies and growth, and its parameters, for the settings that were asked."""
    found, rounded = rule(ladders, candidates, told, asked)
    if found is None:
        return _unruled(ladders[0], grown_by(growth.size))
    factors = grown(found, ladders[0], told, growth, NOISE)
    searched = factors is None or any(isinstance(one.low, float) for one in factors.values())
    exact, error = growth.precise() if searched else (growth, NOISE)
    factors = grown(found, ladders[0], told, exact, error) or factors if searched else factors
    odd = "" if factors is None else ", ".join(f"{name} {one.value}" for name, one in factors.items() if not _usable(one))
    if factors is None or odd:
        larger, whole = {"attention_factor": near(exact.size, error)}, replace(found, parameters={**found.parameters, **(factors or {})})
        notes = tuple(note for note in found.notes if note.partition(" ")[0] not in (factors or ()))
        notes = (*notes, *((f"an adapter: the attention factor would be that of {odd}, which no model has",) if odd else ()))
        values_of, follows = (found.operation.name, followed(whole, ladders, told)) if odd else (None, ())
        what = f"rotary, {found.words}, times {written(larger['attention_factor'].value)}"
        return Identity(None, what, {**found.parameters, **larger}, rounded, notes, values_of=values_of, follows=follows)
    notes = tuple(note for note in found.notes if note.partition(" ")[0] not in factors)
    whole = replace(found, parameters={**found.parameters, **factors}, notes=notes)
    follows = followed(whole, ladders, told)
    shown = {*told, *whole.values, *(name for ladder in ladders for name in ladder.settings)}
    if any(parameter.required and name not in shown for name, parameter in whole.operation.parameters.items()):
        return Identity(None, whole.words, whole.parameters, rounded, notes, values_of=whole.operation.name)
    return Identity(whole.operation.name, whole.words, whole.parameters, rounded, whole.notes, follows=follows)


def _usable(seen: Seen) -> bool:
    """Whether a number is known, or among those that would do is one that models have."""
    if not isinstance(seen.value, int) or seen.low is None or seen.high is None or seen.low == seen.high or math.isinf(seen.high):
        return True
    return seen.holds(UNIT * round(seen.value / UNIT)) or digits(seen.value) <= FEW_DIGITS


def _unruled(ladder: Ladder, seen: tuple[str, ...]) -> Identity:
    """Say that frequencies are on no known ladder, and which they are."""
    listed = f"radians per position: {_listed(ladder.theta)}"
    what = "a norm-preserving rotation of pairs, but its frequencies are on no known ladder"
    if ladder.arrays:
        return Identity(None, f"{what}: no rule that is known makes them of {', '.join(ladder.arrays)}", {}, (*seen, listed))
    if np.all(np.diff(ladder.theta) < 0) and np.all(_usual(ladder.theta) > 1 - SMALL):
        return Identity(None, f"{what}: a factor for every pair, as LongRoPE has", {}, (*seen, listed, _factors(ladder.theta)))
    return Identity(None, f"{what}: learned, drawn, or of a rule that isn't known", {}, (*seen, listed, *_exponents(ladder.theta)))


def _factors(theta: np.ndarray) -> str:
    return f"against base {BASE:g} the pairs have these factors: {_listed(_usual(theta))}"


def _exponents(theta: np.ndarray) -> Iterator[str]:
    """Say with which learned exponents any frequencies above 0 are those of an operation that takes exponents."""
    for one in taking("x", "positions", "exponents") if np.all(theta > 0) else ():
        exponents = _listed(np.round(-np.log(_usual(theta)), DECIMALS) + 0.0)
        yield f"as {one.name}, as any frequencies are: against base {BASE:g} the pairs have these exponents: {exponents}"


def _usual(theta: np.ndarray) -> np.ndarray:
    """Return by how much usual frequencies are higher, 0 for pairs that rest."""
    resting = np.where(theta == 0, np.inf, theta)
    return np.asarray(BASE ** (-np.arange(theta.size) / theta.size) / resting)


def _listed(numbers: np.ndarray) -> str:
    return ", ".join(f"{number:.6g}" for number in numbers)


def grown_by(growth: float) -> tuple[str, ...]:
    """Say by how much a rotation lengthens vectors, if it does."""
    return (f"every vector is {growth:.6g} times as long: an attention factor",) if abs(growth - 1) > NOISE else ()
