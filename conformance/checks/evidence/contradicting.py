"""Say which declared values leave no call to draw: those that don't agree, why the reference refuses them, and what would do."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from conformance.checks.evidence import known
from conformance.golden.calls import drawn
from conformance.golden.settings import Settings, settings
from conformance.judge.journal import Task
from conformance.spec.choices import candidates
from conformance.spec.declarations import operations
from refimpl.errors import SpecificationError

Declared = Mapping[str, object]
#: How many settings are looked at for values that would do, how many of these are named, and how many calls the reference is asked.
LOOK, NAMED, ASKED = 48, 2, 6


def contradiction(task: Task) -> str:
    """Return which declared values don't agree and what to change, found by trying; nothing where they agree."""
    declared = task.descriptor.restrictions
    if _settings(task, declared, 1):
        return ""
    least = declared
    for name in declared:
        least = least if _settings(task, _without(least, name), 1) else _without(least, name)
    reason = _reason(task, least)
    parameters = operations()[task.operation].parameters
    said = _listed([f"{name}={_written(candidates(parameters[name], value))}" for name, value in least.items()])
    if len(least) == 1:
        return f"{said} agrees with no value that is tried of other parameters{reason}; declare values of these too"
    changes = ", or ".join(_instead(task, least, name) for name in least)
    return f"{said} {f'do not agree{reason}' if reason else 'are never drawn together'}; declare {changes}"


def _settings(task: Task, declared: Declared, count: int) -> list[Settings]:
    """Return settings of parameters inside of declared values, whatever a predicate takes of them."""
    return list(islice(settings(operations()[task.operation], _inside(task, declared), np.random.default_rng(0)), count))


def _inside(task: Task, declared: Declared) -> Declared:
    return replace(task.descriptor, restrictions=declared, admits=None).inside


def _without(declared: Declared, name: str) -> Declared:
    return {other: value for other, value in declared.items() if other != name}


def _instead(task: Task, least: Declared, name: str) -> str:
    """Return values of a parameter that would do, beside all others that are declared where any do."""
    others = _settings(task, _without(task.descriptor.restrictions, name), LOOK) or _settings(task, _without(least, name), LOOK)
    return f"{name}={' or '.join(list(dict.fromkeys(repr(each[name]) for each in others))[:NAMED])}"


def _reason(task: Task, least: Declared) -> str:
    """Return in brackets why the reference refuses these values: what it says that names the fewest other parameters.

    It is nothing where the reference takes them beside some values of others, and says nothing of these alone.
    """
    names, answers = operations()[task.operation].parameters.keys(), list(_answers(task, least))
    named = {answer: names & {*re.findall(r"\w+", answer)} for answer in answers if re.split(r"\W", answer)[0] in names}
    reason = min(named, key=lambda answer: len(named[answer] - least.keys()), default="")
    return f" ({reason})" if reason and ("" not in answers or named[reason] <= least.keys()) else ""


def _answers(task: Task, least: Declared) -> Iterator[str]:
    """Yield what the reference says of calls that take all but one of the values, with that one too; nothing where it computes."""
    operation = operations()[task.operation]
    for name, value in least.items():
        calls = drawn(operation, restrictions=_inside(task, _without(least, name)), takes=task.takes, dtype="float64", seed=0)
        for call in islice(calls, ASKED):
            for wrong in candidates(operation.parameters[name], value):
                try:
                    known.unaltered(task)(*call.arrays.values(), **{**call.parameters, name: wrong})
                except SpecificationError as error:
                    yield str(error)
                else:
                    yield ""


def _written(values: Sequence[object]) -> str:
    """Return declared values as they are typed."""
    return repr(values[0]) if len(values) == 1 else f"{{{', '.join(map(repr, values))}}}"


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
