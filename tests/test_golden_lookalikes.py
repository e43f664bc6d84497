"""Calls that caches confuse agree in what these are keyed by, stay inside the declaration, and convict such a cache by golden values."""

from collections.abc import Callable
from typing import Any

import law_implementations as right
import numpy as np
import pytest
from law_subjects import OPERATIONS, subject

from conformance.calls.outcomes import Passed
from conformance.calls.takes import Takes
from conformance.golden.answers import golden
from conformance.golden.lookalikes import lookalikes
from conformance.judge.judge import compare
from conformance.spec.arguments import Arguments

ROTATE = OPERATIONS["rope.rotate"]
PARAMETERS = {"head_dim": 8, "base": 10_000.0, "layout": "half", "direction": "positive"}
ANY, CONSECUTIVE, FROM_ZERO = Takes(), Takes("consecutive"), Takes("from_zero")


def rotation(positions: list[Any]) -> Arguments:
    places = np.array(positions)
    x = np.arange(1.0, 1 + places.shape[-1] * 8).reshape(1, 1, -1, 8) / 16
    return Arguments({"x": np.repeat(x, places.shape[0] if places.ndim > 1 else 1, axis=0), "positions": places}, PARAMETERS)


def bias(queries: list[int], keys: list[int], **parameters: Any) -> Arguments:
    chosen = {"num_heads": 2, "max_bias": 8.0, "form": "distance", **parameters}
    return Arguments({"query_positions": np.array(queries), "key_positions": np.array(keys)}, chosen)


def cached(key: Callable[[np.ndarray], Any]) -> Callable[..., np.ndarray]:
    """Return a rotation with tables that are kept by something other than the positions."""
    kept: dict[Any, Any] = {}

    def rotate(x: np.ndarray, positions: np.ndarray, *, head_dim: int, base: float, layout: str, direction: str) -> np.ndarray:
        cos, sin = kept.setdefault((key(positions), head_dim, base), right.tables(positions, head_dim, base))
        return right.turned(x, cos, sin, layout, direction)

    return rotate


def convicted(function: Callable[..., np.ndarray], call: Arguments, takes: Takes = ANY) -> bool:
    """Whether golden values convict a function that is asked for a call, and then for those that look like it."""
    put = subject("rope.rotate", function, takes=takes)
    asked = [call, *lookalikes(ROTATE, call, takes=takes)]
    vectors = [golden("rope.rotate", each, identity="rope.rotate/like", exposes="a cache", profiles=("float32",)) for each in asked]
    replies = [put.call(list(each.arrays.values()), each.parameters) for each in asked]
    judged = [compare(vector, reply, "float32", "float32").outcome for vector, reply in zip(vectors, replies, strict=True)]
    return any(not isinstance(outcome, Passed) for outcome in judged)


KEYED: dict[str, Callable[[np.ndarray], Any]] = {
    "length": len,
    "length and last": lambda positions: (len(positions), int(positions[-1])),
    "first and last": lambda positions: (int(positions[0]), int(positions[-1])),
    "sum": lambda positions: int(positions.sum()),
    "length, first, last and sum": lambda positions: (len(positions), positions[0], positions[-1], positions.sum()),
    "the set of them": lambda positions: tuple(sorted(positions.tolist())),
    "length, and least and largest": lambda positions: (len(positions), positions.min(), positions.max()),
}


@pytest.mark.parametrize("positions", [[0, 1, 2, 3, 4, 5], [7, 2, 90, 3, 11]])
@pytest.mark.parametrize("key", list(KEYED.values()), ids=list(KEYED))
def test_a_cache_with_a_careless_key_is_convicted_by_golden_values(key: Callable[[np.ndarray], Any], positions: list[int]) -> None:
    assert convicted(cached(key), rotation(positions))


@pytest.mark.parametrize("takes", [ANY, CONSECUTIVE, FROM_ZERO])
def test_a_cache_by_all_positions_and_code_without_one_are_acquitted(takes: Takes) -> None:
    for function in (cached(lambda positions: positions.tobytes()), right.rotate):
        assert not convicted(function, rotation([0, 1, 2, 3, 4]), takes)


def test_a_cache_by_length_is_convicted_where_positions_are_consecutive() -> None:
    assert convicted(cached(len), rotation([5, 6, 7]), CONSECUTIVE)


def test_what_is_yielded_differs_from_the_call_and_from_each_other() -> None:
    call = rotation([0, 5, 9, 2, 3])
    calls = [call, *lookalikes(ROTATE, call, takes=ANY)]

    assert len({each.key for each in calls}) == len(calls) == 7
    assert len({tuple((name, array.shape) for name, array in each.arrays.items()) for each in calls}) == 1


def test_only_the_features_can_differ_from_zero() -> None:
    call = rotation([0, 1, 2, 3])
    after_the_first, all_of_them = lookalikes(ROTATE, call, takes=FROM_ZERO)

    for other in (after_the_first, all_of_them):
        assert other.arrays["positions"].tolist() == [0, 1, 2, 3]
        assert not np.array_equal(other.arrays["x"], call.arrays["x"])
    assert np.array_equal(after_the_first.arrays["x"][..., :1, :], call.arrays["x"][..., :1, :])


def test_consecutive_positions_remain_consecutive() -> None:
    for other in lookalikes(ROTATE, rotation([4, 5, 6, 7]), takes=CONSECUTIVE):
        assert np.diff(other.arrays["positions"]).tolist() == [1, 1, 1]


def test_positions_stay_where_the_declaration_has_them() -> None:
    takes = Takes(lowest=0, highest=9)
    others = [other.arrays["positions"] for other in lookalikes(ROTATE, rotation([0, 9, 4, 2]), takes=takes)]

    assert others
    assert all(places.min() >= 0 and places.max() <= 9 for places in others)


def test_positions_stay_inside_of_a_table_whose_first_rows_belong_to_none() -> None:
    arrays = {"positions": np.array([3, 1, 0, 2]), "table": np.arange(12.0).reshape(6, 2)}
    call = Arguments(arrays, {"offset": 2, "outside": "raise"})

    changed = [other.arrays["positions"] for other in lookalikes(OPERATIONS["learned.encode"], call, takes=ANY)]

    assert changed
    assert all(positions.min() >= 0 and positions.max() <= 3 for positions in changed)


def test_rows_that_are_shared_remain_shared() -> None:
    for other in lookalikes(ROTATE, rotation([[3, 1, 4, 1], [3, 1, 4, 1]]), takes=Takes(rows="shared")):
        assert other.arrays["positions"][0].tolist() == other.arrays["positions"][1].tolist()


def test_queries_at_the_end_remain_there_and_others_move_alone_too() -> None:
    alibi, call = OPERATIONS["alibi.bias"], bias([6, 7], [4, 5, 6, 7])
    at_end = list(lookalikes(alibi, call, takes=Takes("consecutive", "at_end")))
    free = [(each.arrays["query_positions"].tolist(), each.arrays["key_positions"].tolist()) for each in lookalikes(alibi, call, takes=ANY)]

    assert [other.arrays["query_positions"].tolist() for other in at_end] == [[7, 8]]
    assert ([7, 8], [4, 5, 6, 7]) in free
    assert ([7, 8], [5, 6, 7, 8]) in free


def test_every_query_sees_a_key_where_it_may_not_see_all() -> None:
    attend = OPERATIONS["rope.attend"]
    arrays = {
        "q": np.ones((1, 1, 2, 4)),
        "k": np.ones((1, 1, 3, 4)),
        "v": np.ones((1, 1, 3, 4)),
        "query_positions": np.array([5, 9]),
        "key_positions": np.array([9, 5, 8]),
    }
    for other in lookalikes(attend, Arguments(arrays, {**PARAMETERS, "head_dim": 4, "causal": True}), takes=ANY):
        assert other.arrays["key_positions"].min() <= other.arrays["query_positions"].min()
