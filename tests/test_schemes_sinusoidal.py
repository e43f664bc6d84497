"""How sinusoids act in a layer, and why no two positions have the same encoding."""

import numpy as np
import pytest
from law_subjects import altered, convicting

from conformance.spec.arguments import Arguments
from refimpl.schemes import sinusoidal


def test_the_layer_adds_the_encoding_to_the_channels_of_all_heads_in_order() -> None:
    layer = sinusoidal.layer(num_heads=2, head_dim=3, like=np.zeros(1))
    assert layer.embed is not None

    added = layer.embed(np.zeros((1, 2, 2, 3)), np.array([1, 9]))

    assert layer.learned == 0
    assert np.array_equal(np.moveaxis(added[0], 0, 1).reshape(2, 6), sinusoidal.encode(np.array([1, 9]), dim=6))


def test_the_layer_takes_positions_of_its_own_for_every_row() -> None:
    layer = sinusoidal.layer(num_heads=1, head_dim=2, like=np.zeros(1))
    assert layer.embed is not None

    added = layer.embed(np.zeros((2, 1, 1, 2)), np.array([[3], [5]]))

    assert np.array_equal(added[:, 0, 0], sinusoidal.encode(np.array([3, 5]), dim=2))


@pytest.mark.parametrize("distance", [710, 103_993])
def test_positions_that_nearly_close_the_circle_are_still_told_apart(distance: int) -> None:
    here, there = sinusoidal.encode(np.array([0, distance]), dim=2)

    assert 1e-6 < np.abs(here - there).max() < 1e-4


def test_a_table_that_ends_gives_two_positions_one_encoding() -> None:
    def ended(call: Arguments) -> Arguments:
        return call.with_arrays(positions=np.minimum(call.arrays["positions"], 255))

    assert "unique" in convicting(altered("sinusoidal.encode", ended), examples=40)
