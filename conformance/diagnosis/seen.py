"""What was observed: for every result of every vector what came, what is right, and how far two right answers may lie apart."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from conformance.judge.judge import half_ulp, hidden_places
from conformance.spec.profiles import FORMATS, LARGEST
from conformance.spec.vectors import Vector

ROUNDINGS = 2.0
FAR = 10.0
#: How many drawn cases are compared, of those that show a mistake and of the others: each costs as much as a stored vector.
DRAWN = 16


@dataclass(frozen=True)
class Observation:
    """What one vector got, and whether keys after their queries are declared to be ``masked``."""

    vector: Vector
    got: Mapping[str, np.ndarray]
    dtype: str
    masked: bool = False


@dataclass(frozen=True)
class Element:
    """One result of one observation: got, right, what is allowed between two right answers, and how far off a known mistake may be.

    Of a large call it has the elements that are judged, at flat indices ``at`` of the ``shape``.
    """

    name: str
    got: np.ndarray
    right: np.ndarray
    allowed: np.ndarray
    reach: np.ndarray
    dtype: str
    row_constant: bool
    shape: tuple[int, ...]
    at: np.ndarray | None = None

    def part(self, whole: np.ndarray) -> np.ndarray:
        """Return of a whole result what is compared."""
        return whole if self.at is None or whole.shape != self.shape else whole.reshape(-1)[self.at]

    @functools.cached_property
    def off(self) -> np.ndarray:
        """How far what was got lies from what is right."""
        return self.distance(self.right)

    @functools.cached_property
    def margin(self) -> np.ndarray:
        """What is allowed between what was got and what is right, as a verdict allows it; NaN where nothing is judged."""
        if self.whole:
            return self.allowed
        farthest = np.nan_to_num(np.abs(self.right) + np.nan_to_num(self.allowed), posinf=0.0)
        return self._with_anchor(self.allowed + half_ulp(farthest, self.dtype), add=True)

    @functools.cached_property
    def far(self) -> np.ndarray:
        """Where it is wrong by more than ten allowances."""
        return self.off > FAR * self.margin

    @functools.cached_property
    def wrong(self) -> np.ndarray:
        """Where it is wrong by more than what is allowed."""
        return self.off > self.margin

    @functools.cached_property
    def worst(self) -> int:
        """The flat index of the clearest wrong element."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return int(np.argmax(np.where(self.far, self.off / np.nan_to_num(self.margin), -1.0)))

    @property
    def judged(self) -> np.ndarray:
        """Where anything is judged."""
        return np.asarray(~np.isnan(self.margin))

    @property
    def whole(self) -> bool:
        """Whether it holds integers."""
        return self.right.dtype.kind == "i"

    def slack(self, allowed: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return what is allowed with the final rounding; NaN where nothing is judged."""
        if self.whole:
            return allowed
        largest = np.nan_to_num(np.maximum(np.abs(self.got), np.abs(other)), posinf=0.0)
        return self._with_anchor(allowed + half_ulp(largest, self.dtype), add=True)

    def rounding(self, other: np.ndarray) -> np.ndarray:
        """Return how far the final rounding may move something else."""
        if self.whole:
            return np.zeros(other.shape)
        return self._with_anchor(half_ulp(np.nan_to_num(np.abs(other), posinf=0.0), self.dtype), add=True)

    def distance(self, other: np.ndarray) -> np.ndarray:
        """Return how far what was got lies from something else; equal infinities and NaN lie at 0, and so does what overflows."""
        return np.asarray(np.abs(self.difference(other)))

    def difference(self, other: np.ndarray) -> np.ndarray:
        """Return what was got less something else, and less its row's own constant where that doesn't count."""
        with np.errstate(invalid="ignore"):
            beyond = np.isinf(self.got) & (self.got * other >= 0) & (np.abs(other) >= LARGEST[self.dtype])
            same = (self.got == other) | (np.isnan(self.got) & np.isnan(other)) | beyond
            difference = np.where(same, 0.0, self.got - other)
        return self._with_anchor(np.asarray(np.where(np.isnan(difference), np.inf, difference)), add=False)

    def _with_anchor(self, values: np.ndarray, *, add: bool) -> np.ndarray:
        """Add or subtract the value at the sharpest element of the row, where a constant per row doesn't count."""
        if not self.row_constant:
            return values
        sharpest = np.argmin(np.nan_to_num(self.allowed, nan=np.inf) + np.abs(self.right), axis=-1)[..., None]
        anchor = np.take_along_axis(values, sharpest, axis=-1)
        return np.asarray(values + anchor if add else values - anchor)


@dataclass(frozen=True)
class Seen:
    """One vector with the results that can be compared."""

    vector: Vector
    elements: tuple[Element, ...]

    @functools.cached_property
    def shows(self) -> bool:
        """Whether an element is wrong by more than ten allowances."""
        return any(bool(np.any(element.far)) for element in self.elements)

    @property
    def wrong(self) -> bool:
        """Whether an element is wrong by more than what is allowed."""
        return any(bool(element.wrong.any()) for element in self.elements)

    @functools.cached_property
    def size(self) -> int:
        """How many numbers go in and come out."""
        return sum(array.size for array in self.vector.inputs.values()) + sum(element.right.size for element in self.elements)


def seen(observations: Sequence[Observation], profile: str) -> list[Seen]:
    """Return what can be compared, what shows a mistake first, small before large: so that most candidates end after one call.

    Stored vectors are all compared, of drawn ones the smallest, some that show a mistake and some that don't; large calls, which are
    judged at some elements only, aren't.
    """
    every = compared([one for one in observations if not one.vector.at], profile)
    every.sort(key=lambda one: (not one.shows, one.size))
    drawn = [one for one in every if one.vector.drawn]
    kept = {id(one) for shows in (True, False) for one in [each for each in drawn if each.shows is shows][:DRAWN]}
    return [one for one in every if not one.vector.drawn or id(one) in kept]


def compared(observations: Sequence[Observation], profile: str) -> list[Seen]:
    """Return all that can be compared, in order; of large calls what is judged, unless a constant per row doesn't count there."""
    told = (one for one in observations if one.vector.expected and not (one.vector.at and one.vector.equality == "row_constant"))
    return [Seen(one.vector, _elements(one, profile)) for one in told]


def origin(vector: Vector) -> object:
    """Return what drawn calls have in common that were made of one another, as those that look alike: what shows in all shows once."""
    return (str(sorted(vector.parameters.items())), str([array.shape for array in vector.inputs.values()])) if vector.drawn else vector.id


def _elements(observation: Observation, profile: str) -> tuple[Element, ...]:
    vector = observation.vector
    return tuple(
        _element(observation, name, right, profile)
        for name, right in (vector.expected or {}).items()
        if name in observation.got and np.shape(observation.got[name]) == (tuple(vector.shapes[name]) if name in vector.at else right.shape)
    )


def _element(observation: Observation, name: str, right: np.ndarray, profile: str) -> Element:
    """Return one result as it is compared: where it is hidden nothing is judged, and what came counts as right."""
    vector, dtype = observation.vector, observation.dtype
    came, at = np.asarray(observation.got[name]), vector.at.get(name)
    hidden = np.broadcast_to(hidden_places(vector, name, masked=observation.masked), came.shape)
    shape = came.shape
    if at is not None:
        came, hidden, right = came.reshape(-1)[at], hidden.reshape(-1)[at], right.ravel()
    got = np.where(hidden, right, came)
    if right.dtype.kind == "i":
        allowed = np.zeros(right.shape)
        allowed.ravel()[list(vector.also.get(profile, {}).get(name, {}))] = np.nan
        return Element(name, got, right, allowed, allowed, dtype, row_constant=False, shape=shape, at=at)
    known = vector.allowed.get(profile, {}).get(name, np.full(right.shape, np.nan)).reshape(right.shape)
    allowed = np.where(hidden | (np.abs(right) + np.nan_to_num(known) >= LARGEST[dtype]), np.nan, known)
    unit = 2.0 ** -FORMATS[profile.split("-", 1)[0]][0]
    least = ROUNDINGS * unit * np.max(np.abs(np.nan_to_num(got)), initial=0.0)
    reach = np.where(np.isnan(allowed), np.nan, np.maximum(np.max(np.nan_to_num(allowed), initial=0.0), least))
    return Element(name, got, right, allowed, reach, dtype, vector.equality == "row_constant", shape, at)
