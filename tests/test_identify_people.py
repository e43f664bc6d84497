"""What ``posenc identify`` says of functions that newcomers brought, and of the adapters that they pasted."""

import functools
from pathlib import Path
from typing import Any

import identify_people
import numpy as np
import pytest
from test_identify import identity_of, pasted, recognised, screen_of, told_of, verify

from conformance.adapt.selection import SelectionError
from conformance.identify import identify
from conformance.identify.additive import OF_PLACES, OF_SIDES
from conformance.identify.biases import OF_OFFSETS
from conformance.identify.findings import Confidence
from conformance.identify.following import UNTOLD, settings
from conformance.identify.grids import IMAGE
from conformance.identify.recognise import Found
from conformance.isolate.targets import TargetError

found = functools.partial(recognised, identify_people)
identity = functools.partial(identity_of, identify_people)
told = functools.partial(told_of, identify_people)
screen = functools.partial(screen_of, identify_people)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("by_last_position", {"operation": "longrope.rotate", "base": 1e4, "original_length": 3_000, "max_length": 131_072}),
        ("by_length", {"operation": "longrope.rotate", "original_length": 4_096, "max_length": 1}),
        ("one_list", {"operation": "longrope.rotate_searched", "base": 1e4, "start_tokens": 0}),
        ("learned_exponents", {"operation": "lerope.rotate", "layout": "half", "base": 5e5, "factor": 1.0}),
        ("kerple_log", {"operation": "kerple.bias", "form": "log"}),
        ("slowed", {"operation": "ntk_aware.frequencies", "base": 1e4, "factor": 4.0}),
        ("slowed_throughout", {"operation": "ntk_aware.frequencies", "factor": 4.0, "fastest": "slowed", "power": 1.0}),
        ("mixed", {"operation": "ntk_aware.frequencies", "base": 1e4, "factor": 8.0, "fastest": "slowed", "power": 0.625}),
        ("mixed_by", {"operation": "ntk_aware.frequencies", "fastest": "slowed"}),
        ("by_sections", {"operation": "mrope.rotate", "order": "contiguous", "base": 1e4}),
        ("sections_first", {"operation": "mrope.rotate", "order": "contiguous", "base": 1e4}),
        ("after_padding", {"operation": "learned.encode", "offset": 2, "outside": "raise"}),
        ("eight_heads", {"operation": "rope.rotate", "layout": "half", "base": 1e4}),
        ("twelve_heads", {"operation": "rope.rotate", "head_dim": 64, "base": 1e4}),
        ("heads_of_all", {"operation": "rope.rotate", "layout": "half", "base": 1e4}),
        ("of_one_length", {"operation": "rope.rotate", "head_dim": 64, "base": 1e4}),
        ("square_of_waves", {"operation": "sincos_2d.encode", "order": "column_first"}),
        ("added_to_image", {"operation": "sincos_2d.add", "order": "column_first", "embedding_scale": "none"}),
        ("added_to_sides", {"operation": "sincos_2d.add", "order": "column_first"}),
        ("turned_rows_and_columns", {"operation": "axial_rope.rotate", "base": 1e4, "order": "block", "layout": "half"}),
        ("tables_on_any_axes", {"operation": "rope.tables", "base": 5e6, "head_dim": 128}),
    ],
)
def test_a_function_that_people_bring_is_recognised_and_its_pasted_adapter_conforms(name: str, expected: dict[str, Any]) -> None:
    shown = {"operation": identity(name).operation, **{key: value.value for key, value in identity(name).parameters.items()}}

    assert {key: shown.get(key) for key in expected} == expected
    verify(pasted(str(told(name).declaration())))


@pytest.mark.parametrize("name", ["by_last_position", "by_length", "always_long", "one_list"])
def test_a_number_of_which_many_values_give_the_same_is_never_certain(name: str) -> None:
    wide = [seen for seen in identity(name).parameters.values() if isinstance(seen.value, int) and seen.low != seen.high]

    assert wide
    assert Confidence.CERTAIN not in [seen.confidence for seen in wide]
    assert all(seen.value < 1 << 21 for seen in wide)


@pytest.mark.parametrize(
    ("name", "words"),
    [("tables_of_lists", "up to 4096 tokens, against base 10000"), ("always_long", "length can't be seen")],
)
def test_values_of_longrope_whose_lists_or_length_cant_be_handed_on_have_no_adapter(name: str, words: str) -> None:
    assert (identity(name).operation, identity(name).values_of) == (None, "longrope.rotate")
    assert words in screen(name)
    assert told(name).declaration() is None


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("kerple_log", 'queries="at_end"'),
        ("slowed", "called as f(dim, base, factor)"),
        ("slowed", 'call="f(head_dim, base, factor)"'),
        ("slowed_throughout", 'fastest="slowed", power=1.0, call="f(head_dim, base, factor)"'),
        ("mixed", 'base=10000.0, factor=8.0, fastest="slowed", power=0.625, call="f(head_dim)"'),
        ("mixed_by", 'fastest="slowed", call="f(head_dim, base, factor, power)"'),
        ("by_sections", "sections=lambda sections: len(sections) == 3"),
        ("sections_first", 'axes="axis batch token"'),
        ("sections_first", "positions (axis, batch, token)"),
        ("after_padding", "lowest=0"),
        ("eight_heads", "it takes 8 heads, and no other number: the adapter puts zeros beside others"),
        ("twelve_heads", "it takes 12 heads, and no other number"),
        ("heads_of_all", 'call="f(x, positions, head)", axes="batch token (head head_dim)"'),
        ("of_one_length", "it takes 128 tokens, and no other number"),
        ("of_one_length", 'positions="from_zero", highest=127'),
        ("turned_rows_and_columns", "x (row, height, width, dim)"),
        ("tables_on_any_axes", "positions on 3 axes are taken too: mrope.rotate's tables, which an adapter can't declare"),
        ("added_to_image", "x (row, height, width, dim)"),
        ("added_to_sides", 'positions="grid", call="f(x, height, width)"'),
        ("of_half_tables", "its cosines and sines are rounded to a half format"),
        ("forgetting_its_start", "past_len changes nothing: rows are those of positions from 0 on, whatever past_len says"),
        ("forgetting_its_start", 'positions="consecutive", call="f(x, offset)"'),
        ("tables_of_a_fixed_head", "head_dim 64 certain; whatever its argument is"),
        ("tables_of_a_fixed_head", "head_dim=64"),
        ("tables_of_divided_positions", "head_dim 64 as given"),
        ("with_an_odd_sine", "odd error only declared"),
        ("with_an_odd_sine", "odd widths: they are taken, and give other rows than any convention has"),
        ("turned_by_side", "axes (32, 32) as given"),
        ("steeper_by_half", "head_dim 64 certain; at other widths it is another"),
        ("masked_from_the_end", "the numbers count them from 0, and the mask from the end of the keys: one of the two is wrong"),
        ("masked_from_zero", "the numbers count them from the end of the keys, and the mask from 0: one of the two is wrong"),
        ("masked_column", "alibi.bias: of 8 heads, max_bias 8, slopes paper, form column"),
        ("llama_frequencies", "base 500000 certain; follows its argument"),
        ("llama_frequencies", "high_freq_factor 4 likely; follows its argument"),
        ("fading", "scale_base 512 certain; follows its argument"),
        ("part_of_a_told_head", "rotary_dim 32 certain; follows its argument"),
        ("by_lists_of_two_lengths", "(131011-131133) likely; follows its argument"),
        ("by_lists_of_two_lengths", "max_position_embeddings=max_length"),
        ("bucketed_past", "max_distance 128 certain; follows its argument"),
        ("greatest_powers", "first of the heads: 0.01, 0.03 second of the heads: 2, 1.9"),
        ("slight_powers", "the values of kerple.bias (no adapter): of 2 heads, form power, with numbers inside"),
    ],
)
def test_how_a_function_that_people_bring_is_called_is_told_and_declared(name: str, line: str) -> None:
    assert line in " ".join(f"{screen(name)} {told(name).declaration()}".split())


@pytest.mark.parametrize(
    "name",
    ["tables_of_a_fixed_head", "with_an_odd_sine", "masked_column", "llama_frequencies", "fading", "part_of_a_told_head", "bucketed_past"],
)
def test_what_is_declared_of_a_setting_holds_when_it_is_pasted(name: str) -> None:
    verify(pasted(str(told(name).declaration())))


def test_a_setting_of_which_only_another_operation_shows_is_not_said_to_be_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.identify.following.NUMBERS", 1)
    known = found("llama_frequencies")
    assert known.identity is not None
    assert known.probe is not None

    fates = {one.name: one for one in settings(known.identity, known.probe)}

    assert (fates["base"].allowed, fates["base"].note) == ((500_000.0,), UNTOLD)


def test_a_factor_that_no_length_of_a_model_gives_is_told_as_the_number_that_it_is() -> None:
    known = identity("growth_by_hand")

    assert (known.operation, known.values_of) == (None, "longrope.rotate")
    assert "max_length" not in known.parameters
    assert known.parameters["attention_factor"].value == 1.25
    assert known.unseen == ("an adapter: the attention factor would be that of max_length 271000, which no model has",)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "log_rows",
            "DeBERTa's buckets: 512, both directions, to distance 512; as signed numbers of query minus key, without the 256 added",
        ),
        ("bucket_rows", "T5's buckets: 32, both directions, to distance 128"),
    ],
)
def test_buckets_of_all_queries_and_keys_are_told_as_those_however_near_ones_look(name: str, words: str) -> None:
    known = identity(name)

    assert (known.operation, known.values_of, known.what) == (None, "t5.bucket", words)
    assert OF_OFFSETS in known.unseen


@pytest.mark.parametrize(("name", "got"), [("rows_of_lists", "a list of lists"), ("tables_by_name", "dict")])
def test_code_that_returns_no_array_is_told_what_to_write(name: str, got: str, tmp_path: Path) -> None:
    path = tmp_path / "brought.py"
    path.write_bytes(Path(identify_people.__file__).read_bytes())

    with pytest.raises(TargetError, match=f"got {got}.*: write a function around it that returns the array"):
        list(identify(f"{path}:{name}", check=False))


@pytest.mark.parametrize(
    ("name", "operation", "expected"),
    [
        ("tables_on_three_axes", "mrope.rotate", {"sections": (24, 20, 20), "order": "interleaved", "base": 5e6, "head_dim": 128}),
        ("tables_of_every_axis", "rope.tables", {"base": 1e4, "head_dim": 128}),
    ],
)
def test_tables_of_positions_on_several_axes_are_told_without_an_adapter(name: str, operation: str, expected: dict[str, Any]) -> None:
    known = identity(name)

    assert (known.operation, known.values_of) == (None, operation)
    assert {key: known.parameters[key].value for key in expected} == expected
    assert "positions (axis, batch, token)" in screen(name)
    assert told(name).declaration() is None


def test_an_image_that_is_turned_by_no_known_rotation_is_told_as_that() -> None:
    assert (identity("turned_by_roots").operation, identity("turned_by_roots").what) == (None, IMAGE)


def test_code_that_takes_a_mask_and_a_dtype_is_told_what_to_write(tmp_path: Path) -> None:
    path = tmp_path / "brought.py"
    path.write_bytes(Path(identify_people.__file__).read_bytes())

    with pytest.raises(TargetError, match=r"got f\(attention_mask, num_heads, dtype\): masks aren't tried: .*; a dtype or a device isn't"):
        list(identify(f"{path}:bias_of_a_mask", check=False))


def test_rows_that_are_the_same_whatever_x_is_are_told_as_those_of_their_encoding() -> None:
    known = identity("rows_as_wide")

    assert (known.operation, known.values_of) == (None, "sinusoidal.encode")
    assert {name: known.parameters[name].value for name in ("layout", "spacing", "base")} == {
        "layout": "interleaved", "spacing": "paper", "base": 10_000.0,
    }  # fmt: skip
    assert "rows that are the same whatever x is" in screen("rows_as_wide")
    assert told("rows_as_wide").declaration() is None


def test_a_part_that_fills_the_first_head_that_is_tried_is_told_as_a_part() -> None:
    known = identity("last_part")

    assert known.operation == "partial_rope.rotate"
    assert {name: known.parameters[name].value for name in ("rotary_dim", "placement", "layout")} == {
        "rotary_dim": 64, "placement": "last", "layout": "interleaved",
    }  # fmt: skip
    assert "head_dim" not in known.parameters


def test_slowed_cosines_and_sines_side_by_side_are_told_as_those_of_their_scheme() -> None:
    known = identity("slowed_side_by_side")

    assert (known.operation, known.values_of) == (None, "yarn.rotate")
    assert {name: known.parameters[name].value for name in ("layout", "base", "factor")} == {
        "layout": "halves_cosine_first", "base": 1_000_000.0, "factor": 4.0,
    }  # fmt: skip
    assert "cosines and sines side by side" in screen("slowed_side_by_side")


def test_where_a_factor_of_one_hides_other_parameters_they_are_told_as_unseen_and_not_declared() -> None:
    assert not {"original_length", "beta_fast", "beta_slow", "truncate"} & identity("learned_exponents").parameters.keys()
    assert "beta_slow, truncate can't be seen:" in screen("learned_exponents")
    assert "original_length=" not in screen("learned_exponents")


def test_learned_exponents_inside_of_a_function_are_told_as_such_that_any_frequencies_have() -> None:
    (line,) = [line for line in identity("exponents_inside").seen if line.startswith("as lerope.rotate, as any frequencies are: ")]
    told_exponents = [float(number) for number in line.rpartition(": ")[2].split(", ")]

    assert identity("exponents_inside").operation is None
    assert np.allclose(told_exponents, identify_people.LEARNED, atol=1e-5)  # logarithms of what was measured of turns in float32


def test_another_rule_of_given_exponents_is_not_taken_for_the_known_one() -> None:
    assert identity("exponents_of_two").operation is None
    assert identity("exponents_of_two").what.endswith("no rule that is known makes them of exponents")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("clipped_indices", "indices, not numbers of a table: key minus query, clipped to -16 and 16, plus 16"),
        ("clipped_distances", "indices, not numbers of a table: query minus key, clipped to -3 and 8"),
    ],
)
def test_clipped_distances_are_told_as_indices_and_not_as_a_table_inside(name: str, words: str) -> None:
    assert (identity(name).operation, identity(name).values_of, identity(name).what) == (None, None, words)


def test_rows_of_places_by_no_known_formula_are_told_as_such_and_not_as_a_call_without_an_answer() -> None:
    known = found("of_sides")

    assert known.identity is not None
    assert (known.identity.operation, known.identity.what, known.tried) == (None, OF_PLACES, ())
    assert OF_SIDES in screen("of_sides")


def test_queries_and_keys_turned_by_tables_of_a_given_length_are_asked_at_a_length_that_holds_the_positions() -> None:
    assert identity("of_kept_tables").operation == "dynamic_ntk.rotate"
    assert {name: identity("of_kept_tables").parameters[name].value for name in ("base", "factor", "original_length")} == {
        "base": 10_000.0, "factor": 2.0, "original_length": 2_048,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"base": "abc"}, "--set base must be a number, got 'abc'"),
        ({"layout": "haf"}, r"--set layout must be one of .*did you mean half\?"),
    ],
)
def test_a_setting_that_no_operation_takes_is_named(setting: dict[str, Any], words: str) -> None:
    with pytest.raises(SelectionError, match=words):
        list(identify(f"{identify_people.__file__}:turned", given=setting))


def test_numbers_inside_of_a_bias_are_printed_as_exactly_as_single_precision_shows_them() -> None:
    lines = [line.rpartition(": ")[2] for line in identity("kerple_inside").seen if " of the heads: " in line]
    numbers = [[float(number) for number in line.split(", ")] for line in lines]

    assert [each[0] for each in numbers] == [0.25, 1.5]
    assert np.allclose(numbers, [[0.25, 0.44119075], [1.5, 0.9171178]], rtol=1e-5, atol=0)


def test_code_of_positions_on_axes_that_are_not_tried_is_told_which_are(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = (("f(q, k, positions)", "IndexError: index 1 is out of bounds (brought.py:1 in turned)"),)
    monkeypatch.setattr("conformance.identify.recognise", lambda _, signature, *__: Found(signature, None, tried=refused))

    with pytest.raises(TargetError, match=r"positions are tried as \(token\), .* and \(axis, batch, token\): write a function around it"):
        list(identify(f"{identify_people.__file__}:turned", check=False))
