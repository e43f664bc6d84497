"""The cases of proportional rope, each with the mistake that it exposes."""

from typing import Any

from refimpl.cases import digits, slowed
from refimpl.cases.turned import attention

USUAL: dict[str, Any] = {"head_dim": 8, "turned_pairs": 2, "factor": 4.0}
#: Most released models divide by nothing.
RELEASED: dict[str, Any] = {"base": 1_000_000.0, "factor": 1.0}

frequency_case = digits.named("frequencies", **USUAL)
rotate_case = digits.named("rotate", **USUAL)

ROTATIONS = (
    frequency_case("half-turns", "the exponent of the part that turns"),
    frequency_case("unfactored", "a factor where none is asked for", factor=1.0),
    frequency_case("one-turns", "a pair too many", turned_pairs=1),
    frequency_case("all-but-one", "a pair too few", turned_pairs=3, factor=1.0),
    frequency_case("all-turn", "a last pair that always rests", turned_pairs=4, factor=1.0),
    frequency_case("a-quarter", "pairs counted as channels", head_dim=16, turned_pairs=2, factor=1.0),
    frequency_case("five-of-eight", "a power of two taken for granted", head_dim=16, turned_pairs=5),
    frequency_case("lfm3", "slow pairs that turn at the usual head width", head_dim=128, turned_pairs=32, **RELEASED),
    frequency_case("gemma-4", "a wide head's quarter taken for a head of its own", head_dim=512, turned_pairs=64, **RELEASED),
    *slowed.frequencies(frequency_case),
    frequency_case("too-many", "more pairs than the head has", turned_pairs=5,
                   error="turned_pairs must be at most half of head_dim (4), got 5"),
    frequency_case("none-turns", "a head without position", turned_pairs=0, error="turned_pairs must be at least 1, got 0"),
    *slowed.rotations(rotate_case),
    rotate_case("one-turns", "slow pairs that turn", turned_pairs=1, factor=1.0, positions=[1, 9]),
    rotate_case("half-one-turns", "pairs made of the channels that turn", turned_pairs=1, factor=1.0, layout="half", positions=[1, 9]),
    rotate_case("all-but-one", "one frequency too few", turned_pairs=3, factor=1.0, layout="half", positions=[2, 257]),
    rotate_case("all-turn", "a last pair that always rests", turned_pairs=4, factor=1.0, positions=[9, 257]),
    rotate_case("gemma-4", "a wide head's quarter taken for a head of its own", head_dim=512, turned_pairs=64, layout="half",
                sizes={"head": 1}, positions=[4_097], **RELEASED),
    rotate_case("too-many", "more pairs than the head has", turned_pairs=5, sizes={"token": 1}, positions=[0],
                error="turned_pairs must be at most half of head_dim (4), got 5"),
)

CASES = (*ROTATIONS, *attention(USUAL, ROTATIONS, ("half-one-turns",)))
