"""What the kernel is asked for where it is Linux: to hand over orphans, that nothing outlives who started it, to close a memory."""

import ctypes
import os
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
KILLED = 9
#: The capability to look into any process, and how ``capset`` is asked for the sets of 64 capabilities of the calling thread.
CAP_SYS_PTRACE = 19
CAPABILITIES = 0x20080522
#: Of a worker that has a keeper: the keeper and the harness.
parents: list[int] = []


def adopt_orphans() -> None:
    """Have processes whose parents end become children of this one, so that they are found and ended with it."""
    _control(PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(parent: int, number: int = KILLED) -> None:
    """Have this process get a signal when the thread that started it ends, however that happens; at once where the parent has ended."""
    if _control(PR_SET_PDEATHSIG, number) == 0 and os.getppid() != parent:
        os.kill(os.getpid(), number)


def close_memory(*, closed: bool) -> None:
    """Have the kernel refuse this process's memory, environment and open files to others of its user, or not refuse them."""
    _control(PR_SET_DUMPABLE, int(not closed))


def memory_closed() -> bool:
    """Whether the kernel refuses them already, or isn't Linux."""
    return _control(PR_GET_DUMPABLE, 0) != 1


def look_into_nobody() -> None:
    """Give up the capability that opens every memory, in this process and in what it starts; who isn't root has none."""
    _control(PR_CAPBSET_DROP, CAP_SYS_PTRACE)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            header, held = (ctypes.c_uint32 * 2)(CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
            if library.capget(header, held) == 0:
                for index in range(3):  # the effective, the permitted and the inheritable ones below 32
                    held[index] &= ~(1 << CAP_SYS_PTRACE)
                library.capset(header, held)


def reaches_parent() -> bool:
    """Whether this process could open the memory of one that started it."""
    return sys.platform != "linux" or any(map(_opens, parents or [os.getppid()]))


def _opens(process: int) -> bool:
    try:
        os.close(os.open(f"/proc/{process}/mem", os.O_RDONLY))
    except OSError:
        return False
    return True


def write_no_core() -> None:
    """Have a crash leave no core file."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _control(option: int, value: int) -> int:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0))
    return -1
