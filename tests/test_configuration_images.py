"""Configurations of released models for images and videos say where their tokens stand, and nothing is wrong with them."""

from collections.abc import Mapping
from typing import Any

import pytest

from refimpl.configuration import read

SIZES = {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 4, "max_position_embeddings": 65_536}
QWEN2 = {**SIZES, "rope_theta": 1e6, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}}
OMNI = {**QWEN2, "rope_scaling": {"type": "default", "mrope_section": [16, 24, 24]}}
QWEN3 = {**SIZES, "rope_theta": 5e6, "rope_scaling": {"rope_type": "default", "mrope_interleaved": True, "mrope_section": [24, 20, 20]}}
GLM = {**SIZES, "rope_theta": 1e4, "partial_rotary_factor": 0.5, "rope_scaling": {"type": "default", "mrope_section": [8, 12, 12]}}
ERNIE = {**SIZES, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5, "mrope_section": [22, 22, 20]}}
TOKENS = {"image_token_id": 151_655, "video_token_id": 151_656}
ENDS = {"vision_start_token_id": 151_652, "vision_end_token_id": 151_653, "vision_token_id": 151_654}
BY_INDEX = {"image_token_index": 151_655, "video_token_index": 151_656, "audio_token_index": 151_646}
MERGED = {"patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2}
SOUND = {"position_id_per_seconds": 25, "seconds_per_chunk": 2}
OMNI: dict[str, Any] = {
    "thinker_config": {**SOUND, **BY_INDEX, "text_config": OMNI, "vision_config": {"patch_size": 14, "spatial_merge_size": 2}},
    "talker_config": {**SOUND, "spatial_merge_size": 2},
}
OMNI_3 = {"position_id_per_seconds": 13, "seconds_per_chunk": 2, **TOKENS, "text_config": QWEN3, "vision_config": MERGED}


@pytest.mark.parametrize(
    ("model_type", "configuration", "says"),
    [
        ("qwen2_vl", {**QWEN2, **TOKENS, **ENDS, "vision_config": {**MERGED, "spatial_patch_size": 14}}, {}),
        ("qwen2_5_vl", {**QWEN2, **TOKENS, **ENDS, "vision_config": {**MERGED, "tokens_per_second": 2}}, {"tokens_per_second": 2}),
        ("qwen3_vl", {**TOKENS, "text_config": QWEN3, "vision_config": {**MERGED, "patch_size": 16}}, {}),
        ("glm4v", {**TOKENS, "text_config": GLM, "vision_config": MERGED}, {}),
        ("glm4v_moe", {**TOKENS, "text_config": GLM, "vision_config": MERGED}, {}),
        (
            "ernie4_5_vl_moe",
            {**TOKENS, "text_config": ERNIE, "vision_config": {**MERGED, "temporal_merge_size": 2}},
            {"temporal_merge_size": 2},
        ),
        ("qwen2_5_omni", OMNI, {"position_id_per_seconds": 25, "seconds_per_chunk": 2}),
        ("qwen3_omni_moe", {"thinker_config": OMNI_3}, {"position_id_per_seconds": 13}),
    ],
)
def test_what_a_released_model_says_of_images_is_told_and_nothing_is_wrong(
    model_type: str, configuration: Mapping[str, Any], says: Mapping[str, int]
) -> None:
    reading = read({"model_type": model_type, **configuration})
    decided = {each.key.rpartition(".")[2]: each.value for kind in reading.kinds for each in kind.decisions}
    assert [each.text for each in reading.every_finding] == []
    assert {"spatial_merge_size": 2, **says}.items() <= decided.items()


@pytest.mark.parametrize("given", [{}, {"vision_config": None}, {"vision_config": {}}])
def test_what_code_takes_where_no_encoder_says_it_is_told_as_assumed(given: Mapping[str, Any]) -> None:
    (kind,) = read({"model_type": "qwen2_5_vl", **QWEN2, **given}).kinds
    assumed = {each.key: each.value for each in kind.decisions if each.assumed}
    assert assumed["vision_config.spatial_merge_size"] == 2
    assert assumed["vision_config.tokens_per_second"] == 4


def test_nothing_is_assumed_of_images_in_a_model_of_text_alone() -> None:
    (kind,) = read({"model_type": "qwen3_vl_text", **QWEN3}).kinds
    assert not any("vision_config" in each.key for each in kind.decisions)


@pytest.mark.parametrize("model_type", ["clip_vision_model", "clip_text_model", "siglip_vision_model", "vit", "dinov2", "sam_vision_model"])
def test_nothing_turns_in_an_encoder_whose_positions_are_learned(model_type: str) -> None:
    reading = read({"model_type": model_type, "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "image_size": 224})
    assert [(kind.rotation, kind.rests) for kind in reading.kinds] == [(None, True)]
    assert reading.every_finding == ()


def test_a_part_of_a_model_that_has_a_head_is_named_where_the_rest_has_none() -> None:
    encoder = {"hidden_size": 1152, "num_attention_heads": 16}
    reading = read({"model_type": "qwen2_vl", "rope_theta": 1e4, "vision_config": encoder, "audio_config": {"rope_theta": 1e4}})
    (missing,) = (each for each in reading.every_finding if each.name == "no-head-dim")
    assert missing.rule == "be given, or hidden_size and num_attention_heads (vision_config can be explained as a file of its own)"


def test_keys_that_transformers_writes_for_itself_are_not_taken_for_misspelt_ones() -> None:
    reading = read({"model_type": "gemma3_text", "num_hidden_layers": 6, "sliding_window_pattern": 6, "_sliding_window_pattern": 6})
    assert reading.every_finding == ()


@pytest.mark.parametrize(("seconds", "told"), [(25, []), (2, ["unread-key"])])
def test_a_key_that_another_library_reads_in_the_place_of_one_is_warned_of_where_they_differ(seconds: int, told: list[str]) -> None:
    encoder = {"patch_size": 14, "spatial_merge_size": 2, "tokens_per_second": seconds}
    reading = read({"model_type": "qwen2_5_omni", **OMNI, "thinker_config": {**OMNI["thinker_config"], "vision_config": encoder}})

    key = "thinker_config.vision_config.tokens_per_second"
    assert [(each.name, each.key) for each in reading.every_finding] == [(name, key) for name in told]
    assert all("vLLM reads this one" in each.text for each in reading.every_finding)


@pytest.mark.parametrize(("model_type", "meant"), [("qwen2_vl", []), ("qwen2_5_vl", [True])])
def test_a_key_of_the_encoder_is_suggested_only_where_it_is_read(model_type: str, meant: list[bool]) -> None:
    found = read({"model_type": model_type, **QWEN2, "vision_config": {**MERGED, "tokens_per_secnd": 2}}).every_finding

    assert ["did you mean tokens_per_second?" in each.text for each in found] == meant


@pytest.mark.parametrize("key", ["max_image_size", "min_image_size"])
def test_the_least_and_the_most_of_a_size_are_not_taken_for_misspelt_keys(key: str) -> None:
    assert read({"model_type": "qwen2_vl", **QWEN2, "vision_config": {**MERGED, key: 512}}).every_finding == ()


@pytest.mark.parametrize(
    "model_type", ["glm4v", "glm4v_moe", "paddleocr_vl", "qwen2_5_omni", "qwen2_5_vl", "qwen2_vl", "qwen3_5", "qwen3_vl"]
)
def test_an_encoder_of_images_that_has_the_name_of_its_model_is_read_as_the_encoder(model_type: str) -> None:
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 2} if model_type == "paddleocr_vl" else {"depth": 2, "num_heads": 2}
    encoder = {**sizes, "hidden_size": 128, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2}
    reading = read({**encoder, "model_type": model_type})
    own = read({**encoder, "model_type": reading.model_type})

    assert reading.model_type.startswith(f"{model_type}_vision")
    assert [kind.rotation and kind.rotation.on_axes for kind in reading.kinds] == ["axial_rope.rotate"]
    assert [kind.rotation for kind in reading.kinds] == [kind.rotation for kind in own.kinds]
    assert reading.every_finding == ()


@pytest.mark.parametrize("beside", [{"vocab_size": 1000}, {"vision_config": {"depth": 2}}])
def test_a_model_that_has_a_patch_size_at_its_top_is_no_encoder_of_images(beside: dict[str, Any]) -> None:
    sizes = {"hidden_size": 256, "num_attention_heads": 2, "num_hidden_layers": 2, "patch_size": 14}
    assert read({"model_type": "qwen2_5_vl", **sizes, **beside}).model_type == "qwen2_5_vl"


FLAT = {"rope_theta": 5e4, "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 100}


@pytest.mark.parametrize(
    ("configuration", "told"),
    [
        ({"model_type": "glm4v", **FLAT}, ["no-section"]),
        ({"model_type": "glm4v_moe", **FLAT}, ["no-section"]),
        ({"model_type": "glm4v", "text_config": {"model_type": "glm4v_text", **FLAT}}, []),
        ({"model_type": "glm4v_text", **FLAT}, []),
        ({"model_type": "paddleocr_vl", **FLAT}, []),
    ],
)
def test_a_language_model_at_the_top_is_warned_of_where_its_class_does_not_read_it_there(
    configuration: Mapping[str, Any], told: list[str]
) -> None:
    assert [finding.name for finding in read(configuration).every_finding if finding.name == "no-section"] == told
