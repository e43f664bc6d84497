"""The cases of rotations whose pairs follow several axes, each with the mistake that it exposes."""

from refimpl.cases.digits import narrowed
from refimpl.cases.ladder import DECADES, LAYOUTS
from refimpl.cases.slowed import named

#: A token of text, the corners of an image of two rows and three columns, and text after it.
IMAGE = [[0, 0, 0], [1, 1, 1], [1, 1, 3], [1, 2, 1], [1, 2, 3], [4, 4, 4]]
VIDEO = [[2, 5, 9], [7, 3, 1]]

rotate_case = named("rotate", head_dim=12, sections=(2, 2, 2))
unlike_case = named("rotate", head_dim=16, sections=(4, 3, 1))
small_case = named("rotate", head_dim=4, sections=(1, 1))

CASES = (
    rotate_case("image", "axes exchanged, or column after column, where the image isn't square", positions=IMAGE),
    rotate_case("text", "text that turns otherwise than by rope", positions=[[0, 0, 0], [1, 1, 1], [9, 9, 9]]),
    rotate_case("half", "pairs side by side", layout="half", positions=VIDEO),
    rotate_case("interleaved-to-half", "pairs written back in place", layout="interleaved_to_half", positions=VIDEO),
    rotate_case("interleaved", "one axis after the other", order="interleaved", positions=VIDEO),
    rotate_case("interleaved-half", "turns over channels in the place of pairs", order="interleaved", layout="half", positions=VIDEO),
    rotate_case("first-last", "time first", order="first_last", positions=VIDEO),
    rotate_case("first-last-half", "sections in the order of the positions", order="first_last", layout="half", positions=VIDEO),
    rotate_case("negative-direction", "the sign of the sine", direction="negative", positions=VIDEO),
    rotate_case("half-negative", "direction ignored in one layout", layout="half", direction="negative", positions=VIDEO),
    rotate_case("interleaved-negative", "direction ignored in one order", order="interleaved", direction="negative", positions=VIDEO),
    unlike_case("unlike-sections", "equal sections", positions=VIDEO),
    unlike_case("unlike-sections-half", "sections of channels in the place of pairs", layout="half", positions=VIDEO),
    unlike_case("unlike-sections-interleaved", "turns beyond a section", order="interleaved", layout="half", positions=VIDEO),
    unlike_case("unlike-sections-first-last", "turns of the shorter section", order="first_last", layout="half", positions=VIDEO),
    rotate_case("wider-later", "the widest section taken for the first", sections=(1, 2, 3), layout="half", positions=VIDEO),
    rotate_case("wider-later-first-last", "turns that begin with the wider one", sections=(1, 2, 3), order="first_last", positions=VIDEO),
    rotate_case("tail-follows-the-first", "turns that go on to the last pair", head_dim=16, sections=(4, 2, 2), order="interleaved",
                positions=VIDEO),
    rotate_case("two-axes", "three axes taken for granted", sections=(4, 2), positions=[[5, 2], [1, 7]]),
    rotate_case("four-axes", "a fourth axis left out", head_dim=16, sections=(2, 2, 2, 2), layout="half",
                positions=[[1, 2, 3, 4], [9, 0, 5, 7]]),
    rotate_case("four-axes-interleaved", "turns of three taken for granted", head_dim=16, sections=(2, 2, 2, 2), order="interleaved",
                positions=[[1, 2, 3, 4], [9, 0, 5, 7]]),
    rotate_case("one-axis", "an axis that is dropped", sections=(6,), positions=[[1], [9]]),
    rotate_case("nothing-follows", "an empty section that is given pairs", sections=(3, 3, 0), positions=VIDEO),
    rotate_case("qwen2-vl", "frequencies that begin again for every axis", head_dim=128, sections=(16, 24, 24), base=1_000_000.0,
                layout="half", sizes={"head": 1}, positions=[[17, 30, 44]]),
    rotate_case("qwen3-vl", "turns that end a pair too late", head_dim=128, sections=(24, 20, 20), base=5_000_000.0, layout="half",
                order="interleaved", sizes={"head": 1}, positions=[[1_017, 30, 44]]),
    rotate_case("ernie-4-5-vl", "time in the first section, as the list has it last", head_dim=128, sections=(20, 22, 22), base=500_000.0,
                order="first_last", sizes={"head": 1}, positions=[[17, 130, 44]]),
    small_case("byte-boundary", "positions in bfloat16, exact to 256 only", positions=[[255, 3], [256, 257], [5, 256]]),
    small_case("half-boundary", "positions in float16, exact to 2048 only", positions=[[2_047, 1], [2, 2_049], [2_048, 2_047]]),
    small_case("page-boundary", "a table that ends at 4096", layout="half", positions=[[4_095, 1], [4_096, 4_097]]),
    rotate_case("far", "half tables, half frequencies", positions=[[65_535, 131_071, 9], [131_071, 9, 65_535]]),
    rotate_case("far-sparse", "a slow pair's error hidden among fast ones", layout="half", x="sparse", positions=[[9, 65_535, 131_071]]),
    rotate_case("million", "positions that overflow, wrap or end", layout="half", positions=[[1_048_575, 2, 3], [3, 1_048_576, 1_048_575]]),
    *(small_case(f"by-position{ending}", "the position from which weaker arithmetic shows", sizes={"head": 1}, **layout,
                 positions=[[near, far] for near, far in zip(DECADES, reversed(DECADES), strict=True)])
      for ending, layout in LAYOUTS.items()),
    rotate_case("small-base", "a base that is ignored", base=100.0, positions=VIDEO),
    rotate_case("inexact-base", "the base rounded to an integer", base=10_000.7, layout="half", positions=[[9, 4_097, 257]]),
    rotate_case("unsorted", "positions replaced by their index", layout="half", positions=[[9, 2, 5], [2, 9, 5], [2, 2, 2], [0, 5, 1]]),
    rotate_case("shifted", "a cache that forgets its offset", positions=[[9, 20, 21], [9, 21, 20], [10, 20, 9]]),
    rotate_case("negative-positions", "negative positions clamped or wrapped", positions=[[-1, 3, -257], [2, -257, 0]]),
    rotate_case("single-token", "the token axis dropped while decoding", layout="half", positions=[[256, 7, 31]]),
    small_case("batched-positions", "the first row's positions used for every row", sizes={"batch": 2, "head": 1},
               positions=[[[0, 1], [2, 0]], [[7, 255], [9, 3]]]),
    small_case("batch-equals-axes", "axes taken for the batch", layout="half", sizes={"batch": 2, "head": 2}, positions=[[1, 3], [4, 2]]),
    small_case("tokens-equal-axes", "axes taken for tokens", sizes={"head": 1}, positions=[[1, 9], [2, 4]]),
    small_case("heads-equal-tokens", "the head axis taken for the token axis", sizes={"head": 3}, positions=[[1, 2], [2, 9], [9, 1]]),
    *narrowed(small_case, {"x": (1, 1, 2, 4)}, positions=[[0, 1], [1, 0]]),
    rotate_case("too-few-pairs", "pairs that silently rest", sections=(2, 2, 1), positions=VIDEO,
                error="sections must add up to half of head_dim (6), got (2, 2, 1)"),
    rotate_case("channels-for-pairs", "sections that count channels", sections=(4, 4, 4), positions=VIDEO,
                error="sections must add up to half of head_dim (6), got (4, 4, 4)"),
    rotate_case("no-room-for-turns", "turns cut off in silence", sections=(1, 4, 1), order="interleaved", positions=VIDEO,
                error="sections must leave every axis its pairs in turns of 3, got (1, 4, 1)"),
    rotate_case("one-turn-too-many", "the last turn cut off", head_dim=8, sections=(1, 2, 1), order="interleaved", positions=VIDEO,
                error="sections must leave every axis its pairs in turns of 3, got (1, 2, 1)"),
    rotate_case("negative-section", "a section that takes pairs away", sections=(7, -1, 0), positions=VIDEO,
                error="each of sections must be at least 0, got -1"),
    rotate_case("one-axis-too-few", "positions that broadcast by accident", positions=[[1], [2]],
                error="axis 'axis' of positions must be 3, got 1"),
    rotate_case("flattened", "positions of text", positions=[1, 2],
                error="positions must have axes ([batch], token, axis), got shape (2,)"),
)
