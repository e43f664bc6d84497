"""The distinct mistakes of each scheme: what several operations or two half formats share is one."""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.mutants.catalogue import KNOWN, about
from conformance.spec.mutant import Habit, Mutant, slug
from refimpl.schemes import SCHEMES
from tools.convictions import laws, lock

HALF = re.compile(r"^b?float16-")
SUFFIX = re.compile(r" in b?float16$")
FORMAT = re.compile(r"\bb?float16\b")
#: Names in slugs that are written otherwise.
NAMES: Mapping[str, str] = {
    **{name.lower(): name for name in ("DeBERTa", "Gray", "Kexue", "Llama", "NTK", "Qwen", "ReLU", "YaRN")},
    "ntk aware": "NTK-aware",
}
PROPER = re.compile(rf"\b({'|'.join(sorted(NAMES, key=len, reverse=True))})\b")
EITHER = "bfloat16 or float16"
REPORTED = re.compile(r"reported for [\w ]+")


@dataclass(frozen=True)
class Mistake:
    """One mistake of one scheme, as each of its operations shows it; ``slug`` lacks the half format."""

    scheme: str
    slug: str
    shown: tuple[Mutant | Habit, ...]

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
    def title(self) -> str:
        """The heading: a convention as it is declared, anything else in words."""
        if "=" in self.slug:
            return f"`{self.slug}`"
        words = PROPER.sub(lambda found: NAMES[found[0]], self.slug.replace("-", " "))
        return words[:1].upper() + (SUFFIX.sub("", words[1:]) + self._format if self._format else words[1:])

    @property
    def anchor(self) -> str:
        """Where the heading is on its page."""
        kept = "".join(letter for letter in self.title.lower() if letter.isalnum() or letter in " -_")
        return kept.replace(" ", "-")

    @property
    def address(self) -> str:
        """Where it is told, from the folder of the pages."""
        return f"{self.scheme}.md#{self.anchor}"

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

    @property
    def _format(self) -> str:
        formats = dict.fromkeys(found[0].rstrip("-") for each in self.shown if (found := HALF.match(slug(each.name))))
        return f" in {' or '.join(formats)}" if formats else ""


@functools.cache
def _cases() -> Mapping[str, str]:
    return lock.cases(lock.read())


def _laws(each: Mutant | Habit) -> Sequence[str]:
    if isinstance(each, Mutant):
        return laws.claimed().get(each.name, ())
    return [law.removeprefix("law:") for law in each.convicted_by]


def mistakes(scheme: str) -> Sequence[Mistake]:
    """Return the distinct mistakes of a scheme, in the order of the table."""
    groups: dict[tuple[str, str], list[Mutant | Habit]] = {}
    for each in _of(scheme):
        groups.setdefault(_key(each), []).append(each)
    return [Mistake(scheme, name, tuple(group)) for (_, name), group in _joined(groups).items()]


@functools.cache
def _reported() -> Mapping[str, Mistake]:
    """Return by its title the first scheme's mistake that was reported for that scheme."""
    every = [mistake for scheme in SCHEMES for mistake in mistakes(scheme) if mistake.own_threads]
    return {mistake.title: mistake for mistake in reversed(every)}


def _joined(groups: Mapping[tuple[str, str], list[Mutant | Habit]]) -> dict[tuple[str, str], list[Mutant | Habit]]:
    """Join combinations of intermediates in a half format that have one remedy, under the longest name."""
    remedies: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for key, group in groups.items():
        remedies.setdefault((key[0], group[0].fix if key[0] == "precision" else key[1]), []).append(key)
    return {max(keys, key=_length): [each for key in keys for each in groups[key]] for keys in remedies.values()}


def _length(key: tuple[str, str]) -> int:
    return len(key[1])


def _of(scheme: str) -> Iterator[Mutant | Habit]:
    return (known for known in KNOWN.values() if known.operation.startswith(f"{scheme}."))


def _key(each: Mutant | Habit) -> tuple[str, str]:
    """Tell apart by kind and name; a half format is no part of the name where it only says which."""
    return ("habit" if isinstance(each, Habit) else each.kind), HALF.sub("", slug(each.name))
