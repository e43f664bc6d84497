"""What code that reads a configuration is told: it declares little, and reads the rest."""

from dataclasses import replace

from conformance.adapt.configured import DECLARED, OFFERED, judged_as
from conformance.calls.outcomes import Diagnosis
from conformance.mutants import for_operation
from conformance.mutants.building import declaring, shown


def by_configuration(found: Diagnosis, operation: str) -> Diagnosis:
    """Return a diagnosis that names the function of a configuration, and tells to read what an adapter may not declare of it."""
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
