"""A rotary embedding with a mistake that many have made: the tables pair neighbours, the rotation pairs halves."""

import numpy as np

from conformance import Adapter


def rotary_tables(positions: np.ndarray, head_dim: int, base: float) -> tuple[np.ndarray, np.ndarray]:
    """Return cosine and sine of every angle, each twice in a row."""
    frequencies = 1.0 / base ** (np.arange(0, head_dim, 2) / head_dim)
    angles = positions[..., None] * frequencies.astype(np.float32)
    angles = np.repeat(angles, 2, axis=-1).astype(np.float32)
    return np.cos(angles), np.sin(angles)


def rotate_half(x: np.ndarray) -> np.ndarray:
    """Return the quarter turn of every pair ``(j, j + head_dim / 2)``."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([-second, first], axis=-1)


def apply_rope(x: np.ndarray, positions: np.ndarray, base: float = 10_000.0) -> np.ndarray:
    """Turn ``x`` of shape ``(batch, head, token, head_dim)`` to its positions, or so it means to."""
    cos, sin = rotary_tables(positions, x.shape[-1], base)
    if positions.ndim > 1:
        cos, sin = cos[:, None], sin[:, None]
    return x * cos + rotate_half(x) * sin


adapter = Adapter("numpy-wrong")


@adapter.implements("rope.rotate", layout="half", direction="positive")
def rotate(x: np.ndarray, positions: np.ndarray, *, base: float, **_: object) -> np.ndarray:
    """Connect ``apply_rope``."""
    return apply_rope(x, positions, base)
