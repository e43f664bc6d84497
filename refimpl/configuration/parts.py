"""Models of several parts: which model type the class of the whole takes for the part that reads text, and what it fills in there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from refimpl.configuration import spellings
from refimpl.configuration.defaults import by_type
from refimpl.configuration.families import Family, has_class, plain_name
from refimpl.configuration.findings import Notes
from refimpl.configuration.sections import Section, language

#: The model type of that part, where the class of the whole takes this one whatever the part says.
FIXED: Mapping[str, str] = {
    **{
        name: f"{name}_text"
        for name in (
            *("aria", "cosmos3_edge", "deepseek_ocr2", "diffusion_gemma", "dots3_note", "embedding_gemma2", "ernie4_5_vl_moe", "gemma3"),
            *("gemma3n", "gemma4", "gemma4_unified", "glm4v", "glm4v_moe", "glm5_next", "glm_ocr", "granite4_vision", "granite_docling"),
            *("hunyuan_vl", "inkling2", "llama4", "minimax_m3_vl", "mistral_large4", "molmo2", "muse_glimmer", "muse_spark"),
            *("paddleocr_vl", "qwen2_5_omni", "qwen2_5_vl", "qwen2_vl", "qwen3_5", "qwen3_5_moe", "qwen3_omni_moe", "qwen3_vl"),
            *("qwen3_vl_moe", "qwen4_exp", "unlimited_ocr"),
        )
    },
    **{
        name: f"{name}_text_model"
        for name in (
            *("aimv2", "align", "altclip", "blip", "bridgetower", "chinese_clip", "clip", "clipseg", "emu3", "flava", "groupvit"),
            *("metaclip_2", "mllama", "owlv2", "owlvit", "siglip", "siglip2", "tipsv2", "xclip"),
        )
    },
    "clvp": "clvp_encoder",
    "inkling_mm_model": "inkling_text",
    "qwen2_5_omni_thinker": "qwen2_5_omni_text",
    "qwen3_omni_moe_thinker": "qwen3_omni_moe_text",
    "t5gemma": "t5_gemma_module",
    "t5gemma2": "t5gemma2_decoder",
    "t5gemma2_encoder": "t5gemma2_text",
}
#: Its model type in other models, where the part says none.
USUAL: Mapping[str, str] = by_type(
    {
        "bart": ("florence2",),
        "bert": ("grounding-dino", "mm-grounding-dino", "vision-text-dual-encoder"),
        "clip_text_model": ("omdet-turbo", "sam3"),
        "cohere2": ("aya_vision", "cohere2_vision"),
        "deepseek_v3": ("kimi_k25",),
        "gemma": ("paligemma",),
        "gemma3_text": ("shieldgemma2",),
        "gemma4_unified_text": ("gemma4_unified_assistant",),
        "glm4v_text": ("glm46v", "glmga"),
        "granite": ("granite_speech", "granite_speech_plus"),
        "hyperclovax": ("hyperclovax_vision_v2",),
        "lfm2": ("lfm2_vl",),
        "lfm3": ("lfm3_vl",),
        "llama": (
            *("deepseek_vl", "deepseek_vl_hybrid", "glmasr", "idefics3", "janus", "llava", "llava_next", "llava_next_video"),
            *("perception_lm", "smolvlm", "video_llava", "vipllava", "voxtral"),
        ),
        "mistral": ("idefics2", "mistral3"),
        "modernbert": ("modernvbert", "pe_audio", "pe_audio_video", "pe_video"),
        "nemotron_h": ("nemo_speechlm", "nemotron_h_omni"),
        "opt": ("blip-2", "instructblip", "instructblipvideo"),
        "persimmon": ("fuyu",),
        "qwen2": (
            *("audioflamingo3", "fast_vlm", "got_ocr2", "internvl", "llava_onevision", "musicflamingo", "ovis2", "pp_chart2table"),
            *("qwen2_audio", "vibevoice", "vibevoice_asr", "video_llama_3"),
        ),
        "qwen3": ("fun_asr_nano", "lighton_ocr", "moss_transcribe_diarize", "qianfan_ocr", "qwen3_asr"),
        "qwen3_5_text": ("jev", "minicpm_ocr", "minicpmv4_6", "minicpmv4_7"),
        "qwen3_vl_text": ("cosmos3_omni",),
        "voxtral_realtime_text": ("voxtral_realtime",),
    }
)
#: Models whose class raises an error where the part says none.
ASKING = ("exaone4_5",)
#: Models whose class reads the language model's keys at the top, too, or whose language model doesn't turn.
FLAT = (
    *("aimv2", "align", "altclip", "blip", "blip-2", "bridgetower", "chinese_clip", "clip", "clipseg", "dots3_note", "flava", "florence2"),
    *("fuyu", "glm5_next", "grounding-dino", "groupvit", "hunyuan_vl", "inkling2", "inkling_mm_model", "instructblip"),
    *("instructblipvideo", "metaclip_2", "mm-grounding-dino", "nemo_speechlm", "nemotron_h_omni", "omdet-turbo", "owlv2", "owlvit"),
    *("paddleocr_vl", "qwen2_5_vl", "qwen2_vl", "sam3", "siglip", "siglip2", "tipsv2", "vision-text-dual-encoder", "xclip"),
)
#: Where classes read those keys alone, and take their defaults where these stand at the top.
WITHIN: Mapping[str, str] = {
    **dict.fromkeys(sorted({*FIXED, *USUAL, *ASKING}.difference(FLAT)), "text_config"),
    **dict.fromkeys(("qwen2_5_omni", "qwen3_omni_moe"), "thinker_config.text_config"),
    **dict.fromkeys(("t5gemma", "t5gemma2"), "decoder"),
}
MAPPING = spellings.ROPE[0]
OF_VOXTRAL = {"hidden_size": 3072, "max_position_embeddings": 131_072, "num_key_value_heads": 8, "head_dim": 128}
OF_PERCEPTION = {"hidden_size": 1024, "num_hidden_layers": 22, "num_attention_heads": 16}
#: What the class of the whole puts into the part where a key is missing.
FILLED: Mapping[str, Mapping[str, Any]] = {
    "glmasr": {
        "hidden_size": 2048, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 4, "max_position_embeddings": 8192,
        MAPPING: {"rope_type": "default", "rope_theta": 10_000.0},
    },
    **dict.fromkeys(("pe_audio", "pe_audio_video", "pe_video"), OF_PERCEPTION),
    "voxtral": {**OF_VOXTRAL, "num_hidden_layers": 30, "rope_theta": 1e8},
    "voxtral_realtime": {
        **OF_VOXTRAL, "num_hidden_layers": 26, "num_attention_heads": 32, "rope_theta": 1e6, "sliding_window": 8192,
    },
}  # fmt: skip


def of_text(configuration: Mapping[str, Any], notes: Notes) -> Section:
    """Return the section of the language model, with the model type that the class of the whole takes for it."""
    top = Section(configuration)
    name = str(top.get("model_type"))
    if _is_one(name):
        for key in dict.fromkeys(path[0] for path in spellings.SECTIONS):
            if top.below(key):
                rule = f"be left out: {name} is no model of several parts, and transformers reads what stands at the top"
                notes.find("warning", "unread-section", key, top.get(key), rule)
        return top
    section = language(configuration, notes)
    return _of_type(section, name, notes) if section.path else section


def _is_one(model_type: str) -> bool:
    """Whether a model type of transformers has its layers at the top."""
    return has_class(model_type) and model_type not in {*FIXED, *USUAL, *ASKING}


def _of_type(section: Section, name: str, notes: Notes) -> Section:
    """Return a part with the model type that the class of the whole takes for it."""
    given, key = section.get("model_type"), section.name("model_type")
    if name in FIXED and given is not None and plain_name(str(given)) not in (plain_name(FIXED[name]), plain_name(name)):
        rule = f"be {FIXED[name]}, or left out: transformers takes the class of that for {name}, whatever is said here"
        notes.find("warning", "unread-type", key, given, rule)
        return replace(section, values={**section.values, "model_type": FIXED[name]})
    if name in ASKING and given is None:
        notes.find("warning", "asked-key", key, None, "be given: without it transformers raises an error for this model type")
    if name in USUAL and given is None:
        notes.assume(key, USUAL[name], f"the part that reads text is {USUAL[name]}, as in {name}")
        return replace(section, values={**section.values, "model_type": USUAL[name]})
    return section


def with_filled(section: Section, own: Family, name: str, notes: Notes) -> tuple[Section, Family, tuple[str, ...]]:
    """Return a part and its family with what the class of the whole fills in, and the keys of that."""
    filled = FILLED.get(name, {}) if section.path else {}
    own = replace(own, rope=filled.get(MAPPING, own.rope))
    missing = {key: value for key, value in filled.items() if key not in (*section.values, MAPPING)}
    if missing:
        said = ", ".join(f"{key} {value}" for key, value in missing.items())
        notes.assume(".".join(section.path), missing, f"{said}, as the class of {name} in transformers has it where a key is missing here")
    return replace(section, values={**section.values, **missing}), own, tuple(missing)
