"""A worker process and the conversation with it: start, call, stop when it hangs, start again when it dies."""

import collections
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from conformance.channel import Channel, ChannelClosedError, ChannelError
from conformance.declarations import operations
from conformance.outcomes import Crashed, Errored, Failed, HarnessError, Reason, TimedOut
from conformance.subject import CallFailedError, CallRefusedError, Reply, Subject
from conformance.targets import LibraryMissing, TargetError

BOOTSTRAP = "import sys; sys.path[:0] = sys.argv[1:2]; from conformance.worker import main; main(int(sys.argv[2]), sys.argv[3])"
LOG_LINES = 200
CALL_SECONDS = 30.0


@dataclass(frozen=True)
class Descriptor:
    """One implementation as its worker describes it."""

    index: int
    label: str
    operation: str
    dtypes: tuple[str, ...]
    profile: Mapping[str, str]
    positions: str
    modifies_inputs: bool
    restrictions: Mapping[str, object]
    takes_dtype: bool


class Session:
    """One target in one worker process, started at the first use and again after a crash or a hang."""

    def __init__(self, target: str, *, startup_seconds: float = 120.0, call_seconds: float | None = None) -> None:
        """Start nothing yet."""
        self.target = target
        self.startup_seconds = startup_seconds
        self.call_seconds = CALL_SECONDS if call_seconds is None else call_seconds
        self.starts = 0
        self._process: _Process | None = None
        self._about: dict[str, Any] = {}

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the worker."""
        self.close()

    @property
    def about(self) -> Mapping[str, Any]:
        """What the worker said about itself: adapter, versions."""
        self._running()
        return self._about

    @property
    def implementations(self) -> tuple[Descriptor, ...]:
        """Every implementation that the target offers."""
        described = self.about["implementations"]
        return tuple(Descriptor(index, **{**item, "dtypes": tuple(item["dtypes"])}) for index, item in enumerate(described))

    def fresh(self) -> "Session":
        """Return another session on the same target, in which nothing has been called yet."""
        return Session(self.target, startup_seconds=self.startup_seconds, call_seconds=self.call_seconds)

    def subject(self, descriptor: Descriptor, dtype: str, profile: str) -> Subject:
        """Return one implementation at one dtype as something to call."""

        def call(arrays: Sequence[np.ndarray], parameters: Mapping[str, object]) -> Reply:
            return self.request(descriptor, dtype, arrays, parameters)

        return Subject(
            operation=operations()[descriptor.operation],
            dtype=dtype,
            profile=profile,
            call=call,
            restrictions=descriptor.restrictions,
            positions=descriptor.positions,
            label=descriptor.label,
        )

    def call(
        self,
        operation: str,
        arrays: Sequence[np.ndarray],
        parameters: Mapping[str, object],
        *,
        label: str | None = None,
        dtype: str | None = None,
    ) -> dict[str, np.ndarray]:
        """Return what the implementation of an operation gives: for people who paste a reproduction."""
        found = next(d for d in self.implementations if d.operation == operation and label in (None, d.label))
        return dict(self.request(found, dtype or found.dtypes[0], arrays, parameters).values)

    def request(self, descriptor: Descriptor, dtype: str, arrays: Sequence[np.ndarray], parameters: Mapping[str, object]) -> Reply:
        """Make one call in the worker."""
        process = self._running()
        header = {"index": descriptor.index, "dtype": dtype, "parameters": dict(parameters)}
        try:
            reply, values = process.exchange(header, arrays, self.call_seconds)
        except TimeoutError as error:
            self.close()
            raise CallFailedError(TimedOut(self.call_seconds)) from error
        except ChannelError as error:
            raise CallFailedError(Crashed(self._end_of(process, error))) from error
        return received(reply, values)

    def start(self) -> None:
        """Start the worker without waiting for it."""
        if self._process is None:
            self._process = _Process(self.target)
            self._about = {}
            self.starts += 1

    def close(self) -> None:
        """End the worker, whatever it is doing."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _running(self) -> "_Process":
        self.start()
        process = self._process
        if process is None:
            message = "a session must have a worker after start, got none"
            raise RuntimeError(message)
        if not self._about:
            self._about = self._greeting(process)
        return process

    def _greeting(self, process: "_Process") -> dict[str, Any]:
        try:
            about, _ = process.channel.receive(deadline=time.monotonic() + self.startup_seconds)
        except TimeoutError as error:
            self.close()
            message = f"{self.target} must be ready within {self.startup_seconds:g} s, got no answer"
            raise TargetError(message) from error
        except ChannelError as error:
            message = f"{self.target} can't be loaded: {self._end_of(process, error)}"
            raise TargetError(message) from error
        except BaseException:
            self.close()
            raise
        if about.get("status") == "ready":
            return about
        self.close()
        raise (LibraryMissing if about.get("status") == "library missing" else TargetError)(about.get("message", "no reason"))

    def _end_of(self, process: "_Process", error: ChannelError) -> str:
        """Return how the process ended, or what was wrong with its frame."""
        if not isinstance(error, ChannelClosedError):
            self.close()
            return f"sent garbage: {error}"
        status = process.wait()
        self.close()
        log = process.last_words()
        return f"the process ended with {_status(status)}{': ' + log if log else ''}"


class _Process:
    """The operating system's side of a worker."""

    def __init__(self, target: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.popen = subprocess.Popen(  # noqa: S603  our own interpreter on our own module
                [sys.executable, "-P", "-c", BOOTSTRAP, str(Path(__file__).resolve().parent.parent), str(theirs.fileno()), target],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self.channel = Channel(ours)
        self.log: collections.deque[bytes] = collections.deque(maxlen=LOG_LINES)
        self.reader = threading.Thread(target=_drain, args=(self.popen.stdout, self.log), daemon=True)
        self.reader.start()
        self.finalizer = weakref.finalize(self, _kill, self.popen)

    def exchange(
        self, header: Mapping[str, object], arrays: Sequence[np.ndarray], seconds: float
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Send a request and return the reply."""
        deadline = time.monotonic() + seconds
        self.channel.send(header, arrays, deadline=deadline)
        return self.channel.receive(deadline=deadline)

    def wait(self) -> int | None:
        """Return the exit status, or ``None`` if the process closed its channel and lives on."""
        try:
            return self.popen.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            return None

    def last_words(self) -> str:
        """Return the last line that the process printed."""
        self.reader.join(timeout=1.0)
        lines = b"".join(self.log).decode(errors="replace").split("\n")
        return next((line.strip()[-300:] for line in reversed(lines) if line.strip()), "")

    def end(self) -> None:
        """Kill the process and its children."""
        self.channel.close()
        self.finalizer()
        self.reader.join(timeout=1.0)


def _drain(stream: IO[bytes], log: collections.deque[bytes]) -> None:
    with stream:
        while data := os.read(stream.fileno(), 1 << 16):
            log.append(data[-(1 << 12) :])


def _kill(popen: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(popen.pid, signal.SIGKILL)
    popen.wait()


def _status(status: int | None) -> str:
    if status is None:
        return "its channel closed"
    if status < 0:
        return f"signal {signal.Signals(-status).name}"
    return f"exit status {status}"


def received(reply: Mapping[str, Any], values: Sequence[np.ndarray]) -> Reply:
    """Return what a worker answered, or raise where that is no result."""
    match reply.get("status"):
        case "ok":
            return Reply(dict(zip(reply["results"], values, strict=True)), reply["dtypes"], tuple(reply["modified"]))
        case "unsupported":
            raise CallRefusedError(reply["reason"])
        case "error":
            raise CallFailedError(Errored(reply["message"]))
        case "malformed":
            raise CallFailedError(Failed(Reason.SHAPE, reply["message"]))
    raise CallFailedError(HarnessError(f"a reply must have a status, got {reply.get('status')!r}"))
