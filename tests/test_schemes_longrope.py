"""LongRoPE: the switch, the start, a cache that crosses the switch, and implementations that round at every step."""

import math
from typing import Any

import law_implementations as rounding
import numpy as np
import pytest
from law_subjects import OPERATIONS, changed, convicting, findings, subject

from conformance.spec.arguments import Arguments
from refimpl.errors import SpecificationError
from refimpl.schemes import longrope as scheme
from refimpl.schemes import rope
from refimpl.schemes.longrope import SCHEME

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


def frequencies(
    short: np.ndarray, long: np.ndarray, *, head_dim: int, base: float, original_length: int, length: int
) -> np.ndarray:
    """Return reciprocals of products in float32, as Phi-3's code does."""
    exponents = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    factors = (long if length > original_length else short).astype(np.float32)
    return np.float32(1.0) / (factors * np.float32(base) ** exponents)


def attention_factor(*, original_length: int, max_length: int) -> np.float32:
    """Return the factor, every step in float32."""
    stretch = np.float32(max_length) / np.float32(original_length)
    return np.sqrt(np.float32(1.0) + np.log(stretch) / np.log(np.float32(original_length))) if stretch > 1 else np.float32(1.0)


def phi3(
    x: np.ndarray, positions: np.ndarray, short: np.ndarray, long: np.ndarray, *, layout: str, direction: str, max_length: int, **rest: Any
) -> np.ndarray:
    """Turn by tables that hold the attention factor, in the dtype of ``x``, as Phi-3's code does."""
    angles = positions.astype(np.float32)[..., None] * frequencies(short, long, **rest)
    size = attention_factor(original_length=rest["original_length"], max_length=max_length)
    cos, sin = ((f(angles) * size).astype(x.dtype) for f in (np.cos, np.sin))
    return rounding.turned(x, cos, sin, layout, direction)


def searched(
    x: np.ndarray,
    positions: np.ndarray,
    factors: np.ndarray,
    *,
    head_dim: int,
    base: float,
    layout: str,
    direction: str,
    start_tokens: int,
) -> np.ndarray:
    """Turn by divided frequencies but for the start, in the dtype of ``x``."""
    plain = rounding.frequencies(head_dim=head_dim, base=base)
    theta = np.where(positions[..., None] < start_tokens, plain, plain / factors.astype(np.float32))
    angles = positions.astype(np.float32)[..., None] * theta
    return rounding.turned(x, np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype), layout, direction)


@pytest.mark.parametrize(
    ("name", "function", "dtype", "profile"),
    [
        ("frequencies", frequencies, "float32", "float32"),
        ("attention_factor", attention_factor, "float32", "float32"),
        *(("rotate", phi3, dtype, profile) for dtype, profile in (("float32", "float32"), ("float16", "float16-model"))),
        ("rotate", phi3, "bfloat16", "bfloat16-model"),
        *(("rotate_searched", searched, dtype, profile) for dtype, profile in (("float32", "float32"), ("float16", "float16-model"))),
        ("rotate_searched", searched, "bfloat16", "bfloat16-model"),
    ],
)
def test_implementations_that_round_at_every_step_break_no_law(name: str, function: Any, dtype: str, profile: str) -> None:
    found = findings(subject(f"longrope.{name}", function, dtype, profile), seed=3)

    assert [finding.failure for finding in found.values() if finding.failure] == []
    assert len(found) == 6 + len(SCHEME.laws[name])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_inconsistent_cache_is_demanded_in_every_dtype(dtype: str) -> None:
    def always_short(_: np.ndarray, call: Arguments) -> np.ndarray:
        short = call.with_parameters(length=1)
        return np.asarray(scheme.rotate(*short.arrays.values(), **dict(short.parameters)))

    assert {"inconsistent cache"} <= convicting(changed("longrope.rotate", always_short, dtype))


def test_everything_that_is_declared_has_a_meaning() -> None:
    own = [operation for name, operation in OPERATIONS.items() if name.startswith("longrope.")]

    assert {name for operation in own for name in (*operation.arrays, *operation.parameters)} == set(SCHEME.meanings)
