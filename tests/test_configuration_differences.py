"""A difference between libraries is told only where it shows."""

from typing import Any

import pytest

from refimpl import configuration as config
from refimpl.configuration.differences import DIFFERENCES, applying

PLAIN = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 4, "max_position_embeddings": 8192}
UNTYPED = {"factor": 4.0, "original_max_position_embeddings": 2048}
YARN = {**UNTYPED, "rope_type": "yarn"}
LLAMA3 = {**YARN, "rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LONG = {"rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [2.0] * 32, "original_max_position_embeddings": 2048}
LINEAR = {"rope_type": "linear", "factor": 8.0}
GEMMA = {
    "model_type": "gemma3_text",
    "rope_local_base_freq": 1e4,
    "rope_theta": 1e6,
    "layer_types": ["sliding_attention", "full_attention"] * 2,
}
LATENT = {"model_type": "deepseek_v3", "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
V4 = {"model_type": "deepseek_v4", "head_dim": 64, "qk_rope_head_dim": 32, "compress_rope_theta": 1.6e5}
QWEN = {"model_type": "qwen3_5_text", "head_dim": 64}
IMAGES = {"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True}
HUNYUAN = {"model_type": "hunyuan_vl_text", "head_dim": 64}
FOUR = {"rope_type": "xdrope", "alpha": 1000.0}
GPT = {"model_type": "minimax_m2", "head_dim": 64}
#: A key, what is told of it, configurations in which that is so, and in which it isn't.
ROWS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    (
        "rope_type",
        "computed once",
        {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
        {"model_type": "hunyuan_v1_dense", "rope_scaling": {"rope_type": "dynamic", "alpha": 1e3}},
    ),
    (
        "type",
        "computed once",
        {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
        {"model_type": "hunyuan_v1_dense", "rope_scaling": {"type": "dynamic", "alpha": 1e3}},
    ),
    (
        "rope_type",
        "own slope",
        {"rope_scaling": {**YARN, "rope_type": "telechat3-yarn"}},
        {"rope_scaling": {**YARN, "rope_type": "telechat3-yarn", "attention_factor": 1.5}},
    ),
    ("truncate", "rounds the ends", {"rope_scaling": {**YARN, "truncate": False}}, {"rope_scaling": {**LLAMA3, "truncate": False}}),
    (
        "attention_factor",
        "in its place",
        {"rope_scaling": {**YARN, "attention_factor": 1.5}},
        {"rope_scaling": {**LLAMA3, "attention_factor": 1.5}},
    ),
    (
        "attention_factor",
        "in its place",
        {"rope_scaling": {**YARN, "attention_factor": 1.5}},
        {"rope_scaling": {**LONG, "attention_factor": 1.5}},
    ),
    ("mscale", "twice", {"rope_scaling": {**YARN, "mscale": 1.0, "mscale_all_dim": 0.5}}, {"rope_scaling": {**YARN, "mscale": 1.0}}),
    ("long_factor", "had room for", {"rope_scaling": LONG}, {"rope_scaling": {**LINEAR, "long_factor": [2.0] * 32}}),
    (
        "short_mscale",
        "ignored it",
        {"rope_scaling": {**LONG, "short_mscale": 1.1, "long_mscale": 1.2}},
        {"rope_scaling": {**YARN, "short_mscale": 1.1}},
    ),
    (
        "partial_rotary_factor",
        "applied it twice",
        {"model_type": "phi3", "partial_rotary_factor": 0.5},
        {**LATENT, "partial_rotary_factor": 0.5},
    ),
    ("partial_rotary_factor", "cut qk_rope_head_dim", {**LATENT, "partial_rotary_factor": 0.5}, {**LATENT, "partial_rotary_factor": 1.0}),
    ("partial_rotary_factor", "cut qk_rope_head_dim", {**LATENT, "partial_rotary_factor": 0.5}, LATENT),
    (
        "rotary_pct",
        "whole head in the exponent",
        {"model_type": "gpt_neox", "rotary_pct": 0.25},
        {"model_type": "gpt_neox", "rotary_pct": 1.0},
    ),
    ("rotary_dim", "before 5.23", {**GPT, "rotary_dim": 32}, {"model_type": "gptj", "rotary_dim": 32}),
    ("head_dim", "divided hidden_size", {"head_dim": 128}, {"head_dim": 64}),
    (
        "no_rope_layers",
        "turned every layer",
        {"model_type": "smollm3", "no_rope_layers": [1, 1, 1, 0]},
        {"model_type": "smollm3", "no_rope_layers": [1] * 4},
    ),
    ("rope_local_base_freq", "local layers", {**GEMMA, "rope_scaling": LINEAR}, GEMMA),
    ("compress_ratios", "ratio 0", {**V4, "compress_ratios": [0, 0, 4, 4], "rope_scaling": YARN}, {**V4, "compress_ratios": [0, 0, 4, 4]}),
    (
        "compress_ratios",
        "ratio 0",
        {**V4, "compress_ratios": [0, 0, 4, 4], "rope_scaling": YARN},
        {**V4, "compress_ratios": [4] * 4, "rope_scaling": YARN},
    ),
    (
        "alpha",
        "over it",
        {"model_type": "hunyuan_v1_dense", "rope_scaling": {"type": "dynamic", "alpha": 1e3}},
        {"model_type": "mine", "rope_scaling": {"type": "dynamic", "alpha": 1e3}},
    ),
    ("type", "reads rope_type alone", {"rope_scaling": {"type": "linear", "factor": 8.0}}, {"rope_scaling": {"type": "default"}}),
    ("low_freq_factor", "ten models", {"rope_scaling": LLAMA3}, {"rope_scaling": {**LINEAR, "low_freq_factor": 1.0}}),
    (
        "attn_temperature_tuning",
        "left it out",
        {"model_type": "llama4_text", "no_rope_layer_interval": 4, "attn_temperature_tuning": True},
        {"model_type": "llama4_text", "no_rope_layers": [1] * 4, "attn_temperature_tuning": True},
    ),
    (
        "xdrope_section",
        "two axes",
        {**HUNYUAN, "rope_scaling": {**FOUR, "xdrope_section": [8] * 4}},
        {"model_type": "mine", "head_dim": 64, "rope_scaling": {**FOUR, "xdrope_section": [8] * 4}},
    ),
    (
        "mrope_section",
        "turned the whole head",
        {**QWEN, "rope_parameters": {**IMAGES, "partial_rotary_factor": 0.25}},
        {**QWEN, "rope_parameters": {**IMAGES, "mrope_section": [16, 8, 8], "partial_rotary_factor": 1.0}},
    ),
    (
        "rotary_dim",
        "turns the whole head",
        {"model_type": "minimax_m3_vl_text", "head_dim": 64, "rotary_dim": 32},
        {"model_type": "minimax_m3_vl_text", "head_dim": 64, "rotary_dim": 32, "partial_rotary_factor": 0.5},
    ),
    ("type", "own slope", {"rope_scaling": {**UNTYPED, "type": "telechat3-yarn"}}, {"rope_scaling": {**UNTYPED, "type": "yarn"}}),
    ("mrope_section", "two axes", {**HUNYUAN, "rope_scaling": {**FOUR, "mrope_section": [8] * 4}}, {**QWEN, "rope_parameters": IMAGES}),
]


@pytest.mark.parametrize(("key", "words", "there", "elsewhere"), ROWS)
def test_a_difference_is_told_where_it_shows_alone(key: str, words: str, there: dict[str, Any], elsewhere: dict[str, Any]) -> None:
    told = [
        [name for name, difference in applying(config.read({**PLAIN, **own})) if words in difference.says] for own in (there, elsewhere)
    ]
    assert [[name.rpartition(".")[2] for name in names] for names in told] == [[key], []]


def test_every_difference_is_tried_but_those_of_keys_that_only_some_code_reads() -> None:
    told = {(key, words) for key, words, *_ in ROWS}
    untold = [each for each in DIFFERENCES if not any(each.key == key and words in each.says for key, words in told)]
    assert {each.key for each in untold} == {"dual_chunk_attention_config", "indexer_rope_interleave"}
