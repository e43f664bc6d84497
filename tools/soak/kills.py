"""Kill commands while they write, a quarter of the times by SIGTERM; what is there must be whole, and the next run right."""

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

from conformance.reports import lines
from conformance.show import baseline
from conformance.spec import vectors
from conformance.spec.vectors import vectors_directory, verify
from tools.generate.writer import write
from tools.soak import stopping
from tools.soak.moments import PATIENCE, WHILE_WRITING, Lengths, end, stop_while_writing, stops, terminate
from tools.soak.mutations import seeded
from tools.soak.subjects import REPORT

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sys.executable
OPERATION = "binary.encode.yaml"
#: Seconds for the processes that a killed command had started to notice it.
ALONE = 15
#: How many runs each kill may take: one that came after the end of its command is no kill, and is tried again at another moment.
TRIES = 20
#: Of so many kills one is by SIGTERM.
ASKED_ONCE_IN = 4


@dataclass(frozen=True)
class Command:
    """A command that writes: how a folder is prepared, what is run, and what every file in it must be after a kill."""

    arguments: tuple[str, ...]
    prepare: Callable[[Path], None]
    whole: Callable[[Path, bytes], None]
    result: Callable[[Path], object]


@dataclass
class Killed:
    """How many kills hit a running command, how many by SIGTERM, how many while it was writing, and what was wrong afterwards."""

    kills: int = 0
    asked: int = 0
    partial: int = 0
    leftovers: int = 0
    failures: list[str] = field(default_factory=list)


def _records(path: Path) -> object:
    """Return what a record says, without how long things took."""
    return [[(result.check, result.dtype, result.outcome) for result in report.results] for report in lines.read(path)]


def _whole_report(path: Path, _: bytes) -> None:
    if path.suffix == ".jsonl":
        lines.read(path)
    elif path.suffix in {".xml", ".svg"}:
        ET.parse(path)  # noqa: S314  our own file
    else:
        _require(path.read_text(encoding="utf-8").endswith("\n"), "a report must have its end")


def _partial(record: Path) -> bool:
    """Whether there is a record of a run that was interrupted."""
    return record.is_file() and not all(report.complete for report in lines.read(record))


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
    """Lay out a page that is out of date, and beside the folder the record to render."""
    (folder.parent / "record.jsonl").write_text(lines.text([REPORT]), encoding="utf-8")
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


CHECK = ("-m", "conformance", "check", str(ROOT / "examples" / "numpy_wrong.py"), "--level", "smoke", "--seed", "0")
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
    ),
    "python -m tools.generate": Command(
        ("-m", "tools.generate", "--only", OPERATION.removesuffix(".yaml"), "--directory", "{folder}", "--processes", "1"),
        _one_operation,
        _whole_vectors,
        _verified,
    ),
}


def kill(name: str, items: range, seed: int) -> Killed:
    """Kill a command while it runs, once for every item, each time in a fresh folder, and look at what is left."""
    found = Killed()
    with tempfile.TemporaryDirectory() as scratch:
        trial = _Trial(COMMANDS[name], Path(scratch))
        for item in items:
            _kill_once(trial, found, name, item, seed)
    return found


def _kill_once(trial: "_Trial", found: Killed, name: str, item: int, seed: int) -> None:
    """Try moments until one comes before the end of the command."""
    label = f"{name}, seed {seed}, item {item}"
    asked = item % ASKED_ONCE_IN == ASKED_ONCE_IN - 1
    tries = (trial.round(found, label, seeded(f"{seed}/{name}/{item}/{number}"), asked=asked) for number in range(TRIES))
    if not any(tries):
        found.failures.append(f"{label}: one kill in {TRIES} must hit it, got none")


class _Trial:
    """A command with what it does when nobody kills it."""

    def __init__(self, command: Command, scratch: Path) -> None:
        self.command, self.scratch = command, scratch
        folder = self._folder()
        started = time.perf_counter()
        self.status = self._start(command.arguments, folder).wait()
        seconds = time.perf_counter() - started
        self.right = command.result(folder)
        self.again = self._start(command.arguments, folder).wait()
        self.bytes = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.lengths = Lengths(seconds, stops(self._start_stopping(self._folder())))

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

    def _start_stopping(self, folder: Path) -> subprocess.Popen[bytes]:
        return self._start(("-m", stopping.__name__, str(folder), *self.command.arguments[1:]), folder)

    def round(self, found: Killed, label: str, chance: random.Random, *, asked: bool) -> bool:
        """Kill once, judge what is left, and return whether it hit: a command that had ended before doesn't count."""
        folder = self._folder()
        process = self._interrupted(folder, chance)
        hit, children = terminate(process) if asked else end(process)
        found.kills += hit
        found.asked += hit and asked
        found.partial += asked and _partial(folder / "record.jsonl")
        found.leftovers += any(path.name.endswith(".tmp") for path in folder.iterdir())
        try:
            _, alive = psutil.wait_procs(children, timeout=ALONE)
            _require(not alive, f"processes must notice that they are alone within {ALONE} s")
            _require(not asked or process.returncode != -signal.SIGKILL, f"a command must end within {PATIENCE} s after SIGTERM")
            _require(asked or not _partial(folder / "record.jsonl"), "a record must be complete after a SIGKILL")
            self._judge(folder)
        except Exception as error:  # noqa: BLE001  a file that can't be read is what is looked for
            found.failures.append(f"{label}: {type(error).__name__}: {error}")
        shutil.rmtree(folder, ignore_errors=True)
        return hit

    def _interrupted(self, folder: Path, chance: random.Random) -> subprocess.Popen[bytes]:
        """Return a run of the command at the moment at which it is to be killed."""
        if chance.random() < WHILE_WRITING:
            process = self._start_stopping(folder)
            stop_while_writing(process, self.lengths, chance)
        else:
            process = self._start(self.command.arguments, folder)
            self.lengths.wait(process, chance)
        return process

    def _judge(self, folder: Path) -> None:
        for path in folder.iterdir():
            if path.name.startswith("."):
                _require(path.name.endswith(".tmp"), f"a file that wasn't finished must be called .….tmp, got {path.name}")
            else:
                self.command.whole(path, self.bytes[path.name])
        status = self._start(self.command.arguments, folder).wait()
        _require(status in {self.status, self.again}, f"the next run must end in {self.status} or {self.again}, got {status}")
        _require(self.command.result(folder) == self.right, "the next run must give the right result")
