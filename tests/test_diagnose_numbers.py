import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_wrong_kernels import subjects
from wrong_kernels import Kernel

from conformance.checks import golden_checks, vector_checks
from conformance.diagnosis import fits, search
from conformance.diagnosis.diagnose import diagnose, explanations, of_checks
from conformance.diagnosis.links import TIMES
from conformance.mutants.building import altered
from conformance.mutants.catalogue import MUTANTS
from conformance.mutants.composing import composed
from conformance.spec.vectors import load
from refimpl.schemes import alibi, mrope, rope, sinusoidal
from tests.test_diagnose import Function, named, observe, only


def with_parameters(operation: str, **changes: Any) -> Function:
    """Return the operation that uses other numbers than those it is asked for."""
    return altered(operation, parameters=lambda given: {**given, **{n: c(given[n]) if callable(c) else c for n, c in changes.items()}})


def shifted(operation: str, by: int) -> Function:
    return altered(operation, arrays=lambda arrays, _: {**arrays, "positions": arrays["positions"] + by})


def partly(x: np.ndarray, positions: np.ndarray, *, head_dim: int, **parameters: Any) -> np.ndarray:
    """Turn the first half of the channels only, in whole pairs."""
    width = head_dim // 4 * 2
    turned = rope.rotate(np.ascontiguousarray(x[..., :width]), positions, head_dim=width, **parameters) if width else x[..., :0]
    return np.concatenate([turned, x[..., width:]], axis=-1)


NUMBERS: tuple[tuple[str, Function, str, str], ...] = (
    ("rope.rotate", with_parameters("rope.rotate", base=10001.0), "base=10001", "uses base 10001 whatever is asked for"),
    ("rope.rotate", with_parameters("rope.rotate", base=12345.67), "base=12345.67", "uses base 12345.67 whatever is asked for"),
    ("rope.rotate", with_parameters("rope.rotate", base=lambda asked: 3 * asked), "base*3", "multiplies base by 3"),
    ("rope.rotate", shifted("rope.rotate", 3), "positions+3", "adds 3 to the positions"),
    ("rope.rotate", partly, "rotary_width*0.5", "multiplies rotary width by 0.5"),
    ("rope.attend", with_parameters("rope.attend", base=lambda asked: 1.25 * asked), "base*1.25", "multiplies base by 1.25"),
    ("rope.frequencies", with_parameters("rope.frequencies", base=777.0), "base=777", "uses base 777 whatever is asked for"),
    ("sinusoidal.encode", shifted("sinusoidal.encode", -2), "positions-2", "adds -2 to the positions"),
    ("sinusoidal.encode", with_parameters("sinusoidal.encode", base=9999.0), "base=9999", "uses base 9999 whatever is asked for"),
    ("yarn.rotate", with_parameters("yarn.rotate", beta_fast=31.0), "beta_fast=31", "uses beta_fast 31 whatever is asked for"),
    (
        "yarn.frequencies",
        with_parameters("yarn.frequencies", original_length=lambda n: 3 * n),
        "original_length*3",
        "multiplies original_length by 3",
    ),
    ("yarn.rotate", altered("yarn.rotate", result=lambda value: 0.3 * value), "result*0.3", "multiplies the result by 0.3"),
    ("alibi.bias", with_parameters("alibi.bias", max_bias=7.0), "max_bias=7", "uses max_bias 7 whatever is asked for"),
    ("alibi.slopes", with_parameters("alibi.slopes", max_bias=lambda asked: 1.01 * asked), "max_bias*1.01", "multiplies max_bias by 1.01"),
    ("t5.bucket", with_parameters("t5.bucket", max_distance=lambda asked: asked + 3), "max_distance+3", "adds 3 to max_distance"),
    ("t5.bias", with_parameters("t5.bias", max_distance=100), "max_distance=100", "uses max_distance 100 whatever is asked for"),
)


@pytest.mark.parametrize(
    ("operation", "function", "name", "does"), NUMBERS, ids=[f"{operation}/{name}" for operation, _, name, _ in NUMBERS]
)
def test_a_wrong_number_is_found_and_told(operation: str, function: Function, name: str, does: str) -> None:
    diagnosis = diagnose(operation, observe(operation, function), "float32")

    assert diagnosis is not None
    assert diagnosis.mutants == (f"{operation}/{name}",)
    assert diagnosis.does == does
    assert name in diagnosis.fix


@pytest.mark.parametrize(("operation", "number"), [("yarn.frequencies", "beta_slow"), ("yarn.attention_factor", "slope")])
def test_a_one_whatever_is_asked_for_is_no_power_of_what_is_asked_for(operation: str, number: str) -> None:
    diagnosis = diagnose(operation, observe(operation, with_parameters(operation, **{number: 1.0})), "float32")

    assert diagnosis is not None
    assert (diagnosis.mutants, diagnosis.also_fits) == ((f"{operation}/{number}=1",), ())


def test_where_every_vector_asks_for_the_same_the_right_number_is_told() -> None:
    seen = only(observe("rope.rotate", with_parameters("rope.rotate", base=10002.0)), base=10_000.0)
    diagnosis = diagnose("rope.rotate", seen, "float32")

    assert diagnosis is not None
    assert diagnosis.does == "uses base 10002 instead of 10000"


def test_a_number_that_was_asked_for_alone_is_told_of_that_alone() -> None:
    function = with_parameters("partial_rope.weights", rotary_dim=lambda asked: asked + 2)
    (found,) = explanations("partial_rope.weights", observe("partial_rope.weights", function), "float32")
    vector = observe("partial_rope.weights", function)[0].vector

    assert found.does == "uses rotary_dim 10 instead of 8"
    assert found.answer(vector) is not None
    assert found.answer(replace(vector, parameters={**vector.parameters, "rotary_dim": 4})) is None


@pytest.mark.parametrize(
    ("operation", "number", "name"),
    [("partial_rope.attend", "rotary_dim", "rotary_dim+2"), ("position_interpolation.attend", "factor", "factor+2")],
)
def test_what_stored_vectors_show_of_a_number_must_explain_drawn_calls_too(operation: str, number: str, name: str) -> None:
    kernel = Kernel("wrong", operation, with_parameters(operation, **{number: lambda asked: asked + 2}), {})
    ((put, task),) = subjects(kernel.adapter, 0)
    stored = [vector for vector in load([operation]) if vector.error is None]
    checked = [*vector_checks.run(put, task, stored, enough=99), *golden_checks.run(put, task, golden_checks.drawn(task, 0), enough=12)]

    found = of_checks(checked)

    assert found is not None
    assert found.mutants == (f"{operation}/{name}",)


def sides_changed(change: Callable[[int], int]) -> Callable[..., Any]:
    """Return positions whose grids have other sides, and that raise where a side is empty."""

    def kernel(positions: np.ndarray, **said: Any) -> np.ndarray:
        sides = {name: tuple(map(change, said[name])) for name in ("heights", "widths")}
        assert all(map(all, sides.values()))
        return np.asarray(mrope.positions(positions, **{**said, **sides}))

    return kernel


@pytest.mark.parametrize(("exact_below", "named"), [(1 << 62, ("alibi.bias/falcon-key-index-exact",)), (512, ())])
def test_a_rounding_that_calls_which_passed_would_show_by_far_is_not_named(exact_below: int, named: tuple[str, ...]) -> None:
    def kernel(query_positions: np.ndarray, key_positions: np.ndarray, **said: Any) -> np.ndarray:
        exact = MUTANTS["alibi.bias/falcon-key-index-exact"].function
        rounds = np.asarray(key_positions >= exact_below)[..., None, None, :]
        return np.where(rounds, alibi.bias(query_positions, key_positions, **said), exact(query_positions, key_positions, **said))

    ((put, task),) = subjects(Kernel("wrong", "alibi.bias", kernel, {"form": "falcon"}).adapter, 0)
    stored = [vector for vector in load(["alibi.bias"]) if vector.parameters.get("form") == "falcon" and vector.error is None]
    checked = [*vector_checks.run(put, task, stored, enough=99), *golden_checks.run(put, task, golden_checks.drawn(task, 0), enough=48)]

    found = of_checks(checked)

    assert (() if found is None else found.mutants) == named


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda side: 2 * side, ("mrope.positions/patches-for-tokens",)),
        (lambda side: side // 2, ("mrope.positions/merged-twice",)),
        (lambda side: side // 2 if side < 4 else side + 1, ()),
    ],
)
def test_a_mistake_that_small_grids_look_like_must_give_what_larger_ones_give(change: Callable[[int], int], named: tuple[str, ...]) -> None:
    ((put, task),) = subjects(Kernel("wrong", "mrope.positions", sides_changed(change), {}).adapter, 0)
    stored = [vector for vector in load(["mrope.positions"]) if vector.id.partition("/")[2] in ("text", "image", "tall-image")]
    checked = [*vector_checks.run(put, task, stored, enough=99), *golden_checks.run(put, task, golden_checks.drawn(task, 0), enough=96)]

    found = of_checks(checked)

    assert (() if found is None else found.mutants) == named


def test_a_number_that_only_an_infinite_one_would_make_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = observe("rope.frequencies", with_parameters("rope.frequencies", base=lambda asked: 3 * asked))
    monkeypatch.setattr(fits, "links", lambda *_: [replace(TIMES, unknown=lambda *_: math.inf)])

    assert diagnose("rope.frequencies", seen, "float32") is None


@pytest.mark.parametrize("operation", ["rope.rotate", "sinusoidal.encode"])
def test_the_right_numbers_are_not_wrong_ones(operation: str) -> None:
    assert diagnose(operation, observe(operation, with_parameters(operation)), "float32") is None


@pytest.mark.parametrize(("operation", "layout"), [("rope.rotate", "half"), ("sinusoidal.encode", "interleaved")])
def test_a_wrong_layout_and_a_wrong_base_are_named_together(operation: str, layout: str) -> None:
    diagnosis = diagnose(operation, observe(operation, with_parameters(operation, layout=layout, base=123_456.0)), "float32")

    assert diagnosis is not None
    assert set(diagnosis.mutants) == {f"{operation}/layout={layout}", f"{operation}/base=123456"}


PAIRS = (
    ("rope.rotate", "degrees", "pairs-from-one"),
    ("alibi.bias", "heads-in-reverse", "positions-ignored"),
    ("yarn.frequencies", "base-ignored", "ramp-inverted"),
    ("sinusoidal.encode", "degrees", "positions-ignored"),
    ("t5.bias", "always-bidirectional", "positions-ignored"),
)


@pytest.mark.parametrize(("operation", "one", "two"), PAIRS)
def test_two_mistakes_of_one_operation_are_named_together(operation: str, one: str, two: str) -> None:
    function = composed(MUTANTS[f"{operation}/{one}"].function, MUTANTS[f"{operation}/{two}"].function)
    assert function is not None
    diagnosis = diagnose(operation, observe(operation, function), "float32")

    assert diagnosis is not None
    assert {f"{operation}/{one}", f"{operation}/{two}"} in [set(name.split(" + ")) for name in named(diagnosis)]


def test_two_mistakes_that_replace_the_same_piece_cannot_be_composed() -> None:
    tables = [MUTANTS[f"rope.rotate/{name}"].function for name in ("pairs-from-one", "exponent-without-two")]

    assert composed(*tables) is None


@pytest.mark.parametrize(
    ("operation", "function"),
    [
        ("rope.rotate", lambda x, p, **given: rope.rotate(x, p, **given) * (1 + 1e-3 * np.arange(x.shape[-1]))),
        ("sinusoidal.encode", lambda p, **given: sinusoidal.encode(p, **given) + 1e-3 * np.sin(p)[:, None]),
    ],
)
def test_a_mistake_that_no_number_explains_gets_no_number(operation: str, function: Callable[..., np.ndarray]) -> None:
    assert diagnose(operation, observe(operation, function), "float32") is None


@pytest.mark.parametrize(("value", "uncertainty", "short"), [(10000.9999, 1e-3, 10001.0), (0.33333, 1e-6, 1 / 3), (2.0, 0.0, 2.0)])
def test_a_number_is_written_as_short_as_its_uncertainty_allows(value: float, uncertainty: float, short: float) -> None:
    assert search.within(value, uncertainty) == short


def test_least_squares_finds_where_a_line_vanishes() -> None:
    def differences(value: float) -> np.ndarray:
        return np.array([2.0, -3.0]) * (value - 1.05)

    (value,), (uncertainty,) = search.polished([differences, differences], [1.0])

    assert abs(value - 1.05) < 1e-6
    assert uncertainty == pytest.approx(1 / np.sqrt(26), rel=1e-6)
