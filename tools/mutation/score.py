"""Count what became of mutants."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tools.mutation.equivalents import Equivalent, Equivalents
from tools.mutation.judging import Verdict
from tools.mutation.plan import Mutant

SURVIVING = ("survived", "exact")


@dataclass(frozen=True)
class Trial:
    """A mutant, what the suite said, and why it may get away, if that is known."""

    mutant: Mutant
    verdict: Verdict
    known: Equivalent | None = None

    @property
    def kind(self) -> str:
        """What it counts as."""
        if self.known is None or self.verdict.kind not in SURVIVING:
            return self.verdict.kind
        return "unseen" if self.known.unseen else "equivalent"

    @property
    def survivor(self) -> bool:
        """Whether it got away and nobody knows why."""
        return self.kind in SURVIVING

    @property
    def disproved(self) -> bool:
        """Whether it is called equivalent and was convicted."""
        return self.known is not None and not self.known.unseen and self.verdict.kind in ("vector", "law")


@dataclass(frozen=True)
class Score:
    """The mutants of one scheme, or of all, counted."""

    name: str
    counts: Counter[str]

    @property
    def mistakes(self) -> int:
        """How many of them are mistakes."""
        return sum(self.counts[kind] for kind in ("vector", "law", "unseen", *SURVIVING))

    @property
    def survivors(self) -> int:
        """How many got away."""
        return sum(self.counts[kind] for kind in SURVIVING)

    def share(self, *kinds: str) -> float:
        """Return how many percent of the mistakes were convicted by these."""
        return 100 * sum(self.counts[kind] for kind in kinds) / max(self.mistakes, 1)


def trials(mutants: Sequence[Mutant], verdicts: Iterable[Verdict], known: Equivalents) -> list[Trial]:
    """Return every mutant with its verdict and, where there is one, what explains it."""
    return [Trial(mutant, verdict, known.of(mutant)) for mutant, verdict in zip(mutants, verdicts, strict=True)]


def scores(found: Sequence[Trial]) -> list[Score]:
    """Return the score of every scheme in the order of the trials, then of all together."""
    schemes = dict.fromkeys(trial.mutant.scheme for trial in found)
    each = [Score(name, Counter(trial.kind for trial in found if trial.mutant.scheme == name)) for name in schemes]
    return [*each, Score("all", Counter(trial.kind for trial in found))]


def by_kind(found: Sequence[Trial]) -> list[Score]:
    """Return the score of every kind of mistake; changes of the text of errors are a kind of their own."""
    kinds = sorted({_kind(trial) for trial in found})
    return [Score(kind, Counter(trial.kind for trial in found if _kind(trial) == kind)) for kind in kinds]


def _kind(trial: Trial) -> str:
    return "text of errors" if trial.mutant.mutation.place.told else trial.mutant.mutation.kind
