"""How far off a rotation is in a head as wide as people use, against the bundled reference in float64 (vectors judge that one)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from conformance.calls.subject import CallFailedError, CallRefusedError, Subject
from conformance.isolate.session import Session
from conformance.judge import logits
from conformance.judge.journal import Task
from conformance.precision import slices
from conformance.precision.curve import FARTHEST, Wide
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector
from refimpl.spec import axis_names

#: The target that is the reference, and its dtype.
REFERENCE, EXACTLY = "numpy", "float64"
#: Units of 2^-53 radians per position, and at least, that the reference may be off by: (6 + 4 L) e^-L is at most 6 of the angle,
#: where L is the logarithm of the frequency (conformance/oracle/budget.py), and cosine, sine, products and sum add 6.
ANGLE_UNITS, OTHER_UNITS = 6.0, 6.0


def measure(reference: Session, subject: Subject, task: Task, vectors: Sequence[Vector], head_dim: int) -> Wide | None:
    """Return the error of a rotation at the positions of the ladder, ``None`` where it isn't one or takes no such head."""
    found: dict[int, float] = {}
    for vector in vectors if logits.family(task.operation) in logits.ROTATIONS else ():
        if logits.LADDER in vector.id:
            for position, error in _errors(reference, subject, widened(vector, head_dim)).items():
                found[position] = max(error, found.get(position, 0.0))
    return Wide(head_dim, tuple(sorted(found.items()))) if found else None


def widened(vector: Vector, head_dim: int) -> Vector:
    """Return the same call with a head of another width, whose features are all 1 or -1, so that every pair weighs the same."""
    axes = operations()[vector.operation].arrays
    inputs = {name: _widened(values, axes[name], head_dim) for name, values in vector.inputs.items()}
    return replace(vector, inputs=inputs, parameters={**vector.parameters, "head_dim": head_dim}, expected=None, allowed={})


def _widened(values: np.ndarray, axes: str, head_dim: int) -> np.ndarray:
    names = axis_names(axes, values.ndim) or ()
    sizes = {"head_dim": head_dim, "pair": head_dim // 2}
    shape = tuple(sizes.get(name, size) for name, size in zip(names, values.shape, strict=True))
    return signs(shape) if "head_dim" in names else np.resize(values, shape)


def signs(shape: tuple[int, ...]) -> np.ndarray:
    """Return ones of both signs that look arbitrary and are the same everywhere: exact in every dtype, of variance 1."""
    index = np.arange(np.prod(shape), dtype=np.int64)
    return np.where((index * index * 7 + index * 3) // 8 % 2 == 0, 1.0, -1.0).reshape(shape)


def _errors(reference: Session, subject: Subject, call: Vector) -> Mapping[int, float]:
    """Return the error at every position that the implementation takes; one at a time where it doesn't take all at once."""
    arrays = tuple(call.inputs.values())
    try:
        got = subject.call(arrays, call.parameters).values["result"]
    except CallRefusedError:
        return {place: error for single in slices.tokens(call) for place, error in _errors(reference, subject, single).items()}
    except (CallFailedError, KeyError):
        return {}
    try:
        right = reference.call(call.operation, arrays, call.parameters, dtype=EXACTLY)["result"]
    except CallFailedError:
        return {}
    if got.shape != right.shape:
        return {}
    errors = logits.relative(right, got)
    places = np.broadcast_to(logits.at_tokens(logits.far(call), right.ndim), errors.shape)
    return dict(_at_least_the_references(logits.largest(places, errors)))


def _at_least_the_references(errors: Mapping[int, float]) -> Iterator[tuple[int, float]]:
    """Yield every error, or what the reference itself may be off by where that is more."""
    for position, error in errors.items():
        if position <= FARTHEST:
            yield position, max(error, (ANGLE_UNITS * position + OTHER_UNITS) * 2.0**-53)
