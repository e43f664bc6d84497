"""Elements of a large result that no golden value has judged: those that lie farthest from the reference are put before the oracle.

The reference only points; what is wrong is decided by proven values.
"""

from collections.abc import Iterator

import numpy as np

from conformance.checks.evidence import known
from conformance.checks.evidence.known import Answer
from conformance.checks.vector_checks import Checked
from conformance.golden import sampling
from conformance.golden.extents import weighs
from conformance.judge.journal import Task
from conformance.judge.judge import hidden_places
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import operations

#: How many elements of a result are put before the oracle for how far they are off, and for how far as a share of their row.
FARTHEST = 2
#: Where an element weighs all keys, which takes the oracle long, it must be off by so much of the largest number in its row: more than
#: right code is off as a rule, by the precision that it works in.
TELLING = {"float64": 2.0**-9, "float32": 2.0**-9}
COARSE = 2.0**-4


def right(task: Task, call: Arguments) -> Answer:
    """Return what the reference gives for a call."""
    return known.answer(task.operation, known.unaltered(task), call.arrays, call.parameters)


def suspects(checked: Checked, right: Answer) -> dict[str, np.ndarray]:
    """Return, by flat index, elements of every result to ask the oracle about; nothing where none is off what the reference gives."""
    vector, reply = checked.vector, checked.reply
    if reply is None or right is None:
        return {}
    found = {name: np.unique(np.fromiter(_farthest(checked, name, reply.values[name], right[name]), np.int64)) for name in vector.at}
    if not any(map(len, found.values())):
        return {}
    chosen = {name: at if at.size else vector.at[name][:1] for name, at in found.items()}
    if vector.equality == "row_constant":
        return {name: sampling.with_anchors(at, reply.values[name].shape[-1]) for name, at in chosen.items()}
    return chosen


def _farthest(checked: Checked, name: str, got: np.ndarray, right: np.ndarray) -> Iterator[int]:
    """Yield which elements of a result lie farthest from the reference, of those that weren't judged."""
    vector = checked.vector
    hidden = np.broadcast_to(hidden_places(vector, name, masked=checked.task.takes.masked), right.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.subtract(got, right, dtype=np.float64)
        if vector.equality == "row_constant":  # to the first key that isn't hidden
            off -= np.take_along_axis(off, hidden.argmin(axis=-1, keepdims=True), axis=-1)
    np.fmin(np.fmax(np.abs(off, out=off), 0.0, out=off), np.finfo(np.float64).max, out=off)
    off[hidden] = 0.0
    off.reshape(-1)[vector.at[name]] = 0.0
    rows = np.abs(right).max(axis=-1, keepdims=True, initial=0.0) if right.ndim else np.abs(right)
    shares = off / np.maximum(rows, np.finfo(np.float64).tiny)
    dear = weighs(operations()[vector.operation])
    telling = TELLING.get(checked.task.profile, COARSE) if dear else 0.0
    for measure in (off, shares):
        for at in _largest(measure):
            if shares.flat[at] > telling:
                yield at


def _largest(measure: np.ndarray) -> Iterator[int]:
    """Yield where the largest numbers are, and forget each: several passes for a maximum take far less time than one partition."""
    left = measure.reshape(-1)
    for _ in range(min(FARTHEST, left.size)):
        at = int(left.argmax())
        yield at
        left[at] = -1.0
