"""Bad input gets one clear line on standard error and a status that isn't a verdict, never a traceback."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from few_vectors import few_vectors

from conformance import cli
from conformance.commands.posenc import posenc
from conformance.spec import vectors
from conformance.spec.declarations import operations
from refimpl.errors import SpecificationError

HEADER = "from conformance import Adapter\n"
MINE = (
    HEADER + "adapter = Adapter('mine'{settings})\n@adapter.implements({operation})\ndef f(*arrays, **parameters):\n    return arrays[0]\n"
)


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> object:
    """Return a function that runs ``posenc`` in an empty directory and gives status and the one line."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **files: str) -> tuple[int, str]:
        for name, source in files.items():
            (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        status = cli.main(list(arguments))
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1, err
        assert err.startswith("posenc: ")
        return status, err.removeprefix("posenc: ").rstrip()

    return run


def mine(operation: str = "'rope.rotate'", settings: str = "") -> str:
    """Return an adapter's source with one thing changed."""
    return MINE.format(operation=operation, settings=settings)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("check", "missing.py"), "missing.py"),
        (("check", "transformer"), "did you mean transformers?"),
        (("check", "numpy", "--scheme", "rop"), "did you mean rope?"),
        (("check", "numpy", "--operation", "rope.rotat"), "did you mean rope.rotate?"),
        (("check", "numpy", "--case", "rope.rotate/nowhere"), "case must be one that `posenc show rope.rotate` names"),
        (("check", "numpy", "--case", "nowhere"), "case must be one that `posenc show OPERATION` names"),
        (("check", "numpy", "--profile", "float23"), "did you mean float32?"),
        (("check", "numpy", "--profile", "fp32"), "did you mean float32?"),
        (("init", "mine", "--framework", "onnx"), "framework must be one of numpy, torch, "),
        (("check", "numpy", "--level", "huge"), "'huge'"),
        (("check", "numpy", "--seed", "many"), "'many'"),
        (("check", "numpy", "--profil", "float32"), "--profil"),
        (("check",), "TARGET"),
        (("chek", "numpy"), "did you mean check?"),
        (("my_rope.py",), "did you mean check my_rope.py?"),
        (("show", "rope.rotte"), "did you mean rope.rotate?"),
        (("init", "not-a-name"), "name must be a Python name"),
        (("init", "mine", "--operation", "t5.bukket"), "did you mean t5.bucket?"),
        (("init", "mine", "--framework", "torhc"), "did you mean torch?"),
        (("init", "mine", "--operation", "t5"), "did you mean t5.bucket, t5.bias, t5.weights or t5.attend?"),
        (("check", "numpy", "--case", "rope.rotate/hal"), "did you mean rope.rotate/half"),
        (("check", "numpy", "--levl", "smoke"), "`posenc check --help` names, got '--levl' (did you mean --level?)"),
        (("check", "numpy", "--dtype", "float32"), "got '--dtype': an adapter declares it, as implements(..., dtypes='bfloat16')"),
        (("check", "numpy", "--framework", "torch"), "got '--framework': an adapter declares it, as Adapter(..., framework='torch')"),
        (("check", "numpy", "--layout", "half"), "got '--layout': an adapter declares it, as implements(..., layout=...)"),
        (("identify", "textwrap:re"), "textwrap:re must be a function, got the module re: name a function of it, as in re:NAME"),
    ],
)
def test_wrong_names_are_refused_with_the_near_miss(refused: object, arguments: tuple[str, ...], words: str) -> None:
    status, line = refused(*arguments)  # type: ignore[operator]  # the fixture's function

    assert status == 2
    assert words in line


def parameters(command: click.Command) -> Iterator[click.Parameter]:
    """Yield every option and argument of a command and of those below it."""
    yield from command.params
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        yield from parameters(each)


def test_a_file_or_folder_without_a_name_is_refused_wherever_one_is_given() -> None:
    paths = [parameter for parameter in parameters(posenc) if isinstance(parameter.type, click.Path)]

    assert {"--report", "--baseline", "--plot", "--output", "--directory"} <= {name for each in paths for name in each.opts}
    for each in paths:
        with pytest.raises(click.BadParameter, match="must have a name, got ''"):
            each.type.convert("", each, None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("check", "numpy", "--report", ""), "folder must have a name, got ''"),
        (("check", "numpy", "--baseline", ""), "file must have a name, got ''"),
        (("check", "numpy", "--config", ""), "--config must be a file that exists and is called *.json, got ''"),
        (("check", ""), "got ''"),
        (("check", "--command", ""), "command must start with a program that can be run, got ''"),
        (("identify", ""), "got ''"),
        (("precision", ""), "got ''"),
        (("init", ""), "name must be a Python name, got ''"),
    ],
)
def test_an_empty_name_is_refused_in_one_line(refused: object, arguments: tuple[str, ...], words: str) -> None:
    status, line = refused(*arguments)  # type: ignore[operator]  # the fixture's function

    assert status == 2
    assert words in line


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1\n", "must define adapter"),
        (HEADER + "adapter = Adapter('mine')\n", "at least one operation"),
        (mine("'rope.rotat'"), "did you mean rope.rotate?"),
        (mine("'rope.rotate', layot='half'"), "did you mean layout?"),
        (mine("'rope.rotate', layout='halves'"), "must be one of interleaved, half"),
        (mine("'rope.rotate', head_dim=7"), "head_dim must be even"),
        (mine("'rope.apply', call='f(x, freqs_cis)'"), "got 'freqs_cis' for rope.apply (did you mean waves?)"),
        (mine("'sinusoidal.encode', call='f(length, d_model)'"), "got 'length' for sinusoidal.encode (did you mean tokens?)"),
        (mine("'alibi.slopes', num_heads=0"), "num_heads must be at least 1"),
        (mine("'rope.rotate', base=-1.0"), "base must be greater than 0"),
        (mine("'rope.rotate', base=float('nan')"), "base must be finite"),
        (mine(settings=", framework='pytorch'"), "framework must be one of"),
        (mine(settings=", framework='torhc'"), "did you mean torch?"),
        (mine(settings=", framework='cupy'"), "needs cupy"),
        (mine(settings=", dtypes=('float31',)"), "did you mean float32?"),
        (mine(settings=", profile='float3'"), "profile must be one of"),
        ("import no_such_library\n", "needs the module no_such_library, which isn't installed"),
        ("import sys\nsys.path.clear()\nimport colorsys\n", "must leave Python's own modules where they are searched (sys.path), "),
        ("import os\nos.closerange(3, 99)\n" + mine("'rope.rotate'"), "the channel to the harness was closed"),
        ("def broken(:\n", "SyntaxError"),
        ("raise RuntimeError('first line\\nsecond line')\n", "RuntimeError: first line second line"),
        ("import sys\nsys.exit(0)\n", "SystemExit"),
    ],
)
def test_a_wrong_adapter_is_refused_with_what_is_wrong(refused: object, source: str, words: str) -> None:
    status, line = refused("check", "mine.py", mine=source)  # type: ignore[operator]  # the fixture's function

    assert status == 2
    assert words in line


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a folder of vectors, to be damaged."""
    return few_vectors(tmp_path / "vectors", "rope.rotate.yaml")


def grow(path: Path) -> None:
    """Add an empty line."""
    path.write_bytes(path.read_bytes() + b"\n")


def truncate(path: Path) -> None:
    """Drop the second half."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    """Change one digit."""
    path.write_bytes(path.read_bytes().replace(b"0.", b"1.", 1))


@pytest.mark.parametrize("damage", [grow, truncate, flip, Path.unlink])
def test_vectors_that_were_changed_are_refused_by_name(refused: object, copied: Path, damage: Callable[[Path], None]) -> None:
    damage(copied / "rope.rotate.yaml")
    status, line = refused("vectors", "verify", "--directory", str(copied))  # type: ignore[operator]  # the fixture's function

    assert status == 3
    assert "rope.rotate.yaml" in line


@pytest.mark.parametrize("damage", [grow, truncate, flip])
def test_changed_vectors_give_no_verdict(
    refused: object, copied: Path, damage: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "vectors_directory", lambda: copied)
    damage(copied / "rope.rotate.yaml")
    status, line = refused("check", "mine.py", mine=mine())  # type: ignore[operator]  # the fixture's function

    assert status == 3
    assert "rope.rotate.yaml" in line


def test_a_directory_without_vectors_is_refused(refused: object, tmp_path: Path) -> None:
    status, line = refused("vectors", "verify", "--directory", str(tmp_path))  # type: ignore[operator]  # the fixture's function

    assert status == 3
    assert "manifest" in line


def test_a_file_that_cannot_be_written_is_one_line(refused: object, copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "vectors_directory", lambda: copied)
    status, line = refused("vectors", "export", str(tmp_path / "nowhere" / "vectors.json"))  # type: ignore[operator]  # the fixture's function

    assert status == 2
    assert "folder of the file must exist" in line
    assert "nowhere" in line


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([2, 2], "axes must be a tuple of integers, got [2, 2]"),
        ((2, 2.0), "axes must be a tuple of integers, got (2, 2.0)"),
        ((2, True), "axes must be a tuple of integers, got (2, True)"),
        (2, "axes must be a tuple of integers, got 2"),
        ((2, -2), "each of axes must be"),
    ],
)
def test_what_is_no_tuple_of_integers_is_refused(value: object, words: str) -> None:
    with pytest.raises(SpecificationError) as raised:
        operations()["axial_rope.rotate"].parameters["axes"].check(value)

    assert words in str(raised.value)


def test_integers_without_a_rule_may_be_any() -> None:
    replace(operations()["axial_rope.rotate"].parameters["axes"], rule=None).check((0, -1))
