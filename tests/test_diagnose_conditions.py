"""What failing cases have in common that no passing one has is told in words."""

from collections.abc import Sequence
from dataclasses import replace

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
    )


def each_its_own(calls: Sequence[Vector], word: str = "made") -> list[Vector]:
    """Return the calls as ones that weren't made of one another."""
    return [replace(call, id=f"{call.id}-{word}-{number}") for number, call in enumerate(calls)]


def widths(*values: int) -> list[Vector]:
    return [rotation(head_dim=value) for value in values]


def of_lengths(*counts: int) -> list[Vector]:
    return [rotation(count) for count in counts]


def in_batches(*counts: int) -> list[Vector]:
    return [rotation(batch=count) for count in counts]


def from_places(*starts: int) -> list[Vector]:
    return [rotation(first=start) for start in starts]


def in_all(*products: int) -> list[Vector]:
    """Return calls of so many heads in all, in two batches and in few heads or in one batch, so that neither parts them."""
    return [call for count in products for call in (rotation(batch=count // 2, heads=2), rotation(batch=2, heads=count // 2))]


@pytest.mark.parametrize(
    ("passed", "failed", "words"),
    [
        (widths(8, 32, 128, 256), widths(64, 80, 96) * 3, "where head_dim is 64, 80 or 96"),
        (widths(8, 64, 256), widths(128) * 3, "where head_dim is 128"),
        ([rotation(base=1.0 + n) for n in range(9)], [rotation(base=5e6 + n) for n in range(5)], "from base 5e+06 on (right up to 9)"),
        (widths(*range(2, 34, 2)), widths(66, 68, 70), "from head_dim 66 on (right up to 32)"),
        (in_batches(*range(1, 11)), in_batches(16, 17, 18, 65), "in batches of 16 or more (right up to 10)"),
        (from_places(*range(-512, -480)), from_places(129, 130, 131, 140), "where all positions exceed -481"),
        ([rotation(layout="half")], [rotation(layout="interleaved")] * 3, "where layout is interleaved"),
        (of_lengths(*range(2, 33)), of_lengths(33, 65, 129), "with more than 32 tokens"),
        (of_lengths(*range(4, 24)), of_lengths(1, 2, 3), "with fewer than 4 tokens"),
        (in_batches(*range(1, 11)), in_batches(11, 12, 13, 14, 65), "in batches of 11 or more"),
        (from_places(*range(16)), from_places(-3, -5, -7), "at negative positions"),
        (from_places(*range(-512, -480)), from_places(-600, -700, -800), "where positions go below -512"),
        (from_places(*range(80, 101)), from_places(4093, 5000, 6000), "where positions exceed 103"),
        ([rotation(batch=2)], [rotation(batch=2, rows=True)] * 3, "where positions differ by row of the batch"),
        (in_all(*range(8, 66, 2)), [*in_all(80, 96, 112), rotation(batch=10, heads=10)], "where batch x head exceeds 64"),
    ],
)
def test_what_parts_failing_cases_from_passing_ones_is_told(passed: Sequence[Vector], failed: Sequence[Vector], words: str) -> None:
    assert f"wrong only {words}" in conditions(each_its_own([*passed] * 12), each_its_own(failed, "other"))


@pytest.mark.parametrize(
    ("passed", "failed"),
    [
        (widths(4, 8, 16, 32, 64), widths(2, 2, 2)),
        (of_lengths(1, 2, 3, 4, 9, 10), of_lengths(5, 17, 33, 577)),
        (of_lengths(1, 2, 4), of_lengths(3, 3)),
        (in_batches(1, 2), in_batches(3, 5)),
        (from_places(0, 5), from_places(-3, -3, -3)),
    ],
    ids=["a bound of one value", "a value in one case each", "two cases", "a bound of two values", "one place"],
)
def test_what_few_values_may_have_by_chance_is_not_told(passed: Sequence[Vector], failed: Sequence[Vector]) -> None:
    told = conditions(each_its_own([*passed] * 12), each_its_own(failed, "other"))
    assert told in ((), ("wrong only where head_dim is 2 (right from 4 on)",))


def test_calls_that_were_made_of_one_another_count_once() -> None:
    passed, failed = widths(8, 64, 256) * 12, widths(128) * 6

    assert conditions(each_its_own(passed), each_its_own(failed, "other")) == ("wrong only where head_dim is 128",)
    assert conditions(each_its_own(passed), [replace(call, drawn=True) for call in failed]) == ()


def test_nothing_is_told_where_hardly_any_case_fails() -> None:
    passed, failed = [rotation(base=1e4)] * 40, [rotation(base=1000.3, heads=70)] * 2

    assert conditions(each_its_own(passed), each_its_own(failed, "other")) == ()


def test_few_values_of_many_that_no_passing_case_has_are_no_condition() -> None:
    passed = each_its_own(widths(*range(4, 40, 4), *range(4, 80, 4)))

    assert conditions(passed, each_its_own(widths(30, 30, 38), "other")) == ()
    assert conditions(passed, each_its_own(widths(30, 38) * 3, "other")) == ("wrong only where head_dim is 30 or 38",)


def test_heads_of_a_bias_are_told_by_their_number() -> None:
    def bias(heads: int) -> Vector:
        places = np.arange(3)
        inputs = {"query_positions": places, "key_positions": places}
        return Vector(f"made-{heads}", "alibi.bias", "", parameters={"num_heads": heads, "max_bias": 8.0, "form": "row"}, inputs=inputs)

    passed, failed = ([bias(heads) for heads in counts] for counts in ((1, 2, 4, 8, 16, 32, 64, 128), (6, 12, 24, 40, 71)))

    assert conditions(passed, failed) == ("wrong only where num_heads is no power of two",)


def test_widths_are_told_by_what_divides_them() -> None:
    passed, failed = widths(8, 16, 24, 32, 64, 128), widths(4, 12, 20, 28, 36)

    assert conditions(each_its_own(passed * 2), each_its_own(failed, "other")) == ("wrong only where head_dim is no multiple of 8",)


def test_a_product_is_not_told_where_a_factor_parts_them() -> None:
    passed, failed = ([rotation(heads=heads) for heads in counts] for counts in (range(1, 9), (32, 33, 40, 64, 128)))
    told = conditions(each_its_own(passed), each_its_own(failed, "other"))

    assert told == ("wrong only with more than 8 heads",)


def test_nothing_is_told_where_a_passing_case_has_the_same() -> None:
    assert conditions(each_its_own(widths(8, 64, 8) * 9), each_its_own(widths(64, 8) * 3, "other")) == ()


def test_real_numbers_that_lie_between_others_are_no_condition() -> None:
    cases = [rotation(base=value) for value in (100.0, 300.0, 500.0, 700.0, 900.0)]

    assert conditions(each_its_own(cases[::2] * 9), each_its_own(cases[1::2] * 3, "other")) == ()


def test_nothing_is_told_where_hardly_any_case_passes() -> None:
    assert conditions(each_its_own(widths(8, 8)), each_its_own(widths(64, 80, 96) * 9, "other")) == ()


@pytest.mark.parametrize("group", [0, 1])
def test_nothing_is_told_where_all_pass_or_all_fail(group: int) -> None:
    groups: list[list[Vector]] = [[], []]
    groups[group] = widths(8, 64, 96)

    assert conditions(*groups) == ()


def test_large_calls_whose_values_are_sampled_are_compared_like_others() -> None:
    passed, failed = of_lengths(*range(1, 17)), of_lengths(2049, 1025, 577)

    assert conditions(each_its_own(passed), each_its_own(failed, "other"))[0] == "wrong only with more than 16 tokens"
