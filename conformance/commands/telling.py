"""What a command says: lines for a person, as wide as the screen, and one line where it refuses."""

import contextlib
import sys
import textwrap
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.show.terminal import Line


def tell(lines: "Iterable[Line]") -> None:
    """Write lines, folded to the screen."""
    from conformance.show import terminal

    terminal.write(terminal.folded(lines, terminal.width(sys.stdout)), sys.stdout)


def refuse(message: str) -> None:
    """Write one line to standard error, where that can be written; a terminal gets it folded."""
    from conformance.show import terminal

    line = f"posenc: {terminal.clean(' '.join(message.split()))}"
    if sys.stderr.isatty():
        line = textwrap.fill(line, terminal.width(sys.stderr), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    with contextlib.suppress(OSError):
        click.echo(line, err=True)
