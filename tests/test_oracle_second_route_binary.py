"""The binary code by a second route: as text."""

import pytest
from second_route import golden, whole


@pytest.mark.parametrize("bits", [1, 5, 31, 32, 33, 62])
def test_digits_are_those_that_the_number_is_written_with_read_from_the_right(bits: int) -> None:
    positions = sorted({0, 1, 2**bits // 3, 2**bits // 2, 2**bits - 1})

    result = golden("binary.encode", {"positions": whole(*positions)}, bits=bits)

    assert result == tuple(int(digit) for position in positions for digit in reversed(f"{position:0{bits}b}"))


@pytest.mark.parametrize("position", [-1, 16])
def test_a_position_without_a_code_has_no_golden_value(position: int) -> None:
    with pytest.raises(ValueError, match="must lie between 0 and"):
        golden("binary.encode", {"positions": whole(position)}, bits=4)
