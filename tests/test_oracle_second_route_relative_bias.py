"""The plain relative bias a third time: entries of a table, found by counting rows from the middle."""

import pytest
from second_route import golden, real, whole


@pytest.mark.parametrize(("sign", "rows"), [("key_minus_query", (3, 4, 5, 6, 6, 2, 0, 0)), ("query_minus_key", (3, 2, 1, 0, 0, 4, 6, 6))])
def test_a_relative_bias_is_an_entry_of_the_table(sign: str, rows: tuple[int, ...]) -> None:
    table = [[row - 2.5, row / 16] for row in range(7)]
    inputs = {
        "table": real(*(entry for row in table for entry in row), shape=(7, 2)),
        "query_positions": whole(100),
        "key_positions": whole(100, 101, 102, 103, 104, 99, 97, 0),
    }
    result = golden("relative_bias.bias", inputs, max_distance=3, sign=sign)
    assert result == tuple(table[row][head] for head in range(2) for row in rows)
