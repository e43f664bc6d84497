"""The matrix of Pythons: each version once, an old one never, and a missing combination says why."""

import sys
from pathlib import Path

import pytest

from tools import matrix


def interpreter(folder: Path, name: str, version: str) -> Path:
    """An interpreter that only knows its version."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with two folders of interpreters and nothing else."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'one'}:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return tmp_path


def test_the_newest_of_each_version_is_taken_and_old_ones_are_not(found: Path) -> None:
    interpreter(found / "one", "python3.97", "3 97 1")
    interpreter(found / "one", "python3.10", "3 10 9")
    newest = interpreter(found / "pyenv" / "versions" / "3.97.4" / "bin", "python3.97", "3 97 4")
    assert matrix.pythons()["3.97"] == newest
    assert "3.10" not in matrix.pythons()


def test_an_interpreter_that_does_not_start_is_passed_over(found: Path) -> None:
    interpreter(found / "one", "python3.98", "3 98 0; exit 1")
    assert "3.98" not in matrix.pythons()


def test_a_combination_that_cannot_be_made_says_why(found: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "ENVIRONMENTS", found / "venvs")
    python = interpreter(found / "one", "python3.99", "no module named venv >&2; exit 1")
    assert matrix.check("3.99", python, "2.1") == matrix.Outcome("3.99", "2.1", "missing: no module named venv", None)


def test_nothing_compared_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "pythons", dict)
    assert matrix.main() == 1


@pytest.mark.parametrize(("passed", "status"), [(True, 0), (False, 1), (None, 1)])
def test_the_status_is_what_the_combinations_say(*, passed: bool | None, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "pythons", lambda: {"3.99": Path(sys.executable)})
    monkeypatch.setattr(matrix, "check", lambda name, _, numpy: matrix.Outcome(name, numpy, "a word", passed))
    assert matrix.main() == status
