"""Attention as the reference states it: the formula, masks, the cache, and what it refuses."""

import math
import re
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from refimpl import attention
from refimpl.attention import Layer
from refimpl.errors import SpecificationError
from refimpl.schemes import alibi, t5

RANDOM = np.random.default_rng(11)
Q = RANDOM.integers(-32, 33, (2, 4, 3, 6)) / 16
K, V = (RANDOM.integers(-32, 33, (2, 2, 5, 6)) / 16 for _ in range(2))
QUERIES, KEYS = np.array([4, 2, 3]), np.array([0, 1, 2, 3, 4])
#: Sums of at most eight products of numbers up to 4, exponentials and a quotient, in float64.
ROUNDING = 2.0**-44


def by_hand(row: int, head: int, query: int, seen: list[int]) -> np.ndarray:
    """Return one average of values, written out."""
    logits = [math.fsum(Q[row, head, query] * K[row, head // 2, key]) / math.sqrt(6) for key in seen]
    powers = [math.exp(logit) for logit in logits]
    return sum(power / math.fsum(powers) * V[row, head // 2, key] for power, key in zip(powers, seen, strict=True))


@pytest.mark.parametrize("mask", ["none", "causal"])
def test_attention_is_the_softmax_of_scaled_products_of_grouped_heads(mask: str) -> None:
    result = attention.attend(Layer(), Q, K, V, QUERIES, KEYS, causal=mask == "causal")

    for row, head, query in np.ndindex(2, 4, 3):
        seen = [key for key in range(5) if mask == "none" or KEYS[key] <= QUERIES[query]]
        assert np.abs(result[row, head, query] - by_hand(row, head, query, seen)).max() < ROUNDING


def test_a_layer_acts_where_it_says() -> None:
    def plus(number: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        return lambda x, positions: x + number + 0 * positions[:, None]

    def biased(q: np.ndarray, k: np.ndarray, query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
        return attention.logits(q, k) + (query_positions[:, None] - key_positions[None, :])

    def mixed(shares: np.ndarray, v: np.ndarray, query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
        return shares @ np.repeat(v, 2, axis=1) + (query_positions[:, None] + key_positions.max())

    queries_and_keys = Layer(turn_query=plus(1), turn_key=plus(2))
    input_of_all = Layer(embed=plus(3))
    replaced = Layer(logits=biased, mix=mixed)
    plain = attention.attend(Layer(), Q, K, V, QUERIES, KEYS)
    weights = attention.softmax(biased(Q, K, QUERIES, KEYS), np.ones((3, 5), dtype=bool))

    turned = attention.attend(queries_and_keys, Q, K, V, QUERIES, KEYS)
    embedded = attention.attend(input_of_all, Q, K, V, QUERIES, KEYS)
    assert np.array_equal(turned, attention.attend(Layer(), Q + 1, K + 2, V, QUERIES, KEYS))
    assert np.array_equal(embedded, attention.attend(Layer(), Q + 3, K + 3, V + 3, QUERIES, KEYS))
    assert np.array_equal(attention.attend(replaced, Q, K, V, QUERIES, KEYS), mixed(weights, V, QUERIES, KEYS))
    assert not np.array_equal(turned, plain)


def test_large_logits_do_not_overflow() -> None:
    result = attention.attend(Layer(), 1000 * Q, 1000 * K, V, QUERIES, KEYS)

    assert np.isfinite(result).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_result_has_the_dtype_of_the_queries(dtype: str) -> None:
    result = attention.attend(Layer(), *(x.astype(dtype) for x in (Q, K, V)), QUERIES, KEYS)

    assert result.dtype == dtype
    assert np.array_equal(result, attention.attend(Layer(), Q, K, V, QUERIES, KEYS).astype(dtype))


def test_a_mask_says_which_keys_are_seen_besides_the_causal_one() -> None:
    seen = np.array([[True, False, True, False, True], [True, True, False, True, False], [False, True, True, True, True]])

    result = attention.attend(Layer(), Q, K, V, QUERIES, KEYS, causal=True, seen=seen)

    for query, keys in enumerate([[0, 2, 4], [0, 1], [1, 2, 3]]):
        assert np.abs(result[1, 3, query] - by_hand(1, 3, query, keys)).max() < ROUNDING


def test_every_row_of_a_batch_can_have_its_own_mask() -> None:
    masks = np.stack([np.tile([True, True, False, False, False], (3, 1)), np.tile([False, False, True, True, True], (3, 1))])

    result = attention.attend(Layer(), Q, K, V, QUERIES, KEYS, seen=masks)

    assert np.abs(result[0, 2, 1] - by_hand(0, 2, 1, [0, 1])).max() < ROUNDING
    assert np.abs(result[1, 2, 1] - by_hand(1, 2, 1, [2, 3, 4])).max() < ROUNDING


def test_tokens_see_their_own_document() -> None:
    seen = attention.packed(np.array([0, 1, 1]), np.array([0, 0, 1]))

    assert seen.tolist() == [[True, True, False], [False, False, True], [False, False, True]]


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([5, 5, 5], [0, 1, 2]),
        ([0, 0, 1, 1, 1], [0, 1, 0, 1, 2]),
        ([0, 0, 1, 1, 1, 0], [0, 1, 0, 1, 2, 2]),
        ([[1, 1, 0], [0, 0, 1]], [[0, 1, 0], [0, 1, 0]]),
    ],
)
def test_places_count_the_earlier_tokens_of_the_same_document(documents: list[int], expected: list[int]) -> None:
    assert attention.places(np.array(documents)).tolist() == expected


def test_a_cache_only_grows() -> None:
    layer = Layer(turn_key=lambda k, positions: k * positions[:, None])
    first = attention.append(layer, None, K[:, :, :3], V[:, :, :3], KEYS[:3])

    second = attention.append(layer, first, K[:, :, 3:], V[:, :, 3:], KEYS[3:])

    assert np.array_equal(second.keys, K * KEYS[:, None])
    assert np.array_equal(second.values, V)
    assert np.array_equal(second.positions, KEYS)
    assert np.array_equal(first.keys, second.keys[:, :, :3])


def test_decoding_hides_later_keys_unless_told_otherwise() -> None:
    cache = attention.append(Layer(), None, K, V, KEYS)

    hidden, open_to_all = attention.decode(Layer(), cache, Q, QUERIES), attention.decode(Layer(), cache, Q, QUERIES, causal=False)

    assert np.array_equal(hidden, attention.attend(Layer(), Q, K, V, QUERIES, KEYS, causal=True))
    assert np.array_equal(open_to_all, attention.attend(Layer(), Q, K, V, QUERIES, KEYS))


def test_inputs_are_left_as_they_are() -> None:
    arrays = [x.copy() for x in (Q, K, V, QUERIES, KEYS)]
    for array in arrays:
        array.flags.writeable = False

    attention.attend(Layer(), *arrays, causal=True, seen=np.ones((3, 5), dtype=bool))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"causal": True}, "every query must see a key, got a query before all keys"),
        ({"seen": np.zeros((1, 2), dtype=bool)}, "every query must see a key, got a query that the mask hides from every key"),
        ({"seen": np.ones(2, dtype=bool)}, "seen must have axes (query, key) or (batch, query, key) ending in (1, 2), got (2,)"),
        ({"seen": np.ones((2, 1), dtype=bool)}, "seen must have axes (query, key) or (batch, query, key) ending in (1, 2), got (2, 1)"),
    ],
)
def test_a_query_without_keys_and_a_mask_of_another_shape_are_refused(options: dict[str, object], message: str) -> None:
    q, kv = np.ones((1, 1, 1, 2)), np.ones((1, 1, 2, 2))

    with pytest.raises(SpecificationError, match=f"^{re.escape(message)}$"):
        attention.attend(Layer(), q, kv, kv, np.array([0]), np.array([1, 2]), **options)


@pytest.mark.parametrize("heads", [3, 0])
def test_key_heads_that_do_not_divide_the_query_heads_are_refused(heads: int) -> None:
    with pytest.raises(SpecificationError, match=rf"^query_head must be a multiple of key_head \({heads}\), got 4$"):
        attention.attend(Layer(), Q, np.ones((2, heads, 5, 6)), V, QUERIES, KEYS)


@pytest.mark.parametrize("content", [attention.products, attention.logits])
def test_heads_are_called_what_their_axis_is_called(content: Callable[..., np.ndarray]) -> None:
    with pytest.raises(SpecificationError, match=r"^head must be a multiple of key_head \(3\), got 4$"):
        content(Q, np.ones((2, 3, 5, 6)), axis="head")


@pytest.mark.parametrize("scheme", [alibi, t5])
def test_attention_with_a_bias_calls_heads_what_its_own_axis_is_called(scheme: ModuleType) -> None:
    learned = () if scheme is alibi else (np.ones((32, 4)),)
    said = {"num_heads": 4} if scheme is alibi else {"bidirectional": True}

    with pytest.raises(SpecificationError, match=r"^head must be a multiple of key_head \(3\), got 4$"):
        scheme.weights(Q, np.ones((2, 3, 5, 6)), *learned, QUERIES, KEYS, **said)


def test_attention_stays_on_a_device_that_is_not_the_default_one() -> None:
    library = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    device, home = library.Device("device1"), library.Device("CPU_DEVICE")
    documents = np.array([0, 0, 1, 1, 1])
    x = np.concatenate([Q, Q], axis=2)[:, :, :5]
    arrays = [library.asarray(each, device=device) for each in (x, x, x, KEYS)]
    labels = library.asarray(documents, device=device)

    result = attention.attend(
        Layer(), *arrays[:3], attention.places(labels), attention.places(labels), causal=True, seen=attention.packed(labels, labels)
    )

    places = attention.places(documents)
    expected = attention.attend(Layer(), x, x, x, places, places, causal=True, seen=attention.packed(documents, documents))
    assert result.device == device
    assert np.abs(np.asarray(result.to_device(home)) - expected).max() < ROUNDING
