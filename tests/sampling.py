"""Tests of which a run takes a part, beginning at a seed: as many runs in a row as there are parts take them all."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

#: What the tests of one function may take of a run, in seconds.
SECONDS = 0.5
#: So many runs in a row take everything, however long it takes.
MOST = 32
#: How many seconds all tests of a function take together, where that is more than a second: ``make durations`` writes it.
DURATIONS = Path(__file__).with_name("durations.tsv")


def parts(durations: Path = DURATIONS) -> dict[str, int]:
    """Return of how many tests of a function a run takes one, where it doesn't take all."""
    rows = (row.split("\t") for row in durations.read_text(encoding="utf-8").splitlines())
    return {function: min(math.ceil(float(seconds) / SECONDS), MOST) for seconds, function in rows if float(seconds) > SECONDS}


def taken(names: Sequence[str], seed: int, parts: Mapping[str, int]) -> Iterator[bool]:
    """Yield of every test, in the order in which they are collected, whether it is in the sample; each function begins elsewhere."""
    met: Counter[str] = Counter()
    for name in names:
        function = name.split("[", 1)[0]
        yield (met[function] + seed + crc32(function.encode())) % parts.get(function, 1) == 0
        met[function] += 1


def header(seed: int, parts: Mapping[str, int]) -> list[str]:
    """Return what a run says of what it leaves out."""
    return [
        f"sampled by seed {seed} (--sample-seed {seed} takes the same, --whole takes all):",
        f"  {len(parts)} functions whose tests take longer than {SECONDS} s, one test in two to {max(parts.values())} ({DURATIONS.name})",
    ]


def asked(request: pytest.FixtureRequest, parameter: str) -> list[Any]:
    """Return what this run's tests in the requesting file are given as a parameter, each once: what is set up for all needs no other."""
    items = [item for item in request.session.items if item.path == request.path]
    specifications = (getattr(item, "callspec", None) for item in items)
    return list(dict.fromkeys(each.params[parameter] for each in specifications if each is not None and parameter in each.params))
