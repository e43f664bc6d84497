"""What drawn arguments must obey beyond axes and rules, by the names that declarations give them: tables as long as a parameter says."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from conformance.spec.arguments import Parameters
from conformance.spec.choices import HIGHEST_END, RISING
from conformance.spec.declarations import operations

Arrays = Mapping[str, np.ndarray]
#: From the axes that are declared, arrays and parameters to the arrays that every conforming implementation takes.
Rule = Callable[[Mapping[str, str], Arrays, Parameters], Arrays]


def one_row_per_offset(axes: Mapping[str, str], arrays: Arrays, parameters: Parameters) -> Arrays:
    """Repeat the rows of every table until there is one for each offset, or for each distance that a clip leaves."""
    if "max_distance" not in parameters:
        return arrays
    rows = 2 * int(parameters["max_distance"]) + (parameters.get("clip", "symmetric") == "symmetric")
    return {name: np.resize(a, (rows, *a.shape[1:])) if axes[name].startswith("row ") else a for name, a in arrays.items()}


def one_score_per_distance(axes: Mapping[str, str], arrays: Arrays, parameters: Parameters) -> Arrays:
    """Repeat or cut scores so that they have as many distances as memory and queries together."""
    if "memory" not in parameters:
        return arrays

    def fitted(scores: np.ndarray) -> np.ndarray:
        return np.resize(scores, (*scores.shape[:-1], scores.shape[-2] + int(parameters["memory"])))

    return {name: fitted(array) if axes[name].endswith(" distance") else array for name, array in arrays.items()}


def inside_of_the_code(_: Mapping[str, str], arrays: Arrays, parameters: Parameters) -> Arrays:
    """Move positions to where so many bits have a code."""
    return {**arrays, "positions": within(arrays["positions"], 2 ** int(parameters["bits"]))} if "bits" in parameters else arrays


#: So many rows of a table are left free at most where its first ones are no position's, as those of padding.
FREE = 64


def inside_of_the_grids(_: Mapping[str, str], arrays: Arrays, parameters: Parameters) -> Arrays:
    """Move positions to the patches that grids have; where text stands between grids, more of it may follow."""
    patches = patches_of(parameters)
    return {**arrays, "positions": within(arrays["positions"], patches)} if patches is not None else arrays


def patches_of(parameters: Parameters) -> int | None:
    """Return how many patches grids have that lie one after the other; nothing where there are none, or text stands between them."""
    if "times" not in parameters or "text" in parameters:
        return None
    return sum(map(math.prod, zip(*(parameters[name] for name in ("times", "heights", "widths")), strict=True)))


def inside_of_the_table(_: Mapping[str, str], arrays: Arrays, parameters: Parameters) -> Arrays:
    """Repeat rows until every token could have its own beyond the offset; move positions there, unless others are answered."""
    if "outside" not in parameters:
        return arrays
    positions, table = arrays["positions"], arrays["table"]
    room = max(table.shape[0], positions.size)
    if parameters["outside"] == "raise" and positions.max() >= room:
        free = min(int(positions.min()), FREE)
        positions, room = free + within(positions - free, room), room + free
    return {**arrays, "positions": positions, "table": np.resize(table, (room + int(parameters["offset"]), table.shape[1]))}


def within(positions: np.ndarray, room: int) -> np.ndarray:
    """Return positions below a bound: a run of consecutive ones is moved down as it is, others are wrapped."""
    run = positions - max(positions.max() - room + 1, 0)
    consecutive = positions.size > 1 and bool(np.all(np.diff(positions) == 1))
    return run if consecutive and run.min() >= 0 else positions % room


def slowing(_: Mapping[str, str], arrays: Arrays, __: Parameters) -> Arrays:
    """Make every factor at least 1."""
    return {name: 1 + np.abs(array) if name.endswith("factors") else array for name, array in arrays.items()}


def inside_of_the_length(_: Mapping[str, str], arrays: Arrays, parameters: Parameters) -> Arrays:
    """Move positions that lie beyond a sequence of that length into it."""
    names = [name for name in arrays if name.endswith("positions")]
    length, last = int(parameters.get("length", 0)), max((int(arrays[name].max(initial=0)) for name in names), default=0)
    if "length" not in parameters or last < length:
        return arrays
    if "positions" in names:
        return {**arrays, "positions": within(arrays["positions"], length)}
    # Both sides alike, so that no key passes a query.
    return {**arrays, **{name: np.maximum(arrays[name] + length - 1 - last, np.minimum(arrays[name], 0)) for name in names}}


def inside_of_the_kernel(_: Mapping[str, str], arrays: Arrays, parameters: Parameters) -> Arrays:
    """Make the two learned numbers of a head positive, and exponents at most 2."""
    if not {"first", "second"} <= arrays.keys():
        return arrays
    first, second = (np.where(arrays[name] == 0.0, 1.0, np.abs(arrays[name])) for name in ("first", "second"))
    if parameters["form"] == "power":
        second = np.minimum(second, 2.0)
        first, second = held(first, second, arrays) if "q" in arrays else (first, second)
    return {**arrays, "first": first, "second": second}


#: The largest power of two that float16 holds, and the smallest it holds in full: right code may keep there what it adds to logits, which
#: no other number overflows, and what it is made of.
HELD, SMALLEST = 15, -14


def held(first: np.ndarray, exponent: np.ndarray, arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Halve what multiplies a power until the farthest two positions have a bias that every format holds; exponents leave room for it."""
    places = np.concatenate([arrays[name].ravel() for name in ("query_positions", "key_positions")]).astype(np.float64)
    reach = np.log2(2.0 + places.max(initial=0) - places.min(initial=0))
    exponent = np.minimum(exponent, (HELD - SMALLEST - 1) / reach)
    excess = np.ceil(np.log2(first) + exponent * reach) - HELD
    return first * np.exp2(-np.maximum(excess, 0.0)), exponent


#: How often positions lie a base of the scale away from the centre at most: 3.5 to that power is 23, which large numbers of float16 have
#: room for. Runs of positions may be longer: to the second power numbers below 2 have room.
FADED, FADED_RUN = 2.5, 8.1


def inside_of_the_scale(_: Mapping[str, str], arrays: Arrays, parameters: Parameters) -> Arrays:
    """Move positions whose powers would overflow: all alike where that is enough, else those beyond a bound; none below 0 if none was."""
    places = {name: array for name, array in arrays.items() if name.endswith("positions")}
    if "scale_base" not in parameters or not any(array.size for array in places.values()):
        return arrays
    reach, centre = int(FADED * parameters["scale_base"]), int(parameters["centre"])
    every = np.concatenate([array.ravel() for array in places.values()])
    lowest, highest = int(every.min()), int(every.max())
    excess = max(highest - centre - reach, 0) + min(lowest - centre + reach, 0) if highest - lowest <= 2 * reach else 0
    moved = {name: array - (min(excess, lowest) if lowest >= 0 else excess) for name, array in places.items()}
    if all(_faint(array, centre, reach, float(parameters["scale_base"])) for array in moved.values()):
        return {**arrays, **moved}
    near = {name: centre + np.sign(array - centre) * (np.abs(array - centre) % (reach + 1)) for name, array in moved.items()}
    return {**arrays, **{name: np.maximum(array, min(lowest, 0)) for name, array in near.items()}}


def _faint(positions: np.ndarray, centre: int, reach: int, scale_base: float) -> bool:
    """Whether no power at positions overflows."""
    farthest = int(np.abs(positions - centre).max(initial=0))
    run = positions.shape[-1] > 1 and bool(np.all(np.diff(positions) == 1))
    return farthest <= reach or (run and farthest <= FADED_RUN * scale_base)


def inside_of_the_image(_: Mapping[str, str], arrays: Arrays, parameters: Parameters) -> Arrays:
    """Move positions into an image where frequencies rise with the pair, if the fastest turns too often before it is there."""
    if parameters.get("ladder") not in RISING:
        return arrays
    positions, sides = arrays["positions"], np.array(parameters["sides"])
    far = np.abs(positions) * float(parameters["base"]) > HIGHEST_END * sides
    return {**arrays, "positions": np.where(far, np.fmod(positions, sides), positions)}


def no_scores_alike(_: Mapping[str, str], arrays: Arrays, parameters: Parameters) -> Arrays:
    """Replace the scores of a query, where two are alike, by sixteenths in their order: which of the two is selected would be free."""
    if "top_k" not in parameters:
        return arrays
    scores = arrays["scores"]
    ranked = np.sort(scores, axis=-1)
    alike = np.any(ranked[..., 1:] == ranked[..., :-1], axis=-1, keepdims=True)
    order = np.argsort(np.argsort(scores, axis=-1, kind="stable"), axis=-1)
    return {**arrays, "scores": np.where(alike, (order - scores.shape[-1] // 2) / 16.0, scores)}


RULES: tuple[Rule, ...] = (
    one_row_per_offset,
    one_score_per_distance,
    inside_of_the_code,
    inside_of_the_grids,
    inside_of_the_table,
    slowing,
    inside_of_the_length,
    inside_of_the_kernel,
    inside_of_the_scale,
    inside_of_the_image,
    no_scores_alike,
)


def constrained(operation: str, arrays: Arrays, parameters: Parameters) -> Arrays:
    """Return arrays that the operation takes."""
    declared = operations()[operation]
    arrays, axes = {name: np.abs(array) if name in declared.from_zero else array for name, array in arrays.items()}, declared.arrays
    for rule in RULES:
        arrays = rule(axes, arrays, parameters)
    return arrays
