"""Judge one implementation by vectors: the stored ones here; ``golden_checks`` makes others while it judges."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from conformance.calls.manner import PLAIN, STEPPED, SWAPPED, WAYS, Manner, swappable
from conformance.calls.outcomes import (
    CONVICTIONS,
    FATAL,
    FUTILE,
    NOT_RUN,
    Advisory,
    Errored,
    Failed,
    NotJudged,
    Outcome,
    Passed,
    Reason,
    Result,
    Unsupported,
)
from conformance.calls.subject import CallFailedError, CallNotMadeError, CallRefusedError, Reply, Subject
from conformance.judge import reproduction
from conformance.judge.journal import Call, Task
from conformance.judge.judge import Judgement, compare, exact_in
from conformance.judge.logits import in_logits
from conformance.laws import universal
from conformance.spec.vectors import Vector


@dataclass(frozen=True, eq=False)
class Checked:
    """One vector, what came back, and the judgement."""

    task: Task
    vector: Vector
    judgement: Judgement
    reply: Reply | None = None
    seconds: float = 0.0
    manner: Manner = PLAIN

    @property
    def call(self) -> Call:
        """The call that the vector makes."""
        return Call(self.task, tuple(self.vector.inputs.values()), self.vector.parameters, self.manner)

    @property
    def failed(self) -> bool:
        """Whether it convicts."""
        return isinstance(self.judgement.outcome, CONVICTIONS)

    @property
    def passed(self) -> bool:
        """Whether it is right."""
        return isinstance(self.judgement.outcome, Passed)

    def again(self, subject: Subject) -> bool:
        """Whether the vector passes on another subject, asked once."""
        return self.repeated(subject).passed

    def repeated(self, subject: Subject) -> "Checked":
        """Return what comes of the vector on another subject, asked once."""
        return check(subject, self.task, self.vector, replace(self.manner, repeats=0))

    def result(self, opened: str, outcome: Outcome | None = None) -> Result:
        """Return what the report says; ``opened`` opens the session, another outcome overrules the judgement."""
        judgement, vector, shown = self.judgement, self.vector, outcome is None and self.failed
        script = reproduction.of_calls(opened, (self.call,)) if shown else None
        told = judgement.by_position and not self.manner.cotangents  # a gradient makes no logits
        return Result(
            implementation=self.task.descriptor.label,
            operation=vector.operation,
            check=vector.id,
            kind="drawn" if vector.drawn else "vector",
            dtype=self.task.dtype,
            profile=self.task.profile,
            outcome=outcome or judgement.outcome,
            ratio=judgement.ratio if outcome is None else None,
            profile_met=judgement.profile_met if outcome is None and not vector.drawn else None,
            exposes=vector.exposes,
            size=sum(array.size for array in vector.inputs.values()),
            reproduction=script,
            call=reproduction.described(self.call) if shown and script is None else None,
            seconds=self.seconds,
            errors_by_position=judgement.by_position if outcome is None else (),
            logits=in_logits(vector, self.reply.values) if outcome is None and self.reply is not None and told else (),
            gradient=bool(self.manner.cotangents),
            ordinary=judgement.ordinary,
        )


def run(subject: Subject, task: Task, vectors: Sequence[Vector], *, enough: float) -> Iterator[Checked]:
    """Yield every vector's judgement until enough were taken; stop asking an implementation that keeps crashing or hanging."""
    seen: list[Checked] = []
    for vector in vectors:
        if sum(not isinstance(checked.judgement.outcome, Unsupported) for checked in seen) >= enough:
            return
        if futile(seen):
            yield Checked(task, vector, Judgement(NotJudged(NOT_RUN)))
        else:
            seen.append(check(subject, task, vector))
            yield seen[-1]


def futile(checked: Sequence[Checked]) -> bool:
    """Whether so many calls crashed or hung, or were followed by a crash, that more would only waste time."""
    outcomes = [c.judgement.outcome for c in checked]
    return NotJudged(NOT_RUN) in outcomes or sum(isinstance(outcome, FATAL) for outcome in outcomes) >= FUTILE


def check(subject: Subject, task: Task, vector: Vector, manner: Manner = PLAIN) -> Checked:
    """Judge one vector."""
    if not exact_in(vector, task.dtype) and vector.error is None:
        return Checked(task, vector, Judgement(Unsupported(f"an input is no {task.dtype} number")))
    came, seconds = asked(subject, tuple(vector.inputs.values()), vector.parameters, manner)
    return judged(task, vector, came, seconds, manner)


def asked(
    subject: Subject, arrays: Sequence[np.ndarray], parameters: Mapping[str, object], manner: Manner = PLAIN
) -> tuple[Reply | Outcome, float]:
    """Return what came of a call, and after how many seconds."""
    started = time.perf_counter()
    came: Reply | Outcome
    try:
        came = subject.ask(arrays, parameters, manner)
    except CallNotMadeError as error:
        came = NotJudged(str(error))
    except CallRefusedError as refusal:
        came = Unsupported(str(refusal), raised=not refusal.declared)
    except CallFailedError as failure:
        came = failure.outcome
    return came, time.perf_counter() - started


def judged(task: Task, vector: Vector, came: Reply | Outcome, seconds: float, manner: Manner = PLAIN) -> Checked:
    """Return the judgement of what came of a vector's call."""
    if manner.cotangents and isinstance(came, Unsupported | Errored):
        words = came.message if isinstance(came, Errored) else came.reason
        return Checked(task, vector, Judgement(Advisory(f"gives no gradient: {words}")), manner=manner)
    if isinstance(came, Unsupported):
        return Checked(task, vector, Judgement(came), manner=manner)
    if not isinstance(came, Reply):
        return Checked(task, vector, _told(_failed(vector, came), manner, vector), seconds=seconds, manner=manner)
    if vector.error is not None:
        return Checked(task, vector, Judgement(Failed(Reason.ACCEPTED_BAD_INPUT, f"must be refused: {vector.error}")), seconds=seconds)
    judgement = compare(vector, came, task.dtype, task.profile, masked=task.takes.masked)
    if (manner.unlike_plain or manner.repeats or vector.at) and not isinstance(judgement.outcome, Failed):
        judgement = _universal(judgement, task, came)
    return Checked(task, vector, _told(judgement, manner, vector), came, seconds, manner)


def _universal(judgement: Judgement, task: Task, reply: Reply) -> Judgement:
    """Return what is wrong with a call whatever it computes, else the judgement."""
    modified = "" if task.descriptor.modifies_inputs else universal.modification(reply)
    if modified:
        return Judgement(Failed(Reason.INPUT_MODIFIED, modified))
    if reply.overwritten:
        message = f"results must stay as they are when the next call is made, got {', '.join(reply.overwritten)} changed"
        return Judgement(Failed(Reason.LAW, message))
    return Judgement(Failed(Reason.NOT_DETERMINISTIC, reply.unlike)) if reply.unlike else judgement


def _told(judgement: Judgement, manner: Manner, vector: Vector) -> Judgement:
    """Say of a failure how the call was made; an exception where arrays are views that few pass convicts nobody."""
    outcome = judgement.outcome
    if not manner.words or not isinstance(outcome, Failed | Errored):
        return judgement
    transposed = manner.views.startswith(SWAPPED) and any(map(swappable, vector.inputs.values()))
    words = manner.words if transposed else manner.words.replace(WAYS[SWAPPED], STEPPED)
    if isinstance(outcome, Errored) and manner.views and not transposed:
        return Judgement(Advisory(f"{outcome.message}; {words}"))
    declared = " (contiguous=True declares that it takes contiguous arrays only)" if isinstance(outcome, Errored) and manner.views else ""
    return replace(judgement, outcome=replace(outcome, message=f"{outcome.message}; {words}{declared}"))


def _failed(vector: Vector, outcome: Outcome) -> Judgement:
    if vector.error is None or not isinstance(outcome, Errored):
        return Judgement(outcome)
    if vector.error in outcome.message:
        return Judgement(Passed())
    return Judgement(Errored(f"must say {vector.error!r}, got {outcome.message}"))


def advisories(checked: Sequence[Checked]) -> Iterator[Result]:
    """Yield what is worth knowing outside the verdict: a result that is wider than its input, or of another library."""
    wider = next((c for c in checked if c.judgement.wider is not None), None)
    if wider is not None:
        message = f"the result is {wider.judgement.wider} for {wider.task.dtype} input"
        yield _advisory(wider.task, "dtype", message)
    foreign = next((c for c in checked if c.reply is not None and c.reply.foreign), None)
    if foreign is not None and foreign.reply is not None:
        yield _advisory(foreign.task, "library", f"{', '.join(foreign.reply.foreign)}: no gradient passes through it")
    changed = next((c for c in checked if c.reply is not None and c.reply.modified and c.task.descriptor.modifies_inputs), None)
    if changed is not None and changed.reply is not None:
        yield _advisory(changed.task, "inputs", f"modifies {', '.join(changed.reply.modified)}, as declared")


def state(task: Task, left: Iterable[str]) -> Iterator[Result]:
    """Yield in words what the calls of a task left changed in their process, whatever came of them."""
    yield from (_advisory(task, "state", trace) for trace in left)


def memory(task: Task, piled: str) -> Iterator[Result]:
    """Yield in words what a task keeps of unlike calls, where that is much."""
    yield from (_advisory(task, "memory", words) for words in filter(None, [piled]))


def _advisory(task: Task, check: str, message: str) -> Result:
    return Result(task.descriptor.label, task.operation, check, "advisory", task.dtype, task.profile, Advisory(message))
