"""Find the number with which the operation gives what was seen: a base, a factor, a width, where positions start."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from conformance.diagnosis import quantities
from conformance.diagnosis.candidates import Candidate, answer
from conformance.diagnosis.grading import grade
from conformance.diagnosis.links import TIMES, Link, links, used
from conformance.diagnosis.quantities import Quantity
from conformance.diagnosis.search import Differences, minima, polished, within
from conformance.diagnosis.seen import Seen
from conformance.mutants.building import Function, declaring, shown
from conformance.mutants.composing import composed
from conformance.spec.declarations import operations


@dataclass(frozen=True)
class Search:
    """Where numbers are looked for: all that was seen, the vector to start from, and the mistake that is there besides, if any."""

    operation: str
    everything: Sequence[Seen]
    besides: Candidate | None = None

    @cached_property
    def near(self) -> Seen:
        """The vector whose positions go least far, which is smooth in every number."""
        return min((one for one in self.everything if one.shows), key=_nearness)

    @cached_property
    def outward(self) -> list[Seen]:
        """All vectors, near before far."""
        return sorted(self.everything, key=_nearness)

    def inside(self, function: Function) -> Function:
        """Return a function with the other mistake around it."""
        return function if self.besides is None else composed(self.besides.function, function) or function


def fitted(operation: str, everything: Sequence[Seen], besides: Candidate | None = None) -> Iterator[Candidate]:
    """Yield the operation with a number changed so that the nearest vector comes out as seen, alone or inside another mistake."""
    search = Search(operation, everything, besides)
    for name, value, function in quantities.constants(operation):
        yield _constant(search, name, value, function)
    for quantity in quantities.quantities(operation):
        for share in quantity.shares:
            yield from _said(search, quantity, TIMES, share)
        simple = list(_simple(search, quantity))
        for value in simple:
            yield from _linked(search, quantity, value)
        for value in () if simple or not quantity.real else _real(search, quantity):
            yield from _settled(search, quantity, value)


def _nearness(one: Seen) -> tuple[float, int]:
    places = [float(np.max(np.abs(array), initial=0)) for array in one.vector.inputs.values() if array.dtype.kind == "i"]
    return max(places, default=0.0), one.size


def _simple(search: Search, quantity: Quantity) -> Iterator[float]:
    """Yield the numbers among those that are worth a try with which the nearest vector comes out as seen."""
    asked = quantity.asked(search.near.vector.parameters)
    for value in quantity.tried(asked):
        if value != asked and _explains(search, quantity, value):
            yield value


def _real(search: Search, quantity: Quantity) -> Iterator[float]:
    """Yield the real numbers, wherever they lie, with which the nearest vector comes out as seen."""
    near = search.near
    differences = _differences(search, near, lambda value: quantity.using(lambda _: value))
    for value in minima(differences, quantity.asked(near.vector.parameters), quantities.USUAL if quantity.sign == "=" else ()):
        (better,), _ = polished([differences], [value])
        if _explains(search, quantity, better):
            yield better


def _explains(search: Search, quantity: Quantity, value: float) -> bool:
    function = search.inside(quantity.using(lambda _: value))
    return grade(lambda vector: answer(function, vector), [search.near]) is not None


def _linked(search: Search, quantity: Quantity, value: float) -> Iterator[Candidate]:
    """Yield the ways in which the number can come about."""
    for link, unknown in _unknowns(search, quantity, value):
        yield from _said(search, quantity, link, within(unknown, 0.0))


def _settled(search: Search, quantity: Quantity, value: float) -> Iterator[Candidate]:
    """Yield the ways in which the number can come about, each with the unknown that all vectors agree on."""
    for link, unknown in _unknowns(search, quantity, value):
        sources = [_differences(search, one, _turning(quantity, link)) for one in search.outward]
        (number,), (uncertainty,) = polished(sources, [unknown])
        yield from _said(search, quantity, link, within(number, uncertainty))


def _turning(quantity: Quantity, link: Link) -> Callable[[float], Function]:
    return lambda unknown: quantity.using(used(link, quantity, unknown))


def _unknowns(search: Search, quantity: Quantity, value: float) -> Iterator[tuple[Link, float]]:
    """Yield every link with the unknown that gives the number at the nearest vector."""
    vector = search.near.vector
    for link in links(quantity, [one.vector for one in search.everything]):
        try:
            unknown = float(link.unknown(quantity.asked(vector.parameters), vector.parameters, value))
        except (ArithmeticError, TypeError, ValueError):
            continue
        if math.isfinite(unknown):
            yield link, unknown


def _differences(search: Search, one: Seen, using: Callable[[float], Function]) -> Differences:
    """Return the differences over what is allowed as a function of the number."""

    def differences(value: float) -> np.ndarray | None:
        results = answer(search.inside(using(value)), one.vector)
        if results is None or any(results[element.name].shape != element.right.shape for element in one.elements):
            return None
        parts = [_weighted(element.difference(results[element.name]), element.margin) for element in one.elements]
        return np.concatenate(parts) if parts else None

    return differences


def _weighted(difference: np.ndarray, margin: np.ndarray) -> np.ndarray:
    judged = ~np.isnan(margin)
    return np.asarray(-difference[judged] / np.where(margin[judged] > 0, margin[judged], 1.0))


def _said(search: Search, quantity: Quantity, link: Link, unknown: float) -> Iterator[Candidate]:
    """Yield how the number comes about; a sum, product or power with 0 is what was asked for, or the same whatever was."""
    if unknown == 0 and not link.constant:
        return
    number, name = f"{unknown:.10g}", quantity.name.replace("_", " ") if quantity.sign != "=" else quantity.name
    name_in_short = link.name.format(quantity=quantity.name.replace(" ", "_"), u=number).replace("+-", "-")
    function = quantity.using(used(link, quantity, unknown))
    found = _named(search, name_in_short, link.told.format(quantity=name, u=number), quantity.should, function)
    instead = link.constant and quantity.name in operations()[search.operation].parameters
    yield replace(found, numbers={quantity.name: unknown}) if instead else found


def _constant(search: Search, name: str, value: object, function: Function) -> Candidate:
    """Return a parameter that has one value whatever is asked for: a convention that wasn't declared."""
    does, should = f"computes {name}={shown(value)} whatever is asked for", f"take the {name} that is asked for"
    found = _named(search, f"{name}={value}", does, should, function)
    return replace(found, fix=declaring(search.operation, {name: value}), kind="convention") if search.besides is None else found


def _named(search: Search, name: str, does: str, should: str, function: Function) -> Candidate:
    fix = f"{should}; {name} fits all that came"
    alone = Candidate((f"{search.operation}/{name}",), does, should, fix, function, "mistake")
    other = search.besides
    if other is None:
        return alone
    return Candidate(
        other.names + alone.names,
        f"{other.does}; {does}",
        f"{other.should}; {should}",
        f"{other.fix}; {fix}",
        search.inside(function),
        "mistake",
        other.threads,
    )
