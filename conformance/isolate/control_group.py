"""A control group (cgroup v2) for a worker, where one can be made: the kernel then keeps the limits, and knows every process."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from conformance.calls.limits import MIB, Limits

#: The kernel counts threads as processes; a framework starts one or more per core.
THREADS_PER_PROCESS = 64
NEEDED = {"memory", "pids"}
PROC = Path("/proc/self")


class ControlGroup:
    """One group, made for one worker and removed with it."""

    def __init__(self, path: Path) -> None:
        """Take a group that exists."""
        self.path = path

    @classmethod
    def make(cls, limits: Limits) -> Self | None:
        """Return a group that keeps the limits, or ``None`` where none can be made."""
        for parent in _parents():
            with contextlib.suppress(OSError, ValueError):
                if set((parent / "cgroup.subtree_control").read_text().split()) >= NEEDED:
                    return cls._made(parent / f"posenc-{os.getpid()}-{secrets.token_hex(4)}", limits)
        return None

    @classmethod
    def _made(cls, path: Path, limits: Limits) -> Self:
        path.mkdir()
        group = cls(path)
        try:
            group._write("memory.max", str(limits.memory * MIB) if limits.memory else "max")
            group._write("memory.oom.group", "1")
            group._write("pids.max", str(limits.processes * THREADS_PER_PROCESS) if limits.processes else "max")
        except OSError:
            group.remove()
            raise
        return group

    def take(self, pid: int) -> bool:
        """Put a process into the group, and say whether that was allowed."""
        try:
            self._write("cgroup.procs", str(pid))
        except OSError:
            return False
        return True

    def processes(self) -> list[int]:
        """Return what runs in the group."""
        with contextlib.suppress(OSError):
            return [int(pid) for pid in (self.path / "cgroup.procs").read_text().split()]
        return []

    def exceeded(self) -> str | None:
        """Return which limit the kernel has enforced."""
        if self._count("memory.events", "oom_kill"):
            return "memory"
        return "processes" if self._count("pids.events", "max") else None

    def kill(self) -> None:
        """End every process of the group."""
        with contextlib.suppress(OSError):
            self._write("cgroup.kill", "1")

    def remove(self) -> None:
        """Remove the group, if nothing runs in it any more."""
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def _write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="ascii")

    def _count(self, name: str, event: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            pairs = (line.split() for line in (self.path / name).read_text().splitlines())
            return sum(int(count) for key, count in pairs if key == event)
        return 0


def _parents() -> Iterator[Path]:
    """Yield our own group, and the one above it: where groups hold processes, only that may have further groups."""
    try:
        mounted = next(line.split()[4] for line in (PROC / "mountinfo").read_text().splitlines() if " - cgroup2 " in line)
        ours = next(line.removeprefix("0::/") for line in (PROC / "cgroup").read_text().splitlines() if line.startswith("0::/"))
    except (OSError, StopIteration):
        return
    here = Path(mounted) / ours
    yield here
    if here != Path(mounted):
        yield here.parent
