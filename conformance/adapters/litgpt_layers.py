"""Rotations of litgpt, by the tables that its ``GPT`` makes of a ``Config`` and by its attention: written for litgpt 0.5.13."""

import functools
import json
import math
from collections.abc import Callable, Mapping
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from litgpt.config import Config
from litgpt.model import GPT, CausalSelfAttention, F, batched_index_select

from conformance.adapt.adapter import Adapter
from conformance.adapters.get_rope import HIGHEST, rows, small

SUPPORTED = "0.5.13"

adapter = Adapter("litgpt", framework="torch", dtypes=("float32", "bfloat16", "float16"), version=version("litgpt"))
torch.set_num_threads(1)

#: The layouts of its attention, and what ``rope_interleave`` is for each.
LAYOUTS = {"half": False, "interleaved_to_half": True}


def turn(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, layout: str, **said: Any) -> torch.Tensor:
    """Turn ``x`` by the attention of a model whose configuration says this beyond its sizes."""
    given = {"rotary_percentage": 1.0, "rope_base": base, **said}
    attention = _attention(x.shape[1], head_dim, rope_interleave=LAYOUTS[layout], **given)
    attention.qkv = attention.proj = torch.nn.Identity()
    attention.scaled_dot_product_attention = _queries
    cos, sin = (batched_index_select(table, 0, positions) for table in _tables(head_dim, rows(positions), json.dumps(given)))
    tokens = x.transpose(1, 2).flatten(2)
    shared = positions.dim() == 1
    turned = attention(torch.cat([tokens] * 3, dim=-1), cos[None] if shared else cos, sin[None] if shared else sin)
    return turned.unflatten(2, (x.shape[1], -1)).transpose(1, 2)


def _queries(q: torch.Tensor, *_: object) -> torch.Tensor:
    return q.transpose(1, 2)


def _config(heads: int, head_dim: int, **said: Any) -> Config:
    return Config(n_layer=1, n_head=heads, n_embd=heads * head_dim, head_size=head_dim, **said)


def _attention(heads: int, head_dim: int, **said: Any) -> Any:
    """Return the attention without weights."""
    with torch.device("meta"):
        return CausalSelfAttention(_config(heads, head_dim, **said), 0)


@functools.lru_cache(maxsize=16)
def _tables(head_dim: int, length: int, said: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the tables of cosine and sine that a model keeps; it needs no weights for them."""
    cos, sin = GPT.rope_cache(SimpleNamespace(config=_config(1, head_dim, **json.loads(said)), max_seq_length=length))
    return cos, sin


def offer(operation: str, said: Callable[..., Mapping[str, Any]], label: str = "litgpt", **declared: Any) -> None:
    """Offer a rotation whose parameters a configuration says so."""

    def rotate(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, layout: str, **rule: Any) -> torch.Tensor:
        return turn(x, positions, head_dim=head_dim, base=base, layout=layout, **said(head_dim=head_dim, **rule))

    settings: dict[str, Any] = {"layout": tuple(LAYOUTS), "direction": "positive", "lowest": 0, "highest": HIGHEST, "when": _fits}
    adapter.implements(operation, rotate, label=label, **(settings | declared))


def _fits(parameters: Mapping[str, Any]) -> bool:
    return small(parameters["head_dim"], HIGHEST + 1)


def _llama3(*, factor: float, original_length: int, low_freq_factor: float, high_freq_factor: float, **_: object) -> Mapping[str, Any]:
    ends = {"low_freq_factor": low_freq_factor, "high_freq_factor": high_freq_factor}
    return {"rope_adjustments": {"factor": factor, "original_max_seq_len": original_length, **ends}}


def _yarn(*, original_length: int, **rule: Any) -> Mapping[str, Any]:
    names = ("factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim")
    given = {name: rule[name] for name in names if rule.get(name) is not None}
    return {"rope_adjustments": {"original_max_seq_len": original_length, **given}}


def _within(parameters: Mapping[str, Any]) -> bool:
    """Whether the ramp ends before the last pair, where the library would clamp it."""
    width, turns = parameters["head_dim"], parameters["original_length"] / (2 * math.pi * parameters["beta_slow"])
    return _fits(parameters) and math.ceil(width * math.log(turns) / (2 * math.log(parameters["base"]))) < width // 2


@adapter.implements("yarn.frequencies", truncate=True, dtypes=("float32",))
def frequencies(*, head_dim: int, base: float, original_length: int, **rule: Any) -> torch.Tensor:
    """Return the angles of position 1; the model keeps no frequencies."""
    given = {"rotary_percentage": 1.0, "rope_base": base, **_yarn(original_length=original_length, **rule)}
    cos, sin = _tables(head_dim, 2, json.dumps(given))
    return torch.atan2(sin, cos)[1, : head_dim // 2]


@adapter.implements("yarn.attention_factor", attention_factor=None, slope=0.1, factor=lambda factor: factor >= 1.0, dtypes=("float32",))
def attention_factor(**rule: Any) -> torch.Tensor:
    """Return the cosine of position 0."""
    given = {"rotary_percentage": 1.0, **_yarn(original_length=4096, beta_fast=32.0, beta_slow=1.0, **rule)}
    return _tables(8, 1, json.dumps(given))[0][0, 0]


@adapter.implements("yarn.softmax_scale", dtypes=("float32",))
def softmax_scale(*, qk_head_dim: int, factor: float, mscale_all_dim: float | None) -> float:
    """Return what attention multiplies its logits by."""
    adjustments = {"factor": factor} | ({} if mscale_all_dim is None else {"mscale_all_dim": mscale_all_dim})
    q = torch.zeros(1, 1, 1, qk_head_dim)
    with mock.patch.object(F, "scaled_dot_product_attention", return_value=q) as called:
        _attention(1, qk_head_dim, rope_adjustments=adjustments).scaled_dot_product_attention(q, q, q)
    return float(called.call_args.kwargs["scale"])


offer("rope.rotate", lambda **_: {})
# Half a channel more, since the library cuts the product.
offer(
    "partial_rope.rotate",
    lambda head_dim, rotary_dim, **_: {"rotary_percentage": min(1.0, (rotary_dim + 0.5) / head_dim)},
    placement="first",
)
offer("position_interpolation.rotate", lambda factor, **_: {"rope_adjustments": {"factor": factor}})
offer("position_interpolation.rotate", lambda factor, **_: {"rope_condense_ratio": factor}, label="condensed")
offer("llama3.rotate", _llama3)
offer("yarn.rotate", _yarn, truncate=True, attention_factor=None, slope=0.1, when=_within)
