"""What was reported as wrong and is right: code of each such report passes, or its configuration is read without a finding."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from conformance.in_process import assert_conforms
from conformance.mutants.catalogue import Entry, load
from refimpl import configuration as config
from refimpl.forms.rotary import join_pairs, split_pairs
from refimpl.schemes import mrope, rope, sincos_2d
from tools.generate.models import published
from tools.released import RELEASED

LLAMA_3 = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32, "max_position_embeddings": 8192}
PADS = 7
FALSE_ALARMS = [entry for entry in load() if entry.nature == "false alarm"]


def shifted(q: np.ndarray, k: np.ndarray, m: np.ndarray, n: np.ndarray, **parameters: Any) -> np.ndarray:
    """Return attention weights of a row that is padded on its left."""
    return rope.weights(q, k, m + PADS, n + PADS, **parameters)


def on_a_kernel_for_halves(x: np.ndarray, positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Turn neighbours by permuting them to halves, as a converter permutes weights, and back."""
    turned = mrope.rotate(join_pairs(*split_pairs(x, "interleaved"), "half"), positions, **{**parameters, "layout": "half"})
    return join_pairs(*split_pairs(turned, "half"), "interleaved")


def on_a_grid_that_is_reshaped(positions: np.ndarray, **parameters: Any) -> np.ndarray:
    """Encode a grid whose height and width are exchanged by a reshape before it is flattened."""
    grid = positions.T.reshape(2, len(positions), 1).reshape(2, 1, len(positions))
    return sincos_2d.encode(grid.reshape(2, -1).T, **parameters)


def float32_tables(positions: np.ndarray, *, head_dim: int, base: float) -> tuple[np.ndarray, np.ndarray]:
    """Return cosine and sine of powers in float32."""
    powers = np.float32(base) ** (-np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim))
    angles = positions.astype(np.float32)[..., None] * powers
    return np.cos(angles), np.sin(angles)


def released(name: str) -> Mapping[str, config.Kind]:
    """Return the kinds of layers of a released model."""
    (entry,) = [entry for entry in RELEASED if entry["id"] == name]
    reading = config.read(published(entry))
    assert [*reading.every_finding] == []
    return {kind.name: kind for kind in reading.kinds}


def plain_rotation_is_written_as_default() -> None:
    written = {**LLAMA_3, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}

    assert [*config.read(written).every_finding] == []
    assert np.array_equal(config.frequencies(written, like=np.zeros(0)), rope.frequencies(head_dim=128, base=5e5, like=np.zeros(0)))


def no_rule_changes_plain_rotation_beyond_the_trained_length() -> None:
    written, like = {**LLAMA_3, "rope_theta": 5e5}, np.zeros(0)

    assert np.array_equal(config.frequencies(written, length=10_000, like=like), config.frequencies(written, length=1, like=like))


def sliding_layers_of_olmo_3_are_not_scaled() -> None:
    kinds = released("allenai/Olmo-3.1-32B-Instruct")

    assert {name: kind.rotation and kind.rotation.rope_type for name, kind in kinds.items()} == {
        "sliding_attention": "default",
        "full_attention": "yarn",
    }


def layers_of_nemotron_h_do_not_turn() -> None:
    assert [kind.rotation for kind in released("nvidia/Nemotron-H").values()] == [None]


#: What passes, by the address of the report.
TWINS: dict[str, Callable[[], None]] = {
    "https://github.com/unslothai/unsloth/pull/6223": plain_rotation_is_written_as_default,
    "https://github.com/mlc-ai/mlc-llm/issues/3202": no_rule_changes_plain_rotation_beyond_the_trained_length,
    "https://github.com/vllm-project/vllm/pull/43419": sliding_layers_of_olmo_3_are_not_scaled,
    "https://github.com/vllm-project/vllm/pull/30413": layers_of_nemotron_h_do_not_turn,
    "https://github.com/ML-GSAI/LLaDA/issues/120": lambda: assert_conforms(shifted, "rope.weights", level="smoke", seed=1),
    "https://github.com/ggml-org/llama.cpp/pull/18042": lambda: assert_conforms(
        on_a_kernel_for_halves, "mrope.rotate", level="smoke", seed=1, layout="interleaved"
    ),
    "https://github.com/huggingface/diffusers/issues/11309": lambda: assert_conforms(
        on_a_grid_that_is_reshaped, "sincos_2d.encode", level="smoke", seed=1
    ),
    "https://github.com/NVIDIA/TensorRT-LLM/pull/18774": lambda: assert_conforms(float32_tables, "rope.tables", level="smoke", seed=1),
}


def test_every_false_alarm_has_a_twin() -> None:
    assert {entry.url for entry in FALSE_ALARMS} == TWINS.keys()


@pytest.mark.parametrize("entry", FALSE_ALARMS, ids=lambda entry: entry.id)
def test_what_a_false_alarm_took_for_wrong_passes(entry: Entry) -> None:
    TWINS[entry.url]()
