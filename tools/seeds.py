"""Judge targets under many seeds and list every conviction: ``python -m tools.seeds --count 50 transformers``.

Seed 0 is a whole run. What further seeds change is what is drawn, so for them a worker that stays is asked golden cases and laws only;
what fails there is repeated in a fresh one, and passes where the answer depends on what was called before. Too little evidence is
listed like a conviction.
"""

import argparse
import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from conformance import run
from conformance.calls.outcomes import Evidence, Failed, Report, Result
from conformance.checks import golden_checks, law_checks
from conformance.checks.evidence.gathered import Gathered
from conformance.checks.vector_checks import Checked
from conformance.isolate.session import Session
from conformance.judge.journal import Task
from conformance.run import orchestrator
from conformance.run.orchestrator import Selection


def conviction(result: Result) -> str:
    """Return who is convicted of what; a time-out on a busy machine is told from a wrong value."""
    why = result.outcome.reason.value if isinstance(result.outcome, Failed) else type(result.outcome).__name__
    return f"{result.implementation}: {result.operation} in {result.dtype}: {result.check}: {why}"


def convictions(report: Report) -> list[str]:
    """Return every conviction of a report."""
    return [conviction(result) for result in report.results if result.convicts]


def seed_after_seed(target: str, seeds: Sequence[int], level: str, *, laws: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield, for every seed, how many cases and examples were drawn and who was convicted of what."""
    with Session(target) as session:
        for seed in seeds:
            yield what_is_drawn(session, seed, level, laws=laws) if seed else whole_run(target, level)


def whole_run(target: str, level: str) -> tuple[int, list[str]]:
    """Return how many cases and examples a run under seed 0 drew, and everything that convicts or lacks evidence."""
    report = run.check(target, level=level)
    drawn = sum(result.examples for result in report.results if result.kind in {"law", "drawn"})
    return drawn, [*convictions(report), *(lacking(each.implementation, each) for each in report.evidence if each.missing)]


def lacking(label: str, evidence: Evidence) -> str:
    """Return what has too little evidence."""
    return f"{label}: {evidence.operation} in {evidence.dtype}: not enough evidence"


def what_is_drawn(session: Session, seed: int, level: str, *, laws: bool) -> tuple[int, list[str]]:
    """Return how many cases and examples were drawn under one seed, and which convict."""
    drawn, convicted = 0, list[str]()
    for task in Selection(None, None, None, None, level, seed).tasks(session.implementations):
        found = [*golden(session, task, seed, level, convicted), *(lawful(session, task, seed, level) if laws else ())]
        drawn += sum(each.finding.examples if isinstance(each, law_checks.Found) else 1 for each in found)
        convicted += [conviction(each.result(session.opened)) for each in found if each.failed and not passes_alone(session, each)]
    return drawn, convicted


def golden(session: Session, task: Task, seed: int, level: str, convicted: list[str]) -> Iterator[Checked | law_checks.Found]:
    """Yield what golden cases gave, and write down where the evidence lacks."""
    subject, gathered = session.subject(task.descriptor, task.dtype, task.profile), Gathered(task, level)
    for checked in golden_checks.judgements(subject, subject, task, gathered, seed=seed, level=level):
        gathered.add(checked)
        yield checked
    if golden_checks.thorough(task, level):
        yield from golden_checks.otherwise(subject, task, gathered.checked, seed)
        yield from law_checks.whole_and_parts(subject, task, seed)
    evidence = gathered.evidence()
    if evidence.missing:
        convicted.append(lacking(task.descriptor.label, evidence))


def lawful(session: Session, task: Task, seed: int, level: str) -> Iterator[law_checks.Found]:
    """Yield what laws gave."""
    subject = session.subject(task.descriptor, task.dtype, task.profile)
    examples = orchestrator.EXAMPLES[level] if task.first else orchestrator.FEW
    return law_checks.run(subject, task, examples=examples, seed=seed)


def passes_alone(session: Session, found: Checked | law_checks.Found) -> bool:
    """Whether it passes where nothing was called before; the law about history speaks for itself."""
    if isinstance(found, law_checks.Found) and found.finding.law == law_checks.HISTORY:
        return False
    with session.fresh() as fresh:
        return found.again(fresh.subject(found.task.descriptor, found.task.dtype, found.task.profile))


def judge(target: str, seeds: Sequence[int], level: str, *, laws: bool) -> None:
    """Print each conviction of a target and how many of the seeds showed it; an interruption ends with what there is."""
    started, examples, seen, done = time.perf_counter(), 0, Counter[str](), 0
    with contextlib.suppress(KeyboardInterrupt):
        for seed, (drawn, convicted) in zip(seeds, seed_after_seed(target, seeds, level, laws=laws), strict=True):
            done, examples = done + 1, examples + drawn
            seen.update(set(convicted))
            print(f"{target}: seed {seed}, {done} of {len(seeds)}, {len(seen)} different convictions", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - started
    print(f"{target}: {done} seeds, {examples:,} drawn cases and examples, {len(seen)} different convictions, {seconds:.0f} s")
    for line, times in sorted(seen.items()):
        print(f"  {times:3d} of {done}  {line}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge every target."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--count", type=int, default=50, help="how many seeds (default: 50)")
    parser.add_argument("--level", choices=run.LEVELS, default="core", help="how much is drawn under a seed (default: core)")
    parser.add_argument("--golden", action="store_true", help="golden cases alone for seeds other than 0, no laws")
    options = parser.parse_args(arguments)
    for target in options.targets:
        judge(target, range(options.first, options.first + options.count), options.level, laws=not options.golden)


if __name__ == "__main__":
    main()
