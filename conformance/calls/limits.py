"""What an implementation may use: time to start, time for a call, memory, processes."""

from dataclasses import dataclass

MIB = 1 << 20
#: The bytes that the arrays of one call, or of one answer, may have.
LARGEST_PAYLOAD = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Limits of one worker with everything that it starts: seconds, MiB of memory, processes; 0 MiB or processes means no limit."""

    startup_seconds: float = 120.0
    call_seconds: float = 30.0
    memory: int = 8192
    processes: int = 512

    def words(self) -> str:
        """Return the limits as the header of a report shows them."""
        memory = f"{self.memory} MiB" if self.memory else "any memory"
        processes = f"{self.processes} processes" if self.processes else "any number of processes"
        return f"{self.startup_seconds:g} s to start, {self.call_seconds:g} s per call, {memory}, {processes}"
