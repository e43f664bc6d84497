"""Say in words what a verdict rests on: what was covered, waived and not excluded, and what is missing. Every report says it alike."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from conformance.calls.outcomes import INTERRUPTED, Evidence, Passed, Report, Waived
from conformance.calls.status import Status

#: So many operations have a line of their own, more are summed up in one.
IN_FULL = 3
#: How many names, ranges and operations that lack evidence are told in short.
NAMED = 3
RANGES = 4
LACKING = 4

#: What is said of mistakes that aren't excluded.
UNNOTICED, ALIKE = "would not have been noticed", "made no difference at any call that was tried"

Said = tuple[str, str]


#: What leaves values out: a record doesn't say which of the two.
PREDICATE = "a predicate of its declaration (when=, or a function in place of values)"


@dataclass(frozen=True)
class Coverage:
    """What was judged of one operation of one implementation, at all its dtypes."""

    implementation: str
    operation: str
    golden: int
    values: int
    refused: int
    excluded: tuple[str, ...]
    unnoticed: tuple[str, ...]
    alike: tuple[str, ...]
    covered: Mapping[str, str]
    left_out: Mapping[str, str]

    @property
    def mistakes(self) -> int:
        """How many known mistakes there are."""
        return len(self.excluded) + len(self.unnoticed) + len(self.alike)


def coverage(report: Report) -> list[Coverage]:
    """Return what was covered of every operation; the ranges are those of the dtype with most cases."""
    ordered = sorted(report.evidence, key=_of)
    return [_merged(list(group)) for _, group in groupby(ordered, key=_of)]


def _of(evidence: Evidence | Coverage) -> tuple[str, str]:
    return evidence.operation, evidence.implementation


def _merged(each: Sequence[Evidence]) -> Coverage:
    widest = max(each, key=lambda evidence: (len(evidence.excluded) + len(evidence.not_excluded), evidence.golden))
    return Coverage(
        *(widest.implementation, widest.operation),
        golden=sum(evidence.golden for evidence in each),
        values=sum(evidence.values for evidence in each),
        refused=sum(evidence.refused for evidence in each),
        excluded=widest.excluded,
        unnoticed=tuple(name for name in widest.not_excluded if name not in widest.alike),
        alike=widest.alike,
        covered=widest.covered,
        left_out=widest.left_out,
    )


def told(report: Report, *, verbose: bool = False) -> Iterator[Said]:
    """Yield warnings, what conforms beside what doesn't, what is missing, covered, waived, not excluded: each as a label and words.

    In short unless ``verbose``: then nothing is said of what is wrong, which needs no evidence.
    """
    yield from (("warning", words) for words in report.warnings)
    every = coverage(report)
    several = len({row.implementation for row in every}) > 1
    wrong = {(result.operation, result.implementation) for result in report.results if result.convicts}
    lacking = [each for each in report.lacking if verbose or _of(each) not in wrong]
    rows = [row for row in every if row.golden and (verbose or _of(row) not in wrong)]
    if report.status in (Status.DIFFERS, Status.NOT_JUDGED):
        passed = {(result.operation, result.implementation) for result in report.results if isinstance(result.outcome, Passed)}
        right = [row for row in rows if _of(row) in passed - {*wrong, *map(_of, lacking)}]
        yield from _conforming(right, several=several, smoke=report.header.get("level") == "smoke")
    if not report.complete:
        yield "missing", INTERRUPTED
        yield from _unreached(report, several=several)
    yield from _missing([each for each in lacking if each.missing != (INTERRUPTED,)], verbose=verbose)
    for words in _apart(rows, several=several, verbose=verbose) if verbose or len(rows) <= IN_FULL else _together(rows):
        yield "covered", words
    for row in rows:
        if row.left_out:
            yield "left out", f"{_name(row, several=several)}: {PREDICATE} takes no {'; no '.join(_valued(row.left_out))}"
    waived = sum(isinstance(result.outcome, Waived) for result in report.results)
    if waived:
        yield "waived", counted(waived, "check fails as the known deviations say", "checks fail as the known deviations say")
    cut = {_of(each) for each in lacking if each.missing == (INTERRUPTED,)}  # nothing was looked for that shows other mistakes
    yield from _not_excluded([row for row in rows if _of(row) not in cut], several=several, verbose=verbose)


def _conforming(rows: Sequence[Coverage], *, several: bool, smoke: bool) -> Iterator[Said]:
    """Say what conforms where something else doesn't: the verdict of the whole doesn't say it."""
    if rows:
        named = ", ".join(_name(row, several=several) for row in rows) if len(rows) <= IN_FULL else _numbered(rows)
        yield "conforms", f"{named} (as far as smoke looks)" if smoke else named


def _unreached(report: Report, *, several: bool) -> Iterator[Said]:
    """Say of which operations nothing was asked."""
    begun = {(result.operation, result.implementation) for result in report.results}
    names = dict.fromkeys(_name(each, several=several) for each in report.lacking if _of(each) not in begun)
    if names:
        yield "missing", f"not reached: {', '.join(names)}"


def _missing(lacking: Sequence[Evidence], *, verbose: bool) -> Iterator[Said]:
    for evidence in lacking if verbose else lacking[:LACKING]:
        for words in evidence.missing:
            yield "missing", f"{evidence.implementation}: {evidence.operation} in {evidence.dtype}: {words}"
    if not verbose and len(lacking) > LACKING:
        yield "missing", f"{counted(len(lacking) - LACKING, 'other operation', 'other operations')} (--verbose)"


def _apart(rows: Sequence[Coverage], *, several: bool, verbose: bool) -> Iterator[str]:
    for row in rows:
        ranges = [f"{name} {words}" for name, words in row.covered.items() if verbose or " to " in words]
        shown = ", ".join(ranges if verbose else _short(ranges))
        refused = counted(row.refused, "call refused", "calls refused") if row.refused else ""
        parts = (_cases([row]), shown, refused, *_excluded([row]))
        yield f"{_name(row, several=several)}: {'; '.join(filter(None, parts))}"


def _valued(left_out: Mapping[str, str]) -> Iterator[str]:
    return (f"{name} {words}" for name, words in left_out.items())


def _short(ranges: Sequence[str]) -> Sequence[str]:
    """Return the first few ranges, positions among them."""
    first = [words for words in ranges if words.startswith("positions ")]
    others = [words for words in ranges if words not in first]
    return [*others[: RANGES - len(first)], *first]


def _together(rows: Sequence[Coverage]) -> Iterator[str]:
    yield f"{_numbered(rows)}: {'; '.join([_cases(rows), *_excluded(rows)])}"


def _numbered(rows: Sequence[Coverage]) -> str:
    operations, implementations = ({getattr(row, name) for row in rows} for name in ("operation", "implementation"))
    by = f" of {len(implementations)} implementations" if len(implementations) > 1 else ""
    return f"{counted(len(operations), 'operation', 'operations')}{by}"


def _cases(rows: Sequence[Coverage]) -> str:
    golden, values = sum(row.golden for row in rows), sum(row.values for row in rows)
    return f"{counted(golden, 'golden case', 'golden cases')}, {counted(values, 'value', 'values')}"


def _excluded(rows: Sequence[Coverage]) -> Iterator[str]:
    known = sum(row.mistakes for row in rows)
    if known:
        yield f"{sum(len(row.excluded) for row in rows):,} of {counted(known, 'known mistake', 'known mistakes')} excluded"


def _not_excluded(rows: Sequence[Coverage], *, several: bool, verbose: bool) -> Iterator[Said]:
    if verbose or len(rows) <= IN_FULL:
        for row in rows:
            for label, names, words in (("not excluded", row.unnoticed, UNNOTICED), ("no effect", row.alike, ALIKE)):
                if names:
                    yield label, f"{_name(row, several=several)}: {_names(names, verbose=verbose)} {words}"
        return
    unnoticed = [f"{row.operation}/{name}" for row in rows for name in row.unnoticed]
    alike = sum(len(row.alike) for row in rows)
    if unnoticed:
        yield "not excluded", f"{_names(unnoticed, verbose=False)} {UNNOTICED}"
    if alike:
        yield "no effect", f"{counted(alike, 'known mistake', 'known mistakes')} {ALIKE} (--verbose)"


def _names(names: Sequence[str], *, verbose: bool) -> str:
    shown = names if verbose else names[:NAMED]
    rest = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return f"{', '.join(shown)}{rest}"


def _name(row: Coverage | Evidence, *, several: bool) -> str:
    return f"{row.implementation}: {row.operation}" if several else row.operation


def counted(count: int, one: str, more: str) -> str:
    """Return how many, with the right noun."""
    return f"{count:,} {one if count == 1 else more}"
