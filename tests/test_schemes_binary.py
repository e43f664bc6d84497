"""The binary code: what is printed in every book, and the picture that it is drawn for."""

import numpy as np
import pytest

from refimpl.errors import SpecificationError
from refimpl.schemes import binary
from refimpl.spec import Number


def test_six_is_written_with_its_last_digit_first() -> None:
    assert binary.encode(np.array([6]), bits=4).tolist() == [[0, 1, 1, 0]]


def test_positions_of_any_integer_type_have_the_same_code() -> None:
    codes = [binary.encode(np.array([0, 1, 200], dtype=dtype), bits=8) for dtype in (np.uint8, np.int16, np.uint16, np.int32, np.int64)]

    assert all(np.array_equal(code, codes[0]) for code in codes)
    assert codes[0][2].tolist() == [0, 0, 0, 1, 0, 0, 1, 1]


def test_a_channel_turns_over_half_as_often_as_the_one_before() -> None:
    codes = binary.encode(np.arange(64), bits=6)

    assert np.abs(np.diff(codes, axis=0)).sum(axis=0).tolist() == [63, 31, 15, 7, 3, 1]


def test_no_matrix_moves_a_code_by_one() -> None:
    here, there = (binary.encode(np.arange(7) + step, bits=3).astype(np.float64) for step in (0, 1))
    affine = np.concatenate([here, np.ones((7, 1))], axis=1)

    fitted, *_ = np.linalg.lstsq(affine, there, rcond=None)

    assert np.abs(affine @ fitted - there).max() > 0.1


def test_sixty_two_digits_hold_the_largest_code() -> None:
    assert binary.encode(np.array([2**62 - 1]), bits=62).sum() == 62


def test_a_number_may_have_an_upper_bound() -> None:
    with pytest.raises(SpecificationError, match=r"^bits must be at most 62, got 63$"):
        Number(maximum=62).check("bits", 63)


def test_no_position_is_coded_where_there_is_none() -> None:
    assert binary.encode(np.zeros(0, dtype=np.int64), bits=3).shape == (0, 3)


def test_the_layer_adds_digits_to_the_channels_of_all_heads_in_order() -> None:
    layer = binary.layer(num_heads=2, head_dim=3, like=np.zeros(1))
    assert layer.embed is not None

    added = layer.embed(np.zeros((1, 2, 2, 3)), np.array([5, 40]))

    assert added[0].tolist() == [[[1, 0, 1], [0, 0, 0]], [[0, 0, 0], [1, 0, 1]]]


def test_the_layer_leaves_channels_beyond_the_widest_code_alone() -> None:
    layer = binary.layer(num_heads=1, head_dim=64, like=np.zeros(1))
    assert layer.embed is not None

    assert layer.embed(np.zeros((1, 1, 1, 64)), np.array([[2**62 - 1]]))[0, 0, 0].tolist() == [1] * 62 + [0, 0]
