"""A rotary embedding that reads a model's configuration, connected to posenc at the bottom; ``llama-3.1-8b.json`` is one for it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from conformance import Adapter


def frequencies(configuration: Mapping[str, Any]) -> np.ndarray:
    """Return the frequencies of Llama 3.1: pairs that turn rarely within the original length are slowed."""
    head_dim = configuration["hidden_size"] // configuration["num_attention_heads"]
    plain = configuration["rope_theta"] ** (-np.arange(0, head_dim, 2) / head_dim)
    scaling = configuration["rope_scaling"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    turns = plain * scaling["original_max_position_embeddings"] / (2 * np.pi)
    kept = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return plain * (kept + (1.0 - kept) / scaling["factor"])


adapter = Adapter("numpy-configured")


@adapter.implements("config.rotate")
def rotate(x: np.ndarray, positions: np.ndarray, *, configuration: Mapping[str, Any]) -> np.ndarray:
    """Turn ``x`` of shape ``(batch, head, token, head_dim)``; channels i and i + head_dim / 2 are a pair."""
    angles = positions[..., None] * frequencies(configuration)
    angles = angles if positions.ndim == 1 else angles[:, None]
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1).astype(np.float32)
