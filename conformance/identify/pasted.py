"""Check the adapter that is about to be printed, as ``posenc check`` would: what was found is a claim until then."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from conformance.calls.limits import Limits
from conformance.calls.outcomes import Failed, Reason, Report
from conformance.calls.status import Status
from conformance.identify.asking import OVER
from conformance.isolate.targets import TargetError
from conformance.run import check
from conformance.show.report import message

LEVEL = "smoke"


@dataclass(frozen=True)
class Checked:
    """Whether the adapter conforms, and the first thing that is wrong where it doesn't.

    ``refuted`` where that is what the check says; ``remembers`` where answers are wrong after other calls.
    """

    conforms: bool
    words: str
    refuted: bool = False
    remembers: bool = False


def checked(text: str, folder: Path, limits: Limits | None = None, *, late: Callable[[], bool] = lambda: False) -> Checked:
    """Return what the lowest level says of an adapter whose code is imported from a folder, until it is ``late``."""

    def ended(*_: object) -> None:
        if late():
            raise KeyboardInterrupt

    try:
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / "pasted_adapter.py"
            path.write_text(f"import sys\n\nsys.path.append({str(folder)!r})\n{text}", encoding="utf-8")
            report = check(str(path), level=LEVEL, limits=limits, progress=ended)
    except (OSError, TargetError) as error:
        return Checked(conforms=False, words=f"not checked: {error}")
    if not report.complete and late():
        return Checked(conforms=False, words=f"the adapter wasn't checked to its end: {OVER}")
    if not report.complete:
        raise KeyboardInterrupt
    if report.status is Status.CONFORMS:
        return Checked(conforms=True, words=f"checked at level {LEVEL}: it conforms")
    if report.status not in (Status.NOT_JUDGED, Status.NOTHING_RAN):
        words = f"checked at level {LEVEL}: the function doesn't conform as that: {_first(report)}"
        remembers = any(isinstance(each.outcome, Failed) and each.outcome.reason is Reason.HISTORY for each in report.results)
        return Checked(conforms=False, words=words, refuted=True, remembers=remembers)
    return Checked(conforms=False, words=f"checked at level {LEVEL}: {report.status.words}")


def _first(report: Report) -> str:
    """Return the mistake that was named, else the first check that is wrong."""
    named = next((diagnosis for diagnosis in report.diagnoses.values() if diagnosis.named), None)
    if named is not None:
        return f"it {named.does}" + (f": {named.fix}" if named.kind == "convention" else "")
    wrong = next((result for result in report.results if result.convicts), None)
    return report.status.words if wrong is None else f"{wrong.check}: {message(wrong.outcome)}"
