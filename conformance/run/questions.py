"""Judge one check at a time, as a test runner asks; what was found is explained when it is wrong, and not before."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from conformance import laws
from conformance.calls.outcomes import (
    ALONE,
    FATAL,
    FUTILE,
    NOT_RUN,
    Diagnosis,
    Evidence,
    Failed,
    NotJudged,
    Outcome,
    Passed,
    Reason,
    Report,
    Result,
    is_fault,
)
from conformance.calls.subject import Subject
from conformance.checks import golden_checks, law_checks, manner_checks, vector_checks
from conformance.checks.evidence.gathered import Gathered
from conformance.isolate.session import Session
from conformance.judge import reproduction
from conformance.judge.journal import Call, Journal, Task
from conformance.laws.running import run_checks
from conformance.run import asking_again, by_values, causes, history, settling
from conformance.run.case import Case, failing
from conformance.run.orchestrator import Selection
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector

SMOKE = 3
EVIDENCE = "evidence"
NOT_REACHED = "the declaration has no more calls, or calls before it kept crashing or hanging"

CHANGES = Failed(
    Reason.NOT_DETERMINISTIC,
    "answers change by chance or with what was called before, which a test's own process can't tell apart (`posenc check` can)",
)

@dataclass(frozen=True)
class Question:
    """One vector, one drawn case by number, one law by name, or the evidence of one implementation at one dtype."""

    task: Task
    vector: Vector | None
    law: str
    level: str
    drawn: int = 0

    @property
    def check(self) -> str:
        """What is asked: ``rope.rotate/far``, ``rope.rotate/drawn-3``, ``rope.rotate/law:relative``, ``rope.rotate/evidence``."""
        if self.vector is not None:
            return self.vector.id
        if self.drawn:
            return golden_checks.name(self.task, self.drawn)
        law = self.law.replace(" ", "-")
        return f"{self.task.operation}/{f'law:{law}' if law else EVIDENCE}"

    @property
    def name(self) -> str:
        """What it is called: ``my-rope:rope.rotate/far[float32]``."""
        return f"{self.task.descriptor.label}:{self.check}[{self.task.dtype}]"

    @property
    def kind(self) -> str:
        """What kind of result answers it."""
        return "vector" if self.vector is not None else "drawn" if self.drawn else "law" if self.law else EVIDENCE

    @property
    def scheme(self) -> str:
        """The scheme that it is about."""
        return self.task.operation.split(".", 1)[0]


class Golden:
    """The golden judgements of one task as a run makes them, made as far as they are asked for."""

    def __init__(self, subject: Subject, task: Task, *, seed: int, level: str) -> None:
        """Judge nothing yet."""
        self.gathered = Gathered(task, level)
        self.known: list[vector_checks.Checked] = []
        self._coming = self._judged(subject, task, seed, level)

    def named(self, identity: str) -> vector_checks.Checked | None:
        """Return the judgement of a drawn case, or ``None`` where the run doesn't come to it."""
        return next((checked for checked in self if checked.vector.id == identity), None)

    def __iter__(self) -> Iterator[vector_checks.Checked]:
        """Yield every judgement, those first that are known."""
        yield from self.known
        for checked in self._coming:
            self.known.append(checked)
            yield checked

    def _judged(self, subject: Subject, task: Task, seed: int, level: str) -> Iterator[vector_checks.Checked]:
        for checked in golden_checks.judgements(subject, subject, task, self.gathered, seed=seed, level=level):
            self.gathered.add(checked)
            yield checked
            if vector_checks.futile(self.gathered.checked):
                self.gathered.ended = NOT_RUN
                return
        if golden_checks.thorough(task, level):
            yield from golden_checks.otherwise(subject, task, self.gathered.checked, seed)
            yield from golden_checks.gradients(subject, task, seed)


class Judge:
    """All questions to one session, answered in any order."""

    def __init__(self, session: Session, *, examples: int, seed: int = 0, level: str = "core") -> None:
        """Start nothing yet."""
        self.session = session
        self.examples = examples
        self.seed = seed
        self.level = level
        self.golden: dict[tuple[int, str], Golden] = {}
        self.diagnoses: dict[str, Diagnosis | None] = {}
        self.counterexamples: dict[str, tuple[Call, ...]] = {}
        self.endings: Counter[tuple[int, str]] = Counter()
        self.faults: Counter[tuple[int, str]] = Counter()
        self.asked: list[Question] = []
        self.results: list[Result] = []
        self.journal = Journal()
        self.causes: dict[tuple[int, str], Failed] = {}
        self.evidence: dict[tuple[int, str], Evidence] = {}
        self.inferred: dict[str, list[vector_checks.Checked]] = {}
        self.again = session.fresh(hash_seed=1)  # what depends on the order of a set answers otherwise there
        self.inferring = session.fresh()

    def close(self) -> None:
        """End the workers."""
        self.session.close()
        self.again.close()
        self.inferring.close()

    @cached_property
    def questions(self) -> list[Question]:
        """Every question, in the order of the adapter and of the vectors."""
        selection = Selection(None, None, None, None, self.level, self.seed)
        tasks = selection.tasks(self.session.implementations)
        vectors = selection.vectors(tasks, bad_input=bool(self.session.about["rejects_bad_input"]))
        return [question for task in tasks for question in _questions(task, vectors[task.operation], self.level)]

    def answer(self, question: Question) -> Result:
        """Return what came out of one question; one that keeps crashing or hanging, or can't be called, isn't asked any more."""
        result = self._asked(question)
        self.asked.append(question)
        self.results.append(result)
        return result

    @property
    def report(self) -> Report:
        """What the answers so far come to, as a run reports it."""
        diagnoses = {name: diagnosis for name, diagnosis in self.diagnoses.items() if diagnosis is not None}
        evidence, warnings = tuple(self.evidence.values()), self.session.warnings
        return Report(self.session.target, {}, tuple(self.results), diagnoses, evidence=evidence, warnings=warnings).blamed()

    def _asked(self, question: Question) -> Result:
        key = question.task.descriptor.index, question.task.dtype
        if self.endings[key] >= FUTILE:
            return self._result(question, question.kind, NotJudged(NOT_RUN))
        if self.faults[key] >= FUTILE:
            return self._result(question, question.kind, NotJudged(f"not run after {FUTILE} faults of the adapter"))
        result = self._answered(question)
        self.endings[key] += isinstance(result.outcome, FATAL)
        self.faults[key] += is_fault(result.outcome)
        if not self.session.program or not result.convicts:
            return result
        command = reproduction.of_program(self.session.program, result, seed=self.seed, level=self.level, profile=None)
        return replace(result, reproduction=command)

    def _answered(self, question: Question) -> Result:
        task = question.task
        subject = self.journal.subject(self.session, task)
        found: vector_checks.Checked | law_checks.Found
        if question.vector is not None:
            found = vector_checks.check(subject, task, question.vector)
        elif question.drawn:
            drawn = self._golden(task).named(question.check)
            if drawn is None:
                return self._result(question, "drawn", NotJudged(NOT_REACHED))
            found = drawn
        elif not question.law:
            return self._evidence(question)
        else:
            checks = _checks(task)
            asked = dict.fromkeys((checks[0], *(check for check in checks if check.name == question.law)))  # the first says what there is
            patience = law_checks.patience(task, self.examples)
            *_, finding = run_checks(subject, tuple(asked), examples=self.examples, seed=self.seed, patience=patience)
            found = law_checks.Found(task, finding)
            self.counterexamples[question.name] = found.calls
        return self._settled(found) if found.failed else found.result(self.session.opened)

    def _golden(self, task: Task) -> Golden:
        """Return the golden judgements of a task, each made once."""
        key = task.descriptor.index, task.dtype
        if key not in self.golden:
            subject = self.journal.subject(self.session, task)
            self.golden[key] = Golden(subject, task, seed=self.seed, level=self.level)
        return self.golden[key]

    def _evidence(self, question: Question) -> Result:
        """Return whether what was drawn is evidence enough, or the first failure of what was drawn to have enough of it."""
        wrong = next((found for found in self._beyond(question.task) if found.failed), None)
        if wrong is not None:
            return self._settled(wrong)
        self.session.notice()
        ending = self.session.afterwards(question.task.descriptor.index, question.task.dtype)
        if ending is not None:  # it came after an answer, whose question knew nothing of it
            return self._result(question, EVIDENCE, ending)
        changed = self._asked_again(question.task)
        if changed is not None and changed.convicts:
            return changed
        evidence = self._golden(question.task).gathered.evidence()
        self.evidence[question.task.descriptor.index, question.task.dtype] = evidence
        outcome = NotJudged(f"not enough evidence: {'; '.join(evidence.missing)}") if evidence.missing else Passed()
        return self._result(question, EVIDENCE, outcome)

    def _beyond(self, task: Task) -> Iterator[vector_checks.Checked | law_checks.Found]:
        """Yield every golden judgement, and how large results compare with their parts, where a run compares them."""
        yield from self._golden(task)
        if golden_checks.thorough(task, self.level):
            subject = self.session.subject(task.descriptor, task.dtype, task.profile)
            yield from law_checks.whole_and_parts(subject, task, self.seed)
            if "differentiated" in subject.manners:
                inferring = self.inferring.subject(task.descriptor, task.dtype, task.profile)
                checked = self._golden(task).gathered.checked
                known = self.inferred.setdefault(_named(task), [])
                for found in manner_checks.inferring(inferring, task, checked, isolated=self.inferring.isolated):
                    known.append(found)
                    yield found

    def _result(self, question: Question, kind: str, outcome: Outcome) -> Result:
        task = question.task
        return Result(task.descriptor.label, task.operation, question.check, kind, task.dtype, task.profile, outcome)

    def diagnosis(self, question: Question) -> Diagnosis | None:
        """Return the known mistake that the implementation's answers show, worked out once; none where they depend on history."""
        name = _named(question.task)
        if name not in self.diagnoses:
            self.diagnoses[name] = self._diagnosed(question.task)
        return self.diagnoses[name]

    def _settled(self, found: vector_checks.Checked | law_checks.Found) -> Result:
        """Return a failure; one that passes in a fresh worker is told as a run tells it, with what makes it fail."""
        case = failing(found)
        settling.settle(self.session, [case])
        asking_again.keep_apart(self.session, case)
        if case.fickle:
            self.diagnoses.setdefault(_named(found.task), None)
        if not case.affected and not (case.suspicious and self.session.isolated):
            return found.result(self.session.opened, case.overruled(found))
        self.diagnoses.setdefault(_named(found.task), None)  # values that depend on history show no mistake of values
        cause = self._cause(case)
        alone = ALONE if self.session.isolated else "the same call passes when it is repeated"
        first = history.at_first(case) if cause.message == causes.told(None) else ""
        told = f"{alone}: {cause.message}{first}" if case.affected else cause.message
        return replace(found.result(self.session.opened), outcome=replace(cause, message=told))

    def _cause(self, case: Case) -> Failed:
        """Return what changes answers, which is looked for once: an earlier call, hash order, or nothing that can be seen."""
        key = case.task.descriptor.index, case.task.dtype
        if key not in self.causes:
            blamed = history.verdict(self.session, self.journal, case) if self.session.isolated else None
            cause = Failed(Reason.HISTORY, causes.told(case.pair)) if self.session.isolated else CHANGES
            if blamed is not None and isinstance(blamed.outcome, Failed) and blamed.outcome.reason is not Reason.HISTORY:
                cause = blamed.outcome
            self.causes[key] = cause
        return self.causes[key]

    def _asked_again(self, task: Task) -> Result | None:
        """Return what comes of asking drawn cases once more, in another order and under another hash seed, as a run does."""
        if not self.session.isolated:
            return None
        case = Case(task, checked=list(self._golden(task)))
        asking_again.ask_again(self.again, [case])
        return history.verdict(self.session, self.journal, case)

    def _diagnosed(self, task: Task) -> Diagnosis | None:
        subject = self.session.subject(task.descriptor, task.dtype, task.profile)
        vectors = [question.vector for question in self.questions if question.task == task and question.vector is not None]
        stored = list(vector_checks.run(subject, task, [vector for vector in vectors if vector.expected is not None], enough=math.inf))
        if vector_checks.futile(stored):
            return None
        return by_values.diagnosis(self.session, task, [*stored, *self._golden(task), *self.inferred.get(_named(task), ())])


def _named(task: Task) -> str:
    return f"{task.descriptor.label}:{task.operation}:{task.dtype}"


def _questions(task: Task, vectors: list[Vector], level: str) -> Iterator[Question]:
    own = [vector for vector in vectors if vector.error is None or task.first]
    for index, vector in enumerate(own):
        yield Question(task, vector, "", "smoke" if index < SMOKE else "core")
    for number in range(1, golden_checks.enough(task, level) + 1):
        yield Question(task, None, "", "smoke" if number <= golden_checks.enough(task, "smoke") else "core", number)
    for check in _checks(task):
        yield Question(task, None, check.name, "core")
    yield Question(task, None, "", "core")


def _checks(task: Task) -> list[laws.Check]:
    return laws.checks(operations()[task.operation], law_checks.declared(task.operation))
