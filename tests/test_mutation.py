import functools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conformance.spec.vectors import Vector
from refimpl.schemes import SCHEMES, rope
from tools.mutation import equivalents
from tools.mutation.__main__ import vectors_by_operation
from tools.mutation.equivalents import EquivalentError, Equivalents, listed
from tools.mutation.mutations import of
from tools.mutation.plan import DERIVED, EVERYTHING, SHARED, Mutant, Reach, reach
from tools.mutation.precision import Rounding
from tools.mutation.running import ENDLESS, Court, verdicts
from tools.mutation.score import Trial, trials
from tools.mutation.sites import parsed
from tools.mutation.specimen import Specimen, copied
from tools.share import evenly

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "mutation.md"


@functools.cache
def specimen() -> Specimen:
    return copied()


@functools.cache
def whole() -> Reach:
    return reach(specimen(), by_operation())


@functools.cache
def everything() -> Sequence[Mutant]:
    return whole().plan([*SCHEMES, EVERYTHING])


@functools.cache
def by_operation() -> Mapping[str, Sequence[Vector]]:
    return vectors_by_operation()


def court(known: Equivalents | None = None) -> Court:
    return Court(specimen(), by_operation(), equivalents.load() if known is None else known)


def changes(source: str) -> set[tuple[str, str]]:
    return {(m.kind, m.becomes) for site in parsed("some.module", source).sites for m in of(site)}


def mutant(operation: str, function: str, was: str, becomes: str) -> Mutant:
    found = [m for m in everything() if m.owner == operation and m.mutation.site.label == f"refimpl.{function}"]
    return next(m for m in found if (m.mutation.was, m.mutation.becomes) == (was, becomes))


def judged(*mutants: Mutant) -> list[Trial]:
    here = court(listed([]))
    return trials(mutants, verdicts(here, mutants, jobs=1), here.known)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a + 3", {("constant", "4"), ("constant", "2"), ("constant", "6"), ("constant", "1"), ("constant", "-3"), ("constant", "0")}),
        ("a - b", {("operator", "a + b"), ("exchanged", "b - a"), ("missing", "a"), ("missing", "b"), ("sign", "-(a - b)")}),
        ("a * b", {("doubled", "a * b * b"), ("operator", "a / b"), ("operator", "a ** b")}),
        ("-a", {("sign", "a")}),
        ("a < b", {("comparison", "a <= b"), ("comparison", "a >= b"), ("comparison", "a == b")}),
        ("a if a else b", {("branch", "True"), ("branch", "False"), ("branch", "not a")}),
        ("a or b", {("logic", "a and b"), ("logic", "a"), ("logic", "b")}),
        ("xp.sin(a)", {("function", "xp.cos(a)"), ("call", "a"), ("degrees", "xp.sin(a * 0.017453292519943295)")}),
        ("f(a, b)", {("arguments", "f(b, a)"), ("call", "a")}),
        ("f(x=a, y=b)", {("arguments", "f(x=b, y=a)"), ("arguments", "f(y=b)"), ("arguments", "f(x=a)")}),
        ("a[1:]", {("slice", ":"), ("slice", "1:-1"), ("constant", "2")}),
        ("[i for i in range(a)]", {("origin", "a + 1"), ("origin", "a - 1")}),
        ("(a, b)", {("order", "(b, a)")}),
        ("a", {("swapped", "b"), ("ignored", "7"), ("ignored", "0")}),
        ("a / b", {("float32", "_round('float32', a / b)"), ("bfloat16", "_round('bfloat16', a / b)")}),
    ],
)
def test_an_expression_is_changed_in_every_way(expression: str, expected: set[tuple[str, str]]) -> None:
    assert expected <= changes(f"def f(a: int = 7, b: int = 8): return {expression}")


def test_a_check_is_left_out() -> None:
    assert ("check", "pass") in changes("def f(a):\n    check(a)\n    return a")


@pytest.mark.parametrize("expression", ["array_namespace(a, b)", "max(a, b)", "exact_float64(a)"])
def test_what_changes_nothing_is_not_generated(expression: str) -> None:
    assert {kind for kind, _ in changes(f"def f(a, b): return {expression}")} <= {"float32", "float16", "bfloat16", "function", "call"}
    assert ("arguments", expression.replace("a, b", "b, a")) not in changes(f"def f(a, b): return {expression}")


def test_the_defaults_of_an_operation_are_its_declaration_and_those_of_a_helper_are_code() -> None:
    assert ("constant", "8") in changes("def f(*, a: int = 7): return g()")
    assert not [kind for kind, _ in changes("@operation\ndef f(*, a: int = 7): return g()") if kind == "constant"]


def test_no_two_changes_of_one_place_read_the_same() -> None:
    keys = [(id(m.mutation.place), m.mutation.becomes, m.owner) for m in everything()]

    assert len(keys) == len(set(keys))


def test_a_change_is_undone_and_never_reaches_the_reference() -> None:
    changed = mutant("rope.rotate", "forms.rotary.turn", "first * cos - second * sin", "first * cos + second * sin").mutation
    arguments = {"head_dim": 2, "layout": "half", "direction": "positive", "base": 10_000.0}
    x, positions = np.ones((1, 1, 1, 2)), np.array([1])
    ask = specimen().subject("rope.rotate", "float64").call
    right = rope.rotate(x, positions, **arguments)
    with specimen().changed(changed):
        wrong = ask([x, positions], arguments).values["result"]
        assert np.array_equal(rope.rotate(x, positions, **arguments), right)

    assert not np.array_equal(wrong, right)
    assert np.array_equal(ask([x, positions], arguments).values["result"], right)


def test_a_vector_convicts_a_wrong_sign_and_nothing_convicts_a_change_that_is_none() -> None:
    wrong = mutant("rope.rotate", "forms.rotary.turn", "first * cos - second * sin", "first * cos + second * sin")
    same = mutant("rope.rotate", "schemes.rope.frequencies", "head_dim // 2", "head_dim / 2")
    first, second = judged(wrong, same)

    assert first.verdict.kind == "vector"
    assert first.verdict.by.startswith("rope.rotate/")
    assert second.survivor


def test_what_never_ends_is_ended_and_the_next_is_judged_all_the_same() -> None:
    endless = mutant("t5.bucket", "schemes.t5.ceiling_root", "low < high", "low <= high")
    after = mutant("t5.bucket", "schemes.t5.lasts", "exact - 1", "exact + 1")
    here = Court(specimen(), by_operation(), listed([]), vector_seconds=1)

    first, second = verdicts(here, [endless, after], jobs=1)
    assert first == ENDLESS
    assert second.by.startswith("t5.bucket/")


def test_what_gets_no_result_at_all_is_no_mistake() -> None:
    assert judged(mutant("rope.rotate", "forms.rotary.turn", "first * sin", "first // sin"))[0].verdict.kind in {"vector", "stillborn"}


def test_rounding_tells_numbers_from_positions() -> None:
    rounding = Rounding()
    rounding("float32", np.array([0.0, 131_071.0]))
    assert not rounding.met

    assert rounding("bfloat16", np.array([257])).tolist() == [256]
    assert (rounding.met, rounding.changed) == (True, True)


@pytest.mark.parametrize("entry", [{"proof": "why"}, {"function": "f"}, {"function": "f", "proof": "why", "line": 3}])
def test_an_entry_says_what_it_means_and_why(entry: dict[str, object]) -> None:
    with pytest.raises(EquivalentError, match="an entry must say"):
        listed([entry])


def test_no_entry_is_stale() -> None:
    assert [entry.means for entry in equivalents.load().stale(everything())] == []


def test_a_stale_entry_is_found() -> None:
    gone = listed([{"function": "refimpl.forms.rotary.turn", "was": "no such expression", "proof": "none"}])

    assert gone.stale(everything()) == list(gone.entries)


def functions(operation: str) -> set[str]:
    return {m.mutation.site.label for m in everything() if m.owner == operation}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("derived", DERIVED)
def test_attention_is_asked_for_what_no_simpler_operation_of_its_scheme_runs(scheme: str, derived: str) -> None:
    simpler = [operation.__name__ for operation in SCHEMES[scheme].operations if operation.__name__ not in DERIVED]

    assert not functions(f"{scheme}.{derived}") & set().union(*(functions(f"{scheme}.{name}") for name in simpler))


def test_no_function_that_an_operation_runs_is_left_to_nobody() -> None:
    run = {(name.partition(".")[0], site.label) for name, sites in whole().sites.items() for site in sites}
    asked = {(m.scheme, m.mutation.site.label) for m in everything()}
    changeable = {label for label, mutations in whole().mutations.items() if mutations}

    assert {(scheme, label) for scheme, label in run if label in changeable} - asked == {
        (scheme, label) for scheme, label in run if label.startswith(SHARED) and label in changeable
    }


def test_what_only_attention_runs_is_put_to_weights_and_attend() -> None:
    assert {"refimpl.attention.softmax", "refimpl.attention.visible", "refimpl.forms.bias.met"} <= functions("kerple.weights")
    assert functions("kerple.attend") == functions("kerple.weights") | {"refimpl.attention.average"}
    assert "refimpl.schemes.kerple.weight" in functions("kerple.bias")


def test_a_sample_is_even_and_the_same_every_time() -> None:
    chosen: list[Mutant] = evenly(everything(), Fraction(1, 10))

    assert len(chosen) == len(everything()) // 10
    assert {m.scheme for m in chosen} == {*SCHEMES, EVERYTHING}


@pytest.mark.parametrize(("share", "runs"), [(Fraction(1, 7), 7), (Fraction(2, 7), 7), (Fraction(1, 2), 2)])
def test_as_many_samples_in_a_row_as_there_are_shares_take_each_equally_often(share: Fraction, runs: int) -> None:
    taken = [each for seed in range(20_782, 20_782 + runs) for each in evenly(range(100), share, seed)]

    assert Counter(taken) == dict.fromkeys(range(100), share * runs)


def test_every_mistake_of_a_sample_is_convicted_or_explained() -> None:
    chosen = evenly(everything(), Fraction(1, 60))
    here = court()
    found = trials(chosen, verdicts(here, chosen, jobs=1), here.known)

    assert [trial.mutant.mutation.words for trial in found if trial.survivor] == []
    assert [trial.mutant.mutation.words for trial in found if trial.disproved] == []


def test_the_functions_that_no_operation_runs_act_in_attention_or_declare() -> None:
    left = {name for name in whole().unreached() if not name.endswith(".layer")}

    assert {name for name in left if name.startswith("refimpl.schemes.")} == {
        "refimpl.schemes.lerope.made_up", "refimpl.schemes.longrope.two_lists", "refimpl.schemes.mixed_rope.beginning",
        "refimpl.schemes.retnet.unhidden", "refimpl.schemes.shaw.example_table",
    }


def test_the_record_counts_the_mutants_that_are_generated_and_names_no_survivor() -> None:
    text = RECORD.read_text(encoding="utf-8")
    total = re.search(r"^\| all \| (\d+) \|", text, re.MULTILINE)

    assert total is not None
    assert int(total[1]) == len(everything())
    assert "## Survivors\n\nNone.\n" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sample", "2"], "a share must be over 0 and up to 1, like 1/20, got '2'"),
        (["--sample", "1/6", "--record", "x.md"], "--record must be of everything, got --scheme - --sample 1/6"),
        (["--scheme", "rope", "--record", "x.md"], "--record must be of everything, got --scheme rope --sample 1"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(arguments: list[str], words: str) -> None:
    told = subprocess.run([sys.executable, "-m", "tools.mutation", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)

    assert told.returncode == 2
    assert told.stderr.splitlines()[-1].endswith(words)
    assert not (ROOT / "x.md").exists()
