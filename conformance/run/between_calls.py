"""Diagnose what no single answer shows: repeat the calls that show it, and ask which known habit gives the same answers."""

from collections.abc import Collection, Iterator, Sequence

from conformance.calls.outcomes import Diagnosis
from conformance.calls.subject import Reply
from conformance.checks.law_checks import DETERMINISM, SHAPE, UNMODIFIED
from conformance.isolate.session import Session
from conformance.judge.journal import Call
from conformance.run.causes import Pair, in_fresh_worker
from conformance.run.history import Case

#: How often a call is repeated whose answer changes from one time to the next.
REPETITIONS = 3


def diagnosis(session: Session, case: Case) -> Diagnosis | None:
    """Return the known habit that gives the answers that came, else what of an earlier call the last one is right for, or ``None``."""
    pair = case.pair
    if pair is not None:
        both = [(pair.earlier, pair.first), (pair.call, pair.after)]
        found = _explained(both, pair.alone)
        return _explained(both, pair.alone, but=found.mutants) if found is not None and _denied(session, found, pair) else found
    for calls in _showing(case):
        with session.fresh() as fresh:
            came = [(call, call.outcome(fresh)) for call in calls]
        found = _explained(came, came[0][1])
        if found is not None:
            return found
    return None


def _denied(session: Session, found: Diagnosis, pair: Pair) -> bool:
    """Whether one more call after the earlier one, made to tell, gives something else than the habit that is named."""
    from conformance.diagnosis import kept

    call = kept.further(found.mutants[0], pair.call) if found.named else None
    if call is None:
        return False
    with session.fresh() as fresh:
        came = [(each, each.outcome(fresh)) for each in (pair.earlier, call)]
    alone = in_fresh_worker(session, call)
    answered = [kept.Asked(each, reply) for each, reply in came if isinstance(reply, Reply)]
    return len(answered) == len(came) and isinstance(alone, Reply) and not kept.gives(found.mutants[0], answered, alone)


def _showing(case: Case) -> Iterator[Sequence[Call]]:
    """Yield calls that show what laws convict and a habit does, from the first on: a fresh process is right about its first call."""
    convicted = {law: case.convicted(law)[-1:] for law in (DETERMINISM, UNMODIFIED, SHAPE)}
    if any(convicted.values()):
        from conformance.diagnosis import kept

        for law, calls in convicted.items():
            if calls and kept.known(case.task.operation, law):
                fullest = case.fullest
                yield calls if law != DETERMINISM else [calls[0] if fullest is None else fullest.call] * REPETITIONS


def _explained(came: Sequence[tuple[Call, object]], alone: object, but: Collection[str] = ()) -> Diagnosis | None:
    answered = [(call, reply) for call, reply in came if isinstance(reply, Reply) and call.task.operation == came[-1][0].task.operation]
    if len(answered) < len(came) or not isinstance(alone, Reply):
        return None
    from conformance.diagnosis import kept

    return kept.explain([kept.Asked(call, reply) for call, reply in answered], alone, but)
