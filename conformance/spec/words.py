"""What arguments are usually called: from a parameter's name to the roles that it may have."""

from collections.abc import Iterable, Mapping

from conformance.spec.declarations import operations


def _counts(whose: str) -> str:
    """Return what code calls the number of somebody's tokens, as in ``q_seq_len`` and ``len_q``."""
    lengths = "len length seq_len seqlen seq_length sequence_length size tokens"
    pairs = [(one, length) for one in whose.split() for length in lengths.split()]
    return " ".join(f"{one}_{length} {length}_{one}" for one, length in pairs)


#: Arrays and counts that probing fills, with the names that code gives them.
ARRAYS: Mapping[str, str] = {
    "x": "x t hidden_states inputs input tensor states embeddings emb u features q query queries xq query_states k key keys xk key_states",
    "q": "q query queries xq query_states q_embed query_layer",
    "k": "k key keys xk key_states key_layer",
    "v": "v value values xv value_states value_layer",
    "positions": "positions position_ids position_id position_indices pos_ids pos_id pos_idx pos position input_pos cache_position "
    "p t pid idx indices timesteps seq times pos_seq",
    "offset": "offset start_pos start past_length past_key_values_length input_offset start_index seqlen_offset seqlen_offsets past_len "
    "past_kv_len past_kv_length past_seq_len past_seq_length past_key_value_length position_offset pos_offset seq_offset start_position",
    "query_positions": "query_positions q_positions q_pos query_position positions_q context_position qpos query_pos",
    "key_positions": "key_positions k_positions k_pos key_position positions_k memory_position kpos key_pos",
    "relative_positions": "relative_positions relative_position relative_pos rel rel_pos relative distances distance",
    "like": "like",
    "cos": "cos cosine cosines freqs_cos",
    "sin": "sin sine sines freqs_sin",
    "waves": "waves freqs_cis",
    "angles": "angles freqs rotary_pos_emb rotary_freqs",
    "cotangent": "cotangent grad grad_output dy g",
    "table": "table weight weights embedding_table embeddings_table embedding bias_table relative_attention_bias "
    "relative_position_bias_table",
    "short_factors": "short_factors short_factor",
    "long_factors": "long_factors long_factor",
    "factors": "factors freq_factors rescale_factors",
    "exponents": "exponents alpha alphas log_factors",
    "distance_weight": "distance_weight w",
    "saturation": "saturation v",
    "first": "first r1 p a bias_p bias_a",
    "second": "second r2 p a bias_p bias_a",
    "tokens": "length seq_len seqlen sequence_length num_positions max_len n n_pos end num_tokens "
    "max_seq_len seq_length max_position tokens size slen tgt_len maxpos n_position n_positions",
    "query_tokens": f"{_counts('q query queries tgt target')} qlen m i seq_q num_queries n_queries",
    "key_tokens": f"{_counts('k key keys kv src source')} klen n j seq_k num_keys n_keys",
    "height": "height grid_h grid_height h H num_rows",
    "across": "width grid_w grid_width w W num_columns num_cols",
    "side": "grid_size side",
}

#: Settings to which code gives other names, with all of them.
NUMBERS: Mapping[str, str] = {
    "rotary_dim": "rotary_dim rot_dim rotary_ndims n_rot",
    "width": "head_dim dim d d_model d_head hidden_size embedding_dim embedding_dims embed_dim dims channels d_k rotary_dim width n_dims "
    "num_dims D head_size size_per_head dim_head d_hid hidden_dim demb d_embed",
    "base": "base theta rope_theta rotary_base freq_base max_period max_wavelength rope_base base_frequency "
    "rotary_emb_base max_timescale max_scale",
    "alpha": "alpha",
    "factor": "factor scaling_factor interpolation_factor scale_factor alpha ntk_alpha",
    "original_length": "original_length original_max_position_embeddings original_max_len max_position_embeddings old_context_len",
    "max_length": "max_length max_position_embeddings",
    "attention_factor": "attention_factor attn_factor",
    "length": "length seq_len current_length",
    "num_heads": "num_heads n_heads heads nheads nhead h n_head head_count num_attention_heads attn_heads n H",
    "max_bias": "max_bias alibi_bias_max",
    "power": "power mixed_b",
    "num_buckets": "num_buckets n_buckets buckets",
    "max_distance": "max_distance max_dist max_relative_position max_relative_positions",
    "bits": "bits num_bits n_bits",
    "sections": "sections mrope_section mrope_sections",
    "shift": "offset",
}


def _also(named: Mapping[str, str], declared: Iterable[str]) -> Mapping[str, str]:
    """Return what is named with what operations declare under a name that stands for nothing yet."""
    taken = {word for words in (*ARRAYS.values(), *NUMBERS.values()) for word in words.split()}
    return {**named, **{name: name for name in declared if name not in taken}}


SETTINGS = _also(NUMBERS, (name for one in operations().values() for name in one.parameters))
OF_HEADS = (name for one in operations().values() for name, axes in one.arrays.items() if axes == "head")
PROBED = _also(ARRAYS, (name for name in OF_HEADS if name not in SETTINGS))  # "slopes" are a rule elsewhere


def roles(name: str) -> tuple[str, ...]:
    """Return the roles that an argument of this name may have, the likeliest first."""
    known = {**PROBED, **SETTINGS}
    plain = name.strip("_")
    return tuple(role for role, names in known.items() if plain in names.split())


def alike(name: str, other: str) -> bool:
    """Whether two names of settings stand for the same."""
    return not {*roles(name)}.isdisjoint({*roles(other)} & {*SETTINGS})
