"""LongRoPE: the switch, the start."""

import math
from typing import Any

import numpy as np
import pytest

from refimpl.errors import SpecificationError
from refimpl.schemes import longrope as scheme
from refimpl.schemes import rope

SHORT, LONG = np.array([1.0, 1.0, 1.25, 1.5]), np.array([2.0, 4.0, 16.0, 32.0])
LENGTHS = {"head_dim": 8, "original_length": 256, "max_length": 1_024}
X = np.random.default_rng(3).integers(-32, 33, (1, 1, 3, 8)) / 16
POSITIONS = np.array([3, 4, 255])


def rotate(x: np.ndarray, positions: np.ndarray, length: int, **parameters: Any) -> np.ndarray:
    """Return the reference's rotation in a sequence of that length."""
    return np.asarray(scheme.rotate(x, positions, SHORT, LONG, length=length, **LENGTHS, **parameters))


def test_the_published_factor_of_phi_3() -> None:
    assert scheme.attention_factor(original_length=4_096, max_length=131_072) == pytest.approx(1.1902380714, abs=5e-11)


@pytest.mark.parametrize(("original", "longest"), [(4_096, 131_072), (2, 1_048_576), (1_000, 1_500)])
def test_the_factor_is_the_root_of_a_ratio_of_logarithms(original: int, longest: int) -> None:
    expected = math.sqrt(math.log(longest) / math.log(original))

    assert scheme.attention_factor(original_length=original, max_length=longest) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(("length", "expected"), [(255, 1.25), (256, 1.25), (257, 1.5)])
def test_factors_that_are_given_replace_the_computed_one_and_switch_where_the_lists_do(length: int, expected: float) -> None:
    given = {"short_mscale": 1.25, "long_mscale": 1.5}
    size = scheme.attention_factor(original_length=256, max_length=1_024, length=length, **given)
    plain = rotate(X, POSITIONS, length, short_mscale=1.0, long_mscale=1.0)

    assert size == expected
    np.testing.assert_allclose(rotate(X, POSITIONS, length, **given), expected * plain, rtol=0, atol=4 * 2.0**-52 * np.abs(X).max())


def test_a_factor_that_is_given_for_one_list_leaves_the_computed_one_to_the_other() -> None:
    computed = scheme.attention_factor(original_length=256, max_length=1_024)

    assert scheme.attention_factor(original_length=256, max_length=1_024, length=257, short_mscale=2.0) == computed
    assert scheme.attention_factor(original_length=256, max_length=1_024, length=256, long_mscale=2.0) == computed


@pytest.mark.parametrize(("length", "factors"), [(255, SHORT), (256, SHORT), (257, LONG), (258, LONG)])
def test_the_long_factors_count_beyond_the_original_length(length: int, factors: np.ndarray) -> None:
    plain = rope.frequencies(head_dim=8, like=np.zeros(1))

    chosen = scheme.frequencies(SHORT, LONG, head_dim=8, original_length=256, length=length)

    assert np.array_equal(chosen, plain / factors)


def test_a_cached_key_does_not_fit_a_query_after_the_switch() -> None:
    cached, again = rotate(X, POSITIONS, 256), rotate(X, POSITIONS, 257)
    query = rotate(X[:, :, -1:], np.array([256]), 257)

    assert np.abs(query @ np.swapaxes(cached - again, -1, -2)).max() > 1.0


@pytest.mark.parametrize("length", [4, 256, 257, 1_024])
def test_a_cached_key_fits_as_long_as_the_length_chooses_the_same_list(length: int) -> None:
    later = 256 if length <= 256 else 100_000

    assert np.array_equal(rotate(X, POSITIONS, length), rotate(X, POSITIONS, later))


def test_the_searched_form_leaves_the_start_to_rope_and_scales_the_rest() -> None:
    turned = scheme.rotate_searched(X, POSITIONS, LONG, head_dim=8, start_tokens=4)
    plain = rope.rotate(X, POSITIONS, head_dim=8)
    scaled = scheme.rotate_searched(X, POSITIONS, LONG, head_dim=8, start_tokens=0)

    assert np.array_equal(turned[:, :, 0], plain[:, :, 0])
    assert np.array_equal(turned[:, :, 1:], scaled[:, :, 1:])
    assert np.abs(scaled - plain).max() > 0.1


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_factor_that_is_no_number_is_refused(wrong: float) -> None:
    with pytest.raises(SpecificationError, match=rf"short_factors must be finite, got {wrong}"):
        scheme.frequencies(np.array([1.0, wrong]), np.ones(2), head_dim=4, original_length=256, length=1)
