"""What a command says: lines for a person, as wide as the screen, and one line where it refuses."""

import contextlib
import sys
import textwrap
from typing import TYPE_CHECKING

import click

from conformance.calls.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from conformance.show.terminal import Line


class UnkeptError(Exception):
    """What was found can't be kept where it was to be, and why; ``status`` is what the command comes to."""

    def __init__(self, why: Exception, status: Status) -> None:
        """Carry both."""
        super().__init__(str(why))
        self.why, self.status = why, status


@contextlib.contextmanager
def keeping(found: Status = Status.CONFORMS) -> "Iterator[None]":
    """Keep what was found: where that fails, the status is that of what was found, or where that is success, that of a failed harness.

    It is no wrong usage, since the place was verified before.
    """
    from conformance.spec.files import OutputError

    try:
        yield
    except (OSError, OutputError) as error:
        raise UnkeptError(error, found or Status.HARNESS_FAILED) from error


def tell(lines: "Iterable[Line]") -> None:
    """Write lines, folded to the screen."""
    from conformance.show import terminal

    terminal.write(terminal.folded(lines, terminal.width(sys.stdout)), sys.stdout)


def unmeasured(undone: "Sequence[str]") -> "list[Line]":
    """Return what is said of what an interruption left undone."""
    return [("warn", f"not measured, since the run was interrupted: {', '.join(undone)}")] if undone else []


def refuse(message: str) -> None:
    """Write one line to standard error, where that can be written; a terminal gets it folded."""
    from conformance.show import terminal

    line = f"posenc: {terminal.clean(' '.join(message.split()))}"
    if sys.stderr.isatty():
        line = textwrap.fill(line, terminal.width(sys.stderr), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    with contextlib.suppress(OSError):
        click.echo(line, err=True)
