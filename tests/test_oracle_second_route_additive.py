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


#: Which function of which number stands in each of eight channels, at row 31 and column 1057, where the row is first: sine or cosine, the
#: axis, and the power of the base that it is divided by.
HALVES = [(turn, axis, power) for axis in (0, 1) for turn in (sin, cos) for power in (0, mpf(1) / 2)]
LAID = {
    "halves": HALVES,
    "interleaved": [HALVES[index] for index in (0, 2, 1, 3, 4, 6, 5, 7)],
    "joined": [HALVES[index] for index in (0, 1, 4, 5, 2, 3, 6, 7)],
}


@pytest.mark.parametrize("order", ["row_first", "column_first"])
@pytest.mark.parametrize("layout", LAID)
def test_half_of_the_channels_hold_the_waves_of_the_row_and_half_those_of_the_column(layout: str, order: str) -> None:
    place = (31, 1_057) if order == "row_first" else (1_057, 31)
    waves = [turn(mpf(place[axis]) / mpf(10_000) ** power) for turn, axis, power in LAID[layout]]
    inputs, parameters = {"positions": Tensor((1, 2), (31, 1_057))}, {"dim": 8, "base": 10_000.0, "order": order, "layout": layout}

    assert golden("sincos_2d.encode", inputs, **parameters) == rounded(waves)


@pytest.mark.parametrize(
    ("positions", "places"),
    [(Tensor((2, 1, 2), (7, 2, 131_071, 5)), ((7, 2), (131_071, 5))), (Tensor((1, 2), (7, 2)), ((7, 2), (7, 2)))],
    ids=["own", "shared"],
)
def test_every_row_of_a_batch_gets_the_waves_of_its_own_rows_and_columns(positions: Tensor, places: tuple[tuple[int, int], ...]) -> None:
    numbers = (*X[:4], *Y[:4])
    inputs = {"x": real(*numbers, shape=(2, 1, 4)), "positions": positions}

    result = golden("sincos_2d.add", inputs, embedding_scale="sqrt_dim", dim=4, base=10_000.0, order="column_first", layout="halves")

    codes = [turn(mpf(side)) for row, column in places for side in (column, row) for turn in (sin, cos)]
    assert result == rounded([2 * mpf(number) + code for number, code in zip(numbers, codes, strict=True)])
