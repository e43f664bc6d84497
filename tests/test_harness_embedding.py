"""Code that numbers its own rows gets every position by embedding, and its rows come back in place."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from miniatures import rotate

from conformance import embedding
from conformance.adapter import Unsupported
from conformance.declarations import operations
from conformance.frameworks import MalformedError
from conformance.takes import Positions

ROTATE = operations()["rope.rotate"]
Function = Callable[[Sequence[np.ndarray]], dict[str, np.ndarray]]


def inputs(positions: object, batch: int = 2) -> dict[str, np.ndarray]:
    places = np.asarray(positions)
    x = np.arange(batch * 3 * places.shape[-1] * 4, dtype=np.float64).reshape(batch, 3, places.shape[-1], 4) / 16
    return {"x": x, "positions": places}


def counting(start: bool) -> Function:  # noqa: FBT001  a test's own switch
    """Return a rotation that counts rows from 0, or from the first position."""

    def call(arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        x, positions = arrays
        first = positions[0] if start else 0
        return {"result": rotate(x, first + np.arange(x.shape[2]), head_dim=4, base=100.0)}

    return call


@pytest.mark.parametrize(
    "positions",
    [[5, 2, 9], [7, 7, 7], [0, 1, 2], [4], [[3, 0, 3], [1, 2, 8]], [[2, 2], [2, 2]], [131_071, 0]],
    ids=str,
)
@pytest.mark.parametrize("counted", ["from_zero", "consecutive"])
def test_embedded_rows_are_the_rows_asked_for(positions: object, counted: Positions) -> None:
    arrays = inputs(positions)

    embedded = embedding.embed(ROTATE, arrays, counted, counting(start=counted == "consecutive"))

    assert embedded["result"].tolist() == rotate(*arrays.values(), head_dim=4, base=100.0).tolist()


def test_results_without_a_batch_axis_get_one_from_batched_positions() -> None:
    tables = operations()["rope.tables"]
    arrays = {"positions": np.array([[3, 1], [0, 2]])}

    def call(given: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        return {"cos": np.cos(given[0])[:, None], "sin": np.sin(given[0])[:, None]}

    embedded = embedding.embed(tables, arrays, "from_zero", call)

    assert embedded["sin"].tolist() == np.sin(arrays["positions"])[..., None].tolist()


@pytest.mark.parametrize(
    ("positions", "counted", "fits"),
    [
        ([0, 1, 2], "from_zero", True),
        ([1, 2, 3], "from_zero", False),
        ([1, 2, 3], "consecutive", True),
        ([1, 3, 2], "consecutive", False),
        ([[0, 1], [5, 6]], "consecutive", True),
        ([[0, 1], [5, 6]], "from_zero", False),
        ([9, 0], "any", True),
    ],
)
def test_positions_that_fit_are_passed_as_they_are(positions: object, counted: Positions, fits: bool) -> None:  # noqa: FBT001  expected
    assert embedding.natural(ROTATE, inputs(positions), counted) is fits


@pytest.mark.parametrize(
    ("positions", "reason"),
    [([131_072], "beyond 131071"), ([-1, 3], "negative positions"), ([0.5, 1.0], "real positions")],
)
def test_what_cannot_be_embedded_is_unsupported(positions: object, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        embedding.embed(ROTATE, inputs(positions), "from_zero", counting(start=False))


def test_attention_cannot_be_embedded() -> None:
    attend = operations()["rope.attend"]
    places = {"query_positions": np.array([3]), "key_positions": np.array([3])}
    arrays = {name: np.zeros((1, 1, 1, 4)) for name in "qkv"} | places

    with pytest.raises(Unsupported, match="depend on one another"):
        embedding.embed(attend, arrays, "from_zero", counting(start=False))


def test_a_result_without_the_longer_axis_is_malformed() -> None:
    with pytest.raises(MalformedError, match="must have axes"):
        embedding.embed(ROTATE, inputs([4, 5]), "from_zero", lambda _: {"result": np.zeros((2, 3, 2, 4))})
