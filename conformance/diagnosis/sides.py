"""What code does that turns queries and keys in one call, and one of them by another convention: no declaration holds of both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from conformance.calls.form import Form
from conformance.calls.outcomes import Diagnosis
from conformance.checks.vector_checks import Checked
from conformance.diagnosis.candidates import Candidate
from conformance.isolate.described import Descriptor
from conformance.mutants import for_operation
from conformance.mutants.building import Function, right, shown
from conformance.mutants.catalogue import KNOWN
from conformance.spec.declarations import operations

#: As what a result is judged, in words behind a label, with what it is and what the other one is.
SIDES = {Form(side="q").judged: ("queries", Form(side="k").judged), Form(side="k").judged: ("keys", Form(side="q").judged)}
#: What is said where the two turn against each other, and of any other convention.
AGAINST = "opposite-directions", "turns {} against {}, so that positions add up instead of being subtracted"
UNLIKE = "unlike-queries-and-keys", "computes {2} for {0} alone: {1} are turned otherwise"
SHOULD = "turn queries and keys alike"
#: The results of an operation that turns both.
RESULTS = ("query", "key")


def of_sides(every: Mapping[str, Sequence[Checked]], found: Mapping[str, Diagnosis]) -> Iterator[tuple[str, Diagnosis]]:
    """Yield mistakes in the place of conventions to be declared that hold of queries alone, or of keys alone."""
    tasks = {name: checked[0].task for name, checked in every.items()}
    names = {(task.descriptor.label, task.operation, task.dtype): name for name, task in tasks.items()}
    for name, diagnosis in found.items():
        task = tasks.get(name)
        end = next((end for end in SIDES if task is not None and task.descriptor.label.endswith(end)), None)
        if task is None or end is None:
            continue
        side, other_end = SIDES[end]
        other = names.get((task.descriptor.label.removesuffix(end) + other_end, task.operation, task.dtype))
        forced = _forced(diagnosis)
        if other is not None and forced and not _holds(forced, found.get(other), every[other], task.descriptor):
            yield name, _told(task.operation, forced, diagnosis, (side, SIDES[other_end][0]))


def _forced(diagnosis: Diagnosis) -> Mapping[str, object]:
    """Return the conventions that a diagnosis advises to declare."""
    known = [KNOWN[name] for name in diagnosis.mutants if name in KNOWN] if diagnosis.kind == "convention" else []
    return {name: value for one in known for name, value in getattr(one, "forces", {}).items()}


def _holds(forced: Mapping[str, object], other: Diagnosis | None, checked: Sequence[Checked], declared: Descriptor) -> bool:
    """Whether the other result keeps conventions too: it was found to, or is right where nothing else is declared."""
    if other is not None or any(one.failed for one in checked):
        return other is not None and _forced(other) == forced
    return all(declared.restrictions.get(name, value) == value for name, value in forced.items())


def _told(operation: str, forced: Mapping[str, object], before: Diagnosis, sides: tuple[str, str]) -> Diagnosis:
    name, does, fix = _words(operation, forced, sides)
    return replace(before, mutants=(name,), does=does, should=SHOULD, fix=fix, kind="mistake", also_fits=(), separate=())


def _words(operation: str, forced: Mapping[str, object], sides: tuple[str, str]) -> tuple[str, str, str]:
    """Return the name of the mistake, what it does, and the fix."""
    name, does = AGAINST if forced.keys() == {"direction"} else UNLIKE
    told = " and ".join(f"{each}={shown(value)}" for each, value in forced.items())
    fix = f"use one {' and one '.join(forced)} for both; no declaration makes {sides[0]} fit {sides[1]}"
    return f"{operation}/{name}", does.format(*sides, told), fix


def of_one_side(operation: str) -> Iterator[Candidate]:
    """Yield every convention of queries alone, or of keys alone, where an operation returns both."""
    if tuple(operations()[operation].results) != RESULTS:
        return
    conventions = [mutant for mutant in for_operation(operation) if mutant.forces]
    for convention, (index, sides) in product(conventions, enumerate((("queries", "keys"), ("keys", "queries")))):
        name, does, fix = _words(operation, convention.forces, sides)
        yield Candidate((name,), does, SHOULD, fix, partial(_with_one, convention.function, right(operation), index), "mistake")


def _with_one(other: Function, own: Function, index: int, *arrays: np.ndarray, **parameters: object) -> tuple[np.ndarray, ...]:
    """Return the results of a function, but for one of them, which is another function's."""
    results, others = own(*arrays, **parameters), other(*arrays, **parameters)
    return tuple(others[i] if i == index else result for i, result in enumerate(results))
