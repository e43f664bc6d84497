"""The operating system's side of a worker: its process, its channel, what it printed, its limits."""

import collections
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

from conformance.calls.limits import Limits
from conformance.isolate.channel import Channel
from conformance.isolate.tree import Tree
from conformance.isolate.watch import Watch

BOOTSTRAP = (
    "import importlib, sys; sys.path[:0] = sys.argv[1:2]; importlib.import_module(sys.argv[4]).main(int(sys.argv[2]), sys.argv[3])"
)
WORKER = "conformance.isolate.worker"
LOG_LINES = 200


class Process:
    """A worker that runs until it is ended, or ends itself."""

    def __init__(self, target: str, limits: Limits, module: str = WORKER) -> None:
        """Start it without waiting for it; ``module`` has the ``main`` that answers."""
        ours, theirs = socket.socketpair()
        tree = Tree()
        with theirs:
            self.popen = subprocess.Popen(  # noqa: S603  our own interpreter on our own module
                [sys.executable, "-P", "-c", BOOTSTRAP, str(Path(__file__).resolve().parents[2]), str(theirs.fileno()), target, module],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                env=tree.environment(),
                start_new_session=True,
            )
        self.channel = Channel(ours)
        self.watch = Watch(self.popen, ours, tree, limits)
        self.log: collections.deque[bytes] = collections.deque(maxlen=LOG_LINES)
        self.reader = threading.Thread(target=_drain, args=(self.popen.stdout, self.log), daemon=True)
        self.reader.start()
        self.finalizer = weakref.finalize(self, self.watch.end)

    def exchange(
        self, header: Mapping[str, object], arrays: Sequence[np.ndarray], seconds: float
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Send a request and return the reply."""
        deadline = time.monotonic() + seconds
        self.channel.send(header, arrays, deadline=deadline)
        return self.channel.receive(deadline=deadline)

    def ending(self) -> str:
        """Return how the process ended, with the last line that it printed."""
        status = self._wait()
        self.end()
        log = self._last_words()
        return f"the process ended with {_status(status)}{': ' + log if log else ''}"

    def end(self) -> None:
        """Kill the process and everything that it started."""
        self.finalizer()
        self.channel.close()
        self.reader.join(timeout=1.0)

    def _wait(self) -> int | None:
        """Return the exit status, or ``None`` if the process closed its channel and lives on."""
        try:
            return self.popen.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            return None

    def _last_words(self) -> str:
        """Return the last line that the process printed."""
        lines = b"".join(self.log).decode(errors="replace").split("\n")
        return next((line.strip()[-300:] for line in reversed(lines) if line.strip()), "")


def _drain(stream: IO[bytes], log: collections.deque[bytes]) -> None:
    with stream:
        while data := os.read(stream.fileno(), 1 << 16):
            log.append(data[-(1 << 12) :])


def _status(status: int | None) -> str:
    if status is None:
        return "its channel closed"
    if status >= 0:
        return f"exit status {status}"
    known = signal.valid_signals()
    return f"signal {signal.Signals(-status).name if -status in known and -status < signal.SIGRTMIN else -status}"
