"""The cases of Llama 3's context extension, each with the mistake that it exposes."""

from typing import Any

from refimpl.cases import digits, slowed
from refimpl.cases.turned import attention

frequency_case = digits.named("frequencies", head_dim=8)
rotate_case = digits.named("rotate", head_dim=8, factor=4.0, original_length=64)

ROTATIONS = (
    frequency_case("eight-wide", "the blend reversed: fast pairs slowed, slow ones kept"),
    frequency_case("released", "the rule of the released models missing", head_dim=128, base=500_000.0),
    frequency_case("released-small", "factor 8 where Llama 3.2 has 32", head_dim=64, base=500_000.0, factor=32.0),
    frequency_case("shorter-original", "the original length fixed at 8192", head_dim=16, original_length=2_048),
    frequency_case("one-pair", "a division by head_dim - 2", head_dim=2, original_length=16),
    frequency_case("all-slowed", "the fastest pair always kept", original_length=6),
    frequency_case("other-turns", "low_freq_factor and high_freq_factor ignored", head_dim=16, low_freq_factor=2.0,
                   high_freq_factor=32.0),
    frequency_case("low", "low_freq_factor fixed at 1", head_dim=128, low_freq_factor=2.0),
    frequency_case("high", "high_freq_factor fixed at 4", head_dim=16, high_freq_factor=256.0),
    *slowed.frequencies(frequency_case),
    frequency_case("inexact-ends", "the ends in half precision", head_dim=32, low_freq_factor=0.7, high_freq_factor=9.1),
    frequency_case("narrow-band", "a band narrower than a turn widened to one", head_dim=128, base=500_000.0, high_freq_factor=1.5),
    frequency_case("exchanged-turns", "only equal ends refused", low_freq_factor=4.0, high_freq_factor=2.0,
                   error="high_freq_factor must be greater than low_freq_factor (4), got 2.0"),
    frequency_case("no-band", "equal ends refused, or a division by zero", low_freq_factor=2.0, high_freq_factor=2.0),
    frequency_case("no-original-length", "no turn at all", original_length=0, error="original_length must be at least 1, got 0"),
    *slowed.rotations(rotate_case),
    rotate_case("released", "the rule of the released models missing", head_dim=128, base=500_000.0, factor=8.0, original_length=8_192,
                layout="half", sizes={"head": 1}, positions=[4_097]),
    rotate_case("inexact-ends", "the ends in half precision", head_dim=16, original_length=4_096, low_freq_factor=0.7,
                high_freq_factor=9.1, positions=[257]),
    rotate_case("narrow-band", "a band narrower than a turn widened to one", head_dim=128, original_length=4_096, high_freq_factor=1.5,
                sizes={"head": 1}, positions=[4_097]),
    rotate_case("no-band", "equal ends refused, or a division by zero", low_freq_factor=2.0, high_freq_factor=2.0, positions=[257]),
    rotate_case("exchanged-turns", "only equal ends refused", low_freq_factor=4.0, high_freq_factor=2.0, positions=[1],
                error="high_freq_factor must be greater than low_freq_factor (4), got 2.0"),
    rotate_case("other-turns", "low_freq_factor and high_freq_factor fixed at 1 and 4", head_dim=16, original_length=4_096,
                low_freq_factor=2.0, high_freq_factor=32.0, positions=[257]),
)
USUAL: dict[str, Any] = {"head_dim": 8, "factor": 4.0, "original_length": 64}

CASES = (*ROTATIONS, *attention(USUAL, ROTATIONS))
