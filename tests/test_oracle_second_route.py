"""Every operation a third time, with mpmath at 60 digits: the oracle's golden values are its correctly rounded binary64."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from second_route import V, X, Y, golden, mp, real, rounded, whole

from conformance.oracle import answer
from refimpl.schemes import operations

cos, floor, log, matrix, mpf, sin = mp.cos, mp.floor, mp.log, mp.matrix, mp.mpf, mp.sin


def theta(base: float, j: int, width: int) -> mpf:
    """Return a frequency of rope as a power."""
    return mpf(base) ** (mpf(-2 * j) / width)


def rotation(position: float, thetas: Sequence[mpf], pairs: Sequence[tuple[int, int]]) -> matrix:
    """Return the sparse matrix of eq. 15, for any pairing."""
    turned = matrix(2 * len(pairs), 2 * len(pairs))
    for (i, j), frequency in zip(pairs, thetas, strict=True):
        turned[i, i] = turned[j, j] = cos(position * frequency)
        turned[j, i] = sin(position * frequency)
        turned[i, j] = -turned[j, i]
    return turned


NEIGHBOURS = [(0, 1), (2, 3), (4, 5), (6, 7)]
HALVES = [(0, 4), (1, 5), (2, 6), (3, 7)]


def thetas(base: float) -> list[mpf]:
    """Return the four frequencies of head_dim 8."""
    return [theta(base, j, 8) for j in range(4)]


def test_rope_tables_are_real_and_imaginary_parts() -> None:
    turns = [mp.expj(p * f) for p in (1048575, -3) for f in thetas(500.0)]
    inputs = {"positions": whole(1048575, -3)}
    assert golden("rope.tables", inputs, "cos", head_dim=8, base=500.0) == rounded([turn.real for turn in turns])
    assert golden("rope.tables", inputs, "sin", head_dim=8, base=500.0) == rounded([turn.imag for turn in turns])


def test_rope_apply_is_a_complex_product() -> None:
    turns = [mp.mpc(Y[j], V[j]) for j in range(4)]
    products = [mp.mpc(X[i], X[j]) * turn for (i, j), turn in zip(HALVES, turns, strict=True)]
    inputs = {"x": real(*X, shape=(1, 1, 1, 8)), "cos": real(*Y[:4], shape=(1, 4)), "sin": real(*V[:4], shape=(1, 4))}
    expected = rounded([z.real for z in products] + [z.imag for z in products])
    assert golden("rope.apply", inputs, layout="half", direction="positive") == expected


@pytest.mark.parametrize(("layout", "pairs"), [("interleaved", NEIGHBOURS), ("half", HALVES)])
@pytest.mark.parametrize("direction", ["positive", "negative"])
def test_rope_rotate_is_the_sparse_matrix(layout: str, pairs: list[tuple[int, int]], direction: str) -> None:
    sign = 1 if direction == "positive" else -1
    inputs = {"x": real(*X, shape=(1, 1, 1, 8)), "positions": whole(131071)}
    expected = rounded(list(rotation(sign * 131071, thetas(10000.0), pairs) * matrix(X)))
    assert golden("rope.rotate", inputs, head_dim=8, base=10000.0, layout=layout, direction=direction) == expected


def test_rope_interleaved_to_half_only_moves_the_written_pairs() -> None:
    turned = rotation(257, thetas(10000.0), NEIGHBOURS) * matrix(X)
    inputs = {"x": real(*X, shape=(1, 1, 1, 8)), "positions": whole(257)}
    result = golden("rope.rotate", inputs, head_dim=8, base=10000.0, layout="interleaved_to_half", direction="positive")
    assert result == rounded([turned[i] for i in (0, 2, 4, 6, 1, 3, 5, 7)])


def test_rope_rotates_query_and_key_to_their_own_positions() -> None:
    inputs = {
        "q": real(*X, shape=(1, 1, 1, 8)),
        "k": real(*Y, shape=(1, 1, 1, 8)),
        "query_positions": whole(2049),
        "key_positions": whole(7),
    }
    parameters = {"head_dim": 8, "base": 10000.0, "layout": "half", "direction": "positive"}
    assert golden("rope.rotate_query_key", inputs, "query", **parameters) == rounded(list(rotation(2049, thetas(1e4), HALVES) * matrix(X)))
    assert golden("rope.rotate_query_key", inputs, "key", **parameters) == rounded(list(rotation(7, thetas(1e4), HALVES) * matrix(Y)))


def test_rope_gradient_is_the_transpose() -> None:
    inputs = {"x": real(*X, shape=(1, 1, 1, 8)), "positions": whole(4097), "cotangent": real(*Y, shape=(1, 1, 1, 8))}
    expected = rounded(list(rotation(4097, thetas(1e4), NEIGHBOURS).T * matrix(Y)))
    assert golden("rope.gradient", inputs, head_dim=8, base=10000.0, layout="interleaved", direction="positive") == expected


def test_consecutive_query_heads_share_a_key_head() -> None:
    shape = (1, 2, 1, 8)
    inputs = {
        "q": real(*X, *Y, *X, *Y, shape=(1, 4, 1, 8)),
        "k": real(*Y, *X, shape=shape),
        "v": real(*V, *X, shape=shape),
        "query_positions": whole(5),
        "key_positions": whole(3),
    }
    parameters = {"head_dim": 8, "base": 10000.0, "layout": "half", "direction": "positive", "causal": False}
    assert golden("rope.attend", inputs, **parameters) == (*V, *V, *X, *X)


@pytest.mark.parametrize("spacing", ["paper", "endpoint"])
def test_sinusoids_are_sines_of_a_quotient(spacing: str) -> None:
    exponents = [mpf(2 * i) / 8 if spacing == "paper" else mpf(i) / 3 for i in range(4)]
    angles = [mpf(p) / mpf(10000) ** e for p in (0.5, 65535.0) for e in exponents]
    expected = [f(angle) * mpf(0.3) for angle in angles for f in (sin, cos)]
    parameters = {"dim": 8, "base": 10000.0, "layout": "interleaved", "spacing": spacing, "odd": "error", "scale": 0.3}
    result = golden("sinusoidal.encode", {"positions": real(0.5, 65535)}, **parameters)
    assert result == rounded(expected)


def test_an_odd_width_ends_in_a_zero_column() -> None:
    angles = [mpf(9) / mpf(10000) ** (mpf(2 * i) / 7) for i in range(3)]
    result = golden(
        "sinusoidal.encode",
        {"positions": whole(9)},
        dim=7,
        base=10000.0,
        layout="halves_cosine_first",
        spacing="paper",
        odd="zero_column",
        scale=1.0,
    )
    assert result == rounded([*map(cos, angles), *map(sin, angles), 0])


def test_the_shift_matrix_moves_sine_and_cosine() -> None:
    values = golden("sinusoidal.shift_matrix", {"offsets": whole(-255)}, dim=8, base=10000.0, spacing="paper")
    for i in range(4):
        angle = -255 * theta(10000.0, i, 8)
        assert values[4 * i : 4 * i + 4] == rounded([cos(angle), sin(angle), -sin(angle), cos(angle)])


@pytest.mark.parametrize(("heads", "largest"), [(1, 8.0), (6, 5.1), (12, 8.0), (71, 8.0)])
def test_alibi_slopes_follow_the_authors_recursion(heads: int, largest: float) -> None:
    def slopes(count: int) -> list[mpf]:
        if count & (count - 1) == 0:
            return [mpf(2) ** (-mpf(largest) * (h + 1) / count) for h in range(count)]
        whole_part = 2 ** (count.bit_length() - 1)
        return slopes(whole_part) + slopes(2 * whole_part)[0::2][: count - whole_part]

    assert golden("alibi.slopes", {}, num_heads=heads, max_bias=largest, slopes="code") == rounded(slopes(heads))


@pytest.mark.parametrize(("heads", "largest"), [(1, 8.0), (6, 5.1), (6, 6.0), (12, 8.0), (64, 8.0), (71, 8.0)])
def test_alibi_slopes_of_the_paper_are_powers_of_one_root(heads: int, largest: float) -> None:
    root = mpf(2) ** (-mpf(largest) / heads)

    assert golden("alibi.slopes", {}, num_heads=heads, max_bias=largest, slopes="paper") == rounded([root**h for h in range(1, heads + 1)])


@pytest.mark.parametrize(
    ("form", "steps"),
    [
        ("row", [-9, -5, 291, -300, -296, 0]),
        ("column", [0, 4, 300] * 2),
        ("reversed", [-300, -296, 0] * 2),
        ("symmetric", [-9, -5, -291, -300, -296, 0]),
    ],
)
def test_alibi_bias_is_a_slope_times_a_count_of_steps(form: str, steps: list[int]) -> None:
    inputs = {"query_positions": whole(9, 300), "key_positions": whole(0, 4, 300)}
    slopes = [mpf(2) ** -4, mpf(2) ** -8, mpf(2) ** -2]
    given = {"num_heads": 3, "max_bias": 8.0, "slopes": "code", "form": form}
    assert golden("alibi.bias", inputs, **given) == rounded([slope * n for slope in slopes for n in steps])


def bfloat16(x: mpf) -> mpf:
    """Return the nearest number with seven binary digits after the first, the even one of two."""
    unit = mpf(2) ** (floor(log(abs(x), 2)) - 7)
    return mp.nint(x / unit) * unit


@pytest.mark.parametrize("largest", [8.0, 8.1])
def test_falcon_s_bias_is_a_slope_times_a_position_all_three_rounded(largest: float) -> None:
    keys = [-300, -3, 1, 67, 255, 257, 259, 270, 506, 771, 4113, 65_663, 131_071]
    slopes = [*(mpf(2) ** (-mpf(largest) * h / 8) for h in range(1, 9)), *(mpf(2) ** (-mpf(largest) * h / 16) for h in (1, 3, 5, 7))]
    inputs = {"query_positions": whole(9), "key_positions": whole(*keys)}
    expected = [bfloat16(bfloat16(slope) * bfloat16(mpf(key))) for slope in slopes for key in keys]

    assert golden("alibi.bias", inputs, num_heads=12, max_bias=largest, slopes="code", form="falcon") == rounded(expected)


def test_where_a_slope_may_be_rounded_either_way_a_step_is_allowed_and_else_nothing() -> None:
    near_a_tie = float(log(mpf(257) / 512, 2) * -1)
    inputs = {"query_positions": whole(0), "key_positions": whole(1, 256)}

    def allowed(largest: float, profile: str) -> tuple[float | None, ...]:
        parameters = {"num_heads": 1, "max_bias": largest, "slopes": "code", "form": "falcon"}
        return answer("alibi.bias", inputs, parameters, profiles=[profile]).allowed[profile]["result"]

    assert allowed(near_a_tie, "float32") == pytest.approx((2.0**-8, 1.0), rel=1e-8)
    assert allowed(0.9, "float32") == allowed(0.9, "bfloat16-model") == (0.0, 0.0)


@pytest.mark.parametrize(("bidirectional", "buckets", "farthest"), [(True, 32, 128), (False, 32, 128), (False, 20, 100), (True, 14, 60)])
def test_t5_buckets_are_floors_of_logarithms(bidirectional: bool, buckets: int, farthest: int) -> None:  # noqa: FBT001 - parametrized
    one_way = buckets // 2 if bidirectional else buckets
    exact = one_way // 2

    def place(relative: int) -> int:
        later = one_way if bidirectional and relative > 0 else 0
        distance = abs(relative) if bidirectional else max(-relative, 0)
        if distance < exact:
            return later + distance
        # 1e-50 decides exact ties: 60 digits leave an error below it, and no other value is as near to an integer.
        steps = floor(log(mpf(distance) / exact) / log(mpf(farthest) / exact) * (one_way - exact) + mpf(10) ** -50)
        return later + min(one_way - 1, exact + int(steps))

    distances = range(-2 * farthest, 2 * farthest + 1)
    result = golden(
        "t5.bucket", {"relative_positions": whole(*distances)}, bidirectional=bidirectional, num_buckets=buckets, max_distance=farthest
    )
    assert result == tuple(place(distance) for distance in distances)


@pytest.mark.parametrize(
    ("mscale", "all_dim", "given", "slope", "expected"),
    [
        (None, None, None, 0.1, lambda s: log(s) / 10 + 1),
        (None, None, None, 0.07, lambda s: 7 * log(s) / 100 + 1),
        (0.707, None, None, 0.1, lambda s: log(s) / 10 + 1),
        (0.707, 1.0, None, 0.1, lambda s: (mpf(0.707) * log(s) / 10 + 1) / (log(s) / 10 + 1)),
        (0.0, 1.0, None, 0.1, lambda s: log(s) / 10 + 1),
        (0.707, 1.0, 1.3, 0.1, lambda _: mpf(1.3)),
    ],
)
def test_yarn_attention_factor_takes_the_first_that_is_set(
    mscale: float | None, all_dim: float | None, given: float | None, slope: float, expected: Any
) -> None:
    result = golden("yarn.attention_factor", {}, factor=40.0, mscale=mscale, mscale_all_dim=all_dim, attention_factor=given, slope=slope)
    assert result == rounded([expected(mpf(40))])


@pytest.mark.parametrize(("strength", "factor"), [(0.707, 40.0), (1.0, 32.0), (2.0, 1.5), (1.0, 0.5), (0.0, 40.0), (None, 40.0)])
def test_deepseek_scales_the_softmax_by_the_square_of_a_power(strength: float | None, factor: float) -> None:
    """``1 + c ln s = ln(e s^c)``: the logarithm of a power."""
    power = mpf(factor) ** (mpf(strength) / 10) if strength and factor > 1 else mpf(1)
    expected = log(mp.e * power) ** 2 / mpf(192) ** mpf("0.5")

    assert golden("yarn.softmax_scale", {}, qk_head_dim=192, factor=factor, mscale_all_dim=strength) == rounded([expected])


def test_every_operation_is_recomputed_on_a_second_route() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("test_oracle_second_route*.py")))
    assert [name for name in operations() if f'"{name}"' not in source] == []
