"""Judge every known mistake of an operation under one declaration, as a run would, and right code beside them."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

import numpy as np

from conformance.calls.outcomes import Errored, Evidence
from conformance.calls.subject import CallFailedError, Reply, Subject
from conformance.checks import golden_checks, vector_checks
from conformance.checks.evidence import gathered, known
from conformance.checks.evidence.gathered import Gathered
from conformance.checks.evidence.known import Answer
from conformance.checks.vector_checks import Checked
from conformance.judge.journal import Task
from conformance.judge.judge import half_ulp
from conformance.mutants import for_operation
from conformance.mutants.building import Function
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import operations
from conformance.spec.mutant import Mutant
from tools.accuracy.trials import conforms
from tools.narrow.declaring import Declaration

LEVEL = "core"
#: At what level large calls are made: the one that is small, since every mistake is put to it.
LARGE = "smoke"
#: In how many further calls, drawn by another seed, a mistake that passed is looked for; so many are judged by either measure.
FURTHER, ASKED = 100, 2
OTHER_SEED = 500_000


class Outcome(StrEnum):
    """What becomes of a known mistake under a declaration."""

    RIGHT = "declared"
    CONVICTED = "convicted"
    ALIKE = "shows nothing"
    UNNOTICED = "unnoticed"
    MISSED = "missed"
    SILENT = "silent"


@dataclass(frozen=True)
class Judged:
    """What became of every known mistake under one declaration, and of right code: its convictions, and why it was given no verdict."""

    declaration: Declaration
    outcomes: Mapping[str, Outcome]
    alarms: Sequence[str]
    missing: Sequence[str]

    @property
    def reasons(self) -> list[str]:
        """Why right code was given no verdict, without names and numbers."""
        return [re.sub(r"\d+", "N", re.split("[:;]", words)[0]) for words in self.missing]


def judge(declaration: Declaration) -> Judged:
    """Judge right code and every known mistake under a declaration; what is drawn and proven is the same for all."""
    task = declaration.task
    found = gather(task, declaration.seed)
    evidence = found.evidence()
    cases = sorted((one for one in found.checked if gathered.judged(one) and one.reply is not None), key=_size)
    outcomes = {mutant.name: outcome(task, mutant, cases, evidence) for mutant in for_operation(task.operation)}
    passed = [mutant for mutant in for_operation(task.operation) if outcomes[mutant.name] is Outcome.ALIKE]
    found_beside = list(missed(task, declaration.seed + OTHER_SEED, passed))
    outcomes |= at_real_sizes(task, declaration.seed, found_beside)
    return Judged(declaration, outcomes, list(alarms(found.checked)), evidence.missing)


def gather(task: Task, seed: int) -> Gathered:
    """Return what a run gathers of right code; of a mistake that passes it gathers the same."""
    right, found, stream = code(task), Gathered(task, LEVEL), golden_checks.drawn(task, seed)
    for checked in golden_checks.run(right, task, stream, enough=golden_checks.enough(task, LEVEL)):
        found.add(checked)
    for number, arguments in found.further(stream):
        found.add(golden_checks.check(right, task, golden_checks.name(task, number), arguments))
    for checked in golden_checks.at_real_sizes(right, task, seed, LARGE):
        found.add(checked)
    return found


def code(task: Task, function: Function | None = None) -> Subject:
    """Return code that computes a function, right code else, in float64, and rounds once."""

    def call(arrays: Sequence[np.ndarray], parameters: Mapping[str, object]) -> Reply:
        named = dict(zip(operations()[task.operation].arrays, arrays, strict=True))
        answer = known.answer(task.operation, function or known.unaltered(task), named, parameters)
        if answer is None:
            raise CallFailedError(Errored("no answer"))
        return known.reply(answer, task.dtype)

    return Subject(operations()[task.operation], task.dtype, task.profile, call, task.descriptor.restrictions, task.descriptor.takes)


def alarms(checked: Iterable[Checked]) -> Iterator[str]:
    """Yield the cases that convict right code."""
    yield from (f"{one.vector.id}: {one.judgement.outcome}" for one in checked if one.failed)


def outcome(task: Task, mutant: Mutant, cases: Iterable[Checked], evidence: Evidence) -> Outcome:
    """Return what becomes of one known mistake, by the cases of a run and by what its evidence says."""
    if any(convicts(task, mutant, case) for case in cases):
        return Outcome.CONVICTED
    if conforms(mutant, task.descriptor.restrictions):
        return Outcome.RIGHT
    name = mutant.name.split("/", 1)[-1]
    if name not in evidence.not_excluded:
        return Outcome.SILENT
    return Outcome.ALIKE if name in evidence.alike else Outcome.UNNOTICED


def convicts(task: Task, mutant: Mutant, case: Checked) -> bool:
    """Whether a case of a run convicts a mistake, judged as any code is."""
    came, seconds = vector_checks.asked(code(task, mutant.function), tuple(case.vector.inputs.values()), case.vector.parameters)
    return vector_checks.judged(task, case.vector, came, seconds).failed


def missed(task: Task, seed: int, passed: Sequence[Mutant]) -> Iterator[Mutant]:
    """Yield the mistakes, of those said to show nothing, that other calls inside the declaration convict."""
    right = known.unaltered(task)
    calls = [call for _, call in islice(golden_checks.drawn(task, seed), FURTHER if passed else 0)]
    answers = [known.answer(task.operation, right, call.arrays, call.parameters) for call in calls]
    for mutant in passed:
        others = [known.answer(task.operation, mutant.function, call.arrays, call.parameters) for call in calls]
        if any(_convicted(task, mutant, calls[index]) for index in _farthest(answers, others, task.dtype)):
            yield mutant


def at_real_sizes(task: Task, seed: int, mistakes: Sequence[Mutant]) -> dict[str, Outcome]:
    """Return which mistakes are convicted by the large calls of a run, and which remain missed."""
    convicted = {
        mutant.name
        for mutant in mistakes
        if any(one.failed for one in golden_checks.at_real_sizes(code(task, mutant.function), task, seed, LEVEL))
    }
    return {mutant.name: Outcome.CONVICTED if mutant.name in convicted else Outcome.MISSED for mutant in mistakes}


def _farthest(answers: Sequence[Answer], others: Sequence[Answer], dtype: str) -> Iterator[int]:
    """Yield which answers differ most from right ones: by the largest number of each, and by each number for itself."""
    for measure in (known.difference, each_for_itself):
        apart = [measure(other, answer, dtype) for answer, other in zip(answers, others, strict=True)]
        yield from (int(index) for index in np.argsort(apart)[::-1][:ASKED] if apart[index] > gathered.SHOWS)


def each_for_itself(found: Answer, expected: Answer, dtype: str) -> float:
    """Return how far an answer is from the right one, in half units in the last place of the number that is farthest off."""
    if found is None or expected is None or any(found[name].shape != expected[name].shape for name in expected):
        return math.inf
    with np.errstate(all="ignore"):
        apart = [np.abs(found[name] - right) / half_ulp(right, dtype) for name, right in expected.items()]
    return max((float(np.nan_to_num(each, nan=0.0, posinf=math.inf).max(initial=0.0)) for each in apart), default=0.0)


def _convicted(task: Task, mutant: Mutant, call: Arguments) -> bool:
    """Whether golden values convict a mistake by one call."""
    case = golden_checks.check(code(task), task, f"{task.operation}/beside", call)
    return gathered.judged(case) and convicts(task, mutant, case)


def _size(checked: Checked) -> int:
    return sum(array.size for array in checked.vector.inputs.values())
