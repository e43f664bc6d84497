"""LongRoPE, as the paper has it (Ding et al. 2024, eq. 3) and as it was shipped (Phi-3)."""

from collections.abc import Sequence
from typing import Any

from flint import arb

from conformance.oracle import rope
from conformance.oracle.arithmetic import Ball, Exact
from conformance.oracle.position_interpolation import shared
from conformance.oracle.rotary import Rotary, Turn, circles, turn_all
from conformance.oracle.tensor import Inputs, Lazy, Results, Tensor


def slowed(a: Exact, factors: Tensor, *, head_dim: int, base: float, **_: Any) -> Sequence[Ball]:
    """Return ``theta_j / lambda_j``, one factor for each pair."""
    plain = rope.thetas(a, head_dim=head_dim, base=base)
    return Lazy(len(plain), lambda j: shared(a, plain[j], a.parameter(factors.values[j])))


def thetas(a: Exact, *, inputs: Inputs, original_length: int, length: int, **parameters: Any) -> Sequence[Ball]:
    """Return the frequencies: by the long factors where the sequence is longer than the original length."""
    chosen = inputs["long_factors"] if length > original_length else inputs["short_factors"]
    return slowed(a, chosen, **parameters)


def number(
    a: Exact, *, original_length: int, max_length: int, length: int, short_mscale: float | None, long_mscale: float | None, **_: Any
) -> Ball:
    """Return the number that is given for the length, else ``sqrt(1 + ln s / ln L)``, ``s = M / L``; 1 where nothing is stretched."""
    given = short_mscale if length <= original_length else long_mscale
    if given is not None:
        return a.parameter(given)
    if max_length <= original_length:
        return arb(1)
    stretch = arb(max_length) / arb(original_length)
    return a.step("attention factor", (1 + stretch.log() / arb(original_length).log()).sqrt())


def attention_factor(a: Exact, inputs: Inputs, **parameters: Any) -> Results:
    """Return the number that multiplies cosine and sine."""
    del inputs
    return {"result": ((), [number(a, **parameters)])}


FORM = Rotary(thetas, number)
frequencies, rotate, weights, attend = FORM.frequencies, FORM.rotate, FORM.weights, FORM.attend


def rotate_searched(a: Exact, inputs: Inputs, *, layout: str, direction: str, start_tokens: int, **parameters: Any) -> Results:
    """Turn by ``p theta_j`` before ``start_tokens``, by ``p theta_j / lambda_j`` from there on (eq. 3)."""
    x, positions = inputs["x"], inputs["positions"]
    start, rest = rope.thetas(a, **parameters), slowed(a, inputs["factors"], **parameters)
    early, late = circles(a, start, positions.in_batch), circles(a, rest, positions.in_batch)

    def turns(batch: int, head: int, token: int, pair: int) -> Turn:
        return (early if positions.in_batch(batch, token) < start_tokens else late)(batch, head, token, pair)

    return {"result": turn_all(a, x, turns, layout, direction)}
