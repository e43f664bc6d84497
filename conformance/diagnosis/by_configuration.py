"""What code that reads a configuration is told: it declares little, and reads the rest."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice

from conformance.adapt.configured import DECLARED, OFFERED, judged_as
from conformance.calls.outcomes import Diagnosis
from conformance.checks.vector_checks import Checked
from conformance.diagnosis.conditions import CHANCE
from conformance.mutants import for_operation
from conformance.mutants.building import declaring, shown

#: So many layers are listed.
LISTED = 8


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
    return f"only in layer{'s' if len(wrong) > 1 else ''} {_listed(wrong)} (counted from 0), not in {_listed(right)}" if wrong else ""


def of_wrong_layers(checked: Sequence[Checked]) -> list[Checked]:
    """Return the checks of the layers that alone are wrong, nothing where the others may be right by chance."""
    wrong, _ = _layers(checked)
    return [check for check in checked if check.reply is not None and check.reply.layers and check.reply.layers[0] in wrong]


def _layers(checked: Sequence[Checked]) -> tuple[Collection[int], Collection[int]]:
    """Return which layers alone are wrong, and which are right; nothing where these may be right by chance."""
    # Stored calls are at positions of their own, at which little may show, and always ask for the same layer.
    drawn = (check for check in checked if check.vector.drawn and check.reply is not None and check.reply.layers)
    asked = [(check.reply.layers[0], check.failed) for check in drawn if check.reply is not None]
    wrong = dict.fromkeys(sorted(layer for layer, failed in asked if failed))
    right = dict.fromkeys(sorted(layer for layer, _ in asked if layer not in wrong))
    of_wrong = [failed for layer, failed in asked if layer in wrong]
    if not (wrong and right) or (1 - sum(of_wrong) / len(of_wrong)) ** (len(asked) - len(of_wrong)) > CHANCE / 10:
        return (), ()
    return wrong, right


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
