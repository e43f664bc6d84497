"""The form of rotations whose heads have parts: each turns as a head of its own, and channels beside them pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from refimpl.arrays import Array, array_namespace, taken
from refimpl.forms.joining import those_of
from refimpl.forms.rotary import Rotary, Turning


class Part(NamedTuple):
    """Some channels of a head, in the order that a layout reads, and the positions of their tokens."""

    channels: Sequence[int]
    positions: Array


@dataclass(frozen=True)
class Parted(Rotary):
    """The slots of a rotation, of which ``head_dim`` is the width of a part, and ``parts(positions, head_dim, ...)`` of a whole head."""

    parts: Callable[..., Sequence[Part]] = field(kw_only=True)

    def turned(self, turning: Turning, x: Array, positions: Array, given: Sequence[Array], rule: Mapping[str, Any]) -> Array:
        """Return ``x`` with every part turned to its positions."""
        parts = self.parts(positions, **those_of(self.parts, rule))
        results = [Rotary.turned(self, turning, taken(x, own), places, given, {**rule, "head_dim": len(own)}) for own, places in parts]
        return replaced(x, [part.channels for part in parts], results)


def replaced(x: Array, channels: Sequence[Sequence[int]], results: Sequence[Array]) -> Array:
    """Return ``x`` with other vectors in some channels."""
    moved = [channel for own in channels for channel in own]
    order = [*moved, *(channel for channel in range(x.shape[-1]) if channel not in moved)]
    both = array_namespace(x).concat([*results, taken(x, order[len(moved) :])], axis=-1)
    return taken(both, [order.index(channel) for channel in range(len(order))])
