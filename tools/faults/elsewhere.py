"""Commit faults under commands other than ``posenc check``, and see how each ends."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from conformance.calls.limits import Limits
from tools.faults.fault import Fault

ROOT = Path(__file__).resolve().parents[2]
#: A third operation, which is right and which ``posenc precision`` measures.
HEALTHY = """

@adapter.implements("binary.encode")
def measured(positions, *, bits):
    return binary.encode(positions, bits=bits)
"""
#: Longer than any command may take.
PATIENCE = 300.0
CALL_SECONDS = 6.0
#: Most of the time is spent waiting.
SIDE_BY_SIDE = 4
#: What nobody may ever see.
OURS = ("Traceback (most recent call last)", "internal error", "INTERNALERROR", "Warning:")


@dataclass(frozen=True)
class Command:
    """A command: its arguments for a fault, what it exits with, and what shows that it went on after the fault."""

    name: str
    arguments: Callable[[Fault], Sequence[str]]
    statuses: Sequence[int]
    goes_on: str


@dataclass(frozen=True)
class Ended:
    """How a command ended under a fault."""

    fault: Fault
    command: Command
    status: int | None
    text: str

    @property
    def went_on(self) -> bool:
        """Whether what comes after the fault was judged."""
        return self.command.goes_on in self.text

    @property
    def words(self) -> str:
        """What the table says of it."""
        return self.trouble or f"{self.status}, {'went on' if self.fault.loads else 'told why'}"

    @property
    def trouble(self) -> str:
        """What broke a promise, in words; nothing where none was."""
        if self.status is None:
            return f"took longer than {PATIENCE:g} s"
        ours = next((words for words in OURS if words in self.text), None)
        if ours is not None:
            return f"showed {ours!r}"
        if self.fault.loads:
            allowed = self.command.statuses
            return f"ended with {self.status}" if self.status not in allowed else "" if self.went_on else "lost what came after it"
        told = self.fault.words in self.text
        return "" if told and self.status in (2, 4) else f"ended with {self.status}, {'' if told else 'not '}telling why"


def _limits(limits: Limits, prefix: str = "") -> list[str]:
    seconds = max(limits.call_seconds, CALL_SECONDS)  # a busy machine answers late what is right
    known = {"startup-seconds": limits.startup_seconds, "call-seconds": seconds, "memory": limits.memory}
    return [word for name, value in {**known, "processes": limits.processes}.items() for word in (f"--{prefix}{name}", f"{value:g}")]


def _posenc(name: str) -> Callable[[Fault], Sequence[str]]:
    return lambda fault: ["-m", "conformance", name, "faulty.py", *_limits(fault.limits)]


def _pytest(fault: Fault) -> Sequence[str]:
    chosen = "law or six-heads" if fault.laws else "rotate/shifted or six-heads"
    plain = ["-p", "no:cacheprovider", "-p", "no:randomly", "--tb=short", "-v", "-k", chosen]
    return ["-m", "pytest", "--posenc", "faulty.py", "--posenc-seed", "0", *_limits(fault.limits, "posenc-"), *plain]


COMMANDS = (
    Command("identify", _posenc("identify"), (0, 1), "alibi.slopes"),
    Command("precision", _posenc("precision"), (0,), "binary.encode in float32"),
    Command("pytest", _pytest, (0, 1), "slopes/six-heads[float32] PASSED"),
)


def ended(command: Command, fault: Fault, folder: Path) -> Ended:
    """Return how a command ends under a fault."""
    source = fault.source.replace("import alibi, rope", "import alibi, binary, rope") + HEALTHY
    (folder / "faulty.py").write_text(source, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "400"}
    words = [sys.executable, *command.arguments(fault)]
    try:
        done = subprocess.run(  # noqa: S603  our own command
            words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return Ended(fault, command, None, "")
    return Ended(fault, command, done.returncode, done.stdout.decode(errors="replace"))


def every(faults: Sequence[Fault], commands: Sequence[Command] = COMMANDS) -> Iterator[Ended]:
    """Commit faults under commands."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        pairs = [(command, fault) for fault in faults for command in commands]
        folders = [Path(folder) / str(number) for number in range(len(pairs))]
        for path in folders:
            path.mkdir()
        yield from pool.map(ended, *zip(*pairs, strict=True), folders)
