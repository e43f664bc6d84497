"""What a run leaves out is said, and taken by the next ones."""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import sampling

from tools import durations

ROOT = Path(__file__).parents[1]


PARTS = sampling.parts()


def test_what_is_sampled_are_tests() -> None:
    files = {function.partition("::")[0] for function in PARTS}
    bodies = {file: ast.parse((ROOT / file).read_text(encoding="utf-8")).body for file in files if (ROOT / file).exists()}
    tests = {f"{file}::{node.name}" for file, body in bodies.items() for node in body if isinstance(node, ast.FunctionDef)}

    assert [*PARTS] == [function for function in PARTS if function in tests], "rename or remove the rows of functions that are gone"


@pytest.mark.parametrize(("function", "parts"), PARTS.items())
def test_runs_in_a_row_take_everything_once(function: str, parts: int) -> None:
    names = [f"{function}[{number}]" for number in range(100)]
    runs = [list(sampling.taken(names, seed, PARTS)) for seed in range(739_942, 739_942 + parts)]

    assert [sum(taken) for taken in zip(*runs, strict=True)] == [1] * 100


def test_functions_of_one_test_run_on_unlike_days() -> None:
    names = [f"tests/test_x.py::test_{number}" for number in range(240)]
    taken = [sum(sampling.taken(names, seed, dict.fromkeys(names, 24))) for seed in range(24)]

    assert min(taken) > 0


def test_a_function_that_takes_longer_is_taken_less_often(tmp_path: Path) -> None:
    durations = tmp_path / "durations.tsv"
    durations.write_text("0.5\ta.py::test_quick\n2.1\ta.py::test_slow\n9000\ta.py::test_slowest\n")

    assert sampling.parts(durations) == {"a.py::test_slow": 5, "a.py::test_slowest": sampling.MOST}


def test_the_tests_of_a_function_that_runs_reached_stand_for_the_others_and_the_rest_keeps_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = '<testcase classname="tests.test_x" name="test_y[{}]" time="{}" />'
    for run, took in (("one", 2), ("two", 4)):
        cases = ran.format("a", took) + ran.format(run, 9) + "<testcase />"
        (tmp_path / f"{run}.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", encoding="utf-8")
    written = tmp_path / "durations.tsv"
    written.write_text("8\ttests/test_x.py::test_gone\n5\ttests/test_x.py::test_kept\n6\ttests/test_x.py::test_y\n", encoding="utf-8")
    monkeypatch.setattr(durations, "WRITTEN", written)
    monkeypatch.setattr(durations, "collected", lambda: {"tests/test_x.py::test_kept": 1, "tests/test_x.py::test_y": 10})

    durations.main([str(tmp_path / "one.xml"), str(tmp_path / "two.xml"), "--slower", "2"])

    assert written.read_text(encoding="utf-8") == "5\ttests/test_x.py::test_kept\n35\ttests/test_x.py::test_y\n"


def test_what_is_not_listed_always_runs() -> None:
    assert all(sampling.taken(["tests/test_x.py::test_y[a]", "tests/test_x.py::test_y[b]"], 7, PARTS))


def test_the_header_says_the_seed_and_how_many_are_sampled() -> None:
    first, second = sampling.header(7, {"tests/test_x.py::test_y": 5})

    assert "sampled by seed 7 (--sample-seed 7 takes the same, --whole takes all)" in first
    assert second == "  1 functions whose tests take longer than 0.5 s, one test in two to 5 (durations.tsv)"


@pytest.mark.parametrize("word", ["an answer", "another"])
def test_what_tests_of_this_file_ask_is_no_word_of_another_file(request: pytest.FixtureRequest, word: str) -> None:
    elsewhere = SimpleNamespace(path=Path("elsewhere.py"), callspec=SimpleNamespace(params={"word": "of another file"}))
    here = [item for item in request.session.items if item.path == request.path]
    run = SimpleNamespace(path=request.path, session=SimpleNamespace(items=[elsewhere, *here]))

    asked = sampling.asked(cast("pytest.FixtureRequest", run), "word")

    assert word in asked
    assert set(asked) <= {"an answer", "another"}
