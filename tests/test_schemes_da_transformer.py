"""DA-Transformer: what the factor does, where the mask goes, and what is too large."""

import math

import ml_dtypes
import numpy as np
import pytest

from refimpl.errors import SpecificationError
from refimpl.schemes import da_transformer

NEAR, FAR = np.array([0]), np.array([0, 1, 2, 10_000])

#: The same few exponentials, products and sums in float64, in another order.
FORMULA = 1e-14


def factors(weight: float, saturation: float, dtype: type = np.float64) -> np.ndarray:
    return np.asarray(da_transformer.rescale(NEAR, FAR, np.array([weight], dtype=dtype), np.array([saturation], dtype=dtype))[0, 0])


def test_known_values_of_the_sigmoid_are_met() -> None:
    assert factors(1.0, 1.0)[:3] == pytest.approx([1.0, 1.85914091, math.e], rel=1e-8)
    assert factors(-1.0, 1.0)[:3] == pytest.approx([1.0, 0.44323006, 0.17634276], rel=1e-7)


def test_the_factor_saturates_on_either_side() -> None:
    assert factors(1.0, 2.0)[3] == 1.0 + math.exp(2.0)
    assert factors(-1.0, 2.0)[3] == 0.0


def test_a_weight_of_zero_leaves_every_logit() -> None:
    assert factors(0.0, 3.0) == pytest.approx(np.ones(4), rel=1e-15)


@pytest.mark.parametrize(
    ("dtype", "limit", "shown"), [(np.float64, 709.78, "709.78"), (np.float32, 88.72, "88.72"), (np.float16, 11.08, "11.09")]
)
def test_a_saturation_beyond_the_dtype_is_refused_and_one_below_is_not(dtype: type, limit: float, shown: str) -> None:
    assert np.isfinite(factors(0.5, limit, dtype)).all()
    with pytest.raises(SpecificationError, match=f"saturation must be below {shown}, got"):
        factors(0.5, limit + 0.125, dtype)


def test_a_bfloat16_that_numpy_does_not_describe_has_the_range_of_float32() -> None:
    assert factors(0.5, 88.0, ml_dtypes.bfloat16).dtype == ml_dtypes.bfloat16
    with pytest.raises(SpecificationError, match=r"saturation must be below 88\.72, got 89\.0"):
        factors(0.5, 89.0, ml_dtypes.bfloat16)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_a_saturation_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(SpecificationError, match="saturation must be below"):
        factors(0.5, value)


def attend(q: np.ndarray, k: np.ndarray, *, causal: bool) -> np.ndarray:
    positions = np.arange(q.shape[2])
    return np.asarray(da_transformer.weights(q, k, positions, positions, np.array([0.5]), np.array([1.0]), causal=causal))


def test_a_row_without_a_positive_logit_is_averaged_evenly_and_its_mask_still_hides() -> None:
    q = np.ones((1, 1, 3, 2))
    weights = attend(q, -q, causal=True)
    assert weights[0, 0].tolist() == [[1, 0, 0], [0.5, 0.5, 0], pytest.approx([1 / 3] * 3)]


def test_equal_distances_on_either_side_are_not_told_apart() -> None:
    q = np.ones((1, 1, 3, 2))
    weights = attend(q, q, causal=False)
    assert weights[0, 0, 1, 0] == weights[0, 0, 1, 2]
    assert weights[0, 0, 1, 0] != weights[0, 0, 1, 1]


def test_the_rectifier_may_come_after_the_scale() -> None:
    q, k = (np.random.default_rng(seed).standard_normal((1, 1, 4, 2)) for seed in (0, 1))
    positions = np.arange(4)
    factor = da_transformer.rescale(positions, positions, np.array([0.5]), np.array([1.0]))[None]
    late = np.maximum(q @ np.swapaxes(k, -1, -2) * factor / math.sqrt(2), 0.0)
    powers = np.exp(late - late.max(axis=-1, keepdims=True))
    assert np.allclose(attend(q, k, causal=False), powers / powers.sum(axis=-1, keepdims=True), rtol=FORMULA, atol=0.0)
