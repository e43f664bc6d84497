"""The cases of NTK-aware scaling, each with the mistake that it exposes."""

from typing import Any

from refimpl.cases import digits, slowed
from refimpl.cases.turned import attention

frequency_case = digits.named("frequencies", head_dim=8, factor=4.0)
rotate_case = digits.named("rotate", head_dim=8, factor=4.0)

ROTATIONS = (
    frequency_case("eight-wide", "the base times the factor, without an exponent"),
    frequency_case("two-pairs", "the exponent head_dim / (head_dim - 2) left out", head_dim=4),
    frequency_case("common-width", "the exponent taken for 1, which it nearly is in wide heads", head_dim=128),
    frequency_case("released", "the alpha of HunYuan ignored", head_dim=128, factor=1_000.0),
    frequency_case("barely", "the factor in half precision", factor=1.0009765625, head_dim=16),
    frequency_case("ninefold", "a factor that is capped", factor=9.0, head_dim=4, base=1.5),
    frequency_case("seventy-one-fold", "the factor of the dynamic rule, which grows with the length", factor=71.0, head_dim=128),
    frequency_case("two-pairs-large-base", "10000 in the place of a larger base", base=500_000.0, head_dim=4),
    frequency_case("fastest-slowed", "the fastest pair kept where it is slowed too", fastest="slowed"),
    frequency_case("fastest-slowed-two-pairs", "the base of the other convention, without the division", fastest="slowed", head_dim=4),
    frequency_case("fastest-slowed-six-wide", "the exponent of a first step in single precision", fastest="slowed", head_dim=6),
    frequency_case("fastest-slowed-factor-one", "a first step where nothing is stretched", fastest="slowed", factor=1.0),
    frequency_case("fastest-slowed-common-width", "a first step that is lost, so near is it to 1", fastest="slowed", head_dim=128,
                   factor=3.3, base=10_000.7),
    frequency_case("mixed", "a power that is ignored", fastest="slowed", power=0.625),
    frequency_case("mixed-common-width", "a power of the pair's number that isn't divided by that of the pairs", fastest="slowed",
                   power=0.625, head_dim=128, factor=8.0),
    frequency_case("mixed-power-two", "a power above 1 for its inverse", fastest="slowed", power=2.0, head_dim=6, factor=3.3,
                   base=10_000.7),
    *slowed.frequencies(frequency_case),
    frequency_case("power-where-kept", "a power that is ignored in silence", power=0.625,
                   error="power must be 1 where the fastest pair is kept, got 0.625"),
    frequency_case("power-two-where-kept", "a power above 1 that is ignored in silence", power=2.0,
                   error="power must be 1 where the fastest pair is kept, got 2.0"),
    frequency_case("one-pair", "a division by zero", head_dim=2, error="head_dim must be at least 4, got 2"),
    *slowed.rotations(rotate_case),
    rotate_case("released", "the alpha of HunYuan ignored", head_dim=128, factor=1_000.0, layout="half", sizes={"head": 1},
                positions=[4_097]),
    rotate_case("fastest-slowed", "the fastest pair kept where it is slowed too", fastest="slowed", layout="half", positions=[1, 9]),
    rotate_case("mixed", "a power that is ignored", fastest="slowed", power=0.625, layout="half", positions=[1, 4_097]),
    rotate_case("fastest-slowed-far", "a first step in half precision", fastest="slowed", positions=[65_535]),
    rotate_case("fastest-slowed-six-wide", "the exponent of a first step in single precision", fastest="slowed", head_dim=6, factor=3.3,
                base=10_000.7, layout="half", positions=[65_535]),
    rotate_case("power-where-kept", "a power that is ignored in silence", power=0.625, positions=[1],
                error="power must be 1 where the fastest pair is kept, got 0.625"),
    rotate_case("power-two-where-kept", "a power above 1 that is ignored in silence", power=2.0, positions=[1],
                error="power must be 1 where the fastest pair is kept, got 2.0"),
)
#: What attention is asked too: what this rotation has of its own.
OWN = ("fastest-slowed",)
USUAL: dict[str, Any] = {"head_dim": 8, "factor": 4.0}

CASES = (*ROTATIONS, *attention(USUAL, ROTATIONS, OWN))
