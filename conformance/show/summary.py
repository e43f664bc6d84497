"""What a report says, before it is worded: convictions, precision, counts. Pure functions of ``Report``."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from conformance.calls.outcomes import (
    NOT_RUN,
    Advisory,
    Crashed,
    Diagnosis,
    Errored,
    Failed,
    NotJudged,
    Passed,
    Reason,
    Report,
    Result,
    Unsupported,
    Waived,
)
from conformance.calls.status import Status
from conformance.judge.logits import ROTATIONS, family
from conformance.spec.profiles import PROFILES, REQUIRED

CLEAR = 10.0
#: What is said beside wrong values of code that also keeps something between calls.
KEPT = "earlier calls change later answers ({law}): look for what the code keeps between calls, such as a table"
#: What golden values judge: the stored ones, and those computed for this run; the first are repeated more simply.
GOLDEN = ("vector", "drawn")
PASSES = "passes the cases that were asked for, which says nothing about others"
NOT_ENOUGH = "no verdict: not enough evidence"
ALL_WAIVED = "no verdict: nothing that ran could be judged beside the known deviations"
VALUE_REASONS = (Reason.VALUE, Reason.NOT_FINITE)
#: What is no matter of how large an error is.
UNMEASURED = (Reason.SHAPE, Reason.NOT_FINITE)


@dataclass(frozen=True)
class Conviction:
    """One operation of one implementation that is wrong: what failed alike, in which dtypes, and the known mistake if it is one."""

    implementation: str
    operation: str
    dtypes: tuple[str, ...]
    failures: tuple[Result, ...]
    judged: int
    diagnosis: Diagnosis | None
    description: tuple[str, ...] = ()

    @property
    def smallest(self) -> Result:
        """The failure that shows the mistake at the smallest input: hash order, what had a worker, vectors, clear ones, plain numbers."""
        return min(self.failures, key=_by_size)

    @property
    def worst(self) -> Result | None:
        """The failure that is furthest beyond its allowance, or ``None`` where no error is a multiple of what is allowed."""
        measured = [failure for failure in self.failures if failure.ratio is not None and math.isfinite(failure.ratio)]
        return max(measured, key=lambda failure: failure.ratio or 0.0, default=None)

    @property
    def unmeasured(self) -> Result | None:
        """The first failure whose results have another shape, or aren't finite, where the smallest is no such."""
        found = (failure for failure in self.failures if isinstance(failure.outcome, Failed) and failure.outcome.reason in UNMEASURED)
        first = min(found, key=_by_size, default=None)
        return None if first is self.smallest else first


@dataclass(frozen=True)
class Precision:
    """How precise one operation of one implementation is at one dtype, up to which position, and how far off it puts attention logits."""

    implementation: str
    operation: str
    dtype: str
    required: str
    met: str | None
    worst: float | None
    reach: int | None
    wrong_at: tuple[int, ...]
    errors_by_position: tuple[tuple[int, float], ...]
    logits: tuple[int, float] | None = None
    unmeasured: int = 0
    gradient: str = ""

    @property
    def wrong_from(self) -> int | None:
        """How far from 0 the first position lies at which it is wrong, or ``None``."""
        return min(map(abs, self.wrong_at), default=None)

    @property
    def right_beyond(self) -> bool:
        """Whether it is right at a position that lies farther from 0 than one at which it is wrong."""
        wrong = self.wrong_from
        return wrong is not None and any(position > wrong and ratio <= 1 for position, ratio in self.errors_by_position)

    @property
    def sizeless(self) -> str:
        """Say in how many cases an error has no size; nothing where it has one in all."""
        return f"not finite, or of another shape, in {self.unmeasured} of its cases" if self.unmeasured else ""

    @property
    def beside(self) -> str:
        """Say what no number tells: errors without a size, and a wrong gradient."""
        return "; ".join(filter(None, (self.sizeless, self.gradient)))

    @property
    def off(self) -> bool:
        """Whether an answer is farther off than is allowed, at a position or where there are none."""
        return bool(self.wrong_at) or not (self.worst or 0.0) <= 1.0

    @property
    def declared(self) -> bool:
        """Whether the adapter asked for another profile than the one its dtype asks for."""
        return self.required != REQUIRED[self.dtype]


def _by_size(result: Result) -> tuple[bool, bool, int, bool, bool, bool, int]:
    kind = GOLDEN.index(result.kind) if result.kind in GOLDEN else len(GOLDEN)
    hashed = isinstance(result.outcome, Failed) and result.outcome.reason is Reason.HASH_ORDER
    unstarted = isinstance(result.outcome, Crashed) and result.outcome.unstarted
    clear = (result.ratio or 0.0) >= CLEAR
    return not hashed, unstarted, kind, result.gradient, not clear, not result.ordinary, result.size or 1 << 62


#: What results are told together by.
_operation, _dtype = attrgetter("implementation", "operation"), attrgetter("implementation", "operation", "dtype")
_its_dtype = attrgetter("dtype")


def _grouped(results: Iterable[Result], key: Callable[[Result], tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], list[Result]]]:
    for name, group in groupby(sorted(results, key=key), key=key):
        yield name, list(group)


def verdict(report: Report) -> str:
    """Return what the run came to, in words: where nothing could be judged, why; what an interrupted one has found, it has found."""
    status = report.status
    if report.refused:
        return f"{Status.WRONG_USAGE.words}: {report.refused}"
    if status is Status.CONFORMS:
        return PASSES if report.selected else f"{status.words}{_qualified(report)}"
    if status is Status.NOT_JUDGED:
        came = counts(report.results)
        if came["Passed"]:
            return NOT_ENOUGH
        return ALL_WAIVED if came["Waived"] else f"{status.words} ({_reasons(report)})"
    if status is Status.INTERRUPTED and any(result.convicts for result in report.results):
        return f"{Status.DIFFERS.words} (interrupted before everything was run)"
    return status.words


def _qualified(report: Report) -> str:
    """Say what a person must know of the word *conforms*: that smoke is a first look, what was waived, what a predicate leaves out."""
    deviations = sum(isinstance(result.outcome, Waived) for result in report.results)
    smoke = ["as far as smoke looks"] if report.header.get("level") == "smoke" else []
    waived = [f"{deviations} known {'deviation' if deviations == 1 else 'deviations'} waived"] if deviations else []
    left_out = sorted({name for evidence in report.evidence for name in evidence.left_out})
    narrowed = [f"a predicate leaves out values of {', '.join(left_out)}"] if left_out else []
    said = [*smoke, *waived, *narrowed]
    return f" ({', '.join(said)})" if said else ""


def _reasons(report: Report) -> str:
    kinds = {Unsupported: "unsupported", NotJudged: "not judged"}
    found = [words for kind, words in kinds.items() if any(isinstance(result.outcome, kind) for result in report.results)]
    return f"all {found[0]}" if len(found) == 1 else " or ".join(found)


def named_twice(reports: Iterable[Report]) -> str | None:
    """Return in words which implementation stands in two reports under one label, if any does: their checks couldn't be told apart."""
    known = set[tuple[str, str, str]]()
    for report in reports:
        names = {_dtype(result) for result in report.results if result.kind != "baseline"}
        for label, operation, _ in sorted(names & known):
            return f"{label!r} twice for {operation}: give each a label of its own"
        known |= names
    return None


def judged(result: Result) -> bool:
    """Return whether the check came to a verdict."""
    return result.convicts or isinstance(result.outcome, Passed)


def convictions(report: Report) -> list[Conviction]:
    """Return what is wrong: diagnosed before undiagnosed, then the worst first."""
    found = []
    for (implementation, operation), results in _grouped(report.results, _operation):
        failed = [result for result in results if result.convicts]
        most = Counter(result.dtype for result in results if judged(result)).most_common(1)
        right = [dtype for dtype, _ in most if dtype not in map(_its_dtype, failed)]
        for failures in _apart(report, failed):
            dtypes = tuple(dict.fromkeys(failure.dtype for failure in failures))
            named, described = _named_or_described(_diagnoses(report, failures))
            named = _in_some_dtypes(named, right[0]) if named and right else named
            clues = described if named else (*described, *_kept(failures))
            found.append(Conviction(implementation, operation, dtypes, failures, sum(map(judged, results)), named, clues))
    return sorted(found, key=lambda conviction: (conviction.diagnosis is None, -len(conviction.failures)))


def _apart(report: Report, failures: Sequence[Result]) -> Iterator[tuple[Result, ...]]:
    """Yield failures with those of other dtypes, but for dtypes that fail otherwise: by another name, or by exceptions alone."""
    of_dtypes = [tuple(failure for failure in failures if failure.dtype == dtype) for dtype in dict.fromkeys(map(_its_dtype, failures))]
    of_dtypes.sort(key=lambda part: not any(known.named for known in _diagnoses(report, part)))
    while of_dtypes:
        first = of_dtypes[0]
        alike = [part for part in of_dtypes if not _otherwise(report, first, part)]
        of_dtypes = [part for part in of_dtypes if part not in alike]
        names = {failure.dtype for part in alike for failure in part}
        yield tuple(failure for failure in failures if failure.dtype in names)


def _otherwise(report: Report, one: Sequence[Result], other: Sequence[Result]) -> bool:
    """Whether two dtypes fail by names that have nothing in common, or where one of them only raises and the other never does."""
    names = [{name for known in _diagnoses(report, part) for name in (*known.mutants, *known.also_fits)} for part in (one, other)]
    raising = [[isinstance(failure.outcome, Errored) for failure in part] for part in (one, other)]
    apart = all(names) and not names[0] & names[1]
    return apart or (any(map(all, raising)) and not all(map(any, raising)))


def _kept(failures: Sequence[Result]) -> tuple[str, ...]:
    """Return in words that something is kept between calls, where one check shows it and others show wrong values only."""
    keeping = [each for each in failures if isinstance(each.outcome, Failed) and each.outcome.reason is Reason.HISTORY]
    return (KEPT.format(law=keeping[0].check),) if 0 < len(keeping) < len(failures) else ()


def _diagnoses(report: Report, failures: Sequence[Result]) -> list[Diagnosis]:
    keys = dict.fromkeys(f"{failure.implementation}:{failure.operation}:{failure.dtype}" for failure in failures)
    return [report.diagnoses[key] for key in keys if key in report.diagnoses]


def _named_or_described(known: Sequence[Diagnosis]) -> tuple[Diagnosis | None, tuple[str, ...]]:
    """Return the first diagnosis that has a name, and what the first without one says where none has."""
    named = next((diagnosis for diagnosis in known if diagnosis.named), None)
    return named, () if named is not None else next((diagnosis.description for diagnosis in known), ())


def _in_some_dtypes(named: Diagnosis, right: str) -> Diagnosis:
    """Return a diagnosis that advises no convention which the code hasn't in the dtype in which most calls were made."""
    if named.kind != "convention":
        return named
    return replace(named, does=f"{named.does}, but not in {right}", fix=f"compute in every dtype what is right in {right}")


def precision(report: Report) -> list[Precision]:
    """Return the strongest profile met, the worst ratio and the reach, per implementation, operation and dtype."""
    golden = [result for result in report.results if result.kind in GOLDEN and judged(result)]
    return [_precision(results) for _, results in _grouped(golden, _dtype)]


def _precision(every: list[Result]) -> Precision:
    """Return it of the values alone, where there are some, and in words what is wrong with gradients."""
    results, first = [result for result in every if not result.gradient] or every, every[0]
    ratios = [result.ratio for result in results if result.ratio is not None]
    wrong_at = tuple(sorted({position for result in results for position in _wrong_positions(result)}))
    wrong = min((abs(position) for position in wrong_at), default=None)
    right = [abs(position) for result in results if isinstance(result.outcome, Passed) for position in _positions(result)]
    return Precision(
        *(first.implementation, first.operation, first.dtype, first.profile),
        met=_weakest(results),
        worst=max(ratios, default=None),
        reach=max((position for position in right if wrong is None or position < wrong), default=None),
        wrong_at=wrong_at,
        errors_by_position=_worst_by_position(results),
        logits=max((found for result in results for found in result.logits), key=lambda found: found[1], default=None),
        unmeasured=sum(isinstance(result.outcome, Failed) and result.outcome.reason in UNMEASURED for result in every),
        gradient=_of_gradient([result for result in every if result.gradient and result.convicts]),
    )


def _of_gradient(failed: list[Result]) -> str:
    """Say from where on a gradient is wrong, unless it is right and only what it was asked with was overwritten."""
    wrong = [each for each in failed if not (isinstance(each.outcome, Failed) and each.outcome.reason is Reason.INPUT_MODIFIED)]
    places = [position for result in wrong for position in _wrong_positions(result)]
    where = f" from position {min(places, key=abs):,}" if places else ""
    return f"the gradient is wrong{where}" if wrong else ""


@dataclass(frozen=True)
class Rotation:
    """What rotations of one dtype in one profile have in common: right how far or wrong from where, and the worst error in logits."""

    dtype: str
    met: str | None
    reach: int | None
    wrong_at: tuple[int, ...]
    logits: tuple[int, float]


def rotations(rows: Iterable[Precision]) -> list[Rotation]:
    """Return what rotations do to attention logits, right ones by the profile met, then wrong ones."""
    told = [row for row in rows if row.logits is not None and family(row.operation) in ROTATIONS]
    ordered = sorted(told, key=_kind_of_rotation)
    return [_rotation(list(group)) for _, group in groupby(ordered, key=_kind_of_rotation)]


def _kind_of_rotation(row: Precision) -> tuple[bool, int, str]:
    return bool(row.wrong_at), len(PROFILES) if row.met is None else PROFILES.index(row.met), row.dtype


def _rotation(rows: list[Precision]) -> Rotation:
    return Rotation(
        dtype=rows[0].dtype,
        met=rows[0].met,
        reach=max((row.reach for row in rows if row.reach is not None), default=None),
        wrong_at=tuple(sorted({position for row in rows for position in row.wrong_at})),
        logits=max((row.logits for row in rows if row.logits is not None), key=lambda found: found[1]),
    )


def _weakest(results: list[Result]) -> str | None:
    """Return the strongest profile that all answers meet; a refused bad input, or no answer, says nothing about precision.

    Drawn cases are asked at one profile: where these alone are judged, it is that.
    """
    met = [result.profile_met for result in results if isinstance(result.outcome, Failed) or result.profile_met is not None]
    if not met:
        return next((each.profile for each in results if isinstance(each.outcome, Passed) and each.ratio is not None), None)
    known = [profile for profile in met if profile is not None]
    return max(known, key=PROFILES.index) if known and len(known) == len(met) else None


def _positions(result: Result) -> list[int]:
    known = [position for position, _ in result.errors_by_position]
    return known if result.farthest is None else [*known, result.farthest]


def _wrong_positions(result: Result) -> list[int]:
    if not (isinstance(result.outcome, Failed) and result.outcome.reason in VALUE_REASONS):
        return []
    return [position for position, ratio in result.errors_by_position if not ratio <= 1.0]


def _worst_by_position(results: list[Result]) -> tuple[tuple[int, float], ...]:
    worst: dict[int, float] = {}
    for result in results:
        for position, ratio in result.errors_by_position:
            worst[abs(position)] = max(ratio, worst.get(abs(position), 0.0))
    return tuple(sorted(worst.items()))


def counts(results: Iterable[Result]) -> Counter[str]:
    """Return how many checks ended in each kind of outcome, under the name of its type."""
    return Counter(type(result.outcome).__name__ for result in results)


def unsupported(report: Report) -> list[tuple[str, int]]:
    """Return why checks were unsupported, the most frequent reason first."""
    return Counter(result.outcome.reason for result in report.results if isinstance(result.outcome, Unsupported)).most_common()


def not_judged(report: Report) -> list[tuple[str, int]]:
    """Return why checks were not judged, the most frequent reason first; a law is named."""
    found = ((result, result.outcome) for result in report.results)
    reasons = (
        f"{result.check}: {outcome.reason}" if result.kind == "law" and outcome.reason != NOT_RUN else outcome.reason
        for result, outcome in found
        if isinstance(outcome, NotJudged)
    )
    return Counter(reasons).most_common()


def waived(report: Report) -> list[tuple[str, int]]:
    """Return why known deviations are waived, the most frequent reason first."""
    outcomes = [result.outcome for result in report.results if isinstance(result.outcome, Waived)]
    return Counter(f"{outcome.reason}{f' ({outcome.link})' if outcome.link else ''}" for outcome in outcomes).most_common()


def at_hand(report: Report) -> list[str]:
    """Return in words what of right answers the code could see, which convicts nobody."""
    return [f"right answers are at hand: {words}" for words in report.reached]


def left_out(report: Report) -> list[str]:
    """Return in words how many checks of whom were left out, since each crashed, came late or was followed by a crash."""
    found = Counter((each.implementation, each.operation) for each in report.results if each.outcome == NotJudged(NOT_RUN))
    return [f"{label}, {operation}: {count} checks were {NOT_RUN}" for (label, operation), count in found.items()]


def notes(report: Report) -> list[str]:
    """Return in words what a person must know beside the verdict: what could be seen, and what wasn't looked at."""
    return [*left_out(report), *at_hand(report)]


def advisories(report: Report) -> list[tuple[str, int]]:
    """Return what is worth knowing outside the verdict, the most frequent first."""
    found = (result for result in report.results if isinstance(result.outcome, Advisory))
    return Counter(f"{result.implementation}, {result.operation}: {result.outcome.message}" for result in found).most_common()  # type: ignore[union-attr]  # filtered to Advisory
