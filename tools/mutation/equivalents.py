"""Mutants that get away for a reason: each with a proof in words, matched by function and expression, never by line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.spec.document import read
from tools.mutation.plan import Mutant

LIST = Path(__file__).with_name("equivalent.yaml")
#: What an entry may say of the mutants that it means; what it doesn't say may be anything.
FIELDS = ("function", "was", "becomes", "kind", "inside", "statement", "operation")


class EquivalentError(Exception):
    """An entry that says too little, or something that nobody reads."""


@dataclass(frozen=True)
class Equivalent:
    """Changes that change no result, and why; or, where it is ``unseen``, a mistake that no input which can be stored shows."""

    proof: str
    unseen: bool
    means: Mapping[str, tuple[str, ...]]

    def matches(self, mutant: Mutant) -> bool:
        """Whether the entry speaks of a mutant."""
        mutation = mutant.mutation
        met = (mutation.site.label, mutation.was, mutation.becomes, mutation.kind, mutation.inside, mutation.place.text, mutant.owner)
        return all(value in self.means.get(name, (value,)) for name, value in zip(FIELDS, met, strict=True))


@dataclass(frozen=True)
class Equivalents:
    """All entries, found by function."""

    entries: Sequence[Equivalent]
    by_function: Mapping[str, Sequence[Equivalent]]

    def of(self, mutant: Mutant) -> Equivalent | None:
        """Return what speaks of a mutant, or ``None``."""
        return next((entry for entry in self.by_function.get(mutant.mutation.site.label, ()) if entry.matches(mutant)), None)

    def stale(self, mutants: Iterable[Mutant]) -> list[Equivalent]:
        """Return the entries that speak of no mutant first."""
        used = {id(self.of(mutant)) for mutant in mutants}
        return [entry for entry in self.entries if id(entry) not in used]


def load(path: Path = LIST) -> Equivalents:
    """Return the list."""
    return listed(read(path.read_bytes()))


def listed(given: Iterable[Mapping[str, Any]]) -> Equivalents:
    """Return entries, from mappings."""
    entries = [_entry(mapping) for mapping in given]
    functions = dict.fromkeys(name for entry in entries for name in entry.means["function"])
    return Equivalents(entries, {name: [entry for entry in entries if name in entry.means["function"]] for name in functions})


def _entry(given: Mapping[str, Any]) -> Equivalent:
    reason = {"proof", "unseen"} & set(given)
    if len(reason) != 1 or "function" not in given or not set(given) <= {"proof", "unseen", *FIELDS}:
        message = f"an entry must say function, proof or unseen, and of the rest only {', '.join(FIELDS)}, got {', '.join(given)}"
        raise EquivalentError(message)
    means = {name: tuple(_several(given[name])) for name in FIELDS if name in given}
    return Equivalent(given[reason.pop()], "unseen" in given, means)


def _several(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]
