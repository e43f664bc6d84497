"""ALiBi, from the paper and its authors' code (Press, Smith, Lewis 2021, section 3)."""

from collections.abc import Callable
from typing import Any

from flint import arb, fmpq

from conformance.oracle.arithmetic import Ball, Exact, floor, power_of_two, size
from conformance.oracle.bias import Number, Place, Weighed
from conformance.oracle.tensor import Inputs, Results

STEPS: dict[str, Callable[[Place], int]] = {
    "row": lambda at: at.key - at.query,
    "column": lambda at: at.key,
    "reversed": lambda at: at.key - at.last,
    "symmetric": lambda at: -abs(at.query - at.key),
}


#: Of a number of heads, which power of ``2^(-max_bias / c)`` every head has, and ``c``.
Powers = list[tuple[int, int]]


def printed(num_heads: int) -> Powers:
    """Return ``h = 1 ... n``, and ``c = n``, the number of heads."""
    return [(power, num_heads) for power in range(1, num_heads + 1)]


def coded(num_heads: int) -> Powers:
    """Return ``h = 1 ... c`` for the largest power of two ``c``; then the odd powers of ``2 c``."""
    whole = 1 << (num_heads.bit_length() - 1)
    return printed(whole) + [(power, 2 * whole) for power in range(1, 2 * (num_heads - whole), 2)]


POWERS: dict[str, Callable[[int], Powers]] = {"paper": printed, "code": coded}


def steepness(a: Exact, num_heads: int, max_bias: float, slopes: str) -> list[Ball]:
    """Return ``m^h``, ``m = 2^(-max_bias / c)``, for every head."""
    return [slope(a, max_bias, power, heads) for power, heads in POWERS[slopes](num_heads)]


def slope(a: Exact, max_bias: float, power: int, heads: int) -> Ball:
    """Return ``(2^(-max_bias / heads))^power``, which may be computed as e to a logarithm where it is a power of two, too."""
    one = a.parameter(max_bias) / heads
    logarithm = -arb(fmpq(power, heads)) * a.parameter(max_bias) * arb.const_log2()
    whole = one.is_exact() and one.is_integer() and heads.bit_count() == 1
    return a.spread("slope", power_of_two(-floor(one) * power) if whole else logarithm.exp(), logarithm=size(logarithm), power=power)


def slopes(a: Exact, inputs: Inputs, *, num_heads: int, max_bias: float, slopes: str) -> Results:
    """Return the slope of every head."""
    del inputs
    return {"result": ((num_heads,), steepness(a, num_heads, max_bias, slopes))}


def heads(a: Exact, _: Inputs, *, num_heads: int, max_bias: float, slopes: str, form: str) -> list[Ball]:
    """Return the slope of every head, whatever the form."""
    del form
    return steepness(a, num_heads, max_bias, slopes)


def steps(_a: Exact, _: Inputs, *, form: str, **_heads: float | str) -> Callable[[int, Place], Ball]:
    """Return ``n - m``, or another count of steps, the same for every head."""
    return lambda _head, place: arb(STEPS[form](place))


class Alibi(Weighed):
    """Slopes times steps; or Falcon's form, in which slope, key's position and product are rounded, and the scale divides the bias."""

    def numbers(self, a: Exact, inputs: Inputs, **parameters: Any) -> tuple[int, Number]:
        """Return the products."""
        if parameters["form"] != "falcon":
            return super().numbers(a, inputs, **parameters)
        rounded = [a.bfloat16(slope) for slope in self.heads(a, inputs, **parameters)]
        return len(rounded), lambda head, place: a.bfloat16(rounded[head] * a.bfloat16(arb(place.key)))

    def share(self, inputs: Inputs, **parameters: Any) -> Ball | int:
        """Return ``1 / sqrt(head_dim)`` in Falcon's form."""
        return 1 / arb(inputs["q"].shape[-1]).sqrt() if parameters["form"] == "falcon" else 1


FORM = Alibi(heads, steps)
bias, weights, attend = FORM.bias, FORM.weights, FORM.attend
