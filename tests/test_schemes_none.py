"""Attention without an encoding: it sees a set, unless a mask tells first from last."""

from typing import Any

import numpy as np
import pytest
from law_subjects import findings, subject

from refimpl.schemes import none

RANDOM = np.random.default_rng(3)
Q, K, V = (RANDOM.integers(-32, 33, (1, 2, 5, 4)) / 16 for _ in range(3))
PLACES = np.arange(5)
ORDER = np.array([3, 0, 4, 1, 2])
#: Averages of a few numbers up to 2 in float64, in another order: some units of 2^-53 times their sum.
REORDERED = 1e-14


def test_keys_reordered_with_their_values_change_nothing() -> None:
    right = none.attend(Q, K, V, PLACES, PLACES)

    assert np.allclose(none.attend(Q, K[:, :, ORDER], V[:, :, ORDER], PLACES, PLACES), right, rtol=0, atol=REORDERED)


def test_tokens_reordered_reorder_the_result() -> None:
    q, k, v = (x[:, :, ORDER] for x in (Q, K, V))

    assert np.allclose(none.attend(q, k, v, PLACES, PLACES), none.attend(Q, K, V, PLACES, PLACES)[:, :, ORDER], rtol=0, atol=REORDERED)


def test_a_causal_mask_tells_one_order_from_another() -> None:
    right = none.attend(Q, K, V, PLACES, PLACES, causal=True)

    assert np.abs(none.attend(Q, K[:, :, ORDER], V[:, :, ORDER], PLACES, PLACES, causal=True) - right).max() > 0.1


def test_the_layer_does_nothing_and_learns_nothing() -> None:
    layer = none.layer(num_heads=2, head_dim=4, like=np.zeros(1))

    assert (layer.embed, layer.turn_query, layer.turn_key, layer.logits, layer.mix, layer.learned) == (None,) * 5 + (0,)


def weights(q: Any, k: Any, query_positions: Any, key_positions: Any, *, causal: bool) -> Any:
    """Return the weights step by step in the dtype of ``q``, the scale split between queries and keys."""
    root = np.asarray(q.shape[-1] ** -0.25, dtype=q.dtype)
    key = np.repeat(k * root, q.shape[1] // k.shape[1], axis=1)
    scores = ((q * root)[..., :, None, :] * key[..., None, :, :]).sum(axis=-1)
    seen = key_positions[..., None, :] <= query_positions[..., :, None]
    seen = seen if seen.ndim == 2 else seen[:, None]
    hidden = np.where(seen | (not causal), scores, np.asarray(-np.inf, dtype=q.dtype))
    powers = np.exp(hidden - hidden.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attend(q: Any, k: Any, v: Any, *positions: Any, causal: bool) -> Any:
    """Return the average of values, summed in float32 at least, as matrix products of models are."""
    values = np.repeat(v, q.shape[1] // v.shape[1], axis=1)
    parts = weights(q, k, *positions, causal=causal)[..., None] * values[..., None, :, :]
    return parts.sum(axis=-2, dtype=np.promote_types(q.dtype, np.float32)).astype(q.dtype)


@pytest.mark.parametrize(("dtype", "profile"), [("float32", "float32"), ("float16", "float16-model"), ("bfloat16", "bfloat16-model")])
@pytest.mark.parametrize(("name", "function"), [("none.weights", weights), ("none.attend", attend)])
def test_code_that_rounds_at_every_step_breaks_no_law(name: str, function: Any, dtype: str, profile: str) -> None:
    found = findings(subject(name, function, dtype, profile), examples=60, seed=3)

    assert {law: finding.failure for law, finding in found.items() if finding.failure} == {}
