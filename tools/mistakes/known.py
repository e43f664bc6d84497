"""The distinct mistakes of each scheme: what several operations or two half formats share is one."""

import functools
import re
from collections.abc import Mapping, Sequence

from conformance.mutants.catalogue import about
from conformance.mutants.told import Told, told
from conformance.spec.mutant import Habit, Mutant, slug
from refimpl.schemes import SCHEMES
from tools.convictions import laws, lock

FORMAT = re.compile(r"\bb?float16\b")
EITHER = "bfloat16 or float16"
REPORTED = re.compile(r"reported for [\w ]+")


class Mistake(Told):
    """One mistake of one scheme: what it does, who met it, and what convicts it."""

    @property
    def first(self) -> Mutant | Habit:
        """What the words are taken from."""
        return self.shown[0]

    @property
    def kind(self) -> str:
        """``convention``, ``mistake``, ``precision`` or ``habit``."""
        return self.first.kind if isinstance(self.first, Mutant) else "habit"

    @property
    def inherited(self) -> bool:
        """Whether it befalls every scheme of a form, or whatever takes positions."""
        return all(isinstance(each, Mutant) and each.inherited for each in self.shown)

    @property
    def forced(self) -> bool:
        """Whether it is a choice of a parameter, which an adapter can declare."""
        return isinstance(self.first, Mutant) and bool(self.first.forces)

    @property
    def names(self) -> tuple[str, ...]:
        """Return ``scheme/slug`` for every slug that it has."""
        return tuple(dict.fromkeys(f"{self.scheme}/{slug(each.name)}" for each in self.shown))

    @property
    def does(self) -> tuple[str, ...]:
        """Return what it does; what differs by the half format only is said once."""
        said: dict[str, list[str]] = {}
        for each in self.shown:
            said.setdefault(FORMAT.sub(EITHER, each.does), []).append(each.does)
        return tuple(general if len(set(every)) > 1 else every[0] for general, every in said.items())

    @property
    def threads(self) -> tuple[str, ...]:
        """Return the public threads where people met it."""
        return tuple(dict.fromkeys(thread for each in self.shown for thread in each.threads))

    @property
    def own_threads(self) -> tuple[str, ...]:
        """Return those of them in which code of this very scheme was at fault."""
        return tuple(thread for thread in self.threads if about(thread) in ("", self.scheme))

    @property
    def elsewhere(self) -> "Mistake | None":
        """Return this mistake of another scheme where it was reported for that one only."""
        return _reported().get(self.title) if not self.threads and any(map(REPORTED.match, self.origins)) else None

    @property
    def origins(self) -> tuple[str, ...]:
        """Return where it comes from beside, or instead of, a thread."""
        return tuple(dict.fromkeys(each.origin for each in self.shown if each.origin))

    @property
    def cases(self) -> tuple[str, ...]:
        """Return the cases that convict it."""
        return tuple(dict.fromkeys(_cases()[each.name] for each in self.shown if each.name in _cases()))

    @property
    def laws(self) -> tuple[str, ...]:
        """Return the laws that convict it."""
        return tuple(dict.fromkeys(law for each in self.shown for law in _laws(each)))


@functools.cache
def _cases() -> Mapping[str, str]:
    return lock.cases(lock.read())


def _laws(each: Mutant | Habit) -> Sequence[str]:
    if isinstance(each, Mutant):
        return laws.claimed().get(each.name, ())
    return [law.removeprefix("law:") for law in each.convicted_by]


def mistakes(scheme: str) -> Sequence[Mistake]:
    """Return the distinct mistakes of a scheme, in the order of the table."""
    return [Mistake(each.scheme, each.slug, each.shown) for each in told(scheme)]


@functools.cache
def _reported() -> Mapping[str, Mistake]:
    """Return by its title the first scheme's mistake that was reported for that scheme."""
    every = [mistake for scheme in SCHEMES for mistake in mistakes(scheme) if mistake.own_threads]
    return {mistake.title: mistake for mistake in reversed(every)}
