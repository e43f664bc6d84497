"""ALiBi: subtract from every attention logit the distance times a slope of the head, and learn nothing."""

from typing import Annotated, Literal

from refimpl.arrays import Array, array_namespace, exact_float64, row
from refimpl.spec import Case, Count, KeyPositions, Law, Positive, QueryPositions, Scheme, Source, operation

Form = Literal["row", "column", "reversed", "symmetric"]


@operation
def slopes(*, num_heads: Count, max_bias: Positive = 8.0, like: Array) -> Annotated[Array, "head"]:
    """Return ``2^(-max_bias h / c)``, ``h = 1 ... c``, ``c`` the largest power of two, then every second slope of ``2 c`` (section 3)."""
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


NEAR = [0, 1, 2]

CASES = (
    Case("slopes/one-head", exposes="heads counted from zero: one head has slope 2^-8", num_heads=1),
    Case("slopes/two-heads", exposes="a sequence that starts at 1/2 for any number of heads", num_heads=2),
    Case("slopes/three-heads", exposes="the extra head taken from the wrong end", num_heads=3),
    Case("slopes/four-heads", exposes="2^-h, right for eight heads only", num_heads=4),
    Case("slopes/five-heads", exposes="one extra head: the logarithm rounded up", num_heads=5),
    Case("slopes/six-heads", exposes="one geometric sequence 2^(-8 h / heads) for every number of heads", num_heads=6),
    Case("slopes/seven-heads", exposes="the slopes of eight heads cut short", num_heads=7),
    Case("slopes/eight-heads", exposes="heads counted from zero: the first slope is 1/2", num_heads=8),
    Case("slopes/twelve-heads", exposes="every second slope taken from the even ones", num_heads=12),
    Case("slopes/sixteen-heads", exposes="slopes in half precision: the first that are no power of two", num_heads=16),
    Case("slopes/twenty-heads", exposes="slopes sorted, so that heads are exchanged", num_heads=20),
    Case("slopes/forty-heads", exposes="a running product that drifts", num_heads=40),
    Case("slopes/seventy-one-heads", exposes="a wrong count of extra heads", num_heads=71),
    Case("slopes/common-width", exposes="a root of the ratio in single precision", num_heads=128),
    Case("slopes/larger-bias", exposes="the exponent 8 fixed", num_heads=8, max_bias=16.0),
    Case("slopes/smaller-bias", exposes="the exponent fixed in the extra heads", num_heads=6, max_bias=4.0),
    Case("slopes/odd-bias", exposes="the exponent rounded to an integer", num_heads=4, max_bias=6.5),
    Case("slopes/one-head-bias", exposes="a single head special-cased", num_heads=1, max_bias=1.0),
    Case("slopes/no-heads", exposes="the logarithm of zero", num_heads=0, error="num_heads must be at least 1, got 0"),
    Case("slopes/half-a-head", exposes="a fractional number of heads", num_heads=2.5, error="num_heads must be an int, got 2.5"),
    Case("slopes/negative-bias", exposes="slopes that grow", num_heads=4, max_bias=-8.0, error="max_bias must be greater than 0, got -8.0"),
    Case("slopes/infinite-bias", exposes="slopes that vanish", num_heads=4, max_bias=float("inf"),
         error="max_bias must be finite, got inf"),
    Case("bias/first-positions", exposes="the sign: far keys rewarded", num_heads=2, query_positions=NEAR, key_positions=NEAR),
    Case("bias/one-head", exposes="the head axis dropped", num_heads=1, query_positions=[2, 9], key_positions=[0, 1]),
    Case("bias/decoding", exposes="distances counted over the queries: one query gives zeros", num_heads=4, query_positions=[9],
         key_positions=[0, 1, 2, 8, 9]),
    Case("bias/later-keys", exposes="the distance clamped at 0", num_heads=2, query_positions=[1], key_positions=[0, 1, 2, 9]),
    Case("bias/symmetric", exposes="the distance signed where it should be absolute", num_heads=2, form="symmetric", query_positions=[1, 2],
         key_positions=[0, 2, 9]),
    Case("bias/symmetric-negative", exposes="positions made absolute instead of their distance", num_heads=1, form="symmetric",
         query_positions=[-2, 0], key_positions=[-9, 1]),
    Case("bias/column", exposes="the sign of the column form", num_heads=2, form="column", equality="row_constant", query_positions=[2],
         key_positions=NEAR),
    Case("bias/column-shifted", exposes="the key's index instead of its position", num_heads=1, form="column", equality="row_constant",
         query_positions=[9, 10], key_positions=[0, 2, 9]),
    Case("bias/column-six-heads", exposes="one geometric sequence of slopes in the column form", num_heads=6, form="column",
         equality="row_constant", query_positions=[2], key_positions=NEAR),
    Case("bias/column-far", exposes="key positions in half precision", num_heads=6, form="column", equality="row_constant",
         query_positions=[4_097], key_positions=[0, 257, 2_049, 4_095]),
    Case("bias/column-twelve-heads", exposes="slopes, key index and product in bfloat16", num_heads=12, form="column",
         equality="row_constant", query_positions=[2_049], key_positions=[1, 67, 257, 771]),
    Case("bias/reversed", exposes="keys counted from the first instead of the last", num_heads=2, form="reversed", equality="row_constant",
         query_positions=[1, 2], key_positions=NEAR),
    Case("bias/reversed-unsorted", exposes="the last key by index instead of position", num_heads=1, form="reversed",
         equality="row_constant",
         query_positions=[9], key_positions=[9, 0, 2]),
    Case("bias/reversed-twelve-heads", exposes="extra slopes missing in the reversed form", num_heads=12, form="reversed",
         equality="row_constant", query_positions=[9], key_positions=[0, 9]),
    Case("bias/six-heads", exposes="one geometric sequence 2^(-8 h / heads) for every number of heads", num_heads=6, query_positions=[9],
         key_positions=[0, 2]),
    Case("bias/eight-heads", exposes="the slopes of a rank's own heads: 2^-h starts again", num_heads=8, query_positions=[2],
         key_positions=[1]),
    Case("bias/twelve-heads", exposes="every second slope taken from the even ones", num_heads=12, query_positions=[2], key_positions=[0]),
    Case("bias/sixteen-heads", exposes="slopes in half precision", num_heads=16, query_positions=[9], key_positions=[0]),
    Case("bias/twenty-heads", exposes="slopes sorted", num_heads=20, query_positions=[1], key_positions=[0]),
    Case("bias/seventy-one-heads", exposes="a wrong count of extra heads", num_heads=71, query_positions=[256], key_positions=[1]),
    Case("bias/common-width", exposes="slopes of neighbouring heads exchanged", num_heads=128, query_positions=[131_071],
         key_positions=[0]),
    Case("bias/byte-boundary", exposes="distances in bfloat16, exact to 256 only", num_heads=3, query_positions=[257],
         key_positions=[0, 1, 2]),
    Case("bias/near-byte-boundary", exposes="positions in bfloat16 before they are subtracted", num_heads=3, query_positions=[257],
         key_positions=[255, 256]),
    Case("bias/half-boundary", exposes="distances in float16, exact to 2048 only", num_heads=3, query_positions=[2_049],
         key_positions=[0, 1, 2]),
    Case("bias/page-boundary", exposes="a table of distances that ends at 4096", num_heads=3, query_positions=[4_097],
         key_positions=[0, 1, 2]),
    Case("bias/far", exposes="a distance that is clamped", num_heads=6, query_positions=[131_071], key_positions=[0, 65_535]),
    Case("bias/far-neighbours", exposes="slope times position subtracted from slope times position", num_heads=3,
         query_positions=[131_071, 1_048_576], key_positions=[131_070, 1_048_575]),
    Case("bias/million", exposes="positions that overflow or wrap", num_heads=3, query_positions=[1_048_575, 1_048_576],
         key_positions=[0, 1]),
    Case("bias/larger-bias", exposes="the exponent 8 fixed", num_heads=6, max_bias=16.0, query_positions=[2], key_positions=[0, 1]),
    Case("bias/smaller-bias", exposes="the exponent divided by the heads twice", num_heads=4, max_bias=4.0, form="symmetric",
         query_positions=[0], key_positions=[2]),
    Case("bias/unsorted", exposes="positions replaced by their index", num_heads=2, query_positions=[9, 0], key_positions=[2, 9, 2]),
    Case("bias/cube", exposes="head, query and key swapped", num_heads=3, query_positions=[2, 9, 5], key_positions=NEAR),
    Case("bias/negative-positions", exposes="negative positions clamped", num_heads=2, query_positions=[-1], key_positions=[-9, -2]),
    Case("bias/no-heads", exposes="the logarithm of zero", num_heads=0, query_positions=[0], key_positions=[0],
         error="num_heads must be at least 1, got 0"),
    Case("bias/real-positions", exposes="positions that aren't integers", num_heads=2, query_positions=[0.5], key_positions=[0],
         error="query_positions must be integers, got float64"),
    Case("bias/unknown-form", exposes="a form that doesn't exist", num_heads=2, form="diagonal", query_positions=[0], key_positions=[0],
         error="form must be one of row, column, reversed, symmetric, got 'diagonal'"),
    Case("bias/batched-positions", exposes="an axis that nobody declared", num_heads=2, query_positions=[[0]], key_positions=[0],
         error="query_positions must have axes (query), got shape (1, 1)"),
)

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
