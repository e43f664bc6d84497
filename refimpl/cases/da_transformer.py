"""The cases of DA-Transformer: each with the mistake that it exposes."""

from typing import Any

from refimpl.cases.biases import batched
from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case

WEIGHTS: dict[str, Any] = {"distance_weight": [0.5, -0.25], "saturation": [1.0, 0.5]}
FALLING: dict[str, Any] = {"distance_weight": [-0.5, -0.0625], "saturation": [1.0, 2.0]}
RISING: dict[str, Any] = {"distance_weight": [0.5, 0.125], "saturation": [1.0, 3.0]}
ONE: dict[str, Any] = {"distance_weight": [0.25], "saturation": [1.0]}
NEAR = [0, 1, 2]
HEADS = {"query_head": 2, "key_head": 2}
SINGLE = {"query_head": 1, "key_head": 1}


def small(like: float) -> list[list[list[list[float]]]]:
    """Return two heads of two positive vectors, small enough that no softmax saturates."""
    return [[[[like, 0.25, 0.5, 0.125], [0.25, like, 0.125, 0.5]], [[0.5, 0.125, like, 0.25], [0.125, 0.5, 0.25, like]]]]


RESCALE = (
    Case("rescale/first-positions", exposes="the distance signed: later keys fall below 1", query_positions=NEAR, key_positions=NEAR,
         **WEIGHTS),
    Case("rescale/rising", exposes="the numerator 1 + e^v missing: distance 0 isn't 1", query_positions=[0], key_positions=[0, 1, 2, 9],
         **RISING),
    Case("rescale/falling", exposes="the weight made positive", query_positions=[0], key_positions=[0, 1, 2, 9], **FALLING),
    Case("rescale/later-and-earlier", exposes="keys on one side left at 1", query_positions=[9], key_positions=[0, 7, 11, 18], **WEIGHTS),
    Case("rescale/no-weight", exposes="distances that count where their weight is 0", query_positions=[9], key_positions=[0, 2, 9],
         distance_weight=[0.0, 1.0], saturation=[1.0, 0.25]),
    Case("rescale/saturation-zero", exposes="the saturation left out: a plain sigmoid, doubled", query_positions=[2], key_positions=NEAR,
         distance_weight=[0.5, -0.5], saturation=[0.0, 0.0]),
    Case("rescale/negative-saturation", exposes="the saturation made absolute", query_positions=[1, 2], key_positions=[0, 9],
         distance_weight=[0.25, -0.125], saturation=[-1.0, -2.0]),
    Case("rescale/one-head", exposes="the head axis dropped", query_positions=[1, 2], key_positions=[0, 2, 9], **ONE),
    Case("rescale/three-heads", exposes="one head's weights for all, or heads in reverse", query_positions=[5], key_positions=[0, 4],
         distance_weight=[0.5, 0.25, -0.5], saturation=[0.5, 1.0, 1.5]),
    Case("rescale/cube", exposes="head, query and key swapped", query_positions=[0, 2, 9], key_positions=[1, 0, 5],
         distance_weight=[0.5, -0.25, 0.125], saturation=[1.0, 0.5, 2.0]),
    Case("rescale/decoding", exposes="the query at 0 instead of after the cache", query_positions=[9], key_positions=[0, 1, 2, 8, 9],
         **WEIGHTS),
    Case("rescale/unsorted", exposes="positions replaced by their index", query_positions=[9, 0], key_positions=[2, 9, 2], **WEIGHTS),
    Case("rescale/negative-positions", exposes="negative positions clamped", query_positions=[-1], key_positions=[-9, -2, 2], **WEIGHTS),
    Case("rescale/byte-boundary", exposes="distances in bfloat16, exact to 256 only", query_positions=[0], key_positions=[255, 256, 257],
         distance_weight=[0.03125, -0.015625], saturation=[9.0, 1.0]),
    Case("rescale/half-boundary", exposes="positions in float16, exact to 2048 only", query_positions=[2_048],
         key_positions=[2_046, 2_047, 2_049], **WEIGHTS),
    Case("rescale/page-boundary", exposes="distances from a table that ends at 4096", query_positions=[4_097], key_positions=[1, 4_095],
         distance_weight=[0.001953125, -0.0009765625], saturation=[8.0, 1.0]),
    Case("rescale/far", exposes="a power that overflows", query_positions=[131_071], key_positions=[0, 65_535, 131_070],
         **WEIGHTS),
    Case("rescale/million", exposes="positions that overflow or wrap", query_positions=[1_048_576], key_positions=[0, 1_048_575],
         distance_weight=[0.0000152587890625, -0.5], saturation=[4.0, 1.0]),
    Case("rescale/overflowing-powers", exposes="a quotient of powers that overflow single precision", query_positions=[0],
         key_positions=[90, 100, 130], distance_weight=[-1.0, 1.0], saturation=[4.0, 10.0]),
    Case("rescale/common-width", exposes="heads beyond the last full vector lane", query_positions=[2], key_positions=[0],
         sizes={"head": 128}),
    Case("rescale/overflow", exposes="an infinite factor: overflow of the sigmoid", query_positions=[0], key_positions=[0],
         distance_weight=[1.0], saturation=[710.0], error="saturation must be below 709.78, got 710.0"),
    Case("rescale/uneven-heads", exposes="weights that broadcast by accident", query_positions=[0], key_positions=[0],
         distance_weight=[1.0, 0.5], saturation=[1.0], error="axis 'head' is 1 in saturation but 2 in distance_weight"),
    Case("rescale/real-positions", exposes="positions that aren't integers", query_positions=[0.5], key_positions=[0], **ONE,
         error="query_positions must be integers, got float64"),
)


def attention_cases(name: str) -> tuple[Case, ...]:
    """Return the cases that attention and its weights share."""
    return (
        Case(f"{name}/first-positions", exposes="no rescaling", query_positions=[0, 1], key_positions=[0, 1], q=small(1.0), k=small(0.75),
             **WEIGHTS),
        Case(f"{name}/clipped", exposes="the ReLU missing: negative logits stay", query_positions=[2, 9], key_positions=NEAR,
             sizes={**HEADS, "head_dim": 4}, **WEIGHTS),
        Case(f"{name}/all-clipped", exposes="a row without a positive logit, which is averaged evenly", query_positions=[2],
             key_positions=[0, 9], sizes={**SINGLE}, q=[[[[1.0, 0.5]]]], k=[[[[-1.0, 0.25], [-0.5, -2.0]]]], **ONE),
        Case(f"{name}/falling", exposes="the weight made positive", query_positions=[0, 9], key_positions=[1, 5], q=small(1.0),
             k=small(0.5), **FALLING),
        Case(f"{name}/rising", exposes="the rescaling added instead of multiplied", query_positions=[0, 9], key_positions=[1, 5],
             q=small(0.5), k=small(0.25), **RISING),
        Case(f"{name}/no-weight", exposes="distances that count where their weight is 0", query_positions=[2, 9], key_positions=[0, 1],
             q=small(0.5), k=small(1.0), distance_weight=[0.0, 0.5], saturation=[1.0, 0.5]),
        Case(f"{name}/grouped-heads", exposes="key heads tiled instead of repeated", query_positions=[2], key_positions=[0, 1],
             sizes={"query_head": 4, "key_head": 2, "head_dim": 3}, distance_weight=[0.5, -0.5, 0.25, -0.25],
             saturation=[1.0, 0.5, 0.25, 2.0]),
        Case(f"{name}/one-key-head", exposes="as many key heads as query heads taken for granted", query_positions=[2, 9],
             key_positions=[0, 1], sizes={"query_head": 3, "key_head": 1, "head_dim": 2}, distance_weight=[0.5, 0.25, -0.5],
             saturation=[0.5, 1.0, 1.5]),
        Case(f"{name}/batch-equals-heads", exposes="batch and head swapped", query_positions=[9], key_positions=[0, 5],
             sizes={**HEADS, "batch": 2, "head_dim": 2}, **WEIGHTS),
        Case(f"{name}/heads-equal-tokens", exposes="heads taken for the tokens", query_positions=[1, 2, 9], key_positions=[0, 2, 5],
             sizes={"query_head": 3, "key_head": 3, "head_dim": 2}, distance_weight=[0.5, 0.25, -0.5], saturation=[0.5, 1.0, 1.5]),
        Case(f"{name}/causal", exposes="future keys seen: a mask that went through the ReLU", causal=True, query_positions=NEAR,
             key_positions=NEAR, sizes={**HEADS, "head_dim": 2}, **WEIGHTS),
        Case(f"{name}/causal-unsorted", exposes="the mask by index instead of position", causal=True, query_positions=[2, 9],
             key_positions=[9, 0, 2, 1], sizes={**SINGLE, "head_dim": 4}, **ONE),
        Case(f"{name}/causal-decoding", exposes="the mask aligned to the first key instead of the last", causal=True,
             query_positions=[3, 4], key_positions=[0, 1, 2, 3, 4], sizes={**SINGLE, "head_dim": 4}, **ONE),
        Case(f"{name}/decoding", exposes="the query at 0 instead of after the cache", query_positions=[257], key_positions=[255, 256, 257],
             sizes={**SINGLE, "head_dim": 2}, **ONE),
        Case(f"{name}/single-token", exposes="the token axis dropped", query_positions=[9], key_positions=[9],
             sizes={**HEADS, "head_dim": 2}, **WEIGHTS),
        Case(f"{name}/negative-positions", exposes="negative positions clamped", query_positions=[-1], key_positions=[-9, -2], q="dense",
             sizes={**HEADS, "head_dim": 2}, **WEIGHTS),
        Case(f"{name}/half-boundary", exposes="positions in float16, exact to 2048 only", query_positions=[2_048],
             key_positions=[2_047, 2_049, 2_046], sizes={**SINGLE, "head_dim": 4}, **ONE),
        Case(f"{name}/page-boundary", exposes="positions clamped at the end of a table", query_positions=[4_097],
             key_positions=[4_095, 4_096, 1], q=[[[[0.5, 0.25]]]], k=[[[[1.0, 0.5], [0.75, 1.0], [2.0, 1.0]]]], distance_weight=[-0.25],
             saturation=[1.0]),
        Case(f"{name}/far-steady", exposes="distances in half precision where they still count", query_positions=[2_049],
             key_positions=[0, 1_792], q=[[[[0.5, 0.25]]]], k=[[[[0.25, 0.5], [0.5, 0.75]]]], distance_weight=[2.0**-10],
             saturation=[1.0]),
        Case(f"{name}/far-rising", exposes="powers of the distance that overflow", query_positions=[131_071], key_positions=[0, 131_069],
             q=[[[[0.5, 0.25]]]], k=[[[[0.25, 0.5], [0.5, 0.75]]]], **ONE),
        Case(f"{name}/million", exposes="positions that overflow or wrap", query_positions=[1_048_576],
             key_positions=[1_048_570, 1_048_575], sizes={**SINGLE, "head_dim": 4}, **ONE),
        Case(f"{name}/far", exposes="a far key that isn't muted", query_positions=[131_071], key_positions=[0, 65_535, 131_070],
             sizes={**SINGLE, "head_dim": 4}, distance_weight=[-0.5], saturation=[1.0]),
        Case(f"{name}/common-width", exposes="a scale that is right for small heads only", query_positions=[2], key_positions=[0, 1],
             sizes={**SINGLE, "head_dim": 128}, **ONE),
        Case(f"{name}/blind-query", exposes="a query that sees no key", causal=True, query_positions=[0], key_positions=[1],
             sizes={**SINGLE, "head_dim": 2}, **ONE, error="every query must see a key, got a query before all keys"),
        Case(f"{name}/large-logits", exposes="powers that overflow: a softmax without its row's greatest logit", query_positions=[0, 1],
             key_positions=[0, 1], q=[[[[64.0], [0.25]]]], k=[[[[64.0], [63.0]]]],
             distance_weight=[0.0], saturation=[1.0]),
        Case(f"{name}/unseen-key", exposes="a mask that is asked for every key instead of every query", causal=True,
             query_positions=[0, 1], key_positions=[0, 1, 9], sizes={**SINGLE, "head_dim": 2}, **ONE),
        Case(f"{name}/one-blind-query", exposes="only a mask that hides everything refused", causal=True, query_positions=[0, 2],
             key_positions=[1], **ONE, sizes={**SINGLE, "head_dim": 2},
             error="every query must see a key, got a query before all keys"),
        Case(f"{name}/no-key-heads", exposes="a division by the number of key heads", query_positions=[0], key_positions=[0],
             sizes={"query_head": 2, "key_head": 0, "head_dim": 2}, **WEIGHTS,
             error="query_head must be a multiple of key_head (0), got 2"),
        Case(f"{name}/uneven-groups", exposes="query heads that don't divide among the key heads", query_positions=[1], key_positions=[0],
             sizes={"query_head": 3, "key_head": 2, "head_dim": 2}, distance_weight=[0.5, 0.25, -0.5], saturation=[0.5, 1.0, 1.5],
             error="query_head must be a multiple of key_head (2), got 3"),
        Case(f"{name}/overflow", exposes="overflow of the sigmoid", query_positions=[0], key_positions=[0],
             sizes={**SINGLE, "head_dim": 2}, distance_weight=[1.0], saturation=[710.0],
             error="saturation must be below 709.78, got 710.0"),
    )


#: The logarithm of the greatest float64, and a number beyond it that float32 can't tell from it.
LIMIT, BEYOND = 709.782712893384, 709.7827138


def overflow_cases(name: str) -> tuple[Case, ...]:
    """Return saturations whose powers are no numbers, in one head of several or by the last digit."""
    shared: dict[str, Any] = {"query_positions": [0], "key_positions": [0]}
    wide: dict[str, Any] = {} if name == "rescale" else {"sizes": {**HEADS, "head_dim": 2}}
    narrow: dict[str, Any] = {} if name == "rescale" else {"sizes": {**SINGLE, "head_dim": 2}}
    return (
        Case(f"{name}/one-overflow", exposes="only the least saturation checked", distance_weight=[1.0, 1.0], saturation=[1.0, 710.0],
             **shared, **wide, error="saturation must be below 709.78, got 710.0"),
        Case(f"{name}/at-the-limit", exposes="the greatest logarithm let through", distance_weight=[1.0], saturation=[LIMIT], **shared,
             **narrow, error=f"saturation must be below 709.78, got {LIMIT}"),
        Case(f"{name}/just-beyond", exposes="a limit in single precision", distance_weight=[1.0], saturation=[BEYOND], **shared, **narrow,
             error=f"saturation must be below 709.78, got {BEYOND}"),
    )


PER_HEAD = {"distance_weight": (1,), "saturation": (1,)}

CASES = (
    *RESCALE,
    *attention_cases("weights"),
    *attention_cases("attend"),
    *(case for name in ("rescale", "weights", "attend") for case in overflow_cases(name)),
    *narrowed(named("rescale"), PER_HEAD, query_positions=[0, 1], key_positions=[0, 1]),
    *narrowed(named("weights"), {"q": (1, 1, 2, 2), "k": (1, 1, 2, 2), **PER_HEAD}, query_positions=[0, 1], key_positions=[0, 1]),
    *narrowed(named("attend"), {"q": (1, 1, 2, 2), "k": (1, 1, 2, 2), "values": (1, 1, 2, 2), **PER_HEAD}, query_positions=[0, 1],
              key_positions=[0, 1]),
    *batched("rescale", **WEIGHTS),
    *(
        case
        for name in ("weights", "attend")
        for case in batched(name, sizes={**HEADS, "batch": 2, "head_dim": 2}, **WEIGHTS)
        if case.error is None
    ),
)
