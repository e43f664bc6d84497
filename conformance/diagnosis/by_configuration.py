"""What code that reads a configuration is told: it declares little, and reads the rest."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice
from math import comb

import numpy as np

from conformance.adapt.configured import DECLARED, OFFERED, judged_as
from conformance.calls.outcomes import Diagnosis
from conformance.calls.subject import Subject
from conformance.checks import golden_checks
from conformance.checks.vector_checks import Checked
from conformance.diagnosis.conditions import CHANCE
from conformance.mutants import for_operation
from conformance.mutants.building import declaring, shown
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import operations
from refimpl.spec import axis_names

#: So many layers are listed.
LISTED = 8
#: So many calls that were wrong, and that were right, have their rows repeated, and how often.
AGAIN, TIMES = 6, (2, 3, 4, 5)
#: What the name of such a call has behind that of the call.
REPEATED = "-repeated-"


def by_configuration(found: Diagnosis | None, checked: Sequence[Checked]) -> Diagnosis | None:
    """Return a diagnosis that names the function of a configuration, tells to read what may not be declared, and which layers are wrong."""
    where = in_layers(checked)
    if found is None:
        return Diagnosis((), "", "", "", kind="unknown", description=(f"wrong {where}",)) if where else None
    if where and not found.named:
        return replace(found, description=(f"wrong {where}", *found.description))
    found = replace(found, does=f"{found.does}, {where}") if where else found
    return _as_offered(found, checked[0].task.operation)


def in_layers(checked: Sequence[Checked]) -> str:
    """Return in words which layers alone are wrong, nothing where the others may be right by chance."""
    wrong, right = _layers(checked)
    shown_right = sorted(right.keys() & _shown_right(checked))
    if not (wrong and shown_right) or _by_chance(checked, wrong) > CHANCE:
        return ""
    return f"only in layer{'s' if len(wrong) > 1 else ''} {_listed(wrong)} (counted from 0), not in {_listed(shown_right)}"


def of_wrong_layers(checked: Sequence[Checked]) -> list[Checked]:
    """Return the checks of the layers that alone are wrong, as far as these show."""
    wrong, right = _layers(checked)
    told = (check for check in checked if right and check.reply is not None and check.reply.layers)
    return [check for check in told if check.reply is not None and check.reply.layers[0] in wrong]


def with_more(checked: Sequence[Checked], subject: Subject | None) -> Sequence[Checked]:
    """Return the checks, and those of calls of the same rows, repeated, where only some layers are wrong as far as they show.

    Layers take turns by the sizes of a call: so the same numbers come to other layers.
    """
    if subject is None or not all(_layers(checked)):
        return checked
    told = [check for check in checked if check.vector.drawn and check.reply is not None and check.reply.layers and not check.vector.at]
    told.sort(key=lambda check: sum(array.size for array in check.vector.inputs.values()))
    some = [check for failed in (True, False) for check in [each for each in told if each.failed is failed][:AGAIN]]
    return [*checked, *(_repeated(subject, check, times) for check in some for times in TIMES)]


def _repeated(subject: Subject, check: Checked, times: int) -> Checked:
    """Return the check of a call whose rows are repeated."""
    operation, arrays = operations()[check.task.operation], check.vector.inputs
    axes = {name: axis_names(operation.arrays[name], array.ndim) for name, array in arrays.items()}
    rows = {name: np.concatenate([array] * times) if "batch" in (axes[name] or ()) else array for name, array in arrays.items()}
    call = Arguments(rows, check.vector.parameters)
    return golden_checks.check(subject, check.task, f"{check.vector.id}{REPEATED}{times}", call)


def _shown_right(checked: Sequence[Checked]) -> set[int]:
    """Return the layers in which the rows of a wrong call came out right, where rows were repeated; else all that were asked."""
    wrong = {check.vector.id for check in checked if check.failed}
    twins = [(check, check.vector.id.partition(REPEATED)) for check in checked if REPEATED in check.vector.id]
    right = {check.reply.layers[0] for check, (first, *_) in twins if first in wrong and check.reply is not None and not check.failed}
    return right if twins else {layer for layer, _ in layers_asked(checked)}


def _layers(checked: Sequence[Checked]) -> tuple[dict[int, None], dict[int, None]]:
    """Return which layers are wrong in any call, and which in none."""
    asked = layers_asked(checked)
    wrong = dict.fromkeys(sorted(layer for layer, failed in asked if failed))
    return wrong, dict.fromkeys(sorted(layer for layer, _ in asked if layer not in wrong))


def layers_asked(checked: Sequence[Checked]) -> list[tuple[int, bool]]:
    """Return the layer of each drawn call and whether it is wrong: stored ones are at places of their own, and always in the same layer."""
    drawn = (check for check in checked if check.vector.drawn and check.reply is not None and check.reply.layers)
    return [(check.reply.layers[0], check.failed) for check in drawn if check.reply is not None]


def _by_chance(checked: Sequence[Checked], wrong: Collection[int]) -> float:
    """Return how likely as many failures, put among the calls by chance, spare as many layers as these do."""
    asked = layers_asked(checked)
    failures, layers = sum(failed for _, failed in asked), {layer for layer, _ in asked}
    among = sum(layer in wrong for layer, _ in asked)
    return comb(among, failures) / comb(len(asked), failures) * comb(len(layers), len(wrong))


def _listed(layers: Collection[int]) -> str:
    some = ", ".join(map(str, islice(layers, LISTED)))
    return f"{some} and {len(layers) - LISTED} more" if len(layers) > LISTED else some


def _as_offered(found: Diagnosis, operation: str) -> Diagnosis:
    conventions = [mutant.forces for mutant in for_operation(operation) if mutant.name in found.mutants and mutant.forces]
    every = {name: value for forced in conventions for name, value in forced.items()}
    fix, should = found.fix, found.should
    for forced in (every, *conventions):
        may = {name: value for name, value in forced.items() if name in DECLARED}
        read = [f"read the {name} off the configuration" for name in forced if name not in DECLARED]
        fix = fix.replace(declaring(operation, forced), "; ".join([*([declaring(operation, may)] if may else []), *read]))
    for name in every.keys() - {*DECLARED}:
        asked, said = f"compute the {name} asked for, or declare what it computes", f"compute the {name} that the configuration says"
        should = should.replace(asked, said)
    offered = next((name for name in OFFERED if operation in judged_as(name)), operation)
    return replace(found, should=should, fix=fix.replace(f"implements({shown(operation)}", f"implements({shown(offered)}"))
