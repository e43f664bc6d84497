"""DA-Transformer a third time: the quotient as it is printed, with 60 digits."""

import pytest
from second_route import golden, mp, real, rounded, whole

exp, mpf = mp.exp, mp.mpf


def factor(weight: float, saturation: float, distance: int) -> mpf:
    """Return ``(1 + e^v) / (1 + e^(v - w R))`` as it is printed."""
    return (1 + exp(mpf(saturation))) / (1 + exp(mpf(saturation) - mpf(weight) * distance))


def test_the_factor_is_the_printed_quotient() -> None:
    queries, keys, weights, limits = (9, 131_071), (0, 9, 131_060), (0.5, -0.25, 0.001953125), (1.0, 2.5, -3.0)
    inputs = {
        "query_positions": whole(*queries),
        "key_positions": whole(*keys),
        "distance_weight": real(*weights),
        "saturation": real(*limits),
    }
    expected = [factor(w, v, abs(m - n)) for w, v in zip(weights, limits, strict=True) for m in queries for n in keys]
    assert golden("da_transformer.rescale", inputs) == rounded(expected)


def test_known_values_of_the_sigmoid_are_met() -> None:
    inputs = {
        "query_positions": whole(0),
        "key_positions": whole(1, 2),
        "distance_weight": real(1.0, -1.0),
        "saturation": real(1.0, 1.0),
    }
    result = golden("da_transformer.rescale", inputs)
    assert result == pytest.approx((1.85914091, 2.71828183, 0.44323006, 0.17634276), rel=0.0, abs=5e-9)
