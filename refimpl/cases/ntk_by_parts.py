"""The cases of NTK-by-parts, each with the mistake that it exposes."""

from typing import Any

from refimpl.cases import digits, slowed
from refimpl.cases.turned import attention

frequency_case = digits.named("frequencies", head_dim=8, factor=4.0, original_length=4_096)
rotate_case = digits.named("rotate", head_dim=8, factor=4.0, original_length=64)

ROTATIONS = (
    frequency_case("eight-wide", "the blend reversed: fast pairs slowed, slow ones kept"),
    frequency_case("common-width", "the ramp of YaRN's code, linear in the pair's index", head_dim=128, factor=16.0),
    frequency_case("shorter-original", "the original length fixed", head_dim=16, original_length=2_048),
    frequency_case("one-pair", "a division by head_dim - 2", head_dim=2, original_length=128),
    frequency_case("all-slowed", "the fastest pair always kept", original_length=6),
    frequency_case("other-turns", "alpha and beta ignored", head_dim=16, alpha=2.0, beta=16.0),
    frequency_case("alpha", "only beta read", head_dim=16, alpha=4.0),
    frequency_case("beta", "only alpha read", head_dim=16, beta=256.0),
    *slowed.frequencies(frequency_case),
    frequency_case("inexact-ends", "the ends in half precision", head_dim=16, alpha=0.7, beta=9.1),
    frequency_case("narrow-band", "a band narrower than a turn widened to one", head_dim=128, factor=16.0, beta=1.5),
    frequency_case("equal-turns", "a division by zero", beta=1.0, error="beta must be greater than alpha (1), got 1.0"),
    frequency_case("exchanged-turns", "only equal ends refused", alpha=4.0, beta=2.0, error="beta must be greater than alpha (4), got 2.0"),
    frequency_case("no-original-length", "no turn at all", original_length=0, error="original_length must be at least 1, got 0"),
    *slowed.rotations(rotate_case),
    rotate_case("other-turns", "alpha and beta fixed at 1 and 32", head_dim=16, original_length=4_096, alpha=2.0, beta=8.0,
                positions=[257]),
    rotate_case("inexact-ends", "the ends in half precision", head_dim=16, original_length=4_096, alpha=0.7, beta=9.1, positions=[257]),
    rotate_case("narrow-band", "a band narrower than a turn widened to one", head_dim=128, factor=16.0, original_length=4_096, beta=1.5,
                sizes={"head": 1}, positions=[4_097]),
    rotate_case("equal-turns", "a division by zero", alpha=2.0, beta=2.0, positions=[1],
                error="beta must be greater than alpha (2), got 2.0"),
    rotate_case("exchanged-turns", "only equal ends refused", alpha=4.0, beta=2.0, positions=[1],
                error="beta must be greater than alpha (4), got 2.0"),
    rotate_case("common-ramp", "the ramp of YaRN's code", head_dim=128, factor=16.0, original_length=4_096, sizes={"head": 1},
                positions=[4_097]),
)
USUAL: dict[str, Any] = {"head_dim": 8, "factor": 4.0, "original_length": 64}

CASES = (*ROTATIONS, *attention(USUAL, ROTATIONS))
