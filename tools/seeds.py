"""Judge targets under many Hypothesis seeds and list every conviction: ``python -m tools.seeds --count 50 transformers``.

Seed 0 is a whole run. What further seeds change is what the laws draw, so for them a worker that stays is asked the laws only;
what fails there is repeated in a fresh one, and passes where the answer depends on what was called before.
"""

import argparse
import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from conformance import law_checks, run
from conformance.outcomes import Report, Result
from conformance.run import Selection
from conformance.session import Session


def conviction(result: Result) -> str:
    """Return who is convicted of what."""
    return f"{result.implementation}: {result.operation} in {result.dtype}: {result.check}"


def convictions(report: Report) -> list[str]:
    """Return every conviction of a report."""
    return [conviction(result) for result in report.results if result.convicts]


def seed_after_seed(target: str, seeds: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
    """Yield, for every seed, how many examples were drawn and who was convicted of what."""
    with Session(target) as session:
        for seed in seeds:
            yield laws_alone(session, seed) if seed else whole_run(target)


def whole_run(target: str) -> tuple[int, list[str]]:
    """Return how many examples a run under seed 0 drew, and everything that convicts."""
    report = run.check(target)
    return sum(result.examples for result in report.results if result.kind == "law"), convictions(report)


def laws_alone(session: Session, seed: int) -> tuple[int, list[str]]:
    """Return how many examples were drawn under one seed, and the laws that convict."""
    drawn, convicted = 0, list[str]()
    for task in Selection(None, None, None, None, "core", seed).tasks(session.implementations):
        subject = session.subject(task.descriptor, task.dtype, task.profile)
        examples = run.EXAMPLES["core"] if task.dtype == task.descriptor.dtypes[0] else run.FEW
        found = list(law_checks.run(subject, task, examples=examples, seed=seed))
        drawn += sum(each.finding.examples for each in found)
        convicted += [conviction(each.result(session.opened)) for each in found if each.failed and not passes_alone(session, each)]
    return drawn, convicted


def passes_alone(session: Session, found: law_checks.Found) -> bool:
    """Whether the counterexample passes where nothing was called before; the law about history speaks for itself."""
    if found.finding.law == law_checks.HISTORY:
        return False
    with session.fresh() as fresh:
        return found.again(fresh.subject(found.task.descriptor, found.task.dtype, found.task.profile))


def judge(target: str, seeds: Sequence[int]) -> None:
    """Print each conviction of a target and how many of the seeds showed it; an interruption ends with what there is."""
    started, examples, seen, done = time.perf_counter(), 0, Counter[str](), 0
    with contextlib.suppress(KeyboardInterrupt):
        for seed, (drawn, convicted) in zip(seeds, seed_after_seed(target, seeds), strict=True):
            done, examples = done + 1, examples + drawn
            seen.update(set(convicted))
            print(f"{target}: seed {seed}, {done} of {len(seeds)}, {len(seen)} different convictions", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - started
    print(f"{target}: {done} seeds, {examples:,} drawn examples, {len(seen)} different convictions, {seconds:.0f} s")
    for line, times in sorted(seen.items()):
        print(f"  {times:3d} of {done}  {line}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge every target."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--count", type=int, default=50, help="how many seeds (default: 50)")
    options = parser.parse_args(arguments)
    for target in options.targets:
        judge(target, range(options.first, options.first + options.count))


if __name__ == "__main__":
    main()
