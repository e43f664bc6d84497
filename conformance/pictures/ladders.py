"""Rules that slow rope's pairs to reach further: their frequencies side by side, and what is special about each."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from conformance.pictures.panels import HERE, STROKES, label, title
from refimpl import analysis
from refimpl.schemes import dynamic_ntk as growing
from refimpl.schemes import lerope as exponential
from refimpl.schemes import llama3 as released
from refimpl.schemes import longrope as searched
from refimpl.schemes import ntk_aware as raised
from refimpl.schemes import ntk_by_parts as by_turns
from refimpl.schemes import position_interpolation as interpolated
from refimpl.schemes import proportional_rope as cut
from refimpl.schemes import resonance_rope as whole
from refimpl.schemes import rope as plain
from refimpl.schemes import yarn as by_parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

WIDTH, FACTOR, ORIGINAL = 128, 16.0, 4_096
PAIRS = WIDTH // 2
#: Factors that rise as searched ones do; those of a model are its configuration.
LONG = 1.0 + (FACTOR - 1.0) * (np.arange(PAIRS) / (PAIRS - 1)) ** 2
SHORT = np.ones(PAIRS)
WORDS = {
    "position_interpolation": "position interpolation",
    "ntk_aware": "NTK-aware",
    "ntk_by_parts": "NTK-by-parts",
    "llama3": "Llama 3",
    "rope": "RoPE",
    "yarn": "YaRN",
    "longrope": "LongRoPE (made-up factors)",
    "lerope": "LeRoPE on YaRN (made-up exponents)",
}


def ladders() -> Mapping[str, np.ndarray]:
    """Return the frequencies of every rule."""
    return {
        "rope": np.asarray(plain.frequencies(head_dim=WIDTH, like=HERE)),
        "position_interpolation": np.asarray(interpolated.frequencies(head_dim=WIDTH, factor=FACTOR, like=HERE)),
        "yarn": np.asarray(by_parts.frequencies(head_dim=WIDTH, factor=FACTOR, original_length=ORIGINAL, like=HERE)),
        "longrope": long_frequencies(2 * ORIGINAL),
    }


def long_frequencies(length: int) -> np.ndarray:
    """Return LongRoPE's frequencies at a length."""
    return np.asarray(searched.frequencies(SHORT, LONG, head_dim=WIDTH, original_length=ORIGINAL, length=length))


def raised_and_blended() -> Mapping[str, np.ndarray]:
    """Return the frequencies of the rules that say in closed form which pairs they slow."""
    return {
        "rope": np.asarray(plain.frequencies(head_dim=WIDTH, like=HERE)),
        "ntk_aware": np.asarray(raised.frequencies(head_dim=WIDTH, factor=FACTOR, like=HERE)),
        "ntk_by_parts": np.asarray(by_turns.frequencies(head_dim=WIDTH, factor=FACTOR, original_length=ORIGINAL, like=HERE)),
        "llama3": np.asarray(released.frequencies(head_dim=WIDTH, factor=FACTOR, original_length=ORIGINAL, like=HERE)),
    }


def side_by_side(figure: "Figure", chosen: str, rules: Mapping[str, np.ndarray]) -> "Axes":
    """Draw some rules, the chosen one thick, and return a panel that is left."""
    free: Axes
    wavelengths, ratios, free = figure.subplots(1, 3)
    for stroke, (name, theta) in zip(STROKES, rules.items(), strict=False):
        width = 2.8 if name == chosen else 1.1
        wavelengths.semilogy(2 * np.pi / theta, base=10, linewidth=width, label=WORDS.get(name, name), **stroke)
        ratios.semilogy(theta / rules["rope"], base=2, linewidth=width, **stroke)
    wavelengths.axhline(ORIGINAL, color="0.7", linewidth=0.8)
    label(wavelengths, f"head_dim {WIDTH}; grey: length {ORIGINAL}", "pair", "wavelength (tokens per turn)")
    label(ratios, f"slowed by a factor of up to {FACTOR:g}", "pair", "frequency / rope's frequency")
    figure.legend(*wavelengths.get_legend_handles_labels(), loc="outside lower left", ncols=4, handlelength=4)
    return free


def position_interpolation(figure: "Figure") -> None:
    """Draw the ladders, and the error of interpolation with both bounds."""
    title(figure, "Position interpolation slows every pair alike; its error exceeds the printed bound and stays below the corrected one")
    errors = side_by_side(figure, "position_interpolation", ladders())
    places = np.linspace(0, 1, 129)
    for stroke, (words, measure) in zip(
        STROKES,
        {
            "error": analysis.interpolation_error,
            "printed bound": analysis.printed_interpolation_bound,
            "corrected bound": analysis.interpolation_bound,
        }.items(),
        strict=False,
    ):
        errors.plot(places, np.asarray(measure(places, head_dim=WIDTH)), label=words, **stroke)
    errors.legend(loc="lower center")
    label(errors, "error between two positions, $h_j = 1$", "position s (tokens)", "error of the score")


def yarn(figure: "Figure") -> None:
    """Draw the ladders, and the attention factor."""
    title(figure, "YaRN keeps fast pairs, slows slow pairs, blends between, and sharpens attention by a factor")
    sharpened = side_by_side(figure, "yarn", ladders())
    factors = np.linspace(1, 32, 63)
    sharpened.plot(factors, [by_parts.attention_factor(factor=float(factor)) for factor in factors], **STROKES[2])
    label(sharpened, "attention factor", "factor (new length / original length)", "factor of cosine and sine")


def longrope(figure: "Figure") -> None:
    """Draw the ladders, the jump where the sequence passes the original length, and the paper's start tokens."""
    title(figure, "LongRoPE gives each pair its own factor; models switch lists at a length, the paper spares the first tokens")
    free = side_by_side(figure, "longrope", ladders())
    halves = cast("SubplotSpec", free.get_subplotspec()).subgridspec(2, 1)
    jump, start = (figure.add_subplot(halves[row]) for row in (0, 1))
    free.remove()
    switch(jump)
    start_tokens(start)


def switch(axes: "Axes") -> None:
    """Draw how every pair's frequency jumps where the sequence passes the original length."""
    lengths = np.arange(ORIGINAL - 6, ORIGINAL + 8)
    original = np.asarray(plain.frequencies(head_dim=WIDTH, like=HERE))
    shares = np.stack([long_frequencies(int(length)) / original for length in lengths])
    for stroke, pair in zip(STROKES, (0, 21, 42, 63), strict=False):
        axes.step(lengths - ORIGINAL, shares[:, pair], where="mid", label=f"pair {pair}", **stroke)
    axes.legend(loc="upper right", ncols=2)
    axes.set(ylim=(0, 1.8), xticks=range(-6, 8, 3))
    label(axes, f"models: beyond length {ORIGINAL}", f"length - {ORIGINAL} (tokens)", "frequency / rope's frequency")


def start_tokens(axes: "Axes") -> None:
    """Draw the angle of pairs whose first positions keep rope's own frequencies."""
    start, positions = 16, np.arange(48)
    x = np.zeros((1, 1, len(positions), WIDTH))
    x[..., 0::2] = 1.0
    turned = np.asarray(searched.rotate_searched(x, positions, LONG, head_dim=WIDTH, start_tokens=start))[0, 0]
    for stroke, pair in zip(STROKES, (30, 36, 42), strict=False):
        axes.plot(np.arctan2(turned[:, 2 * pair + 1], turned[:, 2 * pair]), label=f"pair {pair}", **stroke)
    axes.axvline(start - 0.5, color="0.7", linewidth=0.8)
    axes.legend(loc="upper right")
    axes.set_ylim(0, 0.32)
    label(axes, f"paper: start_tokens = {start}", "position (tokens)", "angle (radians)")


def ntk_aware(figure: "Figure") -> None:
    """Draw the ladders, and how pairs are slowed by several factors."""
    title(figure, "NTK-aware scaling raises the base: the fastest pair keeps its frequency, the slowest is slowed by the whole factor")
    slowed = side_by_side(figure, "ntk_aware", raised_and_blended())
    original = np.asarray(plain.frequencies(head_dim=WIDTH, like=HERE))
    for stroke, factor in zip(STROKES, (2.0, 4.0, 8.0, 16.0), strict=False):
        stretched = np.asarray(raised.frequencies(head_dim=WIDTH, factor=factor, like=HERE))
        slowed.semilogy(original / stretched, base=2, label=f"factor {factor:g}", **stroke)
    slowed.legend(loc="upper left")
    label(slowed, "how many times slower", "pair", "rope's frequency / frequency")


def dynamic_ntk(figure: "Figure") -> None:
    """Draw the stretch over the length, and how every pair follows it."""
    title(figure, "Dynamic NTK scaling raises the base once the sequence is longer than in training, so that cached keys no longer fit")
    stretch, ratios = figure.subplots(1, 2)
    lengths = np.linspace(1, 8 * ORIGINAL, 257).astype(int)
    for stroke, factor in zip(STROKES, (1.0, 2.0, 4.0), strict=False):
        stretch.plot(lengths, [growing.stretch(factor, ORIGINAL, int(length)) for length in lengths], label=f"factor {factor:g}", **stroke)
    stretch.legend(loc="upper left")
    label(stretch, f"trained on {ORIGINAL} tokens", "length of the sequence (tokens)", "stretch: how much slower the slowest pair is")
    original = np.asarray(plain.frequencies(head_dim=WIDTH, like=HERE))
    for stroke, length in zip(STROKES, (ORIGINAL, 2 * ORIGINAL, 4 * ORIGINAL, 8 * ORIGINAL), strict=False):
        slowed = np.asarray(growing.frequencies(head_dim=WIDTH, factor=2.0, original_length=ORIGINAL, length=length, like=HERE))
        ratios.semilogy(slowed / original, base=2, label=f"length {length}", **stroke)
    ratios.legend(loc="lower left")
    label(ratios, f"head_dim {WIDTH}, factor 2", "pair", "frequency / rope's frequency")


def lerope(figure: "Figure") -> None:
    """Draw the ladders, and what an exponent multiplies by beside what code multiplies by that takes it for something else."""
    title(figure, "LeRoPE multiplies every frequency by e to an exponent that is learned for its pair")
    (exponents,) = exponential.made_up(WIDTH, HERE)
    theta = exponential.frequencies(np.asarray(exponents), head_dim=WIDTH, factor=FACTOR, original_length=ORIGINAL)
    powers = side_by_side(figure, "lerope", {name: ladders()[name] for name in ("rope", "yarn")} | {"lerope": np.asarray(theta)})
    alpha = np.linspace(-2, 2, 65)
    taken = {"$e^\\alpha$": np.exp(alpha), "$2^\\alpha$": 2**alpha, "$1 + \\alpha$": 1 + alpha}
    for stroke, (name, by) in zip(STROKES, taken.items(), strict=False):
        powers.plot(alpha, by, label=name, linewidth=2.8 if name.startswith("$e") else 1.1, **stroke)
    powers.legend(loc="upper left")
    label(powers, "e, and two mistakes", "exponent", "frequency / frequency with exponent 0")


def proportional_rope(figure: "Figure") -> None:
    """Draw which pairs turn beside those of a part, and what a pair of channels comes to with the position."""
    title(figure, "Proportional rope turns the fast pairs of the whole head; partial rope squeezes all frequencies into a part of it")
    frequencies, score = figure.subplots(1, 2)
    rules = {
        "rope": np.asarray(plain.frequencies(head_dim=WIDTH, like=HERE)),
        "proportional: 16 of 64 pairs": np.asarray(cut.frequencies(head_dim=WIDTH, turned_pairs=16, like=HERE)),
        "partial: 32 of 128 channels": np.concatenate([np.asarray(plain.frequencies(head_dim=32, like=HERE)), np.zeros(PAIRS - 16)]),
    }
    distances = np.arange(2_048)
    for stroke, (name, theta) in zip(STROKES, rules.items(), strict=False):
        width = 4.0 if name.startswith("proportional") else 1.4
        frequencies.semilogy(np.where(theta > 0, theta, np.nan), label=name, linewidth=width, **stroke)
        score.plot(distances, np.cos(distances[:, None] * theta).mean(axis=-1), **stroke)
    label(frequencies, f"head_dim {WIDTH}; pairs without a line don't turn", "pair", "frequency (radians per token)")
    label(score, "equal query and key", "distance (tokens)", "share of the score that is left")
    score.set_xscale("symlog", base=2)
    score.set_xticks([0, *(2**power for power in range(12))], ["0", *(f"$2^{{{power}}}$" for power in range(12))])
    figure.legend(*frequencies.get_legend_handles_labels(), loc="outside lower left", ncols=3, handlelength=4)


def kept_by_turns(figure: "Figure", chosen: str) -> None:
    """Draw the ladders, and the share of rope's frequency over a pair's turns."""
    share = side_by_side(figure, chosen, raised_and_blended())
    turns = np.geomspace(0.25, 128, 400)
    theta = 2 * np.pi * turns / ORIGINAL
    for stroke, (name, low, high) in zip(STROKES[2:], (("ntk_by_parts", 1.0, 32.0), ("llama3", 1.0, 4.0)), strict=False):
        width = 2.8 if name == chosen else 1.1
        share.semilogx(turns, np.asarray(by_turns.kept(theta, ORIGINAL, low, high)), base=2, linewidth=width, label=WORDS[name], **stroke)
    share.legend(loc="lower right")
    label(share, "what is kept of rope's frequency", f"turns within {ORIGINAL} tokens", "share (0: slowed by the whole factor)")


def ntk_by_parts(figure: "Figure") -> None:
    """Draw the ladders, and the ramp."""
    title(figure, "NTK-by-parts slows the pairs that turn rarely within the original length, and keeps those that turn often")
    kept_by_turns(figure, "ntk_by_parts")


def llama3(figure: "Figure") -> None:
    """Draw the ladders, and the ramp."""
    title(figure, "Llama 3 slows pairs with less than 1 turn within the original length, keeps those above 4, and blends between")
    kept_by_turns(figure, "llama3")


def rounded(figure: "Figure", chosen: str) -> None:
    """Draw by how much rounding changes frequencies, and how far pairs are from where they were after whole wavelengths without it."""
    changes, drift = figure.subplots(1, 2)
    for stroke, (name, theta) in zip(STROKES[::2], ((name, ladders()[name]) for name in ("rope", "yarn")), strict=False):
        width = 2.4 if name == chosen else 1.1
        changes.plot(100 * (np.asarray(whole.resonant(theta)) / theta - 1), label=WORDS[name], linewidth=width, **stroke)
    changes.legend(loc="upper right")
    label(changes, f"head_dim {WIDTH}; wavelengths rounded", "pair", "change of the frequency (%)")
    times, theta = np.arange(65), ladders()[chosen]
    for stroke, pair in zip(STROKES, (1, 4, 8, 12), strict=False):
        drift.plot(times * (np.rint(2 * np.pi / theta[pair]) * theta[pair] / (2 * np.pi) - 1), label=f"pair {pair}", **stroke)
    drift.axhline(0.0, color="0.4", linewidth=2.8)
    drift.legend(loc="lower left")
    label(drift, "thick grey: every pair, rounded", "rounded wavelengths that have passed", "turns gained without rounding")


def resonance_rope(figure: "Figure") -> None:
    """Draw what rounding makes of rope's wavelengths."""
    title(figure, "Resonance RoPE rounds every wavelength to a whole number of positions, after which the pair is where it was")
    rounded(figure, "rope")


def resonance_yarn(figure: "Figure") -> None:
    """Draw what rounding makes of YaRN's wavelengths."""
    title(figure, "Resonance YaRN blends frequencies as YaRN does, then rounds every wavelength to a whole number of positions")
    rounded(figure, "yarn")
