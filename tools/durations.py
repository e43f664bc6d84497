"""Write what the tests of each function take together, from JUnit files of runs: ``python -m tools.durations FILE...``.

The tests are sampled by it (``tests/sampling.py``). A run of a part will do: its tests stand for the others of their function.
Functions that no run reached keep their row, and those below a second have none.
"""

import argparse
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from xml.etree import ElementTree as ET

from tools import documents

ROOT = Path(__file__).parents[1]
WRITTEN = ROOT / "tests" / "durations.tsv"
#: What takes less is no row.
LEAST = 1.0


def met(junits: Sequence[Path]) -> dict[str, dict[str, list[float]]]:
    """Return what every test took in the runs that had it, by function and test."""
    seconds: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for junit in junits:
        for test in ET.parse(junit).getroot().iterfind(".//testcase[@name][@time]"):  # noqa: S314  a file that pytest has just written
            path, function = test.attrib["classname"].replace(".", "/"), test.attrib["name"].split("[", 1)[0]
            seconds[f"{path}.py::{function}"][test.attrib["name"]].append(float(test.attrib["time"]))
    return seconds


def collected() -> Counter[str]:
    """Return how many tests each function has."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "--whole"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return Counter(line.split("[", 1)[0] for line in done.stdout.splitlines() if "::" in line)


def durations(seconds: Mapping[str, Mapping[str, Sequence[float]]], tests: Mapping[str, int], slower: float) -> dict[str, float]:
    """Return the seconds of every function's tests together, those of no run by the mean of the others."""
    means = {function: mean(mean(times) for times in each.values()) for function, each in seconds.items()}
    return {function: count * means[function] / slower for function, count in tests.items() if function in means}


def read(text: str) -> dict[str, float]:
    """Return the rows of the file."""
    rows = (row.split("\t") for row in text.splitlines())
    return {function: float(seconds) for seconds, function in rows}


def rows(seconds: Mapping[str, float]) -> str:
    """Return the rows of the file, in the order of the functions' names, with two digits."""
    return "".join(f"{float(f'{taken:.2g}'):g}\t{function}\n" for function, taken in sorted(seconds.items()) if taken >= LEAST)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("junit", type=Path, nargs="+")
    parser.add_argument("--slower", type=float, default=1.0, help="how many times as long everything took as on an idle machine")
    given = parser.parse_args(arguments)
    tests = collected()
    kept = {function: taken for function, taken in read(WRITTEN.read_text(encoding="utf-8")).items() if function in tests}
    text = rows(kept | durations(met(given.junit), tests, given.slower))
    documents.write(WRITTEN.parent, {WRITTEN.name: text})
    print(f"{len(text.splitlines())} functions in {WRITTEN.name}")


if __name__ == "__main__":
    main()
