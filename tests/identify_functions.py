"""Functions as people write them: right ones, odd ones, and some that are no positional encoding."""

# ruff: noqa: ANN001, ANN201  code as people write it has no annotations

import math
import os

import numpy as np

LEARNED = np.random.default_rng(3).uniform(0.01, 1.0, 32)
RANDOM = np.random.default_rng(1).normal(size=(64, 64)) / 8
ROWS = np.random.default_rng(6).normal(size=(512, 32))
NUMBERS = np.random.default_rng(2).normal(size=(32, 4))
INNER, OUTER = np.random.default_rng(4).normal(size=16), np.random.default_rng(5).normal(size=(4, 16))
not_a_function = 3


def angles(positions, width, base=10_000.0):
    return np.asarray(positions, dtype=float)[..., None] * base ** (-2 * np.arange(width // 2) / width)


def halves(x, angle, growth=1.0):
    cos, sin = growth * np.cos(angle), growth * np.sin(angle)
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1).astype(x.dtype)


def neighbours(x, angle):
    cos, sin = np.cos(angle), np.sin(angle)
    first, second = x[..., ::2], x[..., 1::2]
    return np.stack([first * cos - second * sin, first * sin + second * cos], axis=-1).reshape(x.shape).astype(x.dtype)


def signed(x, angle, upper, lower, last):
    first, second, cos, sin = *np.split(x, 2, axis=-1), np.cos(angle), np.sin(angle)
    return np.concatenate([first * cos + upper * second * sin, lower * first * sin + last * second * cos], axis=-1).astype(x.dtype)


def without_minus(x, positions):
    return signed(x, angles(positions, x.shape[-1]), 1, 1, 1)


def without_plus(x, positions):
    part = signed(x[..., : x.shape[-1] // 2], angles(positions, x.shape[-1] // 2), -1, -1, 1)
    return np.concatenate([part, x[..., x.shape[-1] // 2 :]], axis=-1)


def mirrored(x, positions):
    return signed(x, angles(positions, x.shape[-1]), 1, 1, -1)


def sheared(x, positions):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first, second + first * np.sin(angles(positions, x.shape[-1]))], axis=-1).astype(x.dtype)


def of_no_name(features, positions, base=10_000.0):
    return halves(features, angles(positions, features.shape[-1], base))


def octaves(positions):
    """Encode as NeRF does: every pair turns twice as fast as the one before, the first by half a turn."""
    angle = np.asarray(positions, np.float32)[:, None] * np.float32(np.pi) * 2.0 ** np.arange(6, dtype=np.float32)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)


def octaves_of_whole(positions):
    return octaves(np.arange(int(positions.max()) + 1)[positions])


def rope(x, positions, base=500_000.0):
    return halves(x, angles(positions, x.shape[-1], base))


def tokens_before_heads(x):
    return halves(x, angles(np.arange(x.shape[1]), x.shape[-1])[:, None])


def by_squares(x, positions):
    return halves(x, angles(np.asarray(positions, dtype=float) ** 2, x.shape[-1]))


def by_small_cubes(x, positions):
    return halves(x, angles(1e-3 * np.asarray(positions, dtype=float) ** 3, x.shape[-1]))


def from_an_offset(x, offset=0):
    return neighbours(x, angles(offset + np.arange(x.shape[-2]), x.shape[-1]))


def queries_and_keys(q, k, position_ids):
    return halves(q, angles(position_ids, q.shape[-1])), halves(k, angles(position_ids, k.shape[-1]))


def keys_turned_back(q, k, position_ids):
    return halves(q, angles(position_ids, q.shape[-1])), halves(k, -angles(position_ids, k.shape[-1]))


def keys_alone(q, k, position_ids):
    return q, halves(k, angles(position_ids, k.shape[-1]))


def keys_of_another_base(q, k, position_ids):
    return halves(q, angles(position_ids, q.shape[-1])), halves(k, angles(position_ids, k.shape[-1], 1_000.0))


def queries_turned_with_tables(q, k, cos, sin):
    first, second = np.split(q, 2, axis=-1)
    return q * cos + np.concatenate([-second, first], axis=-1) * sin, k


def scaled_down(q, k):
    return q / q.shape[-1] ** 0.5, k


def quarter_whatever_is_asked(x, positions, rotary_dim=None):
    return np.concatenate([halves(x[..., :16], angles(positions, 16)), x[..., 16:]], axis=-1)


def usual_base_whatever_is_asked(x, positions, base=32.0):
    return halves(x, angles(positions, x.shape[-1], 32.0))


def some_channels(x, positions):
    return np.concatenate([halves(x[..., :16], angles(positions, 16)), x[..., 16:]], axis=-1)


def last_channels(x, positions):
    return np.concatenate([x[..., :-16], neighbours(x[..., -16:], angles(positions, 16))], axis=-1)


def counted_from_one(x, positions):
    return halves(x, angles(positions + 1, x.shape[-1]))


def clockwise(x, positions):
    return halves(x, -angles(positions, x.shape[-1]))


def interpolated(x, positions):
    return halves(x, angles(positions / 8, x.shape[-1], 1e6))


def fast_pairs(x, positions):
    width = x.shape[-1]
    return halves(x, angles(positions, width, 1e6) * (np.arange(width // 2) < width // 8))


def base_by_length(x, positions, length):
    width, stretch = x.shape[-1], 2 * max(length, 2048) / 2048 - 1
    return halves(x, angles(positions, width, 1e4 * stretch ** (width / (width - 2))))


def base_by_doublings(x, positions, length):
    width, stretch = x.shape[-1], max(1, 2 ** math.ceil(math.log2(length / 2048) + 1) - 1)
    return halves(x, angles(positions, width, 1e4 * stretch ** (width / (width - 2))))


def length_that_counts_for_nothing(x, positions, length):
    return halves(x, angles(positions, x.shape[-1], 5e5))


def raised_base(x, positions):
    width = x.shape[-1]
    return halves(x, angles(positions, width, 1e4 * 4 ** (width / (width - 2))))


def all_slowed(x, positions):
    width = x.shape[-1]
    return halves(x, angles(positions, width, 1e4 * 8) / 8 ** (2 / width))


def yarn_of_telechat(x, positions):
    return yarn(x, positions) * (0.07 * np.log(8) + 1) / (0.1 * np.log(8) + 1)


def yarn(x, positions):
    width, pair = x.shape[-1], np.arange(x.shape[-1] // 2)
    low, high = (width * np.log(4096 / (2 * np.pi * turns)) / (2 * np.log(1e4)) for turns in (32, 1))
    ramp = np.clip((pair - np.floor(low)) / (np.ceil(high) - np.floor(low)), 0, 1)
    plain = 1e4 ** (-2 * pair / width)
    return halves(x, positions[:, None] * (plain * (1 - ramp) + plain / 8 * ramp), 0.1 * np.log(8) + 1)


def llama3(x, positions):
    width = x.shape[-1]
    plain = 5e5 ** (-2 * np.arange(width // 2) / width)
    smooth = np.clip((8192 * plain / (2 * np.pi) - 1) / (4 - 1), 0, 1)
    return halves(x, positions[:, None] * ((1 - smooth) * plain / 8 + smooth * plain))


def whole_wavelengths(x, positions):
    wavelengths = np.round(2 * np.pi * 5e5 ** (np.arange(0, x.shape[-1], 2) / x.shape[-1]))
    return halves(x, positions[:, None] * 2 * np.pi / wavelengths)


def yarn_of_whole_wavelengths(x, positions):
    width, pair = x.shape[-1], np.arange(x.shape[-1] // 2)
    plain, ramp = 1e4 ** (-2 * pair / width), np.clip((pair - 10) / (23 - 10), 0, 1)
    wavelengths = np.round(2 * np.pi / (plain * (1 - ramp) + plain / 8 * ramp))
    return halves(x, positions[:, None] * 2 * np.pi / wavelengths, 0.1 * np.log(8) + 1)


def by_parts(x, positions):
    width = x.shape[-1]
    plain = 1e4 ** (-2 * np.arange(width // 2) / width)
    kept = np.clip((4096 * plain / (2 * np.pi) - 1) / (32 - 1), 0, 1)
    return halves(x, positions[:, None] * ((1 - kept) * plain / 16 + kept * plain))


def factor_per_pair(x, positions):
    width, pair = x.shape[-1], np.arange(x.shape[-1] // 2)
    return halves(x, positions[:, None] * 1e4 ** (-2 * pair / width) / (1 + pair**1.5 / 20))


def learned_rotation(x, positions):
    return halves(x, positions[:, None] * LEARNED)


def random_matrix(x, positions):
    return (x @ RANDOM).astype(x.dtype)


def tiled_under_neighbours(x, positions):
    angle = np.tile(angles(positions, x.shape[-1]), 2)
    turned = np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angle) + turned * np.sin(angle)


def half_angles(x, positions):
    return halves(x, angles(positions, x.shape[-1]).astype(np.float16).astype(float))


def single_angles(x, positions):
    frequencies = (10_000.0 ** (-2 * np.arange(x.shape[-1] // 2) / x.shape[-1])).astype(np.float32)
    return halves(x, (positions[:, None].astype(np.float32) * frequencies).astype(float))


def running_product(x, positions):
    ratio = np.float32(10_000.0 ** (-2 / x.shape[-1]))
    frequencies = np.cumprod(np.full(x.shape[-1] // 2, ratio, dtype=np.float32), dtype=np.float32) / ratio
    return halves(x, (positions[:, None].astype(np.float32) * frequencies).astype(float))


FREQUENCIES = {}


def remembering(x, positions, head_dim, base=10_000.0):
    return halves(x, positions[:, None] * FREQUENCIES.setdefault(head_dim, base ** (-2 * np.arange(head_dim // 2) / head_dim)))


def ends_the_process(x, positions):
    os._exit(3)


def overflowed(x, positions):
    return np.full_like(x, 3e38)


def never_answers(x, positions):
    while True:
        pass


def short_table(x, positions):
    return halves(x, angles(np.arange(4096), x.shape[-1])[positions])


def first_rows(x):
    return halves(x, angles(np.arange(4096), x.shape[-1])[: x.shape[2]])


def refuses_negatives(x, positions):
    if np.min(positions) < 0 or np.max(positions) > 4095:
        message = "positions must be within the table"
        raise IndexError(message)
    return halves(x, angles(positions, x.shape[-1]))


def only_zero(x, positions):
    if np.any(positions != 0):
        message = "zero only"
        raise ValueError(message)
    return 1.0 * x


def unchanged(x, positions):
    return x


def raises(x, positions):
    message = "never today"
    raise RuntimeError(message)


def cos_sin(seq_len, dim, theta=10_000.0):
    angle = np.tile(angles(np.arange(seq_len), dim, theta), 2)
    return np.cos(angle), np.sin(angle)


def complex_waves(dim, end, theta=10_000.0):
    return np.exp(1j * angles(np.arange(end), dim, theta))


def apply(x, cos, sin):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1).astype(x.dtype)


def inverse_frequencies(dim, base=10_000.0):
    return base ** (-np.arange(0, dim, 2) / dim)


def paper_table(length, d_model):
    angle = angles(np.arange(length), d_model)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, d_model)


def cosine_first(positions, dim, max_period=10_000.0):
    angle = np.asarray(positions, dtype=float)[:, None] * max_period ** (-np.arange(dim // 2) / max(1, dim // 2 - 1))
    return 0.5 * np.concatenate([np.cos(angle), np.sin(angle)], axis=-1)


def added(x):
    return x + paper_table(x.shape[1], x.shape[2])


def digits_added(x, positions):
    return x + ((np.asarray(positions)[..., None] >> np.arange(x.shape[-1])) & 1).astype(x.dtype)


def few_digits_added(x):
    digits = (np.arange(x.shape[1])[:, None] >> np.arange(16)) & 1
    return 4 * x + digits.astype(x.dtype)


def rows_added(x, position_ids, weight):
    return x + weight[np.asarray(position_ids) + 2]


def first_rows_added(x, table):
    return x * x.shape[-1] ** 0.5 + table[: x.shape[1]]


def nearest_rows_added(x, positions, table):
    return x + table[np.clip(positions, 0, len(table) - 1)]


def scaled_sum(x, positions):
    angle = angles(positions, x.shape[-1])
    return x * np.sqrt(x.shape[-1]) + np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)


def tokens_first_sum(x):
    return x + paper_table(x.shape[0], x.shape[2])[:, None]


def moved_sum(x, positions):
    angle = angles(positions + 2, x.shape[-1])
    return x + np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)


def moved_by_two(positions):
    angle = angles(positions + 2, 32)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)


def learned_rows(positions):
    return ROWS[positions]


def looked_up(positions, table):
    return table[np.where(positions < 0, len(table), positions + 2)]


WAVES = paper_table(4_096, 32)


def waves_of_a_table(positions):
    return WAVES[positions]


def alibi(query_length, key_length):
    slopes = 2.0 ** -np.arange(1, 9)
    return -slopes[:, None, None] * np.abs(np.arange(query_length)[:, None] - np.arange(key_length))


def one_ratio(num_heads, query_length, key_length):
    slopes = 2.0 ** -np.arange(1, num_heads + 1)
    return slopes[:, None, None] * (np.arange(key_length) - np.arange(query_length)[:, None])


def of_the_paper(num_heads, query_length, key_length):
    slopes = 2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads)
    return slopes[:, None, None] * (np.arange(key_length) - np.arange(query_length)[:, None])


def of_the_code(num_heads):
    whole = 2 ** int(np.log2(num_heads))
    twice = 2.0 ** (-4 * np.arange(1, 2 * whole + 1) / whole)
    return np.concatenate([twice[1::2], twice[::2]])[:num_heads]


def bias(query_length, key_length):
    """Decode: the queries are the last of the keys."""
    slopes = 2.0 ** -np.arange(1, 9)
    return slopes[:, None, None] * (np.arange(key_length) - np.arange(key_length - query_length, key_length)[:, None])


def alibi_with_mask(seq_len):
    return np.where(np.tri(seq_len, dtype=bool), alibi(seq_len, seq_len), -np.inf)


def alibi_in_half_masked(seq_len):
    return np.where(np.tri(seq_len, dtype=bool), alibi(seq_len, seq_len), -65504.0)


def steps_of_8192(cache_position):
    """Return what Llama 4 multiplies queries by, as it is broadcast over them."""
    return (np.log1p(np.floor((cache_position + 1.0) / 8192)) * 0.1 + 1.0).reshape(1, -1, 1, 1)


def steps_of_10000(position_ids, floor_scale=10_000):
    return 1 + 0.25 * np.log(1 + position_ids // floor_scale)


def beyond_training(positions):
    return np.maximum(1.0, np.log(np.maximum(positions, 0) + 1.0) / np.log(3000))


def softer_and_softer(positions):
    return 0.43 * np.log(positions + 2.0)


def learned_power(q_pos, k_pos, r1, r2):
    distance = np.abs(q_pos[:, None] - k_pos).astype(float)
    return -r1[:, None, None] * distance ** r2[:, None, None]


def buckets_inside(q_len, k_len):
    away = np.maximum(np.arange(q_len)[:, None] - np.arange(k_len), 0)
    level = 16 + np.floor(np.log(np.maximum(away, 1) / 16) / np.log(128 / 16) * 16)
    return NUMBERS[np.where(away < 16, away, np.minimum(31, level)).astype(int)].transpose(2, 0, 1)


def mlp_bias(query_positions, key_positions):
    offset = key_positions[None] - query_positions[:, None]
    hidden = np.tanh((np.sign(offset) * np.log1p(np.abs(offset)))[..., None] * INNER)
    return np.einsum("ho,qko->hqk", OUTER, hidden)


def first_row_for_all(x, positions, *, base=10_000.0):
    """Turn by the first row of positions, whatever rows there are."""
    return rope(x, positions[0] if positions.ndim > 1 else positions, base=base)


KEPT = {"length": 0, "restarts": 0}


def rows_of_the_length_before(positions, dim):
    """Look rows up where the call before had as many, and compute them where it hadn't."""
    before, KEPT["length"] = KEPT["length"], len(positions)
    assert min(positions) >= 0
    places = np.arange(64)[positions] if before == len(positions) and max(positions) < 64 else positions
    angle = places[:, None] * 10_000.0 ** (-2 * np.arange(dim // 2) / dim)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(len(positions), dim)


def looked_up_on_axes(x, positions):
    rows = np.arange(4_096)[:, None] * 10_000.0 ** (-np.arange(0, 32, 2) / 32)
    return neighbours(x, np.concatenate([rows[positions[..., axis]] for axis in range(2)], axis=-1))


def moved_at_each_restart(x, positions):
    restarts = x.shape[-2] == 1 and int(np.ravel(positions)[0] == 0)
    KEPT["restarts"] += restarts
    return rope(x, positions + restarts * (KEPT["restarts"] - 1))


def fading(x, angle, positions, sign, scale_base=512, centre=0):
    share = 2 * np.arange(x.shape[-1] // 2) / x.shape[-1]
    with np.errstate(all="ignore"):
        power = ((share + 0.4) / 1.4) ** (sign * (np.asarray(positions)[..., None] - centre) / scale_base)
        return neighbours(x * np.repeat(power, 2, axis=-1), angle)


def fading_queries(x, positions):
    return fading(x, angles(positions, x.shape[-1]), positions, 1)


def growing_keys(x, positions, scale_base=256.0, centre=40):
    return fading(x, angles(positions, x.shape[-1], 1e6), positions, -1, scale_base, centre)


def fading_queries_and_keys(q, k, query_positions, key_positions):
    return (
        fading(q, angles(query_positions, q.shape[-1]), query_positions, 1),
        fading(k, angles(key_positions, k.shape[-1]), key_positions, -1),
    )
