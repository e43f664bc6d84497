import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from conformance import LATE
from refimpl.schemes import SCHEMES, operations

ROOT = Path(__file__).resolve().parent.parent


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imported(path: Path) -> set[str]:
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def files(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert found
    return found


def tops(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


@pytest.mark.unsampled
@pytest.mark.parametrize("path", files("refimpl"), ids=str)
def test_the_reference_imports_only_the_standard_library_and_array_api_compat(path: Path) -> None:
    foreign = tops(imported(path)) - set(sys.stdlib_module_names) - {"refimpl"}

    assert foreign <= ({"array_api_compat"} if path.name == "libraries.py" else set())


@pytest.mark.unsampled
@pytest.mark.parametrize("path", files("conformance/oracle"), ids=str)
def test_the_oracle_shares_no_code_with_us(path: Path) -> None:
    names = imported(path)

    ours = {name for name in names if name.split(".")[0] == "conformance"}

    assert tops(names) <= set(sys.stdlib_module_names) | {"flint", "conformance"}
    assert all(name == "conformance.oracle" or name.startswith("conformance.oracle.") for name in ours)


@pytest.mark.unsampled
@pytest.mark.parametrize("path", files("refimpl", "conformance"), ids=str)
def test_nobody_imports_the_tools(path: Path) -> None:
    assert "tools" not in tops(imported(path))


#: They show the reference and judge nobody; `configured` has it read a configuration, and `assumed` asks it when to give no verdict.
SHOWING = {"compare", "explain", "lengths", "models", "configured", "assumed"}
DECLARATIONS = {"refimpl", "refimpl.schemes", "refimpl.spec", "refimpl.errors"}


@pytest.mark.unsampled
@pytest.mark.parametrize(
    "path",
    [path for path in files("conformance") if path.parent.name not in {"adapters", "mutants", "pictures"} and path.stem not in SHOWING],
    ids=str,
)
def test_only_adapters_and_mutants_reach_a_scheme_function(path: Path) -> None:
    reference = {name for name in imported(path) if name.split(".")[0] == "refimpl"}

    assert all(name in DECLARATIONS or name.rsplit(".", 1)[0] in DECLARATIONS for name in reference)
    assert {name for name in reference if name.startswith("refimpl.schemes.")} <= {"refimpl.schemes.SCHEMES", "refimpl.schemes.operations"}


WITHOUT_A_REFERENCE = """
import functools
import refimpl.spec

def broken(function):
    @functools.wraps(function)
    def raises(*arrays, **parameters):
        raise AssertionError(f"{function.__name__} was called")
    return raises

refimpl.spec.operation = broken
import conformance.diagnosis.diagnose
conformance.diagnosis.diagnose.of_checks = lambda *_, **__: None
from conformance.calls.outcomes import Failed, Passed
from conformance.run import check
from refimpl.schemes import rope
try:
    rope.frequencies(head_dim=4, like=None)
except AssertionError:
    report = check(EXAMPLE, level="smoke")
    assert report.status == STATUS, report.status
    assert any(isinstance(result.outcome, Passed | Failed) for result in report.results if result.kind == "vector")
    print("judged")
"""


CONFIGURED = "config:{0}/llama-3.1-8b.json:{0}/numpy_configured.py"


@pytest.mark.parametrize(("example", "status"), [("{0}/numpy_right.py", 0), ("{0}/numpy_wrong.py", 1), (CONFIGURED, 0)])
def test_vectors_and_laws_judge_even_where_every_reference_function_raises(example: str, status: int) -> None:
    program = WITHOUT_A_REFERENCE.replace("EXAMPLE", repr(example.format(ROOT / "examples"))).replace("STATUS", str(status))

    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.stdout.strip() == "judged", done.stderr


#: Where a scheme has code of its own.
OWN = {"mutants", "adapters", "oracle", "pictures"}
#: What only looks like a scheme's name: a word of every sentence, and a value of the parameter ``convention``.
WORDS = {"none", "t5"}
#: Schemes that are called by a word of sentences, which only a text of nothing else names.
SPOKEN = {*WORDS, "binary", "learned", "temperature"}
OPERATIONS = {*operations()}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef


def quoted(path: Path) -> set[str]:
    """Return the texts of a file but its docstrings, which may tell of an example."""
    texts = {node.value for node in nodes(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts - {ast.get_docstring(node, clean=False) for node in nodes(path) if isinstance(node, DOCUMENTED)}


@pytest.mark.unsampled
@pytest.mark.parametrize("path", [path for path in files("conformance") if not OWN & set(path.relative_to(ROOT).parts)], ids=str)
def test_no_other_file_of_the_harness_names_a_scheme_or_an_operation(path: Path) -> None:
    assert named_in(path) == set()


def named_in(path: Path) -> set[str]:
    """Return the schemes and operations that a file names, in a text or as it is called."""
    texts = quoted(path)
    words = {path.stem, *(word for text in texts for word in re.split(r"[^\w.]", text))}
    parts = {part for word in words for part in word.split(".")}
    return texts & {*SCHEMES} - WORDS | parts & {*SCHEMES} - SPOKEN | words & OPERATIONS


@pytest.mark.parametrize("text", ['"yarn"', '"binary"', '"none.rotate"', '"as yarn, say"', 'f"yarn.{NAME}"', '{"rope.rotate/far": 1}'])
def test_a_scheme_that_is_named_is_seen(text: str, tmp_path: Path) -> None:
    (tmp_path / "named.py").write_text(f'"""As yarn does."""\n\nX = {text}\n', encoding="utf-8")
    (tmp_path / "yarn.py").write_text("", encoding="utf-8")

    assert named_in(tmp_path / "named.py") != set()
    assert named_in(tmp_path / "yarn.py") == {"yarn"}


def test_the_walk_from_the_reference_to_a_verdict_names_files_and_functions_that_are_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    walk = text.split("## A position, from the reference to a verdict")[1].split("\n## ")[0]
    named = re.findall(r"`([\w/]+\.py)`: `(\w+)`", walk)

    assert [int(step) for step in re.findall(r"^(\d+)\. ", walk, re.MULTILINE)] == list(range(1, 13))
    assert len(named) >= 12
    assert all((ROOT / path).exists() for path in re.findall(r"`(\w+/[\w/.]+)`", walk))
    assert [f"{path}: {name}" for path, name in named if name not in defined(ROOT / path)] == []


def defined(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def test_what_is_plugged_into_hypothesis_is_not_imported_to_judge(tmp_path: Path) -> None:
    plugin = tmp_path / "plugged-1.dist-info"
    plugin.mkdir()
    (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1\n")
    (plugin / "entry_points.txt").write_text("[hypothesis]\nplugged = plugged\n")
    (tmp_path / "plugged.py").write_text("")
    judge = f"from conformance.run import check; check({str(ROOT / 'examples' / 'numpy_right.py')!r}, level='smoke')"
    told = "print('plugged' in sys.modules, before == dict(os.environ))"
    program = f"import os, sys; sys.path.append({str(tmp_path)!r}); before = dict(os.environ); {judge}; {told}"

    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.stdout.split() == ["False", "True"], done.stderr


#: The rooms of the harness, in the order in which they may import: each from itself and those before it.
ROOMS = (
    *("spec", "calls", "oracle", "adapt", "protocol", "isolate", "adapters", "judge", "golden", "laws", "mutants", "checks", "diagnosis"),
    *("run", "show", "reports", "precision", "identify", "pictures"),
)
ENTRANCES = {"__init__", "__main__", "cli", "commands", "in_process", "strategies", "version"}


def rooms(names: set[str]) -> set[str]:
    places = {f"conformance.{name}": place for name, place in LATE.items()}
    found = {places.get(name, name) for name in names if name.startswith("conformance.")}
    return {name.split(".")[1] for name in found} - {"version"}


def test_every_file_of_the_harness_is_in_a_room_or_at_the_entrance() -> None:
    inside = {path.relative_to(ROOT / "conformance").parts[0].removesuffix(".py") for path in files("conformance")}

    assert inside == {*ROOMS} | ENTRANCES


@pytest.mark.unsampled
@pytest.mark.parametrize("path", [path for room in ROOMS for path in files(f"conformance/{room}")], ids=str)
def test_no_import_runs_back_up(path: Path) -> None:
    own = path.relative_to(ROOT / "conformance").parts[0]

    assert rooms(imported(path)) <= {*ROOMS[: ROOMS.index(own) + 1]}


def test_the_rooms_stand_in_the_documents_in_their_order() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

    assert tuple(re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE)) == ROOMS


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        ("import numpy; from refimpl.schemes import rope; rope.frequencies(head_dim=4, base=10.0, like=numpy.zeros(1))", "numpy.f2py"),
        ("from conformance.show import declaration; list(declaration.describe('rope.rotate'))", "hypothesis"),
        ("from conformance.adapt import selection; selection.verify((), ('rope.rotate',), (), None)", "refimpl.configuration"),
        ("import conformance.run.orchestrator", "refimpl.configuration"),
    ],
)
def test_what_is_not_needed_is_not_imported(words: str, absent: str) -> None:
    shown = f"{words}; import sys; sys.exit({absent!r} in sys.modules)"

    assert subprocess.run([sys.executable, "-c", shown], cwd=ROOT, capture_output=True, check=False).returncode == 0
