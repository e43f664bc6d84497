"""Repeat failures in fresh workers: what passes there isn't wrong."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Self

from conformance.calls.outcomes import (
    FATAL,
    Crashed,
    Exhausted,
    Outcome,
    Reason,
    TimedOut,
)
from conformance.calls.subject import Reply, Subject
from conformance.checks.law_checks import Found
from conformance.checks.vector_checks import Checked
from conformance.isolate.session import Session
from conformance.judge.journal import Call, Task
from conformance.run.case import PATIENCE, Case, Failure, agree, came_of
from conformance.run.causes import same

OWN_WORKERS, FRESH_WORKERS = 10, 30
#: How often what fails is asked again of code whose answers change at random: what is right every second time fails all of them once
#: in 4,096 times.
AT_RANDOM = 12
#: What is so many allowances off is wrong in every answer that agrees with it.
FAR = 32.0
#: How often a wrong answer in place of which another came is asked for again: it stays a wrong value where all are like the first.
FURTHER = 4


def settle(session: Session, cases: Sequence[Case]) -> None:
    """Repeat every failure that isn't settled in a fresh worker; what passes there is affected by history, or was late, and isn't wrong.

    What fails there too is no wrong value, nor a broken law, where the same call gives another answer each time.
    """
    failing = [case for case in cases if case.unsettled]
    with _Pristine(session) as pristine:
        for case in failing:
            pristine.begin()
            for failure in case.unsettled:
                passes = pristine.passes(case, failure)
                if passes is None:
                    case.alike.append(failure)
                elif passes:
                    _kind(case, came_of(failure)).append(failure)
                elif pristine.changes(case, failure):
                    case.fickle.append(failure)


def _kind(case: Case, came: Outcome | None) -> list[Failure]:
    """Return where a failure belongs that passes in a fresh worker: what ended one before may have piled up, and is told as it came."""
    if isinstance(came, TimedOut):
        return case.slow
    return case.ended if isinstance(came, Crashed | Exhausted) else case.affected


def _alike(failure: Checked, answer: Reply | Outcome) -> bool:
    """Whether another answer is so near a wrong one that what is wrong in that is wrong in this one."""
    ratio = failure.judgement.ratio
    far = ratio is None or ratio > FAR
    return far and failure.reply is not None and isinstance(answer, Reply) and agree(failure.reply, answer, failure)


class _Pristine:
    """Fresh workers for repeating failures, as few as give a sure answer; no implementation takes those of another."""

    def __init__(self, session: Session) -> None:
        self.session = session.fresh()
        self.session.limits = replace(session.limits, call_seconds=PATIENCE * session.limits.call_seconds)
        self.left = FRESH_WORKERS
        self.begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()

    def begin(self) -> None:
        """Start over with an implementation, of which nothing was called yet."""
        self.session.close()
        self.own, self.used, self.wrong, self.hangs = OWN_WORKERS, False, False, False
        self.repeated: Checked | None = None

    def passes(self, case: Case, failure: Failure) -> bool | None:
        """Whether the failure passes; where history is known to matter, a failure counts only as a worker's first call.

        Of an implementation that gave no answer even then, no other time-out is waited for. ``None`` where it fails behind others, and as
        many workers as it may have were started for these, in each of which one passed.
        """
        alone, late = not self.used, isinstance(came_of(failure), TimedOut)
        if late and self.hangs:
            return False
        passed = self._again(case, failure) or (case.flickers and self._at_times(case, failure))
        if passed or alone or not (case.cleared or case.suspicious):
            self.hangs = self.hangs or (late and not passed)
            return passed
        if self.own == 0 and not self.wrong:
            return None
        if self.own == self.left == 0:
            return False
        self.own, self.left = max(self.own - 1, 0), self.left - (self.own == 0)
        self.session.close()
        self.used = False
        return self._again(case, failure)

    def changes(self, case: Case, failure: Failure) -> bool:
        """Whether the calls of a failure give other answers when they are made again: most of a wrong value's, any of a broken law's."""
        if isinstance(failure, Found):
            law = failure.finding.kind is Reason.LAW and failure.finding.outcome is None
            times = AT_RANDOM if case.flickers else 1
            return law and not all(self._same(call, times) for call in failure.calls)
        repeated = self.repeated.reply if self.repeated is not None else None
        if failure.reply is None or repeated is None or same(failure.reply, repeated):
            return False
        answers = chain([repeated], (failure.call.outcome(self.session) for _ in range(FURTHER)))
        return not all(_alike(failure, answer) for answer in answers)

    def _same(self, call: Call, times: int) -> bool:
        """Whether a call gives the same to the bit when it is repeated; what is no answer speaks for itself."""
        first = call.outcome(self.session)
        if not isinstance(first, Reply):
            return True
        others = (call.outcome(self.session) for _ in range(times))
        return all(same(first, other) for other in others if isinstance(other, Reply))

    def _at_times(self, case: Case, failure: Failure) -> bool:
        """Whether it passes one of several times: at first in one worker, then in others while there are any."""
        for index in range(AT_RANDOM if not isinstance(came_of(failure), FATAL) else 0):
            if index >= AT_RANDOM // 2 and self.own:
                self.own -= 1
                self.session.close()
            if self._again(case, failure):
                return True
        return False

    def _again(self, case: Case, failure: Failure) -> bool:
        subject = self._subject(case.task)
        self.repeated = failure.repeated(subject) if isinstance(failure, Checked) else None
        passed = failure.again(subject) if self.repeated is None else self.repeated.passed
        self.wrong = self.wrong or not (passed or self.used)
        self.used = True
        return passed

    def _subject(self, task: Task) -> Subject:
        return self.session.subject(task.descriptor, task.dtype, task.profile)
