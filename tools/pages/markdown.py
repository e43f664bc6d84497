"""Markdown out of plain sentences: what isn't code is escaped, tables keep their columns."""

import re
from collections.abc import Iterable, Sequence

#: Code and addresses, which Markdown takes as they are.
VERBATIM = re.compile(r"(``.+?``|`[^`]+`|https://[^\s)]+)")
#: What Markdown would take for emphasis, a link, a tag or the end of a table's cell; an underscore inside a word is none.
SPECIAL = re.compile(r"[\\*<>|\[\]~]|(?<!\w)_|_(?!\w)")


def escaped(text: str) -> str:
    """Return text in which only code spans and addresses mean anything to Markdown."""
    parts = VERBATIM.split(" ".join(text.split()))
    return "".join(_verbatim(part) if place % 2 else SPECIAL.sub(r"\\\g<0>", part) for place, part in enumerate(parts))


def _verbatim(part: str) -> str:
    return code(part.strip("`")) if part.startswith("`") else part


def code(text: object) -> str:
    """Return a code span; a bar inside one would end a table's cell all the same."""
    return f"`{str(text).strip()}`"


def link(words: str, address: str) -> str:
    """Return a link."""
    return f"[{words}]({address})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, or nothing where it has no rows."""
    lines = [_row(row) for row in rows]
    return "\n".join([_row(head), _row(["---"] * len(head)), *lines]) + "\n" if lines else ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|").replace(r"\\|", r"\|") for cell in cells) + " |"


def joined(*parts: str) -> str:
    """Return what isn't empty, a blank line between."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def section(title: str, *parts: str) -> str:
    """Return a section, or nothing where it has no content."""
    return joined(f"## {title}", *parts) if any(parts) else ""


def sentence(text: str) -> str:
    """Return text that starts with a capital and ends with a stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
