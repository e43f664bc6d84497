"""The paper's equivalent forms and the schemes' identities, written from the formulas and compared with the reference.

Twenty-four identities relate schemes to one another. TESTED says which test shows each; COMING names the scheme that the others wait for,
and the test of both fails as soon as that scheme exists without its identity.
"""

import ast
import itertools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from narrow_code import softmax

from refimpl import attention
from refimpl.schemes import SCHEMES, alibi, dual_chunk, mrope, rerope, retnet, rope, self_extend, sinusoidal, xpos, yarn

#: For an identity: the tests that show it, as file and the beginning of the name.
TESTED = {
    1: ("test_identities.py", "test_rotation_is_the_"),
    2: ("test_identities.py", "test_half_layout_is_the_interleaved_one_with_permuted_channels"),
    3: ("test_identities.py", "test_permuted_weights_make_halves_of_neighbours"),
    4: ("test_identities.py", "test_deepseek_reads_interleaved_and_writes_halves"),
    5: ("test_identities_stretched.py", "test_interpolation_is_rope_at_divided_positions_and_with_divided_frequencies"),
    6: ("test_identities_stretched.py", "test_nothing_is_stretched_by_one"),
    7: ("test_identities_stretched.py", "test_ntk_aware_keeps_the_fastest_pair"),
    8: ("test_identities_stretched.py", "test_llama3_is_ntk_by_parts"),
    9: ("test_identities_stretched.py", "test_dynamic_ntk_with_factor_one_is_the_rule_of_the_paper"),
    10: ("test_identities_stretched.py", "test_longrope_with"),
    11: ("test_identities.py", "test_multimodal_rope_of_text_is_rope"),
    12: ("test_identities_stretched.py", "test_proportional_rope_of_all_pairs_is_rope"),
    13: ("test_identities.py", "test_xpos_at_its_centre_and_over_an_endless_base_is_rope"),
    14: ("test_identities.py", "test_every_form_of_alibi_weighs_the_keys_alike_after_a_causal_softmax"),
    15: ("test_identities_bias.py", "test_a_power_with_exponent_one_is_alibi"),
    16: ("test_identities_bias.py", "test_t5_where_every_distance_has_a_bucket_is_one_bias_per_offset"),
    18: ("test_schemes_shaw.py", "test_without_value_edges_under_a_mask_it_is_the_skew_of_music_transformer"),
    19: ("test_schemes_transformer_xl.py", "test_the_expansion_of_encodings_that_are_added_is_the_four_terms"),
    22: ("test_identities.py", "test_a_window_that_holds_everything_is_rope"),
    23: ("test_identities.py", "test_dot_product_of_sinusoids_is_the_sum_of_cosines_of_the_difference"),
    24: ("test_identities.py", "test_yarn_at_position_zero_multiplies_by_the_attention_factor"),
}
#: For an identity: the scheme that it is about and that doesn't exist yet.
COMING = {
    17: "swin",
    20: "cope",
    21: "fox",
}

WIDTH = 12
BASE = 10_000.0
POSITIONS = np.array([0, 1, 2, 9, 257, 2049, 131_071, -5])
X = np.random.default_rng(7).integers(-32, 33, (2, 3, len(POSITIONS), WIDTH)) / 16
#: Three products and a sum of numbers up to 2 in float64, of angles that agree to the bit.
ROUNDING = 4e-15


def test_every_identity_is_tested_or_waits_for_its_scheme() -> None:
    assert sorted([*TESTED, *COMING]) == list(range(1, 25))
    assert not set(COMING.values()) & set(SCHEMES)


@pytest.mark.parametrize("number", TESTED)
def test_the_test_of_an_identity_exists(number: int) -> None:
    name, start = TESTED[number]
    tree = ast.parse((Path(__file__).parent / name).read_text(encoding="utf-8"))

    assert any(isinstance(node, ast.FunctionDef) and node.name.startswith(start) for node in tree.body)


def angles(position: int) -> np.ndarray:
    return position * rope.frequencies(head_dim=WIDTH, base=BASE, like=np.empty(0))


def interleaved(x: np.ndarray = X, **parameters: object) -> np.ndarray:
    return rope.rotate(x, POSITIONS, head_dim=WIDTH, base=BASE, layout="interleaved", **parameters)


def permutation() -> np.ndarray:
    return np.concatenate([np.arange(0, WIDTH, 2), np.arange(1, WIDTH, 2)])


def sparse_matrix(position: int) -> np.ndarray:
    matrix = np.zeros((WIDTH, WIDTH))
    for pair, angle in enumerate(angles(position)):
        block = slice(2 * pair, 2 * pair + 2)
        matrix[block, block] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    return matrix


def test_rotation_is_the_sparse_block_matrix_of_equation_15() -> None:
    turned = np.stack([X[:, :, token] @ sparse_matrix(position).T for token, position in enumerate(POSITIONS)], axis=2)

    assert np.abs(interleaved() - turned).max() < ROUNDING


def test_rotation_is_the_complex_product_of_equation_12() -> None:
    turns = np.exp(1j * np.stack([angles(position) for position in POSITIONS]))
    turned = (X[..., 0::2] + 1j * X[..., 1::2]) * turns

    assert np.abs(interleaved()[..., 0::2] - turned.real).max() < ROUNDING
    assert np.abs(interleaved()[..., 1::2] - turned.imag).max() < ROUNDING


def test_rotation_is_the_hadamard_form_of_equation_34() -> None:
    repeated = np.repeat(np.stack([angles(position) for position in POSITIONS]), 2, axis=-1)
    swapped = np.empty_like(X)
    swapped[..., 0::2], swapped[..., 1::2] = -X[..., 1::2], X[..., 0::2]

    assert np.abs(interleaved() - (X * np.cos(repeated) + swapped * np.sin(repeated))).max() < ROUNDING


def test_half_layout_is_the_interleaved_one_with_permuted_channels() -> None:
    order = permutation()
    half = rope.rotate(X[..., order], POSITIONS, head_dim=WIDTH, base=BASE, layout="half")

    assert np.array_equal(half, interleaved()[..., order])


def test_deepseek_reads_interleaved_and_writes_halves() -> None:
    deepseek = rope.rotate(X, POSITIONS, head_dim=WIDTH, base=BASE, layout="interleaved_to_half")

    assert np.array_equal(deepseek, interleaved()[..., permutation()])


def test_permuted_weights_make_halves_of_neighbours() -> None:
    """Meta's checkpoints become transformers' by viewing the rows of W_q and W_k as (head, pair, 2) and exchanging the last two."""
    heads = 3
    weight = np.random.default_rng(9).integers(-32, 33, (heads * WIDTH, 5)) / 16
    tokens = np.random.default_rng(10).integers(-32, 33, (len(POSITIONS), 5)) / 16
    permuted = weight.reshape(heads, WIDTH // 2, 2, 5).swapaxes(1, 2).reshape(heads * WIDTH, 5)

    def projected(matrix: np.ndarray, layout: str) -> np.ndarray:
        x = (tokens @ matrix.T).reshape(len(POSITIONS), heads, WIDTH).swapaxes(0, 1)[None]
        return rope.rotate(x, POSITIONS, head_dim=WIDTH, base=BASE, layout=layout)

    assert np.array_equal(projected(permuted, "half"), projected(weight, "interleaved")[..., permutation()])


def test_layouts_give_the_same_dot_products_of_queries_and_keys() -> None:
    q, k = X[0], X[1]
    plain = interleaved(q[None])[0] @ interleaved(k[None])[0].transpose(0, 2, 1)
    both = [rope.rotate(x[None], POSITIONS, head_dim=WIDTH, base=BASE, layout="interleaved_to_half")[0] for x in (q, k)]

    assert np.abs(both[0] @ both[1].transpose(0, 2, 1) - plain).max() < WIDTH * 4 * ROUNDING


def test_negative_direction_is_the_rotation_to_the_negated_position() -> None:
    negated = rope.rotate(X, -POSITIONS, head_dim=WIDTH, base=BASE, layout="interleaved")

    assert np.array_equal(interleaved(direction="negative"), negated)


@pytest.mark.parametrize("layout", ["interleaved", "half", "interleaved_to_half"])
@pytest.mark.parametrize("direction", ["positive", "negative"])
def test_gradient_is_the_transposed_map(layout: str, direction: str) -> None:
    cotangent = X[:, ::-1]
    parameters = {"head_dim": WIDTH, "base": BASE, "layout": layout, "direction": direction}
    forward = np.sum(rope.rotate(X, POSITIONS, **parameters) * cotangent, axis=-1)
    backward = np.sum(X * rope.gradient(X, POSITIONS, cotangent, **parameters), axis=-1)

    assert np.abs(forward - backward).max() < WIDTH * 4 * ROUNDING


def test_position_zero_changes_nothing_but_the_layout() -> None:
    assert np.array_equal(interleaved()[:, :, 0], X[:, :, 0])


def test_a_window_that_holds_everything_is_rope() -> None:
    q, places = X[:, :, :5] * 1.0, np.arange(5)
    plain = rope.weights(q, q, places, places, head_dim=WIDTH)
    assert np.array_equal(rerope.weights(q, q, places, places, head_dim=WIDTH, window=5), plain)
    assert not np.array_equal(rerope.weights(q, q, places, places, head_dim=WIDTH, window=3), plain)
    for window, group_size in ((5, 2), (3, 1)):
        assert np.array_equal(self_extend.weights(q, q, places, places, head_dim=WIDTH, window=window, group_size=group_size), plain)
    assert not np.array_equal(self_extend.weights(q, q, places, places, head_dim=WIDTH, window=3, group_size=2), plain)
    assert np.array_equal(dual_chunk.weights(q, q, places, places, head_dim=WIDTH, chunk_size=9, local_size=2), plain)
    assert not np.array_equal(dual_chunk.weights(q, q, places, places, head_dim=WIDTH, chunk_size=3, local_size=1), plain)


def test_retention_reads_a_state_that_decays_token_by_token() -> None:
    heads, places = 3, np.arange(40, 40 + len(POSITIONS))
    whole = attention.attend(retnet.layer(num_heads=heads, head_dim=WIDTH, like=X), X, X[::-1], X, places, places, causal=True)

    q, k = (retnet.rotate(x, places, head_dim=WIDTH) for x in (X, X[::-1]))
    kept = (1 - 2.0 ** (-5 - np.arange(heads)))[:, None, None]
    state = np.zeros((2, heads, WIDTH, WIDTH))
    for token in range(len(places)):
        state = kept * state + k[:, :, token, :, None] * X[:, :, token, None, :]
        assert np.abs(whole[:, :, token] - (q[:, :, token, None] @ state)[:, :, 0] / np.sqrt(WIDTH)).max() < 100 * ROUNDING


def test_retnet_turns_as_rope_with_a_base_raised_so_that_its_last_pair_ends_there() -> None:
    raised = BASE ** (WIDTH / (WIDTH - 2))

    near, places = X[:, :, :4], POSITIONS[:4]
    turned = retnet.rotate(near, places, head_dim=WIDTH)
    assert np.abs(turned - rope.rotate(near, places, head_dim=WIDTH, base=raised)).max() < 10 * ROUNDING


def test_yarn_at_position_zero_multiplies_by_the_attention_factor() -> None:
    turned = yarn.rotate(X, POSITIONS, head_dim=WIDTH, base=BASE, factor=16.0, original_length=4096)

    assert np.array_equal(turned[:, :, 0], X[:, :, 0] * (0.1 * math.log(16.0) + 1.0))


def test_dot_product_of_sinusoids_is_the_sum_of_cosines_of_the_difference() -> None:
    places = np.array([0, 1, 2, 9, 257, 2049])
    encoded = sinusoidal.encode(places, dim=WIDTH)
    frequencies = np.array([BASE ** (-2.0 * pair / WIDTH) for pair in range(WIDTH // 2)])
    sums = np.cos((places[:, None] - places[None, :])[..., None] * frequencies).sum(axis=-1)

    assert np.abs(encoded @ encoded.T - sums).max() < 4096 * ROUNDING


@pytest.mark.parametrize("spacing", ["paper", "endpoint"])
@pytest.mark.parametrize("offset", [37, -4.5])
def test_shift_matrix_moves_sine_and_cosine_by_the_offset(offset: float, spacing: str) -> None:
    places = np.array([0, 1, 9, 257])
    before, after = (sinusoidal.encode(p, dim=WIDTH, spacing=spacing).reshape(-1, WIDTH // 2, 2) for p in (places, places + offset))
    matrix = sinusoidal.shift_matrix(np.array([offset]), dim=WIDTH, spacing=spacing)[0]

    assert np.abs(np.einsum("pij,tpj->tpi", matrix, before) - after).max() < 512 * ROUNDING


@pytest.mark.parametrize("form", ["column", "reversed", "symmetric"])
@pytest.mark.parametrize("heads", [1, 6, 8, 12])
def test_every_form_of_alibi_weighs_the_keys_alike_after_a_causal_softmax(form: str, heads: int) -> None:
    places = np.arange(24)
    hidden = np.where(places[None, :] > places[:, None], -np.inf, 0.0)
    row, other = (softmax(alibi.bias(places, places, num_heads=heads, form=f) + hidden) for f in ("row", form))

    assert np.abs(row - other).max() < ROUNDING


@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_falcon_s_form_of_alibi_is_the_column_form_where_eight_digits_hold_everything(heads: int) -> None:
    places = np.arange(-256, 257)
    column, falcon = (alibi.bias(places, places, num_heads=heads, form=form) for form in ("column", "falcon"))

    assert np.array_equal(column, falcon)


@pytest.mark.parametrize("layout", ["interleaved", "half", "interleaved_to_half"])
@pytest.mark.parametrize("order", ["contiguous", "interleaved", "first_last"])
def test_multimodal_rope_of_text_is_rope(order: str, layout: str) -> None:
    """A token of text stands at one position on every axis."""
    everywhere = np.stack([POSITIONS] * 3, axis=-1)
    turned = mrope.rotate(X, everywhere, head_dim=WIDTH, sections=(2, 2, 2), order=order, layout=layout)
    assert np.array_equal(turned, rope.rotate(X, POSITIONS, head_dim=WIDTH, layout=layout))


@pytest.mark.parametrize("turning", [xpos.rotate_query, xpos.rotate_key])
def test_xpos_at_its_centre_and_over_an_endless_base_is_rope(turning: Callable[..., np.ndarray]) -> None:
    """Every power of zeta is 1 where the exponent is 0."""
    rotated = interleaved()
    endless = turning(X, POSITIONS, head_dim=WIDTH, base=BASE, scale_base=1e300)
    assert np.array_equal(endless, rotated)
    for index, position in enumerate(POSITIONS):
        centred = turning(X, POSITIONS, head_dim=WIDTH, base=BASE, scale_base=1e6, centre=int(position))
        assert np.array_equal(centred[:, :, index], rotated[:, :, index])


def test_scores_of_xpos_are_those_of_rope_times_powers_of_the_distance() -> None:
    """For head_dim 8 the zetas are 2/7, 13/28, 9/14 and 23/28."""
    zeta = np.array([2 / 7, 13 / 28, 9 / 14, 23 / 28])
    for pair, (m, n) in itertools.product(range(4), ((9, 2), (2, 9), (5, 5))):
        x = np.zeros((1, 1, 1, 8))
        x[..., 2 * pair : 2 * pair + 2] = 1.0
        query, key = xpos.rotate_query_key(x, x, np.array([m]), np.array([n]), head_dim=8, scale_base=16.0, centre=3)
        plain = rope.rotate_query_key(x, x, np.array([m]), np.array([n]), head_dim=8)
        assert np.sum(query * key) == pytest.approx(zeta[pair] ** ((m - n) / 16) * np.sum(plain.query * plain.key), rel=1e-14, abs=1e-15)
