"""Gather what the drawn golden cases of one task show, and look for calls that show the mistakes which none of them has shown yet.

A run does, for every task::

    gathered = Gathered(task, level)
    for checked in golden_checks.run(...):          # every drawn and large case, whatever came of it
        gathered.add(checked)
    for number, arguments in gathered.further(stream):  # the rest of ``golden_checks.drawn``
        gathered.add(golden_checks.check(subject, task, name(task, number), arguments))
    evidence = gathered.evidence()
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from conformance.calls.outcomes import Evidence, Failed, Passed, Unsupported
from conformance.checks.evidence import known
from conformance.checks.evidence.covered import covered, left_out
from conformance.checks.evidence.enough import missing
from conformance.checks.evidence.known import Answer
from conformance.checks.vector_checks import Checked
from conformance.judge.journal import Task
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import operations
from conformance.spec.mutant import Mutant

#: Among how many further calls those are looked for that show a mistake.
LOOK = {"smoke": 24, "core": 72, "full": 72}
#: How many of them are judged for one mistake, and for all together.
TRIES = 3
MOST = 12
#: How many numbers a case may take, and give, that mistakes are run on: few positions make a large bias, which costs more than it shows.
CHEAP, GIVEN = 1 << 20, 1 << 20
#: A difference of fewer half units in the last place than this is none: that much every rounding makes.
SHOWS = 2.0

Numbered = tuple[int, Arguments]
Looked = Sequence[tuple[Numbered, Answer]]


class Gathered:
    """What drawn golden cases have shown of one implementation at one dtype."""

    def __init__(self, task: Task, level: str) -> None:
        """Start with nothing; the mistakes are those of an implementation's first dtype, which has most cases."""
        self.task = task
        self.level = level
        self.checked: list[Checked] = []
        self.open: dict[str, Mutant] = {mutant.name: mutant for mutant in known.mistakes(task)} if task.first else {}
        self.excluded: list[str] = []
        self.unnoticed: set[str] = set()
        self.exhausted = False
        self.ended = ""  # why not all is asked: then that is missing, which no declaration changes
        self._seen = 0

    def add(self, checked: Checked) -> None:
        """Take one drawn case, whatever came of it."""
        self.checked.append(checked)

    def further(self, stream: Iterator[Numbered]) -> Iterator[Numbered]:
        """Yield calls that show a mistake which is not excluded yet; each is to be judged and added before the next is asked for."""
        self._exclude()
        wanted = LOOK[self.level] if self.open else 1
        calls = list(islice(stream, wanted))
        self.exhausted = len(calls) < wanted
        looked = self._looked_at(calls) if self.open else []
        came: dict[int, Checked | None] = {}
        for mutant in list(self.open.values()):
            showing = self._showing(mutant, looked)
            for call in showing:
                if mutant.name in self.open and call[0] not in came and len(came) < MOST:
                    yield call
                    came[call[0]] = self.checked[-1]
                    self._exclude()
            if mutant.name in self.open and any(_hides(came.get(number)) for number, _ in showing):
                self.unnoticed.add(mutant.name)

    def evidence(self) -> Evidence:
        """Return what the verdict on this task rests on."""
        self._exclude()
        self._look_at_refused()
        golden = [checked for checked in self.checked if judged(checked)]
        refused = [checked for checked in self.checked if raised(checked)]
        evidence = Evidence(
            *(self.task.descriptor.label, self.task.operation, self.task.dtype),
            golden=len(golden),
            values=sum(array.size for checked in golden for array in (checked.vector.expected or {}).values()),
            refused=len(refused),
            excluded=tuple(name.split("/", 1)[-1] for name in self.excluded),
            not_excluded=tuple(name.split("/", 1)[-1] for name in self.open),
            alike=tuple(name.split("/", 1)[-1] for name in self.open if name not in self.unnoticed),
            covered=covered(operations()[self.task.operation], [checked.vector for checked in golden]),
            left_out=left_out(operations()[self.task.operation], self.task.descriptor.inside, [checked.vector for checked in golden]),
        )
        if self.ended:  # nothing was looked for that shows the others
            return replace(evidence, missing=(self.ended,), alike=())
        return missing(self.task, evidence, self.checked, self.level, exhausted=self.exhausted)

    def _exclude(self) -> None:
        """Ask of every mistake that is left whether a golden case convicts it: of small cases first, which convict most."""
        fresh = [checked for checked in self.checked[self._seen :] if judged(checked) and _cheap(checked)]
        self._seen = len(self.checked)
        for checked in sorted(fresh, key=_size):
            for mutant in list(self.open.values()):
                vector = checked.vector
                found = known.answer(mutant.operation, mutant.function, vector.inputs, vector.parameters)
                if known.convicted(vector, found, self.task):
                    self.excluded.append(mutant.name)
                    del self.open[mutant.name]

    def _look_at_refused(self) -> None:
        """Take no mistake for one that shows nothing within the declaration which shows in calls that the code refused there."""
        calls = [Arguments(each.vector.inputs, each.vector.parameters) for each in self.checked if raised(each) and _cheap(each)]
        looked = self._looked_at(list(enumerate(calls[:MOST])))
        self.unnoticed.update(name for name, mutant in self.open.items() if self._showing(mutant, looked))

    def _looked_at(self, calls: Sequence[Numbered]) -> Looked:
        right = known.unaltered(self.task)
        return [(call, known.answer(self.task.operation, right, call[1].arrays, call[1].parameters)) for call in calls]

    def _showing(self, mutant: Mutant, looked: Looked) -> list[Numbered]:
        """Return the few calls at which a mistake differs most from right code."""
        apart = [(known.difference(self._answer(mutant, call), right, self.task.dtype), call) for call, right in looked]
        return [call for _, call in sorted((each for each in apart if each[0] > SHOWS), key=lambda each: -each[0])[:TRIES]]

    def _answer(self, mutant: Mutant, call: Numbered) -> Answer:
        return known.answer(mutant.operation, mutant.function, call[1].arrays, call[1].parameters)


def judged(checked: Checked) -> bool:
    """Whether golden values have judged the case."""
    return isinstance(checked.judgement.outcome, Passed | Failed) and checked.vector.expected is not None


def raised(checked: Checked) -> bool:
    """Whether the code refused the call, inside its declaration."""
    return isinstance(checked.judgement.outcome, Unsupported) and checked.judgement.outcome.raised


def _hides(checked: Checked | None) -> bool:
    """Whether a mistake could hide behind a case that shows it: one that wasn't called, or that the code refused inside its declaration."""
    return checked is None or raised(checked)


def _size(checked: Checked) -> int:
    return sum(array.size for array in checked.vector.inputs.values())


def _cheap(checked: Checked) -> bool:
    """Whether mistakes can be run on a case; where only some elements are judged, its results are still computed whole."""
    whole = checked.vector.shapes or {name: array.shape for name, array in (checked.vector.expected or {}).items()}
    return _size(checked) <= CHEAP and sum(map(math.prod, whole.values())) <= GIVEN
