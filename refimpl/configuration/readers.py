"""Keys that only some model types read: in others they are left over, whatever they say."""

from collections.abc import Mapping
from typing import Any

from refimpl.configuration.defaults import LATENT_OF

OF_NEOX = ("gpt_neox", "gpt_neox_japanese", "qwen")
GEMMA4 = ("diffusion_gemma", "embedding_gemma2", "gemma4", "gemma4_unified")
MODERNBERT = ("modernbert", "modernbert-decoder", "modernbert_decoder")
GRANITE_SWA = ("granite_swa", "granitemoe_swa")
MUSE = ("muse_glimmer", "muse_spark")
#: Which known model types read a key that gives a base, or a base for every layer.
BASES: Mapping[str, tuple[str, ...]] = {
    "compress_rope_theta": ("deepseek_v4",),
    "global_rope_theta": MODERNBERT,
    "layer_rope_theta": (*GRANITE_SWA, *MUSE),
    "local_rope_theta": MODERNBERT,
    "rope_base": (),
    "rope_local_base_freq": ("gemma3", "gemma3n", "t5gemma2", "t5gemma2_decoder"),
    "rope_ratio": ("chatglm",),
    "rope_embedding_base": ("phi3small",),
    "rope_freq_constant": ("openelm",),
    "rotary_base": (),
    "rotary_emb_base": (*OF_NEOX, "nomic_bert"),
    "rotary_embedding_base": ("seamless_m4t", "wav2vec2-bert", "wav2vec2-conformer"),
    "swa_rope_theta": ("dots3_note", "mimo_v2_flash"),
}
#: The same of the part of a head that turns.
PARTS: Mapping[str, tuple[str, ...]] = {
    "partial_rotary_factors": (),
    "qk_rope_head_dim": (*LATENT_OF, "deepseek_v4"),
    "rope_pct": ("stablelm", "stablelm_epoch"),
    "rotary_dim": (
        *("codegen", "gptj", "minimax_m1", "minimax_m2", "minimax_m3_vl", "minimax_text_01", "mixformer-sequential", "phi", "phi-msft"),
    ),
    "rotary_emb_fraction": ("nomic_bert",),
    "rotary_pct": OF_NEOX,
}
#: The same of the width of a head.
WIDTHS: Mapping[str, tuple[str, ...]] = {
    "attention_head_dim": ("hunyuan_vl", "zamba", "zamba2"),
    "d_kv": (),
    "global_head_dim": GEMMA4,
    "head_size": (),
    "kv_channels": ("chatglm", "jetmoe", "qwen"),
    "swa_qk_nope_head_dim": ("dots3_note",),
    "swa_qk_rope_head_dim": ("dots3_note",),
    "qk_nope_head_dim": (*LATENT_OF, "deepseek_v4"),
}
#: The same of which layers are of which kind.
LAYERS: Mapping[str, tuple[str, ...]] = {
    "compress_ratios": ("deepseek_v4",),
    "full_attention_interval": ("qwen3_5", "qwen3_5_moe", "qwen3_next", "qwen4_exp"),
    "global_attn_every_n_layers": ("afmoe", *MODERNBERT),
    "hybrid_layer_pattern": ("mimo_v2_flash",),
    "layer_group_size": ("bailing_hybrid",),
    "rope_scaling_layers": ("molmo2",),
    "sliding_window_pattern": (
        *("cohere2", "cohere2_moe", "embedding_gemma2", "exaone4", "exaone4_5", "exaone_moe", "gemma3", "t5gemma2", "t5gemma2_decoder"),
    ),
}
#: The same of the width of the hidden state; code reads it in models that don't turn, too.
HIDDEN: Mapping[str, tuple[str, ...]] = {"n_embed": ("bloom",)}
#: The same of which channels are a pair.
LAYOUTS: Mapping[str, tuple[str, ...]] = {
    "rope_interleave": ("axk1", "deepseek_v3", "glm4_moe_lite", "mistral4", "youtu"),
    "rope_interleaved": (),
    "rope_traditional": (),
    "rotary_emb_interleaved": ("nomic_bert",),
}
#: Encoders of images whose classes count layers and heads by names of their own.
OF_DEPTH = (
    *("cohere_compass_vision", "ernie4_5_vl_moe_vision", "exaone4_5_vision", "glm4v_moe_vision", "glm4v_vision", "glm5_next_vision"),
    *("glm_ocr_vision", "qwen2_5_omni_vision_encoder", "qwen2_5_vl_vision", "qwen2_vl_vision", "qwen3_5_moe_vision", "qwen3_5_vision"),
    *("qwen3_omni_moe_vision_encoder", "qwen3_vl_moe_vision", "qwen3_vl_vision", "qwen4_exp_vision"),
)
LAYERS_WORKED_OUT = ("falcon_h1", "falcon_mamba", "jamba", "mamba", "mamba2", "recurrent_gemma")
#: Model types whose classes in transformers raise an error at a key, since they work out what it says.
REFUSED: Mapping[str, tuple[str, ...]] = {"head_dim": ("falcon",), "layer_types": LAYERS_WORKED_OUT}
#: Keys at whose null only some classes raise an error; the mapping is one where no other is given.
NULLS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("attn_scale", "attn_temperature_tuning", "floor_scale"), ("llama4",)),
    "index_topk": ("axk2", "deepseek_v32", "deepseek_v4", "dots3_note", "glm_moe_dsa", "hy_v4", "mistral_large4"),
    "original_max_position_embeddings": ("phi3",),
    "partial_rotary_factor": ("phi3", "phi4_multimodal"),
    "rope_parameters": ("cohere2_moe",),
    "rope_scaling": ("diffusion_gemma", "embedding_gemma2", "gemma4", "gemma4_unified", "mellum", "mimo_v2_flash", "zaya"),
    "rope_interleave": ("glm4_moe_lite",),
    "no_rope_layer_interval": ("llama4", "smollm3"),
    "rope_theta": ("bailing_hybrid", "cohere2_moe", "deepseek_v4", "esm"),
    "rotary_dim": ("codegen", "gptj", "minimax_m3_vl"),
    "rotary_pct": ("gpt_neox", "gpt_neox_japanese"),
    "sliding_window": (
        *("cwm", "deepseek_v4", "diffusion_gemma", "embedding_gemma2", "exaone_moe", "flint", "gemma3n", "gemma4", "gemma4_unified"),
        *("kolibri1", "mimi", "mimo_v2_flash", "modernbert", "moshi", "unlimited_ocr"),
    ),
    "sliding_window_pattern": ("cohere2_moe",),
}
#: The same where the list is missing that says it of every layer.
NULLS_WITHOUT: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "full_attention_interval": ("layer_types", ("qwen3_5", "qwen3_5_moe", "qwen3_next", "qwen4_exp")),
    "no_rope_layer_interval": ("no_rope_layers", ("mistral_large4",)),
    "sliding_window": ("layer_types", ("exaone4",)),
    "sliding_window_pattern": (
        "layer_types", ("cohere2", "embedding_gemma2", "exaone4", "exaone_moe", "gemma3", "t5gemma2", "t5gemma2_decoder"),
    ),
}  # fmt: skip
#: Keys of another architecture that has the name of a known model type, and what its code does.
NAMESAKES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "chatglm": (
        ("position_encoding_2d", "inner_hidden_size"),
        "the code of the first ChatGLM turns whole heads, and with position_encoding_2d either half of one by a position of its own",
    ),
    "glm": (
        ("block_position_encoding", "relative_encoding", "spell_func"),
        "the code of the first GLM adds what it learned of positions, and turns nothing",
    ),
}
#: The rope types that transformers 5.23 knows.
ROPE_TYPES = ("default", "dynamic", "linear", "llama3", "longrope", "proportional", "yarn")
#: Which model types take others.
OTHER_TYPES: Mapping[str, tuple[str, ...]] = {"mrope": ("qwen2_5_vl", "qwen2_vl"), "xdrope": ("hunyuan_vl",)}
#: Types that transformers has no class for, and whose own classes have other names than they, or know other rope types than it.
OWN_CODE = ("kimi_k2", "phi-msft", "phi3small")
#: Which known model types raise the base by `alpha` beside dynamic scaling.
ALPHA = ("hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl")

OF_MEMORY = {
    "memory_attention_hidden_size": "hidden_size",
    "memory_attention_num_attention_heads": "num_attention_heads",
    "memory_attention_num_layers": "num_hidden_layers",
}
#: How some model types spell common keys (`attribute_map`, or what the code of their encoder reads in place of these).
SPELT: Mapping[str, Mapping[str, str]] = {
    "bailing_hybrid": {"model_max_length": "max_position_embeddings"},
    "codegen": {"n_positions": "max_position_embeddings"},
    "dbrx": {"max_seq_len": "max_position_embeddings"},
    "edgetam_video": OF_MEMORY,
    "efficientloftr": {"num_attention_layers": "num_hidden_layers"},
    "gptj": {"n_positions": "max_position_embeddings"},
    "longcat_flash": {"num_layers": "num_hidden_layers"},
    "mixformer-sequential": {"n_positions": "max_position_embeddings"},
    "moonshine": {"decoder_num_attention_heads": "num_attention_heads", "decoder_num_hidden_layers": "num_hidden_layers"},
    "phi-msft": {"n_positions": "max_position_embeddings"},
    "sam2_video": OF_MEMORY,
    "seamless_m4t_v2": {"position_embeddings_type": "position_embedding_type"},
    "seamless_m4t": {"speech_encoder_attention_heads": "num_attention_heads", "speech_encoder_layers": "num_hidden_layers"},
}

#: Types that transformers has no class for: only their own code says which sizes, and which kinds of layers, it reads.
WITHOUT_CLASS = (
    *("baichuan", "chatglm", "deepseek", "ernie4_5_moe_vl", "exaone", "internlm", "internlm2", "kimi_k2", "mimo", "minimax_m1"),
    *("minimax_text_01", "mixformer-sequential", "openelm", "phi-msft", "phi3small", "qwen", "stablelm_epoch", "telechat", "telechat3"),
    "yi",
)
#: The same, with a name that transformers writes otherwise.
OUTSIDE = (*WITHOUT_CLASS, "modernbert_decoder")
#: Types that count as GPT-2 does: classes, and code of the model's own.
OF_GPT2 = ("codegen", "gptj", "nomic_bert")
#: Keys of sizes that most classes have another name for, that name, and the types whose classes read them beside it.
SIZES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "n_layer": ("num_hidden_layers", OF_GPT2),
    **dict.fromkeys(("num_layers", "num_transformer_layers"), ("num_hidden_layers", ())),
    "n_layers": ("num_hidden_layers", ("dbrx",)),
    "depth": ("num_hidden_layers", OF_DEPTH),
    "n_embd": ("hidden_size", OF_GPT2),
    "d_model": ("hidden_size", ("dbrx",)),
    "embed_dim": ("hidden_size", ("qwen2_vl_vision",)),
    "n_head": ("num_attention_heads", OF_GPT2),
    "n_heads": ("num_attention_heads", ("dbrx",)),
    "num_heads": ("num_attention_heads", OF_DEPTH),
    "swa_head_dim": ("head_dim", ("dots3_note",)),
    "seq_length": ("max_position_embeddings", ()),
    "max_sequence_length": ("max_position_embeddings", ()),
}
#: What warns of a key of a size that isn't read, by the name that it has in most classes.
UNREAD_SIZES = {
    "num_hidden_layers": "unread-layers",
    "hidden_size": "unread-width",
    "num_attention_heads": "unread-width",
    "head_dim": "unread-width",
    "max_position_embeddings": "unread-length",
}
#: Types whose classes read a list of kinds of layers.
LISTING = (
    *("afmoe", "axk2", "bailing_hybrid", "bamba", "cohere2", "cohere2_moe", "cwm", "deepseek_v32", "deepseek_v4", "diffusion_gemma"),
    *("dots1", "dots3_note", "embedding_gemma2", "exaone4", "exaone4_5", "exaone_moe", "falcon_h1", "flint", "gemma2", "gemma3"),
    *("gemma3n", "gemma4", "gemma4_unified", "glm_moe_dsa", "gpt_oss", "granite_swa", "granitemoe_swa", "granitemoehybrid", "hy_v4"),
    *("kolibri1", "lfm2", "lfm2_moe", "lfm3", "lfm3_vl_vision", "llama4", "mellum", "mimo_v2_flash", "minimax", "minimax_m3_vl"),
    *("ministral", "mistral_large4", "modernbert", "modernbert-decoder", "modernbert_decoder", "muse_glimmer", "muse_glimmer_vision"),
    *("muse_spark", "muse_spark_vision", "olmo3", "qwen2", "qwen2_5_omni", "qwen2_5_vl", "qwen2_moe", "qwen2_vl", "qwen3", "qwen3_5"),
    *("qwen3_5_moe", "qwen3_next", "qwen4_exp", "recurrent_gemma", "smollm3", "t5_gemma_module", "t5gemma", "t5gemma2"),
    *("t5gemma2_decoder", "unlimited_ocr", "vaultgemma", "zamba2", "zaya"),
)
#: Types whose code multiplies queries by a number that grows with the logarithm of their position, as a mapping says.
GROWING = ("ministral3", "mistral4")

#: Types of `SPELT` whose classes take the common key, where both are given (`attribute_map`).
COMMON_FIRST = ("bailing_hybrid", "codegen", "dbrx", "gptj", "longcat_flash", "moonshine")

#: What warns of a key that says which part of a head turns, where code turns whole heads.
UNREAD_PART = "unread-part"
#: The warnings of each table, and values with which its keys say nothing; of layouts it is that of the model type.
TABLES: tuple[tuple[str, Mapping[str, tuple[str, ...]], tuple[Any, ...]], ...] = (
    ("unread-base", BASES, (None,)),
    (UNREAD_PART, PARTS, (1,)),
    ("unread-width", WIDTHS, (None,)),
    ("unread-width", HIDDEN, (None,)),
    ("unread-layers", LAYERS, (None,)),
    ("unread-layout", LAYOUTS, ()),
)
