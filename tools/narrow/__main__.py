"""Put every known mistake in the place of code that declares little: ``python -m tools.narrow --jobs 2 --sample 1/20``."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from conformance.spec.declarations import operations
from conformance.spec.files import write
from tools.narrow import record
from tools.narrow.declaring import Declaration, declarations
from tools.narrow.judging import Judged, Outcome, judge
from tools.share import add_options, evenly, spread

#: How many declarations are drawn for every operation.
COUNT = 30


def chosen(names: Sequence[str], count: int, seed: int) -> list[Declaration]:
    """Return as many declarations of every operation as are asked for."""
    return [each for name in names for each in declarations(name, count, seed)]


def shortcomings(found: Sequence[Judged]) -> Iterator[str]:
    """Yield what must not be: a mistake that passes and isn't listed, and right code that is convicted."""
    for each in found:
        silent = [name for name, outcome in each.outcomes.items() if outcome is Outcome.SILENT]
        yield from (f"{name} passes and isn't listed: {each.declaration.words}" for name in silent)
        yield from (f"right code is convicted: {each.declaration.words}: {alarm}" for alarm in each.alarms)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where a mistake passes silently, or where right code is convicted."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.lacking and options.record is None:
        parser.error("--lacking must come with --record FILE, got none")
    started = time.perf_counter()
    before = record.read(options.record.read_text(encoding="utf-8")) if options.lacking else None
    lacking = operations() if before is None else set(before.lacking())
    names = [name for name in options.operation or operations() if name in lacking]
    wanted = evenly(chosen(names, COUNT, options.seed), options.sample, options.sample_seed)
    found = list[Judged]()
    for name, declared in groupby(wanted, lambda each: each.operation):
        found += spread(name, judge, list(declared), options.jobs)
        if before is not None:
            _write(before.renewed(record.of(found)), options)
    wrong, now = list(shortcomings(found)), record.of(found)
    if options.record is not None and before is None:
        _write(now, options)
    print("\n".join([*record.told(now), *wrong, f"{len(wrong)} shortcomings, {time.perf_counter() - started:.0f} s"]))
    return 1 if wrong else 0


def _write(whole: record.Record, options: argparse.Namespace) -> None:
    write(options.record, record.page(whole, options.seed, options.sample, options.sample_seed))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.narrow", description=__doc__)
    parser.add_argument("--operation", action="append", choices=list(operations()), metavar="NAME", help="only this one; may come again")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="what declarations and calls are drawn by (default: 1)")
    add_options(parser, "declarations")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write what was measured there, as Markdown")
    parser.add_argument(
        "--lacking",
        action="store_true",
        help="judge what the record lacks, or has of another number of mistakes; written after every operation",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
