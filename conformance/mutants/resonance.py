"""What goes wrong where wavelengths are rounded, those of rope or of YaRN: how, what and when, and what goes wrong before that."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.mutants import yarn
from conformance.mutants.building import Mistake
from conformance.mutants.rope import FREQUENCY_MISTAKES
from conformance.mutants.rotary import Rotary
from conformance.mutants.rounding import rounded
from conformance.mutants.stretched import Ladder, of_ladder, right
from conformance.mutants.yarn_factor import FACTOR_MISTAKES, factor_function, slopes
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.forms.rotary import Direction, Layout
from refimpl.schemes import rope

ROPE, YARN = "resonance_rope", "resonance_yarn"
#: Whose frequencies each scheme rounds.
ROUNDED = {ROPE: "rope", YARN: "yarn"}
TURN = 2 * math.pi
#: Rounded frequencies of those that aren't.
Rounding = Callable[[Array], Array]


def by(whole: Callable[[Array], Array], turn: float = TURN) -> Rounding:
    """Return the frequencies of wavelengths that are made whole in another way; none is shorter than one position."""
    return lambda theta: turn / np.maximum(whole(turn / theta), 1.0)


resonant = by(np.rint)


def after(frequencies: Ladder, rounding: Rounding = resonant) -> Ladder:
    """Return what frequencies are rounded to."""
    return lambda **parameters: rounding(frequencies(**parameters))


ROUNDINGS: tuple[tuple[Mistake, Rounding], ...] = (
    Mistake(
        "not-rounded",
        does="keeps wavelengths that are no whole numbers",
        should="round every wavelength to the nearest whole number of positions",
        fix="use 2 pi / round(2 pi / inv_freq) wherever inv_freq is used",
        origin="in the style of rules that are configured and not read",
    ).made_by(lambda theta: theta),
    Mistake(
        "rounded-down",
        does="cuts wavelengths down to whole numbers",
        should="round them to the nearest",
        fix="use round, not int or floor",
        origin="in the style of numbers that are converted to integers",
    ).made_by(by(np.floor)),
    Mistake(
        "rounded-up",
        does="rounds wavelengths up to whole numbers",
        should="round them to the nearest",
        fix="use round, not ceil",
        origin="in the style of table lengths, which are rounded up",
    ).made_by(by(np.ceil)),
    Mistake(
        "frequencies-rounded",
        does="rounds frequencies: 1 for the fastest pairs, 0 for all others",
        should="round wavelengths",
        fix="round 2 pi / inv_freq, and divide 2 pi by it",
        origin="in the style of names that leave open what is rounded",
    ).made_by(np.rint),
    Mistake(
        "wavelengths-without-two-pi",
        does="rounds 1 / theta: the positions of a radian, not of a turn",
        should="round 2 pi / theta",
        fix="multiply by 2 pi before rounding, and after",
        origin="in the style of wavelengths and radians confused",
    ).made_by(by(np.rint, 1.0)),
    Mistake(
        "radians-for-turns",
        does="turns by 1 / wavelength radians per position",
        should="turn by 2 pi / wavelength",
        fix="divide 2 pi by the rounded wavelength",
        origin="in the style of wavelengths and radians confused",
    ).made_by(lambda theta: resonant(theta) / TURN),
    Mistake(
        "turn-of-two-digits",
        does="takes 6.28 for 2 pi",
        should="take 2 pi",
        fix="use math.pi",
        origin="in the style of numbers copied from a text",
    ).made_by(lambda theta: resonant(theta) * (6.28 / TURN)),
    Mistake(
        "fastest-pair-kept",
        does="lets no frequency exceed 1: a wavelength of 6, below 2 pi, stays 2 pi",
        should="round every wavelength",
        fix="don't clamp frequencies at 1",
        origin="in the style of guards that know rope's largest frequency",
    ).made_by(lambda theta: np.minimum(resonant(theta), 1.0)),
    Mistake(
        "fastest-pair-at-seven",
        does="lets no wavelength fall below 2 pi: 7 for the fastest pair",
        should="round 6.28 to 6",
        fix="don't clamp wavelengths",
        origin="in the style of guards that know rope's shortest wavelength",
    ).made_by(by(lambda wavelength: np.maximum(np.rint(wavelength), 7.0))),
    Mistake(
        "long-wavelengths-kept",
        does="rounds wavelengths up to 2048 positions only",
        should="round every wavelength",
        fix="round before pairs are sorted by the trained length",
        origin="in the style of the paper's argument, which is about pairs that turn within the trained length",
    ).made_by(lambda theta: np.where(TURN / theta <= 2_048.0, resonant(theta), theta)),
    Mistake(
        "rounded-to-even",
        does="rounds wavelengths to even numbers",
        should="round them to whole numbers",
        fix="round the wavelength, not its half",
        origin="in the style of pi / theta for a wavelength",
    ).made_by(by(np.rint, math.pi)),
    Mistake(
        "float16-wavelengths",
        does="rounds wavelengths in float16: those above 65504 are infinite",
        should="round them in float32 or wider",
        fix="compute frequencies before the model is cast",
        kind="precision",
        origin="in the style of code that computes everything in the model's dtype",
    ).made_by(by(lambda wavelength: np.rint(rounded(wavelength, "float16")))),
    Mistake(
        "bfloat16-wavelengths",
        does="rounds wavelengths in bfloat16, which has no odd ones above 256",
        should="round them in float32 or wider",
        fix="compute frequencies before the model is cast",
        kind="precision",
        origin="in the style of code that computes everything in the model's dtype",
    ).made_by(by(lambda wavelength: np.rint(rounded(wavelength, "bfloat16")))),
)

ORDER: tuple[tuple[Mistake, Rounding, Rounding], ...] = (
    (
        Mistake(
            "rounded-before-stretched",
            does="rounds rope's wavelengths, and stretches them after that: they are no longer whole",
            should="blend first, then round",
            fix="round after every change of inv_freq",
            origin="in the style of the authors' ResonanceLinearScaledRotaryEmbedding, which divides positions after rounding",
        ),
        resonant,
        lambda theta: theta,
    ),
    (
        Mistake(
            "rounded-twice",
            does="rounds rope's wavelengths, and those that are stretched once more",
            should="round once, after blending",
            fix="give YaRN rope's own frequencies",
            origin="in the style of classes that inherit from one another",
        ),
        resonant,
        resonant,
    ),
)

REPEATED_LATE = Mistake(
    "repeated-one-late",
    does="repeats each pair's angles one position late: the last position of a wavelength is 2 pi, not 0 once more",
    should="begin again after as many positions as the wavelength has",
    fix="repeat the angles of range(wavelength)",
    origin="in the style of the authors' compute_freqs, which repeats one wavelength of angles",
)


def repeated_late(x: Array, positions: Array, *, layout: Layout, direction: Direction, **parameters: Any) -> Array:
    """Turn by positions folded into one wavelength and one position more."""
    theta = right(ROPE)(**parameters)
    folded = positions[..., None] % (np.rint(TURN / theta) + 1)
    return rope.apply(x, *Rotary().circle(folded, theta), layout=layout, direction=direction)


def stretched(first: Rounding, last: Rounding) -> Ladder:
    """Return what YaRN makes of frequencies that were rounded already, rounded again."""

    def frequencies(*, head_dim: int, base: float, **band: Any) -> Array:
        plain, blended = right("rope")(head_dim=head_dim, base=base), right("yarn")(head_dim=head_dim, base=base, **band)
        return last(first(plain) * blended / plain)

    return frequencies


def before() -> Iterator[Mutant]:
    """Return what goes wrong before wavelengths are rounded, and with the attention factor."""
    for mistake, ladder in FREQUENCY_MISTAKES:
        yield from of_ladder(ROPE, mistake, after(lambda head_dim, base, spectrum=ladder.spectrum: spectrum(head_dim, base)))
    for mistake, frequencies in yarn.FREQUENCY_MISTAKES:
        yield from of_ladder(YARN, mistake, after(frequencies))
    for mistake, size in FACTOR_MISTAKES:
        yield mistake.at(f"{YARN}.rotate", Rotary(size=factor_function(size)).of(f"{YARN}.rotate"))
    yield from slopes(f"{YARN}.rotate")


def mutants() -> Iterator[Mutant]:
    """Return all mutants of both schemes."""
    for scheme, plain in ROUNDED.items():
        for mistake, rounding in ROUNDINGS:
            yield from of_ladder(scheme, mistake, after(right(plain), rounding))
    for mistake, first, last in ORDER:
        yield from of_ladder(YARN, mistake, stretched(first, last))
    yield REPEATED_LATE.at(f"{ROPE}.rotate", repeated_late)
    for mutant in before():
        yield replace(mutant, threads=(), origin=elsewhere(mutant, ROUNDED[mutant.operation.partition(".")[0]]), inherited=True)


def elsewhere(mutant: Mutant, plain: str) -> str:
    """Return where a mistake comes from whose threads are those of another scheme."""
    if "thread" in mutant.origin:
        return f"in the style of a report about {plain}"
    return mutant.origin or f"reported for {plain}"
