"""What ``posenc identify`` says of functions as libraries have them, of which it once said something false, or nothing."""

import functools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import identify_natural
import numpy as np
import pytest
from test_identify import Here, pasted, recognised, screen_of, told_of, verify

from conformance.adapt.arrays import MisfitError
from conformance.identify import identify
from conformance.identify.asking import Signature
from conformance.identify.grids import APIECE, CROSSED
from conformance.identify.grids import INSIDE as OF_AXES
from conformance.identify.inside import _flat
from conformance.identify.plans import OTHER_WAY, how
from conformance.isolate.targets import TargetError

#: By how much ``by_a_multiple`` and ``by_a_square`` multiply.
MULTIPLE, ROOT = 0.9 * (0.1 * math.log(4) + 1), math.sqrt(1 + math.log(4) / math.log(4096))

SCRIPTED = """
import torch

@torch.jit.script
def rotate(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0):
    width = x.shape[-1]
    angles = positions[:, None].double() * base ** (-torch.arange(0, width, 2).double() / width)
    cos, sin = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
    first, second = x.chunk(2, dim=-1)
    return (x * cos + torch.cat((-second, first), -1) * sin).to(x.dtype)
"""


found = functools.partial(recognised, identify_natural)
told = functools.partial(told_of, identify_natural)
screen = functools.partial(screen_of, identify_natural)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fused", {"operation": "rope.apply", "layout": "half"}),
        ("as_wide_as_tables", {"operation": "rope.apply", "layout": "half"}),
        ("as_wide_as_x", {"operation": "rope.tables", "base": 1e4, "order": "sine, cosine"}),
        ("with_a_number", {"operation": "yarn.frequencies", "base": 1e4, "factor": 4.0}),
        ("from_an_offset", {"operation": "rope.rotate", "layout": "half", "base": 1e4}),
        ("by_timescales", {"operation": "sinusoidal.add", "base": 1e4, "spacing": "endpoint"}),
        ("by_half_the_slope", {"operation": "yarn.rotate", "slope": 0.05, "attention_factor": None}),
        ("by_a_multiple", {"operation": "yarn.rotate", "factor": 4.0, "attention_factor": pytest.approx(MULTIPLE, rel=1e-11)}),
        ("by_a_multiple_of_one", {"operation": "yarn.rotate", "slope": 0.1, "attention_factor": None, "mscale": None}),
        ("by_one_mscale", {"operation": "yarn.rotate", "slope": 0.05, "attention_factor": None, "mscale": None}),
        ("by_a_quotient", {"operation": "yarn.rotate", "mscale": 0.707, "mscale_all_dim": 0.5, "attention_factor": None}),
        ("by_a_quotient_of_one", {"operation": "yarn.rotate", "mscale": 0.707, "mscale_all_dim": 0.707, "attention_factor": None}),
        ("by_a_square", {"operation": "yarn.rotate", "factor": 4.0, "attention_factor": pytest.approx(ROOT, rel=1e-11)}),
        ("by_a_constant", {"operation": "yarn.rotate", "attention_factor": 1.25}),
        ("added_by_an_odd_scale", {"operation": "sinusoidal.add", "scale": 0.1234568}),
        ("fading_keys_first", {"operation": "xpos.rotate_query_key", "scale_base": 512.0}),
        ("fading_keys_back_first", {"operation": "xpos.rotate_query_key", "scale_base": 512.0}),
        ("of_so_many_tokens", {"operation": "rope.rotate", "layout": "half", "base": 1e4, "head_dim": 64}),
        ("one_of_so_many_tokens", {"operation": "rope.rotate", "layout": "half", "base": 1e4, "head_dim": 64}),
        ("by_pos_ids", {"operation": "rope.rotate", "base": 500_000.0}),
        ("keys_first_by_where", {"operation": "rope.rotate", "base": 500_000.0}),
        ("by_a_number_of_channels", {"operation": "partial_rope.rotate", "rotary_dim": 64, "base": 1e4}),
        ("by_sequence_lengths", {"operation": "alibi.bias", "form": "symmetric", "slopes": "paper"}),
    ],
)
def test_a_function_as_libraries_have_it_is_recognised_and_its_pasted_adapter_conforms(name: str, expected: dict[str, Any]) -> None:
    known = told(name)
    assert known.identity is not None
    shown = {"operation": known.identity.operation, **{key: value.value for key, value in known.identity.parameters.items()}}

    assert {key: shown.get(key) for key in expected} == expected
    verify(pasted(str(known.declaration())))


@pytest.mark.parametrize(
    ("name", "operation", "words"),
    [
        ("scaled_tables", "yarn.rotate", "factor 40, original_length 4096"),
        ("below_the_diagonal", "kerple.bias", "form log"),
        ("after_a_padding_row", "sinusoidal.encode", "added to x: base 10000, spacing endpoint"),
        ("by_angles_of_tokens_first", "rope.apply", "turns pairs by the angles that it is given"),
        ("by_angles_of_pairs", "rope.apply", "turns pairs by the angles that it is given"),
        ("log_below_the_diagonal", "kerple.bias", "form log"),
    ],
)
def test_values_of_an_operation_that_cant_be_declared_are_named(name: str, operation: str, words: str) -> None:
    identity = told(name).identity

    assert identity is not None
    assert (identity.operation, identity.values_of) == (None, operation)
    assert words in identity.what
    assert told(name).declaration() is None


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("fused", "called as f(x, cos, sin) in float32, x (batch, token, head, dim)"),
        ("as_wide_as_tables", "x (batch, head, token, dim), tables tiled"),
        ("as_wide_as_x", "head_dim         64                     as given; follows the width of x"),
        ("scaled_tables", "attention_factor 1.085726399"),
        ("scaled_tables", "not seen: an adapter: no operation has such tables"),
        ("with_a_number", "it returns 1.13863 besides, which may be an attention factor: the adapter leaves it out"),
        ("below_the_diagonal", "later keys get 0, at every distance, as torch.tril leaves them: no declaration says that"),
        ("from_an_offset", "called as f(q, k, offset)"),
        ("by_half_the_slope", "factor           4                      certain; follows its argument"),
        ("by_a_multiple", "factor           4                      certain; changes attention_factor too, by no known rule"),
        ("by_a_square", "factor           4                      certain; changes attention_factor too, by no known rule"),
        ("by_a_quotient", "mscale           0.707                  certain; follows its argument, unless that is None or 0"),
        ("by_a_constant", "factor           4                      certain; follows its argument"),
        ("by_timescales", "base             10000                  certain; follows its argument"),
        ("bent_below_the_diagonal", "up to an offset of 40 it is alibi.bias, from 41 on it is not"),
        ("bent_below_the_diagonal", "later keys get 0, at every distance, as torch.tril leaves them"),
        ("exponents_of_few_pairs", "the pairs have these exponents: 0.125, 0, 0, 0, 0.125, 0, 0, 0,"),
        ("one_further_back", "a straight line of the offset: in its first head -0.5 at the query itself, and -0.5 with each position back"),
        ("cosine_before_sine", "no known scheme: base 10000, spacing paper"),
        ("cosine_before_sine", "layout           interleaved_cosine_first certain"),
        ("square_waves", "no known scheme: rows of no formula that is known"),
        ("band_of_another_base", "truncate         False                  a guess"),
        ("band_of_another_base", "frequencies are off by up to "),
        ("placed_by_keyword", "called as f(x, input_pos=positions)"),
        ("exponents_by_channel", "no known scheme: rows of no formula that is known"),
        ("rows_of_their_own", "the values of learned.encode (no adapter): rows of no formula that is known, as those of a table inside"),
        ("pairs_from_one", "rope.rotate: base 10000"),
        ("pairs_from_one", "base             10000                  certain; follows its argument"),
        ("pairs_from_one", "its pairs are counted from 1: each has the frequency of the next one, the first that of the second"),
        ("waves_from_one", "sinusoidal.encode: base 10000, spacing paper"),
        ("waves_from_one", "its pairs are counted from 1: each has the frequency of the next one"),
        ("waves_to_both_ends", "sinusoidal.encode: base 10000, spacing endpoint"),
        ("by_angles_of_tokens_first", "x (token, batch, head, dim), tables tiled"),
        ("by_angles_of_pairs", "write a function of x, positions and base that makes the angles"),
        ("log_below_the_diagonal", "later keys get 0, at every distance, as torch.tril leaves them"),
        ("by_given_mscales", "mscale           None                   likely; follows its argument"),
        ("by_given_mscales", "mscale_all_dim   None                   likely; follows its argument"),
        ("last_of_a_length", "called as f(q, k, tokens) in float32, x (batch, head, token, dim)"),
        ("further_is_more", "up to an offset of 131 it is alibi.bias (form row), with the sign turned: further away is more, from 132"),
        ("further_keys_are_alike", "no known scheme: a bias that isn't a function of the offset between key and query: at position 1000"),
        ("further_keys_are_alike", "between the first positions it is alibi.bias (form row), with the sign turned: further away is more,"),
        ("learned_of_the_share", "no known scheme: a bias that isn't a function of the offset between key and query: at position 1000"),
        ("after_a_padding_row", "position offset: what is called 0 stands at 2"),
        ("by_a_number_of_channels", "rotary_dim       64                     certain; follows its argument"),
        ("by_a_number_of_channels", 'call="f(x, positions, n_dims=rotary_dim, freq_base=base)"'),
        ("of_any_length", "no known scheme: rotary, base 10000, times 1.23456789"),
        ("by_pos_ids", "base             500000                 certain; follows its argument"),
        ("keys_first_by_where", "called as f(k, q, positions)"),
        ("fading_keys_first", "called as f(k, q, positions)"),
        ("by_a_part_of_divided_positions", "the same as base 10000 over the first 32 channels (partial_rope) at positions divided by 4"),
        ("exponents_by_pair", "base             100                    certain; changes, but not to what is asked for"),
        ("decay_of_the_past", "later keys get 0"),
        ("class_of_a_position", "no known scheme: one-hot rows: each holds a single 1"),
        ("alike_everywhere", "no known scheme: the same row at every position that was asked for"),
        ("after_a_padding_row", "not seen: an adapter: its first row is that of position 2, and no call asks for a"),
    ],
)
def test_what_a_function_as_libraries_have_it_does_besides_is_told(name: str, line: str) -> None:
    assert line in screen(name)


@pytest.mark.parametrize("name", ["by_an_odd_constant", "by_an_odd_constant_in_float32"])
def test_a_factor_keeps_the_digits_that_were_measured(name: str) -> None:
    known = told(name)
    assert known.identity is not None
    factor, right = known.identity.parameters["attention_factor"], 1 + 0.0707 * math.log(16)

    assert factor.value == pytest.approx(right, rel=1e-7)
    assert factor.high - factor.low < 1e-6
    verify(pasted(str(known.declaration())))


def test_frequencies_that_are_nearly_those_of_a_rule_are_said_to_be_right_only_as_far_as_their_angles_are() -> None:
    shown = screen("band_of_another_base")
    reach = re.search(r"angles are right to position (\d+), and off by more than 0.001 beyond", shown)

    assert reach is not None
    assert int(reach.group(1)) < 1 << 20
    assert "positions: right to" not in shown
    assert "arithmetic of the angles" not in shown


@pytest.mark.parametrize(
    ("name", "call"), [("keys_taken_first", "f(q=q, k=k, cos=cos, sin=sin)"), ("keys_first", "f(k, q, cos, sin)")]
)
def test_queries_and_keys_are_called_in_the_order_in_which_they_come_back(name: str, call: str) -> None:
    text = str(told(name).declaration())

    assert f'call="{call}"' in text
    assert ("its first result is made of queries, though it takes keys first" in screen(name)) is (name == "keys_taken_first")
    verify(pasted(text))


def test_offsets_as_classes_are_no_angles(tmp_path: Path) -> None:
    path = tmp_path / "natural.py"
    path.write_bytes(Path(identify_natural.__file__).read_bytes())

    (seen,) = identify(f"{path}:offsets_as_one_hot", call="f(positions)", check=False)

    assert seen.identity is not None
    assert seen.identity.what.startswith("one-hot rows")


def test_factors_of_later_keys_are_no_finite_numbers_without_a_mask() -> None:
    assert "no mask" not in screen("decay_of_the_past")


def test_code_of_which_no_call_gives_anything_is_told_how_to_say_its_call(tmp_path: Path) -> None:
    path = tmp_path / "natural.py"
    path.write_bytes(Path(identify_natural.__file__).read_bytes())

    with pytest.raises(TargetError, match=r"write a function around it of x and positions, of positions, of dim, or of what else"):
        list(identify(f"{path}:numbers_of_heads"))


UNTRIED = "write an adapter of temperature.learned_scale, which isn't tried"
TO_CALL = "say how it is called with --call, as in --call 'f({})'"


def signature(function: Callable[..., Any]) -> Signature:
    return Here(function).functions[0]


@pytest.mark.parametrize(
    ("function", "tried", "advice"),
    [
        (lambda: 3, ["f()"], OTHER_WAY),
        (lambda *_: 3, ["f(positions, bits)"], TO_CALL.format("x, positions")),
        (lambda x=None, positions=None: (x, positions), ["f(positions)"], TO_CALL.format("x, positions")),
        (lambda *, aa, bb: (aa, bb), [], TO_CALL.format("aa=x, bb=positions")),
        (lambda x, positions: (x, positions), ["f(x, positions)"], OTHER_WAY),
        (lambda x, positions, cfg: (x, positions, cfg), ["f(q, k, positions)"], OTHER_WAY),
        (lambda aa, bb: (aa, bb), ["f(x, positions)"], TO_CALL.format("query_positions, key_positions")),
        (lambda positions, slopes, biases: (positions, slopes, biases), [], UNTRIED),
    ],
)
def test_what_a_person_is_told_to_write_is_a_call_that_was_not_tried_and_can_be_made(
    function: Callable[..., Any], tried: list[str], advice: str
) -> None:
    assert how(signature(function), tried) == advice


def test_none_among_results_is_told_as_that() -> None:
    with pytest.raises(MisfitError, match="a result must be an array or several, got None in a tuple"):
        list(_flat((np.ones(3), None)))


@pytest.mark.parametrize(
    ("name", "slopes", "biases"),
    [("logarithm_of_heads", "0.1, 0.2, 0.4", "1, 0.5, 2"), ("logarithm_by_one_number", "0.37", "0.81")],
)
def test_learned_numbers_inside_of_a_temperature_are_told_without_an_adapter(name: str, slopes: str, biases: str) -> None:
    known = told(name).identity

    assert known is not None
    assert (known.operation, known.values_of) == (None, "temperature.learned_scale")
    assert known.seen == (f"slopes inside: {slopes}", f"biases inside: {biases}")


@pytest.mark.parametrize(("name", "what"), [("by_both_axes", CROSSED.format(2)), ("by_each_axis", APIECE.format(2))])
def test_learned_frequencies_of_several_axes_are_told_as_not_tried(name: str, what: str) -> None:
    known = told(name).identity

    assert known is not None
    assert (known.operation, known.what, known.unseen) == (None, what, (OF_AXES.format("mixed_rope.rotate"),))


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("column_first", {}, "no encoding of rows and columns by their numbers gives the result; those divided by the sides"),
        ("of_a_video", {}, r"frames aren't tried: for a function that turns vectors write an adapter with positions='grid'"),
        ("table_of_a_video", {}, r"got f\(embed_dim, grid_size, grid_depth\): frames aren't tried"),
        ("rows_of_caches", {}, r"write an adapter with call='f\(q, k, cos_cache, sin_cache, position_ids\)'"),
        ("waves_to_both_ends", {"dim": 2}, "ZeroDivisionError"),
    ],
)
def test_a_function_that_is_refused_is_told_what_was_seen_and_what_to_write(
    name: str, given: dict[str, int], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "natural.py"
    path.write_bytes(Path(identify_natural.__file__).read_bytes())

    with pytest.raises(TargetError, match=words):
        list(identify(f"{path}:{name}", given=given))


def test_a_module_in_train_mode_whose_answers_differ_is_told_to_be_put_out_of_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "trained.py"
    path.write_text("import torch\nmodule = torch.nn.Dropout(0.5)\n", encoding="utf-8")

    (seen,) = identify(f"{path}:module", check=False)

    assert "the module is in train mode, where dropout draws numbers: call .eval() on it" in seen.faults


def test_frequencies_that_a_function_is_given_are_told_to_be_made_from_a_width_and_a_base(tmp_path: Path) -> None:
    path = tmp_path / "natural.py"
    path.write_bytes(Path(identify_natural.__file__).read_bytes())

    with pytest.raises(TargetError, match=r"got f\(freqs\): frequencies that a function is given aren't tried: write a function of dim"):
        list(identify(f"{path}:slowed_where_long"))


def test_a_function_of_torchscript_is_called_by_the_names_of_its_schema(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "scripted.py"
    path.write_text(SCRIPTED)

    (seen,) = identify(f"{path}:rotate", check=False)

    assert seen.identity is not None
    assert seen.identity.operation == "rope.rotate"
    assert 'call="f(x, positions, base=base)"' in str(seen.declaration())


def test_xpos_whose_centre_moves_with_the_sequence_is_told_as_that(tmp_path: Path) -> None:
    path = tmp_path / "natural.py"
    path.write_bytes(Path(identify_natural.__file__).read_bytes())

    (seen,) = identify(f"{path}:fading_about_the_middle", check=False)

    assert seen.identity is not None
    assert seen.identity.operation is None
    assert seen.identity.what.startswith("as xpos.rotate_query, scale_base 512, but its centre moves: 51 where")
