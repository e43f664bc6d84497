"""What became of a trial: whether the mistake was convicted, and whether the right one was named."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from conformance.calls.outcomes import Diagnosis
from conformance.calls.subject import Reply
from conformance.judge.judge import fails
from conformance.mutants.catalogue import MUTANTS
from conformance.spec.declarations import operations
from conformance.spec.mutant import Mutant
from conformance.spec.profiles import REQUIRED
from conformance.spec.vectors import Vector
from tools.accuracy.hidden import Exhibit, Function, Verdict, asked, judge, lowered, quietly
from tools.accuracy.trials import Trial

#: The kind of a mistake that no table knows.
HELD_OUT = "held out"
Results = Mapping[str, np.ndarray]
#: How many names a reader is ready to look at.
AMONG = 3
#: The allowances beyond which a number is wrong enough to tell one mistake from another.
ENOUGH = 10.0


class Answer(Enum):
    """What was said of a mistake."""

    PASSED = "shown by no vector, nor by a law where one was asked"
    RAISED = "convicted by exceptions alone"
    BY_LAW = "convicted by a law alone"
    SMALL = "wrong by too little to be named"
    FIRST = "named first"
    TOLD = "an equal named first, and said so"
    AMONG = "among three"
    LISTED = "further down"
    NOT_NAMED = "not named"
    ALSO = "misnamed, with others that also fit"
    MISNAMED = "misnamed"


#: The answers that are right: no vector could tell more.
RIGHT = (Answer.FIRST, Answer.TOLD)
#: The answers to what no vector shows by enough.
UNTOLD = (Answer.PASSED, Answer.RAISED, Answer.BY_LAW, Answer.SMALL)


@dataclass(frozen=True)
class Answered:
    """One trial and its answer, with the names that were given."""

    trial: Trial
    kind: str
    answer: Answer
    named: tuple[str, ...] = ()

    @property
    def scheme(self) -> str:
        """The scheme that the trial is about."""
        return self.trial.operation.split(".", 1)[0]

    @property
    def whose(self) -> str:
        """Whether the mistake is the scheme's own, or one that it inherits."""
        known = MUTANTS.get(self.trial.name)
        return "inherited" if known is not None and known.inherited else "own"


def answered(trial: Trial) -> Answered:
    """Put one known mistake to the harness, and compare what it says with what is hidden."""
    mutant = MUTANTS[trial.name]
    verdict = judge(Exhibit(trial.operation, trial.dtype, trial.declared, mutant.function), with_laws=not trial.declared, drawn=True)
    return Answered(trial, mutant.kind, _answer(trial, mutant, verdict), names(verdict.diagnosis))


def names(diagnosis: Diagnosis | None) -> tuple[str, ...]:
    """Return what was named, first the best."""
    if diagnosis is None or not diagnosis.mutants:
        return ()
    return (" + ".join(diagnosis.mutants), *diagnosis.also_fits)


def _answer(trial: Trial, mutant: Mutant, verdict: Verdict) -> Answer:
    if verdict.convicted_by is None:
        return Answer.PASSED
    said = names(verdict.diagnosis)
    if not said:
        return unnamed(verdict)
    if mutant.name not in said:
        return Answer.MISNAMED if len(said) == 1 else Answer.ALSO
    return _at(trial, said, said.index(mutant.name))


def unnamed(verdict: Verdict) -> Answer:
    """Return what became of a mistake that was convicted and not named."""
    if verdict.convicted_by is not None and verdict.convicted_by.startswith("law:"):
        return Answer.BY_LAW
    if verdict.ratio <= 1:
        return Answer.RAISED
    return Answer.SMALL if verdict.ratio <= ENOUGH else Answer.NOT_NAMED


def _at(trial: Trial, said: tuple[str, ...], place: int) -> Answer:
    if place == 0:
        return Answer.FIRST
    if said[0] in MUTANTS and inseparable(trial, MUTANTS[trial.name].function, MUTANTS[said[0]].function):
        return Answer.TOLD
    return Answer.AMONG if place < AMONG else Answer.LISTED


def inseparable(trial: Trial, one: Function, other: Function) -> bool:
    """Whether every vector that is asked would take what one function returns for what the other does."""
    vectors = asked(trial.operation, trial.declared)
    return all(_alike(trial.dtype, vector, results(one, vector), results(other, vector)) for vector in vectors)


def _alike(dtype: str, vector: Vector, one: Results | None, other: Results | None) -> bool:
    """Whether the one would pass for right if the other were; what is no number in both is the same."""
    if one is None or other is None:
        return one is other
    if any(one[name].shape != other[name].shape or np.any(np.isnan(one[name]) != np.isnan(other[name])) for name in one):
        return False
    one, other = ({name: np.nan_to_num(array, posinf=np.inf, neginf=-np.inf) for name, array in each.items()} for each in (one, other))
    dtypes = {name: "int64" if array.dtype.kind in "iu" else dtype for name, array in one.items()}
    reply = Reply({name: lowered(array, dtype) for name, array in one.items()}, dtypes)
    return not fails(replace(vector, expected=other), reply, dtype, REQUIRED[dtype])


def results(function: Function, vector: Vector) -> Results | None:
    """Return what a function gives for a vector, or nothing where it can't answer."""
    contract = operations()[vector.operation]
    try:
        value: Any = quietly(function)(*(vector.inputs[name] for name in contract.arrays), **vector.parameters)
    except (ValueError, IndexError, ArithmeticError):
        return None
    return dict(zip(contract.results, map(np.asarray, value if isinstance(value, tuple) else (value,)), strict=True))


def equals(operation: str, functions: Mapping[str, Function]) -> list[tuple[str, ...]]:
    """Return the groups of functions whose results agree on all vectors, within what is allowed at float32."""
    vectors = asked(operation, {})
    given = {name: [results(function, vector) for vector in vectors] for name, function in functions.items()}
    groups: list[list[str]] = []
    for name in functions:
        group = next((group for group in groups if _all_alike(vectors, given[name], given[group[0]])), None)
        groups.append([name]) if group is None else group.append(name)
    return [tuple(group) for group in groups if len(group) > 1]


def _all_alike(vectors: Sequence[Vector], one: Sequence[Results | None], other: Sequence[Results | None]) -> bool:
    return all(_alike("float32", vector, *pair) for vector, *pair in zip(vectors, one, other, strict=True))


def share(found: Iterable[Answered], answers: Iterable[Answer], *, without: Iterable[Answer] = UNTOLD) -> float:
    """Return which share got one of the answers, of all but those that got another; 1 where nothing is left."""
    wanted, left = set(answers), [each for each in found if each.answer not in set(without)]
    return sum(each.answer in wanted for each in left) / len(left) if left else 1.0


def missed(found: Iterable[Answered]) -> int:
    """Return how many that are shown by enough weren't named right first."""
    return sum(each.answer not in (*RIGHT, *UNTOLD) for each in found)
