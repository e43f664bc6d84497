"""What goes wrong, and what people see of it: topics and symptoms, each with the mistakes that belong to it."""

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools.mistakes.known import Mistake

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Topic:
    """A heading, a sentence, and what belongs below it: all habits, all precision mistakes, or what fits a pattern."""

    title: str
    says: str
    patterns: tuple[str, ...] = ()
    habits: bool = False
    precision: bool = False

    def holds(self, mistake: Mistake) -> bool:
        """Return whether a mistake belongs here."""
        kinds = {"habit": self.habits, "precision": self.precision}
        return kinds.get(mistake.kind, matches(mistake, self.patterns))


@dataclass(frozen=True)
class Symptom:
    """What somebody sees, and the mistakes that may cause it, likeliest first."""

    sees: str
    patterns: tuple[str, ...]


def matches(mistake: Mistake, patterns: Iterable[str]) -> bool:
    """Return whether a mistake's name fits one of the patterns."""
    return any(fnmatch.fnmatchcase(name, pattern) for name in mistake.names for pattern in patterns)


def topics() -> list[Topic]:
    """Return the topics in the order of the pages."""
    return [Topic(**_frozen(written)) for written in _read("topics.yaml")]


def symptoms() -> list[Symptom]:
    """Return the symptoms."""
    return [Symptom(**_frozen(written)) for written in _read("symptoms.yaml")]


def sorted_by_topic(mistakes: Sequence[Mistake], among: Sequence[Topic]) -> dict[Topic, list[Mistake]]:
    """Return every topic that has mistakes, with them; the first topic that holds a mistake has it."""
    sorted_: dict[Topic, list[Mistake]] = {topic: [] for topic in among}
    for mistake in mistakes:
        sorted_[next(topic for topic in among if topic.holds(mistake))].append(mistake)
    return {topic: held for topic, held in sorted_.items() if held}


def _read(name: str) -> list[Mapping[str, Any]]:
    read: list[Mapping[str, Any]] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    return read


def _frozen(written: Mapping[str, Any]) -> dict[str, Any]:
    return {**written, "patterns": tuple(written.get("patterns", ()))}
