from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.calls.outcomes import Diagnosis, Errored
from conformance.diagnosis import relations
from conformance.diagnosis.diagnose import Observation, diagnose, explain
from conformance.diagnosis.seen import Element
from conformance.mutants.building import altered
from conformance.reports import markdown, page
from conformance.show import report
from conformance.show.summary import convictions
from conformance.spec.vectors import Vector, load
from refimpl.forms.rotary import QueryKey
from refimpl.schemes import alibi, rope, sinusoidal, t5
from tests.test_diagnose import observe, only
from tests.test_report import a_report, result, right, wrong

Function = Callable[..., np.ndarray]


def told(operation: str, function: Function, **parameters: object) -> tuple[str, ...]:
    diagnosis = explain(operation, only(observe(operation, function), **parameters), "float32")
    if diagnosis is None:
        return ()
    assert not diagnosis.named
    return diagnosis.description


def turned_further(angle: Callable[[np.ndarray], np.ndarray]) -> Function:
    """Return rope in the half layout whose pairs are turned further."""

    def rotate(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        more = np.broadcast_to(angle(positions.astype(float)), positions.shape)[..., None]
        more = more[:, None] if more.ndim > 2 else more
        a, b = np.split(rope.rotate(x, positions, **given), 2, axis=-1)
        return np.concatenate([a * np.cos(more) - b * np.sin(more), a * np.sin(more) + b * np.cos(more)], axis=-1)

    return rotate


def with_a_stranger(function: Function) -> Function:
    """Return a function whose first head is also off by a little noise, which nothing explains."""

    def changed(*arrays: np.ndarray, **given: Any) -> np.ndarray:
        value = np.array(function(*arrays, **given))
        value[..., :1] += 0.37 * np.cos(np.arange(value[..., :1].size)).reshape(value[..., :1].shape)
        return value

    return changed


def test_nothing_is_said_of_what_is_right() -> None:
    assert explain("rope.rotate", observe("rope.rotate", rope.rotate), "float32") is None


def test_one_row_of_a_batch_is_not_every_odd_one() -> None:
    def second_late(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        late = positions + 3 * (np.arange(len(x)) == 1)[:, None] if positions.ndim == 2 else positions
        return rope.rotate(x, late, **given)

    assert not [clue for clue in told("rope.rotate", second_late) if "every odd" in clue]


def test_every_odd_channel_is_told_where_two_of_them_are_wrong() -> None:
    def stirred(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        value = np.array(rope.rotate(x, positions, **given))
        value[..., 1::2] += 0.37 * np.cos(np.arange(value[..., 1::2].size)).reshape(value[..., 1::2].shape)
        return value

    assert "only every odd channel is wrong" in told("rope.rotate", stirred, head_dim=8)


def test_rows_are_not_listed_where_most_results_are_wrong_in_every_row() -> None:
    def late_but_for_a_row(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        late = positions + 3 * (np.arange(len(x)) != 2)[:, None] if positions.ndim == 2 else positions
        return rope.rotate(x, late, **given)

    assert not [clue for clue in told("rope.rotate", late_but_for_a_row) if clue.startswith("only row")]


def test_what_has_a_name_is_named() -> None:
    seen = observe("rope.rotate", altered("rope.rotate", parameters=lambda given: {**given, "base": 10001.0}))

    assert explain("rope.rotate", seen, "float32") == diagnose("rope.rotate", seen, "float32")


def test_heads_in_another_order_are_told() -> None:
    assert any(
        clue.startswith("the heads come in another order: ")
        for clue in told("rope.rotate", lambda x, p, **given: rope.rotate(x, p, **given)[:, ::-1])
    )


def test_a_constant_phase_is_told_with_its_angle() -> None:
    clues = told("rope.rotate", turned_further(lambda positions: 0 * positions + 0.125), layout="half", direction="positive")

    assert "a phase error: every pair keeps its length, and the angle is off by 0.125 everywhere" in clues
    assert "wrong at every position" in clues


def test_a_phase_that_grows_with_the_position_is_told() -> None:
    clues = told("rope.rotate", turned_further(lambda positions: 1e-3 * positions), layout="half", direction="positive")

    assert "a phase error: every pair keeps its length, and the angle is off in proportion to the position" in clues
    assert "right at position 0, wrong from position 1 on, and at negative ones" in clues


def test_a_phase_of_far_positions_alone_does_not_grow_with_the_position() -> None:
    clues = told("rope.rotate", turned_further(lambda positions: 0.7 * (positions > 1000)), layout="half", direction="positive")

    assert any(clue.startswith("a phase error") for clue in clues)
    assert not any("in proportion" in clue for clue in clues)


@pytest.mark.parametrize(("pair", "words"), [(-1, "the last pair"), (0, "the first pair")])
def test_a_pair_that_alone_is_off_is_told(pair: int, words: str) -> None:
    def kept(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        result, half = np.array(rope.rotate(x, positions, **given)), x.shape[-1] // 2
        result[..., [pair % half, pair % half + half]] = x[..., [pair % half, pair % half + half]]
        return result

    clues = told("rope.rotate", kept, layout="half", direction="positive", head_dim=8)
    assert any(clue.startswith(f"a phase error of {words} alone: every pair keeps its length") for clue in clues)


def test_pairs_that_alone_are_off_are_numbered() -> None:
    def kept(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        result, half = np.array(rope.rotate(x, positions, **given)), x.shape[-1] // 2
        return np.where(np.arange(2 * half) % half == 2, x, result)

    clues = told("rope.rotate", kept, layout="half", direction="positive", head_dim=8)
    assert any(clue.startswith("a phase error of pair 2 alone, of 4: ") for clue in clues)


def test_an_error_of_magnitude_is_told_from_one_of_phase() -> None:
    clues = told("rope.rotate", lambda x, p, **given: rope.rotate(x, p, **given) * np.linspace(1, 2, x.shape[2])[:, None])

    assert "an error of magnitude: every pair points the right way, its length is wrong" in clues


def quarter_turned(values: np.ndarray) -> np.ndarray:
    first, second = np.split(values, 2, axis=-1)
    return np.concatenate([-second, first], axis=-1)


def longer(values: np.ndarray) -> np.ndarray:
    return values * np.linspace(1, 2, values.shape[-2])[:, None]


@pytest.mark.parametrize("change", [quarter_turned, longer])
def test_nothing_is_said_of_pairs_where_values_are_averaged(change: Callable[[np.ndarray], np.ndarray]) -> None:
    clues = told("rope.attend", lambda *arrays, **given: change(rope.attend(*arrays, **given)), layout="half")
    assert not any("pair" in clue or "phase" in clue for clue in clues)


def test_the_angle_of_a_phase_error_is_told_with_its_case() -> None:
    def more(positions: np.ndarray) -> np.ndarray:
        return np.asarray(np.sin(positions) ** 2 / (1 + positions.max()))

    clues = told("rope.rotate", turned_further(more), layout="half", direction="positive")
    (clue,) = [clue for clue in clues if clue.startswith("a phase error")]
    figure, case = clue.partition("off by up to ")[2].partition(")")[0].split(" (in ")
    (seen,) = [one for one in observe("rope.rotate", turned_further(more)) if one.vector.id == case]
    angles = more(seen.vector.inputs["positions"].astype(float))
    assert float(figure) == pytest.approx(float(np.max(np.abs(angles))), rel=1e-2)


def test_no_angle_is_told_where_the_pair_that_is_turned_farthest_cant_be_seen() -> None:
    def far(positions: np.ndarray) -> np.ndarray:
        return np.where(positions > 500_000, 2.0, 0.05 * (positions % 3))

    clues = told("rope.rotate", turned_further(far), layout="half", direction="positive")
    assert any(clue.startswith("a phase error") for clue in clues)
    assert not any("off by up to" in clue for clue in clues)


def test_the_position_from_which_it_is_wrong_is_told() -> None:
    assert "right up to position 2048, wrong from position 2049 on" in told(
        "sinusoidal.encode", lambda p, **given: sinusoidal.encode(np.where(p > 2048, p + p // 3, p), **given)
    )


def test_negative_positions_that_are_wrong_too_are_told_beside_those_from_which_it_is_wrong() -> None:
    def wrapped(positions: np.ndarray, **given: Any) -> np.ndarray:
        return sinusoidal.encode(np.where((positions < 0) | (positions > 2048), positions + 3000.5, positions), **given)

    assert "right up to position 2048, wrong from position 2049 on, and at negative ones" in told("sinusoidal.encode", wrapped)


def test_positions_that_happen_to_come_out_right_are_not_told() -> None:
    def in_one_layout(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        return rope.rotate(x, positions, **given) + (given["layout"] == "half")

    assert not any(clue.startswith("wrong at every position but") for clue in told("rope.rotate", in_one_layout))


def test_positions_that_are_right_beside_wrong_ones_are_told() -> None:
    def but_256(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        return rope.rotate(x, positions, **given) + (positions != 256)[..., None, :, None] * np.cos(np.arange(x.shape[-1]))

    assert "wrong at every position but 256" in told("rope.rotate", but_256)


def wrong_where(off: Callable[[np.ndarray, int], np.ndarray]) -> str:
    """Return what is told of encodings that are off at such positions, told them and the width."""

    def encode(positions: np.ndarray, **given: Any) -> np.ndarray:
        value = np.array(sinusoidal.encode(positions, **given))
        return value + off(np.asarray(positions), value.shape[-1])[:, None] * np.cos(np.arange(value.shape[-1]))

    return "; ".join(told("sinusoidal.encode", encode))


def test_a_bug_that_position_does_not_decide_has_no_boundary() -> None:
    assert "position" not in wrong_where(lambda positions, width: (positions > 0) * (width % 8 == 0))
    assert "position" not in wrong_where(lambda positions, _: (positions > 5) * (np.arange(positions.size) % 2 == 0))


def test_the_head_that_is_wrong_is_told() -> None:
    def last_head(q: np.ndarray, k: np.ndarray, **given: Any) -> np.ndarray:
        return alibi.bias(q, k, **given) * np.where(np.arange(given["num_heads"]) == given["num_heads"] - 1, 1.37, 1.0)[:, None, None]

    assert "only the last head is wrong" in told("alibi.bias", last_head, form="row")


def off_in_rows(*calls: tuple[int, Sequence[int]], drawn: bool = False) -> tuple[str, ...]:
    """Return what is told of rotations of so many rows, of which some are wrong."""
    every = []
    for number, (size, rows) in enumerate(calls):
        right = np.random.default_rng(number).normal(size=(size, 2, 4, 8))
        off = np.isin(np.arange(size), rows)[:, None, None, None] * np.random.default_rng(100 + number).normal(size=right.shape)
        vector = Vector(
            f"rope.rotate/made-{number}",
            "rope.rotate",
            "",
            parameters={"head_dim": 8, "base": 1e4, "layout": "half", "direction": "positive"},
            inputs={"x": right, "positions": np.arange(4)},
            expected={"result": right},
            allowed={"float32": {"result": np.zeros(right.shape)}},
            drawn=drawn,
        )
        every.append(Observation(vector, {"result": right + off}, "float32"))
    diagnosis = explain("rope.rotate", every, "float32")
    return () if diagnosis is None else tuple(clue for clue in diagnosis.description if "row" in clue)


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([(6, [2])] * 4, "only row 2 of the batch is wrong"),
        ([(6, [0])] * 3, "only the first row of the batch is wrong"),
        ([(6, [4, 5]), (7, [4, 5, 6]), (8, [4, 5, 6, 7])], "only rows of the batch from 4 on are wrong"),
        ([(7, [0, 3, 6]), (9, [0, 3, 6]), (10, [0, 3, 6, 9])], "only rows of the batch whose index is a multiple of 3 are wrong"),
        ([(6, [4, 5]), (7, [4, 5, 6]), (10, [8, 9]), (11, [8, 9, 10])], "only rows of the batch beyond the last multiple of 4 are wrong"),
        ([(5, [1, 2, 3, 4]), (7, [1, 2, 3, 4, 5, 6]), (6, [1, 2, 3, 4, 5])], "only what follows the first row of the batch is wrong"),
    ],
)
def test_the_rows_of_the_batch_that_are_wrong_are_told(calls: list[tuple[int, list[int]]], words: str) -> None:
    assert off_in_rows(*calls) == (words,)


@pytest.mark.parametrize(
    "calls",
    [
        [(6, [0, 1, 4])] * 4,
        [(7, [1, 2, 4, 5, 6])] * 4,
        [(6, [2])],
        [(2, [0]), (3, [0])],
        [(6, [2]), (6, [2]), (6, [2]), (6, [3])],
    ],
    ids=["no pattern", "but one", "one call", "few rows", "another row in one call"],
)
def test_rows_that_a_person_would_not_name_or_that_chance_may_give_are_not_told(calls: list[tuple[int, list[int]]]) -> None:
    assert off_in_rows(*calls) == ()


def test_calls_that_were_made_of_one_another_count_once() -> None:
    assert off_in_rows(*[(6, [2])] * 4, drawn=True) == ()


def test_the_parameter_that_makes_it_wrong_is_told() -> None:
    def in_one_layout(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        return rope.rotate(x, positions, **given) + (given["layout"] == "half") * np.cos(positions)[..., None, :, None]

    assert "wrong only where layout is half" in told("rope.rotate", in_one_layout)


def test_the_result_that_is_wrong_is_told() -> None:
    def keys(*arrays: np.ndarray, **given: Any) -> QueryKey:
        query, key = rope.rotate_query_key(*arrays, **given)
        return QueryKey(query, with_a_stranger(lambda: key)())

    assert "key is wrong, query right" in told("rope.rotate_query_key", keys)


def test_the_only_channel_that_is_wrong_is_told() -> None:
    assert "only the first channel is wrong" in told("rope.rotate", with_a_stranger(rope.rotate))


def test_a_ratio_that_differs_between_vectors_is_told_with_both_ends() -> None:
    def scaled(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        return rope.rotate(x, positions, **given) * (1 + 0.01 * positions.size)

    assert any(clue.startswith("each result is the right one times a number: 1.") for clue in told("rope.rotate", scaled))


def test_a_wrong_sign_is_told() -> None:
    def flipped(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        sign = np.where(np.arange(x.shape[-1]) % 3 == 0, -1.0, 1.0)
        return rope.rotate(x, positions, **given) * sign

    assert "what is wrong has the right size and the wrong sign" in told("rope.rotate", flipped)


def test_a_wrong_shape_is_told() -> None:
    seen = [Observation(one.vector, {"result": one.got["result"][..., None]}, "float32") for one in observe("t5.bucket", t5.bucket)]
    diagnosis = explain("t5.bucket", seen, "float32")

    assert diagnosis is not None
    assert diagnosis.description[0].startswith("result has shape ")


def test_one_element_of_one_case_is_told_of_no_axis_and_no_position() -> None:
    calls: list[int] = []

    def once(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        calls.append(x.size)
        right = np.array(rope.rotate(x, positions, **given))
        right.flat[0] += len(calls) == 1
        return right

    clues = "; ".join(told("rope.rotate", once))
    assert calls
    assert "only" not in clues
    assert "wrong at every position" not in clues


def test_what_is_not_finite_is_counted() -> None:
    def infinite(positions: np.ndarray, **given: Any) -> np.ndarray:
        return np.where(positions[:, None] == 131_071, np.nan, sinusoidal.encode(positions, **given))

    assert any(" should be finite and " in clue for clue in told("sinusoidal.encode", infinite))


def test_an_axis_that_a_result_lacks_is_named() -> None:
    def only_row(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
        return np.asarray(rope.rotate(x, positions, **given)[0])

    assert any(clue.endswith("; the axis batch is missing") for clue in told("rope.rotate", only_row))


def test_equal_fits_come_with_the_vector_that_separates_them() -> None:
    from_zero = [one for one in observe("rope.rotate", by_index) if not one.vector.inputs["positions"][..., 0].any()]
    diagnosis = diagnose("rope.rotate", from_zero, "float32")

    assert diagnosis is not None
    names = (*diagnosis.mutants, *diagnosis.also_fits)
    assert {"rope.rotate/positions-ignored", "rope.rotate/first-position-counts"} <= set(names)
    assert diagnosis.separate[0].startswith(f"{names[1]} gives something else for rope.rotate/")
    assert diagnosis.separate[0].endswith(", which wasn't asked: the declaration or the selection leaves it out")


def by_index(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
    """Return rope by the index of the token, whatever its position."""
    return rope.rotate(x, np.broadcast_to(np.arange(positions.shape[-1]), positions.shape).copy(), **given)


UNNAMED = Diagnosis((), "", "", "", kind="unknown", description=("wrong at every position", "the heads come in another order: 1, 0"))


def test_the_reports_show_what_is_known_of_a_mistake_without_a_name() -> None:
    told_of = a_report(wrong(), diagnoses={"mine:rope.rotate:float32": UNNAMED})

    for shown in (report.text(told_of), page.text([told_of]), markdown.text([told_of])):
        assert all(clue in shown for clue in UNNAMED.description)
    assert "none of the known ones gives these values" in report.text(told_of)


def test_a_name_found_in_one_dtype_is_preferred_to_a_description_in_another() -> None:
    known = Diagnosis(("rope.rotate/degrees",), "takes degrees", "take radians", "convert")
    told_of = a_report(wrong(), wrong(dtype="float16"), diagnoses={"mine:rope.rotate:float32": UNNAMED, "mine:rope.rotate:float16": known})
    (conviction,) = convictions(told_of)

    assert conviction.diagnosis == known
    assert conviction.description == ()


def test_dtypes_that_are_wrong_by_other_mistakes_are_told_apart() -> None:
    degrees = Diagnosis(("rope.rotate/degrees",), "takes degrees", "take radians", "convert")
    shifted = Diagnosis(("rope.rotate/positions-from-one",), "counts from one", "count from zero", "subtract one")
    either = replace(shifted, also_fits=degrees.mutants)
    results = [wrong(dtype=dtype) for dtype in ("float32", "float16", "bfloat16")]
    keys = [f"mine:rope.rotate:{each.dtype}" for each in results]

    told_apart = convictions(a_report(*results, diagnoses=dict(zip(keys, (degrees, shifted, shifted), strict=True))))
    perhaps_one = convictions(a_report(*results[:2], diagnoses=dict(zip(keys, (degrees, either), strict=False))))

    assert [(each.dtypes, each.diagnosis) for each in told_apart] == [(("float16", "bfloat16"), shifted), (("float32",), degrees)]
    assert [each.dtypes for each in perhaps_one] == [("float32", "float16")]


def test_a_dtype_that_only_raises_is_told_apart_from_one_that_is_wrong_without() -> None:
    raised = result(Errored("RuntimeError: no kernel"), dtype="float64")

    told_apart = convictions(a_report(wrong(), raised))
    together = convictions(a_report(wrong(), replace(raised, dtype="float32"), raised))

    assert sorted(each.dtypes for each in told_apart) == [("float32",), ("float64",)]
    assert [each.dtypes for each in together] == [("float32", "float64")]


def test_what_is_right_in_the_dtype_of_most_calls_is_no_convention_to_declare() -> None:
    convention = Diagnosis(("rope.rotate/layout=half",), 'computes layout="half"', "honour it", "declare it", kind="convention")
    diagnoses = {"mine:rope.rotate:bfloat16": convention}
    (conviction,) = convictions(a_report(wrong(dtype="bfloat16"), right(), right("rope.rotate/nearer"), diagnoses=diagnoses))
    (everywhere,) = convictions(a_report(wrong(dtype="bfloat16"), right(dtype="float16"), diagnoses=diagnoses))

    assert conviction.diagnosis is not None
    assert conviction.diagnosis.does == 'computes layout="half", but not in float32'
    assert conviction.diagnosis.fix == "compute in every dtype what is right in float32"
    assert everywhere.diagnosis == convention


def test_the_screen_says_how_to_tell_equal_fits_apart() -> None:
    tied = Diagnosis(
        ("a/b",), "does", "should", "fix", also_fits=("a/c",), separate=("a/c gives something else for a/far, which wasn't answered",)
    )

    assert "tell apart a/c gives something else" in " ".join(
        report.text(a_report(wrong(), diagnoses={"mine:rope.rotate:float32": tied})).split()
    )


def test_values_that_turn_are_named_beside_wrong_frequencies() -> None:
    def attend(q: Any, k: Any, v: Any, m: Any, n: Any, *, base: float, causal: bool, **given: Any) -> np.ndarray:
        slower = {**given, "base": base**0.5}  # the exponent without its two
        return rope.attend(q, k, rope.rotate(v, n, **slower), m, n, causal=causal, **slower)

    diagnosis = explain("rope.attend", observe("rope.attend", attend), "float32")
    assert diagnosis is not None
    assert diagnosis.mutants == ("rope.attend/exponent-without-two", "rope.attend/values-turned")


@pytest.mark.parametrize(("allowed", "told"), [(1e-6, "the channels come in another order: 1, 0, 2"), (0.2, "")])
def test_an_order_is_told_only_where_each_entry_is_one_right_entry_and_no_other(allowed: float, told: str) -> None:
    right, got = np.array([[1.0, 2.0, 1.4]]), np.array([[2.0, 1.0, 1.4]])
    may = np.full((1, 3), allowed)
    element = Element("result", got, right, may, may, "float32", row_constant=False, shape=(1, 3))

    assert relations.order([(element, ("token", "head_dim"), load(["rope.rotate"])[0])]) == told
