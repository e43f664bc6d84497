"""Scores of the indexers of DeepSeek-V3.2 and GLM-5, whose modules return which keys score highest, and of DeepSeek-V4.

The attention of the former two sees those keys.
"""

import functools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch
from transformers import DeepseekV4Config, DeepseekV32Config, GlmMoeDsaConfig
from transformers.models.deepseek_v4 import modeling_deepseek_v4 as deepseek_v4
from transformers.models.deepseek_v32 import modeling_deepseek_v32 as deepseek_v32
from transformers.models.glm_moe_dsa import modeling_glm_moe_dsa as glm_moe_dsa

from conformance.adapters.relative_rows import heads
from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_partial import PARTS, settings
from conformance.adapters.transformers_rotary import MAX_POSITIONS, Model, batched, embedding, mask_of


class _Mask(torch.Tensor):  # type: ignore[misc]  # the library has no types
    """A mask that hides nothing; of scores that it was added to the greatest are all, in their order and their dtype."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        if func is torch.Tensor.topk:
            return SimpleNamespace(indices=args[0])
        return args[0] if func is torch.Tensor.to else super().__torch_function__(func, types, args, kwargs or {})


class _Weights(torch.nn.Module):  # type: ignore[misc]  # the library has no types
    """A projection that returns the weights of the heads, whatever it is given."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, _: torch.Tensor) -> torch.Tensor:
        return self.weight


class _Cache:
    """A cache that keeps the keys of the first call, and returns them."""

    keys: torch.Tensor | None = None

    def update_indexer(self, keys: torch.Tensor, _: int) -> torch.Tensor:
        """Return the keys that came first."""
        self.keys = keys if self.keys is None else self.keys
        return self.keys


def _indexer(module: Callable[..., Any], head_weights: torch.Tensor, head_dim: int, rotary_dim: int, top_k: int = 1) -> Any:
    """Return an indexer whose projections return what they are given, and the weights of its heads."""
    sizes = {"hidden_size": 1, "q_lora_rank": 1, "index_topk": top_k, "index_n_heads": head_weights.shape[-1]}
    made = module(SimpleNamespace(**sizes, index_head_dim=head_dim, qk_rope_head_dim=rotary_dim), 0)
    made.wq_b = made.wk = made.k_norm = torch.nn.Identity()
    made.weights_proj = _Weights(head_weights)
    return made


def selecting(
    module: Callable[..., Any], model: Model,
    q: torch.Tensor, k: torch.Tensor, head_weights: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor,
    *, head_dim: int, rotary_dim: int, base: float, **_: object,
) -> torch.Tensor:  # fmt: skip
    """Return the scores of a module: a first call turns the keys, and a second one scores the queries against them."""
    tables = embedding(model, rotary_dim, MAX_POSITIONS, ("rope_type", "default"), ("rope_theta", base))
    cache, mask = _Cache(), q.new_zeros(()).as_subclass(_Mask)
    sides = (
        (k, k, k[..., :1], key_positions),
        (q[:, 0], q.transpose(1, 2).flatten(2), head_weights.transpose(1, 2), query_positions),
    )
    for hidden, queries, weights, positions in sides:
        indexer, places = _indexer(module, weights, head_dim, rotary_dim), batched(positions)
        scores = indexer(hidden, queries, tables(q, places), mask, places, cache)
    return scores.as_subclass(torch.Tensor).to(q.dtype)


class _Given:
    """A cache that holds a zero for every key of an indexer."""

    def __init__(self, k: torch.Tensor) -> None:
        self.k = k

    def update(self, *_: object) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what nobody reads: keys and values are given."""
        return self.k, self.k

    def update_indexer(self, *_: object) -> torch.Tensor:
        """Return keys whose products are 0."""
        return self.k.new_zeros(len(self.k), self.k.shape[2], 1)


def attending(
    attention: Any, module: Callable[..., Any],
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scores: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor,
    *, top_k: int, causal: bool,
) -> torch.Tensor:  # fmt: skip
    """Return the output of a model's attention where nothing turns; its indexer finds scores of 0, and adds those given with the mask."""
    batch, count, queries, head_dim = q.shape
    states, nothing = q.new_zeros(batch, queries, 1), q.new_zeros(batch, queries, 0)
    indexer, same = _indexer(module, states, 1, 0, top_k), torch.nn.Identity()

    def choosing(hidden: torch.Tensor, _: object, tables: object, mask: torch.Tensor, *rest: object, **given: object) -> Any:
        return indexer(hidden, hidden, tables, mask.float() + scores.float(), *rest, **given)

    layer = SimpleNamespace(
        config=SimpleNamespace(_attn_implementation="eager"), layer_idx=0, training=False, attention_dropout=0.0,
        q_a_proj=lambda _: q.transpose(1, 2).flatten(2), q_a_layernorm=same, q_b_proj=same, kv_a_proj_with_mqa=same, kv_a_layernorm=same,
        kv_lora_rank=1, qk_nope_head_dim=head_dim, qk_rope_head_dim=0, qk_head_dim=head_dim, scaling=head_dim**-0.5,
        num_key_value_groups=count // k.shape[1], expand_kv=lambda *_: (k, v), o_proj=same, indexer=choosing,
    )  # fmt: skip
    mask = mask_of(q, query_positions, key_positions, causal=causal).expand(batch, 1, -1, -1)
    return heads(attention.forward(layer, states, (nothing, nothing), mask, past_key_values=_Given(k))[0], q)


def _deepseek_v32(head_dim: int, length: int, rope: dict[str, Any]) -> Any:
    return DeepseekV32Config(qk_rope_head_dim=head_dim, max_position_embeddings=length, rope_parameters=rope)


def _glm_5(head_dim: int, length: int, rope: dict[str, Any]) -> Any:
    return GlmMoeDsaConfig(qk_rope_head_dim=head_dim, max_position_embeddings=length, rope_parameters=rope)


INDEXERS = (
    (
        deepseek_v32.DeepseekV32Attention,
        deepseek_v32.DeepseekV32Indexer,
        Model("deepseek-v3.2", deepseek_v32.DeepseekV32RotaryEmbedding, _deepseek_v32, deepseek_v32.apply_rotary_pos_emb, "half"),
    ),
    (
        glm_moe_dsa.GlmMoeDsaAttention,
        glm_moe_dsa.GlmMoeDsaIndexer,
        Model("glm-5", glm_moe_dsa.GlmMoeDsaRotaryEmbedding, _glm_5, glm_moe_dsa.apply_rotary_pos_emb_interleave, "interleaved"),
    ),
)
for _attention, _module, _model in INDEXERS:
    adapter.implements("none.attend_selected", label=_model.label)(functools.partial(attending, _attention, _module))
    adapter.implements(
        "partial_rope.index_scores", label=_model.label, layout=_model.layout, direction="positive", placement="first", divisor="roots"
    )(functools.partial(selecting, _module, _model))


@adapter.implements(
    "partial_rope.index_scores", label="deepseek-v4", layout="interleaved", direction="positive", placement="last", divisor="roots"
)
def scoring(
    q: torch.Tensor, k: torch.Tensor, head_weights: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor,
    *, head_dim: int, rotary_dim: int, base: float, **_: object,
) -> torch.Tensor:  # fmt: skip
    """Turn queries and keys as the indexer of DeepSeek-V4, and score them by its module."""
    tables = embedding(PARTS["last"][0], head_dim, MAX_POSITIONS, *settings(head_dim, rotary_dim, base).items())
    sides = ((q, query_positions), (k[:, None], key_positions))
    queries, keys = (deepseek_v4.apply_rotary_pos_emb(x, *tables(x, batched(positions))) for x, positions in sides)
    scorer = deepseek_v4.DeepseekV4IndexerScorer(DeepseekV4Config(index_head_dim=head_dim, index_n_heads=q.shape[1]))
    scorer.weights_proj = _Weights(head_weights.transpose(1, 2))
    return scorer(queries.transpose(1, 2), keys[:, 0], q).to(q.dtype)
