"""Rotations that vLLM's ``get_rope`` has layers for."""

from collections.abc import Mapping
from typing import Any

import torch
from vllm.model_executor.layers import rotary_embedding

from conformance.adapters.get_rope import Offers, listed, rows, small, turned, within
from conformance.adapters.vllm_adapter import adapter, make

OFFERS = Offers(adapter, make)


def dynamic(
    x: torch.Tensor, positions: torch.Tensor, *, factor: float, original_length: int, length: int, **parameters: Any
) -> torch.Tensor:
    """Turn by the base of a length, which the library takes for the longest; only ``max_trained_positions`` tells it the original one."""
    within(positions, length)
    given = {"factor": factor, "max_trained_positions": original_length}
    return turned(OFFERS.layer("dynamic", length, given, parameters), x, positions)


def published(x: torch.Tensor, positions: torch.Tensor, *, factor: float, length: int, **parameters: Any) -> torch.Tensor:
    """Turn by what published configurations say: not told the original length, the library takes the longest for it."""
    within(positions, length)
    return turned(OFFERS.layer("dynamic", length, {"factor": factor}, parameters), x, positions)


def ntk(x: torch.Tensor, positions: torch.Tensor, *, factor: float, power: float, **parameters: Any) -> torch.Tensor:
    """Turn by pairs that are all slowed, the fastest one too."""
    given = {"factor": factor} if power == 1 else {"factor": factor, "mixed_b": power}
    return turned(OFFERS.layer("ntk", rows(positions), given, parameters), x, positions)


def longrope(
    x: torch.Tensor, positions: torch.Tensor, short_factors: torch.Tensor, long_factors: torch.Tensor,
    *, original_length: int, length: int, max_length: int, **parameters: Any,
) -> torch.Tensor:  # fmt: skip
    """Turn by the factors that a server with sequences of up to this length takes for all of them."""
    within(positions, max_length if length > original_length else original_length)
    said = listed(short_factors, long_factors, {**parameters, "original_length": original_length})
    rope = {"rope_type": "longrope", "rope_theta": parameters["base"], **said}
    rotary_embedding._ROPE_DICT.clear()  # noqa: SLF001  a process serves one longest length, which the library's key leaves out
    return turned(make(parameters["head_dim"], max_length, True, rope, longest=length), x, positions)  # noqa: FBT003  get_rope's


def _longer(parameters: Mapping[str, Any]) -> bool:
    return parameters["length"] >= parameters["original_length"] and small(parameters["head_dim"], parameters["length"])


def _fits(parameters: Mapping[str, Any]) -> bool:
    longest = max(parameters["original_length"], parameters["max_length"])
    return parameters["length"] <= parameters["max_length"] and small(parameters["head_dim"], longest)


OFFERS.offer_all()
OFFERS.offer("ntk_aware.rotate", ntk, label="ntk", fastest="slowed")
OFFERS.offer("dynamic_ntk.rotate", dynamic, growth="tokens", when=_longer)
OFFERS.offer("dynamic_ntk.rotate", published, label="published", growth="tokens", when=_longer)
OFFERS.offer("longrope.rotate", longrope, layout="half", when=_fits)
