"""The record: what became of known mistakes under narrow declarations, by operation, and the verdicts on right code."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from itertools import groupby

from conformance.mutants import for_operation
from conformance.mutants.catalogue import MUTANTS
from conformance.spec.declarations import operations
from conformance.version import __version__
from tools import documents
from tools.narrow.judging import FURTHER, Judged, Outcome

HEAD = """\
# Known mistakes under narrow declarations

Code that declares little could pass because no call was drawn that shows its mistake. This page measures how often that happens. For
every operation, thirty declarations are drawn. Each has one dtype, one to four parameters at one value each, and a choice of the positions
that the code takes (from zero, consecutive, queries at the end, one row for the batch, no negative ones, none over 2,047). Every known
mistake of the operation stands in for code with this declaration; its float64 result is rounded once. It is judged by drawn golden cases
as at level core: those that every run draws, those that are drawn to show a mistake that is left, and the smallest large call. A run also
has stored vectors, laws and the other large calls; these are left out.

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
EVERY = (
    *("mistakes", "inherited", "declarations", "trials", "convicted", "shows nothing", "unnoticed", "missed", "silent"),
    *("conforms", "alarms"),
)
MISSED = "## Missed"
REASONS = "## Why right code got no verdict"


@dataclass(frozen=True)
class Record:
    """The counts of every operation by column, each mistake that was missed with where, and why right code got no verdict."""

    rows: Mapping[str, Mapping[str, int]]
    missed: Sequence[str]
    reasons: Sequence[str]

    def lacking(self) -> Iterator[str]:
        """Yield the operations that have no row, or had another number of known mistakes when they were judged."""
        yield from (name for name in operations() if self.rows.get(name, {}).get("mistakes") != len(for_operation(name)))

    def renewed(self, other: "Record") -> "Record":
        """Return this record with what the other says of its operations in the place of what was said of them."""
        order = {name: place for place, name in enumerate(operations()) if name in {*self.rows, *other.rows}}
        rows = {**self.rows, **other.rows}

        def lines(own: Sequence[str], others: Sequence[str]) -> list[str]:
            kept = [line for line in own if _told_of(line) in order and _told_of(line) not in other.rows]
            return sorted([*kept, *others], key=lambda line: order[_told_of(line)])

        return Record({name: rows[name] for name in order}, lines(self.missed, other.missed), lines(self.reasons, other.reasons))


def of(found: Sequence[Judged]) -> Record:
    """Return the record of what was judged, each operation's declarations in a row."""
    rows = [(each[0].declaration.operation, _row(each)) for _, group in groupby(found, _operation) if (each := list(group))]
    return Record(dict(rows), list(_missed(found)), list(_reasons(found)))


def read(text: str) -> Record:
    """Return the record that a page tells."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")]
    rows = {first.strip("`"): dict(zip(EVERY, (int(cell.replace(",", "")) for cell in others), strict=True)) for first, *others in cells}
    missed, _, reasons = text.partition(f"\n{MISSED}\n")[2].partition(f"\n{REASONS}\n")
    return Record(rows, *([line.removeprefix("- ") for line in part.splitlines() if line.startswith("- ")] for part in (missed, reasons)))


def page(record: Record, seed: int, share: Fraction, begin: int = 0) -> str:
    """Return the record of all declarations, or of a share of them, as Markdown."""
    sampled = "" if share == 1 else f" --sample {share} --sample-seed {begin}"
    parts = [
        HEAD.replace("FURTHER", str(FURTHER)),
        f"Written by `python -m tools.narrow --seed {seed}{sampled}`: posenc {__version__}, numpy {version('numpy')}.\n",
        *documents.markdown(table(record)),
        f"\n{MISSED}\n",
        *(_listed(record.missed) or ["None."]),
        f"\n{REASONS}\n",
        *(_listed(record.reasons) or ["It always got one."]),
    ]
    return "\n".join(parts) + "\n"


def told(record: Record) -> Iterator[str]:
    """Yield the record's lines for a screen."""
    yield from documents.aligned(list(table(record)))
    yield from (f"missed: {line}" for line in record.missed)
    yield from (f"no verdict on right code: {line}" for line in record.reasons)


def table(record: Record) -> Iterator[list[str]]:
    """Yield the head, a row for every operation, and the sum."""
    yield ["operation", *EVERY]
    total = sum(map(Counter, record.rows.values()), Counter[str]())
    for name, row in (*((f"`{name}`", row) for name, row in record.rows.items()), ("all", total)):
        yield [name, *(f"{row.get(column, 0):,}" for column in EVERY)]


def _operation(judged: Judged) -> str:
    return judged.declaration.operation


def _row(found: Sequence[Judged]) -> Counter[str]:
    """Return the counts of one operation, by column."""
    counted = Counter(str(outcome) for each in found for outcome in each.outcomes.values())
    counted["trials"] = counted.total() - counted.pop(Outcome.RIGHT, 0)
    counted["mistakes"], counted["declarations"] = len(found[0].outcomes), len(found)
    counted["inherited"] = sum(MUTANTS[name].inherited for name in found[0].outcomes)
    counted["conforms"] = sum(not each.missing and not each.alarms for each in found)
    counted["alarms"] = sum(bool(each.alarms) for each in found)
    return counted


def _missed(found: Iterable[Judged]) -> Iterator[str]:
    """Yield each mistake that was missed, and where."""
    where = defaultdict[str, list[str]](list)
    for each in found:
        for name, outcome in each.outcomes.items():
            if outcome is Outcome.MISSED:
                where[name].append(each.declaration.words.split(" ", 1)[1])
    yield from (f"{name}: {'; '.join(declared)}" for name, declared in where.items())


def _reasons(found: Iterable[Judged]) -> Iterator[str]:
    """Yield each kind of reason why right code of an operation got no verdict, how often, and an example."""
    named = [(each.declaration.operation, each) for each in found]
    given = [(name, reason, f"{each.declaration.words}: {each.missing[0]}") for name, each in named for reason in each.reasons]
    examples = {(operation, reason): example for operation, reason, example in reversed(given)}
    for (operation, reason), count in Counter((operation, reason) for operation, reason, _ in given).items():
        yield f"{operation}, {count} of its declarations: {reason} (such as {examples[operation, reason]})"


def _told_of(line: str) -> str:
    """Return the operation that a listed line begins with."""
    return re.split("[/,]", line)[0]


def _listed(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]
