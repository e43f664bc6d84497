"""What changed between two records: regressions, fixes, checks that are new or gone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.outcomes import Passed, Report, Result
from conformance.report import Line, clean, message

Key = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Changes:
    """The checks whose outcome changed, each as it was and as it is."""

    regressions: tuple[tuple[Result, Result], ...]
    fixes: tuple[tuple[Result, Result], ...]
    others: tuple[tuple[Result, Result], ...]
    new: tuple[Result, ...]
    gone: tuple[Result, ...]

    @property
    def worse(self) -> bool:
        """Whether something fails that didn't: a check that passed, or one that wasn't there."""
        return bool(self.regressions) or any(result.convicts for result in self.new)


def between(old: Sequence[Report], new: Sequence[Report]) -> Changes:
    """Compare two records, check by check."""
    before, after = _keyed(old), _keyed(new)
    both = [(before[key], after[key]) for key in after if key in before]
    changed = [(was, now) for was, now in both if type(was.outcome) is not type(now.outcome)]
    regressions = tuple((was, now) for was, now in changed if now.convicts and not was.convicts)
    fixes = tuple((was, now) for was, now in changed if was.convicts and isinstance(now.outcome, Passed))
    others = tuple(pair for pair in changed if pair not in regressions and pair not in fixes)
    came, went = ([one[key] for key in one if key not in other] for one, other in ((after, before), (before, after)))
    return Changes(regressions, fixes, others, tuple(came), tuple(went))


def _keyed(reports: Sequence[Report]) -> Mapping[Key, Result]:
    checks = [result for report in reports for result in report.results if result.kind != "advisory"]
    return {(result.implementation, result.operation, result.dtype, result.kind, result.check): result for result in checks}


def lines(changes: Changes) -> Iterator[Line]:
    """Yield the changes, the worst first."""
    for title, style, pairs in (("worse", "bad", changes.regressions), ("fixed", "good", changes.fixes), ("other", "", changes.others)):
        for was, now in pairs:
            yield style, f"{title:<6} {_name(now)}: {_words(was)} -> {_words(now)}"
    for title, results in (("new", changes.new), ("gone", changes.gone)):
        for result in results:
            yield "bad" if title == "new" and result.convicts else "quiet", f"{title:<6} {_name(result)}: {_words(result)}"
    counted = (("worse", changes.regressions), ("fixed", changes.fixes), ("otherwise changed", changes.others))
    news = (("new", changes.new), ("gone", changes.gone))
    yield "head", ", ".join(f"{len(found)} {title}" for title, found in (*counted, *news))


def _name(result: Result) -> str:
    check = result.check if result.check.startswith(result.operation) else f"{result.operation}/{result.check}"
    return clean(f"{result.implementation}: {check} in {result.dtype}")


def _words(result: Result) -> str:
    return "passed" if isinstance(result.outcome, Passed) else clean(message(result.outcome))[:120]
