"""What code does that turns queries and keys in one call, and one of them by another convention: no declaration holds of both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from conformance.calls.form import Form
from conformance.calls.outcomes import Diagnosis
from conformance.checks.vector_checks import Checked
from conformance.isolate.described import Descriptor
from conformance.mutants.building import shown
from conformance.mutants.catalogue import KNOWN

#: As what a result is judged, in words behind a label, with what it is and what the other one is.
SIDES = {Form(side="q").judged: ("queries", Form(side="k").judged), Form(side="k").judged: ("keys", Form(side="q").judged)}
#: What is said where the two turn against each other, and of any other convention.
AGAINST = "opposite-directions", "turns {} against {}, so that positions add up instead of being subtracted"
UNLIKE = "unlike-queries-and-keys", "computes {2} for {0} alone: {1} are turned otherwise"
SHOULD = "turn queries and keys alike"


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
    name, does = AGAINST if forced.keys() == {"direction"} else UNLIKE
    told = " and ".join(f"{each}={shown(value)}" for each, value in forced.items())
    fix = f"use one {' and one '.join(forced)} for both; no declaration makes {sides[0]} fit {sides[1]}"
    return replace(
        before,
        mutants=(f"{operation}/{name}",),
        does=does.format(*sides, told),
        should=SHOULD,
        fix=fix,
        kind="mistake",
        also_fits=(),
        separate=(),
    )
