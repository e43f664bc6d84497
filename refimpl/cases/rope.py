"""The cases of rope: positions where formats end, every layout and direction, and batches that look like heads."""

from typing import Any

from refimpl.cases import ladder
from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case

NEAR, FAR = [0, 1, 2, 9], [65_535, 131_071]


def layout_cases(name: str, layout: str, suffix: str) -> tuple[Case, ...]:
    """Return the cases of a rotation that either of the common layouts must pass."""
    shared: dict[str, Any] = {"head_dim": 4, "layout": layout}
    return (
        Case(f"{name}/byte-boundary{suffix}", exposes="positions in bfloat16, exact to 256 only", positions=[255, 256, 257], **shared),
        Case(f"{name}/page-boundary{suffix}", exposes="a table that ends at 4096", positions=[4095, 4096, 4097], **shared),
        Case(f"{name}/shifted{suffix}", exposes="a cache that forgets its offset", positions=[9, 10, 11], **shared),
        Case(f"{name}/negative-positions{suffix}", exposes="negative positions clamped or wrapped", positions=[-1, -9, -257], **shared),
        Case(f"{name}/batched-positions{suffix}", exposes="the first row's positions used for every row", sizes={"batch": 2, "head": 1},
             positions=[[0, 1, 2], [7, 255, 9]], **shared),
    )


def rotate_case(name: str, exposes: str, **arguments: Any) -> Case:
    """Return a case of the rotation of one array."""
    return Case(f"rotate/{name}", exposes=exposes, **arguments)


def rotation_cases(name: str) -> tuple[Case, ...]:
    """Return the cases that a rotation and its gradient share."""
    return (
        *layout_cases(name, "interleaved", ""),
        *layout_cases(name, "half", "-half"),
        Case(f"{name}/first-positions", exposes="positions counted from one; angles in degrees", head_dim=4, positions=[0, 1, 2]),
        Case(f"{name}/half-layout", exposes="the layout ignored: pairs side by side", head_dim=8, layout="half", positions=[0, 1, 9]),
        Case(f"{name}/interleaved-to-half", exposes="pairs written back in place", head_dim=6, layout="interleaved_to_half",
             positions=[0, 2, 9]),
        Case(f"{name}/negative-direction", exposes="the sign of the sine", head_dim=4, direction="negative", positions=[1, 9]),
        Case(f"{name}/half-negative", exposes="direction ignored once", head_dim=4, layout="half", direction="negative", positions=[1, 2]),
        Case(f"{name}/one-pair", exposes="a division by head_dim - 2", head_dim=2, positions=[0, 1, 257]),
        Case(f"{name}/six-wide", exposes="a width that is a power of two taken for granted", head_dim=6, layout="half", positions=[2, 9]),
        Case(f"{name}/half-boundary", exposes="positions in float16, exact to 2048 only", head_dim=4, base=500_000.0, layout="half",
             positions=[2047, 2048, 2049]),
        Case(f"{name}/far", exposes="half tables, half frequencies, fast sines without range reduction", head_dim=8, positions=FAR),
        Case(f"{name}/far-half-layout", exposes="frequencies of one layout, pairs of the other", head_dim=8, layout="half",
             base=1_000_000.0, positions=FAR),
        Case(f"{name}/million", exposes="positions that overflow or end", head_dim=8, layout="half", positions=[1_048_575, 1_048_576]),
        Case(f"{name}/million-interleaved", exposes="a running product that drifts a lot", head_dim=8, positions=[1_048_575, 1_048_576]),
        Case(f"{name}/inexact-base", exposes="the base rounded to an integer or to half precision", head_dim=8, base=10_000.7,
             layout="half", positions=[9, 4_097]),
        Case(f"{name}/small-base", exposes="a base that is ignored: 10000 whatever is asked for", head_dim=6, base=100.0, positions=[2, 9]),
        Case(f"{name}/unsorted", exposes="positions replaced by their index, or sorted", head_dim=4, layout="half", positions=[9, 2, 2, 0]),
        Case(f"{name}/single-token", exposes="the token axis dropped while decoding", head_dim=4, layout="half", positions=[256]),
        Case(f"{name}/batch-equals-heads", exposes="positions broadcast along the heads", head_dim=4, layout="half",
             sizes={"batch": 2, "head": 2}, positions=[[0, 9], [5, 1]]),
        Case(f"{name}/decoding-a-batch", exposes="one token for several rows: batch and token swapped", head_dim=4,
             sizes={"batch": 3, "head": 1}, positions=[[4], [0], [9]]),
        Case(f"{name}/batch-equals-tokens", exposes="batch, token swapped", head_dim=4, sizes={"batch": 3, "head": 1}, positions=[0, 1, 2]),
        Case(f"{name}/heads-equal-tokens", exposes="heads taken for the tokens", head_dim=2, sizes={"head": 3}, positions=[1, 2, 9]),
        Case(f"{name}/common-width", exposes="a slow pair rounded away at the usual head width", head_dim=128, layout="half",
             sizes={"head": 1}, positions=[131_071]),
        Case(f"{name}/odd-width", exposes="an odd width rounded silently", head_dim=5, sizes={"token": 1}, positions=[0],
             error="head_dim must be even, got 5"),
        Case(f"{name}/too-few-positions", exposes="positions that broadcast by accident", head_dim=4, sizes={"token": 2}, positions=[3],
             error="axis 'token' is 1 in positions but 2 in x"),
        Case(f"{name}/negative-base", exposes="the root of a negative number", head_dim=4, base=-1.0, positions=[0],
             error="base must be greater than 0, got -1.0"),
    )


def pair_cases(name: str) -> tuple[Case, ...]:
    """Return the cases that everything with queries and keys shares."""
    return (
        Case(f"{name}/first-positions", exposes="keys turned as queries are", head_dim=4, query_positions=[1, 2], key_positions=[0, 1, 2]),
        Case(f"{name}/half-layout", exposes="queries and keys in different layouts", head_dim=8, layout="half", query_positions=[2, 9],
             key_positions=[0, 1]),
        Case(f"{name}/interleaved-to-half", exposes="only one of the two permuted", head_dim=6, layout="interleaved_to_half",
             query_positions=[2], key_positions=[0, 9]),
        Case(f"{name}/negative-direction", exposes="queries and keys turned in opposite directions", head_dim=4, direction="negative",
             query_positions=[9], key_positions=[1, 2]),
        Case(f"{name}/half-negative", exposes="direction ignored in one layout", head_dim=4, layout="half", direction="negative",
             query_positions=[9, 1], key_positions=[2]),
        Case(f"{name}/decoding", exposes="the query at 0 instead of after the cache", head_dim=4, layout="half", query_positions=[257],
             key_positions=[255, 256, 257]),
        Case(f"{name}/half-boundary", exposes="half positions", head_dim=4, query_positions=[2049], key_positions=[2047, 2048, 2049]),
        Case(f"{name}/page-boundary", exposes="a table that ends at 4096", head_dim=4, base=500_000.0, query_positions=[4097],
             key_positions=[4095, 4096]),
        Case(f"{name}/far", exposes="half tables at far positions", head_dim=8, q="sparse", k="sparse", query_positions=[131_071],
             key_positions=[65_535, 131_071]),
        Case(f"{name}/million", exposes="positions that overflow or wrap", head_dim=8, layout="half", q="sparse", k="sparse",
             query_positions=[1_048_576], key_positions=[1_048_575, 1_048_576]),
        Case(f"{name}/grouped-heads", exposes="key heads tiled instead of repeated", head_dim=4, sizes={"query_head": 4, "key_head": 2},
             query_positions=[2], key_positions=[0, 1]),
        Case(f"{name}/one-key-head", exposes="as many key heads as query heads taken for granted", head_dim=4,
             sizes={"query_head": 3, "key_head": 1}, query_positions=[2, 9], key_positions=[0, 1]),
        Case(f"{name}/batched-positions", exposes="the first row's positions used for every row", head_dim=4,
             sizes={"batch": 2, "query_head": 1, "key_head": 1}, query_positions=[[2, 3], [9, 10]], key_positions=[[0, 1], [7, 9]]),
        Case(f"{name}/batch-equals-heads", exposes="positions broadcast along the heads", head_dim=4, layout="half",
             sizes={"batch": 2, "query_head": 2, "key_head": 2}, query_positions=[[1], [9]], key_positions=[[0], [5]]),
        Case(f"{name}/small-base", exposes="a base that is ignored", head_dim=4, base=100.0, query_positions=[9], key_positions=[0, 2]),
        Case(f"{name}/negative-positions", exposes="negative positions clamped", head_dim=4, query_positions=[-1], key_positions=[-9, -2]),
        Case(f"{name}/common-width", exposes="a slow pair rounded away at the usual head width", head_dim=128, layout="half", q="sparse",
             k="sparse", sizes={"query_head": 1, "key_head": 1}, query_positions=[131_071], key_positions=[2]),
    )


def permute_case(name: str, exposes: str, **arguments: Any) -> Case:
    """Return a case of the permutation of two heads of six channels, of a weight with five columns unless said."""
    return Case(f"permute/{name}", exposes=exposes, **{"num_heads": 2, "head_dim": 6, "sizes": {"input": 5}, **arguments})


BACK: dict[str, Any] = {"conversion": "half_to_interleaved"}
PERMUTATIONS = (
    permute_case("to-half", "rows left where they are"),
    permute_case("to-interleaved", "the inverse permutation, or none", **BACK),
    permute_case("one-head", "rows of the heads' axis moved", num_heads=1),
    permute_case("one-column", "an axis of one column dropped", sizes={"input": 1}),
    permute_case("square", "columns moved instead of rows", sizes={"input": 12}),
    permute_case("grouped", "as many heads as fill the input taken for granted", sizes={"input": 24}),
    permute_case("grouped-back", "as many heads as fill the input, on the way back", sizes={"input": 24}, **BACK),
    permute_case("one-key-head", "key heads counted as query heads", num_heads=1, head_dim=8, sizes={"input": 16}),
    permute_case("narrow-heads", "a square of heads and channels", num_heads=4, head_dim=4, sizes={"input": 16}),
    permute_case("one-pair", "heads of one pair moved", num_heads=3, head_dim=2),
    permute_case("three-heads", "the last head forgotten", num_heads=3, head_dim=8, **BACK),
    permute_case("part", "the whole head moved where a part turns", head_dim=10, rotary_dim=6),
    permute_case("part-back", "the whole head moved where a part turns", head_dim=10, rotary_dim=6, **BACK),
    permute_case("last", "the first channels moved whatever is asked for", head_dim=10, rotary_dim=6, placement="last"),
    permute_case("last-back", "the part that turns put first", head_dim=10, rotary_dim=6, placement="last", **BACK),
    permute_case("quarter", "a half moved whatever is asked for", head_dim=24, rotary_dim=6, sizes={"input": 2}),
    permute_case("whole-part", "a remainder of nothing that is everything", rotary_dim=6),
    permute_case("bias", "a bias left as it is", weight=[k / 4 for k in range(12)]),
    permute_case("bias-back", "a bias left as it is, on the way back", weight=[k / 4 for k in range(12)], **BACK),
    permute_case("bias-part", "a bias whose channels that rest are moved", head_dim=8, rotary_dim=6, weight=[k / 4 for k in range(16)]),
    permute_case("common-width", "widths of 128 held in narrow integers", head_dim=128, sizes={"input": 1}, **BACK),
    *narrowed(named("permute"), {"weight": (4, 2)}, num_heads=1, head_dim=4),
    permute_case("odd-width", "an odd width rounded silently", head_dim=5, sizes={"input": 1}, error="head_dim must be even, got 5"),
    permute_case("odd-part", "an odd part rounded silently", rotary_dim=3, error="rotary_dim must be even, got 3"),
    permute_case("wider-than-the-head", "channels that aren't there", rotary_dim=8, error="rotary_dim must be at most head_dim (6), got 8"),
    permute_case("query-heads", "rows that are no head's", weight=[[0.5]] * 6, sizes={},
                 error="axis 'projection' of weight must be 12, got 6"),
)


def attention_cases(name: str) -> tuple[Case, ...]:
    """Return the cases that attention and its weights share."""
    return (
        *pair_cases(name),
        Case(f"{name}/causal", exposes="future keys seen", head_dim=4, causal=True, query_positions=[0, 1, 2], key_positions=[0, 1, 2]),
        Case(f"{name}/causal-unsorted", exposes="the mask by index instead of position", head_dim=4, causal=True, query_positions=[2, 9],
             key_positions=[9, 0, 2, 1]),
        Case(f"{name}/causal-decoding", exposes="the mask aligned to the first key instead of the last", head_dim=4, layout="half",
             causal=True, query_positions=[3, 4], key_positions=[0, 1, 2, 3, 4]),
        Case(f"{name}/blind-query", exposes="a query that sees no key", head_dim=4, causal=True, query_positions=[0], key_positions=[1],
             error="every query must see a key, got a query before all keys"),
        Case(f"{name}/large-logits", exposes="powers that overflow: a softmax without its row's greatest logit", query_positions=[0, 1],
             key_positions=[0, 1], q=[[[[64.0, 0.0], [0.25, 0.0]]]], k=[[[[64.0, 0.0], [63.0, 0.0]]]],
             head_dim=2),
        Case(f"{name}/unseen-key", exposes="a mask that is asked for every key instead of every query", causal=True,
             query_positions=[[0, 1], [1, 2]], key_positions=[[0, 1, 9], [0, 9, 1]], head_dim=2,
             sizes={"batch": 2, "query_head": 1}),
        Case(f"{name}/one-blind-query", exposes="only a mask that hides everything refused", causal=True, query_positions=[0, 2],
             key_positions=[1], head_dim=2, sizes={"query_head": 1},
             error="every query must see a key, got a query before all keys"),
        Case(f"{name}/no-key-heads", exposes="a division by the number of key heads", query_positions=[0], key_positions=[0],
             head_dim=4, sizes={"query_head": 2, "key_head": 0}, error="query_head must be a multiple of key_head (0), got 2"),
        Case(f"{name}/uneven-groups", exposes="query heads that don't divide among the key heads", head_dim=4,
             sizes={"query_head": 3, "key_head": 2}, query_positions=[1], key_positions=[0],
             error="query_head must be a multiple of key_head (2), got 3"),
    )


CASES = (
    Case("frequencies/one-pair", exposes="pairs counted from one: the first frequency must be 1", head_dim=2),
    Case("frequencies/two-pairs", exposes="exponent j / head_dim without the 2", head_dim=4),
    Case("frequencies/six-wide", exposes="a width that is a power of two taken for granted", head_dim=6),
    Case("frequencies/eight-wide", exposes="exponent 2 j / (head_dim - 2): the last frequency is 1e-3, not 1e-4", head_dim=8),
    Case("frequencies/sixty-four-wide", exposes="frequencies in half precision", head_dim=64),
    Case("frequencies/eighty-wide", exposes="the width rounded up to a power of two", head_dim=80),
    Case("frequencies/common-width", exposes="a sloppy exponent or logarithm", head_dim=128),
    Case("frequencies/wide", exposes="error that grows with the pair", head_dim=192),
    Case("frequencies/large-base", exposes="a base that is ignored: 10000 whatever is asked for", head_dim=8, base=500_000.0),
    Case("frequencies/million", exposes="a base that is rounded or squared", head_dim=16, base=1_000_000.0),
    Case("frequencies/small-base", exposes="a logarithm to the wrong base", head_dim=8, base=100.0),
    Case("frequencies/inexact-base", exposes="the base truncated to an integer", head_dim=8, base=10_000.7),
    Case("frequencies/base-two", exposes="base and width swapped", head_dim=10, base=2.0),
    Case("frequencies/base-below-one", exposes="a base below one refused: frequencies then rise", head_dim=6, base=0.25),
    Case("frequencies/odd-width", exposes="an odd width rounded silently", head_dim=7, error="head_dim must be even, got 7"),
    Case("frequencies/no-width", exposes="an empty head", head_dim=0, error="head_dim must be at least 2, got 0"),
    Case("frequencies/negative-base", exposes="the root of a negative number", head_dim=4, base=-1.0,
         error="base must be greater than 0, got -1.0"),
    Case("frequencies/infinite-base", exposes="infinity", head_dim=4, base=float("inf"),
         error="base must be finite, got inf"),
    Case("tables/first-positions", exposes="positions counted from one, or degrees", head_dim=4, positions=NEAR),
    Case("tables/single-token", exposes="the token axis dropped", head_dim=6, positions=[1]),
    Case("tables/byte-boundary", exposes="positions in bfloat16, exact to 256 only", head_dim=4, positions=[255, 256, 257]),
    Case("tables/half-boundary", exposes="positions in float16, exact to 2048 only", head_dim=4, positions=[2047, 2048, 2049]),
    Case("tables/page-boundary", exposes="a table that ends at 4096", head_dim=4, positions=[4095, 4096, 4097]),
    Case("tables/far", exposes="angles in half precision; fast sines without range reduction", head_dim=8, positions=FAR),
    Case("tables/million", exposes="positions that overflow or wrap", head_dim=8, positions=[1_048_575, 1_048_576]),
    Case("tables/large-base", exposes="a base that is ignored", head_dim=8, base=500_000.0, positions=[9, 4_097]),
    Case("tables/small-base", exposes="a base below the default clamped", head_dim=8, base=100.0, positions=[2, 9]),
    Case("tables/unsorted", exposes="positions replaced by their index", head_dim=4, positions=[9, 2, 2, 0]),
    Case("tables/negative", exposes="negative positions clamped to 0 or wrapped", head_dim=4, positions=[-1, -9, -257]),
    Case("tables/batched", exposes="the first row's positions used for every row", head_dim=4, positions=[[0, 1, 2], [7, 255, 9]]),
    Case("tables/square-batch", exposes="batch and token swapped", head_dim=6, positions=[[0, 5], [9, 1]]),
    Case("tables/common-width", exposes="a slow pair rounded away", head_dim=128, positions=[131_071]),
    Case("tables/by-position", exposes=ladder.EXPOSES, head_dim=4, positions=ladder.EVERY),
    Case("tables/real-positions", exposes="positions that aren't integers", head_dim=4, positions=[0.5],
         error="positions must be integers, got float64"),
    Case("apply/interleaved", exposes="members of a pair taken half a head apart", sizes={"token": 3, "pair": 2, "head_dim": 4}),
    Case("apply/half", exposes="members of a pair taken side by side", layout="half", sizes={"token": 3, "pair": 3, "head_dim": 6}),
    Case("apply/interleaved-to-half", exposes="pairs written where they were read", layout="interleaved_to_half",
         sizes={"token": 2, "pair": 3, "head_dim": 6}),
    Case("apply/negative", exposes="the sign of the sine flipped", direction="negative", sizes={"token": 3, "pair": 2, "head_dim": 4}),
    Case("apply/half-negative", exposes="direction ignored in one layout", layout="half", direction="negative",
         sizes={"token": 2, "pair": 2, "head_dim": 4}),
    Case("apply/interleaved-to-half-negative", exposes="direction ignored in the permuting layout", layout="interleaved_to_half",
         direction="negative", sizes={"token": 2, "pair": 2, "head_dim": 4}),
    Case("apply/one-pair", exposes="cosine and sine exchanged", sizes={"token": 3, "pair": 1, "head_dim": 2}),
    Case("apply/quarter-turn", exposes="the wrong member negated", cos=[[0.0, 0.0]], sin=[[1.0, 1.0]], sizes={"head_dim": 4}),
    Case("apply/half-turn", exposes="the cosine's sign lost", layout="half", cos=[[-1.0, 1.0]], sin=[[0.0, 0.0]],
         sizes={"head_dim": 4}),
    Case("apply/batched-tables", exposes="one row's table for all rows", sizes={"batch": 2, "token": 2, "pair": 2, "head_dim": 4},
         cos=[[[0.5, 1.0], [0.25, -1.0]], [[-0.5, 0.0], [0.75, 0.125]]], sin=[[[0.25, 0.0], [1.0, 0.5]], [[0.5, 1.0], [-0.25, 1.5]]]),
    Case("apply/batch-equals-heads", exposes="tables broadcast along the heads", layout="half",
         sizes={"batch": 2, "head": 2, "pair": 2, "head_dim": 4}, cos=[[[0.5, 1.0]], [[-0.5, 0.0]]], sin=[[[0.25, 0.0]], [[0.5, 1.0]]]),
    Case("apply/tokens-equal-heads", exposes="heads taken for the tokens", sizes={"head": 3, "token": 3, "pair": 1, "head_dim": 2}),
    Case("apply/common-width", exposes="a kernel that is only right for small heads", layout="half",
         sizes={"head": 1, "token": 1, "pair": 64, "head_dim": 128}),
    Case("apply/eighty-wide", exposes="lanes beyond the last full one", sizes={"head": 1, "token": 1, "pair": 40, "head_dim": 80}),
    Case("apply/odd-width", exposes="an odd width rounded silently", sizes={"pair": 1, "head_dim": 3},
         error="axis 'head_dim' of x must be twice the pairs of cos (2), got 3"),
    Case("apply/narrow-tables", exposes="one pair's angle broadcast to all pairs", sizes={"pair": 1, "head_dim": 4},
         error="axis 'head_dim' of x must be twice the pairs of cos (2), got 4"),
    Case("apply/wide-tables", exposes="angles that nothing turns by", cos=[[[0.5, 1.0, 0.25]] * 2], sin=[[[0.25, 0.0, 1.0]] * 2],
         sizes={"head_dim": 4}, error="axis 'head_dim' of x must be twice the pairs of cos (6), got 4"),
    Case("apply/other-tables", exposes="tables of two widths", sizes={"head_dim": 4}, cos=[[0.5, 1.0]], sin=[[0.25]],
         error="axis 'pair' is 1 in sin but 2 in cos"),
    *rotation_cases("rotate"),
    *ladder.rotations(rotate_case, head_dim=4),
    *pair_cases("rotate_query_key"),
    Case("rotate_query_key/odd-width", exposes="an odd width rounded silently", head_dim=5, query_positions=[0], key_positions=[0],
         error="head_dim must be even, got 5"),
    Case("rotate_query_key/too-few-positions", exposes="one position broadcast to all keys", head_dim=2, sizes={"key": 2},
         query_positions=[0], key_positions=[1], error="axis 'key' is 1 in key_positions but 2 in k"),
    *rotation_cases("gradient"),
    *PERMUTATIONS,
    *attention_cases("weights"),
    *attention_cases("attend"),
    *narrowed(named("apply"), {"x": (1, 1, 2, 2), "cos": (2, 1), "sin": (2, 1)}),
    *narrowed(named("apply"), {"x": (1, 1, 2, 2), "cos": (2, 1), "sin": (2, 1)}, ending="-half-negative", layout="half",
              direction="negative"),
    *narrowed(named("rotate"), {"x": (1, 1, 2, 2)}, head_dim=2, positions=[0, 1]),
    *narrowed(named("gradient"), {"cotangent": (1, 1, 2, 2)}, head_dim=2, positions=[0, 1]),
    *(case for name in ("rotate_query_key", "weights") for case in narrowed(
        named(name), {"q": (1, 1, 2, 2), "k": (1, 1, 2, 2)}, head_dim=2, query_positions=[0, 1], key_positions=[0, 1])),
    *narrowed(named("attend"), {"q": (1, 1, 2, 2), "k": (1, 1, 2, 2), "v": (1, 1, 2, 2)}, head_dim=2, query_positions=[0, 1],
              key_positions=[0, 1]),
)
