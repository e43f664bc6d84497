"""Put what goes wrong between calls to the harness as users do: in a worker of its own, by vectors, laws and what is asked again."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from conformance import run
from conformance.calls.outcomes import Report
from conformance.mutants.habits import HABITS
from tools.accuracy.answers import AMONG, Answer, Answered, names
from tools.accuracy.trials import DTYPES, Trial

KIND = "between calls"
ADAPTER = """\
from conformance.adapt.adapter import Adapter
from conformance.mutants.habits import HABITS

adapter = Adapter("hidden", dtypes=({dtype!r},))
for number, name in enumerate({names!r}):
    adapter.implements(HABITS[name].operation, label=f"hidden {{number}}")(HABITS[name].make())
"""


def trials(operations: Sequence[str]) -> list[Trial]:
    """Return every habit of some operations in every dtype."""
    return [Trial(habit.name, habit.operation, dtype) for dtype in DTYPES for habit in HABITS.values() if habit.operation in operations]


def answered(wanted: Sequence[Trial]) -> list[Answered]:
    """Judge all habits of one dtype in one run, and compare what it says with what is hidden."""
    found = []
    with tempfile.TemporaryDirectory() as directory:
        for dtype in dict.fromkeys(trial.dtype for trial in wanted):
            own = [trial for trial in wanted if trial.dtype == dtype]
            target = Path(directory) / f"hidden_{dtype}.py"
            target.write_text(ADAPTER.format(dtype=dtype, names=[trial.name for trial in own]), encoding="utf-8")
            report = run.check(str(target), level="smoke")
            found += [_answered(trial, f"hidden {number}", report) for number, trial in enumerate(own)]
    return found


def _answered(trial: Trial, label: str, report: Report) -> Answered:
    said = names(report.diagnoses.get(f"{label}:{trial.operation}:{trial.dtype}"))
    convicted = any(result.convicts for result in report.results if result.implementation == label)
    return Answered(trial, KIND, _answer(trial.name, said) if convicted else Answer.PASSED, said)


def _answer(name: str, said: Sequence[str]) -> Answer:
    if not said:
        return Answer.NOT_NAMED
    if name not in said:
        return Answer.MISNAMED if len(said) == 1 else Answer.ALSO
    place = said.index(name)
    return Answer.FIRST if place == 0 else Answer.AMONG if place < AMONG else Answer.LISTED
