"""ALiBi, from the paper and its authors' code (Press, Smith, Lewis 2021, section 3)."""

from collections.abc import Callable

from flint import arb, fmpq

from conformance.oracle.arithmetic import Ball, Exact, floor, power_of_two, size
from conformance.oracle.tensor import Inputs, Results, over

STEPS: dict[str, Callable[[int, int, int], int]] = {
    "row": lambda query, key, _: key - query,
    "column": lambda _query, key, _last: key,
    "reversed": lambda _query, key, last: key - last,
    "symmetric": lambda query, key, _: -abs(query - key),
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


def bias(a: Exact, inputs: Inputs, *, num_heads: int, max_bias: float, form: str) -> Results:
    """Return a slope times ``n - m``, or another count of steps."""
    queries, keys = ([int(p) for p in inputs[name].values] for name in ("query_positions", "key_positions"))
    heads, last = steepness(a, num_heads, max_bias), max(keys, default=0)

    def added(head: int, query: int, key: int) -> Ball:
        count = STEPS[form](queries[query], keys[key], last)
        return a.product(heads[head], arb(count), "bias") if count else arb(0)

    return {"result": over((num_heads, len(queries), len(keys)), added)}
