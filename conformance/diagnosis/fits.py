"""Find the number with which the operation gives what was seen: a base, a factor, a width, where positions start."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from conformance.diagnosis import knobs
from conformance.diagnosis.candidates import Candidate, answer
from conformance.diagnosis.grading import grade
from conformance.diagnosis.knobs import Knob
from conformance.diagnosis.links import TIMES, Link, links, used
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
    for name, value, function in knobs.constants(operation):
        yield _constant(search, name, value, function)
    for knob in knobs.knobs(operation):
        yield from (_said(search, knob, TIMES, share) for share in knob.shares)
        simple = list(_simple(search, knob))
        for value in simple:
            yield from _linked(search, knob, value)
        for value in () if simple or not knob.real else _real(search, knob):
            yield from _settled(search, knob, value)


def _nearness(one: Seen) -> tuple[float, int]:
    places = [float(np.max(np.abs(array), initial=0)) for array in one.vector.inputs.values() if array.dtype.kind == "i"]
    return max(places, default=0.0), one.size


def _simple(search: Search, knob: Knob) -> Iterator[float]:
    """Yield the numbers among those that are worth a try with which the nearest vector comes out as seen."""
    asked = knob.asked(search.near.vector.parameters)
    for value in knob.tried(asked):
        if value != asked and _explains(search, knob, value):
            yield value


def _real(search: Search, knob: Knob) -> Iterator[float]:
    """Yield the real numbers, wherever they lie, with which the nearest vector comes out as seen."""
    near = search.near
    differences = _differences(search, near, lambda value: knob.turned(lambda _: value))
    for value in minima(differences, knob.asked(near.vector.parameters), knobs.USUAL if knob.sign == "=" else ()):
        (better,), _ = polished([differences], [value])
        if _explains(search, knob, better):
            yield better


def _explains(search: Search, knob: Knob, value: float) -> bool:
    function = search.inside(knob.turned(lambda _: value))
    return grade(lambda vector: answer(function, vector), [search.near]) is not None


def _linked(search: Search, knob: Knob, value: float) -> Iterator[Candidate]:
    """Yield the ways in which the number can come about."""
    for link, unknown in _unknowns(search, knob, value):
        yield _said(search, knob, link, within(unknown, 0.0))


def _settled(search: Search, knob: Knob, value: float) -> Iterator[Candidate]:
    """Yield the ways in which the number can come about, each with the unknown that all vectors agree on."""
    for link, unknown in _unknowns(search, knob, value):
        sources = [_differences(search, one, _turning(knob, link)) for one in search.outward]
        (number,), (uncertainty,) = polished(sources, [unknown])
        yield _said(search, knob, link, within(number, uncertainty))


def _turning(knob: Knob, link: Link) -> Callable[[float], Function]:
    return lambda unknown: knob.turned(used(link, knob, unknown))


def _unknowns(search: Search, knob: Knob, value: float) -> Iterator[tuple[Link, float]]:
    """Yield every link with the unknown that gives the number at the nearest vector."""
    vector = search.near.vector
    for link in links(knob, [one.vector for one in search.everything]):
        try:
            yield link, float(link.unknown(knob.asked(vector.parameters), vector.parameters, value))
        except (ArithmeticError, TypeError, ValueError):
            continue


def _differences(search: Search, one: Seen, turned: Callable[[float], Function]) -> Differences:
    """Return the differences over what is allowed as a function of the number."""

    def differences(value: float) -> np.ndarray | None:
        results = answer(search.inside(turned(value)), one.vector)
        if results is None or any(results[element.name].shape != element.right.shape for element in one.elements):
            return None
        parts = [_weighted(element.difference(results[element.name]), element.margin) for element in one.elements]
        return np.concatenate(parts) if parts else None

    return differences


def _weighted(difference: np.ndarray, margin: np.ndarray) -> np.ndarray:
    judged = ~np.isnan(margin)
    return np.asarray(-difference[judged] / np.where(margin[judged] > 0, margin[judged], 1.0))


def _said(search: Search, knob: Knob, link: Link, unknown: float) -> Candidate:
    number, name = f"{unknown:.10g}", knob.name.replace("_", " ") if knob.sign != "=" else knob.name
    name_in_short = link.name.format(knob=knob.name.replace(" ", "_"), u=number).replace("+-", "-")
    found = _named(search, name_in_short, link.told.format(knob=name, u=number), knob.should, knob.turned(used(link, knob, unknown)))
    instead = link.constant and knob.name in operations()[search.operation].parameters
    return replace(found, numbers={knob.name: unknown}) if instead else found


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
