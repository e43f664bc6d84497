"""Diagnose what no single answer shows: repeat the calls that show it, and ask which known habit gives the same answers."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from conformance.calls.outcomes import Diagnosis
from conformance.calls.subject import Reply
from conformance.checks.law_checks import DETERMINISM, SHAPE, UNMODIFIED
from conformance.isolate.session import Session
from conformance.judge.journal import Call
from conformance.run.case import Case, agree
from conformance.run.causes import Pair, in_fresh_worker

#: How often a call is repeated whose answer changes from one time to the next.
REPETITIONS = 3
#: What it is called if one cache serves layers that turn otherwise; where that was met.
SHARED, MET = "shared-by-kinds", "https://github.com/ikawrakow/ik_llama.cpp/issues/893"


def diagnosis(session: Session, case: Case) -> Diagnosis | None:
    """Return the known habit that gives the answers that came, else what of an earlier call the last one is right for, or ``None``."""
    pair = case.pair
    if pair is not None and _shared(pair):
        return _of_another_kind(pair)
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


def _shared(pair: Pair) -> bool:
    """Whether the answer is the one that another implementation gave just before to the same arrays."""
    earlier, call = pair.earlier, pair.call
    another = earlier.task.descriptor.index != call.task.descriptor.index
    alike = all(map(np.array_equal, earlier.arrays, call.arrays))
    return another and alike and isinstance(pair.first, Reply) and isinstance(pair.after, Reply) and agree(pair.first, pair.after, None)


def _of_another_kind(pair: Pair) -> Diagnosis:
    return Diagnosis(
        (f"{pair.call.task.operation}/{SHARED}",),
        does=f"gives what was kept of {pair.earlier.task.descriptor.label}, which was asked for the same just before",
        should="compute what the configuration says of this kind of layers",
        fix="make the layer, or its kind, part of the cache's key, or give every kind a cache of its own",
        threads=(MET,),
    )


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
