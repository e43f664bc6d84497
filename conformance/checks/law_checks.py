"""Judge one implementation by its laws."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from conformance import laws
from conformance.calls.outcomes import Advisory, Failed, HarnessError, NotJudged, Outcome, Passed, Reason, Result
from conformance.calls.subject import CallFailedError, CallRefusedError, Subject
from conformance.golden.large import large
from conformance.judge import reproduction
from conformance.judge.journal import Call, Task
from conformance.laws import parts, running
from conformance.laws.judging import Check
from conformance.laws.trial import Example
from conformance.spec.choices import candidates
from conformance.spec.declarations import operations
from refimpl.schemes import SCHEMES
from refimpl.spec import Law

HISTORY = "history independence"
DETERMINISM = "determinism"
UNMODIFIED = "inputs unmodified"
SHAPE = "shape"
#: What the same call shows when it is made again.
DIFFERING = (Reason.NOT_DETERMINISTIC, Reason.HISTORY)
#: How many examples are enough to have one repeated many times.
PATIENT = 12
PARTS = "parts of a whole"
OUTSIDE = laws.law_name(Law.OUTSIDE)


@dataclass(frozen=True, eq=False)
class Found:
    """One law of one implementation, and what falsifying it gave."""

    task: Task
    finding: laws.Finding

    @property
    def failed(self) -> bool:
        """Whether it convicts."""
        return self.finding.failure is not None and not self.declared

    @property
    def declared(self) -> bool:
        """Whether the adapter says itself that the law does not hold of it."""
        descriptor = self.task.descriptor
        if self.finding.law == OUTSIDE:
            parameter = operations()[self.task.operation].parameters["outside"]
            return "raise" not in candidates(parameter, descriptor.restrictions.get("outside", ...))
        return self.finding.law == UNMODIFIED and descriptor.modifies_inputs

    def again(self, subject: Subject) -> bool:
        """Whether the same counterexample passes on another subject."""
        if self.finding.replay is None:
            return False
        try:
            return self.finding.replay(subject) <= 1.0
        except (CallFailedError, CallRefusedError):
            return False

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the counterexample."""
        return tuple(Call(self.task, tuple(arrays), parameters) for arrays, parameters in self.finding.calls)

    @property
    def _shown(self) -> tuple[Call, ...]:
        """The calls that a person makes to see it: the same one twice where answers to it differ."""
        return self.calls * 2 if self.finding.kind in DIFFERING and len(self.calls) == 1 else self.calls

    def result(self, opened: str, outcome: Outcome | None = None) -> Result:
        """Return what the report says; ``opened`` opens the session, another outcome overrules the finding."""
        finding, calls = self.finding, self.calls
        return Result(
            implementation=self.task.descriptor.label,
            operation=self.task.operation,
            check=finding.law,
            kind="law",
            dtype=self.task.dtype,
            profile=self.task.profile,
            outcome=outcome or self._outcome(),
            ratio=finding.worst if outcome is None and finding.examples else None,
            farthest=finding.farthest,
            examples=finding.examples,
            size=sum(array.size for call in calls for array in call.arrays),
            reproduction=reproduction.of_calls(opened, self._shown) if outcome is None and self.failed and calls else None,
        )

    def _outcome(self) -> Outcome:
        finding = self.finding
        if finding.outcome is not None:
            return finding.outcome
        if finding.failure is not None:
            return Failed(finding.kind or Reason.LAW, finding.failure) if self.failed else Advisory(f"{finding.failure}, as declared")
        return Passed() if finding.examples else NotJudged("no drawn example could be judged")


def broken(task: Task, message: str) -> Result:
    """Return the result for laws that ended with an exception of our own."""
    return Result(task.descriptor.label, task.operation, "laws", "law", task.dtype, task.profile, HarnessError(message))


def declared(operation: str) -> tuple[Law, ...]:
    """Return the laws that the operation's scheme claims for it."""
    scheme, _, name = operation.partition(".")
    return tuple(SCHEMES[scheme].laws.get(name, ()))


def whole_and_parts(subject: Subject, task: Task, seed: int) -> Iterator[Found]:
    """Yield what comparing large results with calls on parts of them gave."""
    descriptor, operation = task.descriptor, operations()[task.operation]
    every = large(operation, restrictions=descriptor.inside, takes=task.takes, dtype=task.dtype, seed=seed, level="core")
    for each in islice(every, 1, 3):
        example = Example(each.arguments, {}, 0, (1, 1), each.arguments.parameters)
        yield Found(task, running.once(subject, Check(PARTS, parts.compared, Reason.LAW), example))


def run(subject: Subject, task: Task, *, examples: int, seed: int) -> Iterator[Found]:
    """Yield what falsifying every law of the operation, and every universal one, gave."""
    for finding in laws.run(subject, declared(task.operation), examples=examples, seed=seed, patience=patience(task, examples)):
        yield Found(task, finding)


def patience(task: Task, examples: int) -> int:
    """Return how many calls are repeated many times: one of an implementation's first dtype, unless few examples are asked for."""
    return int(task.first and examples >= PATIENT)
