"""Code for a model type that isn't in the tables: which assumption doesn't hold, where another one explains what the code does."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from conformance.spec.declarations import operations
from refimpl.configuration import Rotation
from refimpl.spec import Operation

#: What a code must come within to be explained: half formats and large angles in float32 do, other rotations don't.
NEAR = 0.05
#: How many times nearer than the assumption another one must come.
NEARER = 4
#: Beyond these positions, angles in float32 tell rotations apart less and less.
FARTHEST = 65_536
STILL = "say which do by no_rope_layers (1 turns, 0 doesn't), or by null for a kind in rope_parameters"
#: Parameters that no key says.
UNSAID = ("layout", "direction", "order")


@dataclass(frozen=True)
class Assumed:
    """What is assumed of layers of an unknown model type: what no key says, and whether a scaling may spare them."""

    why: str
    keys: Collection[str]
    spared: bool
    highest: int

    def refuted(self, code: Callable[..., np.ndarray], operation: Operation, found: Rotation, settled: Mapping[str, Any]) -> str:
        """Return which assumption doesn't hold, and how to settle it; nothing where all may hold, or no other explains the code."""
        arrays = self._arrays(operation, found)
        try:
            got = code(*arrays)
        except Exception:  # noqa: BLE001  it will be told of the call that counts
            return ""
        error = _distance(got, _expected(operation, found, settled, arrays))
        others = ((_distance(got, value), told) for value, told in self._others(operation, found, settled, arrays, got))
        near, told = min(others, key=lambda pair: pair[0], default=(np.inf, ""))
        if near <= NEAR and near * NEARER < error:
            return f"{self.why}; {told}"
        if error > NEAR and "rope_theta" in self.keys:
            return f"{self.why}; the base {found.parameters['base']:g} is assumed: say rope_theta in the configuration"
        return ""

    def _arrays(self, operation: Operation, found: Rotation) -> tuple[np.ndarray, ...]:
        """Return heads at positions from the first to the last, so that slow pairs tell too."""
        if not operation.arrays:
            return ()
        last = min(self.highest, FARTHEST)
        positions = np.unique(np.array([0, 1, 2, last // 7, last // 3, last], dtype=np.int64))
        x = np.random.default_rng(0).standard_normal((1, 2, len(positions), found.head_dim), dtype=np.float32).astype(np.float64)
        axes = len(found.sections)
        return x, np.stack([np.roll(positions, turn) for turn in range(axes)], axis=-1) if found.on_axes == operation.name else positions

    def _others(
        self, operation: Operation, found: Rotation, settled: Mapping[str, Any], arrays: tuple[np.ndarray, ...], got: np.ndarray
    ) -> Iterator[tuple[np.ndarray, str]]:
        """Yield what code would give by other assumptions, and which these are."""
        if arrays and "direction" in self.keys:
            yield arrays[0], f"that these layers turn is assumed, and this code doesn't turn them: {STILL}"
        unsaid = {name: operation.parameters[name].choices for name in UNSAID if name in self.keys and name in operation.parameters}
        for width, plain in product(self._widths(found, arrays, got), (False, True) if self.spared else (False,)):
            turning = replace(found, channels=width)
            parameters = {**settled, "head_dim": len(width)} if "head_dim" in settled else dict(settled)
            turned = f"channels {width.start} to {width.stop - 1} of {found.head_dim} turning: say it by partial_rotary_factor"
            told = [turned] if width != found.channels else []
            told += ["no scaling in these layers: nest rope_parameters by their kinds"] if plain else []
            computed = _unscaled(operation, found) if plain else operation
            for chosen in product(*unsaid.values()):
                other = {**parameters, **dict(zip(unsaid, chosen, strict=True))}
                changed = [f"{name}={other[name]}" for name in unsaid if other[name] != settled[name]]
                declare = [f"{', '.join(changed)}: declare it in implements(...) if that is meant"] if changed else []
                if every := [*told, *declare]:
                    says = f"what is assumed of it doesn't hold for this code, which has {'; '.join(every)}"
                    yield _expected(computed, turning, other, arrays), says

    def _widths(self, found: Rotation, arrays: tuple[np.ndarray, ...], got: np.ndarray) -> list[range]:
        """Return which channels turn as it is assumed, and as the code's result shows it."""
        if "partial_rotary_factor" not in self.keys or found.factors is not None or found.sections:
            return [found.channels]
        if not arrays:
            return [found.channels, range(2 * got.size)] if 0 < 2 * got.size <= found.head_dim else [found.channels]
        moved = np.flatnonzero(np.any(got != arrays[0], axis=(0, 1, 2))) if got.shape == arrays[0].shape else np.array([])
        if not moved.size or (moved[-1] - moved[0]) % 2 == 0:
            return [found.channels]
        return [found.channels, range(int(moved[0]), int(moved[-1]) + 1)]


def _unscaled(operation: Operation, found: Rotation) -> Operation:
    """Return the operation of a rotation without a scaling in the place of one with it."""
    return operations().get(f"{replace(found, operation=None).scheme}.{operation.name.partition('.')[2]}", operation)


def _expected(operation: Operation, found: Rotation, settled: Mapping[str, Any], arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return what the reference gives, with channels that don't turn beside those that do."""
    parameters = {name: value for name, value in settled.items() if name in operation.parameters}
    if "length" in operation.parameters:
        parameters["length"] = int(arrays[1].max()) + 1 if arrays else 1
    factors = [np.asarray(values) for values in found.factors or () if operation.arrays]
    if not arrays:
        like = {} if factors or operation.name.endswith("attention_factor") else {"like": np.zeros(0)}
        return np.asarray(operation.function(*factors, **parameters, **like))
    x, positions = arrays
    whole = x.copy()
    whole[..., found.channels] = operation.function(x[..., found.channels], positions, *factors[: len(operation.arrays) - 2], **parameters)
    return whole


def _distance(got: np.ndarray, expected: np.ndarray) -> float:
    """Return how far two results are apart; frequencies, which are small, by their ratio."""
    if got.shape != expected.shape:
        return np.inf
    apart = np.abs(got - expected) if got.ndim > 1 else np.abs(got / expected - 1)
    return float(np.max(apart, initial=0.0))
