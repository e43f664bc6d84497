"""What is written while a check runs and when it has ended: plain where nobody watches, styled on a terminal."""

import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from typing import TextIO

#: A style and a text.
Line = tuple[str, str]
#: The columns to fill where nobody watches.
WIDTH = 80
STYLES = {"good": "bold green", "bad": "bold red", "head": "bold", "quiet": "dim", "": ""}
REFRESH_SECONDS = 0.1


def clean(text: str) -> str:
    """Return text that can't move a cursor or hide: what isn't printable is escaped."""
    return "".join(character if character.isprintable() else character.encode("unicode_escape").decode() for character in text)


def width(stream: TextIO) -> int:
    """Return the columns to fill: the terminal's own, within reason, or 80."""
    return min(max(shutil.get_terminal_size((WIDTH, 24)).columns, 60), 110) if stream.isatty() else WIDTH


def folded(lines: Iterable[Line], columns: int) -> Iterator[Line]:
    """Yield lines no wider than that, each continued below its own indentation."""
    for style, line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        for part in textwrap.wrap(line, columns, subsequent_indent=indent, break_on_hyphens=False) or [""]:
            yield style, part


def write(lines: Iterable[Line], stream: TextIO) -> None:
    """Write lines, styled on a terminal only; what an implementation said is never read as markup, nor moves a cursor."""
    if not stream.isatty():
        stream.writelines(f"{clean(line)}\n" for _, line in lines)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, soft_wrap=True)
    for style, line in lines:
        console.print(Text(clean(line), style=STYLES[style]))


class Progress:
    """One line on a terminal's standard error that says how far the check is; silent elsewhere."""

    def __init__(self, name: str, stream: TextIO | None = None) -> None:
        """Show nothing yet."""
        self.name = clean(name)
        self.stream = sys.stderr if stream is None else stream
        self.shown_at = 0.0

    def __call__(self, done: int, total: int, text: str) -> None:
        """Show the line again, at most ten times a second."""
        now = time.monotonic()
        if self.stream.isatty() and now - self.shown_at > REFRESH_SECONDS:
            self.shown_at = now
            self._put(f"{self.name}: {done} of {total}, {clean(text)}"[: width(self.stream) - 1])

    def clear(self) -> None:
        """Take the line away."""
        if self.shown_at:
            self._put("")

    def _put(self, line: str) -> None:
        self.stream.write(f"\r\x1b[K{line}")
        self.stream.flush()
