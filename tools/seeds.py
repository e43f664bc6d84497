"""Judge a target under many Hypothesis seeds and list every conviction: ``python -m tools.seeds --count 20 transformers``."""

import argparse
from collections import Counter

from conformance import run
from conformance.outcomes import Report, Result


def conviction(result: Result) -> str:
    """Return who is convicted of what."""
    return f"{result.implementation}: {result.operation} in {result.dtype}: {result.check}"


def convictions(report: Report) -> list[str]:
    """Return every conviction of a report."""
    return [conviction(result) for result in report.results if result.convicts]


def main() -> None:
    """Print, for every target, each conviction and how many of the seeds showed it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--count", type=int, default=20, help="how many seeds, from 0")
    arguments = parser.parse_args()
    for target in arguments.targets:
        reports = [run.check(target, seed=seed) for seed in range(arguments.count)]
        seen = Counter(line for report in reports for line in convictions(report))
        drawn = sum(result.examples for report in reports for result in report.results if result.kind == "law")
        print(f"{target}: {len(reports)} seeds, {drawn:,} drawn examples, {len(seen)} different convictions")
        for line, count in sorted(seen.items()):
            print(f"  {count:3d} of {len(reports)}  {line}")


if __name__ == "__main__":
    main()
