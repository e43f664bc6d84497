"""The program ``posenc``: heed what ends it before all else is imported, run a command, and turn what happens into an exit status."""

import contextlib
import errno
import io
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.calls.status import Status
from conformance.isolate.interrupts import forgotten, heeded

if TYPE_CHECKING:
    from collections.abc import Sequence

#: With less memory than that NumPy's libraries can't be loaded, or end the program themselves.
LEAST_MEMORY = 1 << 30


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run ``posenc`` and return its exit status; whatever goes wrong gets one line and never a traceback.

    Without arguments it is the process's own program: once its end is decided, no signal changes that.
    """
    _open_what_is_closed()
    if arguments is None:
        _buffer_what_is_not()
    _escape_what_the_terminal_lacks()
    os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")  # what others registered with Hypothesis takes long to import, and is not needed
    with heeded(to_the_end=arguments is None):
        try:
            little = _too_little_memory()
            status = _refuse(little) if little else _ended(arguments)
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):
                sys.stderr.write("posenc: interrupted\n")
            forgotten()
            return Status.INTERRUPTED
        except Exception as error:  # noqa: BLE001  one line, and a status that is no verdict
            if os.environ.get("POSENC_TRACEBACK"):
                with contextlib.suppress(OSError):
                    traceback.print_exc()
                return Status.HARNESS_FAILED
            _refuse(f"internal error: {type(error).__name__}: {error} (POSENC_TRACEBACK=1 shows where)")
            return Status.HARNESS_FAILED
        else:
            with contextlib.suppress(OSError):
                _written()
            return status


def _too_little_memory() -> str:
    """Return what is wrong with the limits of memory, with which a library ends the program without a word; nothing if nothing is."""
    with contextlib.suppress(ImportError):
        import resource

        for limit, option in (("RLIMIT_AS", "-v"), ("RLIMIT_DATA", "-d")):
            allowed = resource.getrlimit(getattr(resource, limit))[0]
            if allowed != resource.RLIM_INFINITY and allowed < LEAST_MEMORY:
                return f"memory must not be limited to less than {LEAST_MEMORY >> 20} MiB (ulimit {option}), got {allowed >> 20} MiB"
    return ""


def _ended(arguments: "Sequence[str] | None") -> int:
    """Run a command and return the exit status; an interruption goes through."""
    import click

    from conformance.commands.options import told
    from conformance.commands.posenc import posenc
    from conformance.commands.telling import refuse

    try:
        status = posenc.main(arguments, prog_name="posenc", standalone_mode=False)
        _written()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return Status.WRONG_USAGE
    except (BrokenPipeError, SystemExit) as error:
        made_an_exit = type(sys.stdout).__module__.partition(".")[0] == "click"  # where the reader has gone click wraps the stream first
        if not made_an_exit and not isinstance(error, BrokenPipeError):
            message = f"a library ended the program: {type(error).__name__}: {error}"
            raise RuntimeError(message) from error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Status.INTERRUPTED
    except click.Abort as error:  # click makes it of an interruption
        raise KeyboardInterrupt from error
    except click.ClickException as error:
        refuse(told(error))
        return Status.WRONG_USAGE
    except Exception as error:  # noqa: BLE001  a person gets a line, not a traceback
        message, status = _told(error)
        refuse(message)
        return status
    return status if isinstance(status, int) else Status.CONFORMS


def _refuse(message: str) -> int:
    """Write one line as ``refuse`` does, also where what this needs can't be imported: a library is missing, or memory."""
    try:
        from conformance.commands.telling import refuse

        refuse(message)
    except Exception:  # noqa: BLE001  one line, whatever it is
        with contextlib.suppress(OSError):
            sys.stderr.write(f"posenc: {''.join(each for each in ' '.join(message.split()) if each.isprintable())}\n")
    return Status.WRONG_USAGE


def _open_what_is_closed() -> None:
    """Open standard streams that are closed on nothing, whose place the next file would take, and have writing wait for who reads."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest that is free
            os.set_inheritable(opened, True)  # noqa: FBT003  else those that are started have it closed again
        with contextlib.suppress(OSError):
            os.set_blocking(descriptor, True)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  it lasts as long as we do


def _buffer_what_is_not() -> None:
    """Buffer what Python doesn't (``PYTHONUNBUFFERED``): without a buffer it loses what the system leaves over of a text."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and isinstance(stream.buffer, io.RawIOBase):
            encoding, errors = stream.encoding, stream.errors
            buffered = io.BufferedWriter(stream.detach())
            setattr(sys, name, io.TextIOWrapper(buffered, encoding=encoding, errors=errors, line_buffering=True))


def _written() -> None:
    """Write all that was said; where that can't be, Python is not to try again at its end, with a status of its own."""
    for stream in (sys.stderr, sys.stdout):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if stream is sys.stdout:
                raise


def _escape_what_the_terminal_lacks() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _told(error: Exception) -> tuple[str, int]:
    """Say whose fault an exception is, and in which words."""
    from conformance.adapt.adapter import AdapterError
    from conformance.adapt.selection import SelectionError
    from conformance.calls.limits import LimitError
    from conformance.commands.telling import UnkeptError
    from conformance.isolate.targets import TargetError
    from conformance.protocol.errors import CommandError, ProgramEndedError, ProtocolError
    from conformance.reports.lines import RecordError
    from conformance.show.baseline import BaselineError
    from conformance.spec.files import OutputError
    from conformance.spec.vectors import VectorError

    if isinstance(error, UnkeptError):
        return _told(error.why)[0], error.status
    protocol = CommandError | ProgramEndedError | ProtocolError
    ours = AdapterError | BaselineError | LimitError | OutputError | RecordError | SelectionError | TargetError | protocol
    if isinstance(error, ours):
        return str(error), Status.WRONG_USAGE
    if isinstance(error, VectorError):
        return f"vectors: {error}", Status.HARNESS_FAILED
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"file must have a name that its folder can hold, got {error.filename!r}", Status.WRONG_USAGE
    if isinstance(error, FileNotFoundError) and error.filename is None:  # as `os.getcwd` has it
        return "working folder must exist, got one that is gone", Status.WRONG_USAGE
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), Status.HARNESS_FAILED
    raise error
