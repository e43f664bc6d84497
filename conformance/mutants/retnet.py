"""What goes wrong with RetNet: the spacing of its frequencies, what a head loses per token, and what later keys get."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from conformance.mutants.building import Mistake, convention, moving
from conformance.mutants.positions import index
from conformance.mutants.rope import index as pairs
from conformance.mutants.rotary import Rotary, Step, exact, spectrum
from conformance.mutants.rounding import to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import retnet

ROTATE, DECAY = "retnet.rotate", "retnet.decay"
LEAKS = ("https://github.com/fkodom/yet-another-retnet/issues/24", "https://github.com/fkodom/yet-another-retnet/pull/25")
SPREAD = ("https://github.com/Jamie-Stirling/RetNet/pull/26",)
COPIED = "in the style of formulas copied without a term"
OFF_BY_ONE = "in the style of off-by-one boundaries"
ONE_DEVICE = "in the style of heads that are counted on one device"




def spaced(exponents: Callable[[int], Array]) -> Rotary:
    """Return rotations whose frequencies have other exponents."""
    return Rotary(theta=lambda head_dim, base: base ** -exponents(head_dim))


FREQUENCY_MISTAKES: tuple[tuple[Mistake, Rotary], ...] = (
    Mistake(
        "exponent-of-rope",
        does="spaces frequencies as rope does, so that the slowest pair stays above 1 / base",
        should="end at 1 / base: exponent j / (head_dim / 2 - 1)",
        fix="use linspace(0, 1, head_dim / 2), endpoint included",
        origin="in the style of ports of RetNet that take another model's rotation",
    ).made_by(Rotary(theta=spectrum)),
    Mistake(
        "exponent-per-channel",
        does="spaces exponents over channels, of which pairs take every second one",
        should="space them over pairs",
        fix="divide by 2 before linspace, then repeat every frequency",
        origin="in the style of widths that aren't halved",
    ).made_by(spaced(lambda d: 2.0 * pairs(d) / (d - 1))),
    Mistake(
        "pairs-from-one",
        does="counts pairs from one",
        should="start at frequency 1",
        fix="use linspace(0, 1, head_dim / 2)",
        origin=OFF_BY_ONE,
    ).made_by(spaced(lambda d: (pairs(d) + 1.0) / max(1, d // 2 - 1))),
    Mistake(
        "frequencies-inverted",
        does="multiplies by base^(j / (head_dim / 2 - 1))",
        should="divide by it",
        fix="invert the frequencies",
        origin="in the style of frequencies and periods confused",
    ).made_by(spaced(lambda d: -pairs(d) / max(1, d // 2 - 1))),
)


def rates(num_heads: int, rates: str) -> Array:
    """Return what every head keeps per token."""
    return 1.0 - retnet.lost(num_heads, rates, np.zeros(1))


def earlier(apart: Array) -> Array:
    """Return which keys count: those that don't come later."""
    return apart >= 0


def power(gamma: Array, apart: Array) -> Array:
    """Return what is left after as many tokens."""
    return gamma ** np.maximum(apart, 0)


@dataclass(frozen=True)
class Decay:
    """The pieces of the decay: what a head keeps, how far apart query and key are, which keys count, and what is left of them."""

    rates: Callable[[int, str], Array] = rates
    gamma: Step = exact
    place: Step = exact
    see: Callable[[Array], Array] = earlier
    power: Callable[[Array, Array], Array] = power
    product: Step = exact

    def decay(self, query_positions: Array, key_positions: Array, *, num_heads: int, rates: str) -> Array:
        """Return what every head keeps of a key."""
        query, key = (self.place(side.astype(np.float64)) for side in (query_positions, key_positions))
        apart = query[..., None, :, None] - key[..., None, None, :]
        gamma = self.gamma(self.rates(num_heads, rates))[:, None, None]
        with np.errstate(all="ignore"):
            return self.product(np.where(self.see(apart), self.power(gamma, apart), 0.0))


def everywhere(apart: Array) -> Array:
    """Let every key count."""
    return np.ones_like(apart, dtype=bool)


def infinite(gamma: Array, apart: Array) -> Array:
    """Take later keys for infinitely far ones, of which nothing is left unless nothing is lost."""
    return gamma ** np.where(apart < 0, np.inf, apart)


def logarithms(dtype: str) -> Callable[[Array, Array], Array]:
    """Return the power by a logarithm in a half format."""
    return lambda gamma, apart: np.exp(np.maximum(apart, 0) * to(dtype)(np.log(gamma)))


DECAY_MISTAKES: tuple[tuple[Mistake, Decay], ...] = (
    Mistake(
        "heads-from-one",
        does="counts heads from one: 1 - 2^(-6 - h)",
        should="count heads from zero: the first loses 1/32",
        fix="use arange(num_heads), not arange(1, num_heads + 1)",
        origin=OFF_BY_ONE,
    ).made_by(Decay(rates=lambda heads, kind: 1.0 - (1.0 - rates(heads, kind)) / 2.0)),
    Mistake(
        "loss-for-what-is-kept",
        does="multiplies by what a head loses, not by what it keeps",
        should="multiply by 1 - 2^(-5 - h)",
        fix="subtract from 1",
        origin=COPIED,
    ).made_by(Decay(gamma=lambda gamma: 1.0 - gamma)),
    Mistake(
        "logarithm-without-log",
        does="multiplies by e^(-2^(-5 - h)) per token",
        should="multiply by 1 - 2^(-5 - h)",
        fix="take log(1 - 2^(-5 - h)) for the exponent",
        origin="in the style of state-space models, whose decay is an exponential",
    ).made_by(Decay(power=lambda gamma, apart: np.exp((gamma - 1.0) * np.maximum(apart, 0)))),
    Mistake(
        "distance-from-one",
        does="multiplies once too often: a token decays before it is read",
        should="give a token all of itself",
        fix="let the state decay before the new token is added",
        origin="in the style of recurrences that decay after they add",
    ).made_by(Decay(power=lambda gamma, apart: gamma ** (np.maximum(apart, 0) + 1.0))),
    Mistake(
        "itself-hidden",
        does="gives a token nothing of itself",
        should="give a token all of itself",
        fix="keep the diagonal: tril, not tril(diagonal=-1)",
        origin=OFF_BY_ONE,
    ).made_by(Decay(see=lambda apart: apart > 0)),
    Mistake(
        "later-mirrored",
        does="lets later keys decay with the distance as earlier ones do",
        should="give later keys 0",
        fix="hide later keys: the absolute distance doesn't",
        origin="in the style of symmetric biases",
    ).made_by(Decay(see=everywhere, power=lambda gamma, apart: gamma ** np.abs(apart))),
    Mistake(
        "later-growing",
        does="multiplies later keys by more the further they lie ahead",
        should="give later keys 0",
        fix="hide later keys, here and not by a softmax, which retention hasn't",
        origin="in the style of biases that leave later keys to a mask",
    ).made_by(Decay(see=everywhere, power=lambda gamma, apart: gamma**apart)),
    Mistake(
        "later-kept-whole",
        does="gives later keys all of themselves",
        should="give later keys 0",
        fix="hide later keys after the power, not by a distance that is clamped at 0",
        origin="in the style of torch.tril of distances",
    ).made_by(Decay(see=everywhere)),
    Mistake(
        "later-leaking-in-bfloat16",
        does="raises what a head keeps, rounded to bfloat16, to an infinite distance for later keys: where it is 1 they are kept whole",
        should="give later keys 0 whatever the head",
        fix="hide later keys by a mask after the power, and keep decays in float32",
        threads=LEAKS,
    ).made_by(Decay(gamma=to("bfloat16"), see=everywhere, power=infinite)),
    Mistake(
        "sign-flipped",
        does="lets keys decay towards the past of the key: earlier ones get 0",
        should="let keys decay towards the past of the query",
        fix="subtract the key's position from the query's",
        origin="in the style of relative positions of the wrong sign",
    ).made_by(Decay(see=lambda apart: apart <= 0, power=lambda gamma, apart: gamma ** np.maximum(-apart, 0))),
    Mistake(
        "distance-missing",
        does="gives every earlier key what is left after one token",
        should="multiply once per token",
        fix="raise to the distance",
        origin=COPIED,
    ).made_by(Decay(power=lambda gamma, apart: np.where(apart > 0, gamma, 1.0))),
    Mistake(
        "heads-in-reverse",
        does="gives the heads their decays in reverse",
        should="give head h its own",
        fix="keep the order of the heads",
        origin="in the style of head orders that change on one device",
    ).made_by(Decay(gamma=lambda gamma: gamma[::-1])),
    Mistake(
        "first-head-for-all",
        does="uses the first head's decay for all",
        should="give every head its own",
        fix="index by head, not by the index on the device",
        origin=ONE_DEVICE,
    ).made_by(Decay(gamma=lambda gamma: np.full_like(gamma, gamma[0]))),
    Mistake(
        "rows-normalised",
        does="divides every row by the root of its sum",
        should="return the decay itself",
        fix="declare the matrix before it is normalised, or undo the division",
        kind="convention",
        origin="torchscale's RetNetRelPos, where a norm undoes it",
    ).made_by(Decay(product=lambda kept: kept / np.sqrt(np.maximum(kept.sum(axis=-1, keepdims=True), 1e-300)))),
)
INDEXED: tuple[tuple[Mistake, str], ...] = (
    Mistake(
        "query-index",
        does="uses the index of the query for its position: every decoding step is step 0",
        should="use the query's true position",
        fix="offset the query by the length of the cache",
        origin="in the style of matrices built for whole sequences",
    ).made_by("query_positions"),
    Mistake(
        "key-index",
        does="uses the index of the key for its position",
        should="use the key's true position",
        fix="take positions from the mask (cumsum), not from the column",
        origin="in the style of left padding that is forgotten",
    ).made_by("key_positions"),
)


def half(dtype: str) -> Iterator[tuple[Mistake, Decay]]:
    """Return what goes wrong where a part of the decay is kept in a half format."""
    parts = {
        "decays": ("what a head keeps per token", "subtract from 1 in float32", Decay(gamma=to(dtype))),
        "logarithms": ("the logarithm of what a head keeps", "keep it out of reach of casts", Decay(power=logarithms(dtype))),
        "positions": ("positions", "subtract integer positions", Decay(place=to(dtype))),
    }
    for part, (words, fix, pieces) in parts.items():
        yield Mistake(
            f"{dtype}-{part}",
            does=f"rounds {words} to {dtype}",
            should="compute the decay in float32 and cast last",
            fix=fix,
            kind="precision",
            origin="in the style of buffers that are cast with the module",
        ).made_by(pieces)


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong with RetNet beyond what befalls every rotation."""
    for mistake, rotary in FREQUENCY_MISTAKES:
        yield mistake.at(ROTATE, rotary.of(ROTATE))
    yield convention(DECAY, "rates", "spread", SPREAD)
    for mistake, pieces in (*DECAY_MISTAKES, *half("bfloat16"), *half("float16")):
        yield mistake.at(DECAY, pieces.decay)
    for mistake, side in INDEXED:
        yield mistake.at(DECAY, moving(DECAY, index, only=side))
