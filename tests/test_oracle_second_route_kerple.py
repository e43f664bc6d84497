"""KERPLE a third time: the logarithm as an integral's inverse hyperbolic tangent, the power by its logarithm to base 2, with 60 digits."""

from collections.abc import Callable

import pytest
from second_route import golden, mp, real, rounded, whole

atanh, log, mpf = mp.atanh, mp.log, mp.mpf
QUERIES, KEYS = (9, 131_071), (0, 9, 8, 131_060, 1_048_576)
FIRST, SECOND = (0.5, 1.25, 0.001953125), (0.75, 2.0, 0.0000152587890625)


def logarithm(rate: float, distance: int) -> mpf:
    """Return ``2 artanh(x / (2 + x))``, ``x = r2 R``, which is ``ln(1 + x)``."""
    reach = mpf(rate) * distance
    return 2 * atanh(reach / (2 + reach))


def power(rate: float, distance: int) -> mpf:
    """Return ``2^(r2 log2 R)``, and 0 at distance 0."""
    return mpf(2) ** (mpf(rate) * log(distance, 2)) if distance else mpf(0)


@pytest.mark.parametrize(("form", "grown"), [("log", logarithm), ("power", power)])
def test_a_bias_is_minus_the_first_number_times_what_grows(form: str, grown: Callable[[float, int], mpf]) -> None:
    inputs = {"query_positions": whole(*QUERIES), "key_positions": whole(*KEYS), "first": real(*FIRST), "second": real(*SECOND)}
    expected = [-mpf(r1) * grown(r2, abs(m - n)) for r1, r2 in zip(FIRST, SECOND, strict=True) for m in QUERIES for n in KEYS]
    assert golden("kerple.bias", inputs, form=form) == rounded(expected)


def test_known_logarithms_are_met() -> None:
    inputs = {"query_positions": whole(0), "key_positions": whole(1, 9, -99), "first": real(1.0), "second": real(1.0)}
    assert golden("kerple.bias", inputs, form="log") == pytest.approx((-0.6931471806, -2.3025850930, -4.6051701860), rel=0.0, abs=5e-11)


@pytest.mark.parametrize(("distance", "exponent", "whole_power"), [(3, 1.0, 3), (9, 0.5, 3), (81, 0.25, 3), (16, 1.25, 32), (3, 2.0, 9)])
def test_a_rational_power_is_exact_so_that_a_tie_is_decided(distance: int, exponent: float, whole_power: int) -> None:
    odd = 1 + 2.0**-52
    inputs = {"query_positions": whole(0), "key_positions": whole(distance), "first": real(odd), "second": real(exponent)}
    assert golden("kerple.bias", inputs, form="power") == (-odd * whole_power,)
