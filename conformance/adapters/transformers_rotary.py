"""Rotary encoding of the transformers models that compute tables from positions and hand them to ``apply_rotary_pos_emb``."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from transformers import DeepseekV3Config, GPTNeoXConfig, LlamaConfig, NanoChatConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek_v3
from transformers.models.gpt_neox import modeling_gpt_neox as gpt_neox
from transformers.models.llama import modeling_llama as llama
from transformers.models.nanochat import modeling_nanochat as nanochat

from conformance.adapt.adapter import Unsupported
from conformance.adapters.transformers_adapter import adapter, initialised

Tables = tuple[torch.Tensor, torch.Tensor]
MAX_POSITIONS = 1 << 20


@dataclass(frozen=True)
class Model:
    """A model's rotary module, how it is configured for a head, and the function that turns queries and keys."""

    label: str
    module: Any
    configure: Callable[[int, int, dict[str, Any]], Any]
    turn: Callable[..., Tables]
    layout: str
    direction: str = "positive"


def _llama(head_dim: int, length: int, rope: dict[str, Any]) -> Any:
    return LlamaConfig(hidden_size=head_dim, num_attention_heads=1, max_position_embeddings=length, rope_parameters=rope)


def _gpt_neox(head_dim: int, length: int, rope: dict[str, Any]) -> Any:
    whole = {"partial_rotary_factor": 1.0, **rope}
    return GPTNeoXConfig(hidden_size=head_dim, num_attention_heads=1, max_position_embeddings=length, rope_parameters=whole)


def _deepseek_v3(head_dim: int, length: int, rope: dict[str, Any]) -> Any:
    return DeepseekV3Config(qk_rope_head_dim=head_dim, max_position_embeddings=length, rope_parameters=rope)


def _nanochat(head_dim: int, length: int, rope: dict[str, Any]) -> Any:
    return NanoChatConfig(hidden_size=head_dim, num_attention_heads=1, max_position_embeddings=length, rope_parameters=rope)


MODELS = (
    Model("llama", llama.LlamaRotaryEmbedding, _llama, llama.apply_rotary_pos_emb, "half"),
    Model("gpt-neox", gpt_neox.GPTNeoXRotaryEmbedding, _gpt_neox, gpt_neox.apply_rotary_pos_emb, "half"),
    Model(
        "deepseek-v3",
        deepseek_v3.DeepseekV3RotaryEmbedding,
        _deepseek_v3,
        deepseek_v3.apply_rotary_pos_emb_interleave,
        "interleaved_to_half",
    ),
    Model("nanochat", nanochat.NanoChatRotaryEmbedding, _nanochat, nanochat.apply_rotary_pos_emb, "half", "negative"),
)


@functools.lru_cache(maxsize=64)
def embedding(model: Model, head_dim: int, length: int, *rope: tuple[str, Any]) -> Any:
    """Return the model's rotary module, built once per configuration as a model builds it."""
    return initialised(model.module(model.configure(head_dim, length, dict(rope))))


def initial(rope: Mapping[str, Any], head_dim: int, length: int = MAX_POSITIONS, model: Model = MODELS[0], **given: int) -> Any:
    """Return the frequencies and the attention factor that the library computes from ``rope_parameters``."""
    return ROPE_INIT_FUNCTIONS[rope["rope_type"]](model.configure(head_dim, length, dict(rope)), device="cpu", **given)


def turned(
    model: Model, x: torch.Tensor, positions: torch.Tensor, rope: Mapping[str, Any], head_dim: int, length: int = MAX_POSITIONS
) -> torch.Tensor:
    """Turn ``x`` by the tables of a module with ``rope_parameters``."""
    return model.turn(x, x, *embedding(model, head_dim, length, *rope.items())(x, batched(positions)))[0]


def within(
    length: int, module: Callable[[torch.Tensor], tuple[torch.Tensor, ...]], positions: torch.Tensor, *, switch: int | None = None
) -> tuple[torch.Tensor, ...]:
    """Return tables of positions in a sequence whose length a module takes from the largest one; all that counts may be a ``switch``."""
    if length <= (switch or length) <= int(positions.max()):
        message = "the module takes the largest position plus 1 for the length"
        raise Unsupported(message)
    rows = batched(positions)
    return tuple(table[:, :-1] for table in module(torch.cat((rows, torch.full_like(rows[:, :1], length - 1)), dim=-1)))


def offer(
    operation: str, ending: str, function: Callable[..., torch.Tensor], models: Sequence[Model] = MODELS, **declared: Any
) -> None:
    """Offer a rotation with every model."""
    for model in models:
        connect = adapter.implements(operation, label=f"{model.label}-{ending}", layout=model.layout, direction=model.direction, **declared)
        connect(functools.partial(function, model))


def plain(model: Model, head_dim: int, base: float) -> Any:
    """Return the rotary module of a model without any scaling of its context."""
    return embedding(model, head_dim, MAX_POSITIONS, ("rope_type", "default"), ("rope_theta", base))


def batched(positions: torch.Tensor) -> torch.Tensor:
    """Return positions with the batch axis that the models expect."""
    return positions if positions.ndim == 2 else positions[None]


def rotate(model: Model, x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
    """Turn queries or keys by the model's own tables in the dtype of ``x``."""
    return model.turn(x, x, *plain(model, head_dim, base)(x, batched(positions)))[0]


def rotate_query_key(
    model: Model,
    q: torch.Tensor,
    k: torch.Tensor,
    query_positions: torch.Tensor,
    key_positions: torch.Tensor,
    *,
    head_dim: int,
    base: float,
    **_: object,
) -> Tables:
    """Turn queries and keys in one call where they share their positions, else as two steps of decoding."""
    tables = plain(model, head_dim, base)
    if torch.equal(query_positions, key_positions):
        return model.turn(q, k, *tables(q, batched(query_positions)))
    turned_q = model.turn(q, q, *tables(q, batched(query_positions)))[0]
    return turned_q, model.turn(k, k, *tables(k, batched(key_positions)))[1]


def apply(model: Model, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, **_: object) -> torch.Tensor:
    """Turn ``x`` by the tables given, repeated for both halves and with a batch axis as the models store them."""
    cos, sin = (torch.cat((table, table), dim=-1) for table in (cos, sin))
    cos, sin = (table if table.ndim == 3 else table[None] for table in (cos, sin))
    return model.turn(x, x, cos, sin)[0]


def gradient(
    model: Model, x: torch.Tensor, positions: torch.Tensor, cotangent: torch.Tensor, *, head_dim: int, base: float, **_: object
) -> torch.Tensor:
    """Return what autograd gives for ``<rotate(x), cotangent>``."""
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(rotate(model, leaf, positions, head_dim=head_dim, base=base), leaf, cotangent)[0]


def tables(model: Model, positions: torch.Tensor, *, head_dim: int, base: float, dtype: torch.dtype = torch.float32, **_: object) -> Tables:
    """Return the first half of the model's tables; the second half repeats it."""
    cos, sin = plain(model, head_dim, base)(torch.empty(0, dtype=dtype), batched(positions))
    cos, sin = cos[..., : head_dim // 2], sin[..., : head_dim // 2]
    return (cos, sin) if positions.ndim == 2 else (cos[0], sin[0])


def frequencies(model: Model, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
    """Return the buffer of frequencies, which a model keeps in float32."""
    return plain(model, head_dim, base).inv_freq


def attention(
    model: Model,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    query_positions: torch.Tensor,
    key_positions: torch.Tensor,
    *,
    causal: bool,
    **parameters: Any,
) -> Tables:
    """Return output and weights of Llama's eager attention over queries and keys turned by the model."""
    q, k = rotate_query_key(model, q, k, query_positions, key_positions, **parameters)
    return attended(llama, q, k, v, query_positions, key_positions, causal=causal)


def attended(
    library: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor,
    *, causal: bool, **given: torch.Tensor,
) -> Tables:  # fmt: skip
    """Return output and weights of a model's eager attention; ``given`` is what its layer has besides."""
    layer = SimpleNamespace(num_key_value_groups=q.shape[1] // k.shape[1], training=False, **given)
    mask = mask_of(q, query_positions, key_positions, causal=causal)
    output, weights = library.eager_attention_forward(layer, q, k, v, mask, scaling=q.shape[-1] ** -0.5)
    return output.transpose(1, 2), weights


def mask_of(q: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """Return what models add to logits, in the dtype of queries: 0, or the lowest number where a key is hidden."""
    later = (key_positions[..., None, :] > query_positions[..., :, None]) & causal
    mask = (later * torch.finfo(q.dtype).min).to(q.dtype)
    return mask[:, None] if mask.ndim == 3 else mask


def attend(
    model: Model,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    query_positions: torch.Tensor,
    key_positions: torch.Tensor,
    **parameters: Any,
) -> torch.Tensor:
    """Return the output of attention."""
    return attention(model, q, k, v, query_positions, key_positions, **parameters)[0]


def weights(
    model: Model, q: torch.Tensor, k: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor, **parameters: Any
) -> torch.Tensor:
    """Return the weights of attention."""
    return attention(model, q, k, k, query_positions, key_positions, **parameters)[1]


def _connect(model: Model) -> None:
    for operation in (rotate, rotate_query_key, apply, gradient):
        adapter.implements(f"rope.{operation.__name__}", label=model.label, layout=model.layout, direction=model.direction)(
            functools.partial(operation, model)
        )
    adapter.implements("rope.tables", label=model.label)(functools.partial(tables, model))
    adapter.implements("rope.frequencies", label=model.label, dtypes=("float32",))(functools.partial(frequencies, model))


for _model in MODELS:
    _connect(_model)
for _operation in (weights, attend):
    adapter.implements(f"rope.{_operation.__name__}", label="llama", layout="half", direction="positive")(
        functools.partial(_operation, MODELS[0])
    )
