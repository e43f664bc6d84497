"""Calls at real sizes convict kernels that go wrong from somewhere on, and acquit the right ones."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from threading import Event
from typing import Any

import numpy as np
import pytest
from test_wrong_kernels import subjects
from wrong_kernels import Kernel as Code
from wrong_kernels import in_tiles

from conformance.calls.outcomes import Failed, Outcome, Passed
from conformance.calls.subject import Reply
from conformance.calls.takes import Takes
from conformance.checks import golden_checks
from conformance.golden import answers
from conformance.golden.answers import golden
from conformance.golden.large import ANGLES, MOST, Large, large
from conformance.golden.sampling import edges
from conformance.judge.judge import compare, holds
from conformance.spec.arguments import Arguments, is_position, result_shape
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector
from refimpl.schemes import rope, t5

Kernel = Callable[[Arguments], np.ndarray]
HALF = {"layout": "half", "direction": "positive"}
NARROW: dict[str, dict[str, object]] = {
    "rope.rotate": {"base": 10_000.0, **HALF},
    "alibi.bias": {"max_bias": 8.0, "slopes": "code", "form": "symmetric"},
    "rope.attend": {"base": 10_000.0, "causal": True, **HALF},
}


@cache
def cases(operation: str) -> tuple[Vector, ...]:
    """Return the large calls of an operation at core, with their golden values."""
    calls = large(operations()[operation], restrictions=NARROW[operation], takes=Takes(), dtype="float32", seed=1, level="core")
    return tuple(
        golden(operation, call.arguments, identity=f"large-{n}", exposes="", profiles=("float32",), at=call.at)
        for n, call in enumerate(calls)
    )


def judged(operation: str, kernel: Kernel) -> Iterator[Outcome]:
    for vector in cases(operation):
        values = kernel(Arguments(vector.inputs, vector.parameters)).astype(np.float32).astype(np.float64)
        yield compare(vector, Reply({"result": values}, {"result": "float32"}), "float32", "float32").outcome


def float32(values: object) -> np.ndarray:
    return np.asarray(values, dtype=np.float32)


def angles(call: Arguments, positions: str = "positions") -> np.ndarray:
    """Return angles by batch row (or one for all), head (one for all), token and pair, in float32."""
    width = int(call.parameters["head_dim"])
    theta = float32(10_000.0) ** float32(-2 * np.arange(width // 2) / width)
    return np.atleast_2d(call.arrays[positions])[:, None, :, None].astype(np.float32) * theta


def rotated(x: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Turn halves as pairs, as models do."""
    cos, sin = (np.concatenate([f(angle), f(angle)], axis=-1) for f in (np.cos, np.sin))
    first, second = np.split(x, 2, axis=-1)
    return np.asarray(x * cos + np.concatenate([-second, first], axis=-1) * sin)


def rotate(call: Arguments) -> np.ndarray:
    return rotated(float32(call.arrays["x"]), angles(call))


def rotate_as_complex(call: Arguments) -> np.ndarray:
    first, second = np.split(float32(call.arrays["x"]), 2, axis=-1)
    turned = (first + 1j * second) * np.exp(1j * angles(call))
    return np.concatenate([turned.real, turned.imag], axis=-1)


def slopes(call: Arguments) -> np.ndarray:
    heads = int(call.parameters["num_heads"])
    power = 2 ** int(np.log2(heads))
    own = 2.0 ** (-8.0 * np.arange(1, power + 1) / power)
    more = 2.0 ** (-8.0 * np.arange(1, 2 * (heads - power) + 1, 2) / (2 * power))
    return float32(np.concatenate([own, more]))


def bias(call: Arguments) -> np.ndarray:
    distance = np.abs(call.arrays["query_positions"][:, None] - call.arrays["key_positions"])
    return -slopes(call)[:, None, None] * float32(distance)


def bias_row_by_row(call: Arguments) -> np.ndarray:
    keys = float32(call.arrays["key_positions"])
    return np.stack([-np.abs(float32(p) - keys) * slopes(call)[:, None] for p in call.arrays["query_positions"]], axis=1)


def logits(call: Arguments) -> np.ndarray:
    q, k = (
        rotated(float32(call.arrays["q"]), angles(call, "query_positions")),
        rotated(float32(call.arrays["k"]), angles(call, "key_positions")),
    )
    z = q @ np.repeat(k, q.shape[1] // k.shape[1], axis=1).swapaxes(-1, -2) / np.sqrt(float32(q.shape[-1]))
    query, key = (np.atleast_2d(call.arrays[name])[:, None] for name in ("query_positions", "key_positions"))
    return np.where(key[:, :, None, :] > query[..., None], -np.inf, z)


def values(call: Arguments) -> np.ndarray:
    v = float32(call.arrays["v"])
    return np.repeat(v, call.arrays["q"].shape[1] // v.shape[1], axis=1)


def attend(call: Arguments) -> np.ndarray:
    z = logits(call)
    weights = np.exp(z - z.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ values(call)


def attend_in_blocks(call: Arguments, *, rescales: bool = True) -> np.ndarray:
    return in_tiles(logits(call), values(call), 64, rescales=rescales)


RIGHT: dict[str, tuple[Kernel, ...]] = {
    "rope.rotate": (rotate, rotate_as_complex),
    "alibi.bias": (bias, bias_row_by_row),
    "rope.attend": (attend, attend_in_blocks),
}


@pytest.mark.parametrize(("operation", "kernel"), [(operation, kernel) for operation, kernels in RIGHT.items() for kernel in kernels])
def test_right_code_passes_every_large_call(operation: str, kernel: Kernel) -> None:
    assert set(judged(operation, kernel)) == {Passed()}


ALL = slice(None)
ROTATIONS = [
    *((ALL, ALL, slice(token, None)) for token in (32, 64, 128, 256, 1_024, 2_048, 4_096)),
    *((ALL, slice(head, None)) for head in (8, 9, 32, 40, 64)),
    *((slice(row, None),) for row in (1, 2, 3, 4, 5, 6)),
    *((ALL, ALL, ALL, slice(channel, None)) for channel in (64, 80, 96, 128)),
    *((ALL, ALL, token) for token in (-1, 31, 32, 127, 128, 1_023, 1_024)),
    *((ALL, head) for head in (5, 8, 31, 32, 70)),
]
BIASES = [
    *((head,) for head in (slice(8, None), slice(12, None), slice(40, None), slice(128, None), 39, 159)),
    *((ALL, query) for query in (slice(32, None), slice(64, None), slice(256, None), slice(1_024, None), -1)),
    *((ALL, ALL, key) for key in (slice(32, None), slice(257, None), slice(2_048, None), slice(4_096, None), -1, 128, 1_024)),
]
ATTENDED = [
    *((ALL, head) for head in (slice(6, None), slice(8, None), slice(32, None))),
    *((row,) for row in (slice(1, None), slice(3, None), 4)),
    *((ALL, ALL, query) for query in (slice(8, None), slice(32, None), slice(64, None), -1)),
]


@pytest.mark.parametrize(
    ("operation", "where"),
    [(operation, where) for operation, places in zip(RIGHT, (ROTATIONS, BIASES, ATTENDED), strict=True) for where in places],
    ids=str,
)
def test_code_that_is_wrong_from_somewhere_on_is_convicted(operation: str, where: tuple[object, ...]) -> None:
    def kernel(call: Arguments) -> np.ndarray:
        result = RIGHT[operation][0](call).copy()
        if all(not isinstance(index, int) or index < size for index, size in zip(where, result.shape, strict=False)):
            result[where] *= 2
        return result

    assert any(isinstance(outcome, Failed) for outcome in judged(operation, kernel))


@pytest.mark.parametrize("tile", [16, 32, 64, 128])
def test_a_rotation_that_forgets_the_last_rows_of_many_is_convicted(tile: int) -> None:
    def kernel(call: Arguments) -> np.ndarray:
        rows = call.arrays["x"].shape[0] * call.arrays["x"].shape[1]
        whole = np.arange(rows) < rows - (rows % tile if rows > 1_024 else 0)
        return np.where(whole.reshape(*call.arrays["x"].shape[:2], 1, 1), rotate(call), call.arrays["x"])

    assert any(isinstance(outcome, Failed) for outcome in judged("rope.rotate", kernel))


@pytest.mark.parametrize("room", [1, 3])
def test_where_a_rotation_goes_wrong_is_told(room: int) -> None:
    def kernel(call: Arguments) -> np.ndarray:
        result = rotate(call)
        result[:, room * 2 :] *= 2
        return result

    told = [outcome.message for outcome in judged("rope.rotate", kernel) if isinstance(outcome, Failed)]

    assert any(f"wrong from head {room * 2} on" in message for message in told)


@pytest.mark.parametrize("keys", [10, 64, 65, 128, 256, 1_024, 2_048])
def test_attention_that_forgets_keys_is_convicted(keys: int) -> None:
    def kernel(call: Arguments) -> np.ndarray:
        k, v = (call.arrays[name].copy() for name in ("k", "v"))
        v[:, :, keys - 1 :] = 0.0
        return attend(call.with_arrays(k=k, v=v))

    assert any(isinstance(outcome, Failed) for outcome in judged("rope.attend", kernel))


def test_flash_attention_without_rescaling_is_convicted() -> None:
    outcomes = list(judged("rope.attend", lambda call: attend_in_blocks(call, rescales=False)))

    assert any(isinstance(outcome, Failed) for outcome in outcomes)


@pytest.mark.parametrize(
    "operation", ["rope.rotate", "t5.bias", "shaw.weights", "sinusoidal.encode", "longrope.rotate", "transformer_xl.shift"]
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_large_calls_are_numbers_of_the_dtype(operation: str, dtype: str) -> None:
    calls = list(large(operations()[operation], restrictions={}, takes=Takes(), dtype=dtype, seed=3, level="core"))

    assert all(holds(dtype, array) for call in calls for array in call.arguments.arrays.values() if array.dtype.kind == "f")
    assert len(calls) > 1


@pytest.mark.parametrize("operation", sorted(operations()))
def test_what_is_judged_lies_in_results_that_are_not_too_large(operation: str) -> None:
    declared = operations()[operation]
    for call in large(declared, restrictions={}, takes=Takes(), dtype="float32", seed=2, level="core"):
        for name, at in call.at.items():
            shape = result_shape(declared, call.arguments, name)
            assert np.prod(shape) <= MOST
            assert 0 <= at.min() <= at.max() < np.prod(shape)
            assert np.all(np.diff(at) > 0)


def in_every(call: Large, axis: int) -> bool:
    shape = result_shape(operations()["rope.rotate"], call.arguments, "result")
    return np.unique(np.unravel_index(call.at["result"], shape)[axis]).size == shape[axis]


def test_every_head_and_every_batch_row_is_judged() -> None:
    calls = list(large(operations()["rope.rotate"], restrictions={}, takes=Takes(), dtype="float32", seed=2, level="core"))

    assert all(in_every(call, axis) for call in calls for axis in (0, 1))


@pytest.mark.parametrize("operation", ["rope.rotate_query_key", "alibi.bias", "rope.attend"])
def test_as_many_queries_as_keys_stand_in_another_order_between_the_same_ends(operation: str) -> None:
    calls = large(operations()[operation], restrictions={}, takes=Takes(), dtype="float32", seed=1, level="core")
    both = [(call.arguments.arrays["query_positions"], call.arguments.arrays["key_positions"]) for call in calls]

    alike = [(q, k) for q, k in both if q.shape == k.shape and np.array_equal(q[..., [0, -1]], k[..., [0, -1]])]
    assert any((q != k).any() for q, k in alike)


def in_other_buckets(call: Arguments, window: int) -> bool:
    """Whether few keys, which weigh much each, lie in other buckets than those at the end of a window."""
    relative = call.arrays["key_positions"] - call.arrays["query_positions"][:, None]
    read = partial(t5.bucket, **{name: call.parameters[name] for name in ("bidirectional", "num_buckets", "max_distance", "convention")})
    return relative.shape[-1] < 10 and bool((read(relative) != read(np.clip(relative, -window, window))).any())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("operation", ["t5.bias", "t5.attend"])
def test_distances_beyond_any_window_are_asked_for_that_have_buckets_of_their_own(operation: str, seed: int) -> None:
    narrow = {"convention": "t5", "num_buckets": (16, 32, 64)}
    calls = large(operations()[operation], restrictions=narrow, takes=Takes(rows="shared"), dtype="float32", seed=seed, level="core")
    assert any(in_other_buckets(call.arguments, 8_191) for call in calls)


def test_what_is_right_of_a_large_call_is_worked_out_while_the_call_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    put, task = next(subjects(Code("right", "rope.rotate", rope.rotate, {}).adapter, 0))
    each, begun = next(large(put.operation, restrictions={}, takes=task.takes, dtype=task.dtype, seed=0, level="smoke")), Event()

    def told(*asked: Any, **how: Any) -> Vector:
        begun.set()
        return golden(*asked, **how)

    def waiting(*asked: Any) -> Reply:
        assert begun.wait(60)
        return put.call(*asked)

    monkeypatch.setattr(answers, "golden", told)

    assert golden_checks.check(replace(put, call=waiting, call_in=None), task, "rope.rotate/large-1", each.arguments, each.at).passed


def test_edges_are_the_ends_and_both_sides_of_tiles() -> None:
    assert edges(5) == [0, 1, 3, 4]
    assert {0, 1, 31, 32, 33, 63, 64, 65, 95, 96, 98, 99} <= set(edges(100))
    assert max(edges(2_049)) == 2_048


def test_a_declaration_is_honoured() -> None:
    takes = Takes(positions="from_zero", queries="at_end", contiguous=True)
    for call in large(operations()["rope.attend"], restrictions={"head_dim": 96}, takes=takes, dtype="float32", seed=4, level="core"):
        keys, queries = (call.arguments.arrays[name] for name in ("key_positions", "query_positions"))
        assert call.arguments.parameters["head_dim"] == call.arguments.arrays["q"].shape[-1] == 96
        assert np.array_equal(keys, np.arange(keys.size))
        assert np.array_equal(queries, keys[-queries.size :])
        assert not call.strided


def test_an_image_between_bounds_has_more_tokens_than_a_side() -> None:
    operation, takes = operations()["axial_rope.rotate"], Takes(lowest=-6, highest=6)
    drawn = large(operation, restrictions={}, takes=takes, dtype="float32", seed=2, level="core")
    positions = [call.arguments.arrays["positions"] for call in drawn]

    assert max(each.shape[-2] for each in positions) > 1_000
    assert min(each.min() for each in positions) >= -6
    assert max(each.max() for each in positions) <= 6


def test_positions_stay_inside_of_what_is_declared() -> None:
    takes = Takes(lowest=5, highest=300)
    for call in large(operations()["rope.rotate"], restrictions={}, takes=takes, dtype="float32", seed=4, level="core"):
        assert call.arguments.arrays["positions"].min() >= 5
        assert call.arguments.arrays["positions"].max() <= 300


@pytest.mark.parametrize("level", ["core", "beside"])
@pytest.mark.parametrize("operation", ["rope.rotate", "rope.attend", "alibi.bias", "sinusoidal.encode", "shaw.weights"])
def test_one_position_leaves_calls_of_one_token(operation: str, level: str) -> None:
    takes = Takes(lowest=0, highest=0)
    for call in large(operations()[operation], restrictions={}, takes=takes, dtype="float32", seed=4, level=level):
        positions = [array for name, array in call.arguments.arrays.items() if is_position(name)]
        assert {array.shape[-1] for array in positions} == {1}
        assert not any(array.any() for array in positions)


@pytest.mark.parametrize("dim", [768, 4_096])
def test_encodings_that_are_declared_wide_have_fewer_keys(dim: int) -> None:
    operation = operations()["transformer_xl.weights"]
    every = list(large(operation, restrictions={"dim": dim}, takes=Takes(), dtype="float32", seed=1, level="core"))

    assert len(every) > 3
    assert max(dim * call.arguments.arrays["k"].shape[2] for call in every) <= ANGLES


def test_smoke_has_one_small_call() -> None:
    calls = list(large(operations()["rope.rotate"], restrictions={}, takes=Takes(), dtype="float32", seed=4, level="smoke"))

    assert [call.arguments.arrays["x"].shape for call in calls] == [(2, 2, 129, 32)]


def test_a_call_has_no_more_tokens_than_a_square_grid_has_places_where_tokens_fill_one() -> None:
    takes = Takes("grid", lowest=0, highest=63)
    calls = [*islice(large(operations()["axial_rope.rotate"], restrictions={}, takes=takes, dtype="float32", seed=1, level="core"), 4)]

    assert max(call.arguments.arrays["positions"].shape[-2] for call in calls) == 64 * 64
    assert max(call.arguments.arrays["positions"].max() for call in calls) == 63
