"""What a run leaves out is said, and taken by the next ones."""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import sampling

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("function", sampling.PARTS)
def test_what_is_sampled_is_a_test(function: str) -> None:
    path, _, name = function.partition("::")
    tests = {node.name for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}
    assert name in tests or (not name and tests)


@pytest.mark.parametrize(("function", "parts"), sampling.PARTS.items())
def test_runs_in_a_row_take_everything_once(function: str, parts: int) -> None:
    names = [f"{function}{'' if '::' in function else '::test_x'}[{number}]" for number in range(100)]
    runs = [list(sampling.taken(names, seed)) for seed in range(739_942, 739_942 + parts)]

    assert [sum(taken) for taken in zip(*runs, strict=True)] == [1] * 100


def test_what_is_not_listed_always_runs() -> None:
    assert all(sampling.taken(["tests/test_x.py::test_y[a]", "tests/test_x.py::test_y[b]"], 7))


def test_the_header_says_the_seed_and_every_sample() -> None:
    first, *rows = sampling.header(7)

    assert "sampled by seed 7 (--sample-seed 7 takes the same, --whole takes all)" in first
    assert len(rows) == len(sampling.PARTS)


@pytest.mark.parametrize("word", ["an answer", "another"])
def test_what_tests_of_this_file_ask_is_no_word_of_another_file(request: pytest.FixtureRequest, word: str) -> None:
    elsewhere = SimpleNamespace(path=Path("elsewhere.py"), callspec=SimpleNamespace(params={"word": "of another file"}))
    here = [item for item in request.session.items if item.path == request.path]
    run = SimpleNamespace(path=request.path, session=SimpleNamespace(items=[elsewhere, *here]))

    asked = sampling.asked(cast("pytest.FixtureRequest", run), "word")

    assert word in asked
    assert set(asked) <= {"an answer", "another"}
