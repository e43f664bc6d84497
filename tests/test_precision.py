"""Made implementations whose first wrong position is known by argument, and what a person and a machine see of them."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from precision_made import BFLOAT16, FLOAT16, FLOAT32, Round, kept, measured, rotation, subject, task, vectors, widely

from conformance import cli
from conformance.adapt.selection import SelectionError
from conformance.calls.limits import Limits
from conformance.calls.outcomes import FUTILE, Crashed
from conformance.calls.subject import CallFailedError, CallNotMadeError, CallRefusedError
from conformance.judge import logits
from conformance.pictures import PictureError
from conformance.pictures import precision as picture
from conformance.precision import answers, curve, record, screen, slices, survey
from conformance.precision.curve import Curve, Point
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector
from refimpl.errors import SpecificationError

ROTATIONS = ["rope.rotate", "position_interpolation.rotate", "yarn.rotate", "longrope.rotate", "longrope.rotate_searched"]


@pytest.mark.parametrize(
    ("function", "first"),
    [
        pytest.param(rotation(positions=BFLOAT16), 2**8 + 1, id="bfloat16 has 8 bits, so it lacks 257"),
        pytest.param(rotation(positions=FLOAT16), 2**11 + 1, id="float16 has 11 bits, so it lacks 2049"),
        pytest.param(rotation(positions=FLOAT32), None, id="float32 has 24 bits, so it holds every position here"),
        pytest.param(rotation(angles=BFLOAT16), 1, id="an angle of 0.01 is no bfloat16 number"),
        pytest.param(rotation(frequencies=FLOAT16), 1, id="a frequency of 0.01 is no float16 number"),
        pytest.param(rotation(tables=BFLOAT16), 1, id="the cosine of 1 is no bfloat16 number"),
        pytest.param(rotation(tables=FLOAT16), 1, id="the cosine of 1 is no float16 number"),
        pytest.param(rotation(frequencies=FLOAT32, angles=FLOAT32, tables=FLOAT32), None, id="float32 throughout is float32"),
        pytest.param(rotation(), None, id="float64 throughout is better than float32"),
    ],
)
def test_the_first_wrong_position_is_the_first_that_the_arithmetic_can_not_hold(function: Callable[..., Any], first: int | None) -> None:
    assert measured(function).wrong_from("float32") == first


@pytest.mark.parametrize(
    ("function", "met"),
    [
        (rotation(), "float32"),
        (rotation(frequencies=FLOAT32, angles=FLOAT32, tables=FLOAT32), "float32"),
        (rotation(tables=FLOAT16), "float16-table"),
        (rotation(tables=BFLOAT16), "bfloat16-table"),
        (rotation(positions=BFLOAT16), None),
        (rotation(positions=FLOAT16), None),
    ],
)
def test_the_profile_met_is_that_of_the_arithmetic(function: Callable[..., Any], met: str | None) -> None:
    assert measured(function).met == met


def test_weaker_arithmetic_shows_while_the_required_profile_holds() -> None:
    found = measured(rotation(frequencies=FLOAT32, angles=FLOAT32))

    # In float32 0.01 is off by 2.2e-10, which times 4097 is more than the half units, 2^-23 at most, of two results.
    assert found.wrong_from("float64") in range(4_098)
    assert found.wrong_from("float32") is None
    assert found.reach == 2**20


def test_what_is_not_finite_is_wrong_where_it_stands() -> None:
    assert 100_000 in {point.position for point in measured(rotation(positions=FLOAT16)).points if point.ratios["float32"] > 1}


def test_alibi_with_half_distances_is_wrong_where_half_integers_end() -> None:
    def bias(queries: np.ndarray, keys: np.ndarray, **parameters: Any) -> np.ndarray:
        if parameters["form"] != "row" or max(*queries.ravel(), *keys.ravel()) > 60_000:
            raise CallRefusedError
        right = operations()["alibi.bias"].function(queries, keys, **parameters)
        exact = queries[..., None, :, None] - keys[..., None, None, :]
        return right * np.where(exact == 0, 1.0, FLOAT16(exact) / np.where(exact == 0, 1, exact))

    assert measured(bias, "alibi.bias").wrong_from("float32") == 2**11 + 1


@pytest.mark.parametrize("operation", [*ROTATIONS, "sinusoidal.encode", "alibi.bias"])
def test_a_ladder_has_every_decade_and_what_follows_every_power_of_two(operation: str) -> None:
    def reference(*arrays: np.ndarray, **parameters: Any) -> Any:
        return operations()[operation].function(*arrays, **parameters)

    found = {point.position for point in measured(reference, operation).points}

    assert found >= {10**decade for decade in range(7)} | {2**power + 1 for power in range(4, 20)} | {2**20 - 1}
    assert max(found) <= 2**20


def test_a_table_that_ends_is_measured_up_to_its_end() -> None:
    def short(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
        if positions.max() >= 2_048:
            raise CallRefusedError
        return rotation()(x, positions, **parameters)

    assert {1, 100, 1_000, 1_025} <= {point.position for point in measured(short).points}
    assert max(widely(short)) == 1_025


def test_one_token_of_a_vector_is_a_vector() -> None:
    whole = next(vector for vector in vectors() if vector.id == "rope.rotate/by-position")
    rungs = list(slices.tokens(whole))
    joined = np.concatenate([rung.expected["result"] for rung in rungs if rung.expected is not None], axis=2)

    assert whole.expected is not None
    assert np.array_equal(joined, whole.expected["result"])
    assert [int(rung.inputs["positions"][0]) for rung in rungs] == whole.inputs["positions"].tolist()
    assert all(rung.allowed["float32"]["result"].shape == (1, 1, 1, 4) for rung in rungs)
    assert list(slices.tokens(rungs[0])) == []


def test_the_marks_of_earlier_calls_are_told_from_imprecision() -> None:
    seen: list[float] = []

    def remembers(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
        seen.append(parameters["base"])
        return rotation()(x, positions, **{**parameters, "base": seen[0]})

    def alone(vector: Vector) -> answers.Answer | None:
        return answers.ask_one(subject(rotation()), vector)

    found, depends = answers.settled(list(answers.ask(subject(remembers), task(), vectors())), task(), alone)

    assert depends
    assert curve.measure(found, task(), depends=depends).met == "float32"


@pytest.mark.parametrize(
    ("error", "before"),
    [(CallFailedError(Crashed("exit status 3")), FUTILE), (CallNotMadeError(), 0)],
    ids=["by its calls", "after its answers"],
)
def test_the_rest_of_what_keeps_ending_its_worker_is_not_run(error: Exception, before: int) -> None:
    def ends(*_: Any, **__: Any) -> Any:
        raise error

    told = list(answers.ask(subject(ends), task(), vectors()))

    assert len(told) == before + 1 < len(vectors())
    assert (told[-1].fault or "").endswith("and the rest: not run after 3 crashes or time-outs")


def test_an_answer_that_did_not_come_at_first_is_no_value_that_came_otherwise() -> None:
    seen: list[int] = []

    def ends_once(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
        seen.append(1)
        if len(seen) == 2:
            raise CallFailedError(Crashed("exit status 3"))
        return rotation()(x, positions, **parameters)

    made = subject(ends_once)
    found, depends = answers.settled(list(answers.ask(made, task(), vectors())), task(), lambda vector: answers.ask_one(made, vector))

    assert not depends
    assert curve.measure(found, task(), depends=depends).met == "float32"


def test_calls_that_are_refused_inside_the_declaration_are_told_with_the_reason() -> None:
    def refuses(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
        reason = "no kernel"
        raise CallRefusedError(reason)

    assert next(answers.refusals(subject(refuses), vectors())).endswith(": refused, though its adapter declares it: no kernel")


def test_imprecision_is_not_blamed_on_earlier_calls() -> None:
    made = subject(rotation(tables=BFLOAT16))
    found, depends = answers.settled(list(answers.ask(made, task(), vectors())), task(), lambda vector: answers.ask_one(made, vector))

    assert not depends
    assert curve.measure(found, task(), depends=depends).met == "bfloat16-table"


def test_an_exception_meets_no_profile_and_is_told() -> None:
    def breaks(*_: np.ndarray, **__: Any) -> np.ndarray:
        message = "no such axis"
        raise SpecificationError(message)

    found = measured(breaks)

    assert found.met is None
    assert any("no such axis" in line for line in screen.sentences(found))


def a_curve(**changes: Any) -> Curve:
    points = (Point(1, {"float64": 3.0, "float32": 0.5}), Point(100, {"float64": 9.0, "float32": 0.25}))
    return Curve(
        **{
            "implementation": "made",
            "operation": "rope.rotate",
            "dtype": "float32",
            "required": "float32",
            "met": "float32",
            "points": points,
            "wide": curve.Wide(128, ((1, 1e-7), (100, 1e-3))),
            **changes,
        }
    )


def test_the_sentences_say_profile_reach_weakness_and_logits() -> None:
    said = list(screen.sentences(a_curve()))

    assert said[0] == "meets float32 (float32 angles), right up to 100"
    assert said[1] == "shows arithmetic weaker than float64 from 1"
    assert said[2] == "logits of heads 128 wide off by 0.0014 at 100 (never above 0.023)"


def test_a_wrong_curve_says_from_where() -> None:
    said = list(screen.sentences(a_curve(met="bfloat16-table", points=(Point(1, {"float32": 0.5}), Point(257, {"float32": 80.0})))))

    assert said[0] == "wrong from position 257: beyond float32, within bfloat16-table"


def test_tables_stay_within_eighty_columns_with_every_profile() -> None:
    ratios = dict.fromkeys(screen.COLUMNS, 1.2345e-7)
    worst = a_curve(dtype="float32", met="bfloat16-model", points=(Point(1_048_576, ratios),), wide=curve.Wide(128, ((1_048_576, 1e-7),)))
    shown = [line for _, line in screen.lines("made", [worst], tables=True)]

    assert max(map(len, shown)) <= 80
    assert any(line.split()[0] == "1,048,576" for line in shown if line.split())


def test_the_document_has_finite_numbers_only() -> None:
    text = record.text("made", [a_curve(points=(Point(1, {"float32": math.inf}),))])

    assert "Infinity" not in text
    assert '"wrong_from": {"float64": null, "float32": 1' in text


def test_the_picture_labels_its_axes_and_marks_what_is_wrong() -> None:
    pytest.importorskip("matplotlib")
    figure = picture.draw("made", [measured(rotation(positions=BFLOAT16))])
    axes = figure.axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    places = np.asarray(lines["error, beyond it"].get_xdata(), dtype=float)

    assert (axes.get_xlabel(), axes.get_ylabel()) == ("position (tokens)", "error / allowed")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert places.min() == 257
    assert {"allowed by the required profile", "allowed by float64", "allowed by bfloat16-table"} <= set(lines)


@pytest.mark.parametrize("panels", [1, 2, 4])
def test_the_legend_stays_inside_the_picture(panels: int) -> None:
    pytest.importorskip("matplotlib")
    figure = picture.draw("made", [measured(rotation(positions=BFLOAT16))] * panels)
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()

    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1


@pytest.mark.parametrize(("tables", "profile"), [(BFLOAT16, "bfloat16-table"), (FLOAT16, "float16-table"), (kept, "float64")])
def test_code_within_a_profile_stays_below_its_line(tables: Round, profile: str) -> None:
    points = measured(rotation(tables=tables)).points

    assert all(point.ratios["float32"] <= point.allowances[profile] for point in points)
    assert any(point.ratios["float32"] > 0.1 * point.allowances[profile] for point in points)


def test_a_picture_of_nothing_or_too_much_is_refused() -> None:
    pytest.importorskip("matplotlib")
    for curves in ([], [a_curve()] * 25):
        with pytest.raises(PictureError, match=r"^curves to draw must be between 1 and 24 \(choose with --operation\), got "):
            picture.draw("made", curves)


@pytest.mark.parametrize(
    ("chosen", "head_dim", "message"),
    [
        (["rope.rotat"], 128, r"^operation must be one that takes positions, got 'rope.rotat' \(did you mean rope.rotate\?\)$"),
        (["rope.frequencies"], 128, "^operation must be one that takes positions, got 'rope.frequencies'"),
        ([], 7, "^head-dim must be even, from 2 to 4096, got 7$"),
        ([], 0, "^head-dim must be even, from 2 to 4096, got 0$"),
    ],
)
def test_a_wrong_choice_gets_one_line(chosen: list[str], head_dim: int, message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        survey.verify(chosen, head_dim)


def test_the_command_measures_a_file_and_draws_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    target, drawn = tmp_path / "mine.py", tmp_path / "mine.svg"
    target.write_text(
        "from conformance import Adapter\n"
        "from conformance.mutants.rounding import rounded\n"
        "from refimpl.schemes.rope import rotate\n"
        'adapter = Adapter("mine")\n'
        '@adapter.implements("rope.rotate")\n'
        "def mine(x, positions, **parameters):\n"
        '    return rotate(x, rounded(positions, "bfloat16").astype("int64"), **parameters)\n'
    )

    status = cli.main(["precision", str(target), "--operation", "rope.rotate", "--plot", str(drawn)])
    said = capsys.readouterr().out

    assert status == 0
    assert "wrong from position 257: beyond float32, within no profile" in said
    assert drawn.read_text().startswith("<?xml")


def test_the_command_refuses_what_the_target_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "mine.py"
    made = 'adapter.implements("rope.frequencies")(lambda **_: None)'
    target.write_text(f'from conformance import Adapter\nadapter = Adapter("mine")\n{made}\n')

    assert cli.main(["precision", str(target)]) == 2
    assert capsys.readouterr().err.endswith("must offer a rotation, a code or a bias, got none of it\n")


def test_of_code_that_remembers_no_logits_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = survey.load
    monkeypatch.setattr(survey, "load", lambda names: [each for each in load(names) if logits.LADDER in each.id][:2])
    path = tmp_path / "remembers.py"
    path.write_text(
        "from conformance import Adapter\n"
        "from refimpl.schemes import rope\n"
        "adapter, calls = Adapter('remembers', dtypes='float64'), []\n"
        "@adapter.implements('rope.rotate')\n"
        "def rotate(x, positions, **parameters):\n"
        "    calls.append(1)\n"
        "    return rope.rotate(x, positions + (len(calls) > 1), **parameters)\n"
    )
    (found,) = survey.curves(str(path), chosen=["rope.rotate"], head_dim=128, limits=Limits())
    assert found.depends
    assert found.wide is None


def test_a_call_that_ends_its_worker_is_told_where_its_value_is_in_no_row(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os\nfrom posenc import Adapter\nfrom refimpl.schemes import rope\nadapter = Adapter('mine', dtypes='float32')\n"
        "@adapter.implements('rope.rotate')\ndef rotate(x, positions, **parameters):\n"
        "    if parameters['head_dim'] == 96:\n        os._exit(7)\n    return rope.rotate(x, positions, **parameters)\n"
    )
    (found,) = survey.curves(str(tmp_path / "mine.py"), chosen=["rope.rotate"], head_dim=96)

    assert found.met == "float32"
    assert found.wide is None
    assert found.left[0].startswith("no value: a crash: the process ended with exit status 7, at rope.rotate(head_dim=96")
