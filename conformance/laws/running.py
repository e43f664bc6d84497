"""Put drawn examples to a subject, law by law, and report one finding each: drawing, comparing, shrinking and wording are done once."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import Phase, given
from hypothesis import seed as seeded
from hypothesis.errors import Unsatisfiable

from conformance.calls.outcomes import FATAL, Outcome, Reason
from conformance.calls.subject import Subject
from conformance.laws.examples import by_seed_alone, example_for, leaving_nothing, silent
from conformance.laws.judging import Check, Verdict, judge
from conformance.laws.shrinking import smallest
from conformance.laws.trial import Example, Patience, Trial
from conformance.spec.arguments import Arguments

#: After these there is nothing to compare.
UNUSABLE = (Reason.MALFORMED, Reason.SHAPE)

Call = tuple[tuple[np.ndarray, ...], Mapping[str, object]]


@dataclass(frozen=True)
class Finding:
    """What the examples said about one law.

    ``failure`` says in words what is broken, ``calls`` are the calls that show it, smallest first drawn, and ``replay``
    puts the same example to another subject and returns its ratio. ``outcome`` is set where a call gave no result.
    ``kind`` is ``None`` where nothing is broken, and where no example could be put; ``refused`` counts those that could not.
    """

    law: str
    examples: int
    worst: float
    farthest: int | None
    failure: str | None
    kind: Reason | None
    calls: tuple[Call, ...] = ()
    replay: Callable[[Subject], float] | None = None
    refused: int = 0
    outcome: Outcome | None = None
    drawing_seconds: float = 0.0


@dataclass
class Tally:
    """What the examples so far said about one law."""

    check: Check
    examples: int = 0
    refused: int = 0
    worst: float = 0.0
    farthest: int | None = None
    broken: "Counterexample | None" = None

    def count(self, trial: Trial, verdict: Verdict | None) -> None:
        """Add one example, with the calls that the law has just made of it; ``None`` means that it could not be put."""
        example = trial.example
        if verdict is None:
            self.refused += 1
            return
        self.examples += 1
        self.worst = max(self.worst, verdict.ratio)
        self.farthest = max((p for p in (self.farthest, example.arguments.farthest) if p is not None), default=None)
        if verdict.message is not None:
            self.broken = Counterexample(example, verdict, tuple(map(_call, trial.calls.values())))


@dataclass
class Clock:
    """How long checking took, so that drawing can be told apart."""

    checking: float = 0.0
    started: float = field(default_factory=time.perf_counter)

    def drawing(self) -> float:
        """Return the seconds that were not spent checking."""
        return time.perf_counter() - self.started - self.checking


def run_checks(
    subject: Subject, checks: Sequence[Check], *, examples: int, seed: int, patience: int = 0, shrink: bool = True
) -> Iterator[Finding]:
    """Put every example to all laws that are not broken yet, then shrink for each broken one unless nobody reads what it becomes."""
    tallies, clock = [Tally(check) for check in checks], Clock()
    _survey(subject, tallies, clock, Patience(patience), examples=examples, seed=seed)
    drawing = clock.drawing() / max(len(tallies), 1)
    fickle, small = _fickle(tallies), list[Example]()
    for tally in tallies:
        as_met = not shrink or (fickle and tally.check.reason is Reason.LAW)
        yield _finding(tally, drawing, tally.broken if as_met else _counterexample(subject, tally, small, examples=examples, seed=seed))


def once(subject: Subject, check: Check, example: Example) -> Finding:
    """Put one example to one law."""
    tally, trial = Tally(check), Trial(subject, example)
    tally.count(trial, judge(trial, check))
    return _finding(tally, 0.0, tally.broken)


def _fickle(tallies: Sequence[Tally]) -> bool:
    """Whether the same call does not always give the same: then nothing else can be shrunk."""
    return any(tally.broken and tally.broken.verdict.reason in (Reason.HISTORY, Reason.NOT_DETERMINISTIC) for tally in tallies)


def _survey(subject: Subject, tallies: Sequence[Tally], clock: Clock, patience: Patience, *, examples: int, seed: int) -> None:
    @seeded(seed)
    @silent(examples, Phase.generate)
    @given(example_for(subject))
    def put(example: Example) -> None:
        begun = time.perf_counter()
        trial = Trial(subject, example, patience)
        for tally in tallies:
            if _ended(tallies):
                break
            if tally.broken is None:
                tally.count(trial, _told_once(judge(trial, tally.check), tallies))
        clock.checking += time.perf_counter() - begun

    with by_seed_alone(), leaving_nothing(), contextlib.suppress(Unsatisfiable):  # where nothing can be drawn, no law has an example
        put()


def _ended(tallies: Sequence[Tally]) -> bool:
    """Whether it makes no sense to go on: after a crash or time-out, and where another shape leaves nothing to compare."""
    verdicts = [tally.broken.verdict for tally in tallies if tally.broken]
    return any(isinstance(verdict.outcome, FATAL) or verdict.reason in UNUSABLE for verdict in verdicts)


def _told_once(verdict: Verdict | None, tallies: Sequence[Tally]) -> Verdict | None:
    """Return the verdict; ``None`` for another call without a result where one was told already."""
    told = any(tally.broken.verdict.outcome for tally in tallies if tally.broken)
    return None if told and verdict is not None and verdict.outcome is not None else verdict


@dataclass(frozen=True)
class Counterexample:
    """What breaks a law, and the calls that show it."""

    example: Example
    verdict: Verdict
    calls: tuple[Call, ...]


def _counterexample(subject: Subject, tally: Tally, small: list[Example], *, examples: int, seed: int) -> Counterexample | None:
    """Return a small counterexample, and keep it for the other laws; the one that was met where calls fail or don't repeat."""
    if tally.broken is None or tally.broken.verdict.outcome is not None:
        return tally.broken
    with by_seed_alone(), leaving_nothing():
        example = smallest(subject, tally.check, tally.broken.example, small, examples=examples, seed=seed)
    trial = Trial(subject, example)
    again = judge(trial, tally.check)
    if again is None or again.message is None:
        return tally.broken
    small.append(example)
    return Counterexample(example, again, tuple(_call(arguments) for arguments in trial.calls.values()))


def _call(arguments: Arguments) -> Call:
    return tuple(arguments.arrays.values()), arguments.parameters


def _finding(tally: Tally, drawing: float, counter: Counterexample | None) -> Finding:
    name, count, worst, farthest = tally.check.name, tally.examples, tally.worst, tally.farthest
    if counter is None:
        return Finding(name, count, worst, farthest, None, None, refused=tally.refused, drawing_seconds=drawing)
    verdict, replay = counter.verdict, _replay(counter.example, tally.check)
    told = (verdict.message, verdict.reason, counter.calls, replay, tally.refused, verdict.outcome, drawing)
    return Finding(name, count, worst, farthest, *told)


def _replay(example: Example, check: Check) -> Callable[[Subject], float]:
    """Return what puts the example to another subject: its ratio, or 0 where that one refuses it."""

    def again(subject: Subject) -> float:
        verdict = judge(Trial(subject, example, Patience(1)), check)
        return 0.0 if verdict is None else verdict.ratio

    return again
