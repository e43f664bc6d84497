"""ALiBi: subtract from every attention logit the distance times a slope of the head, and learn nothing."""

from typing import Annotated, Literal

from refimpl.arrays import Array, array_namespace, exact_float64, row
from refimpl.spec import Case, Count, KeyPositions, Law, Positive, QueryPositions, Scheme, Source, operation

Form = Literal["row", "column", "reversed", "symmetric"]


@operation
def slopes(*, num_heads: Count, max_bias: Positive = 8.0, like: Array) -> Annotated[Array, "head"]:
    """Return ``2^(-max_bias h / c)`` for heads ``h = 1 ... c``, the largest power of two, then every second slope of ``2 c`` heads (section 3)."""
    whole = 1 << (num_heads.bit_length() - 1)
    first = [head / whole for head in range(1, whole + 1)]
    rest = [head / (2 * whole) for head in range(1, 2 * (num_heads - whole), 2)]
    return 2.0 ** (-max_bias * row(first + rest, like=like))


def steps(query: Array, key: Array, form: str) -> Array:
    """Return what the slope multiplies: ``n - m``, ``n``, ``n - last``, or ``-|m - n|``."""
    xp = array_namespace(query, key)
    if form == "row":
        return key - query
    if form == "symmetric":
        return -xp.abs(key - query)
    start = xp.max(key) if form == "reversed" else xp.zeros_like(xp.max(key))
    return xp.broadcast_to(key - start, (query.shape[0], key.shape[1]))


@operation
def bias(
    query_positions: QueryPositions,
    key_positions: KeyPositions,
    *,
    num_heads: Count,
    max_bias: Positive = 8.0,
    form: Form = "row",
) -> Annotated[Array, "head query key"]:
    """Return ``-slope (m - n)`` for query position ``m`` and key position ``n``, or another form of it, in float64 (section 3)."""
    query, key = exact_float64(query_positions)[:, None], exact_float64(key_positions)[None, :]
    head = slopes(num_heads=num_heads, max_bias=max_bias, like=query_positions)
    return head[:, None, None] * steps(query, key, form)[None, :, :]


CASES: tuple[Case, ...] = ()

SCHEME = Scheme(
    name="alibi",
    operations=(slopes, bias),
    source=Source("Press, Smith, Lewis 2021, Train Short, Test Long", "https://arxiv.org/abs/2108.12409", equations="section 3"),
    laws={
        "slopes": (Law.SLOPES_IN_UNIT_INTERVAL,),
        "bias": (Law.TRANSLATION, Law.ROW_CONSTANT, Law.HOMOGENEOUS, Law.MONOTONE, Law.ZERO_AT_ORIGIN),
    },
    cases=CASES,
    summary="Subtract from every attention logit the distance times a slope of the head.",
)
