"""Position interpolation: the range of angles that it keeps, and its bound."""


import numpy as np
import pytest

from refimpl.schemes import position_interpolation as scheme
from refimpl.schemes import rope

TRAINED, STRETCHED = 2_048, 8_192
HERE = np.zeros(1)


def scores(places: np.ndarray, head_dim: int, base: float) -> np.ndarray:
    """Return the sum of the cosines of every pair's angle: rope's score of two vectors whose pairs are all aligned."""
    return np.cos(np.outer(places, rope.frequencies(head_dim=head_dim, base=base, like=HERE))).sum(axis=-1)


def test_stretched_angles_stay_where_training_was_and_extrapolated_ones_leave() -> None:
    plain = rope.frequencies(head_dim=64, base=10_000.0, like=HERE)
    squeezed = scheme.frequencies(head_dim=64, factor=STRETCHED / TRAINED, like=HERE)

    assert np.all((STRETCHED - 1) * squeezed < TRAINED * plain)
    assert np.all((STRETCHED - 1) * plain > TRAINED * plain)


def test_the_printed_bound_is_exceeded_and_the_corrected_one_holds() -> None:
    head_dim, base = 128, 10_000.0
    places = np.arange(1, 1_000) / 1_000
    ends = scores(np.array([0.0, 1.0]), head_dim, base)
    strayed = np.abs(scores(places, head_dim, base) - (1 - places) * ends[0] - places * ends[1])
    room = places * (1 - places)

    assert (strayed / (room * head_dim / (8 * np.log(base)))).max() == pytest.approx(1.097, abs=5e-4)
    assert np.all(strayed < room / (2 * (1 - base ** (-4 / head_dim))))
