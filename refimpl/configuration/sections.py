"""The part of a configuration that concerns the language model, its keys, and keys that nobody reads."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from refimpl.configuration import spellings
from refimpl.configuration.findings import Notes, shown

#: Of what size numbers of a configuration are at least and at most, if they aren't 0.
LEAST, MOST = 1e-12, 1e15
UNKNOWN = "be left out, or be one of the keys that docs/configurations.md names: posenc doesn't know what it does"


@dataclass(frozen=True)
class Section:
    """A mapping within the configuration, and where it stands."""

    values: Mapping[str, Any]
    path: tuple[str, ...] = ()
    spelt: Mapping[str, str] = field(default_factory=dict)
    """How the configuration spells some keys."""

    def name(self, key: str) -> str:
        """Return a key with the way to it, as the configuration spells it."""
        return ".".join((*self.path, self.spelt.get(key, key)))

    def respelt(self, spellings: Mapping[str, str]) -> "Section":
        """Return a section with common keys in place of those that a model type has for the same."""
        given = {common: own for own, common in spellings.items() if self.values.get(own) is not None}
        values = {key: value for key, value in self.values.items() if key not in given.values()}
        return replace(self, values={**values, **{common: self.values[own] for common, own in given.items()}}, spelt=given)

    def get(self, key: str) -> Any:
        """Return the value of a key, null where there is none."""
        return self.values.get(key)

    def given(self, keys: Iterable[str]) -> list[tuple[str, Any]]:
        """Return those of the keys that have a value, with the way to each."""
        return [(self.name(key), self.values[key]) for key in keys if self.values.get(key) is not None]

    def without(self, keys: Collection[str]) -> "Section":
        """Return the section without some keys."""
        return replace(self, values={key: value for key, value in self.values.items() if key not in keys})

    def below(self, key: str) -> "Section | None":
        """Return the mapping under a key."""
        value = self.values.get(key)
        return Section(value, (*self.path, key)) if isinstance(value, Mapping) else None


def near_miss(word: str, known: Collection[str], cutoff: float = 0.6) -> str:
    """Return the known word that is close, or nothing; those with the same letters go first."""
    same = [each for each in sorted(known) if _letters(each) == _letters(word)]
    return same[0] if same else next(iter(difflib.get_close_matches(word, sorted(known), n=1, cutoff=cutoff)), "")


def _letters(word: str) -> str:
    return "".join(filter(str.isalpha, word.lower()))


def is_number(value: object) -> bool:
    """Whether a value is a number, which true and false are not, of a size that can be computed with."""
    return isinstance(value, int | float) and not isinstance(value, bool) and (value == 0 or LEAST <= abs(value) <= MOST)


def agreed(given: list[tuple[str, Any]], name: str, thing: str, notes: Notes) -> tuple[str, Any] | None:
    """Return the first of several keys for one thing, or none; keys that contradict each other are an error."""
    for key, value in given[1:]:
        if value != given[0][1]:
            notes.find("error", name, key, value, f"be {thing} that {given[0][0]} gives too ({given[0][1]!r})")
    return given[0] if given else None


def language(configuration: Mapping[str, Any], notes: Notes) -> Section:
    """Return the language model's section: the top, unless a nested one has it."""
    top = Section(configuration)
    paths = spellings.SECTIONS_OF_TWO.get(str(top.get("model_type")), spellings.SECTIONS)
    for key in dict.fromkeys(path[0] for path in paths):
        if top.get(key) is not None and not isinstance(top.get(key), Mapping):
            notes.find("error", "no-mapping", key, top.get(key), "be a mapping")
    found = [section for path in paths if (section := _within(top, path)) is not None]
    of_two = str(top.get("model_type")) in spellings.SECTIONS_OF_TWO
    for other in found[1:]:
        (_tell_other if of_two else _verify_other)(other, found[0], notes)
    if not found:
        return top
    _verify_outside(top, found[0], notes)
    return found[0]


def _within(top: Section, path: tuple[str, ...]) -> Section | None:
    """Return the section at the end of a way."""
    section: Section | None = top
    for key in path:
        section = section.below(key) if section else None
    return section


def _differing(other: Section, section: Section) -> list[str]:
    """Return the keys of which two sections say two things."""
    keys = sorted((spellings.READ - {"model_type"}) & other.values.keys() & section.values.keys())
    return [key for key in keys if None not in (other.get(key), section.get(key)) and other.get(key) != section.get(key)]


def _tell_other(other: Section, section: Section, notes: Notes) -> None:
    """Note that the other part of a model of two differs from the one that is read."""
    if keys := _differing(other, section):
        place, read = ".".join(other.path), ".".join(section.path)
        notes.decide(place, other.values, f"it isn't read, and differs from {read} in {', '.join(keys)}: explain it as a file of its own")


def _verify_other(other: Section, section: Section, notes: Notes) -> None:
    """Warn of what another section for a language model says otherwise than the one that counts."""
    for key in _differing(other, section):
        rule = f"be what {section.name(key)} is, which counts ({shown(section.get(key))})"
        notes.find("warning", "two-languages", other.name(key), other.get(key), rule)


def _verify_outside(top: Section, section: Section, notes: Notes) -> None:
    """Warn of rotary keys beside the section that counts: code that reads the top finds them, other code doesn't."""
    for key in (*spellings.BASE, *spellings.ROPE, *spellings.FRACTION):
        if top.get(key) is not None and top.get(key) != section.get(key):
            rule = f"stand in {'.'.join(section.path)}, which counts"
            notes.find("warning", "outside-section", key, top.get(key), rule)
    for key, value in _unread(top):
        if _is_positional(key, value):
            notes.find("warning", "unread-key", key, value, f"be a key that posenc reads, in {'.'.join(section.path)}, which counts")


def verify_keys(section: Section, asked: Collection[str], unread: Collection[str], notes: Notes) -> None:
    """Find switches that are neither true nor false, and warn of keys that look as if they concerned positions, and that nobody reads.

    ``asked`` is what the code of the model type alone reads, ``unread`` what it doesn't read, so that nobody can mean it.
    """
    for key, value in section.given(spellings.SWITCHES):
        if not isinstance(value, bool):
            notes.find("error", "bad-value", key, value, "be true or false")
    for key, value in _unread(section):
        positional = _is_positional(key, value)
        if key in asked:
            continue
        cutoff = 0.8 if positional else 0.92
        scalars = spellings.WITHIN if not isinstance(value, Mapping) else ()  # a mapping is meant by no key that has a number
        close = _elsewhere(section, key) or near_miss(key.lower(), {*spellings.READ, *scalars}.difference(unread), cutoff)
        if (key == f"{close}s" and isinstance(value, list)) or (key == "layer_type" and isinstance(value, str)):
            continue  # many where the key that is read has one, or one where it has many
        of_another_part = key.endswith(f"_{close}") and section.get(close) is not None
        if close and not of_another_part:
            notes.find("warning", "misspelt-key", section.name(key), value, f"be a key that is read (did you mean {close}?)")
        elif positional:
            notes.find("warning", "unread-key", section.name(key), value, UNKNOWN)


def _elsewhere(section: Section, key: str) -> str:
    """Return the key that means what this one means in files of another kind, where it isn't given, or says something else."""
    value = section.get(key)
    return next((meant for ending, meant in spellings.MEANT.items() if key.endswith(ending) and section.get(meant) != value), "")


def _unread(section: Section) -> Iterator[tuple[str, Any]]:
    """Yield the keys that nobody reads and that say something, but for those that transformers writes with an underscore in front."""
    known = spellings.READ.union(spellings.BESIDE, spellings.WITHIN)
    for key, value in section.values.items():
        if key not in known and value not in (None, spellings.TRUISMS.get(key)) and not key.startswith("_"):
            yield key, value


def _is_positional(key: str, value: Any) -> bool:
    """Whether a key looks as if it concerned positions, by its name or by what it holds."""
    return key in spellings.OF_PAIRS or any(word in key.lower() for word in spellings.POSITIONAL) or _turns(value)


def _turns(value: Any) -> bool:
    """Return whether a value is a mapping of keys that say how layers turn, and no part of a model."""
    return isinstance(value, Mapping) and not spellings.OF_ROTATION.isdisjoint(value) and spellings.OF_A_PART.isdisjoint(value)
