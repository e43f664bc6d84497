"""What is known of a failure that nothing explains: where it is wrong, and what the numbers have in common."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from conformance.diagnosis.places import placed, positions
from conformance.diagnosis.relations import RELATIONS
from conformance.diagnosis.seen import Element, Observation, Seen, compared, origin, seen
from conformance.diagnosis.ways import AXIS_FIRST, of_places
from conformance.spec.declarations import operations
from conformance.spec.profiles import PROFILES
from conformance.spec.vectors import Vector
from refimpl.spec import axis_names

SHOWN = 6
#: In so many results a position is right beside wrong ones by more than chance.
OFTEN = 2
#: So many results are wrong, and so many elements at each index of an axis, by more than chance.
ENOUGH = 3
#: What lies beyond a position is wrong but for so few; else so near to it, as a part of it, right and wrong answers must lie.
NEARLY, CLOSE = 0.9, 16
#: Multiples of more are told by their number.
EVERY = 2
#: So many choices of as many indices may have what is told of them.
CHANCE = 1 / 100
#: How the indices of an axis are called.
AXES = {
    "head_dim": "channel",
    "dim": "channel",
    "pair": "pair",
    "head": "head",
    "query_head": "head",
    "batch": "row of the batch",
    "bits": "bit",
}
#: From the indices of an axis and its size to those that have a part.
Share = Callable[[np.ndarray, int], np.ndarray]
#: Where each case comes from, and whether something is wrong at its positions.
Cases = Sequence[tuple[object, Mapping[int, bool]]]


@dataclass(frozen=True)
class Part:
    """One result of one vector with the names of its axes."""

    seen: Seen
    element: Element
    axes: tuple[str, ...]


def clues(observations: Sequence[Observation], profile: str) -> tuple[str, ...]:
    """Return what is known of all that came, one sentence each: shapes, results, positions, indices, then how the numbers are related."""
    parts = [Part(one, element, _axes(one, element)) for one in compared(observations, profile) for element in one.elements]
    if not any(part.element.wrong.any() for part in parts):
        return tuple(_shapes(observations))
    where = [*_shapes(observations), *_results(parts), *_positions(parts), *_indices(parts)]
    return (*where, *_infinite(parts), *(list(_relations(parts)) or _profiles(observations, profile)))


def misshapen(observations: Sequence[Observation]) -> list[Vector]:
    """Return the vectors of which a result has a wrong shape."""
    return [one.vector for one in observations if any(_shapes([one]))]


def on_axes(operation: str, misfits: Sequence[Vector]) -> Iterator[str]:
    """Yield which axes positions have, where there are several of these and the shape of what comes doesn't fit, or nothing comes."""
    several = {name: axes for name, axes in operations()[operation].arrays.items() if axes.endswith(" axis")}
    for name, axes in several.items() if misfits else ():
        example = f"{misfits[0].inputs[name].shape} in {misfits[0].id}"
        yield f"{name} have axes ({', '.join(axes.split())}): {example}; code that has its axis first declares {AXIS_FIRST.declared}"


def _axes(one: Seen, element: Element) -> tuple[str, ...]:
    return axis_names(operations()[one.vector.operation].results[element.name], len(element.shape)) or ()


def _missing(one: Observation, name: str, shape: tuple[int, ...] | None, expected: tuple[int, ...]) -> str:
    """Return which axis alone a result lacks; nothing where there is none, or several that it may be."""
    axes = axis_names(operations()[one.vector.operation].results[name], len(expected)) or ()
    lacking = [axis for index, axis in enumerate(axes) if shape == (*expected[:index], *expected[index + 1 :])]
    return f"; the axis {lacking[0]} is missing" if len(lacking) == 1 else ""


def _shapes(observations: Sequence[Observation]) -> Iterator[str]:
    for one in observations:
        for name, right in (one.vector.expected or {}).items():
            shape = np.shape(one.got[name]) if name in one.got else None
            expected = one.vector.shapes.get(name, right.shape)
            if shape != expected:
                first = of_places(operations()[one.vector.operation].results[name]) and shape == (expected[-1], *expected[:-1])
                hint = f"; code that has its axis first declares {AXIS_FIRST.declared}" if first else _missing(one, name, shape, expected)
                yield f"{name} has shape {shape} instead of {expected} in {one.vector.id}{hint}" if shape is not None else f"no {name} came"
                return


def _results(parts: Sequence[Part]) -> Iterator[str]:
    names = list(dict.fromkeys(part.element.name for part in parts))
    wrong = [name for name in names if any(part.element.wrong.any() for part in parts if part.element.name == name)]
    if 0 < len(wrong) < len(names):
        yield f"{_listed(wrong)} {'is' if len(wrong) == 1 else 'are'} wrong, {_listed([name for name in names if name not in wrong])} right"


def _positions(parts: Sequence[Part]) -> Iterator[str]:
    """Yield from which position on it is wrong, at which alone, or that it is at all: where the position decides it."""
    cases = [(origin(part.seen.vector), found) for part in parts if (found := _by_position(part))]
    wrong = sorted({place for _, found in cases for place, off in found.items() if off})
    right = sorted({place for _, found in cases for place in found}.difference(wrong))
    if wrong and sum(bool(part.element.wrong.any()) for part in parts) >= ENOUGH:
        yield from filter(None, [_bounded(cases, wrong, right, _behind(parts)) if right else _everywhere(cases)])


def _behind(parts: Sequence[Part]) -> list[int]:
    """Return the last position of every wrong result with negative ones, of which no position is said to be wrong."""
    given = (list(places.values()) for part in parts if part.element.wrong.any() and (places := placed(part.seen.vector, part.axes)))
    return [int(max(each.max(initial=0) for each in several)) for several in given if any(each.min(initial=0) < 0 for each in several)]


def _by_position(part: Part) -> Mapping[int, bool]:
    """Return for every position that is judged whether something is wrong there."""
    places = positions(part.seen.vector, part.axes, part.element.shape)
    if places is None:
        return {}
    places = part.element.part(places)
    wrong = set(places[part.element.wrong].tolist())
    return {place: place in wrong for place in set(places[part.element.judged].tolist())}


def _everywhere(cases: Cases) -> str:
    return "wrong at every position" if _nearly(off for _, found in cases if any(found.values()) for off in found.values()) else ""


def _bounded(cases: Cases, wrong: Sequence[int], right: Sequence[int], behind: Sequence[int]) -> str:
    """Return where it is wrong: what lies beyond a position must nearly always be, or what lies close to it on both sides tells."""
    first, below = wrong[0], [place for place in right if place < wrong[0]]
    mostly = _nearly(off for _, found in cases for place, off in found.items() if place in wrong)
    negative = ", and at negative ones" if below and any(last <= below[-1] for last in behind) else ""
    until = f"right {'up to' if below[-1] else 'at'} position {below[-1]}, wrong from position {first} on" if below else ""
    if below and mostly and len(below) == len(right):
        often = sum(bool(found.keys() & ({*below} - {0} or {0})) for _, found in cases) >= ENOUGH
        return until + negative if often else ""
    if len(wrong) == 1:
        return f"wrong at position {first} only" if mostly else ""
    beside = Counter(place for _, found in cases if any(found.values()) for place in found)
    if len(right) <= SHOWN:
        return f"wrong at every position but {_listed(right)}" if mostly and all(beside[place] >= OFTEN for place in right) else ""
    if below and below[-1] > 0 and _parted(cases, below[-1], first):
        return f"{until}, though not everywhere{negative}"
    return ""


def _parted(cases: Cases, last: int, first: int) -> bool:
    """Whether several cases are right close below and wrong close above, and no case that is wrong anywhere is right close above."""
    reach = max(last // CLOSE, 1)
    both: set[object] = set()
    for case, found in cases:
        above = [off for place, off in found.items() if first <= place <= first + reach]
        if any(found.values()) and not all(above):
            return False
        if above and all(above) and any(last - reach <= place <= last for place in found):
            both.add(case)
    return len(both) >= ENOUGH


def _nearly(wrong: Iterable[bool]) -> bool:
    """Whether nearly all of what is judged is wrong."""
    every = list(wrong)
    return sum(every) >= NEARLY * len(every)


def _indices(parts: Sequence[Part]) -> Iterator[str]:
    """Yield which indices of an axis are wrong, where all of them are judged and these are such as a person would name.

    Nothing is wrong elsewhere in large calls, of which some elements are judged.
    """
    for axis, word in AXES.items():
        there = [part for part in parts if axis in part.axes and part.element.wrong.any()]
        wrong = [part for part in there if part.element.at is None]
        masks = [_along(part, axis, part.element.wrong) for part in wrong]
        elements = sum(int(part.element.wrong.sum()) for part in wrong)
        judged = all(_along(part, axis, part.element.judged).all() for part in wrong)
        if wrong and judged and elements >= ENOUGH * sum(int(mask.sum()) for mask in masks):
            own = {origin(part.seen.vector): mask for part, mask in zip(wrong, masks, strict=True)}
            inside = [_along(part, axis, part.element.wrong) for part in there if part.element.at is not None]
            yield from islice(_patterns(masks, list(own.values()), inside, word), 1)


def _along(part: Part, axis: str, where: np.ndarray) -> np.ndarray:
    """Return at which indices of an axis there is something."""
    at, shape = part.element.at, part.element.shape
    chosen = np.flatnonzero(where) if at is None else at[where]
    found = np.zeros(shape[part.axes.index(axis)], dtype=bool)
    found[np.unravel_index(chosen, shape)[part.axes.index(axis)]] = True
    return found


def _patterns(masks: Sequence[np.ndarray], own: Sequence[np.ndarray], inside: Sequence[np.ndarray], word: str) -> Iterator[str]:
    """Yield what all masks have in common, unless as many indices would often have it by chance, masks of one call counted once.

    What is wrong ``inside`` large calls lies there, too.
    """
    chance = math.prod(1 / math.comb(mask.size, int(mask.sum())) for mask in own)
    size = max(mask.size for mask in masks)
    repeats = max(mask.sum() for mask in masks) > 1
    named = {f"{which.format(word=word, words=_many(word))} wrong": share for which, share in SHARES.items()} if chance <= CHANCE else {}
    if repeats and chance <= CHANCE:
        named |= {f"{which.format(word=word)} wrong": share for which, share in ALTERNATE.items()}
    if size * chance <= CHANCE:
        for first in range(1, size):
            named |= _numbered(word, first, repeats=repeats)
    yield from (f"only {told}" for told, share in named.items() if _all(masks, share) and _within(inside, share))


def _numbered(word: str, number: int, *, repeats: bool) -> dict[str, Share]:
    """Return which indices may be wrong by a number: one alone, all from it on, its multiples, or those after its last multiple."""
    noun, *rest = word.split(" ", 1)
    told: dict[str, Share] = {f"{' '.join((noun, str(number), *rest))} is wrong": lambda index, _: index == number}
    if repeats:
        told[f"{_many(word)} from {number} on are wrong"] = lambda index, _: index >= number
    if repeats and number > EVERY:
        told[f"{_many(word)} whose index is a multiple of {number} are wrong"] = lambda index, _: index % number == 0
        told[f"{_many(word)} beyond the last multiple of {number} are wrong"] = lambda index, size: index >= size - size % number
    return told


def _all(masks: Sequence[np.ndarray], share: Share) -> bool:
    return all(np.array_equal(mask, share(np.arange(mask.size), mask.size)) for mask in masks)


def _within(masks: Sequence[np.ndarray], share: Share) -> bool:
    return not any(np.any(mask & ~share(np.arange(mask.size), mask.size)) for mask in masks)


def _many(word: str) -> str:
    """Return the plural: *rows of the batch*."""
    noun, *rest = word.split(" ", 1)
    return " ".join((f"{noun}s", *rest))


#: Shares of an axis by what they are called.
SHARES: dict[str, Share] = {
    "the first {word} is": lambda index, _: index == 0,
    "the last {word} is": lambda index, size: index == size - 1,
    "what follows the first {word} is": lambda index, _: index > 0,
    "the lower half of the {words} is": lambda index, size: index < size // 2,
    "the upper half of the {words} is": lambda index, size: index >= size // 2,
}

#: Shares that can be told only where something is wrong at two indices.
ALTERNATE: dict[str, Share] = {
    "every even {word} is": lambda index, _: index % 2 == 0,
    "every odd {word} is": lambda index, _: index % 2 == 1,
}


def _infinite(parts: Sequence[Part]) -> Iterator[str]:
    count = sum(int((part.element.wrong & ~np.isfinite(part.element.got)).sum()) for part in parts)
    if count:
        yield f"{count} number{'s' * (count > 1)} should be finite and {'are' if count > 1 else 'is'} not"


def _relations(parts: Sequence[Part]) -> Iterator[str]:
    """Yield the first relation that holds between what came and what is right in every wrong result."""
    wrong = [part for part in parts if part.element.wrong.any() and np.isfinite(part.element.got).all()]
    whole = [part for part in wrong if part.element.at is None]
    for relation, of_axes in RELATIONS.items() if whole else ():
        told = relation([(part.element, part.axes, part.seen.vector) for part in (whole if of_axes else wrong)])
        if told:
            yield told
            return


def _profiles(observations: Sequence[Observation], profile: str) -> Iterator[str]:
    """Yield the strongest weaker profile that allows all of it: then some step may be kept in a format that is too small."""
    weaker = PROFILES[PROFILES.index(profile) + 1 :] if profile in PROFILES else ()
    for other in weaker:
        parts = [element for one in seen(observations, other) for element in one.elements]
        if parts and all(np.all(element.off <= element.margin) for element in parts):
            yield f"all of it lies within what {other} allows: a step may be kept in a smaller format"
            return


def _listed(values: Sequence[Any]) -> str:
    words = [str(value) for value in values[:SHOWN]]
    rest = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}{',' if rest else ' and'} {words[-1]}{rest}"
