"""What comes from an implementation or a file names no other file, evaluates nothing, and is never read without end."""

import ast
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from conformance.calls.outcomes import Report
from conformance.isolate.described import Descriptor
from conformance.judge.journal import Call, Task
from conformance.protocol import program
from conformance.protocol.errors import ProgramEndedError
from conformance.reports import badge, junit, markdown, page
from conformance.run import candidates
from conformance.show import report

SOURCES = sorted((Path(__file__).parents[1] / "conformance").rglob("*.py"))
#: What runs or rebuilds objects out of data.
EVALUATING = {
    "pickle",
    "cPickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "joblib",
    "eval",
    "exec",
    "unsafe_load",
    "full_load",
    "allow_pickle",
}
#: What hands words to a shell.
SHELLS = {"shell", "system", "popen"}


def words(path: Path) -> set[str]:
    """Return the modules, functions and keywords that a file uses."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {word for node in tree for word in _words(node)}


def _words(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name.split(".")[0] for alias in names]
        case ast.ImportFrom(module=str(module), names=names):
            return [module.split(".")[0], *(alias.name for alias in names)]
        case ast.Call(func=ast.Name(id=name), keywords=keywords):
            return [name, *(keyword.arg or "" for keyword in keywords)]
        case ast.Call(func=ast.Attribute(attr=name, value=value), keywords=keywords):
            method = name if isinstance(value, ast.Name) and value.id in {"os", "yaml", "builtins"} else ""
            return [method, *(keyword.arg or "" for keyword in keywords)]
    return []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(path.parents[1])))
def test_nothing_is_unpickled_evaluated_or_given_to_a_shell(path: Path) -> None:
    assert words(path) & (EVALUATING | SHELLS) == set()


def test_yaml_is_read_by_the_strict_reader_alone() -> None:
    readers = {"safe_load", "load", "load_all", "Loader", "SafeLoader"}

    assert [path.name for path in SOURCES if readers & _of_yaml(path)] == ["document.py"]


def _of_yaml(path: Path) -> set[str]:
    """Return what a file uses of PyYAML."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.attr for node in tree if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "yaml"}


@pytest.mark.parametrize(
    "line", ["import pickle", "eval(text)", "np.load(path, allow_pickle=True)", "yaml.unsafe_load(x)", "run(x, shell=True)"]
)
def test_what_would_evaluate_is_seen(line: str, tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(line, encoding="utf-8")

    assert words(path) & (EVALUATING | SHELLS)


@pytest.mark.parametrize("label", ["../../up", "/absolute/x", "a/b\\c", "con\n\0", "x" * 400])
def test_the_label_of_an_implementation_names_no_other_folder(label: str, tmp_path: Path) -> None:
    task = Task(
        Descriptor(0, label, "alibi.slopes", ("float32",), {}, "any", modifies_inputs=False, restrictions={}, takes_dtype=False),
        "float32",
        "x",
    )

    (tmp_path / "kept").mkdir()
    path = candidates.save(tmp_path / "kept", "a law: of/two", [Call(task, (), {"num_heads": 2, "max_bias": 8.0})], seed=0)

    assert path.parent == tmp_path / "kept"
    assert path.resolve().parent == (tmp_path / "kept").resolve()
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("line", ["'x' * 5000", "'{' + ' ' * 5000"], ids=["noise", "never-closed"])
def test_a_line_that_does_not_end_is_read_to_its_limit(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "endless.py"
    path.write_text(f"import sys\nsys.stdin.readline()\nwhile True:\n    sys.stdout.write({line})\n", encoding="utf-8")
    monkeypatch.setattr(program, "LARGEST_LINE", 100_000)
    endless = program.Program(f"{sys.executable} {path}")

    with pytest.raises(ProgramEndedError, match="a line must stay below 100000 bytes, got more"):
        endless.describe()

    assert endless.popen.poll() is not None
    endless.close()


#: What a target may say of itself where it is refused: it leaves tags and attributes, starts a script and moves the cursor.
HOSTILE = '\x1b[2J</title><script>alert(1)</script>" onload="alert(1)" @all'


def test_why_a_target_is_refused_is_only_text_in_every_report() -> None:
    refused = [Report("bad.py", {}, (), refused=HOSTILE)]
    picture = badge.text(refused)

    assert "<script>alert" not in page.text(refused) + picture
    assert "onload" not in ET.fromstring(picture).attrib  # noqa: S314  our own text
    assert ET.fromstring(picture).attrib["aria-label"].count('" onload="') == 1  # noqa: S314  our own text
    assert r"\<script\>alert" in markdown.text(refused)
    texts = page.text(refused), picture, markdown.text(refused), junit.text(refused), report.text(refused[0])
    assert ["\x1b" in each for each in texts] == [False] * len(texts)
