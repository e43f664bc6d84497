"""The error as a multiple of the allowed against the position, as a small drawing: both axes in decades, the allowed as a line."""

import math
from collections.abc import Sequence

WIDTH, HEIGHT, MARGIN = 240, 84, 18
DECADES = 6
LOWEST, HIGHEST = -3.0, 3.0
FEWEST = 2
LINES = ("axis", "allowed")
#: What a mark of the drawing means, by its class in the page's style.
MEANINGS = {
    "allowed": "dashed line: what is allowed, where error / allowed is 1",
    "right": "green: no more than that",
    "wrong": "red: more than that",
    "axis": "powers of ten: of the error upward, of the position to the right",
}


def svg(errors: Sequence[tuple[int, float]], name: str) -> str:
    """Return the drawing with its meaning in words, or nothing where there are too few positions; ``name`` is escaped already."""
    known = sorted((position, ratio) for position, ratio in errors if not math.isnan(ratio))
    if len(known) < FEWEST:
        return ""
    points = [(_x(position), _y(ratio), position, ratio) for position, ratio in known]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
    dots = "".join(_dot(*point) for point in points)
    worst_at, worst = max(known, key=lambda point: point[1])
    words = f"error over allowed by position, {name}: worst {worst:.3g} at position {worst_at:,}"
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" aria-label="{words}"><title>{words}</title>'
        f"{_line('axis', MARGIN, WIDTH, HEIGHT - MARGIN)}{_line('allowed', MARGIN, WIDTH, _y(1.0))}"
        f'<text x="{MARGIN - 2}" y="{_y(1.0) + 3:.1f}" text-anchor="end">1</text>{_ticks()}'
        f'<polyline points="{line}"/>{dots}</svg>'
    )


def sample(name: str) -> str:
    """Return one mark of the drawing by itself, for a legend."""
    mark = _line(name, 0, 24, 6) if name in LINES else _circle(name, 12, 6)
    return f'<svg role="img" viewBox="0 0 24 12" width="24" height="12" aria-label="{name}">{mark}</svg>'


def _x(position: int) -> float:
    """Return where a position stands: decades of it plus 1, since 0 has none."""
    return MARGIN + (WIDTH - MARGIN - 8) * math.log10(abs(position) + 1) / (DECADES + 0.1)


def _y(ratio: float) -> float:
    decade = min(HIGHEST, max(LOWEST, math.log10(ratio))) if ratio > 0.0 else LOWEST
    return 6 + (HEIGHT - MARGIN - 12) * (HIGHEST - decade) / (HIGHEST - LOWEST)


def _dot(x: float, y: float, position: int, ratio: float) -> str:
    right = "right" if ratio <= 1.0 else "wrong"
    return _circle(right, x, y, f"<title>position {position:,}: {ratio:.3g}</title>")


def _circle(name: str, x: float, y: float, inside: str = "") -> str:
    return f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="2.5">{inside}</circle>'


def _line(name: str, start: float, end: float, y: float) -> str:
    return f'<line class="{name}" x1="{start}" x2="{end}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _ticks() -> str:
    return "".join(
        f'<text x="{_x(10**decade - 1):.1f}" y="{HEIGHT - 5}" text-anchor="middle">10<tspan dy="-3">{decade}</tspan></text>'
        for decade in range(0, DECADES + 1, 2)
    )
