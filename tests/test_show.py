"""What ``posenc list`` and ``posenc show`` print is what the declarations say, in 80 columns."""

import re

import pytest

from conformance.laws import UNIVERSAL
from conformance.mutants.catalogue import MUTANTS
from conformance.show import declaration as show
from conformance.show import terminal
from refimpl.schemes import SCHEMES, operations
from refimpl.spec import Number, Parameter


def printed(lines: object) -> list[str]:
    """Lines as a terminal of 80 columns shows them."""
    return [line for _, line in terminal.folded(lines, 80)]  # type: ignore[arg-type]  # an iterable of lines, from show


LISTED = printed(show.listing())


@pytest.mark.parametrize("operation", operations())
def test_every_operation_is_listed_once_with_its_cases_laws_and_mistakes(operation: str) -> None:
    scheme, _, short = operation.partition(".")
    cases = sum(case.name.startswith(f"{short}/") for case in SCHEMES[scheme].cases)
    mistakes = sum(m.operation == operation and m.kind in {"mistake", "precision"} for m in MUTANTS.values())
    rows = [line.split() for line in LISTED if line.split()[:1] == [operation]]

    assert [row[1::2] for row in rows] == [[str(cases), str(len(SCHEMES[scheme].laws[short])), str(mistakes)]]


@pytest.mark.parametrize("operation", operations())
def test_the_cases_of_an_operation_go_from_simple_to_special(operation: str) -> None:
    scheme, _, short = operation.partition(".")
    cases = {f"{scheme}.{case.name}": case for case in SCHEMES[scheme].cases if case.operation == short}
    named = re.findall(rf"^  ({operation}/[\w-]+): ", "\n".join(line for _, line in show.describe(operation)), re.MULTILINE)
    ordered = [cases[name] for name in named]

    assert cases.keys() == set(named)
    assert [case.error is not None for case in ordered] == sorted(case.error is not None for case in ordered)
    assert show.special(ordered[0]) == min(map(show.special, ordered))


def test_no_byte_boundary_comes_before_the_first_positions() -> None:
    shown = "\n".join(line for _, line in show.describe("rope.rotate"))

    places = [shown.index(f"rope.rotate/{name}: ") for name in ("first-positions", "byte-boundary", "million", "odd-width")]
    assert places == sorted(places)


def test_the_list_names_every_scheme_and_fits_the_screen() -> None:
    heads = {line.split(":")[0] for line in LISTED if not line.startswith(" ")}

    assert set(SCHEMES) <= heads
    assert max(map(len, LISTED)) <= 80


def test_every_operation_stands_on_a_line_of_its_own() -> None:
    assert sum(bool(re.match(r"  \S+\.\S+ +\d+ cases", line)) for line in LISTED) == len(operations())


def test_the_list_counts_the_laws_that_hold_for_every_operation() -> None:
    assert LISTED[-1] == f"{len(SCHEMES)} schemes, {len(operations())} operations; {len(UNIVERSAL)} universal laws hold for every operation"


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_is_shown_with_its_meanings_conventions_and_notes(name: str) -> None:
    shown = " ".join(" ".join(printed(show.describe(name))).split())
    scheme = SCHEMES[name]
    said = [*scheme.meanings.values(), *scheme.conventions.values(), *scheme.notes]

    assert said
    assert [sentence for sentence in said if " ".join(sentence.split()) not in shown] == []


@pytest.mark.parametrize("name", operations())
def test_an_operation_is_shown_with_what_its_arguments_mean(name: str) -> None:
    shown = " ".join(" ".join(printed(show.describe(name))).split())
    meanings, contract = SCHEMES[name.split(".", 1)[0]].meanings, operations()[name]
    said = [f"{each}: {meanings[each]}" for each in (*contract.arrays, *contract.parameters) if each in meanings]

    assert said
    assert [sentence for sentence in said if " ".join(sentence.split()) not in shown] == []


@pytest.mark.parametrize(("name", "axes"), [("t5.bucket", "..."), ("binary.encode", "token, bits")])
def test_results_that_are_integers_are_said_to_be(name: str, axes: str) -> None:
    assert f"  -> result ({axes}) integers" in printed(show.describe(name))
    assert "  -> result (batch, head, token, head_dim)" in printed(show.describe("rope.rotate"))


def test_an_operation_is_shown_with_the_notes_on_its_arguments() -> None:
    shown = {name: " ".join(" ".join(printed(show.describe(name))).split()) for name in ("transformer_xl.logits", "transformer_xl.shift")}

    assert "`clamp_length` is the authors' `pos_seq.clamp_(max=clamp_len)`, a minimum" in shown["transformer_xl.logits"]
    assert "clamp_length" not in shown["transformer_xl.shift"]


def test_an_operation_is_shown_with_what_the_choices_of_its_parameters_mean() -> None:
    shown = " ".join(" ".join(printed(show.describe("axial_rope.rotate"))).split())
    conventions = SCHEMES["axial_rope"].conventions

    assert {f"order={choice}" for choice in ("block", "joined", "alternating")} <= set(conventions)
    assert [choice for choice, meaning in conventions.items() if f"{choice}: {meaning}" not in shown] == []
    assert "With neighbouring channels as pairs, the orders `block` and `joined` are the same." in shown
    assert "form=row" not in "\n".join(printed(show.describe("alibi.slopes")))


def test_it_is_said_where_a_row_constant_is_free() -> None:
    free = "a constant of each row of keys is free where form is column or reversed"

    assert free in "\n".join(printed(show.describe("alibi.bias")))
    assert "is free where" not in "\n".join(printed(show.describe("alibi.attend")))


def test_a_scheme_without_conventions_shows_no_empty_section() -> None:
    assert not SCHEMES["none"].conventions
    assert "conventions on which correct code differs" not in printed(show.describe("none"))


def number(rule: Number, default: float | None = None) -> Parameter:
    """A numeric parameter, required unless it has a default."""
    return Parameter("base", float if default else int, default, required=default is None, optional=False, choices=(), rule=rule)


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        (number(Number(minimum=2, multiple_of=2)), "int, even, at least 2, required"),
        (number(Number(multiple_of=20)), "int, a multiple of 20, required"),
        (number(Number(minimum=1, maximum=62)), "int, at least 1, at most 62, required"),
        (number(Number(above=0.0), 8.0), "float, above 0.0, default 8.0"),
        (Parameter("form", str, "a", required=False, optional=False, choices=("a", "b"), rule=None), "a | b, default a"),
    ],
)
def test_a_rule_is_said_in_words(parameter: Parameter, words: str) -> None:
    assert show.rule(parameter) == words
