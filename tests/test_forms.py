"""Functions as they are written are judged as they are: other names, orders, tables and axes are declared, and what doesn't fit is told."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posenc
from conformance import Adapter, assert_conforms
from conformance.adapt.adapter import AdapterError
from conformance.calls.outcomes import Errored, Passed, Report, unanswered
from conformance.calls.status import Status
from conformance.isolate import targets
from conformance.isolate.targets import TargetError
from conformance.run import check
from refimpl.schemes import mrope

HALF = {"layout": "half", "direction": "positive"}
WAVES = {"layout": "interleaved", "direction": "positive"}
PAPER = {"base": 10_000.0, "spacing": "paper", "scale": 1.0, "odd": "error"}
COLUMN = {"call": "f(num_heads, key_tokens)", "positions": "from_zero", "slopes": "paper", "form": "column", "max_bias": 8.0}

ONE_AXIS = {"axes": "(batch head) query key", "rows": "each", "slopes": "paper", "max_bias": 8.0}


def turned(x: Any, cos: Any, sin: Any) -> Any:
    """Turn pairs (j, j + d/2) by tables with one column for each pair."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1).astype(x.dtype)


def tables(positions: Any, base: float, width: int) -> Any:
    angles = positions[..., None] * base ** -(np.arange(0, width, 2) / width)
    return np.cos(angles), np.sin(angles)


def heads(table: Any) -> Any:
    return table[:, None] if table.ndim == 3 else table


def by_position(x: Any, positions: Any, base: float) -> Any:
    return turned(x, *map(heads, tables(positions, base, x.shape[-1])))


def tiled(x: Any, cos: Any, sin: Any) -> Any:
    """Turn as models do that hold every column twice."""
    first, second = np.split(x, 2, axis=-1)
    return (x * heads(cos) + np.concatenate([-second, first], axis=-1) * heads(sin)).astype(x.dtype)


def repeated(x: Any, cos: Any, sin: Any) -> Any:
    crossed = np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    return (x * heads(cos) + crossed * heads(sin)).astype(x.dtype)


def waves(x: Any, freqs_cis: Any) -> Any:
    product = (x[..., ::2] + 1j * x[..., 1::2]) * heads(freqs_cis)
    return np.stack([product.real, product.imag], axis=-1).reshape(x.shape).astype(x.dtype)


def cached(x: Any, cos_cache: Any, sin_cache: Any, position_ids: Any, interleaved: int) -> Any:
    assert interleaved == 0
    assert position_ids.shape == (x.shape[0], x.shape[2])
    assert min(position_ids.strides) > 0  # torch takes no others
    return turned(x, cos_cache[position_ids][:, None], sin_cache[position_ids][:, None])


def cached_row(x: Any, cos_cache: Any, sin_cache: Any, position_ids: Any) -> Any:
    assert position_ids.shape == (x.shape[2],)
    return turned(x, cos_cache[position_ids], sin_cache[position_ids])


def one_cache(x: Any, cache: Any, position_ids: Any) -> Any:
    return turned(x, *np.split(cache[position_ids][:, None], 2, axis=-1))


def both(q: Any, k: Any, cos: Any, sin: Any) -> Any:
    assert cos.ndim == 3
    return tiled(q, cos, sin), tiled(k, cos, sin)


def before_heads(x: Any, positions: Any, theta: float) -> Any:
    return by_position(x.swapaxes(1, 2), positions, theta).swapaxes(1, 2)


def tokens_first(q: Any, k: Any, positions: Any, theta: float) -> Any:
    def one(x: Any) -> Any:
        return np.moveaxis(by_position(np.moveaxis(x, 0, 2), positions, theta), 2, 0)

    return one(q), one(k)


def flat(x: Any, positions: Any, head_dim: int, theta: float) -> Any:
    apart = x.reshape(*x.shape[:2], -1, head_dim).swapaxes(1, 2)
    return by_position(apart, positions, theta).swapaxes(1, 2).reshape(x.shape)


def rotary(like: Any, position_ids: Any) -> Any:
    assert position_ids.ndim == 2
    return [np.concatenate([table, table], axis=-1).astype(like.dtype) for table in tables(position_ids, 10_000.0, 64)]


def of_columns_twice(positions: Any, head_dim: int, base: float) -> Any:
    return [np.concatenate([table, table], axis=-1) for table in tables(positions, base, head_dim)]


def of_columns_once(positions: Any, head_dim: int, base: float) -> Any:
    return tables(positions, base, head_dim)


def of_lengths(num_heads: int, queries: int, keys: int) -> Any:
    slopes = 2.0 ** (-8.0 * np.arange(1, num_heads + 1) / num_heads)
    return (np.arange(keys)[None, :, None] - np.arange(queries)[:, None, None]) * slopes


def slope_list(num_heads: int) -> list[float]:
    return [2.0 ** (-8.0 * head / num_heads) for head in range(1, num_heads + 1)]


def slopes_to_broadcast(num_heads: int) -> Any:
    return np.array(slope_list(num_heads))[None, :, None, None]


def row_for_all_queries(num_heads: int, keys: int) -> Any:
    """Return a bias as attention adds it: of a batch, with one row for all queries."""
    return slopes_to_broadcast(num_heads) * np.arange(keys)


def heads_and_keys(num_heads: int, keys: int) -> Any:
    return row_for_all_queries(num_heads, keys)[0, :, 0]


def sequences_with_heads(queries: Any, keys: Any, num_heads: int) -> Any:
    """Return a bias whose sequences and heads lie on one axis, as Bloom and Falcon add it to their logits."""
    slopes = np.array(slope_list(num_heads))[None, :, None, None]
    return (slopes * (keys[:, None, None, :] - queries[:, None, :, None])).reshape(-1, queries.shape[1], keys.shape[1])


def heads_with_sequences(queries: Any, keys: Any, num_heads: int) -> Any:
    """Return the same bias with all sequences of a head beside one another."""
    bias = sequences_with_heads(queries, keys, num_heads)
    return bias.reshape(-1, num_heads, *bias.shape[1:]).swapaxes(0, 1).reshape(bias.shape)


def rows_of_sequences(keys: Any, num_heads: int) -> Any:
    return sequences_with_heads(np.zeros((len(keys), 1)), keys, num_heads)


def of_a_mask(num_heads: int, keys: int) -> Any:
    return rows_of_sequences(np.cumsum(np.ones((1, keys)), axis=-1) - 1, num_heads)


def of_two_masks(num_heads: int, keys: int) -> Any:
    return rows_of_sequences(np.cumsum(np.ones((2, keys)), axis=-1) - 1, num_heads)


def cached_twice(q: Any, k: Any, cos_cache: Any, sin_cache: Any, position_ids: Any) -> Any:
    cos, sin = cos_cache[position_ids][:, None], sin_cache[position_ids][:, None]
    return tiled(q, cos, sin), tiled(k, cos, sin)


def both_by_waves(q: Any, k: Any, freqs_cis: Any) -> Any:
    return waves(q, freqs_cis), waves(k, freqs_cis)


def both_by_position(q: Any, k: Any, position_ids: Any, theta: float) -> Any:
    return by_position(q, position_ids, theta), by_position(k, position_ids, theta)


def sinusoids(length: int, d_model: int) -> Any:
    """Return the table that the paper's code registers as a buffer."""
    table = np.zeros((length, d_model))
    table[:, ::2], table[:, 1::2] = np.sin(angles := angles_of(np.arange(length), d_model)), np.cos(angles)
    return table.astype(np.float32)


def angles_of(positions: Any, width: int) -> Any:
    return positions[..., None] / 10_000.0 ** (np.arange(0, width, 2) / width)


def timesteps(t: Any, channels: int) -> Any:
    angles = angles_of(t, channels)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1).astype(np.float32)


def with_sinusoids(x: Any) -> Any:
    return (x + sinusoids(x.shape[1], x.shape[2])).astype(x.dtype)


def looked_up(positions: Any, weight: Any) -> Any:
    return weight[positions]


def bits_of(positions: Any, bits: int) -> Any:
    return positions[:, None] >> np.arange(bits) & 1


def offset_only(x: Any, start: int, base: float) -> Any:
    assert isinstance(start, int)
    return by_position(x, start + np.arange(x.shape[2]), base)


def one_sequence(x: Any, positions: Any, base: float) -> Any:
    assert x.ndim == 3
    assert positions.shape == x.shape[:1]
    return by_position(x.swapaxes(0, 1), positions, base).swapaxes(0, 1)


def overwritten(positions: Any, query: Any, key: Any, width: int, cache: Any) -> None:
    """Write over what is given, as kernels of servers do: tokens, each with its heads beside one another."""
    table = cache[positions][:, None]
    for x in (query, key):
        heads = x.reshape(len(x), -1, width)
        x[...] = turned(heads, *np.split(table, 2, axis=-1)).reshape(x.shape)


def complex_tables(dim: int, end: int, theta: float) -> Any:
    cos, sin = tables(np.arange(end), theta, dim)
    return cos + 1j * sin


def by_rows(x: Any, rows: Any, columns: Any) -> Any:
    near, far = np.split(x, 2, axis=-1)
    return np.concatenate([by_position(near, rows, 10_000.0), by_position(far, columns, 10_000.0)], axis=-1)


def by_places(x: Any, positions: Any) -> Any:
    return by_rows(x.swapaxes(1, 2), positions[..., 0], positions[..., 1]).swapaxes(1, 2)


def on_grid(x: Any, height: int, width: int) -> Any:
    """Turn patches, which come row by row: the first half by the row, the other by the column."""
    assert x.shape[2] == height * width
    return by_rows(x, np.repeat(np.arange(height), width), np.tile(np.arange(width), height))


def on_grid_xy(x: Any, grid_h: int, grid_w: int) -> Any:
    return by_rows(x, np.tile(np.arange(grid_w), grid_h), np.repeat(np.arange(grid_h), grid_w))


def in_video(x: Any, frames: int, height: int, width: int, axes: tuple[int, ...]) -> Any:
    places = np.indices((frames, height, width)).reshape(3, -1)
    parts = np.split(x, np.cumsum(axes)[:-1], axis=-1)
    return np.concatenate([by_position(part, place, 10_000.0) for part, place in zip(parts, places, strict=True)], axis=-1)


def axis_first(x: Any, positions: Any, **parameters: Any) -> Any:
    return mrope.rotate(x, np.moveaxis(positions, 0, -1), **parameters)


def equal_halves(axes: tuple[int, ...]) -> bool:
    return len(axes) == 2 and axes[0] == axes[1]


#: Adapters of code as it is written, each with its label.
FORMS = {
    "tiled tables": "'rope.apply', tiled, **HALF, tables='tiled'",
    "repeated tables": "'rope.apply', repeated, layout='interleaved', direction='positive', tables='repeated'",
    "sines first": "'rope.apply', lambda x, sin, cos: tiled(x, cos, sin), **HALF, tables='tiled', call='f(x, sin, cos)'",
    "complex tables": "'rope.apply', waves, layout='interleaved', direction='positive', call='f(x, freqs_cis=waves)'",
    "caches": "'rope.apply', cached, **HALF, call='f(x, cos_cache, sin_cache, position_ids, interleaved=0)'",
    "a cache for one row": "'rope.apply', cached_row, **HALF, call='f(x, cos_cache, sin_cache, position_ids)', rows='shared'",
    "one cache": "'rope.apply', one_cache, **HALF, call='f(x, cos_sin_cache, position_ids)'",
    "caches of columns twice": "'rope.apply', cached_twice, **HALF, call='f(q, k, cos_cache, sin_cache, position_ids)', tables='tiled'",
    "queries and keys by complex tables": "'rope.apply', both_by_waves, **WAVES, call='f(q, k, freqs_cis=waves)'",
    "queries and keys by positions": "'rope.rotate', both_by_position, **HALF, call='f(q, k, positions, base)', rows='each'",
    "a table of sinusoids": "'sinusoidal.encode', sinusoids, **PAPER, call='f(tokens, dim)', positions='from_zero', layout='interleaved'",
    "time steps": "'sinusoidal.encode', timesteps, **PAPER, call='f(positions, channels=dim)', layout='halves'",
    "a sum with sinusoids": "'sinusoidal.add', with_sinusoids, **PAPER, call='f(x)', positions='from_zero', layout='interleaved', "
    "embedding_scale='none'",
    "rows of a table": "'learned.encode', looked_up, call='f(positions, weight=table)', offset=0, outside='raise', lowest=0",
    "bits": "'binary.encode', bits_of, call='f(positions, bits)', lowest=0",
    "queries and keys": "'rope.apply', both, **HALF, call='f(q, k, cos, sin)', tables='tiled', rows='each'",
    "heads last": "'rope.rotate', before_heads, **HALF, call='f(x, positions, theta=base)', axes='batch token head head_dim'",
    "tokens first": "'rope.rotate', tokens_first, **HALF, call='f(q, k, positions, base)', axes='token batch head head_dim'",
    "flat heads": "'rope.rotate', flat, **HALF, call='f(x, positions, head_dim, base)', axes='batch token (head head_dim)'",
    "no batch": "'rope.rotate', one_sequence, **HALF, axes='token head head_dim'",
    "in place": "'rope.apply', overwritten, **HALF, call='f(position_ids, q, k, head_dim, cos_sin_cache)', axes='token (head head_dim)', "
    "modifies_inputs=True",
    "complex results": "'rope.tables', complex_tables, call='f(head_dim, tokens, base)', positions='from_zero'",
    "an offset": "'rope.rotate', offset_only, **HALF, call='f(x, offset, base)', positions='consecutive'",
    "a rotary module": "'rope.tables', rotary, call='f(like, positions)', tables='tiled', rows='each', head_dim=64, base=10_000.0",
    "lengths": "'alibi.bias', of_lengths, call='f(num_heads, query_tokens, key_tokens)', axes='query key head', positions='from_zero', "
    "slopes='paper', form='row', max_bias=8.0",
    "a list": "'alibi.slopes', slope_list, slopes='paper', max_bias=8.0",
    "slopes to broadcast": "'alibi.slopes', slopes_to_broadcast, slopes='paper', max_bias=8.0",
    "a row to broadcast": "'alibi.bias', row_for_all_queries, **COLUMN",
    "sequences with heads": "'alibi.bias', sequences_with_heads, **ONE_AXIS, form='row', "
    "call='f(query_positions, key_positions, num_heads)'",
    "rows of sequences with heads": "'alibi.bias', rows_of_sequences, **ONE_AXIS, call='f(key_positions, num_heads)', form='column', "
    "queries='at_end'",
    "one sequence with heads": "'alibi.bias', of_a_mask, **COLUMN",
    "rows and columns": "'axial_rope.rotate', by_rows, **HALF, call='f(x, rows, columns)', order='block', ladder='own', sides=(), "
    "base=10_000.0, axes=equal_halves",
    "a grid": "'axial_rope.rotate', on_grid, **HALF, call='f(x, height, width)', positions='grid', order='block', ladder='own', sides=(), "
    "base=10_000.0, axes=equal_halves",
    "a grid, columns first": "'axial_rope.rotate', on_grid_xy, **HALF, call='f(x, grid_h=height, grid_w=width)', positions='grid_xy', "
    "order='block', ladder='own', sides=(), base=10_000.0, axes=equal_halves",
    "a video": "'axial_rope.rotate', in_video, **HALF, call='f(x, frames, height, width, axes)', positions='grid', order='block', "
    "ladder='own', sides=(), base=10_000.0, axes=[(16, 24, 24)]",
    "the axis of positions first": "'mrope.rotate', axis_first, order='contiguous', axes='axis batch token'",
    "heads last on two axes": "'axial_rope.rotate', by_places, **HALF, call='f(x, positions)', axes='batch token head head_dim', "
    "order='block', ladder='own', sides=(), base=10_000.0, parameters={'axes': equal_halves}",
}


def judged(folder: Path, source: str) -> Report:
    """Return the report of an adapter at the level smoke."""
    path = folder / "mine.py"
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    path.write_text(f"{here}from test_forms import *\nfrom posenc import Adapter\nadapter = Adapter('mine')\n{source}\n", encoding="utf-8")
    return check(str(path), level="smoke", seed=1)


@pytest.fixture(scope="module")
def of_every_form(tmp_path_factory: pytest.TempPathFactory) -> Report:
    lines = (f"adapter.implements({declared}, label={label!r})" for label, declared in FORMS.items())
    return judged(tmp_path_factory.mktemp("forms"), "\n".join(lines))


@pytest.mark.parametrize("label", FORMS)
def test_code_is_judged_as_it_is_called(label: str, of_every_form: Report) -> None:
    results = [result for result in of_every_form.results if result.implementation.partition(" (")[0] == label]

    assert any(isinstance(result.outcome, Passed) for result in results)
    assert [result for result in results if result.convicts] == []
    assert [each.missing for each in of_every_form.evidence if each.implementation.partition(" (")[0] == label and each.missing] == []


def convicted(folder: Path, body: str) -> tuple[set[str], set[str]]:
    """Return which implementations are judged, and which are wrong, where one call turns queries and keys."""
    declared = "call='f(q, k, cos, sin)', layout='half', direction='positive', rows='shared'"
    report = judged(folder, f"def f(q, k, cos, sin): return {body}\nadapter.implements('rope.apply', f, {declared})")
    return {result.implementation for result in report.results}, {result.implementation for result in report.results if result.convicts}


def test_keys_that_are_turned_another_way_than_queries_are_convicted_as_keys(tmp_path: Path) -> None:
    assert convicted(tmp_path, "turned(q, cos, sin), turned(k, cos, -sin)") == ({"mine (queries)", "mine (keys)"}, {"mine (keys)"})


def test_results_that_are_given_back_in_the_wrong_order_are_convicted(tmp_path: Path) -> None:
    every, wrong = convicted(tmp_path, "turned(k, cos, sin), turned(q, cos, sin)")

    assert wrong == every == {"mine (queries)", "mine (keys)"}


@pytest.mark.usefixtures("unshrunk")
def test_places_that_are_exchanged_are_convicted_where_axes_are_declared_as_both(tmp_path: Path) -> None:
    body = "by_places(x, positions[..., ::-1])"
    declared = "order='block', ladder='own', sides=(), base=10_000.0, axes='batch token head head_dim', **HALF"
    declared += ", parameters={'axes': equal_halves}"

    report = judged(tmp_path, f"adapter.implements('axial_rope.rotate', lambda x, positions: {body}, {declared})")

    assert report.status is Status.DIFFERS


EXCHANGED = [("on_grid(x, h, w)", "grid_xy"), ("on_grid_xy(x, h, w)", "grid"), ("on_grid(x, w, h)", "grid")]


@pytest.mark.usefixtures("unshrunk")
@pytest.mark.parametrize(("body", "places"), EXCHANGED)
def test_rows_and_columns_of_a_grid_that_are_exchanged_are_convicted(body: str, places: str, tmp_path: Path) -> None:
    declared = f"call='f(x, height, width)', positions='{places}', order='block', ladder='own', sides=(), base=10_000.0, **HALF"
    declared += ", axes=equal_halves"

    report = judged(tmp_path, f"adapter.implements('axial_rope.rotate', lambda x, h, w: {body}, {declared})")

    assert report.status is Status.DIFFERS


@pytest.mark.parametrize(
    ("declared", "does", "fix"),
    [
        ("'rope.apply', tiled, **HALF", "all columns twice, (c, c)", "add tables='tiled' to implements('rope.apply', ...)"),
        ("'rope.apply', repeated, layout='interleaved', direction='positive'", "each column twice", "add tables='repeated' to implements("),
        ("'rope.tables', of_columns_twice", "all columns twice", "add tables='tiled' to implements('rope.tables', ...)"),
        (
            "'rope.rotate', lambda x, positions, base: before_heads(x, positions, base), **HALF",
            "takes its tokens before its heads",
            "add axes='batch token head head_dim' to implements('rope.rotate', ...)",
        ),
        (
            "'rope.rotate', lambda x, positions, base: by_position(x, positions, base).swapaxes(1, 2), **HALF",
            "returns its tokens before its heads",
            "swap axes 1 and 2 of what it returns, or give it (batch, token, head, ...) too and declare axes=",
        ),
        (
            "'rope.rotate_query_key', lambda q, k, m, n, base: (by_position(k, n, base), by_position(q, m, base)), **HALF",
            "returns the keys before the queries",
            "return the queries first, then the keys",
        ),
    ],
)
def test_code_that_is_right_but_for_its_axes_or_tables_is_told_what_to_declare(declared: str, does: str, fix: str, tmp_path: Path) -> None:
    (diagnosis, *_) = judged(tmp_path, f"adapter.implements({declared})").diagnoses.values()

    assert does in diagnosis.does
    assert fix.replace('"', "'") in diagnosis.fix.replace('"', "'")


@pytest.mark.parametrize(
    ("declared", "right"),
    [
        ("tiled, **HALF, tables='repeated', rows='shared'", "tiled"),
        ("repeated, layout='interleaved', direction='positive', tables='tiled'", "repeated"),
        ("lambda q, k, c, s: (tiled(q, c, s), tiled(k, c, s)), **HALF, tables='repeated', call='f(q, k, cos, sin)'", "tiled"),
    ],
)
def test_tables_that_are_declared_the_other_way_round_are_told_beside_the_mistake(declared: str, right: str, tmp_path: Path) -> None:
    diagnoses = judged(tmp_path, f"adapter.implements('rope.apply', {declared})").diagnoses.values()

    assert diagnoses
    assert all(each.fix.endswith(f'or, where it is meant so, add tables="{right}" to implements("rope.apply", ...)') for each in diagnoses)


def test_sequences_and_heads_in_one_axis_are_told_to_be_declared(tmp_path: Path) -> None:
    declared = "form='row', slopes='paper', max_bias=8.0, rows='each', call='f(query_positions, key_positions, num_heads)'"
    report = judged(tmp_path, f"adapter.implements('alibi.bias', sequences_with_heads, {declared})")

    wrong = [result.outcome for result in report.results if result.convicts]
    assert wrong
    assert all("declare axes='(batch head) query key' in implements, or '(head batch) query key' if" in str(outcome) for outcome in wrong)


def test_heads_before_sequences_in_one_axis_conform_where_they_are_declared_so(tmp_path: Path) -> None:
    called = "call='f(query_positions, key_positions, num_heads)', axes='(head batch) query key'"
    declared = f"form='row', slopes='paper', max_bias=8.0, rows='each', {called}"

    assert judged(tmp_path, f"adapter.implements('alibi.bias', heads_with_sequences, {declared})").status is Status.CONFORMS


TURNS = "adapter.implements('rope.rotate', f, layout='half', direction='positive')"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def f(x, positions, base): by_position(x, positions, base)", "the function must return one array, got None: is there a return?"),
        ("def f(x, positions, base): return by_position(x, positions, base), 1", "the function must return one array, got tuple of 2"),
        ("def f(x, positions, base): return [by_position(x, positions, base).tolist()]", "must be an array of numpy or a number, got list"),
        (
            "def f(x, positions, base): return by_position(x, positions, theta=base)",
            "the function must take x, positions, base=..., got TypeError: by_position() got an unexpected keyword argument 'theta'",
        ),
        ("def f(x, positions, base): return by_position(x, position, base)", "NameError: name 'position' is not defined (mine.py:5 in f)"),
        (
            "def f(x, positions, base): raise RuntimeError('g() expected at most 2 argument(s) but received 3 argument(s).')",
            "the function must take x, positions, base=..., got RuntimeError: g() expected at most 2",
        ),
        ("def f(x, positions, base): return x.chunk(2)", "declared as Adapter(..., framework=...): AttributeError: 'numpy.ndarray' object"),
    ],
)
def test_a_fault_of_the_adapter_is_no_verdict_and_names_the_line(source: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError) as refused:
        judged(tmp_path, f"{source}\n{TURNS}")

    assert str(refused.value).startswith("rope.rotate can't be judged: ")
    assert "mine.py:5" in str(refused.value)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("'rope.tables', of_columns_once, tables='repeated'", "cos must have two columns for each pair, which tables='repeated'"),
        ("'rope.apply', turned, **HALF, tables='tiled'", "are there two columns for each pair, which tables='tiled'"),
        ("'rope.tables', of_columns_twice, tables='repeated'", "got columns that are tiled: declare tables='tiled'"),
        ("'alibi.bias', of_two_masks, **COLUMN", "that of one sequence where positions are one row, got 2 in shape ("),
        ("'alibi.bias', heads_and_keys, **COLUMN", "result must have axes ([batch] head query key), got shape ("),
    ],
)
def test_tables_that_code_has_not_and_axes_that_it_lacks_are_faults_of_the_adapter(declared: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="can't be judged: .*" + re.escape(told)):
        judged(tmp_path, f"adapter.implements({declared})")


@pytest.mark.parametrize(
    ("message", "library"),
    [
        ("AttributeError: 'Tensor' object has no attribute 'astype' (mine.py:7 in f)", "numpy"),
        ("TypeError: unsupported operand type(s) for *: 'Tensor' and 'jaxlib._jax.ArrayImpl' (mine.py:7 in f)", "jax"),
        ("TypeError: 'ArrayImpl' object does not support item assignment (mine.py:7 in f)", "numpy"),
    ],
)
def test_code_that_no_call_gets_past_for_arrays_of_another_library_is_told_which_to_declare(message: str, library: str) -> None:
    fault = unanswered([Errored(message), Errored(message)])

    assert fault is not None
    assert fault.message.endswith(f'; if it takes arrays of {library}, declare Adapter(..., framework="{library}")')


@pytest.mark.parametrize(
    "message",
    [
        "ValueError: The truth value of an array with more than one element is ambiguous. Use a.any() or a.all() (mine.py:7 in f)",
        "RuntimeError: Boolean value of Tensor with more than one value is ambiguous (mine.py:7 in f)",
        "ValueError: only one element tensors can be converted to Python scalars (mine.py:7 in f)",
        "TypeError: arange(): argument 'end' (position 1) must be Number, not Tensor (mine.py:7 in f)",
    ],
)
def test_code_that_takes_positions_for_their_number_is_told_how_to_declare_that(message: str) -> None:
    fault = unanswered([Errored(message), Errored(message)])

    assert fault is not None
    assert fault.message.endswith("declare positions='from_zero', and call= with tokens, query_tokens or key_tokens")


@pytest.mark.parametrize(
    "message",
    [
        "AssertionError: Torch not compiled with CUDA enabled (__init__.py:522 in _lazy_init)",
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        "RuntimeError: Found no NVIDIA driver on your system.",
    ],
)
def test_code_for_another_device_is_told_where_its_arrays_are(message: str) -> None:
    fault = unanswered([Errored(message), Errored(message)])

    assert fault is not None
    assert fault.message.endswith("; it gets arrays on the device that Adapter(..., device=...) declares, else on the CPU")


def test_a_name_that_is_not_defined_is_told_without_what_an_adapter_declares(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"NameError: name 'position' is not defined \(mine.py:5 in f\)$"):
        judged(tmp_path, f"def f(x, positions, base): return by_position(x, position, base)\n{TURNS}")


def test_only_code_that_gets_arrays_of_numpy_is_told_so(tmp_path: Path) -> None:
    words = "use x.at, see jax.numpy.ndarray.at.html"
    source = "adapter = Adapter('mine', framework='array_api_strict')\ndef f(x, positions, base): raise TypeError('WORDS')\n"

    with pytest.raises(TargetError) as refused:
        judged(tmp_path, f"{source.replace('WORDS', words)}{TURNS}")

    assert words in str(refused.value)
    assert "it gets arrays of NumPy" not in str(refused.value)


def test_code_that_returns_nothing_for_some_calls_is_wrong(tmp_path: Path) -> None:
    report = judged(tmp_path, f"def f(x, positions, base): return by_position(x, positions, base) if len(x) == 1 else None\n{TURNS}")

    assert report.status is Status.DIFFERS


def test_a_module_gets_the_keywords_that_its_forward_takes() -> None:
    class Module:
        def __call__(self, *arguments: Any, **keywords: Any) -> Any:
            return self.forward(*arguments, **keywords)

        def forward(self, x: Any, positions: Any, base: float) -> Any:
            return by_position(x, positions, base)

    assert_conforms(Module(), "rope.rotate", level="smoke", seed=1, **HALF)


def test_a_parameter_that_code_is_neither_told_nor_declares_is_asked_for() -> None:
    def untold(x: Any, positions: Any, theta: float = 1.0) -> Any:
        return by_position(x, positions, theta)

    adapter = Adapter("mine")
    adapter.implements("rope.rotate", untold, **HALF)

    with pytest.raises(TargetError) as refused:
        targets.verify(adapter)

    assert "must take base by keyword, or declare what it uses, such as implements('rope.rotate', base=10000.0)" in str(refused.value)
    assert str(refused.value).endswith("got a function of x, positions, theta (did you mean base?)")


def test_a_call_that_leaves_out_what_its_function_takes_is_told_what_to_name() -> None:
    def by_rows(x: Any, rows: Any, columns: Any, *, base: float) -> Any:
        return by_position(x, rows + columns, base)

    adapter = Adapter("mine")
    adapter.implements("mrope.rotate", by_rows, **HALF, call="f(x, rows, columns)", order="contiguous", head_dim=4, sections=(1, 1))

    with pytest.raises(TargetError, match=r"takes \(base\), as call='f\(x, rows, columns, base=base\)', got 'f\(x, rows, columns\)'"):
        targets.verify(adapter)


@pytest.mark.parametrize("sections", [(16, 24, 24), [(16, 24, 24), (1, 2, 3)]])
def test_sections_that_fill_no_declared_head_are_refused(sections: Any) -> None:
    adapter = Adapter("mine")
    adapter.implements("mrope.rotate", lambda x, positions, **_: (x, positions), **HALF, order="contiguous", head_dim=64, sections=sections)

    with pytest.raises(TargetError, match=r"sections must add up to half of head_dim \(32\), got \(16, 24, 24\)"):
        targets.verify(adapter)


def test_an_array_is_not_taken_for_a_parameter_that_lacks() -> None:
    adapter = Adapter("mine")
    adapter.implements("mrope.rotate", lambda x, positions, *, head_dim, base: (x, positions, head_dim, base), **HALF, order="contiguous")

    with pytest.raises(TargetError) as refused:
        targets.verify(adapter)

    assert str(refused.value).endswith("got a function of x, positions, head_dim, base")


@pytest.mark.parametrize(
    ("operation", "function", "declared", "got"),
    [
        ("rope.rotate", lambda x, seq_len: (x, seq_len), {"layout": "half"}, "got a function of x, seq_len"),
        ("alibi.bias", lambda num_heads, seq_len: (num_heads, seq_len), {}, "which call='f(...)' declares, got num_heads, seq_len"),
        ("alibi.bias", of_lengths, {"slopes": "code"}, "got num_heads, queries, keys"),
    ],
)
def test_a_function_is_told_its_own_arguments(operation: str, function: Any, declared: dict[str, Any], got: str) -> None:
    adapter = Adapter("mine")
    adapter.implements(operation, function, **declared)

    with pytest.raises(TargetError, match=re.escape(got) + "$"):
        targets.verify(adapter)


def test_no_call_is_suggested_that_would_be_refused() -> None:
    adapter = Adapter("mine")
    adapter.implements("rope.rotate", lambda x, cos: (x, cos), **HALF)

    with pytest.raises(TargetError, match=r"or be called as it is, which call='f\(\.\.\.\)' declares, got x, cos$"):
        targets.verify(adapter)


def of_a_batch(x: Any, start: int = 0, theta: float = 10_000.0) -> Any:
    return by_position(x, start + np.arange(x.shape[2]), theta)


@pytest.mark.parametrize(
    ("function", "call", "also"),
    [
        (of_a_batch, "f(x, offset, base)", ", positions='consecutive'"),
        (lambda positions, x, base: by_position(x, positions, base), "f(positions, x, base)", ""),
        (lambda x_BTHD: x_BTHD, "f(x)", ", positions='from_zero'"),  # noqa: N803  a name that is known to nobody
        (lambda *, x, position_ids, theta: by_position(x, position_ids, theta), "f(x=x, position_ids=positions, theta=base)", ""),
    ],
)
def test_a_function_that_is_called_otherwise_is_told_how_to_say_so(function: Any, call: str, also: str) -> None:
    adapter = Adapter("mine")
    adapter.implements("rope.rotate", function, **HALF)

    told = rf"\(test_forms.py:\d+\) must .*, or be called as it is, such as implements\(.*, call='{re.escape(call)}'{also}\)"
    with pytest.raises(TargetError, match=told):
        targets.verify(adapter)


@pytest.mark.parametrize(
    ("operation", "function", "suggested"),
    [
        ("rope.rotate_query_key", lambda q, k, positions: (q, k, positions), "'rope.rotate', call='f(q, k, positions)'"),
        ("rope.rotate_query_key", lambda q, k, positions=None: (q, k, positions), "'rope.rotate', call='f(q, k, positions)'"),
        ("rope.rotate_query_key", lambda q, k, start=0: (q, k, start), "'rope.rotate', call='f(q, k, offset)', positions='consecutive'"),
        ("rope.rotate_query_key", lambda q, k, cos, sin: (q, k, cos, sin), "'rope.apply', call='f(q, k, cos, sin)'"),
        ("rope.rotate", lambda x, cos, sin: (x, cos, sin), "'rope.apply', call='f(x, cos, sin)'"),
        ("rope.tables", lambda x, position_ids: (x, position_ids), "'rope.tables', call='f(like, positions)'"),
        ("rope.frequencies", lambda dim, end: (dim, end), "'rope.tables', call='f(head_dim, tokens)', positions='from_zero'"),
    ],
)
def test_a_call_is_suggested_that_narrows_nothing_of_the_operation_that_takes_it(operation: str, function: Any, suggested: str) -> None:
    adapter = Adapter("mine")
    adapter.implements(operation, function)

    with pytest.raises(TargetError, match=re.escape(f"or be called as it is, such as implements({suggested})")):
        targets.verify(adapter)


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"call": "f(x, base)"}, "call must name positions unless positions='from_zero' is declared, got 'f(x, base)'"),
        ({"call": "f(positions, base)"}, "call must name x, got 'f(positions, base)'"),
        ({"axes": ("token", "head")}, "axes must be text, as 'batch token head head_dim', got ('token', 'head')"),
        ({"call": "f(x, cos)"}, "call must name x, positions, q, k, offset, tokens, like, head, head_dim, base, layout, direction or "),
        ({"call": "f(x, offset)"}, "offset must come with positions='consecutive' or 'from_zero', got positions='any'"),
        ({"call": "f(x, height, width)"}, "call must name x, positions, q, k, offset"),
        ({"positions": "grid"}, "positions must be declared a grid of an operation where they have several axes, got 'grid'"),
        ({"call": "f(x, open('a'))"}, "call must be like 'f(x, positions, theta=base)', got \"f(x, open('a'))\""),
        ({"call": "x"}, "call must be like 'f(x, positions, theta=base)', got 'x'"),
        ({"call": 5}, "call must be text, got 5"),
        ({"tables": "tiled"}, "tables must be declared of an operation with cosines and sines, got rope.rotate"),
        ({"tables": "twice"}, "tables must be one of pair, tiled, repeated, got 'twice'"),
        ({"parameters": {"layout": "half"}}, "layout must be declared once, got layout='half' and parameters={'layout': 'half'}"),
        ({"parameters": "layout"}, "parameters must be values by name, got 'layout'"),
        ({"axes": "batch head token"}, "axes must be those of an array or a result in another order (batch head token head_dim; "),
    ],
)
def test_a_call_that_means_nothing_is_refused(declared: dict[str, Any], complaint: str) -> None:
    with pytest.raises(AdapterError) as refused:
        Adapter("mine").implements("rope.rotate", by_position, **HALF, **declared)

    assert complaint in str(refused.value)


def test_a_layout_by_the_name_of_a_model_is_told_which_it_is() -> None:
    adapter = Adapter("mine")
    adapter.implements("rope.rotate", by_position, layout="neox")

    with pytest.raises(TargetError) as refused:
        targets.verify(adapter)

    assert str(refused.value).endswith("got 'neox' (half is GPT-NeoX's: `posenc show rope.rotate`)")


def test_posenc_is_imported_by_its_own_name() -> None:
    assert posenc.Adapter is Adapter
    assert posenc.assert_conforms is assert_conforms
