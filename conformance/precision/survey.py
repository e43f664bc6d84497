"""Measure every implementation that a target offers."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from conformance.adapt.adapter import near_miss
from conformance.adapt.selection import SelectionError
from conformance.calls.limits import Limits
from conformance.isolate.interrupts import leaving
from conformance.isolate.session import Session
from conformance.isolate.targets import TargetError
from conformance.judge import logits
from conformance.judge.journal import Task
from conformance.precision import answers, curve, wide
from conformance.precision.curve import Curve
from conformance.run.orchestrator import Selection
from conformance.show.report import message
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector, load

Progress = Callable[[int, int, str], None]
NARROWEST, WIDEST = 2, 4_096
#: The arrays that say where something stands.
PLACES = frozenset({"positions", "query_positions", "key_positions", "offsets"})


def curves(
    target: str, *, chosen: Collection[str] = (), head_dim: int = 128, limits: Limits | None = None, progress: Progress | None = None
) -> Iterator[Curve]:
    """Yield the curve of every implementation and dtype: of all rotations, codes and biases, or of the chosen operations."""
    verify(chosen, head_dim)
    with leaving([target]), Session(target, limits) as session, Session(wide.REFERENCE) as reference:
        wanted = Selection(None, _measured(chosen), None, None, "core", 0)
        tasks = wanted.tasks(session.implementations)
        _offered(target, tasks, chosen)
        yield from _curves(session, reference, tasks, head_dim, progress or _silent)


def verify(chosen: Collection[str], head_dim: int) -> None:
    """Raise ``SelectionError`` where an operation has no positions, or no head is that wide."""
    known = [name for name, operation in operations().items() if PLACES & set(operation.arrays)]
    for name in chosen:
        if name not in known:
            message = f"operation must be one that takes positions, got {name!r}{near_miss(name, known)}"
            raise SelectionError(message)
    if not NARROWEST <= head_dim <= WIDEST or head_dim % 2:
        message = f"head-dim must be even, from {NARROWEST} to {WIDEST}, got {head_dim}"
        raise SelectionError(message)


def _measured(chosen: Collection[str]) -> Collection[str]:
    return chosen or [name for name in operations() if logits.family(name) in logits.MEASURED]


def _offered(target: str, tasks: Sequence[Task], chosen: Collection[str]) -> None:
    if not tasks:
        message = f"{target} must offer {' or '.join(chosen) or 'a rotation, a code or a bias'}, got none of it"
        raise TargetError(message)


def _curves(session: Session, reference: Session, tasks: Sequence[Task], head_dim: int, progress: Progress) -> Iterator[Curve]:
    vectors: dict[str, list[Vector]] = {task.operation: [] for task in tasks}
    for vector in load(list(vectors)):
        vectors[vector.operation].append(vector)
    names = [f"{task.descriptor.label} {task.operation} in {task.dtype}" for task in tasks]
    for done, task in enumerate(tasks):
        progress(done, len(tasks), names[done])
        with leaving(names[done:]):
            measured = _measure(session, reference, task, vectors[task.operation], head_dim)
        yield measured


def _measure(session: Session, reference: Session, task: Task, own: Sequence[Vector], head_dim: int) -> Curve:
    subject = session.subject(task.descriptor, task.dtype, task.profile)
    asked = list(answers.ask(subject, task, own))
    if any(each.fault is not None for each in asked):
        session.keep_apart()
    found, depends = answers.settled(asked, task, _alone(session, task))
    measured = curve.measure(found, task, depends=depends)
    if not answers.futile(asked) and not depends:
        measured = replace(measured, wide=wide.measure(reference, subject, task, own, head_dim))
    if not measured.points and not measured.faults:
        measured = replace(measured, faults=tuple(answers.refusals(subject, own))[:1])
    kept = {id(each) for each in found}
    failed = dict.fromkeys(f"at first {each.fault}" for each in asked if each.fault is not None and id(each) not in kept)
    after = session.aftermath(task.descriptor.index, task.dtype)
    beside = [] if after or failed or measured.faults else _ends(session, task)
    return replace(measured, left=(*after, *failed, *beside, *session.at_hand, *session.withheld))


def _ends(session: Session, task: Task) -> list[str]:
    """Return in words how a call ended its worker, or came too late, whose value is in no row."""
    lost = session.lost(task.descriptor.index, task.dtype)
    return [f"no value: {message(came)}, at {call}" for call, came in list(lost.items())[:1]]


def _alone(session: Session, task: Task) -> answers.Alone:
    def ask(vector: Vector) -> answers.Answer | None:
        with session.fresh() as fresh:
            return answers.ask_one(fresh.subject(task.descriptor, task.dtype, task.profile), vector)

    return ask


def _silent(done: int, total: int, text: str) -> None:
    """Show nothing."""
