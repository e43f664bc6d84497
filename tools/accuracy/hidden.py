"""Put a function under a hidden name through what a user's implementation goes through, and return what is said about it."""

import functools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance import laws
from conformance.adapt.adapter import Adapter
from conformance.adapt.arrays import NumPy
from conformance.calls.outcomes import Diagnosis, Failed
from conformance.calls.subject import Subject
from conformance.checks import golden_checks, law_checks, vector_checks
from conformance.diagnosis import diagnose
from conformance.in_process import InProcess
from conformance.judge.journal import Task
from conformance.laws.running import run_checks
from conformance.run.by_values import DIAGNOSED
from conformance.run.orchestrator import EXAMPLES
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector, load

Function = Callable[..., Any]
#: What the hidden function is called, whatever it is.
NAME = "hidden"
SEED = 0


@dataclass(frozen=True)
class Exhibit:
    """A function that offers an operation in one dtype, with the parameter values that it declares."""

    operation: str
    dtype: str
    declared: Mapping[str, Any]
    function: Function


@dataclass(frozen=True)
class Verdict:
    """What was said: which check convicts first, how many allowances the farthest number is off, and which mistake it is."""

    convicted_by: str | None
    ratio: float
    diagnosis: Diagnosis | None


@functools.cache
def vectors(operation: str) -> tuple[Vector, ...]:
    """Return the vectors of an operation that have a result."""
    return tuple(vector for vector in load([operation]) if vector.error is None)


def asked(operation: str, declared: Mapping[str, object]) -> list[Vector]:
    """Return the vectors that an implementation with these declarations is asked."""
    return [vector for vector in vectors(operation) if all(vector.parameters[name] == value for name, value in declared.items())]


def quietly(function: Function) -> Function:
    """Return a function that warns of no overflow: mistakes overflow."""

    def quiet(*arrays: Any, **parameters: Any) -> Any:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            return function(*arrays, **parameters)

    return quiet


def judge(exhibit: Exhibit, *, with_laws: bool = True, drawn: bool = False) -> Verdict:
    """Judge a function by the vectors, by the laws where no vector convicts, and name its mistake.

    With ``drawn`` calls are drawn as a run does, where the vectors alone leave open which mistake it is.
    """
    session = InProcess(_adapter(exhibit))
    (descriptor,) = session.implementations
    task = Task(descriptor, exhibit.dtype, descriptor.profile[exhibit.dtype])
    subject = session.subject(descriptor, task.dtype, task.profile)
    checked = [vector_checks.check(subject, task, vector) for vector in asked(exhibit.operation, exhibit.declared)]
    by_vector = next((one.vector.id for one in checked if one.failed), None)
    by_law = _breaks(subject, task) if by_vector is None and with_laws else None
    diagnosis = _diagnosis(task, checked)
    if drawn and by_vector and diagnosis is None:
        further = golden_checks.run(subject, task, golden_checks.drawn(task, SEED), enough=golden_checks.ENOUGH["core"])
        diagnosis = _diagnosis(task, [*checked, *further])
    return Verdict(by_vector or by_law, max((_ratio(one) for one in checked), default=0.0), diagnosis)


def _ratio(checked: vector_checks.Checked) -> float:
    """Return how many allowances a result is off: any number where it hasn't the right shape, none where there is no result."""
    ratio = 0.0 if checked.reply is None else checked.judgement.ratio
    return (math.inf if checked.failed else 0.0) if ratio is None else ratio


def _breaks(subject: Subject, task: Task) -> str | None:
    """Return the first law that convicts, with the counterexample as it was met, since only its name is counted."""
    for check in laws.checks(operations()[task.operation], law_checks.declared(task.operation)):
        (finding,) = run_checks(subject, [check], examples=EXAMPLES["core"], seed=0, shrink=False)
        if finding.failure is not None:
            return f"law:{finding.law}"
    return None


def _diagnosis(task: Task, checked: Sequence[vector_checks.Checked]) -> Diagnosis | None:
    outcomes = [one.judgement.outcome for one in checked]
    if not any(isinstance(outcome, Failed) and outcome.reason in DIAGNOSED for outcome in outcomes):
        return None
    seen = [diagnose.Observation(one.vector, dict(one.reply.values), task.dtype) for one in checked if one.reply is not None]
    return diagnose.diagnose(task.operation, seen, task.profile)


def _adapter(exhibit: Exhibit) -> Adapter:
    adapter = Adapter(NAME, dtypes=(exhibit.dtype,))
    adapter.implements(exhibit.operation, **exhibit.declared)(_hidden(exhibit))
    return adapter


def _hidden(exhibit: Exhibit) -> Function:
    """Return the function without its name: it gets and returns arrays of the dtype, and computes in float64."""
    inside = quietly(exhibit.function)

    def hidden(*arrays: Any, **parameters: Any) -> Any:
        value = inside(*(array if array.dtype.kind in "iu" else array.astype(np.float64) for array in arrays), **parameters)
        if isinstance(value, tuple):
            return tuple(_narrow(np.asarray(part), exhibit.dtype) for part in value)
        return _narrow(np.asarray(value), exhibit.dtype)

    return hidden


def _narrow(values: np.ndarray, dtype: str) -> np.ndarray:
    if values.dtype.kind in "iu":
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values.astype(NumPy().dtype(dtype)))


def lowered(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return numbers rounded to a dtype, as float64."""
    narrow = _narrow(values, dtype)
    return narrow if narrow.dtype.kind in "iu" else narrow.astype(np.float64)
