"""A linear map at every position: is it a rotation in pairs, which pairs, how long, how large, and if it is none, why not."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from conformance.identify.asking import Refused
from conformance.identify.rules import taking
from conformance.identify.turns import LONGEST, Turns
from conformance.mutants import for_operation
from conformance.spec.declarations import operations
from conformance.spec.mutant import Mutant

#: Positions at which the whole map is looked at; fewer where not all are taken.
PLACES = ((0, 1, 2, 3, 5, 11, 100, 1_000, 10_007, 100_003), (0, 1, 2, 3, 5, 11, 100, 500), (0, 1, 2, 3, 5, 11), (0, 1, 2, 3), (0, 1), (0,))
TOLERANCE = {"float64": 2e-5, "float32": 2e-5, "float16": 2.0**-7, "bfloat16": 2.0**-4}
#: Where the first and the second member of a pair are read, and where they are written. Pairings are read off the matrix, not searched by
#: running operations forward: so code in a layout that no operation declares is told from code that doesn't turn.
LAYOUTS = ("half", "interleaved", "interleaved_to_half", "half_to_interleaved")
#: The ladder of what is known to turn neighbouring pairs with tables of halves.
TILED = "tiled"


@dataclass(frozen=True)
class Pairing:
    """Which channels turn, in which pairs."""

    layout: str
    first: int
    width: int

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the channels of the first and the second members."""
        return self._members(interleaved=self.layout.startswith("interleaved"))

    def written(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the channels where first and second members are written."""
        return self._members(interleaved=self.layout.endswith("interleaved"))

    def _members(self, *, interleaved: bool) -> tuple[np.ndarray, np.ndarray]:
        pair = np.arange(self.width // 2)
        ends = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + self.width // 2)
        return ends[0] + self.first, ends[1] + self.first


@dataclass(frozen=True)
class Rotation:
    """A rotation in pairs, multiplied by a number that differs by a relative ``spread`` from pair to pair."""

    pairing: Pairing
    growth: float
    spread: float = 0.0


def matrices(turns: Turns) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and the matrix at each of them: (position, written, read)."""
    last: Refused | None = None
    for places in PLACES:
        positions = np.array(places)
        if turns.positions != "any" and positions.max() >= LONGEST // 4:
            continue
        basis = np.broadcast_to(np.eye(turns.width)[:, None, None, :], (turns.width, 1, len(places), turns.width))
        try:
            found = turns(basis.copy(), positions)[:, 0].transpose(1, 2, 0)
        except Refused as refusal:
            last = refusal
            continue
        if np.all(np.isfinite(found)):
            return positions, found
    raise last or Refused("no position was taken")


def rotation(maps: np.ndarray, tolerance: float) -> Rotation | None:
    """Return the pairing in which every map is a rotation times one number, or ``None``."""
    for pairing in _pairings(maps, tolerance):
        found = _growth(maps, pairing, tolerance)
        if found is not None:
            return Rotation(pairing, *found)
    return None


def _pairings(maps: np.ndarray, tolerance: float) -> Iterator[Pairing]:
    """Yield the pairings of the channels that any map changes, then those of all channels."""
    width = maps.shape[1]
    touched = np.flatnonzero(np.abs(maps - np.eye(width)).max(axis=(0, 2)) > tolerance)
    windows = {(int(touched[0]), int(touched[-1]) + 1), (0, width)} if touched.size else {(0, width)}
    for low, high in sorted(windows, key=lambda ends: ends[1] - ends[0]):
        yield from (Pairing(layout, low, high - low) for layout in LAYOUTS if (high - low) % 2 == 0)


def turned(maps: np.ndarray, pairing: Pairing) -> tuple[np.ndarray, np.ndarray]:
    """Return cosine and sine, each times the growth, of every map's pairs."""
    (a, b), (c, d) = pairing.read(), pairing.written()
    return (maps[:, c, a] + maps[:, d, b]) / 2, (maps[:, d, a] - maps[:, c, b]) / 2


def _growth(maps: np.ndarray, pairing: Pairing, tolerance: float) -> tuple[float, float] | None:
    """Return by how much pairs grow and by how much that differs, relative to it, or nothing where they do more than turn and grow."""
    size = np.hypot(*turned(maps, pairing))
    growth, spread = float(np.median(size)), float(np.ptp(size))
    fits = np.abs(_built(maps, pairing) - maps).max() <= tolerance * max(1.0, growth) and spread <= 4 * tolerance * growth
    return (growth, spread / growth) if fits and growth > tolerance else None


def _built(maps: np.ndarray, pairing: Pairing) -> np.ndarray:
    """Return what maps would be that only turn and stretch the pairs."""
    cos, sin = turned(maps, pairing)
    return _blocks(maps, pairing, (cos, -sin, sin, cos))


def _blocks(maps: np.ndarray, pairing: Pairing, block: Sequence[np.ndarray]) -> np.ndarray:
    """Return maps of which every pair has a block of its own, written row by row, and which leave other channels."""
    (a, b), (c, d) = pairing.read(), pairing.written()
    again = np.zeros_like(maps)
    again += np.eye(maps.shape[1])
    again[:, pairing.first : pairing.first + pairing.width] = 0.0
    again[:, c, a], again[:, c, b], again[:, d, a], again[:, d, b] = block
    return again


def _block(maps: np.ndarray, pairing: Pairing) -> Sequence[np.ndarray]:
    """Return the block of every pair, row by row."""
    (a, b), (c, d) = pairing.read(), pairing.written()
    return maps[:, c, a], maps[:, c, b], maps[:, d, a], maps[:, d, b]


def _paired(maps: np.ndarray, tolerance: float) -> Iterator[Pairing]:
    """Yield the pairings in which every map acts on pairs alone."""
    every = _pairings(maps, tolerance)
    yield from (pairing for pairing in every if np.abs(_blocks(maps, pairing, _block(maps, pairing)) - maps).max() <= tolerance)


def mistaken(maps: np.ndarray, tolerance: float) -> tuple[Pairing, Mutant] | None:
    """Return the pairing in which a known mistake turns pairs by cosines and sines, and which mistake that is, if there is one."""
    apply = taking("x", "cos", "sin")[0]
    layouts = apply.parameters["layout"].choices or ()
    known = [each for each in for_operation(apply.name) if each.kind == "mistake"]
    for pairing in _paired(maps, tolerance) if len(maps) > 1 else ():
        cos, _, sin, _ = _block(maps, pairing)
        sin = sin * np.sign(sin[1, -1])  # the slowest pair is turned by less than half a turn
        if pairing.layout not in layouts or np.abs(np.hypot(cos, sin) - 1).max() > tolerance:
            continue
        window = slice(pairing.first, pairing.first + pairing.width)
        x = np.broadcast_to(np.eye(pairing.width)[:, None, None], (pairing.width, 1, len(maps), pairing.width))
        for mistake in known:
            given = mistake.function(x, cos, sin, layout=pairing.layout, direction="positive")[:, 0].transpose(1, 2, 0)
            if np.abs(given - maps[:, window, window]).max() <= tolerance:
                return pairing, mistake
    return None


def trouble(maps: np.ndarray, tolerance: float) -> str:
    """Return why the maps are no rotation in pairs, in words."""
    if np.abs(maps - maps[0]).max() <= tolerance:
        return _still(maps[0], tolerance)
    squares = np.einsum("tij,tik->tjk", maps, maps)
    growth = np.mean(np.einsum("tii->ti", squares), axis=1)
    if np.ptp(growth) <= 8 * tolerance and np.abs(squares - growth[:, None, None] * np.eye(maps.shape[1])).max() <= 8 * tolerance:
        return _orthogonal(maps, tolerance)
    size = np.linalg.svd(maps, compute_uv=False)
    lengths = f"linear in x but no rotation: vectors of length 1 come out with lengths from {size.min():.3g} to {size.max():.3g}"
    return _mixed(maps, tolerance) or lengths


def stretched(maps: np.ndarray, tolerance: float) -> Pairing | None:
    """Return the pairing in which every map turns pairs and makes each longer or shorter, if there is one."""
    width = maps.shape[1]
    for layout in LAYOUTS if width % 2 == 0 else ():
        pairing = Pairing(layout, 0, width)
        cos, sin = turned(maps, pairing)
        if np.abs(_built(maps, pairing) - maps).max() <= tolerance * max(1.0, np.hypot(cos, sin).max()):
            return pairing
    return None


def stretch(positions: np.ndarray, maps: np.ndarray, pairing: Pairing, tolerance: float) -> str:
    """Say how maps that turn pairs change their lengths."""
    cos, sin = turned(maps, pairing)
    size = np.hypot(cos, sin)
    ends = f"from {size.min():.4g} to {size.max():.4g}"
    if np.abs(sin).max() <= tolerance * size.max():
        return f"x times numbers that depend on the position ({ends}): nothing is turned"
    if np.ptp(size, axis=1).max() <= 8 * tolerance * size.max():
        return f"pairs turn, and all of them become longer or shorter with the position ({ends}): no rotation"
    if np.ptp(size, axis=0).max() <= 8 * tolerance * size.max():
        return f"pairs turn, and each is multiplied by a number of its own ({ends}): no rotation"
    near = (positions > positions[0]) & (size.min(axis=1) > tolerance)
    powers = np.log(size[near] / size[0]) / (positions[near] - positions[0])[:, None]
    if near.sum() > 1 and np.ptp(powers, axis=0).max() <= 1e-2 * np.abs(powers).max():
        each = np.exp(powers[0])
        return (
            f"pairs turn, and with every position each becomes longer or shorter by a factor of its own ({each[0]:.6g} to {each[-1]:.6g} "
            "from the first pair to the last): a decay or growth beside the rotation, as in xPos, but with no parameters that an operation "
            "here has"
        )
    return f"pairs turn, and become longer or shorter by numbers of the pair and the position ({ends}): no rotation"


def _still(matrix: np.ndarray, tolerance: float) -> str:
    square = matrix.T @ matrix
    size = math.sqrt(np.mean(np.diag(square)))
    kept = np.abs(square - np.eye(len(matrix)) * size**2).max() <= 8 * tolerance
    values = np.linalg.svd(matrix, compute_uv=False)
    if np.abs(matrix - np.eye(len(matrix))).max() <= tolerance:
        return "it returns x unchanged at every position"
    how = f"not norm-preserving (it stretches by {values.min():.3g} to {values.max():.3g})"
    if kept:
        how = "norm-preserving" if abs(size - 1) <= 8 * tolerance else f"every vector {size:.3g} times as long"
    return f"one matrix for all positions, {how}: nothing depends on the position"


def _orthogonal(maps: np.ndarray, tolerance: float) -> str:
    partners = (np.abs(maps) > tolerance).any(axis=0).sum(axis=0).max()
    if partners > 2:
        return f"norm-preserving, but a channel turns into {partners} channels: no pairs, so no frequencies"
    if any(_paired(maps, tolerance)):
        return "norm-preserving and in pairs, but some are mirrored (the determinant is -1): no rotation"
    return "norm-preserving and in pairs, but the pairs are in no order that is known"


def _mixed(maps: np.ndarray, tolerance: float) -> str | None:
    """Say where two rows of a pair turn by different angles: tables tiled as halves under adjacent pairs, or the reverse."""
    width = maps.shape[1]
    for layout in ("interleaved", "half") if width % 4 == 0 else ():
        pairing = Pairing(layout, 0, width)
        (a, b), (c, d) = pairing.read(), pairing.written()
        cosine, sine = np.empty(maps.shape[:2]), np.empty(maps.shape[:2])
        cosine[:, c], cosine[:, d], sine[:, c], sine[:, d] = maps[:, c, a], maps[:, d, b], -maps[:, c, b], maps[:, d, a]
        left = maps.copy()
        left[:, c, a] = left[:, d, b] = left[:, d, a] = left[:, c, b] = 0.0
        other, first, second = _laid(layout, width)
        rows = np.abs(np.hypot(cosine, sine) - 1).max()
        alike = max(np.abs(table[:, first] - table[:, second]).max() for table in (cosine, sine))
        if max(np.abs(left).max(), rows, alike) <= tolerance:
            where = "neighbours (2j, 2j + 1)" if layout == "interleaved" else "half a head apart (j, j + d/2)"
            drift = np.abs(np.linalg.norm(maps, axis=1) - 1).max()
            return (
                f"pairs are {where}, but the two rows of a pair turn by different angles (lengths off by {drift:.2g}): "
                f"not a rotation; the cosines and sines are {other}{_known(layout)}"
            )
    return None


def _laid(layout: str, width: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Return how tables would be laid out for the other layout, and which of their columns are the same then."""
    half = np.arange(width // 2)
    return ("tiled as halves", half, half + width // 2) if layout == "interleaved" else ("repeated for neighbours", 2 * half, 2 * half + 1)


def _known(layout: str) -> str:
    """Return what is known to turn the pairs of a layout with tables of the other."""
    ladders = ((name, each.parameters.get("ladder")) for name, each in operations().items() if layout == "interleaved")
    tiled = next((name for name, ladder in ladders if ladder is not None and TILED in (ladder.choices or ())), "")
    return f", as in V-JEPA 2: {tiled} on one axis, with ladder={TILED!r}" if tiled else ""
