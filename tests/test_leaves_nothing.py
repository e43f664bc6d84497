"""A check leaves nothing where it was started, whatever Hypothesis would like to keep there."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis.configuration import storage_directory

from conformance.calls.status import Status
from conformance.cli import main
from conformance.laws.examples import leaving_nothing

ROOT = Path(__file__).parents[1]
#: A check under a Hypothesis that looks for constants in loaded modules, as some releases do whatever they are asked.
COLLECTING = """
import contextlib
from conformance.laws import running
from conformance.cli import main
running.by_seed_alone = contextlib.nullcontext
main(["check", TARGET, "--operation", "alibi.slopes"])
"""


def test_a_check_writes_nothing_into_the_folder_of_a_person(tmp_path: Path) -> None:
    here, scratch = tmp_path / "here", tmp_path / "scratch"
    here.mkdir()
    scratch.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HYPOTHESIS")}
    environment |= {"PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)}
    code = COLLECTING.replace("TARGET", repr("numpy"))

    done = subprocess.run([sys.executable, "-c", code], cwd=here, env=environment, capture_output=True, text=True, check=True)

    assert "alibi.slopes" in done.stdout
    assert list(here.iterdir()) == []
    assert list(scratch.iterdir()) == []


def test_the_folder_of_a_person_s_own_tests_is_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = storage_directory("constants").path

    with leaving_nothing():
        meanwhile = storage_directory("constants").path

    assert meanwhile.is_relative_to(os.devnull)
    assert storage_directory("constants").path == before != meanwhile


def test_the_folder_is_as_before_whichever_of_two_threads_ends_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before, first, second = storage_directory("constants").path, leaving_nothing(), leaving_nothing()

    for manager in (first, second):
        manager.__enter__()
    for manager in (first, second):
        manager.__exit__(None, None, None)

    assert storage_directory("constants").path == before


def test_a_system_without_a_place_for_temporary_files_changes_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))

    assert main(["check", "numpy", "--operation", "alibi.slopes"]) == Status.CONFORMS


def test_a_system_without_a_place_for_temporary_files_hides_nothing_that_was_identified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    (tmp_path / "mine.py").write_text("from refimpl.schemes.binary import encode\n", encoding="utf-8")

    assert main(["identify", f"{tmp_path / 'mine.py'}:encode"]) == Status.CONFORMS

    told = capsys.readouterr().out
    assert "binary.encode" in told
    assert "not checked: " in told
