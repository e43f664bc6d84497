"""Right code that takes less than its operation allows, and wrong code: functions for adapters that declare what a test writes."""

import math
from typing import Any

import numpy as np

from refimpl.schemes import mrope, rope
from tests import narrow_code as plain

F32 = np.float32
Array = np.ndarray


def tokens_first(x: Array, positions: Array, **_: Any) -> Array:
    """Rotate (batch, token, head, head_dim) in halves, counting tokens from 0, with one base."""
    return np.swapaxes(counted(np.swapaxes(x, 1, 2), positions), 1, 2)


def counted(x: Array, positions: Array, **_: Any) -> Array:
    return plain.rotate(x, np.arange(x.shape[2]), base=1e4)


def of_a_model(x: Array, positions: Array, **_: Any) -> Array:
    """Rotate heads of 128 by the frequencies that a module keeps."""
    angles = positions[..., None] / 500_000.0 ** (np.arange(0, 128, 2) / 128)
    cos, sin = (np.expand_dims(f(angles), 1) if positions.ndim > 1 else f(angles) for f in (np.cos, np.sin))
    one, two = x[..., :64], x[..., 64:]
    return np.concatenate([one * cos - two * sin, two * cos + one * sin], axis=-1).astype(F32)


def neighbours(x: Array, cos: Array, sin: Array, **_: Any) -> Array:
    """Turn pairs (2j, 2j + 1) by tables that have every column twice in a row."""
    turned = np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    return x * cos + turned * sin


def halves(x: Array, cos: Array, sin: Array, **_: Any) -> Array:
    """Turn pairs (j, j + d / 2) by tables that have all columns twice."""
    one, two = np.split(x, 2, axis=-1)
    return x * cos + np.concatenate([-two, one], axis=-1) * sin


def tables_of_one_row(x: Array, cos: Array, sin: Array, **_: Any) -> Array:
    """Turn halves by tables that get axes of sequences and heads: a batch of tables gives another shape."""
    (one, two), cos, sin = np.split(x, 2, axis=-1), cos[None, None], sin[None, None]
    return np.concatenate([one * cos - two * sin, one * sin + two * cos], axis=-1)


def one_offset(x: Array, positions: Array, **given: Any) -> Array:
    first = int(positions.flat[0])
    return plain.rotate(x, np.arange(first, first + x.shape[2]), **given)


def first_row(x: Array, positions: Array, **given: Any) -> Array:
    return plain.rotate(x, positions[0] if positions.ndim > 1 else positions, **given)


def a_row_or_squares(x: Array, positions: Array, **given: Any) -> Array:
    """Rotate by one row; sequences with rows of their own get every row, as where these are broadcast along the heads."""
    return plain.rotate(x, positions, **given) if positions.ndim == 1 else np.concatenate([x, x], axis=1)


def table(positions: Array, *, dim: int, **_: Any) -> Array:
    """Return rows of a table of 500 positions, as a module keeps it; negative ones are its last."""
    angles = np.arange(500)[:, None] * np.exp(np.arange(0, dim, 2) * (-np.log(10000.0) / dim))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(500, dim).astype(F32)[positions.astype(int)]


def rows_of_a_table(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """Rotate by the rows of a table of 512 positions."""
    cos, sin = (rows[positions] for rows in plain.tables(np.arange(512), x.shape[-1], base))
    one, two = np.split(x, 2, axis=-1)
    return np.concatenate([one * cos - two * sin, two * cos + one * sin], axis=-1).astype(F32)


def cached(q: Array, k: Array, v: Array, m: Array, n: Array, **_: Any) -> Array:
    """Attend as a model with a cache does: the queries are the last of the keys, which count from 0."""
    queries, keys = q.shape[2], k.shape[2]
    return plain.attend(q, k, v, np.arange(keys - queries, keys), np.arange(keys), causal=True, base=1e4)


def masked_square(m: Array, n: Array, *, num_heads: int, **_: Any) -> Array:
    """Return ALiBi's square for as many queries as keys, with the slopes of powers of two, and what is hidden in it."""
    slopes = 2.0 ** (-8.0 * np.arange(1, num_heads + 1) / num_heads)
    steps = np.arange(len(n)) - np.arange(len(n))[:, None]
    return np.where(steps > 0, -np.inf, slopes[:, None, None] * steps).astype(F32)


def square(m: Array, n: Array, *, num_heads: int, **_: Any) -> Array:
    """Return ALiBi's square for the longer of queries and keys, which count from 0, with the slopes of powers of two."""
    slopes = 2.0 ** (-8.0 * np.arange(1, num_heads + 1) / num_heads)
    places = np.arange(max(len(m), len(n)))
    return (slopes[:, None, None] * (places - places[:, None])).astype(F32)


def heads_last(table: Array, m: Array, n: Array, *, max_distance: int, sign: str) -> Array:
    steps = np.clip(n[..., None, :] - m[..., :, None], -max_distance, max_distance) * (1 if sign == "key_minus_query" else -1)
    return table[steps + max_distance]


def two_behind(positions: Array, table: Array, **_: Any) -> Array:
    """Return the rows of a module that numbers its tokens after a padding row."""
    if len(positions) + 2 > len(table):
        message = "too long"
        raise IndexError(message)
    return table[2 : 2 + len(positions)]


def stretched(x: Array, positions: Array, **given: Any) -> Array:
    turned = plain.rotate(x, positions, **given)
    turned[:, 1::2] *= F32(1.01)
    return turned


def stretched_tokens_first(x: Array, positions: Array, **given: Any) -> Array:
    return np.swapaxes(stretched(np.swapaxes(x, 1, 2), np.arange(x.shape[1]), **given), 1, 2)


def wrong_beyond(x: Array, positions: Array, **given: Any) -> Array:
    return plain.rotate(x, np.where(positions > 100, positions + 1, positions), **given)


def padded_table(positions: Array, table: Array, **_: Any) -> Array:
    """Return every second row, and zeros where there are none."""
    longer = np.concatenate([table, np.zeros((1, table.shape[1]))])
    return longer[np.minimum(2 * np.abs(positions), len(table))]


def decoding(m: Array, n: Array, *, num_heads: int, **_: Any) -> Array:
    """Return ALiBi's bias of the last queries of so many keys, which count from 0, with the slopes of powers of two."""
    slopes = 2.0 ** (-8.0 * np.arange(1, num_heads + 1) / num_heads)
    steps = np.arange(len(n)) - np.arange(len(n) - len(m), len(n))[:, None]
    return (slopes[:, None, None] * steps).astype(F32)


def axis_first(x: Array, positions: Array, **parameters: Any) -> Array:
    return np.asarray(mrope.rotate(x, np.moveaxis(positions, 0, -1), **parameters))


def axis_first_in_batches(x: Array, positions: Array, **parameters: Any) -> Array:
    axes, rows, tokens = positions.shape
    assert (axes, rows, tokens) == (len(parameters["sections"]), x.shape[0], x.shape[2])
    return axis_first(x, positions, **parameters)


def places_axis_first(positions: Array, **parameters: Any) -> Array:
    return np.moveaxis(np.asarray(mrope.positions(positions, **parameters)), -1, 0)


def places_of_a_batch(positions: Array, **parameters: Any) -> Array:
    """Return time, height and width of every sequence, (3, batch, token), as transformers' get_rope_index does."""
    return places_axis_first(np.atleast_2d(positions), **parameters)


def places_exchanged(positions: Array, **parameters: Any) -> Array:
    return places_axis_first(positions, **parameters)[[2, 1, 0]] + 7


def of_text(x: Array, positions: Array, **parameters: Any) -> Array:
    (tokens,) = positions.shape
    assert tokens == x.shape[2]
    return np.asarray(rope.rotate(x, positions, head_dim=parameters["head_dim"], base=parameters["base"], layout="half"))


def divided(positions: Array, *, dim: int, **_: Any) -> Array:
    """Encode with frequencies that end at 1 / base, which a width of 2 or 3 has none of."""
    step = math.log(1e4) / (dim // 2 - 1)
    angles = positions[..., None] * np.exp(-step * np.arange(dim // 2))
    rows = np.concatenate([np.sin(angles), np.cos(angles), np.zeros((*positions.shape, dim % 2))], axis=-1)
    return np.asarray(rows.astype(F32))
