"""How published configurations spell what they say: tables of keys, in the order in which they are looked up."""

import re
from typing import Any

#: Where the language model's part of a configuration stands, if not at the top.
SECTIONS = (("thinker_config", "text_config"), ("text_config",), ("language_config",), ("llm_config",))
#: The same of models whose parts that read and write text are both under keys of their own.
SECTIONS_OF_TWO = {"t5gemma": (("decoder",), ("encoder",)), "t5gemma2": (("decoder",), ("encoder", "text_config"))}

#: Keys of an encoder of images, at the top of a file of its own, and keys that such a file never has.
OF_ENCODERS, OF_WHOLES = ("patch_size", "depth"), ("vocab_size", "vision_config", "num_key_value_heads")

LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "depth", "num_transformer_layers")
HIDDEN = ("n_embed", "hidden_size", "n_embd", "d_model")
#: The same of an encoder of images; beside it, hidden_size may be that of the language model.
HIDDEN_OF_IMAGES = ("embed_dim", *HIDDEN)
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
HEAD_DIM = ("head_dim", "kv_channels", "d_kv", "attention_head_dim")
#: What may be the width of a head, and isn't read as one.
UNREAD_WIDTHS = ("head_size",)
FRACTION = ("partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_emb_fraction")
ROTARY_DIM = ("rotary_dim",)
BASE = (
    *("rope_theta", "rotary_emb_base", "rope_base", "rotary_base", "rotary_embedding_base", "rope_embedding_base", "rope_freq_constant"),
)
#: InternLM's first models have the base in a mapping, beside the name of a rule.
BASE_MAPPING = "rotary"
#: What keys of other files mean, by how these end.
MEANT = {"freq_base": "rope_theta", "dim_head": "head_dim", "max_pos_embeddings": "max_position_embeddings"}
ORIGINAL_LENGTH = "original_max_position_embeddings"
MAX_LENGTH = ("max_position_embeddings", "seq_length", "max_sequence_length")
#: Where Qwen's first models have the length that they were trained for.
TRAINED_LENGTH = ("seq_length", *MAX_LENGTH)
LAYER_TYPES = ("layer_types", "layers_block_type")
#: How many layers there are with a dense feed-forward part before those with experts, every so many of these have full attention,
#: and a list that says which part each layer has.
DENSE_LAYERS, DENSE_PATTERN, FEED_FORWARD = "first_k_dense_replace", "prefix_dense_sliding_window_pattern", "mlp_layer_types"
LAYOUT = ("rotary_emb_interleaved", "rope_interleaved", "rope_traditional")
ROPE = ("rope_parameters", "rope_scaling")
#: What says that positions are a bias.
ALIBI = ("alibi", "use_alibi")
#: What code of latent attention reads: whether it turns neighbours.
INTERLEAVE = ("rope_interleave",)
SWITCHES = (
    *(*LAYOUT, *INTERLEAVE, "use_dynamic_ntk", "use_logn_attn", "use_mem_rope", "use_mla", *ALIBI),
    *("rotary_value", "use_rotary_embedding"),
)

#: Keys that give the base, or the width of a head, of one kind of layers; there they go before those of all layers.
BASE_OF_KIND = {
    "sliding_attention": ("rope_local_base_freq", "local_rope_theta", "swa_rope_theta"),
    "full_attention": ("global_rope_theta",),
    "compress": ("compress_rope_theta",),
}
HEAD_DIM_OF_KIND = {"full_attention": ("global_head_dim",), "sliding_attention": ("swa_head_dim",)}

#: What single layers have of their own, and keys that would change how these turn.
BY_LAYER = "per_layer_config"
UNREAD_BY_LAYER = (*BASE, *ROPE, *FRACTION, *ROTARY_DIM, "layer_types")
#: The widths that a single layer may have of its own.
WIDTHS_BY_LAYER = ("head_dim", "qk_nope_head_dim", "qk_rope_head_dim")
#: Keys that list layers: what these are, and what the others are.
PICKED = {
    "attn_layer_indices": ("full_attention", "linear_attention"),
    "cross_attention_layers": ("cross_attention", "full_attention"),
    "full_attn_idxs": ("full_attention", "conv"),
    "hybrid_layer_ids": ("hybrid", "linear_attention"),
}
#: Keys whose entries say what layers are, over and over, or one for each layer.
PICKS: dict[str, dict[Any, str]] = {
    "attn_type_list": {0: "linear_attention", 1: "full_attention"},
    "block_types": {"recurrent": "recurrent", "attention": "sliding_attention"},
    "hybrid_override_pattern": {"M": "linear_attention", "E": "moe", "*": "full_attention", "-": "mlp"},
}
LISTED = frozenset({"attn_type_list", "hybrid_override_pattern"})
#: Every so many layers one has attention, and which one of these.
PERIOD = ("attn_layer_period", "attn_layer_offset")
#: How many layers a stack has, and how often two stacks run: the second so often for each time of the first, and once more.
STACK, CYCLES = "num_layers_per_stack", {"H_cycles": 2, "L_cycles": 3}
#: A mapping of linear attention, and its numbers of the layers of full attention and of the others, from 1 on.
LINEAR_CONFIG = "linear_attn_config"
NUMBERED = ("full_attn_layers", "kda_layers")
#: Keys that say which layers are of which kind.
OF_LAYERS = (
    *(*LAYERS, *LAYER_TYPES, *PICKED, *PICKS, "compress_ratios", "hybrid_layer_pattern", "sliding_window_pattern"),
    *("global_attn_every_n_layers", "full_attention_interval", "layer_group_size", "no_rope_layers", "no_rope_layer_interval"),
)
#: Names of keys that may say which layers have attention.
PICKING = re.compile(r"(attn|attention|hybrid).*(layer|_idx|_ind|_type|_period|_pattern|_ids)|block_types|layers?_(pattern|pos)")

#: Keys that say which part of a head turns.
PART = (*FRACTION, *ROTARY_DIM, "qk_rope_head_dim", "qk_nope_head_dim")
#: The switch of latent attention, and the widths of its heads.
LATENT, OF_LATENT = "use_mla", ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
#: By how much queries grow with the logarithm of their position, whatever the rope type is.
SLOPE = "llama_4_scaling_beta"
#: Keys of a scaling that are read within its mapping only.
WITHIN = (
    *("factor", "attention_factor", "mscale", "mscale_all_dim", "beta_fast", "beta_slow", "low_freq_factor", "high_freq_factor"),
    *("short_factor", "long_factor", "short_mscale", "long_mscale", SLOPE),
)

#: A mapping of attention's own keys, and which of them some code reads there.
ATTENTION_CONFIG = "attn_config"
OF_ATTENTION = (*BASE, *ROPE, "rope")

#: Kinds of layers that attend to nothing, so that nothing turns.
WITHOUT_ATTENTION = frozenset(
    {"linear_attention", "conv", "mamba", "mamba2", "recurrent", "linear", "mlp", "moe", "hybrid_linear", "kda", "gated_deltanet"}
)

#: Kinds of layers that have attention.
WITH_ATTENTION = frozenset(
    {"full_attention", "sliding_attention", "chunked_attention", "indexed_attention", "minimax_m3_sparse", "main", "compress", "hybrid"}
    | {"hybrid_sliding"}
)

#: Names of a rope type that mean another one.
ALIASES = {"su": "longrope", "none": "default", "vanilla": "default", "original": "default", "telechat3-yarn": "yarn"}
#: The slope of the attention factor, where the name of a rope type means another one than the paper's.
SLOPES = {"telechat3-yarn": 0.07}

#: Within the mapping of the rope type: read whatever the type is.
COMMON = frozenset({"type", "rope_type", "rope_theta", "partial_rotary_factor", "max_position_embeddings", "yarn_only_types"})
SECTION_KEYS = ("mrope_section", "xdrope_section")
#: Within it, what vLLM alone reads, for yarn, and what it multiplies by that.
OF_VLLM = {"attn_factor": "yarn's attention factor", "extrapolation_factor": "the weight of yarn's frequencies that aren't slowed"}
POSITION_AXES = frozenset({*SECTION_KEYS, "mrope_interleaved", "interleaved"})

#: The sizes of chunks in which positions begin anew, and what vLLM takes where one is missing.
DUAL_CHUNKS = "dual_chunk_attention_config"
CHUNK_SIZES = {"chunk_size": 8_192, "local_size": 1_024}

#: The key of Kimi's own code that says that no layer of latent attention turns.
RESTS = "mla_use_nope"
#: Switches that code of a single model type reads.
OF_ONE = ("use_mem_rope", "use_rotary_embedding")

#: Keys of a configuration that this reader reads, or that change nothing that it says.
READ = frozenset(
    {
        *(key for keys in (LAYERS, HIDDEN_OF_IMAGES, HEADS, HEAD_DIM, FRACTION, ROTARY_DIM, BASE, MAX_LENGTH) for key in keys),
        *(key for keys in (*BASE_OF_KIND.values(), *HEAD_DIM_OF_KIND.values()) for key in keys),
        *(ORIGINAL_LENGTH, "model_type", "qk_rope_head_dim", "qk_nope_head_dim", "rope_ratio", "layer_rope_theta", *INTERLEAVE),
        *(key for path in (*SECTIONS, *SECTIONS_OF_TWO["t5gemma2"], LAYER_TYPES, ROPE) for key in path),
        *("no_rope_layers", "no_rope_layer_interval", "sliding_window_pattern", "global_attn_every_n_layers", "full_attention_interval"),
        *("layer_group_size", "swa_qk_nope_head_dim", "swa_qk_rope_head_dim"),
        *("hybrid_layer_pattern", "compress_ratios", "partial_rotary_factors", "position_embedding_type", "alibi", *LAYOUT),
        *("attn_temperature_tuning", "attn_scale", "floor_scale", "sliding_window", "mrope_section", "use_dynamic_ntk"),
        *("use_logn_attn", "yarn_only_types", "training_seqlen", "base_seqlen", DUAL_CHUNKS),
        *("indexer_rope_interleave", "index_head_dim", "index_n_heads", "index_topk", "indexer_types", "index_topk_freq"),
        *("index_topk_pattern", "index_skip_topk_offset", "index_kpool", "index_kpool_always_select_tail", "index_block_size"),
        *("index_topk_blocks", "index_local_blocks", "indexer_n_heads", "indexer_kv_heads", "indexer_head_dim", "indexer_budget"),
        *("indexer_compress_ratio", "use_dsa", "sparse_attention_config", RESTS, "projection_dim", "use_rotary_embedding", "use_mem_rope"),
        *(*ALIBI, LATENT, BY_LAYER, *PICKED, *PICKS, *PERIOD, LINEAR_CONFIG, *UNREAD_WIDTHS, ATTENTION_CONFIG),
        *("global_attn_indexes", "window_size", "rope_scaling_layers"),
    }
)
BESIDE = frozenset(
    {
        *("rotary_value", "original_rope"),
        *("qk_head_dim", "v_head_dim", "swa_v_head_dim", "max_window_layers", "use_sliding_window", "num_key_value_heads"),
        "position_id_per_seconds",
        *("max_2d_position_embeddings", "memory_attention_rope_dropout", "memory_attention_rope_feat_sizes"),
        "memory_attention_rope_k_sizes",
        *("flash_rotary", "num_position_embeddings", "use_pos_enc", "rotary_emb_scale_base", "rope_max_length"),
    }
)
#: Values with which a key says nothing new.
TRUISMS = {"rotary": True, "rope_position_scale": 1, "rotary_scaling_factor": 1, "use_mrope": False}
#: Keys of other files than a model's configuration, and what each file looks like.
OF_OTHER_FILES = {
    "peft_type": "settings of an adapter, and the configuration is that of base_model_name_or_path",
    "tokenizer_class": "settings of a tokenizer, and the configuration is config.json beside it",
    "image_processor_type": "settings of a processor of images, and the configuration is config.json beside it",
    "feature_extractor_type": "settings of a processor, and the configuration is config.json beside it",
    "weight_map": "an index of weights, and the configuration is config.json beside it",
    "eos_token_id": "settings of generation, and the configuration is config.json beside it",
    "added_tokens": "a tokenizer, and the configuration is config.json beside it",
    "do_lower_case": "settings of sentences, and the configuration is config.json beside it",
    "zero_optimization": "settings of DeepSpeed, and the configuration is config.json of the model",
    "log_history": "a state of training, and the configuration is config.json beside it",
    "general.architecture": "what a GGUF file says of itself, and the configuration is config.json of the model that it was made of",
    "_class_name": "a file of diffusers, and the configuration of a language model is in the folder of its part",
    "class_name": "a configuration of Keras, which posenc doesn't read",
    "use_scaled_rope": "params.json of Meta, which posenc doesn't read: convert it, or explain config.json of the model for transformers",
    "n_kv_heads": "params.json of Mistral or Meta, which posenc doesn't read: explain config.json of the model for transformers",
}
#: What the name of a key that concerns positions has in it.
POSITIONAL = ("rope", "rotary", "theta", "nope_layer", "freq_base", "logn_attn", "ntk", "temperature_tuning", "yarn")
#: Keys of other code that say which channels are a pair.
OF_PAIRS = frozenset({"interleaved", "is_neox_style"})
#: What a mapping has in it that says how layers turn, and what one has that is a part of a model with a name of its own.
OF_ROTATION = frozenset({*BASE, *ROPE, "rope_type", ORIGINAL_LENGTH})
OF_A_PART = frozenset({"model_type", *LAYERS, *HIDDEN_OF_IMAGES})

#: What `position_embedding_type` may say of rotation, and what other than rotation.
ROTATION = frozenset({"rope", "rotary"})
OTHER_POSITIONS = frozenset({"absolute", "learned", "learned_absolute", "alibi", "none", "nope", "relative_key", "relative_key_query"})

#: What files of models that turn say, since older code wrote it whatever the model did.
LEFT_OVER = "absolute"

#: What no model has more of: larger numbers are mistakes, and would only fill the memory.
MOST_LAYERS, MOST_CHANNELS = 10_000, 1 << 20
#: The base that says nothing, as most code takes it where none is given.
USUAL_BASE = 10_000
#: Keys, one of which a configuration has if its model turns and doesn't leave all to its type.
ROTARY = (*BASE, *ROPE, *FRACTION, *ROTARY_DIM, "rope_ratio", "qk_rope_head_dim")
