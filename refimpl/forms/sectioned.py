"""The form of rotations whose pairs follow different axes of the positions, with the frequencies of one head."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from refimpl.arrays import Array, array_namespace, exact_float64
from refimpl.forms.joining import those_of
from refimpl.forms.rotary import Rotary, Turning, turned_by_members


@dataclass(frozen=True)
class Sectioned(Rotary):
    """The slots of a rotation, and ``places(positions, ...)``: for every token the position of each pair, or of each member of a pair.

    In the latter case first members come first.
    """

    places: Callable[..., Array] = field(kw_only=True)

    def angles(self, positions: Array, theta: Array, rule: Mapping[str, Any]) -> Array:
        """Return the angle of every pair, or of each member, by its own axis."""
        places = exact_float64(self.places(positions, **those_of(self.places, rule)))
        return places * array_namespace(theta).concat([theta] * (places.shape[-1] // theta.shape[-1]))

    def turned(self, turning: Turning, x: Array, positions: Array, given: Sequence[Array], rule: Mapping[str, Any]) -> Array:
        """Return ``x`` turned by the angles of pairs, or of each member."""
        return turned_by_members(self, turning, x, positions, given, rule)
