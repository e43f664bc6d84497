"""A program that speaks the line protocol: start it, ask, read one line per question."""

import contextlib
import fcntl
import os
import secrets
import select
import shlex
import shutil
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from conformance.adapt.wording import ended_with
from conformance.protocol import lines
from conformance.protocol.errors import CommandError, ImpatientError, ProgramEndedError, ProtocolError, UnaskedError
from conformance.protocol.lines import LARGEST_LINE

if TYPE_CHECKING:
    import io

#: Seconds for a program to end once its input or output is closed.
PATIENCE = 0.5
#: Of the id of a request: an integer of any language holds it.
ID_BITS = 31


def split(command: str) -> list[str]:
    """Return a command's words as a shell would split them; no shell ever sees it."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        reason = f"command must be quoted like a shell's, got {command!r} ({error})"
        raise CommandError(reason) from error
    if not words or shutil.which(words[0]) is None:
        reason = f"command must start with a program that can be run, got {command!r}"
        raise CommandError(reason)
    return words


class Program:
    """A running program; its stderr is a log, its stdout says nothing but replies."""

    def __init__(self, command: str, environment: Mapping[str, str] | None = None, *, apart: bool = False) -> None:
        """Start it, in our own environment unless another is given, and in our own group of processes unless it stands ``apart``."""
        self.command = command
        pipe = subprocess.PIPE
        self.popen = subprocess.Popen(  # noqa: S603  the user's own program
            split(command), stdin=pipe, stdout=pipe, env=environment, start_new_session=apart
        )
        self.output = cast("io.BufferedReader", self.popen.stdout)
        self.unread: type[ProgramEndedError] = ProgramEndedError

    def describe(self) -> dict[str, Any]:
        """Return what the program offers."""
        return self._ask("describe_reply", lines.describe_request(0))

    def calls(self, calls: Sequence[Mapping[str, object]]) -> list[dict[str, Any]]:
        """Return one answer per call, in their order."""
        reply = self._ask("call_reply", lines.call_request(secrets.randbits(ID_BITS), calls))
        if len(reply["replies"]) != len(calls):
            self._lost(f"a reply must answer {len(calls)} calls, got {len(reply['replies'])}")
        return list(reply["replies"])

    def verify_quiet(self) -> None:
        """Raise where the program says something, or has ended, without being asked; what it does until the next request is such too."""
        readable = bool(select.select([self.output], [], [], 0)[0])
        held = self._held()
        if held:
            self._lost(f"it {lines.unasked(held)}", UnaskedError)
        if readable or self._gone():  # one that is ending lives on for a while without its output
            raise UnaskedError(self._end())
        self.unread = UnaskedError

    def verify_patient(self) -> None:
        """Raise where the program says something, or ends, while it is asked nothing for a while."""
        select.select([self.output], [], [], ImpatientError.seconds)
        self.verify_quiet()
        self.unread = ProgramEndedError

    def wait(self, harness: int) -> None:
        """Wait until the harness can be read; raise where the program says something, or ends, without being asked."""
        output = self.output.fileno()
        ended = not self._held() and output in select.select([output, harness], [], [])[0]
        if ended and not self._held():
            raise UnaskedError(self._end())
        self.verify_quiet()

    def close(self) -> None:
        """Close its input, and end it where that isn't enough."""
        for stream in (self.popen.stdin, self.popen.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # of a program that ended, what it hasn't read can't be written
                    stream.close()
        try:
            self.popen.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()

    def _ask(self, kind: str, request: Mapping[str, object]) -> dict[str, Any]:
        line = lines.line(request)
        self._write(line)
        said = self._read(len(line))
        try:
            reply = lines.message(kind, said)
        except ProtocolError as error:
            self._lost(str(error), ProgramEndedError if lines.identity(said) == request["id"] else self.unread)
        if reply["id"] != request["id"]:
            self._lost(f"a reply must carry the id of its request, got another: it {lines.unasked(said)}", self.unread)
        self.unread = ProgramEndedError
        return reply

    def _write(self, line: bytes) -> None:
        stream = self.popen.stdin
        try:
            if stream is not None:
                stream.write(line)
                stream.flush()
        except OSError as error:
            raise self.unread(self._end("input")) from error

    def _read(self, asked: int) -> bytes:
        """Return a line; where there is none, the program may have ended before it read any of the bytes that were written last."""
        line = bytearray()
        while not line.endswith(b"\n") and len(line) <= LARGEST_LINE and self._speaks():
            held = self._held()
            line += self.output.read(held.find(b"\n") + 1 or len(held))
        if not line.endswith(b"\n"):
            if len(line) > LARGEST_LINE:
                self._lost(f"a line must stay below {LARGEST_LINE} bytes, got more", self.unread)
            left = fcntl.ioctl(cast("io.BufferedWriter", self.popen.stdin), termios.FIONREAD, bytes(4))
            raise (self.unread if int.from_bytes(left, sys.byteorder) == asked else ProgramEndedError)(self._end())
        return bytes(line)

    def _speaks(self) -> bool:
        """Wait until something can be read, and return whether it can: a program that ended may leave a child that holds its output."""
        while not self._held():
            ended = self._gone()
            if select.select([self.output], [], [], 0 if ended else PATIENCE)[0] or ended:
                return bool(self._held())
        return True

    def _gone(self) -> bool:
        """Whether it has ended, or was stopped: it answers no more."""
        return self.popen.poll() is not None or self._stopped()

    def _stopped(self) -> bool:
        """Whether a signal has stopped it, where the system tells."""
        if not hasattr(os, "waitid"):
            return False
        with contextlib.suppress(ChildProcessError):
            return os.waitid(os.P_PID, self.popen.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        return False

    def _held(self) -> bytes:
        """Return what can be read at once."""
        os.set_blocking(self.output.fileno(), False)
        held = self.output.peek(1)
        os.set_blocking(self.output.fileno(), True)
        return held

    def _lost(self, reason: str, kind: type[ProgramEndedError] = ProgramEndedError) -> NoReturn:
        """Give up: what follows on the channel can't be told from what went before."""
        self.popen.kill()
        self.popen.wait()
        message = f"the program broke the protocol: {reason}"
        raise kind(message)

    def _end(self, closed: str = "output") -> str:
        if self._stopped():
            self.popen.kill()
            return "the program was stopped by a signal"
        try:
            status = self.popen.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return f"the program closed its {closed}"
        return f"the program ended with {ended_with(status)}"
