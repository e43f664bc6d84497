"""Every law convicts somebody: a small mistake that it is there to see."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from law_subjects import DTYPES, altered, changed, convicting, findings

from conformance.draw import Arguments, is_position
from conformance.outcomes import Reason
from refimpl.schemes import SCHEMES

Change = Callable[[Any, Arguments], Any]


def factor_on(first: float) -> Change:
    """Return what multiplies the first of several results."""
    return lambda values, _: (first * values[0], *values[1:])


def squared_scores(weights: np.ndarray, _: Arguments) -> np.ndarray:
    """Return weights that no longer sum to 1."""
    return weights**2


def first_key_leaks(result: np.ndarray, call: Arguments) -> np.ndarray:
    """Return a result that depends on what the last key holds, hidden or not."""
    return result + call.arrays["k"][:, :1, -1:, :1] / 16


def one_off(values: np.ndarray, _: Arguments) -> np.ndarray:
    """Return everything a sixteenth higher."""
    return values + 1 / 16


def from_distance_one(values: np.ndarray, _: Arguments) -> np.ndarray:
    """Return biases of distances that are one too long."""
    return values - 2.0 ** -np.arange(1, values.shape[0] + 1)[:, None, None]


def with_positions(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return biases that grow with the query's own position."""
    return values + call.arrays["query_positions"][:, None]


def near_the_end(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return buckets that go on rising."""
    return values + (np.abs(call.arrays["relative_positions"]) > 2 * int(str(call.parameters["max_distance"])))


def backwards(values: np.ndarray, _: Arguments) -> np.ndarray:
    """Return buckets that fall with the distance."""
    return values[::-1] if values.size else values


def without_offset(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return buckets that don't tell later from earlier keys."""
    later = call.arrays["relative_positions"] > 0
    one_way = int(str(call.parameters["num_buckets"])) // 2
    return values - later * one_way if call.parameters["bidirectional"] else values + later


def softened(values: np.ndarray, _: Arguments) -> np.ndarray:
    """Return a map that isn't linear."""
    return np.tanh(values)


def grown(values: np.ndarray, _: Arguments) -> np.ndarray:
    """Return everything a thousandth larger."""
    return values * 1.001


def half_positions(call: Arguments) -> Arguments:
    """Ask for positions as bfloat16 has them."""
    moved = {name: array.astype(DTYPES["bfloat16"]).astype(np.int64) for name, array in call.arrays.items() if is_position(name)}
    return call.with_arrays(**moved)


def doubled_key_positions(call: Arguments) -> Arguments:
    """Ask for keys at twice their positions."""
    return call.with_arrays(key_positions=2 * call.arrays["key_positions"])


def positions_from_one(call: Arguments) -> Arguments:
    """Ask for positions that are counted from 1."""
    return call.with_arrays(positions=call.arrays["positions"] + 1)


def direction_ignored(call: Arguments) -> Arguments:
    """Ask for the positive direction, whatever was asked for."""
    return call.with_parameters(direction="positive")


def not_causal(call: Arguments) -> Arguments:
    """Ask for no mask."""
    return call.with_parameters(causal=False)


def length_on_length(call: Arguments) -> Arguments:
    """Ask for another factor when the original length is short."""
    return call.with_parameters(factor=float(str(call.parameters["original_length"])) / 1024)


def reversed_ramp(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return the ratio to the plain frequencies in the wrong order."""
    theta = float(str(call.parameters["base"])) ** (-np.arange(values.size) / values.size)
    return theta * (values / theta)[::-1]


@pytest.mark.parametrize(
    ("operation", "law", "change"),
    [
        ("rope.rotate", "linear", softened),
        ("rope.rotate", "isometry", grown),
        ("rope.apply", "isometry", grown),
        ("rope.apply", "linear", softened),
        ("rope.apply", "composition", grown),
        ("rope.apply", "inverse", grown),
        ("rope.apply", "identity at origin", lambda x, _: x[..., ::-1]),
        ("rope.rotate", "identity at origin", lambda x, _: x[..., ::-1]),
        ("rope.tables", "tables on circle", factor_on(1.001)),
        ("rope.frequencies", "geometric", one_off),
        ("rope.weights", "weights sum to one", squared_scores),
        ("rope.attend", "constant values", one_off),
        ("rope.attend", "causal", first_key_leaks),
        ("sinusoidal.encode", "constant norm", grown),
        ("sinusoidal.encode", "bounded", grown),
        ("sinusoidal.shift_matrix", "orthogonal", grown),
        ("sinusoidal.shift_matrix", "identity at origin", lambda m, _: np.swapaxes(m, -1, -2)[..., ::-1]),
        ("alibi.slopes", "slopes in unit interval", one_off),
        ("alibi.bias", "translation", with_positions),
        ("alibi.bias", "row constant", lambda b, _: b**2),
        ("alibi.bias", "homogeneous", from_distance_one),
        ("alibi.bias", "zero at origin", from_distance_one),
        ("alibi.bias", "monotone", lambda b, _: -b),
        ("t5.bucket", "saturation", near_the_end),
        ("t5.bucket", "monotone", backwards),
        ("t5.bucket", "mirror", without_offset),
        ("t5.bucket", "zero at origin", lambda b, _: b + 1),
        ("t5.bias", "lookup", grown),
        ("t5.bias", "translation", with_positions),
        ("t5.bias", "saturation", with_positions),
        ("yarn.frequencies", "between", grown),
        ("yarn.frequencies", "reduces to rope", grown),
        ("yarn.frequencies", "ratio falls", reversed_ramp),
        ("yarn.attention_factor", "override", grown),
        ("yarn.attention_factor", "reduces to rope", one_off),
        ("yarn.rotate", "isometry", grown),
    ],
)
def test_a_wrong_result_is_convicted(operation: str, law: str, change: Change) -> None:
    assert law in convicting(changed(operation, change))


@pytest.mark.parametrize(
    ("operation", "law", "alter"),
    [
        ("rope.rotate", "composition", half_positions),
        ("rope.rotate", "relative", half_positions),
        ("rope.rotate", "identity at origin", positions_from_one),
        ("rope.rotate", "inverse", direction_ignored),
        ("rope.gradient", "composition", half_positions),
        ("rope.gradient", "inverse", direction_ignored),
        ("rope.tables", "composition", positions_from_one),
        ("rope.tables", "identity at origin", positions_from_one),
        ("rope.rotate_query_key", "relative", doubled_key_positions),
        ("rope.rotate_query_key", "composition", half_positions),
        ("rope.weights", "translation", doubled_key_positions),
        ("rope.attend", "translation", doubled_key_positions),
        ("rope.weights", "causal", not_causal),
        ("rope.attend", "causal", not_causal),
        ("sinusoidal.encode", "shift matrix", half_positions),
        ("sinusoidal.encode", "dot product", half_positions),
        ("sinusoidal.shift_matrix", "composition", half_positions),
        ("yarn.rotate", "composition", half_positions),
        ("yarn.rotate", "relative", half_positions),
        ("yarn.rotate", "reduces to rope", length_on_length),
    ],
)
def test_a_wrong_question_is_convicted(operation: str, law: str, alter: Callable[[Arguments], Arguments]) -> None:
    assert law in convicting(altered(operation, alter))


def test_every_claimed_law_of_every_operation_is_convicted_here() -> None:
    marks = (test_a_wrong_result_is_convicted, test_a_wrong_question_is_convicted)
    shown = {law for test in marks for _, law, _ in test.pytestmark[0].args[1]}  # type: ignore[attr-defined]  # pytest puts its marks there
    claimed = {law.name.lower().replace("_", " ") for scheme in SCHEMES.values() for laws in scheme.laws.values() for law in laws}

    assert shown == claimed


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_mistake_is_convicted_in_every_dtype(dtype: str) -> None:
    assert "isometry" in convicting(changed("rope.rotate", lambda x, _: 1.1 * x, dtype))


def test_a_result_that_is_not_a_number_never_passes() -> None:
    found = findings(changed("rope.rotate", lambda x, _: np.full_like(x, np.nan)))

    assert found["isometry"].worst == np.inf
    assert found["isometry"].kind is Reason.LAW


def test_a_sign_that_differs_between_queries_and_keys_breaks_the_relative_law() -> None:
    def opposite(call: Arguments) -> Arguments:
        return call.with_arrays(key_positions=-call.arrays["key_positions"])

    broken = convicting(altered("rope.rotate_query_key", opposite))

    assert "relative" in broken
    assert "isometry" not in broken
