"""Golden values at check time: what is stored can be had again, whole or in part, for any profiles."""

import decimal
import math

import numpy as np
import pytest

from conformance.golden.answers import UnprovableError, golden
from conformance.spec.arguments import Arguments
from conformance.spec.profiles import PROFILES
from conformance.spec.vectors import Vector, load

OPERATIONS = (
    "alibi.bias", "alibi.slopes", "binary.encode", "da_transformer.rescale", "da_transformer.weights", "learned.encode", "longrope.rotate",
    "longrope.rotate_searched", "none.attend", "position_interpolation.rotate", "relative_bias.bias", "rope.apply", "rope.attend",
    "rope.frequencies", "rope.gradient", "rope.rotate", "rope.rotate_query_key", "rope.tables", "rope.weights", "shaw.attend",
    "shaw.logits", "sinusoidal.encode", "sinusoidal.shift_matrix", "t5.bias", "t5.bucket", "transformer_xl.attend", "transformer_xl.terms",
    "yarn.attention_factor", "yarn.rotate",
)  # fmt: skip
UPWARDS = decimal.Context(prec=3, rounding=decimal.ROUND_CEILING)


def stored(operation: str) -> list[Vector]:
    return [vector for vector in load([operation]) if vector.error is None]


def again(vector: Vector, profiles: tuple[str, ...] = PROFILES, at: dict[str, np.ndarray] | None = None) -> Vector:
    call = Arguments(vector.inputs, vector.parameters)
    return golden(vector.operation, call, identity=vector.id, exposes=vector.exposes, profiles=profiles, at=at)


def rounded_up(radii: np.ndarray) -> list[float]:
    return [radius if math.isnan(radius) else float(UPWARDS.create_decimal_from_float(radius)) for radius in radii.ravel().tolist()]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_stored_vector_can_be_had_again_but_for_the_rounding_up_of_what_is_allowed(operation: str) -> None:
    for vector in stored(operation):
        got = again(vector)

        assert got.equality == vector.equality
        assert got.also == vector.also
        assert got.drawn
        for name, right in (vector.expected or {}).items():
            assert got.expected is not None
            assert got.expected[name].dtype == right.dtype
            assert got.expected[name].shape == right.shape
            assert got.expected[name].tobytes() == right.tobytes()
        assert got.allowed.keys() == vector.allowed.keys()
        for profile, results in vector.allowed.items():
            for name, radii in results.items():
                np.testing.assert_array_equal(rounded_up(got.allowed[profile][name]), radii.ravel())


@pytest.mark.parametrize("operation", OPERATIONS)
def test_chosen_elements_at_one_profile_are_those_of_the_whole(operation: str) -> None:
    for vector in stored(operation)[:4]:
        whole, expected = again(vector), vector.expected or {}
        at = {name: np.arange(right.size)[::-2] for name, right in expected.items()}

        got = again(vector, ("float32",), at)

        assert got.shapes == {name: right.shape for name, right in expected.items()}
        for name, right in expected.items():
            assert got.expected is not None
            assert got.expected[name].tobytes() == right.ravel()[at[name]].tobytes()
            places = enumerate(at[name].tolist())
            also = whole.also.get("float32", {}).get(name, {})
            assert got.also.get("float32", {}).get(name, {}) == {place: also[flat] for place, flat in places if flat in also}
        for name, radii in got.allowed.get("float32", {}).items():
            np.testing.assert_array_equal(radii, whole.allowed["float32"][name].ravel()[at[name]])
        assert set(got.allowed) <= {"float32"}


def test_few_elements_of_a_large_call_are_worked_out_alone() -> None:
    positions = np.arange(4096)
    arrays = {"x": np.ones((1, 32, 4096, 128)), "positions": positions}
    parameters = {"head_dim": 128, "base": 1e6, "layout": "half", "direction": "positive"}
    flat = np.array([0, 127 * 128 + 5, 32 * 4096 * 128 - 1])

    got = golden("rope.rotate", Arguments(arrays, parameters), identity="", exposes="", profiles=("float32",), at={"result": flat})

    assert got.expected is not None
    assert got.expected["result"].shape == (3,)
    assert got.expected["result"][0] == 1.0
    assert got.expected["result"][1] == pytest.approx(math.cos(angle := 127 * 1e6 ** (-5 / 64)) - math.sin(angle))


def test_a_query_that_sees_no_key_has_no_proven_value() -> None:
    arrays = {name: np.ones((1, 1, 2, 4)) for name in ("q", "k", "v")}
    places = {"query_positions": np.array([3, 0]), "key_positions": np.array([1, 2])}
    call = Arguments(arrays | places, {"causal": True})

    with pytest.raises(UnprovableError, match="every query must see a key, got a query before all keys"):
        golden("none.attend", call, identity="", exposes="", profiles=("float32",), at={"result": np.array([0])})


def test_a_tie_has_no_proven_value() -> None:
    arrays = {
        "q": np.array([[[[1.0, 0.5]]]]),
        "k": np.array([[[[1.0, 0.25], [1.0, 0.25]]]]),
        "v": np.array([[[[1.0, 0.5], [1.0 + 2.0**-52, 0.5]]]]),
        "query_positions": np.array([3]),
        "key_positions": np.array([1, 2]),
    }

    with pytest.raises(UnprovableError, match="must be decided within 4096 bits"):
        golden("none.attend", Arguments(arrays, {"causal": False}), identity="", exposes="", profiles=("float32",))


def test_a_tie_of_values_that_weigh_exactly_the_same_is_rounded_to_even() -> None:
    arrays = {
        "q": np.zeros((1, 1, 1, 2)),
        "k": np.ones((1, 1, 3, 2)),
        "v": np.array([[[[1.5, 0.5], [0.75, 0.5], [0.75 + 3 * 2.0**-53, 0.5]]]]),
        "query_positions": np.array([3]),
        "key_positions": np.array([1, 2, 3]),
    }
    got = golden("none.attend", Arguments(arrays, {"causal": False}), identity="", exposes="", profiles=("float32",))

    assert got.expected is not None
    assert got.expected["result"].ravel().tolist() == [1.0, 0.5]
