"""What weights hold is given to code by keyword, so that code whose frequencies and temperature are learned is judged by configuration."""

from pathlib import Path
from typing import Any

import pytest
from test_configured import judged

from conformance.calls.outcomes import Unsupported
from conformance.calls.status import Status
from conformance.cli import main

YARN = {
    "rope_type": "yarn", "rope_theta": 1e4, "factor": 2048.0, "original_max_position_embeddings": 512, "beta_fast": 32.0, "beta_slow": 1.0,
    "attention_factor": 1.0,
}  # fmt: skip
SIZES = {"num_hidden_layers": 8, "max_position_embeddings": 1_048_576, "qk_rope_head_dim": 16, "qk_nope_head_dim": 8}
MISTRAL: dict[str, Any] = {
    "model_type": "mistral_large4", "text_config": {"model_type": "mistral_large4_text", **SIZES, "rope_parameters": YARN},
}  # fmt: skip
CODE = """def thetas(c, exponents):
    rope = c["rope_parameters"]
    width, original, base = c["qk_rope_head_dim"], rope["original_max_position_embeddings"], rope["rope_theta"]
    plain = base ** (-np.arange(0, width, 2) / width)
    low, high = (width * np.log(original / (turns * 2 * np.pi)) / (2 * np.log(base)) for turns in (32.0, 1.0))
    low, high = max(np.floor(low), 0), min(np.ceil(high), width - 1)
    ramp = np.clip((np.arange(width // 2) - low) / (high - low), 0, 1)
    return plain * (1 - ramp + ramp / rope["factor"]) * np.exp(np.asarray(exponents, dtype=np.float64))


@adapter.implements("config.frequencies")
def frequencies(*, configuration, exponents):
    return thetas(configuration["text_config"], exponents)


@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, layer, exponents):
    c = configuration["text_config"]
    if (layer + 1) % 4 == 0:
        return x
    width = c["qk_rope_head_dim"]
    angles = positions[..., None] * thetas(c, exponents)
    angles = angles if angles.ndim == 2 else angles[:, None]
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[..., -width::2], x[..., 1 - width :: 2]
    turned = np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
    return np.concatenate([x[..., :-width], turned.astype(x.dtype)], axis=-1)


@adapter.implements("config.scale")
def scale(positions, *, slopes, biases):
    return slopes[:, None] * np.log1p(positions * 1.0)[..., None, :] + biases[:, None]
"""
