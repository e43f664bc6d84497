"""The cases of Shaw's relative representations: the rows of the table at both ends, both signs, and positions where formats end."""

from typing import Any

from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case

SMALL = {"row": 5, "head_dim": 4}
NARROW = {"row": 5, "head_dim": 2, "query_head": 1}
TINY = {"row": 3, "head_dim": 2, "query_head": 1}


def common_cases(name: str) -> tuple[Case, ...]:
    """Return the good cases that logits, weights and attention must all pass."""
    two: dict[str, Any] = {"max_distance": 2}
    return (
        Case(f"{name}/first-positions", exposes="query minus key: the table mirrored", sizes=SMALL, query_positions=[0, 1, 2],
             key_positions=[0, 1, 2], **two),
        Case(f"{name}/decoding", exposes="the query at 0, or every distance 0, instead of after the cache", max_distance=4,
             sizes={"row": 9, "head_dim": 4}, query_positions=[9], key_positions=[0, 1, 2, 5, 7, 8, 9]),
        Case(f"{name}/chunk", exposes="all queries of a chunk at the last key's position", sizes=SMALL, query_positions=[3, 4],
             key_positions=[1, 2, 3, 4], **two),
        Case(f"{name}/clipped-later", exposes="a table read beyond its last row", sizes=SMALL, query_positions=[0],
             key_positions=[1, 2, 3, 4, 9], **two),
        Case(f"{name}/clipped-earlier", exposes="a table read before its first row", sizes=SMALL, query_positions=[9],
             key_positions=[0, 5, 6, 7, 8], **two),
        Case(f"{name}/query-minus-key", exposes="the sign of the distance fixed", sign="query_minus_key", sizes=SMALL,
             query_positions=[0, 3], key_positions=[0, 1, 2], **two),
        Case(f"{name}/earlier-positive", exposes="one side of the table read for both", max_distance=3, sign="query_minus_key",
             sizes={"row": 7, "head_dim": 4}, query_positions=[0, 1, 2, 3], key_positions=[0, 1, 2, 3]),
        Case(f"{name}/earlier-positive-decoding", exposes="the query's distance counted from the start of the cache", max_distance=4,
             sign="query_minus_key", sizes={"row": 9, "head_dim": 2}, query_positions=[13], key_positions=[9, 10, 11, 12, 13]),
        Case(f"{name}/earlier-positive-far", exposes="the sign lost where positions are large", max_distance=1, sign="query_minus_key",
             sizes=TINY, query_positions=[65_535, 65_536], key_positions=[65_536, 65_535]),
        Case(f"{name}/lower-closed", exposes="the last row looked up at max_distance, where the table has none", clip="lower_closed",
             sizes={**SMALL, "row": 4}, query_positions=[2], key_positions=[0, 1, 2, 3, 4, 5], **two),
        Case(f"{name}/speech", exposes="one end closed, at the wrong end", sign="query_minus_key", clip="lower_closed",
             sizes={**SMALL, "row": 4}, query_positions=[2], key_positions=[0, 1, 2, 3, 4, 5], **two),
        Case(f"{name}/lower-closed-three", exposes="rows counted by a power of two", clip="lower_closed", max_distance=3,
             sizes={"row": 6, "head_dim": 2}, query_positions=[4], key_positions=[0, 3, 4, 9]),
        Case(f"{name}/wide-table", exposes="distances or rows in bfloat16, exact to 256 only", max_distance=300,
             sizes={"row": 601, "head_dim": 1, "query_head": 1}, query_positions=[300], key_positions=[0, 43, 257, 300]),
        Case(f"{name}/wide-table-mirrored", exposes="distances in bfloat16 after their sign is taken", max_distance=300,
             sign="query_minus_key", sizes={"row": 601, "head_dim": 1, "query_head": 1}, query_positions=[300], key_positions=[0, 43, 300]),
        Case(f"{name}/nearest-only", exposes="max_distance fixed, or off by one", max_distance=1, sizes={"row": 3, "head_dim": 4},
             query_positions=[1, 4], key_positions=[0, 1, 2, 3]),
        Case(f"{name}/grouped-heads", exposes="key heads tiled instead of repeated", sizes={**SMALL, "query_head": 4, "key_head": 2},
             query_positions=[0, 1], key_positions=[0, 1], **two),
        Case(f"{name}/six-heads", exposes="a number of heads that is no power of two", sizes={**SMALL, "query_head": 6, "key_head": 3},
             query_positions=[1], key_positions=[0, 2], **two),
        Case(f"{name}/batch-equals-heads", exposes="batch and head exchanged", sizes={**NARROW, "batch": 3, "query_head": 3},
             query_positions=[0, 1], key_positions=[1, 0], **two),
        Case(f"{name}/batch-equals-tokens", exposes="batch and token exchanged", sizes={**NARROW, "batch": 2}, query_positions=[0, 2],
             key_positions=[0, 1], **two),
        Case(f"{name}/batched-positions", exposes="the first row's positions used for every row", sizes={**NARROW, "batch": 2},
             query_positions=[[0, 1], [5, 7]], key_positions=[[0, 1, 2], [7, 5, 6]], **two),
        Case(f"{name}/batched-keys", exposes="an optional axis taken for another", sizes={**NARROW, "batch": 2}, query_positions=[2, 1],
             key_positions=[[0, 1], [2, 3]], **two),
        Case(f"{name}/single", exposes="the axis of a lone token dropped", max_distance=1, sizes={**TINY, "query_head": 1},
             query_positions=[9], key_positions=[9]),
        Case(f"{name}/odd-width", exposes="a width taken to be even", max_distance=1, sizes={"row": 3, "head_dim": 3},
             query_positions=[0, 1], key_positions=[0, 1, 2]),
        Case(f"{name}/common-width", exposes="a scale fixed for another width", max_distance=1, clip="lower_closed",
             sizes={"row": 2, "head_dim": 128, "query_head": 1}, query_positions=[0], key_positions=[0, 1]),
        Case(f"{name}/sparse", exposes="channels exchanged between query and table", q="sparse", sizes={"row": 5, "head_dim": 8},
             query_positions=[0, 1], key_positions=[0, 1], **two),
        Case(f"{name}/byte-boundary", exposes="positions in bfloat16, exact to 256 only", sizes=NARROW,
             query_positions=[255, 256, 257], key_positions=[255, 256, 257], **two),
        Case(f"{name}/half-boundary", exposes="positions in float16, exact to 2048 only", sizes=NARROW,
             query_positions=[2047, 2048, 2049], key_positions=[2047, 2048, 2049], **two),
        Case(f"{name}/page-boundary", exposes="a table of distances that ends at 4096", sizes=NARROW, query_positions=[4095, 4097],
             key_positions=[4095, 4096, 4097], **two),
        Case(f"{name}/far", exposes="distances in half precision, or wrapped at a byte", sizes=NARROW, query_positions=[131_071],
             key_positions=[0, 65_535, 131_069, 131_070], **two),
        Case(f"{name}/million", exposes="distances that overflow", max_distance=1, sizes=TINY, query_positions=[1_048_575, 1_048_576],
             key_positions=[0, 1_048_575, 1_048_576]),
        Case(f"{name}/unsorted", exposes="positions replaced by their index", sizes=NARROW, query_positions=[9, 0],
             key_positions=[2, 9, 2, 1], **two),
        Case(f"{name}/negative-positions", exposes="negative positions clamped", sizes=NARROW, query_positions=[-2],
             key_positions=[-9, -4, -3, -1, 0], **two),
        Case(f"{name}/zero-table", exposes="an edge where the table has none: plain attention", max_distance=1,
             sizes={"head_dim": 4}, key_table=[[0.0] * 4] * 3, query_positions=[0, 1], key_positions=[0, 1]),
    )


def bad_cases(name: str) -> tuple[Case, ...]:
    """Return the bad input that logits, weights and attention must all refuse."""
    near: dict[str, Any] = {"query_positions": [0], "key_positions": [0]}
    return (
        Case(f"{name}/short-table", exposes="a look-up beyond the table", max_distance=4, sizes={"row": 8}, **near,
             error="key_table must have 2 max_distance + 1 rows (9), got 8"),
        Case(f"{name}/long-table", exposes="rows that nothing reads", max_distance=2, sizes={"row": 9}, **near,
             error="key_table must have 2 max_distance + 1 rows (5), got 9"),
        Case(f"{name}/symmetric-table-for-lower-closed", exposes="a table of another convention", max_distance=2, clip="lower_closed",
             sizes={"row": 5}, **near, error="key_table must have 2 max_distance rows (4), got 5"),
        Case(f"{name}/no-distance", exposes="a table of one row", max_distance=0, sizes={"row": 1}, **near,
             error="max_distance must be at least 1, got 0"),
        Case(f"{name}/other-width", exposes="a table of the model's width", max_distance=1, sizes={"row": 3, "head_dim": 4},
             key_table=[[0.0] * 8] * 3, q=[[[[0.0] * 4]]], **near, error="axis 'head_dim' is 8 in key_table but 4 in q"),
        Case(f"{name}/no-key-heads", exposes="a division by the number of key heads", query_positions=[0], key_positions=[0],
             max_distance=1, sizes={"row": 3, "query_head": 2, "key_head": 0},
             error="query_head must be a multiple of key_head (0), got 2"),
        Case(f"{name}/uneven-groups", exposes="query heads that share no whole number of key heads", max_distance=1,
             sizes={"row": 3, "query_head": 3, "key_head": 2}, **near, error="query_head must be a multiple of key_head (2), got 3"),
        Case(f"{name}/unknown-sign", exposes="a sign taken for the default", max_distance=1, sign="absolute", sizes={"row": 3}, **near,
             error="sign must be one of key_minus_query, query_minus_key, got 'absolute'"),
        Case(f"{name}/real-positions", exposes="positions that aren't integers", max_distance=1, sizes={"row": 3}, query_positions=[0],
             key_positions=[0.5], error="key_positions must be integers, got float64"),
    )


def masked_cases(name: str) -> tuple[Case, ...]:
    """Return the cases of weights and attention under a causal mask."""
    causal: dict[str, Any] = {"causal": True, "max_distance": 2}
    return (
        Case(f"{name}/causal", exposes="a mask that hides nothing", sizes=SMALL, query_positions=[0, 1, 2],
             key_positions=[0, 1, 2], **causal),
        Case(f"{name}/causal-decoding", exposes="a mask by index: the one query sees the first key only", sizes=SMALL,
             query_positions=[2], key_positions=[0, 1, 2, 3], **causal),
        Case(f"{name}/causal-earlier-positive", exposes="the mask turned round with the sign", sizes=SMALL, sign="query_minus_key",
             query_positions=[0, 1, 2], key_positions=[2, 1, 0], **causal),
        Case(f"{name}/causal-unsorted", exposes="a mask by index where keys are not in order", sizes=SMALL, query_positions=[9, 1],
             key_positions=[2, 9, 0], **causal),
        Case(f"{name}/large-logits", exposes="powers that overflow: a softmax without its row's greatest logit", query_positions=[0, 1],
             key_positions=[0, 1], q=[[[[64.0], [0.25]]]], k=[[[[64.0], [63.0]]]],
             max_distance=2, key_table=[[0.0]] * 5),
        Case(f"{name}/unseen-key", exposes="a mask that is asked for every key instead of every query", causal=True,
             query_positions=[[0, 1], [1, 2]], key_positions=[[0, 1, 9], [0, 9, 1]], sizes={**NARROW, "batch": 2},
             max_distance=2),
        Case(f"{name}/one-blind-query", exposes="only a mask that hides everything refused", causal=True, query_positions=[0, 2],
             key_positions=[1], sizes=NARROW, max_distance=2,
             error="every query must see a key, got a query before all keys"),
        Case(f"{name}/before-all-keys", exposes="the softmax of nothing", sizes=SMALL, query_positions=[0], key_positions=[1, 2], **causal,
             error="every query must see a key, got a query before all keys"),
    )


VALUE_CASES = (
    Case("attend/no-value-edges", exposes="an edge of the keys added to the values", max_distance=1, sizes={"head_dim": 4},
         value_table=[[0.0] * 4] * 3, query_positions=[0, 1], key_positions=[0, 1]),
    Case("attend/no-tables", exposes="anything but plain attention where both tables are zero", max_distance=1, sizes={"head_dim": 4},
         key_table=[[0.0] * 4] * 3, value_table=[[0.0] * 4] * 3, query_positions=[0, 1], key_positions=[0, 1, 9]),
    Case("attend/speech-model", exposes="an edge added to the values of a model that has none", max_distance=2, sign="query_minus_key",
         clip="lower_closed", sizes={"row": 4, "head_dim": 2}, value_table=[[0.0] * 2] * 4, query_positions=[0, 1, 2, 3],
         key_positions=[0, 1, 2, 3]),
    Case("attend/relative-key", exposes="the value's edge in a model of keys' edges only", max_distance=2, sign="query_minus_key",
         sizes={"head_dim": 2}, value_table=[[0.0] * 2] * 5, query_positions=[0, 1, 2], key_positions=[0, 1, 2]),
    Case("attend/relative-key-decoding", exposes="the query's row of a cache that is read from the start", max_distance=4,
         sign="query_minus_key", sizes={"head_dim": 2}, value_table=[[0.0] * 2] * 9, query_positions=[13],
         key_positions=[9, 10, 11, 12, 13]),
    Case("attend/relative-key-batched", exposes="one row's positions for the whole batch", max_distance=2, sign="query_minus_key",
         sizes={"head_dim": 2, "batch": 2}, value_table=[[0.0] * 2] * 5, query_positions=[[0, 1], [8, 7]], key_positions=[[1, 0], [6, 7]]),
    Case("attend/relative-key-causal", exposes="a mask of another shape than the edges", max_distance=2, sign="query_minus_key",
         causal=True, sizes={"head_dim": 4}, value_table=[[0.0] * 4] * 5, query_positions=[0, 1, 2], key_positions=[0, 1, 2]),
    Case("attend/no-values", exposes="the edges of values forgotten: all that is left", max_distance=2, sizes=SMALL,
         v=[[[[0.0] * 4] * 4] * 2], query_positions=[1, 4], key_positions=[0, 1, 2, 9]),
    Case("attend/short-value-table", exposes="a look-up beyond the value table", max_distance=2, key_table=[[0.0] * 2] * 5,
         value_table=[[0.0] * 2] * 4, query_positions=[0], key_positions=[0], error="axis 'row' is 4 in value_table but 5 in key_table"),
)

CASES = (
    *common_cases("logits"),
    *bad_cases("logits"),
    *common_cases("weights"),
    *masked_cases("weights"),
    *bad_cases("weights"),
    *common_cases("attend"),
    *masked_cases("attend"),
    *VALUE_CASES,
    *narrowed(named("logits"), {"q": (1, 1, 2, 2), "k": (1, 1, 2, 2), "key_table": (3, 2)},
              query_positions=[0, 1], key_positions=[0, 1], max_distance=1),
    *narrowed(named("weights"), {"q": (1, 1, 2, 2), "k": (1, 1, 2, 2), "key_table": (3, 2)},
              query_positions=[0, 1], key_positions=[0, 1], max_distance=1),
    *narrowed(named("attend"), {"q": (1, 1, 2, 2), "k": (1, 1, 2, 2), "key_table": (3, 2)}, query_positions=[0, 1], key_positions=[0, 1],
              max_distance=1),
    *narrowed(named("attend"), {"v": (1, 1, 2, 2), "value_table": (3, 2)}, ending="-values", query_positions=[0, 1], key_positions=[0, 1],
              max_distance=1, key_table=[[0.25, -0.5], [0.5, 0.25], [-0.5, 0.5]]),
    *bad_cases("attend"),
)
