"""How well a candidate explains what was seen: every element of it, or not at all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from conformance.diagnosis.seen import FAR, Element, Seen
from conformance.spec.profiles import FORMATS
from conformance.spec.vectors import Vector

#: What a candidate returns for one vector, or nothing where it can't answer.
Answer = Callable[[Vector], Mapping[str, np.ndarray] | None]

ALLOWANCES = 4.0
EXCEPTIONS = 0.1
#: Roundings amplified may hide what a mistake gives in some numbers, not in most.
MOSTLY = 0.5


class Grade(IntEnum):
    """How well something fits, best first."""

    EXACT = 0
    CLOSE = 1
    NEAR = 2
    WITH_EXCEPTIONS = 3


@dataclass(frozen=True)
class _Fit:
    """How one result fits: its grade, and the elements that it changes, needs excepted, and explains."""

    grade: Grade
    changed: int = 0
    excepted: int = 0
    explained: int = 0


def grade(answer: Answer, everything: Sequence[Seen], *, precision: bool = False, unrounded: Answer | None = None) -> Grade | None:
    """Return how well a candidate fits everything, or ``None`` where it doesn't.

    With ``precision``, exceptions are made for numbers that round the other way; ``unrounded`` gives what would come without the rounding,
    where that isn't the right result.
    """
    fits: list[_Fit] = []
    for one in everything:
        found = _fits(answer, one, (unrounded or _right) if precision else None)
        if found is None:
            return None
        fits.extend(found)
    allowed = EXCEPTIONS * sum(fit.changed for fit in fits)
    if not any(fit.explained for fit in fits) or sum(fit.excepted for fit in fits) > allowed:
        return None
    return max(fit.grade for fit in fits)


def _right(vector: Vector) -> Mapping[str, np.ndarray]:
    return vector.expected or {}


def _fits(answer: Answer, one: Seen, unrounded: Answer | None) -> list[_Fit] | None:
    results = answer(one.vector)
    if results is None:
        return None
    without = unrounded(one.vector) if unrounded is not None else None
    found = []
    for element in one.elements:
        fit = _fit(element, results[element.name], None if without is None else without[element.name])
        if fit is None:
            return None
        found.append(fit)
    return found


def _fit(element: Element, other: np.ndarray, unrounded: np.ndarray | None) -> _Fit | None:
    """Return how one result fits, or ``None`` where it doesn't."""
    if other.shape != element.right.shape or (unrounded is None and _hopeless(element, other)):
        return None
    distance, close = element.distance(other), element.slack(element.allowed, other)
    beyond = ~np.isnan(close) & ~_near(element, other, distance, close)
    if not beyond.any():
        explained = int(element.far.sum())
        return _Fit(_closeness(element, other, distance, close), explained, 0, explained)
    return None if unrounded is None else _excepting(element, other, unrounded, beyond)


def _near(element: Element, other: np.ndarray, distance: np.ndarray, close: np.ndarray) -> np.ndarray:
    """Return where a candidate is as close as it must be."""
    near = np.maximum(close, element.slack(ALLOWANCES * element.reach, other))
    closer = np.maximum(element.off / ALLOWANCES, ALLOWANCES * close)
    return np.asarray((distance <= near) & (~element.far | (distance <= closer)))


def explains(element: Element, other: np.ndarray) -> bool:
    """Whether a candidate explains at least half of what is clearly wrong in one result, or right and clearly wrong by it."""
    if other.shape != element.right.shape:
        return False
    close = element.slack(element.allowed, other)
    against = ~element.wrong & (element.distance(other) > FAR * close)
    explained = element.far & _near(element, other, element.distance(other), close)
    return bool(explained.sum() >= MOSTLY * (element.far | against).sum())


def _hopeless(element: Element, other: np.ndarray) -> bool:
    """Whether a candidate is not as close at the clearest wrong element as it must be: there most candidates end, cheaply."""
    if element.row_constant or not element.far.any():
        return False
    got, candidate = float(element.got.flat[element.worst]), float(other.flat[element.worst])
    distance, off = abs(got - candidate), float(element.off.flat[element.worst])
    bits, smallest = FORMATS[element.dtype]
    rounding = max(abs(got), abs(candidate), 2.0**smallest) * 2.0**-bits
    return distance > max(off / ALLOWANCES, ALLOWANCES * (float(element.allowed.flat[element.worst]) + rounding))


def _closeness(element: Element, other: np.ndarray, distance: np.ndarray, close: np.ndarray) -> Grade:
    judged = ~np.isnan(close)
    if np.all(distance[judged] <= element.rounding(other)[judged]):
        return Grade.EXACT
    return Grade.CLOSE if np.all(distance[judged] <= close[judged]) else Grade.NEAR


def _excepting(element: Element, other: np.ndarray, unrounded: np.ndarray, beyond: np.ndarray) -> _Fit | None:
    """Return the fit of a mutant that rounds, where some elements may round the other way."""
    if unrounded.shape != other.shape:
        return None
    effect = np.abs(np.nan_to_num(other - unrounded))
    changed = effect > FAR * np.nan_to_num(element.slack(element.allowed, other))
    within = element.distance(other) <= np.max(effect, axis=-1, keepdims=True, initial=0.0)
    if not within[beyond].all():
        return None
    return _Fit(Grade.WITH_EXCEPTIONS, int(changed.sum()), int(beyond.sum()), int((element.far & ~beyond).sum()))
