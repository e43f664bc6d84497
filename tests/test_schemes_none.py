"""Attention without an encoding: it sees a set, unless a mask tells first from last."""

import numpy as np

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


def test_as_many_keys_as_there_are_give_plain_attention_whatever_they_score() -> None:
    scores = RANDOM.standard_normal((1, 5, 5))

    assert np.array_equal(
        none.attend_selected(Q, K, V, scores, PLACES, PLACES, top_k=5, causal=True), none.attend(Q, K, V, PLACES, PLACES, causal=True)
    )


def test_keys_that_no_query_selects_may_be_left_out() -> None:
    scores = np.broadcast_to([1.0, -2.0, 3.0, 2.0, -1.0], (1, 5, 5))
    kept = [0, 2, 3]

    assert np.allclose(
        none.attend_selected(Q, K, V, scores, PLACES, PLACES, top_k=3),
        none.attend(Q, K[:, :, kept], V[:, :, kept], PLACES, PLACES[kept]),
        rtol=0, atol=REORDERED,
    )  # fmt: skip
