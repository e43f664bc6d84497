"""Laws of biases: ALiBi's slopes and distances, T5's buckets and table."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from conformance.arguments import Arguments
from conformance.laws.budget import compounded
from conformance.laws.trial import Checker, Sides, Trial
from conformance.subject import CallRefusedError
from refimpl.spec import Law


def slope_exponents(trial: Trial) -> np.ndarray:
    """Return the share of ``max_bias`` in every slope's exponent: whole steps of a power of two, then the odd half steps."""
    heads = trial.whole("num_heads")
    whole = 1 << (heads.bit_length() - 1)
    return np.concatenate([np.arange(1, whole + 1) / whole, np.arange(1, 2 * (heads - whole), 2) / (2 * whole)])


def slope_error(trial: Trial) -> np.ndarray:
    """Return the relative error of every slope as a power of a rounded root: 4 + 4 |ln slope| units, and one per power."""
    shares = slope_exponents(trial)
    powers = shares * 2 * (1 << (trial.whole("num_heads").bit_length() - 1))
    return compounded(trial.units.step * (4 + 4 * math.log(2.0) * trial.number("max_bias") * shares + powers))


def slopes_in_unit_interval(trial: Trial) -> Iterator[Sides]:
    """Slopes lie between 0 and 1, those of a power of two heads start where they must, and all fall by one ratio."""
    slopes, rounding, error = trial.values(trial.arguments), trial.rounding(trial.arguments), slope_error(trial)
    inside = (slopes > 0.0) & (slopes < 1.0)
    yield Sides(np.where(inside, 0.0, 1.0), np.zeros_like(slopes), np.zeros_like(slopes))
    whole = 1 << (slopes.size.bit_length() - 1)
    start = 2.0 ** (-trial.number("max_bias") / whole)
    yield Sides(slopes[:1], np.array([start]), error[:1] * start + rounding[:1])
    yield _square(slopes, error, rounding, np.arange(1, whole - 1), (np.arange(whole - 2), np.arange(2, whole)))
    beyond = np.arange(slopes.size - whole)
    yield _square(np.append(slopes, 1.0), np.append(error, 0.0), np.append(rounding, 0.0), whole + beyond, (beyond, beyond - 1))


def _square(slopes: np.ndarray, error: np.ndarray, rounding: np.ndarray, middle: np.ndarray, ends: tuple[np.ndarray, np.ndarray]) -> Sides:
    """Return that the square of every slope in the middle is the product of the two beside it (the one before the first is 1)."""
    one, other = ends
    left, right = slopes[middle] ** 2, slopes[one] * slopes[other]
    roundings = 2 * slopes[middle] * rounding[middle] + slopes[one] * rounding[other] + rounding[one] * slopes[other]
    return Sides(left, right, (2 * error[middle] + error[one] + error[other]) * np.abs(right) + roundings)


def bias_error(trial: Trial, call: Arguments) -> np.ndarray:
    """Return what a bias may be off by where its slope is shared: the product and the rounding."""
    return np.asarray(2 * trial.units.product * np.abs(trial.values(call)) + trial.rounding(call) + trial.units.least)


def alibi_translation(trial: Trial) -> Iterator[Sides]:
    """A common shift of all positions changes nothing, or every row by a constant in the column form."""
    shift, call = trial.example.shift, trial.arguments
    moved = call.with_arrays(**{name: call.arrays[name] + shift for name in ("query_positions", "key_positions")})
    if call.parameters["form"] == "column":
        yield _same_steps(trial, call, moved)
        return
    yield Sides(trial.values(call), trial.values(moved), bias_error(trial, call) + bias_error(trial, moved))


def _same_steps(trial: Trial, one: Arguments, other: Arguments) -> Sides:
    """Return how far every key is from the first key, in both calls."""
    left, left_error = _from_first(trial, one)
    right, right_error = _from_first(trial, other)
    return Sides(left, right, left_error + right_error)


def _from_first(trial: Trial, call: Arguments) -> tuple[np.ndarray, np.ndarray]:
    values, error = trial.values(call), bias_error(trial, call)
    return values - values[..., :1], error + error[..., :1]


def row_constant(trial: Trial) -> Iterator[Sides]:
    """The difference between two keys is the same in every row (but not in the symmetric form, where rows mirror)."""
    call = trial.arguments
    if call.parameters["form"] == "symmetric":
        yield Sides(*_mirrored(trial))
        return
    left, error = _from_first(trial, call)
    right = np.broadcast_to(left[:, :1, :], left.shape)
    yield Sides(left, right, error + error[:, :1, :])


def _mirrored(trial: Trial) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the biases, and those with queries and keys exchanged, transposed."""
    call = trial.arguments
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    swapped = call.with_arrays(query_positions=key, key_positions=query)
    right, error = (np.swapaxes(a, -1, -2) for a in (trial.values(swapped), bias_error(trial, swapped)))
    return trial.values(call), right, bias_error(trial, call) + error


def homogeneous(trial: Trial) -> Iterator[Sides]:
    """Twice the distance is twice the bias."""
    call = trial.arguments
    doubled = call.with_arrays(**{name: 2 * call.arrays[name] for name in ("query_positions", "key_positions")})
    yield Sides(trial.values(doubled), 2 * trial.values(call), bias_error(trial, doubled) + 2 * bias_error(trial, call))


def alibi_monotone(trial: Trial) -> Iterator[Sides]:
    """Along the keys no bias falls as the key comes nearer (symmetric), or later (the other forms)."""
    call = trial.arguments
    values, error = trial.values(call), bias_error(trial, call)
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    order = -np.abs(key - query[:, None]) if call.parameters["form"] == "symmetric" else np.broadcast_to(key, values.shape[1:])
    nearer = order[..., :, None] < order[..., None, :]
    fall = values[..., :, None] - values[..., None, :]
    yield _no_violation(np.where(nearer, fall, 0.0), error[..., :, None] + error[..., None, :])


def _no_violation(excess: np.ndarray, allowed: np.ndarray) -> Sides:
    return Sides(np.where(excess > 0.0, excess, excess * 0.0), np.zeros_like(excess), allowed)


def alibi_zero_at_origin(trial: Trial) -> Iterator[Sides]:
    """Where the distance is 0 the bias is 0, exactly; in forms that leave a constant of each row free nothing is."""
    call = trial.arguments
    if call.parameters["form"] not in ("row", "symmetric"):
        message = "a bias that leaves a constant of each row free is 0 nowhere in particular"
        raise CallRefusedError(message)
    query, key = call.arrays["query_positions"], call.arrays["key_positions"]
    key = query[np.arange(key.size) % query.size] if not trial.subject.counted else key
    left = trial.values(call.with_arrays(key_positions=key))[:, query[:, None] == key]
    yield Sides(left, np.zeros_like(left), np.zeros_like(left))


def halves(trial: Trial) -> tuple[int, int]:
    """Return how many buckets one direction has, and how many hold one distance each."""
    buckets = trial.whole("num_buckets") // (2 if trial.arguments.parameters["bidirectional"] else 1)
    return buckets, buckets // 2


@dataclass(frozen=True)
class Ladder:
    """How earlier keys climb from the token itself to the last bucket: one by one at first, then by a logarithm, if there is one.

    ``steps`` are the buckets of the logarithm, which ends at ``farthest``; beyond ``reach`` nothing changes.
    """

    origin: int
    last: int
    exact: int
    steps: int
    farthest: int
    reach: int

    @property
    def up(self) -> int:
        """Return 1 where earlier keys have higher buckets, else -1."""
        return 1 if self.last > self.origin else -1


def ladder(trial: Trial) -> Ladder:
    """Return the ladder of the convention that is asked for."""
    number, far = trial.whole("num_buckets"), trial.whole("max_distance")
    buckets, exact = halves(trial)
    middle, quarter = number // 2, number // 4
    if trial.arguments.parameters["convention"] == "deberta":
        return Ladder(middle, number - 1, quarter, quarter - 1, far - 1, far)
    if trial.arguments.parameters["convention"] == "t5":
        return Ladder(0, buckets - 1, exact, buckets - exact, far, far)
    if trial.arguments.parameters["bidirectional"]:
        return Ladder(middle, 0, middle, 0, middle, middle)
    return Ladder(0, number - 1, number, 0, number, number)


def tie(trial: Trial, distance: np.ndarray) -> np.ndarray:
    """Return where the logarithm lands so near an integer that the profile can't decide the bucket."""
    shared = ladder(trial)
    if not shared.steps:
        return np.zeros(distance.shape, dtype=bool)
    ratio = np.log(np.maximum(distance, shared.exact) / shared.exact) / math.log(shared.farthest / shared.exact) * shared.steps
    near = np.abs(ratio - np.round(ratio)) <= 16 * trial.units.step * (shared.steps + 1)
    return np.asarray(near & (distance > shared.exact) & (distance <= shared.farthest))


def bucket_distance(trial: Trial, relative: np.ndarray) -> np.ndarray:
    """Return the distance that the bucket is chosen by."""
    return np.asarray(np.abs(relative) if trial.arguments.parameters["bidirectional"] else np.maximum(-relative, 0))


def _buckets(trial: Trial, relative: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the buckets of relative positions, and 1 where the profile may choose the neighbour."""
    values = trial.values(trial.arguments.with_arrays(relative_positions=relative))
    return values, tie(trial, bucket_distance(trial, relative)).astype(np.float64)


def bucket_zero_at_origin(trial: Trial) -> Iterator[Sides]:
    """Distance 0 has the first bucket, and every distance before the logarithm its own, one after another."""
    shared = ladder(trial)
    near = np.arange(shared.exact)
    left, _ = _buckets(trial, -near)
    yield Sides(left, (shared.origin + shared.up * near).astype(np.float64), np.zeros(shared.exact))


def bucket_monotone(trial: Trial) -> Iterator[Sides]:
    """A greater distance is never a bucket nearer to the first, and no bucket lies beyond the last."""
    shared = ladder(trial)
    distance = np.sort(np.abs(trial.arguments.arrays["relative_positions"]))
    rows, loose = _buckets(trial, -np.concatenate([distance, distance + 1]))
    left = shared.up * (rows - shared.origin)
    fall = np.where(distance[:, None] <= distance + 1, left[: distance.size, None] - left[None, distance.size :], 0.0)
    yield _no_violation(fall, loose[: distance.size, None] + loose[None, distance.size :])
    yield _no_violation(np.maximum(left - abs(shared.last - shared.origin), -left), np.zeros_like(left))


def bucket_saturation(trial: Trial) -> Iterator[Sides]:
    """Beyond the largest distance every distance has the last bucket."""
    shared, beyond = ladder(trial), np.abs(trial.arguments.arrays["relative_positions"])
    left, _ = _buckets(trial, -(shared.reach + beyond))
    yield Sides(left, np.full_like(left, shared.last), np.zeros_like(left))


def mirror(trial: Trial) -> Iterator[Sides]:
    """A later key lands as many buckets higher as one direction has, or as far on the other side of the middle; or in bucket 0."""
    distance = np.abs(trial.arguments.arrays["relative_positions"]) + 1
    left, loose = _buckets(trial, distance)
    if not trial.arguments.parameters["bidirectional"]:
        yield Sides(left, np.zeros_like(left), np.zeros_like(left))
        return
    right, _ = _buckets(trial, -distance)
    apart = trial.arguments.parameters["convention"] == "t5"
    yield Sides(left, right + halves(trial)[0], loose) if apart else _opposite(trial, left, right)


def _opposite(trial: Trial, later: np.ndarray, earlier: np.ndarray) -> Sides:
    """Return that buckets lie as far above the middle as below it; the table ends one short above, so the upper side is held there."""
    shared = ladder(trial)
    lower, upper = (later, earlier) if shared.up > 0 else (earlier, later)
    return Sides(upper, np.minimum(2 * shared.origin - lower, trial.whole("num_buckets") - 1), np.zeros_like(lower))


def relative_of(call: Arguments) -> np.ndarray:
    """Return key position minus query position, for every pair."""
    return np.asarray(call.arrays["key_positions"] - call.arrays["query_positions"][:, None])


def undecided(trial: Trial, relative: np.ndarray) -> np.ndarray:
    """Return an endless allowance where the profile can't decide the bucket, else none."""
    return np.where(tie(trial, bucket_distance(trial, relative)), np.inf, 0.0)


def lookup(trial: Trial) -> Iterator[Sides]:
    """Every bias is an entry of its head's column; a constant added to the table is added to every bias."""
    call, constant = trial.arguments, float(trial.example.scalars[0])
    values, table = trial.values(call), call.arrays["table"]
    nearest = np.min(np.abs(values[..., None] - table.T[:, None, None, :]), axis=-1)
    yield Sides(nearest, np.zeros_like(nearest), np.zeros_like(nearest))
    raised = trial.values(call.with_arrays(table=table + constant))
    yield Sides(raised, values + constant, np.zeros_like(values))


def bias_translation(trial: Trial) -> Iterator[Sides]:
    """A common shift of all positions changes nothing."""
    call = trial.arguments
    moved = call.with_arrays(**{name: call.arrays[name] + trial.example.shift for name in ("query_positions", "key_positions")})
    left = trial.values(call)
    yield Sides(left, trial.values(moved), np.broadcast_to(undecided(trial, relative_of(call)), left.shape))


def bias_saturation(trial: Trial) -> Iterator[Sides]:
    """Beyond the largest distance the bias does not change any more."""
    call = trial.arguments
    far = ladder(trial).reach + call.arrays["key_positions"].max()
    one, other = (call.with_arrays(query_positions=call.arrays["query_positions"] + far + more) for more in (0, trial.example.shift))
    left = trial.values(one)
    yield Sides(left, trial.values(other), np.zeros_like(left))


LAWS: Mapping[Law, Checker] = {
    Law.TRANSLATION: alibi_translation,
    Law.ROW_CONSTANT: row_constant,
    Law.HOMOGENEOUS: homogeneous,
    Law.MONOTONE: alibi_monotone,
    Law.ZERO_AT_ORIGIN: alibi_zero_at_origin,
    Law.SATURATION: bucket_saturation,
    Law.MIRROR: mirror,
    Law.LOOKUP: lookup,
    Law.SLOPES_IN_UNIT_INTERVAL: slopes_in_unit_interval,
}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("t5.bucket", Law.ZERO_AT_ORIGIN): bucket_zero_at_origin,
    ("t5.bucket", Law.MONOTONE): bucket_monotone,
    ("t5.bias", Law.TRANSLATION): bias_translation,
    ("t5.bias", Law.SATURATION): bias_saturation,
}
