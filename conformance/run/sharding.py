"""Split a run into parts that are judged apart: on several machines (``--shard 2/5``), or side by side on one (``--jobs``)."""

import multiprocessing
import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from conformance.adapt.selection import SelectionError
from conformance.calls.outcomes import Evidence, Report, Result
from conformance.isolate import allocation

if TYPE_CHECKING:
    from conformance.judge.journal import Task

#: What is drawn for a task takes so long, counted in vectors: most for an implementation's first dtype.
DRAWN = {True: 1_200, False: 150}
#: What OpenMP, OpenBLAS, MKL and PyTorch read how many threads to start from.
THREADS = "OMP_NUM_THREADS"


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
        message = f"shard must be NUMBER/COUNT with 1 <= NUMBER <= COUNT, got {text!r}"
        raise SelectionError(message)
    return shard


def side_by_side(check: Callable[..., Report], jobs: int, progress: Callable[[int, int, str], None] | None) -> Report:
    """Judge as many parts at once as there are jobs, each in a process of its own, and return one report."""
    interrupted = False
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_prepared, initargs=(jobs,)) as pool:
        parts = [pool.submit(partial(check, shard=Shard(number, jobs))) for number in range(1, jobs + 1)]
        try:
            for count, _ in enumerate(as_completed(parts), start=1):
                if progress is not None:
                    progress(count, jobs, f"{count} of {jobs} parts")
        except KeyboardInterrupt:
            interrupted = True
    # An interruption reaches every part, and each returns what it has, marked incomplete; one that had only begun is gone.
    ended = [part for part in parts if not interrupted or (not part.cancelled() and part.exception() is None)]
    if not ended:
        raise KeyboardInterrupt
    report = merged([part.result() for part in ended])
    return replace(report, complete=report.complete and not interrupted)


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
    return replace(parts[0], header=header, results=tuple(results), diagnoses=diagnoses, complete=complete, evidence=evidence)


def order(result: Result | Evidence) -> tuple[str, str, str]:
    """Return what results and evidence are sorted by: what one task found stays together and in its order."""
    return result.operation, result.implementation, result.dtype
