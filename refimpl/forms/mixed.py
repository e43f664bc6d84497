"""The form of rotations whose pairs follow all axes of the positions at once, in every head by frequencies of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from refimpl.arrays import Array, array_namespace, exact_float64
from refimpl.forms.rotary import Rotary, Turning
from refimpl.spec import AxisPositions


def given(frequencies: Annotated[Array, "axis head pair"]) -> Array:
    """Return frequencies as they are given, in float64."""
    return exact_float64(frequencies)


def mixed(positions: AxisPositions, frequencies: Annotated[Array, "axis pair"]) -> Annotated[Array, "[batch] token pair"]:
    """Return the angles of one head: the sum over all axes of position times frequency."""
    return array_namespace(positions).matmul(exact_float64(positions), frequencies)


@dataclass(frozen=True)
class Mixed(Rotary):
    """The slots of a rotation, and ``mixed(positions, frequencies)``, which gives the angles of one head."""

    frequencies: Callable[..., Array] = given
    mixed: Callable[..., Array] = mixed

    def turned(self, turning: Turning, x: Array, positions: Array, given: Sequence[Array], rule: Mapping[str, Any]) -> Array:
        """Return ``x`` with every head turned by its own frequencies."""
        heads = [
            Rotary.turned(self, turning, x[:, head : head + 1, :, :], positions, [each[:, head, :] for each in given], rule)
            for head in range(x.shape[1])
        ]
        return array_namespace(x).concat(heads, axis=1)

    def angles(self, positions: Array, theta: Array, rule: Mapping[str, Any]) -> Array:
        """Return the angle of every pair, by all axes."""
        del rule
        return self.mixed(positions, theta)
