"""What is told of nulls, of keys that a class takes for others, and of files whose code is the model's own."""

from typing import Any

import pytest

from refimpl import configuration as config

SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 1e4}
LATENT = {**SIZES, "qk_rope_head_dim": 16, "qk_nope_head_dim": 16, "v_head_dim": 32}
LISTS = {"short_factor": [1.0] * 8, "long_factor": [2.0] * 8}
SU: dict[str, Any] = {"type": "su", **LISTS}
YARN: dict[str, Any] = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
ORIGINAL = {"original_max_position_embeddings": 1024}


def told(name: str, says: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the names and the keys of what is told."""
    return [(finding.name, finding.key) for finding in config.read({"model_type": name, **says}).every_finding]


ROWS: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("deepseek_v3", {**LATENT, "head_dim": 32}, [("taken-width", "head_dim")]),
    ("deepseek_v3", {**LATENT, "head_dim": None}, [("taken-width", "head_dim")]),
    ("deepseek_v3", {**LATENT, "head_dim": 16}, []),
    ("deepseek_v2", {**LATENT, "head_dim": 32}, []),
    ("phi3", {**SIZES, **ORIGINAL, "rope_scaling": SU}, [("asked-key", "rope_scaling.original_max_position_embeddings")]),
    ("phi3", {**SIZES, **ORIGINAL, "rope_scaling": {**SU, **ORIGINAL}}, []),
    ("phi3", {**SIZES, "rope_scaling": {**SU, **ORIGINAL}}, [("unread-length", "rope_scaling.original_max_position_embeddings")]),
    ("phi3", {**SIZES, "original_max_position_embeddings": None}, [("refused-null", "original_max_position_embeddings")]),
    ("llama", {**SIZES, "rope_scaling": {**SU, **ORIGINAL}}, [("refused-type", "rope_scaling.type")]),
    ("hunyuan_v1_dense", SIZES, [("asked-key", "head_dim")]),
    ("hunyuan_v1_moe", {**SIZES, "head_dim": 16}, []),
    ("seed_oss", {**SIZES, "head_dim": None, "max_position_embeddings": 4096, "rope_scaling": YARN}, []),
    ("bamba", {**SIZES, "attn_layer_indices": [1], "partial_rotary_factor": 0.5}, []),
    ("bamba", {**SIZES, "attn_layer_indices": [1], "partial_rotary_factor": 0.25}, [("unread-part", "partial_rotary_factor")]),
    ("qwen3", {**SIZES, "rope_parameters": {"full_attention": {"rope_type": "default"}}}, [("not-flat", "rope_parameters")]),
    ("llama", {**SIZES, "rope_scaling": {"rope_type": None}}, [("null-type", "rope_scaling.rope_type")]),
    ("llama", {**SIZES, "rope_scaling": {"type": "vanilla"}}, [("refused-type", "rope_scaling.type")]),
    ("telechat3", {**SIZES, "rope_scaling": {**YARN, "rope_type": "telechat3-yarn"}}, []),
    ("qwen2_vl", {**SIZES, "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}, []),
    ("llama", {**SIZES, "rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}, []),
    ("smollm3", {**SIZES, "no_rope_layer_interval": None}, [("refused-null", "no_rope_layer_interval")]),
    ("llama4_text", {**SIZES, "num_hidden_layers": 4, "attn_temperature_tuning": 4}, [("refused-value", "attn_temperature_tuning")]),
    ("mpt", {"d_model": 64, "attn_config": {"rope": True, "rope_theta": 1e4}}, [("unread-mapping", "attn_config.rope_theta")]),
    (
        "gemma3_text",
        {**SIZES, **ORIGINAL, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
        [("unread-length", "original_max_position_embeddings")],
    ),
]


@pytest.mark.parametrize(("name", "says", "findings"), ROWS)
def test_it_is_told_where_a_class_refuses_a_key_or_takes_another(name: str, says: dict[str, Any], findings: list[tuple[str, str]]) -> None:
    others = ("no-layer-types", "no-original-length", "outside-nested", "factor-not-ratio")
    assert [each for each in told(name, says) if each[0] not in others] == findings


def test_of_keys_that_two_versions_take_in_two_ways_the_versions_are_told() -> None:
    old = {"model_type": "phi3", **SIZES, **ORIGINAL, "rope_scaling": SU}
    many = {"model_type": "llama4_text", **SIZES, "num_hidden_layers": 4, "attn_temperature_tuning": 4}
    for says in (old, many):
        (finding,) = config.read(says).every_finding
        assert "4.57" in finding.text
        assert "5.23" in finding.text
    assert [kind.temperature for kind in config.read(many).kinds] == [
        kind.temperature for kind in config.read({**many, "attn_temperature_tuning": True}).kinds
    ]


@pytest.mark.parametrize("says", [{}, {"use_dynamic_ntk": False}, {"use_dynamic_ntk": None, "use_logn_attn": None}])
def test_what_is_missing_of_the_first_qwen_s_switches_is_on(says: dict[str, Any]) -> None:
    (kind,) = config.read({"model_type": "qwen", **SIZES, "seq_length": 2048, **says}).kinds
    assert kind.rotation is not None
    assert kind.rotation.operation == ("rope.frequencies" if says else "dynamic_ntk.frequencies")
    assert (kind.temperature is None) is ("use_logn_attn" in says)
    assert {each.key for each in kind.decisions if each.assumed} >= {"use_dynamic_ntk", "use_logn_attn"} - says.keys()


@pytest.mark.parametrize(
    ("name", "says", "head_dim"),
    [
        ("kimi_linear", {"num_hidden_layers": 8, "qk_nope_head_dim": 12, "qk_rope_head_dim": 4}, 16),
        ("kimi_linear", {"num_hidden_layers": 8}, 192),
        ("glm5_next_text", {"num_hidden_layers": 4, "qk_nope_head_dim": 32, "qk_rope_head_dim": 0}, 32),
        ("mistral_large4_text", {"num_hidden_layers": 4, "qk_nope_head_dim": 12, "qk_rope_head_dim": 4}, 16),
        ("smollm3", {"num_hidden_layers": 4, "head_dim": 32}, 32),
    ],
)
def test_a_head_that_rests_is_as_wide_as_both_parts_of_latent_attention(name: str, says: dict[str, Any], head_dim: int) -> None:
    found = [kind.head_dim for kind in config.read({"model_type": name, **SIZES, **says}).kinds if kind.rests]
    assert found == [head_dim]


def test_a_part_that_a_file_gives_as_the_code_has_it_is_not_assumed() -> None:
    whole = {"model_type": "bamba", **SIZES, "attn_layer_indices": [1], "partial_rotary_factor": 0.5}
    (kind,) = [kind for kind in config.read(whole).kinds if kind.rotation is not None]
    assert [each.assumed for each in kind.decisions if each.key == "partial_rotary_factor"] == [False]


@pytest.mark.parametrize(
    ("name", "named", "own"),
    [
        ("llama", "BlueForCausalLM", True),
        ("llama", "LlavaLlamaForCausalLM", False),
        ("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", False),
        ("kimi_k2", "DeepseekV3ForCausalLM", False),
    ],
)
def test_code_of_the_model_s_own_is_told_of_where_its_classes_have_another_name(name: str, named: str, *, own: bool) -> None:
    whole = {**SIZES, "head_dim": 16, "architectures": [named], "auto_map": {"AutoModelForCausalLM": f"modeling.{named}"}}
    assert (("own-code", "architectures") in told(name, whole)) is own
    assert ("own-code", "architectures") not in told(name, {key: value for key, value in whole.items() if key != "auto_map"})
