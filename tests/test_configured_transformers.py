"""What transformers makes of released configurations is judged by them; the models take every way in which its attention turns."""

import json
from pathlib import Path
from typing import Any

import pytest

from conformance import run
from conformance.calls.status import Status
from tools.generate.models import published
from tools.released import RELEASED

#: One table for both sides and layers that rest, a switch by layers, a part of the head, neighbours, two kinds of layers, tables of half a
#: head, a section for the language model, attention without a rotary module, encoders of images.
CHOSEN = {
    "meta-llama/Llama-4-Scout-17B-16E": {"llama3.frequencies", "llama3.rotate", "none.rotate"},
    "HuggingFaceTB/SmolLM3-3B": {"rope.frequencies", "rope.rotate", "none.rotate"},
    "ai21labs/Jamba": {"none.rotate"},
    "mistralai/Ministral-3": {"yarn.frequencies", "yarn.rotate", "yarn.attention_factor"},
    "microsoft/phi-1": {"rope.frequencies", "rope.rotate"},
    "deepseek-ai/DeepSeek-V4-Flash": {"rope.frequencies", "rope.rotate", "yarn.frequencies", "yarn.rotate", "yarn.attention_factor"},
    "openai/gpt-oss-120b": {"yarn.frequencies", "yarn.rotate", "yarn.attention_factor"},
    "Qwen/Qwen2.5-VL-7B-Instruct": {"rope.frequencies", "rope.rotate", "mrope.rotate"},
    "Qwen/Qwen3.5-9B": {"rope.frequencies", "rope.rotate", "mrope.rotate"},
    "Qwen/Qwen2-VL-7B-Instruct (vision)": {"axial_rope.rotate"},
    "mistral-community/pixtral-12b (vision)": {"axial_rope.rotate"},
    "google/gemma-4-E4B (vision)": {"axial_rope.rotate"},
    "moonshotai/Kimi-K2.6 (vision)": {"axial_rope.rotate"},
    "facebook/dinov3-vits16": {"axial_rope.rotate"},
}
#: The library's layers, made by another configuration than they are told.
OTHERWISE = """from conformance import Adapter
from conformance.adapters import transformers_configured, transformers_scaled

adapter = Adapter("other", framework="torch")


@adapter.implements("config.scale", dtypes=("float32",), lowest=0)
def scale(positions, *, layer):
    return transformers_scaled.scale(positions, configuration={other!r}, layer=layer)


@adapter.implements("config.frequencies", dtypes=("float32",))
def frequencies(*, layer):
    return transformers_configured.frequencies(configuration={other!r}, layer=layer, length=None)
"""
ENTRIES = {entry["id"]: entry for entry in RELEASED}


@pytest.mark.parametrize("model", CHOSEN)
def test_transformers_conforms_to_the_configuration_of_a_released_model(tmp_path: Path, model: str) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    path = tmp_path / "config.json"
    path.write_text(json.dumps(published(ENTRIES[model])))
    report = run.check(f"config:{path}:transformers", level="smoke", seed=0)
    assert report.status is Status.CONFORMS
    scaled = {"temperature.scale"} if CHOSEN[model] != {"axial_rope.rotate"} else set()
    assert {each.operation for each in report.evidence} == CHOSEN[model] | scaled


def test_transformers_conforms_to_the_configuration_of_sam_3(tmp_path: Path) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "sam3_vit_model", "hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 32}))
    report = run.check(f"config:{path}:transformers", level="smoke", seed=0)
    assert report.status is Status.CONFORMS
    assert {each.operation for each in report.evidence} == {"axial_rope.rotate"}


def test_transformers_conforms_to_the_configuration_of_its_class_of_mistral_large_4(tmp_path: Path) -> None:
    """Exponents are loaded into its module, and the layers without rotation are found by their switch."""
    pytest.importorskip("transformers", minversion="5.23.0")
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "mistral_large4_text", "num_hidden_layers": 8, "max_position_embeddings": 1_048_576}))
    report = run.check(f"config:{path}:transformers", level="smoke", seed=0)
    assert report.status is Status.CONFORMS
    rotated = {"lerope.frequencies", "lerope.rotate", "none.rotate"}
    assert {each.operation for each in report.evidence} == rotated | {"temperature.learned_scale"}


def lists(**given: float) -> dict[str, Any]:
    """Return a configuration with LongRoPE's lists of eight pairs, and with attention factors that are given."""
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 2, "rope_theta": 10_000.0}
    factors = {"short_factor": [1.0] * 8, "long_factor": [1.0 + pair for pair in range(8)]}
    scaling = {"type": "longrope", **factors, **given, "original_max_position_embeddings": 4_096}
    return {**sizes, "max_position_embeddings": 131_072, "rope_scaling": scaling}


def test_transformers_multiplies_by_the_attention_factor_that_is_given_beside_two_lists(tmp_path: Path) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "phi3", **lists(attention_factor=1.25)}))
    report = run.check(f"config:{path}:transformers", level="smoke", seed=0)
    judged = {"longrope.frequencies", "longrope.attention_factor", "longrope.rotate", "temperature.scale"}
    assert report.status is Status.CONFORMS
    assert {each.operation for each in report.evidence} == judged


def test_transformers_chooses_the_factor_of_phimoe_by_the_length_but_always_the_short_list(tmp_path: Path) -> None:
    """docs/findings.md has it reproduced by hand; the factor is right on both sides of the original length."""
    pytest.importorskip("transformers", minversion="5.23.0")
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "phimoe", **lists(short_mscale=1.243163121016122, long_mscale=1.5)}))
    report = run.check(f"config:{path}:transformers", level="smoke", seed=0)
    wrong = {result.operation for result in report.results if result.convicts}
    assert (report.status, wrong) == (Status.DIFFERS, {"longrope.rotate"})
    assert ("longrope.rotate/always-short",) in [found.mutants for found in report.diagnoses.values()]


def test_transformers_lets_members_of_a_pair_follow_two_axes_in_hunyuan_vl(tmp_path: Path) -> None:
    """docs/findings.md has it reproduced by hand; text stands at one position on all axes, and is turned rightly."""
    pytest.importorskip("transformers", minversion="5.23.0")
    path = tmp_path / "config.json"
    path.write_text(json.dumps(published(ENTRIES["tencent/HunyuanOCR"])))
    report = run.check(f"config:{path}:transformers", level="smoke", seed=0)
    told = {name.split(":")[1]: each.mutants for name, each in report.diagnoses.items()}
    assert told == {"mrope.rotate": ("mrope.rotate/order=doubled",)}
    rotated = {"ntk_aware.frequencies", "ntk_aware.rotate", "mrope.rotate"}
    assert {each.operation for each in report.evidence} == rotated | {"temperature.scale"}


@pytest.mark.parametrize(
    ("model", "said", "convicted"),
    [
        (
            "mistralai/Ministral-3",
            {"rope_parameters": {"original_max_position_embeddings": 8_192}},
            {"temperature.scale", "yarn.frequencies"},
        ),
        ("meta-llama/Llama-4-Scout-17B-16E", {"text_config": {"attn_scale": 0.25}}, {"temperature.scale"}),
        ("microsoft/phi-1", {"rope_theta": 777.0}, {"rope.frequencies"}),
    ],
)
def test_transformers_is_convicted_where_the_configuration_says_another_number(
    tmp_path: Path, model: str, said: dict[str, Any], convicted: set[str]
) -> None:
    pytest.importorskip("transformers", minversion="5.23.0")
    configuration = published(ENTRIES[model])
    path, adapter = tmp_path / "config.json", tmp_path / "other.py"
    path.write_text(json.dumps(configuration))
    nested = {name: {**configuration[name], **value} if isinstance(value, dict) else value for name, value in said.items()}
    adapter.write_text(OTHERWISE.format(other={**configuration, **nested}))
    report = run.check(f"config:{path}:{adapter}", level="smoke", seed=0)
    assert {result.operation for result in report.results if result.convicts} == convicted
