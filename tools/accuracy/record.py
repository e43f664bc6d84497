"""The record of a measurement: what was asked, on what, and every name that was wrong."""

import datetime as dt
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from importlib.metadata import version

from conformance.version import __version__
from tools import documents
from tools.accuracy import score
from tools.accuracy.answers import Answer, Answered

WRONG = (Answer.MISNAMED, Answer.ALSO)
HEAD = """\
# How often the right mistake is named

Every known mistake is put to the harness under a hidden name, as a user's function is. The vectors judge it in process. So do the laws,
if no vector convicts it and it declares nothing. Then the diagnosis gets its answers to all vectors. If these leave open which mistake it
is, the diagnosis also gets its answers to drawn calls, as in a run. Each mistake is tried in float64, float32, float16 and bfloat16
without a declaration, and in float32 under every choice of conventions (layout, direction, form, spacing, sign and so on) that a vector
asks for. What conforms to a declaration is no mistake under it and isn't counted. Whether right code is called wrong is measured with the
bundled adapters, under 50 seeds each (`make seeds`, [measurements](measurements.md)).

A mistake that every scheme of a form can have, or everything that takes positions, is *inherited*. One that
only one scheme can have is its *own*.

| column | what it counts |
|---|---|
| trials | what was put to the harness |
| caught | what a vector or a law convicts (laws are asked where nothing is declared and no vector convicts) |
| shown | what a vector shows clearly: an element is wrong by more than ten allowances, or the shape is wrong; only these can be named |
| first | the hidden mistake is named first; or it is said to fit as well as the first one, and no vector asked tells the two apart |
| three | the hidden mistake is among the first three that are said to fit |
| more | the hidden mistake is said to fit, further down |
| none | no mistake is named; the numbers are described instead |
| also | several mistakes are said to fit, and the hidden one isn't among them |
| wrong | one mistake is named, and it isn't the hidden one |
| right | *first* as a share of *shown* |
"""
BETWEEN = """\
## Mistakes between calls

What a cache forgets, a buffer loses, or a call does to its arguments shows in no single answer. These are judged by a run like a user's
(`posenc check --level smoke`): every one in a worker, in every dtype.
"""
HELD_OUT = """\
## Mistakes that no table knows

Every number, position, input and result changed in a few ways, alone and on top of known mistakes (`tools/accuracy/held_out.py`). Named
rightly means here that what is named does the same as what is hidden on inputs drawn beside the vectors. Not to be named is no error, and
*right* is the share of what is named.
"""


def record(
    found: Sequence[Answered],
    between: Sequence[Answered],
    held_out: Sequence[Answered],
    equal: Iterable[tuple[str, ...]],
    asked: Mapping[str, object],
) -> str:
    """Return the record as Markdown."""
    parts = [HEAD, *_conditions(asked)]
    for kind in score.KINDS:
        own = score.of_kind(found, kind)
        parts += [f"## Mistakes of {kind}", "", score.verdict(own), "", *_tables(own, ("scheme", "whose", "dtype"))]
        parts += _listed(score.confused(own, *WRONG, Answer.NOT_NAMED))
    parts += [BETWEEN, score.verdict(between), "", *_tables(between, ("scheme", "dtype"))]
    parts += _listed(score.confused(between, *WRONG, Answer.NOT_NAMED))
    parts += [HELD_OUT, *_tables(held_out, ("scheme",)), *_listed(score.confused(held_out, *WRONG))]
    parts += ["## Mistakes that no vector tells apart", "", "Within what float32 is allowed, over all vectors of the operation:", ""]
    parts += [f"- {', '.join(f'`{name}`' for name in group)}" for group in equal] or ["None."]
    return "\n".join(parts).rstrip("\n") + "\n"


def _conditions(asked: Mapping[str, object]) -> Iterator[str]:
    words = "".join(f" --{name} {value}" for name, value in asked.items() if value not in (None, Fraction(1)))
    yield f"Written by `python -m tools.accuracy{words}` on {dt.datetime.now(tz=dt.UTC).date()}: posenc {__version__},"
    yield f"numpy {version('numpy')}, hypothesis {version('hypothesis')}, Python {platform.python_version()},"
    yield f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores."
    yield ""


def _tables(found: Sequence[Answered], columns: Iterable[str]) -> Iterator[str]:
    for column in columns if found else ():
        yield from (*documents.markdown(score.table(found, column)), "")


def _listed(lines: Iterable[str]) -> Iterator[str]:
    told = [f"- {line}" for line in lines]
    yield from (["Named wrongly, or not at all:", "", *told, ""] if told else ["Named wrongly, or not at all: none.", ""])
