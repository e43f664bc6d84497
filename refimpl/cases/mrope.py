"""The cases of rotations whose pairs follow several axes, and of the positions that they follow, each with the mistake that it exposes."""

from refimpl.cases.digits import narrowed
from refimpl.cases.ladder import DECADES, LAYOUTS
from refimpl.cases.slowed import named

#: A token of text, the corners of an image of two rows and three columns, and text after it.
IMAGE = [[0, 0, 0], [1, 1, 1], [1, 1, 3], [1, 2, 1], [1, 2, 3], [4, 4, 4]]
VIDEO = [[2, 5, 9], [7, 3, 1]]

rotate_case = named("rotate", head_dim=12, sections=(2, 2, 2))
unlike_case = named("rotate", head_dim=16, sections=(4, 3, 1))
small_case = named("rotate", head_dim=4, sections=(1, 1))

ROTATIONS = (
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

positions_case = named("positions")
#: Three tokens of text, an image of two rows and three columns, and text after it.
PICTURE = {"text": (3,), "times": (1,), "heights": (2,), "widths": (3,)}
#: A video of three steps in time, of two rows and two columns: what the authors of Qwen2-VL and Qwen2.5-VL explain positions by.
CLIP = {"text": (0,), "times": (3,), "heights": (2,), "widths": (2,)}
#: A video that lasts longer than it is wide, text, and an image.
BOTH = {"text": (2, 3), "times": (4, 1), "heights": (1, 3), "widths": (2, 2)}
#: Two frames of one size with the text of their times before them.
FRAMES = {"text": (2, 3), "times": (1, 1), "heights": (2, 2), "widths": (3, 3)}
MEASURED = {"tokens_per_second": 2, "seconds": 1.5}

POSITIONS = (
    positions_case("text", "text that doesn't count from 0", positions=[0, 1, 2, 9]),
    positions_case("image", "height and width exchanged, or column after column", positions=list(range(12)), **PICTURE),
    positions_case("tall-image", "what follows counted from the width alone", positions=list(range(9)), text=(1,), times=(1,), heights=(3,),
                   widths=(2,)),
    positions_case("image-first", "a grid that doesn't begin at 0", positions=list(range(8)), text=(0,), times=(1,), heights=(2,),
                   widths=(3,)),
    positions_case("video", "steps in time at one position", positions=list(range(17)), **CLIP),
    positions_case("video-measured", "steps counted where time is measured", positions=list(range(17)), tokens_per_second=25, seconds=2.0,
                   **CLIP),
    positions_case("long-video", "time left out of what follows", positions=list(range(22)), **BOTH),
    positions_case("long-video-measured", "an image stretched in time, or its start", positions=list(range(22)), **BOTH, **MEASURED),
    positions_case("half-seconds", "seconds cut to an integer before they are multiplied", positions=list(range(8)), text=(1,), times=(4,),
                   heights=(1,), widths=(1,), tokens_per_second=2, seconds=0.5),
    positions_case("fractions-of-positions", "the interval cut to an integer, or rounded", positions=list(range(10)), text=(2,), times=(7,),
                   heights=(1,), widths=(1,), seconds=0.625),
    positions_case("within-one-position", "steps that are kept apart where time moves by less than a position", positions=list(range(8)),
                   text=(1,), times=(3,), heights=(1,), widths=(2,), seconds=0.25),
    positions_case("inexact-seconds", "more than a rounding between binary and decimal fractions", tags=("boundary",),
                   positions=[1, 4, 7, 11, 12], text=(1,), times=(11,), heights=(1,), widths=(1,), seconds=0.3),
    positions_case("seconds-in-half", "seconds in bfloat16 or float16", positions=[3, 703, 1_203, 2_402, 2_403, 2_500], text=(3,),
                   times=(2_400,), heights=(1,), widths=(1,), tokens_per_second=25, seconds=2 / 29.97),
    positions_case("default-seconds", "a second between steps whatever is asked for", positions=list(range(9)), text=(1,), times=(3,),
                   heights=(1,), widths=(2,), tokens_per_second=2, seconds=3.0),
    positions_case("frames", "frames with text between them taken for one video", positions=list(range(19)), **FRAMES),
    positions_case("unlike-grids", "the first grid's sides for every grid", positions=list(range(22)), text=(1, 2, 1), times=(1, 2, 1),
                   heights=(2, 1, 3), widths=(2, 3, 1)),
    positions_case("side-by-side", "grids without text between them taken for one", positions=list(range(9)), text=(0, 0), times=(1, 1),
                   heights=(1, 2), widths=(3, 2)),
    positions_case("one-token-each", "a grid of one token that counts twice", positions=list(range(6)), text=(1, 2), times=(1, 1),
                   heights=(1, 1), widths=(1, 1)),
    positions_case("decoding", "decoding by the number of the token, without the delta", positions=[12], **PICTURE),
    positions_case("decoding-after-both", "the delta of the last grid alone", positions=[19, 20, 21, 300], **BOTH),
    positions_case("decoding-after-time", "a delta that is never positive", positions=[4, 5, 64], text=(1,), times=(3,), heights=(1,),
                   widths=(1,), tokens_per_second=13, seconds=2.0),
    positions_case("chunk", "a chunk that begins at 0 again", positions=[6, 7, 8, 9, 10], **PICTURE),
    positions_case("unsorted", "tokens in the order of the call", positions=[9, 3, 8, 3, 0], **PICTURE),
    positions_case("batched", "the first row's tokens for every row", positions=[[0, 3, 5], [8, 4, 9]], **PICTURE),
    positions_case("batch-of-three", "the batch taken for the axes", positions=[[3, 4, 5], [5, 6, 7], [7, 8, 9]], **PICTURE),
    positions_case("photo", "positions in bfloat16, exact to 256 only", positions=[200, 201, 230, 256, 257, 1_399, 1_400], text=(201,),
                   times=(1,), heights=(30,), widths=(40,)),
    positions_case("film", "positions in 16 bits, or in float16, exact to 2048 only", positions=[9, 10, 70, 2_049, 9_973, 9_974, 131_071],
                   text=(10,), times=(123,), heights=(9,), widths=(9,), tokens_per_second=25, seconds=2.0),
    positions_case("scroll", "rows in float16, exact to 2048 only", positions=[5, 2_054, 4_102, 4_104], text=(5,), times=(1,),
                   heights=(4_099,), widths=(1,)),
    positions_case("panorama", "columns in float16, exact to 2048 only", positions=[5, 2_054, 4_102, 4_104], text=(5,), times=(1,),
                   heights=(1,), widths=(4_099,)),
    positions_case("dot-that-lasts", "steps in float16, exact to 2048 only", positions=[5, 2_054, 4_102, 4_104], text=(5,), times=(4_099,),
                   heights=(1,), widths=(1,)),
    positions_case("page-boundary", "a table that ends at 4096", positions=[4_095, 4_096, 4_097, 4_102, 4_103], text=(4_096,), times=(1,),
                   heights=(2,), widths=(3,)),
    positions_case("million", "positions that wrap", positions=[1_048_575, 1_048_576], **BOTH),
    positions_case("a-grid-without-text", "a grid that is left out in silence", positions=[0], text=(1,), times=(1, 1), heights=(2, 2),
                   widths=(3, 3), error="text, times, heights and widths must list as many grids, got (1,), (1, 1), (2, 2) and (3, 3)"),
    positions_case("a-time-too-many", "a time that is left out in silence", positions=[0], text=(4,), times=(1, 1), heights=(2,),
                   widths=(3,), error="text, times, heights and widths must list as many grids, got (4,), (1, 1), (2,) and (3,)"),
    positions_case("a-height-too-many", "a height that is left out in silence", positions=[0], text=(4,), times=(1,), heights=(2, 2),
                   widths=(3,), error="text, times, heights and widths must list as many grids, got (4,), (1,), (2, 2) and (3,)"),
    positions_case("a-width-too-many", "a width that is left out in silence", positions=[0], text=(4,), times=(1,), heights=(2,),
                   widths=(3, 3), error="text, times, heights and widths must list as many grids, got (4,), (1,), (2,) and (3, 3)"),
    positions_case("empty-grid", "a grid without rows", positions=[0], text=(1,), times=(1,), heights=(0,), widths=(2,),
                   error="each of heights must be at least 1, got 0"),
    positions_case("negative-text", "text that overlaps a grid", positions=[0], text=(-1,), times=(1,), heights=(1,), widths=(1,),
                   error="each of text must be at least 0, got -1"),
    positions_case("no-seconds", "a video that stands still", positions=[0], seconds=0.0, error="seconds must be greater than 0, got 0.0"),
    positions_case("no-tokens-per-second", "a video without positions in time", positions=[0], tokens_per_second=0,
                   error="tokens_per_second must be at least 1, got 0"),
    positions_case("negative", "tokens before the first", positions=[2, -1], error="positions must be at least 0, got -1"),
    positions_case("real-numbers", "numbers of tokens that aren't integers", positions=[0.5],
                   error="positions must be integers, got float64"),
)

CASES = (*ROTATIONS, *POSITIONS)
