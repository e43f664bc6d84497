"""Ask code again whether one value, or all beyond a bound, is what makes it go wrong, where too few calls came to tell that from chance."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from conformance.calls.outcomes import Passed
from conformance.checks.vector_checks import Checked
from conformance.diagnosis.asking import Asking, Declaration
from conformance.diagnosis.conditions import counted, numbers, values_of
from conformance.spec.arguments import Arguments

#: So many calls are right without what makes others wrong, and of so many more with it that share is wrong: together no chance.
RIGHT, MADE, SHARE = 14, 8, 0.5
#: So many facts are asked about, of those that part wrong calls from right ones: first those that hold in fewest right ones.
ASKED = 8
#: Another seed than those of other questions.
SEED = 5
#: What whole numbers are with which code is right that divides work.
PROPERTIES: dict[str, Callable[[int], bool]] = {
    "a power of two": lambda value: value & (value - 1) == 0,
    "even": lambda value: value % 2 == 0,
    "a multiple of 4": lambda value: value % 4 == 0,
    "a multiple of 8": lambda value: value % 8 == 0,
    "a multiple of 16": lambda value: value % 16 == 0,
}
#: Where calls are right and how others are called, and whether a value is one of these.
Fact = tuple[tuple[str, str], Callable[[Any], bool]]


def unless(asking: Asking, checked: Sequence[Checked]) -> Iterator[str]:
    """Yield the first fact without which all calls are right, many of them and further ones, and with which most of others are wrong."""
    right, wrong = ([_values(one) for one in checked if wanted(one)] for wanted in (_passed, lambda one: one.failed))
    every = [name for name in (wrong or [{}])[0] if all(name in values for values in (*wrong, *right))]
    parting = [(name, fact) for name in every for fact in _facts([one[name] for one in wrong], [one[name] for one in right])]
    within = {id(fact): sum(fact[1](one[name]) for one in right) for name, fact in parting}
    asked = sorted((each for each in parting if len(right) - within[id(each[1])] >= RIGHT), key=lambda each: within[id(each[1])])
    for name, ((words, others), outside) in asked[:ASKED]:
        failed, made = _again(asking, name, outside, {one[name] for one in wrong}, most=1)
        if made < MADE / 2 or failed < SHARE * made:
            continue
        alike, still = _again(asking, name, _opposite(outside), {one[name] for one in right})
        if still >= MADE / 2 and not alike:
            yield f"right {words.format(counted(name))}, as far as was called: {failed} of {made} further calls {others} are wrong"
            return


def _passed(one: Checked) -> bool:
    return isinstance(one.judgement.outcome, Passed)


def _values(one: Checked) -> dict[str, Any]:
    return values_of(Arguments(one.vector.inputs, one.vector.parameters), one.task.operation)


def _facts(wrong: Sequence[Any], right: Sequence[Any]) -> Iterator[Fact]:
    """Yield what no wrong value is: any but one, up to a bound, from a bound on, or of a property."""
    value, *others = dict.fromkeys(wrong)
    if not others:
        yield (f"unless {{}} is {value}", "with it"), lambda one: one == value
    if numbers([*wrong, *right]):
        least, most = min(wrong), max(wrong)
        below, above = [one for one in right if one < least], [one for one in right if one > most]
        if below:
            yield (f"while {{}} is at most {max(below)}", "beyond"), lambda one: one >= least
        if above:
            yield (f"while {{}} is at least {min(above)}", "below"), lambda one: one <= most
    if all(type(one) is int for one in (*wrong, *right)):
        properties = (each for each in PROPERTIES.items() if not any(map(each[1], wrong)))
        yield from (((f"where {{}} is {words}", "with others"), lambda one, holds=holds: not holds(one)) for words, holds in properties)


def _opposite(fact: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: not fact(value)


def _again(asking: Asking, name: str, chosen: Callable[[Any], bool], known: set[Any], most: float = math.inf) -> tuple[int, int]:
    """Return how many further calls with chosen values are wrong, and how many were made: the known ones are declared, if so few."""
    values = [value for value in known if value is not None and chosen(value)]
    declared = {name: tuple(values)} if name in asking.operation.parameters and 0 < len(values) <= most else {}
    declaration = Declaration(declared, asking.task.descriptor.takes)
    return asking.wrong(declaration, lambda call: chosen(values_of(call, asking.task.operation)[name]), MADE, SEED)
