"""The permutation of weights a third time: rows sorted by head, side, member and pair; rotation before it and after it."""

import pytest
from second_route import golden, real, whole

WIDTH, HEADS = 10, 3
Rows = list[float]


def sorted_rows(weight: Rows, *, width: int, first: int, conversion: str) -> Rows:
    """Return rows in the order of head, side of the part, then member and pair as the new layout counts them."""

    def place(row: int) -> tuple[int, ...]:
        head, channel = divmod(row, WIDTH)
        within = channel - first
        if not 0 <= within < width:
            return head, 0 if within < 0 else 2, channel
        neighbours = (within // 2, within % 2) if conversion == "interleaved_to_half" else (within % (width // 2), within // (width // 2))
        pair, member = neighbours
        return (head, 1, member, pair) if conversion == "interleaved_to_half" else (head, 1, pair, member)

    return [weight[row] for row in sorted(range(len(weight)), key=place)]


@pytest.mark.parametrize("conversion", ["interleaved_to_half", "half_to_interleaved"])
@pytest.mark.parametrize(("part", "placement", "first"), [(None, "first", 0), (6, "first", 0), (6, "last", 4), (2, "last", 8)])
def test_rows_are_sorted_by_what_they_are_of(part: int | None, placement: str, first: int, conversion: str) -> None:
    bias = [row / 8 - 1 for row in range(HEADS * WIDTH)]
    rule = {"num_heads": HEADS, "head_dim": WIDTH, "rotary_dim": part, "placement": placement, "conversion": conversion}

    assert golden("rope.permute", {"weight": real(*bias)}, **rule) == tuple(
        sorted_rows(bias, width=part or WIDTH, first=first, conversion=conversion)
    )


def test_columns_move_together() -> None:
    weight = real(*range(12), shape=(6, 2))
    rule = {"num_heads": 1, "head_dim": 6, "rotary_dim": None, "placement": "first", "conversion": "interleaved_to_half"}

    assert golden("rope.permute", {"weight": weight}, **rule) == (0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_turned_in_the_other_layout_permuted_rows_are_the_turned_ones_permuted(layout: str) -> None:
    """``P R x = R' P x``: R turns pairs of the one layout, R' those of the other."""
    other = "half" if layout == "interleaved" else "interleaved"
    rule = {"num_heads": 1, "head_dim": 8, "rotary_dim": None, "placement": "first", "conversion": f"{layout}_to_{other}"}
    turning = {"head_dim": 8, "base": 10_000.0, "direction": "positive"}
    x = (0.5, -1.25, 2.0, 0.0625, -0.75, 1.0, 1.9375, -0.125)

    def rotated(values: tuple[float, ...], order: str) -> tuple[float, ...]:
        inputs = {"x": real(*values, shape=(1, 1, 1, 8)), "positions": whole(9)}
        return golden("rope.rotate", inputs, layout=order, **turning)

    def permuted(values: tuple[float, ...]) -> tuple[float, ...]:
        return golden("rope.permute", {"weight": real(*values)}, **rule)

    assert rotated(permuted(x), other) == permuted(rotated(x, layout))
