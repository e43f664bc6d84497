"""The cases of rotations by learned frequencies of two axes, each with the mistake that it exposes."""

from refimpl.cases.digits import named, narrowed
from refimpl.cases.ladder import DECADES, LAYOUTS

GRID = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
LONG = [[1, 3], [4, 2]]
#: Frequencies of two axes, two heads and two pairs, no two alike in size.
FREQUENCIES = [[[1.0, -0.25], [0.5, 1.5]], [[0.75, 2.0], [-1.25, 0.125]]]
#: Those with which training begins, rounded: a direction and one at a right angle to it, turned by 0 and by an eighth.
BEGUN = [
    [[1.0, 0.3125, 0.0, 0.0], [0.70703125, 0.2236328125, -0.70703125, -0.2236328125]],
    [[0.0, 0.0, 1.0, 0.3125], [0.70703125, 0.2236328125, 0.70703125, 0.2236328125]],
]
#: Of one head, so small that float32 holds every angle up to a million, in whatever order the axes come.
EXACT = [[[0.5, -0.1875]], [[0.3125, -0.4375]]]
#: Some so slow that half formats lose them beside 1, and two that almost cancel.
SLOW = [[[0.000977039337158203125, 1.0]], [[-0.0009918212890625, 0.00390625]]]

case = named("rotate", head_dim=4, frequencies=FREQUENCIES)
filled = named("rotate", head_dim=4)
one_head = named("rotate", head_dim=4, frequencies=SLOW)

CASES = (
    case("grid", "axes exchanged, or column after column, on a grid that isn't square", positions=GRID),
    case("grid-half", "pairs of neighbours", layout="half", positions=GRID),
    case("negative-direction", "the sign of the sine", direction="negative", positions=LONG),
    case("half-negative", "direction ignored in one layout", layout="half", direction="negative", positions=LONG),
    case("interleaved-to-half", "pairs written back in place", layout="interleaved_to_half", positions=LONG),
    case("first-axis-alone", "frequencies of the axes exchanged", positions=[[2, 0], [5, 0]]),
    case("second-axis-alone", "the second axis left out", layout="half", positions=[[0, 2], [0, 5]]),
    case("begun", "directions that are the same in every head", head_dim=8, frequencies=BEGUN, positions=GRID),
    case("begun-half", "a direction of the pair in place of the axis", head_dim=8, frequencies=BEGUN, layout="half", positions=LONG),
    case("opposite", "sizes of frequencies without their signs", frequencies=[[[1.0, -1.0], [0.5, 0.5]], [[-1.0, 1.0], [-0.5, 0.5]]],
         positions=[[3, 3], [5, 2]]),
    case("zero-frequencies", "a frequency of 0 taken for one that isn't set", positions=LONG,
         frequencies=[[[0.0, 1.0], [0.0, 0.0]], [[0.5, 0.0], [0.0, 1.5]]]),
    case("alike", "axes told apart where the frequencies aren't", frequencies=[[[0.5, 0.25]] * 2] * 2, positions=LONG),
    filled("four-heads", "pairs taken for heads", sizes={"head": 4}, head_dim=8, positions=LONG),
    filled("three-heads", "heads in another order, as many as pairs", sizes={"head": 3}, head_dim=6, layout="half", positions=LONG),
    filled("one-head", "the head axis dropped", sizes={"head": 1}, head_dim=6, positions=LONG),
    filled("one-pair", "the axis of pairs dropped", sizes={"head": 3}, head_dim=2, positions=LONG),
    filled("as-many-of-all", "axes, heads, pairs and tokens exchanged", sizes={"batch": 2}, positions=LONG),
    filled("released", "one list of frequencies for all heads at the usual width", sizes={"head": 3}, head_dim=64, positions=[[13, 7]]),
    filled("released-half", "halves of the head for each axis", sizes={"head": 1}, head_dim=64, layout="half", positions=[[13, 7]]),
    one_head("slow", "frequencies in half precision", positions=[[63, 41], [1, 30]], tags=("finer_input",)),
    one_head("slow-far", "angles added in half precision, where they nearly cancel", layout="half", positions=[[65_535, 65_535]],
             tags=("finer_input",)),
    case("byte-boundary", "positions in bfloat16, exact to 256 only", positions=[[255, 3], [256, 257], [5, 256]]),
    case("half-boundary", "positions in float16, exact to 2048 only", positions=[[2_047, 1], [2, 2_049], [2_048, 2_047]]),
    case("page-boundary", "a table that ends at 4096", layout="half", positions=[[4_095, 1], [4_096, 4_097]]),
    case("far", "half tables, half angles", positions=[[65_535, 131_071], [131_071, 9]]),
    case("far-sparse", "a slow pair's error hidden among fast ones", layout="half", x="sparse", positions=[[65_535, 131_071]]),
    case("million", "positions that overflow, wrap or end", layout="half", positions=[[1_048_575, 2], [3, 1_048_576]]),
    *(case(f"by-position{ending}", "the position from which weaker arithmetic shows", frequencies=EXACT, **layout,
             positions=[[near, far] for near, far in zip(DECADES, reversed(DECADES), strict=True)]) for ending, layout in LAYOUTS.items()),
    case("unsorted", "positions replaced by their index", layout="half", positions=[[9, 2], [2, 9], [2, 2], [0, 5]]),
    case("shifted", "a crop that forgets where it began", positions=[[9, 20], [9, 21], [10, 20]]),
    case("class-token", "a token without a patch turned", positions=[[0, 0], [0, 0], [3, 1]]),
    case("negative-positions", "negative positions clamped, where a grid is centred", positions=[[-1, 3], [2, -257]]),
    case("single-token", "the token axis dropped", layout="half", positions=[[256, 7]]),
    case("batched-positions", "the first row's positions used for every row", sizes={"batch": 2},
         positions=[[[0, 1], [2, 0]], [[7, 255], [9, 3]]]),
    case("batched-half", "rows of positions taken for heads", sizes={"batch": 2}, layout="half", positions=[[[4, 1]], [[7, 3]]]),
    filled("batch-equals-axes", "axes taken for the batch", layout="half", sizes={"batch": 2, "head": 3}, positions=LONG),
    filled("heads-equal-tokens", "the head axis taken for the token axis", sizes={"head": 3}, positions=[[1, 2], [2, 9], [9, 1]]),
    *narrowed(case, {"x": (1, 2, 2, 4)}, positions=[[0, 1], [1, 0]]),
    *narrowed(case, {"frequencies": (2, 2, 2)}, ending="-frequencies", positions=[[1, 2], [257, 31]]),
    filled("odd-width", "an odd width rounded silently", head_dim=5, positions=LONG, error="head_dim must be even, got 5"),
    case("another-width", "pairs that silently rest", head_dim=8, positions=LONG, error="axis 'pair' of frequencies must be 4, got 2"),
    case("one-head-too-few", "frequencies that broadcast by accident", frequencies=[[[1.0, 0.5]]] * 2, x=[[[[1.0] * 4] * 2] * 3],
         positions=LONG, error="axis 'head' is 1 in frequencies but 3 in x"),
    case("one-axis", "frequencies of one axis for both", frequencies=[[[1.0, 0.5]] * 2], positions=LONG,
         error="axis 'axis' of frequencies must be 2, got 1"),
    case("one-position-too-few", "positions that broadcast by accident", positions=[[1], [2]],
         error="axis 'axis' of positions must be 2, got 1"),
    case("flattened", "positions counted along the image", positions=[1, 2],
         error="positions must have axes ([batch], token, axis), got shape (2,)"),
)
