"""Numbers added to logits: matrices over queries and keys, T5's staircase, ALiBi's slopes, KERPLE's kernels."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.pictures.panels import HERE, STROKES, heat, hide_later_keys, label, scattered, title
from refimpl.schemes import alibi as linear
from refimpl.schemes import kerple as kernels
from refimpl.schemes import relative_bias as plain
from refimpl.schemes import t5 as buckets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLACES = np.arange(16)
RULES: Mapping[str, Any] = {
    "T5, both directions": {"bidirectional": True},
    "T5, causal": {"bidirectional": False},
    "DeBERTa": {"bidirectional": True, "convention": "deberta"},
    "clamped": {"bidirectional": True, "convention": "clamped"},
}
QUERY, KEY = "query position (tokens)", "key position (tokens)"


def relative_bias(figure: "Figure") -> None:
    """Draw a table of one number per offset, and the matrix that it makes."""
    title(figure, "One learned number per offset: the bias is constant along every diagonal, and beyond the largest offset")
    farthest = 6
    table = scattered(2 * farthest + 1, 1)
    left, right = figure.subplots(1, 2)
    left.step(np.arange(-farthest, farthest + 1), table[:, 0], where="mid", **STROKES[0])
    label(left, f"table, offsets up to {farthest}", "key position - query position (tokens)", "bias (logits; here arbitrary)")
    heat(right, np.asarray(plain.bias(table, PLACES, PLACES, max_distance=farthest))[0], "bias (logits)", vmin=-1, vmax=1)
    label(right, "bias matrix of one head", KEY, QUERY)


def t5(figure: "Figure") -> None:
    """Draw the staircase of buckets in both directions, and the matrix of buckets."""
    title(figure, "T5 gives each near distance a bucket and far ones logarithmic buckets; DeBERTa and others have other rules")
    left, right = figure.subplots(1, 2)
    staircase(left)
    places = np.arange(48)
    numbered = np.arange(32.0)[:, None]
    heat(right, np.asarray(buckets.bias(numbered, places, places, bidirectional=True))[0], "bucket")
    label(right, "T5's bucket for every query and key", KEY, QUERY)


def staircase(axes: "Axes") -> None:
    """Draw the bucket of every offset."""
    offsets = np.arange(-160, 161)
    for stroke, (words, rule) in zip(STROKES, RULES.items(), strict=False):
        axes.step(offsets, np.asarray(buckets.bucket(offsets, **rule)), where="mid", label=words, **stroke)
    axes.legend(loc="upper center", ncols=2)
    axes.set_ylim(-1, 37)
    label(axes, "32 buckets, largest distance 128", "key position - query position (tokens)", "bucket")


def alibi(figure: "Figure") -> None:
    """Draw the bias of a steep and of a gentle head, and the slopes for several numbers of heads."""
    title(figure, "ALiBi subtracts a multiple of the distance: steep heads see near keys only, gentle ones see far")
    steep, gentle, slopes = figure.subplots(1, 3, width_ratios=(1, 1, 1.1))
    bias = np.asarray(linear.bias(PLACES, PLACES, num_heads=8))
    for axes, head in ((steep, 0), (gentle, 3)):
        heat(axes, hide_later_keys(bias[head]), "bias (logits)", vmin=-7.5, vmax=0)
        label(axes, f"head {head} of 8, slope {-bias[head, 1, 0]:g}", KEY, QUERY)
    ladder(slopes)


def ladder(axes: "Axes") -> None:
    """Draw the slope of every head."""
    for stroke, heads, marker in zip(STROKES, (6, 8, 12), "os^", strict=False):
        head = np.asarray(linear.slopes(num_heads=heads, like=HERE))
        axes.semilogy(np.arange(heads), head, base=2, marker=marker, markersize=4, label=f"{heads} heads", **stroke)
    axes.legend(loc="lower left")
    axes.set(xticks=range(0, 12, 2), ylim=(2**-11, 1))
    label(axes, "slopes by the authors' code", "head", "slope (logits per token)")


#: Learned numbers of four heads: where the logarithm bends early or late, and exponents below, at and above 1.
HEADS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "log": ((2.0, 1.0), (1.0, 1.0), (1.0, 0.125), (0.5, 8.0)),
    "power": ((1.0, 0.25), (1.0, 0.5), (0.125, 1.0), (0.0078125, 1.75)),
}


def kerple(figure: "Figure") -> None:
    """Draw both forms over the distance, and the matrix of one head."""
    title(figure, "KERPLE subtracts a learned logarithm of the distance, or a learned power of it")
    logarithms, powers, right = figure.subplots(1, 3, width_ratios=(1, 1, 1.1))
    kernels_over_distance(logarithms, "log", r"$-r_1 \ln(1 + r_2 |m - n|)$")
    kernels_over_distance(powers, "power", r"$-r_1 |m - n|$ ^ $r_2$")
    bias = np.asarray(kernels.bias(PLACES, PLACES, *np.asarray(HEADS["log"][:1]).T))[0]
    heat(right, bias, "bias (logits)")
    label(right, "bias matrix, form log, $r_1$ = 2, $r_2$ = 1", KEY, QUERY)


def kernels_over_distance(axes: "Axes", form: Any, formula: str) -> None:
    """Draw the bias of every head over the distance."""
    distances, (first, second) = np.arange(65), np.asarray(HEADS[form]).T
    biases = np.asarray(kernels.bias(np.zeros(1, dtype=np.int64), distances, first, second, form=form))[:, 0]
    for stroke, (r1, r2), bias in zip(STROKES, HEADS[form], biases, strict=False):
        axes.plot(distances, bias, label=f"$r_1$ = {r1:g}, $r_2$ = {r2:g}", **stroke)
    axes.legend(loc="lower left")
    axes.set_ylim(-14, 0.5)
    label(axes, f"form {form}: {formula}", "distance (tokens)", "bias (logits)")
