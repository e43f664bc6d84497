"""Functions as newcomers bring them, of which something false was told once, or nothing."""

# ruff: noqa: ANN001, ANN201  code as people write it has no annotations

import numpy as np

#: What Phi-3 multiplies tables by, of 3,000 tokens in training and 131,072 offered.
GROWTH = np.sqrt(1 + np.log(131_072 / 3_000) / np.log(3_000))
LEARNED = np.sin(np.arange(32)) / 4
SHORT, LONG = 1 + np.arange(32) / 64, 1.5 + np.arange(32)


def frequencies(width, base=10_000.0):
    return base ** -(np.arange(0, width, 2) / width)


def turned(x, angles, growth=1.0):
    """Turn pairs (j, j + d/2)."""
    first, second = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angles) * growth, np.sin(angles) * growth
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1).astype(x.dtype)


def by_last_position(x, positions, short_factor, long_factor):
    """Turn by the factors of a sequence that ends with the last position, as Phi-3 does."""
    factors = np.asarray(long_factor if positions.max() + 1 > 3_000 else short_factor)
    return turned(x, positions[:, None] * frequencies(x.shape[-1]) / factors, GROWTH)


def by_length(x, position_ids, short_factor, long_factor, seq_len, original_max_position_embeddings=4096, base=10_000.0):
    factors = np.asarray(long_factor if seq_len > original_max_position_embeddings else short_factor)
    return turned(x, position_ids[..., None] * frequencies(x.shape[-1], base) / factors)


def always_long(x, positions, short_factor, long_factor):
    return one_list(x, positions, long_factor)


def one_list(x, positions, rescale_factors):
    return turned(x, positions[:, None] * frequencies(x.shape[-1]) / np.asarray(rescale_factors))


def tables_of_lists(x, position_ids):
    """Return tables for the dtype of x, by factors that the module has."""
    factors = LONG if position_ids.max() + 1 > 4096 else SHORT
    angles = position_ids[..., None] * frequencies(64) / factors
    both = np.concatenate([angles, angles], axis=-1)
    return np.cos(both).astype(x.dtype), np.sin(both).astype(x.dtype)


def retention(x, positions):
    """Turn as RetNet does, whose slowest pair has the frequency 1 / 10000."""
    return turned(x, positions[:, None] / 10_000.0 ** np.linspace(0, 1, x.shape[-1] // 2))


def apart(rows, columns):
    """Return distances of queries that are the last of the keys."""
    return np.abs(np.arange(columns - rows, columns)[:, None] - np.arange(columns))


def kerple_log(q_len, k_len, r1, r2):
    return -r1[:, None, None] * np.log(1 + r2[:, None, None] * apart(q_len, k_len))


def kerple_power(seq_len_q, seq_len_k, bias_p, bias_a):
    return -bias_a[:, None, None] * apart(seq_len_q, seq_len_k) ** bias_p[:, None, None]


def slowed(rotary_dim, base, scaling_factor):
    """Return frequencies, whose width code calls rotary_dim where all of it turns."""
    return frequencies(rotary_dim, base * scaling_factor ** (rotary_dim / (rotary_dim - 2)))


def slowed_throughout(dim, base, factor):
    return frequencies(dim, base * factor) / factor ** (2 / dim)


def mixed(dim):
    return mixed_by(dim, 10_000.0, 8.0, 0.625)


def mixed_by(dim, base, factor, mixed_b):
    """Return the frequencies of 'NTK-RoPE-mixed', as vLLM writes them."""
    pairs = dim // 2
    return frequencies(dim, base) * np.exp(-np.log(factor) / pairs**mixed_b * np.arange(1, pairs + 1) ** mixed_b)


def mixed_by_half(dim):
    return mixed_by(dim, 500_000.0, 6.0, 0.5)


def tables_of_heads(positions, head_size, rope_theta=10_000.0):
    angles = positions[:, None] * frequencies(head_size, rope_theta)
    return np.cos(angles), np.sin(angles)


def by_sections(x, positions, mrope_section):
    """Turn by time, height and width, the last axis of positions."""
    parts = np.split(positions[..., None] * frequencies(x.shape[-1]), np.cumsum(mrope_section)[:-1], axis=-1)
    time, height, width = (part[..., axis, :] for axis, part in enumerate(parts))
    angles = np.concatenate([time, height, width], axis=-1)
    return turned(x, angles if angles.ndim == 2 else angles[:, None])


def sections_first(x, position_ids, mrope_section):
    """Turn by time, height and width, the first axis of positions, as Qwen does."""
    parts = np.split(position_ids[..., None] * frequencies(x.shape[-1]), np.cumsum(mrope_section)[:-1], axis=-1)
    return turned(x, np.concatenate([part[axis % 3] for axis, part in enumerate(parts)], axis=-1)[:, None])


def sections_inside(x, position_ids):
    return sections_first(x, position_ids, (8, 12, 12))


def after_padding(positions, weight):
    """Read rows as OPT does, two of which belong to no position."""
    return weight[positions + 2]


def eight_heads(x, positions):
    heads = x.reshape(*x.shape[:2], 8, -1).swapaxes(1, 2)
    return turned(heads, positions[:, None] * frequencies(heads.shape[-1])).swapaxes(1, 2).reshape(x.shape)


def twelve_heads(x, positions):
    return turned(x.reshape(x.shape[0], 12, -1, 64), positions[:, None] * frequencies(64))


def heads_of_all(x, positions, num_heads):
    heads = x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)
    return turned(heads, positions[:, None] * frequencies(heads.shape[-1])).swapaxes(1, 2).reshape(x.shape)


ANGLES = np.arange(128)[:, None] * frequencies(64)


def of_one_length(q, k):
    assert q.shape[-2] == k.shape[-2] == len(ANGLES)
    return turned(q, ANGLES), turned(k, ANGLES)


def waves(dim, height, width):
    """Return a table of an image as MAE has it, columns before rows."""
    half = frequencies(dim // 2)
    row, column = (places.ravel()[:, None] * half for places in np.indices((height, width)))
    return np.concatenate([np.sin(column), np.cos(column), np.sin(row), np.cos(row)], axis=1)


def square_of_waves(embed_dim, grid_size):
    return waves(embed_dim, grid_size, grid_size)


def added_to_image(x):
    return x + waves(x.shape[-1], *x.shape[1:3]).reshape(x.shape[1:]).astype(x.dtype)


def added_to_patches(x):
    side = int(np.sqrt(x.shape[1]))
    return x + waves(x.shape[-1], side, side).astype(x.dtype)


def added_to_sides(x, height, width):
    return x + waves(x.shape[-1], height, width).astype(x.dtype)


def turned_image(x):
    """Turn (batch, height, width, head, dim), half of the channels by the row and half by the column."""
    half = frequencies(x.shape[-1] // 2, 100.0)
    row, column = (places[..., None, None] * half for places in np.indices(x.shape[1:3]))
    return np.concatenate([turned(x[..., : 2 * half.size], row), turned(x[..., 2 * half.size :], column)], axis=-1)


def growth_by_hand(x, positions, short_factor, long_factor):
    factors = np.asarray(long_factor if positions.max() + 1 > 3_000 else short_factor)
    return turned(x, positions[:, None] * frequencies(x.shape[-1]) / factors, 1.25)


HALVES = [table(np.arange(2_048)[:, None] * frequencies(64)).astype(np.float16) for table in (np.cos, np.sin)]


def of_half_tables(x, positions):
    first, second = np.split(x, 2, axis=-1)
    cos, sin = (table[positions].astype(np.float32) for table in HALVES)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def fading_both(q, k, offset=0):
    """Turn queries and keys as xPos does, from one offset on."""
    places = np.arange(offset, offset + q.shape[-2])[:, None]
    powers = ((np.arange(0, q.shape[-1], 2) / q.shape[-1] + 0.4) / 1.4) ** (places / 512)
    angles = places * frequencies(q.shape[-1])
    return turned(q, angles, powers), turned(k, angles, 1 / powers)


def log_rows(query_size, key_size):
    """Return DeBERTa's relative positions, near ones as they are and far ones by their logarithm."""
    offset = np.arange(query_size)[:, None] - np.arange(key_size)
    far = np.ceil(np.log(np.maximum(np.abs(offset), 1) / 128) / np.log(511 / 128) * 127) + 128
    return np.where(np.abs(offset) <= 128, offset, np.sign(offset) * far).astype(int)


def bucket_rows(q_len, k_len):
    """Return T5's buckets of all queries and keys."""
    offset = np.arange(k_len) - np.arange(q_len)[:, None]
    away = np.abs(offset)
    far = 8 + (np.log(np.maximum(away, 1) / 8) / np.log(128 / 8) * 8).astype(int)
    return 16 * (offset > 0) + np.where(away < 8, away, np.minimum(far, 15))


def rows_of_lists(n_position, d_hid):
    return [[float(row * column) for column in range(d_hid)] for row in range(n_position)]


def tables_by_name(seq_len, dim):
    angles = np.arange(seq_len)[:, None] * frequencies(dim)
    return {"cos": np.cos(angles), "sin": np.sin(angles)}


def turned_rows_and_columns(x):
    """Turn an image (batch, height, width, dim): its first half by rows, the other by columns."""
    half = x.shape[-1] // 2
    rows, columns = (np.arange(size)[:, None] * frequencies(half) for size in x.shape[1:3])
    return np.concatenate([turned(x[..., :half], rows[:, None]), turned(x[..., half:], columns)], axis=-1)


def turned_by_roots(x):
    """Turn such an image by angles that no frequencies give."""
    half = x.shape[-1] // 2
    rows, columns = (np.sqrt(np.arange(size))[:, None] * frequencies(half) for size in x.shape[1:3])
    return np.concatenate([turned(x[..., :half], rows[:, None]), turned(x[..., half:], columns)], axis=-1)


def bias_of_a_mask(attention_mask, num_heads, dtype):
    """Return Bloom's bias, (batch * head, 1, key)."""
    places = (np.cumsum(attention_mask, axis=-1) - 1) * attention_mask
    slopes = 2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads)
    return (slopes[:, None] * places[:, None, :]).reshape(-1, 1, attention_mask.shape[1]).astype(dtype)


def bias_of_no_mask(num_heads, key_length):
    """Return what the advice for such code says."""
    return bias_of_a_mask(np.ones((1, key_length)), num_heads, np.float32)


def tables_on_three_axes(x, position_ids):
    """Return Qwen3-VL's tables of positions (axis, batch, token)."""
    assert position_ids.ndim == 3
    assert len(position_ids) == 3
    angles = position_ids[..., None] * frequencies(128, 5e6)
    chosen = angles[0].copy()
    for axis in (1, 2):
        chosen[..., axis:60:3] = angles[axis, ..., axis:60:3]
    both = np.concatenate([chosen, chosen], axis=-1)
    return np.cos(both).astype(x.dtype), np.sin(both).astype(x.dtype)


def tables_on_any_axes(x, position_ids):
    """Return the same, also for positions that are those of text."""
    return tables_on_three_axes(x, position_ids if position_ids.ndim == 3 else np.broadcast_to(position_ids, (3, *position_ids.shape)))


def tables_of_every_axis(x, position_ids):
    """Return Qwen2-VL's tables, one for each axis."""
    assert position_ids.ndim == 3
    angles = position_ids[..., None] * frequencies(128)
    both = np.concatenate([angles, angles], axis=-1)
    return np.cos(both).astype(x.dtype), np.sin(both).astype(x.dtype)


def rows_as_wide(inputs, start_index=0, max_wavelength=10_000.0):
    """Return sinusoids for inputs of which only the shape counts, as KerasHub's SinePositionEncoding does."""
    channels = np.arange(inputs.shape[-1])
    positions = start_index + np.arange(inputs.shape[-2])
    angles = positions[:, None] / max_wavelength ** (2 * (channels // 2) / inputs.shape[-1])
    return np.broadcast_to(np.where(channels % 2 == 0, np.sin(angles), np.cos(angles)), inputs.shape)


def last_part(x, positions, rotary_dim=64):
    """Turn the last 64 channels of any head, as latent attention does."""
    passed, turned = np.split(x, [x.shape[-1] - rotary_dim], axis=-1)
    angles = positions[:, None] / 10_000.0 ** (np.arange(0, rotary_dim, 2) / rotary_dim)
    first, second = turned[..., ::2], turned[..., 1::2]
    both = (first * np.cos(angles) - second * np.sin(angles), first * np.sin(angles) + second * np.cos(angles))
    return np.concatenate((passed, np.stack(both, axis=-1).reshape(turned.shape)), axis=-1)


def slowed_side_by_side(positions, rotary_dim=64, base=1_000_000.0, factor=4.0, original_length=32_768):
    """Return YaRN's cosines and sines in one row, as vLLM's cache holds them."""
    turned = [rotary_dim * np.log(original_length / (2 * np.pi * turns)) / (2 * np.log(base)) for turns in (32, 1)]
    low, high = np.floor(turned[0]), np.ceil(turned[1])
    slow = np.clip((np.arange(rotary_dim // 2) - low) / (high - low), 0, 1)
    theta = base ** (-np.arange(0, rotary_dim, 2) / rotary_dim) * (1 - slow + slow / factor)
    angles = positions[:, None] * theta
    return np.concatenate((np.cos(angles), np.sin(angles)), axis=-1) * (0.1 * np.log(factor) + 1)


def learned_exponents(x, positions, alpha, base=500000.0):
    """Turn by RoPE's frequencies times e to learned exponents."""
    return turned(x, positions[:, None] * frequencies(x.shape[-1], base) * np.exp(np.asarray(alpha, dtype=np.float64)))


def learned_beside_yarn(x, position_ids, alpha, base=10000.0, factor=8.0, original_max_position_embeddings=512):
    """Turn by YaRN's frequencies times e to learned exponents, as Mistral Large 4 does."""
    theta = frequencies(x.shape[-1], base)
    turns = original_max_position_embeddings * theta / (2 * np.pi)
    edges = [x.shape[-1] * np.log(original_max_position_embeddings / (n * 2 * np.pi)) / (2 * np.log(base)) for n in (32.0, 1.0)]
    low, high = max(np.floor(edges[0]), 0), min(np.ceil(edges[1]), turns.size * 2 - 1)
    ramp = np.clip((np.arange(turns.size) - low) / (high - low), 0, 1)
    return turned(x, position_ids[..., None] * (theta / factor * ramp + theta * (1 - ramp)) * np.exp(np.asarray(alpha, dtype=np.float64)))


def learned_frequencies(dim, exponents):
    """Return RoPE's frequencies times e to learned exponents."""
    return frequencies(dim) * np.exp(np.asarray(exponents, dtype=np.float64))


def exponents_of_two(x, positions, alpha):
    """Turn by RoPE's frequencies times 2 to an exponent, which no scheme does."""
    return turned(x, positions[:, None] * frequencies(x.shape[-1]) * np.exp2(np.asarray(alpha, dtype=np.float64)))


def exponents_inside(x, positions):
    """Turn by RoPE's frequencies times e to exponents that the module has learned."""
    return turned(x, positions[:, None] * frequencies(64) * np.exp(LEARNED))


def forgetting_its_start(x, past_len=0):
    """Turn every sequence from position 0 on, whatever came before."""
    return turned(x, np.arange(x.shape[-2])[:, None] * frequencies(x.shape[-1]))


def tables_of_a_fixed_head(dim, seq_len):
    """Return tables of heads of 64 channels, whatever is asked for."""
    angles = np.arange(seq_len)[:, None] * frequencies(64)
    return np.cos(angles), np.sin(angles)


def tables_of_divided_positions(dim, seq_len):
    angles = np.arange(seq_len)[:, None] / 4 * frequencies(dim)
    return np.cos(angles), np.sin(angles)


def with_an_odd_sine(max_len, d_model):
    """Return sinusoids in which the sine of an odd width has no cosine, and the exponents are those of the width."""
    rows, angles = np.zeros((max_len, d_model)), np.arange(max_len)[:, None] * frequencies(d_model)
    rows[:, 0::2], rows[:, 1::2] = np.sin(angles), np.cos(angles)[:, : d_model // 2]
    return rows


def turned_by_side(x, height, width):
    rows, columns = (each.reshape(-1, 1) for each in np.mgrid[:height, :width])
    theta = frequencies(x.shape[-1] // 2)
    angles = np.concatenate([rows * theta, columns * theta], axis=-1)
    first, second = x[..., ::2], x[..., 1::2]
    both = first * np.cos(angles) - second * np.sin(angles), second * np.cos(angles) + first * np.sin(angles)
    return np.stack(both, axis=-1).reshape(x.shape).astype(x.dtype)


def steeper_by_half(x, positions):
    """Turn by frequencies whose base is another one for every width."""
    return turned(x, positions[:, None] * frequencies(x.shape[-1], 1e4 * 2 ** (x.shape[-1] / 16)))


def sloped(num_heads, queries, keys, mask):
    distance = keys - queries[:, None]
    return np.where(keys > mask[:, None], -np.inf, 2.0 ** -(8 * np.arange(1, num_heads + 1)[:, None, None] / num_heads) * distance)


def masked_from_the_end(num_heads, q_len, k_len):
    return sloped(num_heads, np.arange(q_len), np.arange(k_len), np.arange(k_len - q_len, k_len))


def masked_from_zero(num_heads, q_len, k_len):
    return sloped(num_heads, np.arange(k_len - q_len, k_len), np.arange(k_len), np.arange(q_len))


def masked_column(num_heads, q_len, k_len):
    return sloped(num_heads, np.zeros(q_len), np.arange(k_len), np.arange(q_len))


def llama_frequencies(head_dim, rope_theta=500_000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, old_context_len=8_192):
    theta = frequencies(head_dim, rope_theta)
    share = np.clip((old_context_len * theta / (2 * np.pi) - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
    return theta * ((1 - share) / factor + share)


def fading(q, k, positions, scale_base=512):
    angles = positions[:, None] * frequencies(q.shape[-1])
    kept = ((np.arange(0, q.shape[-1], 2) + 0.4 * q.shape[-1]) / (1.4 * q.shape[-1])) ** (positions[:, None] / scale_base)
    return turned(q, angles, kept), turned(k, angles, 1 / kept)


def part_of_heads(x, positions, head_dim, rotary_dim):
    head = x.reshape(*x.shape[:-1], -1, head_dim)
    part = turned(head[..., :rotary_dim], positions[..., None, None] * frequencies(rotary_dim))
    return np.concatenate([part, head[..., rotary_dim:]], axis=-1).reshape(x.shape)


def part_of_a_told_head(positions, query, key, head_dim=64, rotary_dim=32):
    """Turn the first channels, as vLLM's layer does that is told how wide a head is."""
    return part_of_heads(query, positions, head_dim, rotary_dim), part_of_heads(key, positions, head_dim, rotary_dim)


def by_lists_of_two_lengths(
    x, position_ids, short_factor, long_factor, seq_len, original_max_position_embeddings=4096, max_position_embeddings=131_072
):
    """Turn as Phi-3 does, whose model says both lengths."""
    factors = np.asarray(long_factor if seq_len > original_max_position_embeddings else short_factor)
    share = max_position_embeddings / original_max_position_embeddings
    growth = np.sqrt(1 + np.log(share) / np.log(original_max_position_embeddings)) if share > 1 else 1.0
    return turned(x, position_ids[..., None] * frequencies(x.shape[-1]) / factors, growth)


def bucketed_past(query_length, key_length, weight, num_buckets=32, max_distance=128):
    """Return T5's bias of a decoder, whose table ends with its buckets."""
    distance = np.maximum(np.arange(key_length - query_length, key_length)[:, None] - np.arange(key_length), 0)
    exact = num_buckets // 2
    far = exact + np.log(np.maximum(distance, 1) / exact) / np.log(max_distance / exact) * (num_buckets - exact)
    return np.moveaxis(weight[np.where(distance < exact, distance, np.minimum(far.astype(int), num_buckets - 1))], -1, 0)


def greatest_powers(q_len, k_len):
    return kerple_power(q_len, k_len, np.array([2.0, 1.9]), np.array([0.01, 0.03]))


def slight_powers(q_len, k_len):
    return kerple_power(q_len, k_len, np.array([1.5, 0.5]), np.array([0.02, 1.0]))


def clipped_indices(length_q, length_k, max_relative_position=16):
    """Return rows of a table that another function reads, as tensor2tensor does."""
    distance = np.arange(length_k) - np.arange(length_q)[:, None]
    return np.clip(distance, -max_relative_position, max_relative_position) + max_relative_position


def clipped_distances(q_len, k_len):
    return np.clip(np.arange(q_len)[:, None] - np.arange(k_len), -3, 8)


def of_sides(dim, height, width):
    """Return rows of places that are divided by the sides of the image, as DETR's."""
    rows, columns = np.divmod(np.arange(height * width), width)
    places = np.stack([(rows + 1) / height, (columns + 1) / width], axis=-1) * 2 * np.pi
    turned = places[..., None] * frequencies(dim // 2)
    return np.stack([np.sin(turned), np.cos(turned)], axis=-1).reshape(len(rows), -1)


def of_kept_tables(q, k, position_ids, seq_len, base=10_000.0):
    """Turn by rows of tables that a call makes for as many positions as it is told, as LLaMA's dynamic NTK does."""
    base *= max(1.0, 2 * seq_len / 2_048 - 1) ** (64 / 62)
    tables = np.arange(seq_len)[:, None] * frequencies(64, base)
    return tuple(turned(x, tables[position_ids][:, None]) for x in (q, k))


def kerple_inside(q_len, k_len):
    """Return KERPLE's bias of learned numbers of many digits, and of one head with few."""
    first, second = (np.array(each, np.float32)[:, None, None] for each in ([0.25, 0.44119075], [1.5, 0.9171178]))
    return -first * np.log1p(second * apart(q_len, k_len).astype(np.float32))
