"""Laws of rotations that keep distances within a window."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.calls.subject import CallRefusedError
from conformance.laws.roles import shifted
from conformance.laws.trial import Checker, Sides, Trial, same
from conformance.spec.declarations import operations
from refimpl.spec import Law, Operation

#: What such a rotation is told besides.
OWN = {"window", "group_size", "chunk_size", "local_size"}


def _unwindowed(operation: Operation) -> Operation:
    """Return the operation that does the same by the distances as they are."""
    wanted, word = {*operation.arrays, *operation.parameters} - OWN, operation.name.partition(".")[2]
    return next(one for one in operations().values() if one.name.endswith(f".{word}") and {*one.arrays, *one.parameters} == wanted)


def within_window(trial: Trial) -> Iterator[Sides]:
    """Where a window or a chunk holds every distance, or groups hold one position, the scheme is plain rope."""
    call = trial.arguments
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    reach = 1 + int(max(np.abs(query).max(), np.abs(key).max()))
    wide = {"window": max(1, int(query.max() - key.min()) + 1), "chunk_size": 2 * reach, "local_size": reach}
    singles = [call.with_parameters(group_size=1)] if "group_size" in call.parameters else []
    for plain in (call.with_parameters(**{name: size for name, size in wide.items() if name in call.parameters}), *singles):
        yield same(trial.answer(plain), trial.right(_unwindowed(trial.operation).name, plain))


def saturation(trial: Trial) -> Iterator[Sides]:
    """Queries that stand beyond the window of every key give the same however far they are."""
    call = trial.arguments
    if trial.subject.counted or trial.subject.takes.queries == "at_end":
        message = "positions that count up can't leave all keys behind"
        raise CallRefusedError(message)
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    beyond = query + trial.whole("window") + max(0, int(key.max() - query.min()))
    farther = beyond + 1 + trial.example.shift
    yield same(trial.answer(call.with_arrays(query_positions=beyond)), trial.answer(call.with_arrays(query_positions=farther)))


def group_translation(trial: Trial) -> Iterator[Sides]:
    """A common shift of all positions by whole groups, or chunks, changes nothing."""
    call = trial.arguments
    whole = trial.whole("group_size") if "group_size" in call.parameters else trial.whole("chunk_size") - trial.whole("local_size")
    yield same(trial.answer(call), trial.answer(shifted(trial, call, by=whole)))


LAWS: Mapping[Law, Checker] = {
    Law.GROUP_TRANSLATION: group_translation,
    Law.WITHIN_WINDOW: within_window,
    Law.SATURATION: saturation,
}
