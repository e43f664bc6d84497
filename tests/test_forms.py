"""Functions as they are written are judged as they are: other names, orders, tables and axes are declared, and what doesn't fit is told."""

import ast
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import brought
import numpy as np
import pytest
from brought import HALF, by_position, of_lengths

import posenc
from conformance import Adapter, assert_conforms
from conformance.adapt.adapter import AdapterError
from conformance.calls import form
from conformance.calls.outcomes import Errored, Passed, Report, unanswered
from conformance.calls.status import Status
from conformance.calls.takes import Takes
from conformance.diagnosis.sides import of_one_side
from conformance.isolate import targets
from conformance.isolate.targets import TargetError
from conformance.run import check
from conformance.show import report as screen
from conformance.spec.declarations import operations
from refimpl.spec import Operation

KINDS = brought.KINDS | brought.TORCH | brought.LIBRARY


def judged(folder: Path, source: str) -> Report:
    """Return the report of an adapter at the level smoke."""
    path = folder / "mine.py"
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    path.write_text(f"{here}from brought import *\nfrom posenc import Adapter\nadapter = Adapter('mine')\n{source}\n", encoding="utf-8")
    return check(str(path), level="smoke", seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_people_bring_of_a_kind_conforms_as_it_is(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_torch = kind in brought.TORCH
    if of_torch:
        pytest.importorskip("torch")
    if kind in brought.LIBRARY:
        monkeypatch.chdir(tmp_path)
        compiler = shutil.which("cc") or pytest.skip("no C compiler")
        source = Path(__file__).with_name("brought.c")
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", "libbrought.so", source, "-lm"], check=True)
    head = "from brought_torch import *\nadapter = Adapter('mine', framework='torch')\n" if of_torch else ""
    lines = (f"adapter.implements({declared}, label={label!r})" for label, declared in KINDS[kind].items())

    report = judged(tmp_path, head + "\n".join(lines))

    assert report.status is Status.CONFORMS, screen.text(report)
    assert {result.implementation.partition(" (")[0] for result in report.results if isinstance(result.outcome, Passed)} == {*KINDS[kind]}


def test_at_least_five_adapters_of_every_kind_are_brought() -> None:
    assert len(KINDS) == 16
    for adapters in KINDS.values():
        assert len(set(adapters.values())) >= 5


def convicted(folder: Path, body: str) -> tuple[set[str], set[str]]:
    """Return which implementations are judged, and which are wrong, where one call turns queries and keys."""
    declared = "call='f(q, k, cos, sin)', layout='half', direction='positive', rows='shared'"
    report = judged(folder, f"def f(q, k, cos, sin): return {body}\nadapter.implements('rope.apply', f, {declared})")
    return {result.implementation for result in report.results}, {result.implementation for result in report.results if result.convicts}


def test_keys_that_are_turned_another_way_than_queries_are_convicted_as_keys(tmp_path: Path) -> None:
    assert convicted(tmp_path, "turned(q, cos, sin), turned(k, cos, -sin)") == ({"mine (queries)", "mine (keys)"}, {"mine (keys)"})


@pytest.mark.parametrize(
    ("operation", "call", "body", "wrong", "name", "words"),
    [
        ("apply", "q, k, cos, sin", "turned(q, cos, sin), turned(k, cos, -sin)", "keys", "opposite-directions", "turns keys against"),
        ("apply", "q, k, cos, sin", "turned(q, cos, -sin), turned(k, cos, sin)", "queries", "opposite-directions", "turns queries against"),
        (
            "rotate", "q, k, positions, base", "by_position(q, positions, base), by_position(k, -positions, base)", "keys",
            "opposite-directions", "turns keys against queries",
        ),
        (
            "apply", "q, k, cos, sin", "turned(q, cos, sin), waves(k, cos + 1j * sin)", "keys",
            "unlike-queries-and-keys", 'computes layout="interleaved" for keys alone',
        ),
    ],
)  # fmt: skip
def test_what_holds_of_keys_alone_or_queries_alone_is_a_mistake_and_nothing_to_declare(
    operation: str, call: str, body: str, wrong: str, name: str, words: str, tmp_path: Path
) -> None:
    declared = f"call='f({call})', rows='shared', **HALF"
    source = f"def f({call}): return {body}\nadapter.implements('rope.{operation}', f, {declared})"
    ((label, diagnosis),) = judged(tmp_path, source).diagnoses.items()

    assert label.startswith(f"mine ({wrong}):")
    assert (diagnosis.mutants, diagnosis.label) == ((f"rope.{operation}/{name}",), "mistake")
    assert words in diagnosis.does
    assert "declare " not in diagnosis.fix


def test_an_operation_that_returns_both_is_told_which_of_them_keeps_another_convention() -> None:
    operation = "rope.rotate_query_key"
    told = {(one.names, one.does) for one in of_one_side(operation)}

    assert ((f"{operation}/unlike-queries-and-keys",), 'computes layout="half" for keys alone: queries are turned otherwise') in told
    assert not list(of_one_side("rope.rotate"))


def test_keys_of_another_layout_are_named_where_an_operation_returns_both(tmp_path: Path) -> None:
    source = """@adapter.implements('rope.rotate_query_key', layout='half', direction='positive', rows='shared')
def both(q, k, query_positions, key_positions, *, base, **_):
    angles = key_positions[:, None] * base ** (-np.arange(0, k.shape[-1], 2) / k.shape[-1])
    return by_position(q, query_positions, base), waves(k, np.exp(1j * angles)).astype(k.dtype)"""
    ((_, diagnosis),) = judged(tmp_path, source).diagnoses.items()

    assert diagnosis.mutants == ("rope.rotate_query_key/unlike-queries-and-keys",)
    assert 'layout="interleaved" for keys alone' in diagnosis.does


def test_a_convention_of_both_queries_and_keys_is_to_be_declared(tmp_path: Path) -> None:
    source = "def f(q, k, cos, sin): return turned(q, cos, -sin), turned(k, cos, -sin)"
    declared = "call='f(q, k, cos, sin)', rows='shared', **HALF"
    diagnoses = judged(tmp_path, f"{source}\nadapter.implements('rope.apply', f, {declared})").diagnoses

    assert [each.mutants for each in diagnoses.values()] == [("rope.apply/direction=negative",)] * 2


@pytest.mark.parametrize(("function", "wrong", "right"), [("on_grid_xy", "grid", "grid_xy"), ("on_grid", "grid_xy", "grid")])
def test_code_that_makes_a_grid_with_its_axes_exchanged_is_told_to_declare_the_other_grid(
    function: str, wrong: str, right: str, tmp_path: Path
) -> None:
    declared = f"call='f(x, height, width)', positions={wrong!r}, **GRID, axes=equal_halves, **HALF"
    (diagnosis,) = judged(tmp_path, f"adapter.implements('axial_rope.rotate', {function}, {declared})").diagnoses.values()

    assert diagnosis.mutants == ("axial_rope.rotate/axes-exchanged",)
    change = f'change positions="{wrong}" to positions="{right}" in implements("axial_rope.rotate", ...)'
    assert diagnosis.fix.endswith(f"; or, where it is meant so, {change}")


@pytest.mark.parametrize("rows", ["shared", "each"])
def test_position_ids_that_are_ignored_where_tables_are_caches_are_named(rows: str, tmp_path: Path) -> None:
    source = "def f(x, cos, sin, position_ids): return tiled(x, cos[: x.shape[2]], sin[: x.shape[2]])"
    declared = f"call='f(x, cos_cache, sin_cache, position_ids)', tables='tiled', rows={rows!r}, **HALF"
    (diagnosis,) = judged(tmp_path, f"{source}\nadapter.implements('rope.apply', f, {declared})").diagnoses.values()

    assert diagnosis.mutants == ("rope.apply/positions-ignored",)


def test_results_that_are_given_back_in_the_wrong_order_are_convicted(tmp_path: Path) -> None:
    every, wrong = convicted(tmp_path, "turned(k, cos, sin), turned(q, cos, sin)")

    assert wrong == every == {"mine (queries)", "mine (keys)"}


@pytest.mark.parametrize(
    ("call", "returned", "wrong"),
    [
        ("k, q, cos, sin", "k, q", False),
        ("k, q, cos, sin", "q, k", True),
        ("query=q, key=k, cos=cos, sin=sin", "q, k", False),
        ("query=q, key=k, cos=cos, sin=sin", "k, q", True),
    ],
)
def test_results_come_in_the_order_in_which_the_call_names_queries_and_keys(
    call: str, returned: str, *, wrong: bool, tmp_path: Path
) -> None:
    keywords = call.startswith("query")
    takes = "key, query, cos, sin" if keywords else call
    body = returned.replace("q", "query").replace("k", "key") if keywords else returned
    turns = ", ".join(f"turned({name}, cos, sin)" for name in body.split(", "))
    declared = f"call='f({call})', rows='shared', **HALF"
    report = judged(tmp_path, f"def f({takes}): return {turns}\nadapter.implements('rope.apply', f, {declared})")

    assert report.status is (Status.DIFFERS if wrong else Status.CONFORMS)


def test_keys_may_come_first_where_queries_and_keys_have_their_own_positions(tmp_path: Path) -> None:
    body = "def f(k, q, key_positions, query_positions): return by_position(k, key_positions, 1e4), by_position(q, query_positions, 1e4)\n"
    declared = "call='f(k, q, key_positions, query_positions)', base=10_000.0, **HALF"

    assert judged(tmp_path, f"{body}adapter.implements('rope.rotate_query_key', f, {declared})").status is Status.CONFORMS


def test_what_is_overwritten_comes_in_the_order_of_the_call_too(tmp_path: Path) -> None:
    body = "def f(k, q, cos, sin):\n    k[:], q[:] = turned(k, cos, sin), turned(q, cos, sin)\n"
    declared = "call='f(k, q, cos, sin)', rows='shared', modifies_inputs=True, **HALF"

    assert judged(tmp_path, f"{body}adapter.implements('rope.apply', f, {declared})").status is Status.CONFORMS


@pytest.mark.usefixtures("unshrunk")
def test_places_that_are_exchanged_are_convicted_where_axes_are_declared_as_both(tmp_path: Path) -> None:
    body = "by_places(x, positions[..., ::-1])"
    declared = "order='block', ladder='own', sides=(), base=10_000.0, axes='batch token head head_dim', **HALF"
    declared += ", parameters={'axes': equal_halves}"

    report = judged(tmp_path, f"adapter.implements('axial_rope.rotate', lambda x, positions: {body}, {declared})")

    assert report.status is Status.DIFFERS


EXCHANGED = [("on_grid(x, h, w)", "grid_xy"), ("on_grid_xy(x, h, w)", "grid"), ("on_grid(x, w, h)", "grid")]


@pytest.mark.usefixtures("unshrunk")
@pytest.mark.parametrize(("body", "places"), EXCHANGED)
def test_rows_and_columns_of_a_grid_that_are_exchanged_are_convicted(body: str, places: str, tmp_path: Path) -> None:
    declared = f"call='f(x, height, width)', positions='{places}', order='block', ladder='own', sides=(), base=10_000.0, **HALF"
    declared += ", axes=equal_halves"

    report = judged(tmp_path, f"adapter.implements('axial_rope.rotate', lambda x, h, w: {body}, {declared})")

    assert report.status is Status.DIFFERS


@pytest.mark.parametrize(
    ("declared", "does", "fix"),
    [
        ("'rope.apply', tiled, **HALF", "all columns twice, (c, c)", "add tables='tiled' to implements('rope.apply', ...)"),
        ("'rope.apply', repeated, layout='interleaved', direction='positive'", "each column twice", "add tables='repeated' to implements("),
        ("'rope.tables', of_columns_twice", "all columns twice", "add tables='tiled' to implements('rope.tables', ...)"),
        (
            "'rope.rotate', lambda x, positions, base: before_heads(x, positions, base), **HALF",
            "takes its tokens before its heads",
            "add axes='batch token head head_dim' to implements('rope.rotate', ...)",
        ),
        (
            "'rope.rotate', lambda x, positions, base: by_position(x, positions, base), **HALF, axes='batch token head head_dim'",
            "takes its heads before its tokens",
            "leave out axes='batch token head head_dim' in implements('rope.rotate', ...)",
        ),
        (
            "'rope.rotate', lambda x, positions, base: by_position(x, positions, base).swapaxes(1, 2), **HALF",
            "returns its tokens before its heads",
            "swap axes 1 and 2 of what it returns, or give it (batch, token, head, ...) too and declare axes=",
        ),
        (
            "'rope.rotate', lambda x, positions, base: by_position(x.swapaxes(1, 2), positions, base), **HALF",
            "takes its tokens before its heads, (batch, token, head, ...), and returns them after these",
            "don't swap axes 1 and 2 of what it is given, or swap those of what it returns too and declare axes=",
        ),
        (
            "'rope.rotate_query_key', lambda q, k, m, n, base: (by_position(k, n, base), by_position(q, m, base)), **HALF",
            "returns the keys before the queries",
            "return the queries first, then the keys",
        ),
    ],
)
def test_code_that_is_right_but_for_its_axes_or_tables_is_told_what_to_declare(declared: str, does: str, fix: str, tmp_path: Path) -> None:
    (diagnosis, *_) = judged(tmp_path, f"adapter.implements({declared})").diagnoses.values()

    assert does in diagnosis.does
    assert fix.replace('"', "'") in diagnosis.fix.replace('"', "'")


@pytest.mark.parametrize(
    ("declared", "right"),
    [
        ("tiled, **HALF, tables='repeated', rows='shared'", "tiled"),
        ("repeated, layout='interleaved', direction='positive', tables='tiled'", "repeated"),
        ("lambda q, k, c, s: (tiled(q, c, s), tiled(k, c, s)), **HALF, tables='repeated', call='f(q, k, cos, sin)'", "tiled"),
    ],
)
def test_tables_that_are_declared_the_other_way_round_are_told_beside_the_mistake(declared: str, right: str, tmp_path: Path) -> None:
    diagnoses = judged(tmp_path, f"adapter.implements('rope.apply', {declared})").diagnoses.values()

    assert diagnoses
    assert all(each.fix.endswith(f'or, where it is meant so, add tables="{right}" to implements("rope.apply", ...)') for each in diagnoses)


def test_sequences_and_heads_in_one_axis_are_told_to_be_declared(tmp_path: Path) -> None:
    declared = "form='row', slopes='paper', max_bias=8.0, rows='each', call='f(query_positions, key_positions, num_heads)'"
    report = judged(tmp_path, f"adapter.implements('alibi.bias', sequences_with_heads, {declared})")

    wrong = [result.outcome for result in report.results if result.convicts]
    assert wrong
    assert all("declare axes='(batch head) query key' in implements, or '(head batch) query key' if" in str(outcome) for outcome in wrong)


def test_heads_before_sequences_in_one_axis_conform_where_they_are_declared_so(tmp_path: Path) -> None:
    called = "call='f(query_positions, key_positions, num_heads)', axes='(head batch) query key'"
    declared = f"form='row', slopes='paper', max_bias=8.0, rows='each', {called}"

    assert judged(tmp_path, f"adapter.implements('alibi.bias', heads_with_sequences, {declared})").status is Status.CONFORMS


TURNS = "adapter.implements('rope.rotate', f, layout='half', direction='positive')"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def f(x, positions, base): by_position(x, positions, base)", "the function must return one array, got None: is there a return?"),
        ("def f(x, positions, base): return by_position(x, positions, base), 1", "the function must return one array, got tuple of 2"),
        ("def f(x, positions, base): return [by_position(x, positions, base).tolist()]", "must be an array of numpy or a number, got list"),
        (
            "def f(x, positions, base): return by_position(x, positions, theta=base)",
            "the function must take x, positions, base=..., got TypeError: by_position() got an unexpected keyword argument 'theta'",
        ),
        ("def f(x, positions, base): return by_position(x, position, base)", "NameError: name 'position' is not defined (mine.py:5 in f)"),
        ("def f(x, positions, base): return x * float(input())", "EOFError: EOF when reading a line (mine.py:5 in f)"),
        (
            "def f(x, positions, base): raise RuntimeError('g() expected at most 2 argument(s) but received 3 argument(s).')",
            "the function must take x, positions, base=..., got RuntimeError: g() expected at most 2",
        ),
        ("def f(x, positions, base): return list(by_position(x, positions, base))", "the function must return one array, got list of"),
        ("def f(x, positions, base): return list(by_position(x[:1], positions, base))", "must return one array, got list of 1"),
        (
            "def f(x, positions, base): return x[positions.astype(float)]",
            "every call raises IndexError: arrays used as indices must be of integer (or boolean) type (mine.py:5 in f)",
        ),
        ("def f(x, positions, base): import no_such_library", "No module named 'no_such_library' (mine.py:5 in f)"),
        ("def f(x, positions, base): return x.chunk(2)", "declared as Adapter(..., framework=...): AttributeError: 'numpy.ndarray' object"),
    ],
)
def test_a_fault_of_the_adapter_is_no_verdict_and_names_the_line(source: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError) as refused:
        judged(tmp_path, f"{source}\n{TURNS}")

    assert str(refused.value).startswith("rope.rotate can't be judged: ")
    assert "mine.py:5" in str(refused.value)
    assert told in str(refused.value)


@pytest.mark.parametrize("made", ["torch.empty_like(x, device='meta')", "x.to_sparse()"])
def test_a_tensor_whose_numbers_cant_be_read_is_a_fault_of_the_adapter(made: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    head = f"import torch\nadapter = Adapter('mine', framework='torch')\ndef f(x, positions, base): return {made}\n"

    with pytest.raises(TargetError, match=r"can't be judged: f \(mine.py:\d+\): a result must be readable as an array, got Tensor: "):
        judged(tmp_path, f"{head}{TURNS}")


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("'rope.tables', of_columns_once, tables='repeated'", "cos must have two columns for each pair, which tables='repeated'"),
        ("'rope.apply', turned, **HALF, tables='tiled'", "are there two columns for each pair, which tables='tiled'"),
        ("'rope.tables', of_columns_twice, tables='repeated'", "got columns that are tiled: declare tables='tiled'"),
        ("'alibi.bias', of_two_masks, **COLUMN", "that of one sequence where positions are one row, got 2 in shape ("),
        ("'alibi.bias', heads_and_keys, **COLUMN", "result must have axes ([batch] head query key), got shape ("),
    ],
)
def test_tables_that_code_has_not_and_axes_that_it_lacks_are_faults_of_the_adapter(declared: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="can't be judged: .*" + re.escape(told)):
        judged(tmp_path, f"adapter.implements({declared})")


@pytest.mark.parametrize(
    ("message", "library"),
    [
        ("AttributeError: 'Tensor' object has no attribute 'astype' (mine.py:7 in f)", "numpy"),
        ("TypeError: unsupported operand type(s) for *: 'Tensor' and 'jaxlib._jax.ArrayImpl' (mine.py:7 in f)", "jax"),
        ("TypeError: 'ArrayImpl' object does not support item assignment (mine.py:7 in f)", "numpy"),
    ],
)
def test_code_that_no_call_gets_past_for_arrays_of_another_library_is_told_which_to_declare(message: str, library: str) -> None:
    fault = unanswered("rope.rotate", [Errored(message), Errored(message)])

    assert fault is not None
    assert fault.message.endswith(f'; if it takes arrays of {library}, declare Adapter(..., framework="{library}")')


@pytest.mark.parametrize(
    "message",
    [
        "ValueError: The truth value of an array with more than one element is ambiguous. Use a.any() or a.all() (mine.py:7 in f)",
        "RuntimeError: Boolean value of Tensor with more than one value is ambiguous (mine.py:7 in f)",
        "ValueError: only one element tensors can be converted to Python scalars (mine.py:7 in f)",
        "TypeError: arange(): argument 'end' (position 1) must be Number, not Tensor (mine.py:7 in f)",
    ],
)
def test_code_that_takes_positions_for_their_number_is_told_how_to_declare_that(message: str) -> None:
    fault = unanswered("rope.rotate", [Errored(message), Errored(message)])

    assert fault is not None
    assert fault.message.endswith("declare positions='from_zero', and call= with tokens, query_tokens or key_tokens")


@pytest.mark.parametrize(
    "message",
    [
        "ValueError: too many values to unpack (expected 3) (mine.py:7 in f)",
        "ValueError: not enough values to unpack (expected 5, got 4) (mine.py:7 in f)",
        "ValueError: axes don't match array (mine.py:7 in f)",
        "ValueError: einstein sum subscripts string contains too many subscripts for operand 0 (mine.py:7 in f)",
    ],
)
def test_code_that_takes_arrays_to_have_other_axes_is_told_which_they_have(message: str) -> None:
    fault = unanswered("rope.rotate", [Errored(message), Errored(message)])

    assert fault is not None
    assert "; it gets x (batch head token head_dim), positions ([batch] token) unless axes= declares others, as axes='" in fault.message
    assert unanswered("rope.rotate", [Errored(message), Passed()]) is None


@pytest.mark.parametrize(
    "message",
    [
        "AssertionError: Torch not compiled with CUDA enabled (__init__.py:522 in _lazy_init)",
        "AssertionError: not built with CUDA (mine.py:3 in f)",
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        "RuntimeError: Found no NVIDIA driver on your system.",
    ],
)
def test_code_for_another_device_is_told_where_its_arrays_are(message: str) -> None:
    fault = unanswered("rope.rotate", [Errored(message), Errored(message)])

    assert fault is not None
    assert fault.message.endswith("; it gets arrays on the device that Adapter(..., device=...) declares, else on the CPU")


def test_a_name_that_is_not_defined_is_told_without_what_an_adapter_declares(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"NameError: name 'position' is not defined \(mine.py:5 in f\)$"):
        judged(tmp_path, f"def f(x, positions, base): return by_position(x, position, base)\n{TURNS}")


def test_only_code_that_gets_arrays_of_numpy_is_told_so(tmp_path: Path) -> None:
    words = "use x.at, see jax.numpy.ndarray.at.html"
    source = "adapter = Adapter('mine', framework='array_api_strict')\ndef f(x, positions, base): raise TypeError('WORDS')\n"

    with pytest.raises(TargetError) as refused:
        judged(tmp_path, f"{source.replace('WORDS', words)}{TURNS}")

    assert words in str(refused.value)
    assert "it gets arrays of NumPy" not in str(refused.value)


def test_code_that_returns_nothing_for_some_calls_is_wrong(tmp_path: Path) -> None:
    report = judged(tmp_path, f"def f(x, positions, base): return by_position(x, positions, base) if len(x) == 1 else None\n{TURNS}")

    assert report.status is Status.DIFFERS


def test_a_module_gets_the_keywords_that_its_forward_takes() -> None:
    class Module:
        def __call__(self, *arguments: Any, **keywords: Any) -> Any:
            return self.forward(*arguments, **keywords)

        def forward(self, x: Any, positions: Any, base: float) -> Any:
            return by_position(x, positions, base)

    assert_conforms(Module(), "rope.rotate", level="smoke", seed=1, **HALF)


def test_a_module_reads_the_width_of_a_head_from_an_array_that_is_alike() -> None:
    def tables(like: Any, positions: Any, base: float) -> Any:
        angles = positions[..., None] / base ** (np.arange(0, like.shape[-1], 2) / like.shape[-1])
        return np.cos(angles).astype(like.dtype), np.sin(angles).astype(like.dtype)

    assert_conforms(tables, "rope.tables", level="smoke", seed=1, call="f(like, positions, base)", head_dim=16)


@pytest.mark.parametrize("operation", operations().values(), ids=operations())
def test_the_calls_and_axes_that_are_shown_are_those_of_the_operation(operation: Operation) -> None:
    said = dict(words.split("=", 1) for words, _ in form.sayings(operation))

    for name in ("call", "axes", "tables"):
        assert not list(form.nonsense(form.Form(**{name: ast.literal_eval(said[name])}), operation, Takes())) if name in said else True
    queries = "x" not in operation.arrays or "head" in operation.arrays["x"].split()
    assert ("q" in form.roles(ast.literal_eval(said["call"]))) == (queries and bool({"x", "q"} & operation.arrays.keys()))


def test_a_parameter_that_code_is_neither_told_nor_declares_is_asked_for() -> None:
    def untold(x: Any, positions: Any, theta: float = 1.0) -> Any:
        return by_position(x, positions, theta)

    adapter = Adapter("mine")
    adapter.implements("rope.rotate", untold, **HALF)

    with pytest.raises(TargetError) as refused:
        targets.verify(adapter)

    assert "must take base by keyword, or declare what it uses, such as implements('rope.rotate', base=10000.0)" in str(refused.value)
    assert str(refused.value).endswith("got a function of x, positions, theta (did you mean base?)")


def test_a_call_that_leaves_out_what_its_function_takes_is_told_what_to_name() -> None:
    def by_rows(x: Any, rows: Any, columns: Any, *, base: float) -> Any:
        return by_position(x, rows + columns, base)

    adapter = Adapter("mine")
    adapter.implements("mrope.rotate", by_rows, **HALF, call="f(x, rows, columns)", order="contiguous", head_dim=4, sections=(1, 1))

    with pytest.raises(TargetError, match=r"takes \(base\), as call='f\(x, rows, columns, base=base\)', got 'f\(x, rows, columns\)'"):
        targets.verify(adapter)


@pytest.mark.parametrize("sections", [(16, 24, 24), [(16, 24, 24), (1, 2, 3)]])
def test_sections_that_fill_no_declared_head_are_refused(sections: Any) -> None:
    adapter = Adapter("mine")
    adapter.implements("mrope.rotate", lambda x, positions, **_: (x, positions), **HALF, order="contiguous", head_dim=64, sections=sections)

    with pytest.raises(TargetError, match=r"sections must add up to half of head_dim \(32\), got \(16, 24, 24\)"):
        targets.verify(adapter)


def test_an_array_is_not_taken_for_a_parameter_that_lacks() -> None:
    adapter = Adapter("mine")
    adapter.implements("mrope.rotate", lambda x, positions, *, head_dim, base: (x, positions, head_dim, base), **HALF, order="contiguous")

    with pytest.raises(TargetError) as refused:
        targets.verify(adapter)

    assert str(refused.value).endswith("got a function of x, positions, head_dim, base")


@pytest.mark.parametrize(
    ("operation", "function", "declared", "got"),
    [
        ("rope.rotate", lambda x, seq_len: (x, seq_len), {"layout": "half"}, "got a function of x, seq_len"),
        ("alibi.bias", lambda num_heads, seq_len: (num_heads, seq_len), {}, "tokens and cuts what it returns, got num_heads, seq_len"),
        ("alibi.bias", of_lengths, {"slopes": "code"}, "got num_heads, queries, keys"),
    ],
)
def test_a_function_is_told_its_own_arguments(operation: str, function: Any, declared: dict[str, Any], got: str) -> None:
    adapter = Adapter("mine")
    adapter.implements(operation, function, **declared)

    with pytest.raises(TargetError, match=re.escape(got) + "$"):
        targets.verify(adapter)


def test_a_name_of_one_letter_says_nothing_of_code_that_takes_every_keyword() -> None:
    adapter = Adapter("mine")
    adapter.implements("alibi.bias", lambda m, n, **said: (m, n, said))

    targets.verify(adapter)


def test_no_call_is_suggested_that_would_be_refused() -> None:
    adapter = Adapter("mine")
    adapter.implements("rope.rotate", lambda x, cos: (x, cos), **HALF)

    with pytest.raises(TargetError, match=r"or be called as it is, which call='f\(\.\.\.\)' declares, got x, cos$"):
        targets.verify(adapter)


def of_a_batch(x: Any, start: int = 0, theta: float = 10_000.0) -> Any:
    return by_position(x, start + np.arange(x.shape[2]), theta)


@pytest.mark.parametrize(
    ("function", "call", "also"),
    [
        (of_a_batch, "f(x, offset, base)", ", positions='consecutive'"),
        (lambda positions, x, base: by_position(x, positions, base), "f(positions, x, base)", ""),
        (lambda x_BTHD: x_BTHD, "f(x)", ", positions='from_zero'"),  # noqa: N803  a name that is known to nobody
        (lambda *, x, position_ids, theta: by_position(x, position_ids, theta), "f(x=x, position_ids=positions, theta=base)", ""),
    ],
)
def test_a_function_that_is_called_otherwise_is_told_how_to_say_so(function: Any, call: str, also: str) -> None:
    adapter = Adapter("mine")
    adapter.implements("rope.rotate", function, **HALF)

    told = rf"\(test_forms.py:\d+\) must .*, or be called as it is, such as implements\(.*, call='{re.escape(call)}'{also}\)"
    with pytest.raises(TargetError, match=told):
        targets.verify(adapter)


@pytest.mark.parametrize(
    ("operation", "function", "suggested"),
    [
        ("rope.rotate_query_key", lambda q, k, positions: (q, k, positions), "'rope.rotate', call='f(q, k, positions)'"),
        ("rope.rotate_query_key", lambda q, k, positions=None: (q, k, positions), "'rope.rotate', call='f(q, k, positions)'"),
        ("rope.rotate_query_key", lambda q, k, start=0: (q, k, start), "'rope.rotate', call='f(q, k, offset)', positions='consecutive'"),
        ("rope.rotate_query_key", lambda q, k, cos, sin: (q, k, cos, sin), "'rope.apply', call='f(q, k, cos, sin)'"),
        ("rope.rotate", lambda x, cos, sin: (x, cos, sin), "'rope.apply', call='f(x, cos, sin)'"),
        ("rope.tables", lambda x, position_ids: (x, position_ids), "'rope.tables', call='f(like, positions)'"),
        ("rope.frequencies", lambda dim, end: (dim, end), "'rope.tables', call='f(head_dim, tokens)', positions='from_zero'"),
        (
            "alibi.bias",
            lambda num_heads, q, k: (num_heads, q, k),
            "'alibi.bias', call='f(num_heads, query_tokens, key_tokens)', positions='from_zero'",
        ),
    ],
)
def test_a_call_is_suggested_that_narrows_nothing_of_the_operation_that_takes_it(operation: str, function: Any, suggested: str) -> None:
    adapter = Adapter("mine")
    adapter.implements(operation, function)

    with pytest.raises(TargetError, match=re.escape(f"or be called as it is, such as implements({suggested})")):
        targets.verify(adapter)


def test_a_bias_of_q_and_k_is_told_that_these_are_lengths() -> None:
    adapter = Adapter("mine")
    adapter.implements("alibi.bias", lambda num_heads, query, key: (num_heads, query, key))

    with pytest.raises(TargetError, match="where query and key are lengths, got num_heads, query, key"):
        targets.verify(adapter)


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"call": "f(x, base)"}, "call must name positions unless positions='from_zero' is declared, got 'f(x, base)'"),
        ({"call": "f(positions, base)"}, "call must name x, got 'f(positions, base)'"),
        ({"axes": ("token", "head")}, "axes must be text, as 'batch token head head_dim', got ('token', 'head')"),
        ({"call": "f(x, cos)"}, "call must name x, positions, q, k, offset, tokens, like, head, head_dim, base, layout, direction or "),
        ({"call": "f(x, offset)"}, "offset must come with positions='consecutive' or 'from_zero', got positions='any'"),
        ({"call": "f(x, height, width)"}, "call must name x, positions, q, k, offset"),
        ({"positions": "grid"}, "positions must be declared a grid of an operation where they have several axes, got 'grid'"),
        ({"call": "f(x, open('a'))"}, "call must be like 'f(x, positions, theta=base)', got \"f(x, open('a'))\""),
        ({"call": "x"}, "call must be like 'f(x, positions, theta=base)', got 'x'"),
        ({"call": 5}, "call must be text, got 5"),
        ({"tables": "tiled"}, "tables must be declared of an operation with cosines and sines, got rope.rotate"),
        ({"tables": "twice"}, "tables must be one of pair, tiled, repeated, got 'twice'"),
        ({"parameters": {"layout": "half"}}, "layout must be declared once, got layout='half' and parameters={'layout': 'half'}"),
        ({"parameters": "layout"}, "parameters must be values by name, got 'layout'"),
        ({"axes": "batch head token"}, "axes must be those of an array or a result in another order (batch head token head_dim; "),
    ],
)
def test_a_call_that_means_nothing_is_refused(declared: dict[str, Any], complaint: str) -> None:
    with pytest.raises(AdapterError) as refused:
        Adapter("mine").implements("rope.rotate", by_position, **HALF, **declared)

    assert complaint in str(refused.value)


def test_a_layout_by_the_name_of_a_model_is_told_which_it_is() -> None:
    adapter = Adapter("mine")
    adapter.implements("rope.rotate", by_position, layout="neox")

    with pytest.raises(TargetError) as refused:
        targets.verify(adapter)

    assert str(refused.value).endswith("got 'neox' (half is GPT-NeoX's: `posenc show rope.rotate`)")


def test_posenc_is_imported_by_its_own_name() -> None:
    assert posenc.Adapter is Adapter
    assert posenc.assert_conforms is assert_conforms
