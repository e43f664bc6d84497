"""Write what the tests of each function take together, from the JUnit file of a run of all of them: ``python -m tools.durations FILE``.

The tests are sampled by it (``tests/sampling.py``). Functions below a second are left out.
"""

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from tools import documents

WRITTEN = Path(__file__).parents[1] / "tests" / "durations.tsv"
#: What takes less is no row.
LEAST = 1.0


def durations(junit: Path) -> dict[str, float]:
    """Return the seconds of every function's tests together."""
    seconds: dict[str, float] = defaultdict(float)
    for test in ET.parse(junit).getroot().iter("testcase"):  # noqa: S314  a file that pytest has just written
        path, function = test.attrib["classname"].replace(".", "/"), test.attrib["name"].split("[", 1)[0]
        seconds[f"{path}.py::{function}"] += float(test.attrib["time"])
    return seconds


def rows(seconds: Mapping[str, float]) -> str:
    """Return the rows of the file, in the order of the functions' names, with two digits."""
    return "".join(f"{float(f'{taken:.2g}'):g}\t{function}\n" for function, taken in sorted(seconds.items()) if taken >= LEAST)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("junit", type=Path)
    text = rows(durations(parser.parse_args(arguments).junit))
    documents.write(WRITTEN.parent, {WRITTEN.name: text})
    print(f"{len(text.splitlines())} functions in {WRITTEN.name}")


if __name__ == "__main__":
    main()
