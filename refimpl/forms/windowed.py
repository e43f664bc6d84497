"""The form of rotations that keep relative positions near a query only: beyond that queries and keys are turned to other positions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from refimpl.arrays import Array, array_namespace
from refimpl.attention import Layer
from refimpl.forms import rotary
from refimpl.forms.attention import Attention
from refimpl.forms.joining import those_of
from refimpl.forms.rotary import Direction, Keys, Layout, Queries, Rotary
from refimpl.spec import BatchedKeyPositions, BatchedQueryPositions, Count, EvenCount, Law, Positive


def within(query_positions: BatchedQueryPositions, key_positions: BatchedKeyPositions, *, window: Count) -> Array:
    """Return where a key lies less than the window before the query, or after it."""
    query, key = pairs(query_positions, key_positions)
    return query - key < window


def pairs(query_positions: Array, key_positions: Array) -> tuple[Array, Array]:
    """Return positions of queries in rows and of keys in columns, for all heads of a batch alike."""
    query, key = query_positions[..., :, None], key_positions[..., None, :]
    return query if query.ndim == 2 else query[:, None, :, :], key if key.ndim == 2 else key[:, None, :, :]


@dataclass(frozen=True)
class Windowed(Rotary):
    """The slots of a rotation, and ``near(query_positions, key_positions, ...)``: which keys keep their distance, those within a window.

    ``far(query_positions, key_positions, ...)`` says where queries and keys are turned to for others.
    """

    far: Callable[..., tuple[Array, Array]] = field(kw_only=True)
    near: Callable[..., Array] = field(default=within, kw_only=True)

    @property
    def attention(self) -> Attention:
        """Attention whose logits are those of one rotation near the query, and of another elsewhere."""
        return Attention(self.operation(logits))


def logits(
    form: Windowed,
    q: Queries,
    k: Keys,
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    *,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    layout: Layout = "interleaved",
    direction: Direction = "positive",
    **rule: Any,
) -> Annotated[Array, "batch query_head query key"]:
    """Return ``(R_m q) (R_n k)^T / sqrt(head_dim)`` for near keys, and the same at other positions for others, in the dtype of ``q``."""
    rotation = {"head_dim": head_dim, "base": base, "layout": layout, "direction": direction, **rule}
    near = form.near(query_positions, key_positions, **those_of(form.near, rule))
    beyond = form.far(query_positions, key_positions, **those_of(form.far, rule))
    inside, outside = (rotary.logits(form, q, k, *places, **rotation) for places in ((query_positions, key_positions), beyond))
    return array_namespace(q, k).where(near, inside, outside)


def layer(form: Windowed, **rule: Any) -> Callable[..., Layer]:
    """Return how such a rotation acts in attention: a cache keeps keys that aren't turned, since how far they turn depends on the query."""
    between = form.attention.logits

    def made(*, num_heads: int, head_dim: int, like: Array) -> Layer:
        del num_heads, like
        return Layer(logits=lambda q, k, m, n: between(q, k, m, n, head_dim=head_dim, **rule))

    return made


#: What holds wherever only near keys keep their distance.
LAWS = {name: tuple(law for law in laws if law is not Law.TRANSLATION) for name, laws in rotary.ATTENTION_LAWS.items()}

#: What the arguments of every such rotation mean.
MEANINGS = {name: says for name, says in {**rotary.MEANINGS, **rotary.ATTENTION_MEANINGS}.items() if name not in ("x", "positions")}
