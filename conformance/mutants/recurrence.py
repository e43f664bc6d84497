"""Transformer-XL taken apart, so that a mistake can replace one piece and leave the others right."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from refimpl import attention
from refimpl.arrays import Array
from refimpl.schemes import transformer_xl
from refimpl.schemes.transformer_xl import Terms


@dataclass(frozen=True)
class Sides:
    """What meets in a logit: queries and keys, relative keys, and both biases, all ``(batch, head, query, key, head_dim)``."""

    q: Array
    k: Array
    r: Array
    u: Array
    v: Array


def four(sides: Sides) -> Terms:
    """Return the right terms."""
    dots = transformer_xl.dots
    return Terms(dots(sides.q, sides.k), dots(sides.q, sides.r), dots(sides.u, sides.k), dots(sides.v, sides.r))


def scaled_once(terms: Terms, width: int, dim: int) -> Array:
    """Return the sum of the terms over the root of the head's width."""
    del dim
    return sum(terms[1:], start=terms[0]) / math.sqrt(width)


@dataclass(frozen=True)
class Recurrent:
    """The pieces of Transformer-XL; every method is the operation of that name, made of them."""

    away: Callable[..., Array] = transformer_xl.distances
    waves: Callable[..., Array] = transformer_xl.sinusoids
    weight: Callable[[Array], Array] = np.asarray
    terms_of: Callable[[Sides], Terms] = four
    logit: Callable[[Terms, int, int], Array] = scaled_once
    see: Callable[..., Array] = attention.visible

    def terms(
        self,
        q: Array,
        k: Array,
        position_weight: Array,
        content_bias: Array,
        position_bias: Array,
        query_positions: Array,
        key_positions: Array,
        *,
        sign: str,
        clamp_length: int | None,
        **chosen: Any,
    ) -> Terms:
        """Return the four terms."""
        delta = self.away(query_positions, key_positions, sign=sign, clamp_length=clamp_length)
        r = transformer_xl.relative_keys(self.waves(delta, **chosen), self.weight(position_weight))
        u, v = (bias[:, None, None, :] for bias in (content_bias, position_bias))
        shape = (*q.shape[:3], k.shape[2], q.shape[3])
        every = (np.broadcast_to(x, shape) for x in (q[:, :, :, None, :], k[:, :, None, :, :], r, u, v))
        return self.terms_of(Sides(*every))

    def logits(self, q: Array, *arrays: Array, **parameters: Any) -> Array:
        """Return the logits."""
        return self.logit(self.terms(q, *arrays, **parameters), q.shape[-1], parameters["dim"])

    def weights(self, *arrays: Array, causal: bool, **parameters: Any) -> Array:
        """Return attention weights."""
        seen = self.see(arrays[-2], arrays[-1], causal=causal)
        return attention.softmax(self.logits(*arrays, **parameters), seen)

    def attend(self, q: Array, k: Array, v: Array, *arrays: Array, **parameters: Any) -> Array:
        """Return the output of attention."""
        return attention.average(self.weights(q, k, *arrays, **parameters), v)

    def of(self, operation: str) -> Callable[..., Any]:
        """Return the method that stands for an operation."""
        method: Callable[..., Any] = getattr(self, operation.split(".")[1])
        return method
