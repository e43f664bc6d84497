"""Published configurations are read as their models' facts have them, and what is wrong with one has a name."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from refimpl import configuration as config
from refimpl.configuration import Kind, Reading, spellings
from refimpl.configuration.computing import factor_of, scale_of
from refimpl.errors import SpecificationError
from tools.generate.models import published
from tools.released import RELEASED

FOLDER = Path(__file__).parent / "configurations"
LIKE = np.zeros(0)


def facts(kind: Kind) -> dict[str, Any]:
    """Return what the facts' keys say of a kind as it was read."""
    found: dict[str, Any] = {"operation": None, "layers": None if kind.layers is None else len(kind.layers)}
    found["finding"] = next((finding.name for finding in kind.findings), None)
    found["temperature"] = kind.temperature and dict(kind.temperature.parameters)
    rotation = kind.rotation
    if rotation is None:
        return found
    found |= {"operation": rotation.operation, "rope_type": rotation.rope_type, "layout": rotation.layout}
    found |= {"head_dim": rotation.head_dim, "turning": len(rotation.channels), "first": rotation.channels[0]}
    lists = dict(zip(("short_factors", "long_factors"), map(list, rotation.factors or ()), strict=False))
    found |= {"base": rotation.parameters["base"], "parameters": {**rotation.parameters, **lists}}
    found |= {"sections": [*rotation.sections], "order": rotation.order}
    found["grid"] = {name: [*each] if isinstance(each, tuple) else each for name, each in rotation.grid.items()} or None
    scale = scale_of(rotation)
    found["softmax"] = None if scale is None else round(scale * rotation.head_dim**0.5, 5)
    return found | {"attention_factor": factor_of(rotation, None)}


@pytest.mark.parametrize("entry", RELEASED, ids=lambda entry: entry["id"])
def test_a_released_model_is_read_as_its_facts_have_it(entry: dict[str, Any]) -> None:
    reading = config.read(published(entry))
    kinds = {kind.name: kind for kind in reading.kinds}

    assert {*kinds} == {*entry["expected"]}
    assert [finding.name for finding in reading.findings] == entry.get("findings", [])
    for name, expected in entry["expected"].items():
        found = facts(kinds[name])
        parameters = {key: found.get("parameters", {}).get(key) for key in expected.get("parameters", {})}
        told = {key: parameters if key == "parameters" else found.get(key) for key in expected}
        assert told == {**expected, **({"attention_factor": told["attention_factor"]} if "attention_factor" in expected else {})}
        assert told.get("attention_factor", 0) == pytest.approx(expected.get("attention_factor", 0), rel=1e-8)
        assert found["finding"] == expected.get("finding")


def test_there_are_sixty_released_models_and_each_has_a_source() -> None:
    assert len({entry["id"] for entry in RELEASED}) >= 60
    assert all(entry["source"] for entry in RELEASED)


def test_every_decision_names_a_key_of_the_configuration_or_says_that_it_is_assumed() -> None:
    for entry in RELEASED:
        whole = published(entry)
        for kind in config.read(whole).kinds:
            for decision in kind.decisions:
                assert decision.assumed or has(whole, decision.key), (entry["id"], decision)


def has(whole: Any, key: str) -> bool:
    """Whether a configuration has a key, under the way to it."""
    for step in key.split("."):
        if not isinstance(whole, dict) or step not in whole:
            return False
        whole = whole[step]
    return True


def of(reading: Reading) -> list[str]:
    return [finding.name for finding in reading.every_finding]


def test_llama_3_has_the_frequencies_that_are_published() -> None:
    found = config.frequencies(published(RELEASED[0]), like=LIKE)
    told = {29: 2.1665707635e-3, 32: 5.2484616099e-4, 34: 1.7850781277e-4, 35: 9.556212354e-5, 63: 3.0689259889e-7}

    assert {pair: found[pair] for pair in told} == pytest.approx(told)


BROKEN = yaml.safe_load((FOLDER / "broken.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("entry", [entry for entry in BROKEN if entry["level"] == "error"], ids=lambda entry: entry["id"])
def test_no_numbers_come_out_of_an_error(entry: dict[str, Any]) -> None:
    with pytest.raises(SpecificationError, match=r" must .*, got "):
        config.frequencies(entry["configuration"], length=1, like=LIKE)


def test_a_key_that_is_missed_is_not_told_as_none() -> None:
    plain = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4, "rope_theta": 1e4}
    reading = config.read({"model_type": "llama4_text", **plain})
    (found,) = (each for kind in reading.kinds for each in kind.decisions if each.key == "attn_temperature_tuning")
    assert found.assumed
    assert found.says == "queries of layers that don't turn are multiplied by a number that grows with the position, as in this model type"


def test_code_that_has_an_order_of_its_own_is_read_in_it_whatever_a_key_says() -> None:
    sections = {"mrope_section": [3, 3, 2], "rope_type": "default"}
    plain = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1, "rope_theta": 1e4, "head_dim": 16}
    types = {"qwen2_vl": "contiguous", "qwen3_vl": "interleaved", "ernie4_5_vl_moe": "first_last", "glm4v": "contiguous"}
    for model_type, order in types.items():
        for switch in (False, True):
            reading = config.read({"model_type": model_type, **plain, "rope_scaling": {**sections, "mrope_interleaved": switch}})
            (rotation,) = [kind.rotation for kind in reading.kinds]
            assert rotation is not None
            assert rotation.order == order
            assert ("unread-order" in of(reading)) == (switch != (order == "interleaved"))


def test_there_are_broken_configurations_of_forty_threads() -> None:
    assert len({entry["thread"] for entry in BROKEN if entry["thread"]}) >= 40


FOUR = {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 4, "rope_theta": 1e4}
BOTH = ["sliding_attention", "full_attention"] * 2
#: What decides which layers turn, and those that do.
TURNING: list[tuple[dict[str, Any], tuple[int, ...]]] = [
    ({"model_type": "granitemoehybrid", "position_embedding_type": "nope"}, ()),
    ({"model_type": "granitemoehybrid"}, ()),
    ({"model_type": "granitemoehybrid", "position_embedding_type": "rope"}, ()),
    ({"model_type": "granitemoehybrid", "position_embedding_type": "rope", "layer_types": BOTH}, (0, 1, 2, 3)),
    ({"model_type": "exaone4", "sliding_window": None, "layer_types": ["full_attention"] * 4}, (0, 1, 2, 3)),
    ({"model_type": "exaone4", "sliding_window": 512, "layer_types": BOTH}, (0, 2)),
    ({"model_type": "kolibri1", "sliding_window": None, "layer_types": ["full_attention"] * 4}, (0, 1, 2, 3)),
    ({"model_type": "cohere2", "sliding_window": None, "layer_types": BOTH}, ()),
    ({"model_type": "baichuan"}, (0, 1, 2, 3)),
    ({"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40}, ()),
    ({"model_type": "bamba", "attn_layer_indices": [1]}, (1,)),
    ({"model_type": "lfm2", "full_attn_idxs": [0, 2]}, (0, 2)),
    ({"model_type": "recurrent_gemma", "block_types": ["recurrent", "attention"]}, (1, 3)),
    ({"model_type": "minimax_text_01", "attn_type_list": [0, 0, 0, 1]}, (3,)),
    ({"model_type": "mllama_text_model"}, (0, 1, 2)),
    ({"model_type": "mllama_text_model", "cross_attention_layers": [0, 3]}, (1, 2)),
    ({"model_type": "mllama_text_model", "cross_attention_layers": [0], "layer_types": ["full_attention"] * 4}, (1, 2, 3)),
    ({"model_type": "zamba2", "use_mem_rope": True, "num_hidden_layers": 54}, (6, 12, 18, 24, 30, 36, 42, 47, 51)),
    ({"model_type": "zamba2", "use_mem_rope": False, "layers_block_type": ["linear_attention", "hybrid"] * 2}, ()),
    ({"model_type": "zamba2", "use_mem_rope": True, "layers_block_type": ["linear_attention", "hybrid"] * 2}, (1, 3)),
]


@pytest.mark.parametrize(("keys", "layers"), TURNING, ids=lambda value: str(value)[:60])
def test_keys_that_decide_which_layers_turn_are_read(keys: dict[str, Any], layers: tuple[int, ...]) -> None:
    kinds = config.read({**FOUR, **keys}).kinds

    assert sorted(layer for kind in kinds if kind.rotation is not None for layer in kind.layers or ()) == [*layers]


NEW = {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 4}
YARN = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096}
HYBRIDS = [6, 12, 18, 24, 30, 36, 42, 47, 51]
SPEECH = {**NEW, "model_type": "wav2vec2-conformer", "position_embeddings_type": "rotary", "rotary_embedding_base": 10_000}
#: What looks like a mistake in other model types, and is none.
RIGHT: dict[str, dict[str, Any]] = {
    "BLOOM's hidden size": {"model_type": "bloom", "n_embed": 4096, "n_head": 32, "n_layer": 4},
    "cross-attention": {**FOUR, "model_type": "mllama_text_model", "cross_attention_layers": [1]},
    "hybrid layers as the class has them": {
        "model_type": "zamba2", "hidden_size": 2560, "num_attention_heads": 32, "num_hidden_layers": 54, "use_mem_rope": True,
        "hybrid_layer_ids": HYBRIDS,
    },
    "rotation in a speech model": SPEECH,
    "relative positions in a speech model": {**SPEECH, "position_embeddings_type": "relative"},
    "attention in every layer": {**FOUR, "model_type": "minimax_m2", "head_dim": 128, "rope_theta": 5e6, "attn_type_list": [1] * 4},
    "a mapping that scales nothing": {**NEW, "model_type": "gptj", "rope_scaling": {"rope_type": "default"}},
    "a part of a head in a scaling that has one": {
        **FOUR, "model_type": "glm4_moe", "partial_rotary_factor": 0.5, "rope_scaling": {"rope_type": "linear", "factor": 4.0},
    },
    "ChatGLM's base": {**NEW, "model_type": "chatglm", "rope_ratio": 500, "rope_theta": 10_000},
    "Qwen 1's base": {**NEW, "model_type": "qwen", "rotary_emb_base": 1e6},
    "a usual base left over": {**NEW, "model_type": "gpt2", "rope_theta": 10_000},
    "learned positions": {**NEW, "model_type": "bert", "position_embedding_type": "absolute"},
    "GPT-J's width": {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 28, "rotary_dim": 64},
    "a base of both parts": {
        "model_type": "qwen3_vl", "text_config": {**FOUR, "model_type": "qwen3_vl_text", "rope_theta": 5e6},
        "vision_config": {"rope_theta": 1e5, "depth": 27},
    },
    "the whole ratio of DeepSeek": {
        **FOUR, "model_type": "deepseek_v3", "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "max_position_embeddings": 131072,
        "rope_scaling": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0},
    },
    "a list as transformers writes it for itself": {
        **FOUR, "model_type": "recurrent_gemma", "block_types": ["recurrent", "attention"], "_block_types": ["recurrent", "attention"],
    },
    "ALiBi": {"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 4, "attn_config": {"alibi": True}},
    "ESM-2": {**NEW, "model_type": "esm", "position_embedding_type": "rotary"},
    "no attention": {"model_type": "mamba2", "hidden_size": 2560, "num_hidden_layers": 64, "num_heads": 80, "head_dim": 64},
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_like_a_mistake_and_is_none_is_not_warned_of(name: str) -> None:
    assert of(config.read(RIGHT[name])) == []


def test_layers_that_do_not_turn_by_a_key_are_not_said_to_be_those_of_a_model_type() -> None:
    for keys in (
        {"model_type": "granitemoehybrid", "position_embedding_type": "nope"},
        {"model_type": "cohere2", "sliding_window": None, "layer_types": BOTH},
        {"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40},
        {"model_type": "zamba2", "use_mem_rope": False, "layers_block_type": ["linear_attention", "hybrid"] * 2},
    ):
        assert "model_type" not in {each.key for kind in config.read({**FOUR, **keys}).kinds for each in kind.decisions}


def test_hidden_states_that_turn_before_their_projection_are_told() -> None:
    (kind,) = config.read(SPEECH).kinds

    assert kind.rotation is not None
    assert "projection" in {decision.key for decision in kind.decisions}


@pytest.mark.parametrize("model_type", ["gptj", "codegen", "roformer", "chatglm", "qwen", "baichuan", "wav2vec2-conformer"])
def test_code_that_reads_no_scaling_turns_without_one(model_type: str) -> None:
    scaled = {**SPEECH, "model_type": model_type, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}
    (kind,) = config.read(scaled).kinds

    assert kind.rotation is not None
    assert kind.rotation.operation == "rope.frequencies"


def test_chatglm_turns_by_its_ratio_alone() -> None:
    for keys, base in (({"rope_ratio": 500, "rope_theta": 1e4}, 5e6), ({"rope_theta": 5e6}, 1e4)):
        (kind,) = config.read({**NEW, "model_type": "chatglm", **keys}).kinds
        assert kind.rotation is not None
        assert kind.rotation.parameters["base"] == base


def test_sections_that_a_model_type_does_not_read_are_no_axes() -> None:
    (kind,) = config.read({**FOUR, "model_type": "llama", "rope_scaling": {"rope_type": "mrope", "mrope_section": [16, 24, 24]}}).kinds

    assert kind.rotation is not None
    assert kind.rotation.sections == ()
    assert [finding.name for finding in kind.findings] == []


@pytest.mark.parametrize(("beside", "told"), [({}, ["unread-mapping"]), ({"rope_theta": 500_000.0}, [])])
def test_a_base_in_a_mapping_of_attentions_own_is_read_and_warned_of_where_it_stands_alone(beside: dict[str, Any], told: list[str]) -> None:
    dbrx = {"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "attn_config": {"rope_theta": 500_000.0}}
    reading = config.read({**dbrx, **beside})

    assert [kind.rotation and kind.rotation.parameters["base"] for kind in reading.kinds] == [500_000.0]
    assert of(reading) == told


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        ({"use_mem_rope": True, "use_long_context": True}, ["unread-base"]),
        ({"use_mem_rope": True, "use_long_context": False}, []),
        ({"use_mem_rope": False, "use_long_context": True}, []),
    ],
)
def test_a_base_that_transformers_4_57_raises_for_long_sequences_is_warned_of(beside: dict[str, Any], told: list[str]) -> None:
    assert of(config.read({**FOUR, "model_type": "zamba2", "layers_block_type": ["mamba", "mamba", "hybrid", "hybrid"], **beside})) == told


def test_heads_are_as_wide_as_a_mapping_by_layers_says() -> None:
    wide = {"head_dim": 512}
    keys = {"model_type": "gemma4_text", "layer_types": BOTH, "per_layer_config": {"01": wide, "3": wide}}
    kinds = config.read({**FOUR, **keys}).kinds

    assert [(kind.layers, kind.rotation and kind.rotation.head_dim) for kind in kinds] == [((0, 2), 256), ((1, 3), 512)]


def test_what_is_taken_of_a_class_is_told_as_assumed() -> None:
    (kind,) = config.read({"model_type": "gpt_oss", "hidden_size": 2880, "num_attention_heads": 64, "num_hidden_layers": 2}).kinds

    assert kind.rotation is not None
    assert (kind.rotation.head_dim, kind.rotation.operation, kind.rotation.parameters["factor"]) == (64, "yarn.frequencies", 32.0)
    assert all(decision.assumed for decision in kind.decisions)


@pytest.mark.parametrize(
    ("keys", "list_of"), [({"model_type": "smollm3"}, "no_rope_layers"), ({"model_type": "gemma3_text", "head_dim": 32}, "layer_types")]
)
def test_no_default_stands_in_the_place_of_a_list_that_is_wrong(keys: dict[str, Any], list_of: str) -> None:
    reading = config.read({**FOUR, **keys, "rope_theta": 1e4, list_of: [1] * 3 if list_of == "no_rope_layers" else ["full_attention"] * 3})

    assert [(finding.name, finding.key) for finding in reading.findings] == [("wrong-length", list_of)]
    assert not {decision.key for kind in reading.kinds for decision in kind.decisions} & {
        "no_rope_layer_interval",
        "sliding_window_pattern",
    }


def test_a_key_outside_of_its_scaling_is_told_beside_the_error_that_it_is_missing_there() -> None:
    scaling = {"rope_type": "yarn", "original_max_position_embeddings": 32768}
    reading = config.read({**FOUR, "model_type": "qwen3", "head_dim": 32, "factor": 4.0, "rope_scaling": scaling})

    assert [(finding.name, finding.key) for finding in reading.every_finding] == [
        ("outside-scaling", "factor"),
        ("missing-key", "rope_scaling.factor"),
    ]


def test_a_base_that_no_layer_has_is_told() -> None:
    text = {**FOUR, "model_type": "gemma3_text", "head_dim": 32, "rope_theta": 5e5}
    found = config.read({"model_type": "gemma3", "text_config": text}).findings
    every = config.read({"model_type": "gemma3", "text_config": {**text, "num_hidden_layers": 6}}).findings

    assert [(finding.name, finding.key) for finding in found] == [("unread-base", "text_config.rope_theta")]
    assert not every


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("llama4_scaling_beta", "llama_4_scaling_beta"),
        ("llama_scaling_beta", "llama_4_scaling_beta"),
        ("llama4ScalingBeta", "llama_4_scaling_beta"),
        ("yarn_beta_fast", "beta_fast"),
        ("yarn_factor", "factor"),
        ("mscaleAllDim", "mscale_all_dim"),
    ],
)
def test_a_key_with_the_letters_of_a_known_one_or_a_prefix_is_told_which_is_meant(key: str, meant: str) -> None:
    scaling = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 8192, "rope_theta": 1e6}
    sizes = {"model_type": "mistral", "hidden_size": 64, "num_attention_heads": 4, "head_dim": 16, "max_position_embeddings": 131072}
    (found,) = config.read({**sizes, "rope_parameters": {**scaling, key: 0.1}}).every_finding
    assert (found.name, f"did you mean {meant}?" in found.text) == ("misspelt-key", True)


@pytest.mark.parametrize(("key", "finding"), [("llama_4_scaling_beta", "outside-scaling"), ("llama4_scaling_beta", "misspelt-key")])
def test_a_slope_of_queries_outside_of_the_scaling_is_warned_of_once(key: str, finding: str) -> None:
    sizes = {"model_type": "ministral3", "hidden_size": 64, "num_attention_heads": 4, "head_dim": 16, "max_position_embeddings": 131072}
    scaling = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 8192, "rope_theta": 1e6}
    reading = config.read({**sizes, "rope_parameters": scaling, key: 0.1})
    assert [each.name for each in reading.every_finding] == [finding]


@pytest.mark.parametrize("types", [("yarn", "linear"), ("linear", "yarn"), ("yarn", "mrope"), ("yarn", "linar")])
def test_of_two_rope_types_that_contradict_each_other_none_is_picked(types: tuple[str, str]) -> None:
    sizes = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 131072, "rope_theta": 1e4}
    reading = config.read({**sizes, "rope_scaling": {"rope_type": types[0], "type": types[1], "factor": 4.0}})
    (found,) = reading.every_finding
    rule = "rope_scaling.rope_type and rope_scaling.type must name the same rope type"
    assert found.text == f"{rule}, got {[*types]}"
    assert not any("rope type is" in decision.says for kind in reading.kinds for decision in kind.decisions)


def within(whole: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the ways to all keys of a configuration."""
    for key, value in whole.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from within(value, (*path, key))


def put(whole: dict[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return a configuration with another value at the end of a way."""
    return {**whole, path[0]: put(whole[path[0]], path[1:], value) if path[1:] else value}


#: What lists of layers may be, in model types each of which reads one of them.
BY_LISTS: dict[str, dict[str, Any]] = {
    "attn_layer_indices": {"model_type": "bamba", "attn_layer_indices": [1, 3]},
    "attn_type_list": {"model_type": "minimax_text_01", "attn_type_list": [0, 0, 0, 1]},
    "block_types": {"model_type": "recurrent_gemma", "block_types": ["recurrent", "attention"]},
    "cross_attention_layers": {"model_type": "mllama_text_model", "cross_attention_layers": [1, 3]},
    "full_attn_idxs": {"model_type": "lfm2", "full_attn_idxs": [0, 2]},
    "hybrid_override_pattern": {"model_type": "nemotron_h", "hybrid_override_pattern": ["M", "*", "-", "*"]},
    "layer_types": {"model_type": "gemma3_text", "layer_types": BOTH, "rope_local_base_freq": 5e3, "rope_theta": 1e6},
    "linear_attn_config": {"model_type": "kimi_linear", "linear_attn_config": {"full_attn_layers": [2, 4], "kda_layers": [1, 3]}},
    "attn_layer_period": {"model_type": "jamba", "attn_layer_period": 4, "attn_layer_offset": 1},
    "layers_block_type": {"model_type": "zamba2", "use_mem_rope": True, "layers_block_type": ["linear_attention", "hybrid"] * 2},
}
REFUSABLE = {entry["id"]: published(entry) for entry in RELEASED} | {name: {**FOUR, **keys} for name, keys in BY_LISTS.items()}


@pytest.mark.parametrize("name", REFUSABLE)
def test_of_a_key_that_is_refused_nothing_else_is_said_than_that_it_is(name: str) -> None:
    whole = REFUSABLE[name]
    usual = {(finding.name, finding.key) for finding in config.read(whole).every_finding}
    for path in within(whole):
        key, value = ".".join(path), functools.reduce(lambda inner, step: inner[step], path, whole)
        for wrong in ("wrong", -1, 1.5, {"wrong": 1}, *([value[:-1], ["wrong"] * len(value)] if isinstance(value, list) else ())):
            found = [each for each in config.read(put(whole, path, wrong)).every_finding if (each.name, each.key) not in usual]
            if path[-1] != "model_type" and any(each.level == "error" and each.key == key for each in found):
                assert {(each.level, each.key) for each in found} == {("error", key)}, (key, wrong)


@pytest.mark.parametrize("value", [1, 0, 1.0, "true", []])
@pytest.mark.parametrize("key", spellings.SWITCHES)
def test_a_switch_that_is_neither_true_nor_false_is_refused_as_transformers_refuses_it(key: str, value: object) -> None:
    found = config.read({**FOUR, "model_type": "zamba2", "use_mem_rope": True, key: value}).every_finding

    assert [(each.name, each.key) for each in found if each.level == "error"] == [("bad-value", key)]


@pytest.mark.parametrize(
    ("model_type", "key", "meant"),
    [
        ("jetmoe", "rotary_percent", ""),
        ("nemotron", "rotary_percent", ""),
        ("gpt_neox", "rotary_percent", "rotary_pct"),
        ("llama", "rotary_emb_bases", ""),
        ("gpt_neox", "rotary_emb_bases", "rotary_emb_base"),
        ("llama", "attn_layer_indice", ""),
        ("bamba", "attn_layer_indice", "attn_layer_indices"),
        ("llama", "rope_local_base_frq", ""),
        ("gemma3_text", "rope_local_base_frq", "rope_local_base_freq"),
        ("llama", "partial_rotary_fctor", ""),
        ("glm", "partial_rotary_fctor", "partial_rotary_factor"),
        ("llama", "index_topkk", ""),
    ],
)
def test_a_key_is_suggested_only_where_code_of_the_model_type_reads_it(model_type: str, key: str, meant: str) -> None:
    told = [finding.text for finding in config.read({**FOUR, "model_type": model_type, key: 0.5}).every_finding]

    assert any(f"did you mean {meant}?" in each for each in told) if meant else not any("did you mean" in each for each in told)


def test_bases_are_equal_only_where_both_are_read() -> None:
    bases = {"rope_theta": 1e4, "rope_local_base_freq": 1e4}

    assert of(config.read({**FOUR, "model_type": "gemma2", **bases})) == ["unread-base"]
    assert "equal-bases" in of(config.read({**FOUR, "model_type": "gemma3_text", **bases}))


MIXFORMER = {"n_embd": 2048, "n_head": 32, "n_layer": 4, "n_positions": 2048, "rotary_dim": 32}
#: Model types with code of their own: their keys, the base, the width of a head, how many channels turn, and where it is read so.
CUSTOM: list[tuple[dict[str, Any], float, int, int, str]] = [
    ({"model_type": "exaone", **NEW, "rope_theta": 5e5}, 5e5, 128, 128, "vllm-project/vllm: vllm/model_executor/models/exaone.py"),
    ({"model_type": "internlm", **NEW, "rotary": {"base": 5e5, "type": "origin"}}, 5e5, 128, 128, "InternLM: modeling_internlm.py"),
    ({"model_type": "mixformer-sequential", **MIXFORMER}, 1e4, 64, 32, "vllm-project/vllm: vllm/model_executor/models/phi_1_5.py"),
    ({"model_type": "phi-msft", **MIXFORMER}, 1e4, 64, 32, "vllm-project/vllm: vllm/model_executor/models/phi_1_5.py"),
    (
        {"model_type": "openelm", "head_dim": 64, "num_transformer_layers": 4, "rope_freq_constant": 5e4},
        *(5e4, 64, 64, "ml-explore/mlx-lm: mlx_lm/models/openelm.py"),
    ),
    ({"model_type": "phi3small", **NEW}, 1e6, 128, 128, "ml-explore/mlx-lm: mlx_lm/models/phi3small.py"),
    ({"model_type": "phi3small", **NEW, "rope_embedding_base": 5e6}, 5e6, 128, 128, "vllm-project/vllm: phi3_small.py"),
    ({"model_type": "stablelm_epoch", **NEW, "rope_theta": 1e4}, 1e4, 128, 32, "vllm-project/vllm: vllm/model_executor/models/stablelm.py"),
]


@pytest.mark.parametrize(("keys", "base", "head_dim", "turning", "source"), CUSTOM, ids=lambda value: str(value)[:60])
def test_a_model_type_with_code_of_its_own_is_read_as_that_code_reads_it(
    keys: dict[str, Any], base: float, head_dim: int, turning: int, source: str
) -> None:
    reading = config.read(keys)
    (kind,) = reading.kinds

    assert kind.rotation is not None
    assert (kind.rotation.parameters["base"], kind.rotation.head_dim, len(kind.rotation.channels)) == (base, head_dim, turning), source
    assert (kind.rotation.layout, len(kind.layers or ()), of(reading)) == ("half", 4, [])


@pytest.mark.parametrize("model_type", ["internlm", "openelm", "phi3small"])
def test_a_base_that_code_of_its_own_does_not_read_is_warned_of_where_it_is_another(model_type: str) -> None:
    said = {"model_type": model_type, **NEW}

    assert of(config.read({**said, "rope_theta": 5e5})) == ["unread-base"]
    assert of(config.read({**said, "rope_theta": 1e6 if model_type == "phi3small" else 1e4})) == []


def test_nothing_turns_in_zamba_and_its_heads_are_those_of_twice_the_hidden_state() -> None:
    whole = {"model_type": "zamba", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3, "rope_theta": 1e4}
    reading = config.read({**whole, "layers_block_type": ["linear_attention", "linear_attention", "hybrid"]})

    assert [(kind.rotation, kind.rests, kind.head_dim) for kind in reading.kinds] == [(None, False, None), (None, True, 32)]
    assert of(reading) == []


@pytest.mark.parametrize(("beside", "told"), [({"rope_theta": 5e5}, []), ({"rope_theta": 1e4}, ["unread-base"]), ({}, ["unread-base"])])
def test_a_base_that_an_earlier_transformers_took_for_lfm2_is_warned_of_where_it_differs(beside: dict[str, Any], told: list[str]) -> None:
    assert of(config.read({**NEW, "model_type": "lfm2", "full_attn_idxs": [1], "theta": 5e5, **beside})) == told


@pytest.mark.parametrize(("rule", "told"), [("default", []), ("linear", ["not-default"])])
def test_a_scaling_that_code_of_a_model_type_raises_at_is_refused(rule: str, told: list[str]) -> None:
    scaling = {"rope_type": rule, **({"factor": 2.0} if told else {})}
    reading = config.read({**FOUR, "model_type": "recurrent_gemma", "block_types": ["attention"], "rope_scaling": scaling})

    assert of(reading) == told
    assert [kind.rotation is None for kind in reading.kinds] == [bool(told)]


LONG = {"rope_type": "longrope", "long_factor": [1.0] * 8, "original_max_position_embeddings": 4096}


@pytest.mark.parametrize("says", [{"rotary_emb_base": 20_000.0}, {"auto_map": {"AutoConfig": "code.Config"}}])
@pytest.mark.parametrize("model_type", ["xlm-roberta", "bert"])
def test_a_word_for_rotation_counts_beside_a_base_or_code_of_its_own_in_a_type_at_rest(model_type: str, says: dict[str, Any]) -> None:
    sizes = {"hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 2, "position_embedding_type": "rotary"}
    reading = config.read({"model_type": model_type, **sizes, **says})
    (kind,) = reading.kinds
    assert kind.rotation is not None
    assert kind.rotation.parameters["base"] == says.get("rotary_emb_base", 10_000.0)
    assert [(each.name, each.got) for each in reading.every_finding] == [("unknown-model-type", repr(model_type))]


@pytest.mark.parametrize("widths", [{}, {"qk_rope_head_dim": 0, "qk_nope_head_dim": 0, "v_head_dim": 0}])
@pytest.mark.parametrize("model_type", ["deepseek_v2", "deepseek_v3"])
def test_whole_heads_turn_where_latent_attention_is_switched_off(model_type: str, widths: dict[str, int]) -> None:
    sizes = {"hidden_size": 1280, "num_attention_heads": 10, "num_hidden_layers": 12}
    says = {"model_type": model_type, "use_mla": False, **widths}
    switched, plain = (config.read({**sizes, **each}) for each in (says, {"model_type": "llama"}))
    assert switched.every_finding == ()
    assert [kind.rotation for kind in switched.kinds] == [kind.rotation for kind in plain.kinds]


def test_a_switch_of_the_temperature_that_is_no_switch_concerns_layers_that_do_not_turn_alone() -> None:
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4, "rope_theta": 5e5}
    wrong, right = (config.read({"model_type": "llama4_text", **sizes, "attn_temperature_tuning": each}) for each in ("4", True))
    assert [kind.rotation for kind in wrong.kinds] == [kind.rotation for kind in right.kinds]
    assert [[each.name for each in kind.findings] for kind in wrong.kinds] == [[], ["bad-value"]]


def test_of_a_list_of_bases_that_code_has_not_one_thing_is_told() -> None:
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 8}
    reading = config.read({"model_type": "llama", **sizes, "rope_theta": [5e5]})
    assert [finding.name for finding in reading.every_finding] == ["no-base"]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("gemma3_text", "rope_local_base_freq"),
        ("modernbert", "local_rope_theta"),
        ("modernbert", "global_rope_theta"),
        ("gpt_neox", "rotary_emb_base"),
    ],
)
def test_a_null_for_a_base_under_any_name_is_told(name: str, key: str) -> None:
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 8}
    told = [(finding.name, finding.key) for finding in config.read({"model_type": name, **sizes, key: None}).every_finding]
    assert told == [("null-base", key)]


def test_a_null_for_the_rope_type_beside_the_old_key_is_told() -> None:
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 8, "rope_theta": 1e4}
    scaling = {"type": "linear", "rope_type": None, "factor": 2.0}
    reading = config.read({"model_type": "llama", **sizes, "rope_scaling": scaling})
    assert [finding.name for finding in reading.every_finding] == ["null-type"]


def test_a_null_for_the_original_length_is_told_to_be_refused() -> None:
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 8, "max_position_embeddings": 4096}
    scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": None}
    told = config.read({"model_type": "mistral", **sizes, "rope_theta": 1e4, "rope_scaling": scaling}).every_finding
    assert [finding.name for finding in told] == ["refused-null", "no-original-length"]
    assert "other code takes max_position_embeddings (4096)" in told[0].rule


def test_seamless_m4t_v2_spells_its_kind_of_positions_in_its_own_way() -> None:
    reading = config.read({"model_type": "seamless_m4t_v2", "position_embeddings_type": "relative_key"})
    assert reading.every_finding == ()
    assert [kind.rotation for kind in reading.kinds] == [None]


@pytest.mark.parametrize("key", ["zero_optimization", "log_history", "added_tokens", "general.architecture"])
def test_a_file_of_another_kind_is_told_by_a_key_of_it(key: str) -> None:
    assert [finding.name for finding in config.read({key: [], "epoch": 1.0}).every_finding] == ["other-file"]


def test_of_a_model_that_does_not_turn_no_layer_is_said_to_turn() -> None:
    sizes = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 8, "attention_head_dim": 128}
    reading = config.read({"model_type": "zamba2", **sizes, "use_mem_rope": False})
    (finding,) = reading.every_finding
    assert finding.rule.endswith("every layer is read as one that has attention")


@pytest.mark.parametrize("places", [("encoder_config", "decoder_config"), ("vlm_config.text_config",)])
def test_parts_that_can_turn_are_named_of_a_model_that_says_nothing_of_them_itself(places: tuple[str, ...]) -> None:
    whole: dict[str, Any] = {"model_type": "unheard_of"}
    for place in places:
        outer, _, inner = place.partition(".")
        part = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 1e4}
        whole[outer] = {inner: part} if inner else part
    (finding,) = config.read(whole).every_finding
    assert f"{' and '.join(places)} can turn" in finding.text


@pytest.mark.parametrize(
    ("other", "looks"),
    [
        ({"peft_type": "LORA", "base_model_name_or_path": "a/model"}, "that of base_model_name_or_path (a/model)"),
        ({"tokenizer_class": "LlamaTokenizer", "model_max_length": 4096}, "a tokenizer"),
        ({"eos_token_id": 2, "temperature": 0.6}, "generation"),
        ({"weight_map": {"a": "b"}}, "an index of weights"),
        ({"dim": 4096, "n_layers": 2, "n_heads": 32, "n_kv_heads": 8, "rope_theta": 5e5}, "params.json"),
    ],
)
def test_a_file_that_is_no_configuration_of_a_model_is_told_by_what_it_looks_like(other: dict[str, Any], looks: str) -> None:
    (finding,) = config.read(other).every_finding
    assert finding.name == "other-file"
    assert looks in finding.text


@pytest.mark.parametrize(
    ("model_type", "telling"),
    [("chatglm", {"position_encoding_2d": True}), ("chatglm", {"inner_hidden_size": 256}), ("glm", {"block_position_encoding": True})],
)
def test_an_older_architecture_of_the_same_name_has_no_numbers(model_type: str, telling: dict[str, Any]) -> None:
    (kind,) = config.read({"model_type": model_type, "hidden_size": 64, "num_attention_heads": 2, "num_layers": 2, **telling}).kinds

    assert kind.rotation is None
    assert [(finding.level, finding.name, finding.key) for finding in kind.findings] == [("error", "other-architecture", *telling)]


@pytest.mark.parametrize(("class_name", "told"), [("Chronos2Model", ["unknown-model-type"]), ("T5ForConditionalGeneration", [])])
def test_a_type_that_does_not_turn_does_where_a_class_of_another_one_has_a_rotary_key(class_name: str, told: list[str]) -> None:
    sizes = {"d_model": 128, "d_kv": 64, "num_heads": 2, "num_layers": 2}
    reading = config.read({"model_type": "t5", "architectures": [class_name], "rope_theta": 1e4, **sizes})

    assert [kind.rotation is not None for kind in reading.kinds] == [told != []]
    assert of(reading) == told


def test_a_configuration_without_a_model_type_is_no_other_file() -> None:
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 1e4, "eos_token_id": 2}
    assert [finding.name for finding in config.read(sizes).every_finding] == ["unknown-model-type"]


@pytest.mark.parametrize(
    ("scaling", "text"),
    [
        ({"rope_type": "yarn", "factor": -2, "original_max_position_embeddings": 2048}, "rope_scaling.factor must be at least 1, got -2"),
        ({**LONG, "short_factor": [1.0] * 7 + ["x"]}, "rope_scaling.short_factor[7] must be a number from 1e-12 to 1e+15, got 'x'"),
        ({**LONG, "short_factor": {"0": 1}}, "rope_scaling.short_factor must be a list of numbers from 1e-12 to 1e+15, got {'0': 1}"),
    ],
)
def test_of_a_wrong_number_one_thing_is_said_and_it_names_the_entry(scaling: dict[str, Any], text: str) -> None:
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 8192}
    assert [each.text for each in config.read({"model_type": "llama", **sizes, "rope_scaling": scaling}).every_finding] == [text]
