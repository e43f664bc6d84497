"""LeRoPE, from the code of Mistral Large 4: YaRN's frequencies, each times e to an exponent that was learned."""

from collections.abc import Sequence
from typing import Any

from conformance.oracle import yarn
from conformance.oracle.arithmetic import Ball, Exact, is_zero, size
from conformance.oracle.rotary import Rotary
from conformance.oracle.tensor import Inputs, Lazy


def raised(a: Exact, theta: Ball, exponent: Ball) -> Ball:
    """Return ``theta e^alpha``; the frequency itself where the exponent is 0."""
    if is_zero(exponent):
        return theta
    return a.step("learned exponent", theta * exponent.exp(), logarithm=size(theta.log()) + size(exponent))


def thetas(a: Exact, *, inputs: Inputs, **parameters: Any) -> Sequence[Ball]:
    """Return the frequency of every pair."""
    blended, exponents = yarn.thetas(a, **parameters), inputs["exponents"].values
    return Lazy(len(blended), lambda pair: raised(a, blended[pair], a.parameter(exponents[pair])))


FORM = Rotary(thetas)
frequencies, rotate = FORM.frequencies, FORM.rotate
