"""What the classes of transformers 5.23.0 take where a configuration says nothing: tables by model type."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: The kinds of so many layers, by what else the configuration says.
Kinds = Callable[[int, Mapping[str, Any]], Sequence[str]]

#: The channels of a head, where the key is missing.
HEAD_DIMS = {
    64: ("gpt_oss", "longcat_flash", "muse_spark"),
    128: (
        *("afmoe", "cohere2_moe", "cosmos3_edge", "cwm", "dia_decoder", "dia_encoder", "ernie4_5", "flint", "glm", "glm4", "helium"),
        *("higgs_audio_v2", "hrm", "hy_v3", "internlm3", "jetmoe", "kolibri1", "lfm3", "llama4", "mellum", "minimax_m2", "minimax_m3_vl"),
        *("ministral3", "molmo2", "muse_glimmer", "paddleocr_vl", "qwen3", "qwen3_vl", "seed_oss", "solar_open", "zaya"),
    ),
    192: ("mimo_v2_flash",),
    512: ("deepseek_v4",),
    256: (
        *("diffusion_gemma", "embedding_gemma2", "gemma", "gemma2", "gemma3", "gemma3n", "gemma4", "gemma4_unified", "qwen3_5"),
        *("qwen3_5_moe", "qwen3_next", "qwen4_exp", "t5_gemma_module", "t5gemma", "t5gemma2", "t5gemma2_decoder", "vaultgemma"),
    ),
}
#: Of these types, those that divide the hidden state among the heads where the key is null; the others refuse that.
NULLABLE = ("afmoe", "ernie4_5", "glm", "higgs_audio_v2", "internlm3", "paddleocr_vl", "seed_oss")
#: Types whose code turns one channel more where the part that turns is odd, by frequencies of the odd width.
ROUNDING = ("glm", "glm4", "glm4_moe", "glm4v_moe", "minimax_m2", "nemotron", "phi3", "qwen3_next")
#: Types without such a default that refuse a null, too.
NULLS_REFUSED = (
    *("axk2", "bailing_hybrid", "deepseek_v32", "dots3_note", "falcon", "glm_moe_dsa", "hy_v4", "longcat_flash", "mistral_large4"),
)
#: Types whose classes have null for that key, and with it fail at the rules of `DIVIDING`, unless it is given.
WIDTHLESS = ("hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl", "minimax", "ministral", "mixtral")
#: Types whose classes divide the hidden state where the key is null, so that a scaling finds a number.
RESOLVING = (
    *("arcee", "aria", "csm", "csm_depth_decoder", "deepseek_ocr2", "deepseek_v2", "diffllama", "ernie4_5", "esmc", "eurobert"),
    *("higgs_audio_v2", "hyperclovax", "internlm3", "jais2", "llama", "mimi", "minicpm3", "mistral", "moshi", "nemotron", "nomic_bert"),
    *("paddleocr_vl", "qwen3_vl_moe", "seed_oss", "unlimited_ocr", "voxtral_realtime"),
)
#: Types whose attention multiplies by that key, and fails where it is null or missing, since their classes have null for it.
NEEDING_WIDTH = ("hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl", "ministral")
#: Types of latent attention whose classes take that key, where it is given, for the width that turns.
TAKING_WIDTH = ("axk1", "deepseek_v3", "glm4_moe_lite", "kimi_k2", "longcat_flash", "youtu")
#: Types of latent attention of whose whole heads a fraction is a share; of the others it is one of the width that turns.
SHARING_WHOLE = ("dots3_note", "mistral4")
#: Types of latent attention whose code reads a fraction where nothing is scaled, too.
SHARING_ALWAYS = ("glm4_moe_lite",)
#: Types whose classes read a mapping that is nested by kinds of layers.
NESTING = (
    *("deepseek_v4", "diffusion_gemma", "dots3_note", "embedding_gemma2", "gemma3", "gemma3n", "gemma4", "gemma4_unified", "lfm3"),
    *("mellum", "mimo_v2_flash", "modernbert", "modernbert-decoder", "modernbert_decoder", "olmo3", "t5gemma2", "t5gemma2_decoder", "zaya"),
)
#: Sizes at which classes raise an error where they are null, and types that take such a null, or have another key for them.
SIZED: Mapping[str, tuple[str, ...]] = {
    "hidden_size": ("codegen", "gptj"),
    "max_position_embeddings": ("codegen", "dbrx", "gptj", "recurrent_gemma"),
    "num_attention_heads": ("codegen", "gptj", "jetmoe"),
    "num_hidden_layers": ("blt", "codegen", "dbrx", "gptj"),
    "qk_nope_head_dim": (),
    "qk_rope_head_dim": ("deepseek_v4",),
}
#: Rope types for which transformers computes with that key, and doesn't divide where it is null.
DIVIDING = ("dynamic", "longrope", "yarn")
#: Types whose classes have hidden states that their heads can't share equally: transformers leaves the rest out.
UNEVEN = ("glm4_moe", "glm4v_moe", "qwen3_omni_moe")
#: The channels of the hidden state and the number of heads among which they are divided, where a model's part says neither.
SIZES = {(4096, 32): ("llama", "mistral", "mixtral", "qwen2")}
#: The channels of a head in layers of full attention alone, unless a mapping by layers says it.
FULL_HEAD_DIMS = {512: ("diffusion_gemma", "embedding_gemma2", "gemma4", "gemma4_unified")}
#: The channels of a head of latent attention that don't turn, and those that do.
LATENTS = {
    (64, 32): ("axk2", "minicpm3"),
    (64, 64): ("mistral4", "mistral_large4"),
    (128, 64): (
        *("axk1", "bailing_hybrid", "deepseek_v2", "deepseek_v3", "deepseek_v32", "dots3_note", "kimi_k2", "kimi_linear", "longcat_flash"),
        "youtu",
    ),
    (256, 0): ("glm5_next",),
    (192, 64): ("glm4_moe_lite", "glm_moe_dsa", "hy_v4"),
}

#: The length for which a model was trained, where a scaling needs it.
ORIGINAL_OF = {"phi3": 4096, "phi4_multimodal": 4096}
#: Keys that a type's class has switched on where they are missing.
SWITCHED_ON = {"qwen": ("use_dynamic_ntk", "use_logn_attn")}
#: How many pairs follow each axis of the positions, where no key says it.
SECTIONS = {
    (8, 12, 12): ("glm4v", "glm4v_moe", "glm_image", "glm_ocr"),
    (11, 11, 10): ("qwen3_5", "qwen3_5_moe", "qwen4_exp"),
    (16, 24, 24): ("paddleocr_vl", "qwen2_5_omni", "qwen2_5_vl", "qwen2_vl"),
    (22, 22, 20): ("ernie4_5_moe_vl", "ernie4_5_vl_moe"),
    (24, 20, 20): ("cosmos3_edge", "qwen3_omni_moe", "qwen3_vl", "qwen3_vl_moe"),
}

ORIGINAL = "original_max_position_embeddings"
#: What every mapping of a kind must have for itself.
IN_EVERY = {"rope_theta": (), ORIGINAL: ("default", "dynamic", "linear", "proportional")}
GROWS = {"llama_4_scaling_beta": (), "original_max_position_embeddings": ("llama3", "longrope", "yarn")}
#: Keys of a mapping without which the code of a type raises an error, each with the rope types beside which it doesn't.
ASKED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ministral3": GROWS,
    "mistral4": GROWS,
    "phimoe": dict.fromkeys(("short_mscale", "long_mscale"), ("default",)),
    "cohere2_moe": {**IN_EVERY, "rope_theta": ("dynamic", "linear", "longrope", "yarn")},
    "cosmos3_edge": {"mrope_section": ()},
    **dict.fromkeys(("diffusion_gemma", "embedding_gemma2", "gemma4", "gemma4_unified", "mellum", "mimo_v2_flash", "zaya"), IN_EVERY),
    "lfm3": {ORIGINAL: IN_EVERY[ORIGINAL]},
}
#: The rope types beside `default` that the code of a type takes, where it raises an error at all others.
TAKEN: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("cosmos3_edge", "ernie4_5_vl_moe", "recurrent_gemma"), ()),
    **dict.fromkeys(("phi3", "phi4_multimodal"), ("longrope",)),
}
#: What of a mapping the code of a type raises an error at, whatever else it says.
REFUSED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("diffusion_gemma", "embedding_gemma2", "gemma4", "gemma4_unified", "lfm3", "mellum"), ("flat",)),
    **dict.fromkeys(("mimo_v2_flash", "zaya"), ("flat",)),
    "mistral4": ("old name", "default"),
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
    "mimo_v2_flash": {
        "full_attention": {"rope_type": "default", "rope_theta": 5e6, "partial_rotary_factor": 0.334},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.334},
    },
    "ministral3": {**OF_MISTRAL, "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 16384},
    "mistral4": {**OF_MISTRAL, "rope_theta": 1e4, "factor": 128.0, "original_max_position_embeddings": 8192},
    "mistral_large4": {
        **YARN, "rope_theta": 1e4, "factor": 2048.0, "original_max_position_embeddings": 512, "attention_factor": 1.0,
    },
    "muse_spark": {"rope_type": "default", "rope_theta": 5e5},
    "zaya": {
        "hybrid": {"rope_type": "default", "rope_theta": 5e6, "partial_rotary_factor": 0.5},
        "hybrid_sliding": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5},
    },
}  # fmt: skip


FULL, SLIDES, LINEAR, INDEXED = "full_attention", "sliding_attention", "linear_attention", "indexed_attention"


def cycled(*kinds: str) -> Kinds:
    """Return kinds that repeat over the layers."""
    return lambda layers, _: [kinds[layer % len(kinds)] for layer in range(layers)]


def of_gemma4(layers: int, _: Mapping[str, Any]) -> list[str]:
    """Return the kinds of Gemma 4: every sixth layer sees all, and so does the last."""
    return [FULL if layer % 6 == 5 or layer == layers - 1 else SLIDES for layer in range(layers)]


def of_mimo(layers: int, _: Mapping[str, Any]) -> list[str]:
    """Return the kinds of MiMo-V2: the first layer sees all, and so does every sixth."""
    return [FULL if layer == 0 or layer % 6 == 5 else SLIDES for layer in range(layers)]


def of_flint(layers: int, _: Mapping[str, Any]) -> list[str]:
    """Return the kinds of Flint: the first two layers see all, and so do one of four and the last."""
    return [FULL if layer < 2 or layer % 4 == 1 or layer == layers - 1 else SLIDES for layer in range(layers)]


def of_dots3(layers: int, says: Mapping[str, Any]) -> list[str]:
    """Return the kinds of dots3-note: the first two layers and one of four have an indexer, unless it is switched off."""
    sees = FULL if says.get("use_dsa") is False else INDEXED
    every = says.get("use_sliding_window") is False
    return [sees if every or layer < 2 or layer % 4 == 1 else SLIDES for layer in range(layers)]


def of_kimi(layers: int, _: Mapping[str, Any]) -> list[str]:
    """Return the kinds of Kimi Linear: from the fifth layer on one of four sees all."""
    return [FULL if layer and layer % 4 == 0 else LINEAR for layer in range(layers)]


def of_lfm3(layers: int, _: Mapping[str, Any]) -> list[str]:
    """Return the kinds of LFM3: every second layer has attention, in turns over all and in a window."""
    return [FULL if layer % 4 == 2 else SLIDES if layer % 4 == 0 and layer else "conv" for layer in range(layers)]


def of_lfm3_images(layers: int, _: Mapping[str, Any]) -> list[str]:
    """Return the kinds of LFM3's encoder of images: from the third layer on every second one has attention."""
    return [FULL if layer >= 2 and layer % 2 == 0 else "conv" for layer in range(layers)]


#: The kinds of layers, where no key says them.
KINDS: Mapping[str, Kinds] = {
    **dict.fromkeys(("diffusion_gemma", "embedding_gemma2", "gemma4", "gemma4_unified"), of_gemma4),
    **dict.fromkeys(("qwen3_5", "qwen3_5_moe", "qwen3_next"), cycled(LINEAR, LINEAR, LINEAR, FULL)),
    **dict.fromkeys(("bamba", "granitemoehybrid"), cycled(LINEAR)),
    **dict.fromkeys(("cwm", "granite_swa", "granitemoe_swa"), cycled(FULL, SLIDES, SLIDES, SLIDES)),
    **dict.fromkeys(("t5_gemma_module", "t5gemma"), cycled(SLIDES, FULL)),
    "bailing_hybrid": cycled(*[LINEAR] * 5, FULL),
    "deepseek_v4": cycled("compress"),
    "dots3_note": of_dots3,
    "flint": of_flint,
    "glm5_next": cycled(LINEAR, LINEAR, LINEAR, INDEXED),
    "kimi_linear": of_kimi,
    "lfm2": cycled(FULL),
    "lfm3": of_lfm3,
    "lfm3_vl_vision": of_lfm3_images,
    "mimo_v2_flash": of_mimo,
    "minimax": cycled(FULL, LINEAR),
    "qwen4_exp": cycled(LINEAR, LINEAR, LINEAR, INDEXED),
    "recurrent_gemma": cycled("recurrent", "recurrent", SLIDES),
    "zaya": cycled("hybrid"),
}


def by_type(table: Mapping[Any, tuple[str, ...]]) -> dict[str, Any]:
    """Return a table that has its values by model type."""
    return {name: value for value, names in table.items() for name in names}


HEAD_DIM_OF, FULL_HEAD_DIM_OF, LATENT_OF, SIZES_OF = by_type(HEAD_DIMS), by_type(FULL_HEAD_DIMS), by_type(LATENTS), by_type(SIZES)
SECTIONS_OF = by_type(SECTIONS)
