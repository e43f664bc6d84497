"""Judge one implementation by golden cases drawn inside its declaration: it is called, then compared with what the oracle proves."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from conformance.calls.manner import AGAIN, PLAIN, SWAPPED, TWICE, Manner
from conformance.calls.outcomes import NotJudged, Passed, Unsupported
from conformance.calls.subject import Subject
from conformance.checks import manner_checks, neighbour_checks, suspects, vector_checks
from conformance.checks.evidence.gathered import CHEAP, Gathered
from conformance.checks.evidence.known import Answer
from conformance.checks.vector_checks import Checked, asked, judged
from conformance.golden import answers, calls, large, sweep
from conformance.golden import varied as parameters_of_cases
from conformance.judge.journal import Task
from conformance.judge.judge import Judgement
from conformance.spec.arguments import Arguments
from conformance.spec.choices import candidates
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector

#: How many drawn cases are judged of an implementation's first dtype, and of each further one.
ENOUGH = {"smoke": 6, "core": 24, "full": 200}
FURTHER = {"smoke": 4, "core": 4, "full": 50}
#: Where an implementation refuses what is drawn, so many times more are tried.
PATIENCE = 4
#: Among how many drawn calls one is looked for that has a number which the declaration lists, where it lists no more than so many.
LOOKED, LISTED = 96, 8
#: How far a case that is asked for by name is looked for.
FARTHEST = 2_000
#: The first large call whose gradient is asked for, with the most tokens, and the one after the last; those between have many heads.
MANY = (3, 6)
TIMES = {"once": PLAIN, "twice": TWICE, "often": AGAIN}

Numbered = tuple[int, Arguments]


def drawn(task: Task, seed: int) -> Iterator[Numbered]:
    """Yield the drawn calls of a task without end, each with its number."""
    yield from enumerate(calls.drawn(**_inside(task), seed=seed), start=1)


def varied(task: Task, seed: int) -> Iterator[Numbered]:
    """Yield the drawn calls of a task that have the parameters of stored cases, each with its number."""
    yield from enumerate(parameters_of_cases.varied(**_inside(task), seed=seed), start=1)


def named(task: Task, seed: int, cases: Collection[str]) -> Iterator[tuple[str, Arguments]]:
    """Yield the drawn calls that are asked for by their names (``rope.rotate/drawn-7``)."""
    for kind, stream in (("drawn", drawn), ("listed", drawn), ("varied", varied)):
        numbers = {int(case.split("-")[1]) for case in cases if case.startswith(f"{task.operation}/{kind}-")}
        if numbers:
            every = islice(stream(task, seed), min(max(numbers), FARTHEST))
            yield from ((name(task, number, kind), call) for number, call in every if number in numbers)


def name(task: Task, number: int, kind: str = "drawn") -> str:
    """Return what a drawn case is called."""
    return f"{task.operation}/{kind}-{number}"


def enough(task: Task, level: str) -> int:
    """Return how many drawn cases a level judges of a task."""
    return (ENOUGH if task.first else FURTHER)[level]


def thorough(task: Task, level: str) -> bool:
    """Whether an implementation is asked for all that makes a difference: above level smoke, at its first dtype."""
    return level != "smoke" and task.first


def run(subject: Subject, task: Task, stream: Iterator[Numbered], *, enough: int) -> Iterator[Checked]:
    """Yield the judgement of drawn calls until enough were judged, or so many refused that more would only waste time."""
    left = enough
    for number, arguments in islice(stream, PATIENCE * enough):
        checked = check(subject, task, name(task, number), arguments)
        yield checked
        left -= not isinstance(checked.judgement.outcome, Unsupported | NotJudged)
        if left == 0:
            return


def judgements(subject: Subject, plain: Subject, task: Task, gathered: Gathered, *, seed: int, level: str) -> Iterator[Checked]:
    """Yield every golden judgement of a task; each is to be gathered before the next is asked for.

    What is called by ``subject`` is written down, to be blamed later; large calls are made by ``plain``.
    """
    stream = drawn(task, seed)
    yield from run(subject, task, stream, enough=enough(task, level))
    if level != "smoke":
        yield from listed(subject, task, gathered.checked, seed)
    for number, arguments in gathered.further(stream):
        yield check(subject, task, name(task, number), arguments)
    if thorough(task, level):
        swept = list(large_ones(plain, task, "sweep", sweep.sweep(**_inside(task), seed=seed)))
        yield from map(_kept, swept)
        yield from beside(subject, task, gathered.checked, swept, seed)
        every = (check(subject, task, name(task, number, "varied"), arguments) for number, arguments in varied(task, seed))
        yield from (each for each in every if not isinstance(each.judgement.outcome, Unsupported))
    yield from at_real_sizes(plain, task, seed, level)


def listed(subject: Subject, task: Task, checked: Sequence[Checked], seed: int) -> Iterator[Checked]:
    """Yield the judgement of drawn calls with numbers that a declaration lists and that no call has had in this dtype."""
    left = _listed(task) - {item for each in checked for item in each.vector.parameters.items()}
    for number, arguments in islice(drawn(task, seed), LOOKED if left else 0):
        found = left & {*arguments.parameters.items()}
        if found:
            yield check(subject, task, name(task, number, "listed"), arguments)
            left -= found
        if not left:
            return


def _listed(task: Task) -> set[tuple[str, object]]:
    """Return every number of the parameters for which a declaration lists a few."""
    parameters, inside = operations()[task.operation].parameters, task.descriptor.inside
    several = {name: candidates(parameters[name], given) for name, given in inside.items() if name in parameters and not callable(given)}
    return {(name, value) for name, values in several.items() if len(values) <= LISTED for value in values}


def beside(subject: Subject, task: Task, checked: Sequence[Checked], swept: Sequence[Checked], seed: int) -> Iterator[Checked]:
    """Yield the judgement of a few calls of several rows, heads and tokens, and of the neighbours of these and of others that passed."""
    every = enumerate(large.large(**_inside(task), seed=seed, level="beside"), start=1)
    calls = [check(subject, task, name(task, number, "beside"), each.arguments, each.at) for number, each in every]
    yield from calls
    passed = (neighbour_checks.passed(each) for each in (calls, neighbour_checks.longest(checked), swept))
    yield from neighbour_checks.beside(subject, task, [each for some in passed for each in some])


def otherwise(subject: Subject, task: Task, checked: Sequence[Checked], seed: int) -> Iterator[Checked]:
    """Yield the judgement of some drawn calls that passed, made with views, in arrays used again and as in training; of gradients.

    Of rows that are nearly all placed alike, too.
    """
    yield from manner_checks.strided(subject, task, checked)
    yield from manner_checks.alike(subject, task, checked)
    yield from manner_checks.refilled(subject, task, checked)
    yield from manner_checks.tracked(subject, task, checked)
    yield from manner_checks.gradients(subject, task, checked, seed)


def gradients(subject: Subject, task: Task, seed: int) -> Iterator[Checked]:
    """Yield the judgement of gradients of large calls, by elements that were chosen."""
    every = enumerate(large.large(**_inside(task), seed=seed, level="core"), start=1)
    named = ((name(task, number, "large"), each) for number, each in islice(every, *MANY))
    yield from (each if each.failed else _slim(each) for each in manner_checks.large_gradients(subject, task, named, seed))


def _inside(task: Task) -> dict[str, Any]:
    """Return what calls are drawn inside of."""
    operation = operations()[task.operation]
    return {"operation": operation, "restrictions": task.descriptor.inside, "takes": task.takes, "dtype": task.dtype}


def asked_for(subject: Subject, plain: Subject, task: Task, cases: Collection[str], *, seed: int, level: str) -> Iterator[Checked]:
    """Yield the judgement of the drawn cases that are asked for by their names."""
    for identity, arguments in named(task, seed, cases):
        whole = check(subject, task, identity, arguments)
        others = (*neighbour_checks.beside(subject, task, [whole]), *otherwise(subject, task, [whole], seed))
        others += (*manner_checks.inferring(subject, task, [whole, *others]),)
        yield from (each for each in (whole, *others) if each.vector.id in cases)
    bases = {*cases, *("-".join(case.split("-")[:2]) for case in cases)}
    swept = list(large_ones(plain, task, "sweep", sweep.sweep(**_inside(task), seed=seed), bases))
    yield from (each for each in swept if each.vector.id in cases)
    if any(case.startswith((f"{task.operation}/beside-", f"{task.operation}/sweep-")) for case in cases):
        yield from (each for each in beside(subject, task, (), swept, seed) if each.vector.id in cases)
    yield from at_real_sizes(plain, task, seed, level, cases)
    if any("large" in case and "gradient" in case for case in cases):
        yield from (each for each in gradients(plain, task, seed) if each.vector.id in cases)


def at_real_sizes(subject: Subject, task: Task, seed: int, level: str, cases: Collection[str] | None = None) -> Iterator[Checked]:
    """Yield the judgement of large calls, by the elements that were chosen of each; of those that pass the arrays are let go."""
    wanted = level if task.first or level == "smoke" else "further"
    yield from map(_kept, large_ones(subject, task, "large", large.large(**_inside(task), seed=seed, level=wanted), cases))


def large_ones(
    subject: Subject, task: Task, kind: str, every: Iterator[large.Large], cases: Collection[str] | None = None
) -> Iterator[Checked]:
    """Yield the judgement of calls of which chosen elements are judged; where some are asked for, of these."""
    for number, each in enumerate(every, start=1):
        identity = name(task, number, kind)
        if cases is None or identity in cases:
            manner = replace(TIMES[each.times], views=SWAPPED if each.strided and "strided" in subject.manners else "")
            checked = check(subject, task, identity, each.arguments, each.at, manner=manner)
            if checked.failed and manner.views:
                plainly = vector_checks.check(subject, task, checked.vector, replace(manner, views=""))
                checked = plainly if plainly.failed else checked
            yield checked


def _kept(checked: Checked) -> Checked:
    """Return a check to keep: one that passed lets go of its arrays where they are large."""
    small = sum(array.size for array in checked.vector.inputs.values()) <= CHEAP
    return checked if small or checked.failed else _slim(checked)


def _slim(checked: Checked) -> Checked:
    """Return a check whose real arrays have the same shapes, but hold one number only."""
    arrays = checked.vector.inputs.items()
    inputs = {name: np.broadcast_to(array.flat[0], array.shape) if array.dtype.kind == "f" else array for name, array in arrays}
    return replace(checked, vector=replace(checked.vector, inputs=inputs), reply=None)


def check(
    subject: Subject, task: Task, identity: str, arguments: Arguments, at: Mapping[str, np.ndarray] | None = None, manner: Manner = PLAIN
) -> Checked:
    """Judge one drawn call, for which the oracle is not asked where the implementation doesn't take it, or some elements of a large one.

    What is right of a large call is worked out while it is made, which takes as long.
    """
    works: tuple[Callable[[], Any], ...] = partial(_golden, task, identity, arguments, at), partial(suspects.right, task, arguments)
    with _meanwhile(*works) if at else nullcontext(works) as (golden, right):
        came, seconds = asked(subject, tuple(arguments.arrays.values()), arguments.parameters, manner)
    if isinstance(came, Unsupported | NotJudged):
        return Checked(task, unanswered(task, identity, arguments), Judgement(came))
    try:
        vector = golden()
    except answers.UnprovableError as error:
        return Checked(task, unanswered(task, identity, arguments), Judgement(NotJudged(str(error))))
    checked = judged(task, vector, came, seconds, manner)
    return _with_suspects(checked, right()) if at and isinstance(checked.judgement.outcome, Passed) else checked


def _golden(task: Task, identity: str, arguments: Arguments, at: Mapping[str, np.ndarray] | None) -> Vector:
    return answers.golden(task.operation, arguments, identity=identity, exposes="", profiles=(task.profile,), at=at)


@contextmanager
def _meanwhile(*works: Callable[[], Any]) -> Iterator[list[Callable[[], Any]]]:
    """Do some work beside what is done here, and yield what returns each result; the end waits for all."""
    with ThreadPoolExecutor(1) as thread:
        yield [thread.submit(work).result for work in works]


def _with_suspects(checked: Checked, right: Answer) -> Checked:
    """Return the judgement, or, where the oracle convicts elements that lie far from the reference, that of these too."""
    found, vector, task = suspects.suspects(checked, right), checked.vector, checked.task
    if not found or checked.reply is None:
        return checked
    call = Arguments(vector.inputs, vector.parameters)
    every = {name: np.union1d(at, vector.at[name]) for name, at in found.items()}
    for at in (found, every):
        try:
            further = judged(task, _golden(task, vector.id, call, at), checked.reply, checked.seconds, checked.manner)
        except answers.UnprovableError:
            return checked
        if not further.failed:
            return checked
    return further


def unanswered(task: Task, identity: str, arguments: Arguments) -> Vector:
    """Return a vector of a call to which no golden values were computed."""
    return Vector(identity, task.operation, "", parameters=arguments.parameters, inputs=arguments.arrays, drawn=True)
