"""Compare what came back with what is right: the only place that decides about a value."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from conformance.adapt.arrays import narrowed
from conformance.adapt.wording import times
from conformance.calls.outcomes import Failed, NotJudged, Outcome, Passed, Reason
from conformance.calls.subject import Reply
from conformance.judge.beginnings import extent
from conformance.spec.arguments import outermost
from conformance.spec.declarations import features, operations
from conformance.spec.profiles import FORMATS, LARGEST, attainable
from conformance.spec.vectors import Vector
from refimpl.spec import axis_names

#: From where to where numbers are easily read.
SMALL, LARGE = 1e-4, 1e6
#: Where the tokens of an axis stand.
PLACES = {"token": "positions", "query": "query_positions", "key": "key_positions", "offset": "offsets"}


@dataclass(frozen=True)
class Judgement:
    """What one comparison found; ``ratio`` is a multiple of the allowed, ``ordinary`` says that the worst number is easily read."""

    outcome: Outcome
    ratio: float | None = None
    worst: tuple[str, tuple[int, ...]] | None = None
    profile_met: str | None = None
    by_position: tuple[tuple[int, float], ...] = ()
    not_judged: int = 0
    total: int = 0
    wider: str | None = None
    ordinary: bool = True


@dataclass(frozen=True)
class _Side:
    """One result: the shape it has, the flat indices of what is judged, and for these what was expected, what came, and what is masked."""

    vector: Vector
    name: str
    shape: tuple[int, ...]
    at: np.ndarray
    expected: np.ndarray
    got: np.ndarray
    masked: np.ndarray
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


def allowance(expected: np.ndarray, radius: np.ndarray, dtype: str) -> np.ndarray:
    """Return what a result in a dtype may be off by: the radius, then the final rounding; NaN isn't judged."""
    farthest = np.abs(expected) + np.fmax(radius, 0.0)
    return np.where(farthest >= LARGEST[dtype], np.nan, radius + half_ulp(farthest, dtype))


def compare(vector: Vector, reply: Reply, dtype: str, profile: str, *, masked: bool = False) -> Judgement:
    """Judge a reply: names, shapes, dtypes, what is ``masked`` (a key after its query must be hidden there), finiteness, then values."""
    sides = _sides(vector, reply, dtype, masked=masked)
    if isinstance(sides, Failed):
        return Judgement(sides)
    return _judgement(vector, sides, profile, attainable(came(reply, dtype)), _wider(vector, reply, dtype))


def fails(vector: Vector, reply: Reply, dtype: str, profile: str, *, beyond: float = 1.0) -> bool:
    """Whether ``compare`` finds a reply wrong, in value by more than so many times the allowed; nothing is put into words for that."""
    sides = _sides(vector, reply, dtype, masked=False)
    if isinstance(sides, Failed):
        return True
    known = [ratios for side in sides if (ratios := side.ratios(profile)) is not None]
    return len(known) == len(sides) and any(_largest(ratios) > beyond for ratios in known)


def _sides(vector: Vector, reply: Reply, dtype: str, *, masked: bool) -> "list[_Side] | Failed":
    """Return what is judged of every result, or what is wrong whatever the values are."""
    failure = _names(vector, reply) or _shapes(vector, reply) or _dtypes(vector, reply, dtype)
    if failure is not None:
        return failure
    hidden = {name: hidden_places(vector, name, masked=masked) for name in reply.values}
    failure = _unmasked(reply, hidden) or _finite(vector, reply, hidden)
    return failure or [_side(vector, reply, name, hidden[name]) for name in vector.expected or {}]


def came(reply: Reply, dtype: str) -> set[str]:
    """Return the dtypes that came back; integers count as what was asked for."""
    return {got if got in FORMATS else dtype for got in reply.dtypes.values()}


def exact_in(vector: Vector, dtype: str) -> bool:
    """Whether every floating input of the vector is a number of that dtype, so that no rounding excuses anything."""
    return all(holds(dtype, values) for values in vector.inputs.values() if values.dtype.kind == "f")


def holds(dtype: str, values: np.ndarray) -> bool:
    """Whether every one of the real numbers is a number of that dtype; bfloat16 is the upper half of float32."""
    near = narrowed(values, "float32" if dtype == "bfloat16" else dtype)
    return np.array_equal(near, values) and (dtype != "bfloat16" or not np.any(near.view(np.uint32) & 0xFFFF))


def _side(vector: Vector, reply: Reply, name: str, hidden: np.ndarray) -> _Side:
    """Return what is judged of one result: all of it, or the elements that the vector samples."""
    got, expected = reply.values[name], (vector.expected or {})[name].ravel()
    at = vector.at[name] if name in vector.at else np.arange(got.size)
    masked = np.broadcast_to(hidden, got.shape).reshape(-1)[at]
    return _Side(vector, name, got.shape, at, expected, got.reshape(-1)[at], masked, reply.dtypes[name])


def _shape(vector: Vector, name: str) -> tuple[int, ...]:
    """Return the shape of a whole result."""
    return tuple(vector.shapes[name]) if name in vector.at else (vector.expected or {})[name].shape


def _names(vector: Vector, reply: Reply) -> Failed | None:
    expected = vector.expected or {}
    if set(reply.values) == set(expected):
        return None
    return Failed(Reason.MALFORMED, f"results must be {', '.join(expected)}, got {', '.join(reply.values)}")


def _shapes(vector: Vector, reply: Reply) -> Failed | None:
    for name in vector.expected or {}:
        shape = _shape(vector, name)
        if reply.values[name].shape != shape:
            return Failed(Reason.SHAPE, f"{name} must have shape {shape}, got {reply.values[name].shape}")
    return None


def _dtypes(vector: Vector, reply: Reply, dtype: str) -> Failed | None:
    owner = features(operations()[vector.operation])
    for name, right in (vector.expected or {}).items():
        got = reply.dtypes[name]
        if right.dtype.kind == "i":
            if not got.startswith(("int", "uint")):
                whole = got in FORMATS and np.array_equal(reply.values[name], np.rint(reply.values[name]))
                hint = ": return these whole numbers as int64" if whole else ""
                return Failed(Reason.DTYPE, f"{name} must be integers, got {got}{hint}")
        elif got not in FORMATS:
            return Failed(Reason.DTYPE, f"{name} must be real numbers, got {got}: return it as {dtype}")
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


def hidden_places(vector: Vector, name: str, *, masked: bool) -> np.ndarray:
    """Return where a key's position exceeds its query's, to be broadcast to a ``masked`` result of both axes; nowhere in another."""
    shape = _shape(vector, name)
    axes = axis_names(operations()[vector.operation].results[name], len(shape)) or ()
    if not masked or not {"query", "key"} <= set(axes):
        return np.zeros((1,) * len(shape), dtype=bool)
    query, key = (_spread(vector.inputs[PLACES[axis]], axes, axis) for axis in ("query", "key"))
    return np.asarray(key > query)


def _unmasked(reply: Reply, hidden: Mapping[str, np.ndarray]) -> Failed | None:
    """Return the failure of a reply that hides not every key after its query, by ``-inf`` or by a number next to the lowest."""
    for name, values in reply.values.items():
        if not hidden[name].any():
            continue
        low = values <= -LARGEST.get(reply.dtypes[name], math.inf) / 2
        if (wrong := hidden[name] & ~low).any():
            where = _first(wrong)
            message = f"{int(wrong.sum())} elements not masked where the key comes after the query; first at {where}"
            return Failed(Reason.VALUE, f"{message}: {values[where]:.9g}, expected -inf")
    return None


def _finite(vector: Vector, reply: Reply, hidden: Mapping[str, np.ndarray]) -> Failed | None:
    """Return the failure of a reply that isn't finite, sampled or not, unless what is expected comes close to the largest number."""
    for name, right in (vector.expected or {}).items():
        got = reply.values[name]
        finite = np.isfinite(got)
        if finite.all():
            continue
        close = np.abs(right) >= LARGEST.get(reply.dtypes[name], math.inf) / 2
        excused = np.isinf(got) & (bool(close.any()) if name in vector.at else close)
        wrong = ~finite & ~hidden[name] & ~excused
        if name not in vector.at:
            wrong &= got != right
        if wrong.any():
            where = _first(wrong)
            begins = _extent(vector, name, wrong.shape, np.arange(wrong.size), wrong.ravel())
            return Failed(Reason.NOT_FINITE, f"{int(wrong.sum())} of {got.size} not finite; first at {where}: {got[where]}{begins}")
    return None


def _first(wrong: np.ndarray) -> tuple[int, ...]:
    return _index(int(np.argmax(wrong)), wrong.shape)


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()


def _exact_ratios(side: _Side, profile: str) -> np.ndarray:
    """Return 0 where the integer is right, or another that the profile reaches, and infinity elsewhere."""
    right = side.expected == side.got
    for index, others in side.vector.also.get(profile, {}).get(side.name, {}).items():
        right[index] |= bool(side.got[index] in others)
    return np.where(right, 0.0, math.inf)


def _ratios(side: _Side, profile: str) -> np.ndarray | None:
    radii = side.vector.allowed.get(profile, {}).get(side.name)
    if radii is None:
        return None
    allowed = allowance(side.expected, radii.ravel(), side.dtype)
    with np.errstate(invalid="ignore"):
        difference = np.where((side.got == side.expected) | side.masked, 0.0, side.got - side.expected)
        if side.vector.equality == "row_constant":
            rows = side.at // max(side.shape[-1], 1)
            difference, allowed = _without_row_constant(difference, np.where(side.masked, np.nan, allowed), rows)
    ratios = np.where(np.isnan(allowed), np.nan, _quotient(np.abs(difference), allowed))
    return np.where(side.masked, 0.0, ratios)


def _without_row_constant(difference: np.ndarray, allowed: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both relative to the element of each row that has the smallest allowance."""
    order = np.lexsort((np.where(np.isnan(allowed), np.inf, allowed), rows))
    _, first, row = np.unique(rows[order], return_index=True, return_inverse=True)
    sharpest = np.empty_like(order)
    sharpest[order] = order[first][row]
    return difference - difference[sharpest], allowed + allowed[sharpest]


def _quotient(error: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(error == 0, 0.0, error / allowed)


def _judgement(vector: Vector, sides: list[_Side], profile: str, profiles: Sequence[str], wider: str | None) -> Judgement:
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
        worst=(worst.name, _where(worst, ratios)),
        profile_met=_strongest(sides, profiles),
        by_position=_by_position(vector, known),
        not_judged=skipped,
        total=total,
        wider=wider,
        ordinary=_ordinary(worst, ratios),
    )


def _largest(ratios: np.ndarray) -> float:
    return float(np.fmax.reduce(ratios, axis=None, initial=0.0))


def _where(side: _Side, ratios: np.ndarray) -> tuple[int, ...]:
    return _index(int(side.at[_farthest(ratios)]), side.shape) if ratios.size else ()


def _ordinary(side: _Side, ratios: np.ndarray) -> bool:
    """Whether the worst element, as it came or as it should, has a size that people meet."""
    if side.expected.dtype.kind == "i" or not ratios.size:
        return True
    at = _farthest(ratios)
    return bool(SMALL <= max(abs(side.got[at]), abs(side.expected[at])) <= LARGE)


def _farthest(ratios: np.ndarray) -> int:
    return int(np.argmax(np.fmax(ratios, -1.0)))


def _strongest(sides: list[_Side], profiles: Sequence[str]) -> str | None:
    """Return the first of the profiles, strongest first, within which every element lies."""
    for profile in profiles:
        known = [ratios for side in sides if (ratios := side.ratios(profile)) is not None]
        if len(known) == len(sides) and all(_largest(ratios) <= 1 for ratios in known):
            return profile
    return None


def _message(known: list[tuple[_Side, np.ndarray]], worst: _Side, ratios: np.ndarray) -> str:
    wrong = int(sum((other > 1).sum() for _, other in known))
    total = sum(other.size for _, other in known)
    where, flat = _where(worst, ratios), _farthest(ratios)
    place = f"{worst.name}{where}" if len(known) > 1 else f"{where}"
    got, right = worst.got[flat], worst.expected[flat]
    judged = ~np.isnan(ratios)
    among = "of those compared, " if worst.name in worst.vector.at else ""
    begins = _extent(worst.vector, worst.name, worst.shape, worst.at[judged], ratios[judged] > 1, among)
    if worst.expected.dtype.kind == "i":
        return f"{wrong} of {total} differ; first at {place}: {got}, expected {right}{begins}"
    how_bad = f"{times(ratios[flat])} the allowed error" if np.isfinite(ratios[flat]) else "where it must be exact"
    return f"{wrong} of {total} differ; worst at {place}: {got:.9g}, expected {right:.9g}, off by {abs(got - right):.2g}, {how_bad}{begins}"


def _extent(vector: Vector, name: str, shape: tuple[int, ...], at: np.ndarray, wrong: np.ndarray, among: str = "") -> str:
    """Return along which axes the wrong ones ``among`` some elements begin, and from which position on, as the end of a sentence."""
    axes = axis_names(operations()[vector.operation].results[name], len(shape)) or ()
    indices = dict(zip(axes, np.unravel_index(at, shape), strict=True)) if shape else {}
    sizes = dict(zip(axes, shape, strict=True))
    told = extent({axis: index for axis, index in indices.items() if not axis.startswith("_")}, sizes, wrong)
    positions = _positions(vector, axes, indices)
    if not told and positions is not None:
        negative = np.all(positions[wrong] < 0)  # how far they lie from 0 doesn't tell them from others
        told = extent({"position": positions if negative else np.abs(positions)}, {}, wrong)
    return f"; {among}wrong {told}" if told else ""


def _by_position(vector: Vector, known: list[tuple[_Side, np.ndarray]]) -> tuple[tuple[int, float], ...]:
    """Return the largest ratio at every position, where the result says which position an element belongs to."""
    found = []
    for side, ratios in known:
        axes = axis_names(operations()[vector.operation].results[side.name], len(side.shape)) or ()
        indices = np.unravel_index(side.at, side.shape) if side.shape else ()
        places = _positions(vector, axes, dict(zip(axes, indices, strict=True)))
        if places is None:
            continue
        judged = ~np.isnan(ratios)
        found.append((places[judged].astype(np.int64), ratios[judged]))
    if not found:
        return ()
    places, ratios = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.argsort(places, kind="stable")
    distinct, first = np.unique(places[order], return_index=True)
    worst = np.maximum.reduceat(ratios[order], first) if distinct.size else ratios
    return tuple(zip(distinct.tolist(), worst.tolist(), strict=True))


def _positions(vector: Vector, axes: tuple[str, ...], indices: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Return the position of every element: of its token, or of its query or its key, whichever is farther from 0."""
    every = operations()[vector.operation].arrays
    known = {axis: PLACES[axis] for axis in axes if PLACES.get(axis) in vector.inputs}
    found = [_placed(outermost(every[name], vector.inputs[name]), axis, indices) for axis, name in known.items()]
    return functools.reduce(lambda one, other: np.where(np.abs(one) >= np.abs(other), one, other), found) if found else None


def _placed(places: np.ndarray, axis: str, indices: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return where tokens along one axis (and the batch, where positions have one) stand, at every element of a result."""
    own = ("batch", axis) if places.ndim > 1 else (axis,)
    if not set(own) <= set(indices):
        return np.full(indices[axis].shape, max(places.ravel().tolist(), key=abs, default=0))
    return np.asarray(places[tuple(indices[name] for name in own)])


def _spread(places: np.ndarray, axes: tuple[str, ...], axis: str) -> np.ndarray:
    """Return positions along one axis (and the batch, where they have one), to be broadcast to a result."""
    own = ("batch", axis) if places.ndim > 1 else (axis,)
    return places.reshape([places.shape[own.index(name)] if name in own else 1 for name in axes])
