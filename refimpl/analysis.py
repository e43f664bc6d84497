"""What papers claim about their schemes, as numbers that can be computed: coverage, decay, interpolation error, reach."""

import math
from typing import Annotated, NamedTuple

from refimpl.arrays import Array, arange, array_namespace, constant, exact_float64, outer
from refimpl.schemes import alibi, rope, sinusoidal
from refimpl.schemes.sinusoidal import Spacing
from refimpl.spec import NUMBER, Count, EvenCount, Number, Positive, operation

Distances = Annotated[Array, "distance", NUMBER]
Base = Annotated[float, Number(above=1.0)]


class Coverage(NamedTuple):
    """What every sinusoid pair sees of its circle over a length."""

    wavelength: Annotated[Array, "pair"]
    turns: Annotated[Array, "pair"]
    share: Annotated[Array, "pair"]


@operation
def circle_coverage(*, length: Count, dim: EvenCount, base: Positive = 10_000.0, spacing: Spacing = "paper", like: Array) -> Coverage:
    """Return ``2 pi / w_i``, ``w_i (length - 1) / (2 pi)`` and the latter cut at 1, for positions ``0 ... length - 1``.

    The wavelength is in positions, the turns in whole circles, and the share is the part of the circle that the positions span (Vaswani et
    al. 2017, section 3.5: wavelengths form a geometric progression).
    """
    frequencies = sinusoidal.frequencies(dim, base, spacing, like=like)
    turns = frequencies * (length - 1) / (2 * math.pi)
    return Coverage(2 * math.pi / frequencies, turns, array_namespace(turns).clip(turns, max=1.0))


@operation
def alignment(distances: Distances, *, head_dim: EvenCount, base: Positive = 10_000.0) -> Annotated[Array, "distance"]:
    """Return the mean over pairs of ``cos(s theta_j)``: the logit of equal queries and keys at distance ``s``, relative to distance 0.

    It is RoFormer's eq. 35 with every ``h_j`` equal. It decays on the whole and not at every step.
    """
    xp = array_namespace(distances)
    angles = outer(distances, rope.frequencies(head_dim=head_dim, base=base, like=distances))
    return xp.mean(xp.cos(angles), axis=-1)


@operation
def abel_bound(distances: Distances, *, head_dim: EvenCount, base: Positive = 10_000.0) -> Annotated[Array, "distance"]:
    """Return the mean over ``i = 1 ... head_dim / 2`` of ``|S_i|``, where ``S_i`` is the sum of ``e^(i s theta_j)`` over ``j < i``.

    A logit is at most this times ``head_dim / 2`` times the largest step between neighbouring ``h_j`` (RoFormer, eq. 35-37).
    """
    xp = array_namespace(distances)
    angles = outer(distances, rope.frequencies(head_dim=head_dim, base=base, like=distances))
    real, imaginary = (xp.cumulative_sum(part, axis=-1) for part in (xp.cos(angles), xp.sin(angles)))
    return xp.mean(xp.sqrt(real * real + imaginary * imaginary), axis=-1)


def aligned_logit(distances: Array, head_dim: int, base: float) -> Array:
    """Return ``sum_j cos(s theta_j)``: the score of Position Interpolation's eq. 3 with every ``h_j`` equal to 1."""
    return alignment(distances, head_dim=head_dim, base=base) * (head_dim // 2)


def weight_between(positions: Array) -> Array:
    """Return how far each position lies past the whole number below it."""
    exact = exact_float64(positions)
    return exact - array_namespace(exact).floor(exact)


@operation
def interpolation_error(positions: Distances, *, head_dim: EvenCount, base: Base = 10_000.0) -> Annotated[Array, "distance"]:
    """Return ``|a(s) - a_linear(s)|``, the score's distance from the line through its whole neighbours, with every ``h_j`` equal to 1.

    ``a(s) = sum_j cos(s theta_j)`` (Position Interpolation, theorem 2.1).
    """
    xp = array_namespace(positions)
    exact = exact_float64(positions)
    below, share = xp.floor(exact), weight_between(positions)
    line = (1 - share) * aligned_logit(below, head_dim, base) + share * aligned_logit(below + 1, head_dim, base)
    return xp.abs(aligned_logit(exact, head_dim, base) - line)


@operation
def printed_interpolation_bound(positions: Distances, *, head_dim: EvenCount, base: Base = 10_000.0) -> Annotated[Array, "distance"]:
    """Return ``head_dim (s - s_1)(s_2 - s) / (8 ln base)`` as theorem 2.1 prints it, with every ``h_j`` equal to 1; it is exceeded.

    Its proof replaces a sum of falling terms by an integral that is smaller than the sum.
    """
    share = weight_between(positions)
    return share * (1 - share) * (head_dim / (8 * math.log(base)))


@operation
def interpolation_bound(positions: Distances, *, head_dim: EvenCount, base: Base = 10_000.0) -> Annotated[Array, "distance"]:
    """Return ``(s - s_1)(s_2 - s) / (2 (1 - base^(-4 / head_dim)))``, which holds: half the sum of all ``theta_j^2`` is no more.

    The error of a line is half the largest second derivative times ``(s - s_1)(s_2 - s)`` (theorem 2.1, with the sum kept).
    """
    share = weight_between(positions)
    return share * (1 - share) / (2 * (1 - base ** (-4 / head_dim)))


@operation
def alibi_reach(*, num_heads: Count, max_bias: Positive = 8.0, logit_gap: Positive, like: Array) -> Annotated[Array, "head"]:
    """Return ``logit_gap / slope`` per head: the tokens of distance at which the bias outweighs such a lead (ALiBi, section 3)."""
    return constant(logit_gap, like=like) / alibi.slopes(num_heads=num_heads, max_bias=max_bias, like=like)


def rises(values: Array) -> Array:
    """Return where a value is followed by a larger one."""
    return values[1:] > values[:-1]


def first_rise(values: Array) -> int | None:
    """Return the first index whose value is followed by a larger one, or ``None`` where the sequence never rises."""
    xp, up = array_namespace(values), rises(values)
    return int(xp.argmax(xp.astype(up, xp.int64))) if bool(xp.any(up)) else None


def count_rises(values: Array) -> int:
    """Return on how many steps the sequence rises."""
    xp = array_namespace(values)
    return int(xp.sum(xp.astype(rises(values), xp.int64)))


def whole_distances(count: int, *, like: Array) -> Array:
    """Return the distances ``0, 1, ..., count - 1`` in float64."""
    return arange(count, like=like)
