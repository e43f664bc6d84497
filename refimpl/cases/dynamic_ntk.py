"""The cases of dynamic NTK scaling, each with the mistake that it exposes."""

from typing import Any

from refimpl.cases import digits, slowed
from refimpl.cases.turned import attention

#: Twice the original length: the stretch is factor + 1.
USUAL: dict[str, Any] = {"head_dim": 8, "factor": 4.0, "original_length": 4_096, "length": 8_192}

frequency_case = digits.named("frequencies", **USUAL)
rotate_case = digits.named("rotate", **USUAL)

ROTATIONS = (
    frequency_case("at-original-length", "a stretch that starts too early", length=4_096),
    frequency_case("one-beyond", "a stretch that starts too late", length=4_097, head_dim=4),
    frequency_case("within-length", "a base that falls in short sequences", length=1_024),
    frequency_case("one-token", "a root of a negative number", length=1),
    frequency_case("paper", "another factor where the paper has none", factor=1.0),
    frequency_case("four-times-as-long", "the stretch at the usual head width", length=16_384, head_dim=128),
    frequency_case("not-a-multiple", "a stretch that grows in steps", length=9_001, factor=2.0),
    frequency_case("transformers", "the factor taken for the stretch", original_length=2_048, length=16_384, factor=10.0, head_dim=128),
    frequency_case("short-original", "an original length that is fixed", original_length=64, length=96),
    frequency_case("two-pairs", "the exponent head_dim / (head_dim - 2) left out", head_dim=4),
    frequency_case("million", "a length that overflows or is capped", length=1_048_576, factor=2.0),
    frequency_case("doublings", "the length itself where it counts in doublings", length=9_001, factor=2.0, growth="doublings"),
    frequency_case("doubled-once", "a doubling that the sequence only reaches", factor=2.0, growth="doublings"),
    frequency_case("doubled-not-yet", "a stretch below the original length", length=1_024, factor=2.0, growth="doublings"),
    frequency_case("doubled-for-one", "a token that doesn't fit left out", length=4_097, factor=2.0, head_dim=128, growth="doublings"),
    frequency_case("doubled-far", "the logarithm of the length in half precision", length=1_048_577, factor=2.0, growth="doublings"),
    *slowed.frequencies(frequency_case),
    frequency_case("one-pair", "a division by zero", head_dim=2, error="head_dim must be at least 4, got 2"),
    frequency_case("no-tokens", "a length of nothing", length=0, error="length must be at least 1, got 0"),
    *slowed.rotations(digits.named("rotate", **{**USUAL, "length": 1_048_577})),
    rotate_case("at-length", "a stretch that starts too early", length=4_096, positions=[1, 4_095]),
    rotate_case("one-beyond", "a stretch that starts too late", length=4_097, layout="half", head_dim=4, positions=[4_095, 4_096]),
    rotate_case("decoding", "the length taken from the tokens of this call", length=9_001, layout="half", positions=[9_000]),
    rotate_case("early-token", "the length taken from the positions of this call", length=16_384, positions=[1, 9]),
    rotate_case("within-length", "a base that falls in short sequences", length=64, layout="half", positions=[9, 63]),
    rotate_case("doublings", "the length itself where it counts in doublings", length=9_001, factor=2.0, growth="doublings",
                positions=[9_000]),
    rotate_case("doubled-once", "a doubling that is only reached", factor=2.0, length=8_192, growth="doublings", layout="half",
                positions=[9, 8_191]),
    rotate_case("doubled-far", "the logarithm of the length in half precision", length=1_048_577, factor=2.0, growth="doublings",
                positions=[4_095, 1_048_576]),
    rotate_case("paper", "another factor where the paper has none", factor=1.0, length=16_384, positions=[9, 16_383]),
)
AGAIN = ("at-length", "early-token", "doublings")

CASES = (*ROTATIONS, *attention({**USUAL, "length": 131_072}, ROTATIONS, AGAIN))
