"""Diagnose what no single answer shows: repeat the calls that show it, and ask which known habit gives the same answers."""

from collections.abc import Iterator, Sequence

from conformance.calls.outcomes import Diagnosis
from conformance.calls.subject import Reply
from conformance.checks.law_checks import DETERMINISM, SHAPE, UNMODIFIED
from conformance.isolate.session import Session
from conformance.judge.journal import Call
from conformance.run.history import Case

#: How often a call is repeated whose answer changes from one time to the next.
REPETITIONS = 3


def diagnosis(session: Session, case: Case) -> Diagnosis | None:
    """Return the known habit that gives the answers that came, else what of an earlier call the last one is right for, or ``None``."""
    pair = case.pair
    if pair is not None:
        return _explained([(pair.earlier, pair.first), (pair.call, pair.after)], pair.alone)
    for calls in _showing(case):
        with session.fresh() as fresh:
            came = [(call, call.outcome(fresh)) for call in calls]
        found = _explained(came, came[0][1])
        if found is not None:
            return found
    return None


def _showing(case: Case) -> Iterator[Sequence[Call]]:
    """Yield calls that show what laws convict and a habit does, from the first on: a fresh process is right about its first call."""
    convicted = {law: case.convicted(law)[-1:] for law in (DETERMINISM, UNMODIFIED, SHAPE)}
    if any(convicted.values()):
        from conformance.diagnosis import kept

        for law, calls in convicted.items():
            if calls and kept.known(case.task.operation, law):
                fullest = case.fullest
                yield calls if law != DETERMINISM else [calls[0] if fullest is None else fullest.call] * REPETITIONS


def _explained(came: Sequence[tuple[Call, object]], alone: object) -> Diagnosis | None:
    answered = [(call, reply) for call, reply in came if isinstance(reply, Reply) and call.task.operation == came[-1][0].task.operation]
    if len(answered) < len(came) or not isinstance(alone, Reply):
        return None
    from conformance.diagnosis import kept

    return kept.explain([kept.Asked(call, reply) for call, reply in answered], alone)
