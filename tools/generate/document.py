"""The document of one operation: what ``vectors/schema.json`` describes, as plain mappings and lists."""

import decimal
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.oracle import Answer, Tensor
from refimpl.spec import Case, Operation, Scheme
from tools.generate import inputs
from tools.generate.errors import GenerationError
from tools.generate.inputs import Filled
from tools.generate.writer import Tree

FORMAT = 1
REVISION = 1
UPWARDS = decimal.Context(prec=3, rounding=decimal.ROUND_CEILING)


@dataclass(frozen=True)
class Task:
    """One case, ready for the oracle."""

    identity: str
    operation: Operation
    case: Case
    parameters: Mapping[str, object]
    arrays: Mapping[str, Filled]


def tasks(scheme: Scheme, operation: Operation) -> list[Task]:
    """Return the cases of an operation with all inputs and parameters, in the order of the declaration."""
    short = operation.name.split(".", 1)[1]
    found = [task(f"{scheme.name}.{case.name}", operation, case) for case in scheme.cases if case.operation == short]
    if not found:
        message = f"{operation.name} must have a case, got none"
        raise GenerationError(message)
    return found


def task(identity: str, operation: Operation, case: Case) -> Task:
    """Return a case with all inputs and parameters."""
    values = inputs.parameters(operation, case)
    if case.error is None:
        _check_parameters(identity, operation, values)
    return Task(identity, operation, case, values, inputs.arrays(identity, operation, case, values))


def _check_parameters(identity: str, operation: Operation, values: Mapping[str, object]) -> None:
    unknown = sorted(set(values) - set(operation.parameters))
    missing = sorted(set(operation.parameters) - set(values))
    if unknown or missing:
        message = f"{identity}: parameters must be {', '.join(operation.parameters)}, got unknown {unknown} and missing {missing}"
        raise GenerationError(message)


def document(scheme: Scheme, operation: Operation, cases: Sequence[tuple[Task, Answer | None]]) -> dict[str, Tree]:
    """Return the whole document of one operation."""
    source = scheme.source
    return {
        "format": FORMAT,
        "revision": REVISION,
        "operation": operation.name,
        "summary": operation.summary,
        "source": {"title": source.title, "address": source.address, "equations": source.equations},
        "arrays": [_declared(name, axes, operation) for name, axes in operation.arrays.items()],
        "parameters": list(operation.parameters),
        "results": [_declared(name, axes, operation) for name, axes in operation.results.items()],
        "cases": [stored(task, answer) for task, answer in cases],
    }


def _declared(name: str, axes: str, operation: Operation) -> dict[str, Tree]:
    return {"name": name, "axes": axes, "integer": name in operation.integers}


def stored(task: Task, answer: Answer | None) -> dict[str, Tree]:
    """Return a case as it stands in a file."""
    head: dict[str, Tree] = {"id": task.identity, "exposes": task.case.exposes, "tags": list(task.case.tags)}
    head |= {} if answer is None else {"equality": _equality(task)}
    head["parameters"] = {name: _parameter(task.identity, name, value) for name, value in task.parameters.items()}
    head["inputs"] = {name: _tensor(array.shape, array.values, integer=array.integer) for name, array in task.arrays.items()}
    return head | ({"error": task.case.error} if answer is None else _judged(task, answer))


def _parameter(identity: str, name: str, value: object) -> Tree:
    """Return a parameter as a leaf, or raise where it is none."""
    if value is None or (isinstance(value, str | int | float) and not (isinstance(value, float) and math.isnan(value))):
        return value
    if isinstance(value, tuple) and all(type(each) is int for each in value):
        return list(value)
    message = f"{identity}: parameter {name} must be one value that YAML can hold, or a tuple of integers, got {value!r}"
    raise GenerationError(message)


def _equality(task: Task) -> str:
    integer = set(task.operation.results) <= task.operation.integers
    return task.case.equality or ("exact" if integer else "allowance")


def _judged(task: Task, answer: Answer) -> dict[str, Tree]:
    _check_boundary(task, answer)
    shapes = {name: tensor.shape for name, tensor in answer.expected.items()}
    whole = task.operation.integers
    expected: Tree = {name: _tensor(found.shape, found.values, integer=name in whole) for name, found in answer.expected.items()}
    allowed: Tree = {
        profile: {name: rows(shapes[name], [_upwards(radius) for radius in radii]) for name, radii in results.items()}
        for profile, results in answer.allowed.items()
        if results
    }
    also = {profile: reached for profile, results in answer.also.items() if (reached := _reached(results))}
    return {"expected": expected} | ({"allowed": allowed} if allowed else {}) | ({"also": also} if also else {})


def _check_boundary(task: Task, answer: Answer) -> None:
    if answer.straddles != ("boundary" in task.case.tags):
        found = "straddles a discontinuity" if answer.straddles else "straddles none"
        message = f"{task.identity}: 'boundary' must be among the tags where a profile straddles a discontinuity, got a case that {found}"
        raise GenerationError(message)


def _reached(results: Mapping[str, Mapping[int, Sequence[int]]]) -> dict[str, Tree]:
    return {name: [[index, *others] for index, others in sorted(found.items())] for name, found in results.items() if found}


def _upwards(radius: float | None) -> float | None:
    """Round an allowance up to three significant digits."""
    if radius is None or not math.isfinite(radius):
        return None
    return float(UPWARDS.create_decimal_from_float(radius))


def _tensor(shape: Sequence[int], values: Sequence[int | float], *, integer: bool) -> dict[str, Tree]:
    return {"dtype": "int64" if integer else "float64", "shape": list(shape), "values": rows(shape, values)}


def rows(shape: Sequence[int], values: Sequence[Tree]) -> list[Tree]:
    """Return flat values as one list per row of the last axis."""
    width = shape[-1] if shape else 1
    return [list(values[start : start + width]) for start in range(0, len(values), max(width, 1))]


def tensor(array: Filled) -> Tensor:
    """Return an array as the oracle takes it."""
    return Tensor(array.shape, array.values)
