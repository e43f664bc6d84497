"""What failing cases have in common that no passing one has is told in words."""

from collections.abc import Sequence

import numpy as np
import pytest

from conformance.diagnosis.conditions import conditions
from conformance.spec.vectors import Vector

DEFAULT = {"head_dim": 8, "base": 10000.0, "layout": "half", "direction": "positive"}


def rotation(tokens: int = 4, *, batch: int = 1, heads: int = 2, first: int = 0, rows: bool = False, **changed: object) -> Vector:
    """Return a call of ``rope.rotate``."""
    parameters = {**DEFAULT, **changed}
    positions = np.arange(first, first + tokens)
    return Vector(
        id="rope.rotate/drawn",
        operation="rope.rotate",
        exposes="",
        parameters=parameters,
        inputs={
            "x": np.zeros((batch, heads, tokens, int(parameters["head_dim"]))),
            "positions": np.tile(positions, (batch, 1)) if rows else positions,
        },
        drawn=True,
    )


def widths(*values: int) -> list[Vector]:
    return [rotation(head_dim=value) for value in values]


@pytest.mark.parametrize(
    ("passed", "failed", "words"),
    [
        (widths(8, 32, 128, 256), widths(64, 80, 96, 64), "where head_dim is 64, 80 or 96"),
        (widths(8, 64, 256), widths(128) * 3, "where head_dim is 128"),
        ([rotation(base=1e4), rotation(base=1e6)], [rotation(base=5e6), rotation(base=8e6)] * 2, "from base 5e+06 on"),
        ([rotation(layout="half")], [rotation(layout="interleaved")] * 3, "where layout is interleaved"),
        ([rotation(4), rotation(32)], [rotation(33), rotation(65)] * 2, "with more than 32 tokens"),
        ([rotation(4), rotation(8)], [rotation(1)] * 3, "with fewer than 4 tokens"),
        ([rotation(batch=1), rotation(batch=2)], [rotation(batch=3), rotation(batch=5)] * 2, "in batches of 3 or more"),
        ([rotation(first=0), rotation(first=5)], [rotation(first=-3)] * 3, "at negative positions"),
        ([rotation(first=-512)], [rotation(first=-600)] * 3, "where positions go below -512"),
        ([rotation(first=100)], [rotation(first=4093)] * 3, "where positions exceed 103"),
        ([rotation(batch=2)], [rotation(batch=2, rows=True)] * 3, "where positions differ by row of the batch"),
        (
            [rotation(batch=4, heads=16), rotation(batch=1, heads=32), rotation(batch=8, heads=8), rotation(batch=6, heads=8)],
            [rotation(batch=5, heads=16), rotation(batch=3, heads=32), rotation(batch=7, heads=16)],
            "where batch x head exceeds 64",
        ),
    ],
)
def test_what_parts_failing_cases_from_passing_ones_is_told(passed: Sequence[Vector], failed: Sequence[Vector], words: str) -> None:
    assert f"wrong only {words}" in conditions([*passed] * 12, failed)


def test_nothing_is_told_where_hardly_any_case_fails() -> None:
    assert conditions([rotation(base=1e4)] * 40, [rotation(base=1000.3, heads=70)] * 2) == ()


def test_few_values_of_many_that_no_passing_case_has_are_no_condition() -> None:
    passed = widths(*range(4, 40, 4), *range(4, 80, 4))

    assert conditions(passed, widths(30, 30, 38)) == ()
    assert conditions(passed, widths(30, 30, 38, 38, 30)) == ("wrong only where head_dim is 30 or 38",)


def test_heads_of_a_bias_are_told_by_their_number() -> None:
    def bias(heads: int) -> Vector:
        places = np.arange(3)
        inputs = {"query_positions": places, "key_positions": places}
        return Vector("made", "alibi.bias", "", parameters={"num_heads": heads, "max_bias": 8.0, "form": "row"}, inputs=inputs)

    assert conditions([bias(4), bias(8), bias(64)] * 4, [bias(6), bias(12), bias(40)]) == ("wrong only where num_heads is no power of two",)


def test_a_product_is_not_told_where_a_factor_parts_them() -> None:
    told = conditions([rotation(heads=8)] * 12, [rotation(heads=32)] * 3)

    assert told == ("wrong only with more than 8 heads",)


def test_nothing_is_told_where_a_passing_case_has_the_same() -> None:
    assert conditions(widths(8, 64, 8), widths(64, 8)) == ()


def test_real_numbers_that_lie_between_others_are_no_condition() -> None:
    cases = [rotation(base=value) for value in (100.0, 300.0, 500.0, 700.0, 900.0)]

    assert conditions(cases[::2], cases[1::2]) == ()


def test_nothing_is_told_where_hardly_any_case_passes() -> None:
    assert conditions(widths(8, 8), widths(64, 80, 96) * 9) == ()


@pytest.mark.parametrize("group", [0, 1])
def test_nothing_is_told_where_all_pass_or_all_fail(group: int) -> None:
    groups: list[list[Vector]] = [[], []]
    groups[group] = widths(8, 64, 96)

    assert conditions(*groups) == ()


def test_large_calls_whose_values_are_sampled_are_compared_like_others() -> None:
    assert conditions([rotation()] * 12, [rotation(2049)] * 3)[0] == "wrong only with more than 4 tokens"
