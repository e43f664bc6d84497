"""Functions as people write and bring them, and the declarations with which each is judged as it is, by kind."""

# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204, ANN205  code as people write it has no annotations

import ctypes
import functools

import numpy as np

from refimpl.schemes import mrope

HALF = {"layout": "half", "direction": "positive"}
PAIRS = {"layout": "interleaved", "direction": "positive"}
PAPER = {"base": 10_000.0, "spacing": "paper", "scale": 1.0, "odd": "error"}
ROW = {"positions": "from_zero", "slopes": "paper", "form": "row", "max_bias": 8.0}
GRID = {"order": "block", "ladder": "own", "sides": (), "base": 10_000.0}
COLUMN = {"call": "f(num_heads, key_tokens)", "positions": "from_zero", "slopes": "paper", "form": "column", "max_bias": 8.0}

ONE_AXIS = {"axes": "(batch head) query key", "rows": "each", "slopes": "paper", "max_bias": 8.0}


def turned(x, cos, sin):
    """Turn pairs (j, j + d/2) by tables with one column for each pair."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1).astype(x.dtype)


def tables(positions, base, width):
    angles = positions[..., None] * base ** -(np.arange(0, width, 2) / width)
    return np.cos(angles), np.sin(angles)


def heads(table):
    return table[:, None] if table.ndim == 3 else table


def by_position(x, positions, base):
    return turned(x, *map(heads, tables(positions, base, x.shape[-1])))


def tiled(x, cos, sin):
    """Turn as models do that hold every column twice."""
    first, second = np.split(x, 2, axis=-1)
    return (x * heads(cos) + np.concatenate([-second, first], axis=-1) * heads(sin)).astype(x.dtype)


def repeated(x, cos, sin):
    crossed = np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    return (x * heads(cos) + crossed * heads(sin)).astype(x.dtype)


def waves(x, freqs_cis):
    product = (x[..., ::2] + 1j * x[..., 1::2]) * heads(freqs_cis)
    return np.stack([product.real, product.imag], axis=-1).reshape(x.shape).astype(x.dtype)


def cached(x, cos_cache, sin_cache, position_ids, interleaved):
    assert interleaved == 0
    assert position_ids.shape == (x.shape[0], x.shape[2])
    assert min(position_ids.strides) > 0  # torch takes no others
    return turned(x, cos_cache[position_ids][:, None], sin_cache[position_ids][:, None])


def cached_row(x, cos_cache, sin_cache, position_ids):
    assert position_ids.shape == (x.shape[2],)
    return turned(x, cos_cache[position_ids], sin_cache[position_ids])


def one_cache(x, cache, position_ids):
    return turned(x, *np.split(cache[position_ids][:, None], 2, axis=-1))


def both(q, k, cos, sin):
    assert cos.ndim == 3
    return tiled(q, cos, sin), tiled(k, cos, sin)


def before_heads(x, positions, theta):
    return by_position(x.swapaxes(1, 2), positions, theta).swapaxes(1, 2)


def tokens_first(q, k, positions, theta):
    def one(x):
        return np.moveaxis(by_position(np.moveaxis(x, 0, 2), positions, theta), 2, 0)

    return one(q), one(k)


def flat(x, positions, head_dim, theta):
    apart = x.reshape(*x.shape[:2], -1, head_dim).swapaxes(1, 2)
    return by_position(apart, positions, theta).swapaxes(1, 2).reshape(x.shape)


def rotary(like, position_ids):
    assert position_ids.ndim == 2
    return [np.concatenate([table, table], axis=-1).astype(like.dtype) for table in tables(position_ids, 10_000.0, 64)]


def of_columns_twice(positions, head_dim, base):
    return [np.concatenate([table, table], axis=-1) for table in tables(positions, base, head_dim)]


def of_columns_once(positions, head_dim, base):
    return tables(positions, base, head_dim)


def of_lengths(num_heads, queries, keys):
    slopes = 2.0 ** (-8.0 * np.arange(1, num_heads + 1) / num_heads)
    return (np.arange(keys)[None, :, None] - np.arange(queries)[:, None, None]) * slopes


def slope_list(num_heads):
    return [2.0 ** (-8.0 * head / num_heads) for head in range(1, num_heads + 1)]


def slopes_to_broadcast(num_heads):
    return np.array(slope_list(num_heads))[None, :, None, None]


def row_for_all_queries(num_heads, keys):
    """Return a bias as attention adds it: of a batch, with one row for all queries."""
    return slopes_to_broadcast(num_heads) * np.arange(keys)


def heads_and_keys(num_heads, keys):
    return row_for_all_queries(num_heads, keys)[0, :, 0]


def sequences_with_heads(queries, keys, num_heads):
    """Return a bias whose sequences and heads lie on one axis, as Bloom and Falcon add it to their logits."""
    slopes = np.array(slope_list(num_heads))[None, :, None, None]
    return (slopes * (keys[:, None, None, :] - queries[:, None, :, None])).reshape(-1, queries.shape[1], keys.shape[1])


def heads_with_sequences(queries, keys, num_heads):
    """Return the same bias with all sequences of a head beside one another."""
    bias = sequences_with_heads(queries, keys, num_heads)
    return bias.reshape(-1, num_heads, *bias.shape[1:]).swapaxes(0, 1).reshape(bias.shape)


def rows_of_sequences(keys, num_heads):
    return sequences_with_heads(np.zeros((len(keys), 1)), keys, num_heads)


def of_a_mask(num_heads, keys):
    return rows_of_sequences(np.cumsum(np.ones((1, keys)), axis=-1) - 1, num_heads)


def of_two_masks(num_heads, keys):
    return rows_of_sequences(np.cumsum(np.ones((2, keys)), axis=-1) - 1, num_heads)


def cached_twice(q, k, cos_cache, sin_cache, position_ids):
    cos, sin = cos_cache[position_ids][:, None], sin_cache[position_ids][:, None]
    return tiled(q, cos, sin), tiled(k, cos, sin)


def both_by_waves(q, k, freqs_cis):
    return waves(q, freqs_cis), waves(k, freqs_cis)


def both_by_position(q, k, position_ids, theta):
    return by_position(q, position_ids, theta), by_position(k, position_ids, theta)


def sinusoids(length, d_model):
    """Return the table that the paper's code registers as a buffer."""
    table = np.zeros((length, d_model))
    table[:, ::2], table[:, 1::2] = np.sin(angles := angles_of(np.arange(length), d_model)), np.cos(angles)
    return table.astype(np.float32)


def angles_of(positions, width):
    return positions[..., None] / 10_000.0 ** (np.arange(0, width, 2) / width)


def timesteps(t, channels):
    angles = angles_of(t, channels)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1).astype(np.float32)


def with_sinusoids(x):
    return (x + sinusoids(x.shape[1], x.shape[2])).astype(x.dtype)


def looked_up(positions, weight):
    return weight[positions]


def bits_of(positions, bits):
    return positions[:, None] >> np.arange(bits) & 1


def offset_only(x, start, base):
    assert isinstance(start, int)
    return by_position(x, start + np.arange(x.shape[2]), base)


def one_sequence(x, positions, base):
    assert x.ndim == 3
    assert positions.shape == x.shape[:1]
    return by_position(x.swapaxes(0, 1), positions, base).swapaxes(0, 1)


def overwritten(positions, query, key, width, cache):
    """Write over what is given, as kernels of servers do: tokens, each with its heads beside one another."""
    table = cache[positions][:, None]
    for x in (query, key):
        heads = x.reshape(len(x), -1, width)
        x[...] = turned(heads, *np.split(table, 2, axis=-1)).reshape(x.shape)


def complex_tables(dim, end, theta):
    cos, sin = tables(np.arange(end), theta, dim)
    return cos + 1j * sin


def by_rows(x, rows, columns):
    near, far = np.split(x, 2, axis=-1)
    return np.concatenate([by_position(near, rows, 10_000.0), by_position(far, columns, 10_000.0)], axis=-1)


def by_places(x, positions):
    return by_rows(x.swapaxes(1, 2), positions[..., 0], positions[..., 1]).swapaxes(1, 2)


def on_grid(x, height, width):
    """Turn patches, which come row by row: the first half by the row, the other by the column."""
    assert x.shape[2] == height * width
    return by_rows(x, np.repeat(np.arange(height), width), np.tile(np.arange(width), height))


def on_grid_xy(x, grid_h, grid_w):
    return by_rows(x, np.tile(np.arange(grid_w), grid_h), np.repeat(np.arange(grid_h), grid_w))


def in_video(x, frames, height, width, axes):
    places = np.indices((frames, height, width)).reshape(3, -1)
    parts = np.split(x, np.cumsum(axes)[:-1], axis=-1)
    return np.concatenate([by_position(part, place, 10_000.0) for part, place in zip(parts, places, strict=True)], axis=-1)


def axis_first(x, positions, **parameters):
    return mrope.rotate(x, np.moveaxis(positions, 0, -1), **parameters)


def equal_halves(axes):
    return len(axes) == 2 and axes[0] == axes[1]


def neighbours(x, cos, sin):
    out = np.empty_like(x)
    out[..., ::2], out[..., 1::2] = x[..., ::2] * cos - x[..., 1::2] * sin, x[..., ::2] * sin + x[..., 1::2] * cos
    return out


def by_matrices(x, cos, sin):
    """Multiply each pair by a matrix of its own, as FLUX does."""
    matrices = np.stack([cos, -sin, sin, cos], axis=-1).reshape(*cos.shape, 2, 2)
    return np.einsum("...ij,...j->...i", matrices, x.reshape(*x.shape[:-1], -1, 2)).reshape(x.shape)


def in_place(x, cos, sin):
    x[...] = turned(x, cos, sin)


def both_with_an_axis(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = np.expand_dims(cos, unsqueeze_dim), np.expand_dims(sin, unsqueeze_dim)
    return tiled(q, cos, sin), tiled(k, cos, sin)


def both_by_halves(q, k, cos, sin):
    return turned(q, heads(cos), heads(sin)), turned(k, heads(cos), heads(sin))


def both_repeated(q, k, cos, sin):
    return repeated(q, cos, sin), repeated(k, cos, sin)


def both_at_once(q, k, cos, sin):
    """Turn the heads of queries and keys beside one another."""
    return np.split(neighbours(np.concatenate([q, k], axis=1), cos, sin), 2, axis=1)


def by_sines_and_cosines(x, sin, cos):
    """Turn as GPT-J does, which repeats its columns itself."""
    return repeated(x, np.repeat(cos, 2, axis=-1), np.repeat(sin, 2, axis=-1))


def of_two_tables(sinusoids, q, k):
    sin, cos = sinusoids
    return turned(q, cos, sin), turned(k, cos, sin)


def waves_of_halves(x, freqs_cis):
    first, second = np.split(x, 2, axis=-1)
    product = (first + 1j * second) * heads(freqs_cis)
    return np.concatenate([product.real, product.imag], axis=-1).astype(x.dtype)


def waves_before_heads(xq, xk, freqs_cis):
    """Turn as Llama's own code does."""
    assert freqs_cis.shape == (xq.shape[1], xq.shape[-1] // 2)
    return [waves(x.swapaxes(1, 2), freqs_cis).swapaxes(1, 2) for x in (xq, xk)]


def cached_by_flag(x, position_ids, cos_cache, sin_cache, interleaved):
    assert interleaved == 1
    return neighbours(x, cos_cache[position_ids][:, None], sin_cache[position_ids][:, None])


def tables_before_heads(x, cos, sin):
    return tiled(x.swapaxes(1, 2), cos, sin).swapaxes(1, 2)


def attention_before_heads(q, k, v, base):
    shared = q.shape[2] // k.shape[2]
    q, k, v = (each.swapaxes(1, 2) for each in (q, k.repeat(shared, axis=2), v.repeat(shared, axis=2)))
    q_turned, k_turned = (by_position(each, np.arange(each.shape[2]), base) for each in (q, k))
    logits = q_turned @ k_turned.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True) @ v).swapaxes(1, 2)


def tokens_first_by_tables(t, cos, sin):
    return turned(t, cos[:, None, None], sin[:, None, None])


def tokens_first_by_waves(x, freqs_cis):
    return waves(x, freqs_cis[:, None, None])


def tokens_first_from(x, offset, base):
    return turned(x, *(table[:, None, None] for table in tables(offset + np.arange(len(x)), base, x.shape[-1])))


def tokens_first_flat(x, positions, head_dim, base):
    apart = x.reshape(*x.shape[:2], -1, head_dim)
    return turned(apart, *(table[:, None, None] for table in tables(positions, base, head_dim))).reshape(x.shape)


def both_from(q, k, start, base):
    return offset_only(q, start, base), offset_only(k, start, base)


def both_at_places(q, k, query_positions, key_positions, base):
    return by_position(q, query_positions, base), by_position(k, key_positions, base)


def both_partly(q, k, positions, rotary_dim, base):
    def one(x):
        return np.concatenate([by_position(x[..., :rotary_dim], positions, base), x[..., rotary_dim:]], axis=-1)

    return one(q), one(k)


def both_by_rows(q, k, rows, columns):
    return by_rows(q, rows, columns), by_rows(k, rows, columns)


def square_of_lengths(num_heads, length):
    return of_lengths(num_heads, length, length).transpose(2, 0, 1)


def causal_of_lengths(num_heads, length):
    """Return a bias with its mask, which attention adds in one step."""
    return np.where(np.tri(length, dtype=bool), -np.abs(square_of_lengths(num_heads, length)), -np.inf)


def clipped_of_lengths(table, queries, keys):
    middle = len(table) // 2
    return np.moveaxis(table[np.clip(np.arange(keys) - np.arange(queries)[:, None], -middle, middle) + middle], -1, 0)


def frequencies(head_dim, base):
    return base ** -(np.arange(0, head_dim, 2) / head_dim)


def slowed(head_dim, base, factor):
    return frequencies(head_dim, base) / factor


def sines_then_cosines(positions, dim, base):
    angles = positions[..., None] / base ** (np.arange(0, dim, 2) / dim)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


def scale_of_llama_4(positions, floor_scale, attn_scale):
    return 1 + attn_scale * np.log1p(np.floor((positions + 1) / floor_scale))


def c(name, result, *given):
    """Call a function of the library in C, which writes to its first argument: arrays are pointers, numbers are int or float."""
    as_it_is = {np.ndarray: lambda array: array.ctypes.data_as(ctypes.c_void_p), int: ctypes.c_int, float: ctypes.c_float}
    result, *given = (np.array(each, order="C") if isinstance(each, np.ndarray) else each for each in (result, *given))
    getattr(ctypes.CDLL("./libbrought.so"), name)(*(as_it_is[type(each)](each) for each in (result, *given)))
    return result


far = functools.partial(by_position, base=500_000.0)


class Rotary:
    """Turns by a base of its own."""

    def __init__(self, base):
        self.base = base

    def __call__(self, x, positions):
        return by_position(x, positions, self.base)

    def turn(self, x, positions):
        return self(x, positions)

    @staticmethod
    def by_base(x, positions, *, base):
        return by_position(x, positions, base)

#: Ways of calling: what people bring, by kind; each with its label and its declaration.
KINDS = {
    "x, cosines and sines": {
        "tiled tables": "'rope.apply', tiled, **HALF, tables='tiled'",
        "repeated tables": "'rope.apply', repeated, **PAIRS, tables='repeated'",
        "halves": "'rope.apply', turned, **HALF, rows='shared'",
        "neighbours": "'rope.apply', neighbours, **PAIRS, rows='shared'",
        "matrices": "'rope.apply', by_matrices, **PAIRS, rows='shared'",
        "overwritten": "'rope.apply', in_place, **HALF, rows='shared', modifies_inputs=True",
    },
    "queries, keys, cosines and sines": {
        "queries and keys": "'rope.apply', both, **HALF, call='f(q, k, cos, sin)', tables='tiled', rows='each'",
        "an axis of heads": "'rope.apply', both_with_an_axis, **HALF, call='f(q, k, cos, sin, unsqueeze_dim=1)', rows='each', "
        "tables='tiled'",
        "half tables": "'rope.apply', both_by_halves, **HALF, call='f(q, k, cos, sin)'",
        "repeated for both": "'rope.apply', both_repeated, **PAIRS, call='f(q, k, cos, sin)', tables='repeated'",
        "heads beside one another": "'rope.apply', both_at_once, **PAIRS, call='f(q, k, cos, sin)', rows='shared'",
    },
    "sines first": {
        "sines first": "'rope.apply', lambda x, sin, cos: tiled(x, cos, sin), **HALF, tables='tiled', call='f(x, sin, cos)'",
        "sines first, pairs": "'rope.apply', by_sines_and_cosines, **PAIRS, call='f(x, sin, cos)'",
        "sines first, both": "'rope.apply', lambda q, k, sin, cos: both(q, k, cos, sin), **HALF, tables='tiled', rows='each', "
        "call='f(q, k, sin, cos)'",
        "sines by name": "'rope.apply', lambda *, x, sin_table, cos_table: neighbours(x, cos_table, sin_table), **PAIRS, rows='shared', "
        "call='f(x=x, sin_table=sin, cos_table=cos)'",
        "sines before all": "'rope.apply', lambda sin, cos, q, k: of_two_tables((sin, cos), q, k), **HALF, rows='shared', "
        "call='f(sin, cos, q, k)'",
    },
    "complex tables": {
        "complex tables": "'rope.apply', waves, **PAIRS, call='f(x, freqs_cis=waves)'",
        "queries and keys by complex tables": "'rope.apply', both_by_waves, **PAIRS, call='f(q, k, freqs_cis=waves)'",
        "complex halves": "'rope.apply', waves_of_halves, **HALF, call='f(x, waves)'",
        "conjugates": "'rope.apply', lambda x, w: waves(x, w.conj()), layout='interleaved', direction='negative', call='f(x, waves)'",
        "Llama's own": "'rope.apply', waves_before_heads, **PAIRS, rows='shared', call='f(q, k, waves)', "
        "axes='batch token head head_dim'",
        "complex results": "'rope.tables', complex_tables, call='f(head_dim, tokens, base)', positions='from_zero'",
    },
    "caches with position ids": {
        "caches": "'rope.apply', cached, **HALF, call='f(x, cos_cache, sin_cache, position_ids, interleaved=0)'",
        "a cache for one row": "'rope.apply', cached_row, **HALF, call='f(x, cos_cache, sin_cache, position_ids)', rows='shared'",
        "one cache": "'rope.apply', one_cache, **HALF, call='f(x, cos_sin_cache, position_ids)'",
        "caches of columns twice": "'rope.apply', cached_twice, **HALF, call='f(q, k, cos_cache, sin_cache, position_ids)', tables='tiled'",
        "ONNX's own order": "'rope.apply', cached_by_flag, **PAIRS, call='f(x, position_ids, cos_cache, sin_cache, interleaved=1)'",
        "a cache in place": "'rope.apply', overwritten, **HALF, call='f(position_ids, q, k, head_dim, cos_sin_cache)', "
        "axes='token (head head_dim)', modifies_inputs=True",
    },
    "batch, token, head, channel": {
        "heads last": "'rope.rotate', before_heads, **HALF, call='f(x, positions, theta=base)', axes='batch token head head_dim'",
        "flat heads": "'rope.rotate', flat, **HALF, call='f(x, positions, head_dim, base)', axes='batch token (head head_dim)'",
        "heads last on two axes": "'axial_rope.rotate', by_places, **HALF, call='f(x, positions)', axes='batch token head head_dim', "
        "**GRID, parameters={'axes': equal_halves}",
        "heads last with tables": "'rope.apply', tables_before_heads, **HALF, tables='tiled', axes='batch token head head_dim'",
        "heads last in attention": "'rope.attend', attention_before_heads, **HALF, causal=False, positions='from_zero', "
        "call='f(q, k, v, base)', axes='batch token head head_dim'",
    },
    "token, batch, head, channel": {
        "tokens first": "'rope.rotate', tokens_first, **HALF, call='f(q, k, positions, base)', axes='token batch head head_dim'",
        "tokens first with tables": "'rope.apply', tokens_first_by_tables, **HALF, rows='shared', axes='token batch head head_dim'",
        "tokens first by complex tables": "'rope.apply', tokens_first_by_waves, **PAIRS, rows='shared', call='f(x, waves)', "
        "axes='token batch head head_dim'",
        "tokens first from an offset": "'rope.rotate', tokens_first_from, **HALF, positions='consecutive', call='f(x, offset, base)', "
        "axes='token batch head head_dim'",
        "tokens first with flat heads": "'rope.rotate', tokens_first_flat, **HALF, rows='shared', call='f(x, positions, head_dim, base)', "
        "axes='token batch (head head_dim)'",
    },
    "queries and keys in one call": {
        "queries and keys by positions": "'rope.rotate', both_by_position, **HALF, call='f(q, k, positions, base)', rows='each'",
        "queries and keys from an offset": "'rope.rotate', both_from, **HALF, call='f(q, k, offset, base)', positions='consecutive'",
        "queries and keys at places of their own": "'rope.rotate_query_key', both_at_places, **HALF",
        "queries and keys in part": "'partial_rope.rotate', both_partly, **HALF, placement='first', "
        "call='f(q, k, positions, rotary_dim, base)'",
        "queries and keys on two axes": "'axial_rope.rotate', both_by_rows, **HALF, call='f(q, k, rows, columns)', **GRID, "
        "axes=equal_halves",
    },
    "a bias of lengths": {
        "lengths": "'alibi.bias', of_lengths, call='f(num_heads, query_tokens, key_tokens)', axes='query key head', "
        "**ROW",
        "a row to broadcast": "'alibi.bias', row_for_all_queries, **COLUMN",
        "one sequence with heads": "'alibi.bias', of_a_mask, **COLUMN",
        "a masked bias": "'alibi.bias', lambda heads, queries, keys: causal_of_lengths(heads, max(queries, keys))[:, :queries, :keys], "
        "call='f(num_heads, query_tokens, key_tokens)', **ROW, masked=True",
        "a clipped bias": "'relative_bias.bias', clipped_of_lengths, call='f(table, query_tokens, key_tokens)', positions='from_zero', "
        "sign='key_minus_query'",
    },
    "only the keywords that it takes": {
        "a base": "'rope.rotate', by_position, **HALF",
        "a width and a base": "'rope.frequencies', frequencies",
        "a factor": "'position_interpolation.frequencies', slowed",
        "a width": "'sinusoidal.encode', sines_then_cosines, spacing='paper', scale=1.0, odd='error', layout='halves'",
        "two scales": "'temperature.scale', scale_of_llama_4, shift=1",
        "a list": "'alibi.slopes', slope_list, slopes='paper', max_bias=8.0",
    },
    "one dtype as text": {
        "a rotation in float32": "'rope.rotate', before_heads, **HALF, call='f(x, positions, theta=base)', "
        "axes='batch token head head_dim', dtypes='float32'",
        "tables in float32": "'rope.tables', of_columns_once, dtypes='float32'",
        "frequencies in float32": "'rope.frequencies', frequencies, dtypes='float32'",
        "time steps": "'sinusoidal.encode', timesteps, **PAPER, call='f(positions, channels=dim)', layout='halves', dtypes='float32'",
        "slopes to broadcast": "'alibi.slopes', slopes_to_broadcast, slopes='paper', max_bias=8.0, dtypes='float32'",
    },
    "without a decorator": {
        "a lambda": "'rope.rotate', lambda x, positions, base: by_position(x, positions, base), **HALF",
        "a partial": "'rope.rotate', far, **HALF, base=500_000.0",
        "an object": "'rope.rotate', Rotary(10_000.0), **HALF, base=10_000.0",
        "a method": "'rope.rotate', Rotary(500_000.0).turn, **HALF, base=500_000.0",
        "a static method": "'rope.rotate', Rotary.by_base, **HALF",
    },
    "other calls": {
        "a table of sinusoids": "'sinusoidal.encode', sinusoids, **PAPER, positions='from_zero', layout='interleaved', "
        "call='f(tokens, dim)'",
        "a sum with sinusoids": "'sinusoidal.add', with_sinusoids, **PAPER, call='f(x)', positions='from_zero', layout='interleaved', "
        "embedding_scale='none'",
        "rows of a table": "'learned.encode', looked_up, call='f(positions, weight=table)', offset=0, outside='raise', lowest=0",
        "bits": "'binary.encode', bits_of, call='f(positions, bits)', lowest=0",
        "no batch": "'rope.rotate', one_sequence, **HALF, axes='token head head_dim'",
        "an offset": "'rope.rotate', offset_only, **HALF, call='f(x, offset, base)', positions='consecutive'",
        "a rotary module": "'rope.tables', rotary, call='f(like, positions)', tables='tiled', rows='each', head_dim=64, base=10_000.0",
        "sequences with heads": "'alibi.bias', sequences_with_heads, **ONE_AXIS, form='row', "
        "call='f(query_positions, key_positions, num_heads)'",
        "rows of sequences with heads": "'alibi.bias', rows_of_sequences, **ONE_AXIS, call='f(key_positions, num_heads)', form='column', "
        "queries='at_end'",
        "rows and columns": "'axial_rope.rotate', by_rows, **HALF, call='f(x, rows, columns)', **GRID, axes=equal_halves",
        "a grid": "'axial_rope.rotate', on_grid, **HALF, call='f(x, height, width)', positions='grid', **GRID, axes=equal_halves",
        "a grid, columns first": "'axial_rope.rotate', on_grid_xy, **HALF, call='f(x, grid_h=height, grid_w=width)', positions='grid_xy', "
        "**GRID, axes=equal_halves",
        "a video": "'axial_rope.rotate', in_video, **HALF, call='f(x, frames, height, width, axes)', positions='grid', order='block', "
        "ladder='own', sides=(), base=10_000.0, axes=[(16, 24, 24)]",
        "the axis of positions first": "'mrope.rotate', axis_first, order='contiguous', axes='axis batch token'",
    },
}
#: Those of torch, whose functions are in ``brought_torch``.
TORCH = {
    "modules": {
        "a rotary module of positions": "'rope.rotate', Rotary(64), **HALF, head_dim=64, base=10_000.0",
        "a module for queries and keys": "'rope.rotate', OfBoth(32), **HALF, call='f(q, k, positions)', head_dim=32, base=10_000.0",
        "a module that makes tables": "'rope.tables', Tables(64), call='f(like, positions)', tables='tiled', rows='each', head_dim=64, "
        "base=10_000.0",
        "a module that adds": "'sinusoidal.add', Encoding(64), **PAPER, call='f(x)', positions='from_zero', layout='interleaved', dim=64, "
        "embedding_scale='none', highest=2_047",
        "a module of a bias": "'alibi.bias', Distances(8), **ROW, call='f(query_tokens, key_tokens)', num_heads=8",
    },
    "modules with a cache": {
        "tables that grow": "'rope.rotate', Growing(64), **HALF, head_dim=64, base=10_000.0, lowest=0, highest=65_535",
        "a table of fixed length": "'rope.rotate', Fixed(64, 4_096), **PAIRS, head_dim=64, base=10_000.0, lowest=0, highest=4_095",
        "tables of every length": "'rope.rotate', OfLengths(64), **HALF, call='f(x)', positions='from_zero', head_dim=64, base=10_000.0",
        "the longest bias": "'alibi.bias', Kept(8), **ROW, call='f(query_tokens, key_tokens)', num_heads=8",
        "rows that are appended": "'sinusoidal.add', Appended(64), **PAPER, call='f(x)', positions='from_zero', layout='halves', dim=64, "
        "embedding_scale='none'",
    },
}
#: Those of a library in C, ``brought.c``.
LIBRARY = {
    "a library in C": {
        "C, in place": "'rope.rotate', lambda x, positions, base: c('rotate', x, positions, *x.shape, base), **PAIRS, rows='shared'",
        "C, with tables": "'rope.apply', lambda x, cos, sin: c('apply', np.empty_like(x), x, cos, sin, *x.shape), **HALF, rows='shared'",
        "C, a bias of lengths": "'alibi.bias', lambda heads, *lengths: c('bias', np.empty((heads, *lengths), np.float32), heads, "
        "*lengths), **ROW, call='f(num_heads, query_tokens, key_tokens)'",
        "C, a table": "'sinusoidal.encode', lambda *sides: c('encode', np.empty(sides, np.float32), *sides), **PAPER, "
        "call='f(tokens, dim)', positions='from_zero', layout='interleaved'",
        "C, frequencies": "'rope.frequencies', lambda width, base: c('frequencies', np.empty(width // 2, np.float32), width, base), "
        "call='f(head_dim, base)'",
    },
}
