"""ALiBi, from the paper and its authors' code (Press, Smith, Lewis 2021, section 3)."""

from collections.abc import Callable

from flint import arb, fmpq

from conformance.oracle.arithmetic import Ball, Exact, floor, power_of_two, size
from conformance.oracle.bias import Place, Weighed
from conformance.oracle.tensor import Inputs, Results

STEPS: dict[str, Callable[[Place], int]] = {
    "row": lambda at: at.key - at.query,
    "column": lambda at: at.key,
    "reversed": lambda at: at.key - at.last,
    "symmetric": lambda at: -abs(at.query - at.key),
}


def steepness(a: Exact, num_heads: int, max_bias: float) -> list[Ball]:
    """Return ``m^h``, ``m = 2^(-max_bias / c)``, for the largest power of two ``c``; then the odd powers of ``sqrt m``."""
    whole = 1 << (num_heads.bit_length() - 1)
    first = [(power, whole) for power in range(1, whole + 1)]
    rest = [(power, 2 * whole) for power in range(1, 2 * (num_heads - whole), 2)]
    return [slope(a, max_bias, power, heads) for power, heads in first + rest]


def slope(a: Exact, max_bias: float, power: int, heads: int) -> Ball:
    """Return ``(2^(-max_bias / heads))^power``; exact where the number in brackets is a power of two."""
    one = a.parameter(max_bias) / heads
    if one.is_exact() and one.is_integer():
        return power_of_two(-floor(one) * power)
    logarithm = -arb(fmpq(power, heads)) * a.parameter(max_bias) * arb.const_log2()
    return a.spread("slope", logarithm.exp(), logarithm=size(logarithm), power=power)


def slopes(a: Exact, inputs: Inputs, *, num_heads: int, max_bias: float) -> Results:
    """Return the slope of every head."""
    del inputs
    return {"result": ((num_heads,), steepness(a, num_heads, max_bias))}


def heads(a: Exact, _: Inputs, *, num_heads: int, max_bias: float, form: str) -> list[Ball]:
    """Return the slope of every head, whatever the form."""
    del form
    return steepness(a, num_heads, max_bias)


def steps(_a: Exact, _: Inputs, *, form: str, **_heads: float) -> Callable[[int, Place], Ball]:
    """Return ``n - m``, or another count of steps, the same for every head."""
    return lambda _head, place: arb(STEPS[form](place))


FORM = Weighed(heads, steps)
bias, weights, attend = FORM.bias, FORM.weights, FORM.attend
