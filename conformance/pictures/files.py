"""Make figures and write them: the same bytes for the same numbers, whole files or none."""

import hashlib
import io
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.adapt.selection import SelectionError, bring_in
from conformance.spec import files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
SIZE = (9.6, 6.0)
#: Deterministic files, white in dark pages too, and letters as shapes so that they look alike everywhere.
STYLE = {
    "axes.grid": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "figure.dpi": 100.0,
    "figure.facecolor": "white",
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "image.cmap": "cividis",
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "posenc",
}
#: What a file says of itself: nothing that changes from day to day or from machine to machine.
METADATA: dict[str, dict[str, str | None]] = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}}
STEPS = 100_000
#: Keeps fractions with short binary or decimal forms away from the edges of rounding, where platforms could disagree.
OFF_THE_EDGE = 0.381966


class PictureError(SelectionError):
    """A picture that can't be drawn or written, and why."""


def empty(fill: "Callable[[Figure], None]") -> "Figure":
    """Return a figure that a function has filled."""
    _verify_library()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({**mpl.rcParamsDefault, **STYLE}):
        figure = Figure(figsize=SIZE)
        fill(figure)
    return figure


def save_figure(make: "Callable[[], Figure]", path: Path) -> None:
    """Write what ``make`` draws as the suffix of the path says; an existing file is replaced only by a whole one."""
    verify(path)
    files.write(path, _rendered(make(), path.suffix))


def verify(path: Path) -> None:
    """Raise where no picture can be written, before what it shows is measured."""
    if path.suffix not in SUFFIXES:
        message = f"file must end in {' or '.join(SUFFIXES)}, got {path.name!r}"
        raise PictureError(message)
    files.verify(path)
    _verify_library()


def _verify_library() -> None:
    """Raise where what draws is absent, or can't be imported."""
    if find_spec("matplotlib") is None:
        message = "matplotlib must be installed, got nothing (pip install matplotlib)"
        raise PictureError(message)
    bring_in("matplotlib.figure")


def _rendered(figure: "Figure", suffix: str) -> bytes:
    import matplotlib as mpl

    content = io.BytesIO()
    with mpl.rc_context({**mpl.rcParamsDefault, **STYLE}):
        figure.savefig(content, format=suffix.removeprefix("."), metadata=METADATA[suffix])
    return content.getvalue()


def digest(figure: "Figure") -> str:
    """Return the SHA-256 of what a figure shows: its words, and its numbers to five digits, so the same on every platform."""
    shared = "".join(text.get_text() for legend in figure.legends for text in legend.get_texts())
    seal = hashlib.sha256((figure.get_suptitle() + shared).encode())
    for axes in figure.axes:
        for text in _words(axes):
            seal.update(text.encode())
        for numbers in _numbers(axes):
            seal.update(rounded(numbers).tobytes())
    return seal.hexdigest()


def _words(axes: "Axes") -> list[str]:
    legend = axes.get_legend()
    written = [*axes.texts, *(legend.get_texts() if legend is not None else ())]
    return [axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), *(text.get_text() for text in written)]


def _numbers(axes: "Axes") -> Iterator[np.ndarray]:
    """Yield what lines and images show, in the order in which they were drawn."""
    for line in axes.lines:
        yield from (_filled(line.get_xdata()), _filled(line.get_ydata()))
    for image in axes.images:
        yield _filled(image.get_array())


def _filled(values: Any) -> np.ndarray:
    return np.nan_to_num(np.ma.filled(np.ma.asarray(values, dtype=np.float64), 0.0))


def rounded(values: np.ndarray) -> np.ndarray:
    """Return whole numbers of the hundred-thousandth part of the largest."""
    largest = float(np.max(np.abs(values), initial=0.0)) or 1.0
    return np.floor(values / largest * STEPS + OFF_THE_EDGE).astype("<i8")
