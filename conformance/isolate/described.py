"""What workers of one target say of it, and what its sessions share of that."""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from conformance.calls.outcomes import FATAL, Crashed, Exhausted, Outcome, TimedOut
from conformance.calls.takes import WHEN, Takes
from conformance.isolate import environment
from conformance.isolate.piling import Pile
from conformance.spec.choices import filled

if TYPE_CHECKING:
    from conformance.isolate.session import Session


@dataclass(frozen=True)
class Descriptor:
    """One implementation as its worker describes it, with the ``call`` and the order of ``axes`` that it declares."""

    index: int
    label: str
    operation: str
    dtypes: tuple[str, ...]
    profile: Mapping[str, str]
    takes: Takes
    modifies_inputs: bool
    restrictions: Mapping[str, object]
    takes_dtype: bool
    axes: str = ""
    call: str = ""
    admits: Callable[[Mapping[str, object]], bool] | None = field(default=None, compare=False, repr=False)

    @property
    def inside(self) -> Mapping[str, object]:
        """What parameters are drawn from: the restrictions, the head that they fill, and what asks its predicates where it has some."""
        declared = {**filled(self.restrictions), **self.restrictions}
        return declared if self.admits is None else {**declared, WHEN: self.admits}


@dataclass
class Kin:
    """What the sessions of one target share: what its worker first said of itself, who they are, whether only one worker can run.

    ``failed`` says why each of the last starts in a row under a hash seed gave no worker; ``reached`` who imported or opened what holds
    right answers; ``missed`` which variables code asked for that are withheld from it; ``early`` what a program did once before it was
    asked anything, ``patient`` that one waited then until it was asked; ``leaves`` whether all workers that were to end by themselves did
    so in time; ``piles`` what of memory piled up over unlike calls, by implementation and dtype; ``lost`` which calls ended a worker, or
    came too late, and how, whoever asked and whatever became of it; ``restarts`` how often a worker started only when that was tried
    again, by the reason.
    """

    about: Mapping[str, Any] = field(default_factory=dict)
    sessions: "WeakSet[Session]" = field(default_factory=WeakSet)
    one_at_a_time: bool = False
    failed: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    restarts: Counter[str] = field(default_factory=Counter)
    reached: dict[str, None] = field(default_factory=dict)
    missed: dict[str, None] = field(default_factory=dict)
    early: dict[str, None] = field(default_factory=dict)
    patient: bool = False
    leaves: bool = True
    piles: dict[tuple[int, str], Pile] = field(default_factory=dict)
    lost: defaultdict[tuple[int, str], dict[str, Crashed | TimedOut | Exhausted]] = field(default_factory=lambda: defaultdict(dict))

    def lose(self, index: int, dtype: str, call: str, came: Outcome) -> None:
        """Keep what a call came to where that ended its worker."""
        if isinstance(came, FATAL) and not (isinstance(came, Crashed) and came.unstarted):
            self.lost[index, dtype].setdefault(call, came)

    def reach(self, who: str, words: Sequence[str]) -> None:
        """Keep what a worker says that somebody reached."""
        self.reached.update(dict.fromkeys(f"{who} {each}" for each in words))

    def miss(self, sought: Collection[str], said: str = "") -> None:
        """Keep which variables are withheld of those that a worker asked for, or names where it fails."""
        self.missed.update(dict.fromkeys(environment.missed(os.environ, sought, said)))


def offered(about: Mapping[str, Any]) -> list[Any]:
    """Return what a worker says that it offers; one that identifies a function offers nothing."""
    return list(about.get("implementations", ()))


def in_order(about: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a worker says of itself, whatever the order of its implementations, which a set may have given."""
    return {**about, "implementations": sorted(offered(about), key=repr)}


def unlike(first: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return in words what of itself a worker tells otherwise than the first one did."""
    names = [name for name in {**first, **now} if first.get(name) != now.get(name)]
    return f"a difference in {', '.join(names)}"
