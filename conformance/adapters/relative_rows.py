"""One row of a batch, as attention modules with learned relative representations take it: projected heads, and tokens counted from 0.

The modules know no positions but the index of a token, so positions are counted from the earliest one of a call.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch

from conformance.adapt.adapter import Adapter, Unsupported

#: The last position of which the modules are asked to build the table of all pairs.
HIGHEST = 255


@dataclass(frozen=True)
class Row:
    """Queries, keys and values ``(1, head, token, head_dim)``, both tables, and what hides a key."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    key_table: torch.Tensor
    value_table: torch.Tensor
    query_positions: torch.Tensor
    key_positions: torch.Tensor
    max_distance: int
    causal: bool

    @cached_property
    def start(self) -> int:
        """The earliest position."""
        return min(int(self.query_positions.min()), int(self.key_positions.min()))

    @cached_property
    def length(self) -> int:
        """How many tokens there are from the earliest position to the latest."""
        return max(int(self.query_positions.max()), int(self.key_positions.max())) - self.start + 1

    @property
    def tokens(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Which tokens the queries and the keys are."""
        return self.query_positions - self.start, self.key_positions - self.start

    @property
    def farthest(self) -> int:
        """The largest distance between a query and a key."""
        return int((self.key_positions[None, :] - self.query_positions[:, None]).abs().max())

    def mask(self) -> torch.Tensor:
        """Return what is added to the logits of every query and key."""
        hidden = (self.key_positions[None, :] > self.query_positions[:, None]) & self.causal
        return self.lowest(hidden)[None, None]

    def whole_mask(self) -> torch.Tensor:
        """Return the mask of the whole sequence: tokens that are no keys are hidden too."""
        index, present = torch.arange(self.length), torch.zeros(self.length, dtype=torch.bool)
        present[self.tokens[1]] = True
        hidden = ~present[None, :] | ((index[None, :] > index[:, None]) & self.causal)
        return self.lowest(hidden)[None, None]

    def lowest(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the lowest number of the dtype where something is hidden."""
        return torch.zeros(hidden.shape, dtype=self.q.dtype).masked_fill(hidden, torch.finfo(self.q.dtype).min)

    def spread(self, x: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Return vectors at their tokens of the whole sequence, zeros elsewhere."""
        if tokens.unique().numel() != tokens.numel():
            message = "the model has one token at each position"
            raise Unsupported(message)
        return x.new_zeros(*x.shape[:2], self.length, x.shape[-1]).index_copy(2, tokens, x)


#: Output ``(1, head, query, head_dim)`` and weights ``(1, head, query, key)``.
Answer = tuple[torch.Tensor, torch.Tensor]
Model = Callable[[Row], Answer]


def given(heads: torch.Tensor) -> torch.nn.Module:
    """Return a projection that gives these heads side by side, whatever its input is, as the model's own projection would."""
    projection, side_by_side = torch.nn.Identity(), heads.transpose(1, 2).flatten(2)
    projection.register_forward_hook(lambda *_: side_by_side)
    return projection


def heads(output: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Return heads that stand side by side as ``(batch, head, token, head_dim)``."""
    return output.unflatten(-1, like.shape[1::2]).transpose(1, 2)


def whole(row: Row) -> tuple[torch.nn.Module, torch.nn.Module, torch.nn.Module]:
    """Return projections of queries, keys and values to the whole sequence."""
    queries, keys = row.tokens
    return given(row.spread(row.q, queries)), given(row.spread(row.k, keys)), given(row.spread(row.v, keys))


def parts(row: Row, output: torch.Tensor, weights: torch.Tensor) -> Answer:
    """Return the queries' rows and the keys' columns of the whole sequence's attention."""
    queries, keys = row.tokens
    return heads(output, row.q)[:, :, queries], weights[:, :, queries][..., keys]


def unclipped(row: Row) -> None:
    """Raise where a model that does not clip would need to."""
    if row.farthest > row.max_distance:
        message = "the model does not clip distances"
        raise Unsupported(message)


def never_clipped(row: Row) -> None:
    """Raise where a model that looks up every distance of its sequence would need to clip one, be it of tokens that nobody asks for."""
    if row.length - 1 > row.max_distance:
        message = "the model does not clip distances, of whichever tokens"
        raise Unsupported(message)


def each_row(model: Model, part: int, x: tuple[torch.Tensor, ...], positions: tuple[torch.Tensor, ...], **asked: Any) -> torch.Tensor:
    """Return one part of a model's answer for all rows of a batch, each with its own positions; shared key heads are repeated."""
    q, k, v, key_table, value_table = x
    k, v = (each.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for each in (k, v))
    answers = []
    for b in range(q.shape[0]):
        queries, keys = (at if at.ndim == 1 else at[b] for at in positions)
        row = Row(q[b : b + 1], k[b : b + 1], v[b : b + 1], key_table, value_table, queries, keys, **asked)
        answers.append(model(row)[part])
    return torch.cat(answers)


def weights(
    model: Model,
    q: torch.Tensor,
    k: torch.Tensor,
    key_table: torch.Tensor,
    *positions: torch.Tensor,
    max_distance: int,
    causal: bool,
    **_: object,
) -> torch.Tensor:
    """Return attention weights."""
    arrays = q, k, torch.zeros_like(k), key_table, torch.zeros_like(key_table)
    return each_row(model, 1, arrays, positions, max_distance=max_distance, causal=causal)


def attend(model: Model, *arrays: torch.Tensor, max_distance: int, causal: bool, **_: object) -> torch.Tensor:
    """Return the output of attention."""
    return each_row(model, 0, arrays[:5], arrays[5:], max_distance=max_distance, causal=causal)


def implement(adapter: Adapter, label: str, model: Model, *, values: bool = False, **conventions: Any) -> None:
    """Offer a model's weights, and its output where its values have edges as the paper's have."""
    offers: Any = partial(adapter.implements, label=label, lowest=0, highest=HIGHEST, **conventions)
    offers("shaw.weights")(partial(weights, model))
    if values:
        offers("shaw.attend")(partial(attend, model))
