"""``python -m tools.mutation [--scheme X] [--sample 1/10] [--record PATH]``: change the reference everywhere, and print the score."""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from conformance.show.terminal import Progress
from conformance.spec import files
from conformance.spec.vectors import Vector, load
from refimpl.schemes import SCHEMES
from tools.mutation import equivalents, record
from tools.mutation.equivalents import Equivalents
from tools.mutation.judging import Verdict
from tools.mutation.plan import EVERYTHING, Reach, reach
from tools.mutation.running import Court, verdicts
from tools.mutation.score import Trial, trials
from tools.mutation.specimen import copied
from tools.share import add_options, evenly

EVERY = (*SCHEMES, EVERYTHING)


def main() -> int:
    """Return 0 where every mistake is convicted or explained."""
    options = _options()
    court = Court(copied(), vectors_by_operation(), equivalents.load())
    whole = reach(court.specimen, court.vectors)
    mutants = evenly(whole.plan(options.scheme or EVERY), options.sample, options.sample_seed)
    found = trials(mutants, shown(verdicts(court, mutants, jobs=options.jobs), len(mutants)), court.known)
    complaints = [*record.survivors(found), *_disproved(found), *_stale(court.known, whole)]
    if options.record:
        files.write(options.record, record.page(found, court.known, whole.unreached()))
    print("\n".join([record.table(found), *complaints]))
    return 1 if complaints else 0


def vectors_by_operation() -> dict[str, list[Vector]]:
    """Return the vectors of every operation, in their order."""
    found: dict[str, list[Vector]] = {}
    for vector in load():
        found.setdefault(vector.operation, []).append(vector)
    return found


def shown(verdicts: Iterable[Verdict], total: int) -> Iterator[Verdict]:
    """Yield verdicts, and show on a terminal how many of them there are."""
    progress = Progress("mutation")
    try:
        for count, verdict in enumerate(verdicts, 1):
            progress(count, total, "mutants judged")
            yield verdict
    finally:
        progress.clear()


def _disproved(found: Sequence[Trial]) -> list[str]:
    wrong = [trial for trial in found if trial.disproved]
    return [f"called equivalent, but convicted by {t.verdict.by}: {t.mutant.owner}: {t.mutant.mutation.words}" for t in wrong]


def _stale(known: Equivalents, whole: Reach) -> list[str]:
    return [f"an entry that speaks of no mutant: {dict(entry.means)}" for entry in known.stale(whole.plan(EVERY))]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("--scheme", action="append", choices=EVERY, help="only this one; may be given more than once")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many mutants are judged side by side")
    add_options(parser, "mutants")
    parser.add_argument("--record", type=Path, help="write the page here")
    options = parser.parse_args()
    if options.record and (options.scheme or options.sample != 1):
        parser.error(f"--record must be of everything, got --scheme {', '.join(options.scheme or ['-'])} --sample {options.sample}")
    return options


if __name__ == "__main__":
    sys.exit(main())
