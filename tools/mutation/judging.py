"""Judge one mutation with the suite itself: the operation's vectors, then its laws."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import Phase, given
from hypothesis import seed as seeded

from conformance import laws
from conformance.calls.subject import CallFailedError, Subject
from conformance.checks.law_checks import declared
from conformance.judge.judge import exact_in, fails
from conformance.laws.examples import by_seed_alone, example_for, silent
from conformance.laws.judging import Check, judge
from conformance.laws.trial import Example, Trial
from conformance.spec.vectors import Vector

#: What level core puts to every law.
EXAMPLES = 20
SEED = 0


@dataclass(frozen=True)
class Verdict:
    """What became of a mutation: by which vector or law it was convicted, if any."""

    kind: str
    by: str = ""


SURVIVED = Verdict("survived")
#: No good vector gets a result, and nothing that is refused: no mistake that anybody could ship.
STILLBORN = Verdict("stillborn")
#: A rounding that no number passes, or only whole ones that float32 holds.
UNTOUCHED = Verdict("untouched")
#: A rounding of numbers which the narrower format holds, every one that the suite sends there.
EXACT = Verdict("exact")


class _BrokenError(Exception):
    """A law is broken."""


def by_vectors(trials: Sequence[tuple[Subject, Vector]]) -> Verdict:
    """Return the first vector that convicts, unless nothing gets a result or is refused as it must be."""
    first, alive = "", False
    for subject, vector in trials:
        wrong, answered = _judged(subject, vector)
        alive, first = alive or answered, first or (vector.id if wrong else "")
        if first and alive:
            return Verdict("vector", first)
    return STILLBORN if first else SURVIVED


def _judged(subject: Subject, vector: Vector) -> tuple[bool, bool]:
    """Return whether a vector convicts, and whether it got an answer."""
    if vector.error is None and not exact_in(vector, subject.dtype):
        return False, False
    try:
        reply = subject.call(tuple(vector.inputs.values()), vector.parameters)
    except CallFailedError as failure:
        refused = vector.error is not None and vector.error in str(failure)
        return not refused, refused
    return vector.error is not None or fails(vector, reply, subject.dtype, subject.profile), True


def by_laws(subject: Subject) -> Verdict:
    """Return the first law that convicts on the examples of level core; none is made smaller, since only the verdict counts."""
    found: list[str] = []

    def put(example: Example) -> None:
        trial = Trial(subject, example)
        broken = next((check.name for check in checks if _breaks(trial, check)), None)
        if broken is not None:
            found.append(broken)
            raise _BrokenError

    checks = laws.checks(subject.operation, declared(subject.operation.name))
    _survey(subject, put)
    return Verdict("law", found[0]) if found else SURVIVED


def _breaks(trial: Trial, check: Check) -> bool:
    verdict = judge(trial, check)
    return verdict is not None and verdict.message is not None


def _survey(subject: Subject, put: Callable[[Example], None]) -> None:
    with by_seed_alone():
        try:
            seeded(SEED)(silent(EXAMPLES, Phase.generate)(given(example_for(subject))(put)))()
        except _BrokenError:
            return
