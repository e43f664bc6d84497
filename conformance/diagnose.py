"""Name the known mistake, or the convention, whose output matches what an implementation returned.

A candidate must explain every element that was observed, those that are right too: it lies within four allowances (the largest of the
result, and two roundings at least, since a mistake moves numbers to where the allowance differs) and the final rounding. There must be
an element that is wrong by more than ten allowances, and the candidate must come four times as close to each such element as what is
right, or within four of its own allowances.
Where intermediates are rounded to a half format, a number near a boundary may round the other way: there, one in ten of the
elements that the mistake changes may be off by as much as the mistake changes its row.

Candidates that fit are ordered by how well they fit (exactly up to the final rounding, within one allowance, within four, with
exceptions), then conventions, mistakes, precision, then the order of the table, simple before composite. What fits after the first is
listed too, unless the first fits exactly and the other doesn't. A second round runs every mutant under every convention that wasn't
declared.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conformance.declarations import operations
from conformance.judge import half_ulp
from conformance.mutant import Mutant
from conformance.mutants import for_operation
from conformance.outcomes import Diagnosis
from conformance.profiles import FORMATS
from conformance.vectors import Vector

ALLOWANCES = 4.0
ROUNDINGS = 2.0
FAR = 10.0
EXCEPTIONS = 0.1
EXACT, CLOSE, NEAR, WITH_EXCEPTIONS = range(4)


@dataclass(frozen=True)
class Observation:
    """What one vector got."""

    vector: Vector
    got: Mapping[str, np.ndarray]
    dtype: str


@dataclass(frozen=True)
class _Candidate:
    """A mutant, or a mutant under a convention."""

    mutants: tuple[Mutant, ...]
    forces: Mapping[str, object] = field(default_factory=dict)

    @property
    def precision(self) -> bool:
        """Whether it rounds intermediates, which never repeats to the bit."""
        return self.mutants[-1].kind == "precision"

    def call(self, vector: Vector) -> dict[str, np.ndarray] | None:
        """Return its results for one vector, or nothing where it can't answer."""
        contract = operations()[vector.operation]
        arrays = [vector.inputs[name] for name in contract.arrays]
        try:
            value = self.mutants[-1].function(*arrays, **{**vector.parameters, **self.forces})
        except (ValueError, IndexError, ArithmeticError):
            return None
        return _named(contract.results, value)


@dataclass(frozen=True)
class _Element:
    """One result of one observation: got, right, and what is allowed between two right answers."""

    name: str
    got: np.ndarray
    right: np.ndarray
    allowed: np.ndarray
    reach: np.ndarray
    dtype: str
    row_constant: bool

    @functools.cached_property
    def off(self) -> np.ndarray:
        """How far what was got lies from what is right."""
        return _distance(self, self.right)

    @functools.cached_property
    def far(self) -> np.ndarray:
        """Where it is wrong by more than ten allowances."""
        return self.off > FAR * _slack(self, self.allowed, self.right)

    @property
    def whole(self) -> bool:
        """Whether it holds integers."""
        return self.right.dtype.kind == "i"


def diagnose(operation: str, observations: Sequence[Observation], profile: str) -> Diagnosis | None:
    """Return the known mistake that explains all that was observed, or ``None``."""
    seen = sorted(
        ((observation.vector, _elements(observation, profile)) for observation in observations if observation.vector.expected),
        key=lambda pair: not _shows(pair[1]),
    )
    if not any(_shows(elements) for _, elements in seen):
        return None
    for candidates in _rounds(operation):
        fits = [(grade, candidate) for candidate in candidates if (grade := _grade(candidate, seen)) is not None]
        if fits:
            best = min(grade for grade, _ in fits)
            return _diagnosis([candidate for grade, candidate in sorted(fits, key=lambda fit: fit[0]) if grade == best or best != EXACT])
    return None


def _rounds(operation: str) -> Iterator[list[_Candidate]]:
    mutants = for_operation(operation)
    yield [_Candidate((mutant,)) for mutant in mutants]
    forcing = [mutant for mutant in mutants if mutant.forces]
    yield [
        _Candidate((convention, mutant), convention.forces)
        for convention in forcing
        for mutant in mutants
        if not mutant.forces or (mutant.name > convention.name and not set(mutant.forces) & set(convention.forces))
    ]


def _diagnosis(candidates: Sequence[_Candidate]) -> Diagnosis:
    best = candidates[0].mutants
    return Diagnosis(
        mutants=tuple(mutant.name for mutant in best),
        does="; ".join(mutant.does for mutant in best),
        should="; ".join(mutant.should for mutant in best),
        fix="; ".join(mutant.fix for mutant in best),
        threads=tuple(dict.fromkeys(thread for mutant in best for thread in mutant.threads)),
        also_fits=tuple(" + ".join(mutant.name for mutant in other.mutants) for other in candidates[1:]),
        kind=best[-1].kind,
    )


def _named(names: Mapping[str, str], value: Any) -> dict[str, np.ndarray]:
    values = value if isinstance(value, tuple) else (value,)
    return {name: np.asarray(array) for name, array in zip(names, values, strict=True)}


def _elements(observation: Observation, profile: str) -> list[_Element]:
    vector = observation.vector
    return [
        _element(vector, name, np.asarray(observation.got[name]), observation.dtype, profile)
        for name, right in (vector.expected or {}).items()
        if name in observation.got and np.shape(observation.got[name]) == right.shape
    ]


def _element(vector: Vector, name: str, got: np.ndarray, dtype: str, profile: str) -> _Element:
    right = (vector.expected or {})[name]
    if right.dtype.kind == "i":
        allowed = np.zeros(right.shape)
        allowed.ravel()[list(vector.also.get(profile, {}).get(name, {}))] = np.nan
        return _Element(name, got, right, allowed, allowed, dtype, row_constant=False)
    allowed = vector.allowed.get(profile, {}).get(name, np.full(right.shape, np.nan))
    unit = 2.0 ** -FORMATS[profile.split("-", 1)[0]][0]
    least = ROUNDINGS * unit * np.max(np.abs(np.nan_to_num(got)), initial=0.0)
    reach = np.where(np.isnan(allowed), np.nan, np.maximum(np.max(np.nan_to_num(allowed), initial=0.0), least))
    return _Element(name, got, right, allowed, reach, dtype, vector.equality == "row_constant")


def _shows(elements: Sequence[_Element]) -> bool:
    return any(bool(np.any(element.far)) for element in elements)


def _slack(element: _Element, allowed: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return what is allowed with the final rounding; NaN where nothing is judged."""
    if element.whole:
        return allowed
    largest = np.nan_to_num(np.maximum(np.abs(element.got), np.abs(other)), posinf=0.0)
    return _with_anchor(element, allowed + half_ulp(largest, element.dtype), add=True)


def _distance(element: _Element, other: np.ndarray) -> np.ndarray:
    """Return how far what was got lies from something else; equal infinities and NaN lie at 0."""
    with np.errstate(invalid="ignore"):
        difference = np.where((element.got == other) | (np.isnan(element.got) & np.isnan(other)), 0.0, element.got - other)
    difference = np.where(np.isnan(difference), np.inf, difference)
    distance: np.ndarray = np.abs(_with_anchor(element, difference, add=False))
    return distance


def _with_anchor(element: _Element, values: np.ndarray, *, add: bool) -> np.ndarray:
    """Add or subtract the value at the sharpest element of the row, where a constant per row doesn't count."""
    if not element.row_constant:
        return values
    sharpest = np.argmin(np.nan_to_num(element.allowed, nan=np.inf) + np.abs(element.right), axis=-1)[..., None]
    anchor: np.ndarray = np.take_along_axis(values, sharpest, axis=-1)
    moved: np.ndarray = values + anchor if add else values - anchor
    return moved


@dataclass(frozen=True)
class _Fit:
    """How one result fits: its grade, and the elements that it changes, needs excepted, and explains."""

    grade: int
    changed: int = 0
    excepted: int = 0
    explained: int = 0


def _grade(candidate: _Candidate, seen: Sequence[tuple[Vector, Sequence[_Element]]]) -> int | None:
    """Return how well a candidate fits everything, or ``None`` where it doesn't."""
    fits: list[_Fit] = []
    for vector, elements in seen:
        results = candidate.call(vector)
        if results is None:
            return None
        for element in elements:
            fit = _fit(element, results[element.name], precision=candidate.precision)
            if fit is None:
                return None
            fits.append(fit)
    allowed = EXCEPTIONS * sum(fit.changed for fit in fits)
    if not any(fit.explained for fit in fits) or sum(fit.excepted for fit in fits) > allowed:
        return None
    return max(fit.grade for fit in fits)


def _fit(element: _Element, other: np.ndarray, *, precision: bool) -> _Fit | None:
    """Return how one result fits, or ``None`` where it doesn't."""
    if other.shape != element.right.shape:
        return None
    distance, close = _distance(element, other), _slack(element, element.allowed, other)
    near = np.maximum(close, _slack(element, ALLOWANCES * element.reach, other))
    closer = np.maximum(element.off / ALLOWANCES, ALLOWANCES * close)
    beyond = ~np.isnan(close) & ~((distance <= near) & (~element.far | (distance <= closer)))
    if not beyond.any():
        explained = int(element.far.sum())
        return _Fit(_closeness(element, other, distance, close), explained, 0, explained)
    return _excepting(element, other, beyond, distance) if precision else None


def _closeness(element: _Element, other: np.ndarray, distance: np.ndarray, close: np.ndarray) -> int:
    judged = ~np.isnan(close)
    final = 0.0 * close if element.whole else half_ulp(np.nan_to_num(np.abs(other), posinf=0.0), element.dtype)
    if np.all(distance[judged] <= final[judged]):
        return EXACT
    return CLOSE if np.all(distance[judged] <= close[judged]) else NEAR


def _excepting(element: _Element, other: np.ndarray, beyond: np.ndarray, distance: np.ndarray) -> _Fit | None:
    """Return the fit of a mutant that rounds, where some elements may round the other way."""
    effect = np.abs(np.nan_to_num(other - element.right))
    changed = effect > FAR * np.nan_to_num(_slack(element, element.allowed, other))
    within = distance <= np.max(effect, axis=-1, keepdims=True, initial=0.0)
    if not within[beyond].all():
        return None
    return _Fit(WITH_EXCEPTIONS, int(changed.sum()), int(beyond.sum()), int((element.far & ~beyond).sum()))
