"""What schemes cost in attention beside no encoding, by the number of tokens: ``posenc compare --plot FILE``."""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conformance.pictures.files import empty, save_figure
from conformance.pictures.panels import STROKES, label, title
from conformance.show.compare import HEADS, REPEATS, WIDTH, Comparison, Measurement, Table, versions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: How far schemes stand apart that were measured at the same length, in powers of two.
APART = 0.06


def save(comparison: Comparison, path: Path) -> None:
    """Draw a comparison into a .png or .svg file, whole or not at all."""
    save_figure(lambda: empty(lambda figure: fill(figure, comparison)), path)


def fill(figure: "Figure", comparison: Comparison) -> None:
    """Draw a panel of time for every phase, and one of memory where it was weighed."""
    library = comparison.backend
    title(figure, f"Causal attention, {HEADS} heads of {WIDTH}, beside no encoding\n{versions(library)}, {library.device}")
    phases = {phase: [table for table in comparison.tables if table.rows[0].phase == phase] for phase in _phases(comparison)}
    weighed = [table for table in comparison.tables if table.rows[0].memory and table.rows[0].phase == next(iter(phases))]
    panels = figure.subplots(1, len(phases) + bool(weighed), squeeze=False)[0]
    for axes, (phase, tables) in zip(panels, phases.items(), strict=False):
        label(axes, f"time, {phase}", "tokens", f"ratio, median and range of {REPEATS} runs")
        _lines(axes, tables, _times)
    if weighed:
        label(panels[-1], f"peak memory, {next(iter(phases))}", "tokens", "ratio")
        _lines(panels[-1], weighed, _memory)
    shown = {name: line for axes in panels for line, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=len(STROKES))


def _phases(comparison: Comparison) -> Sequence[str]:
    return list(dict.fromkeys(table.rows[0].phase for table in comparison.tables))


def _times(table: Table, row: Measurement) -> Sequence[float]:
    """Return the least, the median and the largest ratio, or nothing."""
    ratios = table.ratios(row)
    return (ratios[0], statistics.median(ratios), ratios[-1]) if ratios else ()


def _memory(table: Table, row: Measurement) -> Sequence[float]:
    baseline = table.rows[0].memory
    return (row.memory / baseline,) * 3 if row.memory is not None and baseline else ()


def _lines(axes: "Axes", tables: Sequence[Table], ratios: Callable[[Table, Measurement], Sequence[float]]) -> None:
    for index, scheme in enumerate(row.scheme for row in tables[0].rows):
        found = [(table.rows[index].length, *spread) for table in tables if (spread := ratios(table, table.rows[index]))]
        if found:
            tokens, low, middle, high = map(np.asarray, zip(*found, strict=True))
            beside = tokens * 2.0 ** (APART * (index - len(tables[0].rows) // 2))
            reach = (middle - low, high - middle) if np.any(low < high) else None
            axes.errorbar(beside, middle, reach, label=scheme, capsize=3, marker=".", **STROKES[index % len(STROKES)])
    axes.set_xscale("log", base=2)
    axes.set_xlim(tables[0].rows[0].length / 2**0.5, tables[-1].rows[0].length * 2**0.5)
    axes.set_xticks([table.rows[0].length for table in tables], [str(table.rows[0].length) for table in tables])
    axes.set_ylim(0, 1.05 * max(1.0, axes.dataLim.y1))
    if any(table.noisy for table in tables) and ratios is _times:
        busy = ", ".join(str(table.rows[0].length) for table in tables if table.noisy)
        axes.set_xlabel(f"tokens (no ratios at {busy}:\nthe machine was too busy)")
