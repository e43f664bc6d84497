"""What libraries for serving compute by the layers of their ``get_rope``: one function for every rule, one table for every layer."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from conformance.adapt.adapter import Adapter, Unsupported

#: The layouts that a layer is asked for, and what ``is_neox_style`` is for each.
LAYOUTS = {"half": True, "interleaved": False}
#: A server makes a few tables and keeps them; longer ones would take what memory there is.
HIGHEST, LARGEST = (1 << 17) - 1, 1 << 25

#: Return the layer of a width and a length, of these pairs, by what a configuration says in ``rope_parameters``.
Make = Callable[[int, int, bool, Mapping[str, Any]], Any]


def turned(layer: Any, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Turn ``x`` as the library turns queries beside keys: one row for each token of all sequences, with its heads side by side."""
    rows = x.transpose(1, 2).reshape(x.shape[0] * x.shape[2], -1)
    queries = layer(flat(x, positions), rows.clone(), (-rows).clone())[0]
    result: torch.Tensor = queries.reshape(x.shape[0], x.shape[2], x.shape[1], x.shape[3]).transpose(1, 2)
    return result


def flat(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Return one position for each token of all sequences."""
    return positions.expand(x.shape[0], x.shape[2]).reshape(-1).long()


def rows(positions: torch.Tensor) -> int:
    """Return how long a table must be, rounded up so that few are made."""
    return max(64, 1 << int(positions.max() if positions.numel() else 0).bit_length())


def within(positions: torch.Tensor, length: int) -> None:
    """Raise where a table ends before a position: the library makes it no longer."""
    if positions.numel() and int(positions.max()) >= length:
        message = f"the table ends at position {length - 1}"
        raise Unsupported(message)


def small(head_dim: int, length: float) -> bool:
    """Whether a table isn't too large for this machine."""
    return head_dim * length <= LARGEST


def stretched(parameters: Mapping[str, Any]) -> bool:
    """Whether the table of a stretched context isn't too large for this machine."""
    return small(parameters["head_dim"], parameters["original_length"] * parameters["factor"])


def _llama3(parameters: Mapping[str, Any]) -> dict[str, Any]:
    names = ("factor", "low_freq_factor", "high_freq_factor")
    return {name: parameters[name] for name in names} | {"original_max_position_embeddings": parameters["original_length"]}


def yarn(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``rope_parameters`` say of YaRN."""
    names = ("factor", "beta_fast", "beta_slow", "truncate", "mscale", "mscale_all_dim", "attention_factor")
    given = {name: parameters[name] for name in names if parameters[name] is not None}
    return {**given, "original_max_position_embeddings": parameters["original_length"]}


def listed(short_factors: torch.Tensor, long_factors: torch.Tensor, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``rope_parameters`` say of LongRoPE."""
    given = {name: parameters[name] for name in ("short_mscale", "long_mscale") if parameters[name] is not None}
    lists = {"short_factor": short_factors.tolist(), "long_factor": long_factors.tolist()}
    return {**given, **lists, "original_max_position_embeddings": parameters["original_length"]}


@dataclass(frozen=True)
class Offers:
    """The operations of an adapter that its library's ``get_rope`` has layers for."""

    adapter: Adapter
    make: Make

    def layer(self, rope_type: str, length: int, given: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
        """Return the layer for what posenc asks."""
        rope = {"rope_type": rope_type, "rope_theta": parameters["base"], **given}
        return self.make(parameters["head_dim"], length, LAYOUTS[parameters["layout"]], rope)

    def plain(self, x: torch.Tensor, positions: torch.Tensor, **parameters: Any) -> torch.Tensor:
        """Turn by no rule."""
        return turned(self.layer("default", rows(positions), {}, parameters), x, positions)

    def both(
        self, q: torch.Tensor, k: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor, **parameters: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Turn queries and keys; where both have the same positions in one call, as the library does."""
        if not torch.equal(query_positions, key_positions):
            return self.plain(q, query_positions, **parameters), self.plain(k, key_positions, **parameters)
        layer = self.layer("default", rows(query_positions), {}, parameters)
        tokens = [each.transpose(1, 2).reshape(each.shape[0] * each.shape[2], -1) for each in (q, k)]
        found = layer(flat(q, query_positions), *(each.clone() for each in tokens))
        shapes = [each.transpose(1, 2).shape for each in (q, k)]
        query, key = (each.reshape(shape).transpose(1, 2) for each, shape in zip(found, shapes, strict=True))
        return query, key

    def part(self, x: torch.Tensor, positions: torch.Tensor, *, rotary_dim: int, **parameters: Any) -> torch.Tensor:
        """Turn the first channels; half a channel more, since the library cuts the product."""
        share = min(1.0, (rotary_dim + 0.5) / parameters["head_dim"])
        return turned(self.layer("default", rows(positions), {"partial_rotary_factor": share}, parameters), x, positions)

    def linear(self, x: torch.Tensor, positions: torch.Tensor, *, factor: float, **parameters: Any) -> torch.Tensor:
        """Turn by frequencies divided by a factor, by which the library lengthens its table too."""
        return turned(self.layer("linear", math.ceil(rows(positions) / factor), {"factor": float(factor)}, parameters), x, positions)

    def llama3(self, x: torch.Tensor, positions: torch.Tensor, **parameters: Any) -> torch.Tensor:
        """Turn by Llama 3's rule."""
        return turned(self.layer("llama3", rows(positions), _llama3(parameters), parameters), x, positions)

    def yarn(self, x: torch.Tensor, positions: torch.Tensor, **parameters: Any) -> torch.Tensor:
        """Turn by YaRN; its table ends at the original length times the factor."""
        within(positions, int(parameters["original_length"] * parameters["factor"]))
        return turned(self.layer("yarn", parameters["original_length"], yarn(parameters), parameters), x, positions)

    def alpha(self, x: torch.Tensor, positions: torch.Tensor, *, factor: float, **parameters: Any) -> torch.Tensor:
        """Turn by a raised base: HunYuan's ``alpha``."""
        return turned(self.layer("dynamic", rows(positions), {"alpha": factor}, parameters), x, positions)

    def proportional(self, x: torch.Tensor, positions: torch.Tensor, *, turned_pairs: int, **parameters: Any) -> torch.Tensor:
        """Turn as Gemma 4's layers of full attention; a quarter of a pair more, since the library cuts the product."""
        share = min(1.0, (2 * turned_pairs + 0.5) / parameters["head_dim"])
        return turned(self.layer("proportional", rows(positions), {"partial_rotary_factor": share}, parameters), x, positions)

    def on_axes(
        self, x: torch.Tensor, positions: torch.Tensor, *, sections: tuple[int, ...], order: str, **parameters: Any
    ) -> torch.Tensor:
        """Turn by the time, the height and the width of every token."""
        axes = positions.expand(x.shape[0], *positions.shape[-2:]).reshape(-1, 3).T
        given = {"mrope_section": list(sections), "mrope_interleaved": order == "interleaved"}
        layer = self.layer("default", rows(positions), given, parameters)
        tokens = x.transpose(1, 2).reshape(axes.shape[1], -1)
        found: torch.Tensor = layer(axes.long(), tokens.clone(), (-tokens).clone())[0]
        return found.reshape(x.transpose(1, 2).shape).transpose(1, 2)

    def offer(self, operation: str, function: Callable[..., Any], **declared: Any) -> None:
        """Offer an operation for positions that a table has, in the layouts of the library."""
        settings: dict[str, Any] = {"layout": tuple(LAYOUTS), "direction": "positive", "lowest": 0, "highest": HIGHEST}
        self.adapter.implements(operation, function, **(settings | declared))

    def offer_all(self, **yarn: Any) -> None:
        """Offer what every such library has layers for; of YaRN not all have every setting."""
        self.offer("rope.rotate", self.plain)
        self.offer("rope.rotate_query_key", self.both)
        self.offer("partial_rope.rotate", self.part, placement="first")
        self.offer("position_interpolation.rotate", self.linear)
        self.offer("llama3.rotate", self.llama3)
        self.offer("yarn.rotate", self.yarn, when=stretched, slope=0.1, **yarn)
        self.offer("ntk_aware.rotate", self.alpha, fastest="kept")
        self.offer("proportional_rope.rotate", self.proportional, factor=1.0)
        self.offer("mrope.rotate", self.on_axes, order=("contiguous", "interleaved"), when=lambda known: len(known["sections"]) == 3)
