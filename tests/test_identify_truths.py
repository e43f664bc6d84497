"""What ``posenc identify`` says of code in the styles of real code bases is true: known schemes are named, the rest is unknown."""

import functools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import identify_truths
import numpy as np
import pytest
from test_identify import Here, identity_of, pasted, recognised, screen_of, told_of, verify
from test_identify import found as elsewhere

from conformance.adapt.selection import SelectionError
from conformance.cli import main
from conformance.identify import identify
from conformance.identify import reach as ends
from conformance.identify.asking import OVER, OutOfTimeError, Refused
from conformance.identify.findings import Confidence
from conformance.identify.kinds import OTHER_ODD
from conformance.identify.pasted import Checked, checked
from conformance.identify.plans import Plan, otherwise, said
from conformance.identify.screen import lines
from conformance.in_process import assert_conforms

found = functools.partial(recognised, identify_truths)
identity = functools.partial(identity_of, identify_truths)
told = functools.partial(told_of, identify_truths)
screen = functools.partial(screen_of, identify_truths)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("decoder_bias", {"operation": "t5.bias", "bidirectional": False, "num_buckets": 32, "max_distance": 128}),
        ("decoder_bias_masked", {"operation": "t5.bias", "bidirectional": False, "num_buckets": 32, "max_distance": 128}),
        ("tokens_first_at", {"operation": "rope.rotate", "layout": "half", "base": 1e4}),
        ("tables_of_both", {"operation": "rope.apply", "layout": "half"}),
        ("waves_of_both", {"operation": "rope.apply", "layout": "interleaved"}),
        ("steeper", {"operation": "alibi.bias", "slopes": "code", "form": "reversed", "num_heads": 8}),
        ("slopes_of", {"operation": "alibi.slopes", "slopes": "code", "num_heads": 8}),
        ("to_the_end", {"operation": "sinusoidal.encode", "spacing": "endpoint", "base": 1e4}),
        ("small_waves", {"operation": "sinusoidal.encode", "scale": 0.125, "dim": 64}),
        ("smaller_waves", {"operation": "sinusoidal.encode", "scale": 0.125, "dim": 64}),
        ("on_a_grid_tokens_first", {"operation": "axial_rope.rotate", "layout": "half", "base": 100.0, "order": "joined"}),
        ("on_a_grid_in_turns", {"operation": "axial_rope.rotate", "layout": "half", "base": 1e4, "order": "joined", "ladder": "in_turns"}),
        ("on_a_grid_tiled", {"operation": "axial_rope.rotate", "layout": "interleaved", "base": 1e4, "ladder": "tiled"}),
        ("on_both_sides", {"operation": "sincos_2d.encode", "order": "column_first", "layout": "halves", "base": 1e4}),
        ("wide_heads", {"operation": "rope.rotate", "layout": "half", "base": 1e4, "head_dim": 512}),
        ("raised_frequencies", {"operation": "ntk_aware.frequencies", "base": 1e4, "factor": 4.0, "head_dim": None}),
        ("wrongly_raised_frequencies", {"operation": "rope.frequencies", "head_dim": 64}),
        ("frequencies_of_a_quarter", {"operation": "proportional_rope.frequencies", "turned_pairs": 8, "head_dim": 64}),
        ("long_base", {"operation": "rope.rotate", "layout": "interleaved", "base": 12345.678}),
        ("padded_waves", {"operation": "sinusoidal.encode", "layout": "halves_cosine_first", "odd": "error"}),
        ("learned_of_lengths", {"operation": "kerple.bias", "form": "log"}),
        ("tables_of_a_batch", {"operation": "rope.tables", "base": 1e4}),
    ],
)
def test_code_in_the_style_of_a_code_base_is_recognised(name: str, expected: dict[str, Any]) -> None:
    seen = identity(name)
    shown = {"operation": seen.operation, **{key: value.value for key, value in seen.parameters.items()}}

    assert {key: shown.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("name", "operation", "words"),
    [
        ("logarithmic", "kerple.bias", "form log"),
        ("logarithmic_masked", "kerple.bias", "form log"),
        ("powers", "kerple.bias", "form power"),
        ("decoder_bias_inside", "t5.bias", "the past only, to distance 128"),
        ("attention", "rope.attend", "layout half"),
        ("scores", "rope.weights", "layout half"),
        ("plain_attention", "none.attend", "causal False"),
        ("masked_by_a_number", "alibi.bias", "form row"),
        ("lists_of_factors", "longrope.rotate", "with two lists of factors inside"),
    ],
)
def test_values_of_an_operation_that_cant_be_declared_are_named_without_an_adapter(name: str, operation: str, words: str) -> None:
    seen = identity(name)

    assert (seen.operation, seen.values_of) == (None, operation)
    assert words in seen.what
    assert told(name).declaration() is None
    assert f"the values of {operation} (no adapter):" in screen(name)


def test_numbers_inside_of_a_bias_are_found_per_head() -> None:
    for name in ("logarithmic", "powers", "logarithmic_masked"):
        assert identity(name).seen[:2] == ("first of the heads: 0.5, 1.25, 2, 0.125", "second of the heads: 1.5, 0.75, 0.3, 1")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bell", "a number of its own for every offset, on no line and in no buckets: what gives it isn't known"),
        ("steeper_attention", "attention (outputs) that no operation gives"),
        ("decaying", "with every position each becomes longer or shorter by a factor of its own"),
        ("louder", "x times numbers that depend on the position"),
        ("roots", "not linear in x: finite numbers give NaN or infinity"),
        ("running_mean", "what comes out at a token depends on other tokens too"),
        ("waves_of_squares", "sines and cosines of angles that are no multiples of the position"),
        ("drawn_waves", "sines and cosines, but their frequencies are on no known ladder"),
        ("unnamed", "unknown: the names of its arguments (stuff) don't say how it is called"),
        ("by_angles", "every pair turns by what was given for the token's position itself, so that the function may take angles"),
        ("normed", "the result isn't linear in x"),
        ("masked_only", "a causal mask, and nothing else"),
        ("window", "it hides keys, and not those that come later than the query"),
        ("dynamic_tables", "tables of cosines and sines, but its first positions are turned otherwise alone"),
    ],
)
def test_what_no_operation_gives_is_unknown_and_told_by_what_was_measured(name: str, words: str) -> None:
    seen = identity(name)

    assert (seen.operation, seen.values_of) == (None, None)
    assert words in seen.what


def test_frequencies_of_a_width_that_has_a_default_are_found() -> None:
    assert identity("usual_frequencies").operation == "rope.frequencies"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fused", "queries, keys and values in one array aren't tried: write a function that takes x"),
        ("on_sides", "only the height and the width, beside vectors or a width, are tried: write an adapter"),
        ("axis_first", "sections whose positions are ([batch], token, axis)"),
    ],
)
def test_code_whose_call_is_not_tried_is_told_what_to_write(name: str, words: str) -> None:
    assert words in otherwise(Here(getattr(identify_truths, name)).functions[0])


def test_what_was_measured_of_an_unknown_function_is_told() -> None:
    assert identity("bell").seen[0].startswith("its first head gives, 0, 1, 2, 4, 8, 16, 32, 64 positions back: 1.5, 1.471,")
    assert identity("decaying").seen == ("the angles are those of rope.rotate: base 10000",)
    assert any(line.startswith("the encoding: weights and outputs hide it") for line in identity("steeper_attention").unseen)


def test_heads_that_grow_with_the_tokens_are_no_heads() -> None:
    assert any(reason == "the number of heads changes with the number of tokens" for _, reason in found("heads_of_the_tokens").tried)


def test_a_number_of_heads_that_is_given_is_told_and_followed() -> None:
    for name in ("steeper", "slopes_of"):
        assert "num_heads        8                      as given; follows its argument" in screen(name)


def test_positions_that_are_rounded_are_right_up_to_where_rounding_shows() -> None:
    for name in ("coarse_rope", "coarse_waves"):
        assert "positions: right to 256, off at 257: their angles are too coarse there" in identity(name).seen
        assert "real positions: accepted, and rounded: 300.25 isn't turned by its own angle" in identity(name).seen


@pytest.mark.parametrize(
    ("name", "real", "negative"),
    [
        ("coarse_angles", "accepted, and rounded: 300.25 isn't turned by its own angle", "accepted, and turned back"),
        ("coarse_angles_of_distances", "accepted, and rounded: 300.25 isn't turned by its own angle", "accepted, and not turned back"),
        (
            "coarse_angles_of_whole_positions",
            "accepted, and not turned by their own angle, unless a pair turns by more than pi from one to the next",
            "accepted, and turned back",
        ),
    ],
)
def test_angles_that_are_rounded_are_turned_back_as_exactly_as_forward(name: str, real: str, negative: str) -> None:
    assert {f"real positions: {real}", f"negative positions: {negative}"} <= {*identity(name).seen}


def test_the_spacing_of_waves_is_certain_where_another_width_shows_it_and_a_guess_where_nothing_does() -> None:
    assert identity("to_the_end").parameters["spacing"].confidence is Confidence.CERTAIN
    assert identity("small_waves").parameters["spacing"].confidence is Confidence.LIKELY
    guess = identity("odd_base")
    assert {guess.parameters[name].confidence for name in ("spacing", "base")} == {Confidence.GUESS}
    assert guess.what == "base 7777 (a guess), spacing paper (a guess)"


def test_a_scale_that_is_a_power_of_the_width_is_told_and_declared_for_that_width() -> None:
    assert "scale: 0.125 is dim ** -0.5 too" in identity("small_waves").unseen
    assert "the scale changes with the width: 0.125 at 64, 0.176777 at 32, dim ** -0.5" in identity("smaller_waves").seen
    assert "dim=64" in str(told("smaller_waves").declaration())


@pytest.mark.parametrize(("name", "farthest"), [("fading", 32_768), ("growing", 32_767)])
def test_numbers_that_leave_their_dtype_are_not_called_wrong(name: str, farthest: int) -> None:
    ends = f"positions: right to {farthest} at least; at twice that right numbers are too small or too large for float32"
    assert ends in identity(name).seen


def test_the_reach_of_a_long_table_is_told_to_its_last_power_of_two() -> None:
    assert "positions: right to 262143, not at twice that" in identity("of_so_many_rows").seen


def test_channels_that_turn_between_others_are_told_in_words_and_cut_out() -> None:
    seen = identity("middle_channels")

    assert "channels 16 to 47 of 64 turn, those before and after them stay as they are" in seen.seen
    assert "placement" not in seen.parameters
    assert "(16, 16)" in str(told("middle_channels").declaration())
    assert "[..., 16:48]" in str(told("middle_channels").declaration())


def test_an_adapter_is_tried_before_it_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "truths.py"
    path.write_bytes(Path(identify_truths.__file__).read_bytes())

    (wrong,), (right,) = identify(f"{path}:coarse_rope"), identify(f"{path}:tokens_first_at")

    assert right.checked == Checked(conforms=True, words="checked at level smoke: it conforms")
    assert wrong.checked is not None
    assert wrong.checked.words == "checked at level smoke: the function doesn't conform as that: it rounds its positions to bfloat16"


@pytest.mark.parametrize(("name", "status"), [("coarse_rope", 1), ("tokens_first_at", 0)])
def test_a_function_that_its_own_check_finds_wrong_has_the_status_of_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, status: int
) -> None:
    path = tmp_path / "truths.py"
    path.write_bytes(Path(identify_truths.__file__).read_bytes())

    assert main(["identify", f"{path}:{name}"]) == status
    assert ("the function doesn't conform as that" in " ".join(capsys.readouterr().out.split())) is (status == 1)
    assert main(["identify", f"{path}:{name}", "--no-check"]) == 0


PASTED = (
    "decoder_bias", "decoder_bias_masked", "tokens_first_at", "tables_of_both", "waves_of_both",
    "steeper", "slopes_of", "to_the_end", "odd_base", "small_waves", "smaller_waves", "padded_waves",
    "on_a_grid_tokens_first", "rows_after_padding", "one_sequence", "one_sequence_at", "neighbours_in_memory",
    "middle_channels", "list_of_slopes", "learned_of_lengths", "in_double_precision", "by_a_power_of_the_factor", "tables_of_a_batch",
)  # fmt: skip


@pytest.mark.parametrize("name", PASTED)
def test_the_adapter_that_is_printed_conforms(name: str) -> None:
    text = told(name).declaration()
    assert text is not None

    verify(pasted(text))


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("heads_last", 'call="f(x, positions, theta=base)", axes="batch token head head_dim"'),
        ("heads_last_by_tables", 'rows="each", call="f(q, k, cos, sin)", axes="batch token head head_dim", tables="tiled"'),
        ("heads_last_by_shared_tables", 'rows="shared", call="f(x, cos, sin)", axes="batch token head head_dim", tables="tiled"'),
        ("tables_and_places", 'rows="each", call="f(q, k, cos, sin)", tables="tiled"'),
        ("neighbours_by_tables", 'call="f(x, sin=sin, cos=cos)", tables="repeated"'),
        ("waves_of_both", 'call="f(q, k, waves)", axes="batch token head head_dim"'),
        ("of_one_axis", 'rows="shared", call="f(x, positions)", axes="(batch head) token head_dim"'),
        ("apart", 'call="f(q, k, query_positions, key_positions)", axes="token batch head head_dim"'),
        ("heads_of_a_bias_last", 'positions="from_zero", call="f(num_heads, query_tokens, key_tokens)", axes="query key head"'),
        ("decoder_bias", 'positions="from_zero", call="f(query_tokens, key_tokens, table)", rows="each"'),
        ("neighbours_of_tables", 'positions="from_zero", call="f(tokens, head_dim, theta=base)", tables="repeated"'),
        ("tables_of_a_batch", 'rows="each", call="f(like, positions)", tables="tiled"'),
        ("learned_of_lengths", 'positions="from_zero", call="f(query_tokens, key_tokens, first, second)"'),
    ],
)
def test_the_adapter_says_how_the_function_is_called_as_adapters_declare_it_and_conforms(name: str, declared: str) -> None:
    text = told(name).declaration()

    assert text is not None
    assert f"{declared}, )" in " ".join(text.split())
    assert all(len(line) <= 76 for line in text.splitlines())
    verify(pasted(text))


def test_sines_that_come_first_are_put_in_order_by_a_function_around() -> None:
    text = told("sines_first").declaration()

    assert text is not None
    assert "sin, cos = sines_first(" in text
    verify(pasted(text))


def test_the_declaration_of_an_implementation_says_how_it_is_called_too() -> None:
    whole = told("heads_last")

    declaration = replace(whole, place=None).declaration()

    assert declaration is not None
    assert declaration.startswith('@adapter.implements("rope.rotate", ')
    assert 'axes="batch token head head_dim")' in " ".join(declaration.split())


def test_odd_widths_of_another_rule_are_told_and_not_asked_for_and_convicted_where_they_are_declared() -> None:
    assert identity("padded_waves").unseen[-1] == OTHER_ODD
    assert OTHER_ODD not in str(elsewhere("paper_table").identity)  # it refuses them
    declared = {"layout": "halves_cosine_first", "spacing": "paper", "scale": 1.0, "call": "f(positions, dim, base)", "level": "smoke"}

    assert_conforms(identify_truths.padded_waves, "sinusoidal.encode", odd="error", seed=1, **declared)
    with pytest.raises(AssertionError, match="must conform"):
        assert_conforms(identify_truths.padded_waves, "sinusoidal.encode", odd="zero_column", dim=7, seed=1, **declared)


@pytest.mark.parametrize(
    ("name", "declared"), [("contiguous_only", True), ("by_memory", True), ("neighbours_in_memory", True), ("heads_last", False)]
)
def test_code_that_takes_no_views_is_declared_so(name: str, declared: bool) -> None:  # noqa: FBT001  what is expected
    text = told(name).declaration()

    assert text is not None
    assert ("contiguous=True" in text) is declared


def test_ways_to_call_for_which_there_was_no_time_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identify", f"{identify_truths.__file__}:heads_last", "--seconds", "0"]) == 1

    shown = capsys.readouterr().out
    assert "unknown, the time is over (--seconds)" in shown
    assert "not tried, the time is over (--seconds): calls as f(like, positions), f(x, positions)" in " ".join(shown.split())
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_settings_for_which_there_was_no_time_are_told_and_nothing_is_to_be_pasted() -> None:
    known = replace(told("heads_last"), undone="which settings it follows, and an adapter", spent=OVER)

    shown = " ".join(" ".join(line for _, line in lines(known)).split())
    assert "not tried, the time is over (--seconds): which settings it follows, and an adapter" in shown
    assert known.declaration() is None


def test_no_settings_are_asked_for_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise OutOfTimeError

    monkeypatch.setattr("conformance.identify.settings", late)

    (known,) = identify(f"{identify_truths.__file__}:heads_last")

    assert (known.known, known.undone, known.checked) == (True, "which settings it follows, and an adapter", None)


def test_a_check_that_was_ended_by_the_time_is_told_as_that() -> None:
    text = told("heads_last").declaration()

    seen = checked(str(text), Path(identify_truths.__file__).parent, late=lambda: True)

    assert seen == Checked(conforms=False, words="the adapter wasn't checked to its end: the time is over (--seconds)")


@pytest.mark.parametrize(
    ("name", "source"), [("by_last_position", "the largest position plus 1"), ("by_length_or_last_position", "its argument")]
)
def test_a_rule_that_follows_the_length_is_recognised_also_where_it_takes_that_from_the_positions(name: str, source: str) -> None:
    seen = identity(name)
    values = {key: value.value for key, value in seen.parameters.items()}
    text = screen(name)

    assert (seen.operation, seen.follows) == ("dynamic_ntk.rotate", ("length",))
    assert (values["base"], values["factor"], values["original_length"]) == (1e4, 4.0, 2048)
    assert f"certain; follows {source}" in text
    assert "not seen" not in text
    assert told(name).document()["follows"] == ["length"]
    verify(pasted(str(told(name).declaration())))


@pytest.mark.parametrize("name", ["dynamic"])
def test_of_frequencies_that_change_with_the_call_nothing_is_told_that_holds_in_one_call_only(name: str) -> None:
    seen = identity(name)

    assert (seen.operation, seen.values_of, seen.seen) == (None, None, ())
    assert seen.what.startswith("a rotation in pairs, but its first positions are turned otherwise ")
    assert seen.parameters.keys() <= {"layout", "head_dim"}


@pytest.mark.parametrize("name", ["rows_after_padding", "rows_after_padding_made_anew"])
def test_positions_before_a_table_of_which_the_first_rows_are_none_are_declared_away(name: str) -> None:
    assert "lowest=2" in str(told(name).declaration())


def test_negative_positions_that_read_a_table_from_its_end_are_declared_away_where_it_grows() -> None:
    assert "lowest=0" in str(told("rows_that_grow").declaration())


def test_rows_and_columns_that_count_from_1_are_declared() -> None:
    assert "lowest=1," in str(told("on_a_grid_from_one").declaration())


def test_a_list_of_numbers_is_told_with_the_operation_that_it_would_be() -> None:
    seen = identity("list_of_slopes")

    assert seen.operation == "alibi.slopes"
    assert seen.seen == ("it returns a list of 8 numbers",)
    assert "return xp.asarray(list_of_slopes(num_heads))" in str(told("list_of_slopes").declaration())


def test_buckets_with_a_sign_are_told_as_those_before_the_middle_is_added() -> None:
    seen = identity("signed_buckets")

    assert (seen.operation, seen.values_of) == (None, "t5.bucket")
    assert {name: seen.parameters[name].value for name in ("convention", "num_buckets", "max_distance")} == {
        "convention": "deberta", "num_buckets": 64, "max_distance": 128,
    }  # fmt: skip
    assert seen.what.endswith("64, both directions, to distance 128; as signed numbers of query minus key, without the 32 added")


@pytest.mark.parametrize("name", ["normed", "decaying", "heads_last", "first_channels", "lists_of_factors"])
def test_the_width_of_a_head_is_told_only_where_another_one_gives_something_else(name: str) -> None:
    assert ("head_dim" in identity(name).parameters) is (name == "lists_of_factors")


def test_arguments_are_named_in_a_call_as_signatures_name_them() -> None:
    assert said("f(q, k, position_ids)").needs == ("q", "k", "positions")
    assert said("f(hidden_states, position_ids=input_pos, rope_theta=theta)").needs == ("x", "positions", "base")


@pytest.mark.parametrize(
    ("call", "roles"),
    [
        ("f(x, height, width)", ("x", "height", "across")),
        ("f(dim, height, width)", ("width", "height", "across")),
        ("f(dim, grid_size)", ("width", "side")),
        ("f(positions, dim)", ("positions", "width")),
        ("f(height, width)", ("height", "across")),
    ],
)
def test_sides_and_widths_are_written_in_a_call_as_they_are_told(call: str, roles: tuple[str, ...]) -> None:
    assert said(call).needs == roles
    assert said(call).words() == call


def test_the_sides_of_an_image_are_no_arrays_of_an_operation() -> None:
    assert Plan(("height", "width")).kind is None  # a width that is a number of channels: nothing takes it beside one side


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("f(q, k, key_table)", "--call can't ask for key_table: no function that takes it is looked for; write an adapter"),
        ("f(scores)", "--call can't ask for scores: no function that takes it is looked for; write an adapter"),
        ("f(x, cos_cache)", "--call can't ask for cos_cache: "),
        ("f(bananas)", "--call must name "),
    ],
)
def test_an_argument_that_cant_be_asked_for_is_refused_in_words(call: str, words: str) -> None:
    with pytest.raises(SelectionError, match=re.escape(words)):
        said(call)


def test_a_declaration_that_is_too_wide_is_told_with_what_makes_it_right() -> None:
    text = re.sub(r',\s*rows="shared"', "", str(told("one_sequence").declaration()))

    seen = checked(text, Path(identify_truths.__file__).parent)

    assert 'add rows="shared" to implements("rope.rotate", ...)' in seen.words


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("alibi_bent_at_40", "up to an offset of 40 it is alibi.bias, from 41 on it is not"),
        ("slopes_bent_at_400", "up to an offset of 400 it is alibi.bias (form symmetric), but with other slopes, from 404"),
        ("kerple_bent_at_40", "up to an offset of 40 it is kerple.bias, from 41 on it is not"),
        ("kerple_inside_bent_at_128", "its first head gives, 0, 1, 2, 4, 8, 16, 32, 64 positions back"),
    ],
)
def test_a_bias_that_leaves_a_scheme_at_a_far_offset_is_no_scheme(name: str, line: str) -> None:
    assert (identity(name).operation, identity(name).values_of) == (None, None)
    assert any(seen.startswith(line) for seen in identity(name).seen)


def test_numbers_are_said_of_the_heads_that_are_told_and_in_no_more_digits_than_show() -> None:
    seen = identity("odd_slopes")
    text = str(told("odd_slopes").declaration())

    assert seen.what == "slopes of 8 heads, max_bias 7.3, slopes paper"
    assert "max_bias=7.3," in text
    assert identity("steeper").what.startswith("of 8 heads,")


def test_a_long_string_is_broken_between_its_words() -> None:
    text = str(told("by_length_and_settings").declaration())
    lines_ = [line.strip() for line in text.splitlines() if line.strip().startswith(("call=", '"f', '"o'))]

    assert lines_ == ['call="f(x, positions, length, factor=factor, "', '"original_length=original_length)",']


@pytest.mark.parametrize(("name", "factor"), [("ntk_by_alpha", 8.0), ("ntk_by_required_alpha", 4.0)])
def test_a_base_that_an_alpha_raises_is_ntk_aware_scaling_and_follows_it(name: str, factor: float) -> None:
    seen, text = identity(name), str(told(name).declaration())

    assert (seen.operation, seen.parameters["factor"].value) == ("ntk_aware.rotate", factor)
    assert {setting.name for setting in told(name).settings if setting.allowed is None} >= {"factor"}
    verify(pasted(text))


def test_an_alpha_that_counts_for_nothing_leaves_plain_rope() -> None:
    assert identity("alpha_that_counts_for_nothing").operation == "rope.rotate"


def test_the_dtype_that_is_told_and_declared_is_one_that_the_function_takes() -> None:
    assert "called as f(x, positions) in float64" in screen("in_double_precision")
    assert 'dtypes=("float64",)' in str(told("in_double_precision").declaration())


def test_a_setting_that_changes_something_else_than_its_name_says_isnt_handed_on() -> None:
    text = " ".join(str(told("by_a_power_of_the_factor").declaration()).split())

    assert "factor=4.1829366" in text
    assert "head_dim=64" in text
    assert "scaling_factor" not in text


def test_a_mask_that_is_no_infinity_is_told_with_what_it_adds() -> None:
    assert any("by -1e+09 and not -inf" in line for line in identity("masked_by_a_number").seen)


def test_pairs_that_turn_more_than_half_a_circle_are_read_between_whole_positions() -> None:
    seen = identity("in_degrees").seen
    assert "real positions: accepted" in seen
    assert any(line.startswith("radians per position: 57.2958, 42.9658") for line in seen)


def test_zeros_are_no_slopes() -> None:
    assert ("f(length, num_heads)", "it gave zeros only") in found("no_slopes").tried


@pytest.mark.parametrize(("exceeded", "last"), [(True, None), (False, 99)])
def test_a_call_that_takes_too_long_shows_no_end_of_a_table(exceeded: bool, last: int | None) -> None:  # noqa: FBT001  what is asked
    def reach(position: int) -> list[np.ndarray]:
        if position > 99:
            raise Refused(str(position), fatal=exceeded, exceeded=exceeded)
        return []

    assert ends.last(reach) == last


def test_an_error_that_wants_a_number_says_nothing_of_another_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sides.py"
    path.write_text("import torch\n\ndef turn(x, height, width):\n    return x * torch.arange(height * width)\n")

    assert main(["identify", f"{path}:turn"]) == 2
    assert "--framework" not in capsys.readouterr().err


def test_an_alpha_beside_a_beta_is_the_end_of_a_band_and_follows_its_argument() -> None:
    assert identity("by_parts").operation == "ntk_by_parts.rotate"
    assert {setting.name for setting in told("by_parts").settings if setting.allowed is None} >= {"factor", "alpha", "beta"}


def test_slopes_of_no_rule_are_told_as_what_the_heads_rise_by() -> None:
    assert identity("slopes_from_zero").operation is None
    assert "from the key before to a query's own key its heads rise by 1, 0.5, 0.25, 0.125, " in " ".join(identity("slopes_from_zero").seen)
