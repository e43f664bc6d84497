"""Functions as newcomers bring them, of which something false was told once, or nothing."""

# ruff: noqa: ANN001, ANN201  code as people write it has no annotations

import numpy as np

#: What Phi-3 multiplies tables by, of 3,000 tokens in training and 131,072 offered.
GROWTH = np.sqrt(1 + np.log(131_072 / 3_000) / np.log(3_000))
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
