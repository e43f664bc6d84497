"""Which operation gives what was seen: every one that is declared to take such arrays is run forward, and its numbers are searched."""

import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from conformance.diagnosis.search import as_known, cost, digits, ends, minima, polished, roundest, shortest, tells
from conformance.identify.findings import UNSET, Confidence, Seen
from conformance.identify.plans import SPELLED
from conformance.spec.choices import ENDS, TYPICAL, candidates, obeys
from conformance.spec.declarations import operations
from conformance.spec.ranges import VALUES
from refimpl.errors import SpecificationError
from refimpl.spec import Operation, Parameter

Values = Mapping[str, Any]
#: What an operation gives for parameters, less what was seen, over what is allowed.
Compared = Callable[[Operation, Values], np.ndarray]
#: Numbers of which models have a few: any other would fit whatever a factor is that is given.
CHOSEN = {"slope": VALUES["slope"]}
#: Numbers of which these are tried before any other.
USUAL = {"power": TYPICAL["power"][:2]}
UPPER = {high: low for low, high in ENDS}
ENDING = {*UPPER, *UPPER.values()}
#: Whole numbers are looked for from powers of two on, and numbers without a slope in small steps within two octaves.
OCTAVES = tuple(1 << power for power in range(22))
BESIDE = tuple(2 ** (step / 32) for step in range(-64, 65))
#: So many starts are polished, in steps of a factor e at most, so often.
STARTS, LONGEST, ROUNDS = 3, 1.0, 3
#: What slopes are taken over: relative to a number, and to a whole one, which is rounded.
SLOPE, WHOLE = 1e-7, 2e-3
#: A number of so many digits is one that nobody would write, one of fewer is; a choice by digits is sure from so many more on.
ODD, SHORT, SURE = 4, 4, 3
#: Nothing is seen of a number that may be so many times as large, and as small.
ANYTHING = 1e3


@dataclass(frozen=True)
class Rule:
    """An operation that may be what was seen, and what is known of its parameters."""

    operation: Operation
    known: Values
    compared: Compared

    @functools.cached_property
    def free(self) -> Mapping[str, Parameter]:
        """The parameters that aren't known."""
        return {name: parameter for name, parameter in self.operation.parameters.items() if name not in self.known}

    @functools.cached_property
    def choices(self) -> Mapping[str, Sequence[Any]]:
        """The values of parameters that have a few: choices, and numbers of which some are usual."""
        few: Mapping[str, Sequence[Any]] = {**CHOSEN, **USUAL}
        kinds = {name: (True, False) if one.kind is bool else one.choices or few.get(name) for name, one in self.free.items()}
        return {name: values for name, values in kinds.items() if values}

    def off(self, values: Values) -> np.ndarray | None:
        """Return how far the operation is from what was seen, or nothing where it refuses."""
        try:
            with np.errstate(all="ignore"):
                return self.compared(self.operation, {**self.known, **values})
        except (SpecificationError, ValueError, IndexError, ArithmeticError, TypeError):
            return None

    def fits(self, values: Values) -> bool:
        """Whether the operation gives what was seen."""
        off = self.off(values)
        return off is not None and bool(np.all(np.abs(off) <= 1))

    def shows(self, name: str, values: Values) -> bool:
        """Whether a parameter is set, and another value of it gives something else."""
        others = [other for other in candidates(self.free[name]) if other != values[name]]
        return values[name] is not None and not (others and all(self.fits({**values, name: other}) for other in others))

    def cost(self, values: Values) -> float:
        """Return the sum of squares."""
        return cost(lambda: self.off(values))


@dataclass(frozen=True)
class Fit:
    """The operation that gives what was seen, with its parameters and what couldn't be told of them; ``idle`` are values of the others."""

    operation: Operation
    parameters: Mapping[str, Seen]
    notes: tuple[str, ...] = ()
    idle: Values = field(default_factory=dict)

    @property
    def values(self) -> Values:
        """The values of all parameters."""
        return {**self.idle, **{name: seen.value for name, seen in self.parameters.items()}}

    @property
    def words(self) -> str:
        """The numbers and choices that were found."""
        guess = {name: " (a guess)" if seen.confidence is Confidence.GUESS else "" for name, seen in self.parameters.items()}
        shown = {name: f"{written(seen.value)}{guess[name]}" for name, seen in self.parameters.items() if seen.value is not None}
        return ", ".join(f"{name} {value}" for name, value in shown.items())


def written(value: object) -> str:
    """Return a value as it is written in a sentence."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def taking(*arrays: str, axes: Sequence[str] = ()) -> list[Operation]:
    """Return the operations that take exactly these arrays, and return some with such axes, where axes are said."""
    alike = [known for known in operations().values() if {*known.arrays} == {*arrays}]
    return [known for known in alike if not axes or [*known.results.values()] == [*axes]]


def giving(
    candidates: Iterable[Operation], arrays: Mapping[str, np.ndarray], value: Any, allowed: Any, asked: Values, told: Values | None = None
) -> Fit | None:
    """Return which operation gives a value, within what is allowed, for arrays; ``told`` is known of its parameters."""

    def compared(operation: Operation, parameters: Values) -> np.ndarray:
        like = {"like": np.zeros(1)} if operation.takes_like else {}
        right = operation.function(*(arrays[name] for name in operation.arrays), **parameters, **like)
        return np.asarray((right - value) / allowed).ravel()

    return identified((Rule(candidate, _of(candidate, told or {}), compared) for candidate in candidates), asked)


def _of(operation: Operation, values: Values) -> Values:
    """Return the values of parameters that an operation has."""
    return {name: value for name, value in values.items() if name in operation.parameters}


def sibling(operation: str, *arrays: str) -> str | None:
    """Return the operation of the same scheme that takes exactly these arrays."""
    scheme = operation.partition(".")[0]
    return next((known.name for known in taking(*arrays) if known.name.partition(".")[0] == scheme), None)


def identified(rules: Iterable[Rule], asked: Values, near: Values | None = None) -> Fit | None:
    """Return the rule that gives what was seen for what was asked, else for numbers that are found.

    The simplest goes first, and of equally simple ones the one with the roundest numbers.
    ``near`` are numbers to start from instead of the usual ones.
    """
    every = sorted(rules, key=lambda rule: len(rule.free))
    for rule in sorted(every, key=lambda rule: len(rule.free), reverse=True):
        values = next(filter(rule.fits, _as_asked(rule, asked)), None)
        if values is not None:
            sure = {name: Confidence.CERTAIN if rule.shows(name, values) else Confidence.LIKELY for name in values}
            return Fit(rule.operation, {name: Seen(value, confidence=sure[name]) for name, value in values.items()})
    for stage in (_usual, _other_ends, _given):
        for _, alike in itertools.groupby(every, key=lambda rule: len(rule.free)):
            ways = ((rule, names, fixed) for rule in alike for names, fixed in stage(rule, asked))
            found = [fit for rule, names, fixed in ways if (fit := _searched(rule, names, fixed, asked, near or {})) is not None]
            if found:
                return _told(_plainest(min(found, key=_length), every), found, every)
    return None


def of_any(rule: Rule, names: Collection[str]) -> Fit | None:
    """Return a rule with numbers that no model need have, and nothing that is optional set."""
    fit = _searched(rule, [*names], {name: None for name in rule.free if name not in names}, {}, {})
    return None if fit is None else _told(fit, [fit], [rule])


def _plainest(fit: Fit, rules: Sequence[Rule]) -> Fit:
    """Return a fit without the parameters that change nothing where a number is the least that it may be."""
    rule = next(rule for rule in rules if rule.operation == fit.operation)
    for name, seen in fit.parameters.items():
        bound = rule.free[name].rule
        if bound is not None and seen.value is not None and seen.value == bound.minimum:
            idle: dict[str, Any] = {}
            left_out = {other for other, one in fit.parameters.items() if one.value is None}
            for other in (other for other in rule.free if other != name and other not in left_out):
                tried = [{**fit.values, **idle, other: value} for value in candidates(rule.free[other])]
                taken = [values for values in tried if rule.off(values) is not None]
                idle |= {other: taken[0][other]} if taken and all(map(rule.fits, taken)) else {}
            if idle:
                note = f"{', '.join(idle)} can't be seen: with {name} {written(seen.value)} every value gives the same"
                shown = {other: one for other, one in fit.parameters.items() if other not in idle}
                return Fit(fit.operation, {**shown, name: Seen(seen.value, confidence=Confidence.LIKELY)}, (note,), idle)
    return fit


def _as_asked(rule: Rule, asked: Values) -> Iterator[Values]:
    """Yield the values that were asked for, under every choice that wasn't."""
    said = {name: asked[SPELLED.get(name, name)] for name in rule.free if SPELLED.get(name, name) in asked}
    choices = {name: values for name, values in rule.choices.items() if name not in said}
    if {*said, *choices} == {*rule.free}:
        for chosen in itertools.product(*choices.values()):
            yield {**said, **dict(zip(choices, chosen, strict=True))}


def _usual(rule: Rule, asked: Values) -> Iterator[tuple[list[str], Values]]:
    """Yield the numbers to look for under every choice, with what is optional left out, the ends of bands and lists as usual."""
    rest = {name: one for name, one in rule.free.items() if name not in rule.choices}
    given = {name for name, one in rest.items() if name in ENDING or (one.kind is tuple and not one.required)}
    usual = {name: asked.get(name, one.default) if name in given else None for name, one in rest.items() if name in given or one.optional}
    for chosen in itertools.product(*rule.choices.values()):
        yield [name for name in rest if name not in usual], {**usual, **dict(zip(rule.choices, chosen, strict=True))}


def _other_ends(rule: Rule, asked: Values) -> Iterator[tuple[list[str], Values]]:
    """Yield the same with the upper end of a band among the numbers: of two ends and a length, two show."""
    for names, fixed in _usual(rule, asked):
        upper = [name for name in rule.free if name in UPPER]
        if upper:
            yield [*names, *upper], {name: value for name, value in fixed.items() if name not in upper}


def _given(rule: Rule, asked: Values) -> Iterator[tuple[list[str], Values]]:
    """Yield the same with a number that may be left out, or is none of the usual ones."""
    for names, fixed in _usual(rule, asked):
        left = (name for name, value in fixed.items() if value in (None, *USUAL.get(name, ())[:1]))
        for name in (name for name in left if rule.free[name].kind is float):
            yield [*names, name], {other: value for other, value in fixed.items() if other != name}


@dataclass(frozen=True)
class _Search:
    """The numbers of a rule that are looked for; numbers that must be above 0 by their logarithms."""

    rule: Rule
    names: Sequence[str]
    fixed: Values

    def values(self, unknown: Sequence[float]) -> Values:
        """Return all values for numbers of the search."""
        return {**self.fixed, **{name: self._value(name, number) for name, number in zip(self.names, unknown, strict=True)}}

    def _value(self, name: str, number: float) -> float | int:
        return self._as_kind(name, math.exp(min(number, 700.0)) if self._positive(name) else float(number))

    def _as_kind(self, name: str, value: float) -> float | int:
        return round(value) if self.whole(name) else value

    def whole(self, name: str) -> bool:
        """Whether a number is whole."""
        return self.rule.free[name].kind is int

    def _positive(self, name: str) -> bool:
        rule = self.rule.free[name].rule
        return rule is not None and (rule.above is not None or (rule.minimum or 0) > 0)

    def unknown(self, values: Values) -> list[float]:
        """Return the numbers of the search for values."""
        return [math.log(values[name]) if self._positive(name) else float(values[name]) for name in self.names]

    def starts(self, asked: Values, near: Values) -> list[Values]:
        """Return the values, of those that are usual, for which the rule comes nearest to what was seen."""
        usual = [self._tried(name, asked, near) for name in self.names]
        if len(self.names) == 1 and not self.whole(self.names[0]) and self.names[0] not in near:
            least = minima(lambda value: self.rule.off({**self.fixed, self.names[0]: value}), usual[0][0], usual[0])
            return [{**self.fixed, self.names[0]: value} for value in least if obeys(self.rule.free[self.names[0]], value)]
        grid = [{**self.fixed, **dict(zip(self.names, values, strict=True))} for values in itertools.product(*usual)]
        costs = {index: self.rule.cost(values) for index, values in enumerate(grid)}
        return [grid[index] for index in sorted(costs, key=lambda index: costs[index])[:STARTS] if math.isfinite(costs[index])]

    def _tried(self, name: str, asked: Values, near: Values) -> list[Any]:
        parameter = self.rule.free[name]
        typical = (*TYPICAL.get(name, (1.0,)), *(OCTAVES if self.whole(name) else ()))
        usual = (parameter.default, *typical)
        values = (asked.get(SPELLED.get(name, name)), *((near[name],) if name in near else usual))
        return list(dict.fromkeys(value for value in values if value is not None and obeys(parameter, value)))

    def polished(self, start: Values) -> Values | None:
        """Return values that fit: numbers together along their slopes, those without a slope by trying many."""
        values, least = start, math.inf
        for _ in range(ROUNDS):
            values = self._nearer(values)
            if self.rule.fits(values):
                return values
            for name in filter(functools.partial(self._flat, values), self.names):
                beside = [{**values, name: self._as_kind(name, values[name] * ratio)} for ratio in BESIDE]
                values = min([values, *beside], key=self.rule.cost)
            now = self.rule.cost(values)
            if now > least / 2:
                return None
            least = now
        return values if self.rule.fits(values) else None

    def _flat(self, values: Values, name: str) -> bool:
        """Whether nothing changes for numbers beside this one, as where it is rounded on its way."""
        beside = self._value(name, self.unknown(values)[self.names.index(name)] + WHOLE)
        here, there = self.rule.off(values), self.rule.off({**values, name: beside})
        return here is not None and there is not None and np.array_equal(here, there)

    def _nearer(self, values: Values) -> Values:
        steps = [WHOLE if self.whole(name) else SLOPE for name in self.names]
        found, _ = polished([lambda *unknown: self.rule.off(self.values(unknown))], self.unknown(values), LONGEST, steps)
        moved = self.values(list(found))
        return moved if self.rule.cost(moved) <= self.rule.cost(values) else values

    def seen(self, values: Values) -> tuple[Mapping[str, Seen], tuple[str, ...]]:
        """Return the shortest numbers that fit with the ends between which they may lie, and what can't be seen of others, in words."""
        found, shown, unseen = dict(values), dict[str, Seen](), list[str]()
        for name in sorted(self.names, key=self.whole):
            low, high = self._ends(found, name)
            if self._anything(name, found[name], low, high):
                unseen.append(f"{name} can't be seen: every value gives the same")
                continue
            shown[name] = self._shown(found, name, low, high)
            found[name] = shown[name].value
            if math.isinf(high):
                unseen.append(f"{name} can't be seen: every value from {written(found[name])} on gives the same")
        numbers = {*self.names} - shown.keys()
        return {name: shown.get(name) or Seen(found[name]) for name in self.rule.free if name not in numbers}, tuple(unseen)

    def _anything(self, name: str, value: float, low: float, high: float) -> bool:
        """Whether nothing shows of a number: others that give the same are far larger, and far smaller or the least that it may be."""
        far = high > ANYTHING * abs(value) > ANYTHING * ANYTHING * abs(low)
        return math.isinf(low) or far or (math.isinf(high) and self._least(name, low))

    def _least(self, name: str, low: float) -> bool:
        """Whether a whole number may not be less."""
        return self.whole(name) and not obeys(self.rule.free[name], math.ceil(low) - 1)

    def _shown(self, found: Values, name: str, low: float, high: float) -> Seen:
        """Return the number that is easiest to write between its ends, the lowest where there is no upper one."""
        whole = self.whole(name)
        low = math.ceil(low) if whole else low
        if math.isinf(high):
            return Seen(low, low, high, Confidence.GUESS)
        high = math.floor(high) if whole else high
        if whole:
            least = low < high and self._least(name, low)
            sure = Confidence.CERTAIN if low == high else Confidence.GUESS if least else Confidence.LIKELY
            return Seen(low if least else roundest(low, high), low, high, sure)
        short = shortest(found[name], low, high)
        value = short if tells(short, low, high) else as_known(found[name], low, high)
        return Seen(value if self.rule.fits({**found, name: value}) else found[name], low, high)

    def _ends(self, values: Values, name: str) -> tuple[float, float]:
        def fits(number: float) -> bool:
            return self.rule.fits({**values, name: round(number) if self.whole(name) else number})

        return ends(fits, values[name], 1.0 if self.whole(name) else max(abs(values[name]), 1e-6) * 1e-9)


def _searched(rule: Rule, names: Sequence[str], fixed: Values, asked: Values, near: Values) -> Fit | None:
    """Return the rule with numbers for which it gives what was seen."""
    search = _Search(rule, names, fixed)
    if not names:
        return Fit(rule.operation, {name: Seen(value) for name, value in fixed.items()}) if rule.fits(fixed) else None
    for start in search.starts(asked, near):
        values = search.polished(start)
        if values is not None:
            return Fit(rule.operation, *search.seen(values))
    return None


def _length(fit: Fit) -> int:
    return sum(digits(seen.value) for seen in fit.parameters.values() if isinstance(seen.value, float))


def _told(best: Fit, found: Sequence[Fit], rules: Sequence[Rule]) -> Fit:
    """Say how sure the values are: choices that others could replace, ends of a band, what isn't set, a number that nobody would write."""
    others = [fit for fit in found if fit is not best and fit.operation == best.operation]
    sure = all(_length(fit) > _length(best) + SURE for fit in others)
    notes, shown = list(best.notes), dict(best.parameters)
    for name in (name for name, seen in shown.items() if any(_other(fit, name, seen) for fit in others)):
        shown[name] = replace(shown[name], confidence=Confidence.LIKELY if sure else Confidence.GUESS)
        if best.operation.parameters[name].choices:
            how = "likely: another one fits numbers that are less round" if sure else "a guess: another one fits numbers that are as round"
            notes.append(f"{name} is {how}")
    ending = [name for name in shown if name in ENDING]
    together = [name for name, one in best.operation.parameters.items() if name in shown and (one.kind is int or name in ENDING)]
    if ending:
        usual = all(shown[name].value == best.operation.parameters[name].default for name in ending)
        likely = Confidence.LIKELY if usual else Confidence.GUESS
        rounding = [name for name in shown if best.operation.parameters[name].kind is bool and not usual]
        shown |= {name: Seen(shown[name].value, shown[name].low, shown[name].high, likely) for name in (*together, *rounding)}
        notes.append(f"{', '.join(together[:-1])} and {together[-1]} show only as the ends of a band: other values give the same")
    unset = {name: UNSET for name, seen in shown.items() if seen.value is None}
    alike = _alike(best, rules) if any(digits(seen.value) >= ODD for seen in shown.values() if isinstance(seen.value, float)) else ()
    return Fit(best.operation, {**shown, **unset}, (*notes, *alike), best.idle)


def _other(fit: Fit, name: str, seen: Seen) -> bool:
    """Whether what fits too has another value of a parameter."""
    other = fit.parameters.get(name)
    return other is not None and not seen.holds(other.value)


def _alike(best: Fit, rules: Sequence[Rule]) -> Iterator[str]:
    """Yield the rules that give the same with a number that one would write, where theirs are as usual."""
    for rule in rules:
        usual = {name: one.default for name, one in rule.free.items() if not one.required}
        names = [name for name in rule.free if name not in usual]
        choices = {name: rule.free[name].choices for name in usual if rule.free[name].choices}
        for chosen in itertools.product(*choices.values()) if len(names) == 1 and rule.operation != best.operation else ():
            other = _searched(rule, names, {**usual, **dict(zip(choices, chosen, strict=True))}, {}, {})
            if other is not None and all(digits(seen.value) < SHORT for seen in other.parameters.values() if isinstance(seen.value, float)):
                yield f"whether it is {rule.operation.name}: with {other.words} it gives the same"
