"""What runs in other people's CI: the steps of the Action, and the hook."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
SCRIPT = ROOT / "tools" / "action.sh"
RIGHT, WRONG = (str(ROOT / "examples" / f"numpy_{name}.py") for name in ("right", "wrong"))


def run(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step as the Action does, with its defaults."""
    usual = {"level": "smoke", "jobs": "1", "python": sys.executable}
    given = {name: str(value["default"]) for name, value in ACTION["inputs"].items()} | usual | inputs
    environment = {f"POSENC_{name.upper()}": value for name, value in given.items()}
    around = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(folder / "summary")}
    command = ["bash", str(SCRIPT)]
    return subprocess.run(command, cwd=folder, env=environment | around, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize(("target", "status"), [(RIGHT, 0), (WRONG, 1), (f"{RIGHT}\n{WRONG}\n", 1), ("no_such_file.py", 2)])
def test_the_step_ends_as_check_does(tmp_path: Path, target: str, status: int) -> None:
    assert run(tmp_path, target=target).returncode == status


def test_the_step_fills_the_summary_of_the_job_and_leaves_reports(tmp_path: Path) -> None:
    run(tmp_path, target=WRONG)

    assert "does not conform" in (tmp_path / "summary").read_text(encoding="utf-8")
    assert {"record.jsonl", "report.html", "junit.xml"} <= {path.name for path in (tmp_path / "posenc-report").iterdir()}


def test_a_run_that_fails_early_shows_and_leaves_no_report_of_an_earlier_one(tmp_path: Path) -> None:
    run(tmp_path, target=RIGHT)
    (tmp_path / "summary").unlink()

    assert run(tmp_path, target=RIGHT, level="none").returncode == 2
    assert not (tmp_path / "summary").exists()
    assert not list((tmp_path / "posenc-report").iterdir())


def test_a_report_of_an_earlier_run_that_cannot_be_removed_ends_the_step(tmp_path: Path) -> None:
    (tmp_path / "posenc-report" / "record.jsonl").mkdir(parents=True)
    (tmp_path / "posenc-report" / "summary.md").write_text("of an earlier run", encoding="utf-8")

    assert run(tmp_path, target=RIGHT, level="none").returncode == 2
    assert not (tmp_path / "summary").exists()


def test_what_judges_nothing_is_no_success(tmp_path: Path) -> None:
    assert run(tmp_path, target=RIGHT, python="true").returncode == 3


def test_folders_of_a_repository_that_are_called_as_ours_change_nothing(tmp_path: Path) -> None:
    for name in ("conformance", "refimpl", "vectors", "numpy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise OSError('not ours')\n", encoding="utf-8")
    (tmp_path / "own.py").write_text(Path(RIGHT).read_text(encoding="utf-8"), encoding="utf-8")

    assert run(tmp_path, target="own.py\nown:adapter").returncode == 0


def test_an_input_is_never_read_by_a_shell(tmp_path: Path) -> None:
    done = run(tmp_path, target="$(touch ran)`touch ran`; touch ran", command="x; touch ran", report="a; touch ran")

    assert done.returncode == 2
    assert not (tmp_path / "ran").exists()


def test_the_action_hands_every_input_to_the_step_and_none_to_a_command_line() -> None:
    install, check = ACTION["runs"]["steps"]

    assert {f"POSENC_{name.upper()}" for name in ACTION["inputs"]} <= set(check["env"])
    assert "${{" not in install["run"] + check["run"]


def test_the_page_names_every_input() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")

    assert set(ACTION["inputs"]) <= set(re.findall(r"`([a-z]+)`", page))


def test_the_hook_runs_on_adapters_by_their_name(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    adapter = tmp_path / "posenc_rope.py"
    adapter.write_text(Path(RIGHT).read_text(encoding="utf-8"), encoding="utf-8")

    assert re.search(hook["files"], "tests/posenc_rope.py")
    assert not re.search(hook["files"], "model/rope.py")
    program, *words = hook["entry"].split()
    assert program == "posenc"
    command = [sys.executable, "-m", "conformance", *words, str(adapter)]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0
