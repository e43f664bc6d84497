"""What failing cases have in common that no passing one has: a width, a length, a batch, where positions lie."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import comb
from typing import Any

import numpy as np

from conformance.diagnosis.seen import origin
from conformance.spec.arguments import Arguments, rows_of_their_own
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector
from refimpl.spec import axis_names

#: So many are told: with more, one or two failing cases would have everything in common.
MOST = 4
#: So many values are listed; more are no list of exceptions but all that was drawn.
LISTED = 4
#: So many cases pass, so many fail, and so many different numbers on either side have a property, by more than chance.
ENOUGH = 3
#: What parts cases is told only where it would part so few of all choices of as many: there are some ten facts that could.
CHANCE = 1 / 200
#: Smallest ones and largest ones: a bound parts so many choices of as many cases, whatever they are.
BOUNDS = 2
#: How many of an axis are called, and where an axis stands for the sequence.
COUNTED = {
    "token": "tokens",
    "query": "queries",
    "key": "keys",
    "head": "heads",
    "query_head": "query heads",
    "key_head": "key heads",
    "sharing": "query heads per key head",
    "row": "rows of the table",
    "pair": "pairs",
}
#: Work that kernels divide by the product of two axes.
TOGETHER = (("batch", "head"), ("batch", "query_head"))
Value = Any
Values = Sequence[Value]


@dataclass(frozen=True)
class Side:
    """The values of a fact in the cases that pass, or that fail, and those that count: one of all calls that were made of one another."""

    every: Values
    own: Values


def conditions(passed: Sequence[Vector], failed: Sequence[Vector]) -> tuple[str, ...]:
    """Return what all failing cases have and no passing one, one sentence each: parameters, sizes, then where positions lie.

    Where hardly any case passes, or hardly any fails, there is nothing to be said; calls that were made of one another count as one.
    """
    good, bad = ([(vector, _facts(vector)) for vector in group] for group in (passed, failed))
    names = [name for name in bad[0][1] if all(name in facts for _, facts in chain(bad, good))] if bad else []
    told = {name: _told(name, _side(name, bad), _side(name, good)) for name in names} if good else {}
    return tuple(f"wrong only {words}" for name, words in told.items() if words and not _follows(name, told))[:MOST]


def _side(name: str, cases: Sequence[tuple[Vector, Mapping[str, Value]]]) -> Side:
    return Side([facts[name] for _, facts in cases], list({origin(vector): facts[name] for vector, facts in cases}.values()))


def _follows(name: str, told: Mapping[str, str]) -> bool:
    """Whether something is a product of which one factor parts the cases already."""
    return " x " in name and any(told.get(factor) for factor in name.split(" x "))


def _facts(vector: Vector) -> dict[str, Value]:
    """Return what is known of a case by name: its parameters, the sizes of its axes, and where its positions lie."""
    sizes = _sizes(vector.operation, vector.inputs)
    products = {f"{one} x {other}": sizes[one] * sizes[other] for one, other in TOGETHER if one in sizes and other in sizes}
    counts = {name: size for name, size in sizes.items() if name not in vector.parameters}
    return {**vector.parameters, **counts, **products, **dict(_places(vector))}


def values_of(call: Arguments, operation: str) -> dict[str, Value]:
    """Return the parameters of a call and the sizes of its axes, by name."""
    return {**_sizes(operation, call.arrays), **call.parameters}


def _sizes(operation: str, inputs: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Return the size of every axis of the inputs, and how many heads share a key head."""
    sizes: dict[str, int] = {}
    for name, axes in operations()[operation].arrays.items():
        shape = inputs[name].shape
        named = axis_names(axes, len(shape)) or () if axes != "..." else ()
        sizes.update(zip(named, shape, strict=False))
    heads = sizes.get("query_head", sizes.get("head", 0))
    return sizes | ({"sharing": heads // sizes["key_head"]} if heads and "key_head" in sizes else {})


def _places(vector: Vector) -> Iterator[tuple[str, Value]]:
    """Yield where whole positions lie, and whether every row of the batch has its own."""
    contract = operations()[vector.operation]
    for name in [name for name in contract.arrays if name in contract.integers | contract.numbers]:
        places = vector.inputs[name]
        if places.dtype.kind == "i" and places.size:
            yield f"smallest of {name}", int(places.min())
            yield f"largest of {name}", int(places.max())
        if "[batch]" in contract.arrays[name]:
            yield f"batched {name}", rows_of_their_own(contract.arrays[name], places)


def _told(name: str, bad: Side, good: Side) -> str:
    """Return how one fact parts failing cases from passing ones, or nothing where it doesn't, or so few cases would be parted by chance."""
    if not set(bad.every).isdisjoint(good.every) or not _many(bad.own, good.own):
        return ""
    if name.startswith("batched "):
        return _batched(name.removeprefix("batched "), batched=bad.every[0])
    if not (numbers(bad.every) and numbers(good.every)):
        return f"where {name} is {_either(bad.every)}" if _repeated(bad.own) else ""
    several = _many(set(bad.own), set(good.own))
    return (several and _bounded(name, bad.every, good.every)) or _listed(name, bad, good)


def _many(bad: Collection[Value], good: Collection[Value]) -> bool:
    """Whether both sides are so many that a bound would hardly part any."""
    return min(len(bad), len(good)) >= ENOUGH and CHANCE * comb(len(bad) + len(good), len(bad)) >= BOUNDS


def _repeated(values: Values) -> bool:
    """Whether values are few, and each that of several cases."""
    counts = Counter(values).values()
    return len(counts) <= LISTED and min(counts) >= ENOUGH


def _batched(name: str, *, batched: bool) -> str:
    return f"where {_words(name)} {'differ by row of the batch' if batched else 'are the same for the whole batch'}"


def numbers(values: Values) -> bool:
    """Whether all are numbers, which a bound may part."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _bounded(name: str, bad: Values, good: Values) -> str:
    """Return the bound that parts numbers, or nothing where none does."""
    if min(bad) > max(good):
        return _beyond(name, min(bad), max(good))
    return _below(name, max(bad), min(good)) if max(bad) < min(good) else ""


def _beyond(name: str, first: float, last: float) -> str:
    """Return in words that cases are wrong from a number on; up to another they are right."""
    if name in COUNTED:
        return f"with more than {_number(last)} {COUNTED[name]}"
    if name == "batch":
        return f"in batches of {_number(first)} or more{_gap(last, first, 'up to', last)}"
    if " x " in name:
        return f"where {name.replace('_', ' ')} exceeds {_number(last)}"
    if name.startswith(("smallest of ", "largest of ")):
        return _high(name, last)
    return f"from {name} {_number(first)} on{_gap(last, first, 'up to', last)}"


def _gap(low: float, high: float, where: str, number: float) -> str:
    """Say where it is right, unless the numbers are neighbours: nothing is known of what lies between."""
    neighbours = isinstance(low, int) and isinstance(high, int) and high - low == 1
    return "" if neighbours else f" (right {where} {_number(number)}{' on' if where == 'from' else ''})"


def _high(name: str, last: float) -> str:
    which, places = name.split(" of ")
    if which == "largest":
        return f"where {_words(places)} exceed {_number(last)}"
    return f"where all {_words(places)} exceed {_number(last)}"


def _below(name: str, last: float, first: float) -> str:
    """Return in words that cases are wrong up to a number; from another on they are right."""
    if name in COUNTED:
        return f"with fewer than {_number(first)} {COUNTED[name]}"
    if name == "batch":
        return f"in batches of {_number(last)} or fewer{_gap(last, first, 'from', first)}"
    if name.startswith("smallest of "):
        places = name.removeprefix("smallest of ")
        return f"at negative {_words(places)}" if last < 0 <= first else f"where {_words(places)} go below {_number(first)}"
    if name.startswith("largest of "):
        return f"where all {_words(name.removeprefix('largest of '))} are below {_number(first)}"
    return f"up to {name.replace('_', ' ') if ' x ' in name else name} {_number(last)}{_gap(last, first, 'from', first)}"


def _listed(name: str, bad: Side, good: Side) -> str:
    """Return the few values that parameters and sizes have where cases are wrong; that a real number has others says nothing."""
    whole, values = all(isinstance(value, int) for value in chain(bad.every, good.every)), set(bad.every)
    if name.startswith(("smallest of ", "largest of ")) or not (whole or len(values) == 1):
        return ""
    if _many(set(bad.own), set(good.own)):
        for words, holds in PROPERTIES.items():
            if all(map(holds, bad.every)) and not any(map(holds, good.every)):
                return f"where {counted(name)} is {words}"
    listed = _repeated(bad.own) and len(set(good.own)) >= ENOUGH and not _by_chance(bad.own, good.own)
    return f"where {counted(name)} is {_either(bad.every)}{_rest(bad.every, good.every)}" if listed else ""


def counted(name: str) -> str:
    """Return in words what a parameter or the size of an axis is."""
    return f"the number of {COUNTED[name]}" if name in COUNTED else name


def _rest(bad: Values, good: Values) -> str:
    """Say up to where it is right, where all that is wrong lies on one side: what lies between wasn't asked for."""
    if not (numbers(bad) and numbers(good)):
        return ""
    above = f" (right up to {_number(max(good))})" if min(bad) > max(good) else ""
    return above or (f" (right from {_number(min(good))} on)" if max(bad) < min(good) else "")


def _by_chance(bad: Values, good: Values) -> bool:
    """Whether many other choices of as many cases have as few values, which no other case has."""
    ways = Counter({(0, 0): 1})
    for size in Counter(chain(bad, good)).values():
        fewer = [(key, count) for key, count in ways.items() if key[0] < len(set(bad)) and key[1] + size <= len(bad)]
        for (values, cases), count in fewer:
            ways[values + 1, cases + size] += count
    alike = sum(count for (_, cases), count in ways.items() if cases == len(bad))
    return alike > CHANCE * comb(len(bad) + len(good), len(bad))


#: What whole numbers may be that code overlooks.
PROPERTIES: dict[str, Callable[[int], bool]] = {
    "no power of two": lambda value: value & (value - 1) != 0,
    "odd": lambda value: value % 2 == 1,
    "no multiple of 4": lambda value: value % 4 != 0,
    "no multiple of 8": lambda value: value % 8 != 0,
    "no multiple of 16": lambda value: value % 16 != 0,
}


def _either(values: Values) -> str:
    real = numbers(values)
    words = [_number(value) if real else str(value) for value in (sorted(set(values)) if real else dict.fromkeys(values))]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def _words(name: str) -> str:
    return name.replace("_", " ")
