"""The form of rotations whose heads have parts: each turns as a head of its own, and channels beside them pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from refimpl.arrays import Array, array_namespace, outer, taken
from refimpl.forms.joining import those_of
from refimpl.forms.rotary import Rotary, Turning, turned_by_members


class Part(NamedTuple):
    """Some channels of a head, in the order that a layout reads, and the positions of their tokens.

    Its frequencies are those of a head as wide as the part, or ``width``. Of them each pair has its own, or the one that ``ladder`` says;
    a ladder that is twice as long has those of all first members, then those of all second ones. ``frequencies`` computes them, where it
    isn't what fills the slot.
    """

    channels: Sequence[int]
    positions: Array
    ladder: Sequence[int] | None = None
    width: int | None = None
    frequencies: Callable[..., Array] | None = None


@dataclass(frozen=True)
class Parted(Rotary):
    """The slots of a rotation, of which ``head_dim`` is the width of a part, and ``parts(positions, head_dim, ...)`` of a whole head.

    ``width`` is what the width of a part is called.
    """

    parts: Callable[..., Sequence[Part]] = field(kw_only=True)
    width: str = field(kw_only=True)

    def turned(self, turning: Turning, x: Array, positions: Array, given: Sequence[Array], rule: Mapping[str, Any]) -> Array:
        """Return ``x`` with every part turned to its positions."""
        parts = self.parts(positions, **those_of(self.parts, rule))
        results = [
            turned_by_members(self.of(part), turning, taken(x, part.channels), part.positions, given, {**rule, **ladder_of(part)})
            for part in parts
        ]
        return replaced(x, [part.channels for part in parts], results)

    def of(self, part: Part) -> "Parted":
        """Return the form with the frequencies of a part."""
        return replace(self, frequencies=part.frequencies or self.frequencies)

    def angles(self, positions: Array, theta: Array, rule: Mapping[str, Any]) -> Array:
        """Return the angle of every pair, or of each member, by its own frequency."""
        return outer(positions, theta if rule["ladder"] is None else taken(theta, rule["ladder"]))


def ladder_of(part: Part) -> dict[str, Any]:
    """Return how wide the head is whose frequencies a part has, and which of them they are: all, where nothing is said."""
    return {"head_dim": part.width or len(part.channels), "ladder": part.ladder}


def replaced(x: Array, channels: Sequence[Sequence[int]], results: Sequence[Array]) -> Array:
    """Return ``x`` with other vectors in some channels."""
    moved = [channel for own in channels for channel in own]
    order = [*moved, *(channel for channel in range(x.shape[-1]) if channel not in moved)]
    both = array_namespace(x).concat([*results, taken(x, order[len(moved) :])], axis=-1)
    return taken(both, [order.index(channel) for channel in range(len(order))])
