"""Known mistakes in place of an implementation: what they answer to a call, and whether a golden case convicts them."""

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from conformance.calls.subject import Reply
from conformance.judge.journal import Task
from conformance.judge.judge import fails, half_ulp
from conformance.mutants import for_operation
from conformance.mutants.building import Function, right
from conformance.mutants.rounding import rounded
from conformance.spec.choices import candidates
from conformance.spec.declarations import operations
from conformance.spec.mutant import Mutant
from conformance.spec.profiles import HALVES
from conformance.spec.vectors import Vector

#: A mistake that alone is off by more than twice the allowed stays convicted whatever rounding, up to the allowed, comes on top of it.
CLEAR = 2.0

Arrays = Mapping[str, np.ndarray]
Answer = Mapping[str, np.ndarray] | None


def mistakes(task: Task) -> tuple[Mutant, ...]:
    """Return the known mistakes of an operation; a convention that the declaration asks for is right code there, and none."""
    declared = task.descriptor.restrictions
    return tuple(mutant for mutant in for_operation(task.operation) if not mutant.forces or not _asked_for(mutant, declared))


def _asked_for(convention: Mutant, declared: Mapping[str, object]) -> bool:
    """Whether a declaration leaves nothing but what a convention forces."""
    parameters = operations()[convention.operation].parameters
    return all(candidates(parameters[name], declared.get(name)) == (value,) for name, value in convention.forces.items())


def unaltered(task: Task) -> Function:
    """Return the operation without a mistake, to see where a mistake shows."""
    return right(task.operation)


def answer(operation: str, function: Function, arrays: Arrays, parameters: Mapping[str, object]) -> Answer:
    """Return the results of a function for one call, in float64 and int64; ``None`` where it raises."""
    given = [_read_only(array) for array in arrays.values()]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            value = function(*given, **parameters)
            values = value if isinstance(value, tuple) else (value,)
            return {name: np.asarray(array) for name, array in zip(operations()[operation].results, values, strict=True)}
    except Exception:  # noqa: BLE001  a mistake may raise anything
        return None


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def convicted(vector: Vector, found: Answer, task: Task, *, beyond: float = CLEAR) -> bool:
    """Return whether a golden case convicts an answer, beyond what rounding could hide; no answer is convicted."""
    return found is None or fails(vector, reply(found, task.dtype), task.dtype, task.profile, beyond=beyond)


def reply(found: Mapping[str, np.ndarray], dtype: str) -> Reply:
    """Return what code would return that has these results and rounds them once, to a dtype."""
    narrow = {name: array if array.dtype.kind == "i" else _rounded(array, dtype) for name, array in found.items()}
    return Reply(narrow, {name: "int64" if array.dtype.kind == "i" else dtype for name, array in found.items()})


def _rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype in HALVES:
        with np.errstate(all="ignore"):
            return np.asarray(rounded(values, dtype))
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(values).astype(dtype).astype(np.float64)


def difference(found: Answer, expected: Answer, dtype: str) -> float:
    """Return how far an answer is from the right one, in half units in the last place of its largest number."""
    if found is None or expected is None:
        return math.inf if expected is not None else 0.0
    return max((_apart(found[name], expected[name], dtype) for name in expected), default=0.0)


def _apart(found: np.ndarray, expected: np.ndarray, dtype: str) -> float:
    if found.shape != expected.shape:
        return math.inf
    if expected.dtype.kind == "i":
        return math.inf if np.any(found != expected) else 0.0
    finite = np.isfinite(expected)
    if np.any(finite != np.isfinite(found)):
        return math.inf
    largest: Any = np.abs(expected[finite]).max(initial=0.0)
    apart = np.abs(found[finite] - expected[finite]).max(initial=0.0)
    with np.errstate(divide="ignore"):
        return float(apart / half_ulp(np.asarray(largest), dtype)) if apart else 0.0
