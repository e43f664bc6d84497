"""The process between the harness and a worker, where the system is Linux: what the worker starts comes to it, and ends with the worker.

A process whose parent ends becomes a child of the keeper, however it was started: in a session of its own, without an environment, twice
forked. It imports next to nothing and answers nobody. When the worker ends or is stopped, when the harness asks (SIGTERM), or when the
harness itself ends, it kills its children until there are none, and then ends as the worker did.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from conformance.isolate import kernel

ASKED = signal.SIGTERM
HEARD = {ASKED, signal.SIGCHLD}
#: The exit status of one whose worker was stopped is that many more than the signal's number, as in shells.
STOPPED = 128
KEEPS = sys.platform == "linux"
#: Seconds after which a keeper looks whether the harness is there, where no signal says so: its thread ended, or lives shorter than it.
LOOKS = 1.0


def keep(channel: int, harness: int, *, lasting: bool) -> None:
    """Return in the worker, a new process; stay in this one until everything has ended. ``lasting``: end with the harness's thread."""
    if not KEEPS:
        return
    keeper = os.getpid()
    kernel.adopt_orphans()
    kernel.close_memory(closed=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    if lasting:
        kernel.end_with_parent(harness, ASKED)
    worker = os.fork()
    if worker:
        _release(channel)
        _end_as(_kept(worker, harness))
    kernel.close_memory(closed=False)
    kernel.end_with_parent(keeper)
    kernel.parents[:] = keeper, harness
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.setsid()


def _release(channel: int) -> None:
    """Close what the worker alone shall hold: the harness notices when it is closed there."""
    os.close(channel)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)


def _kept(worker: int, harness: int) -> int:
    """Return how the worker ended, once nothing runs any more of what it has started."""
    status = None
    while status is None:
        heard = signal.sigtimedwait(HEARD, LOOKS)
        asked = os.getppid() != harness if heard is None else heard.si_signo == ASKED
        status = 0 if asked else dict(_ended()).get(worker)
    with suppress(ChildProcessError):
        while True:
            for child in _children():
                with suppress(OSError):
                    os.kill(child, signal.SIGKILL)
            os.waitpid(-1, 0)
            list(_ended())
    return status


def _ended() -> Iterator[tuple[int, int]]:
    """Yield the children that have ended, or were stopped, and how."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG | os.WUNTRACED))[0]:
            yield ended


def _children() -> Iterator[int]:
    """Yield the children that there are, without those of other processes."""
    ours = str(os.getpid())
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "stat").read_text(errors="replace").rpartition(")")[2].split()[1] == ours:
                yield int(process.name)


def _end_as(status: int) -> None:
    """End with the same exit status, or by the same signal, without a core file of our own."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        kernel.write_no_core()
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    stopped = os.WIFSTOPPED(status)
    os._exit(STOPPED + os.WSTOPSIG(status) if stopped else os.waitstatus_to_exitcode(status) & 0xFF)
