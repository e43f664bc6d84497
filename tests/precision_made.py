"""Rotations made for the tests of precision, each rounding what it is told to, and what measures them in this process."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from conformance.calls.outcomes import Errored
from conformance.calls.subject import CallFailedError, CallRefusedError, Reply, Subject
from conformance.isolate.described import Descriptor
from conformance.judge.journal import Task
from conformance.mutants.rounding import rounded
from conformance.precision import answers, curve, wide
from conformance.precision.curve import Curve
from conformance.spec.declarations import operations
from conformance.spec.profiles import REQUIRED
from conformance.spec.vectors import Vector, load
from refimpl.errors import SpecificationError

Round = Callable[[np.ndarray], np.ndarray]
BFLOAT16: Round = lambda values: rounded(values, "bfloat16")  # noqa: E731  a rounding by its name
FLOAT16: Round = lambda values: rounded(values, "float16")  # noqa: E731  the same
FLOAT32: Round = lambda values: values.astype(np.float32).astype(np.float64)  # noqa: E731  the same


def kept(values: np.ndarray) -> np.ndarray:
    return values


def rotation(
    *, positions: Round = kept, frequencies: Round = kept, angles: Round = kept, tables: Round = kept
) -> Callable[..., np.ndarray]:
    """Return rope.rotate in the interleaved layout that rounds what it is told to."""

    def rotate(x: np.ndarray, places: np.ndarray, *, head_dim: int, base: float, layout: str, direction: str) -> np.ndarray:
        if (layout, direction) != ("interleaved", "positive"):
            raise CallRefusedError(layout)
        turns = frequencies(base ** (-np.arange(0, head_dim, 2) / head_dim))
        turned = angles(positions(places.astype(np.float64))[..., None] * turns)
        turned = turned[:, None] if places.ndim == 2 else turned
        with np.errstate(invalid="ignore"):
            table = tables(np.cos(turned)) + 1j * tables(np.sin(turned))
            pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * table
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)

    return rotate


def task(operation: str = "rope.rotate", dtype: str = "float32") -> Task:
    descriptor = Descriptor(0, "made", operation, (dtype,), REQUIRED, "any", modifies_inputs=False, restrictions={}, takes_dtype=False)
    return Task(descriptor, dtype, REQUIRED[dtype])


def subject(function: Callable[..., Any], operation: str = "rope.rotate") -> Subject:
    """Return a function as something to call, its result cast to float32 last."""

    def call(arrays: Sequence[np.ndarray], parameters: Mapping[str, object]) -> Reply:
        try:
            with np.errstate(over="ignore"):
                value = FLOAT32(np.asarray(function(*arrays, **parameters)))
        except SpecificationError as error:
            raise CallFailedError(Errored(str(error))) from error
        return Reply({"result": value}, {"result": "float32"})

    return Subject(operations()[operation], "float32", "float32", call)


def vectors(operation: str = "rope.rotate") -> list[Vector]:
    return [vector for vector in load([operation]) if vector.error is None]


def measured(function: Callable[..., Any], operation: str = "rope.rotate") -> Curve:
    own = task(operation)
    return curve.measure(list(answers.ask(subject(function, operation), own, vectors(operation))), own, depends=False)


class Reference:
    """The reference in this process, in the place of a session."""

    def call(self, operation: str, arrays: Sequence[np.ndarray], parameters: Mapping[str, object], *, dtype: str) -> dict[str, np.ndarray]:
        assert dtype == "float64"
        return {"result": np.asarray(operations()[operation].function(*arrays, **parameters))}


def widely(function: Callable[..., Any]) -> dict[int, float]:
    found = wide.measure(Reference(), subject(function), task(), vectors(), 128)  # type: ignore[arg-type]  # it is only called
    assert found is not None
    return dict(found.errors)
