"""Ask for calls that passed in turn with their neighbours: what was kept of the one answers the other, and shows."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from conformance.calls.outcomes import Passed
from conformance.calls.subject import Subject
from conformance.checks import vector_checks
from conformance.checks.evidence import known
from conformance.checks.vector_checks import Checked
from conformance.golden import answers, sampling
from conformance.golden.extents import projected, weighs
from conformance.golden.neighbours import FULL, KEYS, QUERIES, neighbours, under_other_conventions
from conformance.judge.journal import Task
from conformance.spec.arguments import Arguments, is_position
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector
from refimpl.spec import Operation

#: How often a neighbour of one name is looked for that the right answer to the call would be wrong for; how many of its elements are
#: judged at most, and how many products these take together: where one takes more, the call is dear.
TRIES, ELEMENTS, PRODUCTS = 3, 12, 150
#: What a neighbour is called beyond its name where queries see other keys.
BEHIND = " behind a mask"
#: What a neighbour is called beyond its name where it moves as few tokens as decoding has, and how many these are.
FEW, FEWEST = " of few tokens", 16
#: How many failures are enough.
ENOUGH = 2
#: How far apart right answers are at least, in half units in the last place of the largest, before the oracle is asked.
SHOWS = 16.0

Results = Mapping[str, np.ndarray]
Answered = tuple[Arguments, Results]


def beside(subject: Subject, task: Task, calls: Sequence[Checked]) -> Iterator[Checked]:
    """Yield the judgement of neighbours of calls that passed, until a few fail: more would be told alike, each asked again alone."""
    failed = 0
    for each in _asked(subject, task, calls):
        yield each
        failed += each.failed
        if failed == ENOUGH:
            return


def _asked(subject: Subject, task: Task, calls: Sequence[Checked]) -> Iterator[Checked]:
    """Yield the judgement of every neighbour, each between two of its call; of these only where they fail now.

    Of each name one is judged: the first to which the right answer to the call would be wrong; dear calls are asked for what is left.
    One whose arrays had to change with a parameter comes last: keys that know the arrays tell it apart. Where none is, since every call
    has conventions under which it makes no difference, the first one is asked under others.
    """
    told_apart, refuses = _ToldApart(task), "refusing" in subject.manners
    for each in sorted(calls, key=lambda one: _cost(operations()[task.operation], _call(one)) > PRODUCTS):
        asked = False
        for vector in told_apart.from_call(each):
            asked = True
            yield from _again(subject, task, each)
            yield vector_checks.check(subject, task, vector)
            cut = _cut(vector) if refuses else None
            if cut is not None:
                yield from _after_a_refusal(subject, task, each, vector, cut)
                refuses = False
        yield from _again(subject, task, each) if asked else ()
    for each, vector in told_apart.with_other_arrays():
        yield from _again(subject, task, each)
        yield vector_checks.check(subject, task, vector)
        yield from _again(subject, task, each)
    for told, (each, other) in told_apart.unseen.items():
        yield from _under_other_conventions(subject, task, told, each, other) if not told_apart.tries[told] else ()


@dataclass
class _ToldApart:
    """Neighbours to which the right answer to their call would be wrong, one of each name, and those that were looked at in vain."""

    task: Task
    tries: Counter[str] = field(default_factory=Counter)
    unseen: dict[str, tuple[Checked, Arguments]] = field(default_factory=dict)
    changed: dict[str, list[tuple[Checked, Arguments]]] = field(default_factory=lambda: defaultdict(list))

    def from_call(self, each: Checked) -> Iterator[Vector]:
        """Yield those of a call whose arrays are the call's where a parameter is another."""
        call, task = _call(each), self.task
        before = _right(task, call)
        if before is None:
            return
        inside, settled = task.descriptor.inside, partial(_settled, self.tries, call)
        for name, other in neighbours(operations()[task.operation], call, restrictions=inside, takes=task.takes, settled=settled):
            told = f"{name}{BEHIND}" if _seen_otherwise(call, other) is not None else f"{name}{_few(call, name)}"
            if other.parameters != call.parameters and call.with_parameters(**other.parameters).key != other.key:
                self.changed[told] += [(each, other)] if len(self.changed[told]) < TRIES else []
            else:
                yield from self._seen(each, (call, before), told, other)

    def with_other_arrays(self) -> Iterator[tuple[Checked, Vector]]:
        """Yield those, and what they are neighbours of, of which every one of their name has other arrays too."""
        for told, few in self.changed.items():
            for each, other in few:
                call = _call(each)
                before = None if self.tries[told] == TRIES else _right(self.task, call)
                if before is not None:
                    yield from ((each, vector) for vector in self._seen(each, (call, before), told, other))

    def _seen(self, each: Checked, call: Answered, told: str, other: Arguments) -> Iterator[Vector]:
        """Yield a neighbour that is seen to differ, after which no other of its name is."""
        found = None if self.tries[told] == TRIES else _right(self.task, other)
        if found is None:
            return
        if known.difference(found, call[1], self.task.dtype) <= SHOWS:
            self.unseen.setdefault(told, (each, other))
            return
        vector = _telling(self.task, f"{each.vector.id}-{told.replace(' ', '-')}", call, (other, found))
        self.tries[told] = self.tries[told] + 1 if vector is None else TRIES
        yield from [] if vector is None else [vector]


def _call(each: Checked) -> Arguments:
    return Arguments(each.vector.inputs, each.vector.parameters)


def _settled(tries: Mapping[str, int], call: Arguments, name: str) -> bool:
    """Whether no neighbour of a name is asked for any more, whatever its queries see."""
    masked = bool(call.parameters.get("causal")) and is_position(name.partition(" ")[0])
    return all(tries[told] == TRIES for told in (f"{name}{_few(call, name)}", f"{name}{BEHIND}")[: 1 + masked])


def _few(call: Arguments, name: str) -> str:
    """Return what is said beyond the name of a neighbour that moves few tokens: what is kept of these may have a key of its own."""
    moved = None if QUERIES in call.arrays else call.arrays.get(name.partition(" ")[0])
    return FEW if moved is not None and is_position(name.partition(" ")[0]) and moved.size <= FEWEST else ""


def _under_other_conventions(subject: Subject, task: Task, told: str, each: Checked, neighbour: Arguments) -> Iterator[Checked]:
    """Yield the judgement of a call and its neighbour under the first other convention that tells them apart."""
    operation, asked = operations()[task.operation], _call(each)
    for call, other in under_other_conventions(operation, asked, neighbour, restrictions=task.descriptor.inside, takes=task.takes):
        before, found = _right(task, call), _right(task, other)
        if before is None or found is None or known.difference(found, before, task.dtype) <= SHOWS:
            continue
        words = [f"{name}-{value}" for name, value in call.parameters.items() if value != asked.parameters[name]]
        identity = "-".join((each.vector.id, *words, told.replace(" ", "-")))
        first = _telling(task, f"{identity}-before", (other, found), (call, before))
        vector = _telling(task, identity, (call, before), (other, found))
        if first is not None and vector is not None:
            yield from (vector_checks.check(subject, task, one) for one in (first, vector, first))
            return


def passed(checked: Sequence[Checked]) -> list[Checked]:
    """Return the drawn calls that passed."""
    return [each for each in checked if isinstance(each.judgement.outcome, Passed) and each.vector.drawn]


def longest(checked: Sequence[Checked]) -> list[Checked]:
    """Return the small calls, those with the longest row of positions first: between its ends others can be exchanged."""
    return sorted((each for each in checked if not each.vector.at), key=_row, reverse=True)


def _row(each: Checked) -> int:
    return max((array.shape[-1] for name, array in each.vector.inputs.items() if is_position(name)), default=0)


def _again(subject: Subject, task: Task, each: Checked) -> Iterator[Checked]:
    """Make a call that passed once more, and yield its judgement where that fails."""
    again = vector_checks.check(subject, task, replace(each.vector, id=f"{each.vector.id}-again"))
    if again.failed:
        yield again


def _cut(vector: Vector) -> dict[str, np.ndarray] | None:
    """Return the arrays of a call without the last token of one, which nobody takes; nothing where none has several."""
    name = next((name for name, array in vector.inputs.items() if array.ndim == FULL and array.shape[-2] > 1), None)
    return None if name is None else {**vector.inputs, name: vector.inputs[name][..., :-1, :]}


def _after_a_refusal(subject: Subject, task: Task, each: Checked, vector: Vector, bad: Mapping[str, np.ndarray]) -> Iterator[Checked]:
    """Yield the judgement of a neighbour right after a bad call alike, which code must refuse that says it refuses."""
    yield from _again(subject, task, each)
    vector_checks.asked(subject, tuple(bad.values()), vector.parameters)
    after = replace(vector, id=f"{vector.id}-after-a-refusal", exposes="what a call leaves behind that is refused")
    yield vector_checks.check(subject, task, after)


def _right(task: Task, call: Arguments) -> Results | None:
    return known.answer(task.operation, known.unaltered(task), call.arrays, call.parameters)


def _telling(task: Task, identity: str, of: Answered, neighbour: Answered) -> Vector | None:
    """Return golden values of the elements that tell a neighbour from its call; none where the call's answer is right for them too."""
    (call, before), (other, found) = of, neighbour
    operation, seen = operations()[task.operation], _seen_otherwise(call, other)
    count = min(max(PRODUCTS // _cost(operation, other), 1), ELEMENTS)
    rows = {name for name, axes in operation.results.items() if axes.endswith(" key")}
    at = {name: _elements(values, before[name], count, seen, anchored=name in rows) for name, values in found.items()}
    try:
        words = "a cache that takes another call for it"
        vector = answers.golden(task.operation, other, identity=identity, exposes=words, profiles=(task.profile,), at=at)
    except answers.UnprovableError:
        return None
    return vector if known.convicted(vector, before, task) else None


def _cost(operation: Operation, call: Arguments) -> int:
    """Return how many products one element takes."""
    if "q" not in operation.arrays:
        return 1
    wide = int(call.parameters["dim"]) if projected(operation) else 1
    return int(call.arrays["q"].shape[-1]) * wide * (int(call.arrays["k"].shape[-2]) if weighs(operation) else 1)


def _elements(values: np.ndarray, before: np.ndarray, count: int, seen: np.ndarray | None, *, anchored: bool) -> np.ndarray:
    """Return where an answer differs from the one before, and queries see other keys: most, and in between; anchored if a row is free."""
    apart = np.ones(values.shape)
    if before.shape == values.shape:
        with np.errstate(all="ignore"):
            apart = np.nan_to_num(np.abs(values - before), nan=0.0, posinf=0.0) * (1.0 if seen is None else seen)
    ranked = np.argsort(-apart, axis=None, kind="stable")[: max(np.count_nonzero(apart), 1)]
    at = np.unique(ranked[np.linspace(0, ranked.size - 1, min(count, ranked.size)).astype(np.int64)])
    return sampling.with_anchors(at, values.shape[-1]) if anchored else at


def _seen_otherwise(call: Arguments, other: Arguments) -> np.ndarray | None:
    """Return which queries of which rows and heads see other keys; none where none does."""
    if not (call.parameters.get("causal") and other.parameters.get("causal")):
        return None
    hidden = [each.arrays[KEYS][..., None, :] > each.arrays[QUERIES][..., :, None] for each in (call, other)]
    changed = (hidden[0] != hidden[1]).any(axis=-1)[..., None]
    changed = changed[:, None] if changed.ndim == FULL - 1 else changed
    return changed if changed.any() else None
