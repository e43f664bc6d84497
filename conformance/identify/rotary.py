"""Recover a rotary encoding from values: the map at each position, its pairs, angles, frequencies, and the rule behind them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from conformance.declarations import operations
from conformance.identify import angles, ladders, maps
from conformance.identify.angles import Measured, Read
from conformance.identify.asking import Refused
from conformance.identify.findings import Confidence, Identity, Seen, near
from conformance.identify.maps import TOLERANCE, Rotation
from conformance.identify.turns import Turns

GROWTH = 0.1
BASE = 10_000.0
#: What is read as whole: a position that was truncated, a sign that was lost.
SMALL = 1e-3


def identify(turns: Turns) -> Identity:
    """Return what a function on vectors and positions is."""
    tolerance = TOLERANCE[turns.probe.dtype]
    strange = _not_linear(turns, tolerance)
    if strange is not None:
        return Identity(None, strange)
    positions, matrices = maps.matrices(turns)
    if positions.size == 1:
        return Identity(None, "only position 0 was accepted, where nothing can be told from another encoding", unseen=(ONLY_ZERO,))
    found = maps.rotation(matrices, tolerance)
    if found is None:
        return Identity(None, maps.trouble(matrices, tolerance))
    if np.abs(matrices - matrices[0]).max() <= tolerance:
        return Identity(None, maps.trouble(matrices, tolerance))
    return _rotating(turns, found)


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
    return None if np.abs(both - apart).max() <= 16 * tolerance else "the result isn't linear in x"


ONLY_ZERO = "base, direction and scaling can't be seen: only position 0 was accepted"
#: Said of a function that gives numbers for x = 0, which an additive encoding does.
ADDED = "not linear in x: x = 0 doesn't give 0"


def _rotating(turns: Turns, found: Rotation) -> Identity:
    read = reader(turns, found)
    measured = angles.measured(read, turns.probe.dtype)
    parameters = _shape(turns, found)
    if measured is None:
        return Identity(None, "a rotation in pairs at position 0", parameters, (), (ONLY_ZERO,))
    offset = measured.offset
    if offset is None:
        return Identity(None, "a rotation in pairs, but position 0 is turned by angles that belong to no position", parameters)
    parameters |= {"offset": Seen(offset)} if offset else {}
    seen = _seen(turns, measured, read)
    return named(measured, found.pairing.width, found.growth, parameters, seen, turns.probe.settings)


def _shape(turns: Turns, found: Rotation) -> dict[str, Seen]:
    pairing = found.pairing
    placed = {} if pairing.width == turns.width else {
        "rotary_dim": Seen(pairing.width),
        "placement": Seen("first" if pairing.first == 0 else "last" if pairing.first + pairing.width == turns.width else pairing.first),
    }
    return {"layout": Seen(pairing.layout), **placed}


def named(
    measured: Measured,
    width: int,
    growth: float,
    parameters: Mapping[str, Seen],
    seen: tuple[str, ...],
    asked: Mapping[str, Any],
    noise: float = 2e-5,
) -> Identity:
    """Return the operation and the parameters that frequencies and growth show; ``asked`` are the settings of the call."""
    sign = -1.0 if measured.theta[0] < 0 else 1.0
    direction = {"direction": Seen("negative" if sign < 0 else "positive")} if "layout" in parameters else {}
    ladder = ladders.Ladder(sign * measured.theta, measured.error / np.maximum(np.abs(measured.theta), 1e-12), width)
    rule, rounded = _rule(ladder, asked)
    common, seen = {**parameters, **direction}, (*seen, *rounded)
    if rule is None:
        return _unruled(ladder, common, (*seen, *_grown(growth, noise)))
    larger, factors = _growth(rule, growth, noise)
    everything = {**common, **rule.parameters, **factors}
    if larger and rule.name != "yarn":
        return Identity(None, f"rotary, {rule.words}{larger}", everything, (*seen, *rule.notes))
    return Identity(_covering(f"{rule.name}.rotate", everything), f"{rule.words}{larger}", everything, seen, rule.notes)


def _covering(operation: str, found: Mapping[str, Seen]) -> str:
    """Return an operation, or where more was found than its parameters the one that has them all."""
    known = operations()
    wanted = known[operation].parameters.keys() | found.keys()
    return next((name for name in (operation, *known) if wanted <= known[name].parameters.keys()), operation)


def _unruled(ladder: ladders.Ladder, parameters: Mapping[str, Seen], seen: tuple[str, ...]) -> Identity:
    """Say that frequencies are on no known ladder, and which they are."""
    listed = f"radians per position: {_listed(ladder.theta)}"
    what = "a norm-preserving rotation of pairs, but its frequencies are on no known ladder"
    factors = BASE ** (-2 * np.arange(ladder.count) / ladder.width) / ladder.theta
    if np.all(np.diff(ladder.theta) < 0) and np.all(factors > 1 - SMALL):
        per_pair = f"against base {BASE:g} the pairs have these factors: {_listed(factors)}"
        return Identity(None, f"{what}: a factor for every pair, as LongRoPE has", parameters, (*seen, listed, per_pair))
    return Identity(None, f"{what}: learned, or drawn", parameters, (*seen, listed))


def _listed(numbers: np.ndarray) -> str:
    return ", ".join(f"{number:.6g}" for number in numbers)


def _rule(ladder: ladders.Ladder, asked: Mapping[str, Any]) -> tuple[ladders.Rule | None, tuple[str, ...]]:
    """Return the rule of a ladder, if need be of one whose frequencies were rounded to a half format, and what is to be said of that."""
    rule = ladders.rule(ladder, asked)
    for name, unit in (("float16", 2.0**-12), ("bfloat16", 2.0**-9)):
        if rule is None:
            coarse = ladders.rule(ladders.Ladder(ladder.theta, np.full(ladder.count, unit), ladder.width), asked)
            if coarse is not None and coarse.name == "rope":
                return coarse, (f"frequencies are off by as much as {name} rounds them",)
    return rule, ()


def _grown(growth: float, noise: float) -> tuple[str, ...]:
    return (f"every vector is {growth:.6g} times as long: an attention factor",) if abs(growth - 1) > noise else ()


def _growth(rule: ladders.Rule, growth: float, noise: float) -> tuple[str, dict[str, Seen]]:
    """Return what the growth says, and the attention factor where it isn't the one of the rule."""
    if rule.name == "yarn":
        usual = GROWTH * np.log(float(rule.parameters["factor"].value)) + 1
        if abs(growth / usual - 1) <= noise:
            unset = ("attention_factor", "mscale", "mscale_all_dim")
            return "", {name: Seen(None, confidence=Confidence.LIKELY, why="0.1 ln(factor) + 1") for name in unset}
        return f", times {growth:.6g}", {"attention_factor": near(growth, noise)}
    return (f", times {growth:.6g}", {"attention_factor": near(growth, noise)}) if abs(growth - 1) > noise else ("", {})


def _seen(turns: Turns, measured: Measured, read: Read) -> tuple[str, ...]:
    """Return what else was seen: offset, reach, real and negative positions, arithmetic."""
    offset = measured.offset
    lines = [] if offset == 0 else [moved(offset)]
    lines.append(_reach(turns, measured))
    if turns.positions == "any":
        lines += [real(measured, read), negative(measured, read)]
    return tuple(line for line in [*lines, precision(measured, read)] if line)


def moved(offset: float | None) -> str:
    """Say that position 0 stands elsewhere."""
    if offset is None:
        return "position 0 is turned, by angles that belong to no position"
    return f"position offset: what is called 0 stands at {offset:g}"


def _reach(turns: Turns, measured: Measured) -> str:
    if turns.positions != "any":
        which = "it counts its rows from 0" if turns.positions == "from_zero" else "only the first position counts"
        return f"{which}; right to row {measured.farthest} at least"
    whole = measured.farthest >= (1 << angles.FARTHEST) - 1
    return f"positions: right to {measured.farthest} at least" if whole else f"positions: right to {measured.farthest}, not at twice that"


def real(measured: Measured, read: Read) -> str:
    """Say what becomes of real positions."""
    try:
        half = read(np.array([0.5, 1.5]))
    except Refused:
        return "real positions: refused"
    off = angles.wrapped(half - measured.start - np.array([[0.5], [1.5]]) * measured.theta)
    return "real positions: accepted" if np.abs(off).max() < SMALL else "real positions: accepted, and not turned by their own angle"


def negative(measured: Measured, read: Read) -> str:
    """Say what becomes of negative positions."""
    try:
        back = read(np.array([-3, -1]))
    except Refused:
        return "negative positions: refused"
    off = angles.wrapped(back - measured.start - np.array([[-3], [-1]]) * measured.theta)
    return "negative positions: turn back" if np.abs(off).max() < SMALL else "negative positions: accepted, and not turned back"


def precision(measured: Measured, read: Read) -> str:
    """Say in which arithmetic the angles are computed, as far positions show it."""
    try:
        found = angles.arithmetic(read, measured)
    except Refused:
        found = None
    if found is None:
        return "arithmetic of the angles: not seen, no far position was taken"
    name, worst = found
    return f"arithmetic of the angles: {name} (off by {worst:.1g} of the angle)"
