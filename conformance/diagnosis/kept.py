"""Name what an implementation keeps between calls, or does to its arguments: what no single answer shows.

The same calls in the same order are put to every known habit of the operation, each as if in a fresh process. One is named only if it
gives every answer that came; how exactly, the implementation's own error says, where nothing had been called before.
"""

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from conformance.calls.outcomes import Diagnosis
from conformance.calls.subject import Reply
from conformance.diagnosis.candidates import results
from conformance.diagnosis.grading import ALLOWANCES
from conformance.diagnosis.seen import FAR
from conformance.judge.journal import Call
from conformance.judge.judge import half_ulp
from conformance.mutants.building import Function, right
from conformance.mutants.habits import HABITS
from conformance.spec.declarations import operations
from conformance.spec.profiles import FORMATS

#: How far, relative to the largest, numbers may be off where no right answer says how exact the implementation is.
COARSE = 2.0**-8
#: Of how many inputs together an earlier call's are looked for.
TOGETHER = 2


@dataclass(frozen=True)
class Asked:
    """One of several calls in a row, and what came back."""

    call: Call
    reply: Reply


@dataclass
class Keeping:
    """An operation that goes on with some inputs of its first call."""

    operation: str
    names: tuple[str, ...]
    first: dict[str, Any] = field(default_factory=dict)

    def __call__(self, *arrays: np.ndarray, **parameters: Any) -> Any:
        """Return the answer for the inputs of the first call, as far as they are kept."""
        own = {**dict(zip(operations()[self.operation].arrays, arrays, strict=True)), **parameters}
        kept = {name: self.first.setdefault(name, own[name]) for name in self.names}
        if any(np.shape(kept[name]) != np.shape(own[name]) for name in self.names):
            message = f"{', '.join(self.names)} must have the shape of the first call's"
            raise ValueError(message)
        given = {**own, **kept}
        first = [given.pop(name) for name in operations()[self.operation].arrays]
        return right(self.operation)(*first, **given)


def known(operation: str, law: str) -> bool:
    """Whether a habit of the operation is convicted by a law."""
    return any(habit.operation == operation and f"law:{law}" in habit.convicted_by for habit in HABITS.values())


def further(name: str, call: Call) -> Call | None:
    """Return one more call in the place of the last, which tells a habit from code that keeps whole answers, if there is one."""
    asks = HABITS[name].asks if name in HABITS else None
    return None if asks is None else Call(call.task, asks(dict(call.parameters)), call.parameters)


def gives(name: str, asked: Sequence[Asked], alone: Reply) -> bool:
    """Whether a habit gives every answer."""
    return _gives(HABITS[name].make, asked, _allowances(asked, alone))


def explain(asked: Sequence[Asked], alone: Reply, but: Collection[str] = ()) -> Diagnosis | None:
    """Return the habits that give every answer, else the inputs of the first call that the last answer is right for, or ``None``.

    ``alone`` is what the last call gives where nothing was called before; habits in ``but`` are known not to fit.
    """
    allowed = _allowances(asked, alone)
    if not any(_shows(one, allowed) for one in asked):
        return None
    operation = asked[-1].call.task.operation
    known_habits = [habit for habit in HABITS.values() if habit.operation == operation and habit.name not in but]
    fitting = [habit for habit in known_habits if _gives(habit.make, asked, allowed)]
    if fitting:
        first, *others = fitting
        also = tuple(habit.name for habit in others)
        return Diagnosis((first.name,), first.does, first.should, first.fix, first.threads, also)
    keeping = ((names, functools.partial(Keeping, operation, names)) for names in _inputs(asked))
    return next((_forgetful(names) for names, make in keeping if _gives(make, asked, allowed)), None)


def _inputs(asked: Sequence[Asked]) -> Iterator[tuple[str, ...]]:
    """Yield the inputs in which the first call differs from the last, one by one, two by two, then all."""
    first, last = (_named(each.call) for each in (asked[0], asked[-1]))
    names = [name for name, value in last.items() if not np.array_equal(np.asarray(first.get(name)), np.asarray(value))]
    for count in range(1, TOGETHER + 1):
        yield from combinations(names, count)
    if len(names) > TOGETHER:
        yield tuple(names)


def _named(call: Call) -> Mapping[str, object]:
    return {**dict(zip(operations()[call.task.operation].arrays, call.arrays, strict=True)), **call.parameters}


def _forgetful(names: Sequence[str]) -> Diagnosis:
    """Describe an answer that is right for inputs of an earlier call."""
    listed, left_out = " and ".join(names), "it" if len(names) == 1 else "them"
    described = f"after another call the answer is right for that call's {listed}, as if a cache's key lacked {left_out}"
    return Diagnosis((), "", "", "", kind="unknown", description=(described,))


def _gives(make: Callable[[], Function], asked: Sequence[Asked], allowed: Mapping[str, float]) -> bool:
    """Whether a fresh instance gives every answer, and leaves every input as it was left."""
    function = make()
    return all(_same(_answer(function, one.call), one.reply, allowed) for one in asked)


def _answer(function: Function, call: Call) -> tuple[Mapping[str, np.ndarray], tuple[str, ...]] | None:
    """Return results by name and which inputs were changed, or nothing where it can't answer."""
    arrays = [array.copy() for array in call.arrays]
    found = results(function, call.task.operation, arrays, call.parameters)
    named = zip(operations()[call.task.operation].arrays, arrays, call.arrays, strict=True)
    return None if found is None else (found, tuple(name for name, new, old in named if not np.array_equal(new, old)))


def _same(answer: tuple[Mapping[str, np.ndarray], tuple[str, ...]] | None, reply: Reply, allowed: Mapping[str, float]) -> bool:
    if answer is None or set(answer[1]) != set(reply.modified) or not answer[0].keys() <= reply.values.keys():
        return False
    return all(_near(values, reply.values[name], ALLOWANCES * allowed[name]) for name, values in answer[0].items())


def _shows(one: Asked, allowed: Mapping[str, float]) -> bool:
    """Whether an answer is wrong by more than ten times what it may be off by, or an input was changed."""
    answer = _answer(right(one.call.task.operation), one.call)
    if answer is None:
        return False
    return bool(one.reply.modified) or any(
        not _near(values, one.reply.values[name], FAR * allowed[name]) for name, values in answer[0].items() if name in one.reply.values
    )


def _allowances(asked: Sequence[Asked], alone: Reply) -> dict[str, float]:
    """Return what every result may be off by, as a share of its largest: as much as where nothing was called before, and a rounding."""
    clean = (asked[0], Asked(asked[-1].call, alone))
    return {name: max(_own(name, one) for one in clean) for name in operations()[asked[-1].call.task.operation].results}


def _own(name: str, one: Asked) -> float:
    answer, got = _answer(right(one.call.task.operation), one.call), one.reply.values.get(name)
    if answer is None or got is None or one.reply.dtypes.get(name) not in FORMATS:
        return 0.0
    largest = _largest(got)
    if got.shape != answer[0][name].shape or largest == 0:
        return COARSE
    return (_distance(answer[0][name], got) + float(half_ulp(np.asarray(largest), one.reply.dtypes[name]))) / largest


def _near(one: np.ndarray, other: np.ndarray, allowed: float) -> bool:
    return one.shape == other.shape and _distance(one, other) <= allowed * _largest(other)


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        difference = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, np.abs(one - other))
    return float(np.max(np.where(np.isnan(difference), np.inf, difference), initial=0.0))
