"""The generator: the same bytes every time, one clear line when something is wrong, and never half a file."""

from pathlib import Path

import pytest
import yaml

from conformance.oracle import Answer, Tensor
from conformance.spec.vectors import load, vectors_directory
from refimpl.schemes import SCHEMES, operations
from refimpl.spec import Case
from tools.generate import document, files, inputs, mint
from tools.generate.__main__ import main
from tools.generate.errors import GenerationError
from tools.generate.writer import write

ROTATE = operations()["rope.rotate"]


def filled(case: Case) -> dict[str, inputs.Filled]:
    return inputs.arrays(f"rope.{case.name}", ROTATE, case, inputs.parameters(ROTATE, case))


def rotation(**arguments: object) -> Case:
    return Case("rotate/x", exposes="nothing", **{"head_dim": 8, "positions": [0, 1], **arguments})  # type: ignore[arg-type]  # keywords are whatever a case takes


@pytest.mark.parametrize("name", ["alibi.slopes", "yarn.attention_factor"])
def test_the_bytes_are_fresh(name: str) -> None:
    assert mint.texts([name], processes=1)[f"{name}.yaml"].encode() == (vectors_directory() / f"{name}.yaml").read_bytes()


def test_two_processes_write_the_same_bytes_as_one() -> None:
    assert mint.texts(["alibi.slopes"], processes=2) == mint.texts(["alibi.slopes"], processes=1)


def test_a_check_passes_on_what_was_just_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--only", "alibi.slopes", "--processes", "1", "--directory", str(tmp_path)]
    assert main(arguments) == 0
    assert main([*arguments, "--check"]) == 0
    assert "the vectors are what the oracle says" in capsys.readouterr().out
    assert load(directory=tmp_path)


def test_a_check_names_the_first_file_and_line_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--only", "alibi.slopes", "--processes", "1", "--directory", str(tmp_path)]
    main(arguments)
    path = tmp_path / "alibi.slopes.yaml"
    path.write_text(path.read_text().replace("format: 1", "format: 2"))

    assert main([*arguments, "--check"]) == 1
    assert capsys.readouterr().err.startswith("alibi.slopes.yaml, line 2: must equal what the oracle says now")


def test_a_check_names_a_file_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "alibi.slopes", "--processes", "1", "--directory", str(tmp_path), "--check"]) == 1
    assert capsys.readouterr().err == "alibi.slopes.yaml: must be generated, got no file\n"


def test_a_file_that_nothing_generates_is_named(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("format: 1\n")
    with pytest.raises(GenerationError, match=r"old\.yaml: must belong to an operation"):
        files.compare(tmp_path, {}, complete=True)


def test_an_unknown_operation_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "rope.rotat"]) == 1
    assert capsys.readouterr().err.startswith("operation must be one of rope.frequencies")


def test_what_is_written_replaces_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.yaml"
    files.replace(path, "one")
    files.replace(path, "two")
    assert path.read_text() == "two"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.yaml"]


def test_inputs_are_dyadic_and_never_zero() -> None:
    numbers = inputs.dyadic("a text", 1000)
    assert {abs(number) * 16 for number in numbers} == set(range(1, 33))


def test_inputs_depend_on_case_and_array() -> None:
    assert len({inputs.dyadic(text, 8) for text in ("rope.rotate/a/x", "rope.rotate/a/y", "rope.rotate/b/x")}) == 3


@pytest.mark.parametrize(("layout", "columns"), [("interleaved", {0, 1, 4, 5, 6, 7}), ("half", {0, 4, 2, 6, 3, 7})])
def test_sparse_inputs_hold_pair_zero_and_the_slowest_pairs_of_the_layout(layout: str, columns: set[int]) -> None:
    x = filled(rotation(x="sparse", layout=layout))["x"]
    assert {i % 8 for i, value in enumerate(x.values) if value} == columns


def test_a_cotangent_is_sparse_in_the_layout_that_is_written() -> None:
    gradient = operations()["rope.gradient"]
    case = Case("gradient/x", exposes="-", head_dim=8, positions=[0], layout="interleaved_to_half", x="sparse", cotangent="sparse")
    arrays = inputs.arrays("id", gradient, case, inputs.parameters(gradient, case))
    kept = {name: {i % 8 for i, value in enumerate(arrays[name].values) if value} for name in ("x", "cotangent")}
    assert kept == {"x": {0, 1, 4, 5, 6, 7}, "cotangent": {0, 4, 2, 6, 3, 7}}


def test_sizes_come_from_arrays_then_parameters_then_the_case() -> None:
    x = filled(rotation(positions=[[0, 1, 2], [3, 4, 5]], sizes={"head": 5}))["x"]
    assert x.shape == (2, 5, 3, 8)


def test_an_axis_that_nothing_sizes_is_named() -> None:
    apply = operations()["rope.apply"]
    case = Case("apply/x", exposes="nothing")
    with pytest.raises(GenerationError, match=r"rope\.apply/x: axis 'token' of x must be given"):
        inputs.arrays("rope.apply/x", apply, case, inputs.parameters(apply, case))


def test_defaults_are_filled_in_and_integers_become_reals() -> None:
    assert inputs.parameters(ROTATE, rotation(base=500)) == {"head_dim": 8, "base": 500.0, "layout": "interleaved", "direction": "positive"}


def test_ragged_rows_are_refused() -> None:
    with pytest.raises(GenerationError, match="positions must have rows of one length"):
        filled(rotation(positions=[[0, 1], [2]]))


@pytest.mark.parametrize(("tags", "straddles"), [(("boundary",), False), ((), True)])
def test_the_boundary_tag_must_be_true(tags: tuple[str, ...], *, straddles: bool) -> None:
    case = rotation(tags=tags)
    task = document.Task("rope.rotate/x", ROTATE, case, inputs.parameters(ROTATE, case), filled(case))
    answer = Answer({"result": Tensor((1,), (1.0,))}, {}, {}, straddles)
    with pytest.raises(GenerationError, match=r"rope\.rotate/x: 'boundary' must be among the tags"):
        document.document(SCHEMES["rope"], ROTATE, [(task, answer)])


def test_allowances_are_rounded_upwards() -> None:
    case = rotation()
    task = document.Task("rope.rotate/x", ROTATE, case, inputs.parameters(ROTATE, case), filled(case))
    answer = Answer({"result": Tensor((2,), (1.0, 1.0))}, {"float64": {"result": (1.2301e-9, None)}}, {}, straddles=False)
    written = write(document.document(SCHEMES["rope"], ROTATE, [(task, answer)]))
    assert yaml.safe_load(written)["cases"][0]["allowed"] == {"float64": {"result": [[1.24e-9, None]]}}


def test_an_operation_without_a_case_gets_no_file() -> None:
    empty = SCHEMES["rope"].__class__("rope", (), SCHEMES["rope"].source, {}, ())
    with pytest.raises(GenerationError, match=r"rope\.rotate must have a case, got none"):
        document.tasks(empty, ROTATE)


def test_an_unknown_parameter_is_named() -> None:
    bad = SCHEMES["rope"].__class__("rope", (), SCHEMES["rope"].source, {}, (rotation(baze=3.0),))
    with pytest.raises(GenerationError, match=r"rope.rotate/x: parameters must be head_dim.*got unknown \['baze'\]"):
        document.tasks(bad, ROTATE)
