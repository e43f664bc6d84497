"""What the judge says about replies made by hand."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.calls.outcomes import Failed, NotJudged, Outcome, Passed, Reason
from conformance.calls.subject import Reply
from conformance.judge import judge
from conformance.judge.judge import Judgement, exact_in, half_ulp
from conformance.spec.profiles import FORMATS, PROFILES
from conformance.spec.vectors import Vector, load

X = np.array([[[[0.5, -1.0], [0.25, 2.0]]]])


def vector(expected: np.ndarray, allowed: Mapping[str, object] | None = None, **said: object) -> Vector:
    """Return a vector of ``rope.rotate`` at positions 3 and 1000, unless told otherwise."""
    fields: dict[str, object] = {"operation": "rope.rotate", "inputs": {"x": X, "positions": np.array([3, 1000])}}
    radii = {profile: {"result": np.asarray(radius, dtype=np.float64)} for profile, radius in (allowed or {}).items()}
    return Vector(id="made/by-hand", exposes="", expected={"result": expected}, allowed=radii, **{**fields, **said})  # type: ignore[arg-type]  # fields by name


def reply(values: object, dtype: str = "float32") -> Reply:
    return Reply({"result": np.asarray(values)}, {"result": dtype})


def compare(case: Vector, came: Reply, dtype: str, profile: str, **masked: bool) -> Judgement:
    """Judge a reply, and see that the question without words has the same answer."""
    judgement = judge.compare(case, came, dtype, profile, **masked)
    assert masked or judge.fails(case, came, dtype, profile) == isinstance(judgement.outcome, Failed)
    return judgement


def reason(outcome: Outcome) -> Reason:
    assert isinstance(outcome, Failed)
    return outcome.reason


def everywhere(radius: float) -> dict[str, object]:
    return {profile: np.full(X.shape, radius) for profile in PROFILES}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("value", [1.0, 1.5, 0.1, 2.0**-13, 2.0**-24, 1e-7, 60000.0, 0.0])
def test_half_an_ulp_is_half_the_distance_to_the_next_number(value: float, dtype: str) -> None:
    rounded = np.dtype(dtype).type(value)

    assert half_ulp(np.asarray(float(rounded)), dtype) == float(np.nextafter(rounded, np.dtype(dtype).type(np.inf)) - rounded) / 2


def test_half_an_ulp_of_bfloat16_has_eight_bits() -> None:
    assert half_ulp(np.array([1.0, 3.0]), "bfloat16").tolist() == [2.0**-8, 2.0**-7]


def test_the_allowance_and_half_an_ulp_add_up() -> None:
    case = vector(X, everywhere(1e-3))
    step = 1e-3 + 2.0**-24 * np.abs(X)

    assert compare(case, reply(X + 0.999 * step), "float32", "float32").outcome == Passed()
    assert reason(compare(case, reply(X + 1.01 * step), "float32", "float32").outcome) is Reason.VALUE


def test_the_ratio_is_the_error_over_the_allowed() -> None:
    got = X.copy()
    got[0, 0, 1, 0] += 0.5

    judgement = compare(vector(X, everywhere(0.125)), reply(got), "float32", "float32")

    assert judgement.ratio == pytest.approx(4.0, rel=1e-6)
    assert judgement.worst == ("result", (0, 0, 1, 0))
    assert judgement.by_position == ((3, 0.0), (1000, judgement.ratio))


def test_a_reply_fails_beyond_a_multiple_of_the_allowed() -> None:
    case, off = vector(X, everywhere(0.125)), reply(X + np.array([0.5, 0.0]))

    assert judge.fails(case, off, "float32", "float32", beyond=3.9)
    assert not judge.fails(case, off, "float32", "float32", beyond=4.1)


def test_the_message_says_how_many_where_and_how_bad() -> None:
    got = X.copy()
    got[0, 0, 1] += 0.5

    outcome = compare(vector(X, everywhere(0.125)), reply(got), "float32", "float32").outcome

    assert outcome == Failed(
        Reason.VALUE, "2 of 4 differ; worst at (0, 0, 1, 0): 0.75, expected 0.25, off by 0.5, 4 times the allowed error"
    )


def test_the_strongest_profile_is_the_first_that_holds() -> None:
    case = vector(X, {**everywhere(0.0), "float32": np.full(X.shape, 1e-6), "bfloat16-model": np.full(X.shape, 0.1)})

    assert compare(case, reply(X, "float64"), "float32", "float32").profile_met == "float64"
    assert compare(case, reply(X + 9e-7), "float32", "float32").profile_met == "float32"
    assert compare(case, reply(X + 0.05), "float32", "float32").profile_met == "bfloat16-model"
    assert compare(case, reply(X + 1.0), "float32", "float32").profile_met is None


@pytest.mark.parametrize(
    ("dtype", "met"),
    [("float64", "float64"), ("float32", "float32"), ("float16", "float16-table"), ("bfloat16", "bfloat16-table")],
)
def test_the_profile_met_never_exceeds_the_dtype_that_came_back(dtype: str, met: str) -> None:
    assert compare(vector(X, everywhere(1.0)), reply(X, dtype), dtype, "bfloat16-model").profile_met == met


def test_the_weakest_of_several_dtypes_that_came_back_bounds_the_profile_met() -> None:
    rotated = {"query": X, "key": X}
    allowed = {profile: dict.fromkeys(rotated, np.full(X.shape, 1.0)) for profile in PROFILES}
    case = replace(vector(X, operation="rope.rotate_query_key"), expected=rotated, allowed=allowed)

    came = Reply(rotated, {"query": "float64", "key": "float32"})

    assert compare(case, came, "float32", "float32").profile_met == "float32"


def test_integers_meet_no_more_than_the_dtype_that_was_asked_for() -> None:
    buckets = vector(np.zeros((2, 2), dtype=np.int64), operation="t5.bucket", inputs={"offsets": np.zeros((2, 2), dtype=np.int64)})

    assert compare(buckets, reply(np.zeros((2, 2), dtype=np.int64), "int64"), "float32", "float32").profile_met == "float32"


def test_a_half_result_never_meets_the_tables_of_the_other_half_format() -> None:
    wide = {"bfloat16-table": np.full(X.shape, 1.0), "float16-model": np.full(X.shape, 0.5)}
    case = vector(X, {**everywhere(0.0), **wide})

    assert compare(case, reply(X + 0.25, "float16"), "float16", "float16-model").profile_met == "float16-model"


def test_nothing_allowed_and_nothing_wrong_is_right() -> None:
    exact = vector(np.zeros_like(X), everywhere(0.0))

    assert compare(exact, reply(-np.zeros_like(X)), "float32", "float32").ratio == 0.0


def test_elements_that_are_not_judged_are_counted() -> None:
    radius = np.full(X.shape, 1e-6)
    radius[0, 0, 1] = math.nan

    judgement = compare(vector(X, {"float32": radius}), reply(X + np.array([[0.0], [9.0]])), "float32", "float32")

    assert (judgement.outcome, judgement.not_judged, judgement.total) == (Passed(), 2, 4)
    assert [position for position, _ in judgement.by_position] == [3]


def test_a_case_without_a_judged_element_is_not_judged() -> None:
    judgement = compare(vector(X, {"float32": np.full(X.shape, math.nan)}), reply(X), "float32", "float32")

    assert isinstance(judgement.outcome, NotJudged)


def test_a_profile_without_allowance_is_not_judged() -> None:
    assert compare(vector(X), reply(X), "float32", "float32").outcome == NotJudged("no allowance is known at float32")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_never_passes(value: float) -> None:
    got = X.copy()
    got[0, 0, 0, 1] = value

    outcome = compare(vector(X, everywhere(math.nan)), reply(got), "float32", "float32").outcome

    assert outcome == Failed(Reason.NOT_FINITE, f"1 of 4 not finite; first at (0, 0, 0, 1): {value}")


def test_a_result_beyond_the_dtype_is_not_judged() -> None:
    large = np.full(X.shape, 70000.0)
    got = np.full(X.shape, np.inf)

    assert isinstance(compare(vector(large, everywhere(1.0)), reply(got, "float16"), "float16", "float16-model").outcome, NotJudged)
    assert isinstance(compare(vector(large, everywhere(1.0)), reply(got, "float32"), "float32", "float32").outcome, Failed)


def test_shape_comes_before_value() -> None:
    assert reason(compare(vector(X, everywhere(1.0)), reply(X[0]), "float32", "float32").outcome) is Reason.SHAPE


def test_another_name_is_no_result() -> None:
    judged = compare(vector(X, everywhere(1.0)), Reply({"other": X}, {"other": "float32"}), "float32", "float32")

    assert judged.outcome == Failed(Reason.MALFORMED, "results must be result, got other")


@pytest.mark.parametrize(("given", "got"), [("float32", "float16"), ("float16", "bfloat16"), ("bfloat16", "float16"), ("float32", "int64")])
def test_a_narrower_dtype_fails(given: str, got: str) -> None:
    assert reason(compare(vector(X, everywhere(1.0)), reply(X, got), given, "float32").outcome) is Reason.DTYPE


def test_a_wider_dtype_passes_and_is_noted() -> None:
    judgement = compare(vector(X, everywhere(1.0)), reply(X, "float64"), "float32", "float32")

    assert (judgement.outcome, judgement.wider) == (Passed(), "float64")


def test_without_floating_input_any_floating_dtype_is_judged_as_returned() -> None:
    slopes = np.array([0.5, 0.25])
    case = vector(slopes, {"float32": np.zeros(2)}, operation="alibi.slopes", inputs={}, parameters={"num_heads": 2})

    assert compare(case, reply(slopes + 2.0**-13, "float16"), "float32", "float32").outcome == Passed()
    assert isinstance(compare(case, reply(slopes + 2.0**-13, "float32"), "float32", "float32").outcome, Failed)


BUCKETS: dict[str, Any] = {"operation": "t5.bucket", "inputs": {"relative_positions": np.array([5, 9])}, "equality": "exact"}


def test_integers_are_exact_but_for_what_the_profile_reaches() -> None:
    case = vector(np.array([3, 11]), also={"float32": {"result": {1: (12,)}}}, **BUCKETS)

    assert compare(case, reply([3, 12], "int32"), "float32", "float32").outcome == Passed()
    assert isinstance(compare(case, reply([3, 12], "int32"), "float32", "float64").outcome, Failed)
    assert isinstance(compare(case, reply([3, 13], "int32"), "float32", "float32").outcome, Failed)
    assert isinstance(compare(case, reply([4, 11], "int32"), "float32", "float32").outcome, Failed)


@pytest.mark.parametrize(("values", "told"), [([3.0, 11.0], ": return these whole numbers as int64"), ([3.0, 11.5], "")])
def test_whole_numbers_are_told_to_be_returned_as_integers(values: list[float], told: str) -> None:
    outcome = compare(vector(np.array([3, 11]), **BUCKETS), reply(values, "float32"), "float32", "float32").outcome

    assert outcome == Failed(Reason.DTYPE, f"result must be integers, got float32{told}")


@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_an_integer_result_must_be_integers(dtype: str) -> None:
    assert reason(compare(vector(np.array([3, 11]), **BUCKETS), reply([3, 11], dtype), "float32", "float32").outcome) is Reason.DTYPE


def test_a_constant_per_row_is_free_and_nothing_else() -> None:
    row = np.array([[[-2.0, -1.0, 0.0], [-1.0, 0.0, 1.0]]])
    places = {"query_positions": np.array([2, 1]), "key_positions": np.array([0, 1, 2])}
    case = vector(row, {"float32": np.full(row.shape, 1e-6)}, operation="alibi.bias", inputs=places, equality="row_constant")
    bent = row + np.array([[[0.0, 0.01, 0.0], [0.0, 0.0, 0.0]]])

    assert compare(case, reply(row + np.array([[[5.0], [-3.0]]])), "float32", "float32").outcome == Passed()
    assert isinstance(compare(case, reply(bent), "float32", "float32").outcome, Failed)


def test_without_that_equality_a_constant_is_an_error() -> None:
    row = np.array([[[-2.0, -1.0, 0.0]]])
    places = {"query_positions": np.array([2]), "key_positions": np.array([0, 1, 2])}
    case = vector(row, {"float32": np.full(row.shape, 1e-6)}, operation="alibi.bias", inputs=places)

    assert isinstance(compare(case, reply(row + 5.0), "float32", "float32").outcome, Failed)


def test_a_position_keeps_its_sign() -> None:
    got = np.zeros((1, 1, 40, 4))
    right = got.copy()
    right[:, :, ::2] = 1.0
    places = np.stack([np.arange(-20, 0), np.arange(1, 21)], axis=-1).ravel()
    case = vector(right, {"float32": np.full(right.shape, 0.25)}, inputs={"x": got, "positions": places})

    judgement = compare(case, reply(got), "float32", "float32")

    assert isinstance(judgement.outcome, Failed)
    assert judgement.outcome.message.endswith("; wrong up to position -1")
    assert [position for position, ratio in judgement.by_position if ratio > 1] == list(range(-20, 0))


def test_an_element_of_two_axes_stands_at_the_farther_position() -> None:
    row = np.zeros((1, 2, 2))
    places = {"query_positions": np.array([7, 1]), "key_positions": np.array([0, 5])}
    case = vector(row, {"float32": np.ones(row.shape)}, operation="alibi.bias", inputs=places)

    assert [position for position, _ in compare(case, reply(row), "float32", "float32").by_position] == [1, 5, 7]


@pytest.mark.parametrize(
    ("value", "dtypes"),
    [(0.1, {"float64"}), (31 / 16, set(FORMATS)), (257.0, {"float64", "float32", "float16"}), (0.0, set(FORMATS))],
)
def test_an_input_is_judged_only_where_it_is_exact(value: float, dtypes: set[str]) -> None:
    case = vector(X, inputs={"x": np.full(X.shape, value), "positions": np.array([3, 1000])})

    assert {dtype for dtype in FORMATS if exact_in(case, dtype)} == dtypes


def sampled(shape: tuple[int, ...], at: object, **said: object) -> Vector:
    """Return a vector of zeros of ``rope.rotate`` that samples a few elements, with an allowance of an eighth."""
    indices = np.asarray(at)
    inputs = {"x": np.zeros(shape), "positions": 100 + np.arange(shape[2])}
    fields: dict[str, object] = {"inputs": inputs, "at": {"result": indices}, "shapes": {"result": shape}}
    radii = {profile: np.full(indices.size, 0.125) for profile in PROFILES}
    return vector(np.zeros(indices.size), radii, **{**fields, **said})


ROOM = (2, 4, 64, 8)
EVERY_FIFTH = np.arange(0, math.prod(ROOM), 5)


def message(case: Vector, values: np.ndarray) -> str:
    outcome = compare(case, reply(values), "float32", "float32").outcome
    assert isinstance(outcome, Failed)
    return outcome.message


def test_only_sampled_elements_are_judged_by_value() -> None:
    got = np.zeros(ROOM)
    got[1, 2, 3, 4] = 1.0
    flat = int(np.ravel_multi_index((1, 2, 3, 4), ROOM))

    judgement = compare(sampled(ROOM, [5, flat]), reply(got), "float32", "float32")

    assert compare(sampled(ROOM, [5, flat + 1]), reply(got), "float32", "float32").outcome == Passed()
    assert judgement.worst == ("result", (1, 2, 3, 4))
    assert judgement.total == 2
    assert judgement.by_position == ((100, 0.0), (103, pytest.approx(8.0, rel=1e-5)))


def test_the_whole_shape_of_a_sampled_result_is_checked() -> None:
    outcome = compare(sampled(ROOM, [5]), reply(np.zeros((2, 4, 64, 7))), "float32", "float32").outcome

    assert outcome == Failed(Reason.SHAPE, "result must have shape (2, 4, 64, 8), got (2, 4, 64, 7)")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_fails_where_it_was_not_sampled_too(value: float) -> None:
    got = np.zeros(ROOM)
    got[1, 2, 3, 4] = value

    assert message(sampled(ROOM, [5]), got) == f"1 of 4096 not finite; first at (1, 2, 3, 4): {value}"


def test_what_is_not_finite_from_a_tile_on_is_told() -> None:
    got = np.zeros(ROOM)
    got[:, :, 32:] = math.nan

    assert message(sampled(ROOM, [5]), got).endswith("; wrong from token 32 on")


def test_infinity_where_a_sample_says_that_the_dtype_ends_is_not_judged() -> None:
    case = sampled(ROOM, [0, 5])
    large = vector(np.array([0.0, 70000.0]), {"float16-model": np.zeros(2)}, inputs=case.inputs, at=case.at, shapes=case.shapes)
    got = np.zeros(ROOM)
    got[1] = math.inf

    assert compare(large, reply(got, "float16"), "float16", "float16-model").outcome == Passed()


@pytest.mark.parametrize(
    ("where", "told"),
    [
        (np.s_[:, :, 32:], "from token 32 on"),
        (np.s_[:, 2:], "from head 2 on"),
        (np.s_[1:], "from batch row 1 on"),
        (np.s_[..., 4:], "from channel 4 on"),
        (np.s_[:, :, 59:], "from token 59 on, the last 5 of 64"),
        (np.s_[:1, :, 32:], "from token 32 on and only at batch row 0"),
        (np.s_[:, :, :3], "up to token 2"),
        (np.s_[:, 1], "only at head 1"),
        (np.s_[:, :, 8:32], "from token 8 to 31"),
    ],
)
def test_the_message_says_where_wrong_elements_begin(where: Any, told: str) -> None:
    got = np.zeros(ROOM)
    got[where] = 1.0

    assert message(sampled(ROOM, EVERY_FIFTH), got).endswith(f" times the allowed error; of those compared, wrong {told}")


def test_pairs_that_are_wrong_in_the_half_layout_are_not_told_as_all_channels_from_one_on() -> None:
    got = np.zeros((1, 2, 4, 64))
    got[..., 17:32] = got[..., 49:] = 1.0

    assert message(sampled(got.shape, np.arange(got.size)), got).endswith(" times the allowed error")


def test_the_message_says_how_far_samples_are_right() -> None:
    got = np.zeros((1, 1, 64, 8))
    got[:, :, 32:] = 1.0
    tokens = np.concatenate([np.arange(0, 24 * 8, 2), np.arange(40 * 8, 64 * 8, 2)])

    assert message(sampled(got.shape, tokens), got).endswith("; of those compared, wrong from token 40 on (right up to 23)")


def test_a_position_is_told_where_no_axis_begins() -> None:
    got = np.zeros(ROOM)
    order = np.random.default_rng(0).permutation(64)
    got[:, :, order >= 32] = 1.0
    case = sampled(ROOM, EVERY_FIFTH, inputs={"x": got, "positions": 100 + order})

    assert message(case, got).endswith("; of those compared, wrong from position 132 on")


def test_scattered_mistakes_begin_nowhere() -> None:
    got = (np.random.default_rng(0).random(ROOM) < 0.2) * 1.0

    assert message(sampled(ROOM, EVERY_FIFTH), got).endswith(" times the allowed error")


def test_elements_of_one_row_are_free_by_a_constant_where_they_are_sampled_too() -> None:
    places = {"query_positions": np.arange(4), "key_positions": np.arange(6)}
    said: dict[str, Any] = {"operation": "alibi.bias", "inputs": places, "equality": "row_constant", "shapes": {"result": (2, 4, 6)}}
    at = np.array([7, 11, 8, 47, 43])
    case = vector(np.zeros(5), {"float32": np.full(5, 1e-6)}, at={"result": at}, **said)
    shifted = np.broadcast_to(np.arange(8.0).reshape(2, 4, 1), (2, 4, 6)).copy()
    bent = shifted.copy()
    bent[1, 3, 5] += 0.01

    assert compare(case, reply(shifted), "float32", "float32").outcome == Passed()
    assert isinstance(compare(case, reply(bent), "float32", "float32").outcome, Failed)


def masked_bias(**said: Any) -> Vector:
    """Return a bias of zeros at queries 0 to 2 and keys 0 to 2."""
    places = {"query_positions": np.arange(3), "key_positions": np.arange(3)}
    return vector(np.zeros((1, 3, 3)), {"float32": np.full((1, 3, 3), 1e-6)}, operation="alibi.bias", inputs=places, **said)


@pytest.mark.parametrize("value", [-math.inf, -3.4028234663852886e38, -2e38])
@pytest.mark.parametrize("equality", ["allowance", "row_constant"])
def test_a_masked_bias_hides_keys_after_their_query(value: float, equality: str) -> None:
    got = np.where(np.triu(np.ones((1, 3, 3)), 1) > 0, value, 0.0)

    assert compare(masked_bias(equality=equality), reply(got), "float32", "float32", masked=True).outcome == Passed()
    assert isinstance(compare(masked_bias(), reply(got), "float32", "float32").outcome, Failed)


def test_a_masked_bias_must_hide_every_key_after_its_query() -> None:
    outcome = compare(masked_bias(), reply(np.zeros((1, 3, 3))), "float32", "float32", masked=True).outcome

    message = "3 elements not masked where the key comes after the query; first at (0, 0, 1): 0, expected -inf"
    assert outcome == Failed(Reason.VALUE, message)


def test_a_masked_bias_is_judged_where_keys_are_seen() -> None:
    got = np.where(np.triu(np.ones((1, 3, 3)), 1) > 0, -math.inf, 0.0)
    hidden, wrong = got.copy(), got.copy()
    hidden[0, 2, 0] = -math.inf
    wrong[0, 2, 0] = 0.5

    assert reason(compare(masked_bias(), reply(hidden), "float32", "float32", masked=True).outcome) is Reason.NOT_FINITE
    assert reason(compare(masked_bias(), reply(wrong), "float32", "float32", masked=True).outcome) is Reason.VALUE


def test_sampled_elements_of_a_masked_bias_are_judged() -> None:
    got = np.where(np.triu(np.ones((1, 3, 3)), 1) > 0, -math.inf, 0.0)
    places = {"query_positions": np.arange(3), "key_positions": np.arange(3)}
    said: dict[str, Any] = {
        "operation": "alibi.bias",
        "inputs": places,
        "at": {"result": np.array([1, 6])},
        "shapes": {"result": (1, 3, 3)},
    }
    case = vector(np.zeros(2), {"float32": np.full(2, 1e-6)}, **said)

    assert compare(case, reply(got), "float32", "float32", masked=True).outcome == Passed()
    assert isinstance(compare(case, reply(np.where(got < 0, got, 1.0)), "float32", "float32", masked=True).outcome, Failed)


@pytest.mark.parametrize(("value", "ordinary"), [(1.5, True), (1e-12, False), (1e20, False)])
def test_a_judgement_says_whether_the_worst_number_is_easily_read(value: float, ordinary: bool) -> None:  # noqa: FBT001  a case
    vector = next(each for each in load(["rope.rotate"]) if each.id == "rope.rotate/half-negative")
    right = (vector.expected or {})["result"]
    scaled = replace(vector, expected={"result": right * 0 + value})
    reply = Reply({"result": right * 0 + 2 * value}, {"result": "float32"})

    assert judge.compare(scaled, reply, "float32", "float32").ordinary is ordinary
