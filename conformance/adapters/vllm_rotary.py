"""Rotations that vLLM's ``get_rope`` has layers for."""

from collections.abc import Mapping
from typing import Any

import torch
from vllm.model_executor.layers import rotary_embedding

from conformance.adapters.get_rope import Offers, rows, small, turned, within
from conformance.adapters.vllm_adapter import adapter, make

OFFERS = Offers(adapter, make)


def by_alpha(x: torch.Tensor, positions: torch.Tensor, *, factor: float, **parameters: Any) -> torch.Tensor:
    """Turn by a raised base: HunYuan's ``alpha``."""
    return turned(OFFERS.layer("dynamic", rows(positions), {"alpha": factor}, parameters), x, positions)


def dynamic(
    x: torch.Tensor, positions: torch.Tensor, *, factor: float, original_length: int, length: int, **parameters: Any
) -> torch.Tensor:
    """Turn by the base of a length, which the library takes for the longest; only ``max_trained_positions`` tells it the original one."""
    within(positions, length)
    given = {"factor": factor, "max_trained_positions": original_length}
    return turned(OFFERS.layer("dynamic", length, given, parameters), x, positions)


def proportional(x: torch.Tensor, positions: torch.Tensor, *, turned_pairs: int, **parameters: Any) -> torch.Tensor:
    """Turn as Gemma 4's layers of full attention; a quarter of a pair more, since the library cuts the product."""
    share = min(1.0, (2 * turned_pairs + 0.5) / parameters["head_dim"])
    return turned(OFFERS.layer("proportional", rows(positions), {"partial_rotary_factor": share}, parameters), x, positions)


def longrope(
    x: torch.Tensor, positions: torch.Tensor, short_factors: torch.Tensor, long_factors: torch.Tensor,
    *, original_length: int, length: int, max_length: int, **parameters: Any,
) -> torch.Tensor:  # fmt: skip
    """Turn by the factors that a server with sequences of up to this length takes for all of them."""
    within(positions, max_length if length > original_length else original_length)
    rope = {
        "rope_type": "longrope", "rope_theta": parameters["base"], "original_max_position_embeddings": original_length,
        "short_factor": short_factors.tolist(), "long_factor": long_factors.tolist(),
    }  # fmt: skip
    rotary_embedding._ROPE_DICT.clear()  # noqa: SLF001  a process serves one longest length, which the library's key leaves out
    return turned(make(parameters["head_dim"], max_length, True, rope, longest=length), x, positions)  # noqa: FBT003  get_rope's


def on_axes(x: torch.Tensor, positions: torch.Tensor, *, sections: tuple[int, ...], order: str, **parameters: Any) -> torch.Tensor:
    """Turn by the time, the height and the width of every token."""
    axes = positions.expand(x.shape[0], *positions.shape[-2:]).reshape(-1, 3).T
    given = {"mrope_section": list(sections), "mrope_interleaved": order == "interleaved"}
    layer = OFFERS.layer("default", rows(positions), given, parameters)
    tokens = x.transpose(1, 2).reshape(axes.shape[1], -1)
    found: torch.Tensor = layer(axes.long(), tokens.clone(), (-tokens).clone())[0]
    return found.reshape(x.transpose(1, 2).shape).transpose(1, 2)


def _longer(parameters: Mapping[str, Any]) -> bool:
    return parameters["length"] >= parameters["original_length"] and small(parameters["head_dim"], parameters["length"])


def _fits(parameters: Mapping[str, Any]) -> bool:
    longest = max(parameters["original_length"], parameters["max_length"])
    return parameters["length"] <= parameters["max_length"] and small(parameters["head_dim"], longest)


OFFERS.offer_all()
OFFERS.offer("ntk_aware.rotate", by_alpha)
OFFERS.offer("dynamic_ntk.rotate", dynamic, growth="tokens", when=_longer)
OFFERS.offer("proportional_rope.rotate", proportional, factor=1.0)
OFFERS.offer("longrope.rotate", longrope, layout="half", when=_fits)
OFFERS.offer("mrope.rotate", on_axes, order=("contiguous", "interleaved"), when=lambda known: len(known["sections"]) == 3)
