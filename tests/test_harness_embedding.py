"""Code that numbers its own rows gets every position by embedding, and its rows come back in place."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from miniatures import rotate

from conformance.adapt import embedding
from conformance.adapt.arrays import MalformedError
from conformance.adapt.embedding import OutsideError
from conformance.calls.takes import Positions, Takes
from conformance.spec.declarations import operations

ROTATE = operations()["rope.rotate"]
BIAS = operations()["alibi.bias"]
Function = Callable[[Sequence[np.ndarray]], dict[str, np.ndarray]]


def inputs(positions: object, batch: int = 2) -> dict[str, np.ndarray]:
    places = np.asarray(positions)
    x = np.arange(batch * 3 * places.shape[-1] * 4, dtype=np.float64).reshape(batch, 3, places.shape[-1], 4) / 16
    return {"x": x, "positions": places}


def counting(start: bool) -> Function:  # noqa: FBT001  a test's own switch
    """Return a rotation that counts rows from 0, or from the first position."""

    def call(arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        x, positions = arrays
        assert positions.ndim == 1
        first = positions[0] if start else 0
        return {"result": rotate(x, first + np.arange(x.shape[2]), head_dim=4, base=100.0)}

    return call


def test_bounds_hold_for_positions_on_as_many_axes_as_an_operation_takes() -> None:
    arrays = {"x": np.zeros((1, 1, 1, 6)), "positions": np.array([[0, 1, -1]])}

    with pytest.raises(OutsideError, match="positions must be at least 0 by its declaration, got -1"):
        embedding.answer(operations()["mrope.rotate"], arrays, Takes(lowest=0), lambda _: {"result": arrays["x"]})


@pytest.mark.parametrize(
    "positions",
    [[5, 2, 9], [7, 7, 7], [0, 1, 2], [4], [[3, 0, 3], [1, 2, 8]], [[2, 2], [2, 2]], [131_071, 0], [[0, 1], [5, 6]]],
    ids=str,
)
@pytest.mark.parametrize("counted", ["from_zero", "consecutive"])
def test_embedded_rows_are_the_rows_asked_for(positions: object, counted: Positions) -> None:
    arrays = inputs(positions)

    embedded = embedding.answer(ROTATE, arrays, Takes(counted), counting(start=counted == "consecutive"))

    assert embedded["result"].tolist() == rotate(*arrays.values(), head_dim=4, base=100.0).tolist()


def test_code_that_has_one_row_for_the_batch_gets_one_row_at_a_time() -> None:
    arrays, rows = inputs([[3, 1], [7, 7]]), []

    def call(given: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        rows.append(given[1].tolist())
        return {"result": rotate(*given, head_dim=4, base=100.0)}

    together = embedding.answer(ROTATE, arrays, Takes(rows="shared"), call)

    assert rows == [[3, 1], [7, 7]]
    assert together["result"].tolist() == rotate(*arrays.values(), head_dim=4, base=100.0).tolist()


def test_results_without_a_batch_axis_get_one_from_batched_positions() -> None:
    tables = operations()["rope.tables"]
    arrays = {"positions": np.array([[3, 1], [0, 2]])}

    def call(given: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        return {"cos": np.cos(given[0])[:, None], "sin": np.sin(given[0])[:, None]}

    embedded = embedding.answer(tables, arrays, Takes("from_zero"), call)

    assert embedded["sin"].tolist() == np.sin(arrays["positions"])[..., None].tolist()


def pair(queries: object, keys: object) -> dict[str, np.ndarray]:
    return {"query_positions": np.asarray(queries), "key_positions": np.asarray(keys)}


@pytest.mark.parametrize(
    ("queries", "keys", "takes", "asked"),
    [
        ([5, 2, 5], [9, 0], Takes("from_zero"), (0, 6, 0, 10)),
        ([105, 102], [109, 103, 103], Takes("consecutive"), (102, 4, 102, 8)),
        ([-3], [-5], Takes("consecutive"), (-5, 3, -5, 1)),
        ([5, 2], [3], Takes("from_zero", queries="at_end"), (2, 4, 0, 6)),
        ([5], [3, 9], Takes("from_zero", queries="at_end"), (5, 5, 0, 10)),
    ],
    ids=str,
)
def test_rows_and_columns_of_a_bias_are_picked_from_a_larger_one(queries: object, keys: object, takes: Takes, asked: object) -> None:
    arrays, calls = pair(queries, keys), []

    def call(given: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        query, key = given
        calls.append((query[0], query.size, key[0], key.size))
        assert embedding.natural(BIAS, dict(zip(arrays, given, strict=True)), takes)
        return {"result": 1000.0 * query[None, :, None] + key}

    picked = embedding.answer(BIAS, arrays, takes, call)

    assert calls == [asked]
    assert picked["result"].tolist() == (1000.0 * arrays["query_positions"][None, :, None] + arrays["key_positions"]).tolist()


def test_queries_and_keys_with_vectors_stand_at_their_positions() -> None:
    logits = operations()["shaw.logits"]
    rng = np.random.default_rng(0)
    vectors = {"q": rng.normal(size=(1, 2, 3, 4)), "k": rng.normal(size=(1, 2, 2, 4)), "key_table": rng.normal(size=(5, 4))}
    arrays = {**vectors, **pair([4, 1, 4], [2, 2])}

    def call(given: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        q, k, _, query, key = given
        return {"result": q @ k.swapaxes(-1, -2) + query[:, None] - key}

    picked = embedding.answer(logits, arrays, Takes("from_zero"), call)

    assert np.allclose(picked["result"], call(list(arrays.values()))["result"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("positions", "counted", "fits"),
    [
        ([0, 1, 2], "from_zero", True),
        ([1, 2, 3], "from_zero", False),
        ([1, 2, 3], "consecutive", True),
        ([1, 3, 2], "consecutive", False),
        ([9, 0], "any", True),
    ],
)
def test_positions_that_fit_are_passed_as_they_are(positions: object, counted: Positions, fits: bool) -> None:  # noqa: FBT001  expected
    assert embedding.natural(ROTATE, inputs(positions), Takes(counted)) is fits


@pytest.mark.parametrize(
    ("queries", "keys", "takes", "fits"),
    [
        ([0, 1], [0, 1, 2], Takes("from_zero"), True),
        ([2, 3], [2, 3, 4], Takes("consecutive"), True),
        ([2, 3], [5, 6], Takes("consecutive"), False),
        ([1, 2], [0, 1, 2], Takes("from_zero", queries="at_end"), True),
        ([0, 1], [0, 1, 2], Takes("from_zero", queries="at_end"), False),
        ([9, 4], [1, 9, 4], Takes(queries="at_end"), True),
        ([9, 4, 1], [4, 1], Takes(queries="at_end"), False),
        ([[1, 2], [4, 5]], [[0, 1, 2], [3, 4, 5]], Takes(queries="at_end"), True),
    ],
    ids=str,
)
def test_queries_and_keys_fit_together(queries: object, keys: object, takes: Takes, fits: bool) -> None:  # noqa: FBT001  expected
    assert embedding.natural(BIAS, pair(queries, keys), takes) is fits


@pytest.mark.parametrize(
    ("positions", "takes", "reason"),
    [
        ([131_072], Takes("from_zero"), "more than 131071 beyond"),
        ([-1, 3], Takes("from_zero"), "start at 0 by its declaration; negative positions"),
        ([0.5, 1.0], Takes("from_zero"), "positions must be whole by its declaration, got 0.5"),
        ([1.0, 0.5], Takes("whole"), "positions must be whole by its declaration, got 0.5"),
        ([-1, 3], Takes(lowest=0), "positions must be at least 0 by its declaration, got -1"),
        ([4, 3], Takes("from_zero", highest=3), "positions must be at most 3 by its declaration, got 4"),
    ],
    ids=str,
)
def test_what_cannot_be_embedded_is_out_of_the_declaration(positions: object, takes: Takes, reason: str) -> None:
    with pytest.raises(OutsideError, match=reason):
        embedding.answer(ROTATE, inputs(positions), takes, counting(start=False))


@pytest.mark.parametrize(
    ("takes", "reason"),
    [(Takes("from_zero"), "start at 0 .*depend on one another"), (Takes(queries="at_end"), "queries must be the last of the keys")],
)
def test_attention_cannot_be_embedded(takes: Takes, reason: str) -> None:
    attend = operations()["rope.attend"]
    arrays = {name: np.zeros((1, 1, 1, 4)) for name in "qkv"} | pair([3], [4])

    with pytest.raises(OutsideError, match=reason):
        embedding.answer(attend, arrays, takes, counting(start=False))


def test_a_table_of_too_many_queries_or_keys_is_not_built() -> None:
    with pytest.raises(OutsideError, match="at most 1024 queries or keys"):
        embedding.answer(BIAS, pair([5_000], [5_000]), Takes("from_zero"), lambda _: {})


def test_a_call_whose_arrays_disagree_is_for_the_code_to_refuse() -> None:
    arrays = {**inputs([4, 5]), "positions": np.array([[4, 5]] * 3)}

    assert embedding.answer(ROTATE, arrays, Takes("from_zero", rows="shared"), lambda _: {"result": np.zeros(1)})["result"].size == 1


def test_a_result_without_the_longer_axis_is_malformed() -> None:
    with pytest.raises(MalformedError, match="must have axes"):
        embedding.answer(ROTATE, inputs([4, 5]), Takes("from_zero"), lambda _: {"result": np.zeros((2, 3, 2, 4))})
