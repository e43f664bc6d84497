"""Laws of learned positions: a look-up rounds nothing, and answers for no position outside of its table."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.calls.outcomes import Errored, Reason
from conformance.calls.subject import CallFailedError, CallRefusedError
from conformance.laws.trial import Checker, Sides, Trial, Violation, exactly
from conformance.spec.arguments import Arguments
from conformance.spec.choices import candidates
from refimpl.spec import Law

#: Rows beyond the offset that keep the last row, the first and the one before the offset apart.
LEAST_ROOM = 3


def lookup(trial: Trial) -> Iterator[Sides]:
    """Every position that has a row gets it, entry by entry; a constant added to the table is added to the result."""
    call, constant = trial.arguments, float(trial.example.scalars[0])
    table, rows = call.arrays["table"], call.arrays["positions"] + trial.whole("offset")
    inside = (rows >= trial.whole("offset")) & (rows < table.shape[0])
    values = trial.values(call)
    yield exactly(values[inside], table[rows[inside]])
    yield exactly(trial.values(call.with_arrays(table=table + constant)), values + constant)


def outside(trial: Trial) -> Iterator[Sides]:
    """A position past the end, and a negative one, is refused; of an answer it is told which row was read, whose habit that is."""
    offset, width = trial.whole("offset"), trial.arguments.arrays["table"].shape[1]
    length = max(trial.arguments.arrays["table"].shape[0], offset + LEAST_ROOM)
    # Each row holds its own number, so that an answer says where it was read.
    table = np.broadcast_to(np.arange(length, dtype=np.float64)[:, None], (length, width)).copy()
    call = trial.arguments.with_parameters(outside=_asked(trial)).with_arrays(table=table)
    declined = [_declined(trial, call.with_arrays(positions=np.array([position]))) for position in (length - offset, -1)]
    if all(declined):
        message = "positions outside of the table are declared out of range"
        raise CallRefusedError(message)
    yield from ()


def _asked(trial: Trial) -> object:
    """Return that positions outside are to be refused; where an implementation declares hazards only, the one that was drawn."""
    declared = candidates(trial.operation.parameters["outside"], trial.subject.restrictions.get("outside", ...))
    return "raise" if "raise" in declared else trial.arguments.parameters["outside"]


def _declined(trial: Trial, call: Arguments) -> bool:
    """Ask for a position outside; return whether it was declared out of range, and raise where it was answered."""
    try:
        answered = trial.ask(call).values.get("result")
    except CallRefusedError:
        return True
    except CallFailedError as failure:
        if isinstance(failure.outcome, Errored):
            return False
        raise
    raise Violation(Reason.ACCEPTED_BAD_INPUT, _told(call, np.asarray(answered)))


def _told(call: Arguments, answered: np.ndarray) -> str:
    """Say what an implementation did in place of refusing a position."""
    length, position, offset = len(call.arrays["table"]), int(call.arrays["positions"][0]), int(call.parameters["offset"])
    read = next((row for row in range(length) if answered.size and np.all(answered == row)), None)
    got = "numbers of no row" if read is None else f"row {read}"
    place = f"{length} rows" + (f" with offset {offset}" if offset else "")
    return f"position {position} must be refused by a table of {place}, got {got}: {_habit(position, offset, length, read)}"


def _habit(position: int, offset: int, length: int, read: int | None) -> str:
    """Name the habit of a library that reads that row."""
    row = position + offset
    habits = (
        (read is None, "fills in, like jax.numpy.take"),
        (0 <= row == read, "reads a row before the offset, kept for padding"),
        (row < 0 and read == row % length, "wraps negatives, like NumPy"),
        (read == row % length, "wraps, like a ring buffer"),
        (read == min(max(row, 0), length - 1), "clamps, like JAX"),
    )
    return next((habit for applies, habit in habits if applies), "reads a row that nothing asked for")


LAWS: Mapping[Law, Checker] = {Law.LOOKUP: lookup, Law.OUTSIDE: outside}
