"""What goes wrong with learned exponents: what is made of them, whose they are, and what YaRN's frequencies lose before."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.mutants import yarn
from conformance.mutants.building import Mistake, convention
from conformance.mutants.by_turns import SHARPENED
from conformance.mutants.resonance import elsewhere
from conformance.mutants.rotary import Rotary
from conformance.mutants.rounding import to
from conformance.mutants.stretched import Ladder, of_ladder, right
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes.yarn import growth

LEROPE = "lerope"
POWER = "multiply every frequency by e to its exponent"
WHOSE = "give every pair its own exponent"
FLOAT32 = "keep exponents and their powers in float32 or wider"
DTYPE = "in the style of code that computes everything in the model's dtype"
FACTORS = "in the style of LongRoPE's lists, which hold factors that divide frequencies"
RIGHT = right("yarn")
#: What becomes of frequencies and exponents.
Change = Callable[[Array, Array], Array]


def with_exponents(change: Callable[[Array], Array]) -> Change:
    """Return the frequencies with other exponents."""
    return lambda theta, alpha: theta * np.exp(change(alpha))


def to_the_power(change: Callable[[Array], Array]) -> Change:
    """Return the frequencies with something else than the exponents' powers of e."""
    return lambda theta, alpha: theta * change(alpha)


right_powers = to_the_power(np.exp)

OWN: tuple[tuple[Mistake, Change], ...] = (
    (Mistake("exponents-ignored", "ignores the exponents", POWER, "load alpha with the other weights, and use it wherever inv_freq is used",
             origin="in the style of weights that a loader skips: transformers begins alpha with zeros"), lambda theta, _: theta),
    (Mistake("exponents-of-two", "multiplies by 2 to the exponent", POWER, "use exp, or exp2 of the exponent times log2(e)",
             origin="in the style of kernels that have exp2 only"), to_the_power(np.exp2)),
    (Mistake("exponents-negated", "divides by e to the exponent: pairs that learned to turn faster turn slower", POWER,
             "multiply inv_freq, divide wavelengths", origin=FACTORS), with_exponents(np.negative)),
    (Mistake("exponents-for-factors", "multiplies by the exponents themselves", POWER, "use exp(alpha)", origin=FACTORS),
     to_the_power(np.asarray)),
    (Mistake("exponents-plus-one", "multiplies by 1 plus the exponent", POWER, "use exp(alpha)",
             origin="in the style of norms, whose weights are kept as differences from 1"), to_the_power(lambda a: 1.0 + a)),
    (Mistake("exponents-added", "adds the exponents to the frequencies", POWER, "multiply by exp(alpha), or add alpha to log(inv_freq)",
             origin="in the style of frequencies that are learned as logarithms, where exponents are added"),
     lambda theta, alpha: theta + alpha),
    (Mistake("exponents-doubled", "multiplies by e to the exponent twice", POWER,
             "keep inv_freq as it is, or multiply it once when weights are loaded",
             origin="in the style of inv_freq that is changed in place by every call"), with_exponents(lambda a: 2.0 * a)),
    (Mistake("exponents-cut-at-zero", "takes exponents above 0 for 0", POWER, "don't clamp exponents",
             origin="in the style of guards that know rope's largest frequency"), with_exponents(lambda a: np.minimum(a, 0.0))),
    (Mistake("exponents-clamped", "clamps exponents to -1 ... 1", POWER, "don't clamp exponents",
             origin="in the style of guards against powers that overflow"), with_exponents(lambda a: np.clip(a, -1.0, 1.0))),
    (Mistake("exponents-in-reverse", "gives the pairs the exponents in reverse order", WHOSE, "start with the fastest pair",
             origin="in the style of ladders that are built from either end"), with_exponents(lambda a: a[::-1])),
    (Mistake("exponents-one-late", "gives every pair the exponent of the pair before", WHOSE, "count exponents from zero",
             origin="in the style of off-by-one pair counts"), with_exponents(lambda a: np.roll(a, 1))),
    (Mistake("exponents-per-channel", "repeats every exponent for two pairs, and uses the first half of the list", WHOSE,
             "repeat exponents only where tables are as wide as the head, together with these",
             origin="in the style of tables that are repeated for neighbouring channels"),
     with_exponents(lambda a: np.repeat(a, 2)[: a.size])),
    (Mistake("exponents-averaged", "gives all pairs the mean of the exponents", WHOSE, "multiply elementwise",
             origin="in the style of a list that is taken for a number"), with_exponents(lambda a: np.full_like(a, np.mean(a)))),
)


def in_half(dtype: str) -> Iterator[tuple[Mistake, Change]]:
    """Return what goes wrong in a half format."""
    narrow = to(dtype)
    yield Mistake(
        f"{dtype}-exponents", f"rounds the exponents to {dtype}", FLOAT32, "leave alpha out when the model is cast", kind="precision",
        origin=DTYPE,
    ).made_by(with_exponents(narrow))
    yield Mistake(
        f"{dtype}-powers", f"computes e to the exponent in {dtype}", FLOAT32, "convert alpha to float32 before exp", kind="precision",
        origin=DTYPE,
    ).made_by(to_the_power(lambda alpha: narrow(np.exp(narrow(alpha)))))


OF_BASE = Mistake(
    "exponents-of-the-base", "adds the exponents to those of the base: multiplies by base^alpha", POWER,
    "multiply by exp(alpha), whatever the base is", origin="in the style of code that builds frequencies as base^(-2 j / head_dim)",
)


def learned(change: Change, frequencies: Ladder = RIGHT) -> Ladder:
    """Return what becomes of YaRN's frequencies and exponents."""
    return lambda exponents, **parameters: change(np.asarray(frequencies(**parameters)), exponents.astype(np.float64))


def of_the_base(exponents: Array, *, base: float, **parameters: Any) -> Array:
    """Return the frequencies times the base to the exponents."""
    return learned(to_the_power(lambda alpha: base**alpha))(exponents, base=base, **parameters)


def sharpened(x: Array, positions: Array, exponents: Array, *, factor: float, **parameters: Any) -> Array:
    """Turn, and multiply by the attention factor that YaRN has unless it is told another."""
    return growth(factor) * Rotary().of(f"{LEROPE}.rotate")(x, positions, exponents, factor=factor, **parameters)


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong beyond the slots of a rotation."""
    for mistake, change in (*OWN, *in_half("bfloat16"), *in_half("float16")):
        yield from of_ladder(LEROPE, mistake, learned(change))
    yield from of_ladder(LEROPE, OF_BASE, of_the_base)
    yield SHARPENED.at(f"{LEROPE}.rotate", sharpened)
    for mutant in before():
        yield replace(mutant, threads=(), origin=elsewhere(mutant, "yarn"), inherited=True)


def before() -> Iterator[Mutant]:
    """Return what goes wrong with the frequencies that are multiplied."""
    for operation in (f"{LEROPE}.frequencies", f"{LEROPE}.rotate"):
        yield from (convention(operation, "truncate", value, threads) for value, threads in yarn.BANDS.items())
    for mistake, frequencies in yarn.FREQUENCY_MISTAKES:
        yield from of_ladder(LEROPE, mistake, learned(right_powers, frequencies))
