"""What an implementation answers to vectors; where its answers depend on earlier calls, each wrong one is asked for again alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from conformance.calls.outcomes import Failed
from conformance.calls.subject import CallFailedError, CallRefusedError, Reply, Subject
from conformance.judge import logits
from conformance.judge.journal import Task
from conformance.judge.judge import compare, exact_in
from conformance.precision import slices
from conformance.show.report import message
from conformance.spec.vectors import Vector


@dataclass(frozen=True, eq=False)
class Answer:
    """One vector, with what came back, or with why there is no value."""

    vector: Vector
    reply: Reply | None = None
    fault: str | None = None

    def wrong(self, task: Task) -> bool:
        """Whether it isn't within the required profile."""
        return self.reply is None or isinstance(compare(self.vector, self.reply, task.dtype, task.profile).outcome, Failed)


#: Ask an implementation for one vector where nothing has been asked before; ``None`` where it refuses.
Alone = Callable[[Vector], Answer | None]


def ask(subject: Subject, task: Task, vectors: Sequence[Vector]) -> Iterator[Answer]:
    """Yield the answer to every vector that is in range; of a ladder that isn't, the answers to its rungs that are."""
    for vector in vectors:
        if vector.expected is not None and exact_in(vector, task.dtype):
            yield from _asked(subject, vector)


def _asked(subject: Subject, vector: Vector) -> Iterator[Answer]:
    answer = ask_one(subject, vector)
    if answer is not None:
        yield answer
    elif logits.LADDER in vector.id:
        for rung in slices.tokens(vector):
            yield from _asked(subject, rung)


def ask_one(subject: Subject, vector: Vector) -> Answer | None:
    """Return the answer to a vector, or ``None`` where it is refused."""
    try:
        return Answer(vector, subject.call(tuple(vector.inputs.values()), vector.parameters))
    except CallRefusedError:
        return None
    except CallFailedError as failure:
        return Answer(vector, fault=f"{vector.id}: {message(failure.outcome)}")


def settled(answers: Sequence[Answer], task: Task, alone: Alone) -> tuple[list[Answer], bool]:
    """Return the answers without the marks of earlier calls, and whether there were any: one wrong answer is the probe."""
    wrong = [answer for answer in answers if answer.wrong(task)]
    probe = alone(wrong[0].vector) if wrong else None
    if probe is None or probe.wrong(task):
        return list(answers), False
    again = {id(answer): alone(answer.vector) or answer for answer in wrong}
    return [again.get(id(answer), answer) for answer in answers], True
