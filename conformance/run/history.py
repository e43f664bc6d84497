"""Tell a wrong answer from an answer that depends on what was called before."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from conformance.calls.outcomes import (
    Failed,
    NotJudged,
    Outcome,
    Reason,
    Result,
    TimedOut,
    Unsupported,
)
from conformance.checks.law_checks import HISTORY, Found
from conformance.checks.vector_checks import Checked
from conformance.isolate.session import Session
from conformance.judge import reproduction
from conformance.judge.journal import Call, Journal
from conformance.run import causes
from conformance.run.case import UNJUDGED, Case, came_of
from conformance.run.causes import Pair

#: How many workers are started to look for the earlier call; how many to clear failures of suspicion, for every implementation at every
#: dtype, and for all together of which some failures pass there and others don't.
SUSPECTS = 10


def verdict(session: Session, journal: Journal, case: Case) -> Result | None:
    """Return the failed law of an implementation whose answers depend on what was called before, or didn't always come in time."""
    later = session.afterwards(case.task.descriptor.index, case.task.dtype) is not None  # that ends calls that come next, of anybody
    if case.random or not (case.suspicious or case.slow or ((case.unanswered or case.ended) and not later)):
        return None
    evidence = _evidence(case)
    found = (causes.by_itself(session, evidence) if case.suspicious else None) or causes.blame(session, _candidates(journal, case))
    if found is None and case.suspicious:
        found = causes.in_a_row(session, evidence)
    if found is None and (case.slow or any(isinstance(came, TimedOut) for _, came in case.unanswered)):
        found = next(filter(None, (causes.after_so_many(session, call) for call in evidence[:1])), None)
    if isinstance(found, Failed):
        return _result(session, case, found, None)
    case.pair = found
    if case.pair is not None:
        case.affected.extend((*case.slow, *case.ended))
        case.slow.clear()
        case.ended.clear()
    elif not case.suspicious:
        return _unanswered(session, case)
    return _result(session, case, Failed(Reason.HISTORY, _message(case, case.pair)), case.pair)


def _unanswered(session: Session, case: Case) -> Result | None:
    """Return the law where a call, asked again, wasn't answered and no earlier call makes it so: a time-out convicts if it repeats."""
    if not case.unanswered:
        return None
    call, came = case.unanswered[0]
    seed = next((seed for seed in (0, 1) if type(causes.in_fresh_worker(session, call, hash_seed=seed)) is type(came)), None)
    once_only = "is answered under PYTHONHASHSEED=0, not under PYTHONHASHSEED=1: sort what a set gives"
    beside = any(call is each for each, _ in case.beside)
    first = UNJUDGED if beside else "was answered when it was first asked"
    which = f"{reproduction.words(call)}, which {once_only if seed == 1 else first}"
    if not isinstance(came, TimedOut):
        asked = f"asked {'' if beside else 'again '}for {which}"
        return _result(session, case, replace(came, message="; ".join(filter(None, (came.message, asked)))), None)
    late = TimedOut(session.limits.call_seconds, f"to {which}")
    third = NotJudged(f"{late.words()}, {'and was answered when it was asked again' if beside else 'and when it was asked a third time'}")
    return _result(session, case, third if seed is None else late, None)


def _result(session: Session, case: Case, outcome: Outcome, pair: Pair | None) -> Result:
    return Result(
        implementation=case.task.descriptor.label,
        operation=case.task.operation,
        check=HISTORY,
        kind="law",
        dtype=case.task.dtype,
        profile=case.task.profile,
        outcome=outcome,
        examples=case.history.finding.examples if case.history else len(case.checked),
        reproduction=None if pair is None else reproduction.of_history(session.opened, pair.earlier, pair.call),
        earlier=None if pair is None else causes.earlier(pair),
    )


def _candidates(journal: Journal, case: Case) -> Iterator[tuple[Call, list[Call]]]:
    if case.history is not None and case.history.failed and len(case.history.calls) > 1:
        calls = case.history.calls
        yield calls[-1], [call for call in calls[:-1] if call.differing(calls[-1])] or list(calls[:-1])
    for call in _evidence(case)[:2]:
        yield call, [*case.first, *islice(journal.suspects(call), SUSPECTS)]


def _evidence(case: Case) -> list[Call]:
    failures = [*case.affected, *case.slow, *case.ended]
    vectors = [failure.call for failure in failures if isinstance(failure, Checked)]
    laws = [failure.calls[-1] for failure in failures if isinstance(failure, Found) and failure.calls]
    return [*vectors, *case.changed, *(call for call, _ in case.unanswered), *laws]


def _message(case: Case, pair: Pair | None) -> str:
    count, alike = len(case.affected), len(case.alike)
    others = f"; {count} other check{'s' if count > 1 else ''} failed for this reason and passed in a fresh worker" if count else ""
    more = f", {alike} more weren't repeated" if alike else ""
    return f"{causes.told(pair)}{others}{more}{at_first(case) if pair is None else ''}"


def at_first(case: Case) -> str:
    """Return in words what came at first of a check that passes in a fresh worker, or of a call asked again, if that was no result."""
    came = next(filter(None, map(came_of, case.affected)), case.otherwise)
    return "" if came is None else f"; at first: {getattr(came, 'reason' if isinstance(came, Unsupported) else 'message', came)}"
