"""What a law allows covers the oracle's ball, and is not more than eight times wider.

The oracle's ball holds the error of frequencies, which laws leave out where both sides share it: so turning is compared where the
angle is exact (the pair that turns by whole positions), and angles and frequencies by themselves.
"""

from collections.abc import Mapping

import numpy as np
import pytest
from law_subjects import OPERATIONS, reference

from conformance import laws
from conformance.arguments import Arguments
from conformance.laws.bias import slope_error
from conformance.laws.budget import UNITS, angle_noise, frequencies, frequency_error, rounding
from conformance.laws.trial import Example, Sides, Trial
from conformance.oracle import Tensor, answer
from conformance.profiles import FORMATS, PROFILES
from refimpl.spec import Law

WIDEST = 8.0
#: The oracle's ball is a box: its corners lie up to this farther than errors that both members of a pair share can reach.
CORNER = np.sqrt(2.0)
#: At float64 the oracle's radius holds the rounding of the golden value too.
ROUGHER = PROFILES[1:]
VECTORS = np.array([[[[1.25, -0.5], [0.75, 1.0], [-1.5, 0.25]]]])
OTHERS = np.array([[[[-0.25, 1.75], [0.5, -0.875], [1.0, 1.5]]]])
POSITIONS = np.array([1, 257, 131_071])
ROTATION = {"head_dim": 2, "base": 10_000.0, "layout": "interleaved", "direction": "positive"}


def radius(
    name: str, arrays: Mapping[str, np.ndarray], parameters: Mapping[str, object], profile: str, result: str = "result"
) -> np.ndarray:
    """Return the oracle's allowance for every element, without the final rounding."""
    tensors = {key: Tensor(array.shape, tuple(array.ravel().tolist())) for key, array in arrays.items()}
    told = answer(name, tensors, dict(parameters))
    return np.array(told.allowed[profile][result], dtype=np.float64).reshape(told.expected[result].shape)


def sides(law: Law, call: Arguments, name: str, profile: str) -> list[Sides]:
    """Return the sides of a law for the exact reference at a profile."""
    others = {"x": OTHERS} if "x" in call.arrays else {}
    example = Example(call, others, 1000, (2, -1), dict(call.parameters))
    return list(laws.checker(OPERATIONS[name], law)(Trial(reference(name, "float64", profile), example)))


def rotation(positions: np.ndarray = POSITIONS, vectors: np.ndarray = VECTORS) -> Arguments:
    """Return a call that turns pairs of exact angles."""
    return Arguments({"x": vectors, "positions": positions}, ROTATION)


def turned_radius(call: Arguments, profile: str) -> np.ndarray:
    """Return the oracle's allowance for a turned vector."""
    return radius("rope.rotate", call.arrays, call.parameters, profile)


def assert_covers(allowed: np.ndarray, box: np.ndarray, *, corner: float = 1.0) -> None:
    """Check that every allowance covers the ball, and that none is more than eight times wider."""
    assert np.all(box > 0.0)
    assert np.all(allowed * corner >= box)
    assert np.all(allowed <= WIDEST * box)


@pytest.mark.parametrize("profile", ROUGHER)
def test_isometry_covers_the_radial_part_of_the_ball(profile: str) -> None:
    call = rotation()
    turned = reference("rope.rotate").call(list(call.arrays.values()), ROTATION).values["result"]

    (stated,) = sides(Law.ISOMETRY, call, "rope.rotate", profile)

    needed = np.sum(np.abs(turned) * turned_radius(call, profile), axis=-1) / np.linalg.norm(turned, axis=-1)
    assert_covers(stated.allowed, needed, corner=CORNER)


@pytest.mark.parametrize("profile", ROUGHER)
def test_composition_covers_the_balls_of_three_turns(profile: str) -> None:
    call = rotation()
    inner = reference("rope.rotate").call(list(call.arrays.values()), ROTATION).values["result"]
    calls = call, rotation(np.full(3, 1000), inner), rotation(POSITIONS + 1000)

    (stated,) = sides(Law.COMPOSITION, call, "rope.rotate", profile)

    first, second, third = (turned_radius(each, profile) for each in calls)
    assert_covers(stated.allowed, np.linalg.norm(first, axis=-1, keepdims=True) + second + third, corner=CORNER)


@pytest.mark.parametrize("profile", ROUGHER)
def test_the_relative_law_covers_the_balls_of_both_sides(profile: str) -> None:
    (stated,) = sides(Law.RELATIVE, rotation(), "rope.rotate", profile)

    needed = np.zeros((3, 3))
    for shift in (0, 1000):
        calls = rotation(POSITIONS + shift), rotation(POSITIONS + shift, OTHERS)
        values = [np.abs(reference("rope.rotate").call(list(each.arrays.values()), ROTATION).values["result"][0, 0]) for each in calls]
        radii = [turned_radius(each, profile)[0, 0] for each in calls]
        needed += radii[0] @ values[1].T + values[0] @ radii[1].T
    assert_covers(stated.allowed[0, 0], needed, corner=CORNER)


@pytest.mark.parametrize("profile", ROUGHER)
def test_the_circle_covers_the_ball_of_tables_with_exact_angles(profile: str) -> None:
    parameters = {"head_dim": 2, "base": 10_000.0}
    call = Arguments({"positions": POSITIONS}, parameters)
    tables = reference("rope.tables").call([POSITIONS], parameters).values

    (stated,) = sides(Law.TABLES_ON_CIRCLE, call, "rope.tables", profile)

    needed = sum(2 * np.abs(tables[part]) * radius("rope.tables", call.arrays, parameters, profile, part) for part in ("cos", "sin"))
    assert_covers(stated.allowed, np.asarray(needed))


@pytest.mark.parametrize("profile", ROUGHER)
def test_the_norm_covers_the_ball_of_an_encoding_with_exact_angles(profile: str) -> None:
    parameters = {"dim": 2, "base": 10_000.0, "layout": "interleaved", "spacing": "paper", "odd": "error", "scale": 1.0}
    call = Arguments({"positions": POSITIONS}, parameters)
    values = reference("sinusoidal.encode").call([POSITIONS], parameters).values["result"]

    (stated,) = sides(Law.CONSTANT_NORM, call, "sinusoidal.encode", profile)

    assert_covers(stated.allowed, 2 * np.sum(np.abs(values) * radius("sinusoidal.encode", call.arrays, parameters, profile), axis=-1))


@pytest.mark.parametrize("profile", ROUGHER)
def test_frequency_errors_are_those_of_the_oracle(profile: str) -> None:
    theta = frequencies(16, 10_000.0)

    needed = radius("rope.frequencies", {}, {"head_dim": 16, "base": 10_000.0}, profile)

    stated = frequency_error(UNITS[profile], theta, 10_000.0) * theta
    assert stated[0] == needed[0] == 0.0
    assert_covers(stated[1:], needed[1:])


@pytest.mark.parametrize("profile", ROUGHER)
def test_slope_errors_cover_those_of_the_oracle(profile: str) -> None:
    parameters = {"num_heads": 6, "max_bias": 7.0}
    call = Arguments({}, parameters)
    trial = Trial(reference("alibi.slopes", "float64", profile), Example(call, {}, 1, (1, 1), parameters))
    slopes = reference("alibi.slopes").call([], parameters).values["result"]

    assert_covers(slope_error(trial) * slopes, radius("alibi.slopes", {}, parameters, profile))


@pytest.mark.parametrize("profile", ["float32"])
def test_angle_noise_is_the_part_of_the_ball_that_grows_with_the_position(profile: str) -> None:
    parameters = {"head_dim": 4, "base": 10_000.0}
    theta, near, far = frequencies(4, 10_000.0), np.array([64]), np.array([65_536])

    grown = [max(radius("rope.tables", {"positions": p}, parameters, profile, part)[0, 1] for part in ("cos", "sin")) for p in (near, far)]

    units = UNITS[profile]
    errors = [angle_noise(units, p, theta)[0, 1] + p[0] * theta[1] * frequency_error(units, theta, 10_000.0)[1] for p in (near, far)]
    assert angle_noise(units, far, theta)[0, 0] == 0.0
    assert_covers(np.array([errors[1] - errors[0]]), np.array([grown[1] - grown[0]]))


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("value", [1.0, 1.5, 0.75, -3.0, 2.0**-13])
def test_the_final_rounding_is_half_a_unit_in_the_last_place(dtype: str, value: float) -> None:
    unit = 2.0 ** -FORMATS[dtype][0]

    allowed = rounding(np.array(value), dtype)

    assert abs(value) * unit <= allowed * 2.0 <= abs(value) * unit * 4.0


def test_the_final_rounding_of_zero_is_half_the_smallest_number() -> None:
    assert rounding(np.array(0.0), "float16") == 2.0**-25


def test_what_happens_at_the_origin_is_exact() -> None:
    (stated,) = sides(Law.IDENTITY_AT_ORIGIN, rotation(), "rope.rotate", "float32")

    assert not stated.allowed.any()
    assert np.array_equal(stated.left, stated.right)
