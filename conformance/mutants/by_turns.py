"""What goes wrong with rules that blend by a pair's turns within the original length: NTK-by-parts, and Llama 3 under other names."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from conformance.mutants import yarn
from conformance.mutants.building import Mistake, forcing
from conformance.mutants.rotary import Rotary, spectrum
from conformance.mutants.stretched import Ladder, inherited, of_ladder
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

#: The names of the two ends of the blend, and what both are unless said, by scheme.
ENDS: dict[str, dict[str, float]] = {
    "ntk_by_parts": {"alpha": 1.0, "beta": 32.0},
    "llama3": {"low_freq_factor": 1.0, "high_freq_factor": 4.0},
}
UNSCALED = (
    "https://github.com/unslothai/unsloth/pull/6197",
    "https://github.com/Blaizzy/mlx-vlm/pull/1710",
    "https://github.com/lablup/mlxcel/issues/1355",
)
THREADS: dict[str, dict[str, tuple[str, ...]]] = {"ntk_by_parts": {}, "llama3": {"not-stretched": UNSCALED}}


class Band(NamedTuple):
    """What a blend is made of: rope's frequencies, the original length, the ends in turns, and the factor."""

    theta: Array
    length: int
    low: float
    high: float
    factor: float

    @property
    def turns(self) -> Array:
        """The turns of every pair within the original length."""
        return self.length * self.theta / (2 * math.pi)

    def kept(self, turns: Array) -> Array:
        """Return the share of rope's own frequency."""
        return np.clip((turns - self.low) / (self.high - self.low), 0.0, 1.0)

    def blended(self, share: Array) -> Array:
        """Return the frequencies of a share."""
        return self.theta * share + self.theta / self.factor * (1.0 - share)


Blend = Callable[[Band], Array]


def ladder(scheme: str, blend: Blend) -> Ladder:
    """Return the frequencies of another blend."""
    low, high = ENDS[scheme]

    def frequencies(*, head_dim: int, base: float, factor: float, original_length: int, **ends: float) -> Array:
        return blend(Band(spectrum(head_dim, base), original_length, ends[low], ends[high], factor))

    return frequencies


def by_index(scheme: str) -> Ladder:
    """Return the blend of YaRN's code."""
    low, high = ENDS[scheme]
    code = yarn.frequencies(band=yarn.unclamped)
    return lambda **given: code(**{n: v for n, v in given.items() if n not in (low, high)}, beta_fast=given[high], beta_slow=given[low],
                                truncate=True)


BLENDS: tuple[tuple[Mistake, Blend], ...] = (
    Mistake(
        "blend-reversed",
        does="slows the fast pairs and keeps the slow ones",
        should="keep pairs that turn often within the original length, and slow those that turn rarely",
        fix="exchange the two ends of the blend",
        origin="in the style of litgpt's YaRN ramp",
    ).made_by(lambda band: band.blended(1.0 - band.kept(band.turns))),
    Mistake(
        "shares-exchanged",
        does="keeps the fast pairs and slows the slow ones, but exchanges the two shares of the pairs between",
        should="keep the more of a pair's own frequency the more often it turns",
        fix="multiply the frequency by smooth, and the slowed one by 1 - smooth",
        origin="in the style of code with a branch for each end, as Meta's apply_scaling has",
    ).made_by(lambda band: band.blended(np.where((share := band.kept(band.turns)) % 1.0 > 0.0, 1.0 - share, share))),
    Mistake(
        "all-slowed",
        does="slows every pair by the whole factor: position interpolation",
        should="keep the fast pairs as they were",
        fix="tell this rule from rope_type 'linear'",
        origin="in the style of configurations of which only the factor is read",
    ).made_by(lambda band: band.theta / band.factor),
    Mistake(
        "switch-at-the-low-end",
        does="keeps every pair above the low end: nothing is blended",
        should="blend between the two ends",
        fix="compute the share of every pair between the ends",
        origin="in the style of code that leaves the smooth part out",
    ).made_by(lambda band: np.where(band.turns > band.low, band.theta, band.theta / band.factor)),
    Mistake(
        "switch-at-the-high-end",
        does="slows every pair below the high end by the whole factor: nothing is blended",
        should="blend between the two ends",
        fix="compute the share of every pair between the ends",
        origin="in the style of code that leaves the smooth part out",
    ).made_by(lambda band: np.where(band.turns >= band.high, band.theta, band.theta / band.factor)),
    Mistake(
        "turns-without-two-pi",
        does="takes the wavelength for 1 / theta: a turn for one radian",
        should="divide by 2 pi: a pair's wavelength is 2 pi / theta",
        fix="multiply wavelengths by 2 pi",
        origin="in the style of frequencies in radians and in turns confused",
    ).made_by(lambda band: band.blended(band.kept(band.length * band.theta))),
    Mistake(
        "new-length",
        does="counts turns within the new length, the original one times the factor",
        should="count them within the original length",
        fix="read original_max_position_embeddings, not max_position_embeddings",
        origin="in the style of configurations that have both lengths",
    ).made_by(lambda band: band.blended(band.kept(band.factor * band.turns))),
    Mistake(
        "periods-blended",
        does="blends wavelengths",
        should="blend frequencies",
        fix="invert wavelengths before they are blended",
        origin="in the style of code that keeps periods in the place of frequencies",
    ).made_by(lambda band: band.theta / (band.kept(band.turns) + band.factor * (1.0 - band.kept(band.turns)))),
    Mistake(
        "blended-geometrically",
        does="blends the logarithms of the frequencies",
        should="blend the frequencies",
        fix="add the shares of both frequencies",
        origin="in the style of the logarithmic ramp of Grok-1's port",
    ).made_by(lambda band: band.theta * band.factor ** (band.kept(band.turns) - 1.0)),
    Mistake(
        "narrow-band-widened",
        does="widens a band that is narrower than one turn to one turn",
        should="blend between the two ends, however near they are",
        fix="divide by the difference of the ends as it is; it is never 0",
        origin="in the style of guards against a division by zero",
    ).made_by(lambda band: band.blended(np.clip((band.turns - band.low) / max(band.high - band.low, 1.0), 0.0, 1.0))),
    Mistake(
        "linear-in-wavelengths",
        does="makes the share linear in the wavelength",
        should="make it linear in the number of turns",
        fix="compare original_length / wavelength with the ends",
        origin="in the style of ends that are kept as wavelengths",
    ).made_by(lambda band: band.blended(np.clip((1 / band.low - 1 / band.turns) / (1 / band.low - 1 / band.high), 0.0, 1.0))),
)

BY_INDEX = Mistake(
    "linear-in-the-index",
    does="makes the share linear in the pair's index, as YaRN's code does",
    should="make it linear in the number of turns",
    fix="compare every pair's turns with the ends",
    origin="the paper's ramp and its code's, confused",
)
SHARPENED = Mistake(
    "sharpened",
    does="multiplies cosine and sine by 0.1 ln(factor) + 1, as YaRN does",
    should="multiply by nothing",
    fix="multiply only by an attention factor that the rule or the configuration gives",
    origin="in the style of code that treats all scaled types alike",
)
LENGTH_FIXED = Mistake(
    "length-fixed",
    does="takes the original length for 8192 whatever is asked for",
    should="take the length that is asked for",
    fix="read original_max_position_embeddings",
    origin="in the style of one model's number written into the code",
)


def ends_ignored(scheme: str) -> Iterator[tuple[Mistake, dict[str, object]]]:
    """Return the mistakes of ends that are fixed, and what they are fixed at."""
    for name, value in ENDS[scheme].items():
        words = f"fixes {name} at {value:g}", f"take the {name} that is asked for", f"pass {name} on"
        origin = "in the style of one model's number written into the code"
        yield Mistake(f"{name.replace('_', '-')}-ignored", *words, origin=origin), {name: value}


def own(scheme: str) -> Iterator[Mutant]:
    """Return what goes wrong with the blend."""
    for mistake, frequencies in (*((mistake, ladder(scheme, blend)) for mistake, blend in BLENDS), (BY_INDEX, by_index(scheme))):
        yield from of_ladder(scheme, mistake, frequencies)
    length: dict[str, object] = {"original_length": 8_192}
    for mistake, fixed in (*ends_ignored(scheme), (LENGTH_FIXED, length)):
        for operation in (f"{scheme}.frequencies", f"{scheme}.rotate"):
            yield mistake.at(operation, forcing(operation, fixed))
    yield SHARPENED.at(f"{scheme}.rotate", sharpened(scheme))


def sharpened(scheme: str) -> Callable[..., Any]:
    """Return the rotation times YaRN's attention factor."""
    rotate = Rotary().of(f"{scheme}.rotate")
    return lambda x, positions, *, factor, **given: (0.1 * math.log(factor) + 1.0) * rotate(x, positions, factor=factor, **given)


def mutants() -> Iterator[Mutant]:
    """Return all mutants of both schemes."""
    for scheme in ENDS:
        yield from own(scheme)
        yield from inherited(scheme, THREADS[scheme])
