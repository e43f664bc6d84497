"""Attention temperature a third time: the logarithm as an inverse hyperbolic tangent, the step by repeated subtraction, with 60 digits."""

import pytest
from second_route import golden, mp, real, rounded, whole

atanh, mpf = mp.atanh, mp.mpf
POSITIONS = (0, 30, 31, 32, 62, 63, 64, 1_023, 131_071)


def logarithm(number: mpf) -> mpf:
    """Return ``2 artanh((n - 1) / (n + 1))``, which is ``ln n``."""
    return 2 * atanh(mpf(number - 1) / (number + 1))


def step(position: int, length: int, shift: int) -> int:
    """Return how often the length can be taken off."""
    left, steps = position + shift, 0
    while left >= length:
        left, steps = left - length, steps + 1
    return steps


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("slope", [0.1, 0.5])
def test_the_scale_grows_with_the_logarithm_of_the_step(slope: float, shift: int) -> None:
    expected = [1 + mpf(slope) * logarithm(1 + step(position, 32, shift)) for position in POSITIONS]

    assert golden("temperature.scale", {"positions": whole(*POSITIONS)}, floor_scale=32, attn_scale=slope, shift=shift) == rounded(expected)


def test_the_scale_without_steps_is_a_quotient_of_logarithms() -> None:
    expected = [max(mpf(1), logarithm(position + 1) / logarithm(32)) for position in POSITIONS]

    assert golden("temperature.log_scale", {"positions": whole(*POSITIONS)}, original_length=32) == rounded(expected)


def test_a_learned_scale_is_a_logarithm_of_a_power_of_the_count() -> None:
    slopes, biases = (0.3, -0.0625), (1.1, -2.0)
    expected = [logarithm(mpf(p + 1) ** mpf(slope)) + mpf(bias) for slope, bias in zip(slopes, biases, strict=True) for p in POSITIONS]

    inputs = {"positions": whole(*POSITIONS), "slopes": real(*slopes), "biases": real(*biases)}
    assert golden("temperature.learned_scale", inputs) == rounded(expected)


def test_the_first_steps_of_llama_4_and_ministral_3_lie_one_position_apart() -> None:
    """1 + 0.1 ln 2 is 1.0693147, 1 + 0.1 ln 3 is 1.1098612."""
    places = {"positions": whole(8_190, 8_191, 8_192, 16_383)}
    llama, ministral = (golden("temperature.scale", places, floor_scale=8_192, attn_scale=0.1, shift=shift) for shift in (1, 0))

    assert llama == pytest.approx((1.0, 1.0693147181, 1.0693147181, 1.1098612289), rel=0.0, abs=5e-11)
    assert ministral == pytest.approx((1.0, 1.0, 1.0693147181, 1.0693147181), rel=0.0, abs=5e-11)


def test_the_square_of_the_length_has_twice_the_scale() -> None:
    assert golden("temperature.log_scale", {"positions": whole(2_048**2 - 1)}, original_length=2_048) == (2.0,)
