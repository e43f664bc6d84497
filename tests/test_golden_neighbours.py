"""Neighbours agree in what careless caches are keyed by, stay inside the declaration, and convict such a cache by golden values."""

from collections.abc import Callable
from typing import Any

import law_implementations as right
import numpy as np
import pytest
from law_subjects import OPERATIONS, subject
from test_wrong_kernels import subjects
from wrong_kernels import Kernel

from conformance.calls.outcomes import Passed
from conformance.calls.takes import Takes
from conformance.checks import golden_checks, neighbour_checks
from conformance.golden import neighbours as made
from conformance.golden.answers import golden
from conformance.golden.neighbours import neighbours, placed_otherwise
from conformance.judge.judge import compare
from conformance.spec.arguments import Arguments
from refimpl.schemes import rope

ROTATE = OPERATIONS["rope.rotate"]
PARAMETERS = {"head_dim": 8, "base": 10_000.0, "layout": "half", "direction": "positive"}
ANY, CONSECUTIVE, FROM_ZERO = Takes(), Takes("consecutive"), Takes("from_zero")


def rotation(positions: list[Any]) -> Arguments:
    places = np.array(positions)
    x = np.arange(1.0, 1 + places.shape[-1] * 8).reshape(1, 1, -1, 8) / 16
    return Arguments({"x": np.repeat(x, places.shape[0] if places.ndim > 1 else 1, axis=0), "positions": places}, PARAMETERS)


def bias(queries: list[int], keys: list[int], **parameters: Any) -> Arguments:
    chosen = {"num_heads": 2, "max_bias": 8.0, "slopes": "code", "form": "row", **parameters}
    return Arguments({"query_positions": np.array(queries), "key_positions": np.array(keys)}, chosen)


def cached(key: Callable[[np.ndarray], Any]) -> Callable[..., np.ndarray]:
    """Return a rotation with tables that are kept by something other than the positions."""
    kept: dict[Any, Any] = {}

    def rotate(x: np.ndarray, positions: np.ndarray, *, head_dim: int, base: float, layout: str, direction: str) -> np.ndarray:
        cos, sin = kept.setdefault((key(positions), head_dim, base), right.tables(positions, head_dim, base))
        return right.turned(x, cos, sin, layout, direction)

    return rotate


def beside(operation: str, call: Arguments, takes: Takes = ANY, **restrictions: object) -> list[Arguments]:
    """Return all neighbours of a call."""
    return [other for _, other in neighbours(OPERATIONS[operation], call, restrictions=restrictions, takes=takes)]


def named(operation: str, call: Arguments, takes: Takes = ANY, **restrictions: object) -> dict[str, Arguments]:
    """Return the last neighbour of each name."""
    return dict(neighbours(OPERATIONS[operation], call, restrictions=restrictions, takes=takes))


def convicted(function: Callable[..., np.ndarray], call: Arguments, takes: Takes = ANY) -> bool:
    """Whether golden values convict a function that is asked for a call, and then for its neighbours."""
    put = subject("rope.rotate", function, takes=takes)
    asked = [call, *beside("rope.rotate", call, takes)]
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
    others = [other for _, other in placed_otherwise(ROTATE, call, ANY)]

    assert len({each.key for each in (call, *others)}) == 1 + len(others)
    assert len({tuple((name, array.shape) for name, array in each.arrays.items()) for each in (call, *others)}) == 1


def test_positions_that_count_from_zero_stay() -> None:
    call = rotation([0, 1, 2, 3])
    others = beside("rope.rotate", call, FROM_ZERO)

    assert all(other.arrays["positions"].tolist() == [0, 1, 2, 3] for other in others)
    assert any(not np.array_equal(other.arrays["x"], call.arrays["x"]) for other in others)


def test_what_is_reordered_has_the_same_ends_sum_numbers_and_every_second_of_them() -> None:
    call = rotation(list(range(40, 0, -1)))
    before, after = (each.arrays["positions"] for each in (call, named("rope.rotate", call)["positions reordered"]))

    assert before.tolist() != after.tolist()
    assert sorted(before) == sorted(after)
    assert all(before[part].tolist() == after[part].tolist() for part in (np.s_[:8], np.s_[-8:], np.s_[::2]))


def test_numbers_are_changed_between_their_ends_in_one_row_and_head() -> None:
    places = np.array([[3, 1, 4, 1, 5, 9, 2], [2, 6, 5, 3, 5, 8, 9]])
    x = np.arange(2 * 3 * 7 * 8.0).reshape(2, 3, 7, 8)
    call = Arguments({"x": x, "positions": places}, PARAMETERS)
    after = named("rope.rotate", call)["x inside the last row"].arrays["x"]

    assert not np.array_equal(x, after)
    assert np.array_equal(x[:1], after[:1])
    assert np.array_equal(x[-1, :-1], after[-1, :-1])
    assert np.array_equal(x[..., ::2], after[..., ::2])
    assert np.array_equal(x[..., [0, -1], :], after[..., [0, -1], :])
    assert x.sum() == after.sum()


def test_positions_that_keys_keep_in_few_bits_are_the_same_there() -> None:
    others = named("rope.rotate", rotation([7, 2_050, 4_096, 3, 11]))
    rounded, wrapped = (others[f"positions {name} alike"].arrays["positions"] for name in ("rounded", "wrapped"))

    assert rounded.astype(np.float16).tolist() == [7, 2_050, 4_096, 3, 11]
    assert rounded.tolist() != [7, 2_050, 4_096, 3, 11]
    assert wrapped.tolist() == [7, 2_050, 4_096 + 65_536, 3, 11]


def test_far_positions_that_are_nearly_equal_are_one_apart_and_others_stay() -> None:
    nearly = named("rope.rotate", rotation([7, 2_050, 131_072, -1_000_000, 1_048_576]))["positions nearly equal"].arrays["positions"]

    assert nearly.tolist() == [7, 2_050, 131_071, -999_999, 1_048_575]
    assert np.allclose(nearly, [7, 2_050, 131_072, -1_000_000, 1_048_576])


def test_a_list_of_integers_is_asked_for_in_another_order_unless_it_is_declared() -> None:
    call = Arguments(
        {"x": np.ones((1, 1, 1, 12)), "positions": np.array([[3, 1, 4]])},
        {"head_dim": 12, "base": 10_000.0, "sections": (3, 1, 2), "order": "contiguous", "layout": "half", "direction": "positive"},
    )

    assert sorted(named("mrope.rotate", call)["sections in another order"].parameters["sections"]) == [1, 2, 3]
    assert "sections in another order" not in named("mrope.rotate", call, sections=(3, 1, 2))


def test_one_row_is_changed_alone_unless_rows_are_shared() -> None:
    call = rotation([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    others = named("rope.rotate", call)

    assert others["positions reordered in the last row"].arrays["positions"].tolist() == [[3, 1, 4, 1, 5], [9, 5, 6, 2, 3]]
    assert others["positions exchanged between rows"].arrays["positions"].tolist() == [[3, 2, 4, 5, 5], [9, 1, 6, 1, 3]]
    assert not [name for name in named("rope.rotate", call, Takes(rows="shared")) if name.startswith("positions") and "row" in name]


def test_parameters_that_are_declared_stay_and_others_are_changed_alone() -> None:
    call = rotation([3, 1, 4, 1])
    others = named("rope.rotate", call, layout="half", direction={"positive", "negative"})

    assert "layout" not in others
    assert others["direction"].parameters == {**PARAMETERS, "direction": "negative"}
    assert int(others["base as an integer"].parameters["base"]) == 10_000 != others["base as an integer"].parameters["base"]
    assert others["head_dim"].arrays["x"].shape[-1] == others["head_dim"].parameters["head_dim"] != 8


@pytest.mark.parametrize(("length", "beyond"), [(4_097, True), (512, False)])
def test_a_length_is_changed_to_one_on_the_same_side_of_the_original_length_too(length: int, *, beyond: bool) -> None:
    call = rotation([3, 1, 4, 1]).with_parameters(factor=4.0, original_length=512, length=length, growth="tokens")
    others = named("dynamic_ntk.rotate", call, original_length=512)

    assert (others["length"].parameters["length"] > 512) is not beyond
    assert "length between the same lengths" in others or not beyond
    assert all((other.parameters["length"] > 512) is beyond for name, other in others.items() if name.endswith("between the same lengths"))


def test_keys_before_the_queries_are_reordered_alone_where_queries_come_last() -> None:
    call = bias([6, 2], [4, 9, 7, 8, 6, 2])
    other = named("alibi.bias", call, Takes(queries="at_end"))["key_positions reordered before the queries"]

    assert other.arrays["query_positions"].tolist() == [6, 2]
    assert other.arrays["key_positions"].tolist() == [4, 8, 9, 7, 6, 2]


def test_consecutive_positions_remain_consecutive() -> None:
    for other in beside("rope.rotate", rotation([4, 5, 6, 7]), CONSECUTIVE):
        assert np.diff(other.arrays["positions"]).tolist() == [1, 1, 1]


def test_positions_stay_where_the_declaration_has_them() -> None:
    takes = Takes(lowest=0, highest=9)
    others = [other.arrays["positions"] for other in beside("rope.rotate", rotation([0, 9, 4, 2]), takes)]

    assert others
    assert all(places.min() >= 0 and places.max() <= 9 for places in others)


def test_positions_stay_inside_of_a_table_whose_first_rows_belong_to_none() -> None:
    arrays = {"positions": np.array([3, 1, 0, 2]), "table": np.arange(12.0).reshape(6, 2)}
    call = Arguments(arrays, {"offset": 2, "outside": "raise"})

    changed = [other.arrays["positions"] for _, other in placed_otherwise(OPERATIONS["learned.encode"], call, ANY)]

    assert changed
    assert all(positions.min() >= 0 and positions.max() <= 3 for positions in changed)


def test_rows_that_are_shared_remain_shared() -> None:
    for other in beside("rope.rotate", rotation([[3, 1, 4, 1], [3, 1, 4, 1]]), Takes(rows="shared")):
        assert other.arrays["positions"][0].tolist() == other.arrays["positions"][1].tolist()


def test_queries_at_the_end_remain_there_and_others_move_alone_too() -> None:
    alibi, call = OPERATIONS["alibi.bias"], bias([6, 7], [4, 5, 6, 7])
    at_end = [other for _, other in placed_otherwise(alibi, call, Takes("consecutive", "at_end"))]
    free = [[array.tolist() for array in other.arrays.values()] for _, other in placed_otherwise(alibi, call, ANY)]

    assert [other.arrays["query_positions"].tolist() for other in at_end] == [[7, 8]]
    assert [[7, 8], [4, 5, 6, 7]] in free
    assert [[7, 8], [5, 6, 7, 8]] in free


def test_every_query_sees_a_key_where_it_may_not_see_all() -> None:
    arrays = {
        "q": np.ones((1, 1, 2, 4)),
        "k": np.ones((1, 1, 3, 4)),
        "v": np.ones((1, 1, 3, 4)),
        "query_positions": np.array([5, 9]),
        "key_positions": np.array([9, 5, 8]),
    }
    for other in beside("rope.attend", Arguments(arrays, {**PARAMETERS, "head_dim": 4, "causal": True}), causal=True):
        assert other.arrays["key_positions"].min() <= other.arrays["query_positions"].min()


def test_a_neighbour_whose_name_is_settled_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    call = rotation([3, 1, 4, 1, 5])
    left = {name for name in named("rope.rotate", call) if name.startswith(("positions moved", "x turned", "direction"))}
    monkeypatch.setattr(made, "_turned", None)

    others = dict(neighbours(ROTATE, call, restrictions={}, takes=ANY, settled=lambda name: name not in left))

    assert set(others) == left == {"positions moved", "x turned", "direction"}


def test_a_dear_call_is_asked_only_for_what_cheaper_ones_leave() -> None:
    ((put, task),) = subjects(Kernel("right", "rope.attend", rope.attend, {"causal": False}).adapter, 0)
    calls = [golden_checks.check(put, task, f"rope.attend/{name}", attention(keys)) for name, keys in (("dear", 60), ("cheap", 12))]

    asked = [checked.vector.id for checked in neighbour_checks.beside(put, task, calls)]

    assert asked
    assert "rope.attend/cheap-k-inside" in asked
    assert not [name for name in asked if name.removeprefix("rope.attend/dear") in {"-k-turned", "-q-inside", "-v-turned", "-direction"}]


def attention(keys: int) -> Arguments:
    """Return a call of attention whose elements take eight products per key."""
    rng = np.random.default_rng(keys)
    q, k, v = (rng.integers(-32, 33, (1, 1, count, 8)) / 16 for count in (3, keys, keys))
    arrays = {"q": q, "k": k, "v": v, "query_positions": np.array([3, 60, 9]), "key_positions": np.arange(keys)}
    return Arguments(arrays, {**PARAMETERS, "causal": False})
