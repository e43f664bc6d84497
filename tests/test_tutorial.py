"""The tutorial's files and commands do what its page says, in their order and in one folder."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = [block.split("\n", 1) for block in re.findall(r"```console\n\$ posenc (.*?)```", PAGE, re.DOTALL)]
CLONED = "$ git clone ADDRESS posenc\n$ pip install ./posenc\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with every file of the page."""
    pytest.importorskip("torch", reason="the tutorial's model is torch's")
    place = tmp_path_factory.mktemp("tutorial")
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    return place


def rounded(line: str) -> str:
    """Return a line with five decimals of each number: further ones depend on the machine."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.5f}", line)


def test_every_block_of_the_page_is_a_file_or_a_command() -> None:
    assert len(FILES) == PAGE.count("```python")
    assert len(COMMANDS) + 1 == PAGE.count("```console")
    assert PAGE.count(f"```console\n{CLONED}") == 1
    assert len(FILES) == 6
    assert len(COMMANDS) == 3


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=lambda text: text.splitlines()[0])
def test_a_command_prints_what_the_page_shows(folder: Path, command: str, shown: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "conformance", *shlex.split(command)], cwd=folder, capture_output=True, text=True, check=False
    )
    printed = map(rounded, done.stdout.splitlines())
    missing = [line for line in shown.splitlines() if line.strip() != "..." and rounded(line) not in printed]

    assert missing == [], done.stdout + done.stderr
    assert done.returncode == ("does not conform" in shown)


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="nothing to clone")
def test_a_verdict_comes_of_a_fresh_clone_by_the_commands_of_the_page(folder: Path, tmp_path: Path) -> None:
    """What stands on the path is the clone, in the place of an installation, which needs a network."""
    command, shown = PAGE.partition(CLONED)[2].partition("```")[0].splitlines()
    for name in ("my_model.py", "my_rope.py"):
        shutil.copy(folder / name, tmp_path)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), "posenc"], cwd=tmp_path, check=True)  # noqa: S607  as on the page
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "posenc")}

    def printed(*words: str) -> str:
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.stdout.splitlines()[0]

    assert printed("-c", "import conformance; print(conformance.__file__)") == str(tmp_path / "posenc" / "conformance" / "__init__.py")
    assert printed("-m", "conformance", *shlex.split(command.removeprefix("$ posenc "))) == shown


def test_every_file_but_the_model_is_judged() -> None:
    assert {name for command, _ in COMMANDS for name in re.findall(r"\w+\.py", command)} == FILES.keys() - {"my_model.py"}
