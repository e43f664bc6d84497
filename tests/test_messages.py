"""Bad input gets one clear line on standard error and a status that isn't a verdict, never a traceback."""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from few_vectors import few_vectors

import conformance
from conformance import cli
from conformance.commands.options import told
from conformance.commands.posenc import posenc
from conformance.spec import vectors
from conformance.spec.declarations import operations
from refimpl.errors import SpecificationError

HEADER = "from conformance import Adapter\nadapter = Adapter('mine'{settings})\n"
NAMED = HEADER.format(settings="")
TORCH = "import torch\n" + HEADER.format(settings=", framework='torch'") + "class F(torch.nn.Module):\n"
GIVES = "adapter.implements('rope.rotate', {})\n"
IMPLEMENTS = "@adapter.implements('OPERATION', ...) says what a function offers"


def offering(declared: str = "'rope.rotate'", settings: str = "") -> str:
    """Return an adapter's source with one thing declared."""
    return HEADER.format(settings=settings) + f"@adapter.implements({declared})\ndef f(*arrays, **parameters):\n    return arrays[0]\n"


def of(arguments: str, body: str, declared: str = "'rope.rotate', f, layout='half', direction='positive'") -> str:
    """Return an adapter's source with a function of its own."""
    return f"{NAMED}import numpy as np\ndef f({arguments}):\n    {body}\nadapter.implements({declared})\n"


#: First errors of a command line, and the words of its one line that name the fix.
COMMANDS = {
    "check missing.py": "must be a file that exists, got missing.py",
    "check mne.py": "got mne.py (did you mean mine.py?)",
    "check nowhere/mine.py": "got nowhere/mine.py (did you mean mine.py?)",
    "identify mne.py:f": "got mne.py (did you mean mine.py?)",
    "explain mine.json": "must be one that exists, got 'mine.json' (did you mean mined.json?)",
    "check numpy --config mine.json": "is called *.json, got 'mine.json' (did you mean mined.json?)",
    "check transformer": "(did you mean transformers?)",
    "check .": "must be a file, got the directory ., which has mine.py",
    "check package": "which has __init__.py: a module of the package is taken as package.MODULE:adapter",
    "check numpy --scheme rop": "(did you mean rope?)",
    "check numpy --operation rope.rotat": "(did you mean rope.rotate?)",
    "check numpy --case rope.rotate/nowhere": "must be one that `posenc show rope.rotate` names",
    "check numpy --case nowhere": "must be one that `posenc show OPERATION` names",
    "check numpy --case rope.rotate/hal": "(did you mean rope.rotate/half",
    "check numpy --profile float23": "(did you mean float32?)",
    "check numpy --profile bfloat16": "(did you mean bfloat16-table or bfloat16-model?)",
    "check numpy --profile bf16": "(did you mean bfloat16-table or bfloat16-model?)",
    "check numpy --profile fp32": "(did you mean float32?)",
    "check numpy --level huge": "--level must be one of smoke, core, full, got 'huge'",
    "check numpy --level smokey": "(did you mean smoke?)",
    "check numpy --seed many": "--seed must be an integer from 0 on, got 'many'",
    "check numpy --seed -1": "--seed must be an integer from 0 on, got '-1'",
    "check numpy --jobs 0": "--jobs must be an integer from 1 to 64, got '0'",
    "check numpy --call-seconds x": "--call-seconds must be a number from 0.1 on, got 'x'",
    "check numpy --seed": "--seed must have a value, got none",
    "check numpy --update-baseline=3": "--update-baseline must stand without a value, got one",
    "explain": "CONFIG.json must be given, got nothing",
    "explain .": "CONFIG.json: file must not be a folder, got '.'",
    "show a b c": "arguments must be those that `posenc show --help` names, got c too",
    "show model llama3": "(did you mean Llama-3.2-3B-Instruct?)",
    "check numpy --baseline nowhere.yaml": "(--update-baseline writes one)",
    "check numpy --profil float32": "(did you mean --profile?)",
    "check numpy --levl smoke": "`posenc check --help` names, got '--levl' (did you mean --level?)",
    "check numpy --dtype float32": "an adapter declares it, as implements(..., dtypes='bfloat16')",
    "check numpy --framework torch": "an adapter declares it, as Adapter(..., framework='torch')",
    "check numpy --layout half": "an adapter declares it, as implements(..., layout=...)",
    "check mine": "(did you mean mine.py?)",
    "check json.tool": "and json.tool has no adapter: name what is meant in it, as json.tool:NAME, or write an adapter with `posenc init",
    "check json.decoder.JSONDecoder": "(did you mean json.decoder:JSONDecoder?)",
    "check no_such.module": "or one of numpy, ",
    "check rope.rotate": "got 'rope.rotate', an operation: `posenc check TARGET --operation rope.rotate` judges a target by it, ",
    "check torch": "got 'torch', a framework: `posenc init NAME --framework torch` writes",
    "identify mine.apply": "(did you mean mine:apply?)",
    "identify mine.turn": "and mine has no turn: name what is meant in it, as mine:NAME",
    "identify textwrap:wrap --set basis=5": "(did you mean base?)",
    "show Llama-3.1-8B": "must be named behind `posenc show model`, got 'Llama-3.1-8B' (did you mean Llama-3.1-8B-Instruct?)",
    "check": "must get a TARGET or a --command",
    "chek numpy": "(did you mean check?)",
    "my_rope.py": "(did you mean check my_rope.py?)",
    "show rope.rotte": "(did you mean rope.rotate?)",
    "show model Llama-3.1": "(did you mean Llama-3.",
    "init not-a-name": "must be a Python name, got 'not-a-name' (did you mean not_a_name?)",
    "init new/my_rope": "(did you mean my_rope in new, since the file is written where the command runs?)",
    "identify apply": "(did you mean mine.py:apply?)",
    "init numpy": "must not be that of a module which is imported",
    "init mine --operation t5.bukket": "(did you mean t5.bucket?)",
    "init mine --operation t5": "(did you mean t5.bucket, t5.bias, t5.weights or t5.attend?)",
    "init mine --framework torhc": "(did you mean torch?)",
    "init mine --framework onnx": "must be one of numpy, torch, ",
    "identify textwrap:re": "got the module re: name a function of it, as in re:NAME",
    "identify textwrap:wrp": "(did you mean wrap?)",
}
#: First errors of an adapter's file, and the words that name the fix, or the line where it stands.
SOURCES = {
    "no adapter": ("x = 1\n", "`posenc identify mine.py:FUNCTION` writes one for a function, `posenc init NAME` one to fill in"),
    "an adapter of the main program": (f"if __name__ == '__main__':\n    {NAMED.splitlines()[1]}\n", "below `if __name__ == ...`"),
    "several adapters": (f"{NAMED}b = adapter\nc = Adapter('c')\ndel adapter\n", "got b, c: take one as mine.py:b"),
    "nothing offered": (NAMED, IMPLEMENTS),
    "an adapter that is called": (f"{NAMED}adapter('rope.rotate')\n", IMPLEMENTS),
    "the class as a decorator": (offering().replace("@adapter", "@Adapter"), "make one first, adapter = Adapter('NAME')"),
    "a misspelt method": (offering().replace("implements", "implement"), "(did you mean implements?)"),
    "an adapter that isn't imported": ("\n".join(offering().split("\n")[1:]), "write from posenc import Adapter"),
    "a decorator without an operation": (offering().replace("('rope.rotate')", ""), "@adapter.implements(OPERATION) is written with one"),
    "the result of a call": (f"{NAMED}adapter.implements('rope.rotate', abs(-1))\n", "pass the function itself, not what a call of it"),
    "a function that is called": (
        f"{NAMED}def turn(x): pass\nadapter.implements('rope.rotate', turn())\n",
        "give the function itself, turn without parentheses",
    ),
    "a class": (
        f"{NAMED}class F:\n    def __call__(self, x): pass\nadapter.implements('rope.rotate', F)\n",
        "F must be given as an object that is called, F(), got the class",
    ),
    "a class with a call": (
        f"{NAMED}class F:\n    def __call__(self, x, positions): pass\nadapter.implements('rope.rotate', F, call='f(x, positions)')\n",
        "F must be given as an object that is called, F(), got the class",
    ),
    "a class that needs something": (
        f"{NAMED}class F:\n    def __init__(self, d, base=1.0): pass\n    def __call__(self, x): pass\n{GIVES.format('F')}",
        "F must be given as an object that is called, F(d), got the class",
    ),
    "a dataclass": (
        f"{NAMED}import dataclasses as d\n@d.dataclass\nclass F:\n    base: float\n    def turn(self, x): pass\n{GIVES.format('F')}",
        "F must be given as a method of what it makes, such as F(base).turn, got the class",
    ),
    "a class without a method": (f"{NAMED}class F: pass\nadapter.implements('rope.rotate', F)\n", "such as F().METHOD, got the class"),
    "a class in parts": (
        f"{NAMED}import functools\nclass F:\n    def __call__(self, x): pass\nadapter.implements('rope.rotate', functools.partial(F))\n",
        "F must be given as an object that is called, F(), got the class",
    ),
    "an object that isn't called": (
        f"{NAMED}class F:\n    def turn(self, x): pass\nadapter.implements('rope.rotate', F())\n",
        "not what a call of it returns, or a method of the object, such as turn",
    ),
    "a module of torch": (
        f"{TORCH}    def __init__(self, dim): super().__init__()\n    def forward(self, x): pass\n{GIVES.format('F')}",
        "F must be given as an object that is called, F(dim), got the class",
    ),
    "a module of torch that isn't made": (
        f"{TORCH}    def __init__(self): pass\n    def forward(self, x, positions, **_): pass\n{GIVES.format('F()')}",
        "its __init__ must first call super().__init__()",
    ),
    "a function of autograd": (
        f"{TORCH.replace('nn.Module', 'autograd.Function')}    @staticmethod\n    def forward(ctx, x): pass\n{GIVES.format('F')}",
        "F must be given as F.apply, got the class",
    ),
    "a predicate of nothing": (
        offering("'rope.rotate', head_dim=lambda: True"),
        "head_dim must be declared by a predicate that takes its value, head_dim=lambda head_dim: ..., got TypeError: <lambda>() takes 0",
    ),
    "a predicate of other names": (
        offering("'rope.rotate', when=lambda given: given['theta'] > 1"),
        "takes the parameters by name, when=lambda parameters: ..., got KeyError: 'theta' (mine.py:3 in <lambda>), called with {'base': ",
    ),
    "restrictions by position": (offering("'rope.rotate', 'half', 'positive'"), "say by name what restricts it, as layout=..., direction="),
    "a name that posenc hasn't": (
        f"from posenc import Adaptor\n{offering()}",
        "posenc has " + " and ".join([", ".join(conformance.__all__[:-1]), conformance.__all__[-1]]),
    ),
    "an adapter without a name": (offering().replace("'mine'", ""), "write Adapter('NAME', ...)"),
    "a kind of positions": (offering("'rope.rotate', positions='fromzero'"), "(did you mean from_zero?)"),
    "a kind of rows": (offering("'rope.rotate', rows='share'"), "(did you mean shared?)"),
    "letters for axes": (offering("'rope.rotate', axes='b s h d'"), "(did you mean 'batch token head head_dim'?)"),
    "names of axes": (offering("'rope.rotate', axes='batch heads token dim'"), "(did you mean 'batch head token head_dim'?)"),
    "a device of NumPy": (offering("'rope.rotate', layout='half'", ", device='cuda'"), "device of mine must be cpu for numpy, got 'cuda'"),
    "a length alone": (
        of("num_heads, length", "pass", "'alibi.bias', f, positions='from_zero'"),
        "which calls it with max(len(query_positions), len(key_positions)) tokens and cuts what it returns",
    ),
    "a comma behind the result": (of("x, positions, base", "return x,"), "got a tuple of 1: is there a comma behind it?"),
    "code that is still to be written": (of("x, positions, base", "raise NotImplementedError"), "(mine.py:5 in f): fill in mine.py"),
    "code that exits when it is called": (of("x, positions, base", "raise SystemExit(1)"), "call raises SystemExit: 1 (mine.py:5 in f)"),
    "an operation": (offering("'rope.rotat'"), "(did you mean rope.rotate?)"),
    "a scheme": (offering("'binary'"), "(it has binary.encode, binary.add)"),
    "a parameter": (offering("'rope.rotate', layot='half'"), "(did you mean layout?)"),
    "another keyword of a declaration": (offering("'rope.rotate', row='alike'"), "got 'row' (did you mean rows?)"),
    "a value": (offering("'rope.rotate', layout='halves'"), "must be one of interleaved, half"),
    "a value by its model": (offering("'rope.rotate', layout='neox'"), "(half is GPT-NeoX's: `posenc show rope.rotate`)"),
    "an odd width": (offering("'rope.rotate', head_dim=7"), "head_dim must be even"),
    "no heads": (offering("'alibi.slopes', num_heads=0"), "num_heads must be at least 1"),
    "a negative base": (offering("'rope.rotate', base=-1.0"), "base must be greater than 0"),
    "no base": (offering("'rope.rotate', base=float('nan')"), "base must be finite"),
    "a dtype": (offering("'rope.rotate', dtypes='fp16'"), "(did you mean float16?)"),
    "a dtype of NumPy": ("import numpy\n" + offering("'rope.rotate', dtypes=[numpy.float32]"), "(did you mean float32?)"),
    "a dtype of torch": ("import torch\n" + offering("'rope.rotate', dtypes=[torch.bfloat16]"), "(did you mean bfloat16?)"),
    "a profile": (offering(settings=", profile='float3'"), "profile must be one of"),
    "a framework": (offering(settings=", framework='pytorch'"), "(did you mean torch?)"),
    "a module for a framework": (f"import numpy\n{offering(settings=', framework=numpy')}", "write its name as text"),
    "a framework that isn't here": (offering(settings=", framework='cupy'"), "needs cupy: pip install cupy"),
    "two without labels": (offering() + "adapter.implements('rope.rotate', f)\n", "give one of them a label=... of its own"),
    "complex tables": (offering("'rope.apply', call='f(x, freqs_cis)'"), "(did you mean waves?)"),
    "a length": (offering("'sinusoidal.encode', call='f(length, d_model)'"), "(did you mean tokens?)"),
    "no call": (offering("'rope.rotate', call='x'"), "call must be like 'f(x, positions, theta=base)'"),
    "an offset alone": (offering("'rope.rotate', call='f(x, offset)'"), "must come with positions='consecutive' or 'from_zero'"),
    "no positions": (offering("'rope.rotate', call='f(x, base)'"), "must name positions unless positions='from_zero' is declared"),
    "axes as a tuple": (offering("'rope.rotate', axes=('token', 'head')"), "must be text, as 'batch token head head_dim'"),
    "too few axes": (offering("'rope.rotate', axes='batch head token'"), "in another order (batch head token head_dim; "),
    "tables of none": (offering("'rope.rotate', tables='tiled'"), "must be declared of an operation with cosines and sines"),
    "bounds": (offering("'rope.rotate', lowest=5, highest=2"), "highest must be at least lowest"),
    "a mask of none": (offering("'rope.rotate', masked=True"), "must be declared of a bias or of logits"),
    "a value twice": (offering("'rope.rotate', layout='half', parameters={'layout': 'half'}"), "layout must be declared once"),
    "other names": (of("x, positions, rope_theta, *, d", "pass"), "such as implements('rope.rotate', call='f(x, positions, base, d=h"),
    "a base that it isn't told": (of("x, positions", "pass"), "declare what it uses, such as implements('rope.rotate', base=10000.0)"),
    "tables in place of positions": (of("x, cos, sin", "pass"), "such as implements('rope.apply', call='f(x, cos, sin)')"),
    "queries and keys": (of("q, k, positions, base", "pass"), "such as implements('rope.rotate', call='f(q, k, positions, base)')"),
    "nothing comes back": (of("x, positions, base", "x + 1"), "must return one array, got None: is there a return?"),
    "two come back": (of("x, positions, base", "return x, x"), "must return one array, got tuple of 2: return one, declare call="),
    "a breakpoint is left": (of("x, positions, base", "import bdb; raise bdb.BdbQuit"), "remove breakpoint()"),
    "a list comes back": (of("x, positions, base", "return x.tolist()"), "must be an array of numpy or a number, got list"),
    "a keyword within": (of("x, positions, base", "return f(x, theta=base)"), "must take x, positions, base=..., got TypeError"),
    "a misspelt name": (of("x, positions, base", "return xs"), "name 'xs' is not defined (mine.py:5 in f)"),
    "code of torch": (of("x, positions, base", "return x.chunk(2)"), "others are declared as Adapter(..., framework=...)"),
    "a library that isn't here when it is called": (
        of("x, positions, base", "import no_such_library.ops"),
        "No module named 'no_such_library' (mine.py:5 in f): install no_such_library beside posenc",
    ),
    "too few axes in code": (
        of("x, positions, base", "batch, token, width = x.shape"),
        "(mine.py:5 in f); it gets x (batch head token head_dim), positions ([batch] token) unless axes= declares others, as axes='",
    ),
    "positions as their number": (of("x, positions, base", "return range(positions)"), "positions='from_zero', and call= with tokens"),
    "one column": (
        of("positions, head_dim, base", "return [np.ones((*positions.shape, head_dim // 2))] * 2", "'rope.tables', f, tables='tiled'"),
        "got one: declare no tables",
    ),
    "a relative import": ("from .model import f\n", "write the module's name without a dot"),
    "a misspelt module": ("import minne\n", "needs minne (did you mean mine?)"),
    "a library that isn't here": ("import no_such_library\n", "needs the module no_such_library, which isn't installed"),
    "Python's own modules": ("import sys\nsys.path.clear()\nimport colorsys\n", "must leave Python's own modules where they are"),
    "an import that raises": ("raise RuntimeError('first line\\nsecond line')\n", "RuntimeError: first line second line (line 1)"),
    "broken code": ("def broken(:\n", "SyntaxError: invalid syntax (mine.py, line 1)"),
    "code that exits": ("import sys\nsys.exit(0)\n", "SystemExit: 0 (line 2)"),
    "code that reads a command line": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--model', required=True)\np.parse_args()\n",
        "SystemExit: 2 (line 4); it last said: -c: error: the following arguments are required: --model",
    ),
}


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


@pytest.mark.parametrize(("command", "fix"), COMMANDS.items())
def test_a_first_error_of_a_command_is_one_line_that_names_the_fix(refused: object, command: str, fix: str) -> None:
    Path("mined.json").touch()
    Path("package").mkdir()
    Path("package", "__init__.py").touch()
    status, line = refused(*shlex.split(command), mine="def apply(x): return x\n")  # type: ignore[operator]  # the fixture's function

    assert status == 2
    assert fix in line


@pytest.mark.parametrize(("source", "fix"), SOURCES.values(), ids=SOURCES)
def test_a_first_error_of_an_adapter_is_one_line_that_names_the_fix(refused: object, source: str, fix: str) -> None:
    status, line = refused("check", "mine.py", "--level", "smoke", mine=source)  # type: ignore[operator]  # the fixture's function

    assert status == 2
    assert fix in line


@pytest.mark.parametrize(
    "declared",
    ["'rope.rotat'", "'rope'", "'rope.rotate', layout='halves'", "'rope.rotate', layuot='half'", "'rope.rotate', head_dim='64'",
     "'rope.rotate', base=range(1, 10)", "'rope.rotate', direction=1", "'rope.rotate', axes='tokens'", "'rope.rotate', rows='no'"],
)  # fmt: skip
def test_a_declaration_that_is_refused_is_told_with_its_file(refused: object, declared: str) -> None:
    status, line = refused("check", "mine.py", mine=offering(declared))  # type: ignore[operator]  # the fixture's function

    assert status == 2
    assert line.startswith("mine.py: ")


def refusal(option: click.Option, value: str) -> click.BadParameter | None:
    """Return what an option says of a value that it can't have."""
    try:
        option.type.convert(value, option, None)
    except click.BadParameter as error:
        error.param = option
        return error
    return None


def test_no_value_of_an_option_is_refused_in_the_words_of_click() -> None:
    given = [each for each in parameters(posenc) if isinstance(each, click.Option) and not each.is_flag]
    refusals = [refused for each in given if (refused := refusal(each, "x y")) is not None]

    assert len(refusals) >= 10
    assert [told(each) for each in refusals if not re.search(r"^.+ must .+, got .+", told(each))] == []


@pytest.mark.parametrize("target", ["parts/rope.py", "parts.rope"])
def test_a_file_that_is_read_without_its_package_is_told_its_name_within(refused: object, target: str) -> None:
    Path("parts").mkdir()
    Path("parts/__init__.py").touch()
    Path("parts/rope.py").write_text("from .model import f as adapter\n", encoding="utf-8")

    status, line = refused("check", target)  # type: ignore[operator]  # the fixture's function

    assert status == 2
    assert "parts.rope:adapter" in line
    assert "belongs to no package" not in line


@pytest.mark.parametrize("name", ["posenc", "colorsys"])
def test_a_file_that_hides_the_module_it_imports_is_to_be_renamed(refused: object, name: str) -> None:
    status, line = refused("check", f"{name}.py", **{name: f"from {name} import nothing\n"})  # type: ignore[operator]  # the fixture's

    assert status == 2
    assert f"in place of the module {name}: rename the file" in line


def test_files_that_import_one_another_are_not_to_be_renamed(refused: object) -> None:
    status, line = refused("check", "one.py", one="from two import b\n", two="from one import a\n")  # type: ignore[operator]  # the fixture's

    assert status == 2
    assert "circular import" in line
    assert "rename" not in line


def test_code_that_asks_a_debugger_is_told_the_line_where_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(of("x, positions, base", "breakpoint()\n    return x"), encoding="utf-8")

    assert cli.main(["check", "mine.py", "--level", "smoke"]) == 2
    assert re.search(r"BdbQuit \(mine\.py:[56] in f\): remove breakpoint\(\)", capsys.readouterr().err)


def test_first_errors_are_of_at_least_forty_kinds() -> None:
    assert len(COMMANDS) >= 30
    assert len(SOURCES) >= 50


def test_an_adapter_that_closes_the_channel_is_told_so(refused: object) -> None:
    status, line = refused("check", "mine.py", mine=f"import os\nos.closerange(3, 99)\n{offering()}")  # type: ignore[operator]  # the fixture's

    assert status == 2
    assert "the channel to the harness was closed" in line


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
    status, line = refused("check", "mine.py", mine=offering())  # type: ignore[operator]  # the fixture's function

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
