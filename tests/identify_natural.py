"""Functions as libraries have them, each of which was once told something false, or nothing."""

# ruff: noqa: ANN001, ANN201, ANN202, FBT002  code as people write it has no annotations

import math

import numpy as np


def half(x):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([-second, first], axis=-1)


def angles(positions, width, base=10_000.0):
    return np.asarray(positions)[..., None] * base ** (-np.arange(0, width, 2) / width)


def fused(x, cos, sin, interleaved=False, seqlen_offsets=0):
    """Turn (batch, token, head, head_dim), by as many rows as it has tokens."""
    assert not interleaved
    cos, sin = (np.concatenate([t[seqlen_offsets : seqlen_offsets + x.shape[1]]] * 2, axis=-1)[:, None] for t in (cos, sin))
    return x * cos + half(x) * sin


def as_wide_as_tables(q, k, cos, sin):
    """Turn as many channels as tables have columns; they hold every pair twice, in a row for each sequence."""
    width = cos.shape[-1]
    cos, sin = cos[:, None], sin[:, None]
    return tuple(np.concatenate([x[..., :width] * cos + half(x[..., :width]) * sin, x[..., width:]], axis=-1) for x in (q, k))


def as_wide_as_x(x, seq_dim=1, seq_len=None):
    """Return sines and cosines for vectors of such a width."""
    turned = angles(np.arange(x.shape[seq_dim] if seq_len is None else seq_len), x.shape[-1])
    return np.sin(turned), np.cos(turned)


def of_so_many_tokens(q, k, seq_len):
    cos, sin = (np.tile(table(angles(np.arange(2048), 64)), 2)[:seq_len] for table in (np.cos, np.sin))
    return tuple((x * cos + half(x) * sin).astype(np.float32) for x in (q, k))


def one_of_so_many_tokens(x, seq_len):
    return of_so_many_tokens(x, x, seq_len)[0]


def side_by_side(max_seq_len, dim, base=10_000):
    turned = angles(np.arange(max_seq_len), dim, base)
    return np.stack([np.cos(turned), np.sin(turned)], axis=-1)


def slowed(dim, base, factor, original, fast=32, slow=1):
    plain = base ** (-np.arange(0, dim, 2) / dim)
    ends = [dim * np.log(original / (turns * 2 * np.pi)) / (2 * np.log(base)) for turns in (fast, slow)]
    low, high = np.floor(ends[0]), np.ceil(ends[1])
    ramp = np.clip((np.arange(dim // 2) - low) / (high - low), 0, 1)
    return plain * (1 - ramp) + plain / factor * ramp


def scaled_tables(seq_len, dim=64, base=10_000.0, factor=40.0):
    """Return YaRN's tables with the quotient of two factors."""
    turned = np.arange(seq_len)[:, None] * slowed(dim, base, factor, 4096)
    grown = (0.1 * np.log(factor) + 1) / (0.0707 * np.log(factor) + 1)
    return np.cos(turned) * grown, np.sin(turned) * grown


def with_a_number(dim, base=10_000.0, factor=4.0, original_max_position_embeddings=4096):
    """Return frequencies and an attention factor."""
    return slowed(dim, base, factor, original_max_position_embeddings), 0.1 * np.log(factor) + 1


def last_of_keys(i, j, heads):
    away = np.abs(np.arange(j)[None] - np.arange(j - i, j)[:, None])
    return -away * (2.0 ** (-8 * np.arange(1, heads + 1) / heads))[:, None, None]


def over_a_mask(tgt_len, heads):
    slopes = (2.0 ** (-8 * np.arange(1, heads + 1) / heads))[:, None, None]
    return np.where(np.tri(tgt_len, dtype=bool), slopes * np.arange(tgt_len), -np.inf)


def below_the_diagonal(seq_len_q, seq_len_k):
    """Return a logarithm of distances that torch.tril cut."""
    away = np.tril(np.arange(seq_len_k)[:, None] - np.arange(seq_len_k)[None])
    return (-np.array([0.5, 1.25])[:, None, None] * np.log1p(np.array([0.25, 0.75])[:, None, None] * away))[:, seq_len_k - seq_len_q :]


def from_an_offset(q, k, seqlen_offset=0):
    """Turn (batch, token, head, head_dim)."""
    turned = angles(seqlen_offset + np.arange(q.shape[1]), q.shape[-1])
    cos, sin = (np.concatenate([each(turned)] * 2, axis=-1)[:, None] for each in (np.cos, np.sin))
    return q * cos + half(q) * sin, k * cos + half(k) * sin


def numbers_of_heads(query_positions, key_positions, steepness, reach):
    away = np.abs(query_positions[:, None] - key_positions[None])
    return -steepness[:, None, None] * np.log1p(reach[:, None, None] * away)


def slowed_where_long(freqs):
    """Slow what turns rarely, as Llama 3 does, with its numbers inside."""
    turns = 8192 * freqs / (2 * np.pi)
    return freqs / 8 + np.clip((turns - 1) / 3, 0, 1) * (freqs - freqs / 8)


def fading_about_the_middle(x, offset=0):
    """Turn and shrink queries as torchscale does, whose exponents are 0 in the middle of the sequence."""
    places = np.arange(offset, offset + x.shape[-2])
    share = 2 * np.arange(x.shape[-1] // 2) / x.shape[-1]
    power = ((share + 0.4) / 1.4) ** ((places - (places[-1] + 1) // 2)[:, None] / 512)
    angles = places[:, None] * 10_000.0**-share
    cos, sin = (np.repeat(power * table, 2, axis=-1) for table in (np.cos(angles), np.sin(angles)))
    return x * cos + np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape) * sin


def yarn_of_growth(x, positions, growth, factor=4.0, original=4096):
    turned = positions[..., None] * slowed(x.shape[-1], 10_000.0, factor, original)
    turned = turned[:, None] if turned.ndim > 2 else turned
    cos, sin = (np.concatenate([growth * table] * 2, axis=-1) for table in (np.cos(turned), np.sin(turned)))
    return (x * cos + half(x) * sin).astype(x.dtype)


def by_half_the_slope(x, positions, factor=4.0):
    return yarn_of_growth(x, positions, 0.05 * np.log(factor) + 1, factor)


def by_a_multiple(x, positions, factor=4.0, attn_factor=0.9):
    """Multiply the attention factor by another, as llama.cpp does."""
    return yarn_of_growth(x, positions, attn_factor * (0.1 * np.log(factor) + 1), factor)


def by_a_multiple_of_one(x, positions, factor=4.0, attn_factor=1.0):
    return by_a_multiple(x, positions, factor, attn_factor)


def by_given_mscales(x, positions, *, factor, original_max_position_embeddings, mscale, mscale_all_dim):
    both = mscale and mscale_all_dim
    first, second = (0.1 * (each if both else 0.0) * np.log(factor) + 1 for each in (mscale, mscale_all_dim))
    growth = first / second if both else 0.1 * np.log(factor) + 1
    return yarn_of_growth(x, positions, growth, factor, original_max_position_embeddings)


def by_one_mscale(x, positions, factor=4.0, original_max_position_embeddings=4096, mscale=0.5):
    return yarn_of_growth(x, positions, 0.1 * mscale * np.log(factor) + 1, factor, original_max_position_embeddings)


def by_a_quotient(x, positions, scaling_factor=40, mscale=0.707, mscale_all_dim=0.5):
    """Grow by the quotient of two growths, as DeepSeek does."""
    first, second = (0.1 * each * np.log(scaling_factor) + 1 for each in (mscale, mscale_all_dim))
    return yarn_of_growth(x, positions, first / second, scaling_factor)


def by_a_quotient_of_one(x, positions, scaling_factor=40, mscale=0.707, mscale_all_dim=0.707):
    return by_a_quotient(x, positions, scaling_factor, mscale, mscale_all_dim)


def by_a_square(x, positions, factor=4.0):
    return yarn_of_growth(x, positions, np.sqrt(1 + np.log(factor) / np.log(4096)), factor)


def by_a_constant(x, positions, factor=4.0):
    return yarn_of_growth(x, positions, 1.25, factor)


def by_an_odd_constant(x, positions, factor=4.0):
    return yarn_of_growth(x, positions, 1 + 0.0707 * np.log(16), factor)


def by_an_odd_constant_in_float32(x, positions, factor=4.0):
    return yarn_of_growth(np.float32(x), positions, np.float32(1 + 0.0707 * np.log(16)), factor).astype(x.dtype)


def added_by_an_odd_scale(x, positions):
    turned = angles(positions, x.shape[-1])
    return x + (0.123456789 * np.concatenate([np.sin(turned), np.cos(turned)], -1)).astype(x.dtype)


def of_any_length(x, positions):
    x = np.asarray(x, np.float64)
    turned = angles(positions, x.shape[-1])
    return 1.23456789 * (x * np.cos(np.tile(turned, 2)) + half(x) * np.sin(np.tile(turned, 2)))


def by_what_is_given(x, positions, factor=4.0, attention_factor=None):
    return yarn_of_growth(x, positions, 0.1 * np.log(factor) + 1 if attention_factor is None else attention_factor, factor)


def after_a_padding_row(x, padding_idx=1):
    """Add sines and cosines of positions from behind the padding's on, as fairseq does."""
    count = x.shape[-1] // 2
    places = np.arange(padding_idx + 1, padding_idx + 1 + x.shape[1])[:, None]
    turned = places * np.exp(-np.log(10_000) / (count - 1) * np.arange(count))
    return (x + np.concatenate([np.sin(turned), np.cos(turned)], axis=-1)).astype(x.dtype)


def bent_below_the_diagonal(query_length, key_length):
    """Return ALiBi's distances, halved from 40 on, that torch.tril cut."""
    back = np.maximum(np.arange(query_length)[:, None] - np.arange(key_length)[None], 0)
    return -(2.0 ** -np.arange(1, 9))[:, None, None] * np.minimum(back, 40 + (back - 40) / 2)


def exponents_of_few_pairs(x, positions):
    """Turn by RoPE's frequencies times e to exponents, most of which are 0."""
    exponents = np.where(np.arange(x.shape[-1] // 2) % 4, 0.0, 0.125)
    turned = positions[:, None] * 10_000.0 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]) * np.exp(exponents)
    cos, sin = (np.concatenate([each(turned)] * 2, axis=-1) for each in (np.cos, np.sin))
    return x * cos + half(x) * sin


def by_timescales(x, min_timescale=1.0, max_timescale=1.0e4):
    """Add sines and cosines as tensor2tensor does."""
    count = x.shape[-1] // 2
    slower = np.log(max_timescale / min_timescale) / max(count - 1, 1)
    turned = np.arange(x.shape[1])[:, None] * min_timescale * np.exp(np.arange(count) * -slower)
    return (x + np.concatenate([np.sin(turned), np.cos(turned)], axis=1)).astype(x.dtype)


def one_further_back(num_heads, seq_len):
    """Return ALiBi's line, one slope lower, as where distances are counted from 1."""
    back = np.arange(seq_len)[:, None] - np.arange(seq_len)[None] + 1
    return -(2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads))[:, None, None] * back


def cosine_before_sine(seq_len, d_model):
    turned = angles(np.arange(seq_len), d_model)
    rows = np.zeros((seq_len, d_model))
    rows[:, 0::2], rows[:, 1::2] = np.cos(turned), np.sin(turned)
    return rows


def square_waves(length, dim):
    period = 2.0 ** (np.arange(dim) + 1)
    return np.where(np.arange(length)[:, None] % period < period / 2, 1.0, -1.0) / np.sqrt(period)


def band_of_another_base(x, positions):
    width, turns = x.shape[-1], np.arange(x.shape[-1] // 2)
    low, high = (width * np.log(32_768 / (2 * np.pi * beta)) / (2 * np.log(10_000.0)) for beta in (32, 1))
    ramp = np.clip((turns - np.floor(low)) / (np.ceil(high) - np.floor(low)), 0, 1)
    slowed = 1e6 ** (-2 * turns / width) * (1 - ramp + ramp / 4)
    waves = (0.1 * np.log(4) + 1) * np.exp(1j * positions[:, None] * slowed)
    turned = (x[..., : width // 2] + 1j * x[..., width // 2 :]) * waves
    return np.concatenate([turned.real, turned.imag], axis=-1)


def placed_by_keyword(x, *, input_pos=None):
    width = x.shape[-1]
    places = np.arange(x.shape[1]) if input_pos is None else input_pos
    waves = np.exp(1j * places[..., None, None] * 10_000.0 ** (-2 * np.arange(width // 2) / width))
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * waves
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


def exponents_by_channel(positions, dim=64):
    angles = positions[:, None] * 10_000.0 ** (-np.arange(dim) / dim)
    return np.where(np.arange(dim) % 2, np.cos(angles), np.sin(angles))


def rows_of_their_own(position_ids):
    return np.random.default_rng(1).standard_normal((514, 64))[np.asarray(position_ids) + 2]


def pairs_from_one(x, positions, base=10_000.0):
    turned = positions[:, None] * base ** (-2 * np.arange(1, x.shape[-1] // 2 + 1) / x.shape[-1])
    cos, sin = (np.concatenate([each(turned)] * 2, axis=-1) for each in (np.cos, np.sin))
    return (x * cos + half(x) * sin).astype(x.dtype)


def last_of_a_length(q, k, seq_len):
    """Turn by the last positions of a sequence that is so long."""
    turned = angles(np.arange(seq_len)[-q.shape[2] :], 64)
    cos, sin = (np.concatenate([each(turned)] * 2, axis=-1) for each in (np.cos, np.sin))
    return q * cos + half(q) * sin, k * cos + half(k) * sin


def keys_taken_first(k, q, cos, sin):
    return q * cos + half(q) * sin, k * cos + half(k) * sin


def keys_first(k, q, cos, sin):
    return k * cos + half(k) * sin, q * cos + half(q) * sin


def fading_keys_first(k, q, positions):
    """Turn by xPos: queries grow, keys shrink."""
    exponents = np.arange(0, q.shape[-1], 2) / q.shape[-1]
    waves = np.exp(1j * angles(positions, q.shape[-1]))
    sizes = ((exponents + 0.4) / 1.4) ** (np.asarray(positions)[:, None] / 512)

    def turned(x, sizes):
        z = (x[..., ::2] + 1j * x[..., 1::2]) * waves * sizes
        return np.stack([z.real, z.imag], -1).reshape(x.shape).astype(x.dtype)

    return turned(k, 1 / sizes), turned(q, sizes)


def fading_keys_back_first(q, k, positions):
    return fading_keys_first(k, q, positions)


def by_pos_ids(q, k, pos_ids, theta=500_000.0):
    turned = np.tile(angles(pos_ids, q.shape[-1], theta), 2)
    return tuple((x * np.cos(turned) + half(x) * np.sin(turned)).astype(x.dtype) for x in (q, k))


def keys_first_by_where(k, q, where):
    return by_pos_ids(k, q, where)


def by_tables_of_tokens_first(q, k, cos, sin, offset=0):
    """Turn (token, batch, head, head_dim) by tables of as many axes, as GPT-NeoX does."""
    cos, sin = (table[offset : offset + q.shape[0]] for table in (cos, sin))
    return q * cos + half(q) * sin, k * cos + half(k) * sin


def further_is_more(query_length, key_length):
    back = np.arange(query_length)[:, None] - np.arange(key_length)
    return np.clip(back, -131, 131)[None] * np.array([1.0, 3.0])[:, None, None]


def further_keys_are_alike(query_length, key_length):
    back = np.arange(query_length)[:, None] - np.minimum(np.arange(key_length), 131)
    return back[None] * np.array([1.0, 3.0])[:, None, None]


def learned_of_the_share(seq_length, least=512):
    """Return what FIRE learns of the logarithm of a distance over that of the query's position, where this is large."""
    places = np.arange(seq_length)
    back = np.log1p(0.1 * np.maximum(places[:, None] - places, 0)) / np.log1p(0.1 * np.maximum(places, least))[:, None]
    return np.tanh(back * np.array([3.0, -2.0])[:, None, None]) + 0.1 * back


def as_given(x, turned):
    return x * np.cos(turned) + half(x) * np.sin(turned)


def by_angles_of_tokens_first(t, freqs):
    """Turn (token, batch, head, head_dim) by angles of shape (token, 1, 1, dim), as Megatron-LM does."""
    assert freqs.shape == (t.shape[0], 1, 1, t.shape[-1])
    return as_given(t, freqs)


def by_angles_of_pairs(x, freqs):
    return as_given(x, np.concatenate([freqs, freqs], axis=-1))


def by_tables_of_four_axes(q, k, cos, sin):
    """Turn (token, batch, head, head_dim) by tables of shape (token, 1, 1, dim)."""
    assert cos.shape == (q.shape[0], 1, 1, q.shape[-1])
    return q * cos + half(q) * sin, k * cos + half(k) * sin


def base_by_farthest(x, position_ids, scaling=2.0, max_pos=2048):
    """Turn by a base that rises with the last position, as InternLM does."""
    width, length = x.shape[-1], int(position_ids.max()) + 1
    grown = max(1.0, scaling * length / max_pos - (scaling - 1)) ** (width / (width - 2))
    return as_given(x, np.concatenate([angles(position_ids, width, 10_000.0 * grown)] * 2, axis=-1))


def waves_from_one(positions, dim):
    turned = np.asarray(positions)[:, None] * 10_000.0 ** (-2 * np.arange(1, dim // 2 + 1) / dim)
    return np.concatenate([np.sin(turned), np.cos(turned)], axis=-1)


def waves_to_both_ends(positions, dim):
    """Return waves from 1 to 1 / 10000, both included: with one pair that divides by 0."""
    pairs = dim // 2
    turned = np.asarray(positions)[:, None] * np.exp(-np.arange(pairs) * (math.log(1e4) / (pairs - 1)))
    return np.concatenate([np.sin(turned), np.cos(turned)], axis=-1)


def log_below_the_diagonal(bias_p, bias_a, seq_len):
    back = np.tril(np.arange(seq_len)[:, None] - np.arange(seq_len))
    return -bias_p[:, None, None] * np.log(1 + bias_a[:, None, None] * back)


LOGARITHMS = np.array([math.log(place, 2048) if place > 2048 else 1.0 for place in range(1, 32_768)])


def from_a_list_of_logarithms(positions):
    return LOGARITHMS[positions]


def column_first(q, k, height, width):
    """Turn by columns, then rows, as Segment Anything 2 does."""
    row, column = np.divmod(np.arange(height * width), width)
    waves = np.exp(1j * np.concatenate([angles(column, q.shape[-1] // 2), angles(row, q.shape[-1] // 2)], axis=-1))
    turned = ((x[..., 0::2] + 1j * x[..., 1::2]) * waves for x in (q, k))
    return tuple(np.stack([x.real, x.imag], axis=-1).reshape(q.shape) for x in turned)


def of_a_video(x, frames, height, width):
    assert x.shape[-2] == frames * height * width
    return x


def rows_of_caches(q, k, cos, sin, position_ids):
    return tuple(x * cos[position_ids][:, None] + half(x) * sin[position_ids][:, None] for x in (q, k))


def ramp_turned_round(x, positions):
    plain, width = 1e4 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]), x.shape[-1]
    return by_angles_of_pairs(x, positions[:, None] * (plain + plain / 8 - slowed(width, 1e4, 8.0, 4096)))


def by_a_number_of_channels(x, pos, n_dims=64, freq_base=10_000.0):
    """Turn so many channels, however wide a head is, as ggml does."""
    turned = angles(pos, n_dims, freq_base)
    cos, sin = (np.concatenate([table] * 2, axis=-1) for table in (np.cos(turned), np.sin(turned)))
    first, rest = x[..., :n_dims], x[..., n_dims:]
    return np.concatenate([first * cos + half(first) * sin, rest], axis=-1)


def by_a_part_of_divided_positions(x, positions):
    """Turn half of a head at a quarter of the position, as code by lucidrains does."""
    turned = angles(np.asarray(positions) / 4, 32)
    cos, sin = (np.repeat(table, 2, axis=-1) for table in (np.cos(turned), np.sin(turned)))
    first = x[..., :32]
    across = np.stack([-first[..., 1::2], first[..., 0::2]], axis=-1).reshape(first.shape)
    return np.concatenate([first * cos + across * sin, x[..., 32:]], axis=-1)


def exponents_by_pair(x, positions, base=10_000.0):
    """Turn by exponents that are half of the usual ones."""
    return turned_by(x, angles(positions, x.shape[-1], base**0.5))


def turned_by(x, turned):
    cos, sin = (np.concatenate([table] * 2, axis=-1) for table in (np.cos(turned), np.sin(turned)))
    return x * cos + half(x) * sin


def offsets_as_one_hot(residue_index, max_relative_idx=32):
    """Return the class of every offset, as AlphaFold does."""
    offsets = residue_index[:, None] - residue_index[None, :]
    return np.eye(2 * max_relative_idx + 1)[np.clip(offsets + max_relative_idx, 0, 2 * max_relative_idx)]


def class_of_a_position(positions):
    return np.eye(64)[np.clip(np.asarray(positions, dtype=int), 0, 63)]


def alike_everywhere(positions):
    return np.ones((len(positions), 8)) / 3


def decay_of_the_past(num_heads, seq_len):
    """Return RetNet's factors, 0 for later keys."""
    back = np.arange(seq_len)[:, None] - np.arange(seq_len)
    rates = np.log(1 - 2.0 ** (-5 - np.arange(num_heads)))
    return np.where(back >= 0, np.exp(rates[:, None, None] * back), 0.0)


def by_sequence_lengths(q_sequence_length, k_sequence_length, num_heads):
    """Return ALiBi as MLX does."""
    away = np.abs(np.arange(q_sequence_length)[:, None] - np.arange(k_sequence_length))
    return -(2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads))[:, None, None] * away


def table_of_a_video(embed_dim, grid_size, grid_depth):
    frames, rows, columns = (axis.ravel() for axis in np.indices((grid_depth, grid_size, grid_size)))
    return np.concatenate([np.sin(angles(each, embed_dim // 2)) for each in (frames, rows, columns, rows)], axis=-1)


def logarithm_of_heads(positions):
    slopes, biases = np.array([[0.1], [0.2], [0.4]]), np.array([[1.0], [0.5], [2.0]])
    return (slopes * np.log(1 + positions) + biases).astype(np.float32)


def logarithm_by_one_number(positions):
    return (0.37 * np.log(1 + positions) + 0.81).astype(np.float32)


LEARNED = 0.1 + np.random.default_rng(0).random((2, 32))


def by_both_axes(x, positions):
    """Turn every pair by both axes at once, by frequencies that were learned."""
    turned = np.tile(positions[:, :1] * LEARNED[0] + positions[:, 1:] * LEARNED[1], 2)
    return (x * np.cos(turned) + half(x) * np.sin(turned)).astype(np.float32)


def by_each_axis(x, positions):
    """Turn half of the pairs by each axis, by frequencies that were learned."""
    turned = np.tile(np.concatenate([positions[:, :1] * LEARNED[0, :16], positions[:, 1:] * LEARNED[1, :16]], axis=-1), 2)
    return (x * np.cos(turned) + half(x) * np.sin(turned)).astype(np.float32)
