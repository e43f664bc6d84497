"""Sums of embeddings and encodings by a second route, with 60 digits: every number is written out."""

import pytest
from second_route import X, Y, golden, mp, real, rounded, whole

from conformance.oracle import Tensor

cos, mpf, sin, sqrt = mp.cos, mp.mpf, mp.sin, mp.sqrt
SCALES = {"none": lambda _: mpf(1), "sqrt_dim": lambda width: sqrt(mpf(width))}


def waves(position: int) -> list[mpf]:
    angles = [mpf(position), mpf(position) / mpf(10_000) ** (mpf(1) / 3), mpf(position) / mpf(10_000) ** (mpf(2) / 3)]
    return [turn(angle) for angle in angles for turn in (sin, cos)]


@pytest.mark.parametrize("scaling", SCALES)
def test_every_row_of_a_batch_gets_the_waves_of_its_own_positions(scaling: str) -> None:
    rows, scale = ((7, 131_071), (3, 0)), SCALES[scaling](6)
    numbers = (*X, *Y, *X)
    inputs = {"x": real(*numbers, shape=(2, 2, 6)), "positions": Tensor((2, 2), (7, 131_071, 3, 0))}
    parameters = {"dim": 6, "base": 10_000.0, "layout": "interleaved", "spacing": "paper", "odd": "error", "scale": 1.0}

    result = golden("sinusoidal.add", inputs, embedding_scale=scaling, **parameters)

    codes = [wave for row in rows for position in row for wave in waves(position)]
    assert result == rounded([scale * mpf(number) + code for number, code in zip(numbers, codes, strict=True)])


@pytest.mark.parametrize("scaling", SCALES)
def test_positions_of_one_row_are_those_of_every_sequence(scaling: str) -> None:
    table = real(*X, *Y[:4], shape=(6, 2))
    inputs = {"x": real(*X, shape=(2, 2, 2)), "positions": whole(3, 1), "table": table}

    result = golden("learned.add", inputs, embedding_scale=scaling, offset=2, outside="raise")

    rows = [*table.row(5), *table.row(3)]
    assert result == rounded([SCALES[scaling](2) * mpf(number) + mpf(added) for number, added in zip(X, rows * 2, strict=True)])


def test_digits_are_added_channel_by_channel() -> None:
    result = golden("binary.add", {"x": real(*X[:6], shape=(1, 2, 3)), "positions": whole(6, 1)}, embedding_scale="sqrt_dim", bits=3)

    assert result == rounded([sqrt(mpf(3)) * mpf(number) + digit for number, digit in zip(X, (0, 1, 1, 1, 0, 0), strict=False)])
