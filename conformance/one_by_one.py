"""Judge one check at a time, as a test runner asks; what was found is explained when it is wrong, and not before."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from conformance import history, law_checks, laws, vector_checks
from conformance.declarations import operations
from conformance.journal import Call, Task
from conformance.laws.running import run_checks
from conformance.outcomes import Diagnosis, Failed, Reason, Result, TimedOut
from conformance.run import Selection, diagnosable
from conformance.session import Session
from conformance.vectors import Vector

SMOKE = 3


@dataclass(frozen=True)
class Question:
    """One vector, or one law by name, of one implementation at one dtype."""

    task: Task
    vector: Vector | None
    law: str
    level: str

    @property
    def name(self) -> str:
        """What it is called: ``my-rope:rope.rotate/far[float32]``."""
        check = self.vector.id if self.vector is not None else f"{self.task.operation}/law:{self.law.replace(' ', '-')}"
        return f"{self.task.descriptor.label}:{check}[{self.task.dtype}]"

    @property
    def scheme(self) -> str:
        """The scheme that it is about."""
        return self.task.operation.split(".", 1)[0]


class Judge:
    """All questions to one session, answered in any order."""

    def __init__(self, session: Session, *, examples: int, seed: int = 0) -> None:
        """Start nothing yet."""
        self.session = session
        self.examples = examples
        self.seed = seed
        self.diagnoses: dict[str, Diagnosis | None] = {}
        self.counterexamples: dict[str, tuple[Call, ...]] = {}

    @cached_property
    def questions(self) -> list[Question]:
        """Every question, in the order of the adapter and of the vectors."""
        selection = Selection(None, None, None, None, "core", self.seed)
        tasks = selection.tasks(self.session.implementations)
        vectors = selection.vectors(tasks, bad_input=bool(self.session.about["rejects_bad_input"]))
        return [question for task in tasks for question in _questions(task, vectors[task.operation])]

    def answer(self, question: Question) -> Result:
        """Return what came out of one question."""
        task = question.task
        subject = self.session.subject(task.descriptor, task.dtype, task.profile)
        found: vector_checks.Checked | law_checks.Found
        if question.vector is not None:
            found = vector_checks.check(subject, task, question.vector)
        else:
            (check,) = [check for check in _checks(task) if check.name == question.law]
            (finding,) = run_checks(subject, [check], examples=self.examples, seed=self.seed)
            found = law_checks.Found(task, finding)
            self.counterexamples[question.name] = found.calls
        result = found.result(self.session.opened)
        return self._settled(task, found, result) if found.failed else result

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
        checked = [vector_checks.check(subject, task, vector) for vector in vectors if vector.expected is not None]
        return diagnose.of_checks(checked) if any(map(diagnosable, checked)) else None


def _questions(task: Task, vectors: list[Vector]) -> Iterator[Question]:
    own = [vector for vector in vectors if vector.error is None or task.dtype == task.descriptor.dtypes[0]]
    for index, vector in enumerate(own):
        yield Question(task, vector, "", "smoke" if index < SMOKE else "core")
    for check in _checks(task):
        yield Question(task, None, check.name, "core")


def _checks(task: Task) -> list[laws.Check]:
    return laws.checks(operations()[task.operation], law_checks.declared(task.operation))
