"""What is drawn is what the specification accepts: small, exact in every dtype, and far enough to matter."""

import importlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import seed as seeded
from hypothesis.strategies import SearchStrategy
from law_subjects import DTYPES, OPERATIONS, reference

from conformance import laws
from conformance.calls.takes import Positions, Takes
from conformance.laws import draw
from conformance.laws.examples import by_seed_alone
from conformance.spec.arguments import Arguments, is_position
from conformance.spec.choices import agree
from refimpl.schemes import SCHEMES

QUIET = settings(database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


def drawn(strategy: SearchStrategy[Arguments], examples: int = 60) -> list[Arguments]:
    """Return some draws."""
    seen: list[Arguments] = []

    @seeded(7)
    @settings(QUIET, max_examples=examples)
    @given(strategy)
    def put(call: Arguments) -> None:
        seen.append(call)

    with by_seed_alone():
        put()
    return seen


def positions_of(call: Arguments) -> list[np.ndarray]:
    """Return the arrays of positions."""
    return [array for name, array in call.arrays.items() if is_position(name)]


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_reference_accepts_every_draw(name: str) -> None:
    put = reference(name)

    calls = drawn(draw.arguments(OPERATIONS[name]))

    replies = [put.call(list(call.arrays.values()), call.parameters) for call in calls]
    assert len(calls) >= 10
    assert all(np.isfinite(value).all() for reply in replies for value in reply.values.values())


@pytest.mark.parametrize("dtype", DTYPES)
def test_real_inputs_are_exact_in_every_dtype(dtype: str) -> None:
    calls = drawn(draw.arguments(OPERATIONS["rope.attend"]))

    for call in calls:
        for name in ("q", "k", "v"):
            assert np.array_equal(call.arrays[name].astype(DTYPES[dtype]).astype(np.float64), call.arrays[name])
    assert any(np.any(call.arrays["q"]) for call in calls)


def test_parameters_are_exact_in_float32() -> None:
    calls = drawn(draw.arguments(OPERATIONS["yarn.rotate"]))

    numbers = [value for call in calls for value in call.parameters.values() if type(value) is float]

    assert numbers
    assert all(float(np.float32(value)) == value for value in numbers)


def test_no_query_scores_two_keys_alike() -> None:
    scores = [call.arrays["scores"] for call in drawn(draw.arguments(OPERATIONS["none.attend_selected"]))]

    assert any(array.shape[-1] > 1 for array in scores)
    assert all(np.diff(np.sort(array, axis=-1)).all() for array in scores)


def test_positions_are_unsorted_repeated_batched_and_far() -> None:
    arrays = [positions for call in drawn(draw.arguments(OPERATIONS["rope.rotate"]), 300) for positions in positions_of(call)]

    assert {array.ndim for array in arrays} == {1, 2}
    assert any(np.any(np.diff(array) < 0) for array in arrays)
    assert any(np.any(np.diff(array) == 0) for array in arrays)
    assert max(int(array.max()) for array in arrays) >= 1_000_000
    assert min(int(array.min()) for array in arrays) == 0


@pytest.mark.parametrize(("taken", "first"), [("from_zero", {0}), ("consecutive", None)])
def test_code_that_counts_gets_positions_that_count(taken: Positions, first: set[int] | None) -> None:
    calls = drawn(draw.arguments(OPERATIONS["rope.rotate"], takes=Takes(taken)))

    arrays = [positions for call in calls for positions in positions_of(call)]
    assert all(np.all(np.diff(array) == 1) for array in arrays)
    assert max(int(array.max()) for array in arrays) <= 131_071
    starts = {int(array[0]) for array in arrays}
    assert starts == first if first else len(starts) > 3


@pytest.mark.parametrize("restriction", ["half", ["half", "interleaved"], {"half"}])
def test_restricted_parameters_stay_inside(restriction: object) -> None:
    calls = drawn(draw.arguments(OPERATIONS["rope.rotate"], restrictions={"layout": restriction, "head_dim": 64}))

    allowed = {restriction} if isinstance(restriction, str) else set(restriction)  # type: ignore[call-overload]  # a set, a list or a tuple
    assert {call.parameters["layout"] for call in calls} == allowed
    assert {call.arrays["x"].shape[-1] for call in calls} == {64}


def test_query_heads_are_a_multiple_of_key_heads() -> None:
    calls = drawn(draw.arguments(OPERATIONS["rope.weights"]))

    shapes = [(call.arrays["q"].shape[1], call.arrays["k"].shape[1]) for call in calls]
    assert all(query % key == 0 for query, key in shapes)
    assert any(query > key > 1 for query, key in shapes)


def test_every_query_sees_a_key_under_a_causal_mask() -> None:
    calls = [call for call in drawn(draw.arguments(OPERATIONS["rope.weights"])) if call.parameters["causal"]]

    assert calls
    for call in calls:
        assert np.all(call.arrays["key_positions"].min(axis=-1) <= call.arrays["query_positions"].min(axis=-1))


def test_real_positions_are_drawn_where_the_operation_takes_them() -> None:
    arrays = [positions for call in drawn(draw.arguments(OPERATIONS["sinusoidal.encode"])) for positions in positions_of(call)]

    assert {array.dtype.kind for array in arrays} == {"i", "f"}


def test_buckets_see_both_directions_and_far_distances() -> None:
    relative = np.concatenate([call.arrays["relative_positions"] for call in drawn(draw.arguments(OPERATIONS["t5.bucket"]))])

    assert relative.min() < -100_000
    assert relative.max() > 100_000


@pytest.mark.parametrize(
    ("parameters", "agreed"),
    [
        ({"bidirectional": False, "num_buckets": 32, "max_distance": 16}, False),
        ({"bidirectional": False, "num_buckets": 32, "max_distance": 17}, True),
        ({"bidirectional": True, "num_buckets": 32, "max_distance": 9}, True),
        ({"bidirectional": True, "num_buckets": 5, "max_distance": 64}, False),
        ({"odd": "error", "dim": 7}, False),
        ({"odd": "zero_column", "dim": 7}, True),
    ],
)
def test_parameters_that_contradict_each_other_are_not_drawn(parameters: dict[str, object], *, agreed: bool) -> None:
    assert agree(parameters) is agreed


@pytest.mark.parametrize("condition", [lambda _: True, lambda call: call.arrays["x"].any()])
def test_draws_shrink_to_the_smallest_call(condition: Callable[[Arguments], bool]) -> None:
    smallest = find(draw.arguments(OPERATIONS["rope.rotate"]), condition, settings=settings(database=None))

    assert smallest.arrays["x"].size == 2
    assert smallest.arrays["x"].sum() <= 1 / 16
    assert smallest.arrays["positions"].tolist() == [0]
    assert smallest.parameters == {"head_dim": 2, "base": 10_000.0, "layout": "interleaved", "direction": "positive"}


def test_the_same_seed_draws_the_same_whatever_constants_a_module_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def worst() -> list[float]:
        found = laws.run(reference("alibi.bias", "float32"), SCHEMES["alibi"].laws["bias"], examples=40, seed=3)
        return [finding.worst for finding in found]

    before = worst()
    constants = ", ".join(repr(bytes([value] * size)) for value in range(1, 4) for size in range(1, 40))
    (tmp_path / "constants_of_ours.py").write_text(f"X = [{constants}]\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("constants_of_ours")

    assert worst() == before
