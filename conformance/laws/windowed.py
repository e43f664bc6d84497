"""Laws of rotations that keep distances within a window."""

from collections.abc import Iterator, Mapping

from conformance.calls.subject import CallRefusedError
from conformance.laws.roles import shifted
from conformance.laws.trial import Checker, Sides, Trial, same
from conformance.spec.declarations import operations
from refimpl.spec import Law, Operation

#: What such a rotation is told besides.
OWN = {"window", "group_size"}


def _unwindowed(operation: Operation) -> Operation:
    """Return the operation that does the same by the distances as they are."""
    wanted, word = {*operation.arrays, *operation.parameters} - OWN, operation.name.partition(".")[2]
    return next(one for one in operations().values() if one.name.endswith(f".{word}") and {*one.arrays, *one.parameters} == wanted)


def within_window(trial: Trial) -> Iterator[Sides]:
    """With a window that no distance reaches, or groups of one position, the scheme is plain rope."""
    call = trial.arguments
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    wide = call.with_parameters(window=max(1, int(query.max() - key.min()) + 1))
    singles = [call.with_parameters(group_size=1)] if "group_size" in call.parameters else []
    for plain in (wide, *singles):
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
    """A common shift of all positions by whole groups changes nothing."""
    call = trial.arguments
    yield same(trial.answer(call), trial.answer(shifted(trial, call, by=trial.whole("group_size"))))


LAWS: Mapping[Law, Checker] = {
    Law.GROUP_TRANSLATION: group_translation,
    Law.WITHIN_WINDOW: within_window,
    Law.SATURATION: saturation,
}
