"""What a diagnosis says of mistakes that look like conventions, of many that look alike, and of results that are no results."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.calls.outcomes import Diagnosis
from conformance.diagnosis.candidates import pairs_of_mistakes
from conformance.diagnosis.diagnose import HANDFUL, Observation, diagnose, explain
from conformance.diagnosis.undeclared import Raised
from conformance.mutants.catalogue import MUTANTS
from conformance.spec.vectors import Vector, load
from refimpl.forms.rotary import QueryKey
from refimpl.schemes import alibi, rope, sinusoidal, t5
from tests import wide_code
from tests.test_diagnose import observe, only

Function = Callable[..., Any]


def of(operation: str, function: Function, **parameters: object) -> Diagnosis:
    found = diagnose(operation, only(observe(operation, function), **parameters), "float32")
    assert found is not None
    return found


def raising(operation: str, words: str, **taken: object) -> tuple[list[Vector], list[Raised]]:
    """Return the vectors that code answers which takes only these values, and those for which it raises."""
    vectors = [vector for vector in load([operation]) if vector.error is None]
    takes = [vector for vector in vectors if taken and taken.items() <= vector.parameters.items()]
    return takes, [(vector, words) for vector in vectors if vector not in takes]


def test_a_gradient_that_turns_forward_is_no_direction() -> None:
    found = of(
        "rope.gradient", lambda _, *given, **parameters: rope.rotate(given[1], given[0], **parameters), direction="positive", layout="half"
    )

    assert found.mutants[0].startswith("rope.gradient/gradient-")
    assert "rope.gradient/direction=negative" in found.also_fits


def test_a_gradient_that_turns_forward_is_named_whatever_is_declared() -> None:
    found = of("rope.gradient", lambda _, *given, **parameters: rope.rotate(given[1], given[0], **parameters))

    assert found.mutants == ("rope.gradient/gradient-by-rotation",)


def test_a_convention_that_is_asked_for_somewhere_keeps_its_place() -> None:
    found = of("rope.rotate", MUTANTS["rope.rotate/direction=negative"].function)

    assert found.mutants == ("rope.rotate/direction=negative",)


def test_what_is_zero_everywhere_is_called_that() -> None:
    found = of("rope.rotate", lambda x, *_, **__: np.zeros_like(x))

    assert (found.name, found.does) == ("rope.rotate/zeros", "returns zeros")


def test_two_results_of_zeros_are_called_that() -> None:
    found = of("rope.rotate_query_key", lambda q, k, *_, **__: QueryKey(np.zeros_like(q), np.zeros_like(k)))

    assert found.does == "returns zeros"


def test_an_input_that_comes_back_is_named_where_no_mistake_is() -> None:
    assert of("yarn.rotate", lambda x, *_, **__: x).does == "returns x unchanged"
    assert of("rope.rotate", lambda x, *_, **__: x, layout="half").name == "rope.rotate/not-turned"


def test_one_number_everywhere_is_called_that() -> None:
    assert of("rope.rotate", lambda x, *_, **__: np.full_like(x, 0.375)).does == "returns 0.375 everywhere"


def test_one_convention_of_buckets_is_told_as_declare_it() -> None:
    found = of("t5.bucket", lambda offsets, **given: t5.bucket(offsets, **{**given, "convention": "t5"}))

    assert found.kind == "convention"
    assert found.does == 'computes convention="t5" whatever is asked for'
    assert found.fix.startswith('declare convention="t5" in implements("t5.bucket", convention="t5")')


@pytest.mark.parametrize(("operation", "taken"), [("rope.rotate", {"layout": "half"}), ("t5.bucket", {"convention": "t5"})])
def test_code_that_raises_for_other_conventions_is_told_to_declare_its_own(operation: str, taken: dict[str, object]) -> None:
    ((name, value),) = taken.items()
    answered, raised = raising(operation, "ValueError: unknown", **taken)
    right = [Observation(vector, dict(vector.expected or {}), "float32") for vector in answered]

    found = explain(operation, right, "float32", raised)

    assert found is not None
    assert (found.kind, found.name) == ("convention", f"{operation}/{name}={value}")
    assert "ValueError: unknown" in found.does
    assert f'declare {name}="{value}" in implements("{operation}", {name}="{value}")' in found.fix


def test_both_conventions_are_declared_where_one_is_ignored_and_another_raises() -> None:
    answered, raised = raising("rope.rotate", "NotImplementedError: negative", direction="positive")
    function = MUTANTS["rope.rotate/layout=half"].function
    seen = [one for one in observe("rope.rotate", function) if one.vector.id in {vector.id for vector in answered}]

    found = explain("rope.rotate", seen, "float32", raised)

    assert found is not None
    assert found.mutants == ("rope.rotate/layout=half", "rope.rotate/direction=positive")


def test_a_keyword_that_is_missing_is_told_with_what_to_write() -> None:
    _, raised = raising("t5.bucket", "TypeError: bucket() got an unexpected keyword argument 'convention'")

    found = explain("t5.bucket", [], "float32", raised)

    assert found is not None
    assert found.does == "has no keyword convention, and every parameter is given by keyword, declared or not"
    assert 'implements("t5.bucket", convention=...) with "t5" or "deberta" or "clamped"' in found.fix


@pytest.mark.parametrize("words", ["ValueError: no", "TypeError: f() got an unexpected keyword argument 'other'"])
def test_exceptions_that_have_nothing_to_do_with_parameters_name_nothing(words: str) -> None:
    _, raised = raising("rope.rotate", words)

    assert explain("rope.rotate", [], "float32", raised) is None


def test_a_parameter_that_is_not_taken_is_named_before_a_mistake_that_gives_the_same() -> None:
    function = MUTANTS["alibi.slopes/halving-slopes"].function
    found = of("alibi.slopes", function, num_heads=8, max_bias=16.0)

    assert found.name == "alibi.slopes/max-bias-ignored"
    assert "alibi.slopes/halving-slopes" in found.also_fits


def test_a_name_is_not_given_where_many_known_mistakes_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = only(observe("rope.rotate", MUTANTS["rope.rotate/not-turned"].function), layout="interleaved")[:1]
    monkeypatch.setattr("conformance.diagnosis.diagnose.HANDFUL", 1)

    found = explain("rope.rotate", seen, "float32")

    assert found is not None
    assert not found.named
    assert "it can't be told which: " in found.description[0]
    assert "known mistakes give this" in found.description[0]
    assert found.description[1].startswith(("what would tell: ", "they give the same"))


def test_a_handful_is_named_with_what_also_fits() -> None:
    seen = only(observe("rope.rotate", MUTANTS["rope.rotate/not-turned"].function), layout="interleaved")
    found = diagnose("rope.rotate", seen, "float32")

    assert found is not None
    assert len(found.also_fits) < HANDFUL


def beside(convention: Function, *, honours: bool = False) -> Function:
    """Return a rotation in a convention of its own that stretches every second head besides, which is no known mistake."""

    def rotate(x: np.ndarray, positions: np.ndarray, **parameters: object) -> np.ndarray:
        turned = np.array((rope.rotate if honours else convention)(x, positions, **parameters))
        turned[:, 1::2] = convention(1.01 * x, positions, **parameters)[:, 1::2]
        return turned

    return rotate


def known_of(function: Function, **parameters: object) -> str:
    found = explain("rope.rotate", only(observe("rope.rotate", function), **parameters), "float32")
    assert found is not None
    assert not found.named
    return "; ".join(found.description)


def forward_halves(x: np.ndarray, positions: np.ndarray, **parameters: object) -> np.ndarray:
    return rope.rotate(x, positions, **{**parameters, "layout": "half", "direction": "positive"})


def test_undeclared_conventions_are_told_beside_a_mistake_without_a_name() -> None:
    told = known_of(beside(forward_halves))

    assert "most of it is an undeclared convention: " in told
    assert 'declare layout="half" and direction="positive" in implements("rope.rotate", layout="half", direction="positive")' in told


def test_a_convention_that_is_declared_is_told_no_more() -> None:
    told = known_of(beside(forward_halves), direction="positive")
    assert 'declare layout="half" in' in told
    assert "undeclared" not in known_of(beside(forward_halves), layout="half", direction="positive")


def test_a_mistake_that_looks_like_a_convention_here_and_there_is_none() -> None:
    assert "undeclared" not in known_of(beside(MUTANTS["rope.rotate/direction=negative"].function, honours=True))


def test_a_masked_bias_is_no_other_form() -> None:
    found = explain("alibi.bias", observe("alibi.bias", wide_code.masked_square), "float32")

    assert found is not None
    assert "undeclared" not in "; ".join(found.description)


def test_two_mistakes_are_named_only_where_four_cases_show_them() -> None:
    names = ("alibi.bias/heads-from-zero", "alibi.bias/key-index")
    pair = next(each for each in pairs_of_mistakes("alibi.bias") if each.names == names)
    seen = observe("alibi.bias", pair.function)

    found = diagnose("alibi.bias", seen, "float32")
    assert found is not None
    assert found.mutants == names
    assert diagnose("alibi.bias", seen[:3], "float32") is None


def masking(function: Function) -> Sequence[Observation]:
    """Return what is observed of a bias that hides every key after its query, and declares it."""

    def bias(query_positions: np.ndarray, key_positions: np.ndarray, **parameters: object) -> np.ndarray:
        hidden = (key_positions[..., None, :] > query_positions[..., :, None])[..., None, :, :]
        return np.where(hidden, -np.inf, function(query_positions, key_positions, **parameters))

    return [replace(one, masked=True) for one in observe("alibi.bias", bias)]


def test_a_mistake_is_named_beside_what_is_masked() -> None:
    found = diagnose("alibi.bias", masking(MUTANTS["alibi.bias/slopes=paper"].function), "float32")

    assert found is not None
    assert found.mutants == ("alibi.bias/slopes=paper",)


def test_what_is_masked_is_not_told_as_wrong() -> None:
    assert explain("alibi.bias", masking(alibi.bias), "float32") is None


def test_numbers_that_are_masked_are_not_counted_and_count_for_no_relation() -> None:
    found = explain("alibi.bias", masking(lambda *given, **parameters: -1.5 * alibi.bias(*given, **parameters)), "float32")

    assert found is not None
    assert not any("should be finite" in clue for clue in found.description)
    assert "each result is the right one times a number: -1.5" in found.description


def test_a_table_that_is_padded_with_zeros_does_not_wrap() -> None:
    found = explain("learned.encode", observe("learned.encode", wide_code.padded_table), "float32")

    assert "undeclared" not in "; ".join(() if found is None else found.description)


def test_no_lowest_position_is_told_above_which_negative_ones_are_wrong() -> None:
    def from_the_end(positions: np.ndarray, **parameters: Any) -> np.ndarray:
        return np.asarray(sinusoidal.encode(np.where(positions < 0, 1.37 * positions + 11, positions), **parameters))

    seen = observe("sinusoidal.encode", from_the_end)
    far = next(one.vector for one in seen if one.vector.inputs["positions"].min() == -257)
    found = explain("sinusoidal.encode", [one for one in seen if one.vector is not far], "float32", [(far, "IndexError: index -257")])

    assert "lowest" not in "; ".join(() if found is None else (found.fix, *found.description))


def test_exceptions_hide_no_wrong_values_that_nothing_explains() -> None:
    answered, raised = raising("rope.rotate", "NotImplementedError: negative", direction="positive")
    seen = [one for one in observe("rope.rotate", beside(rope.rotate, honours=True)) if one.vector.id in {each.id for each in answered}]

    found = explain("rope.rotate", seen, "float32", raised)

    assert found is not None
    assert not found.named
    assert 'it takes direction="positive" only, and raises for direction="negative": NotImplementedError: negative' in found.description[0]
    assert "only head 1 is wrong" in found.description
