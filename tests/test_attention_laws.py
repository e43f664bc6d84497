"""What attention must not notice, for every scheme: how it is decoded, padded, packed, split over heads, and laid out in memory.

The tokens are the same everywhere: one row of seven, two heads of four channels each.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from refimpl.attention import Cache, Layer, append, attend, decode, packed, places
from refimpl.schemes import SCHEMES

HEADS, WIDTH, LENGTH = 2, 4, 7
RANDOM = np.random.default_rng(5)
Q, K, V = (RANDOM.integers(-32, 33, (1, HEADS, LENGTH, WIDTH)) / 16 for _ in range(3))
POSITIONS = np.arange(LENGTH)
SHIFT = 37
#: Both ways add at most 2^6 products of numbers below 2^4 to a logit, of angles up to 2^6 radians: each off by 2^-53 of that at most.
#: A weight is off by twice as much relatively, and an average of values by that times their largest, below 2^2.
ROUNDING = 2.0 ** (6 + 4 + 6 + 1 + 2 - 53)
#: What counts as a change; a thousandth is more than 2^20 roundings.
CHANGE = 1e-3

LAYERS: dict[str, Callable[..., Layer]] = {name: scheme.layer for name, scheme in SCHEMES.items() if scheme.layer is not None}
#: Schemes that write the position itself into the input.
ABSOLUTE = {"binary", "learned", "sincos_2d", "sinusoidal", "temperature"}
RELATIVE = sorted(set(LAYERS) - ABSOLUTE)


def layer_of(scheme: str) -> Layer:
    """Return a scheme's layer for the tokens of this file."""
    return LAYERS[scheme](num_heads=HEADS, head_dim=WIDTH, like=np.zeros(1))


def whole(scheme: str, positions: np.ndarray = POSITIONS) -> np.ndarray:
    """Return causal self-attention over all tokens at once."""
    return attend(layer_of(scheme), Q, K, V, positions, positions, causal=True)


def in_pieces(scheme: str, ends: list[int]) -> np.ndarray:
    """Return causal self-attention of pieces that follow one another, with a cache."""
    layer = layer_of(scheme)
    cache: Cache | None = None
    results = []
    for piece in (slice(first, last) for first, last in pairwise([0, *ends])):
        cache = append(layer, cache, K[:, :, piece], V[:, :, piece], POSITIONS[piece])
        results.append(decode(layer, cache, Q[:, :, piece], POSITIONS[piece]))
    return np.concatenate(results, axis=2)


@pytest.mark.parametrize("ends", [[1, 2, 3, 4, 5, 6, 7], [3, 5, 7], [4, 5, 6, 7]], ids=["steps", "chunks", "prompt-then-steps"])
@pytest.mark.parametrize("scheme", LAYERS)
def test_decoding_gives_what_attention_over_everything_gives(scheme: str, ends: list[int]) -> None:
    assert np.abs(in_pieces(scheme, ends) - whole(scheme)).max() < ROUNDING


@pytest.mark.parametrize("scheme", LAYERS)
def test_cached_keys_and_values_stay_valid(scheme: str) -> None:
    layer = layer_of(scheme)
    early = append(layer, None, K[:, :, :3], V[:, :, :3], POSITIONS[:3])

    late = append(layer, None, K, V, POSITIONS)

    assert np.abs(late.keys[:, :, :3] - early.keys).max() < ROUNDING
    assert np.abs(late.values[:, :, :3] - early.values).max() < ROUNDING


def padded(x: np.ndarray, before: int, after: int) -> np.ndarray:
    """Return tokens between padding that holds large numbers."""
    return np.pad(x, [(0, 0), (0, 0), (before, after), (0, 0)], constant_values=7.5)


def real(before: int, after: int) -> np.ndarray:
    """Return the mask that tells tokens from padding."""
    return np.pad(np.ones(LENGTH, dtype=np.int64), (before, after))


@pytest.mark.parametrize(("before", "after"), [(3, 0), (0, 3), (2, 1)], ids=["left", "right", "both"])
@pytest.mark.parametrize("scheme", LAYERS)
def test_padding_changes_nothing_where_positions_come_from_the_mask(scheme: str, before: int, after: int) -> None:
    mask = real(before, after)
    x = [padded(each, before, after) for each in (Q, K, V)]

    result = attend(layer_of(scheme), *x, places(mask), places(mask), causal=True, seen=packed(mask, mask))

    assert np.abs(result[:, :, mask == 1] - whole(scheme)).max() < ROUNDING


def counted_error(scheme: str) -> float:
    """Return by how much a result is off where the padding on the left is counted too."""
    mask, counted = real(3, 0), np.arange(LENGTH + 3)
    x = [padded(each, 3, 0) for each in (Q, K, V)]
    result = attend(layer_of(scheme), *x, counted, counted, causal=True, seen=packed(mask, mask))
    return float(np.abs(result[:, :, 3:] - whole(scheme)).max())


@pytest.mark.parametrize("scheme", RELATIVE)
def test_relative_schemes_may_count_the_padding_too(scheme: str) -> None:
    assert counted_error(scheme) < ROUNDING


@pytest.mark.parametrize("scheme", sorted(ABSOLUTE & set(LAYERS) - {"temperature"}))
def test_absolute_schemes_of_keys_must_not_count_the_padding(scheme: str) -> None:
    assert counted_error(scheme) > CHANGE


@pytest.mark.parametrize("scheme", LAYERS)
def test_rows_padded_by_different_amounts_are_what_they_are_alone(scheme: str) -> None:
    mask = np.stack([real(3, 0), real(1, 2), real(0, 3)])
    x = [np.concatenate([padded(each, before, 3 - before) for before in (3, 1, 0)]) for each in (Q, K, V)]

    result = attend(layer_of(scheme), *x, places(mask), places(mask), causal=True, seen=packed(mask, mask))

    for row in range(3):
        assert np.abs(result[row][:, mask[row] == 1] - whole(scheme)[0]).max() < ROUNDING


@pytest.mark.parametrize("scheme", RELATIVE)
def test_a_common_shift_of_positions_changes_nothing_for_relative_schemes(scheme: str) -> None:
    assert np.abs(whole(scheme, POSITIONS + SHIFT) - whole(scheme)).max() < ROUNDING


@pytest.mark.parametrize("scheme", sorted(ABSOLUTE & set(LAYERS)))
def test_a_common_shift_of_positions_changes_something_for_absolute_schemes(scheme: str) -> None:
    assert np.abs(whole(scheme, POSITIONS + SHIFT) - whole(scheme)).max() > CHANGE


@pytest.mark.parametrize("causal", ["causal", "both ways"])
@pytest.mark.parametrize("scheme", LAYERS)
def test_documents_packed_in_a_row_are_what_they_are_alone(scheme: str, causal: str) -> None:
    documents = np.array([4, 4, 4, 9, 9, 9, 9])
    layer, mask = layer_of(scheme), causal == "causal"

    row = attend(layer, Q, K, V, places(documents), places(documents), causal=mask, seen=packed(documents, documents))

    for label in (4, 9):
        x = [each[:, :, documents == label] for each in (Q, K, V)]
        own = np.arange(x[0].shape[2])
        assert np.abs(row[:, :, documents == label] - attend(layer, *x, own, own, causal=mask)).max() < ROUNDING


@pytest.mark.parametrize("shard", [0, 1])
@pytest.mark.parametrize("scheme", LAYERS)
def test_a_shard_of_the_heads_is_what_it_is_among_the_others(scheme: str, shard: int) -> None:
    """A shard knows which heads are its own, and nothing of what the others hold."""
    alone = np.zeros_like(Q)
    own = slice(shard, shard + 1)
    x = []
    for each in (Q, K, V):
        held = alone.copy()
        held[:, own] = each[:, own]
        x.append(held)

    result = attend(layer_of(scheme), *x, POSITIONS, POSITIONS, causal=True)

    assert np.abs(result[:, own] - whole(scheme)[:, own]).max() < ROUNDING


def alike(scheme: str) -> bool:
    """Whether both heads of a layer give the same for the same tokens."""
    twice = [np.concatenate([each[:, :1]] * HEADS, axis=1) for each in (Q, K, V)]
    result = attend(layer_of(scheme), *twice, POSITIONS, POSITIONS, causal=True)
    return bool(np.abs(result[:, 0] - result[:, 1]).max() < ROUNDING)


def test_rotary_schemes_shaw_and_none_are_the_same_in_every_head() -> None:
    stretched = {"yarn", "position_interpolation", "longrope", "ntk_aware", "dynamic_ntk", "ntk_by_parts", "llama3"}
    stretched |= {"resonance_rope", "resonance_yarn", "rerope", "self_extend", "dual_chunk", "lerope"}
    turned = {"rope", "partial_rope", "proportional_rope", "axial_rope", "mrope", "xpos"}
    same = {"none", "temperature", "shaw", *turned, *stretched} & set(LAYERS)

    both_on_one_axis = {"sincos_2d"}  # the first half of the channels is the row, the second the column, which are equal on text

    assert {scheme for scheme in LAYERS if alike(scheme)} == same | both_on_one_axis


@pytest.mark.parametrize("scheme", LAYERS)
def test_order_in_memory_means_nothing_where_positions_go_along(scheme: str) -> None:
    order = np.array([3, 0, 6, 1, 5, 2, 4])
    x = [each[:, :, order] for each in (Q, K, V)]

    result = attend(layer_of(scheme), *x, POSITIONS[order], POSITIONS[order], causal=True)

    assert np.abs(result - whole(scheme)[:, :, order]).max() < ROUNDING


def reordered(scheme: str) -> tuple[np.ndarray, np.ndarray]:
    """Return attention over tokens in another order, and attention over the tokens put in that order; positions stay."""
    order = np.array([3, 0, 6, 1, 5, 2, 4])
    layer = layer_of(scheme)
    before = attend(layer, *(each[:, :, order] for each in (Q, K, V)), POSITIONS, POSITIONS)
    return before, attend(layer, Q, K, V, POSITIONS, POSITIONS)[:, :, order]


@pytest.mark.parametrize("scheme", sorted({"none", "temperature"} & set(LAYERS)))
def test_without_positions_of_keys_attention_cannot_tell_the_order(scheme: str) -> None:
    before, after = reordered(scheme)

    assert np.abs(before - after).max() < ROUNDING


@pytest.mark.parametrize("scheme", sorted(set(LAYERS) - {"none", "temperature"}))
def test_every_other_scheme_tells_the_order(scheme: str) -> None:
    before, after = reordered(scheme)

    assert np.abs(before - after).max() > CHANGE
