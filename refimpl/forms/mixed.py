"""The form of rotations whose pairs follow all axes of the positions at once, in every head by frequencies of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from refimpl.arrays import Array, array_namespace, exact_float64
from refimpl.forms.joining import those_of
from refimpl.forms.rotary import Rotary
from refimpl.spec import AxisPositions

Frequencies = Annotated[Array, "axis head pair"]


def given(frequencies: Frequencies) -> Array:
    """Return the frequencies as they are given, in float64."""
    return exact_float64(frequencies)


def summed(positions: AxisPositions, frequencies: Frequencies) -> Annotated[Array, "batch head token pair"]:
    """Return the angle of every pair: the sum over all axes of frequency times position."""
    xp, places = array_namespace(positions), exact_float64(positions if positions.ndim == 3 else positions[None, ...])
    return xp.sum(places[:, None, :, None, :] * xp.permute_dims(frequencies, (1, 2, 0))[:, None, :, :], axis=-1)


@dataclass(frozen=True)
class Mixed(Rotary):
    """The slots of a rotation, and ``mixed(positions, frequencies, ...)``: the angle of every pair of every head."""

    frequencies: Callable[..., Array] = given
    mixed: Callable[..., Array] = summed

    def angles(self, positions: Array, theta: Array, rule: Mapping[str, Any]) -> Array:
        """Return the angle of every pair of every head, by all axes."""
        return self.mixed(positions, theta, **those_of(self.mixed, rule))
