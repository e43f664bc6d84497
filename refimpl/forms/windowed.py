"""The form of rotations that keep relative positions within a window only: beyond it queries and keys are turned to other positions."""

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


@dataclass(frozen=True)
class Windowed(Rotary):
    """The slots of a rotation, and ``far(query_positions, key_positions, ...)``: where queries and keys are turned to beyond the window."""

    far: Callable[..., tuple[Array, Array]] = field(kw_only=True)

    @property
    def attention(self) -> Attention:
        """Attention whose logits are those of one rotation within the window, and of another beyond it."""
        return Attention(self.operation(logits))


def near(query_positions: Array, key_positions: Array, window: int) -> Array:
    """Return where a key lies less than the window before the query, or after it: for all heads of a batch alike."""
    inside = query_positions[..., :, None] - key_positions[..., None, :] < window
    return inside if inside.ndim == 2 else inside[:, None, :, :]


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
    window: Count,
    **rule: Any,
) -> Annotated[Array, "batch query_head query key"]:
    """Return ``(R_m q) (R_n k)^T / sqrt(head_dim)`` within the window, and the same at other positions beyond it, in the dtype of ``q``."""
    rotation = {"head_dim": head_dim, "base": base, "layout": layout, "direction": direction, **rule}
    beyond = form.far(query_positions, key_positions, **those_of(form.far, {"window": window, **rule}))
    inside, outside = (rotary.logits(form, q, k, *places, **rotation) for places in ((query_positions, key_positions), beyond))
    return array_namespace(q, k).where(near(query_positions, key_positions, window), inside, outside)


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
