"""Learned positions: offsets, halves, and what the suite says of code that answers outside of its table."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from law_subjects import findings, subject

from conformance import run
from conformance.calls.outcomes import Advisory, Failed, Reason, Report
from refimpl.errors import SpecificationError
from refimpl.schemes import learned

TABLE = np.array([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5], [3.0, 3.5]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_row_keeps_the_dtype_of_its_table(dtype: type) -> None:
    rows = learned.encode(np.array([1]), TABLE.astype(dtype), offset=2)

    assert rows.dtype == dtype
    assert rows.tolist() == [[3.0, 3.5]]


def test_no_row_is_read_where_there_is_no_position() -> None:
    assert learned.encode(np.zeros(0, dtype=np.int64), TABLE).shape == (0, 2)


@pytest.mark.parametrize(("position", "offset"), [(4, 0), (-1, 0), (2, 2), (-1, 2), (1_048_576, 0)])
def test_a_position_outside_is_refused_with_the_positions_that_there_are(position: int, offset: int) -> None:
    with pytest.raises(SpecificationError, match=rf"^positions must lie between 0 and {3 - offset}, got {position}$"):
        learned.encode(np.array([0, position]), TABLE, offset=offset)


def test_a_hazard_is_computed_where_it_is_asked_for() -> None:
    positions = np.array([-5, -1, 4, 9])

    assert learned.encode(positions, TABLE, outside="clamp")[:, 0].tolist() == [0.0, 0.0, 3.0, 3.0]
    assert learned.encode(positions, TABLE, outside="wrap")[:, 0].tolist() == [3.0, 3.0, 0.0, 1.0]


def test_the_layer_gives_every_position_its_own_row_and_counts_its_numbers() -> None:
    layer = learned.layer(num_heads=2, head_dim=3, like=np.zeros(1))
    assert layer.embed is not None

    rows = layer.embed(np.zeros((1, 2, learned.LAYER_LENGTH, 3)), np.arange(learned.LAYER_LENGTH))[0]

    assert layer.learned == learned.LAYER_LENGTH * 6
    assert len(np.unique(np.moveaxis(rows, 0, 1).reshape(-1, 6), axis=0)) == learned.LAYER_LENGTH
    assert np.array_equal(rows, rows.astype(np.float32))
    with pytest.raises(SpecificationError, match=r"^positions must lie between 0 and 511, got 512$"):
        layer.embed(np.zeros((1, 2, 1, 3)), np.array([512]))


Look = Callable[..., np.ndarray]


def indexed(positions: np.ndarray, table: np.ndarray, *, offset: int, **_: object) -> np.ndarray:
    """Index as NumPy does: negative rows count from the end, and past the end is an error."""
    return np.asarray(table[positions + offset])


def clamped(positions: np.ndarray, table: np.ndarray, *, offset: int, **_: object) -> np.ndarray:
    """Take the nearest row, as JAX does past the end."""
    return np.asarray(table[np.clip(positions + offset, 0, len(table) - 1)])


def wrapped(positions: np.ndarray, table: np.ndarray, *, offset: int, **_: object) -> np.ndarray:
    """Count rows modulo the length."""
    return np.take(table, positions + offset, axis=0, mode="wrap")


def filled(positions: np.ndarray, table: np.ndarray, *, offset: int, **_: object) -> np.ndarray:
    """Answer NaN outside, as jax.numpy.take does past the end."""
    rows = positions + offset
    inside = (rows >= 0) & (rows < len(table))
    return np.where(inside[:, None], table[np.where(inside, rows, 0)], np.nan)


def refusing(positions: np.ndarray, table: np.ndarray, *, offset: int, **_: object) -> np.ndarray:
    """Refuse what lies outside."""
    return np.asarray(learned.encode(positions, table, offset=offset))


def told(function: Look, **settings: object) -> str | None:
    """Return what the law says of a function that is asked to refuse what lies outside."""
    put = subject("learned.encode", raising(function), restrictions={"outside": "raise", **settings})
    finding = findings(put)["outside"]
    assert finding.failure is None or finding.kind is Reason.ACCEPTED_BAD_INPUT
    return finding.failure


def raising(function: Look) -> Look:
    """Return the function as a session calls it: an exception is a call without a result."""
    from conformance.calls.outcomes import Errored
    from conformance.calls.subject import CallFailedError

    def call(*arrays: np.ndarray, **parameters: object) -> np.ndarray:
        try:
            return function(*arrays, **parameters)
        except (IndexError, SpecificationError) as error:
            raise CallFailedError(Errored(str(error))) from error

    return call


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (indexed, "position -1 must be refused by a table of 3 rows, got row 2: wraps negatives, like NumPy"),
        (clamped, "position 3 must be refused by a table of 3 rows, got row 2: clamps, like JAX"),
        (wrapped, "position 3 must be refused by a table of 3 rows, got row 0: wraps, like a ring buffer"),
        (filled, "position 3 must be refused by a table of 3 rows, got numbers of no row: fills in, like jax.numpy.take"),
    ],
)
def test_code_that_answers_outside_is_named_by_its_habit(function: Look, words: str) -> None:
    assert told(function, offset=0) == words


def test_a_padding_row_for_position_minus_one_is_named() -> None:
    answer = "position -1 must be refused by a table of 5 rows with offset 2, got row 1: reads a row before the offset, kept for padding"

    assert told(indexed, offset=2) == answer


def test_code_that_refuses_what_lies_outside_keeps_the_law() -> None:
    assert told(refusing) is None


ADAPTER = """
import numpy as np
from conformance import Adapter

adapter = Adapter("looks-up")


@adapter.implements("learned.encode", outside={outside!r})
def encode(positions, table, *, offset, **_):
    return {body}
"""
BODIES = {"indexed": "table[positions + offset]", "clamped": "table[np.clip(positions + offset, 0, len(table) - 1)]"}


def reported(folder: Path, body: str, outside: str) -> Report:
    """Return the report on an adapter of one line."""
    path = folder / "looks_up.py"
    path.write_text(ADAPTER.format(body=BODIES[body], outside=outside), encoding="utf-8")
    return run.check(str(path), operations=["learned.encode"], level="smoke")


@pytest.mark.parametrize(("body", "habit"), [("indexed", "wraps negatives, like NumPy"), ("clamped", "clamps, like JAX")])
def test_the_report_names_the_habit_where_every_vector_passes(tmp_path: Path, body: str, habit: str) -> None:
    report = reported(tmp_path, body, "raise")

    convicting = [result for result in report.results if result.convicts]
    assert [result.check for result in convicting] == ["outside"]
    assert isinstance(convicting[0].outcome, Failed)
    assert convicting[0].outcome.message.endswith(habit)
    assert report.status == 1


def test_a_declared_hazard_is_shown_and_not_failed(tmp_path: Path) -> None:
    report = reported(tmp_path, "clamped", "clamp")

    shown = [result.outcome.message for result in report.results if isinstance(result.outcome, Advisory)]
    assert report.status == 0
    assert len(shown) == 1
    assert shown[0].endswith("clamps, like JAX, as declared")


@pytest.mark.parametrize(("model", "first"), [("opt", 2), ("bart", 2)])
def test_released_models_read_row_two_for_the_first_position(model: str, first: int) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    import torch

    from conformance.adapters import transformers_tables

    table = torch.arange(6.0)[:, None]

    assert getattr(transformers_tables, model)(torch.tensor([0, 1]), table).ravel().tolist() == [first, first + 1]


def test_opt_makes_the_same_positions_from_its_mask() -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    import torch
    from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding

    module = OPTLearnedPositionalEmbedding(4, 1)
    module.weight = torch.nn.Parameter(torch.arange(6.0)[:, None], requires_grad=False)

    assert module(torch.tensor([[0, 0, 1, 1]])).ravel().tolist() == [1.0, 1.0, 2.0, 3.0]
