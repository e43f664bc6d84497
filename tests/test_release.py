"""What a tag sets off: everything passes before anything is published, and only as the version that the code says."""

import re
import subprocess
import sys
from pathlib import Path

import yaml

from conformance.version import __version__

ROOT = Path(__file__).parents[1]
JOBS = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]


def commands(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def test_nothing_is_published_that_has_not_passed_the_checks_of_every_landing() -> None:
    assert JOBS["publish"]["needs"] == "build"
    assert commands("build")[0] == ".ci/run"
    assert commands("publish") == []


def test_every_target_that_the_release_makes_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    made = [command.split()[1] for command in commands("build") if command.startswith("make ")]

    assert made
    assert targets.issuperset(made)


def test_only_the_job_that_publishes_may_ask_for_an_identity() -> None:
    assert {name: job["permissions"] for name, job in JOBS.items()} == {"build": {"contents": "read"}, "publish": {"id-token": "write"}}


def test_a_tag_that_is_not_the_version_builds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.wheel", "--into", str(tmp_path / "dist"), "--tag", "v9.9.9"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)

    assert (done.returncode, done.stderr.strip()) == (1, f"wheel: tag must be v{__version__}, got v9.9.9")
    assert not (tmp_path / "dist").exists()
