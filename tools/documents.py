"""Documents that are made: write those that differ from what is there, or say in sentences which do."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from conformance.spec import files


def differing(directory: Path, texts: Mapping[str, str]) -> list[str]:
    """Return the names of the files that aren't there or hold another text."""
    return [name for name, text in texts.items() if _read(directory / name) != text]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def write(directory: Path, texts: Mapping[str, str]) -> None:
    """Write every file that differs, and say which."""
    changed = differing(directory, texts)
    for name in changed:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        files.write(directory / name, texts[name])
    print(f"wrote {', '.join(changed)}" if changed else "nothing to write")


def complain(sentences: Iterable[str]) -> int:
    """Print what is wrong; return the exit status."""
    told = list(sentences)
    sys.stderr.writelines(f"{sentence}\n" for sentence in told)
    return int(bool(told))


def markdown(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose first row is its head: words, then numbers to the right."""
    head, *others = rows
    return [f"| {' | '.join(row)} |" for row in (head, ["---", *["---:"] * (len(head) - 1)], *others)]


def aligned(rows: Sequence[Sequence[str]], *, gap: str = "  ", longest: int = 80) -> list[str]:
    """Return the same table for a screen; a name is cut where it is too long."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [gap.join([first[:longest].ljust(min(widths[0], longest)), *map(str.rjust, others, widths[1:])]) for first, *others in rows]
