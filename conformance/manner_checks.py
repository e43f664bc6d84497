"""Ask for what passed once more: with arrays that aren't contiguous, and for its gradient; tell what shares memory."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from conformance.declarations import operations
from conformance.draw import Arguments, is_position
from conformance.embedding import natural
from conformance.golden.answers import UnprovableError, golden
from conformance.golden.calls import generator
from conformance.golden.features import dyadic
from conformance.journal import Task
from conformance.law_checks import declared
from conformance.manner import STRIDED, Manner
from conformance.outcomes import Advisory, Passed, Result
from conformance.subject import Subject
from conformance.takes import Takes
from conformance.vector_checks import Checked, check
from conformance.vectors import Vector
from refimpl.spec import Law, Operation

#: How many calls with unlike conventions are asked for once more.
MOST = 4
OPPOSITE = {"positive": "negative", "negative": "positive"}


def strided(subject: Subject, task: Task, checked: Sequence[Checked]) -> Iterator[Checked]:
    """Yield the judgement of some calls that passed, made with strided arrays, unless the declaration rules these out."""
    if "strided" not in subject.manners or task.descriptor.takes.contiguous:
        return
    for each in _passed(checked):
        if any(array.dtype.kind == "f" and array.size > 1 for array in each.vector.inputs.values()):
            yield check(subject, task, replace(each.vector, id=f"{each.vector.id}-strided"), STRIDED)


def gradients(subject: Subject, task: Task, checked: Sequence[Checked], seed: int) -> Iterator[Checked]:
    """Yield the judgement of gradients of some calls that passed, where the library differentiates and the oracle knows the gradient."""
    if "differentiated" not in subject.manners:
        return
    for each in _passed(checked):
        operation = operations()[task.operation]
        call = Arguments(each.vector.inputs, each.vector.parameters)
        cotangent = dyadic(generator(operation, "cotangent", seed, each.vector.id), call.arrays.get("x", np.zeros(0)).shape)
        asked = adjoint(operation, call, cotangent)
        if asked is None or not _as_it_is(operation, call, task.descriptor.takes):
            continue
        try:
            vector = golden(asked[0], asked[1], identity=f"{each.vector.id}-gradient", exposes="a wrong gradient", profiles=(task.profile,))
        except UnprovableError:
            continue
        yield check(subject, task, _as_gradient(vector, each.vector), Manner(cotangents=(cotangent,)))


def _as_it_is(operation: Operation, call: Arguments, takes: Takes) -> bool:
    """Whether a call is made as it is: one that is put into longer inputs, or split by rows, gives the gradient of another."""
    batched = any(is_position(name) and array.ndim > 1 for name, array in call.arrays.items())
    return natural(operation, call.arrays, takes) and not (takes.one_row and batched)


def adjoint(operation: Operation, call: Arguments, cotangent: np.ndarray) -> tuple[str, Arguments] | None:
    """Return the call that gives the gradient in ``x``: of its twin, else of itself in the other direction, if either is one."""
    scheme = operation.name.split(".", 1)[0]
    twin = operations().get(f"{scheme}.gradient")
    if twin is not None and list(twin.arrays) == [*operation.arrays, "cotangent"]:
        return twin.name, call.with_arrays(cotangent=cotangent)
    direction = OPPOSITE.get(str(call.parameters.get("direction")))
    turns = Law.LINEAR in declared(operation.name) and list(operation.results.values()) == [operation.arrays.get("x")]
    if direction is None or not turns or "cotangent" in operation.arrays or call.parameters.get("layout") == "interleaved_to_half":
        return None
    return operation.name, call.with_arrays(x=cotangent).with_parameters(direction=direction)


def _as_gradient(vector: Vector, of: Vector) -> Vector:
    """Return the golden values of a gradient as what is expected of the call that it is the gradient of."""
    return replace(vector, operation=of.operation, inputs=of.inputs, parameters=of.parameters)


def aliases(task: Task, checked: Sequence[Checked]) -> Iterator[Result]:
    """Yield what is worth knowing of results that share memory with an input, where the declaration doesn't say that it is written to."""
    told = dict.fromkeys(alias for each in checked if each.reply is not None for alias in each.reply.aliases)
    if told and not task.descriptor.modifies_inputs:
        message = f"{', '.join(told)}: what is written to the one changes the other"
        label, operation = task.descriptor.label, task.operation
        yield Result(label, operation, "aliasing", "advisory", task.dtype, task.profile, Advisory(message))


def _passed(checked: Sequence[Checked]) -> list[Checked]:
    """Return drawn calls that passed plainly, one of each combination of conventions: the largest with several heads and tokens."""
    plain = [each for each in checked if isinstance(each.judgement.outcome, Passed) and each.vector.drawn and not each.vector.at]
    plain.sort(key=lambda each: (_swappable(each), sum(array.size for array in each.vector.inputs.values())))
    kinds = {str([value for value in each.vector.parameters.values() if isinstance(value, str | bool)]): each for each in plain}
    return list(kinds.values())[-MOST:]


def _swappable(each: Checked) -> bool:
    """Whether an array has heads and tokens that can be swapped: a view of every second number is one that some code reads rightly."""
    return any(array.ndim > 2 and min(array.shape[-3:-1]) > 1 for array in each.vector.inputs.values())
