"""Functions in the styles of real code bases, of which ``posenc identify`` once said something false, or nothing."""

# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204  code as people write it has no annotations

import numpy as np

RATES, POWERS = np.array([0.5, 1.25, 2.0, 0.125]), np.array([1.5, 0.75, 0.3, 1.0])
ROWS = np.random.default_rng(7).normal(size=(32, 6))


def frequencies(width, base=10_000.0):
    return base ** (-2 * np.arange(width // 2) / width)


def halves(x, angle, size=1.0):
    first, second = np.split(x, 2, axis=-1)
    cos, sin = size * np.cos(angle), size * np.sin(angle)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1).astype(x.dtype)


def neighbours(x, angle, size=1.0):
    first, second, cos, sin = x[..., ::2], x[..., 1::2], size * np.cos(angle), size * np.sin(angle)
    return np.stack([first * cos - second * sin, first * sin + second * cos], axis=-1).reshape(x.shape).astype(x.dtype)


def away(rows, columns):
    return np.abs(np.arange(rows)[:, None] - np.arange(columns)).astype(float)


def later(rows, columns):
    return np.arange(columns) > np.arange(rows)[:, None]


def logarithmic(q_pos, k_pos):
    distance = np.abs(q_pos[:, None] - k_pos).astype(float)
    return -RATES[:, None, None] * np.log1p(POWERS[:, None, None] * distance)


def powers(query_length, key_length):
    return -RATES[:, None, None] * away(query_length, key_length) ** POWERS[:, None, None]


def logarithmic_masked(seq_len):
    bias = -RATES[:, None, None] * np.log1p(POWERS[:, None, None] * away(seq_len, seq_len))
    return np.where(later(seq_len, seq_len), -np.inf, bias)


def bell(query_positions, key_positions):
    return 1 / (1 + (query_positions[:, None] - key_positions) ** 2 / 50.0)[None] * POWERS[:, None, None]


def bent(distance, at):
    return np.where(distance > at, at + (distance - at) / 2, distance)


def alibi_bent_at_40(num_heads, q_len, k_len):
    return -(2.0 ** (-8.0 * np.arange(1, num_heads + 1) / num_heads))[:, None, None] * bent(away(q_len, k_len), 40)


def slopes_bent_at_400(q_len, k_len):
    return -RATES[:, None, None] * bent(away(q_len, k_len), 400)


def kerple_bent_at_40(q_pos, k_pos, first, second):
    distance = bent(np.abs(q_pos[:, None] - k_pos).astype(float), 40)
    return -first[:, None, None] * np.log1p(second[:, None, None] * distance)


def kerple_inside_bent_at_128(q_len, k_len):
    return -RATES[:, None, None] * np.log1p(POWERS[:, None, None] * bent(away(q_len, k_len), 128))


def past_bucket(rows, columns):
    back = np.maximum(np.arange(rows)[:, None] - np.arange(columns), 0)
    level = 16 + (np.log(np.maximum(back, 1) / 16) / np.log(128 / 16) * 16).astype(int)
    return np.where(back < 16, back, np.minimum(31, level))


def decoder_bias(query_length, key_length, table):
    return table[past_bucket(query_length, key_length)].transpose(2, 0, 1)[None]


def decoder_bias_masked(seq_len, table):
    bias = table[past_bucket(seq_len, seq_len)].transpose(2, 0, 1)
    return np.where(later(seq_len, seq_len), -np.inf, bias)


def decoder_bias_inside(query_length, key_length):
    return decoder_bias(query_length, key_length, ROWS)


def heads_of_the_tokens(m, n):
    return away(m, n)[None] * np.ones((m, 1, 1))


def masked_only(seq_len):
    return np.where(later(seq_len, seq_len), -np.inf, 0.0)


def window(seq_len):
    distance = np.arange(seq_len)[:, None] - np.arange(seq_len)
    return np.where((distance >= 0) & (distance < 8), 0.0, -np.inf)


def shares(logits):
    powers_ = np.exp(logits - logits.max(-1, keepdims=True))
    return powers_ / powers_.sum(-1, keepdims=True)


def scores(q, k, positions):
    angle = positions[:, None] * frequencies(q.shape[-1])
    return halves(q, angle) @ np.swapaxes(halves(k, angle), -1, -2) / np.sqrt(q.shape[-1])


def attention(q, k, v):
    return (shares(scores(q, k, np.arange(q.shape[-2]))) @ v).astype(v.dtype)


def plain_attention(q, k, v):
    return (shares(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v).astype(v.dtype)


def steeper_attention(q, k, v):
    return (shares(q @ np.swapaxes(k, -1, -2) * 0.3 - away(q.shape[-2], k.shape[-2]) ** 2) @ v).astype(v.dtype)


def decaying(x, positions):
    pair = 2 * np.arange(x.shape[-1] // 2) / x.shape[-1]
    return neighbours(x, positions[:, None] * frequencies(x.shape[-1]), ((pair + 0.5) / 1.5) ** (positions[:, None] / 512))


def fading(x, positions, sign=1.0):
    size = ((2 * np.arange(x.shape[-1] // 2) / x.shape[-1] + 0.4) / 1.4) ** (sign * positions[:, None] / 512)
    return neighbours(x, positions[:, None] * frequencies(x.shape[-1]), size)


def growing(x, positions):
    return fading(x, positions, -1.0)


def of_so_many_rows(x, positions):
    return halves(x, np.arange(300_000)[positions][:, None] * frequencies(x.shape[-1]))


def middle_channels(x, positions):
    quarter = x.shape[-1] // 4
    turned = halves(x[..., quarter:-quarter], positions[:, None] * frequencies(x.shape[-1] - 2 * quarter))
    return np.concatenate([x[..., :quarter], turned, x[..., -quarter:]], axis=-1)


def louder(x, positions):
    return x * np.log1p(positions)[:, None]


def roots(x):
    with np.errstate(invalid="ignore"):
        return np.sqrt(x)


def running_mean(x):
    return np.cumsum(x, axis=-2) / np.arange(1, x.shape[-2] + 1)[:, None]


def tokens_first(x):
    return halves(x, np.arange(x.shape[0])[:, None, None, None] * frequencies(x.shape[-1]))


def tokens_first_at(x, positions):
    return halves(x, positions[:, None, None, None] * frequencies(x.shape[-1]))


def tables_of_both(q, k, cos, sin):
    def turned(x):
        first, second = np.split(x, 2, axis=-1)
        return x * cos[:, None] + np.concatenate([-second, first], axis=-1) * sin[:, None]

    return turned(q), turned(k)


def waves_of_both(xq, xk, freqs_cis):
    def turned(x):
        pairs = x.astype(float).reshape(*x.shape[:-1], -1, 2)
        wave = (pairs[..., 0] + 1j * pairs[..., 1]) * freqs_cis.reshape(1, x.shape[1], 1, -1)
        return np.stack([wave.real, wave.imag], axis=-1).reshape(x.shape).astype(x.dtype)

    return turned(xq), turned(xk)


def unnamed(stuff):
    return 0.5 * stuff


def usual_frequencies(dim=64, theta=10_000.0):
    return frequencies(dim, theta)


def by_angles(x, phases):
    return neighbours(x, phases[..., None])


def fused(qkv, cos, sin):
    query, key, value = np.moveaxis(qkv, 2, 0)
    return query * cos, key * sin, value


def on_sides(x, height, width):
    return halves(x, np.repeat(np.arange(height), width)[:, None] * frequencies(x.shape[-1]))


def axis_first(q, k, position_ids, mrope_section=(8, 12, 12)):
    time, row, column = position_ids
    return q * time * row * column, k * mrope_section


def one_of_tokens(positions, query):
    angle = np.reshape(positions, (-1, 1, 1)) * frequencies(64)
    return halves(query.reshape(angle.shape[0], -1, 64), angle).reshape(query.shape)


class Module:
    """What hands all on to ``forward``, as modules do."""

    def __call__(self, *arguments, **keywords):
        return self.forward(*arguments, **keywords)

    def forward(self, q, k, position_ids):
        angle = np.asarray(position_ids)[:, None] * frequencies(q.shape[-1], 1e6)
        return halves(q, angle), halves(k, angle)


module = Module()


def slopes_of(num_heads):
    whole = 2 ** int(np.log2(num_heads))
    odd = 2.0 ** (-4 * np.arange(1, 2 * (num_heads - whole), 2) / whole)
    return np.concatenate([2.0 ** (-8 * np.arange(1, whole + 1) / whole), odd])


def steeper(num_heads, sequence_length):
    return slopes_of(num_heads)[:, None, None] * np.arange(1 - sequence_length, 1)


def coarse(positions):
    """Return positions as bfloat16 rounds them."""
    bits = np.asarray(positions, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(float)


def coarse_rope(x, positions):
    return halves(x, coarse(positions)[:, None] * frequencies(x.shape[-1]))


def coarse_angles(x, positions):
    return halves(x, coarse(coarse(positions)[:, None] * coarse(frequencies(x.shape[-1]))))


def coarse_angles_of_distances(x, positions):
    return coarse_angles(x, np.abs(positions))


def coarse_angles_of_whole_positions(x, positions):
    return coarse_angles(x, np.floor(positions))


def coarse_waves(positions):
    angle = coarse(positions)[:, None] * frequencies(64)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)


def waves(angle):
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(len(angle), -1)


def to_the_end(positions, dim):
    return waves(positions[:, None] * 1e4 ** (-np.arange(dim // 2) / max(1, dim // 2 - 1)))


def odd_base(positions):
    return waves(positions[:, None] * frequencies(64, 7777.0))


def small_waves(positions):
    return 64**-0.5 * waves(positions[:, None] * frequencies(64))


def smaller_waves(positions, dim):
    return dim**-0.5 * waves(positions[:, None] * frequencies(dim))


def padded_waves(timesteps, dim, max_period=10_000.0):
    angle = timesteps[:, None] * max_period ** (-np.arange(dim // 2) / (dim // 2))
    return np.pad(np.concatenate([np.cos(angle), np.sin(angle)], axis=-1), [(0, 0), (0, dim % 2)])


def waves_of_squares(positions):
    return waves(np.asarray(positions, dtype=float)[:, None] ** 2 * frequencies(64))


def drawn_waves(positions):
    return waves(positions[:, None] * np.random.default_rng(2).normal(size=16))


def dynamic(x, positions):
    width, length = x.shape[-1], x.shape[-2]
    stretched = max(1.0, 4 * length / 2048 - 3) ** (width / (width - 2))
    return halves(x, positions[:, None] * frequencies(width, 1e4 * stretched))


def by_last_position(x, positions, factor=4.0):
    width, length = x.shape[-1], positions.max() + 1
    stretched = max(1.0, factor * length / 2048 - factor + 1) ** (width / (width - 2))
    return halves(x, positions[:, None] * frequencies(width, 1e4 * stretched))


def by_length_or_last_position(x, positions, *, length=None):
    width, length = x.shape[-1], positions.max() + 1 if length is None else length
    stretched = max(1.0, 4 * length / 2048 - 3) ** (width / (width - 2))
    return halves(x, positions[:, None] * frequencies(width, 1e4 * stretched))


def by_length_and_settings(x, positions, length, factor=4.0, original_length=2048):
    width = x.shape[-1]
    stretched = max(1.0, factor * length / original_length - factor + 1) ** (width / (width - 2))
    return halves(x, positions[:, None] * frequencies(width, 1e4 * stretched))


def ntk_by_alpha(x, positions, alpha=8, base=10_000.0):
    width = x.shape[-1]
    return halves(x, positions[:, None] * frequencies(width, base * alpha ** (width / (width - 2))))


def ntk_by_required_alpha(x, positions, alpha):
    return ntk_by_alpha(x, positions, alpha)


def alpha_that_counts_for_nothing(x, positions, alpha=8):
    return halves(x, positions[:, None] * frequencies(x.shape[-1]))


def odd_slopes(num_heads):
    return 2.0 ** (-7.3 * np.arange(1, num_heads + 1) / num_heads)


def wide_heads(x, positions):
    if x.shape[-1] != 512:
        message = f"head_dim must be 512, got {x.shape[-1]}"
        raise ValueError(message)
    return halves(x, positions[:, None] * frequencies(512))


def raised_frequencies(dim, scale=4.0):
    return frequencies(dim, 10_000.0 * scale ** (dim / (dim - 2)))


def wrongly_raised_frequencies(dim, scale=4.0):
    return frequencies(dim, 10_000.0 * scale ** ((dim - 2) / dim))


def frequencies_of_a_quarter(dim):
    return np.concatenate([frequencies(dim, 1e6)[: dim // 8], np.zeros(dim // 2 - dim // 8)])


def long_base(x, positions):
    return neighbours(x, positions[:, None] * frequencies(x.shape[-1], 12345.678))


def on_a_grid(x, positions):
    half = x.shape[-1] // 2
    parts = [neighbours(x[..., axis * half :][..., :half], positions[..., axis, None] * frequencies(half)) for axis in range(2)]
    return np.concatenate(parts, axis=-1)


def on_a_grid_from_one(x, positions):
    if positions.min() < 1:
        message = "rows and columns must count from 1"
        raise ValueError(message)
    return on_a_grid(x, positions)


def on_a_grid_tokens_first(x, positions):
    pairs = [positions[..., axis, None] * frequencies(x.shape[-1] // 2, 100.0) for axis in range(2)]
    return halves(x, np.concatenate(pairs, axis=-1)[:, None, None])


def on_a_grid_in_turns(x, positions):
    theta = frequencies(x.shape[-1])
    return halves(x, np.concatenate([positions[..., axis, None] * theta[axis::2] for axis in range(2)], axis=-1))


def on_a_grid_tiled(x, positions):
    parts = []
    for part, places in zip(np.split(x, positions.shape[-1], axis=-1), np.moveaxis(positions, -1, 0), strict=True):
        angle = np.tile(places[..., None] * frequencies(part.shape[-1]), 2)
        swapped = np.stack([-part[..., 1::2], part[..., 0::2]], axis=-1).reshape(part.shape)
        parts.append(part * np.cos(angle) + swapped * np.sin(angle))
    return np.concatenate(parts, axis=-1)


def heads_last(x, position_ids, theta=10_000.0):
    return halves(x, position_ids[:, None, None] * frequencies(x.shape[-1], theta))


def heads_last_by_tables(q, k, cos, sin):
    def turned(x):
        first, second = np.split(x, 2, axis=-1)
        return (x * cos[:, :, None] + np.concatenate([-second, first], axis=-1) * sin[:, :, None]).astype(x.dtype)

    return turned(q), turned(k)


def neighbours_by_tables(x, *, sin, cos):
    crossed = np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    return (x * cos + crossed * sin).astype(x.dtype)


def of_one_axis(x, positions):
    if x.ndim != 3:
        message = "x must have three axes"
        raise ValueError(message)
    return halves(x, positions[:, None] * frequencies(x.shape[-1]))


def apart(q, k, q_pos, k_pos):
    return tokens_first_at(q, q_pos), tokens_first_at(k, k_pos)


def heads_of_a_bias_last(num_heads, query_length, key_length):
    offsets = np.arange(key_length) - np.arange(query_length)[:, None]
    return offsets[..., None] * slopes_of(num_heads)


def neighbours_of_tables(seq_len, dim, theta=10_000.0):
    angle = np.repeat(np.arange(seq_len)[:, None] * frequencies(dim, theta), 2, axis=1)
    return np.cos(angle), np.sin(angle)


def contiguous_only(x, positions):
    if not x.flags.c_contiguous:
        message = "x must be contiguous"
        raise ValueError(message)
    return halves(x, positions[:, None] * frequencies(x.shape[-1]))


def by_memory(x, positions):
    """Read x as it lies in memory, as a kernel does that looks at no strides."""
    return halves(x.ravel(order="K").reshape(x.shape), positions[:, None] * frequencies(x.shape[-1]))


def heads_last_by_shared_tables(x, cos, sin):
    first, second = np.split(x, 2, axis=-1)
    turned = np.concatenate([-second, first], axis=-1)
    return (x * cos[None, :, None, :] + turned * sin[None, :, None, :]).astype(x.dtype)


def tables_and_places(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):
    def turned(x):
        first, second = np.split(x, 2, axis=-1)
        crossed = np.concatenate([-second, first], axis=-1)
        return (x * np.expand_dims(cos, unsqueeze_dim) + crossed * np.expand_dims(sin, unsqueeze_dim)).astype(x.dtype)

    return turned(q), turned(k)


def neighbours_in_memory(x, positions):
    """Turn pairs that must lie side by side in memory, as numbers do that are viewed as complex ones."""
    if x.strides[-1] != x.itemsize:
        message = "the last axis must have stride 1"
        raise ValueError(message)
    return neighbours(x, positions[:, None] * frequencies(x.shape[-1]))


def rows_after_padding(positions):
    """Look rows up behind a row of zeros, as fairseq does."""
    table = np.arange(1026)[:, None] * 1e4 ** (-np.arange(16) / 15)
    table = np.concatenate([np.sin(table), np.cos(table)], axis=1)
    table[1] = 0.0
    return table[positions + 2]


def rows_after_padding_made_anew(positions):
    """Make as many rows as a call needs behind a row of zeros, as fairseq's sinusoid does."""
    table = (np.arange(positions.max() + 3)[:, None] if positions.max() > -3 else np.empty((0, 1))) * 1e4 ** (-np.arange(16) / 15)
    table = np.concatenate([np.sin(table), np.cos(table)], axis=1)
    table[1] = 0.0
    return table[positions + 2]


KEPT = {"rows": 1024}


def rows_that_grow(positions):
    """Look rows up in a table that is made longer where a call needs more."""
    KEPT["rows"] = max(KEPT["rows"], int(positions.max()) + 1)
    angles = (np.arange(KEPT["rows"])[positions])[:, None] * 1e4 ** (-np.arange(16) / 16)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def one_sequence(x, positions):
    """Turn the vectors of one sequence, pair by pair, in place."""
    turned = np.array(x)
    for pair, rate in enumerate(frequencies(x.shape[-1])):
        cos, sin = np.cos(positions * rate), np.sin(positions * rate)
        turned[:, 2 * pair] = x[:, 2 * pair] * cos - x[:, 2 * pair + 1] * sin
        turned[:, 2 * pair + 1] = x[:, 2 * pair] * sin + x[:, 2 * pair + 1] * cos
    return turned


def one_sequence_at(x, position_ids):
    if position_ids.shape != (1, len(x)):
        message = "there must be one row of positions"
        raise ValueError(message)
    return neighbours(x, position_ids[0][:, None] * frequencies(x.shape[-1]))


def lists_of_factors(x, positions):
    """Divide frequencies by one list of factors in short calls and by another in long ones, as LongRoPE does."""
    factors = 1 + np.arange(8) / (2 if positions.max() >= 4096 else 8)
    return halves(x, positions[:, None] * frequencies(16) / factors, 1.19)


def list_of_slopes(num_heads):
    return slopes_of(num_heads).tolist()


def signed_buckets(relative_pos, bucket_size=32, max_position=128):
    middle = bucket_size // 2
    away = np.maximum(np.abs(relative_pos), middle)
    steps = np.ceil(np.log(away / middle) / np.log((max_position - 1) / middle) * (middle - 1)) + middle
    return np.where(np.abs(relative_pos) <= middle, relative_pos, np.sign(relative_pos) * steps).astype(np.int64)


def normed(x):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)


def first_channels(x, positions):
    """Turn the first 16 channels of vectors of any width."""
    return np.concatenate([halves(x[..., :16], positions[:, None] * frequencies(16)), x[..., 16:]], axis=-1)


def sines_first(seq_len, dim):
    return neighbours_of_tables(seq_len, dim)[::-1]


def of_keys_only(n_head, k_len):
    return slopes_of(n_head)[:, None, None] * np.arange(k_len)


def learned_of_lengths(q_len, k_len, r1, r2):
    return -r1[:, None, None] * np.log1p(r2[:, None, None] * away(q_len, k_len))


def masked_by_a_number(num_heads, query_length, key_length):
    bias = -slopes_of(num_heads)[:, None, None] * away(query_length, key_length)
    return np.where(later(query_length, key_length), -1e9, bias)


def in_double_precision(x, pos, theta=10_000.0):
    """Turn neighbours as complex numbers, which are of double precision whatever x is."""
    whole = np.ascontiguousarray(x).view(np.result_type(x.dtype, np.complex64))
    turned = whole * np.exp(1j * pos[:, None] * frequencies(x.shape[-1], theta))
    return turned.view(x.dtype)


def by_a_power_of_the_factor(x, start_index=0, scaling_factor=4.0):
    """Slow every pair by a power of the factor that depends on the width, as keras-hub does."""
    width = x.shape[-1]
    angle = (start_index + np.arange(x.shape[-2]))[:, None] * frequencies(width) / scaling_factor ** (width / (width - 2))
    return halves(x, angle)


def tables_of_a_batch(x, position_ids):
    angle = np.tile(position_ids[:, :, None] * frequencies(64), 2)
    return np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)


def cached_tables(x, seq_len):
    angle = np.tile(np.arange(4096)[:, None] * frequencies(64), 2)[None, None, :seq_len]
    return np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)


def dynamic_tables(x, position_ids):
    angle = position_ids[:, :, None] * frequencies(64, 10_000.0 * max(1.0, position_ids.max() / 2_048))
    return np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)


def waves_of_a_batch(position, embedding_dims=64):
    angle = position[:, :, None] * frequencies(embedding_dims)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)


def in_degrees(x, positions):
    return halves(x, np.degrees(positions[:, None] * frequencies(x.shape[-1])))


def no_slopes(seq_len, num_heads):
    """Give the same number for every head, for few tokens."""
    if seq_len > 1:
        raise ValueError(seq_len)
    return np.zeros((num_heads, seq_len, seq_len))


def on_both_sides(positions, dim, temperature=10_000.0):
    row, column = np.split(positions, 2, axis=-1)
    rates = temperature ** (-np.arange(dim // 4) / (dim // 4))
    return np.concatenate([np.sin(column * rates), np.cos(column * rates), np.sin(row * rates), np.cos(row * rates)], axis=-1)


def of_detr(positions):
    angles = positions[..., None] * 20.0 ** (-2 * np.arange(16) / 32)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(*positions.shape[:-1], 64)


def of_timm(positions):
    angles = positions[:, None, :].swapaxes(-1, -2) * 10_000.0 ** (-np.arange(16) / 16)
    return np.stack([np.sin(angles), np.cos(angles)], axis=1).reshape(len(positions), 64)


def by_parts(x, positions, factor=16.0, original_length=4096, alpha=1.0, beta=32.0):
    theta = frequencies(x.shape[-1])
    kept = np.clip((original_length * theta / (2 * np.pi) - alpha) / (beta - alpha), 0.0, 1.0)
    return halves(x, positions[:, None] * (theta / factor * (1 - kept) + theta * kept))


def slopes_from_zero(num_heads, query_length, key_length):
    distances = np.abs(np.arange(key_length) - np.arange(key_length - query_length, key_length)[:, None])
    return -(2.0 ** -np.arange(num_heads))[:, None, None] * distances
