"""Correct implementations break no law, whatever they round and wherever."""

from collections.abc import Callable
from typing import Any

import law_implementations as rounding
import numpy as np
import pytest
from law_subjects import DTYPES, OPERATIONS, broken, findings, reference, subject

from conformance.calls.takes import Positions, Queries, Takes
from conformance.in_process import assert_conforms
from conformance.spec.declarations import operations
from refimpl.schemes import SCHEMES, alibi


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_the_reference_breaks_no_law(name: str, dtype: str) -> None:
    found = findings(reference(name, dtype), seed=1)

    scheme, _, short = name.partition(".")
    assert not broken(found)
    assert len(found) == 6 + len(SCHEMES[scheme].laws[short])
    rowless = not any({"batch", "token"} & set(axes.split()) for axes in reference(name, dtype).operation.arrays.values())
    assert {law for law, finding in found.items() if finding.examples < 5} <= ({"batch independence"} if rowless else set())


@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("name", ["rope.rotate", "rope.attend", "sinusoidal.encode", "alibi.bias", "t5.bucket", "yarn.rotate"])
def test_the_reference_breaks_no_law_on_other_seeds(name: str, seed: int) -> None:
    assert not broken(findings(reference(name, "float32"), seed=seed))


def test_what_a_law_computes_itself_is_allowed_where_the_implementation_is_as_exact() -> None:
    """Seed 22 draws vectors whose lengths, computed in float64 on both sides, differ by more than the turning alone explains."""
    assert not broken(findings(reference("rope.apply", "float64"), seed=22, examples=20))


FLOAT32, HALVES = ("float32",), ("float32", "float16", "bfloat16")
#: Operations, code that rounds at every step, and the dtypes in which it comes.
ROUNDED = [
    ("rope.rotate", rounding.rotate, HALVES),
    ("rope.rotate_query_key", rounding.rotate_query_key, HALVES),
    ("rope.weights", rounding.weights, HALVES),
    ("rope.attend", rounding.attend, HALVES),
    ("rope.frequencies", rounding.frequencies, FLOAT32),
    ("sinusoidal.encode", rounding.encode, FLOAT32),
    ("alibi.slopes", rounding.slopes, FLOAT32),
    ("alibi.bias", rounding.bias, FLOAT32),
    ("t5.bucket", rounding.bucket, FLOAT32),
    ("kerple.bias", rounding.kernel_bias, HALVES),
    ("da_transformer.rescale", rounding.rescale, HALVES),
    ("da_transformer.weights", rounding.aware_weights, HALVES),
    ("da_transformer.attend", rounding.attend_of(rounding.aware_weights), HALVES),
    ("none.weights", rounding.weights_of(rounding.split_logits), HALVES),
    ("none.attend", rounding.attend_of(rounding.weights_of(rounding.split_logits)), HALVES),
    ("position_interpolation.frequencies", rounding.interpolated, FLOAT32),
    ("position_interpolation.rotate", rounding.by_frequency, HALVES),
    ("position_interpolation.rotate", rounding.by_position, HALVES),
    ("longrope.frequencies", rounding.listed, FLOAT32),
    ("longrope.attention_factor", rounding.stretch, FLOAT32),
    ("longrope.rotate", rounding.rotate_listed, HALVES),
    ("longrope.rotate_searched", rounding.rotate_searched, HALVES),
]
WIDER = [
    ("rope.rotate", rounding.rotate_stored, "float16", "float16-table"),
    ("rope.rotate", rounding.rotate_stored, "bfloat16", "bfloat16-table"),
    ("rope.rotate", rounding.rotate_running, "float32", "float32-loose-frequencies"),
]


@pytest.mark.parametrize(
    ("name", "function", "dtype", "profile"), [*((name, code, dtype, None) for name, code, dtypes in ROUNDED for dtype in dtypes), *WIDER]
)
def test_code_that_rounds_at_every_step_breaks_no_law(name: str, function: Callable[..., Any], dtype: str, profile: str | None) -> None:
    assert not broken(findings(subject(name, function, dtype, profile), examples=60, seed=3))


def test_tables_stored_in_half_break_laws_at_a_profile_without_them() -> None:
    found = findings(subject("rope.rotate", rounding.rotate_stored, "bfloat16", "float32"), examples=100)

    assert "linear" not in broken(found)
    assert "isometry" in broken(found)


@pytest.mark.parametrize(("declared", "actual"), [("half", "interleaved"), ("interleaved", "half")])
def test_a_clean_swap_of_layouts_is_for_vectors_to_see(declared: str, actual: str) -> None:
    def swapped(*arrays: Any, layout: str, **parameters: Any) -> Any:
        assert layout == declared
        return rounding.rotate(*arrays, layout=actual, **parameters)

    put = subject("rope.rotate", swapped, "float32", restrictions={"layout": declared})
    assert not broken(findings(put, examples=100))


def test_a_direction_that_is_turned_everywhere_is_for_vectors_to_see() -> None:
    def backwards(*arrays: Any, direction: str, **parameters: Any) -> Any:
        return rounding.rotate(*arrays, direction={"positive": "negative", "negative": "positive"}[direction], **parameters)

    assert not broken(findings(subject("rope.rotate", backwards, "float32")))


def on_one_axis(name: str) -> bool:
    """Return whether tokens stand on one axis, along which code can count."""
    return not any(axes.endswith(" axis") for axes in operations()[name].arrays.values())


COUNTABLE = [name for name in OPERATIONS if on_one_axis(name)]


@pytest.mark.parametrize("queries", ["any", "at_end"])
@pytest.mark.parametrize("positions", ["any", "from_zero", "consecutive"])
@pytest.mark.parametrize("name", COUNTABLE)
def test_code_that_counts_or_decodes_breaks_no_law(name: str, positions: Positions, queries: Queries) -> None:
    assert not broken(findings(reference(name, "float32", takes=Takes(positions, queries)), examples=8))


@pytest.mark.parametrize("takes", [Takes(rows="shared", lowest=0, highest=63), Takes("consecutive", lowest=5, highest=8)], ids=str)
@pytest.mark.parametrize("name", COUNTABLE)
def test_code_that_has_bounds_breaks_no_law(name: str, takes: Takes) -> None:
    assert not broken(findings(reference(name, "float32", takes=takes), examples=8))


def last_by_index(query: np.ndarray, key: np.ndarray, **said: Any) -> np.ndarray:
    """Return ALiBi that is 0 at the last key by index, where the form counts from the last key."""
    values = np.asarray(alibi.bias(query, key, **said))
    return values - values[..., -1:] if said["form"] == "reversed" else values


@pytest.mark.parametrize("seed", range(6))
def test_a_row_constant_that_a_form_leaves_free_breaks_no_law(seed: int) -> None:
    assert not broken(findings(subject("alibi.bias", last_by_index, "float64"), seed=seed))


@pytest.mark.parametrize("name", ["dynamic_ntk.rotate", "longrope.rotate"])
def test_no_check_asks_for_a_position_beyond_the_length_of_the_sequence(name: str) -> None:
    def rotate(x: np.ndarray, positions: np.ndarray, *others: np.ndarray, **parameters: Any) -> np.ndarray:
        if positions.max(initial=0) >= parameters["length"]:
            message = f"positions must lie in a sequence of {parameters['length']}, got {positions.max()}"
            raise IndexError(message)
        result: np.ndarray = operations()[name].function(x, positions, *others, **parameters)
        return result

    for seed in range(3):
        assert_conforms(rotate, name, level="smoke", seed=seed)
