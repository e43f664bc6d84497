"""What changed between two records: regressions, fixes, checks that are new or gone, and evidence that is less."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from conformance.calls.outcomes import Evidence, HarnessError, NotJudged, Passed, Report, Result, Unsupported
from conformance.checks.evidence.told import counted
from conformance.reports.lines import RecordError
from conformance.show.report import message
from conformance.show.summary import named_twice
from conformance.show.terminal import Line, clean

Key = tuple[str, str, str, str, str]
#: What is no failure, and worse than to pass.
LOST = (Unsupported, NotJudged, HarnessError)
NAMED = 3
#: Every run draws other cases: golden cases are less evidence where there are fewer than one in so many of before.
FEWER = 4
#: What a result, or evidence, is of.
_of = attrgetter("implementation", "operation", "dtype")


@dataclass(frozen=True)
class Changes:
    """The checks whose outcome changed, each as it was and as it is, and in words what evidence was lost."""

    regressions: tuple[tuple[Result, Result], ...]
    fixes: tuple[tuple[Result, Result], ...]
    others: tuple[tuple[Result, Result], ...]
    new: tuple[Result, ...]
    gone: tuple[Result, ...]
    less: tuple[str, ...] = ()

    @property
    def worse(self) -> bool:
        """Whether something fails that didn't, passed and doesn't or isn't asked any more, or rests on less."""
        failing, lost = any(result.convicts for result in self.new), any(isinstance(result.outcome, Passed) for result in self.gone)
        return bool(self.regressions or self.less) or failing or lost


def between(old: Sequence[Report], new: Sequence[Report]) -> Changes:
    """Compare two whole records, check by check; the drawn cases of an operation, which every run draws anew, together."""
    for reports in (old, new):
        _verify(reports)
    before, after = _keyed(old), _keyed(new)
    both = [(before[key], after[key]) for key in after if key in before]
    changed = [(was, now) for was, now in both if type(was.outcome) is not type(now.outcome)]
    regressions = tuple(pair for pair in changed if _worse(*pair))
    fixes = tuple(pair for pair in changed if _fixed(*pair))
    others = tuple(pair for pair in changed if not (_worse(*pair) or _fixed(*pair)))
    came, went = ([one[key] for key in one if key not in other] for one, other in ((after, before), (before, after)))
    return Changes(regressions, fixes, others, tuple(came), tuple(went), tuple(_less(old, new)))


def _verify(reports: Sequence[Report]) -> None:
    """Raise where the checks of a record can't be compared one by one."""
    if not all(report.complete for report in reports):
        message = "record must be complete, got one that was interrupted"
        raise RecordError(message)
    if refused := next((report for report in reports if report.refused), None):
        message = f"record must hold verdicts, got {refused.target}, which can't be judged"
        raise RecordError(message)
    if twice := named_twice(reports):
        message = f"record must name every implementation of an operation once, got {twice}"
        raise RecordError(message)


def _worse(was: Result, now: Result) -> bool:
    return (now.convicts and not was.convicts) or (isinstance(was.outcome, Passed) and isinstance(now.outcome, LOST))


def _fixed(was: Result, now: Result) -> bool:
    return was.convicts and isinstance(now.outcome, Passed)


def _keyed(reports: Sequence[Report]) -> Mapping[Key, Result]:
    checks = [result for report in reports for result in report.results if result.kind != "advisory"]
    drawn = (result for result in checks if result.kind == "drawn")
    named = [*(result for result in checks if result.kind != "drawn"), *_together(drawn)]
    keyed = [((result.implementation, result.operation, result.dtype, result.kind, result.check), result) for result in named]
    return dict(keyed) | {key: result for key, result in keyed if result.convicts}  # of one named twice, what fails


def _together(drawn: Iterable[Result]) -> Iterator[Result]:
    """Yield one result for the drawn cases of an implementation, operation and dtype: what fails, else what passes, else the first."""
    ordered = sorted(drawn, key=_of)
    for (_, operation, _), group in groupby(ordered, key=_of):
        worst = min(group, key=lambda result: (not result.convicts, not isinstance(result.outcome, Passed)))
        yield replace(worst, check=f"{operation}/drawn")


def _less(old: Sequence[Report], new: Sequence[Report]) -> Iterator[str]:
    """Yield in words what evidence was lost."""
    before, after = ({_of(each): each for report in reports for each in report.evidence} for reports in (old, new))
    for key, was in before.items():
        now = after.get(key)
        found = "no evidence any more" if now is None else _lost(was, now)
        if found:
            yield f"{was.implementation}: {was.operation} in {was.dtype}: {found}"


def _lost(was: Evidence, now: Evidence) -> str:
    if now.golden * FEWER < was.golden:
        return f"{counted(was.golden, 'golden case', 'golden cases')} -> {now.golden or 'none'}"
    if now.missing and not was.missing:
        return f"enough evidence -> {'; '.join(now.missing)}"
    names = [name for name in now.not_excluded if name in was.excluded]
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"not excluded any more: {', '.join(names[:NAMED])}{rest}" if names else ""


def lines(changes: Changes) -> Iterator[Line]:
    """Yield the changes, the worst first."""
    for title, style, pairs in (("worse", "bad", changes.regressions), ("fixed", "good", changes.fixes), ("other", "", changes.others)):
        for was, now in pairs:
            yield style, f"{title:<6} {_name(now)}: {_words(was)} -> {_words(now)}"
    yield from (("bad", f"{'less':<6} {clean(words)}") for words in changes.less)
    for title, results in (("new", changes.new), ("gone", changes.gone)):
        for result in results:
            bad = result.convicts if title == "new" else isinstance(result.outcome, Passed)
            yield "bad" if bad else "quiet", f"{title:<6} {_name(result)}: {_words(result)}"
    counts = (("worse", changes.regressions), ("fixed", changes.fixes), ("otherwise changed", changes.others))
    news = (("new", changes.new), ("gone", changes.gone), *([("with less evidence", changes.less)] if changes.less else []))
    yield "head", ", ".join(f"{len(found)} {title}" for title, found in (*counts, *news))


def _name(result: Result) -> str:
    check = result.check if result.check.startswith(result.operation) else f"{result.operation}/{result.check}"
    return clean(f"{result.implementation}: {check} in {result.dtype}")


def _words(result: Result) -> str:
    return "passed" if isinstance(result.outcome, Passed) else clean(message(result.outcome))[:120]
