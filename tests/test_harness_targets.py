"""A bad target gets one clear line."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from conformance import Adapter, Session, run
from conformance.adapt.adapter import AdapterError
from conformance.identify.inside import SEPARATOR, undeclared
from conformance.isolate import targets
from conformance.isolate.targets import LibraryMissing, TargetError

HEAD = "from conformance import Adapter\n"


@pytest.fixture(autouse=True)
def _own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])


def refusal(target: str) -> str:
    with pytest.raises(TargetError) as caught:
        targets.load(target)
    message = str(caught.value)
    assert "\n" not in message
    return message


def written(folder: Path, source: str) -> str:
    path = folder / "mine.py"
    path.write_text(HEAD + source)
    return str(path)


def offering(folder: Path, restrictions: str) -> str:
    return written(folder, f"adapter = Adapter('mine')\n@adapter.implements({restrictions})\ndef f(*a, **k): pass\n")


#: Targets that are no adapter, and what is told of them.
TARGETS = {
    "a missing file is named": ("nowhere.py", "target must be a file that exists, got nowhere.py"),
    "a module that doesn't exist is a bad target": ("nosuchmodule:adapter", "target must name a module that exists, got 'nosuchmodule'"),
    "in no package that exists nothing is to be installed": (
        "no.such.module:adapter",
        "target must name a module that exists, got 'no.such.module'",
    ),
    "an object that is no adapter says what it is": ("json:decoder", "json:decoder must be a posenc.Adapter, got module"),
    "an object that is missing gets the near miss": (
        "json:load_s",
        "json:load_s must name an object that exists, got no 'load_s' (did you mean loads?)",
    ),
}
#: Files that are wrong, and how what is told of them ends.
SOURCES = {
    "an adapter must offer at least one operation": (
        "adapter = Adapter('mine')\n",
        "got an adapter without implementations: @adapter.implements('OPERATION', ...) says what a function offers",
    ),
    "an adapter that is called as a decorator is told implements": (
        "adapter = Adapter('mine')\nadapter('rope.rotate')\n",
        ": @adapter.implements('OPERATION', ...) says what a function offers",
    ),
    "arrays at their places are not taken for misspelt keywords": (
        "adapter = Adapter('mine')\n@adapter.implements('alibi.bias')\ndef f(m, n, *, slope): pass\n",
        "got m, n, slope (did you mean slopes?)",
    ),
    "an unknown framework gets the near miss": ("adapter = Adapter('mine', framework='pytorch')\n", "got 'pytorch' (did you mean torch?)"),
    "an import error keeps its last line": ("1 / 0\n", "can't be imported: ZeroDivisionError: division by zero (line 2)"),
    "a scheme is found by a word of its summary": (
        "adapter = Adapter('mine')\nadapter.implements('rotary.rotate', print)\n",
        "got 'rotary.rotate' (did you mean rope.rotate?)",
    ),
    "an operation that the class offers is told to make an adapter first": (
        "@Adapter.implements('rope.rotate')\ndef rotate(x, positions, **_): pass\n",
        "(line 2): make one first, adapter = Adapter('NAME'), and write @adapter.implements('OPERATION', ...)",
    ),
    "a framework that is a module is told to be text": (
        "import numpy\nadapter = Adapter('mine', framework=numpy)\n",
        "got the module numpy: write its name as text",
    ),
    "a relative import is told to be a plain one": ("from .model import rotate\n", "write the module's name without a dot"),
    "a function that was called is told to be passed itself": (
        "adapter = Adapter('mine')\nadapter.implements('rope.rotate', abs(-1))\n",
        "got 1: pass the function itself, not what a call of it returns",
    ),
}
#: The same of what an adapter is told to implement.
DECLARED = {
    "'binary'": "got 'binary' (it has binary.encode, binary.add)",
    "'rope.rotat'": "got 'rope.rotat' (did you mean rope.rotate?)",
    "'rotate'": "got 'rotate' (did you mean rope.rotate?)",
    "'rope.rotate', max_positions=2048": "got 'max_positions': 'posenc show rope.rotate' lists what else may be declared",
    "'alibi.bias', n_heads=8, wheels=2, form='row', alibi_bias_max=8.0": (
        "got 'n_heads' (did you mean num_heads?), 'wheels', 'alibi_bias_max' (did you mean max_bias?)"
    ),
    "'rope.permute', conversion='neox'": "(interleaved_to_half is NEOX's: `posenc show rope.permute`)",
    "'rope.rotate', direction='clockwise'": "got 'clockwise' (negative is clockwise: `posenc show rope.rotate`)",
    "'partial_rope.rotate', placement='gptneox'": "got 'gptneox' (first is GPT-NeoX's: `posenc show partial_rope.rotate`)",
    "'alibi.bias', form='mpt'": "got 'mpt' (reversed is MPT's: `posenc show alibi.bias`)",
    "'alibi.bias', form='key'": "got 'key': `posenc show alibi.bias` says what they mean",
}


@pytest.mark.parametrize(("target", "told"), TARGETS.values(), ids=TARGETS)
def test_a_target_that_is_no_adapter_is_told_in_one_line(target: str, told: str) -> None:
    assert refusal(target) == told


def test_an_unknown_name_gets_the_near_miss() -> None:
    assert refusal("numpyy").endswith("got 'numpyy' (did you mean numpy?)")


@pytest.mark.parametrize(("source", "told"), SOURCES.values(), ids=SOURCES)
def test_a_file_that_is_wrong_is_told_in_one_line(tmp_path: Path, source: str, told: str) -> None:
    assert refusal(written(tmp_path, source)).endswith(told)


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("layuot='half'", " must be restricted by head_dim, base, layout, direction, got 'layuot' (did you mean layout?)"),
        ("layout=('half', 'halves')", ": layout must be one of interleaved, half, interleaved_to_half, got 'halves' (did you mean half?)"),
    ],
)
def test_a_restriction_that_is_wrong_is_told_with_what_there_is(tmp_path: Path, declared: str, told: str) -> None:
    path = offering(tmp_path, f"'rope.rotate', {declared}")
    assert refusal(path) == f"{path}: rope.rotate{told}"


@pytest.mark.parametrize(("declared", "told"), DECLARED.items())
def test_a_declaration_that_is_wrong_is_told_what_was_meant(tmp_path: Path, declared: str, told: str) -> None:
    assert refusal(offering(tmp_path, declared)).endswith(told)


def test_a_file_that_lacks_its_ending_gets_the_near_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "")
    monkeypatch.chdir(tmp_path)
    assert refusal("mine").endswith("got 'mine' (did you mean mine.py?)")


def test_a_framework_that_is_missing_is_named_also_where_no_adapter_declares_it(tmp_path: Path) -> None:
    path = written(tmp_path, "def f(x, positions):\n    return x\n")
    with pytest.raises(LibraryMissing, match="paddle needs paddle: pip install paddlepaddle"):
        undeclared(f"{path}:f{SEPARATOR}paddle")


def test_a_file_without_adapter_is_told_how_to_get_one(tmp_path: Path) -> None:
    path = written(tmp_path, "x = 1\n")

    assert refusal(path) == (
        f"{path} must define adapter = Adapter(...), got none: "
        f"`posenc identify {path}:FUNCTION` writes one for a function, `posenc init NAME` one to fill in"
    )


def test_a_function_of_a_file_is_sent_to_identification(tmp_path: Path) -> None:
    path = written(tmp_path, "def f(x):\n    return x\n")

    assert refusal(f"{path}:f") == (
        f"{path}:f must be a posenc.Adapter, got function: `posenc identify {path}:f` says what it is, and writes its adapter"
    )


def test_two_adapters_of_other_names_are_ambiguous_until_one_is_named(tmp_path: Path) -> None:
    offers = "\n@{0}.implements('rope.rotate')\ndef f(*a, **k): pass\n"
    path = written(tmp_path, f"b = Adapter('b')\na = Adapter('c'){offers.format('a')}")

    assert refusal(path).endswith(f"got a, b: take one as {path}:a")
    assert targets.load(f"{path}:a").name == "c"


def test_a_device_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    offered = "@adapter.implements('rope.rotate', layout='half', direction='positive')\ndef f(x, positions, **_): ...\n"
    path = written(tmp_path, f"adapter = Adapter('mine', framework='torch', device='gpu0')\n{offered}")

    with Session(path) as session, pytest.raises(TargetError, match=r"^device of mine must be one that torch has here, got 'gpu0': "):
        session.implementations  # noqa: B018  reading starts the worker


def test_all_keywords_of_other_names_are_told_at_once_with_what_they_mean(tmp_path: Path) -> None:
    source = "adapter = Adapter('mine')\n@adapter.implements('rope.rotate')\ndef f(x, positions, rope_theta, *, d, layout): pass\n"

    assert refusal(written(tmp_path, source)) == (
        "f (mine.py:3) must be a function of x, positions with the keywords head_dim, base, layout, direction (or **_ for the rest), "
        "or be called as it is, such as implements('rope.rotate', call='f(x, positions, base, d=head_dim, layout=layout)'), "
        "got x, positions, rope_theta (did you mean base?), d (did you mean head_dim?), layout"
    )


@pytest.mark.parametrize(
    "function",
    [
        "def f(*arguments, **_): pass",
        "def f(x, positions, *, theta=1.0, **_): pass",
        "def f(x, positions, head_dim, base, layout, direction, dtype): pass",
        "@functools.wraps(turned)\ndef f(*arrays, **parameters): pass",
        "f = functools.partial(turned, theta=1.0)",
    ],
)
def test_a_function_that_can_be_called_is_not_refused(tmp_path: Path, function: str) -> None:
    head = "import functools\ndef turned(x, positions, *, theta, **_): pass\nadapter = Adapter('mine')\n"
    path = written(tmp_path, f"{head}{function}\nadapter.implements('rope.rotate')(f)\n")

    assert targets.load(path).implementations


def test_one_dtype_may_be_a_string() -> None:
    adapter = Adapter("mine", dtypes="bfloat16")
    adapter.implements("rope.rotate")(print)
    adapter.implements("rope.rotate", dtypes="float16")(print)

    assert [each.dtypes for each in adapter.implementations] == [("bfloat16",), ("float16",)]


@pytest.mark.parametrize(
    ("said", "meant"),
    [("fp16", "float16"), ("half", "float16"), ("bf16", "bfloat16"), ("fp32", "float32"), ("single", "float32"), ("double", "float64")],
)
def test_another_name_of_a_dtype_gets_the_one_that_is_meant(said: str, meant: str) -> None:
    with pytest.raises(AdapterError, match=rf"got '{said}' \(did you mean {meant}\?\)$"):
        Adapter("mine", dtypes=(said,))


def test_a_dtype_of_a_library_gets_the_name_that_is_meant() -> None:
    with pytest.raises(AdapterError, match=r"did you mean float32\?"):
        Adapter("mine", dtypes=(np.dtype("float32"),))  # type: ignore[arg-type]  # the mistake


def test_a_module_that_is_called_nearly_so_is_told_to_lie_beside(tmp_path: Path) -> None:
    (tmp_path / "my_model.py").touch()

    assert refusal(written(tmp_path, "import my_modle\n")).endswith("mine.py needs my_modle (did you mean my_model?)")


def test_an_absent_library_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(LibraryMissing, match=r"needs the module nosuchlibrary, which isn't installed$"):
        targets.load(written(tmp_path, "import nosuchlibrary\n"))


def test_a_distribution_is_named_only_where_it_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "paddle", None)

    with pytest.raises(LibraryMissing, match=r"needs paddle: pip install paddlepaddle$"):
        targets.load(written(tmp_path, "import paddle\n"))


def test_an_absent_framework_is_told_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    adapter = targets.load(offering(tmp_path, "'rope.rotate'"))
    monkeypatch.setitem(sys.modules, "torch", None)
    adapter.framework = "torch"

    with pytest.raises(LibraryMissing, match="torch needs torch: pip install torch"):
        targets.framework(adapter)


@pytest.mark.parametrize(
    ("bundled", "library"),
    [
        ("equinox", "equinox"),
        ("equinox", "jax"),
        ("transformers", "transformers"),
        ("transformers", "torch"),
        ("array_api_strict", "array_api_strict"),
    ],
)
def test_a_bundled_adapter_without_its_library_is_told_apart(bundled: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("conformance.adapters.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(LibraryMissing, match=f"^{bundled} needs "):
        targets.load(bundled)


def test_restrictions_that_are_predicates_stay_in_the_worker() -> None:
    plain = targets.plain_restrictions({"head_dim": lambda width: width < 9, "layout": {"half", "interleaved"}, "base": 1e4})

    assert json.loads(json.dumps(plain)) == {"layout": ["half", "interleaved"], "base": 1e4}


def test_widths_of_axes_keep_their_order_as_data() -> None:
    assert targets.plain_restrictions({"axes": (44, 42, 42), "order": ["joined", "block"]}) == {
        "axes": [44, 42, 42],
        "order": ["joined", "block"],
    }


@pytest.mark.parametrize("name", [7, "", " ", "a\nb", "a\x00", "\ud800", "a" * 201, None])
def test_a_name_that_no_file_could_hold_is_refused(name: object) -> None:
    with pytest.raises(AdapterError, match=r"^name must be text that can be printed, of at most 200 characters, got "):
        Adapter(name)  # type: ignore[arg-type]  # what is tried


def test_a_label_that_no_file_could_hold_is_refused() -> None:
    with pytest.raises(AdapterError, match=r"^label must be text that can be printed"):
        Adapter("x").implements("rope.rotate", label="a\tb")


def test_two_implementations_of_one_operation_need_labels_of_their_own() -> None:
    adapter = Adapter("x")
    adapter.implements("alibi.slopes")(lambda **_: None)
    adapter.implements("alibi.slopes", dtypes="float64")(lambda **_: None)
    targets.verify(adapter)

    adapter.implements("alibi.slopes", max_bias=8.0)(lambda **_: None)

    with pytest.raises(TargetError, match=r"got 'x' twice for alibi.slopes: give one of them a label=... of its own$"):
        targets.verify(adapter)


def test_a_second_adapter_in_a_file_is_told_as_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    lines = ["from posenc import Adapter", "adapter, other = Adapter('one'), Adapter('two')"]
    path.write_text("\n".join([*lines, "adapter.implements('binary.encode', lambda positions, *, bits: positions)"]))

    report = run.check(str(path), level="smoke", seed=0)

    assert report.warnings == (f"other is an Adapter too, and isn't judged: take it as {path}:other",)
    assert run.check(f"{path}:adapter", level="smoke", seed=0).warnings == ()


def test_a_misspelt_method_of_an_adapter_is_told_what_was_meant() -> None:
    with pytest.raises(AttributeError, match=r"must be one that it has, got 'implement' \(did you mean implements\?\)"):
        Adapter("mine").implement  # noqa: B018


def test_a_directory_is_refused_as_one_with_the_files_that_it_has(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"target must be a file, got the directory \S+, which has no \*\.py$"):
        targets.load(str(tmp_path))
    for index in range(7):
        (tmp_path / f"m{index}.py").touch()
    with pytest.raises(TargetError, match=r"which has m0.py, m1.py, m2.py, m3.py, m4.py and 2 more$"):
        targets.load(str(tmp_path))


def test_an_adapter_that_only_a_program_makes_is_told_so(tmp_path: Path) -> None:
    source = "if __name__ == '__main__':\n    adapter = Adapter('mine')\n"

    assert "got none: what stands below `if __name__ == ...` isn't run when the file is imported; " in refusal(written(tmp_path, source))
    assert "isn't run" not in refusal(written(tmp_path, "def f(): pass\nif __name__ == '__main__':\n    f()\n"))


@pytest.mark.parametrize(
    ("lines", "words"),
    [("adapter = Adapter('mine')", " (did you mean adapter?)"), ("one = other = Adapter('mine')", ": its adapters are one, other")],
)
def test_a_name_that_a_file_lacks_is_told_with_the_adapters_that_it_has(lines: str, words: str, tmp_path: Path) -> None:
    target = f"{written(tmp_path, lines)}:xyz"

    with pytest.raises(TargetError, match=re.escape(f"must name an object that exists, got no 'xyz'{words}")):
        targets.load(target)
