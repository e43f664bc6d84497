"""The picture of precision: the error over the allowed error against the position, both axes in decades."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.pictures import panels
from conformance.pictures.files import PictureError, empty, save_figure
from conformance.precision.curve import FARTHEST, Curve, Point

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS, MOST = 3, 24
#: Inches of a panel, and of what stands around them.
WIDTH, HEIGHT, AROUND = 3.2, 2.6, 1.1
#: Where an error of nothing is drawn, and what is out of sight.
LOWEST, HIGHEST = 1e-3, 1e7
NARROWEST = 2
#: The profiles whose allowance is a line.
SHOWN = ("float64", "float32", "float16-table", "bfloat16-table")


def save(target: str, curves: Sequence[Curve], path: Path) -> None:
    """Draw the curves into a .png or .svg file, whole or not at all."""
    save_figure(lambda: draw(target, curves), path)


def draw(target: str, curves: Sequence[Curve]) -> "Figure":
    """Return the picture, one panel per curve."""
    drawn = [curve for curve in curves if curve.points]
    if not 1 <= len(drawn) <= MOST:
        message = f"curves to draw must be between 1 and {MOST} (choose with --operation), got {len(drawn)}"
        raise PictureError(message)
    return empty(lambda figure: _fill(figure, target, drawn))


def _fill(figure: "Figure", target: str, curves: Sequence[Curve]) -> None:
    columns = min(COLUMNS, len(curves))
    rows = -(-len(curves) // columns)
    figure.set_size_inches(max(columns, NARROWEST) * WIDTH, rows * HEIGHT + AROUND)
    panels.title(figure, f"{target}: error as a multiple of the allowed, by position")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, curve in zip(grid, curves, strict=False):
        _panel(axes, curve)
        axes.set(xlim=(0.7, 1.5 * FARTHEST), ylim=(LOWEST / 2, 2 * max(map(_top, curves))))
    for axes in grid[len(curves) :]:
        axes.set_visible(False)
    words = _once(list(grid[: len(curves)]))
    figure.legend(words.values(), words.keys(), loc="outside lower center", ncols=max(columns, NARROWEST))


def _panel(axes: "Axes", curve: Curve) -> None:
    """Draw one curve, the line at 1, and what the other profiles allow."""
    axes.set(xscale="log", yscale="log")
    panels.label(axes, f"{curve.implementation}, {curve.operation}\nin {curve.dtype}", "position (tokens)", "error / allowed")
    axes.axhline(1.0, label="allowed by the required profile", **panels.STROKES[0])
    for profile, stroke in [(p, s) for p, s in zip(SHOWN, panels.STROKES[1:], strict=True) if p != curve.required]:
        line = [(point.position, point.allowances[profile]) for point in _seen(curve) if profile in point.allowances]
        axes.plot([place for place, _ in line], [_held(height) for _, height in line], label=f"allowed by {profile}", **stroke)
    found = [(point.position, point.ratios[curve.required]) for point in _seen(curve) if curve.required in point.ratios]
    right, wrong = ([pair for pair in found if (pair[1] <= 1.0) is good] for good in (True, False))
    _dots(axes, right, "error, within what is allowed", "o")
    _dots(axes, wrong, "error, beyond it", "X")


def _dots(axes: "Axes", found: Sequence[tuple[int, float]], words: str, marker: str) -> None:
    places, heights = [place for place, _ in found], [_held(height) for _, height in found]
    axes.plot(places, heights, linestyle="none", marker=marker, markersize=4.5, color=panels.INK, label=words)


def _seen(curve: Curve) -> list[Point]:
    """Return the points that a logarithmic axis has room for: not position 0."""
    return [point for point in curve.points if point.position > 0]


def _top(curve: Curve) -> float:
    """Return the largest number that is drawn, a decade above the line at 1 at least."""
    ratios = [point.ratios.get(curve.required, 0.0) for point in curve.points]
    lines = [point.allowances.get(profile, 0.0) for point in curve.points for profile in SHOWN]
    return max(10.0, *map(_held, [*ratios, *lines]))


def _held(height: float) -> float:
    """Return a height that is in sight."""
    return min(max(height, LOWEST), HIGHEST)


def _once(grid: "Sequence[Axes]") -> "dict[str, Artist]":
    """Return every word of the legends once, with its stroke."""
    return {word: handle for axes in grid for handle, word in zip(*axes.get_legend_handles_labels(), strict=True)}
