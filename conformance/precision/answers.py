"""What an implementation answers to vectors; where its answers depend on earlier calls, each wrong one is asked for again alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from conformance.calls.outcomes import FATAL, FUTILE, NOT_RUN
from conformance.calls.subject import CallFailedError, CallNotMadeError, CallRefusedError, Reply, Subject
from conformance.judge import logits
from conformance.judge.journal import Task
from conformance.judge.judge import exact_in, fails
from conformance.precision import slices
from conformance.show.report import message
from conformance.spec.vectors import Vector


@dataclass(frozen=True, eq=False)
class Answer:
    """One vector, with what came back, or with why there is no value; ``fatal`` where that ended the worker."""

    vector: Vector
    reply: Reply | None = None
    fault: str | None = None
    fatal: bool = False

    def wrong(self, task: Task) -> bool:
        """Whether it isn't within the required profile."""
        return self.reply is None or fails(self.vector, self.reply, task.dtype, task.profile)


#: Ask an implementation for one vector where nothing has been asked before; ``None`` where it refuses.
Alone = Callable[[Vector], Answer | None]


def ask(subject: Subject, task: Task, vectors: Sequence[Vector]) -> Iterator[Answer]:
    """Yield the answer to every vector that is in range; of a ladder that isn't, the answers to its rungs that are.

    An implementation that keeps crashing or hanging isn't asked any more.
    """
    seen: list[Answer] = []
    for vector in vectors:
        if futile(seen):
            yield _not_run(vector)
            return
        if vector.expected is not None and exact_in(vector, task.dtype):
            try:
                for answer in _asked(subject, vector):
                    seen.append(answer)
                    yield answer
            except CallNotMadeError:
                yield _not_run(vector)
                return


def futile(seen: Sequence[Answer]) -> bool:
    """Whether so many calls crashed or hung that more would only waste time."""
    return sum(answer.fatal for answer in seen) >= FUTILE


def _not_run(vector: Vector) -> Answer:
    return Answer(vector, fault=f"{vector.id} and the rest: {NOT_RUN}")


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
    except CallNotMadeError:
        raise
    except CallRefusedError:
        return None
    except CallFailedError as failure:
        return Answer(vector, fault=f"{vector.id}: {message(failure.outcome)}", fatal=isinstance(failure.outcome, FATAL))


def refusals(subject: Subject, vectors: Sequence[Vector]) -> Iterator[str]:
    """Yield which vectors inside of its declaration an implementation refuses, and why."""
    for vector in vectors:
        try:
            subject.call(tuple(vector.inputs.values()), vector.parameters)
        except CallRefusedError as refusal:
            if not refusal.declared:
                yield f"{vector.id}: refused, though its adapter declares it: {refusal}"
        except CallFailedError:
            return


def settled(answers: Sequence[Answer], task: Task, alone: Alone) -> tuple[list[Answer], bool]:
    """Return the answers without the marks of earlier calls, and whether values had any: one wrong answer is the probe."""
    wrong = [answer for answer in answers if answer.wrong(task)]
    probe = alone(wrong[0].vector) if wrong else None
    if probe is None or probe.wrong(task):
        return list(answers), False
    again = {id(answer): alone(answer.vector) or answer for answer in wrong}
    return [again.get(id(answer), answer) for answer in answers], any(answer.reply is not None for answer in wrong)
