"""What code doesn't take and doesn't declare: a convention, positions or heads for which it raises, a parameter without a keyword."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from conformance.calls.outcomes import Diagnosis
from conformance.checks.evidence.bounds import lowest, telling, written
from conformance.mutants.building import declaring, shown
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector
from refimpl.spec import Parameter

#: A call that raised, and the exception in words.
Raised = tuple[Vector, str]
#: So many calls raise with a value by more than chance.
OFTEN = 3
KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")


def undeclared(operation: str, answered: Sequence[Vector], raised: Sequence[Raised], wrong: Sequence[Vector] = ()) -> Diagnosis | None:
    """Return which parameters must be declared, or taken, where that is why calls raise; of those answered some may be ``wrong``."""
    if not raised:
        return None
    if not answered:
        return _without_keyword(operation, raised)
    conventions = (_only(operation, chosen, answered, raised) for chosen in _choices(operation))
    return next(filter(None, conventions), None) or _outside(operation, answered, raised, wrong) or _never(operation, answered, raised)


def joined(one: Diagnosis | None, two: Diagnosis | None) -> Diagnosis | None:
    """Return both as one: what answers show, and why others didn't come."""
    if one is None or two is None or not one.named:
        return two or one
    return Diagnosis(
        mutants=one.mutants + two.mutants,
        does=f"{one.does}; {two.does}",
        should=f"{one.should}; {two.should}",
        fix=f"{one.fix}; {two.fix}",
        threads=one.threads,
        also_fits=one.also_fits,
        kind=one.kind,
        separate=one.separate,
    )


def _choices(operation: str) -> Iterator[tuple[Parameter, ...]]:
    """Yield every parameter that has few values, then two of them together."""
    few = [parameter for parameter in operations()[operation].parameters.values() if parameter.choices or parameter.kind is bool]
    for count in (1, 2):
        yield from combinations(few, count)


def _only(operation: str, chosen: Sequence[Parameter], answered: Sequence[Vector], raised: Sequence[Raised]) -> Diagnosis | None:
    """Return the declaration under which every call is answered, if what is answered has one value of each parameter."""
    forced = {one.name: answered[0].parameters[one.name] for one in chosen}
    if not all(_has(vector, forced) for vector in answered) or any(_has(vector, forced) for vector, _ in raised):
        return None
    return _declaring(operation, forced, "takes {} only, and raises for {}", raised)


#: What code takes of positions and heads, and for which others it raises.
TAKEN = {
    "positions": "takes whole positions only, and raises for real ones",
    "lowest": "takes no positions below {}, and raises for these",
    "highest": "takes positions up to {}, and raises beyond",
    "heads": "takes as many key heads as query heads only, and raises where heads share one",
}


def _outside(operation: str, answered: Sequence[Vector], raised: Sequence[Raised], wrong: Sequence[Vector]) -> Diagnosis | None:
    """Return the declaration of positions or heads under which all calls are answered, no lowest one where negative ones are wrong."""
    for name, value in telling(answered, [vector for vector, _ in raised]).items():
        if name == "lowest" and any(lowest(one) < 0 for one in wrong):
            return None
        return placed(operation, name, value, raised)
    return None


def placed(operation: str, name: str, value: object, raised: Sequence[Raised]) -> Diagnosis:
    """Return the declaration of positions, whole ones, the lowest or the highest, or of heads."""
    declared, asked = f"{name}={written(value)}", "heads" if name == "heads" else "positions"
    fix = f"declare {declared} in implements({shown(operation)}, {declared}), or take the {asked} that are asked for"
    return _said(operation, {name: str(value)}, TAKEN[name].format(value), raised, fix)


def _never(operation: str, answered: Sequence[Vector], raised: Sequence[Raised]) -> Diagnosis | None:
    """Return the declaration of a value with which no call raises, where so many raise with every other that it is no chance."""
    for (parameter,) in (chosen for chosen in _choices(operation) if len(chosen) == 1):
        counted = Counter(vector.parameters[parameter.name] for vector, _ in raised)
        free = {vector.parameters[parameter.name] for vector in answered} - counted.keys()
        if len(free) == 1 and len(counted) > 1 and min(counted.values()) >= OFTEN:
            return _declaring(operation, {parameter.name: free.pop()}, "never raises for {}, and does for {}", raised)
    return None


def _declaring(operation: str, forced: Mapping[str, object], does: str, raised: Sequence[Raised]) -> Diagnosis:
    told = " and ".join(f"{name}={shown(value)}" for name, value in forced.items())
    values = {name: str(value) for name, value in forced.items()}
    return _said(operation, values, does.format(told, _others(forced, raised)), raised, declaring(operation, forced))


def _said(operation: str, values: Mapping[str, str], does: str, raised: Sequence[Raised], fix: str) -> Diagnosis:
    return Diagnosis(
        mutants=(f"{operation}/{','.join(f'{name}={value}' for name, value in values.items())}",),
        does=f"{does}: {raised[0][1]}",
        should=f"declare {' and '.join(values)}, or take what is asked for",
        fix=fix,
        kind="convention",
    )


def _has(vector: Vector, forced: Mapping[str, object]) -> bool:
    return all(vector.parameters[name] == value for name, value in forced.items())


def _others(forced: Mapping[str, object], raised: Sequence[Raised]) -> str:
    """Return with which values a call raised."""
    others = ((name, vector.parameters[name]) for vector, _ in raised for name in forced)
    return ", ".join(dict.fromkeys(f"{name}={shown(value)}" for name, value in others if value != forced[name]))


def _without_keyword(operation: str, raised: Sequence[Raised]) -> Diagnosis | None:
    """Return the parameter that no call gets past, because the function has no such keyword."""
    lacking = {found.group(1) if (found := KEYWORD.search(words)) else "" for _, words in raised}
    parameter = operations()[operation].parameters.get(lacking.pop()) if len(lacking) == 1 else None
    if parameter is None:
        return None
    name = parameter.name
    values = [shown(value) for value in parameter.choices or ((False, True) if parameter.kind is bool else ())]
    declared = len({vector.parameters[name] for vector, _ in raised}) == 1 and len(raised) > 1
    example = f"; where it computes one {name} only, declare which: implements({shown(operation)}, {name}=...) with {' or '.join(values)}"
    return Diagnosis(
        mutants=(f"{operation}/no-{name}",),
        does=f"has no keyword {name}, and every parameter is given by keyword, declared or not",
        should=f"take {name}",
        fix=f"add {name} (or **parameters) to the function's keywords{example if values and not declared else ''}",
        kind="convention",
    )
