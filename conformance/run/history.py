"""Tell a wrong answer from an answer that depends on what was called before."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Self

import numpy as np

from conformance.calls.outcomes import (
    ALONE,
    FATAL,
    Crashed,
    Errored,
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
from conformance.calls.subject import Reply, Subject
from conformance.checks import vector_checks
from conformance.checks.evidence import known
from conformance.checks.law_checks import DETERMINISM, HISTORY, Found
from conformance.checks.vector_checks import Checked
from conformance.isolate.described import Descriptor
from conformance.isolate.session import Session
from conformance.judge import reproduction
from conformance.judge.journal import Call, Journal, Task
from conformance.judge.judge import half_ulp
from conformance.run import causes
from conformance.run.causes import Pair
from conformance.run.growing import growing
from conformance.spec.declarations import operations
from conformance.spec.profiles import FORMATS

#: How many vectors of every implementation are asked again, in reverse order, in a fresh worker.
ASKED_AGAIN = 6
#: How many workers are started to look for the earlier call; how many to clear failures of suspicion, for every implementation at every
#: dtype, and for all together of which some failures pass there and others don't.
SUSPECTS = 10
OWN_WORKERS, FRESH_WORKERS = 10, 30
#: How often what fails is asked again of code whose answers change at random: what is right every second time fails all of them once
#: in 4,096 times.
AT_RANDOM = 12
#: How many times as long as its limit a call may take that is repeated: on a busy machine code is slow that isn't wrong.
PATIENCE = 4
ULPS = 16.0
#: What is so many allowances off is wrong in every answer that agrees with it.
FAR = 2 * ULPS
AFFECTED = NotJudged(f"passes in a fresh worker: see {HISTORY}")
ALIKE = NotJudged(f"fails after other calls, and wasn't repeated, since all that were passed in a fresh worker: see {HISTORY}")
#: How often a wrong answer in place of which another came is asked for again: it stays a wrong value where all are like the first.
FURTHER = 4
FICKLE = Failed(
    Reason.NOT_DETERMINISTIC, "fails each time, and the same call gives different answers: it is no wrong value, nor a broken law"
)
RANDOM = NotJudged(f"the same call gives different answers in a row: see {DETERMINISM}")

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
        return blamed or any(isinstance(_came(check), FATAL) for check in self.checks)

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
        came = _came(check)
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


def _fullness(call: Call) -> tuple[int, int]:
    return len({length for array in call.arrays for length in array.shape}), sum(array.size for array in call.arrays)


def once(late: TimedOut) -> NotJudged:
    """Return what a time-out is that doesn't repeat: no sign of history by itself, nor wrong; it is never a pass either."""
    longer = f"with {PATIENCE * late.seconds:g} s: --call-seconds gives more"
    return NotJudged(f"{late.words()} the first time, passed when repeated in a fresh worker {longer}")


def _came(check: Failure) -> Outcome | None:
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


def ask_siblings(case: Case, subject: Subject) -> None:
    """Ask for one answered vector once more with each parameter changed in turn: what a cache with an incomplete key confuses."""
    for call in _siblings(case.fullest.call) if case.fullest else ():
        came, _ = vector_checks.asked(subject, call.arrays, call.parameters)
        if isinstance(came, Reply):
            case.siblings.append((call, came))
        else:
            _note(case, call, came)


def _note(case: Case, call: Call, came: Reply | Outcome) -> None:
    """Note that a call which no check judges gave no result, where the reference gives one: an end is one of a call that is repeated."""
    if isinstance(came, (*FATAL, HarnessError, Errored)) and _in_domain(call):
        case.beside.append((call, came))
        if not isinstance(came, Errored):
            case.unanswered.append((call, came))


def _in_domain(call: Call) -> bool:
    """Whether the reference gives a result: parameters that are changed one by one may not go together."""
    arrays = dict(zip(operations()[call.task.operation].arrays, call.arrays, strict=True))
    return known.answer(call.task.operation, known.unaltered(call.task), arrays, call.parameters) is not None


def ask_other_kinds(session: Session, cases: Sequence[Case]) -> None:
    """Ask a fresh worker for some calls behind the same arrays in the other kinds of layers, whose cache may be one; until one changes."""
    for case in cases:
        for checked in dict.fromkeys([case.fullest, *case.answered[-ASKED_AGAIN:]]):
            if checked is not None and not case.changed:
                _begin(session, case, _in_other_kinds(checked.call, session.implementations))
                _compare(session, case, [(checked.call, checked.reply, checked)])
        keep_apart(session, case)


def ask_again(session: Session, cases: Sequence[Case]) -> None:
    """Ask a fresh worker the same in another order, and note whose answers changed, or didn't come.

    What is asked first there has all parameters changed at once, in the implementation's other dtypes too: what sticks to the first ones
    then sticks to others. The next has its own parameters in the other dtypes, in which a table may be kept. Then come calls that reach
    farther than they begin, before anything has reached as far, every second one in the other dtypes first; then the farthest, and the
    others in reverse order. After an implementation that raised something the next one has a fresh worker.
    """
    for case in cases:
        far = growing(case.answered)
        if case.fullest is not None:
            call = (far or [case.fullest])[0].call
            if case.siblings:
                unlike = _opposite(call)
                _begin(session, case, [*_otherwise(unlike, cases), unlike])
            _begin(session, case, _otherwise(call, cases))
        for index, checked in enumerate(far[:-1]):
            _begin(session, case, _otherwise(checked.call, cases) if index % 2 else ())
            _compare(session, case, [(checked.call, checked.reply, checked)])
        keep_apart(session, case)
    for case in reversed(cases):
        vectors = dict.fromkeys((*growing(case.answered)[-1:], *reversed(_different(case.checked))))
        siblings = [(call, reply, None) for call, reply in reversed(case.siblings)]
        for call, came in case.beside:
            if isinstance(came, Errored) and isinstance(call.outcome(session), Reply):
                case.changed.append(call)
                case.otherwise = case.otherwise or came
        _compare(session, case, [*siblings, *((checked.call, checked.reply, checked) for checked in vectors)])
        keep_apart(session, case)


def keep_apart(session: Session, case: Case) -> None:
    """Keep a worker in which an implementation raised what wasn't asked for from others."""
    if case.raised or any(check.failed and isinstance(_came(check), Errored) for check in case.checks):
        session.keep_apart()


def _begin(session: Session, case: Case, calls: Iterable[Call]) -> None:
    """Ask what may stick, whatever answer comes of it, before the calls that are compared."""
    for call in calls:
        case.first.append(call)
        came = call.outcome(session)
        case.raised = isinstance(came, Errored) or case.raised
        _note(case, call, came)


def ask_at_the_end(session: Session, case: Case) -> None:
    """Ask once more what was answered first, behind all other calls in the same worker, where the case was asked more than single calls."""
    if case.found and case.fullest is not None:
        _compare(session, case, [(case.fullest.call, case.fullest.reply, case.fullest)])


def _compare(session: Session, case: Case, asked: Sequence[tuple[Call, Reply | None, Checked | None]]) -> None:
    """Ask calls that were answered, and note those whose answers changed, or didn't come: what ends a worker may come from elsewhere."""
    for call, reply, checked in asked:
        answer = call.outcome(session)
        case.raised = isinstance(answer, Errored) or case.raised
        if isinstance(answer, (*FATAL, HarnessError)):
            case.unanswered.append((call, answer))
        elif not (isinstance(answer, NotJudged) or (isinstance(answer, Reply) and reply is not None and agree(reply, answer, checked))):
            case.changed.append(call)
            case.otherwise = case.otherwise or (None if isinstance(answer, Reply) else answer)


def _same(one: Reply, other: Reply) -> bool:
    return all(np.array_equal(value, other.values.get(name, ()), equal_nan=True) for name, value in one.values.items())


def _alike(failure: Checked, answer: Reply | Outcome) -> bool:
    """Whether another answer is so near a wrong one that what is wrong in that is wrong in this one."""
    ratio = failure.judgement.ratio
    far = ratio is None or ratio > FAR
    return far and failure.reply is not None and isinstance(answer, Reply) and agree(failure.reply, answer, failure)


def agree(one: Reply, other: Reply, checked: Checked | None) -> bool:
    """Whether two answers are the same: to the bit, or to a vector within what both sides are allowed."""
    return all(_agree(checked, name, one, other) for name in one.values)


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
                    _kind(case, _came(failure)).append(failure)
                elif pristine.changes(case, failure):
                    case.fickle.append(failure)


def _kind(case: Case, came: Outcome | None) -> list[Failure]:
    """Return where a failure belongs that passes in a fresh worker: what ended one before may have piled up, and is told as it came."""
    if isinstance(came, TimedOut):
        return case.slow
    return case.ended if isinstance(came, Crashed | Exhausted) else case.affected


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
        alone, late = not self.used, isinstance(_came(failure), TimedOut)
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
        if failure.reply is None or repeated is None or _same(failure.reply, repeated):
            return False
        answers = chain([repeated], (failure.call.outcome(self.session) for _ in range(FURTHER)))
        return not all(_alike(failure, answer) for answer in answers)

    def _same(self, call: Call, times: int) -> bool:
        """Whether a call gives the same to the bit when it is repeated; what is no answer speaks for itself."""
        first = call.outcome(self.session)
        if not isinstance(first, Reply):
            return True
        others = (call.outcome(self.session) for _ in range(times))
        return all(_same(first, other) for other in others if isinstance(other, Reply))

    def _at_times(self, case: Case, failure: Failure) -> bool:
        """Whether it passes one of several times: at first in one worker, then in others while there are any."""
        for index in range(AT_RANDOM if not isinstance(_came(failure), FATAL) else 0):
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


def _different(checked: Sequence[Checked]) -> list[Checked]:
    """Return some answered vectors that differ in their parameters as far as possible."""
    answered = [c for c in checked if c.reply is not None and c.vector.expected is not None]
    first = {str(sorted(c.vector.parameters.items())): c for c in reversed(answered)}
    chosen = list(reversed(first.values()))
    return chosen[:ASKED_AGAIN]


def _siblings(call: Call) -> Iterator[Call]:
    """Yield the call with one undeclared parameter changed at a time."""
    for name, value in _others(call).items():
        yield Call(call.task, call.arrays, {**call.parameters, name: value})


def _otherwise(call: Call, cases: Sequence[Case]) -> Iterator[Call]:
    """Yield the call in the implementation's other dtypes."""
    tasks = (other.task for other in cases if other.task.descriptor.index == call.task.descriptor.index)
    yield from (replace(call, task=task) for task in tasks if task.dtype != call.task.dtype)


def _in_other_kinds(call: Call, implementations: Sequence[Descriptor]) -> Iterator[Call]:
    """Yield the call with the same arrays in every other implementation that takes them, and needs to be told no more."""
    own = operations()[call.task.operation]
    given = dict(zip(own.arrays, call.arrays, strict=True))
    for other in implementations:
        operation, parameters = operations()[other.operation], {**call.parameters, **other.restrictions}
        told = operation.arrays.items() <= own.arrays.items() and operation.parameters.keys() <= parameters.keys()
        if other.index != call.task.descriptor.index and call.task.dtype in other.dtypes and told:
            arrays = tuple(given[name] for name in operation.arrays)
            asked = Call(replace(call.task, descriptor=other), arrays, {name: parameters[name] for name in operation.parameters})
            yield from [asked] if _in_domain(asked) else []


def _opposite(call: Call) -> Call:
    """Return the call with every undeclared parameter changed."""
    return Call(call.task, call.arrays, {**call.parameters, **_others(call)})


def _others(call: Call) -> dict[str, object]:
    """Return another value of every undeclared parameter that has one whatever the others are."""
    others: dict[str, object] = {}
    for name, parameter in operations()[call.task.operation].parameters.items():
        value = call.parameters.get(name)
        if name in call.task.descriptor.restrictions:
            continue
        if isinstance(value, float):
            others[name] = 1.5 * value
        else:
            others.update([(name, choice) for choice in parameter.choices if choice != value][:1])
    return others


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
    came = next(filter(None, map(_came, case.affected)), case.otherwise)
    return "" if came is None else f"; at first: {getattr(came, 'reason' if isinstance(came, Unsupported) else 'message', came)}"
