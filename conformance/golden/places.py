"""Draw positions from where mistakes show, inside what an operation and a declaration take."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from conformance.calls.takes import Takes
from conformance.golden import grids
from conformance.spec.arguments import Parameters
from conformance.spec.constraints import patches_of
from conformance.spec.ranges import BESIDE, EDGES, FARTHEST

Generator = np.random.Generator
#: Positions below it are taken for far: tables of negative distances end at 512 (DeBERTa).
FAR_BELOW = -512
#: How often queries are the last of the keys where they needn't be, and how often, else, they know nothing of the keys.
AT_END, APART = 1 / 3, 1 / 2
#: How many positions beyond the last grid lie among those of grids.
BEYOND = 3


@dataclass(frozen=True)
class Room:
    """Where positions may lie, those in it beside which something ends, and whether each of them is as telling as any other."""

    lowest: int
    highest: int
    edges: np.ndarray
    even: bool = False

    @property
    def size(self) -> int:
        """How many positions from 0, or from the lowest that isn't negative, lie in it."""
        return self.highest - max(self.lowest, 0) + 1


def room(parameters: Parameters, sizes: Mapping[str, int], takes: Takes) -> Room:
    """Return where the positions of a call may lie."""
    lowest, highest = _bounds(parameters, sizes)
    lowest = lowest if takes.lowest is None else max(lowest, takes.lowest)
    highest = max(highest if takes.highest is None else min(highest, takes.highest), lowest)
    special = [int(parameters[name]) for name in BESIDE if parameters.get(name) is not None]
    ends = {end + beside for end in (*special, *_rows(sizes), *grids.ends(parameters)) for beside in (-1, 0, 1)}
    beyond = {1 << power for power in range(21, 62)} if highest > FARTHEST else set()
    common = [edge for edge in sorted({*EDGES, *beyond}) if lowest <= edge <= highest]
    own = [edge for edge in sorted({*ends, highest}) if lowest <= edge <= highest]
    repeat = max(len(common) // (2 * len(own)), 1)
    return Room(lowest, highest, np.array(common + own * repeat, dtype=np.int64))


def nearer(room: Room, reach: int, takes: Takes) -> Room:
    """Return the room that longer inputs reach, in which code that counts positions gets those that don't count."""
    lowest, highest = 0 if takes.positions == "from_zero" else max(room.lowest, -reach), min(room.highest, reach)
    edges = room.edges[(room.edges >= lowest) & (room.edges <= highest)]
    return Room(lowest, highest, edges if edges.size else np.array([lowest, highest], dtype=np.int64))


def among(parameters: Parameters, room: Room, takes: Takes) -> Room:
    """Return the room of the tokens of grids that parameters list, and of a few beyond."""
    reach = max(grids.ends(parameters)) + BEYOND
    return replace(nearer(room, reach, takes), even=True)


def _bounds(parameters: Parameters, sizes: Mapping[str, int]) -> tuple[int, int]:
    if "bits" in parameters:
        return 0, (1 << int(parameters["bits"])) - 1
    patches = patches_of(parameters)
    if patches is not None:
        return 0, patches - 1
    if parameters.get("outside") == "raise":
        return 0, sizes["length"] - 1
    if "length" in parameters:
        return -FARTHEST, int(parameters["length"]) - 1
    return -FARTHEST, FARTHEST


def _rows(sizes: Mapping[str, int]) -> tuple[int, ...]:
    return (sizes["length"],) if "length" in sizes else ()


def listed(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Draw from where something ends: unsorted, repeated by chance."""
    return np.asarray(rng.choice(room.edges, count))


def run(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Count up across an edge, not from below 0 where it can be helped."""
    first = int(rng.choice(room.edges)) - int(rng.integers(0, count))
    return max(min(first, room.highest - count + 1), room.lowest, 0) + np.arange(count)


def from_zero(_: Generator, count: int, room: Room) -> np.ndarray:
    """Count up from 0."""
    return max(room.lowest, 0) + np.arange(count)


def near(rng: Generator, count: int, _: Room) -> np.ndarray:
    """Draw small positions, unsorted."""
    return rng.integers(1, 2 * count + 9, count)


def begun(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Count up from 0, an odd number from 1, or draw a small position where there is one only: at 0 hardly any mistake shows."""
    return from_zero(rng, count, room) + count % 2 if count > 1 else near(rng, count, room)


def anywhere(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Draw positions of every magnitude."""
    return np.exp2(rng.uniform(0.0, np.log2(room.highest + 2), count)).astype(np.int64) - 1


def evenly(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Draw positions of which none is likelier than another."""
    return rng.integers(max(room.lowest, 0), room.highest + 1, count)


def disordered(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Count up across an edge, and disorder what lies between the first and the last: these alone tell of no gap."""
    return between_ends(rng, run(rng, count, room))


def between_ends(rng: Generator, rows: np.ndarray) -> np.ndarray:
    """Return rows in another order between their first and their last number."""
    return np.concatenate([rows[..., :1], rng.permuted(rows[..., 1:-1], axis=-1), rows[..., -1:]], axis=-1) if rows.shape[-1] > 1 else rows


def repeated(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Draw a position or two, and repeat them."""
    return np.asarray(rng.choice(rng.choice(room.edges, 2), count))


def padded(rng: Generator, count: int, _: Room) -> np.ndarray:
    """Count from 0 after padding on the left, which stands at -1."""
    padding = int(rng.integers(1, max(count // 2, 1) + 1))
    return np.asarray(np.maximum(np.arange(count) - padding, -1))


def restarted(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Draw from where something ends, and 0 at the start and in the middle, as if sequences were packed: these would be counted anew."""
    found = np.abs(listed(rng, count, room))
    found[:: max(count // 2, 1)] = 0
    return np.asarray(found)


def negative(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Draw from edges of which most are negative, the first always."""
    signs = np.where(rng.random(count) < 0.75, -1, 1)
    signs[0] = -1
    return np.asarray(-1 + signs * np.abs(listed(rng, count, room)))


def far_below(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Draw positions below -512, down to the lowest."""
    depth = np.exp2(rng.uniform(0.0, np.log2(max(-room.lowest + FAR_BELOW, 2)), count)).astype(np.int64)
    return FAR_BELOW - depth


def bytes_apart(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Draw positions that a signed byte holds, on both sides of 0 so far that it doesn't hold their differences."""
    return _on_both_sides(rng, count, min(120, room.highest))


def shorts_apart(rng: Generator, count: int, room: Room) -> np.ndarray:
    """Draw positions that 16 bits hold, on both sides of 0 so far that these don't hold their differences."""
    return _on_both_sides(rng, count, min(30_000, room.highest))


def _on_both_sides(rng: Generator, count: int, far: int) -> np.ndarray:
    signs, distances = np.where(np.arange(count) % 2 == 0, 1, -1), np.arange(2 * far // 3, far + 1)
    return np.asarray(signs * rng.choice(distances, count, replace=count > distances.size))


Pattern = Callable[[Generator, int, Room], np.ndarray]
SIDES = (bytes_apart, shorts_apart)
ANY: tuple[Pattern, ...] = (listed, negative, run, padded, anywhere, far_below, near, begun, repeated, disordered, *SIDES)
BELOW_ZERO = (negative, padded, far_below, *SIDES)
#: Of how many patterns none prefers a position, where every position is as telling.
EVENLY = 6
CONSECUTIVE: tuple[Pattern, ...] = (run, from_zero, run)


def patterns(room: Room, takes: Takes, *, alone: bool = False) -> tuple[Pattern, ...]:
    """Return the patterns of positions that are taken; where queries meet no keys, packed sequences too."""
    if takes.counted:
        return CONSECUTIVE if takes.positions == "consecutive" else (from_zero,)
    every = (*[evenly] * (EVENLY * room.even), *ANY, *[restarted] * alone)
    return tuple(pattern for pattern in every if room.lowest < 0 or pattern not in BELOW_ZERO)


def rows(rng: Generator, shape: tuple[int, ...], room: Room, first: Pattern, takes: Takes, *, uneven: bool = False) -> np.ndarray:
    """Draw positions: the first row by a pattern, others by any that is taken; the last row begins and ends as the first does.

    Of uneven rows the first is near, the next is by the pattern, and one token of the last is far.
    """
    others, count = patterns(room, takes), shape[-1]
    uneven = uneven and math.prod(shape[:-1]) > 1 and not takes.counted
    made = [*[near] * uneven, first, *(others[int(rng.integers(len(others)))] for _ in range(math.prod(shape[:-1]) - 1 - uneven))]
    drawn = [np.clip(pattern(rng, count, room), room.lowest, room.highest) for pattern in made]
    if len(drawn) > 1 and count > 2 and not takes.counted:
        drawn[-1] = np.concatenate([drawn[0][:1], drawn[-1][1:-1], drawn[0][-1:]])
    if uneven:
        drawn[-1][count // 2] = rng.choice(np.sort(room.edges)[2 * room.edges.size // 3 :])
    return np.stack(drawn).reshape(shape)


def queries_of(rng: Generator, keys: np.ndarray, count: int, room: Room, first: Pattern, takes: Takes) -> np.ndarray:
    """Draw the positions of queries for rows of keys: the last keys, or at listed distances from some of them, or on their own."""
    at_end = first is repeated or rng.random() < AT_END
    if takes.queries == "at_end" or (not takes.counted and count <= keys.shape[-1] and at_end):
        return keys[..., keys.shape[-1] - count :].copy()
    if takes.counted:
        return np.asarray(keys[..., :1] + np.arange(count))
    if rng.random() < APART:
        return rows(rng, (*keys.shape[:-1], count), room, first, takes)
    distances = rng.choice(room.edges, count) * rng.choice((-1, 1, 1), count)
    return np.asarray(np.clip(keys[..., rng.integers(0, keys.shape[-1], count)] + distances, room.lowest, room.highest))


def seen(queries: np.ndarray, keys: np.ndarray, room: Room, count: int) -> np.ndarray:
    """Return the keys with the first of them moved to where every query sees so many, one or two."""
    least = np.asarray(queries.min(axis=-1) if queries.ndim == keys.ndim else queries.min())
    few = (keys <= least[..., None]).sum(axis=-1) < count
    moved = keys.copy()
    for place, behind in enumerate((0, 3)[:count]):
        moved[..., place] = np.where(few, np.maximum(least - behind, room.lowest), keys[..., place])
    return moved
