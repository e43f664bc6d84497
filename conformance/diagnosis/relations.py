"""How what came is related to what is right: a ratio, a sign, an order, a phase, a length."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from conformance.checks.law_checks import declared
from conformance.diagnosis.places import positions
from conformance.diagnosis.seen import FAR, Element
from conformance.spec.vectors import Vector
from refimpl.spec import Law

#: A wrong result, the names of its axes, and the vector that it belongs to.
Wrong = tuple[Element, tuple[str, ...], Vector]
ALLOWANCES = 4.0
#: The axes whose entries may come in another order, and what they are called.
ORDERED = {
    "head": "heads",
    "query_head": "heads",
    "head_dim": "channels",
    "dim": "channels",
    "pair": "pairs",
    "token": "tokens",
    "query": "queries",
    "key": "keys",
    "batch": "rows of the batch",
}
FEWEST = 2
#: A factor that is so near 1 is none.
SAME = 1e-3
#: Radians, above which an angle isn't known well enough to compare it.
BLURRED = 0.1
LONGEST = 16
#: Where the members of a pair lie, by layout.
PAIRS = {"half": "lie half a head apart", "interleaved": "are neighbours"}
#: Where a wrong angle wraps, no rate can be read off it: positions beyond aren't looked at first.
NEAR = 64


def _fits(element: Element, other: np.ndarray) -> bool:
    judged = element.judged
    return bool(np.all(element.distance(other)[judged] <= element.slack(ALLOWANCES * element.reach, other)[judged]))


def _telling(wrong: Sequence[Wrong]) -> bool:
    """Whether two unlike numbers that are wrong are much larger than what they may be off by: any relation would fit the others."""
    sizes = set[float]()
    for element, _, _ in wrong:
        seen = element.wrong & (np.abs(element.right) > FAR * element.slack(ALLOWANCES * element.reach, element.right))
        sizes.update(np.abs(element.right[seen]).tolist())
    return len(sizes) >= FEWEST and not all(_fits(element, element.right) for element, _, _ in wrong)


def sign(wrong: Sequence[Wrong]) -> str:
    """Say that the sign alone is wrong."""
    flipped = _telling(wrong) and all(_fits(element, np.where(element.wrong, -element.right, element.right)) for element, _, _ in wrong)
    return "what is wrong has the right size and the wrong sign" if flipped else ""


def ratio(wrong: Sequence[Wrong]) -> str:
    """Say that each result is the right one times a number."""
    factors = [_factor(element) for element, _, _ in wrong]
    if not _telling(wrong) or all(abs(factor - 1) < SAME for factor in factors):
        return ""
    if not all(_fits(element, factor * element.right) for (element, _, _), factor in zip(wrong, factors, strict=True)):
        return ""
    return f"each result is the right one times a number: {_numbers(factors, wrong)}"


def _factor(element: Element) -> float:
    right, got = (np.where(element.judged & np.isfinite(values), values, 0.0).ravel() for values in (element.right, element.got))
    return float(right @ got) / (float(right @ right) or 1.0)


def shift(wrong: Sequence[Wrong]) -> str:
    """Say that each result is off by one number everywhere."""
    offsets = [float(np.median((element.got - element.right)[element.judged])) for element, _, _ in wrong]
    if not _telling(wrong) or any(element.row_constant for element, _, _ in wrong):
        return ""
    if not all(_fits(element, element.right + offset) for (element, _, _), offset in zip(wrong, offsets, strict=True)):
        return ""
    return f"each result is off by one number everywhere: {_numbers(offsets, wrong)}"


def _numbers(values: Sequence[float], wrong: Sequence[Wrong]) -> str:
    if max(values) - min(values) <= 1e-3 * max(map(abs, values)):
        return f"{values[0]:.4g}"
    low, high = int(np.argmin(values)), int(np.argmax(values))
    return f"{values[low]:.4g} in {wrong[low][2].id}, {values[high]:.4g} in {wrong[high][2].id}"


def order(wrong: Sequence[Wrong]) -> str:
    """Say that an axis has the right entries in another order."""
    for axis, words in ORDERED.items():
        orders = [_order(element, axes.index(axis)) for element, axes, _ in wrong if axis in axes]
        if orders and len(orders) == len(wrong) and None not in orders:
            longest = max((found for found in orders if found is not None and found != sorted(found)), key=len, default=[])
            if longest[:LONGEST] == sorted(longest)[:LONGEST]:
                continue  # the few that differ far out may be alike by chance
            return f"the {words} come in another order: {', '.join(map(str, longest[:LONGEST]))}{', ...' if len(longest) > LONGEST else ''}"
    return ""


def _order(element: Element, axis: int) -> list[int] | None:
    """Return which right entry each entry of an axis is, its own if it may be, or nothing where one is none, or any of several."""
    size = element.right.shape[axis]
    if size < FEWEST:
        return None
    got, right = (np.moveaxis(values, axis, 0).reshape(size, -1) for values in (element.got, element.right))
    near = np.max(np.nan_to_num(element.slack(ALLOWANCES * element.reach, element.right)), initial=0.0)
    found, free = list[int](), np.ones(size, dtype=bool)
    for own, entry in enumerate(got):
        fitting = np.flatnonzero(np.all(np.abs(right - entry) <= near, axis=1))
        left = [int(place) for place in fitting if free[place]]
        if not left or (own not in left and np.any(right[fitting] != right[left[0]])):
            return None
        found.append(own if own in left else left[0])
        free[found[-1]] = False
    return found


def turned(wrong: Sequence[Wrong]) -> str:
    """Say whether pairs are turned too far or have the wrong length; where nothing should turn, which channels are pairs."""
    if any(axes[-1:] != ("head_dim",) or element.right.shape != element.got.shape for element, axes, _ in wrong):
        return ""
    if any(Law.ISOMETRY not in declared(vector.operation) for _, _, vector in wrong):
        return ""  # sums of values have no pairs that were turned
    if all("layout" in vector.parameters for _, _, vector in wrong):
        return _turned(wrong)
    if any("layout" in vector.parameters or element.right.shape[-1] % 2 for element, _, vector in wrong):
        return ""
    paired = {words: [(element, axes, _paired(vector, layout)) for element, axes, vector in wrong] for layout, words in PAIRS.items()}
    told = ((words, _turned(each)) for words, each in paired.items())
    return next((f"{found}; pairs {words}" for words, found in told if found), "")


def _turned(wrong: Sequence[Wrong]) -> str:
    if all(_lengths_fit(*one) for one in wrong):
        return f"a phase error{_of_pairs(wrong)}: every pair keeps its length{_angle(wrong)}"
    return "an error of magnitude: every pair points the right way, its length is wrong" if all(_ways_fit(*one) for one in wrong) else ""


def _of_pairs(wrong: Sequence[Wrong]) -> str:
    """Say which pair alone is off, or which few, where every result has the same ones."""
    masks: list[np.ndarray] = []
    for element, _, vector in wrong:
        off = _pairs(element.wrong, vector) != 0
        masks.append(np.asarray(off.reshape(-1, off.shape[-1]).any(axis=0)))
    if min(mask.size for mask in masks) < FEWEST:
        return ""
    for words, pair in (("first", 0), ("last", -1)):
        if all(mask[pair] and mask.sum() == 1 for mask in masks):
            return f" of the {words} pair alone"
    off = np.flatnonzero(np.any(masks, axis=0)) if len({mask.size for mask in masks}) == 1 else np.arange(masks[0].size)
    if 2 * off.size > masks[0].size:
        return ""
    run = f"{off[0]} to {off[-1]}" if off.size > 1 and off[-1] - off[0] == off.size - 1 else ", ".join(map(str, off))
    return f" of pair{'s' if off.size > 1 else ''} {run} alone, of {masks[0].size}"


def _paired(vector: Vector, layout: str) -> Vector:
    return replace(vector, parameters={**vector.parameters, "layout": layout})


def _pairs(values: np.ndarray, vector: Vector) -> np.ndarray:
    """Return pairs as complex numbers."""
    half = values.shape[-1] // 2
    if vector.parameters["layout"] != "interleaved":
        return np.asarray(values[..., :half] + 1j * values[..., half:])
    return np.asarray(values[..., 0::2] + 1j * values[..., 1::2])


def _tolerance(element: Element) -> float:
    return 2.0 * float(np.max(np.nan_to_num(element.slack(ALLOWANCES * element.reach, element.right)), initial=0.0))


def _lengths_fit(element: Element, _: tuple[str, ...], vector: Vector) -> bool:
    got, right = _pairs(element.got, vector), _pairs(element.right, vector)
    return bool(np.all(np.abs(np.abs(got) - np.abs(right)) <= _tolerance(element)))


def _ways_fit(element: Element, _: tuple[str, ...], vector: Vector) -> bool:
    got, right = _pairs(element.got, vector), _pairs(element.right, vector)
    ahead = (got * right.conj()).real >= -_tolerance(element)
    across = np.abs((got * right.conj()).imag) <= _tolerance(element) * np.maximum(np.abs(got), np.abs(right))
    return bool(np.all(ahead & across))


def _angle(rotated: Sequence[Wrong]) -> str:
    """Return whether the angle is off by a constant, or by something proportional to the position."""
    angles, weights = (np.concatenate([_angles(*one)[i].ravel() for one in rotated]) for i in (0, 2))
    kept = weights > 0
    if not np.any(np.abs(angles[kept]) > weights[kept]):
        return ""
    most, angles, weights = np.abs(angles).max(), angles[kept], weights[kept]
    verdicts = [_proportional(*_angles(*one)) for one in rotated]
    if True in verdicts and False not in verdicts:
        return ", and the angle is off in proportion to the position"
    if np.all(np.abs(np.angle(np.exp(1j * (angles - angles[0])))) <= weights) and np.all(np.abs(angles) > weights):
        return f", and the angle is off by {angles[0]:.4g} everywhere"
    farthest, identity = max((_farthest(*one), one[2].id) for one in rotated)
    if farthest < most:  # by an angle that can't be seen well
        return ""
    return f", and the angle is off by up to {farthest:.3g} (in {identity}){', nothing at position 0' if _none_at_zero(rotated) else ''}"


def _farthest(element: Element, axes: tuple[str, ...], vector: Vector) -> float:
    """Return by how much a pair of one result is turned too far at most, of those that can be seen."""
    angles, _, weights = _angles(element, axes, vector)
    return float(np.max(np.abs(angles), where=weights > 0, initial=0.0))


def _proportional(angles: np.ndarray, places: np.ndarray, weights: np.ndarray) -> bool | None:
    """Whether every pair is turned too far by the same angle per position, or ``None`` where that can't be seen."""
    verdicts = [_steady(angles[..., pair], places[..., pair], weights[..., pair]) for pair in range(angles.shape[-1])]
    return None if all(verdict is None for verdict in verdicts) else False not in verdicts


def _steady(angles: np.ndarray, places: np.ndarray, weights: np.ndarray) -> bool | None:
    """Whether one pair's angle grows with the position, at the rate of its nearest position, where it is clearly off."""
    seen = weights > 0
    near = np.unique(places[seen & (places > 0) & (places <= NEAR)])
    if near.size < FEWEST:
        return None
    first = seen & (places == near[0])
    if abs(angles[first][0]) <= weights[first][0]:
        return None
    rate = float(angles[first][0]) / float(near[0])
    apart = np.abs(np.angle(np.exp(1j * (angles - rate * places))))
    return bool(np.all(apart[seen] <= weights[seen] * (1 + places[seen] / near[0])))


def _none_at_zero(rotated: Sequence[Wrong]) -> bool:
    wrong, judged = False, False
    for element, axes, vector in rotated:
        places = positions(vector, axes, element.right.shape)
        if places is not None:
            judged |= bool((places == 0).any())
            wrong |= bool((element.wrong & (places == 0)).any())
    return judged and not wrong


def _angles(element: Element, axes: tuple[str, ...], vector: Vector) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return by how much each pair is turned too far, its position, and how uncertain that is (0 where it can't be seen)."""
    got, right = _pairs(element.got, vector), _pairs(element.right, vector)
    places = positions(vector, axes, element.right.shape)
    where = np.zeros(right.shape) if places is None else places[..., : right.shape[-1]]
    size = np.abs(right)
    uncertain = np.where(size > 0, _tolerance(element) / np.maximum(size, np.finfo(float).tiny), 0.0)
    return np.angle(got * right.conj()), where, np.where(uncertain < BLURRED, uncertain, 0.0)


#: The relations, and whether each needs the axes of whole results.
RELATIONS: dict[Callable[[Sequence[Wrong]], str], bool] = {sign: False, ratio: False, shift: False, order: True, turned: True}
