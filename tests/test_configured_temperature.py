"""What a configuration has queries multiplied by is judged too, in each kind of layers: 1 where it says nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_configured import judged

from conformance.calls.status import Status
from conformance.cli import main
from refimpl import configuration as config
from refimpl.configuration.findings import called

SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4, "max_position_embeddings": 131_072, "rope_theta": 5e5}
LLAMA_4: dict[str, Any] = {
    "model_type": "llama4",
    "text_config": {"model_type": "llama4_text", **SIZES, "no_rope_layers": [1, 1, 1, 0], "attn_temperature_tuning": True},
}
STEEP = {**LLAMA_4, "text_config": {**LLAMA_4["text_config"], "floor_scale": 4_096, "attn_scale": 0.25}}
YARN = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 16_384, "beta_fast": 32.0, "beta_slow": 1.0}
MINISTRAL: dict[str, Any] = {
    "model_type": "ministral3", **SIZES, "rope_parameters": {**YARN, "rope_theta": 1e6, "llama_4_scaling_beta": 0.1},
    "max_position_embeddings": 262_144, "rope_theta": None,
}  # fmt: skip
FLAT = {**MINISTRAL, "rope_parameters": {**MINISTRAL["rope_parameters"], "llama_4_scaling_beta": 0}}
QWEN = {"model_type": "qwen", **SIZES, "seq_length": 2_048, "max_position_embeddings": 8_192, "use_logn_attn": True}
SHORT = {**QWEN, "seq_length": 8_192}
LONG = {**QWEN, "seq_length": 8_192, "max_position_embeddings": 32_768}
PLAIN = {"model_type": "llama", **SIZES}

LLAMA_4_CODE = """
@adapter.implements("config.scale")
def scale(positions, *, configuration, layer):
    text = configuration["text_config"]
    if text["no_rope_layers"][layer]:
        return np.ones(positions.shape)
    return 1 + text.get("attn_scale", 0.1) * np.log1p(np.floor((positions + 1) / text.get("floor_scale", 8192)))
"""
MINISTRAL_CODE = """
@adapter.implements("config.scale")
def scale(positions, *, configuration):
    rope = configuration["rope_parameters"]
    return 1 + rope["llama_4_scaling_beta"] * np.log1p(np.floor(positions / rope["original_max_position_embeddings"]))
"""
QWEN_CODE = """
@adapter.implements("config.scale")
def scale(positions, *, configuration):
    return np.maximum(np.log1p(positions * 1.0) / np.log(configuration["seq_length"]), 1.0)
"""
ONES = """
@adapter.implements("config.scale")
def scale(positions):
    return np.ones(positions.shape)
"""


@pytest.mark.parametrize(
    ("code", "configuration", "operation"),
    [
        (LLAMA_4_CODE, LLAMA_4, "temperature.scale"),
        (LLAMA_4_CODE, STEEP, "temperature.scale"),
        (MINISTRAL_CODE, MINISTRAL, "temperature.scale"),
        (MINISTRAL_CODE, FLAT, "temperature.scale"),
        (QWEN_CODE, QWEN, "temperature.log_scale"),
        (QWEN_CODE, SHORT, "temperature.log_scale"),
        (ONES, PLAIN, "temperature.scale"),
        (ONES, {**QWEN, "use_logn_attn": False}, "temperature.scale"),
    ],
    ids=["llama-4", "steep", "ministral", "flat", "qwen", "short", "plain", "switched-off"],
)
def test_code_that_multiplies_queries_as_the_configuration_says_conforms(
    tmp_path: Path, code: str, configuration: Mapping[str, Any], operation: str
) -> None:
    report = judged(tmp_path, code, configuration)
    assert report.status is Status.CONFORMS
    assert {each.operation for each in report.evidence} == {operation}
    names = [kind.name for kind in config.read(configuration).kinds]
    assert {each.implementation for each in report.evidence} >= {f"mine, {called(name, names)}" for name in names}


@pytest.mark.parametrize(
    ("code", "configuration", "kind", "mistake"),
    [
        (LLAMA_4_CODE.replace("positions + 1", "positions"), LLAMA_4, "every layer without rotation", "shift-left-out"),
        (LLAMA_4_CODE.replace("[layer]:", "[layer] > 1:"), LLAMA_4, "every layer with rotation", "as=every-layer-without-rotation"),
        (LLAMA_4_CODE.replace('["no_rope_layers"][layer]', '["no_rope_layers"]'), LLAMA_4, "every layer without rotation", "left-out"),
        (LLAMA_4_CODE.replace('text.get("floor_scale", 8192)', "8192"), STEEP, "every layer without rotation", "length-ignored"),
        (MINISTRAL_CODE.replace("floor(positions", "floor((positions + 1)"), MINISTRAL, "every layer", "shift-of-llama-4"),
        (MINISTRAL_CODE.replace("np.floor", ""), MINISTRAL, "every layer", "floor-missing"),
        (QWEN_CODE.replace('configuration["seq_length"]', "2048"), {**QWEN, "seq_length": 4_096}, "every layer", "length-ignored"),
        (QWEN_CODE.replace('configuration["seq_length"]', "4096"), LONG, "every layer", "original_length=4096"),
        (QWEN_CODE.replace("np.maximum(", "(").replace(", 1.0)", ")"), QWEN, "every layer", "below-one"),
        (QWEN_CODE.replace("seq_length", "max_position_embeddings"), QWEN, "every layer", "original_length=8192"),
        (ONES, QWEN, "every layer", "left-out"),
    ],
)
def test_code_that_multiplies_queries_otherwise_is_convicted_and_named(
    tmp_path: Path, code: str, configuration: Mapping[str, Any], kind: str, mistake: str
) -> None:
    report = judged(tmp_path, code, configuration)
    assert report.status is Status.DIFFERS
    assert {each.implementation.removeprefix("mine, ") for each in report.results if each.convicts} == {kind}
    (told,) = report.diagnoses.values()
    assert told.mutants[0].partition("/")[2] == mistake


def test_a_slope_of_zero_that_is_taken_for_none_is_convicted(tmp_path: Path) -> None:
    code = MINISTRAL_CODE.replace('rope["llama_4_scaling_beta"]', '(rope["llama_4_scaling_beta"] or 0.1)')
    assert judged(tmp_path, code, FLAT).status is Status.DIFFERS


def test_the_number_of_a_layer_is_what_its_kind_says() -> None:
    positions = np.array([0, 4_094, 4_095, 131_071])
    assert config.scale(STEEP, positions, layer=0).tolist() == [1.0] * 4
    np.testing.assert_allclose(config.scale(STEEP, positions, layer=3), [1.0, 1.0, 1.0 + np.log(2) / 4, 1.0 + np.log(33) / 4])


def test_a_function_that_multiplies_queries_is_shown_with_what_it_is_judged_as(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "config.scale"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {word}\n" in shown for word in ("positions ([batch], token)", "temperature.scale", "temperature.log_scale"))
    assert "  length:" not in shown
