"""Compare what came back with what is right: the only place that decides about a value."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from conformance.declarations import features, operations
from conformance.outcomes import Failed, NotJudged, Outcome, Passed, Reason
from conformance.profiles import FORMATS, LARGEST, PROFILES
from conformance.subject import Reply
from conformance.vectors import Vector
from refimpl.spec import axis_names

#: Where the tokens of an axis stand.
PLACES = {"token": "positions", "query": "query_positions", "key": "key_positions", "offset": "offsets"}


@dataclass(frozen=True)
class Judgement:
    """What one comparison found; ``ratio`` is the error as a multiple of the allowed."""

    outcome: Outcome
    ratio: float | None = None
    worst: tuple[str, tuple[int, ...]] | None = None
    profile_met: str | None = None
    by_position: tuple[tuple[int, float], ...] = ()
    not_judged: int = 0
    total: int = 0
    wider: str | None = None


@dataclass(frozen=True)
class _Side:
    """One result: what was expected and what came."""

    vector: Vector
    name: str
    expected: np.ndarray
    got: np.ndarray
    dtype: str
    known: dict[str, np.ndarray | None] = field(default_factory=dict)

    def ratios(self, profile: str) -> np.ndarray | None:
        """Return how far off each element is as a multiple of the allowed: NaN is not judged, ``None`` has no allowance."""
        if profile not in self.known:
            self.known[profile] = _exact_ratios(self, profile) if self.expected.dtype.kind == "i" else _ratios(self, profile)
        return self.known[profile]


def half_ulp(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return half the distance between neighbours of that dtype at each value: the final rounding."""
    bits, smallest = FORMATS[dtype]
    _, exponents = np.frexp(np.abs(values))
    exponents = np.where(values == 0, smallest, exponents - 1)
    return np.asarray(np.ldexp(0.5, np.maximum(exponents, smallest) - (bits - 1)))


def compare(vector: Vector, reply: Reply, dtype: str, profile: str) -> Judgement:
    """Judge a reply: names, shapes, dtypes, finiteness, then values."""
    expected = vector.expected or {}
    failure = _names(expected, reply) or _shapes(expected, reply) or _dtypes(vector, reply, dtype) or _finite(vector, reply)
    if failure is not None:
        return Judgement(failure)
    sides = [_Side(vector, name, right, reply.values[name], reply.dtypes[name]) for name, right in expected.items()]
    return _judgement(vector, sides, profile, _wider(vector, reply, dtype))


def exact_in(vector: Vector, dtype: str) -> bool:
    """Whether every floating input of the vector is a number of that dtype, so that no rounding excuses anything."""
    return all(holds(dtype, values) for values in vector.inputs.values() if values.dtype.kind == "f")


def holds(dtype: str, values: np.ndarray) -> bool:
    """Whether every one of the real numbers is a number of that dtype."""
    bits, smallest = FORMATS[dtype]
    _, exponents = np.frexp(values)
    units = np.ldexp(values, bits - np.maximum(exponents, smallest + 1))
    return bool(np.array_equal(units, np.round(units)))


def _names(expected: Mapping[str, np.ndarray], reply: Reply) -> Failed | None:
    if set(reply.values) == set(expected):
        return None
    return Failed(Reason.MALFORMED, f"results must be {', '.join(expected)}, got {', '.join(reply.values)}")


def _shapes(expected: Mapping[str, np.ndarray], reply: Reply) -> Failed | None:
    for name, right in expected.items():
        if reply.values[name].shape != right.shape:
            return Failed(Reason.SHAPE, f"{name} must have shape {right.shape}, got {reply.values[name].shape}")
    return None


def _dtypes(vector: Vector, reply: Reply, dtype: str) -> Failed | None:
    owner = features(operations()[vector.operation])
    for name, right in (vector.expected or {}).items():
        got = reply.dtypes[name]
        if right.dtype.kind == "i":
            if not got.startswith(("int", "uint")):
                return Failed(Reason.DTYPE, f"{name} must be integers, got {got}")
        elif got not in FORMATS:
            return Failed(Reason.DTYPE, f"{name} must be real numbers, got {got}")
        elif owner is not None and not _holds(got, dtype):
            return Failed(Reason.DTYPE, f"{name} must have the dtype of {owner}, {dtype}, got {got}")
    return None


def _holds(wide: str, narrow: str) -> bool:
    """Whether every number of the one dtype is a number of the other."""
    bits, smallest = FORMATS[wide]
    return bits >= FORMATS[narrow][0] and smallest <= FORMATS[narrow][1]


def _wider(vector: Vector, reply: Reply, dtype: str) -> str | None:
    """Return the dtype of the first floating result that is wider than its input."""
    if features(operations()[vector.operation]) is None:
        return None
    return next((got for got in reply.dtypes.values() if got in FORMATS and got != dtype), None)


def _finite(vector: Vector, reply: Reply) -> Failed | None:
    for name, right in (vector.expected or {}).items():
        got = reply.values[name]
        beyond = np.isinf(got) & (np.abs(right) >= LARGEST.get(reply.dtypes[name], math.inf) / 2)
        wrong = ~np.isfinite(got) & (got != right) & ~beyond
        if wrong.any():
            where = tuple(int(i) for i in np.argwhere(wrong)[0])
            return Failed(Reason.NOT_FINITE, f"{int(wrong.sum())} of {got.size} not finite; first at {where}: {got[where]}")
    return None


def _exact_ratios(side: _Side, profile: str) -> np.ndarray:
    """Return 0 where the integer is right, or another that the profile reaches, and infinity elsewhere."""
    right = (side.expected == side.got).ravel()
    for index, others in side.vector.also.get(profile, {}).get(side.name, {}).items():
        right[index] |= bool(side.got.ravel()[index] in others)
    return np.where(right, 0.0, math.inf).reshape(side.expected.shape)


def _ratios(side: _Side, profile: str) -> np.ndarray | None:
    radius = side.vector.allowed.get(profile, {}).get(side.name)
    if radius is None:
        return None
    farthest = np.abs(side.expected) + np.fmax(radius, 0.0)
    allowed = np.where(farthest >= LARGEST[side.dtype], np.nan, radius + half_ulp(farthest, side.dtype))
    with np.errstate(invalid="ignore"):
        difference = np.where(side.got == side.expected, 0.0, side.got - side.expected)
        if side.vector.equality == "row_constant":
            difference, allowed = _without_row_constant(difference, allowed)
    return np.where(np.isnan(allowed), np.nan, _quotient(np.abs(difference), allowed))


def _without_row_constant(difference: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both relative to the element of each row that has the smallest allowance."""
    sharpest = np.argmin(np.where(np.isnan(allowed), np.inf, allowed), axis=-1)[..., None]
    return (
        difference - np.take_along_axis(difference, sharpest, axis=-1),
        allowed + np.take_along_axis(allowed, sharpest, axis=-1),
    )


def _quotient(error: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(error == 0, 0.0, error / allowed)


def _judgement(vector: Vector, sides: list[_Side], profile: str, wider: str | None) -> Judgement:
    total = sum(side.expected.size for side in sides)
    known = [(side, ratios) for side in sides if (ratios := side.ratios(profile)) is not None]
    if len(known) < len(sides):
        return Judgement(NotJudged(f"no allowance is known at {profile}"), not_judged=total, total=total)
    skipped = int(sum(np.isnan(ratios).sum() for _, ratios in known))
    if skipped == total and total:
        return Judgement(NotJudged(f"the allowance at {profile} is too wide at every element"), not_judged=total, total=total)
    worst, ratios = max(known, key=lambda pair: _largest(pair[1]))
    ratio = _largest(ratios)
    return Judgement(
        outcome=Passed() if ratio <= 1 else Failed(Reason.VALUE, _message(known, worst, ratios)),
        ratio=ratio,
        worst=(worst.name, _where(ratios)),
        profile_met=_strongest(sides),
        by_position=_by_position(vector, known),
        not_judged=skipped,
        total=total,
        wider=wider,
    )


def _largest(ratios: np.ndarray) -> float:
    return float(np.fmax.reduce(ratios, axis=None, initial=0.0))


def _where(ratios: np.ndarray) -> tuple[int, ...]:
    if ratios.size == 0:
        return ()
    index = np.unravel_index(int(np.argmax(np.fmax(ratios, -1.0))), ratios.shape)
    return tuple(int(i) for i in index)


def _strongest(sides: list[_Side]) -> str | None:
    """Return the first profile, strongest first, within which every element lies."""
    for profile in PROFILES:
        known = [ratios for side in sides if (ratios := side.ratios(profile)) is not None]
        if len(known) == len(sides) and all(_largest(ratios) <= 1 for ratios in known):
            return profile
    return None


def _message(known: list[tuple[_Side, np.ndarray]], worst: _Side, ratios: np.ndarray) -> str:
    wrong = int(sum((other > 1).sum() for _, other in known))
    total = sum(other.size for _, other in known)
    where = _where(ratios)
    place = f"{worst.name}{where}" if len(known) > 1 else f"{where}"
    got, right = worst.got[where], worst.expected[where]
    if worst.expected.dtype.kind == "i":
        return f"{wrong} of {total} differ; first at {place}: {got}, expected {right}"
    return (
        f"{wrong} of {total} differ; worst at {place}: {got:.9g}, expected {right:.9g}, "
        f"off by {abs(got - right):.2g}, {ratios[where]:.3g} times the allowed"
    )


def _by_position(vector: Vector, known: list[tuple[_Side, np.ndarray]]) -> tuple[tuple[int, float], ...]:
    """Return the largest ratio at every position, where the result says which position an element belongs to."""
    worst: dict[int, float] = {}
    for side, ratios in known:
        places = _positions(vector, side)
        if places is None:
            continue
        judged = ~np.isnan(ratios)
        for place, ratio in zip(places[judged].tolist(), ratios[judged].tolist(), strict=True):
            worst[int(place)] = max(worst.get(int(place), 0.0), ratio)
    return tuple(sorted(worst.items()))


def _positions(vector: Vector, side: _Side) -> np.ndarray | None:
    """Return the position of every element: of its token, or the farther one of its query and its key."""
    names = axis_names(operations()[vector.operation].results[side.name], side.expected.ndim) or ()
    found = [
        _spread(vector.inputs[PLACES[axis]], names, axis, side.expected.shape)
        for axis in names
        if PLACES.get(axis) in vector.inputs
    ]
    return np.maximum.reduce(found) if found else None


def _spread(places: np.ndarray, names: tuple[str, ...], axis: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return positions along one axis (and the batch, where they have one), at every element of a result."""
    own = ("batch", axis) if places.ndim > 1 else (axis,)
    if not set(own) <= set(names):
        return np.broadcast_to(np.abs(places).max(initial=0), shape)
    sizes = [shape[i] if name in own else 1 for i, name in enumerate(names)]
    return np.broadcast_to(np.abs(places).reshape(sizes), shape)
