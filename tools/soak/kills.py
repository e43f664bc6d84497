"""Kill commands with SIGKILL while they write; what is there must be whole, and the next run right."""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

import psutil

from conformance import baseline, vectors
from conformance.reports import lines
from conformance.vectors import vectors_directory, verify
from tools.generate.writer import write
from tools.soak.mutations import seeded

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sys.executable
OPERATION = "binary.encode.yaml"
#: Half of the kills wait for the first change in the folder, then this long at most (seconds): that is when files are written.
WRITING = 0.02
CHANGED_FIRST = 0.5
#: Seconds for the processes that a killed command had started to notice it.
ALONE = 15
TRIES = 4


@dataclass(frozen=True)
class Command:
    """A command that writes: how a folder is prepared, what is run, and what every file in it must be after a kill."""

    arguments: tuple[str, ...]
    prepare: Callable[[Path], None]
    whole: Callable[[Path, bytes], None]
    result: Callable[[Path], object]
    needs_record: bool = False


@dataclass
class Killed:
    """How many kills hit a running command, how many of them while it was writing, and what was wrong afterwards."""

    kills: int = 0
    leftovers: int = 0
    failures: list[str] = field(default_factory=list)


def _records(path: Path) -> object:
    """Return what a record says, without how long things took."""
    return [[(result.check, result.dtype, result.outcome) for result in report.results] for report in lines.read(path)]


def _whole_report(path: Path, _: bytes) -> None:
    if path.suffix == ".jsonl":
        _require(all(report.complete for report in lines.read(path)), "a record must be complete")
    elif path.suffix in {".xml", ".svg"}:
        ET.parse(path)  # noqa: S314  our own file
    else:
        _require(path.read_text(encoding="utf-8").endswith("\n"), "a report must have its end")


def _whole_baseline(path: Path, _: bytes) -> None:
    baseline.read(path)


def _whole_text(path: Path, right: bytes) -> None:
    _require(path.read_bytes() in {right, _old(path.name)}, "a file must have its old bytes or its new ones")


def _old(name: str) -> bytes:
    """Return what stands in a file before it is written anew."""
    return f"# {name} as it was\n".encode() + (vectors_directory() / OPERATION).read_bytes() if name == OPERATION else b"as it was\n"


def _require(condition: object, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _nothing(_: Path) -> None:
    """Start from an empty folder."""


def _rendered(folder: Path) -> None:
    (folder / "page.html").write_bytes(_old("page.html"))


def _one_operation(folder: Path) -> None:
    """Lay out vectors of one operation whose file is out of date."""
    shutil.copy(vectors_directory() / vectors.SCHEMA, folder)
    (folder / OPERATION).write_bytes(_old(OPERATION))
    (folder / vectors.MANIFEST).write_bytes(_manifest(folder))


def _manifest(folder: Path) -> bytes:
    files = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (OPERATION, vectors.SCHEMA)}
    return write({"format": 1, "revision": 1, "files": files}).encode()


def _whole_vectors(path: Path, right: bytes) -> None:
    contents = path.read_bytes()
    known = contents == right or path.name == vectors.SCHEMA
    _require(known or contents.endswith(b"\n"), "a vector file must have its end")
    if path.name == OPERATION:
        _require(contents in {right, _old(path.name)}, "a vector file must have its old bytes or its new ones")


def _verified(folder: Path) -> object:
    return verify(folder), (folder / OPERATION).read_bytes(), (folder / vectors.MANIFEST).read_bytes()


CHECK = ("-m", "conformance", "check", str(ROOT / "examples" / "numpy_wrong.py"), "--level", "smoke")
COMMANDS: Mapping[str, Command] = {
    "posenc check --report": Command(
        (*CHECK, "--report", "{folder}"), _nothing, _whole_report, lambda folder: _records(folder / "record.jsonl")
    ),
    "posenc check --update-baseline": Command(
        (*CHECK, "--baseline", "{folder}/known.yaml", "--update-baseline"),
        _nothing,
        _whole_baseline,
        lambda folder: (folder / "known.yaml").read_bytes(),
    ),
    "posenc report render": Command(
        ("-m", "conformance", "report", "render", "{scratch}/record.jsonl", "--format", "html", "--output", "{folder}/page.html"),
        _rendered,
        _whole_text,
        lambda folder: (folder / "page.html").read_bytes(),
        needs_record=True,
    ),
    "python -m tools.generate": Command(
        ("-m", "tools.generate", "--only", OPERATION.removesuffix(".yaml"), "--directory", "{folder}", "--processes", "1"),
        _one_operation,
        _whole_vectors,
        _verified,
    ),
}


def kill(name: str, count: int, seed: int) -> Killed:
    """Kill a command ``count`` times while it runs, each time in a fresh folder, and look at what is left."""
    found = Killed()
    with tempfile.TemporaryDirectory() as scratch:
        trial = _Trial(COMMANDS[name], Path(scratch))
        for number in range(TRIES * count):
            if found.kills < count:
                trial.round(found, f"{name}, seed {seed}, kill {number}", seeded(f"{seed}/{name}/{number}"))
    if found.kills < count:
        found.failures.append(f"{name}: {count} kills must hit it, got {found.kills}")
    return found


class _Trial:
    """A command with what it does when nobody kills it."""

    def __init__(self, command: Command, scratch: Path) -> None:
        self.command, self.scratch = command, scratch
        if command.needs_record:
            self._run((*CHECK, "--report", str(scratch)), scratch)
        folder = self._folder()
        started = time.perf_counter()
        self.status = self._run(self.command.arguments, folder)
        self.seconds = time.perf_counter() - started
        self.right = command.result(folder)
        self.again = self._run(command.arguments, folder)
        self.bytes = {path.name: path.read_bytes() for path in folder.iterdir()}

    def _folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        self.command.prepare(folder)
        return folder

    def _start(self, arguments: tuple[str, ...], folder: Path) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        words = [word.format(folder=folder, scratch=self.scratch) for word in arguments]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(  # noqa: S603  our own command
            [PYTHON, *words], cwd=self.scratch, env=environment, stdout=quiet, stderr=quiet, start_new_session=True
        )

    def _run(self, arguments: tuple[str, ...], folder: Path) -> int:
        return self._start(arguments, folder).wait()

    def round(self, found: Killed, label: str, chance: random.Random) -> None:
        """Kill once; a command that had ended before doesn't count."""
        folder = self._folder()
        process = self._start(self.command.arguments, folder)
        self._wait(process, folder, chance)
        hit, children = _end(process)
        found.kills += hit
        found.leftovers += any(path.name.endswith(".tmp") for path in folder.iterdir())
        try:
            _, alive = psutil.wait_procs(children, timeout=ALONE)
            _require(not alive, f"processes must notice that they are alone within {ALONE} s")
            self._judge(folder)
        except Exception as error:  # noqa: BLE001  a file that can't be read is what is looked for
            found.failures.append(f"{label}: {type(error).__name__}: {error}")
        shutil.rmtree(folder, ignore_errors=True)

    def _wait(self, process: subprocess.Popen[bytes], folder: Path, chance: random.Random) -> None:
        """Wait until a random point of the run, or until the folder changes and a random moment more."""
        writing = chance.random() < CHANGED_FIRST
        point = WRITING * chance.random() ** 4 if writing else chance.uniform(0, self.seconds)
        before = _listing(folder)
        while writing and process.poll() is None and _listing(folder) == before:
            continue
        try:
            process.wait(timeout=point)
        except subprocess.TimeoutExpired:
            return

    def _judge(self, folder: Path) -> None:
        for path in folder.iterdir():
            if path.name.startswith("."):
                _require(path.name.endswith(".tmp"), f"a file that wasn't finished must be called .….tmp, got {path.name}")
            else:
                self.command.whole(path, self.bytes[path.name])
        status = self._run(self.command.arguments, folder)
        _require(status in {self.status, self.again}, f"the next run must end in {self.status} or {self.again}, got {status}")
        _require(self.command.result(folder) == self.right, "the next run must give the right result")


def _listing(folder: Path) -> list[tuple[str, int]]:
    with os.scandir(folder) as entries:
        return sorted((entry.name, entry.inode()) for entry in entries)


def _end(process: subprocess.Popen[bytes]) -> tuple[bool, list[psutil.Process]]:
    """Kill a command and its group; return whether it was still running, and what it had started."""
    try:
        children = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        children = []
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait() == -signal.SIGKILL, children
