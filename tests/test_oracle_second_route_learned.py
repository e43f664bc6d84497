"""Learned positions by a second route: a dictionary of rows, and endless rows on either side of the table."""

import pytest
from second_route import golden, real, whole

from conformance.oracle import Tensor

ROWS = [(0.5, -1.25), (2.0, 0.0625), (-0.75, 1.0), (1.9375, -0.125), (1.5, 0.25)]


def table() -> Tensor:
    return real(*(number for row in ROWS for number in row), shape=(5, 2))


def flat(rows: list[tuple[float, float]]) -> tuple[float, ...]:
    return tuple(number for row in rows for number in row)


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_a_row_is_found_by_its_position(offset: int) -> None:
    by_position = dict(enumerate(ROWS[offset:]))
    positions = [2, 0, 2, 1]

    result = golden("learned.encode", {"positions": whole(*positions), "table": table()}, offset=offset, outside="raise")

    assert result == flat([by_position[position] for position in positions])


@pytest.mark.parametrize("offset", [0, 2])
def test_outside_the_table_rows_go_on_as_asked_for(offset: int) -> None:
    places = [-12, -6, -1, 4, 5, 9, 23]
    inputs = {"positions": whole(*(place - offset for place in places)), "table": table()}
    repeated, ends = ROWS * 11, [ROWS[0]] * 25 + ROWS + [ROWS[-1]] * 25

    assert golden("learned.encode", inputs, offset=offset, outside="wrap") == flat([repeated[place + 25] for place in places])
    assert golden("learned.encode", inputs, offset=offset, outside="clamp") == flat([ends[place + 25] for place in places])


def test_a_place_outside_has_no_golden_value_unless_a_hazard_is_asked_for() -> None:
    with pytest.raises(ValueError, match="must lie inside of a table of 5 rows, got row 5"):
        golden("learned.encode", {"positions": whole(3), "table": table()}, offset=2, outside="raise")
