"""The catalogue: public reports of mistakes and dialects, each with the mutants that repeat it or the reason why none does."""

import fnmatch
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from conformance.mutants import for_operation
from conformance.mutants.habits import HABITS
from conformance.spec import document
from conformance.spec.declarations import operations
from conformance.spec.mutant import Habit, Mutant

#: Every mutant by its name.
MUTANTS = {mutant.name: mutant for operation in operations() for mutant in for_operation(operation)}
KNOWN: Mapping[str, Mutant | Habit] = {**MUTANTS, **HABITS}


@dataclass(frozen=True)
class Entry:
    """One public report.

    ``mutants`` are patterns of names (``*/layout=half``); ``about`` is the scheme whose code was at fault, where those of others match too.
    What can't be repeated yet names the scheme that it ``waits_for`` and the reason (``because``); what no scheme will repeat says why it
    lies ``outside``. A ``configured`` one is about a configuration, and a broken one of its kind is told by name where it is read. What no
    function repeats, but a module ``under`` a circumstance of its framework, names that. A false alarm took right code for wrong.
    """

    id: str
    url: str
    nature: Literal["bug", "convention", "false alarm"]
    says: str
    about: str = ""
    related: tuple[str, ...] = ()
    mutants: tuple[str, ...] = ()
    waits_for: str = ""
    because: str = ""
    outside: str = ""
    under: str = ""
    configured: bool = False


def load() -> list[Entry]:
    """Return every entry, in the order of the file."""
    text = resources.files("conformance.mutants").joinpath("catalogue.yaml").read_bytes()
    return [_entry(entry) for entry in document.read(text)["entries"]]


def _entry(written: Mapping[str, Any]) -> Entry:
    lists = {name: tuple(written.get(name, ())) for name in ("related", "mutants")}
    return Entry(**{**written, **lists})


@functools.cache
def _abouts() -> Mapping[str, str]:
    return {entry.url: entry.about for entry in load()}


def about(url: str) -> str:
    """Return the scheme whose code was at fault in a report, or nothing where mistakes of no other bear its address."""
    return _abouts().get(url, "")


def named(pattern: str) -> list[Mutant | Habit]:
    """Return the mutants and habits that a pattern names, and that were met there: inherited ones cite what they were met in."""
    met = [known for known in KNOWN.values() if isinstance(known, Habit) or known.threads or not known.inherited]
    return [known for known in met if fnmatch.fnmatchcase(known.name, pattern)]
