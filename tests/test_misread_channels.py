"""Code that turns other channels of a head than the part that a configuration says is told which, by all that comes back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_configured import BASIC, judged

from conformance.calls.elsewhere import beside_of, elsewhere

NEOX = {**BASIC, "hidden_size": 128, "model_type": "gpt_neox", "rotary_pct": 0.25, "rotary_emb_base": 10000}
LATENT = {
    **BASIC,
    "model_type": "deepseek_v3",
    "qk_nope_head_dim": 24,
    "qk_rope_head_dim": 8,
    "q_lora_rank": 64,
    "kv_lora_rank": 32,
    "v_head_dim": 24,
    "rope_theta": 10000.0,
}
#: A rotation of the channels that are asked for, whose pairs are read and written as the model type has it.
CHANNELS = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration):
    channels = CHOSEN
    count = len(channels)
    angles = positions[..., None] * 10000.0 ** (-np.arange(0, count, 2) / count)
    angles = angles if angles.ndim == 2 else angles[:, None]
    read = np.reshape(channels, (-1, 2)).T if configuration["model_type"] == "deepseek_v3" else np.reshape(channels, (2, -1))
    written, result = np.reshape(channels, (2, -1)), x.copy()
    a, b = x[..., read[0]], x[..., read[1]]
    result[..., written[0]] = a * np.cos(angles) - b * np.sin(angles)
    result[..., written[1]] = a * np.sin(angles) + b * np.cos(angles)
    return AFTER.astype(x.dtype)
"""


def turning(channels: str, after: str = "result") -> str:
    return CHANNELS.replace("CHOSEN", channels).replace("AFTER", after)


@pytest.mark.parametrize(
    ("code", "configuration", "name"),
    [
        (turning("[*range(24, 32)]"), NEOX, "rope.rotate/other-end"),
        (turning("[*range(8)]"), LATENT, "rope.rotate/other-end"),
        (turning("[*range(32)]"), NEOX, "rope.rotate/width-of-head"),
        (turning("[0, 1, 2, 3, 16, 17, 18, 19]"), NEOX, "rope.rotate/pairs-of-the-head"),
    ],
)
@pytest.mark.usefixtures("unshrunk")
def test_what_turns_in_the_place_of_a_part_is_named(tmp_path: Path, code: str, configuration: Mapping[str, Any], name: str) -> None:
    (found,) = judged(tmp_path, code, configuration).diagnoses.values()
    assert found.mutants == (name,)
    assert found.fix.startswith("slice x[..., 24:32]" if configuration is LATENT else "slice x[..., 0:8]")


@pytest.mark.parametrize(
    "after",
    [
        "np.concatenate([result[..., :8], 0 * x[..., 8:]], axis=-1)",
        "np.concatenate([result[..., :8], 1.25 * x[..., 8:]], axis=-1)",
        "np.concatenate([result[..., 8:], result[..., :8]], axis=-1)",
        "result[..., :8]",
        "np.full(x.shape, np.nan)",
    ],
)
@pytest.mark.usefixtures("unshrunk")
def test_what_becomes_of_the_rest_otherwise_is_taken_for_no_turn(tmp_path: Path, after: str) -> None:
    assert not any(found.named for found in judged(tmp_path, turning("[*range(8)]", after), NEOX).diagnoses.values())


@pytest.mark.parametrize(
    ("got", "words"),
    [
        ([1, 2, 3, 4, 5, 7], "channel 5 changed"),
        ([1, 2, 9, 4, 9, 9], "channels 2 and 4 to 5 changed"),
        ([1, 2, -4, 3, -6, 5], "channels 2 to 5 changed"),
        ([1, 2, 3, 4, -6, 5], "the last 2 channels turned"),
        ([-2, 1, -4, 3, -6, 5], "all 6 channels turned"),
        ([-4, 2, 3, 1, 5, 6], "the first 1 pairs (j, j + 3) turned"),
        ([1, 2], "shape (1, 1, 1, 2)"),
    ],
)
def test_what_changed_in_a_head_is_told(got: list[int], words: str) -> None:
    head, came = (np.array(each, dtype=np.float64)[None, None, None] for each in ([1, 2, 3, 4, 5, 6], got))
    said = elsewhere((0, 4), head, came)
    assert said == f"channels that don't turn (0 before, 4 after those that do) must stay as they are, got {words}"
    assert beside_of(said) == (0, 4)
