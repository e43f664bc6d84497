"""Read many damaged things in processes with bounded memory, and note whatever isn't a result or one clear line."""

import faulthandler
import multiprocessing
import resource
import signal
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

from tools.soak.mutations import seeded
from tools.soak.subjects import SUBJECTS, Subject

#: Seconds after which one thing counts as a hang, and after which a process that can't even be told so is ended.
PATIENCE = 10
LONGEST_BATCH = 300
#: Letters of an error that a person still reads.
LONGEST_LINE = 1_000
MEMORY = 4 << 30
BATCH = 250
PROCESSES = 2


class HungError(BaseException):
    """One thing took too long; no ``except Exception`` may swallow it."""


@dataclass
class Tally:
    """How many were accepted and refused, what failed (with the item that repeats it), and the most memory (KiB) that a process held."""

    accepted: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)
    peak: int = 0

    def add(self, other: "Tally") -> None:
        """Take another tally in."""
        self.accepted += other.accepted
        self.refused += other.refused
        self.failures += other.failures
        self.peak = max(self.peak, other.peak)


def fuzz(name: str, items: range, seed: int) -> Tally:
    """Read the damaged things of a subject that have those numbers."""
    found = Tally()
    batches = [(name, seed, start, min(start + BATCH, items.stop)) for start in range(items.start, items.stop, BATCH)]
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn"), initializer=_bounded) as pool:
        try:
            for tally in pool.map(batch, batches):
                found.add(tally)
        except BrokenProcessPool:
            found.failures.append(f"{name}: a process ended; what it did is on stderr")
    return found


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _hung)


def _hung(*_: object) -> None:
    raise HungError


def batch(asked: tuple[str, int, int, int]) -> Tally:
    """Read some damaged things of a subject, one after the other."""
    name, seed, start, end = asked
    faulthandler.dump_traceback_later(LONGEST_BATCH, exit=True)
    with tempfile.TemporaryDirectory() as folder:
        tally = _read(name, seed, range(start, end), Path(folder))
    faulthandler.cancel_dump_traceback_later()
    tally.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return tally


def _read(name: str, seed: int, items: Iterable[int], folder: Path) -> Tally:
    tally = Tally()
    for item in items:
        accepted, failure = one(SUBJECTS[name], f"{seed}/{name}/{item}", folder)
        tally.accepted += accepted and failure is None
        tally.refused += not accepted and failure is None
        if failure is not None:
            tally.failures.append(f"{name}, seed {seed}, item {item}: {failure}")
    return tally


def one(subject: Subject, seed: str, folder: Path) -> tuple[bool, str | None]:
    """Return whether one damaged thing was accepted, and what is wrong with how it was read."""
    chance = seeded(seed)
    damage = subject.make(chance)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        subject.read(chance, damage, folder)
    except subject.refusals as refusal:
        return False, next(_unclear(str(refusal)), None)
    except HungError:
        return False, f"no end within {PATIENCE} s"
    except Exception as error:  # noqa: BLE001  this is what is looked for
        return False, f"{type(error).__name__}: {' '.join(str(error).split())[:200]} at {_place(error)}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return True, None


def _unclear(refusal: str) -> Iterator[str]:
    if not refusal or len(refusal.splitlines()) != 1:
        yield f"an error must be one line, got {refusal[:200]!r}"
    if len(refusal) > LONGEST_LINE:
        yield f"an error must be at most {LONGEST_LINE} letters, got {len(refusal)}: {refusal[:100]!r}"


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    ours = [each for each in traceback.extract_tb(error.__traceback__) if "conformance" in each.filename]
    last = ours[-1] if ours else frame
    return f"{Path(last.filename).name}:{last.lineno}"
