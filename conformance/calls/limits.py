"""What an implementation may use: time to start, time for a call, memory, processes."""

from dataclasses import dataclass

from conformance.spec.shown import shown

MIB = 1 << 20
#: The bytes that the arrays of one call, or of one answer, may have.
LARGEST_PAYLOAD = 1 << 30
#: Seconds that a limit has at least and at most.
SHORTEST, LONGEST = 0.1, 1e6


class LimitError(Exception):
    """A limit that nothing can keep."""


@dataclass(frozen=True)
class Limits:
    """Limits of one worker with everything that it starts: seconds, MiB of memory, processes; 0 MiB or processes means no limit.

    Raises ``LimitError`` for times below 0.1 s or without an end, and for numbers below 0.
    """

    startup_seconds: float = 120.0
    call_seconds: float = 30.0
    memory: int = 8192
    processes: int = 512

    def __post_init__(self) -> None:
        """Refuse what nothing can keep."""
        for name, seconds in (("startup-seconds", self.startup_seconds), ("call-seconds", self.call_seconds)):
            if not SHORTEST <= seconds <= LONGEST:
                message = f"{name} must be from {SHORTEST:g} to {LONGEST:,.0f}, got {seconds:g}"
                raise LimitError(message)
        for name, count in (("memory", self.memory), ("processes", self.processes)):
            if count < 0:
                message = f"{name} must be at least 0, got {shown(count)}"
                raise LimitError(message)

    def words(self) -> str:
        """Return the limits as the header of a report shows them."""
        memory = f"{self.memory} MiB" if self.memory else "any memory"
        processes = f"{self.processes} processes" if self.processes else "any number of processes"
        return f"{self.startup_seconds:g} s to start, {self.call_seconds:g} s per call, {memory}, {processes}"
