"""Watch a worker from a thread of the harness: end it when it uses more than it may, notice when it is dead."""

import contextlib
import math
import socket
import subprocess
import threading
from typing import TYPE_CHECKING

from conformance.calls.limits import MIB, Limits
from conformance.calls.outcomes import Exhausted
from conformance.isolate import keeper
from conformance.isolate.control_group import ControlGroup
from conformance.isolate.tree import GONE, Tree, memory, resident

if TYPE_CHECKING:
    import psutil

#: How often is looked: what grows faster than this is ended this late.
SECONDS = 0.2
#: Seconds for a keeper to end everything.
PATIENCE = 5.0


class Watch:
    """The limits of one worker, kept by the kernel where there is a control group, else by looking every so often."""

    def __init__(self, popen: "subprocess.Popen[bytes]", connection: socket.socket, tree: Tree, limits: Limits) -> None:
        """Take a worker that has just been started; nothing is watched before ``start``."""
        self.popen = popen
        self.connection = connection
        self.tree = tree
        self.limits = limits
        self.exceeded: Exhausted | None = None
        self.settled: set[psutil.Process] = set()
        tree.grows_from(popen.pid)
        self.group = _group(popen.pid, limits)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, name="posenc-watch", daemon=True)

    def start(self) -> None:
        """Watch from now on."""
        self.thread.start()

    @property
    def mechanism(self) -> str:
        """How the limits are kept, in words."""
        return "cgroup v2" if self.group is not None else f"process tree watched every {SECONDS:g} s (best effort)"

    def settle(self) -> None:
        """Take what runs now for what the worker needs."""
        self.settled = set(self.tree.look())

    def crowded(self) -> bool:
        """Whether more runs than the worker needs, or more than half of the memory is used: the next limit met would be nobody's."""
        with contextlib.suppress(*GONE):
            self.exceeded = self.exceeded or self._look()
            running = self.tree.look()
            return self._over_half(memory(running)) or not self.settled.issuperset(running)
        return True

    def held(self) -> float:
        """Return the bytes that all which was last seen to run holds, in a moment: what processes share is counted more than once.

        Of what was ended for a limit it is without end: nobody can tell any more.
        """
        return resident(self.tree.known()) if self.exceeded is None else math.inf

    def full(self, held: float) -> bool:
        """Whether more than half of the memory is used, where so many bytes are held."""
        return self.exceeded is None and self._over_half(held) and self._over_half(memory(self.tree.known()))

    def _over_half(self, held: float) -> bool:
        return bool(self.limits.memory) and held > self.limits.memory * MIB / 2

    def check(self) -> Exhausted | None:
        """Return what was exceeded, once and for all."""
        if self.exceeded is None and self.group is not None:
            resource = self.group.exceeded()
            self.exceeded = None if resource is None else Exhausted(resource, self._limit(resource))
        return self.exceeded

    def end(self) -> None:
        """Stop watching, and end the worker with everything that it started."""
        self.stopped.set()
        if self.thread.ident is not None and threading.current_thread() is not self.thread:
            self.thread.join()
        self._kill()
        self.popen.wait()
        if self.group is not None:
            self.group.remove()

    def _run(self) -> None:
        while not self.stopped.wait(SECONDS):
            with contextlib.suppress(*GONE, OSError):  # the last where no further file can be opened
                self.exceeded = self.exceeded or self._look()
            if self.exceeded is not None:
                self._kill()
            if self.exceeded is not None or self.popen.poll() is not None:
                self._hang_up()
                return

    def _look(self) -> Exhausted | None:
        limits = self.limits
        running = self.tree.look()
        if limits.processes and len(running) > limits.processes:
            return Exhausted("processes", limits.processes)
        if limits.memory and self.group is None and memory(running) > limits.memory * MIB:
            return Exhausted("memory", limits.memory)
        return None

    def _kill(self) -> None:
        if self.group is not None:
            self.group.kill()
        if self.tree.kept:
            self._ask_keeper()
        self.tree.kill()

    def _ask_keeper(self) -> None:
        """Have the keeper end everything, whatever has become of it; one that can't is ended with the tree."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self.popen.send_signal(keeper.ASKED)
            self.popen.wait(timeout=PATIENCE)

    def _hang_up(self) -> None:
        """Wake whoever waits for an answer: a process that inherited the channel would keep it open."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _limit(self, resource: str) -> int:
        return self.limits.memory if resource == "memory" else self.limits.processes


def _group(pid: int, limits: Limits) -> ControlGroup | None:
    """Return a control group that holds the process, which has only just been started and has no children yet."""
    group = ControlGroup.make(limits)
    if group is None or group.take(pid):
        return group
    group.remove()
    return None
