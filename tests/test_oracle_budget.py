"""What the oracle allows: exact steps nothing, legitimate code less than it needs, known mistakes far less than they take."""

import math
from itertools import pairwise

import law_implementations as right
import ml_dtypes
import numpy as np
import pytest
from flint import arb, ctx, fmpq

from conformance.oracle import Answer, Refused, Tensor, answer
from conformance.oracle.arithmetic import Exact, UndecidedError, Widened
from conformance.oracle.budget import PROFILES, ROWS

POSITIONS = (0, 1, 9, 255, 2049, 4097, 65535, 131071, 1048575)
DIM = 64
ROPE = {"head_dim": DIM, "base": 10000.0, "layout": "half", "direction": "positive"}


def dyadic(*shape: int) -> np.ndarray:
    count = math.prod(shape)
    return (((np.arange(count) * 37 + 5) ** 2 % 65 - 32) / 16).reshape(shape)


def tensor(array: np.ndarray) -> Tensor:
    return Tensor(array.shape, tuple(array.ravel().tolist()))


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return dyadic(1, 2, len(POSITIONS), DIM)


@pytest.fixture(scope="module")
def rotated(vectors: np.ndarray) -> Answer:
    return answer("rope.rotate", {"x": tensor(vectors), "positions": Tensor((len(POSITIONS),), POSITIONS)}, ROPE)


def ratio(got: np.ndarray, reply: Answer, profile: str, precision: int, *, least_normal: int = -126) -> np.ndarray:
    """Return the error as a multiple of what is allowed, half an ulp of the result's dtype included."""
    expected = np.array(reply.expected["result"].values)
    allowed = np.array([math.nan if a is None else a for a in reply.allowed[profile]["result"]])
    ulps = np.ldexp(0.5, np.maximum(np.frexp(expected)[1] - 1, least_normal) - (precision - 1))
    ratios = np.abs(np.asarray(got, dtype=np.float64).ravel() - expected) / (allowed + ulps)
    return ratios[np.isfinite(allowed)]


def theta32(base: float = 10000.0) -> np.ndarray:
    return right.frequencies(head_dim=DIM, base=base)


def rotate32(x: np.ndarray, theta: np.ndarray, table: type = np.float32, position: type = np.float32) -> np.ndarray:
    """Rotate as most code does: float32 angles, a table in some dtype, float32 arithmetic."""
    angles = np.array(POSITIONS).astype(position).astype(np.float32)[:, None] * theta.astype(np.float32)
    cos, sin = (f(angles).astype(table).astype(np.float32) for f in (np.cos, np.sin))
    return right.turned(x.astype(np.float32), cos, sin, "half", "positive")


def test_a_float32_rotation_stays_below_what_is_allowed(vectors: np.ndarray, rotated: Answer) -> None:
    assert 0 < ratio(rotate32(vectors, theta32()), rotated, "float32", 24).max() < 0.8


@pytest.mark.parametrize(
    ("mistake", "least"),
    [
        ({"theta": theta32(), "table": np.float16}, 50),
        ({"theta": theta32(), "table": ml_dtypes.bfloat16}, 500),
        ({"theta": theta32().astype(np.float16)}, 50),
        ({"theta": theta32().astype(ml_dtypes.bfloat16)}, 500),
        ({"theta": theta32(10001.0)}, 10),
        ({"theta": theta32(), "position": ml_dtypes.bfloat16}, 1e4),
        ({"theta": theta32() * np.float32(0.999)}, 100),
    ],
)
def test_a_mistake_takes_far_more_than_is_allowed(vectors: np.ndarray, rotated: Answer, mistake: dict[str, object], least: float) -> None:
    assert ratio(rotate32(vectors, **mistake), rotated, "float32", 24).max() > least


def test_half_positions_exceed_every_profile(vectors: np.ndarray, rotated: Answer) -> None:
    got = rotate32(vectors, theta32(), position=ml_dtypes.bfloat16)
    assert all(ratio(got, rotated, profile, 24).max() > 2 for profile in PROFILES)


@pytest.mark.parametrize(("table", "name"), [(np.float16, "float16"), (ml_dtypes.bfloat16, "bfloat16")])
def test_a_half_table_meets_its_profile(vectors: np.ndarray, rotated: Answer, table: type, name: str) -> None:
    got = rotate32(vectors, theta32(), table=table)
    assert 0.3 < ratio(got, rotated, f"{name}-table", 24).max() < 1


@pytest.mark.parametrize(
    ("half", "name", "precision", "least"), [(np.float16, "float16", 11, -14), (ml_dtypes.bfloat16, "bfloat16", 8, -126)]
)
def test_half_arithmetic_meets_the_model_profile_and_not_the_table_profile(
    vectors: np.ndarray, rotated: Answer, half: type, name: str, precision: int, least: int
) -> None:
    angles = np.array(POSITIONS, dtype=np.float32)[:, None] * theta32()
    cos, sin = np.cos(angles).astype(half), np.sin(angles).astype(half)
    got = right.turned(vectors.astype(half), cos, sin, "half", "positive")
    assert ratio(got, rotated, f"{name}-model", precision, least_normal=least).max() < 1
    assert ratio(got, rotated, f"{name}-table", precision, least_normal=least).max() > 1


def running_product() -> np.ndarray:
    ratio32, theta, values = np.float32(10000.0) ** np.float32(-2 / DIM), np.float32(1), []
    for _ in range(DIM // 2):
        values.append(theta)
        theta = np.float32(theta * ratio32)
    return np.array(values)


def test_a_running_product_needs_the_loose_profile() -> None:
    reply = answer("rope.frequencies", {}, {"head_dim": DIM, "base": 10000.0})
    got = running_product()
    assert ratio(got, reply, "float32-loose-frequencies", 24).max() < 0.8
    assert ratio(got, reply, "float32", 24).max() > ratio(got, reply, "float32-loose-frequencies", 24).max()
    assert ratio(theta32(10001.0), reply, "float32-loose-frequencies", 24).max() > 3


@pytest.mark.parametrize("form", ["power", "exp", "exp2"])
def test_every_way_to_a_frequency_stays_below_what_is_allowed(form: str) -> None:
    reply = answer("rope.frequencies", {}, {"head_dim": DIM, "base": 10000.0})
    exponent = np.arange(0, DIM, 2, dtype=np.float32) / np.float32(DIM)
    forms = {
        "power": theta32,
        "exp": lambda: np.exp(-exponent * np.log(np.float32(10000.0))),
        "exp2": lambda: np.exp2(-exponent * np.log2(np.float32(10000.0))),
    }
    assert ratio(forms[form](), reply, "float32", 24).max() < 0.8


def test_a_float32_sinusoid_stays_below_what_is_allowed_and_other_spacing_does_not() -> None:
    positions = Tensor((len(POSITIONS),), POSITIONS)
    reply = answer(
        "sinusoidal.encode",
        {"positions": positions},
        {"dim": DIM, "base": 10000.0, "layout": "halves", "spacing": "paper", "odd": "error", "scale": 1.0},
    )
    angles = np.array(POSITIONS, dtype=np.float32)[:, None] * theta32()
    got = np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)
    assert ratio(got, reply, "float32", 24).max() < 0.8
    assert ratio(got.astype(np.float16), reply, "float32", 24).max() > 50
    assert ratio(got.astype(np.float16), reply, "float16-table", 24).max() < 1
    ends = np.float32(10000.0) ** (-np.arange(DIM // 2, dtype=np.float32) / np.float32(DIM // 2 - 1))
    other = np.array(POSITIONS, dtype=np.float32)[:, None] * ends
    assert ratio(np.concatenate([np.sin(other), np.cos(other)], axis=-1), reply, "float32", 24).max() > 1000


@pytest.mark.parametrize("heads", [6, 8, 12, 16, 71])
def test_slopes_by_powers_of_a_rounded_base_stay_below_what_is_allowed(heads: int) -> None:
    asked = {"num_heads": heads, "max_bias": 8.0, "slopes": "code"}
    assert ratio(right.slopes(**asked), answer("alibi.slopes", {}, asked), "float32", 24).max() < 0.8


@pytest.mark.parametrize("heads", [3, 6, 12, 40, 71])
@pytest.mark.parametrize("largest", [6.0, 8.0])
def test_slopes_of_the_paper_by_powers_and_by_quotients_stay_below_what_is_allowed(heads: int, largest: float) -> None:
    reply = answer("alibi.slopes", {}, {"num_heads": heads, "max_bias": largest, "slopes": "paper"})
    h, n, most = np.arange(1, heads + 1, dtype=np.float32), np.float32(heads), np.float32(largest)

    for got in (np.exp2(-most / n) ** h, np.exp2(-most * (h / n)), np.exp2(-most / n * h), np.exp2(-most * h / n)):
        assert ratio(got, reply, "float32", 24).max() < 0.8


def test_half_slopes_are_seen_where_they_are_no_powers_of_two() -> None:
    seen = {
        heads: ratio(np.array(reply.expected["result"].values).astype(ml_dtypes.bfloat16), reply, "float32", 24).max()
        for heads in (8, 12)
        for reply in [answer("alibi.slopes", {}, {"num_heads": heads, "max_bias": 8.0, "slopes": "code"})]
    }
    assert seen[8] == 0
    assert seen[12] > 100


def test_exact_steps_are_allowed_nothing(rotated: Answer) -> None:
    origin = slice(0, DIM)
    assert all(set(allowed["result"][origin]) == {0.0} for allowed in rotated.allowed.values())


@pytest.mark.parametrize(
    ("operation", "inputs", "parameters"),
    [
        ("rope.frequencies", {}, {"head_dim": 2, "base": 10000.1}),
        ("yarn.attention_factor", {}, {"factor": 1.0, "mscale": None, "mscale_all_dim": None, "attention_factor": None, "slope": 0.1}),
    ],
)
def test_exact_results_are_allowed_nothing(operation: str, inputs: dict[str, Tensor], parameters: dict[str, object]) -> None:
    reply = answer(operation, inputs, parameters)
    assert all(set(allowed["result"]) == {0.0} for allowed in reply.allowed.values())


def test_a_power_of_a_rounded_root_is_not_exact() -> None:
    allowed = answer("alibi.slopes", {}, {"num_heads": 16, "max_bias": 8.0, "slopes": "code"}).allowed["float32"]["result"]
    assert all(value > 0 for value in allowed if value is not None)


def test_a_power_of_a_width_may_miss_its_exact_root() -> None:
    """``exp(-ln(64) / 2)`` is not quite 1/8."""
    reply = answer("yarn.softmax_scale", {}, {"qk_head_dim": 64, "factor": 1.0, "mscale_all_dim": None})

    assert reply.expected["result"].values == (0.125,)
    assert abs(math.exp(-math.log(64) / 2) - 0.125) < (reply.allowed["float64"]["result"][0] or 0.0) < 1e-15


def test_the_fastest_pair_stays_sharp_at_any_distance(rotated: Answer) -> None:
    allowed = np.array(rotated.allowed["float32"]["result"], dtype=float).reshape(2, len(POSITIONS), DIM)
    assert allowed[0, -1, 0] < 1e-6
    assert allowed[0, -1, 1] > 1e-3


def test_what_is_allowed_grows_with_the_position() -> None:
    reply = answer("rope.tables", {"positions": Tensor((4,), (1, 100, 10_000, 1_000_000))}, {"head_dim": 4, "base": 10000.0})
    allowed = [value for value in reply.allowed["float32"]["sin"][1::2] if value is not None]
    assert len(allowed) == 4
    assert all(near * 10 < far for near, far in pairwise(allowed))


def test_profiles_are_ordered_from_sharp_to_blunt(rotated: Answer) -> None:
    near = slice(0, 5 * DIM)
    means = {profile: np.mean(np.array(allowed["result"][near], dtype=float)) for profile, allowed in rotated.allowed.items()}
    assert means["float64"] < means["float32"] < means["float32-loose-frequencies"]
    for half in ("float16", "bfloat16"):
        assert means["float32"] < means[f"{half}-table"] < means[f"{half}-model"]


def test_an_angle_that_is_too_uncertain_is_not_judged() -> None:
    reply = answer("rope.tables", {"positions": Tensor((2,), (1, 2**24 - 1))}, {"head_dim": 8, "base": 10000.0})
    assert reply.allowed["float32"]["cos"][5] is None
    assert reply.allowed["float32"]["cos"][4] is not None
    assert reply.allowed["float64"]["cos"][5] is not None


def test_an_angle_that_is_not_judged_spoils_only_what_it_multiplies() -> None:
    x = Tensor((1, 1, 1, 4), (1.0, 0.0, 1.0, 0.0))
    reply = answer(
        "rope.rotate",
        {"x": x, "positions": Tensor((1,), (2**24 - 1,))},
        {"head_dim": 4, "base": 1.5, "layout": "half", "direction": "positive"},
    )
    assert reply.allowed["float32"]["result"][1::2] == (0.0, 0.0)
    dense = answer(
        "rope.rotate",
        {"x": Tensor((1, 1, 1, 4), (1.0,) * 4), "positions": Tensor((1,), (2**24 - 1,))},
        {"head_dim": 4, "base": 1.5, "layout": "half", "direction": "positive"},
    )
    assert dense.allowed["float32"]["result"][1::2] == (None, None)


def test_a_base_that_float32_cannot_hold_costs_a_rounding() -> None:
    exact, rounded = (
        answer("rope.frequencies", {}, {"head_dim": 4, "base": base}).allowed["float32"]["result"][1] for base in (10000.0, 10000.1)
    )
    assert exact is not None
    assert rounded is not None
    assert exact * 1.005 < rounded < exact * 1.05


def attention(q: np.ndarray, k: np.ndarray, positions: tuple[tuple[int, ...], tuple[int, ...]], v: np.ndarray | None = None) -> Answer:
    inputs = {"q": tensor(q), "k": tensor(k), "query_positions": Tensor((len(positions[0]),), positions[0])}
    inputs["key_positions"] = Tensor((len(positions[1]),), positions[1])
    operation = "rope.weights" if v is None else "rope.attend"
    return answer(operation, inputs if v is None else {**inputs, "v": tensor(v)}, {**ROPE, "head_dim": q.shape[-1], "causal": False})


def attend32(q: np.ndarray, k: np.ndarray, queries: tuple[int, ...], keys: tuple[int, ...]) -> np.ndarray:
    places, parameters = (np.array(queries), np.array(keys)), {**ROPE, "head_dim": q.shape[-1]}
    return right.weights(q.astype(np.float32), k.astype(np.float32), *places, causal=False, **parameters)


@pytest.mark.parametrize("shift", [0, 1_000_000])
def test_float32_attention_weights_stay_below_what_is_allowed(shift: int) -> None:
    queries, keys = tuple(shift + p for p in (300, 9, 4097)), tuple(shift + p for p in (0, 1, 257, 5000))
    q, k = dyadic(1, 1, 3, 16), dyadic(1, 1, 4, 16) / 2
    reply = attention(q, k, (queries, keys))
    assert 0 < ratio(attend32(q, k, queries, keys), reply, "float32", 24).max() < 0.8


def test_a_frequency_error_cancels_at_equal_distances() -> None:
    near, far = (
        attention(dyadic(1, 1, 1, 8), dyadic(1, 1, 2, 8), ((shift + 9,), (shift, shift + 3))).allowed["float32"]["result"][0]
        for shift in (0, 100_000)
    )
    independent = answer("rope.tables", {"positions": Tensor((1,), (100_000,))}, {"head_dim": 8, "base": 10000.0}).allowed["float32"][
        "sin"
    ][1]
    assert near is not None
    assert far is not None
    assert independent is not None
    assert near < far < independent


def test_sparse_queries_show_a_shifted_key_and_a_wrong_base() -> None:
    q, k = np.zeros((1, 1, 1, 16)), np.zeros((1, 1, 3, 16))
    q[..., [0, 8]], k[..., [0, 8]] = (2.0, 1.0), (1.0, 2.0)
    reply = attention(q, k, ((1_000_000,), (999_999, 999_997, 999_990)))
    shifted = attend32(q, k, (1_000_000,), (1_000_000, 999_998, 999_991))
    assert ratio(attend32(q, k, (1_000_000,), (999_999, 999_997, 999_990)), reply, "float32", 24).max() < 0.8
    assert ratio(shifted, reply, "float32", 24).max() > 1000


def test_a_lone_key_and_equal_values_stay_near_exact() -> None:
    lone = attention(dyadic(1, 1, 1, 8), dyadic(1, 1, 1, 8), ((9,), (5,)), dyadic(1, 1, 1, 8))
    assert set(lone.allowed["float32"]["result"]) == {0.0}
    equal = attention(dyadic(1, 1, 1, 8), dyadic(1, 1, 3, 8), ((9,), (5, 70_000, 3)), np.full((1, 1, 3, 8), 0.75))
    assert set(equal.expected["result"].values) == {0.75}
    assert all(0 < value < 1e-5 for value in equal.allowed["float32"]["result"] if value is not None)


def test_weights_are_never_allowed_to_leave_zero_and_one_by_more_than_they_measure() -> None:
    reply = attention(4 * dyadic(1, 1, 2, 8), 4 * dyadic(1, 1, 3, 8), ((1_000_000, 3), (0, 500_000, 70_000)))
    allowed = np.array(reply.allowed["bfloat16-model"]["result"], dtype=float)
    assert np.all(np.isfinite(allowed))
    assert np.all(allowed <= 1)


def test_a_tie_that_no_precision_decides_is_refused_by_name() -> None:
    v = np.array([[[[1.0, 0.5], [1.0 + 2.0**-52, 0.5]]]])
    q, k = np.array([[[[1.0, 0.5]]]]), np.array([[[[1.0, 0.25], [1.0, 0.25]]]])
    with pytest.raises(Refused, match=r"rope\.attend: element 0 of result must be decided within 4096 bits"):
        attention(q, k, ((3,), (5, 5)), v)


def test_an_exact_tie_is_decided_to_even() -> None:
    x = Tensor((1, 1, 1, 2), (1.0, 2.0**-53))
    reply = answer(
        "rope.apply",
        {"x": x, "cos": Tensor((1, 1), (1.0,)), "sin": Tensor((1, 1), (-1.0,))},
        {"layout": "half", "direction": "positive"},
    )
    assert reply.expected["result"].values[0] == 1.0


def test_a_floor_that_no_ball_decides_asks_for_precision() -> None:
    with ctx.workprec(128), pytest.raises(UndecidedError, match="a floor"):
        Exact().floors(arb(3, 1e-30))


def test_a_widened_floor_reaches_both_sides() -> None:
    with ctx.workprec(128):
        a = Widened("float32")
        assert a.settle(a.floors(arb(3, 1e-30))) == (2, 3)
        assert a.straddled


def test_ties_of_the_t5_logarithm_reach_the_bucket_below_in_every_profile() -> None:
    distances = {"relative_positions": Tensor((4,), (-32, 33, -64, 200))}
    reply = answer("t5.bucket", distances, {"bidirectional": True, "num_buckets": 32, "max_distance": 128})
    assert reply.expected["result"].values == (12, 28, 14, 31)
    assert reply.straddles
    assert all(others["result"] == {0: (11,), 2: (13,)} for others in reply.also.values())
    assert set(reply.also) == set(PROFILES)


def test_a_bias_at_a_tie_covers_both_entries_of_the_table() -> None:
    inputs = {
        "table": Tensor((32, 1), tuple(float(row) ** 2 for row in range(32))),
        "query_positions": Tensor((1,), (100,)),
        "key_positions": Tensor((2,), (68, 67)),
    }
    reply = answer("t5.bias", inputs, {"bidirectional": True, "num_buckets": 32, "max_distance": 128})
    assert reply.expected["result"].values == (144.0, 144.0)
    tie, clear = reply.allowed["float32"]["result"]
    assert tie == pytest.approx(23.0)
    assert clear == 0
    assert reply.straddles


def test_a_yarn_bound_beside_an_integer_covers_both_bands() -> None:
    # The number of turns for which d ln(L / (2 pi n)) / (2 ln base) is 3 but for a rounding: L / (2 pi base^(6 / d)).
    turns = 4096 / (2 * math.pi * 10000.0 ** (6 / 64))
    parameters = {"head_dim": 64, "base": 10000.0, "factor": 8.0, "original_length": 4096, "beta_slow": 1.0, "truncate": True}
    beside = answer("yarn.frequencies", {}, {**parameters, "beta_fast": turns})
    away = answer("yarn.frequencies", {}, {**parameters, "beta_fast": 1.1 * turns})
    assert beside.straddles
    assert not away.straddles
    worst = max(value for value in beside.allowed["float32"]["result"] if value is not None)
    assert worst > 1000 * max(value for value in away.allowed["float32"]["result"] if value is not None)


@pytest.mark.parametrize("step", ["sum", "product", "angle"])
def test_a_representable_result_is_not_widened(step: str) -> None:
    with ctx.workprec(128):
        a = Widened("float32")
        assert a.step(step, arb(fmpq(3, 8))).is_exact()
        assert not a.step(step, arb(2) ** 24 + 1).is_exact()


def test_no_widening_is_below_what_a_flushed_result_costs() -> None:
    with ctx.workprec(128):
        assert Widened("float32").error("product", arb(2) ** -200) == arb(2) ** -126
        assert Widened("float64").error("product", arb(2) ** -1100) == arb(2) ** -1022
        assert Widened("float16-model").error("product", arb(2) ** -100) >= arb(2) ** -25


def test_the_budget_explains_every_row() -> None:
    assert all(row.covers and row.argument and row.needs for row in ROWS.values())
    assert len(PROFILES) == 7


KERNELS = {
    "log": {
        "log": lambda rate, distance: np.log(1 + rate * distance),
        "log1p": lambda rate, distance: np.log1p(rate * distance),
        "log2": lambda rate, distance: np.log2(1 + rate * distance) * np.log(np.float32(2)),
    },
    "power": {
        "pow": lambda rate, distance: distance**rate,
        "exp": lambda rate, distance: np.exp(rate * np.log(distance)),
        "exp2": lambda rate, distance: np.exp2(rate * np.log2(distance)),
    },
}


@pytest.mark.parametrize(("form", "way"), [(form, way) for form, ways in KERNELS.items() for way in ways])
def test_every_way_to_a_kernel_stays_below_what_is_allowed(form: str, way: str) -> None:
    first, second, keys = np.array([1.0, 0.3125, 1.9375]), np.array([1.5, 0.0009765625, 0.6875]), (0, 1, 2, 9, 257, 4_097, 1_048_575)
    inputs = {"first": tensor(first), "second": tensor(second), "query_positions": Tensor((1,), (0,)), "key_positions": Tensor((7,), keys)}
    reply = answer("kerple.bias", inputs, {"form": form})
    factor, rate = (learned.astype(np.float32)[:, None, None] for learned in (first, second))

    with np.errstate(divide="ignore"):
        got = -factor * KERNELS[form][way](rate, np.array(keys, dtype=np.float32))

    assert 0 < ratio(got, reply, "float32", 24).max() < 0.8
    assert ratio(got * np.float32(1 + 1e-4), reply, "float32", 24).max() > 1


def test_half_logarithms_are_seen_where_a_stored_bias_is_not() -> None:
    keys = (1, 3, 9, 257)
    inputs = {"first": tensor(np.array([1.0])), "second": tensor(np.array([2.0**-8])), "query_positions": Tensor((1,), (0,))}
    reply = answer("kerple.bias", inputs | {"key_positions": Tensor((4,), keys)}, {"form": "log"})
    right = np.array(reply.expected["result"].values)
    inside = -np.log((1 + 2.0**-8 * np.array(keys)).astype(ml_dtypes.bfloat16).astype(float))

    assert ratio(right.astype(ml_dtypes.bfloat16), reply, "bfloat16-model", 8).max() <= 1
    assert ratio(inside.astype(ml_dtypes.bfloat16), reply, "bfloat16-model", 8).max() > 1


LOGARITHMS = {
    "logaddexp": lambda x: np.logaddexp(np.float32(0), x),
    "log1p of a power": lambda x: np.log1p(np.exp(x)),
    "log1p of a small power": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
}


@pytest.mark.parametrize("form", LOGARITHMS)
def test_a_distance_factor_by_its_logarithm_stays_below_what_is_allowed(form: str) -> None:
    weight, saturation = np.array([1.0, -1.0, 0.0625, -0.0625, 0.3125]), np.array([0.25, 0.25, 20.0, 1.0625, -5.0])
    queries, keys = (0, 70), (0, 1, 9, 140, 1114)
    inputs = {"distance_weight": tensor(weight), "saturation": tensor(saturation)}
    inputs |= {"query_positions": Tensor((len(queries),), queries), "key_positions": Tensor((len(keys),), keys)}
    reply = answer("da_transformer.rescale", inputs, {})
    distance = np.abs(np.subtract.outer(queries, keys)).astype(np.float32)
    w, v = (x.astype(np.float32)[:, None, None] for x in (weight, saturation))

    with np.errstate(over="ignore", invalid="ignore"):
        got = np.exp(LOGARITHMS[form](v) - LOGARITHMS[form](v - w * distance))

    judged = np.where(np.isfinite(got), got, np.array(reply.expected["result"].values).reshape(got.shape))
    assert 0 < ratio(judged, reply, "float32", 24).max() < 0.8
    assert ratio(judged * np.float32(1 + 1e-4), reply, "float32", 24).max() > 1
