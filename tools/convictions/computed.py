"""Which golden cases convict which known mistakes: every mutant is asked every call, and judged at float32."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from conformance.calls.subject import Reply
from conformance.checks.evidence.known import reply
from conformance.judge.judge import fails
from conformance.mutants import for_operation
from conformance.spec.declarations import operations
from conformance.spec.mutant import Mutant
from conformance.spec.vectors import Vector, load
from refimpl.errors import SpecificationError


@functools.cache
def vectors() -> Mapping[str, Vector]:
    """Return the golden cases that have an answer, by their ids, in the order of their files."""
    return {vector.id: vector for vector in load() if vector.error is None}


@functools.cache
def convicting(operation: str) -> Mapping[str, tuple[str, ...]]:
    """Return the cases that convict each mutant of an operation."""
    own = [vector for vector in vectors().values() if vector.operation == operation]
    with np.errstate(all="ignore"):
        return {mutant.name: tuple(vector.id for vector in own if convicts(vector, mutant)) for mutant in for_operation(operation)}


def convicts(vector: Vector, mutant: Mutant) -> bool:
    """Return whether a mutant's answer fails, or it refuses the call; what else it raises is a fault of its own."""
    try:
        answer = mutant.function(*read_only(vector), **vector.parameters)
    except SpecificationError:
        return True
    return fails(vector, float32_reply(vector.operation, answer), "float32", "float32")


def read_only(vector: Vector) -> list[np.ndarray]:
    """Return the arrays of a case, in the order of the signature, which nobody can write to."""
    arrays = [vector.inputs[name].copy() for name in operations()[vector.operation].arrays]
    for array in arrays:
        array.flags.writeable = False
    return arrays


def float32_reply(operation: str, value: Any) -> Reply:
    """Return what an implementation would return that computes exactly and rounds once, to float32."""
    values = value if isinstance(value, tuple) else (value,)
    return reply({name: np.asarray(array) for name, array in zip(operations()[operation].results, values, strict=True)}, "float32")
