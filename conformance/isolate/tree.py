"""Everything that a worker started: found while it runs, ended with it."""

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Collection, Iterable, Iterator

import psutil

from conformance.isolate.environment import passed

#: The environment variable by which a process is known after it has left its parent and its session.
MARKER = "POSENC_WORKER"
#: How often is looked for further processes while they are being ended: a process may be started while another is ended.
ROUNDS = 500
PAUSE = 0.005
GONE = (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess)


class Tree:
    """A worker and all below it.

    Where it is ``kept``, all of it stands below the worker's keeper, whatever its processes do. Else a process is found as a descendant of
    the worker, or because it was seen as one before, or by the marker in the environment that it was started with: one that appears
    between two looks, empties its environment and leaves its parent is not found. That is also so where a keeper was killed.
    """

    def __init__(self, *, kept: bool = False) -> None:
        """Choose a marker; nothing runs yet."""
        self.kept = kept
        self.marker = secrets.token_hex(8)
        self.born = time.time()
        self.root: psutil.Process | None = None
        self.seen: set[psutil.Process] = set()
        self.looking = threading.Lock()

    def environment(self) -> dict[str, str]:
        """Return the environment to start the worker with: ours without secrets, but for those that ``POSENC_PASS`` names."""
        return {**passed(os.environ), MARKER: self.marker}

    def grows_from(self, pid: int) -> None:
        """Take the worker, or its keeper, as the root."""
        with contextlib.suppress(*GONE):
            self.root = psutil.Process(pid)
            if not self.kept:
                self.seen.add(self.root)

    def look(self) -> list[psutil.Process]:
        """Return what runs now, of what is or was below the worker."""
        with self.looking:
            if self.root is not None:
                with contextlib.suppress(*GONE):
                    self.seen.update(self.root.children(recursive=True))
            self.seen = {process for process in self.seen if runs(process)}
            return list(self.seen)

    def known(self) -> list[psutil.Process]:
        """Return what was seen to run when it was last looked."""
        with self.looking:
            return list(self.seen)

    def kill(self) -> None:
        """End everything, and what is started meanwhile; the keeper comes last, so that nothing leaves it."""
        for _ in range(ROUNDS):
            found = {*self.look(), *self._marked()} or self._rooted()
            if not found:
                return
            for process in found:
                with contextlib.suppress(*GONE):
                    process.kill()
            time.sleep(PAUSE)

    def _rooted(self) -> set[psutil.Process]:
        """Return the root, where it runs."""
        return {self.root} if self.root is not None and runs(self.root) else set()

    def _marked(self) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            with contextlib.suppress(*GONE, OSError):
                young = process.create_time() >= self.born - 1
                if (
                    young
                    and process.pid != os.getpid()
                    and process != self.root
                    and process.environ().get(MARKER) == self.marker
                    and runs(process)
                ):
                    yield process


def runs(process: psutil.Process) -> bool:
    """Whether a process runs: one that has ended and waits for its parent to notice doesn't."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except GONE:
        return False


def memory(processes: Collection[psutil.Process]) -> int:
    """Return the bytes that processes hold: what they share is counted once where the system tells."""
    together = resident(processes)
    return together if len(processes) < 2 else min(together, sum(_own(process) for process in processes))


def resident(processes: Iterable[psutil.Process]) -> int:
    """Return the bytes that processes hold, each by itself."""
    return sum(map(_resident, processes))


def _resident(process: psutil.Process) -> int:
    with contextlib.suppress(*GONE):
        return int(process.memory_info().rss)
    return 0


def _own(process: psutil.Process) -> int:
    """Return a process's share: its own pages, and a part of each that it shares; everything where the system doesn't tell."""
    with contextlib.suppress(*GONE):
        told = process.memory_full_info()
        return int(getattr(told, "pss", 0) or told.rss)
    return 0
