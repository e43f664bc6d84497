"""What an error means in attention logits: formulas by simulation, measured errors by the tables that were rounded."""

import math

import numpy as np
import pytest
from precision_made import BFLOAT16, rotation, vectors, widely

from conformance.judge import logits
from conformance.precision import wide


def test_the_typical_error_of_a_logit_is_what_draws_have() -> None:
    # The mean of N squares strays by sqrt((kurtosis - 1) / N) of itself; given q an error is normal in k, which makes the kurtosis
    # 3 E[v^2] / E[v]^2 <= 6 for a variance v that is a mean of exponentials: six such deviations are 6 sqrt(5 / N).
    draws, width, share = 20_000, 128, 0.01
    random = np.random.default_rng(0)
    query, key = (random.standard_normal((draws, width // 2, 2)) @ [1, 1j] for _ in range(2))
    shifts = [1 + share * np.exp(2j * np.pi * random.random((draws, width // 2))) for _ in range(2)]
    errors = ((query * shifts[0]).conj() * key * shifts[1] - query.conj() * key).real.sum(axis=-1) / math.sqrt(width)

    assert np.mean(errors**2) == pytest.approx(logits.typical(share) ** 2, rel=6 * math.sqrt(5 / draws) + share**2)


def test_no_error_of_a_logit_is_worse_than_the_worst_which_is_reached() -> None:
    width, share = 64, 0.05
    random = np.random.default_rng(1)
    ones = np.ones(width)
    reached = ((1 + share) * ones @ ((1 + share) * ones) - ones @ ones) / math.sqrt(width)
    lengths = random.standard_normal((4, 1_000, width))
    query, key, first, second = (math.sqrt(width) * rows / np.linalg.norm(rows, axis=-1, keepdims=True) for rows in lengths)
    errors = np.sum((query + share * first) * (key + share * second) - query * key, axis=-1) / math.sqrt(width)

    assert reached == pytest.approx(logits.worst(share, width), rel=width * 2.0**-50)
    assert np.max(np.abs(errors)) <= logits.worst(share, width)


def test_the_error_of_rounded_tables_is_that_of_their_entries() -> None:
    found, turns = widely(rotation(tables=BFLOAT16)), 10_000.0 ** (-np.arange(64) / 64)

    for position in (1, 100, 4_097):
        exact = np.stack([np.cos(position * turns), np.sin(position * turns)])
        entries = math.sqrt(np.mean(np.sum((BFLOAT16(exact) - exact) ** 2, axis=0)))
        # The result is cast to float32, whose half unit is at most 2^-24 of sqrt(2) per pair of ones.
        assert found[position] == pytest.approx(entries, rel=1e-12, abs=2.0**-24)


def test_wrong_positions_put_wide_heads_off_and_right_ones_do_not() -> None:
    found = widely(rotation(positions=BFLOAT16))

    assert found[129] <= 2.0**-23
    # The fastest pair turns by a whole radian too little: an error of 2 sin(1 / 2) in one pair of 64 at least.
    assert found[257] >= 2 * math.sin(0.5) / math.sqrt(64)


def test_an_error_below_that_of_the_reference_is_not_claimed() -> None:
    assert all(error >= position * 2.0**-53 for position, error in widely(rotation()).items())


def test_signs_have_variance_one_and_both_kinds() -> None:
    values = wide.signs((1, 1, 19, 128))

    assert np.array_equal(values**2, np.ones_like(values))
    assert abs(values.mean()) < 0.25


def test_a_constant_per_row_is_no_error_of_a_bias_that_is_free_of_it() -> None:
    vector = next(vector for vector in vectors("alibi.bias") if vector.id == "alibi.bias/by-position-column")
    assert vector.expected is not None

    right = vector.expected["result"]
    errors = logits.errors(vector, {"result": right + 8.0})

    assert max(errors.values()) <= 2 * np.spacing(np.abs(right).max() + 8.0)


def test_narrow_heads_say_nothing_about_logits() -> None:
    for vector in vectors():
        assert vector.expected is not None
        assert bool(logits.in_logits(vector, vector.expected)) is (vector.parameters["head_dim"] >= 64)  # type: ignore[operator]  # a width
