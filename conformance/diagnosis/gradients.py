"""Name what is wrong with gradients alone: what the call that gives the gradient shows, as any call does."""

from collections.abc import Sequence
from dataclasses import replace

from conformance.calls.outcomes import Diagnosis
from conformance.checks.manner_checks import adjoint
from conformance.checks.vector_checks import Checked
from conformance.diagnosis.diagnose import of_checks
from conformance.mutants import for_operation
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import operations

#: What another direction, and what a result that is no rotation, is called where it is a gradient.
CALLED = {
    "direction=positive": "gradient-forward",
    "direction=negative": "gradient-forward",
    "positions*-1": "gradient-forward",
    "zeros": "gradient-zero",
    "not-turned": "gradient-unturned",
    "x-unchanged": "gradient-unturned",
}


def of_gradients(checked: Sequence[Checked]) -> Diagnosis | None:
    """Return the known mistake that gradients show where results are right; ``None`` where they show none."""
    found = of_checks([each for one in checked if (each := _adjoined(one)) is not None])
    if found is None or not found.named:
        return None
    called = CALLED.get(found.name.partition("/")[2])
    found = found if called is None else _of_gradient(called)
    if found.kind == "convention":  # nobody declares how a gradient is laid out
        found = replace(found, fix=found.should, kind="mistake")
    # What tells other explanations apart are calls of the gradient as an operation of its own, which isn't offered.
    return replace(found, does=f"{found.does}, only in the backward pass", also_fits=(), separate=())


def _adjoined(checked: Checked) -> Checked | None:
    """Return the check of a gradient as that of the call that gives it; ``None`` where the oracle has none."""
    vector, (cotangent, *_) = checked.vector, checked.manner.cotangents
    adjoined = adjoint(operations()[vector.operation], Arguments(vector.inputs, vector.parameters), cotangent)
    if adjoined is None:
        return None
    name, call = adjoined
    vector = replace(vector, operation=name, inputs=call.arrays, parameters=call.parameters)
    task = replace(checked.task, descriptor=replace(checked.task.descriptor, operation=name))
    return replace(checked, task=task, vector=vector)


def _of_gradient(name: str) -> Diagnosis:
    """Return the diagnosis of a known mistake of gradients."""
    backward = (operation for operation in operations() if operation.endswith(".gradient"))
    known = next(mutant for operation in backward for mutant in for_operation(operation) if mutant.name == f"{operation}/{name}")
    return Diagnosis((known.name,), known.does, known.should, known.fix, known.threads)
