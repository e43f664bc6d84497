"""RetNet, from the paper (Sun et al. 2023, equations 5 and 8), with frequencies as torchscale spaces them."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from flint import arb, fmpq

from conformance.oracle.arithmetic import Ball, Exact, power_of_two, size
from conformance.oracle.bias import Place, added
from conformance.oracle.rotary import Rotary
from conformance.oracle.tensor import Inputs, Lazy, Results


def thetas(a: Exact, *, head_dim: int, base: float, **_: Any) -> Sequence[Ball]:
    """Return ``base^(-j / (d / 2 - 1))``, and 1 for a single pair."""
    pairs = head_dim // 2
    return a.powers("frequency", a.parameter(base), Lazy(pairs, lambda j: fmpq(-j, max(pairs - 1, 1))))


rotate = Rotary(thetas).rotate


def doubling(_: Exact, head: int, __: int) -> Ball:
    """Return ``2^(-5 - h)``, an exact number."""
    return power_of_two(-5 - head)


def spread(a: Exact, head: int, heads: int) -> Ball:
    """Return ``2^(-5 - 4 h / (H - 1))``, a point of a line of logarithms, that of one head being its first."""
    steps = fmpq(4 * head, max(heads - 1, 1))
    logarithm = -(5 + arb(steps)) * arb.const_log2()
    share = power_of_two(-5 - int(steps.p)) if steps.q == 1 else logarithm.exp()
    return a.spread("slope", share, logarithm=size(logarithm), power=1)


RATES: dict[str, Callable[[Exact, int, int], Ball]] = {"doubling": doubling, "spread": spread}


def decay(a: Exact, inputs: Inputs, *, num_heads: int, rates: str) -> Results:
    """Return ``gamma^(m - n)``, whose base is rounded before it is raised; exactly 1 at distance 0, and 0 for later keys."""
    gamma = cache(lambda head: a.step("parameter", 1 - RATES[rates](a, head, num_heads)))

    @cache
    def kept(head: int, apart: int) -> Ball:
        if apart < 1:
            return arb(apart == 0)
        return a.spread("kernel power", gamma(head) ** apart, logarithm=size(apart * gamma(head).log()))

    def number(head: int, place: Place) -> Ball:
        return kept(head, place.query - place.key)

    return {"result": added(inputs, num_heads, number)}
