"""Numbers that others published, or that a second route gives, against the reference."""

import math
from fractions import Fraction

import numpy as np
import pytest

from refimpl.errors import SpecificationError
from refimpl.forms.rotary import Layout
from refimpl.schemes import alibi, rope, sinusoidal, t5, yarn

ANYTHING = np.zeros(1)
INTERLEAVED_AT_3 = [-1.2722325127, -1.8388649851, 1.6839286407, 4.7079065765, 4.8177771675, 6.1472777035, 6.975968536, 8.0209639685]
HALF_AT_3 = [-1.6955925369, 0.1375517383, 2.7886815998, 3.975982036, -4.8088424749, 6.3230593481, 7.0868367369, 8.011963982]
PAPER_AT_3 = [0.1411200081, -0.9899924966, 0.2955202067, 0.9553364891, 0.0299955002, 0.9995500337, 0.0029999955, 0.9999955]
ENDPOINT_AT_3 = [0.1411200081, 0.1387981011, 0.0064632591, 0.0003, -0.9899924966, 0.9903206991, 0.9999791129, 0.999999955]

# Half a unit of the last digit that is printed, and the rounding of binary64.
TEN_DIGITS, THREE_DIGITS = 6e-11, 5e-4
# Two ways to one real number, each with some dozen roundings of binary64; and one rounding to float32.
ROUNDINGS, FLOAT32 = 1e-14, 1e-7


def close(actual: object, expected: object) -> bool:
    return np.allclose(np.asarray(actual), np.asarray(expected), rtol=0, atol=TEN_DIGITS)


def test_half_tables_beside_half_features_lose_no_digit_of_a_product() -> None:
    x, cos, sin = (np.array(values, dtype=np.float16) for values in ([[[[1 + 3 / 1024, 1.0]]]], [[1 + 3 / 1024]], [[1.0]]))
    exact = Fraction(1027, 1024) ** 2 - 1

    assert rope.apply(x, cos, sin)[0, 0, 0, 0] == np.float16(float(exact)) != x[0, 0, 0, 0] * cos[0, 0] - 1


@pytest.mark.parametrize(("layout", "expected"), [("interleaved", INTERLEAVED_AT_3), ("half", HALF_AT_3)])
def test_rope_turns_one_to_eight_at_position_three_as_tabulated(layout: Layout, expected: list[float]) -> None:
    x = np.arange(1.0, 9.0).reshape(1, 1, 1, 8)
    assert close(rope.rotate(x, np.array([3]), head_dim=8, layout=layout)[0, 0, 0], expected)


@pytest.mark.parametrize(("layout", "spacing", "expected"), [("interleaved", "paper", PAPER_AT_3), ("halves", "endpoint", ENDPOINT_AT_3)])
def test_a_sinusoid_of_width_eight_at_position_three_is_as_tabulated(
    layout: sinusoidal.Layout, spacing: sinusoidal.Spacing, expected: list[float]
) -> None:
    assert close(sinusoidal.encode(np.array([3]), dim=8, layout=layout, spacing=spacing)[0], expected)


@pytest.mark.parametrize(("spacing", "expected"), [("paper", [1, 0.1, 0.01, 0.001]), ("endpoint", [1, 0.0464158883, 0.0021544347, 1e-4])])
def test_the_two_spacings_give_the_tabulated_frequencies(spacing: str, expected: list[float]) -> None:
    assert close(sinusoidal.frequencies(8, 10_000.0, spacing, like=ANYTHING), expected)


def test_the_last_layout_is_the_halves_exchanged() -> None:
    halves = sinusoidal.encode(np.array([2, 9]), dim=6, layout="halves")
    swapped = sinusoidal.encode(np.array([2, 9]), dim=6, layout="halves_cosine_first")
    assert np.array_equal(np.roll(halves, 3, axis=1), swapped)


def test_the_scale_multiplies_values_and_not_angles() -> None:
    assert np.array_equal(sinusoidal.encode(np.array([0, 5]), dim=4, scale=2.0), 2.0 * sinusoidal.encode(np.array([0, 5]), dim=4))


def test_an_odd_width_ends_with_zeros_and_keeps_its_own_exponents() -> None:
    encoded = sinusoidal.encode(np.array([3]), dim=5, odd="zero_column")[0]
    slow = 3 * 10_000.0 ** (-2 / 5)
    assert close(encoded, [math.sin(3), math.cos(3), math.sin(slow), math.cos(slow), 0.0])


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        (1, [1 / 256]),
        (2, [1 / 16, 1 / 256]),
        (6, [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]),
        (8, [2.0**-h for h in range(1, 9)]),
        (12, [*[2.0**-h for h in range(1, 9)], 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_slopes_are_as_published(heads: int, expected: list[float]) -> None:
    assert close(alibi.slopes(num_heads=heads, like=ANYTHING), expected)


def doubled(heads: int) -> list[float]:
    """Return slopes by halving the question: those of the power of two below, then every second one of twice as many."""
    below = 2 ** math.floor(math.log2(heads))
    if below == heads:
        return [2.0 ** (-8.0 * h / heads) for h in range(1, heads + 1)]
    return doubled(below) + doubled(2 * below)[0::2][: heads - below]


@pytest.mark.parametrize("heads", range(1, 130))
def test_slopes_of_any_number_of_heads_follow_the_recursion(heads: int) -> None:
    assert np.allclose(alibi.slopes(num_heads=heads, like=ANYTHING), doubled(heads), rtol=ROUNDINGS, atol=0)


@pytest.mark.parametrize("heads", [1, 6, 12, 40])
def test_slopes_of_the_paper_are_one_series_for_any_number_of_heads(heads: int) -> None:
    expected = [2.0 ** (-8.0 * h / heads) for h in range(1, heads + 1)]
    assert close(alibi.slopes(num_heads=heads, slopes="paper", like=ANYTHING), expected)


@pytest.mark.parametrize("heads", [1, 2, 8, 64, 256])
def test_slopes_of_paper_and_code_are_the_same_for_powers_of_two(heads: int) -> None:
    paper, code = (alibi.slopes(num_heads=heads, slopes=rule, like=ANYTHING) for rule in ("paper", "code"))
    assert np.array_equal(paper, code)


def test_the_page_of_alibi_says_by_how_much_paper_and_code_differ() -> None:
    steeper, of_code, of_paper = [], [], []
    for heads in (6, 12, 40):
        far = {rule: alibi.bias(np.array([1_024]), np.array([0]), num_heads=heads, slopes=rule)[:, 0, 0] for rule in ("code", "paper")}
        head = np.argmax(far["code"] / far["paper"])
        steeper.append(f"{(far['code'] / far['paper'])[head]:.0f}")
        of_code.append(f"{far['code'][head]:.0f}")
        of_paper.append(f"{far['paper'][head]:.1f}")

    assert any(
        "one whose slope is {}, {} and {} times as steep by the code as by the paper".format(*steeper) in note
        and "is {}, {} and {} by the code".format(*of_code) in note
        and "and {}, {} and {} by the paper".format(*of_paper) in note
        for note in alibi.NOTES
    )


def test_a_row_of_alibi_counts_down_to_zero_at_the_query() -> None:
    bias = alibi.bias(np.array([4]), np.arange(5), num_heads=8)
    assert np.array_equal(bias[0, 0], np.array([-4.0, -3.0, -2.0, -1.0, 0.0]) / 2)


@pytest.mark.parametrize("form", ["column", "reversed"])
def test_other_forms_differ_from_the_row_form_by_a_constant_per_row(form: alibi.Form) -> None:
    query, key = np.array([3, 7]), np.array([5, 0, 2])
    difference = alibi.bias(query, key, num_heads=2, form=form) - alibi.bias(query, key, num_heads=2)
    assert np.ptp(difference, axis=-1).max() == 0
    assert np.abs(difference).max() > 0


@pytest.mark.parametrize(
    ("buckets", "exact", "expected"),
    [(16, 8, [12, 16, 23, 32, 46, 64, 91]), (32, 16, [19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113])],
)
def test_logarithmic_buckets_begin_at_the_published_distances(buckets: int, exact: int, expected: list[int]) -> None:
    assert t5.thresholds(buckets, exact, 128) == expected


def counted(distance: int, buckets: int, max_distance: int) -> int:
    """Return the bucket of a distance in one direction with rationals: the largest ``k`` with ``(a / e)^n >= (D / e)^k``."""
    exact = buckets // 2
    if distance < exact:
        return distance
    steps, reached = buckets - exact, Fraction(distance, exact) ** (buckets - exact)
    return exact + max(k for k in range(steps) if reached >= Fraction(max_distance, exact) ** k)


@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (16, 128), (8, 64), (7, 30), (5, 50), (2, 2), (32, 17), (160, 800)])
def test_every_distance_has_the_bucket_that_rational_arithmetic_gives(buckets: int, max_distance: int) -> None:
    distances = range(max_distance + 3)
    actual = t5.bucket(-np.array(distances), bidirectional=False, num_buckets=buckets, max_distance=max_distance)
    assert actual.tolist() == [counted(distance, buckets, max_distance) for distance in distances]


def test_a_later_key_has_the_upper_half_of_the_buckets() -> None:
    later, earlier = (t5.bucket(sign * np.arange(1, 300), bidirectional=True) for sign in (1, -1))
    assert np.array_equal(later, earlier + 16)
    assert (earlier.min(), earlier.max()) == (1, 15)


def test_a_causal_bucket_ignores_later_keys() -> None:
    assert t5.bucket(np.array([0, 1, 500]), bidirectional=False).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_a_narrow_integer_neither_wraps_nor_overflows(dtype: type) -> None:
    relative: np.ndarray = np.array([0, 44, 127], dtype=dtype)
    assert t5.bucket(relative, bidirectional=True, num_buckets=8, max_distance=1_000).tolist() == [0, 6, 7]


def test_a_bias_is_the_table_entry_of_key_minus_query() -> None:
    table = np.arange(64, dtype=np.float32).reshape(32, 2)
    bias = t5.bias(table, np.array([10]), np.array([10, 9, 11, 0]), bidirectional=True)
    assert bias.dtype == np.float32
    assert bias[:, 0].tolist() == [[0, 2, 34, 16], [1, 3, 35, 17]]


def test_a_default_table_size_is_checked() -> None:
    with pytest.raises(SpecificationError, match="axis 'num_buckets' of table must be 32, got 16"):
        t5.bias(np.zeros((16, 1)), np.array([0]), np.array([0]), bidirectional=True)


@pytest.mark.parametrize(
    ("head_dim", "base", "truncate", "expected"),
    [(128, 1e4, True, (20, 46)), (128, 1e4, False, (20.944, 45.027)), (64, 1e4, True, (10, 23)), (64, 150_000.0, False, (8.0928, 17.3980))],
)
def test_the_yarn_band_of_known_models_is_as_published(head_dim: int, base: float, truncate: bool, expected: tuple[float, float]) -> None:  # noqa: FBT001  # a column of the table
    assert np.allclose(yarn.band(head_dim, base, 4_096, (32.0, 1.0), truncate=truncate), expected, rtol=0, atol=THREE_DIGITS)


@pytest.mark.parametrize(("factor", "expected"), [(16.0, 1.27725887), (40.0, 1.36888795), (32.0, 1.34657359), (1.0, 1.0), (0.5, 1.0)])
def test_the_attention_factor_of_known_models_is_as_published(factor: float, expected: float) -> None:
    assert abs(yarn.attention_factor(factor=factor) - expected) < 5e-9


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"attention_factor": 1.0, "mscale": 1.0, "mscale_all_dim": 0.5}, 1.0),
        ({"mscale": 0.707, "mscale_all_dim": 0.707}, 1.0),
        ({"mscale": 1.0, "mscale_all_dim": 0.5}, (1 + 0.1 * math.log(40)) / (1 + 0.05 * math.log(40))),
        ({"mscale": 1.0}, 1 + 0.1 * math.log(40)),
        ({"mscale": 1.0, "mscale_all_dim": 0.0}, 1 + 0.1 * math.log(40)),
        ({"mscale": 0.0, "mscale_all_dim": 1.0}, 1 + 0.1 * math.log(40)),
    ],
)
def test_parameters_of_the_attention_factor_override_each_other_in_order(parameters: dict[str, float], expected: float) -> None:
    assert abs(yarn.attention_factor(factor=40.0, **parameters) - expected) < 1e-15


def test_the_ratio_of_yarn_to_rope_falls_as_published() -> None:
    stretched = yarn.frequencies(head_dim=64, factor=40.0, original_length=4_096, like=ANYTHING)
    ratio = stretched / rope.frequencies(head_dim=64, like=ANYTHING)
    assert np.allclose(ratio[[0, 5, 10, 16, 23, 31]], [1, 1, 1, 0.55, 0.025, 0.025], rtol=ROUNDINGS, atol=0)
