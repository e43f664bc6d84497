"""The operating system's side of a worker: its process, its channel, what it printed, its limits."""

import collections
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from conformance.adapt.wording import ended_with
from conformance.calls.limits import Limits
from conformance.isolate import memory
from conformance.isolate.channel import Channel, ChannelClosedError
from conformance.isolate.keeper import KEEPS, STOPPED
from conformance.isolate.tree import Tree
from conformance.isolate.watch import PATIENCE, Watch

BOOTSTRAP = """\
import importlib, sys
sys.path[:0] = sys.argv[1:2]
importlib.import_module("conformance.isolate.keeper").keep(int(sys.argv[2]), int(sys.argv[5]), lasting=bool(sys.argv[6]))
importlib.import_module("conformance.isolate.kernel").look_into_nobody()
importlib.import_module(sys.argv[4]).main(int(sys.argv[2]), sys.argv[3], *sys.argv[7:])
"""
WORKER = "conformance.isolate.worker"
HERE = Path(__file__).resolve().parents[2]
LOG_LINES = 200
#: Seconds for a worker to end by itself, with its exit handlers.
LEAVING = 1.0
#: The signals that stop a process, by the exit status that says so.
STOPS = {STOPPED + number: number.name for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)}


class Process:
    """A worker that runs until it is ended, or ends itself."""

    def __init__(self, target: str, limits: Limits, module: str = WORKER, *, hash_seed: int = 0, under: str | None = None) -> None:
        """Start it without waiting for it; ``module`` has the ``main`` that answers, and strings are hashed from the seed."""
        ours, theirs = socket.socketpair()
        tree = Tree(kept=KEEPS)
        memory.close()
        try:
            words = target, module, str(os.getpid()), _lasting(), *([under] if under else [])
            self.popen = _started(theirs, words, {**tree.environment(), "PYTHONHASHSEED": str(hash_seed)})
        except BaseException:
            ours.close()
            memory.leave()
            raise
        self.channel = Channel(ours)
        self.watch = Watch(self.popen, ours, tree, limits)
        self.log: collections.deque[bytes] = collections.deque(maxlen=LOG_LINES)
        self.reader = threading.Thread(target=_drain, args=(self.popen.stdout, self.log), daemon=True)
        self.finalizer = weakref.finalize(self, _ended, self.watch)
        try:
            self.watch.start()
            self.reader.start()
        except RuntimeError as error:  # no further thread
            self.finalizer()
            raise BlockingIOError(errno.EAGAIN, f"system must let a thread start, got {error}") from error

    def exchange(
        self, header: Mapping[str, object], arrays: Sequence[np.ndarray], seconds: float
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Send a request and return the reply."""
        deadline = time.monotonic() + seconds
        self.channel.send(header, arrays, deadline=deadline)
        return self.channel.receive(deadline=deadline)

    def ending(self) -> str:
        """Return how the process ended, with the last line that it printed."""
        ended = self._wait()
        self.end()
        lines = self._printed()
        return f"the process ended with {status(ended)}{': ' + lines[-1] if lines else ''}"

    def end(self) -> None:
        """Kill the process and everything that it started."""
        self.finalizer()
        self.channel.close()
        self.reader.join(timeout=1.0)

    def leave(self) -> bool:
        """Have the process, of which nothing is asked, end by itself; end what is left of it, and return whether it was in time."""
        try:
            self.channel.send({"leave": True}, deadline=time.monotonic() + LEAVING)
            self.popen.wait(timeout=LEAVING)
        except (TimeoutError, subprocess.TimeoutExpired):
            return False
        except ChannelClosedError:  # it has ended already
            return True
        finally:
            self.end()
        return True

    def _wait(self) -> int | None:
        """Return the exit status, or ``None`` if the process closed its channel and lives on."""
        try:
            return self.popen.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return None

    @property
    def last_words(self) -> str:
        """The last line that was printed, in words; nothing where nothing was."""
        lines = self._printed()
        return f"; it last said: {lines[-1]}" if lines else ""

    def _printed(self) -> list[str]:
        """Return the last lines that the process printed."""
        lines = b"".join(self.log).decode(errors="replace").split("\n")
        return [line.strip()[-300:] for line in lines if line.strip()]


def _started(theirs: socket.socket, words: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start our own interpreter on our own module, which inherits one end of the channel."""
    with theirs:
        return subprocess.Popen(  # noqa: S603  our own interpreter on our own module
            [sys.executable, "-P", "-c", BOOTSTRAP, str(HERE), str(theirs.fileno()), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(theirs.fileno(),),
            env=environment,
            start_new_session=True,
        )


def _ended(watch: Watch) -> None:
    """End a worker with everything that it started."""
    watch.end()
    memory.leave()


def _lasting() -> str:
    """Return a word where this thread lasts as long as the process: with another a worker must not end."""
    return "main" if threading.current_thread() is threading.main_thread() else ""


def _drain(stream: IO[bytes], log: collections.deque[bytes]) -> None:
    with stream:
        while data := os.read(stream.fileno(), 1 << 16):
            log.append(data[-(1 << 12) :])


def status(ended: int | None) -> str:
    """Return in words how a process ended: by its exit status, or not at all."""
    if ended is None:
        return "its channel closed"
    stop = STOPS.get(ended)
    return ended_with(ended) + (f", which says that {stop} stopped it" if stop and KEEPS else "")
