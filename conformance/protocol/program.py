"""A program that speaks the line protocol: start it, ask, read one line per question."""

import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from conformance.adapt.wording import ended_with
from conformance.protocol import lines
from conformance.protocol.errors import CommandError, ProgramEndedError, ProtocolError
from conformance.protocol.lines import LARGEST_LINE

#: Seconds for a program to end once its input or output is closed.
PATIENCE = 0.5


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

    def __init__(self, command: str) -> None:
        """Start it."""
        self.command = command
        self.asked = 0
        self.popen = subprocess.Popen(split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603  the user's own program

    def describe(self) -> dict[str, Any]:
        """Return what the program offers."""
        return self._ask("describe_reply", lines.describe_request(self.asked))

    def calls(self, calls: Sequence[Mapping[str, object]]) -> list[dict[str, Any]]:
        """Return one answer per call, in their order."""
        reply = self._ask("call_reply", lines.call_request(self.asked, calls))
        if len(reply["replies"]) != len(calls):
            self._lost(f"a reply must answer {len(calls)} calls, got {len(reply['replies'])}")
        return list(reply["replies"])

    def close(self) -> None:
        """Close its input, and end it where that isn't enough."""
        for stream in (self.popen.stdin, self.popen.stdout):
            if stream is not None:
                stream.close()
        try:
            self.popen.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()

    def _ask(self, kind: str, request: Mapping[str, object]) -> dict[str, Any]:
        identity, self.asked = self.asked, self.asked + 1
        self._write(lines.line(request))
        try:
            reply = lines.message(kind, self._read())
        except ProtocolError as error:
            self._lost(str(error))
        if reply["id"] != identity:
            self._lost(f"a reply must carry the id of its request ({identity}), got {reply['id']}")
        return reply

    def _write(self, line: bytes) -> None:
        stream = self.popen.stdin
        try:
            if stream is not None:
                stream.write(line)
                stream.flush()
        except OSError as error:
            raise ProgramEndedError(self._end()) from error

    def _read(self) -> bytes:
        stream = self.popen.stdout
        line = stream.readline(LARGEST_LINE + 1) if stream is not None else b""
        if not line.endswith(b"\n"):
            if len(line) > LARGEST_LINE:
                self._lost(f"a line must stay below {LARGEST_LINE} bytes, got more")
            raise ProgramEndedError(self._end())
        return line

    def _lost(self, reason: str) -> NoReturn:
        """Give up: what follows on the channel can't be told from what went before."""
        self.popen.kill()
        self.popen.wait()
        message = f"the program broke the protocol: {reason}"
        raise ProgramEndedError(message)

    def _end(self) -> str:
        try:
            status = self.popen.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return "the program closed its output"
        return f"the program ended with {ended_with(status)}"
