"""The cases of a partial rotation, each with the mistake that it exposes."""

from typing import Any

from refimpl.cases import ladder
from refimpl.cases.digits import narrowed
from refimpl.cases.slowed import named
from refimpl.cases.turned import SINGLE, attention

rotate_case = named("rotate", head_dim=12, rotary_dim=8)
small_case = named("rotate", head_dim=6, rotary_dim=4)
turned_case = named("attend_turned", head_dim=12, rotary_dim=8)
index_case = named("index_scores", head_dim=12, rotary_dim=8)
narrow_case = named("index_scores", head_dim=6, rotary_dim=4)

ROTATIONS = (
    rotate_case("first-positions", "frequencies over the whole head", positions=[0, 1, 2]),
    rotate_case("half-layout", "halves of the whole head", layout="half", positions=[0, 1, 9]),
    rotate_case("interleaved-to-half", "pairs written back in place", layout="interleaved_to_half", positions=[0, 2, 9]),
    rotate_case("negative-direction", "the sign of the sine", direction="negative", positions=[1, 9]),
    rotate_case("half-negative", "direction ignored in one layout", layout="half", direction="negative", positions=[1, 2]),
    rotate_case("last", "the first channels turned whatever is asked for", placement="last", positions=[0, 1, 2]),
    rotate_case("last-half", "halves of the whole head", placement="last", layout="half", positions=[1, 9]),
    rotate_case("last-interleaved-to-half", "the part that turns put first", placement="last", layout="interleaved_to_half",
                positions=[2, 9]),
    rotate_case("last-negative", "the sign of the sine", placement="last", direction="negative", positions=[1, 9]),
    rotate_case("one-pair", "a part of one pair taken for none", rotary_dim=2, layout="half", positions=[1, 2]),
    rotate_case("one-pair-rests", "a part that is nearly the head taken for the head", rotary_dim=10, layout="half", positions=[1, 9]),
    rotate_case("whole", "a remainder of nothing that is everything", rotary_dim=12, layout="half", positions=[1, 9]),
    rotate_case("whole-last", "a remainder of nothing that is everything", rotary_dim=12, placement="last", positions=[1, 9]),
    rotate_case("quarter", "a half turned whatever is asked for", head_dim=16, rotary_dim=4, layout="half", positions=[1, 2]),
    rotate_case("three-quarters", "the complement turned", head_dim=16, layout="half", rotary_dim=12, positions=[1, 2]),
    rotate_case("released", "256 channels turned where Qwen3-Next turns 64", head_dim=256, rotary_dim=64, base=10_000_000.0, layout="half",
                sizes={"head": 1}, positions=[4_097]),
    rotate_case("released-last", "latent attention's channels in another order", head_dim=192, rotary_dim=64, placement="last",
                layout="interleaved_to_half", sizes={"head": 1}, positions=[4_097]),
    rotate_case("page-boundary", "a table that ends at 4096", layout="half", positions=[4_095, 4_096, 4_097]),
    small_case("half-boundary", "positions in float16, exact to 2048 only", positions=[2_047, 2_048, 2_049]),
    rotate_case("far", "half tables, half frequencies", positions=[65_535, 131_071]),
    rotate_case("far-sparse", "a slow pair's error hidden among fast ones", layout="half", x="sparse", positions=[65_535, 131_071]),
    rotate_case("million", "positions that overflow, wrap or end", layout="half", positions=[1_048_575, 1_048_576]),
    *ladder.rotations(small_case),
    rotate_case("small-base", "a base that is ignored", base=100.0, positions=[2, 9]),
    rotate_case("inexact-base", "the base rounded to an integer", base=10_000.7, layout="half", positions=[9, 4_097]),
    rotate_case("unsorted", "positions replaced by their index", layout="half", positions=[9, 2, 2, 0]),
    rotate_case("shifted", "a cache that forgets its offset", positions=[9, 10, 11]),
    rotate_case("negative-positions", "negative positions clamped or wrapped", positions=[-1, -257]),
    rotate_case("single-token", "the token axis dropped while decoding", layout="half", positions=[256]),
    small_case("batched-positions", "the first row's positions used for every row", sizes={"batch": 2, "head": 1},
               positions=[[0, 1, 2], [7, 255, 9]]),
    small_case("batch-equals-heads", "positions broadcast along the heads", layout="half", sizes={"batch": 2, "head": 2},
               positions=[[0, 9], [5, 1]]),
    small_case("batch-equals-tokens", "batch and token axes swapped", sizes={"batch": 3, "head": 1}, positions=[0, 1, 2]),
    small_case("heads-equal-tokens", "the head axis taken for the token axis", sizes={"head": 3}, positions=[1, 2, 9]),
    *narrowed(small_case, {"x": (1, 1, 2, 6)}, positions=[0, 1]),
    rotate_case("odd-part", "an odd part rounded silently", rotary_dim=5, positions=[0], error="rotary_dim must be even, got 5"),
    rotate_case("no-part", "nothing turned", rotary_dim=0, positions=[0], error="rotary_dim must be at least 2, got 0"),
    rotate_case("wider-than-the-head", "channels that aren't there", rotary_dim=14, positions=[0],
                error="rotary_dim must be at most head_dim (12), got 14"),
    rotate_case("too-few-positions", "positions that broadcast by accident", sizes={"token": 2}, positions=[3],
                error="axis 'token' is 1 in positions but 2 in x"),
)
#: What attention is asked too: what this rotation has of its own.
OWN = ("last", "last-half")
USUAL: dict[str, Any] = {"head_dim": 12, "rotary_dim": 8}

#: A pair whose products are near 1, and one of opposite sign, so that a ReLU shows.
OPPOSED: dict[str, Any] = {"head_dim": 2, "rotary_dim": 2, "q": [[[[1.0, 0.5]], [[-1.0, -0.5]]]], "k": [[[1.0, 0.25], [-1.0, -0.25]]]}
INDICES = (
    index_case("first-positions", "the indexer not turned at all", query_positions=[2, 3], key_positions=[0, 1, 2]),
    index_case("half-layout", "the layout of the main attention used for the indexer", layout="half", query_positions=[9],
               key_positions=[0, 2, 5]),
    index_case("interleaved-to-half", "pairs written back in place", layout="interleaved_to_half", query_positions=[9],
               key_positions=[0, 2]),
    index_case("last", "the part of the main attention's end turned", placement="last", query_positions=[9], key_positions=[2, 5]),
    index_case("last-half", "a layout that follows the place of the part", placement="last", layout="half", query_positions=[5],
               key_positions=[1, 2]),
    index_case("half-negative", "only one of the two turned the other way", layout="half", direction="negative", query_positions=[9, 1],
               key_positions=[2, 5]),
    index_case("several-queries", "all tokens of a decoding step turned by the first one's position", query_positions=[255, 256, 257],
               key_positions=[0, 200]),
    index_case("not-divided", "the scores divided whatever is asked for", divisor="one", query_positions=[5], key_positions=[0, 2]),
    index_case("one-head", "a root of the number of heads where there is one", sizes={"head": 1}, query_positions=[5],
               key_positions=[0, 2]),
    index_case("three-heads", "a number of heads taken for a power of two", sizes={"head": 3}, query_positions=[5], key_positions=[0, 2]),
    index_case("four-heads", "the scores divided by the number of heads", sizes={"head": 4}, query_positions=[5], key_positions=[0, 2]),
    index_case("negative-weight", "a score below 0 clipped: the ReLU after the weights", **OPPOSED, head_weights=[[[1.0], [-2.0]]],
               query_positions=[0], key_positions=[0, 0]),
    index_case("weights-per-query", "the weights of the first query used for all", **{**OPPOSED, "q": [[[[1.0, 0.5], [0.5, 1.0]]] * 2]},
               head_weights=[[[1.0, -0.5], [0.25, 2.0]]], query_positions=[1, 2], key_positions=[0, 1]),
    index_case("page-boundary", "a table that ends at 4096", layout="half", query_positions=[4_097], key_positions=[4_094, 4_095, 4_098]),
    narrow_case("far", "half tables, half frequencies", layout="half", query_positions=[131_071], key_positions=[65_535, 131_070]),
    narrow_case("million", "positions that overflow, wrap or end", query_positions=[1_048_576], key_positions=[1_048_575, 1_048_570]),
    narrow_case("negative-positions", "negative positions clamped", query_positions=[-1], key_positions=[-9, -2, 1]),
    narrow_case("unsorted", "positions replaced by their index", query_positions=[9, 2], key_positions=[5, 0, 7]),
    narrow_case("batched", "the first row's positions used for every row", sizes={"batch": 2}, query_positions=[[1], [9]],
                key_positions=[[0, 2], [5, 4]]),
    narrow_case("queries-equal-heads", "the axes of heads and queries swapped in their weights", sizes={"head": 2},
                query_positions=[3, 4], key_positions=[0, 1, 2]),
    index_case("small-base", "a base that is ignored", base=100.0, query_positions=[9], key_positions=[2, 0]),
    index_case("inexact-base", "the base rounded to an integer", base=10_000.7, layout="half", query_positions=[4_097],
               key_positions=[9, 0]),
    index_case("whole-head", "a remainder of nothing that is everything", rotary_dim=12, sizes={"head": 4}, query_positions=[9],
               key_positions=[2, 0]),
    index_case("released", "the indexer of DeepSeek-V3.2 laid out as its attention is", head_dim=128, rotary_dim=64, layout="half",
               sizes={"head": 1}, query_positions=[4_097], key_positions=[4_094]),
    index_case("released-interleaved", "the indexer of GLM-5 laid out as DeepSeek's is", head_dim=128, rotary_dim=64, base=1_000_000.0,
               sizes={"head": 1}, query_positions=[4_097], key_positions=[4_094]),
    *narrowed(narrow_case, {"q": (1, 1, 2, 6), "k": (1, 2, 6), "head_weights": (1, 1, 2)}, query_positions=[0, 1], key_positions=[0, 1]),
    index_case("wider-than-the-head", "channels that aren't there", rotary_dim=14, query_positions=[0], key_positions=[0],
               error="rotary_dim must be at most head_dim (12), got 14"),
    index_case("too-few-weights", "weights that broadcast by accident", sizes={"head": 1}, head_weights=[[[1.0], [0.5]]],
               q=[[[[1.0] * 12]]], query_positions=[0], key_positions=[0], error="axis 'head' is 2 in head_weights but 1 in q"),
)

CASES = (
    *ROTATIONS,
    *attention(USUAL, ROTATIONS, OWN, ("weights", "attend", "attend_turned")),
    turned_case("one-key", "an output that isn't turned back where there is nothing to average", sizes=SINGLE, query_positions=[9],
                key_positions=[2]),
    turned_case("own-key", "a turn there and back that isn't the same", layout="half", sizes=SINGLE, query_positions=[4_097],
                key_positions=[4_097]),
    turned_case("six-of-eight", "a width that is a power of two taken for granted", head_dim=8, rotary_dim=6, sizes=SINGLE,
                query_positions=[4_097], key_positions=[2, 9]),
    turned_case("wider-than-the-head", "channels that aren't there", rotary_dim=14, sizes=SINGLE, query_positions=[0], key_positions=[0],
                error="rotary_dim must be at most head_dim (12), got 14"),
    turned_case("several-queries", "all outputs turned back by one position", placement="last", sizes=SINGLE, query_positions=[9, 2, 5],
                key_positions=[0, 4]),
    turned_case("last-third", "the first channel that turns counted as if at least half of the head turned", placement="last", rotary_dim=4,
                sizes=SINGLE, query_positions=[9], key_positions=[2, 5]),
    turned_case("kept", "outputs turned back where they are kept", outputs="kept", sizes=SINGLE, query_positions=[9, 2],
                key_positions=[0, 4]),
    turned_case("kept-half-last", "a part that turns only where outputs turn back", outputs="kept", layout="half", placement="last",
                sizes=SINGLE, query_positions=[9], key_positions=[2, 5]),
    turned_case("kept-interleaved-to-half", "outputs put back where values were read", outputs="kept", layout="interleaved_to_half",
                sizes=SINGLE, query_positions=[5], key_positions=[2, 9]),
    turned_case("kept-whole-head", "outputs turned back by code that knows no part", outputs="kept", rotary_dim=12, sizes=SINGLE,
                query_positions=[7], key_positions=[1, 1_535]),
    turned_case("kept-causal", "values turned by the queries' positions", outputs="kept", causal=True, layout="half", sizes=SINGLE,
                query_positions=[3, 4], key_positions=[0, 1, 2, 3, 4]),
    turned_case("kept-one-key", "outputs turned back where there is nothing to average", outputs="kept", sizes=SINGLE,
                query_positions=[9], key_positions=[131_071]),
    *INDICES,
)
