"""Judge one check at a time, as a test runner asks; what was found is explained when it is wrong, and not before."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from conformance import golden_checks, history, law_checks, laws, vector_checks
from conformance.declarations import operations
from conformance.evidence.gathered import Gathered
from conformance.journal import Call, Task
from conformance.laws.running import run_checks
from conformance.outcomes import Diagnosis, Failed, NotJudged, Passed, Reason, Result, TimedOut
from conformance.run import Selection, diagnosable
from conformance.session import Session
from conformance.vectors import Vector

SMOKE = 3
EVIDENCE = "evidence"


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
    def scheme(self) -> str:
        """The scheme that it is about."""
        return self.task.operation.split(".", 1)[0]


class Judge:
    """All questions to one session, answered in any order."""

    def __init__(self, session: Session, *, examples: int, seed: int = 0, level: str = "core") -> None:
        """Start nothing yet."""
        self.session = session
        self.examples = examples
        self.seed = seed
        self.level = level
        self.drawn: dict[tuple[int, str], dict[int, vector_checks.Checked]] = {}
        self.diagnoses: dict[str, Diagnosis | None] = {}
        self.counterexamples: dict[str, tuple[Call, ...]] = {}

    @cached_property
    def questions(self) -> list[Question]:
        """Every question, in the order of the adapter and of the vectors."""
        selection = Selection(None, None, None, None, self.level, self.seed)
        tasks = selection.tasks(self.session.implementations)
        vectors = selection.vectors(tasks, bad_input=bool(self.session.about["rejects_bad_input"]))
        return [question for task in tasks for question in _questions(task, vectors[task.operation], self.level)]

    def answer(self, question: Question) -> Result:
        """Return what came out of one question."""
        task = question.task
        subject = self.session.subject(task.descriptor, task.dtype, task.profile)
        found: vector_checks.Checked | law_checks.Found
        if question.vector is not None:
            found = vector_checks.check(subject, task, question.vector)
        elif question.drawn:
            found = self._drawn(task)[question.drawn]
        elif not question.law:
            return self._evidence(question)
        else:
            (check,) = [check for check in _checks(task) if check.name == question.law]
            (finding,) = run_checks(
                subject, [check], examples=self.examples, seed=self.seed, patience=law_checks.patience(task, self.examples)
            )
            found = law_checks.Found(task, finding)
            self.counterexamples[question.name] = found.calls
        result = found.result(self.session.opened)
        return self._settled(task, found, result) if found.failed else result

    def _drawn(self, task: Task) -> dict[int, vector_checks.Checked]:
        """Return the drawn cases of a task by their numbers, judged once."""
        known = self.drawn.setdefault((task.descriptor.index, task.dtype), {})
        if not known:
            subject = self.session.subject(task.descriptor, task.dtype, task.profile)
            stream = islice(golden_checks.drawn(task, self.seed), golden_checks.enough(task, self.level))
            known |= {n: golden_checks.check(subject, task, golden_checks.name(task, n), each) for n, each in stream}
        return known

    def _evidence(self, question: Question) -> Result:
        """Return whether what was drawn is evidence enough, or the first failure of what was drawn to have enough of it."""
        task = question.task
        subject = self.session.subject(task.descriptor, task.dtype, task.profile)
        gathered, drawn = Gathered(task, self.level), self._drawn(task)
        for checked in drawn.values():
            gathered.add(checked)
        for number, each in gathered.further(islice(golden_checks.drawn(task, self.seed), len(drawn), None)):
            gathered.add(golden_checks.check(subject, task, golden_checks.name(task, number), each))
        for checked in golden_checks.at_real_sizes(subject, task, self.seed, self.level):
            gathered.add(checked)
        wrong = next((checked for checked in gathered.checked if checked.failed), None)
        if wrong is not None:
            return self._settled(task, wrong, wrong.result(self.session.opened))
        missing = gathered.evidence().missing
        outcome = NotJudged(f"not enough evidence: {'; '.join(missing)}") if missing else Passed()
        return Result(task.descriptor.label, task.operation, question.check, EVIDENCE, task.dtype, task.profile, outcome)

    def diagnosis(self, question: Question) -> Diagnosis | None:
        """Return the known mistake that the implementation's answers to all vectors show, worked out once."""
        task = question.task
        name = f"{task.descriptor.label}:{task.operation}:{task.dtype}"
        if name not in self.diagnoses:
            self.diagnoses[name] = self._diagnosed(task)
        return self.diagnoses[name]

    def _settled(self, task: Task, found: vector_checks.Checked | law_checks.Found, result: Result) -> Result:
        """Return the failure; one that passes in a fresh worker depends on what was called before, or wasn't answered in time."""
        with self.session.fresh() as fresh:
            if not found.again(fresh.subject(task.descriptor, task.dtype, task.profile)):
                return result
        if isinstance(result.outcome, TimedOut):
            return replace(result, outcome=history.once(result.outcome))
        message = "the same call passes in a fresh worker: the answer depends on what was called before"
        return replace(result, outcome=Failed(Reason.HISTORY, message))

    def _diagnosed(self, task: Task) -> Diagnosis | None:
        from conformance import diagnose

        subject = self.session.subject(task.descriptor, task.dtype, task.profile)
        vectors = [question.vector for question in self.questions if question.task == task and question.vector is not None]
        stored = [vector_checks.check(subject, task, vector) for vector in vectors if vector.expected is not None]
        checked = [*stored, *self._drawn(task).values()]
        return diagnose.of_checks(checked) if any(map(diagnosable, checked)) else None


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
