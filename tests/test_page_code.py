"""Every block of code on every page is run by a test, or says why none can."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from conformance import run
from conformance.calls.status import Status

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("vectors/*.md")])
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TUTORIAL_FILE = "test_tutorial.py::test_every_file_but_the_model_is_judged"
TUTORIAL_COMMAND = "test_tutorial.py::test_a_command_prints_what_the_page_shows"
CLONED = "test_tutorial.py::test_a_verdict_comes_of_a_fresh_clone_by_the_commands_of_the_page"
DECLARED = "test_documents.py::test_the_code_of_the_page_on_declarations_conforms_as_it_is_printed"
ADDED = "test_contributing.py::test_a_scheme_is_three_files"
COMMANDS = "test_contributing.py::test_every_command_that_is_shown_succeeds"
HERE = f"{Path(__file__).name}::"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
#: The test that runs each block, by its page and its first line. Two blocks on declarations begin alike: their test counts them.
RUN = {
    ("README.md", "# my_rope.py"): "test_examples.py::test_the_adapter_in_the_readme_conforms",
    ("README.md", "examples/numpy_wrong.py does not conform"): "test_examples.py::test_the_screen_in_the_readme_is_the_real_one",
    ("CONTRIBUTING.md", "# refimpl/schemes/triangle.py"): ADDED,
    ("CONTRIBUTING.md", "# refimpl/schemes/__init__.py"): ADDED,
    ("CONTRIBUTING.md", "# conformance/oracle/triangle.py"): ADDED,
    ("CONTRIBUTING.md", "python -m tools.generate --only triangle.encode"): COMMANDS,
    ("docs/configurations.md", "from posenc import Adapter"): f"{HERE}test_functions_of_a_configuration_are_judged_as_the_page_offers_them",
    ("docs/configurations.md", "from pathlib import Path"): "test_models.py::test_the_loop_that_is_shown_finds_every_case",
    ("docs/configurations.md", "import json"): f"{HERE}test_the_reader_of_a_configuration_prints_what_it_reads",
    ("docs/declarations.md", "from posenc import Adapter"): DECLARED,
    ("docs/declarations.md", '@adapter.implements("rope.rotate", layout="half", direction="positive", positions="consecutive")'): DECLARED,
    ("docs/declarations.md", "adapter.implements("): DECLARED,
    ("docs/declarations.md", "@adapter.implements("): DECLARED,
    ("docs/declarations.md", '@adapter.implements("alibi.bias", slopes="code", form="row", max_bias=8.0, positions="from_zero")'): DECLARED,
    ("docs/founding.md", ">>> import numpy as np"): "test_founding.py::test_the_examples_of_the_page_run",
    ("docs/identify.md", "# my_model.py"): f"{HERE}test_a_function_is_identified_as_the_page_shows",
    ("docs/identify.md", "$ posenc identify my_model.py:apply_rope"): f"{HERE}test_a_function_is_identified_as_the_page_shows",
    ("docs/precision.md", "$ posenc precision transformers --operation rope.rotate"): f"{HERE}test_precision_is_told_as_the_page_shows",
    ("docs/pytest.md", "import numpy as np"): f"{HERE}test_the_tests_that_the_page_shows_pass",
    ("docs/tutorial.md", "# my_model.py"): TUTORIAL_FILE,
    ("docs/tutorial.md", "# my_rope.py"): TUTORIAL_FILE,
    ("docs/tutorial.md", "# my_mended.py"): TUTORIAL_FILE,
    ("docs/tutorial.md", "# my_kernel.py"): TUTORIAL_FILE,
    ("docs/tutorial.md", "# my_decoder.py"): TUTORIAL_FILE,
    ("docs/tutorial.md", "# my_bias.py"): TUTORIAL_FILE,
    ("docs/tutorial.md", "$ git clone ADDRESS posenc"): CLONED,
    ("docs/tutorial.md", "$ posenc check my_rope.py --seed 1"): TUTORIAL_COMMAND,
    ("docs/tutorial.md", "$ posenc check my_mended.py --seed 1"): TUTORIAL_COMMAND,
    ("docs/tutorial.md", "$ posenc check my_kernel.py my_decoder.py my_bias.py --level smoke --seed 1"): TUTORIAL_COMMAND,
    ("vectors/README.md", "from pathlib import Path"): "test_vectors_readme.py::test_the_kernel_shown_is_right",
}
#: The function of torch's arrays that the page on pytest tests.
ROPE = """
import torch


def apply_rope(x, positions, base):
    angles = positions[..., None] * base ** -(torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angles = angles[:, None] if angles.ndim == 3 else angles
    first, second = x.double().chunk(2, dim=-1)
    turned = first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()
    return torch.cat(turned, dim=-1).to(x.dtype)
"""
#: What the functions of a configuration compute, in the place of their dots.
BODIES = {
    "rotate": "config.rotate(configuration, x, positions, layer=layer, length=length).astype(x.dtype)",
    "rotate_on_axes": "config.rotate_on_axes(configuration, x, positions, layer=layer).astype(x.dtype)",
    "frequencies": "config.frequencies(configuration, layer=layer, length=length, like=np.zeros(0))",
    "attention_factor": "config.attention_factor(configuration, layer=layer, length=length)",
    "scale": "config.scale(configuration, positions, layer=layer)",
}


def blocks(page: Path) -> list[str]:
    """Return the text of every block of a page."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def block(page: str, first: str) -> str:
    """Return the block of a page that begins with a line."""
    (found,) = (text for text in blocks(ROOT / page) if text.startswith(f"{first}\n"))
    return found


def plain(line: str) -> str:
    """Return a line without its figures and white space, which change with the machine."""
    return re.sub(r"\s+", "", re.sub(r"[\d,.]*\d", "0", line))


def missing(folder: Path, shown: str) -> list[str]:
    """Return the lines that a command of a page doesn't print."""
    command, *lines = shown.splitlines()
    words = [sys.executable, "-m", "conformance", *command.removeprefix("$ posenc ").split()]
    done = subprocess.run(words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    printed = "".join(map(plain, done.stdout.splitlines()))
    return [line for line in lines if plain(line.removesuffix("...")) not in printed]


def test_every_block_of_every_page_is_run() -> None:
    found = {(str(page.relative_to(ROOT)), text.split("\n", 1)[0]) for page in PAGES for text in blocks(page)}

    assert found == RUN.keys()


def test_python_is_indented_only_where_it_needs_releases_that_are_not_here() -> None:
    hiding = re.compile(r"^    (?:import |from \S+ import |def |class |@)", re.MULTILINE)
    prose = {page: re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE) for page in PAGES}

    assert [page.name for page, text in prose.items() if hiding.search(text)] == ["findings.md"]


@pytest.mark.parametrize("name", sorted(set(RUN.values())))
def test_what_runs_a_block_is_a_test(name: str) -> None:
    file, function = name.split("::")

    assert f"def {function}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")


def test_functions_of_a_configuration_are_judged_as_the_page_offers_them(tmp_path: Path) -> None:
    page = block("docs/configurations.md", "from posenc import Adapter")
    code = re.sub(r"def (\w+)(.*): \.\.\.", lambda found: f"def {found[1]}{found[2]}:\n    return {BODIES[found[1]]}", page)
    (tmp_path / "my_model.py").write_text(f"import numpy as np\nfrom refimpl import configuration as config\n{code}")
    report = run.check(f"config:{ROOT / 'examples' / 'llama-3.1-8b.json'}:{tmp_path / 'my_model.py'}", level="smoke", seed=0)

    assert code.count("    return ") == len(BODIES)
    assert report.status is Status.CONFORMS
    assert {each.operation for each in report.evidence} == {"llama3.rotate", "llama3.frequencies", "temperature.scale"}


def test_the_reader_of_a_configuration_prints_what_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "examples" / "llama-3.1-8b.json", tmp_path / "config.json")
    monkeypatch.chdir(tmp_path)
    exec(compile(block("docs/configurations.md", "import json"), "configurations.md", "exec"), {})  # noqa: S102  the page's own code
    printed = capsys.readouterr().out
    base = json.loads((tmp_path / "config.json").read_text())["rope_theta"]

    assert f"'base': {base}" in printed
    assert printed.endswith("\n1.0\n")


@pytest.mark.parametrize(
    ("page", "sentence", "file"),
    [
        ("docs/configurations.md", "has the configurations of {} released models", "released"),
        ("docs/configurations.md", "`broken.yaml` has {} broken ones", "broken"),
        ("docs/README.md", "what transformers makes of {} released configurations", "released"),
    ],
)
def test_configurations_are_counted(page: str, sentence: str, file: str) -> None:
    count = len(yaml.safe_load((ROOT / "tests" / "configurations" / f"{file}.yaml").read_bytes()))

    assert sentence.format(count) in " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_a_function_is_identified_as_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "my_model.py").write_text(block("docs/identify.md", "# my_model.py"))

    assert missing(tmp_path, block("docs/identify.md", "$ posenc identify my_model.py:apply_rope")) == []


def test_precision_is_told_as_the_page_shows(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="the page measures transformers")

    assert missing(tmp_path, block("docs/precision.md", "$ posenc precision transformers --operation rope.rotate")) == []


def test_the_tests_that_the_page_shows_pass(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the page's model is torch's")
    (tmp_path / "my_model.py").write_text(ROPE)
    (tmp_path / "test_mine.py").write_text(block("docs/pytest.md", "import numpy as np"))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    done = subprocess.run(words, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
