"""Recover one number for each position, as what queries are multiplied by."""

from dataclasses import dataclass, replace

import numpy as np

from conformance.identify import reach
from conformance.identify.asking import Refused
from conformance.identify.findings import Identity, Seen
from conformance.identify.probe import Probe
from conformance.identify.rules import giving, taking

TOLERANCE = 4e-6
FEW, FAR = np.arange(5), 300_000
#: Positions at which numbers of every head are compared.
NEAR = np.array([0, 1, 2, 3, 5, 8, 21, 31, 64, 101, 1_023])
#: What is learned of every head, and what is said where it is inside.
OF_HEADS = ("slopes", "biases")
INSIDE = "an adapter: the numbers are its own; to have it judged, make them arguments and write one"
#: Where a step may begin, or a length may end, and the position before it.
PLACES = np.unique([[0, end - 1, end] for power in range(20) for end in (1 << power, 3 << power)])


@dataclass(frozen=True)
class Scale:
    """A function as ``scale(positions)``, which is one number for each; ``shaped`` as the positions are.

    ``consecutive`` says that it counts from the first position of a call, so that each is asked for alone.
    """

    probe: Probe
    shaped: bool = True
    counted: bool = False
    consecutive: bool = False

    def __call__(self, positions: np.ndarray) -> np.ndarray:
        """Return the numbers, or raise ``Refused``."""
        if self.consecutive and positions.size > 1:
            return np.array([self(position[None])[0] for position in positions])
        values = self.probe(positions=positions)
        if len(values) != 1 or values[0].size != positions.size or (self.shaped and values[0].shape != positions.shape):
            message = "it gives no number for each position"
            raise Refused(message)
        return values[0].reshape(positions.shape)

    def reach(self, position: int) -> list[np.ndarray]:
        """Return what a call gives that reaches a position."""
        return [self(np.array([position]))]

    def takes_rows(self) -> bool:
        """Whether each sequence of a batch may have positions of its own."""
        try:
            return np.array_equal(self(np.stack([FEW, FEW + 3])), np.stack([self(FEW), self(FEW + 3)]))
        except Refused:
            return False


def identify(probe: Probe) -> Identity | None:
    """Return what gives one number for each position, nothing where it gives more."""
    scale = _opened(probe)
    if scale is None:
        return _learned(probe)
    within = PLACES[_last(scale) >= PLACES]
    value, candidates = scale(within), taking("positions", axes=["[batch] token"])
    if np.all(value == value[0]):
        return Identity(None, f"the same number for each position: {value[0]:.6g}", view=scale)
    end = _first_end(scale, within, value)
    places = np.unique([*PLACES, *(count * size - 1 + step for count in (2, 3, 5) for size in (end, end + 1) for step in (0, 1))])
    places = places[places <= within[-1]]
    seen = scale(places)
    for told in ({"floor_scale": end + shift, "shift": shift, "original_length": end} for shift in (0, 1)):
        found = giving(candidates, {"positions": places}, seen, TOLERANCE * np.abs(seen), probe.settings, told)
        if found is not None:
            shown = {name: Seen(number) for name, number in told.items() if name in found.operation.parameters}
            what = ", ".join(filter(None, [*(f"{name} {seen.value}" for name, seen in shown.items()), found.words]))
            return Identity(found.operation.name, what, {**shown, **found.parameters}, (), found.notes, scale)
    learned = _learned(probe)
    if learned is not None:
        return replace(learned, view=scale)
    chosen = [0, 1, *(int(np.searchsorted(within, place)) for place in (4_096, 65_536, 524_288) if place <= within[-1])]
    listed = ", ".join(f"{value[index]:.6g} at {within[index]}" for index in chosen)
    return Identity(None, f"one number for each position, which queries may be multiplied by: {listed}", view=scale)


def _learned(probe: Probe) -> Identity | None:
    """Return which operation gives the numbers of every head by what is learned of it, where one does by numbers inside."""
    try:
        values = probe(positions=NEAR)
    except Refused:
        return None
    if len(values) != 1 or values[0].shape[-1:] != NEAR.shape:
        return None
    heads = values[0].reshape(-1, NEAR.size)
    for known in taking("positions", *OF_HEADS):
        parts = [np.asarray(known.function(NEAR, *numbers))[..., 0, :].ravel() for numbers in np.eye(len(OF_HEADS))[..., None]]
        found = np.linalg.lstsq(np.stack(parts, axis=1), heads.T, rcond=None)[0]
        off = np.abs(np.stack(parts, axis=1) @ found - heads.T)
        if np.all(found[0]) and np.all(off <= TOLERANCE * np.abs(heads).max()):
            listed = [", ".join(f"{number:.6g}" for number in numbers) for numbers in found]
            said = [f"{name} inside: {numbers}" for name, numbers in zip(OF_HEADS, listed, strict=True)]
            what = ", for each of ".join(["one number for each position", *([f"{len(heads)} heads"] if len(heads) > 1 else [])])
            return Identity(None, what, {}, tuple(said), (INSIDE,), values_of=known.name)
    return None


def _last(scale: Scale) -> int:
    """Return the last position that is taken, of those that are asked for."""
    last = reach.last(scale.reach)
    return int(PLACES[-1]) if last is None else last


def _first_end(scale: Scale, places: np.ndarray, value: np.ndarray) -> int:
    """Return the first position whose number is another than that of position 0."""
    after = int(np.argmax(value != value[0]))
    low, high = int(places[after - 1]), int(places[after])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if scale(np.array([0, middle]))[1] != value[0] else (middle, high)
    return high


def _opened(probe: Probe) -> Scale | None:
    for scale in (Scale(probe), Scale(probe, shaped=False)):
        try:
            numbers = scale(FEW)
        except Refused:
            continue
        alone = replace(scale, consecutive=True)
        apart = np.array([0, min(FAR, _last(scale))])
        counts = not np.allclose(scale(apart), alone(apart))
        return None if not np.all(np.isfinite(numbers)) else alone if counts else scale
    return None
