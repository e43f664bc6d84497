"""The cases of Transformer-XL: four terms and their scale, distances near, far, clamped and negative, memory, and the shift."""

from collections.abc import Mapping
from typing import Any

from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case

#: What leaves only the slowest pair of four, one head of one channel: the distance alone makes the logit.
SLOWEST: Mapping[str, Any] = {
    "dim": 8, "sizes": {"head": 1, "head_dim": 1}, "k": [[[[0.0], [0.0]]]],
    "position_weight": [[[0.0]], [[0.0]], [[0.0]], [[1.5]], [[0.0]], [[0.0]], [[0.0]], [[-0.75]]],
}
SLOWEST_INTERLEAVED: Mapping[str, Any] = {
    **SLOWEST, "layout": "interleaved", "position_weight": [[[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[1.5]], [[-0.75]]],
}
LEARNED = {"q": (1, 1, 2, 2), "k": (1, 1, 2, 2), "position_weight": (2, 1, 2), "content_bias": (1, 2), "position_bias": (1, 2)}
NARROW = {"head_dim": 2}
ONE_HEAD = {"head": 1, "head_dim": 2}


def good_cases(name: str) -> tuple[Case, ...]:
    """Return the cases that terms, logits, weights and attention share."""
    return (
        Case(f"{name}/first-positions", exposes="the two biases exchanged", sizes=NARROW, dim=4, query_positions=[1, 2],
             key_positions=[0, 1, 2]),
        Case(f"{name}/interleaved", exposes="the layout ignored: sines, then cosines", sizes=NARROW, dim=6, layout="interleaved",
             query_positions=[2, 9], key_positions=[0, 1]),
        Case(f"{name}/key-minus-query", exposes="the sign of the sine", sizes=NARROW, dim=4, sign="key_minus_query",
             query_positions=[9], key_positions=[2, 9]),
        Case(f"{name}/interleaved-key-minus-query", exposes="the sign ignored in one layout", sizes=NARROW, dim=4, layout="interleaved",
             sign="key_minus_query", query_positions=[2, 1], key_positions=[9, 0]),
        Case(f"{name}/key-minus-query-far", exposes="distances in half precision after their sign is taken", sizes=ONE_HEAD, dim=4,
             sign="key_minus_query", query_positions=[2_049], key_positions=[0, 1_792]),
        Case(f"{name}/later-keys", exposes="the next query's numbers above the diagonal of an unmasked shift", sizes=NARROW, dim=4,
             query_positions=[0, 1, 2], key_positions=[0, 1, 2]),
        Case(f"{name}/memory", exposes="queries counted from 0 after a memory", sizes=NARROW, dim=4, query_positions=[3, 4],
             key_positions=[0, 1, 2, 3, 4]),
        Case(f"{name}/decoding", exposes="positions in bfloat16, exact to 256 only", sizes=NARROW, dim=4, query_positions=[257],
             key_positions=[255, 256, 257]),
        Case(f"{name}/half-boundary", exposes="positions in float16, exact to 2048 only", sizes=ONE_HEAD, dim=4, query_positions=[2_049],
             key_positions=[2_047, 2_048]),
        Case(f"{name}/page-boundary", exposes="a table of distances that ends at 4096", sizes=ONE_HEAD, dim=4, base=500_000.0,
             query_positions=[4_097], key_positions=[0, 1, 4_096]),
        Case(f"{name}/far", exposes="a base of 10001, half tables, half frequencies", query_positions=[131_071],
             key_positions=[65_535, 0], **SLOWEST),
        Case(f"{name}/million", exposes="distances that overflow or end", base=1_000_000.0, query_positions=[1_048_576],
             key_positions=[1, 1_048_575], **SLOWEST_INTERLEAVED),
        Case(f"{name}/clamped", exposes="clamp_length ignored", sizes=NARROW, dim=4, clamp_length=2, query_positions=[9],
             key_positions=[0, 1, 8]),
        Case(f"{name}/clamped-later-keys", exposes="negative distances clamped too", sizes=NARROW, dim=4, clamp_length=1,
             query_positions=[0, 2], key_positions=[2, 9]),
        Case(f"{name}/clamped-key-minus-query", exposes="the clamp taken after the sign", sizes=NARROW, dim=4, clamp_length=2,
             sign="key_minus_query", query_positions=[9, 0], key_positions=[0, 9]),
        Case(f"{name}/clamped-far", exposes="a clamp at the length of the segment", clamp_length=4_096, query_positions=[131_071],
             key_positions=[0, 126_976], **SLOWEST),
        Case(f"{name}/small-base", exposes="a base that is ignored: 10000 whatever is asked for", sizes=NARROW, dim=6, base=100.0,
             query_positions=[9], key_positions=[0, 2]),
        Case(f"{name}/inexact-base", exposes="the base truncated to an integer", base=10_000.7, query_positions=[65_535],
             key_positions=[0, 2], **SLOWEST),
        Case(f"{name}/one-pair", exposes="a spacing that divides by dim / 2 - 1", sizes=NARROW, dim=2, query_positions=[9, 2],
             key_positions=[1, 256]),
        Case(f"{name}/one-head", exposes="a scale that only powers of two hide", sizes={"head": 1, "head_dim": 3}, dim=4,
             query_positions=[2, 9], key_positions=[0, 1]),
        Case(f"{name}/wide-head", exposes="the scale of the sinusoid's width", sizes={"head": 1, "head_dim": 16}, dim=2,
             query_positions=[1], key_positions=[0, 2]),
        Case(f"{name}/cube", exposes="the axes of position_weight exchanged", sizes=NARROW, dim=2, query_positions=[1, 9],
             key_positions=[0, 255]),
        Case(f"{name}/three-heads", exposes="heads taken for channels", sizes={"head": 3, "head_dim": 2}, dim=4, query_positions=[1, 2, 9],
             key_positions=[0, 1, 9]),
        Case(f"{name}/batched-positions", exposes="the first row's positions used for every row", sizes={"batch": 2, **ONE_HEAD}, dim=4,
             query_positions=[[2, 3], [9, 10]], key_positions=[[0, 1], [2, 9]]),
        Case(f"{name}/batch-equals-heads", exposes="positions broadcast along the heads", sizes={"batch": 2, **NARROW}, dim=4,
             query_positions=[[1], [9]], key_positions=[[0, 1], [5, 2]]),
        Case(f"{name}/batch-equals-queries", exposes="batch and query swapped", sizes={"batch": 2, **ONE_HEAD}, dim=4,
             query_positions=[2, 9], key_positions=[0, 1]),
        Case(f"{name}/single-token", exposes="distance 0 taken for 1; an axis dropped", sizes=NARROW, dim=4, query_positions=[9],
             key_positions=[9]),
        Case(f"{name}/unsorted", exposes="positions replaced by their index, or sorted", sizes=ONE_HEAD, dim=4,
             query_positions=[9, 2, 2], key_positions=[2, 0, 9]),
        Case(f"{name}/negative-positions", exposes="negative positions clamped or wrapped", sizes=ONE_HEAD, dim=4,
             query_positions=[-1, -9], key_positions=[-257, -9, 0]),
        Case(f"{name}/content-alone", exposes="a relative key that isn't zero where its matrix is", sizes=NARROW, dim=2,
             position_weight=[[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]], query_positions=[2], key_positions=[0, 1]),
        Case(f"{name}/biases-alone", exposes="a global term left out", sizes=ONE_HEAD, dim=4, q=[[[[0.0, 0.0], [0.0, 0.0]]]],
             query_positions=[1, 9], key_positions=[0, 1, 2]),
        Case(f"{name}/common-width", exposes="a slow pair rounded away at the usual width", sizes={"head": 1, "head_dim": 1}, dim=128,
             query_positions=[257], key_positions=[0, 256]),
    )


def bad_cases(name: str) -> tuple[Case, ...]:
    """Return the bad input that terms, logits, weights and attention share."""
    here: dict[str, Any] = {"query_positions": [1], "key_positions": [0]}
    return (
        Case(f"{name}/odd-width", exposes="an odd width rounded silently", sizes=NARROW, dim=5, **here,
             error="dim must be even, got 5"),
        Case(f"{name}/wrong-matrix", exposes="a matrix of another width", sizes={"dim": 6, **NARROW}, dim=4, **here,
             error="axis 'dim' of position_weight must be 4, got 6"),
        Case(f"{name}/one-bias-for-all-heads", exposes="a bias that broadcasts by accident", sizes={"head": 2, **NARROW}, dim=4,
             content_bias=[[0.5, 0.5]], **here, error="axis 'head' is 1 in content_bias but 2 in q"),
        Case(f"{name}/grouped-heads", exposes="key heads shared by accident", sizes={"head": 2, **NARROW}, dim=4, k=[[[[0.5, 0.5]]]],
             **here, error="axis 'head' is 1 in k but 2 in q"),
        Case(f"{name}/no-distance", exposes="every distance clamped away", sizes=NARROW, dim=4, clamp_length=0, **here,
             error="clamp_length must be at least 1, got 0"),
        Case(f"{name}/negative-base", exposes="the root of a negative number", sizes=NARROW, dim=4, base=-1.0, **here,
             error="base must be greater than 0, got -1.0"),
        Case(f"{name}/unknown-layout", exposes="a layout that is taken for another", sizes=NARROW, dim=4, layout="half", **here,
             error="layout must be one of halves, interleaved, got 'half'"),
        Case(f"{name}/real-positions", exposes="positions that aren't integers", sizes=NARROW, dim=4, query_positions=[0.5],
             key_positions=[0], error="query_positions must be integers, got float64"),
    )


def causal_cases(name: str) -> tuple[Case, ...]:
    """Return what weights and attention add: the mask."""
    return (
        Case(f"{name}/causal", exposes="a mask by index, aligned to the first key", sizes=NARROW, dim=4, causal=True,
             query_positions=[3, 4], key_positions=[0, 3, 4, 5]),
        Case(f"{name}/causal-unsorted", exposes="a mask by index, aligned to the last key", sizes=ONE_HEAD, dim=4, causal=True,
             query_positions=[2, 9], key_positions=[9, 2, 0]),
        Case(f"{name}/causal-memory", exposes="the memory hidden", sizes=ONE_HEAD, dim=4, causal=True, query_positions=[2, 3],
             key_positions=[0, 1, 2, 3]),
        Case(f"{name}/causal-batch", exposes="one row's mask for all rows", sizes={"batch": 2, **ONE_HEAD}, dim=2, causal=True,
             query_positions=[[1, 2], [9, 256]], key_positions=[[2, 0], [256, 2]]),
        Case(f"{name}/large-logits", exposes="powers that overflow: a softmax without its row's greatest logit", query_positions=[0, 1],
             key_positions=[0, 1], q=[[[[64.0], [0.25]]]], k=[[[[64.0], [63.0]]]], dim=2,
             position_weight=[[[0.0]], [[0.0]]], content_bias=[[0.0]], position_bias=[[0.0]]),
        Case(f"{name}/unseen-key", exposes="a mask that is asked for every key instead of every query", causal=True,
             query_positions=[[0, 1], [1, 2]], key_positions=[[0, 1, 9], [0, 9, 1]], dim=2,
             sizes={"batch": 2, **ONE_HEAD}),
        Case(f"{name}/one-blind-query", exposes="only a mask that hides everything refused", causal=True, query_positions=[0, 2],
             key_positions=[1], dim=2, sizes=ONE_HEAD,
             error="every query must see a key, got a query before all keys"),
        Case(f"{name}/no-key-seen", exposes="a division by zero", sizes=NARROW, dim=4, causal=True, query_positions=[0],
             key_positions=[1], error="every query must see a key, got a query before all keys"),
    )


def shaped(name: str, exposes: str, memory: int, query: int, *, batch: int = 1, head: int = 1) -> Case:
    """Return a case of the shift, whose scores are a table of the right length."""
    sizes = {"batch": batch, "head": head, "query": query, "distance": memory + query}
    return Case(f"shift/{name}", exposes=exposes, sizes=sizes, memory=memory)


SHIFT_CASES = (
    shaped("no-memory", "rows that aren't moved", 0, 3),
    shaped("one-query", "a decoding step that is moved", 4, 1),
    shaped("one-score", "an axis dropped", 0, 1),
    shaped("two-queries", "the zero column appended instead of prepended", 0, 2),
    shaped("memory", "rows moved by their index alone", 3, 2),
    shaped("memory-equals-queries", "memory and queries exchanged", 3, 3),
    shaped("one-key-of-memory", "memory counted from one", 1, 2),
    shaped("long-memory", "a memory cut at the length of the segment", 9, 2),
    shaped("many-queries", "rows beyond the fourth", 1, 6),
    shaped("two-heads", "heads and queries exchanged", 1, 3, head=2),
    shaped("heads-equal-queries", "the view taken over heads", 2, 3, head=3),
    shaped("batch", "the view taken over the batch", 1, 2, batch=2),
    shaped("batch-and-heads", "batch and heads exchanged", 1, 2, batch=2, head=3),
    shaped("batch-equals-heads", "the first row's scores for every row", 0, 3, batch=2, head=2),
    shaped("batch-of-steps", "rows of the batch taken for queries", 2, 1, batch=3),
    shaped("heads-of-steps", "heads taken for queries", 2, 1, head=3),
    Case("shift/short-table", exposes="a table without the memory", sizes={"query": 2, "distance": 4}, memory=3,
         error="axis 'distance' of scores must be memory + query (5), got 4"),
    Case("shift/both-directions", exposes="a table of 2 K - 1 distances cut silently", sizes={"query": 3, "distance": 5}, memory=0,
         error="axis 'distance' of scores must be memory + query (3), got 5"),
    Case("shift/negative-memory", exposes="a table cut from the wrong end", sizes={"query": 2, "distance": 1}, memory=-1,
         error="memory must be at least 0, got -1"),
)

CASES: tuple[Case, ...] = (
    *(case for name in ("terms", "logits", "weights", "attend") for case in (*good_cases(name), *bad_cases(name))),
    *causal_cases("weights"),
    *causal_cases("attend"),
    *SHIFT_CASES,
    *(case for name in ("terms", "logits", "weights") for case in narrowed(named(name), LEARNED, dim=2, query_positions=[0, 1],
                                                                           key_positions=[0, 1])),
    *narrowed(named("attend"), LEARNED, dim=2, query_positions=[0, 1], key_positions=[0, 1]),
    *narrowed(named("attend"), {"v": (1, 1, 2, 2)}, ending="-values", dim=2, query_positions=[0, 1], key_positions=[0, 1]),
    *narrowed(named("shift"), {"scores": (1, 1, 2, 3)}, memory=1),
)
