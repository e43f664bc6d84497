"""Where the documents tell each known mistake: its scheme has a page, and what several operations or two half formats share a heading."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.mutants.catalogue import KNOWN
from conformance.spec.mutant import Habit, Mutant, slug

#: The folder of the pages, in that of the documents.
FOLDER = "mistakes"
HALF = re.compile(r"^b?float16-")
SUFFIX = re.compile(r" in b?float16$")
#: Names in slugs that are written otherwise.
NAMES: Mapping[str, str] = {
    **{name.lower(): name for name in ("DeBERTa", "Gray", "Kexue", "Llama", "NTK", "Qwen", "ReLU", "YaRN")},
    "ntk aware": "NTK-aware",
}
PROPER = re.compile(rf"\b({'|'.join(sorted(NAMES, key=len, reverse=True))})\b")


@dataclass(frozen=True)
class Told:
    """One mistake of one scheme under its heading, as each of its operations shows it; ``slug`` lacks the half format."""

    scheme: str
    slug: str
    shown: tuple[Mutant | Habit, ...]

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
        return anchor(self.title)

    @property
    def address(self) -> str:
        """Where it is told, from the folder of the pages."""
        return f"{self.scheme}.md#{self.anchor}"

    @property
    def _format(self) -> str:
        formats = dict.fromkeys(found[0].rstrip("-") for each in self.shown if (found := HALF.match(slug(each.name))))
        return f" in {' or '.join(formats)}" if formats else ""


def anchor(title: str) -> str:
    """Return where a heading is on its page, as GitHub and the site have it."""
    return "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_").replace(" ", "-")


def place(name: str) -> str:
    """Return the page of a known mistake with its heading, such as ``docs/mistakes/rope.md#turned-twice``, or nothing."""
    headings = told(name.partition(".")[0])
    return next((f"docs/{FOLDER}/{each.address}" for each in headings if any(name == known.name for known in each.shown)), "")


def told(scheme: str) -> list[Told]:
    """Return the distinct mistakes of a scheme, in the order of the table."""
    groups: dict[tuple[str, str], list[Mutant | Habit]] = {}
    for each in _of(scheme):
        groups.setdefault(_key(each), []).append(each)
    return [Told(scheme, name, tuple(group)) for (_, name), group in _joined(groups).items()]


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
