"""Rope taken apart, so that a mistake can replace one piece and leave the others right."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from refimpl import attention
from refimpl.arrays import Array
from refimpl.forms import rotary
from refimpl.forms.joining import those_of
from refimpl.schemes import rope, yarn

Step = Callable[[Array], Array]


def exact(values: Array) -> Array:
    """Keep the numbers as they are."""
    return values


def spectrum(head_dim: int, base: float) -> Array:
    """Return the right frequencies."""
    return rope.frequencies(head_dim=head_dim, base=base, like=np.zeros(1))


def both(query_positions: Array, key_positions: Array) -> tuple[Array, Array]:
    """Turn queries and keys to their own positions."""
    return query_positions, key_positions


@dataclass(frozen=True)
class Rotary:
    """The pieces of rope; every method is the operation of that name, made of them."""

    spectrum: Callable[[int, float], Array] = spectrum
    frequency: Step = exact
    position: Step = exact
    angle: Step = exact
    table: Step = exact
    cosine: Step = np.cos
    sine: Step = np.sin
    turn: Callable[..., Array] = rope.apply
    place: Callable[[Array, Array], tuple[Array, Array]] = both
    see: Callable[..., Array] = attention.visible

    def circle(self, positions: Array, theta: Array) -> rope.Tables:
        """Return cosine and sine of every position times every frequency."""
        with np.errstate(invalid="ignore", over="ignore"):
            angles = self.angle(self.position(positions.astype(np.float64))[..., None] * self.frequency(theta))
            return rope.Tables(self.table(self.cosine(angles)), self.table(self.sine(angles)))

    def frequencies(self, *, head_dim: int, base: float) -> Array:
        """Return the frequencies."""
        return self.frequency(self.spectrum(head_dim, base))

    def tables(self, positions: Array, *, head_dim: int, base: float) -> rope.Tables:
        """Return cosine and sine."""
        return self.circle(positions, self.spectrum(head_dim, base))

    def apply(self, x: Array, cos: Array, sin: Array, *, layout: str, direction: str) -> Array:
        """Turn by tables that are given."""
        return self.turn(x, self.table(cos), self.table(sin), layout=layout, direction=direction)

    def rotate(self, x: Array, positions: Array, *, head_dim: int, base: float, layout: str, direction: str) -> Array:
        """Turn to positions."""
        return self.turn(x, *self.tables(positions, head_dim=head_dim, base=base), layout=layout, direction=direction)

    def gradient(self, x: Array, positions: Array, cotangent: Array, *, head_dim: int, base: float, layout: str, direction: str) -> Array:
        """Turn the cotangent back."""
        cos, sin = self.tables(positions, head_dim=head_dim, base=base)
        written, read = ("half", "interleaved") if layout == "interleaved_to_half" else (layout, layout)
        turned = rotary.turn(*rotary.split_pairs(cotangent, written), cos, sin if direction == "negative" else -sin)
        return rotary.join_pairs(*turned, read).reshape(x.shape)

    def rotate_query_key(self, q: Array, k: Array, query_positions: Array, key_positions: Array, **parameters: Any) -> rotary.QueryKey:
        """Turn queries and keys."""
        m, n = self.place(query_positions, key_positions)
        return rotary.QueryKey(self.rotate(q, m, **parameters), self.rotate(k, n, **parameters))

    def weights(self, q: Array, k: Array, query_positions: Array, key_positions: Array, *, causal: bool, **parameters: Any) -> Array:
        """Return attention weights."""
        turned = self.rotate_query_key(q, k, query_positions, key_positions, **parameters)
        seen = self.see(query_positions, key_positions, causal=causal)
        return attention.softmax(attention.logits(*turned), seen)

    def attend(self, q: Array, k: Array, v: Array, query_positions: Array, key_positions: Array, **parameters: Any) -> Array:
        """Return the output of attention."""
        weights = self.weights(q, k, query_positions, key_positions, **parameters)
        return attention.average(weights, v)

    def of(self, operation: str) -> Callable[..., Any]:
        """Return the method that stands for an operation of rope, or for ``yarn.rotate``."""
        scheme, name = operation.split(".")
        return self.yarn_rotate if scheme == "yarn" else getattr(self, name)

    def yarn_rotate(
        self,
        x: Array,
        positions: Array,
        *,
        layout: str,
        direction: str,
        **parameters: Any,
    ) -> Array:
        """Turn by blended frequencies, times the attention factor."""
        theta = yarn.frequencies(**those_of(yarn.frequencies, parameters), like=np.zeros(1))
        size = yarn.attention_factor(**those_of(yarn.attention_factor, parameters))
        cos, sin = self.circle(positions, theta)
        return size * self.turn(x, cos, sin, layout=layout, direction=direction)
