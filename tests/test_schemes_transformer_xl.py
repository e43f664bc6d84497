"""Transformer-XL: the expansion that its terms replace, plain attention, memory as one long segment, and where the shift is right."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from law_implementations import attend_of, root, weights_of
from law_subjects import broken, findings, subject

from refimpl.schemes import none, sinusoidal, transformer_xl

Array = np.ndarray
HEADS, WIDTH, DIM = 2, 3, 6

#: Float64 roundings: of sums of a hundred terms up to 100, of a few terms up to 10, of averages of numbers up to 2.
SUMS, FEW, WEIGHED = 1e-12, 1e-14, 1e-15


@pytest.fixture
def numbers() -> np.random.Generator:
    return np.random.default_rng(19)


def learned(numbers: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return a matrix for distances and both biases."""
    return numbers.standard_normal((DIM, HEADS, WIDTH)), numbers.standard_normal((HEADS, WIDTH)), numbers.standard_normal((HEADS, WIDTH))


def content(numbers: np.random.Generator, tokens: int) -> Array:
    return numbers.standard_normal((1, HEADS, tokens, WIDTH))


def test_the_expansion_of_encodings_that_are_added_is_the_four_terms(numbers: np.random.Generator) -> None:
    """Section 3.2: ``(E_m + U_m) W_q W_k^T (E_n + U_n)`` is (a) + (b) + (c) + (d) with both projections of the key one matrix."""
    words = numbers.standard_normal((3, DIM))
    to_query, to_key = numbers.standard_normal((2, DIM, HEADS, WIDTH))
    key, place = np.arange(3), 5
    at = [sinusoidal.encode(p, dim=DIM, layout="halves") for p in (np.array([place]), key)]
    q, k, biases = (np.einsum("td,dhw->htw", x, matrix) for x, matrix in ((words[:1], to_query), (words, to_key), (at[0], to_query)))
    whole = np.einsum("td,dhw->htw", words[:1] + at[0], to_query) @ np.einsum("td,dhw->hwt", words + at[1], to_key)

    # A distance to a key at -n is position n: the sinusoid of the key itself.
    bias = biases[:, 0]
    found = transformer_xl.terms(q[None], k[None], to_key, bias, bias, np.array([0]), -key, dim=DIM)

    assert np.allclose(sum(found), whole[None], rtol=0, atol=SUMS)


def test_every_term_stands_alone(numbers: np.random.Generator) -> None:
    q, k, (matrix, u, v) = content(numbers, 2), content(numbers, 3), learned(numbers)
    query_positions, key_positions = np.array([2, 3]), np.array([0, 1, 3])

    def found(q: Array, k: Array, matrix: Array, u: Array, v: Array) -> transformer_xl.Terms:
        return transformer_xl.terms(q, k, matrix, u, v, query_positions, key_positions, dim=DIM)

    everything = found(q, k, matrix, u, v)
    alone = [found(q, k, 0 * matrix, 0 * u, v), found(q, 0 * k, matrix, u, 0 * v), found(0 * q, k, 0 * matrix, u, v)]
    alone.append(found(0 * q, 0 * k, matrix, u, v))
    for place, terms in enumerate(alone):
        assert np.array_equal(terms[place], everything[place])
        assert [other for other in range(4) if other != place and terms[other].any()] == []


@pytest.mark.parametrize("causal", [False, True])
def test_without_matrix_and_biases_it_is_plain_attention(numbers: np.random.Generator, causal: bool) -> None:  # noqa: FBT001  parametrized
    q, k, v = content(numbers, 3), content(numbers, 3), content(numbers, 3)
    matrix, bias, positions = np.zeros((DIM, HEADS, WIDTH)), np.zeros((HEADS, WIDTH)), np.array([4, 5, 6])

    found = transformer_xl.attend(q, k, v, matrix, bias, bias, positions, positions, dim=DIM, causal=causal)

    assert np.allclose(found, none.attend(q, k, v, positions, positions, causal=causal), rtol=0, atol=WEIGHED)


def test_the_scale_is_applied_once_after_the_sum(numbers: np.random.Generator) -> None:
    q, k, (matrix, u, v) = content(numbers, 2), content(numbers, 3), learned(numbers)
    m, n = np.array([2, 3]), np.array([0, 1, 3])

    whole = sum(transformer_xl.terms(q, k, matrix, u, v, m, n, dim=DIM))

    assert np.allclose(transformer_xl.logits(q, k, matrix, u, v, m, n, dim=DIM), whole / math.sqrt(WIDTH), rtol=0, atol=FEW)


@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_segments_with_memory_give_one_long_segment(numbers: np.random.Generator, length: int) -> None:
    q, k, v = (content(numbers, 6) for _ in range(3))
    at, (matrix, u, bias) = np.arange(6), learned(numbers)
    whole = transformer_xl.attend(q, k, v, matrix, u, bias, at, at, dim=DIM, causal=True)

    for start in range(0, 6, length):
        here, seen = slice(start, start + length), slice(0, start + length)
        segment = q[:, :, here], k[:, :, seen], v[:, :, seen]
        found = transformer_xl.attend(*segment, matrix, u, bias, at[here], at[seen], dim=DIM, causal=True)
        assert np.allclose(found, whole[:, :, here], rtol=0, atol=FEW)


def test_the_layer_learns_a_matrix_and_two_biases() -> None:
    assert transformer_xl.layer(num_heads=HEADS, head_dim=4, like=np.zeros(1)).learned == 8 * 8 + 2 * 8


def scores_of(queries: int, memory: int) -> Array:
    return np.arange(1.0, 1.0 + queries * (queries + memory)).reshape(1, 1, queries, queries + memory)


@pytest.mark.parametrize(("queries", "memory"), [(1, 0), (1, 4), (2, 0), (3, 1), (3, 3), (4, 9)])
def test_the_shift_is_a_gather_where_the_key_is_no_later(queries: int, memory: int) -> None:
    scores = scores_of(queries, memory)
    shifted = transformer_xl.shift(scores, memory=memory)

    for m in range(queries):
        for n in range(m + memory + 1):
            assert shifted[0, 0, m, n] == scores[0, 0, m, -1 - (m + memory - n)]


@pytest.mark.parametrize(("queries", "memory"), [(2, 0), (3, 1), (4, 2)])
def test_above_the_diagonal_the_shift_holds_the_next_query(queries: int, memory: int) -> None:
    scores = scores_of(queries, memory)
    shifted = transformer_xl.shift(scores, memory=memory)

    for m in range(queries - 1):
        assert shifted[0, 0, m, m + memory + 1] == 0.0
        assert np.array_equal(shifted[0, 0, m, m + memory + 2 :], scores[0, 0, m + 1, : queries - 2 - m])


def test_the_shift_of_products_with_descending_distances_gives_the_position_terms(numbers: np.random.Generator) -> None:
    matrix, u, v = learned(numbers)
    q, k, memory = content(numbers, 2), content(numbers, 5), 3
    encodings = sinusoidal.encode(np.arange(4, -1, -1), dim=DIM, layout="halves")
    relative = np.einsum("td,dhw->htw", encodings, matrix)

    scores = np.einsum("bhqw,htw->bhqt", q + v[:, None], relative)
    terms = transformer_xl.terms(q, k, matrix, u, v, np.array([3, 4]), np.arange(5), dim=DIM)
    shifted, exact = transformer_xl.shift(scores, memory=memory), terms.content_position + terms.global_position

    meaningful = np.tri(2, 5, memory, dtype=bool)
    assert np.allclose(shifted[:, :, meaningful], exact[:, :, meaningful], rtol=0, atol=FEW)
    assert not np.isclose(shifted[:, :, ~meaningful], exact[:, :, ~meaningful]).any()


def table(away: Array, dim: int, base: float, layout: str) -> Array:
    """Return the sinusoid in float32 throughout, as the authors' code does."""
    theta = np.float32(1.0) / np.float32(base) ** (np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim))
    angles = away.astype(np.float32)[..., None] * theta
    sine, cosine = np.sin(angles), np.cos(angles)
    return np.concatenate([sine, cosine], axis=-1) if layout == "halves" else np.stack([sine, cosine], axis=-1).reshape(*away.shape, dim)


Products = Callable[[Array, Array, Array, Array, Array], list[Array]]


def dot(x: Array, y: Array) -> Array:
    """Return dot products whose every product and sum is rounded to float32 at least, and the whole to the dtype."""
    wide = np.promote_types(x.dtype, np.float32)
    products = x.astype(wide) * y.astype(wide)
    whole = products[..., 0]
    for channel in range(1, products.shape[-1]):
        whole = whole + products[..., channel]
    return np.asarray(whole.astype(x.dtype))


def separately(q: Array, k: Array, r: Array, u: Array, v: Array) -> list[Array]:
    """Return the four terms."""
    return [dot(q, k), dot(q, r), dot(u, k), dot(v, r)]


def biases_first(q: Array, k: Array, r: Array, u: Array, v: Array) -> list[Array]:
    """Return two products, each with its bias added to the query, as every release does."""
    return [dot(q + u, k), dot(q + v, r)]


def model(products: Products, scale_first: bool = False) -> Callable[..., Any]:  # noqa: FBT001, FBT002  a switch of the test's own
    """Return logits that round at every step, in the dtype of the queries."""

    def logits(
        q: Array, k: Array, matrix: Array, u: Array, v: Array, m: Array, n: Array, *, sign: str, clamp_length: int | None, **chosen: Any
    ) -> Array:
        away = m[..., :, None] - n[..., None, :]
        clamped = away if clamp_length is None else np.minimum(away, clamp_length)
        waves = table(clamped if sign == "query_minus_key" else -clamped, **chosen).astype(q.dtype)
        r = np.moveaxis(dot(waves[..., None, None, :], np.moveaxis(matrix, 0, -1)), -2, -4)
        sides = q[:, :, :, None], k[:, :, None], r, u[:, None, None], v[:, None, None]
        parts, once = products(*sides), root(q, -0.5)
        return np.asarray(sum(part * once for part in parts) if scale_first else sum(parts[1:], start=parts[0]) * once)

    return logits


def terms(q: Array, k: Array, *arrays: Array, **parameters: Any) -> tuple[Array, ...]:
    """Return the four terms, each rounded at every step."""
    found: list[list[Array]] = []

    def kept(*sides: Array) -> list[Array]:
        found.append(separately(*sides))
        return found[-1]

    whole = model(kept)(q, k, *arrays, **parameters)
    return tuple(np.broadcast_to(term, whole.shape) for term in found[0])


ROUNDED = {
    "terms": terms,
    "logits": model(separately),
    "logits, biases first": model(biases_first),
    "logits, scaled first": model(biases_first, scale_first=True),
    "weights": weights_of(model(separately)),
    "weights, biases first": weights_of(model(biases_first)),
    "attend": attend_of(weights_of(model(biases_first))),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ROUNDED)
def test_code_that_rounds_at_every_step_breaks_no_law(name: str, dtype: str) -> None:
    operation = f"transformer_xl.{name.partition(',')[0]}"

    assert not broken(findings(subject(operation, ROUNDED[name], dtype), examples=40, seed=5))
