"""A report as a badge: the verdict of the worst, and of how many checks; its title says what that rests on."""

import html
from collections.abc import Sequence

from conformance.calls.outcomes import Report
from conformance.calls.status import ORDER, Status
from conformance.checks.evidence.told import told
from conformance.show.summary import judged, verdict
from conformance.show.terminal import clean

COLOURS = {Status.CONFORMS: "#2c7a2c", Status.DIFFERS: "#b3261e"}
GREY = "#6b6b6b"
LETTER = 6.6
PADDING = 12
LABEL = "posenc"


def text(reports: Sequence[Report]) -> str:
    """Return an SVG that says what the worst of the reports says."""
    worst = max(reports, key=lambda report: ORDER.index(report.status), default=None)
    status, words = (Status.NOTHING_RAN, Status.NOTHING_RAN.words) if worst is None else (worst.status, verdict(worst))
    every = [result for report in reports for result in report.results if judged(result)]
    colour = COLOURS.get(status, GREY)
    words = f"{clean(words)} ({sum(not result.convicts for result in every)} of {len(every)})"
    rests = "".join(f"\n{label}: {clean(said)}" for report in reports for label, said in told(report))
    left, right = (round(len(part) * LETTER) + PADDING for part in (LABEL, words))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{LABEL}: {html.escape(words)}">'
        f"<title>{LABEL}: {html.escape(words + rests)}</title>"
        f'<rect width="{left}" height="20" fill="#3d3d3d"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14">{LABEL}</text><text x="{left + right / 2:g}" y="14">{html.escape(words)}</text></g></svg>\n'
    )
