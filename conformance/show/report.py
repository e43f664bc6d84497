"""Word a report for a person: one screen, first what is wrong, then how precise it is, then what was counted."""

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from conformance.adapt.wording import MANY, times
from conformance.calls.outcomes import (
    ALONE,
    Advisory,
    Crashed,
    Errored,
    Exhausted,
    Failed,
    HarnessError,
    NotJudged,
    Outcome,
    Passed,
    Reason,
    Report,
    Result,
    TimedOut,
    Unsupported,
    Waived,
    is_fault,
)
from conformance.calls.status import Status
from conformance.checks.evidence.told import told
from conformance.show.precision import WORDS
from conformance.show.summary import (
    CLEAR,
    GOLDEN,
    Conviction,
    Precision,
    Rotation,
    advisories,
    convictions,
    counts,
    not_judged,
    notes,
    precision,
    rotations,
    unsupported,
    verdict,
    waived,
)
from conformance.show.terminal import WIDTH, Line, clean
from conformance.spec.profiles import FORMATS, PROFILES
from refimpl.spec import Law

#: The widest name of an operation: longrope.attention_factor and position_interpolation.frequencies have room.
NAME = 34
IN_FULL = 2
REPRODUCTION_LINES = 20
REPRODUCTION_COLUMNS = 400
REASONS = 4
THREADS = 3
OTHERS = 3
HINTS = 3
#: How libraries say that there is no memory for an array.
UNALLOCATED = re.compile(r"^MemoryError|can't allocate memory|out of memory|unable to allocate", re.IGNORECASE)
DTYPES = tuple(FORMATS)
#: Where results couldn't be compared with anything, what a case was made to expose says nothing.
NO_VALUES = (Reason.ADAPTER, Reason.DTYPE, Reason.MALFORMED, Reason.SHAPE)
#: What a reproduction begins with that is a command, as a program's is.
COMMANDS = "posenc "
UNSHOWN = ("adapter", "platform", "device", "limits", "isolation")


def text(report: Report, *, verbose: bool = False, width: int = WIDTH) -> str:
    """Return the screen as plain text."""
    return "".join(f"{line}\n" for _, line in lines(report, verbose=verbose, width=width))


def lines(report: Report, *, verbose: bool = False, width: int = WIDTH) -> Iterator[Line]:
    """Yield the screen as lines, each with its style (``good``, ``bad``, ``head``, ``quiet`` or none)."""
    yield from _verdict(report)
    yield from _evidence(report, width, verbose=verbose)
    yield from _harness_errors(report, width)
    yield from _convictions(report, width, verbose=verbose)
    yield from _precision(report, width, verbose=verbose)
    yield from _advisories(report, width, verbose=verbose)
    yield from _counts(report, width, verbose=verbose)


def _verdict(report: Report) -> Iterator[Line]:
    style = {Status.CONFORMS: "good", Status.DIFFERS: "bad"}.get(report.status, "head")
    yield style, clean(f"{report.target} {verdict(report)}")


def _evidence(report: Report, width: int, *, verbose: bool) -> Iterator[Line]:
    """Say below the verdict what it rests on."""
    styles = {"missing": "head", "warning": "head", "conforms": "good"}
    for label, words in told(report, verbose=verbose):
        yield from _field(label, words, width, style=styles.get(label, ""), column=12)


def _errors(report: Report) -> list[Result]:
    return [result for result in report.results if isinstance(result.outcome, HarnessError)]


def _harness_errors(report: Report, width: int) -> Iterator[Line]:
    for result in _errors(report)[:REASONS]:
        message = result.outcome.message if isinstance(result.outcome, HarnessError) else ""
        yield from _wrapped(f"the harness itself failed at {result.check}: {message}", width, style="bad")


def _convictions(report: Report, width: int, *, verbose: bool) -> Iterator[Line]:
    for index, conviction in enumerate(convictions(report)):
        yield "", ""
        yield from _title(conviction, width)
        if verbose or index < IN_FULL:
            yield from _named(conviction, width, verbose=verbose, looked=report.complete)
            yield from _shown(conviction, report, width, verbose=verbose)
        else:
            yield from _in_short(conviction, report.target, width)


def _title(conviction: Conviction, width: int) -> Iterator[Line]:
    failed, total = len(conviction.failures), conviction.judged
    dtypes = ", ".join(conviction.dtypes)
    unfit = failed == total and all(is_fault(failure.outcome) for failure in conviction.failures)
    told = "NOT JUDGED" if unfit else "WRONG"
    yield from _wrapped(
        f"{told} {conviction.implementation}: {conviction.operation} in {dtypes}; {failed} of {total} checks fail", width, style="bad"
    )


def _named(conviction: Conviction, width: int, *, verbose: bool, looked: bool) -> Iterator[Line]:
    diagnosis = conviction.diagnosis
    if diagnosis is None:
        yield from _unnamed(conviction, width, looked=looked)
        return
    yield from _field(diagnosis.label, diagnosis.name, width, style="head")
    yield from _field("does", diagnosis.does, width)
    yield from _field("should", diagnosis.should, width)
    yield from _field("fix", diagnosis.fix, width)
    for thread in diagnosis.threads[: None if verbose else THREADS]:
        yield "quiet", f"  seen in    {clean(thread)}"
    if diagnosis.also_fits:
        yield from _field("also fits", diagnosis.others(None if verbose else OTHERS), width, style="quiet")
    for separating in diagnosis.separate:
        yield from _field("tell apart", separating, width, style="quiet")


def _unnamed(conviction: Conviction, width: int, *, looked: bool) -> Iterator[Line]:
    hashed = _kind(conviction.smallest.outcome) == Reason.HASH_ORDER.value
    if conviction.description or (not hashed and Reason.VALUE.value in {_kind(failure.outcome) for failure in conviction.failures}):
        found = looked or conviction.description
        words = "none of the known ones gives these values" if found else "not looked for: the run was interrupted"
        yield from _field("mistake", words, width)
    for index, clue in enumerate(conviction.description):
        yield from _field("clues" if index == 0 else "", clue, width)


def _shown(conviction: Conviction, report: Report, width: int, *, verbose: bool) -> Iterator[Line]:
    shown = conviction.smallest
    yield from _field("shown by", f"{shown.check} in {shown.dtype}", width)
    hints = "" if _all_wrong(conviction, report) else _hints(conviction)
    yield from _field("look for", hints, width) if hints else ()
    yield from _field("law", _equation(shown), width) if shown.kind == "law" and _equation(shown) else ()
    yield from _field("call", shown.call, width) if shown.call else ()
    yield from _field("got", message(shown.outcome), width)
    yield from _field("limit", _allowing(shown.outcome), width) if _allowing(shown.outcome) else ()
    yield from _field("how bad", _badness(conviction), width) if _badness(conviction) else ()
    yield from _field("raises", _raising(conviction), width) if _raising(conviction) else ()
    yield from _field("after", shown.earlier, width) if shown.earlier and shown.earlier not in message(shown.outcome) else ()
    yield from _reproduction(shown, report, width, verbose=verbose)
    yield from _others(conviction, shown, width, verbose=verbose)


def _all_wrong(conviction: Conviction, report: Report) -> bool:
    """Whether several golden values were compared and none was right: then those that were made to expose something tell nothing apart."""
    names = conviction.implementation, conviction.operation
    golden = [each for each in report.results if (each.implementation, each.operation) == names and each.kind in GOLDEN]
    return len(golden) > HINTS and not any(isinstance(each.outcome, Passed) for each in golden)


def _hints(conviction: Conviction) -> str:
    """Return what the cases that gave wrong values were made to expose, where no mistake is known and they are few.

    Stored cases go first; what a drawn one exposes says something only where every wrong one says it.
    """
    failed = [(failure, failure.outcome) for failure in conviction.failures if isinstance(failure.outcome, Failed)]
    wrong = [failure for failure, outcome in failed if outcome.reason not in NO_VALUES]
    stored = [failure for failure in wrong if failure.kind == "vector"]
    told = stored or (wrong if all(failure.exposes for failure in wrong) else [])
    exposed = list(dict.fromkeys(failure.exposes for failure in told if failure.exposes))
    known = conviction.diagnosis is not None and not conviction.diagnosis.narrows
    return "; ".join(exposed) if not known and len(exposed) <= HINTS else ""


def _in_short(conviction: Conviction, target: str, width: int) -> Iterator[Line]:
    shown = conviction.smallest
    if conviction.diagnosis is not None:
        yield from _field(conviction.diagnosis.label, conviction.diagnosis.name, width)
    else:
        yield from _field("shown by", f"{shown.check}: {message(shown.outcome)}", width)
    yield "quiet", f"  in full    posenc check {clean(target)} --operation {conviction.operation} --verbose"


def _equation(result: Result) -> str:
    law = Law.__members__.get(result.check.rsplit("law:", 1)[-1].rsplit("/", 1)[-1].upper().replace(" ", "_"))
    return law.value if law is not None else ""


def _kind(outcome: Outcome) -> str:
    return outcome.reason.value if isinstance(outcome, Failed) else type(outcome).__name__


def message(outcome: Outcome) -> str:
    """Return an outcome in words."""
    match outcome:
        case Failed(reason, message):
            return f"{reason.value}: {message}"
        case Errored(message) | Crashed(message):
            return f"{'an exception' if isinstance(outcome, Errored) else 'a crash'}: {message}"
        case TimedOut() | Exhausted():
            return outcome.words()
        case Waived(reason, _, message):
            return f"waived ({reason}): {message}"
        case Advisory(message) | HarnessError(message) | Unsupported(message) | NotJudged(message):
            return message
        case _:
            return str(outcome)


def _allowing(outcome: Outcome) -> str:
    """Return what a limit that was exceeded says, and what to do; nothing where none was."""
    match outcome:
        case TimedOut():
            more = "allow more with --call-seconds"
        case Exhausted(resource, message=message) if ALONE in message:
            return f"what earlier calls leave adds up: have them leave nothing, or allow more with --{resource}"
        case Exhausted(resource):
            more = f"allow more with --{resource}"
        case Errored(message) if UNALLOCATED.search(message):
            more = "allocate less, or allow more with --memory where the machine has it"
        case _:
            return ""
    return f"no value came, so none is wrong: {more}, or declare no calls that need more"


def _badness(conviction: Conviction) -> str:
    """Return what is worse than what is shown: results that can't be compared, else the largest error."""
    other, worst = conviction.unmeasured, conviction.worst
    if other is not None:
        return f"{message(other.outcome)}, in {other.check}"
    if worst is None or _times(worst.ratio) == _times(conviction.smallest.ratio):
        return ""
    upto = "" if (worst.ratio or 0.0) > MANY else "up to "
    return f"{upto}{_times(worst.ratio)} the allowed error at {worst.profile}, in {worst.check}"


def _raising(conviction: Conviction) -> str:
    """Return which exception comes beside what is shown, where that is something else."""
    errors = [failure.outcome.message for failure in conviction.failures if isinstance(failure.outcome, Errored)]
    if not errors or isinstance(conviction.smallest.outcome, Errored):
        return ""
    ((kind, _),) = Counter(error.split(":", 1)[0] for error in errors).most_common(1)
    example = next(error for error in errors if error.startswith(kind))
    return f"in {len(errors)} of the {len(conviction.failures)} failing checks, such as {example}"


def _times(ratio: float | None) -> str:
    return "? times" if ratio is None else times(ratio)


def _number(ratio: float | None) -> str:
    return "?" if ratio is None else f"{ratio:.2f}" if ratio < CLEAR else f"{ratio:.3g}"


def _reproduction(shown: Result, report: Report, width: int, *, verbose: bool) -> Iterator[Line]:
    source = (shown.reproduction or "").rstrip("\n").split("\n") if shown.reproduction else []
    if source and source[0].startswith(COMMANDS):
        yield "", f"  reproduce  {clean(source[0])}"
        yield from (("", f"{'':<13}{clean(line).lstrip()}") for line in source[1:])
    elif source and (verbose or _fits(source) or _kind(shown.outcome) == Reason.HISTORY.value):
        yield "", "  reproduce:"
        yield from (("quiet", f"    {clean(line)}".rstrip()) for line in source)
    elif source or not report.selected:
        yield from _command(shown, report, width)


def _command(shown: Result, report: Report, width: int) -> Iterator[Line]:
    """Yield the command that asks for one case again, over two lines that can be pasted where one is too wide."""
    selector = f"--case {shown.check}" if shown.kind in GOLDEN else f"--operation {shown.operation}"
    seed = "" if shown.kind == "vector" else f" --seed {report.header.get('seed', 0)}"
    under = f" --under {report.header['under']}" if "under" in report.header else ""
    check, asked = f"  reproduce  posenc check {clean(report.target)}", f"{selector}{seed}{under} --verbose"
    if len(f"{check} {asked}") <= width:
        yield "", f"{check} {asked}"
    else:
        yield from (("", f"{check} \\"), ("", f"{'':<13}{asked}"))


def _fits(source: list[str]) -> bool:
    return len(source) <= REPRODUCTION_LINES and max(map(len, source)) <= REPRODUCTION_COLUMNS


def _others(conviction: Conviction, shown: Result, width: int, *, verbose: bool) -> Iterator[Line]:
    others = [failure for failure in conviction.failures if failure is not shown]
    if verbose:
        for other in others:
            yield from _field("also", f"{other.check} ({other.dtype}): {message(other.outcome)}", width, style="quiet")
    elif others:
        names = list(dict.fromkeys(other.check for other in others if other.check != shown.check))
        if names:
            rest = f" and {len(names) - OTHERS} more" if len(names) > OTHERS else ""
            yield from _field("also", ", ".join(names[:OTHERS]) + rest, width, style="quiet")


def _precision(report: Report, width: int, *, verbose: bool) -> Iterator[Line]:
    rows = [row for row in precision(report) if row.met is not None or row.worst is not None or row.wrong_at]
    if not rows:
        return
    yield "", ""
    yield "head", "PRECISION (worst error over the allowed error; profile met; |position|)"
    shown = [(row.operation, f"{row.implementation}: {_dtype_precision(row)}") for row in rows] if verbose else _by_operation(rows)
    for name, words in shown:
        yield from _row(name, words, width)
    for rotation in rotations(rows):
        yield from _wrapped(_in_logits(rotation), width)
    for row in rows if verbose else ():
        yield from _errors_by_position(row, width)


def _in_logits(rotation: Rotation) -> str:
    arithmetic = [] if rotation.met is None else [WORDS[rotation.met]]
    results = [] if rotation.met is not None and rotation.met.startswith(rotation.dtype) else [f"{rotation.dtype} results"]
    right = "within the allowed error" + ("" if rotation.reach is None else f" up to {rotation.reach:,}")
    reached = _wrong(rotation.wrong_at) if rotation.wrong_at else right
    position, error = rotation.logits
    return f"{', '.join(arithmetic + results)}: {reached}; logits are then off by {error:.1g} at {position:,}"


def _by_operation(rows: list[Precision]) -> Iterator[tuple[str, str]]:
    """Yield one line per operation for all that is right, and one per implementation for what is wrong."""
    ordered = sorted(rows, key=lambda row: row.operation)
    for name, group in groupby(ordered, key=lambda row: row.operation):
        every = list(group)
        right = [row for row in every if not (row.off or row.beside)]
        if right:
            yield name, _merged(right)
        for row in every:
            if row.off or row.beside:
                yield name, f"{row.implementation}: {_dtype_precision(row)}"


def _merged(rows: list[Precision]) -> str:
    """Say what is right in one line: each dtype's worst, over all implementations, and how far."""
    return ", ".join(
        _dtype([row for row in rows if row.dtype == dtype]) for dtype in sorted({row.dtype for row in rows}, key=DTYPES.index)
    ) + _reach(rows)


def _dtype(rows: list[Precision]) -> str:
    worst = max((row.worst for row in rows if row.worst is not None), default=None)
    met = max((row.met for row in rows if row.met is not None), key=PROFILES.index, default=None)
    other = f" ({met})" if met not in {None, rows[0].required} else ""
    return f"{rows[0].dtype} {_number(worst)}{other}"


def _reach(rows: list[Precision]) -> str:
    wrong = sorted({position for row in rows for position in row.wrong_at})
    reach = [row.reach for row in rows if row.reach is not None]
    if wrong:
        return f"; {_wrong(wrong)}{', though not everywhere' if any(row.right_beyond for row in rows) else ''}"
    return f"; to {max(reach):,}" if reach else ""


def _wrong(positions: Sequence[int]) -> str:
    """Say from where on it is wrong, and at which negative positions that lie nearer to 0."""
    first = min((position for position in positions if position >= 0), default=None)
    below = [position for position in positions if position < 0 and (first is None or -position < first)]
    told = [] if first is None else [f"from position {first:,}"]
    if below:
        told.append(f"at position {below[0]:,}" if len(below) == 1 else f"at negative positions from {max(below):,} down")
    return f"wrong {' and '.join(told)}"


def _dtype_precision(row: Precision) -> str:
    if row.worst is not None and math.isinf(row.worst):
        return f"{row.dtype} meets no profile, wrong where it must be exact{_reach([row])}"
    if row.met is None and row.off:
        said = f"{row.dtype} meets no profile, {_times(row.worst)} the allowed error"
    else:
        declared = f", declared {row.required}" if row.declared else ""
        said = f"{row.dtype} meets {row.met or 'no profile'}, worst {_number(row.worst)}{declared}"
    return "; ".join(filter(None, (f"{said}{_reach([row])}", row.beside)))


def _errors_by_position(row: Precision, width: int) -> Iterator[Line]:
    if row.errors_by_position:
        run = ", ".join(f"{position:,}: {_number(ratio)}" for position, ratio in row.errors_by_position)
        yield from _wrapped(f"{row.implementation} {row.operation} {row.dtype} by position: {run}", width, style="quiet")


def _advisories(report: Report, width: int, *, verbose: bool) -> Iterator[Line]:
    for words in notes(report) if verbose else notes(report)[:REASONS]:
        yield from _wrapped(f"note: {words}", width)
    found = advisories(report)
    for message, count in found if verbose else found[:REASONS]:
        yield from _wrapped(f"note ({count}): {message}", width, style="quiet")
    declared = sorted({(row.implementation, row.required) for row in precision(report) if row.declared})
    for implementation, profile in declared:
        yield from _wrapped(
            f"note: {implementation} declares {profile}, a permitted profile other than its dtype's own", width, style="quiet"
        )


def _counts(report: Report, width: int, *, verbose: bool) -> Iterator[Line]:
    yield "", ""
    for kind, noun in (("vector", "vectors"), ("drawn", "drawn"), ("law", "laws"), ("baseline", "known deviations")):
        results = [result for result in report.results if result.kind == kind]
        if results:
            yield from _wrapped(f"{noun}: {_tally(results, examples=kind == 'law')}", width)
    every = (("waived", waived(report)), ("unsupported", unsupported(report)), ("not judged", not_judged(report)))
    for label, reasons in every:
        yield from _reasons(label, reasons, width, verbose=verbose)
    yield from _wrapped(_header(report), width, style="quiet")


def _tally(results: list[Result], *, examples: bool) -> str:
    found = counts(results)
    failed = sum(result.convicts for result in results)
    parts = [
        f"{found['Passed']} of {len(results)} passed",
        f"{failed} failed",
        f"{found['Unsupported']} unsupported",
        f"{found['NotJudged']} not judged",
    ]
    if found["Waived"]:
        parts.append(f"{found['Waived']} waived")
    if found["Advisory"]:
        parts.append(f"{found['Advisory']} advisory")
    if examples:
        parts.append(f"{sum(result.examples for result in results):,} examples")
    return ", ".join(parts)


def _reasons(label: str, reasons: list[tuple[str, int]], width: int, *, verbose: bool) -> Iterator[Line]:
    for reason, count in reasons if verbose else reasons[:REASONS]:
        yield from _wrapped(f"{label} ({count}): {reason}", width, style="quiet")
    if not verbose and len(reasons) > REASONS:
        rest = sum(count for _, count in reasons[REASONS:])
        noun = "reason" if len(reasons) == REASONS + 1 else "reasons"
        yield "quiet", f"{label} ({rest}): {len(reasons) - REASONS} other {noun} (--verbose)"


def _header(report: Report) -> str:
    shown = {key: value for key, value in report.header.items() if key not in UNSHOWN and value is not None}
    return ", ".join(f"{key} {value}" for key, value in shown.items())


def _field(name: str, words: str, width: int, *, style: str = "", column: int = 10) -> Iterator[Line]:
    body = textwrap.wrap(clean(words), max(width - column - 3, 20), break_long_words=False, break_on_hyphens=False) or [""]
    yield style, f"  {name:<{column}} {body[0]}"
    yield from ((style, f"{'':<{column + 3}}{line}") for line in body[1:])


def _row(name: str, words: str, width: int) -> Iterator[Line]:
    body = textwrap.wrap(clean(words), max(width - NAME - 2, 20), break_on_hyphens=False) or [""]
    yield "", f"{clean(name):<{NAME}}  {body[0]}"
    yield from (("", f"{'':<{NAME + 2}}{line}") for line in body[1:])


def _wrapped(words: str, width: int, *, style: str = "") -> Iterator[Line]:
    for line in textwrap.wrap(clean(words), width, subsequent_indent="  ", break_on_hyphens=False):
        yield style, line
