"""The form of rotations whose pairs follow different axes of the positions, with the frequencies of one head."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from refimpl.arrays import Array, exact_float64
from refimpl.forms.joining import those_of
from refimpl.forms.rotary import Rotary


@dataclass(frozen=True)
class Sectioned(Rotary):
    """The slots of a rotation, and ``places(positions, ...)``: for every token the position of each pair."""

    places: Callable[..., Array] = field(kw_only=True)

    def angles(self, positions: Array, theta: Array, rule: Mapping[str, Any]) -> Array:
        """Return the angle of every pair, by its own axis."""
        return exact_float64(self.places(positions, **those_of(self.places, rule))) * theta
