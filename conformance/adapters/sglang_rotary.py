"""Rotations that SGLang's ``get_rope`` has layers for."""

from collections.abc import Mapping
from typing import Any

import torch

# The adapter comes first: it says which release is needed before a module misses what another release lacks.
from conformance.adapters.sglang_adapter import adapter, make  # isort: split

from conformance.adapt.adapter import Unsupported
from conformance.adapters.get_rope import Offers, flat, listed, small, stretched, turned, within, yarn

__all__ = ["adapter"]

OFFERS = Offers(adapter, make)


def dynamic(
    x: torch.Tensor, positions: torch.Tensor, *, factor: float, original_length: int, length: int, **parameters: Any
) -> torch.Tensor:
    """Turn by dynamic NTK scaling; the library asks for no length, and its table ends where the context is stretched to."""
    del length
    within(positions, int(original_length * factor))
    return turned(OFFERS.layer("dynamic", original_length, {"factor": factor}, parameters), x, positions)


def longrope(
    x: torch.Tensor, positions: torch.Tensor, short_factors: torch.Tensor, long_factors: torch.Tensor,
    *, original_length: int, length: int, max_length: int, **parameters: Any,
) -> torch.Tensor:  # fmt: skip
    """Turn by the factors that a sequence with this last token gets, which stands after the others."""
    if length <= original_length <= int(positions.max()):
        message = "the layer takes the largest position plus 1 for the length"
        raise Unsupported(message)
    within(positions, max_length)
    said = listed(short_factors, long_factors, {**parameters, "original_length": original_length})
    layer = OFFERS.layer("longrope", max_length, said, parameters)
    places = positions.expand(x.shape[0], x.shape[2])
    whole = torch.cat((x, x[:, :, -1:]), dim=2)
    return turned(layer, whole, torch.cat((places, torch.full_like(places[:, :1], length - 1)), dim=1))[:, :, :-1]


def deepseek(x: torch.Tensor, positions: torch.Tensor, **parameters: Any) -> torch.Tensor:
    """Turn by DeepSeek's YaRN, whose heads have an axis of their own."""
    within(positions, int(parameters["original_length"] * parameters["factor"]))
    layer = OFFERS.layer("deepseek_yarn", parameters["original_length"], yarn(parameters), parameters)
    tokens = x.transpose(1, 2).flatten(0, 1)
    found: torch.Tensor = layer(flat(x, positions), tokens, -tokens)[0]
    return found.reshape(x.transpose(1, 2).shape).transpose(1, 2)


def _fits(parameters: Mapping[str, Any]) -> bool:
    return parameters["length"] <= parameters["max_length"] and small(parameters["head_dim"], parameters["max_length"])


# What a configuration calls attention_factor, the library doesn't read.
OFFERS.offer_all(attention_factor=None)
OFFERS.offer("dynamic_ntk.rotate", dynamic, growth="tokens", when=stretched)
OFFERS.offer("longrope.rotate", longrope, layout="half", when=_fits)
OFFERS.offer("yarn.rotate", deepseek, label="deepseek", attention_factor=None, truncate=True, slope=0.1, when=stretched)
