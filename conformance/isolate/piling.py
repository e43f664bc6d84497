"""Tell memory that piles up over unlike calls, as tables for every width do, from a leak, to which the same call adds each time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from conformance.calls.limits import MIB
from conformance.calls.outcomes import Outcome
from conformance.calls.subject import CallFailedError


class Holder(Protocol):
    """A session, which says how many bytes its worker holds."""

    def held(self) -> float:
        """Return the bytes."""


#: Makes a call once more, by another session or the same one.
Again = Callable[[Holder], object]
#: How often a call is made again: a leak adds each time at least half of what a call of the pile added on average.
TIMES = 3


@dataclass(frozen=True)
class Pile:
    """What a worker held for unlike calls of one implementation: bytes, calls, and unlike settings of parameters among these."""

    size: float
    calls: int
    settings: int

    def words(self) -> str:
        """Return what is to be known of it."""
        calls = f"{self.calls:,} call{'s' * (self.calls > 1)} with {self.settings:,} setting{'s' * (self.settings > 1)} of parameters"
        return f"keeps memory of unlike calls: {int(self.size) // MIB:,} MiB after {calls}; the same call again adds nothing"


@dataclass
class Ledger:
    """What one worker was asked by one implementation since it held so many bytes: how often, what last, and what added most.

    ``unanswered`` says what came where one of these, made again, had no answer.
    """

    held: float
    first: float = field(init=False)
    added: float = -1
    settings: set[str] = field(default_factory=set)
    calls: int = 0
    last: Again | None = None
    most: Again | None = None
    leaks: bool = False
    unanswered: Outcome | None = None

    def __post_init__(self) -> None:
        """Begin with what is held."""
        self.first = self.held

    def asks(self, again: Again, said: Mapping[str, object]) -> None:
        """Write down a call, by what is said of it."""
        self.calls += 1
        self.settings.add(repr(said.get("parameters")))
        self.last = again

    def answered(self, held: float) -> None:
        """Write down that the worker holds so many bytes after the call."""
        if held - self.held > self.added:
            self.most, self.added = self.last, held - self.held
        self.held = held

    @property
    def pile(self) -> Pile:
        """What was asked, as a pile of what was added."""
        return Pile(self.held - self.first, self.calls, len(self.settings))

    def piled(self, holder: Holder, limit: int) -> bool:
        """Whether memory is that of unlike calls: the last one, and what added most, add little where a fresh worker makes them again."""
        least = (min(limit, self.held) - self.first) / self.calls / 2
        every = [again for again in (self.most, self.last) if again is not None]
        try:
            for again in every:
                again(holder)
            return not any(_adds(again, holder, least) for again in every)
        except CallFailedError as failure:
            self.unanswered = failure.outcome
            return False


def _adds(again: Again, holder: Holder, least: float) -> bool:
    """Whether a call that was made adds so many bytes each time that it is made again."""
    for _ in range(TIMES):
        before = holder.held()
        again(holder)
        if holder.held() - before < least:
            return False
    return True
