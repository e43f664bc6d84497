"""What was found about one implementation at one dtype, and what each failure of it really is."""

from dataclasses import dataclass, field, replace

import numpy as np

from conformance.calls.outcomes import (
    ALONE,
    FATAL,
    Crashed,
    Exhausted,
    Failed,
    HarnessError,
    NotJudged,
    Outcome,
    Reason,
    Result,
    TimedOut,
    Unsupported,
    is_fault,
)
from conformance.calls.subject import Reply
from conformance.checks.law_checks import DETERMINISM, HISTORY, Found
from conformance.checks.vector_checks import Checked
from conformance.judge.journal import Call, Task
from conformance.judge.judge import half_ulp
from conformance.run.causes import Pair
from conformance.spec.profiles import FORMATS

ULPS = 16.0
AFFECTED = NotJudged(f"passes in a fresh worker: see {HISTORY}")
ALIKE = NotJudged(f"fails after other calls, and wasn't repeated, since all that were passed in a fresh worker: see {HISTORY}")
FICKLE = Failed(
    Reason.NOT_DETERMINISTIC, "fails each time, and the same call gives different answers: it is no wrong value, nor a broken law"
)
RANDOM = NotJudged(f"the same call gives different answers in a row: see {DETERMINISM}")
#: How many times as long as its limit a call may take that is repeated: on a busy machine code is slow that isn't wrong.
PATIENCE = 4
#: What is said of a call that is made for the sake of others.
UNJUDGED = "no check judges"
Failure = Checked | Found


@dataclass
class Case:
    """All that was found about one implementation at one dtype."""

    task: Task
    checked: list[Checked] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    siblings: list[tuple[Call, Reply]] = field(default_factory=list)
    first: list[Call] = field(default_factory=list)
    beside: list[tuple[Call, Outcome]] = field(default_factory=list)
    changed: list[Call] = field(default_factory=list)
    otherwise: Outcome | None = None
    raised: bool = False
    affected: list[Failure] = field(default_factory=list)
    alike: list[Failure] = field(default_factory=list)
    fickle: list[Failure] = field(default_factory=list)
    slow: list[Failure] = field(default_factory=list)
    ended: list[Failure] = field(default_factory=list)
    unanswered: list[tuple[Call, Crashed | Exhausted | TimedOut | HarnessError]] = field(default_factory=list)
    broken: str | None = None
    blamed: Result | None = None
    pair: Pair | None = None

    @property
    def failures(self) -> list[Failure]:
        """What convicts, but for answers that were compared with each other: these speak for themselves."""
        return [check for check in self.checks if check.failed and not _speaks(check)]

    @property
    def unsettled(self) -> list[Failure]:
        """The failures of which it isn't known that they pass in a fresh worker, or may, or are another one each time."""
        settled = {*map(id, (*self.affected, *self.alike, *self.fickle, *self.slow, *self.ended))}
        return [failure for failure in self.failures if id(failure) not in settled]

    @property
    def checks(self) -> list[Failure]:
        """Vectors, then laws."""
        return [*self.checked, *self.found]

    @property
    def unfit(self) -> str:
        """What is wrong with the adapter where nothing else came of any call, so that more calls would only say it again."""
        outcomes = [checked.judgement.outcome for checked in self.checked if not isinstance(checked.judgement.outcome, Unsupported)]
        faults = [outcome.message for outcome in outcomes if is_fault(outcome)]
        return faults[0] if faults and len(faults) == len(outcomes) else ""

    @property
    def history(self) -> Found | None:
        """What falsifying history independence gave."""
        return self.law(HISTORY)

    @property
    def random(self) -> bool:
        """Whether the same call gives different answers in a row: nothing can be said about history then."""
        return _compared(self.law(DETERMINISM))

    @property
    def flickers(self) -> bool:
        """Whether answers change at random, in a row or from one fresh worker to the next: one that is wrong may be right another time."""
        outcome = self.blamed.outcome if self.blamed else None
        return self.random or (isinstance(outcome, Failed) and outcome.reason is Reason.NOT_DETERMINISTIC)

    @property
    def hashed(self) -> bool:
        """Whether answers were found to depend on hash order."""
        outcome = self.blamed.outcome if self.blamed else None
        return isinstance(outcome, Failed) and outcome.reason is Reason.HASH_ORDER

    @property
    def suspicious(self) -> bool:
        """Whether there is evidence that the history matters."""
        return bool(self.changed or self.affected) or _compared(self.history)

    @property
    def cleared(self) -> bool:
        """Whether a failure passed in a fresh worker: others may, too, as the first call of theirs."""
        return bool(self.affected or self.slow or self.ended)

    @property
    def tells_of_an_end(self) -> bool:
        """Whether a check says that a call ended its worker, or came too late, or what is found of the history does."""
        outcome = self.blamed.outcome if self.blamed else None
        blamed = self.pair is not None or isinstance(outcome, (*FATAL, NotJudged))
        return blamed or any(isinstance(came_of(check), FATAL) for check in self.checks)

    @property
    def fullest(self) -> Checked | None:
        """The answered vector whose axes are the most unlike, then with the most numbers; none of a real size."""
        return max(self.answered, key=lambda checked: _fullness(checked.call), default=None)

    @property
    def answered(self) -> list[Checked]:
        """The calls, none of a real size, that were made plainly and answered."""
        asked = [checked for checked in self.checked if not checked.vector.at and not checked.manner.unlike_plain]
        return [checked for checked in asked if checked.reply is not None and checked.vector.expected is not None]

    def convicted(self, law: str) -> tuple[Call, ...]:
        """Return the calls that falsify a law; none where nothing does."""
        found = self.law(law)
        return found.calls if found is not None and found.failed else ()

    def overruled(self, check: Failure) -> Outcome | None:
        """Return what a failure really is, where that is something else."""
        if check in self.affected:
            return RANDOM if self.random else AFFECTED
        if check in self.alike:
            return RANDOM if self.random else ALIKE
        if check in self.fickle:
            return RANDOM if self.random else FICKLE
        came = came_of(check)
        if check in self.slow and isinstance(came, TimedOut):
            return once(came)
        if check in self.ended and isinstance(came, Crashed | Exhausted):
            return replace(came, message="; ".join(filter(None, (came.message, ALONE))))
        return RANDOM if self.random and check is self.history and check.failed else None

    def law(self, name: str) -> Found | None:
        """Return what falsifying a law gave."""
        return next((found for found in self.found if found.finding.law == name), None)


def failing(failure: Failure) -> Case:
    """Return the case of one failure."""
    if isinstance(failure, Checked):
        return Case(failure.task, checked=[failure])
    return Case(failure.task, found=[failure])


def beside(call: str, came: Crashed | TimedOut | Exhausted) -> Outcome:
    """Return what is told of a call that ended its worker, or came too late once, where no check says so."""
    which = f"{call}, which {UNJUDGED}"
    if isinstance(came, TimedOut):
        return NotJudged(f"{came.words()} to {which}")
    return replace(came, message="; ".join(filter(None, (came.message, f"asked for {which}"))))


def once(late: TimedOut) -> NotJudged:
    """Return what a time-out is that doesn't repeat: no sign of history by itself, nor wrong; it is never a pass either."""
    longer = f"with {PATIENCE * late.seconds:g} s: --call-seconds gives more"
    return NotJudged(f"{late.words()} the first time, passed when repeated in a fresh worker {longer}")


def came_of(check: Failure) -> Outcome | None:
    """Return the outcome of a check; of a law only where a call gave none of its results."""
    return check.judgement.outcome if isinstance(check, Checked) else check.finding.outcome


def _compared(found: Found | None) -> bool:
    """Whether a law failed because answers differ, not because one is missing."""
    return found is not None and found.failed and found.finding.outcome is None


def _speaks(check: Failure) -> bool:
    """Whether a check failed because answers to the same call differ: that needs no repetition."""
    if isinstance(check, Found):
        return check.finding.law in (HISTORY, DETERMINISM) and _compared(check)
    outcome = check.judgement.outcome
    return isinstance(outcome, Failed) and outcome.reason is Reason.NOT_DETERMINISTIC


def _fullness(call: Call) -> tuple[int, int]:
    return len({length for array in call.arrays for length in array.shape}), sum(array.size for array in call.arrays)


def agree(one: Reply, other: Reply, checked: Checked | None) -> bool:
    """Whether two answers are the same: to the bit, or to a vector within what both sides are allowed."""
    return all(_agree(checked, name, one, other) for name in one.values)


def _agree(checked: Checked | None, name: str, one: Reply, other: Reply) -> bool:
    a, b = one.values[name], other.values.get(name)
    if b is None or a.shape != b.shape:
        return False
    if np.array_equal(a, b, equal_nan=True):
        return True
    if one.dtypes[name] not in FORMATS or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return False
    return bool(np.all(np.abs(a - b) <= _both_allowed(checked, name, a, one.dtypes[name])))


def _both_allowed(checked: Checked | None, name: str, values: np.ndarray, dtype: str) -> np.ndarray:
    """Return what two right answers may differ by: twice the allowance of a vector, else a few ulps of the largest value."""
    radius = checked.vector.allowed.get(checked.task.profile, {}).get(name) if checked else None
    if radius is None or radius.shape != values.shape:
        return ULPS * half_ulp(np.abs(values).max(initial=0.0, keepdims=True), dtype)
    return np.asarray(np.where(np.isnan(radius), np.inf, 2 * (radius + half_ulp(np.abs(values) + np.fmax(radius, 0.0), dtype))))
