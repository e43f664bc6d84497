"""Partial rotary embedding, from the paper (Black et al. 2022, section 2.1.1): rope on some channels of a head."""

from collections.abc import Sequence
from typing import Any

from conformance.oracle import rope
from conformance.oracle.rotary import Part, Rotary
from conformance.oracle.tensor import Tensor


def parts(positions: Tensor, *, head_dim: int, rotary_dim: int, placement: str, **_: Any) -> Sequence[Part]:
    """Return the channels at one end of the head."""
    first = 0 if placement == "first" else head_dim - rotary_dim
    return [Part(range(first, first + rotary_dim), positions.in_batch)]


FORM = Rotary(rope.thetas, parts=parts)
rotate, weights, attend, attend_turned, index_scores = FORM.rotate, FORM.weights, FORM.attend, FORM.attend_turned, FORM.index_scores
