"""The record: what became of known mistakes under narrow declarations, by operation, and the verdicts on right code."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from importlib.metadata import version
from itertools import groupby

from conformance.mutants import MUTANTS
from conformance.version import __version__
from tools import documents
from tools.narrow.judging import FURTHER, Judged, Outcome

HEAD = """\
# Known mistakes under narrow declarations

Code that declares little could pass because no call was drawn that shows its mistake. For every operation, thirty declarations
are drawn: one to four parameters at one value each, what the code takes of positions (from zero, consecutive, queries at the end, one row
for the batch, no negative ones, none over 2,047), and one dtype. Every known mistake of the operation stands in for code that declares
this, its float64 result rounded once, and is judged by drawn golden cases as at level core: those of the run, those that are further looked
for, and the smallest large call. Stored vectors, laws and the other large calls, which a run has besides, are left out.

| column | what it counts |
|---|---|
| mistakes | known mistakes and conventions of the operation |
| inherited | those of them that every operation of a form can have, or every one that takes positions |
| trials | each of them under each declaration, without the conventions that are right code there |
| convicted | a golden case convicts it |
| shows nothing | it passes, and is listed as of no effect within the declaration |
| unnoticed | it passes, and is listed as not excluded since no case that shows it was judged |
| missed | said to show nothing, and yet convicted by one of FURTHER further calls inside the declaration (those where it differs most) |
| silent | it passes and isn't listed: must be 0 |
| conforms | of how many declarations right code, rounded once, got evidence enough; the others got *not enough evidence* |
| alarms | right code was convicted: must be 0 |
"""
COLUMNS = ("operation", "mistakes", "inherited", "declarations", "trials", "convicted", "shows nothing", "unnoticed", "missed", "silent")
VERDICTS = ("conforms", "alarms")


def page(found: Sequence[Judged], seed: int, share: Fraction, begin: int = 0) -> str:
    """Return the record of all declarations, or of a share of them, as Markdown."""
    sampled = "" if share == 1 else f" --sample {share} --sample-seed {begin}"
    parts = [
        HEAD.replace("FURTHER", str(FURTHER)),
        f"Written by `python -m tools.narrow --seed {seed}{sampled}`: posenc {__version__}, numpy {version('numpy')}.\n",
        *documents.markdown(table(found)),
        "\n## Missed\n",
        *(_listed(missed(found)) or ["None."]),
        "\n## Why right code got no verdict\n",
        *(_listed(reasons(found)) or ["It always got one."]),
    ]
    return "\n".join(parts) + "\n"


def told(found: Sequence[Judged]) -> Iterator[str]:
    """Yield the record's lines for a screen."""
    yield from documents.aligned(list(table(found)))
    yield from (f"missed: {line}" for line in missed(found))
    yield from (f"no verdict on right code: {line}" for line in reasons(found))


def table(found: Sequence[Judged]) -> Iterator[list[str]]:
    """Yield the head, a row for every operation, and the sum."""
    yield [*COLUMNS, *VERDICTS]
    rows = [_row(list(each)) for _, each in groupby(found, key=lambda one: one.declaration.operation)]
    names = [each.declaration.operation for each in found]
    for name, row in zip(dict.fromkeys(names), rows, strict=True):
        yield [f"`{name}`", *(f"{row[column]:,}" for column in (*COLUMNS[1:], *VERDICTS))]
    total = sum(rows, Counter[str]())
    yield ["all", *(f"{total[column]:,}" for column in (*COLUMNS[1:], *VERDICTS))]


def _row(found: Sequence[Judged]) -> Counter[str]:
    """Return the counts of one operation, by column."""
    counted = Counter(str(outcome) for each in found for outcome in each.outcomes.values())
    counted["trials"] = counted.total() - counted.pop(Outcome.RIGHT, 0)
    counted["mistakes"], counted["declarations"] = len(found[0].outcomes), len(found)
    counted["inherited"] = sum(MUTANTS[name].inherited for name in found[0].outcomes)
    counted["conforms"] = sum(not each.missing and not each.alarms for each in found)
    counted["alarms"] = sum(bool(each.alarms) for each in found)
    return counted


def missed(found: Iterable[Judged]) -> Iterator[str]:
    """Yield each mistake that was missed, and where."""
    where = defaultdict[str, list[str]](list)
    for each in found:
        for name, outcome in each.outcomes.items():
            if outcome is Outcome.MISSED:
                where[name].append(each.declaration.words.split(" ", 1)[1])
    yield from (f"{name}: {'; '.join(declared)}" for name, declared in where.items())


def reasons(found: Iterable[Judged]) -> Iterator[str]:
    """Yield each kind of reason why right code got no verdict, the most frequent first, with an example."""
    why = [(reason, each) for each in found for reason in each.reasons]
    examples = {reason: f"{each.declaration.words}: {each.missing[0]}" for reason, each in reversed(why)}
    yield from (f"{count} times: {reason} (such as {examples[reason]})" for reason, count in Counter(r for r, _ in why).most_common())


def _listed(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]
