"""Word curves for a person: one line each, or a table where few operations are asked for."""

import math
from collections.abc import Iterator, Sequence

from conformance.judge import logits
from conformance.precision.curve import Curve, Point
from conformance.show.precision import WORDS
from conformance.show.terminal import Line, clean
from conformance.spec.profiles import PROFILES

#: Every profile in at most eight letters.
COLUMNS = {
    "float64": "float64",
    "float32": "float32",
    "float32-loose-frequencies": "loose",
    "float16-table": "f16 tab.",
    "bfloat16-table": "bf16 tab",
    "float16-model": "f16 mod.",
    "bfloat16-model": "bf16 mod",
}
FAULTS = 3
LARGE = 1000.0


def lines(target: str, curves: Sequence[Curve], *, tables: bool) -> Iterator[Line]:
    """Yield what was found: a paragraph per curve, with its table if wanted."""
    yield "head", f"{clean(target)}: error over the allowed error, by position"
    for curve in curves:
        yield "", ""
        yield from _paragraph(curve)
        if tables:
            yield from _table(curve)


def _paragraph(curve: Curve) -> Iterator[Line]:
    good = curve.wrong_from(curve.required) is None and not curve.faults
    yield "good" if good else "bad", clean(f"{curve.implementation} {curve.operation} in {curve.dtype}")
    for sentence in sentences(curve):
        yield "", f"  {clean(sentence)}"


def sentences(curve: Curve) -> Iterator[str]:
    """Yield what a curve says, in words: the profile met, where each stronger one ends, and logits."""
    yield _met(curve)
    yield from _weaker(curve)
    yield from _in_logits(curve)
    if curve.depends:
        yield "what was wrong was asked for again alone, and came otherwise (see `posenc check`)"
    yield from curve.left
    for fault in (*curve.faults[:FAULTS], *curve.faults[FAULTS:][-1:]):
        yield f"no value: {fault}"


def _met(curve: Curve) -> str:
    wrong = curve.wrong_from(curve.required)
    if not curve.points:
        return "nothing was measured: " + ("no call gave a value" if curve.faults else "no vector is in its range")
    if wrong is not None:
        return f"wrong from position {wrong:,}: beyond {curve.required}" + (f", within {curve.met}" if curve.met else ", within no profile")
    met = "meets no profile" if curve.met is None else f"meets {curve.met}"
    if curve.met is not None and logits.family(curve.operation) in logits.ROTATIONS:
        met += f" ({WORDS[curve.met]})"
    return f"{met}, right up to {curve.reach:,}"


def _weaker(curve: Curve) -> Iterator[str]:
    """Yield the first position at which the error is beyond each profile that is stronger than the one met."""
    ends = [(profile, curve.wrong_from(profile)) for profile in curve.profiles if profile != curve.required]
    found = [f"{profile} from {wrong:,}" for profile, wrong in ends if wrong is not None]
    if found:
        yield f"shows arithmetic weaker than {', weaker than '.join(found)}"


def _in_logits(curve: Curve) -> Iterator[str]:
    if curve.wide is not None:
        far, error = curve.wide.errors[-1]
        most = max(curve.wide.errors, key=lambda found: found[1])
        said = f"{number(logits.typical(error))} at {far:,}"
        if most[0] != far:
            said = f"{number(logits.typical(most[1]))} at {most[0]:,}, {said}"
        width = curve.wide.head_dim
        yield f"logits of heads {width} wide off by {said} (never above {number(logits.worst(most[1], width))})"
    elif logits.family(curve.operation) == logits.BIAS and (measured := [p for p in curve.points if p.error is not None]):
        most_wrong = max(measured, key=lambda point: point.error or 0.0)
        yield f"logits off by at most {number(most_wrong.error or 0.0)}, at {most_wrong.position:,}" if most_wrong.error else "logits exact"


def _table(curve: Curve) -> Iterator[Line]:
    columns = curve.profiles
    wide = dict(curve.wide.errors) if curve.wide is not None else {}
    head = "".join(f"{COLUMNS[profile]:>9}" for profile in columns)
    yield "quiet", f"{'position':>9}{head}{'logits' if wide else '':>8}".rstrip()
    for point in shown(curve):
        cells = "".join(f"{_ratio(point, profile):>9}" for profile in columns)
        found = number(logits.typical(wide[point.position])) if point.position in wide else ""
        yield "bad" if not point.ratios.get(curve.required, 0.0) <= 1.0 else "", f"{point.position:>9,}{cells}{found:>8}".rstrip()


def shown(curve: Curve) -> list[Point]:
    """Return the points of a table: decades, what follows powers of two, the first wrong ones, and the last."""
    firsts = {curve.wrong_from(profile) for profile in PROFILES}
    last = curve.points[-1].position if curve.points else 0
    return [point for point in curve.points if _round(point.position) or point.position in firsts or point.position == last]


def _round(position: int) -> bool:
    """Whether a position is 0, a decade, or one more than a power of two."""
    decade = position > 0 and 10 ** round(math.log10(position)) == position
    return position == 0 or decade or (position > 1 and (position - 1) & (position - 2) == 0)


def _ratio(point: Point, profile: str) -> str:
    ratio = point.ratios.get(profile)
    return "-" if ratio is None else number(ratio)


def number(value: float) -> str:
    """Return a number in two digits, with an exponent where it is very large or very small."""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.1e}" if value >= LARGE or value < 1.0 / LARGE else f"{value:.2g}" if value < 100 else f"{value:.0f}"
