"""Find what changes an answer: an earlier call, the order of sets, or nothing that can be seen."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from conformance.calls.outcomes import FATAL, Crashed, Exhausted, Failed, HarnessError, Outcome, Reason, TimedOut
from conformance.calls.subject import Reply
from conformance.isolate.session import Session
from conformance.judge import reproduction
from conformance.judge.journal import Call
from conformance.spec.declarations import operations

#: How often an earlier call must change an answer, and its absence must not, before it is named as the cause.
TIMES = 3
#: How often each order of sets is asked again before that is named as the cause: chance alike looks the same once in a while.
HASHED = 4
#: How often a call is repeated in a row, and for how many seconds, to see whether its answer changes at random.
ROW = 100
ROW_SECONDS = 5.0


@dataclass(frozen=True)
class Pair:
    """An earlier call and a call whose answer it changes: what came of both in this order, and of the call where it was the first."""

    earlier: Call
    call: Call
    first: Reply | Outcome
    after: Reply | Outcome
    alone: Reply | Outcome


def by_itself(session: Session, evidence: Sequence[Call]) -> Failed | None:
    """Return what else changes answers than earlier calls: nothing that can be seen, or the order of sets, if that repeats."""
    for call in evidence[:2]:
        one, other = _each(session, call, 2), _each(session, call, 1, hash_seed=1)
        if _alike(one) and not _alike([*one, *other]):
            for _ in range(HASHED):
                one += _each(session, call, 1)
                other += _each(session, call, 1, hash_seed=1)
        if _limited(*one, *other):
            continue
        if not (_alike(one) and _alike(other)):
            message = f"the answer to {reproduction.words(call)} differs from one fresh worker to the next{_at_times(*one, *other)}"
            return Failed(Reason.NOT_DETERMINISTIC, message)
        if not _alike([*one, *other]):
            message = f"the answer to {reproduction.words(call)} differs under PYTHONHASHSEED=1: sort what a set gives"
            return Failed(Reason.HASH_ORDER, message)
    return None


def in_a_row(session: Session, evidence: Sequence[Call]) -> Failed | None:
    """Return that answers change at random, where the same call in a row comes to other answers in one worker than in another."""
    for call in evidence[:2]:
        until = time.monotonic() + ROW_SECONDS
        with session.fresh() as one, session.fresh() as other:
            for _ in range(ROW):
                here, there = call.outcome(one), call.outcome(other)
                if not same(here, there) and not _limited(here, there):
                    return _random(call, here, there)
                if isinstance(here, FATAL) or isinstance(there, FATAL) or time.monotonic() > until:
                    break
    return None


def after_so_many(session: Session, call: Call) -> Failed | None:
    """Return that a call is not answered in time after so many alike, where that comes at the same one in each of several workers."""
    answered = _answered(session, call)
    if not answered or any(_answered(session, call) != answered for _ in range(TIMES - 1)):
        return None
    times = f"{answered} time{'s' * (answered > 1)}"
    message = f"{reproduction.words(call)} is answered {times} in a row and not once more, in each of {TIMES} fresh workers"
    return Failed(Reason.HISTORY, message)


def _answered(session: Session, call: Call) -> int:
    """Return how often a call is answered in a row before it comes too late; 0 where that doesn't come, or something else does."""
    until = time.monotonic() + ROW_SECONDS
    with session.fresh() as fresh:
        for count in range(ROW):
            came = call.outcome(fresh)
            if isinstance(came, TimedOut):
                return count
            if not isinstance(came, Reply) or time.monotonic() > until:
                return 0
    return 0


def blame(session: Session, candidates: Iterable[tuple[Call, Sequence[Call]]]) -> Pair | Failed | None:
    """Return an earlier call and a call whose answer it changes, found by trying in fresh workers, or that answers change at random."""
    for call, suspects in candidates:
        alone = in_fresh_worker(session, call)
        for earlier in suspects if not isinstance(alone, TimedOut) else ():
            found = _changing(session, earlier, call, alone)
            if found is not None:
                return found
    return None


def _changing(session: Session, earlier: Call, call: Call, alone: Reply | Outcome) -> Pair | Failed | None:
    """Return both calls if the earlier one changes an answer whenever it is tried, or else that the answer changes at random."""
    first, after = _after(session, earlier, call)
    if same(alone, after) or isinstance(alone, HarnessError) or isinstance(after, HarnessError):
        return None
    others = [after, *(_after(session, earlier, call)[1] for _ in range(TIMES - 1))]
    without = [alone, *_each(session, call, TIMES - 1)]
    if _alike(without) and not any(same(alone, each) for each in others):
        return Pair(earlier, call, first, others[-1], alone)
    return None if _limited(*others, *without) else _random(call, *others, *without)


def _random(call: Call, *came: Reply | Outcome) -> Failed:
    message = f"the answer to {reproduction.words(call)} differs from one fresh worker to the next, after the same calls{_at_times(*came)}"
    return Failed(Reason.NOT_DETERMINISTIC, message)


def _at_times(*came: Reply | Outcome) -> str:
    """Return in words what came in place of an answer."""
    other = next((each for each in came if not isinstance(each, Reply)), None)
    return "" if other is None else f"; at times: {other.words() if isinstance(other, TimedOut) else getattr(other, 'message', other)}"


def _limited(*came: Reply | Outcome) -> bool:
    """Whether something wasn't answered because of a limit, which depends on the machine, or since no worker starts, which says nothing."""
    return any(isinstance(each, TimedOut | Exhausted | HarnessError) or (isinstance(each, Crashed) and each.unstarted) for each in came)


def in_fresh_worker(session: Session, call: Call, *, hash_seed: int = 0) -> Reply | Outcome:
    """Return what comes of a call where nothing was called before."""
    with session.fresh(hash_seed=hash_seed) as fresh:
        return call.outcome(fresh)


def _each(session: Session, call: Call, times: int, *, hash_seed: int = 0) -> list[Reply | Outcome]:
    return [in_fresh_worker(session, call, hash_seed=hash_seed) for _ in range(times)]


def _after(session: Session, earlier: Call, call: Call) -> tuple[Reply | Outcome, Reply | Outcome]:
    with session.fresh() as fresh:
        return earlier.outcome(fresh), call.outcome(fresh)


def _alike(came: Sequence[Reply | Outcome]) -> bool:
    return all(same(came[0], each) for each in came)


def same(one: Reply | Outcome, other: Reply | Outcome) -> bool:
    """Whether the same came of two calls: to the bit, where both are answered."""
    if isinstance(one, Reply) and isinstance(other, Reply):
        same_names = one.values.keys() == other.values.keys()
        return same_names and all(np.array_equal(value, other.values[name], equal_nan=True) for name, value in one.values.items())
    return one == other


def told(pair: Pair | None) -> str:
    """Return in words which call changes the answer to which."""
    if pair is None:
        return "the answer to the same call changes with what was called before; which earlier call does it was not found"
    return f"the answer to {reproduction.words(pair.call)} changes after {earlier(pair)}{_differing(pair)}"


def earlier(pair: Pair) -> str:
    """Return the earlier call in words, and whose it is where it is that of another implementation."""
    whose = pair.earlier.task.descriptor
    other = "" if whose.index == pair.call.task.descriptor.index else f" of another implementation, {whose.label}"
    return f"{reproduction.words(pair.earlier)}{other}"


def _differing(pair: Pair) -> str:
    alike = pair.call.task.descriptor.index == pair.earlier.task.descriptor.index
    names = [*pair.call.differing(pair.earlier), *(["dtype"] if pair.call.task.dtype != pair.earlier.task.dtype else [])] if alike else []
    if alike and not names and pair.call.looks_like(pair.earlier):
        names = list(_numbers(pair))
    return f"; they differ in {', '.join(names)}" if names else ""


def _numbers(pair: Pair) -> Iterator[str]:
    """Yield which arrays differ, and where first: the numbers of long ones aren't shown."""
    for name, now, before in zip(operations()[pair.call.task.operation].arrays, pair.call.arrays, pair.earlier.arrays, strict=True):
        places = np.argwhere(now != before)
        if len(places):
            place = tuple(map(int, places[0]))
            yield f"{name}: {len(places):,} of {now.size:,} numbers, at {place} {now[place]:.9g} after {before[place]:.9g}"
