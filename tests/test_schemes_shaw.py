"""Shaw's relative representations: the efficient form, what they reduce to, and what a cache may keep."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from narrow_code import softmax

from refimpl import attention
from refimpl.attention import Layer
from refimpl.errors import SpecificationError
from refimpl.schemes import shaw

BATCH, HEADS, KEY_HEADS, TOKENS, WIDTH, LARGEST = 2, 4, 2, 7, 6, 3
RANDOM = np.random.default_rng(18)
Q = RANDOM.integers(-32, 33, (BATCH, HEADS, TOKENS, WIDTH)) / 16
K, V = (RANDOM.integers(-32, 33, (BATCH, KEY_HEADS, TOKENS, WIDTH)) / 16 for _ in range(2))
KEY_TABLE, VALUE_TABLE = (RANDOM.integers(-32, 33, (2 * LARGEST + 1, WIDTH)) / 16 for _ in range(2))
PLACES = np.array([3, 0, 1, 2, 9, 5, 4])
IN_ORDER = np.arange(TOKENS)
ASKED: dict[str, Any] = {"max_distance": LARGEST, "sign": "key_minus_query", "clip": "symmetric"}
#: At most 24 products of numbers up to 4, exponentials of numbers up to 40 and a quotient, in float64: below 2^10 roundings.
ROUNDING = 2.0**-43
Form = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def per_head(x: np.ndarray) -> np.ndarray:
    return np.repeat(x, HEADS // KEY_HEADS, axis=1)


def rows(m: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.array([[min(max(int(key - query), -LARGEST), LARGEST) + LARGEST for key in n] for query in m])


def efficient(m: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and attention without an edge per query and key: one product by row, then a gather; a scatter, then one product."""
    chosen = np.broadcast_to(rows(m, n), (BATCH, HEADS, m.size, n.size))
    by_row = Q @ KEY_TABLE.T
    logits = (Q @ np.swapaxes(per_head(K), -1, -2) + np.take_along_axis(by_row, chosen, axis=-1)) / math.sqrt(WIDTH)
    weights = softmax(logits)
    shares = np.stack([np.sum(weights * (chosen == row), axis=-1) for row in range(2 * LARGEST + 1)], axis=-1)
    return logits, weights @ per_head(V) + shares @ VALUE_TABLE


def direct(m: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and attention by eq. 3 and 4, with keys and values as each query sees them."""
    chosen = rows(m, n)
    keys, values = per_head(K)[:, :, None] + KEY_TABLE[chosen], per_head(V)[:, :, None] + VALUE_TABLE[chosen]
    logits = np.einsum("bhmd,bhmnd->bhmn", Q, keys) / math.sqrt(WIDTH)
    return logits, np.einsum("bhmn,bhmnd->bhmd", softmax(logits), values)


@pytest.mark.parametrize("form", [efficient, direct])
def test_the_reference_is_the_efficient_form_and_the_direct_form(form: Form) -> None:
    logits, output = form(PLACES, PLACES)

    assert np.abs(shaw.logits(Q, K, KEY_TABLE, PLACES, PLACES, **ASKED) - logits).max() < ROUNDING
    assert np.abs(shaw.attend(Q, K, V, KEY_TABLE, VALUE_TABLE, PLACES, PLACES, **ASKED) - output).max() < ROUNDING


def skewed(by_distance: np.ndarray) -> np.ndarray:
    """Shift row m of scores by distance -(L - 1) .. 0 so that column n is distance n - m: pad on the left, reshape, drop a row."""
    batch, heads, length, _ = by_distance.shape
    padded = np.pad(by_distance, ((0, 0), (0, 0), (0, 0), (1, 0)))
    return padded.reshape(batch, heads, length + 1, length)[:, :, 1:]


def test_without_value_edges_under_a_mask_it_is_the_skew_of_music_transformer() -> None:
    table = RANDOM.integers(-32, 33, (2 * TOKENS - 1, WIDTH)) / 16
    logits = (Q @ np.swapaxes(per_head(K), -1, -2) + skewed(Q @ table[:TOKENS].T)) / math.sqrt(WIDTH)
    seen = np.tril(np.ones((TOKENS, TOKENS), dtype=bool))
    output = softmax(np.where(seen, logits, -np.inf)) @ per_head(V)

    unclipped = {**ASKED, "max_distance": TOKENS - 1}
    result = shaw.attend(Q, K, V, table, np.zeros_like(table), IN_ORDER, IN_ORDER, causal=True, **unclipped)

    assert np.abs(result - output).max() < ROUNDING


@pytest.mark.parametrize("causal", [False, True])
def test_with_tables_of_zeros_it_is_plain_attention(*, causal: bool) -> None:
    none = np.zeros_like(KEY_TABLE)
    plain = attention.attend(Layer(), Q, K, V, PLACES, PLACES, causal=causal)

    result = shaw.attend(Q, K, V, none, none, PLACES, PLACES, causal=causal, **ASKED)

    assert np.array_equal(result, plain)


def test_a_table_of_one_vector_only_adds_a_number_to_every_row_of_logits_and_a_vector_to_every_output() -> None:
    key_edge, value_edge = KEY_TABLE[:1], VALUE_TABLE[:1]
    constant = (np.broadcast_to(edge, KEY_TABLE.shape).copy() for edge in (key_edge, value_edge))
    plain = attention.attend(Layer(), Q, K, V, PLACES, PLACES)

    result = shaw.attend(Q, K, V, *constant, PLACES, PLACES, **ASKED)

    assert np.abs(result - (plain + value_edge)).max() < ROUNDING


@pytest.mark.parametrize("side", [-1, 1])
def test_keys_beyond_the_largest_distance_are_all_alike(side: int) -> None:
    near, far, farther = (shaw.logits(Q, K, KEY_TABLE, PLACES, PLACES + side * gap, **ASKED) for gap in (9, 12, 1_048_576))

    assert np.array_equal(far, farther)
    assert not np.array_equal(near, far)


def test_one_step_less_than_the_largest_distance_is_another_row() -> None:
    for side in (-1, 1):
        logits = shaw.logits(Q[:, :, :1], K[:, :, :3] * 0, KEY_TABLE, np.array([0]), side * np.array([2, 3, 4]), **ASKED)

        assert not np.any(logits[..., 0] == logits[..., 1])
        assert np.array_equal(logits[..., 1], logits[..., 2])


def test_the_other_sign_is_the_table_in_reverse() -> None:
    mirrored = shaw.logits(Q, K, KEY_TABLE[::-1], PLACES, PLACES, max_distance=LARGEST, sign="query_minus_key", clip="symmetric")

    assert np.array_equal(mirrored, shaw.logits(Q, K, KEY_TABLE, PLACES, PLACES, **ASKED))


def test_a_table_closed_below_only_is_a_symmetric_one_whose_last_two_rows_are_equal() -> None:
    symmetric = np.concatenate([KEY_TABLE[:-1], KEY_TABLE[-2:-1]])

    closed = shaw.logits(Q, K, KEY_TABLE[:-1], PLACES, PLACES, max_distance=LARGEST, sign="key_minus_query", clip="lower_closed")

    assert np.array_equal(closed, shaw.logits(Q, K, symmetric, PLACES, PLACES, **ASKED))


def test_every_head_shares_the_table() -> None:
    equal = np.broadcast_to(Q[:, :1], Q.shape)

    logits = shaw.logits(equal, K * 0, KEY_TABLE, PLACES, PLACES, **ASKED)

    assert np.array_equal(logits, np.broadcast_to(logits[:, :1], logits.shape))


def test_one_query_of_a_cache_reads_one_row_per_distance_ending_at_zero() -> None:
    step, table = TOKENS - 1, KEY_TABLE
    logits = shaw.logits(Q[:, :, step:], K * 0, table, IN_ORDER[step:], IN_ORDER, **ASKED)

    read = [max(-LARGEST, distance) + LARGEST for distance in range(-step, 1)]
    assert np.abs(logits[:, :, 0] - Q[:, :, step] @ table[read].T / math.sqrt(WIDTH)).max() < ROUNDING


@pytest.mark.parametrize("places", [PLACES, np.stack([PLACES, PLACES[::-1] + 100])])
@pytest.mark.parametrize("causal", [False, True])
def test_the_layer_is_attention_at_the_distance_of_the_paper(places: np.ndarray, *, causal: bool) -> None:
    layer = shaw.layer(num_heads=HEADS, head_dim=WIDTH, like=Q)
    tables = [shaw.example_table(WIDTH, start=start, like=Q) for start in (1, 4)]

    acted = attention.attend(layer, Q, K, V, places, places, causal=causal)

    own = shaw.attend(Q, K, V, *tables, places, places, max_distance=16, sign="key_minus_query", clip="symmetric", causal=causal)
    assert np.abs(acted - own).max() < ROUNDING
    assert layer.learned == sum(table.size for table in tables)
    assert all(len(np.unique(table, axis=0)) > LARGEST for table in tables)


def test_narrow_inputs_are_computed_in_float64_and_rounded_once() -> None:
    narrow = [x.astype(np.float32) for x in (Q, K, V, KEY_TABLE, VALUE_TABLE)]

    result = shaw.attend(*narrow, PLACES, PLACES, **ASKED)

    assert result.dtype == np.float32
    assert np.array_equal(result, shaw.attend(Q, K, V, KEY_TABLE, VALUE_TABLE, PLACES, PLACES, **ASKED).astype(np.float32))


def test_unsigned_positions_do_not_wrap() -> None:
    unsigned = np.array([9, 10], dtype=np.uint8)

    logits = shaw.logits(Q[:, :, :2], K[:, :, :2], KEY_TABLE, unsigned, unsigned, **ASKED)

    assert np.array_equal(logits, shaw.logits(Q[:, :, :2], K[:, :, :2], KEY_TABLE, IN_ORDER[:2], IN_ORDER[:2], **ASKED))


def test_a_table_for_another_distance_is_refused_with_its_rule() -> None:
    with pytest.raises(SpecificationError, match=r"^key_table must have 2 max_distance \+ 1 rows \(9\), got 7$"):
        shaw.logits(Q, K, KEY_TABLE, PLACES, PLACES, max_distance=4)
