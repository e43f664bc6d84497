"""The cases of rotations on several axes, each with the mistake that it exposes."""

from refimpl.cases.digits import narrowed
from refimpl.cases.ladder import DECADES, LAYOUTS
from refimpl.cases.slowed import named

GRID = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
LONG = [[1, 3], [4, 2]]

rotate_case = named("rotate", head_dim=12, axes=(8, 4))
small_case = named("rotate", head_dim=4, axes=(2, 2))
square_case = named("rotate", head_dim=8, axes=(4, 4))

CASES = (
    square_case("grid", "axes exchanged, or column after column, on a grid that isn't square", positions=GRID),
    square_case("grid-half", "pairs of the whole head", layout="half", positions=GRID),
    square_case("joined", "blocks whatever the order", layout="half", order="joined", positions=LONG),
    square_case("joined-negative", "direction ignored in one order", layout="half", order="joined", direction="negative", positions=LONG),
    square_case("joined-neighbours", "halves whatever the layout", order="joined", positions=LONG),
    square_case("alternating", "one axis after the other", order="alternating", positions=LONG),
    square_case("alternating-half", "one axis after the other", layout="half", order="alternating", positions=LONG),
    square_case("negative-direction", "the sign of the sine", direction="negative", positions=LONG),
    square_case("half-negative", "direction ignored in one layout", layout="half", direction="negative", positions=LONG),
    rotate_case("unlike-widths", "half of the head for each axis", positions=LONG),
    rotate_case("unlike-widths-half", "frequencies over the whole head", layout="half", positions=LONG),
    rotate_case("unlike-widths-joined", "halves of each axis side by side", layout="half", order="joined", positions=LONG),
    rotate_case("unlike-widths-alternating", "turns beyond the last pair of the narrower axis", order="alternating", positions=LONG),
    rotate_case("unlike-widths-alternating-half", "turns beyond the last pair", layout="half", order="alternating", positions=LONG),
    rotate_case("narrow-first", "the wider axis taken for the first", axes=(4, 8), positions=LONG),
    rotate_case("narrow-first-alternating", "turns counted on the first axis only", axes=(4, 8), order="alternating", positions=LONG),
    rotate_case("three-axes", "the third axis left out", axes=(4, 4, 4), positions=[[1, 2, 3], [5, 0, 7]]),
    rotate_case("three-axes-joined", "two axes in each half of the head", axes=(2, 4, 6), layout="half", order="joined",
                positions=[[1, 2, 3], [5, 0, 7]]),
    rotate_case("three-axes-alternating", "sections in the place of turns", axes=(2, 4, 6), order="alternating",
                positions=[[1, 2, 3], [5, 0, 7]]),
    rotate_case("one-axis", "an axis that is dropped", axes=(12,), positions=[[1], [9]]),
    rotate_case("one-axis-half", "rope in another layout", axes=(12,), layout="half", order="joined", positions=[[1], [9]]),
    rotate_case("released", "frequencies of the whole head, as Qwen2-VL's vision has none", head_dim=80, axes=(40, 40), layout="half",
                order="joined", sizes={"head": 1}, positions=[[31, 57]]),
    rotate_case("released-video", "equal widths for time, height and width", head_dim=64, axes=(16, 24, 24), sizes={"head": 1},
                positions=[[12, 30, 44]]),
    rotate_case("released-base", "10000 in the place of a vision model's 100", head_dim=64, axes=(32, 32), base=100.0, layout="half",
                sizes={"head": 1}, positions=[[31, 57]]),
    small_case("byte-boundary", "positions in bfloat16, exact to 256 only", positions=[[255, 3], [256, 257], [5, 256]]),
    small_case("half-boundary", "positions in float16, exact to 2048 only", positions=[[2_047, 1], [2, 2_049], [2_048, 2_047]]),
    small_case("page-boundary", "a table that ends at 4096", layout="half", positions=[[4_095, 1], [4_096, 4_097]]),
    rotate_case("far", "half tables, half frequencies", positions=[[65_535, 131_071], [131_071, 9]]),
    rotate_case("far-sparse", "a slow pair's error hidden among fast ones", layout="half", order="joined", x="sparse",
                positions=[[65_535, 131_071]]),
    rotate_case("million", "positions that overflow, wrap or end", layout="half", positions=[[1_048_575, 2], [3, 1_048_576]]),
    *(small_case(f"by-position{ending}", "the position from which weaker arithmetic shows", sizes={"head": 1}, **layout,
                 positions=[[near, far] for near, far in zip(DECADES, reversed(DECADES), strict=True)])
      for ending, layout in LAYOUTS.items() if layout.get("layout") != "interleaved_to_half"),
    rotate_case("small-base", "a base that is ignored", base=100.0, positions=LONG),
    rotate_case("inexact-base", "the base rounded to an integer", base=10_000.7, layout="half", positions=[[9, 4_097]]),
    rotate_case("unsorted", "positions replaced by their index", layout="half", positions=[[9, 2], [2, 9], [2, 2], [0, 5]]),
    rotate_case("shifted", "a crop that forgets where it began", positions=[[9, 20], [9, 21], [10, 20]]),
    rotate_case("negative-positions", "negative positions clamped, where a grid is centred", positions=[[-1, 3], [2, -257]]),
    rotate_case("single-token", "the token axis dropped", layout="half", positions=[[256, 7]]),
    small_case("batched-positions", "the first row's positions used for every row", sizes={"batch": 2, "head": 1},
               positions=[[[0, 1], [2, 0]], [[7, 255], [9, 3]]]),
    small_case("batch-equals-axes", "axes taken for the batch", layout="half", sizes={"batch": 2, "head": 2}, positions=LONG),
    small_case("tokens-equal-axes", "axes taken for tokens", sizes={"head": 1}, positions=[[1, 9], [2, 4]]),
    small_case("heads-equal-tokens", "the head axis taken for the token axis", sizes={"head": 3}, positions=[[1, 2], [2, 9], [9, 1]]),
    *narrowed(small_case, {"x": (1, 1, 2, 4)}, positions=[[0, 1], [1, 0]]),
    rotate_case("odd-axis", "an odd width rounded silently", axes=(5, 7), positions=LONG, error="each of axes must be even, got 5"),
    rotate_case("narrower-than-the-head", "channels that silently rest", axes=(4, 4), positions=LONG,
                error="axes must add up to head_dim (12), got (4, 4)"),
    rotate_case("wider-than-the-head", "channels that aren't there", axes=(8, 8), positions=LONG,
                error="axes must add up to head_dim (12), got (8, 8)"),
    rotate_case("one-position-too-few", "positions that broadcast by accident", positions=[[1], [2]],
                error="axis 'axis' of positions must be 2, got 1"),
    rotate_case("flattened", "positions counted along the image", positions=[1, 2],
                error="positions must have axes ([batch], token, axis), got shape (2,)"),
)
