"""What papers claim of their schemes: the published numbers, found again, and the claims that don't hold."""

import math

import numpy as np
import pytest

from refimpl import analysis
from refimpl.errors import SpecificationError
from refimpl.schemes import alibi, rope, sinusoidal

HERE = np.zeros(())
PLACES = np.linspace(0.0, 8.0, 8 * 64 + 1)


def test_the_bound_of_roformer_is_what_is_published() -> None:
    published = {0: 32.5, 1: 31.5, 10: 17.95, 50: 12.6, 100: 10.2, 250: 6.5}

    found = analysis.abel_bound(np.asarray(list(published)), head_dim=128)

    # The published numbers have three or four digits.
    assert np.abs(found - np.asarray(list(published.values()))).max() < 0.05


def test_the_bound_at_distance_zero_is_the_mean_of_the_counts() -> None:
    assert analysis.abel_bound(np.asarray([0]), head_dim=8)[0] == (1 + 2 + 3 + 4) / 4


def test_neither_the_envelope_nor_the_bound_decays_at_every_step() -> None:
    distances = analysis.whole_distances(4_097, like=HERE)
    envelope, bound = (measure(distances, head_dim=128) for measure in (analysis.alignment, analysis.abel_bound))

    assert (analysis.first_rise(envelope), analysis.first_rise(bound)) == (11, 18)
    assert analysis.count_rises(bound) == 2_020


def test_the_envelope_is_the_logit_of_equal_queries_and_keys() -> None:
    ones, distances = np.ones((1, 1, 5, 12)), np.asarray([0, 1, 2, 9, 257])
    turned = rope.rotate(ones, distances, head_dim=12)

    # Twelve products of numbers below 1.5, each rounded four times, and as many sums.
    assert np.allclose((turned * ones).sum(-1)[0, 0] / 12, analysis.alignment(distances, head_dim=12), rtol=0, atol=12 * 8 * 2.0**-53 * 2)


def test_no_logit_exceeds_the_bound_times_the_largest_step_between_pairs() -> None:
    draw = np.random.default_rng(0)
    pairs, distances = 8, np.arange(64)
    theta = rope.frequencies(head_dim=2 * pairs, like=HERE)
    h = draw.standard_normal((100, pairs)) + 1j * draw.standard_normal((100, pairs))
    steps = np.abs(np.diff(np.concatenate([h, np.zeros((100, 1))], axis=1), axis=1)).max(axis=1)

    scores = np.abs(h @ np.exp(1j * np.outer(theta, distances)))

    assert np.all(scores <= pairs * steps[:, None] * analysis.abel_bound(distances, head_dim=2 * pairs) * (1 + 1e-12))


def test_a_sequence_that_falls_has_no_rise() -> None:
    falling = np.asarray([3.0, 2.0, 2.0, 1.0])

    assert analysis.first_rise(falling) is None
    assert analysis.count_rises(falling) == 0


def test_the_printed_bound_of_interpolation_is_exceeded_and_the_corrected_one_holds() -> None:
    error, printed, corrected = (
        measure(PLACES, head_dim=128)
        for measure in (analysis.interpolation_error, analysis.printed_interpolation_bound, analysis.interpolation_bound)
    )
    between = printed > 0

    assert round(float(np.max(error[between] / printed[between])), 3) == 1.097
    assert np.all(error[between] <= corrected[between])


def test_the_printed_bound_is_the_one_of_the_theorem() -> None:
    at_half = analysis.printed_interpolation_bound(np.asarray([7.5]), head_dim=128)[0]

    assert at_half == pytest.approx(128 * 0.5 * 0.5 / (8 * math.log(10_000)), rel=1e-15)


def test_the_corrected_bound_is_no_less_than_half_the_sum_of_squared_frequencies() -> None:
    squares = float(np.sum(rope.frequencies(head_dim=64, like=HERE) ** 2))
    bound = analysis.interpolation_bound(np.asarray([0.5]), head_dim=64)[0]

    assert 0.125 * squares <= bound < 0.125 * squares * 1.001


def test_whole_positions_are_interpolated_without_error() -> None:
    assert np.all(analysis.interpolation_error(np.asarray([0.0, 1.0, 9.0, 257.0]), head_dim=16) == 0)


def test_every_pair_turns_as_often_as_its_wavelength_fits_the_length() -> None:
    seen = analysis.circle_coverage(length=4_096, dim=512, like=HERE)

    assert seen.turns * seen.wavelength == pytest.approx(np.full(256, 4_095.0), rel=1e-14)
    assert seen.wavelength[0] == pytest.approx(2 * math.pi, rel=1e-15)
    assert int(np.sum(seen.share == 1)) == sum(10_000 ** (-2 * i / 512) * 4_095 >= 2 * math.pi for i in range(256)) == 181


def test_a_pair_whose_circle_is_not_closed_has_no_position_in_the_rest_of_it() -> None:
    length, pair = 100, 3
    seen = analysis.circle_coverage(length=length, dim=8, like=HERE)
    codes = sinusoidal.encode(np.arange(length), dim=8)[:, 2 * pair : 2 * pair + 2]
    angles = np.arctan2(codes[:, 0], codes[:, 1])

    # Arc tangents of rounded sines and cosines: a few units in the last place of numbers below 1.
    assert angles.max() - angles.min() == pytest.approx(2 * math.pi * seen.share[pair], abs=1e-14)


@pytest.mark.parametrize("heads", [1, 6, 8, 12])
def test_the_bias_at_its_reach_is_the_gap(heads: int) -> None:
    gap = 3.0
    reach = analysis.alibi_reach(num_heads=heads, logit_gap=gap, like=HERE)

    assert reach * alibi.slopes(num_heads=heads, like=HERE) == pytest.approx(np.full(heads, gap), rel=1e-15)


def test_a_key_beyond_its_reach_loses_and_one_within_it_wins() -> None:
    reach = analysis.alibi_reach(num_heads=8, logit_gap=1.5, like=HERE)
    far = np.ceil(reach).astype(int)
    bias = alibi.bias(np.asarray([1_000]), 1_000 - far, num_heads=8)

    assert np.all(np.diagonal(bias[:, 0, :]) + 1.5 <= 0)
    assert np.all(np.diagonal(alibi.bias(np.asarray([1_000]), 1_001 - far, num_heads=8)[:, 0, :]) + 1.5 > 0)


def test_other_array_libraries_give_the_same_numbers() -> None:
    library = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    distances = np.arange(64)
    there = library.asarray(distances, device=library.Device("device1"))

    for measure in (analysis.alignment, analysis.abel_bound, analysis.interpolation_error, analysis.interpolation_bound):
        found = np.asarray(measure(there, head_dim=16).to_device(library.Device("CPU_DEVICE")))
        assert np.array_equal(found, measure(distances, head_dim=16))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: analysis.circle_coverage(length=0, dim=8, like=HERE), "length must be at least 1, got 0"),
        (lambda: analysis.circle_coverage(length=9, dim=7, like=HERE), "dim must be even, got 7"),
        (lambda: analysis.alignment(PLACES, head_dim=3), "head_dim must be even, got 3"),
        (lambda: analysis.interpolation_bound(PLACES, head_dim=4, base=1.0), "base must be greater than 1, got 1.0"),
        (lambda: analysis.alibi_reach(num_heads=0, logit_gap=1.0, like=HERE), "num_heads must be at least 1, got 0"),
        (lambda: analysis.alibi_reach(num_heads=8, logit_gap=-1.0, like=HERE), "logit_gap must be greater than 0, got -1.0"),
    ],
)
def test_bad_input_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(SpecificationError) as refused:
        call()

    assert str(refused.value) == message
