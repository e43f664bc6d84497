"""Ask what was answered once more: in other orders, with other parameters, behind other kinds of layers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from conformance.calls.outcomes import (
    FATAL,
    Errored,
    HarnessError,
    NotJudged,
    Outcome,
)
from conformance.calls.subject import Reply, Subject
from conformance.checks import vector_checks
from conformance.checks.evidence import known
from conformance.checks.vector_checks import Checked
from conformance.isolate.described import Descriptor
from conformance.isolate.session import Session
from conformance.judge.journal import Call
from conformance.run.case import Case, agree, came_of
from conformance.run.growing import growing
from conformance.spec.declarations import operations

#: How many vectors of every implementation are asked again, in reverse order, in a fresh worker.
ASKED_AGAIN = 6


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
    if case.raised or any(check.failed and isinstance(came_of(check), Errored) for check in case.checks):
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
