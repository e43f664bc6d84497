"""What a declaration says of calls: right code is judged by golden values and passes, wrong code is convicted by them or by laws."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from conformance import Adapter, assert_conforms
from conformance.adapt.adapter import AdapterError
from conformance.calls.outcomes import Failed, NotJudged, Passed, Result, Unsupported
from conformance.calls.subject import asked
from conformance.calls.takes import Takes
from conformance.in_process import InProcess
from conformance.run.questions import Judge
from conformance.spec.declarations import operations
from refimpl.schemes import alibi, rope, t5

Function = Callable[..., Any]


def test_a_bias_that_meets_logits_in_float16_is_asked_where_float16_holds_it() -> None:
    near = Takes(lowest=-16_376, highest=16_376)
    assert asked(Takes(), operations()["alibi.attend"], "float16") == near
    assert asked(Takes("from_zero", lowest=0), operations()["alibi.weights"], "float16") == Takes("from_zero", lowest=0, highest=16_376)


@pytest.mark.parametrize(("operation", "dtype"), [("alibi.attend", "bfloat16"), ("alibi.bias", "float16"), ("rope.attend", "float16")])
def test_other_dtypes_and_operations_are_asked_all_that_is_declared(operation: str, dtype: str) -> None:
    assert asked(Takes(highest=100_000), operations()[operation], dtype) == Takes(highest=100_000)


def test_positions_that_are_all_declared_farther_are_asked_in_float16_too() -> None:
    assert asked(Takes(lowest=20_000), operations()["alibi.attend"], "float16") == Takes(lowest=20_000)


def results(function: Function, operation: str, **declared: Any) -> list[Result]:
    """Return what every vector and law says of a function."""
    adapter = Adapter("code")
    adapter.implements(operation, **declared)(function)
    judge = Judge(InProcess(adapter), examples=5, seed=0)
    return [judge.answer(question) for question in judge.questions]


def failures(found: list[Result]) -> list[str]:
    return [f"{result.check}: {result.outcome}" for result in found if not isinstance(result.outcome, Passed | Unsupported | NotJudged)]


def golden(found: list[Result], outcome: type) -> int:
    """Return how many vectors had an outcome."""
    return sum(result.kind == "vector" and isinstance(result.outcome, outcome) for result in found)


def square_alibi(query_positions: np.ndarray, key_positions: np.ndarray, *, num_heads: int, form: Any, **_: object) -> Any:
    """Return a bias from numbers of queries and keys alone."""
    queries, keys = (np.arange(places.shape[-1]) for places in (query_positions, key_positions))
    return alibi.bias(queries, keys, num_heads=num_heads, form=form).astype(np.float32)


def slopes_of_thirds(query_positions: np.ndarray, key_positions: np.ndarray, *, num_heads: int, **_: object) -> Any:
    queries, keys = (np.arange(places.shape[-1]) for places in (query_positions, key_positions))
    return ((3.0 ** -np.arange(1, num_heads + 1))[:, None, None] * (keys - queries[:, None])).astype(np.float32)


@pytest.mark.parametrize("form", ["row", "column", "reversed", "symmetric", "falcon"])
def test_a_bias_that_counts_from_zero_is_judged_at_every_position(form: str) -> None:
    found = results(square_alibi, "alibi.bias", slopes="code", positions="from_zero", max_bias=8.0, form=form)

    assert not failures(found)
    assert golden(found, Passed)


def test_slopes_of_another_base_are_convicted_by_golden_values() -> None:
    found = results(slopes_of_thirds, "alibi.bias", slopes="code", positions="from_zero", max_bias=8.0, form="row")

    assert golden(found, Failed) >= 10


def masked_alibi(query_positions: np.ndarray, key_positions: np.ndarray, **parameters: Any) -> Any:
    bias = square_alibi(query_positions, key_positions, **parameters)
    keys = np.arange(key_positions.shape[-1])
    return np.where(keys > np.arange(query_positions.shape[-1])[:, None], -np.inf, bias).astype(np.float32)


@pytest.mark.parametrize("form", ["row", "column", "reversed", "symmetric", "falcon"])
def test_a_masked_bias_is_judged_where_it_is_not_hidden(form: str) -> None:
    found = results(masked_alibi, "alibi.bias", slopes="code", positions="from_zero", masked=True, max_bias=8.0, form=form)

    assert not failures(found)
    assert golden(found, Passed)


def test_an_unmasked_bias_that_is_declared_masked_is_convicted() -> None:
    assert golden(results(square_alibi, "alibi.bias", slopes="code", positions="from_zero", masked=True, max_bias=8.0, form="row"), Failed)


def square_t5(buckets: Function) -> Function:
    """Return T5's bias from lengths, as a decoder with a cache computes it."""

    def bias(table: np.ndarray, query_positions: np.ndarray, key_positions: np.ndarray, **parameters: Any) -> Any:
        count = key_positions.shape[-1]
        queries = np.arange(count - query_positions.shape[-1], count)
        return table[buckets(np.arange(count) - queries[:, None], **parameters)].transpose(2, 0, 1)

    return bias


def linear(relative: np.ndarray, *, num_buckets: int, **_: object) -> Any:
    return np.clip(-relative, 0, num_buckets - 1)


T5 = {"bidirectional": False, "convention": "t5", "positions": "from_zero", "queries": "at_end"}


def test_a_learned_bias_that_is_told_lengths_is_judged() -> None:
    found = results(square_t5(t5.bucket), "t5.bias", **T5)

    assert not failures(found)
    assert golden(found, Passed) >= 8


def test_linear_buckets_are_convicted_by_golden_values() -> None:
    assert golden(results(square_t5(linear), "t5.bias", **T5), Failed) >= 3


each_bias = pytest.mark.parametrize("operation", ["alibi.bias", "t5.bias", "relative_bias.bias", "kerple.bias", "da_transformer.rescale"])


def of_positions(operation: str, change: Callable[..., Any]) -> Function:
    """Return the code that ``change`` makes of a bias as a function of positions alone."""
    right, names = operations()[operation].function, list(operations()[operation].arrays)

    def bias(*arrays: np.ndarray, **parameters: Any) -> Any:
        given = dict(zip(names, arrays, strict=True))

        def at(queries: np.ndarray, keys: np.ndarray) -> Any:
            return right(*({**given, "query_positions": queries, "key_positions": keys}[name] for name in names), **parameters)

        return change(at, given["query_positions"], given["key_positions"])

    return bias


def of_the_first_row(at: Function, queries: np.ndarray, keys: np.ndarray) -> Any:
    """Use the positions of the first row for all, as code does that forgets left padding."""
    return at(*(np.broadcast_to(np.atleast_2d(side)[:1], side.shape) if side.ndim > 1 else side for side in (queries, keys)))


def row_by_row(at: Function, queries: np.ndarray, keys: np.ndarray) -> Any:
    """Stack the biases of every row, as code does whose table has no batch."""
    if queries.ndim == keys.ndim == 1:
        return at(queries, keys)
    count = max(len(side) for side in (queries, keys) if side.ndim > 1)
    rows = zip(*(np.broadcast_to(side, (count, side.shape[-1])) for side in (queries, keys)), strict=True)
    return np.stack([at(*row) for row in rows])


def without_batch(at: Function, queries: np.ndarray, keys: np.ndarray) -> Any:
    """Take one row of positions and no more."""
    (_,), (_,) = queries.shape, keys.shape
    return at(queries, keys)


@each_bias
def test_a_bias_that_uses_the_first_row_s_positions_for_all_is_convicted_by_golden_values(operation: str) -> None:
    bias = of_positions(operation, of_the_first_row)
    wrong = {result.check for result in results(bias, operation) if result.kind == "vector" and isinstance(result.outcome, Failed)}

    assert f"{operation}/left-padding" in wrong
    assert all(any(name in check for name in ("left-padding", "batch")) for check in wrong)


@each_bias
def test_a_bias_that_is_made_row_by_row_is_right(operation: str) -> None:
    bias = of_positions(operation, row_by_row)

    assert not failures(results(bias, operation))


@each_bias
def test_a_bias_that_takes_one_row_is_given_one_and_judged_on_every_vector(operation: str) -> None:
    bias = of_positions(operation, without_batch)
    found = results(bias, operation, rows="shared")

    assert not failures(found)
    assert f"{operation}/left-padding" in {result.check for result in found if isinstance(result.outcome, Passed)}


def by_offset(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> Any:
    """Rotate with one offset for the whole batch."""
    return rope.rotate(x, int(positions[0]) + np.arange(x.shape[2]), **parameters)


def without_offset(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> Any:
    return by_offset(x, positions - positions[0], **parameters)


def test_a_rotation_with_one_offset_is_judged_at_every_position() -> None:
    found = results(by_offset, "rope.rotate", positions="consecutive")

    assert not failures(found)
    assert golden(found, Passed) >= 30


def test_an_offset_that_is_forgotten_is_convicted() -> None:
    assert golden(results(without_offset, "rope.rotate", positions="consecutive"), Failed) >= 10


def one_row(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> Any:
    """Rotate a batch whose rows share positions, as code with ``cos[None, None]`` does."""
    (tokens,) = positions.shape
    return rope.rotate(x, positions.reshape(tokens), **parameters)


def test_code_with_one_row_of_positions_is_given_one_and_judged_on_every_vector() -> None:
    found = results(one_row, "rope.rotate", rows="shared")

    assert not failures(found)
    assert golden(found, Passed) >= 40


def from_table(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> Any:
    """Rotate by tables of 300 rows."""
    return rope.rotate(x, np.arange(300)[positions], **parameters)


def test_bounds_keep_positions_away_that_have_no_row() -> None:
    found = results(from_table, "rope.rotate", lowest=0, highest=299)

    assert not failures(found)
    reasons = [result.outcome.reason for result in found if isinstance(result.outcome, Unsupported)]
    assert any("at most 299 by its declaration" in reason for reason in reasons)
    assert not any(result.outcome.raised for result in found if isinstance(result.outcome, Unsupported))


def test_a_table_that_is_too_short_for_its_bounds_is_convicted() -> None:
    with pytest.raises(AssertionError, match="out of bounds"):
        assert_conforms(from_table, "rope.rotate", level="smoke", lowest=0, highest=4095)


def decoding(past: Function) -> Function:
    """Return attention whose queries begin after the past."""

    def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, *_: np.ndarray, causal: bool, **parameters: Any) -> Any:
        queries, keys = past(q.shape[2], k.shape[2]) + np.arange(q.shape[2]), np.arange(k.shape[2])
        return rope.attend(q, k, v, queries, keys, causal=causal, **parameters)

    return attend


def test_decoding_is_put_to_laws_at_the_end_of_the_keys() -> None:
    found = results(decoding(lambda queries, keys: keys - queries), "rope.attend", positions="from_zero", queries="at_end")

    assert not failures(found)
    assert any(result.kind == "law" and isinstance(result.outcome, Passed) for result in found)


def test_decoding_that_forgets_the_past_is_convicted() -> None:
    found = results(decoding(lambda *_: 0), "rope.attend", positions="from_zero", queries="at_end", causal=True)

    assert failures(found)


@pytest.mark.parametrize(
    ("operation", "declared", "message"),
    [
        ("rope.rotate", {"lowest": 3, "highest": 2}, "highest must be at least lowest, 3, got 2"),
        ("rope.rotate", {"lowest": -9, "highest": -1}, "highest must be at least 0, got -1"),
        ("rope.rotate", {"positions": "from_zero", "lowest": 1}, "must hold 0, got lowest=1"),
        ("rope.rotate", {"positions": "zero"}, "positions must be one of any, whole, consecutive, from_zero, grid, grid_xy, got 'zero'"),
        ("rope.rotate", {"rows": "one"}, "rows must be one of any, shared, each, got 'one'"),
        ("rope.rotate", {"highest": 1.5}, "highest must be an integer, got 1.5"),
        ("rope.rotate", {"queries": "at_end"}, "queries must be declared of an operation with queries and keys"),
        ("rope.rotate", {"masked": True}, "masked must be declared of a bias or of logits"),
        ("rope.weights", {"masked": True}, "masked must be declared of a bias or of logits"),
        ("transformer_xl.shift", {"masked": True}, "masked must be declared of a bias or of logits at positions"),
        ("learned.encode", {"rows": "shared"}, "rows must be declared of an operation whose positions may have a batch axis"),
        ("rope.frequencies", {"lowest": 0}, "must be declared of an operation with positions"),
    ],
)
def test_a_declaration_that_no_code_could_mean_is_refused(operation: str, declared: dict[str, Any], message: str) -> None:
    with pytest.raises(AdapterError, match=message):
        Adapter("code").implements(operation, **declared)


def sinusoids(row: Function) -> Function:
    """Return sinusoids looked up by index in a table of 4,096 rows; ``row`` says which row a position has."""

    def encode(positions: np.ndarray, *, dim: int, base: float, **_: object) -> Any:
        angles = np.arange(4_096.0)[:, None] * base ** (-2.0 * np.arange(dim // 2) / dim)
        table = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(4_096, dim)
        return table[row(positions)].astype(np.float32)

    return encode


TABLE = {"layout": "interleaved", "spacing": "paper", "odd": "error", "scale": 1.0, "lowest": 0, "highest": 4_095}


def test_a_table_is_judged_at_whole_positions_where_it_declares_them() -> None:
    found = results(sinusoids(lambda positions: positions), "sinusoidal.encode", positions="whole", **TABLE)

    assert not failures(found)
    assert golden(found, Passed) >= 5
    (real,) = (result.outcome for result in found if result.check == "sinusoidal.encode/real-positions")
    assert real == Unsupported("positions must be whole by its declaration, got 0.5")
    assert all(isinstance(result.outcome, Passed) for result in found if result.kind in ("drawn", "evidence"))


def test_a_table_with_a_wrong_row_is_convicted_at_whole_positions() -> None:
    wrong = sinusoids(lambda positions: np.minimum(positions + (positions > 1_000), 4_095))
    assert any(result.kind == "drawn" for result in results(wrong, "sinusoidal.encode", positions="whole", **TABLE) if result.convicts)


def convicted(function: Function, operation: str, **declared: Any) -> str:
    with pytest.raises(AssertionError) as told:
        assert_conforms(function, operation, seed=3, **declared)
    return str(told.value)


def test_a_table_that_raises_for_real_positions_is_told_to_declare_whole_ones() -> None:
    told = convicted(sinusoids(lambda positions: positions), "sinusoidal.encode", **TABLE)
    assert 'declare positions="whole" in implements("sinusoidal.encode", positions="whole")' in told


def looked_up(positions: np.ndarray, table: np.ndarray, *, offset: int, **_: object) -> Any:
    """Look up rows beyond some of padding: none before them, and past the end the last one."""
    if positions.size and positions.min() < 0:
        message = "positions must be at least 0"
        raise IndexError(message)
    return table[np.minimum(positions + offset, len(table) - 1)]


def refusing_both_ends(positions: np.ndarray, table: np.ndarray, *, offset: int, **_: object) -> Any:
    if (positions + offset >= len(table)).any():
        message = "positions must have a row"
        raise IndexError(message)
    return looked_up(positions, table, offset=offset)


def from_two(positions: np.ndarray, table: np.ndarray, **_: object) -> Any:
    if positions.size and positions.min() < 2:
        message = "rows 0 and 1 are padding"
        raise IndexError(message)
    return table[positions]


@pytest.mark.parametrize(
    ("function", "declared", "hint"),
    [
        (looked_up, {"outside": "clamp"}, "declare lowest=0 in"),
        (from_two, {"outside": "raise", "offset": 0}, "declare lowest=2 in"),
        (refusing_both_ends, {}, 'declare outside="raise" in'),
    ],
    ids=["raises below 0", "raises for rows of padding", "raises for both ends"],
)
def test_a_padded_table_that_raises_is_told_what_to_declare(function: Function, declared: dict[str, Any], hint: str) -> None:
    assert hint in convicted(function, "learned.encode", **declared)


@pytest.mark.parametrize(
    ("function", "declared"),
    [
        (looked_up, {"outside": "clamp", "lowest": 0}),
        (from_two, {"outside": "raise", "offset": 0, "lowest": 2}),
        (refusing_both_ends, {"outside": "raise"}),
    ],
    ids=["raises below 0", "raises for rows of padding", "raises for both ends"],
)
def test_a_padded_table_conforms_to_what_it_is_told_to_declare(function: Function, declared: dict[str, Any]) -> None:
    assert_conforms(function, "learned.encode", seed=3, **declared)
