"""YaRN as released code computes it (Peng et al. 2023, eq. 17-22; the ramp is linear in the pair's index)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from conformance.oracle import rope
from conformance.oracle.arithmetic import Ball, Exact, hull, is_zero, size
from conformance.oracle.position_interpolation import shared
from conformance.oracle.rotary import Rotary
from conformance.oracle.tensor import Inputs, Lazy, Results

#: The numbers that the formulas print mean themselves, not their binary64 neighbours.
TENTH = fmpq(1, 10)
LEAST_WIDTH = fmpq(1, 1000)


def bound(a: Exact, head_dim: int, base: float, original_length: int, turns: float) -> Ball:
    """Return ``d ln(L / (2 pi n)) / (2 ln base)``: the pair that turns ``n`` times within the original length (eq. 17)."""
    reach = a.parameter(original_length) / (2 * arb.pi() * a.parameter(turns))
    pace = head_dim / (2 * a.parameter(base).log())
    return a.spread("bound", reach.log() * pace, size(reach.log() * pace) + size(pace))


def bands(
    a: Exact, head_dim: int, base: float, original_length: int, betas: tuple[float, float], *, truncate: bool
) -> list[tuple[Ball, Ball]]:
    """Return every band that the ramp may have: one in real arithmetic, more where a rounded bound straddles an integer."""
    low, high = (bound(a, head_dim, base, original_length, turns) for turns in betas)
    if not truncate:
        return [(low.max(arb(0)), high.min(arb(head_dim - 1)))]
    whole = a.settle((max(least, 0), min(-most, head_dim - 1)) for least in a.floors(low) for most in a.floors(-high))
    return [(arb(least), arb(most)) for least, most in whole]


def slowed(a: Exact, pair: int, low: Ball, high: Ball) -> Ball:
    """Return ``clip((j - low) / (high - low), 0, 1)``, the width never 0; exact outside the band."""
    width = high - low
    quotient = a.step("ramp quotient", (pair - low) / (arb(LEAST_WIDTH) if is_zero(width) else width))
    return quotient.max(arb(0)).min(arb(1))


def blended(a: Exact, theta: Ball, interpolated: Ball, ramp: Ball) -> Ball:
    """Return ``theta / s * r + theta * (1 - r)``."""
    kept = 1 - ramp
    inside = kept if is_zero(ramp) or is_zero(kept) else a.spread("ramp", kept, arb(1))
    return a.sum(a.product(interpolated, ramp, "blend"), a.product(theta, inside, "blend"), "blend")


def thetas(
    a: Exact,
    *,
    head_dim: int,
    base: float,
    factor: float,
    original_length: int,
    beta_fast: float,
    beta_slow: float,
    truncate: bool,
    **_: Any,
) -> Sequence[Ball]:
    """Return every blended frequency, around all bands that the ramp may have."""
    plain, stretch = rope.thetas(a, head_dim=head_dim, base=base), a.parameter(factor)
    choices = bands(a, head_dim, base, original_length, (beta_fast, beta_slow), truncate=truncate)

    def around(j: int) -> Ball:
        return hull([blended(a, plain[j], shared(a, plain[j], stretch), slowed(a, j, low, high)) for low, high in choices])

    return Lazy(len(plain), around)


def printed(number: float) -> fmpq:
    """Return the number that is printed so."""
    return fmpq(*Fraction(repr(number)).as_integer_ratio())


def growth(a: Exact, factor: float, mscale: float, slope: fmpq = TENTH) -> Ball:
    """Return ``c mscale ln s + 1`` of the slope ``c``, or 1 where nothing is stretched."""
    return slope * a.parameter(mscale) * a.parameter(factor).log() + 1 if factor > 1 else arb(1)


def number(
    a: Exact, *, factor: float, mscale: float | None, mscale_all_dim: float | None, attention_factor: float | None, slope: float, **_: Any
) -> Ball:
    """Return the factor that is given; else the ratio of two growths, where both are set and not 0; else the growth (eq. 22)."""
    if attention_factor is not None:
        return a.parameter(attention_factor)
    part = printed(slope)
    if mscale and mscale_all_dim:
        return a.step("attention factor", growth(a, factor, mscale, part) / growth(a, factor, mscale_all_dim, part))
    return a.step("attention factor", growth(a, factor, 1.0, part))


def handed(a: Exact, **parameters: Any) -> Ball:
    """Return the attention factor as a kernel has it that multiplies by the growth itself, and is handed the quotient."""
    wanted = number(a, **parameters)
    return a.spread("handed factor", wanted) if parameters["factor"] > 1 else wanted


def attention_factor(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Return the number that multiplies cosine and sine."""
    del inputs
    return {"result": ((), [number(a, **parameters)])}


def softmax_scale(a: Exact, inputs: Inputs, *, qk_head_dim: int, factor: float, mscale_all_dim: float | None) -> Results:
    """Return the growth of ``mscale_all_dim``, squared, over the root of the width: DeepSeek's own factor of all logits."""
    del inputs
    grown = arb(1) if not mscale_all_dim else a.step("attention factor", growth(a, factor, mscale_all_dim))
    return {"result": ((), [a.spread("softmax scale", grown * grown / arb(qk_head_dim).sqrt())])}


FORM = Rotary(thetas, handed)
frequencies, rotate, weights, attend = FORM.frequencies, FORM.rotate, FORM.weights, FORM.attend
