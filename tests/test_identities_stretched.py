"""What stretched rotary schemes are when nothing is stretched, or everything alike."""

import numpy as np
import pytest

from refimpl.schemes import (
    dynamic_ntk,
    llama3,
    longrope,
    ntk_aware,
    ntk_by_parts,
    partial_rope,
    position_interpolation,
    proportional_rope,
    rope,
    yarn,
)

WIDTH, BASE, FACTOR = 12, 10_000.0, 4.0
POSITIONS = np.array([0, 1, 2, 9, 257, 2_049, -5])
X = np.random.default_rng(7).integers(-32, 33, (2, 3, len(POSITIONS), WIDTH)) / 16
HERE = np.zeros(1)
#: Angles up to 2^12 radians, each off by a few times 2^-53 of that, turn pairs shorter than 4.
ROUNDING = 2.0 ** (12 + 2 + 2 - 53)

PLAIN = rope.frequencies(head_dim=WIDTH, base=BASE, like=HERE)
#: Lists of factors of 1, and an attention factor of 1.
ONES = np.ones(WIDTH // 2)
SAME_LENGTH = {"original_length": 4_096, "max_length": 4_096}


def plain(x: np.ndarray = X, positions: np.ndarray = POSITIONS, **parameters: object) -> np.ndarray:
    """Return rope's rotation."""
    return rope.rotate(x, positions, head_dim=WIDTH, base=BASE, **parameters)


@pytest.mark.parametrize("layout", ["interleaved", "half", "interleaved_to_half"])
def test_interpolation_is_rope_at_divided_positions_and_with_divided_frequencies(layout: str) -> None:
    multiples = POSITIONS * int(FACTOR)
    stretched = position_interpolation.rotate(X, multiples, head_dim=WIDTH, base=BASE, factor=FACTOR, layout=layout)
    divided = position_interpolation.frequencies(head_dim=WIDTH, base=BASE, factor=FACTOR, like=HERE)
    angles = multiples[:, None] * divided
    by_frequency = rope.apply(X, np.cos(angles), np.sin(angles), layout=layout)

    assert np.array_equal(divided, PLAIN / FACTOR)
    assert np.abs(stretched - plain(layout=layout)).max() < ROUNDING
    assert np.abs(stretched - by_frequency).max() < ROUNDING


def test_stretched_angles_stay_where_training_was_and_extrapolated_ones_leave() -> None:
    trained, stretched = 2_048, 8_192
    plain = rope.frequencies(head_dim=64, base=10_000.0, like=HERE)
    squeezed = position_interpolation.frequencies(head_dim=64, factor=stretched / trained, like=HERE)

    assert np.all((stretched - 1) * squeezed < trained * plain)
    assert np.all((stretched - 1) * plain > trained * plain)


@pytest.mark.parametrize("layout", ["interleaved", "half", "interleaved_to_half"])
@pytest.mark.parametrize("direction", ["positive", "negative"])
def test_nothing_is_stretched_by_one(layout: str, direction: str) -> None:
    shared = {"head_dim": WIDTH, "base": BASE, "layout": layout, "direction": direction}
    rope_itself = plain(layout=layout, direction=direction)
    by_lists = longrope.rotate(X, POSITIONS, ONES, ONES, length=4_096, **SAME_LENGTH, **shared)
    searched = longrope.rotate_searched(X, POSITIONS, ONES, start_tokens=0, **shared)

    assert np.abs(position_interpolation.rotate(X, POSITIONS, factor=1.0, **shared) - rope_itself).max() < ROUNDING
    assert np.array_equal(partial_rope.rotate(X, POSITIONS, rotary_dim=WIDTH, **shared), rope_itself)
    assert np.abs(yarn.rotate(X, POSITIONS, factor=1.0, original_length=4_096, **shared) - rope_itself).max() < ROUNDING
    assert np.abs(by_lists - rope_itself).max() < ROUNDING
    assert np.abs(searched - rope_itself).max() < ROUNDING
    assert np.abs(ntk_aware.rotate(X, POSITIONS, factor=1.0, **shared) - rope_itself).max() < ROUNDING
    assert np.abs(ntk_by_parts.rotate(X, POSITIONS, factor=1.0, original_length=64, **shared) - rope_itself).max() < ROUNDING
    assert np.abs(llama3.rotate(X, POSITIONS, factor=1.0, original_length=64, **shared) - rope_itself).max() < ROUNDING


def test_llama3_is_ntk_by_parts_under_other_names() -> None:
    shared = {"head_dim": 128, "base": 500_000.0, "factor": 8.0, "original_length": 8_192, "like": HERE}
    by_parts = ntk_by_parts.frequencies(alpha=1.0, beta=4.0, **shared)

    assert np.array_equal(llama3.frequencies(low_freq_factor=1.0, high_freq_factor=4.0, **shared), by_parts)


def test_ntk_aware_keeps_the_fastest_pair_and_slows_the_slowest_by_the_whole_factor() -> None:
    """The raised base of a head of 128 that is slowed 4 times is 40889.94243248622."""
    slowed = ntk_aware.frequencies(head_dim=128, factor=4.0, like=HERE)
    ratio = rope.frequencies(head_dim=128, like=HERE) / slowed

    assert slowed[0] == 1.0
    assert ratio[-1] == pytest.approx(4.0, rel=1e-14)
    assert slowed[1] ** -64 == pytest.approx(40_889.94243248622, rel=1e-13)


@pytest.mark.parametrize("length", [1, 1_024, 2_048, 2_049, 4_096, 100_000])
def test_dynamic_ntk_with_factor_one_is_the_rule_of_the_paper(length: int) -> None:
    """The paper's stretch is the length over the original one, or 1."""
    slowed = dynamic_ntk.frequencies(head_dim=128, factor=1.0, original_length=2_048, length=length, like=HERE)
    paper = ntk_aware.frequencies(head_dim=128, factor=max(1.0, length / 2_048), like=HERE)

    assert np.abs(slowed / paper - 1.0).max() < 2.0**-48


def test_dynamic_ntk_raises_the_base_with_the_length() -> None:
    """The base of a head of 128 with factor 2 at twice 2048 positions is 30527.7367488067; at its longest it is vLLM's static rule."""
    shared = {"head_dim": 128, "original_length": 2_048, "like": HERE}
    slowed = dynamic_ntk.frequencies(factor=2.0, length=4_096, **shared)
    longest = dynamic_ntk.frequencies(factor=4.0, length=4 * 2_048, **shared)

    assert slowed[0] == 1.0
    assert slowed[1] ** -64 == pytest.approx(30_527.7367488067, rel=1e-12)
    assert np.abs(longest / ntk_aware.frequencies(head_dim=128, factor=4.0**2 - 3.0, like=HERE) - 1.0).max() < 2.0**-48


@pytest.mark.parametrize("layout", ["interleaved", "half", "interleaved_to_half"])
def test_proportional_rope_of_all_pairs_is_rope(layout: str) -> None:
    whole = proportional_rope.rotate(X, POSITIONS, head_dim=WIDTH, base=BASE, turned_pairs=WIDTH // 2, layout=layout)

    assert np.array_equal(whole, plain(layout=layout))


def test_proportional_rope_is_no_partial_rope() -> None:
    """A quarter of 16 channels: the frequencies 1 and 10^(-1/2) of a whole head, where partial rope has 1 and 1/100."""
    x, positions = np.ones((1, 1, 1, 16)), np.array([1])
    frequencies = proportional_rope.frequencies(head_dim=16, turned_pairs=2, like=HERE)
    turned = proportional_rope.rotate(x, positions, head_dim=16, turned_pairs=2, layout="half")
    part = partial_rope.rotate(x, positions, head_dim=16, rotary_dim=4, layout="half")

    assert frequencies == pytest.approx([1.0, 10**-0.5, *[0.0] * 6], rel=1e-15)
    assert np.flatnonzero(turned[0, 0, 0] != 1.0).tolist() == [0, 1, 8, 9]
    assert np.flatnonzero(part[0, 0, 0] != 1.0).tolist() == [0, 1, 2, 3]


def test_longrope_with_one_factor_for_all_pairs_is_interpolation() -> None:
    factors = np.full(WIDTH // 2, FACTOR)
    searched = longrope.rotate_searched(X, POSITIONS, factors, head_dim=WIDTH, base=BASE, start_tokens=0)
    by_lists = longrope.rotate(X, POSITIONS, ONES, factors, head_dim=WIDTH, base=BASE, length=4_097, **SAME_LENGTH)
    interpolated = position_interpolation.rotate(X, POSITIONS, head_dim=WIDTH, base=BASE, factor=FACTOR)

    counted = POSITIONS >= 0
    assert np.abs(searched - interpolated)[:, :, counted].max() < ROUNDING
    assert np.abs(by_lists - interpolated).max() < ROUNDING


def test_longrope_with_factors_of_a_geometric_ladder_is_rope_of_another_base() -> None:
    """Factors s^(2j / (d - 2)) are NTK-aware scaling: the base times s^(d / (d - 2))."""
    factors = FACTOR ** (2 * np.arange(WIDTH // 2) / (WIDTH - 2))
    frequencies = longrope.frequencies(factors, factors, head_dim=WIDTH, base=BASE, original_length=4_096, length=8_192)
    other_base = rope.frequencies(head_dim=WIDTH, base=BASE * FACTOR ** (WIDTH / (WIDTH - 2)), like=HERE)

    assert np.abs(frequencies / other_base - 1.0).max() < 2.0**-48
    assert frequencies[0] == 1.0
    assert abs(frequencies[-1] / PLAIN[-1] * FACTOR - 1.0) < 2.0**-48


def test_at_position_zero_longrope_multiplies_by_the_attention_factor() -> None:
    turned = longrope.rotate(X, POSITIONS, ONES, 2 * ONES, head_dim=WIDTH, base=BASE, original_length=4_096, length=9, max_length=131_072)

    assert np.abs(turned[:, :, 0] - 1.1902380714 * X[:, :, 0]).max() < 1e-9
