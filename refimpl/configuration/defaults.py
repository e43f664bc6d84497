"""What the classes of transformers 5.23.0 take where a configuration says nothing: tables by model type."""

from collections.abc import Mapping
from typing import Any

#: The channels of a head, where the key is missing.
HEAD_DIMS = {
    64: ("gpt_oss", "muse_spark"),
    128: (
        *("afmoe", "cohere2_moe", "cosmos3_edge", "cwm", "dia_decoder", "dia_encoder", "ernie4_5", "flint", "glm", "glm4", "helium"),
        *("higgs_audio_v2", "hrm", "hy_v3", "internlm3", "jetmoe", "kolibri1", "lfm3", "llama4", "mellum", "minimax_m2", "minimax_m3_vl"),
        *("ministral3", "molmo2", "muse_glimmer", "paddleocr_vl", "qwen3", "qwen3_vl", "seed_oss", "solar_open", "zaya"),
    ),
    192: ("mimo_v2_flash",),
    256: (
        *("diffusion_gemma", "embedding_gemma2", "gemma", "gemma2", "gemma3", "gemma3n", "gemma4", "gemma4_unified", "qwen3_5"),
        *("qwen3_5_moe", "qwen3_next", "qwen4_exp", "t5gemma2", "vaultgemma"),
    ),
}
#: Of these types, those that divide the hidden state among the heads where the key is null; the others refuse that.
NULLABLE = ("afmoe", "ernie4_5", "glm", "higgs_audio_v2", "internlm3", "jetmoe", "paddleocr_vl", "seed_oss")
#: The channels of the hidden state and the number of heads among which they are divided, where a model's part says neither.
SIZES = {(4096, 32): ("llama", "mistral", "mixtral", "qwen2")}
#: The channels of a head in layers of full attention alone, unless a mapping by layers says it.
FULL_HEAD_DIMS = {512: ("diffusion_gemma", "embedding_gemma2", "gemma4", "gemma4_unified")}
#: The channels of a head of latent attention that don't turn, and those that do.
LATENTS = {
    (64, 32): ("axk2", "minicpm3"),
    (64, 64): ("mistral4", "mistral_large4"),
    (128, 64): ("axk1", "bailing_hybrid", "deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "longcat_flash", "youtu"),
    (192, 64): ("glm4_moe_lite", "glm_moe_dsa", "hy_v4"),
}

LLAMA3 = {"rope_type": "llama3", "original_max_position_embeddings": 8192, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
YARN = {"rope_type": "yarn", "beta_fast": 32.0, "beta_slow": 1.0}
OF_MISTRAL = {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}
SLIDING = {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
OF_GEMMA4 = {**SLIDING, "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}}
#: The mapping of the rope type.
ROPES: Mapping[str, Mapping[str, Any]] = {
    "apertus": {**LLAMA3, "rope_theta": 12e6, "factor": 8.0},
    "cosmos3_edge": {"rope_type": "default", "rope_theta": 1e8, "mrope_section": [24, 20, 20]},
    "cwm": {**LLAMA3, "rope_theta": 1e6, "factor": 16.0},
    "diffusion_gemma": OF_GEMMA4,
    "embedding_gemma2": {**SLIDING, "full_attention": {"rope_type": "default", "rope_theta": 1e6}},
    "gemma4": OF_GEMMA4,
    "gemma4_unified": OF_GEMMA4,
    "gpt_oss": {**YARN, "factor": 32.0, "truncate": False, "original_max_position_embeddings": 4096},
    "higgs_audio_v2": {
        "rope_type": "llama3", "rope_theta": 5e5, "factor": 32.0, "original_max_position_embeddings": 1024, "low_freq_factor": 0.125,
        "high_freq_factor": 0.5,
    },
    "lfm3": {**SLIDING, "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 1e6}},
    "mellum": {**SLIDING, "full_attention": {"rope_type": "default", "rope_theta": 5e5}},
    "ministral3": {**OF_MISTRAL, "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 16384},
    "mistral4": {**OF_MISTRAL, "rope_theta": 1e4, "factor": 128.0, "original_max_position_embeddings": 8192},
    "mistral_large4": {
        **YARN, "rope_theta": 1e4, "factor": 2048.0, "original_max_position_embeddings": 512, "attention_factor": 1.0,
    },
}  # fmt: skip


def by_type(table: Mapping[Any, tuple[str, ...]]) -> dict[str, Any]:
    """Return a table that has its values by model type."""
    return {name: value for value, names in table.items() for name in names}


HEAD_DIM_OF, FULL_HEAD_DIM_OF, LATENT_OF, SIZES_OF = by_type(HEAD_DIMS), by_type(FULL_HEAD_DIMS), by_type(LATENTS), by_type(SIZES)
