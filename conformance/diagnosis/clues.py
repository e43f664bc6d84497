"""What is known of a failure that nothing explains: where it is wrong, and what the numbers have in common."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.diagnosis.places import positions
from conformance.diagnosis.relations import RELATIONS
from conformance.diagnosis.seen import Element, Observation, Seen, seen
from conformance.spec.declarations import operations
from conformance.spec.profiles import PROFILES
from refimpl.spec import axis_names

SHOWN = 6
#: In so many results a position is right beside wrong ones by more than chance.
OFTEN = 2
#: So many results are wrong, and so many elements at each index of an axis, by more than chance.
ENOUGH = 3
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


@dataclass(frozen=True)
class Part:
    """One result of one vector with the names of its axes."""

    seen: Seen
    element: Element
    axes: tuple[str, ...]


def clues(observations: Sequence[Observation], profile: str) -> tuple[str, ...]:
    """Return what is known, one sentence each: shapes, results, positions, indices, then how the numbers are related."""
    everything = seen(observations, profile)
    parts = [Part(one, element, _axes(one, element)) for one in everything for element in one.elements]
    if not any(part.element.wrong.any() for part in parts):
        return tuple(_shapes(observations))
    where = [*_shapes(observations), *_results(parts), *_positions(parts), *_indices(parts)]
    return (*where, *_infinite(parts), *(list(_relations(parts)) or _profiles(observations, profile)))


def _axes(one: Seen, element: Element) -> tuple[str, ...]:
    return axis_names(operations()[one.vector.operation].results[element.name], element.right.ndim) or ()


def _shapes(observations: Sequence[Observation]) -> Iterator[str]:
    for one in observations:
        for name, right in (one.vector.expected or {}).items():
            shape = np.shape(one.got[name]) if name in one.got else None
            expected = one.vector.shapes.get(name, right.shape)
            if shape != expected:
                yield f"{name} has shape {shape} instead of {expected} in {one.vector.id}" if shape is not None else f"no {name} came"
                return


def _results(parts: Sequence[Part]) -> Iterator[str]:
    names = list(dict.fromkeys(part.element.name for part in parts))
    wrong = [name for name in names if any(part.element.wrong.any() for part in parts if part.element.name == name)]
    if 0 < len(wrong) < len(names):
        yield f"{_listed(wrong)} {'is' if len(wrong) == 1 else 'are'} wrong, {_listed([name for name in names if name not in wrong])} right"


def _positions(parts: Sequence[Part]) -> Iterator[str]:
    wrong: set[int] = set()
    judged: set[int] = set()
    beside: Counter[int] = Counter()
    for part in parts:
        places = positions(part.seen.vector, part.axes, part.element.right.shape)
        if places is not None:
            here = set(places[part.element.judged].tolist())
            judged |= here
            wrong |= set(places[part.element.wrong].tolist())
            beside.update(here if part.element.wrong.any() else ())
    many = sum(bool(part.element.wrong.any()) for part in parts) >= ENOUGH
    right = (judged if many else set(beside)) - wrong
    if wrong and right and many:
        yield from filter(None, [_bounded(sorted(wrong), sorted(right), [place for place in sorted(right) if beside[place] >= OFTEN])])
    elif wrong and many:
        yield "wrong at every position"


def _bounded(wrong: Sequence[int], right: Sequence[int], beside: Sequence[int]) -> str:
    """Return where it is wrong; a few positions are told as right only where they are so beside wrong ones, and not once."""
    if wrong[0] > right[-1]:
        return f"right {'at' if right[-1] == 0 else 'up to'} position {right[-1]}, wrong from position {wrong[0]} on"
    if len(right) <= SHOWN:
        return f"wrong at every position but {_listed(beside)}" if beside == right else ""
    if len(wrong) == 1:
        return f"wrong at position {wrong[0]} only"
    return f"right up to position {wrong[0] - 1}, wrong from position {wrong[0]} on, though not everywhere" if wrong[0] > right[0] else ""


def _indices(parts: Sequence[Part]) -> Iterator[str]:
    for axis, word in AXES.items():
        wrong = [part for part in parts if axis in part.axes and part.element.wrong.any()]
        masks = [_along(part, axis) for part in wrong]
        elements = sum(int(part.element.wrong.sum()) for part in wrong)
        spared = [not mask.all() for mask in masks if mask.size > 1]
        if 2 * sum(spared) > len(spared) and elements >= ENOUGH * sum(int(mask.sum()) for mask in masks):
            told = _told(masks, word)
            if told:
                yield told


def _along(part: Part, axis: str) -> np.ndarray:
    """Return at which indices of an axis something is wrong."""
    others = tuple(i for i, name in enumerate(part.axes) if name != axis)
    return np.asarray(part.element.wrong.any(axis=others))


def _told(masks: Sequence[np.ndarray], word: str) -> str:
    repeats = max(mask.sum() for mask in masks) > 1
    for which, share in (SHARES | ALTERNATE if repeats else SHARES).items():
        if all(np.array_equal(mask, share(np.arange(mask.size), mask.size)) for mask in masks):
            return f"only {which.format(word=word, words=_many(word))} wrong"
    indices = sorted({int(i) for mask in masks for i in np.flatnonzero(mask)})
    sizes = max(mask.size for mask in masks)
    return _only(word, indices) if len(indices) <= SHOWN and len(indices) < sizes else ""


def _only(word: str, indices: Sequence[int]) -> str:
    """Return that nothing but that is wrong: *only rows 0 and 4 of the batch are wrong*."""
    noun, *rest = (word if len(indices) == 1 else _many(word)).split(" ", 1)
    return f"only {' '.join((noun, _listed(indices), *rest))} {'is' if len(indices) == 1 else 'are'} wrong"


def _many(word: str) -> str:
    """Return the plural: *rows of the batch*."""
    noun, *rest = word.split(" ", 1)
    return " ".join((f"{noun}s", *rest))


#: Shares of an axis by what they are called.
SHARES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "the first {word} is": lambda index, _: index == 0,
    "the last {word} is": lambda index, size: index == size - 1,
    "what follows the first {word} is": lambda index, _: index > 0,
    "the lower half of the {words} is": lambda index, size: index < size // 2,
    "the upper half of the {words} is": lambda index, size: index >= size // 2,
}

#: Shares that can be told only where something is wrong at two indices.
ALTERNATE: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
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
    for relation in RELATIONS if wrong else ():
        told = relation([(part.element, part.axes, part.seen.vector) for part in wrong])
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
