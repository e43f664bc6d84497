"""Right code that declares more than it takes is told what to declare, and conforms with it; wrong code is told no such thing."""

import ast
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance import run
from conformance.calls.outcomes import Diagnosis, Report
from conformance.calls.status import Status
from conformance.calls.takes import Takes
from conformance.diagnosis.asking import Asking, Declaration, holds
from conformance.diagnosis.taken import _least_departing
from conformance.isolate.targets import TargetError
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import operations

ROOT = Path(__file__).parents[1]
#: Code that takes less than it declares: the operation, what is to be added, and what is to be written in the adapter.
WIDE = {
    "tokens_first": (
        "rope.rotate",
        {"base": 1e4, "layout": "half", "direction": "positive", "positions": "from_zero", "axes": "batch token head head_dim"},
        "",
    ),
    "counted": ("rope.rotate", {"base": 1e4, "layout": "half", "direction": "positive", "positions": "from_zero"}, ""),
    "of_a_model": ("rope.rotate", {"head_dim": 128, "base": 5e5, "layout": "half", "direction": "positive"}, ""),
    "one_offset": ("rope.rotate", {"positions": "consecutive"}, ""),
    "first_row": ("rope.rotate", {"rows": "shared"}, ""),
    "tables_of_one_row": ("rope.apply", {"rows": "shared"}, ""),
    "a_row_or_squares": ("rope.rotate", {"rows": "shared"}, ""),
    "table": (
        "sinusoidal.encode",
        {"base": 1e4, "layout": "interleaved", "spacing": "paper", "odd": "error", "scale": 1.0}
        | {"positions": "whole", "lowest": 0, "highest": 499},
        "",
    ),
    "cached": (
        "rope.attend",
        {"base": 1e4, "layout": "half", "direction": "positive", "causal": True, "positions": "consecutive", "queries": "at_end"},
        "",
    ),
    "masked_square": (
        "alibi.bias",
        {"max_bias": 8.0, "slopes": "paper", "form": "row", "positions": "consecutive", "masked": True},
        "return [..., :queries, :keys]",
    ),
    "heads_last": ("relative_bias.bias", {"axes": "query key head"}, ""),
    "two_behind": ("learned.encode", {"offset": 2, "outside": "raise", "positions": "from_zero"}, ""),
}
#: What of each is the adapter's to write.
WRITTEN = {
    "masked_square": "code.masked_square(*[np.arange(max(map(len, a)))] * 2, **k)[:, : len(a[0]), : len(a[1])]",
}
CUT = "code.square(*a, **k)[:, : len(a[0]), : len(a[1])]"
WRONG = {
    "stretched": "rope.rotate",
    "stretched_tokens_first": "rope.rotate",
    "wrong_beyond": "rope.rotate",
    "padded_table": "learned.encode",
}


def checked(directory: Path, operation: str, body: str, declared: dict[str, object], level: str = "smoke") -> Report:
    """Return the report of an adapter that is written with a declaration."""
    said = "".join(f", {name}={value!r}" for name, value in declared.items())
    lines = (
        "import sys",
        f"sys.path.insert(0, {str(ROOT)!r})",
        "import numpy as np",
        "from conformance import Adapter",
        "from tests import wide_code as code",
        'adapter = Adapter("mine")',
        f"@adapter.implements({operation!r}{said})",
        f"def function(*a, **k): return {body}",
    )
    path = directory / "adapter.py"
    path.write_text("\n".join(lines))
    return run.check(str(path), level=level, seed=0)


def told(report: Report) -> Diagnosis:
    (diagnosis,) = report.diagnoses.values()
    return diagnosis


def added(diagnosis: Diagnosis) -> dict[str, object]:
    """Return what the fix says to add, as Python reads it."""
    found = re.search(r"add (.*) to implements\(", diagnosis.fix)
    call = ast.parse(f"f({found.group(1) if found else ''})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}


@pytest.mark.parametrize("name", WIDE)
def test_what_is_declared_too_widely_is_told_what_to_declare_and_conforms_with_it(name: str, tmp_path: Path) -> None:
    operation, expected, write = WIDE[name]
    options = {"layout": "half", "direction": "positive"} if name in ("one_offset", "first_row", "tables_of_one_row") else {}

    level = "core" if "highest" in expected or "head_dim" in expected else "smoke"  # smoke asks for few positions beyond an end, and widths

    diagnosis = told(checked(tmp_path, operation, f"code.{name}(*a, **k)", options, level))

    assert added(diagnosis) == expected
    assert write in diagnosis.fix
    narrow = checked(tmp_path, operation, WRITTEN.get(name, f"code.{name}(*a, **k)"), options | expected)
    assert narrow.status == Status.CONFORMS


def test_an_offset_that_counts_for_nothing_is_a_mistake_and_nothing_to_declare(tmp_path: Path) -> None:
    declared = {"layout": "half", "direction": "positive", "base": 1e4, "positions": "consecutive", "call": "f(x, offset)"}

    diagnosis = told(checked(tmp_path, "rope.rotate", "code.counted(*a)", declared))

    assert (diagnosis.mutants, diagnosis.label) == (("rope.rotate/start-ignored",), "mistake")
    assert "from_zero" not in diagnosis.fix


def test_code_that_ignores_where_its_positions_begin_is_told_the_mistake_and_what_of_its_declaration_to_change(tmp_path: Path) -> None:
    declared = {"layout": "half", "direction": "positive", "base": 1e4, "positions": "consecutive"}

    diagnosis = told(checked(tmp_path, "rope.rotate", "code.counted(*a)", declared))

    assert (diagnosis.mutants, diagnosis.label) == (("rope.rotate/positions-ignored",), "mistake")
    assert 'change positions="consecutive" to positions="from_zero" in implements("rope.rotate", ...)' in diagnosis.fix


def test_a_cache_s_offset_that_is_forgotten_is_a_mistake_of_code_with_queries_at_the_end(tmp_path: Path) -> None:
    declared = {"num_heads": 8, "max_bias": 8.0, "slopes": "paper", "form": "row", "positions": "from_zero", "queries": "at_end"}

    diagnosis = told(checked(tmp_path, "alibi.bias", "code.square(*a, **k)[:, : len(a[0]), : len(a[1])]", declared))

    assert (diagnosis.mutants[0], diagnosis.label) == ("alibi.bias/query-index", "mistake")
    assert "implements(" not in diagnosis.fix


def test_queries_at_the_end_of_keys_that_count_from_zero_are_to_be_declared(tmp_path: Path) -> None:
    declared = {"num_heads": 8, "max_bias": 8.0, "slopes": "paper", "form": "row", "positions": "from_zero"}

    diagnosis = told(checked(tmp_path, "alibi.bias", "code.decoding(*a, **k)", declared))

    assert added(diagnosis) == {"queries": "at_end"}
    assert checked(tmp_path, "alibi.bias", "code.decoding(*a, **k)", declared | added(diagnosis)).status == Status.CONFORMS


def test_a_square_that_counts_from_zero_as_declared_is_told_to_be_cut_and_which_slopes_it_has(tmp_path: Path) -> None:
    declared: dict[str, object] = {"max_bias": 8.0, "form": "row", "positions": "from_zero"}

    diagnosis = told(checked(tmp_path, "alibi.bias", "code.square(*a, **k)", declared))

    assert added(diagnosis) == {"slopes": "paper"}
    assert "return [..., :queries, :keys]" in diagnosis.fix
    assert checked(tmp_path, "alibi.bias", CUT, declared | added(diagnosis)).status == Status.CONFORMS


@pytest.mark.parametrize(
    ("name", "expected"),
    {"axis_first": {"axes": "axis batch token"}, "axis_first_in_batches": {"axes": "axis batch token", "rows": "each"}}.items(),
)
def test_code_that_takes_the_axis_of_positions_first_is_told_how_to_declare_it(
    name: str, expected: dict[str, object], tmp_path: Path
) -> None:
    declared: dict[str, object] = {"layout": "half", "direction": "positive", "order": "contiguous"}

    diagnosis = told(checked(tmp_path, "mrope.rotate", f"code.{name}(*a, **k)", declared))

    assert added(diagnosis) == expected
    assert checked(tmp_path, "mrope.rotate", f"code.{name}(*a, **k)", declared | expected).status == Status.CONFORMS


@pytest.mark.parametrize(
    ("name", "expected"),
    {"places_axis_first": {"axes": "axis batch token"}, "places_of_a_batch": {"axes": "axis batch token", "rows": "each"}}.items(),
)
def test_code_that_returns_the_axis_of_places_first_is_told_how_to_declare_it(
    name: str, expected: dict[str, object], tmp_path: Path
) -> None:
    diagnosis = told(checked(tmp_path, "mrope.positions", f"code.{name}(*a, **k)", {}))

    assert added(diagnosis) == expected
    assert checked(tmp_path, "mrope.positions", f"code.{name}(*a, **k)", expected).status == Status.CONFORMS


@pytest.mark.parametrize("rows", [{}, {"rows": "shared"}, {"rows": "each"}])
def test_a_result_may_have_the_batch_of_one_that_its_axes_declare(rows: dict[str, object], tmp_path: Path) -> None:
    lengths = "f(tokens, text=text, times=times, heights=heights, widths=widths, tokens_per_second=tokens_per_second, seconds=seconds)"
    declared = {"axes": "axis batch token", "positions": "from_zero", "call": lengths} | rows

    assert checked(tmp_path, "mrope.positions", "code.places_of_a_batch(code.np.arange(a[0]), **k)", declared).status == Status.CONFORMS


def test_wrong_code_that_returns_the_axis_of_places_first_is_told_so_beside_its_shape(tmp_path: Path) -> None:
    diagnosis = told(checked(tmp_path, "mrope.positions", "code.places_exchanged(*a, **k)", {}))

    assert not diagnosis.named
    assert 'code that has its axis first declares axes="axis batch token"' in "; ".join(diagnosis.description)


PASTED = {"neighbours": ("interleaved", "repeated"), "halves": ("half", "tiled")}


@pytest.mark.parametrize(("name", "other"), [("neighbours", "halves"), ("halves", "neighbours")])
def test_right_code_whose_layout_and_tables_are_both_declared_wrongly_is_told_both(name: str, other: str, tmp_path: Path) -> None:
    right, pasted = ({"layout": layout, "tables": tables} for layout, tables in (PASTED[name], PASTED[other]))
    every: dict[str, object] = {"direction": "positive", "rows": "shared"}

    diagnosis = told(checked(tmp_path, "rope.apply", f"code.{name}(*a, **k)", every | pasted))

    assert f'declare tables="{right["tables"]}", layout="{right["layout"]}" in implements("rope.apply", ...)' in diagnosis.fix
    assert checked(tmp_path, "rope.apply", f"code.{name}(*a, **k)", every | right).status == Status.CONFORMS


def test_a_declared_end_that_lies_one_too_far_is_told_the_true_one(tmp_path: Path) -> None:
    declared: dict[str, object] = {"layout": "half", "direction": "positive", "rows": "shared", "lowest": 0, "highest": 512}

    diagnosis = told(checked(tmp_path, "rope.rotate", "code.rows_of_a_table(*a, **k)", declared))

    assert diagnosis.mutants == ("rope.rotate/highest=511",)
    assert "takes positions up to 511, and raises beyond" in diagnosis.does


@pytest.mark.parametrize("level", ["smoke", "core"])
def test_code_that_raises_at_near_positions_too_is_not_told_to_declare_the_highest(level: str, tmp_path: Path) -> None:
    convention = {"layout": "halves", "spacing": "endpoint", "odd": "zero_column", "base": 1e4, "scale": 1.0}
    declared: dict[str, object] = {**convention, "positions": "from_zero"}

    report = checked(tmp_path, "sinusoidal.encode", "code.divided(*a, **k)", declared, level)

    assert report.status == Status.DIFFERS
    assert all("highest" not in f"{each.name} {each.does} {each.fix}" for each in report.diagnoses.values())


def test_code_of_text_alone_is_told_which_axes_positions_have(tmp_path: Path) -> None:
    declared: dict[str, object] = {"layout": "half", "direction": "positive", "order": "contiguous", "rows": "shared"}

    with pytest.raises(TargetError, match=r"every call raises ValueError: .* it gets .*positions \(\[batch\] token axis\) unless axes="):
        checked(tmp_path, "mrope.rotate", "code.of_text(*a, **k)", declared)


@pytest.mark.parametrize(("name", "operation"), WRONG.items())
def test_wrong_code_is_told_of_no_narrower_declaration(name: str, operation: str, tmp_path: Path) -> None:
    declared = {} if operation == "learned.encode" else {"layout": "half", "direction": "positive"}

    diagnosis = told(checked(tmp_path, operation, f"code.{name}(*a, **k)", declared))

    assert "implements(" not in diagnosis.fix
    assert "undeclared convention" not in "; ".join(diagnosis.description)


@pytest.mark.parametrize(
    ("takes", "values", "inside"),
    [
        (Takes(), {}, True),
        (Takes(lowest=3, highest=7), {}, True),
        (Takes(lowest=4), {}, False),
        (Takes(highest=6), {}, False),
        (Takes(positions="from_zero"), {}, False),
        (Takes(positions="consecutive"), {}, False),
        (Takes(), {"base": 500.0}, False),
        (Takes(), {"base": (500.0, 10_000.0)}, True),
        (Takes(), {"base": (500.0, 600.0)}, False),
    ],
)
def test_a_call_lies_inside_of_what_says_nothing_else_of_it(
    takes: Takes, values: dict[str, Any], inside: bool,  # noqa: FBT001  what is expected
) -> None:
    call = Arguments({"x": np.ones((1, 1, 2, 4)), "positions": np.array([3, 7])}, {"head_dim": 4, "base": 10_000.0})
    assert holds(operations()["rope.rotate"], call, Declaration(values, takes)) is inside


def test_what_is_wrong_inside_is_no_advice_though_drawn_calls_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Asking, "right", lambda _, declaration, *__, **___: declaration.takes.lowest == 0)
    monkeypatch.setattr(Asking, "takes_no_more", lambda *_: True)
    declared: dict[str, object] = {"layout": "half", "direction": "positive"}

    report = checked(tmp_path, "rope.rotate", "code.stretched(*a, **k)", declared)

    assert report.status == Status.DIFFERS
    assert not any("lowest" in found.fix for found in report.diagnoses.values())


def test_declarations_that_depart_least_from_the_usual_are_tried_first() -> None:
    tried = list(_least_departing("ab", "cde", "fg"))

    departures = [sum(value not in "acf" for value in each) for each in tried]
    assert departures == sorted(departures)
    assert sorted(map(tuple, tried)) == sorted(product("ab", "cde", "fg"))
