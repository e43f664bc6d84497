"""Split a run into parts that are judged apart: on several machines (``--shard 2/5``), or side by side on one (``--jobs``)."""

import contextlib
import functools
import multiprocessing
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from conformance.adapt.selection import SelectionError
from conformance.adapt.wording import told
from conformance.calls.outcomes import Crashed, Evidence, HarnessError, Report, Result
from conformance.isolate import allocation, interrupts, kernel, memory
from conformance.isolate.interrupts import uninterrupted
from conformance.isolate.process import status
from conformance.isolate.targets import TargetError

if TYPE_CHECKING:
    from conformance.judge.journal import Task

#: What is drawn for a task takes so long, counted in vectors: most for an implementation's first dtype.
DRAWN = {True: 1_200, False: 150}
#: What OpenMP, OpenBLAS, MKL and PyTorch read how many threads to start from.
THREADS = "OMP_NUM_THREADS"
#: So many seconds a part has to send what it found when it is interrupted: it ends its worker and sorts its results.
GRACE = 60.0


@dataclass(frozen=True)
class Shard:
    """One of several parts, counted from 1."""

    number: int
    of: int

    def tasks(self, tasks: Sequence["Task"], vectors: Callable[["Task"], int]) -> list["Task"]:
        """Return the tasks of this part: the largest first, each to the part that has least so far, so every part knows it alone."""
        loads = [0] * self.of
        mine = []

        def cost(task: "Task") -> int:
            return vectors(task) + DRAWN[task.first]

        for task in sorted(tasks, key=lambda task: (-cost(task), task.descriptor.index, task.dtype)):
            part = loads.index(min(loads))
            loads[part] += cost(task)
            if part == self.number - 1:
                mine.append(task)
        return [task for task in tasks if task in mine]


def parse(text: str) -> Shard:
    """Return the part that ``2/5`` names."""
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    shard = Shard(*map(int, found.groups())) if found else Shard(0, 0)
    if not 1 <= shard.number <= shard.of:
        message = f"shard must be NUMBER/COUNT with 1 <= NUMBER <= COUNT <= 9999, got {text!r}"
        raise SelectionError(message)
    return shard


class PartLostError(Exception):
    """A part that ended without a word."""


class _Part:
    """One part in a process of its own, which is told its share once its worker runs, and sends the report, or what kept it from that."""

    def __init__(self, check: Callable[..., Report], jobs: int) -> None:
        self.check, self.jobs = check, jobs
        self.shard = Shard(1, 1)
        self.begin()

    def begin(self) -> None:
        """Start its process, which starts a worker."""
        self.found: Report | BaseException | None = PartLostError("it never began")
        self.connection, theirs = multiprocessing.Pipe()
        with theirs, uninterrupted(), _unheard():
            spawning = multiprocessing.get_context("spawn")
            self.process = spawning.Process(target=_judge, args=(theirs, self.check, self.jobs), daemon=True)
            self.process.start()

    def judge(self, shard: Shard) -> None:
        """Have it judge a share; where it has ended meanwhile, that is found when it is heard."""
        self.shard = shard
        with contextlib.suppress(OSError):
            self.connection.send(shard)

    def hear(self, seconds: float | None = None) -> None:
        """Take what it sends, nothing where it has a worker and is to be told its share; one that says nothing for so long is killed."""
        try:
            if not self.connection.poll(seconds):
                self.process.kill()
            self.found = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            self.found = PartLostError(f"its process ended with {status(self.process.exitcode)}")
        if not self.waits:
            self.connection.close()
            self.process.join()

    def end(self) -> None:
        """Interrupt it, and take what it has."""
        while not self.connection.closed:
            self.hear(GRACE)

    @property
    def waits(self) -> bool:
        """Whether it has a worker, and waits to be told its share."""
        return self.found is None

    @property
    def report(self) -> Report | None:
        """What it found, if it came to a report."""
        return self.found if isinstance(self.found, Report) else None

    @property
    def trouble(self) -> BaseException:
        """What kept it from a report."""
        return self.found if isinstance(self.found, BaseException) else PartLostError("it was interrupted")

    def lost(self) -> Result:
        """Return in a result that all of it is lost."""
        name = f"part {self.shard.number} of {self.shard.of}"
        message = f"{name} was judged twice and gave nothing: {told(self.trouble)}"
        return Result("posenc", "posenc.part", name, "law", "float32", "float32", HarnessError(message))


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Have signals wait until the block has ended; the process that multiprocessing starts first of all lets them through again."""
    resource_tracker.ensure_running()
    with interrupts.unheard():
        yield


def _judge(connection: Connection, check: Callable[..., Report], jobs: int) -> None:
    """Send that a worker runs, then the report of the share that is told, or what kept it from either."""
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        kernel.end_with_parent(parent.pid)
    _prepared(jobs)
    found: Report | BaseException
    with interrupts.heeded(once=True):
        try:
            interrupts.heard()
            found = check(shard=functools.partial(_share, connection))
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  whatever it was, the other side tells it
            found = error
        try:
            connection.send(found)
        except BrokenPipeError:  # nobody is left who wants it
            return
        except Exception:  # noqa: BLE001  what can't be sent is told in words
            connection.send(RuntimeError(f"{type(found).__name__}: {found}"))


def _share(connection: Connection) -> Shard:
    """Say that a worker runs, and return what is to be judged."""
    connection.send(None)
    while not connection.poll(interrupts.DEAF_SECONDS):
        pass
    shard: Shard = connection.recv()
    return shard


def side_by_side(check: Callable[..., Report], target: str, jobs: int, progress: Callable[[int, int, str], None] | None) -> Report:
    """Judge as many parts at once as there are jobs, each in a process of its own, and return one report.

    All is shared among the parts that get a worker: a target of which only one may run is served by one. A part that is lost, or that
    lacked a worker later, is judged once more, alone: what the others found stays.
    """
    memory.close()
    try:
        return _side_by_side(check, target, jobs, progress)
    finally:
        memory.leave()


def _side_by_side(check: Callable[..., Report], target: str, jobs: int, progress: Callable[[int, int, str], None] | None) -> Report:
    parts, interrupted = _with_workers(check, jobs)
    interrupted = interrupted or _judged(parts, progress)
    unusable = [part.found for part in parts if isinstance(part.found, SelectionError | TargetError)]
    if len(unusable) == len(parts):
        raise unusable[0]
    reports = {part: part.report for part in parts}
    for part in (each for each in parts if each.report is None or (len(parts) > 1 and _starved(each.report))):
        if not interrupted:
            part.begin()
            interrupted = _heard([part], None) or (part.waits and _judged([part], None))
            reports[part] = part.report or reports[part]
    found = [report for report in reports.values() if report is not None]
    if interrupted and not found:
        raise KeyboardInterrupt
    lost = [part for part, report in reports.items() if report is None]
    for part in lost:
        if not found and not isinstance(part.trouble, PartLostError):
            raise part.trouble
    told_lost = () if interrupted else tuple(part.lost() for part in lost)
    report = merged(found) if found else Report(target, {}, ())
    return replace(report, results=(*report.results, *told_lost), complete=report.complete and not interrupted)


def _with_workers(check: Callable[..., Report], jobs: int) -> tuple[list[_Part], bool]:
    """Return the parts that have a worker, else one that was alone with the target, and whether that was interrupted."""
    parts = [_Part(check, jobs) for _ in range(jobs)]
    interrupted = _heard(parts, None)
    able = [part for part in parts if part.waits]
    if able or interrupted:
        return able or parts, interrupted
    alone = [_Part(check, 1)]
    return alone, _heard(alone, None)


def _judged(parts: Sequence[_Part], progress: Callable[[int, int, str], None] | None) -> bool:
    """Share all among parts that wait for it and wait for them; return whether that was interrupted. One that was judged has its share."""
    able = [part for part in parts if part.waits]
    with uninterrupted():
        for number, part in enumerate(able, start=1):
            part.judge(Shard(number, len(able)) if len(able) > 1 else part.shard)
    return _heard(able, progress)


def _starved(report: Report) -> bool:
    """Whether a worker couldn't be started again, perhaps since those of other parts ran."""
    return any(isinstance(each.outcome, Crashed | HarnessError) and each.outcome.unstarted for each in report.results)


def _heard(parts: Sequence[_Part], progress: Callable[[int, int, str], None] | None) -> bool:
    """Hear every part once, and return whether that was interrupted: then each returns what it has, and one that had only begun is gone."""
    waiting = {part.connection: part for part in parts}
    try:
        while waiting:
            for connection in wait(list(waiting), interrupts.DEAF_SECONDS):
                with uninterrupted():
                    waiting.pop(connection).hear()  # type: ignore[call-overload]  # it is one of them
                if progress is not None:
                    done = len(parts) - len(waiting)
                    progress(done, len(parts), f"{done} of {len(parts)} parts")
    except KeyboardInterrupt:
        lasting = [part for part in parts if not part.connection.closed]
        for part in lasting:
            part.process.terminate()
        for part in lasting:
            part.end()
        return True
    return False


def _prepared(jobs: int) -> None:
    """Make a process of a part ready: libraries in its worker start no more threads than its share of the cores, unless told."""
    os.environ.setdefault(THREADS, str(max(1, (os.cpu_count() or 1) // jobs)))
    allocation.keep_freed()
    allocation.collect_rarely()


def merged(parts: Sequence[Report]) -> Report:
    """Return one report of several parts, in an order that doesn't depend on how it was split."""
    results = sorted((result for part in parts for result in part.results), key=order)
    diagnoses = {name: diagnosis for part in parts for name, diagnosis in part.diagnoses.items()}
    header = {name: value for name, value in parts[0].header.items() if name != "shard"}
    evidence = tuple(sorted((each for part in parts for each in part.evidence), key=order))
    complete = all(part.complete for part in parts)
    reached = tuple(dict.fromkeys(words for part in parts for words in part.reached))
    warnings = tuple(dict.fromkeys(words for part in parts for words in part.warnings))
    return Report(parts[0].target, header, tuple(results), diagnoses, complete, evidence, reached=reached, warnings=warnings)


def order(result: Result | Evidence) -> tuple[str, str, str]:
    """Return what results and evidence are sorted by: what one task found stays together and in its order."""
    return result.operation, result.implementation, result.dtype
