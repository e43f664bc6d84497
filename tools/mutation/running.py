"""Put every mutant on trial in a process of its own, which may neither take long nor take much."""

import json
import os
import resource
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import psutil

from conformance.calls.subject import Subject
from conformance.spec.vectors import Vector
from tools.mutation.equivalents import Equivalents
from tools.mutation.judging import EXACT, STILLBORN, SURVIVED, UNTOUCHED, Verdict, by_laws, by_vectors
from tools.mutation.plan import Mutant
from tools.mutation.specimen import Specimen, StillbornError

#: What a child may take beyond what the process that it copies has.
MEMORY = 4 << 30
#: How many good vectors of each operation suffice to show that an explained mutant of what all share does no harm.
FEW = 3
#: How many mutants one copy of this process judges.
TOGETHER = 50
ENDLESS = Verdict("vector", "never ends, or needs too much memory")


@dataclass(frozen=True)
class Court:
    """What mutants are judged with, and how many seconds of computing an operation gets; what ends takes less than a fifth.

    Laws are asked only where vectors don't convict and nobody knows why.
    """

    specimen: Specimen
    vectors: Mapping[str, Sequence[Vector]]
    known: Equivalents
    vector_seconds: int = 2
    law_seconds: int = 40

    def judged(self, mutant: Mutant, limit: Callable[[int], None]) -> Verdict:
        """Change the specimen, and return what the suite says; ``limit`` is told how many seconds the next step may take."""
        try:
            with self.specimen.changed(mutant.mutation):
                return self._verdict(mutant, limit)
        except StillbornError:
            return STILLBORN

    def _verdict(self, mutant: Mutant, limit: Callable[[int], None]) -> Verdict:
        limit(self.vector_seconds * len(mutant.operations))
        subjects = [self.specimen.subject(name, mutant.dtype) for name in mutant.operations]
        verdict = by_vectors(list(self._trials(mutant, subjects)))
        if verdict == SURVIVED and self.known.of(mutant) is None and (mutant.mutation.narrows is None or self.specimen.rounding.changed):
            limit(self.law_seconds * len(mutant.operations))
            verdict = self._by_laws(subjects)
        return self._unchanged(verdict) if mutant.mutation.narrows else verdict

    def _unchanged(self, verdict: Verdict) -> Verdict:
        """Return a verdict on a rounding; one that altered nothing is told apart."""
        if verdict != SURVIVED or self.specimen.rounding.changed:
            return verdict
        return EXACT if self.specimen.rounding.met else UNTOUCHED

    def _by_laws(self, subjects: Sequence[Subject]) -> Verdict:
        verdicts = (by_laws(subject) for subject in subjects)
        return next((verdict for verdict in verdicts if verdict != SURVIVED), SURVIVED)

    def _trials(self, mutant: Mutant, subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Vector]]:
        """Yield every vector; bad input first where many operations share what is changed, since it convicts most of them."""
        trials = [(subject, vector) for subject in subjects for vector in self.vectors[subject.operation.name]]
        if len(subjects) == 1:
            yield from trials
            return
        yield from ((subject, vector) for subject, vector in trials if vector.error is not None)
        yield from self._good(subjects, FEW if self.known.of(mutant) else None)

    def _good(self, subjects: Sequence[Subject], most: int | None) -> Iterator[tuple[Subject, Vector]]:
        for subject in subjects:
            good = [vector for vector in self.vectors[subject.operation.name] if vector.error is None]
            yield from ((subject, vector) for vector in good[:most])


def verdicts(court: Court, mutants: Sequence[Mutant], *, jobs: int) -> Iterator[Verdict]:
    """Yield what became of each mutant, in order."""
    waiting: deque[Session] = deque()
    for start in range(0, len(mutants), TOGETHER):
        waiting.append(_opened(court, mutants[start : start + TOGETHER]))
        if len(waiting) >= jobs:
            yield from _closed(court, waiting.popleft())
    for session in waiting:
        yield from _closed(court, session)


@dataclass(frozen=True)
class Session:
    """Mutants that a copy of this process judges, and where their verdicts can be read."""

    mutants: Sequence[Mutant]
    child: int
    reading: int


def _opened(court: Court, mutants: Sequence[Mutant]) -> Session:
    reading, writing = os.pipe()
    # A library with threads of its own warns at a fork; the child runs nothing but NumPy.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        _answer(court, mutants, writing)
    os.close(writing)
    return Session(mutants, child, reading)


def _answer(court: Court, mutants: Sequence[Mutant], writing: int) -> None:
    status = 1
    try:
        most = psutil.Process().memory_info().vms + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        for mutant in mutants:
            os.write(writing, json.dumps(asdict(court.judged(mutant, _limit))).encode() + b"\n")
        status = 0
    finally:
        os._exit(status)


def _limit(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, resource.RLIM_INFINITY))


def _closed(court: Court, session: Session) -> Iterator[Verdict]:
    """Yield a session's verdicts; where it died, the mutant in the dock is endless, and a new session judges the rest."""
    with os.fdopen(session.reading, "rb") as channel:
        told = channel.read().splitlines()
    os.waitpid(session.child, 0)
    yield from (Verdict(**json.loads(line)) for line in told)
    if len(told) < len(session.mutants):
        yield ENDLESS
        rest = session.mutants[len(told) + 1 :]
        yield from _closed(court, _opened(court, rest))
