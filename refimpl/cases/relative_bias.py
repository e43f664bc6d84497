"""The cases of the plain relative bias: each with the mistake that it exposes."""

from refimpl.cases.biases import again, attended, batched, chosen, overflowing
from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case


def rows(max_distance: int, head: int = 2) -> dict[str, int]:
    """Return the sizes of a table for that largest distance."""
    return {"row": 2 * max_distance + 1, "head": head}


BIAS = (
    Case("bias/long-table", exposes="rows that nothing reads", max_distance=1, sizes={"row": 5}, query_positions=[0], key_positions=[0],
         error="table must have 2 max_distance + 1 rows (3), got 5"),
    Case("bias/first-positions", exposes="query minus key: the table mirrored", max_distance=4, sizes=rows(4), query_positions=[0, 1, 2],
         key_positions=[0, 1, 2]),
    Case("bias/query-minus-key", exposes="the sign ignored", max_distance=4, sign="query_minus_key", sizes=rows(4),
         query_positions=[0, 1, 2], key_positions=[0, 1, 2]),
    Case("bias/window", exposes="the window's index counted from its last token", max_distance=4, sign="query_minus_key", sizes=rows(4, 3),
         query_positions=[0, 4, 1], key_positions=[4, 0, 3, 1]),
    Case("bias/wide-window", exposes="rows of a window in bfloat16, exact to 256 only", max_distance=257, sign="query_minus_key",
         sizes=rows(257, 1), query_positions=[257, 0], key_positions=[0, 1, 2, 255, 256]),
    Case("bias/earlier-edge", exposes="the clip one too near for earlier keys", max_distance=3, sizes=rows(3), query_positions=[9],
         key_positions=[5, 6, 7]),
    Case("bias/later-edge", exposes="the clip to [-D, D - 1]: an even table", max_distance=3, sizes=rows(3), query_positions=[2],
         key_positions=[4, 5, 6]),
    Case("bias/both-edges-mirrored", exposes="the clip before the sign", max_distance=2, sign="query_minus_key", sizes=rows(2),
         query_positions=[4], key_positions=[0, 1, 2, 6, 7, 9]),
    Case("bias/decoding", exposes="the query at 0 instead of after the cache", max_distance=9, sizes=rows(9), query_positions=[9],
         key_positions=[0, 1, 2, 8, 9]),
    Case("bias/one-step", exposes="one row on either side taken for none", max_distance=1, sizes=rows(1), query_positions=[1],
         key_positions=[0, 1, 2]),
    Case("bias/one-head", exposes="the head axis dropped; the bias divided by sqrt(head_dim)", max_distance=2, sizes=rows(2, 1),
         query_positions=[1], key_positions=[0, 1]),
    Case("bias/cube", exposes="head, query and key swapped", max_distance=2, sizes=rows(2, 3), query_positions=[0, 2, 9],
         key_positions=[1, 0, 2]),
    Case("bias/square-table", exposes="the table transposed", max_distance=1, sizes=rows(1, 3), query_positions=[0, 2],
         key_positions=[1, 3]),
    Case("bias/five-heads", exposes="a number of heads that is a power of two taken for granted", max_distance=2, sizes=rows(2, 5),
         query_positions=[2], key_positions=[0, 9]),
    Case("bias/byte-boundary", exposes="positions in bfloat16, exact to 256 only", max_distance=2, sizes=rows(2), query_positions=[256],
         key_positions=[255, 256, 257]),
    Case("bias/half-boundary", exposes="positions in float16, exact to 2048 only", max_distance=2, sizes=rows(2), query_positions=[2_048],
         key_positions=[2_047, 2_049]),
    Case("bias/page-boundary", exposes="a table of positions that ends at 4096", max_distance=2, sizes=rows(2), query_positions=[4_097],
         key_positions=[4_095, 4_096]),
    Case("bias/far", exposes="offsets that are not clipped", max_distance=2, sizes=rows(2), query_positions=[131_071],
         key_positions=[0, 65_535, 131_070]),
    Case("bias/million", exposes="positions that overflow or wrap", max_distance=2, sizes=rows(2), query_positions=[1_048_576],
         key_positions=[0, 1_048_575]),
    Case("bias/unsorted", exposes="positions replaced by their index", max_distance=4, sizes=rows(4), query_positions=[9, 0],
         key_positions=[2, 9, 2]),
    Case("bias/negative-positions", exposes="negative positions clamped", max_distance=8, sizes=rows(8), query_positions=[-2],
         key_positions=[-9, -1, 0]),
    Case("bias/common-width", exposes="heads beyond the last full vector lane", max_distance=1, sizes=rows(1, 128), query_positions=[1],
         key_positions=[0]),
    *narrowed(named("bias"), {"table": (3, 2)}, max_distance=1, query_positions=[0, 1], key_positions=[0, 1]),
    Case("bias/short-table", exposes="a look-up beyond the table", max_distance=4, sizes={"row": 8}, query_positions=[0],
         key_positions=[0], error="table must have 2 max_distance + 1 rows (9), got 8"),
    Case("bias/no-distance", exposes="a table of one row", max_distance=0, sizes={"row": 1}, query_positions=[0], key_positions=[0],
         error="max_distance must be at least 1, got 0"),
    Case("bias/real-positions", exposes="positions that aren't integers", max_distance=2, sizes=rows(2), query_positions=[0],
         key_positions=[0.5], error="key_positions must be integers, got float64"),
    Case("bias/unknown-sign", exposes="a sign that doesn't exist", max_distance=2, sign="absolute", sizes=rows(2), query_positions=[0],
         key_positions=[0], error="sign must be one of key_minus_query, query_minus_key, got 'absolute'"),
    *batched("bias", max_distance=4, sizes=rows(4)),
)
#: What attention with the bias is asked too: how offsets become rows.
ROWS = ("both-edges-mirrored", "query-minus-key", "short-table")


def attention_cases(name: str) -> tuple[Case, ...]:
    """Return the cases of attention with the bias, or of its weights."""
    given = attended(name, lambda heads: {"max_distance": 4, "sizes": rows(4, heads)}, (9, 2))
    return (*given, overflowing(name, max_distance=1, table=[[0.5], [0.25], [1.0]]), *again(name, chosen(BIAS, ROWS), head=2))


CASES = (*BIAS, *attention_cases("weights"), *attention_cases("attend"))
