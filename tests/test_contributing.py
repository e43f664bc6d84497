"""A newcomer adds a scheme by touching the three files that CONTRIBUTING shows: done here, word for word, in a copy of the repository."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"```python\n# (\S+)\n(.*?)```", re.DOTALL)
COMMANDS = re.compile(r"```console\n(.*?)```", re.DOTALL)
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = dict(BLOCK.findall(TEXT))
MANIFEST = "vectors/manifest.yaml"
TABLE = "refimpl/schemes/__init__.py"

RIGHT = """
import numpy as np

def waves(positions, channels=16):
    return np.abs(2 * (positions[:, None] / 2.0 ** (1 + np.arange(channels)) % 1) - 1)
"""
WRONG = """
import numpy as np
from conformance import Adapter

adapter = Adapter("counts-from-one", framework="numpy")

@adapter.implements("triangle.encode")
def encode(positions, *, channels, dtype=None, **_):
    periods = 2.0 ** (1 + np.arange(channels))
    return np.abs(2 * ((positions[:, None] + 1) / periods % 1) - 1).astype(np.float32)
"""


def run(repository: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy, which comes before anything that is installed."""
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    return subprocess.run([sys.executable, *words], cwd=repository, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the toy that CONTRIBUTING shows, and every command there run once."""
    copy = tmp_path_factory.mktemp("repository")
    for folder in ("refimpl", "conformance", "posenc", "tools", "vectors", "docs"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        path = copy / name
        path.write_text(listed(path.read_text(encoding="utf-8"), text) if name == TABLE else text, encoding="utf-8")
    return copy


def listed(table: str, line: str) -> str:
    """Add a line to the import and to the list of the table of schemes."""
    assert table.count("from refimpl.schemes import (\n") == table.count("for module in (\n") == 1
    return table.replace("import (\n", f"import (\n{line}", 1).replace("for module in (\n", f"for module in (\n{line}", 1)


@pytest.fixture(scope="module")
def generated(repository: Path) -> Path:
    """The copy with the toy's golden vectors, beside the manifest as it was."""
    shutil.copyfile(repository / MANIFEST, repository / "before.yaml")
    done = run(repository, "-m", "tools.generate", "--only", "triangle.encode")
    assert done.returncode == 0, done.stderr
    return repository


def test_a_scheme_is_three_files() -> None:
    assert list(FILES) == ["refimpl/schemes/triangle.py", TABLE, "conformance/oracle/triangle.py"]


def test_every_command_that_is_shown_succeeds(generated: Path) -> None:
    commands = COMMANDS.findall(TEXT)[0].splitlines()
    outcomes = {command: run(generated, *command.split()[1:]) for command in commands}
    assert len(outcomes) == 5
    assert {command: done.stderr for command, done in outcomes.items() if done.returncode} == {}


def test_the_vectors_of_others_stay_as_they_are(generated: Path) -> None:
    before, after = (set((generated / name).read_text(encoding="utf-8").splitlines()) for name in ("before.yaml", MANIFEST))
    assert before < after
    assert [line.split(":")[0].strip() for line in after - before] == ["triangle.encode.yaml"]


def test_the_toy_is_listed_with_its_cases_and_laws(generated: Path) -> None:
    line = next(line for line in run(generated, "-m", "conformance", "list").stdout.splitlines() if "triangle.encode" in line)
    assert line.split()[1:5] == ["13", "cases", "1", "law"]


def test_the_reference_conforms_to_the_vectors_of_the_toy(generated: Path) -> None:
    done = run(generated, "-m", "conformance", "check", "numpy", "--scheme", "triangle", "--json")
    report = json.loads(done.stdout)
    assert report["verdict"] == "conforms"
    assert {result["operation"] for result in report["results"]} == {"triangle.encode"}


def test_a_wrong_implementation_of_the_toy_is_convicted(generated: Path) -> None:
    (generated / "wrong.py").write_text(WRONG, encoding="utf-8")
    done = run(generated, "-m", "conformance", "check", "wrong.py")
    assert done.returncode == 1, done.stderr
    assert "wrong value" in done.stdout
    assert "mistake    triangle.encode/positions+1\n" in done.stdout


def test_a_function_of_the_toy_is_identified_and_its_adapter_conforms(generated: Path) -> None:
    (generated / "right.py").write_text(RIGHT, encoding="utf-8")
    done = run(generated, "-m", "conformance", "identify", "right.py:waves")
    told = " ".join(done.stdout.split())

    assert done.returncode == 0, done.stderr
    assert "triangle.encode: Write the position as triangle waves, each twice as long as the one before." in told
    assert "channels 16 certain" in told
    assert "checked at level smoke: it conforms" in told


def test_the_toy_has_a_page_with_its_equation(generated: Path) -> None:
    done = run(generated, "-m", "tools.pages", "triangle")
    assert done.returncode == 0, done.stderr
    page = (generated / "docs" / "schemes" / "triangle.md").read_text(encoding="utf-8")
    assert "`|2 (p / 2^(k + 1) mod 1) - 1|`" in page
    assert "positions in bfloat16, exact to 256 only" in page


@pytest.mark.parametrize("name", [name for name in FILES if name != TABLE])
def test_what_is_shown_is_in_the_style_of_the_rest(name: str, tmp_path: Path) -> None:
    ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}")
    if ruff is None:
        pytest.skip("ruff isn't installed")
    path = tmp_path / "shown.py"
    path.write_text(FILES[name], encoding="utf-8")
    command = [ruff, "check", "--config", str(ROOT / "pyproject.toml"), "--ignore", "INP001", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
