"""Say of measured angles what else was seen: the offset, the reach, real and negative positions, and the arithmetic."""

import numpy as np

from conformance.identify import angles
from conformance.identify.angles import Measured, Read
from conformance.identify.asking import Refused
from conformance.identify.turns import Turns

#: What is read as whole: a position that was truncated, a sign that was lost.
SMALL = 1e-3
#: Positions between whole ones: the last has more digits than a half format keeps.
BETWEEN = np.array([0.5, 1.5, 300.25])
#: A pair may make whole turns that turns so little, and what is said then.
RESTING_AT = 1e-5
WHOLE_TURNS = "a pair that hardly turns may make whole turns from one position to the next: positions between whole ones would show it"
ARITHMETIC, RIGHT = "arithmetic of the angles", "positions: right to"


def reached(turns: Turns, measured: Measured) -> str:
    """Say up to which position angles are right."""
    if turns.positions != "any":
        which = "it counts its rows from 0" if turns.positions == "from_zero" else "only the first position counts"
        return f"{which}; right to row {measured.farthest} at least"
    whole = measured.farthest >= (1 << angles.FARTHEST) - 1
    return f"{RIGHT} {measured.farthest} at least" if whole else f"{RIGHT} {measured.farthest}, not at twice that"


def described(measured: Measured, read: Read, reach: str, *, free: bool, known: bool) -> tuple[str, ...]:
    """Return what else was seen: offset, reach, arithmetic, and where positions are ``free`` what becomes of real and negative ones.

    Where frequencies aren't ``known``, pairs that hardly turn may make whole turns, and what is left over says nothing of the angles.
    """
    if not known and not measured.between and np.any(np.abs(measured.theta) < RESTING_AT):
        return (*_moved(measured.offset), WHOLE_TURNS)
    ends = _coarse(measured, read)
    if ends is not None:
        reach = f"{RIGHT} {ends[0]}, off at {ends[1]}: their angles are too coarse there"
    beside = (_real(measured, read), _negative(measured, read)) if free else ()
    return (*_moved(measured.offset), reach, *beside, _precision(measured, read))


def _moved(offset: float | None) -> tuple[str, ...]:
    """Say that position 0 stands elsewhere."""
    if offset is None:
        return ("position 0 is turned, by angles that belong to no position",)
    return (f"position offset: what is called 0 stands at {offset:g}",) if offset else ()


def _coarse(measured: Measured, read: Read) -> tuple[int, int] | None:
    try:
        return angles.coarse(read, measured)
    except Refused:
        return None


def _real(measured: Measured, read: Read) -> str:
    """Say what becomes of real positions."""
    between = BETWEEN[measured.farthest >= BETWEEN]
    try:
        half = read(between)
    except Refused:
        return "real positions: refused"
    off = _off(half, between, measured)
    allowed = _allowed(read, measured)
    if np.all(off < allowed):
        return "real positions: accepted"
    if off[0] < allowed:
        return f"real positions: accepted, and rounded: {between[off >= allowed][0]:g} isn't turned by its own angle"
    return "real positions: accepted, and not turned by their own angle, unless a pair turns by more than pi from one to the next"


def _negative(measured: Measured, read: Read) -> str:
    """Say what becomes of negative positions."""
    positions = np.array([-3, -1])
    try:
        back = read(positions)
    except Refused:
        return "negative positions: refused"
    turned = np.all(_off(back, positions, measured) < _allowed(read, measured))
    return "negative positions: accepted, and turned back" if turned else "negative positions: accepted, and not turned back"


def _off(angle: np.ndarray, positions: np.ndarray, measured: Measured) -> np.ndarray:
    """Return how far every position is turned from its own angle, at the worst pair."""
    return np.asarray(np.abs(angles.wrapped(angle - measured.start - positions[:, None] * measured.theta)).max(axis=1))


def _allowed(read: Read, measured: Measured) -> float:
    """Return how far that may be: twice as far as at the first positions, where angles, cosines and sines are rounded as well."""
    first = np.array([1, 2, 3])
    return max(SMALL, 2 * float(_off(read(first), first, measured).max()))


def _precision(measured: Measured, read: Read) -> str:
    """Say in which arithmetic the angles are computed, as far positions show it."""
    try:
        found = angles.arithmetic(read, measured)
    except Refused:
        found = None
    if found is None:
        return f"{ARITHMETIC}: not seen, no far position was taken"
    name, worst = found
    return f"{ARITHMETIC}: {name} (off by {worst:.1g} of the angle)"
