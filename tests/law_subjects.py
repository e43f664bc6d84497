"""Implementations made in the test's own process, as laws see them: the reference, and others written out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from conformance.adapt import embedding
from conformance.calls.outcomes import Errored
from conformance.calls.subject import CallFailedError, CallRefusedError, Reply, Subject
from conformance.calls.takes import Takes
from conformance.laws import Finding, run
from conformance.spec.arguments import Arguments
from conformance.spec.profiles import REQUIRED
from refimpl.errors import SpecificationError
from refimpl.schemes import SCHEMES, operations
from refimpl.spec import Operation

DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
OPERATIONS = operations()
Function = Callable[..., Any]


def subject(name: str, function: Function, dtype: str = "float32", profile: str | None = None, **settings: Any) -> Subject:
    """Return a function with an operation's signature as a subject, called as its declaration says; real arrays arrive in the dtype."""
    operation, takes = OPERATIONS[name], settings.get("takes", Takes())

    def call(arrays: Any, parameters: Any) -> Reply:
        replies = []

        def ask(longer: Any) -> Any:
            replies.append(once(longer, parameters))
            return replies[-1].values

        try:
            values = embedding.answer(operation, dict(zip(operation.arrays, arrays, strict=True)), takes, ask)
        except embedding.OutsideError as refusal:
            raise CallRefusedError(str(refusal), declared=True) from refusal
        return replace(replies[-1], values=values)

    def once(arrays: Any, parameters: Any) -> Reply:
        given = [_given(operation, key, array, dtype) for key, array in zip(operation.arrays, arrays, strict=True)]
        before = [array.copy() for array in given]
        results = function(*given, **parameters)
        modified = tuple(key for key, a, b in zip(operation.arrays, before, given, strict=True) if not np.array_equal(a, b))
        several = dict(zip(operation.results, results if isinstance(results, tuple) else (results,), strict=True))
        values = {key: np.asarray(value) for key, value in several.items()}
        return Reply({k: _plain(v) for k, v in values.items()}, {k: str(v.dtype) for k, v in values.items()}, modified)

    return Subject(operation, dtype, profile or REQUIRED[dtype], call, **settings)


def _given(operation: Operation, name: str, array: np.ndarray, dtype: str) -> np.ndarray:
    real = name not in operation.integers | operation.numbers
    return array.astype(DTYPES[dtype]) if real else array.copy()


def _plain(value: np.ndarray) -> np.ndarray:
    return value if value.dtype.kind in "iu" else value.astype(np.float64)


def reference(name: str, dtype: str = "float64", profile: str | None = None, **settings: Any) -> Subject:
    """Return the reference, computed in float64 and cast last."""
    operation = OPERATIONS[name]

    def function(*arrays: np.ndarray, **parameters: Any) -> Any:
        exact = [array if array.dtype.kind in "iu" else array.astype(np.float64) for array in arrays]
        like = {"like": np.zeros(1)} if operation.takes_like else {}
        try:
            result = operation.function(*exact, **parameters, **like)
        except SpecificationError as error:
            raise CallFailedError(Errored(str(error))) from error
        return tuple(cast(part, dtype) for part in result) if isinstance(result, tuple) else cast(result, dtype)

    return subject(name, function, dtype, profile, **settings)


def cast(value: Any, dtype: str) -> np.ndarray:
    """Return real numbers in a dtype, integers as they are."""
    array = np.asarray(value)
    return array if array.dtype.kind in "iu" else array.astype(DTYPES[dtype])


def changed(name: str, change: Callable[[Any, Arguments], Any], dtype: str = "float64", **settings: Any) -> Subject:
    """Return the reference with a mistake: ``change`` gets its result and the call."""
    right = reference(name, dtype)
    operation = OPERATIONS[name]

    def function(*arrays: np.ndarray, **parameters: Any) -> Any:
        call = Arguments(dict(zip(operation.arrays, [_plain(a) for a in arrays], strict=True)), parameters)
        values = right.call(list(call.arrays.values()), parameters).values
        wrong = change(next(iter(values.values())) if len(values) == 1 else tuple(values.values()), call)
        return tuple(cast(part, dtype) for part in wrong) if isinstance(wrong, tuple) else cast(wrong, dtype)

    return subject(name, function, dtype, **settings)


def altered(name: str, alter: Callable[[Arguments], Arguments], dtype: str = "float64", **settings: Any) -> Subject:
    """Return the reference asked something else: ``alter`` gets the call and returns what is computed in its place."""
    right = reference(name, dtype)
    operation = OPERATIONS[name]

    def function(*arrays: np.ndarray, **parameters: Any) -> Any:
        call = alter(Arguments(dict(zip(operation.arrays, [_plain(a) for a in arrays], strict=True)), parameters))
        values = right.call(list(call.arrays.values()), call.parameters).values
        return tuple(cast(value, dtype) for value in values.values()) if len(values) > 1 else cast(next(iter(values.values())), dtype)

    return subject(name, function, dtype, **settings)


def findings(put: Subject, *, examples: int = 20, seed: int = 0, shrink: bool = True) -> dict[str, Finding]:
    """Return what all laws of the subject's operation say about it, by name."""
    scheme, _, short = put.operation.name.partition(".")
    laws = SCHEMES[scheme].laws.get(short, ())
    return {finding.law: finding for finding in run(put, laws, examples=examples, seed=seed, shrink=shrink)}


def broken(found: dict[str, Finding]) -> dict[str, str]:
    """Return what the laws say is wrong."""
    return {name: finding.failure for name, finding in found.items() if finding.failure is not None}


def convicting(put: Subject, **settings: int) -> set[str]:
    """Return the names of the laws that convict; nobody sees the counterexamples, so none is shrunk."""
    return {*broken(findings(put, shrink=False, **settings))}
