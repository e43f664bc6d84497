"""Every law convicts somebody: a small mistake that it is there to see."""

from collections.abc import Callable
from typing import Any

import law_implementations as rounding
import numpy as np
import pytest
from law_subjects import DTYPES, altered, changed, convicting, findings, subject

from conformance.calls.outcomes import Reason
from conformance.calls.takes import Takes
from conformance.laws import stepwise
from conformance.spec.arguments import Arguments, is_position
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
    return values - 2.0 ** -np.arange(1, values.shape[-3] + 1)[:, None, None]


def with_positions(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return biases that grow with the query's own position."""
    return values + call.arrays["query_positions"][..., None, :, None]


def grown_with_scores(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return averages that grow with what their queries score highest."""
    return values + call.arrays["scores"].max(axis=-1)[:, None, :, None]


def steeper_with_queries(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return biases whose steps from key to key grow with the query's own position."""
    return values * (1 + call.arrays["query_positions"][..., None, :, None])


def near_the_end(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return buckets that go on rising."""
    return values + (np.abs(call.arrays["relative_positions"]) > 2 * int(call.parameters["max_distance"]))


def backwards(values: np.ndarray, _: Arguments) -> np.ndarray:
    """Return buckets that fall with the distance."""
    return values[::-1] if values.size else values


def without_offset(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return buckets that don't tell later from earlier keys."""
    later = call.arrays["relative_positions"] > 0
    one_way = int(call.parameters["num_buckets"]) // 2
    return values - later * one_way if call.parameters["bidirectional"] else values + later


def softened(values: np.ndarray, _: Arguments) -> np.ndarray:
    """Return a map that isn't linear."""
    return np.tanh(values)


def grown(values: np.ndarray, _: Arguments) -> np.ndarray:
    """Return everything a thousandth larger."""
    return values * 1.001


def faster_with_length(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return frequencies that rise with the length."""
    return values * np.sqrt(call.parameters["length"])


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


def clamping(call: Arguments) -> Arguments:
    """Ask for the nearest row where another should be refused."""
    return call.with_parameters(outside="clamp")


def length_on_length(call: Arguments) -> Arguments:
    """Ask for another factor when the original length is short."""
    return call.with_parameters(factor=float(call.parameters["original_length"]) / 1024)


def one_token_longer(call: Arguments) -> Arguments:
    """Ask for a sequence that is a token longer, so that the factors switch too early."""
    return call.with_parameters(length=int(call.parameters["length"]) + 1)


def of_one_length(call: Arguments) -> Arguments:
    """Ask for a sequence of one length, whatever the length is, so that cached keys would fit."""
    return call.with_parameters(length=2 * int(call.parameters["original_length"]))


def without_factor(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return frequencies that nothing stretches."""
    return values * float(call.parameters["factor"])


def reversed_ramp(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return the ratio to the plain frequencies in the wrong order."""
    theta = float(call.parameters["base"]) ** (-np.arange(values.size) / values.size)
    return theta * (values / theta)[::-1]


def positions_by_index(call: Arguments) -> Arguments:
    """Ask for positions that are counted anew in every call, as where the cache's offset is lost."""
    counted = {name: np.broadcast_to(np.arange(p.shape[-1]), p.shape).copy() for name, p in call.arrays.items() if is_position(name)}
    return call.with_arrays(**counted)


def mean_of_heads_leaks(values: np.ndarray, _: Arguments) -> np.ndarray:
    """Return heads that see each other."""
    return values + values.mean(axis=1, keepdims=True) / 16


def mean_of_last_heads_leaks(values: np.ndarray, _: Arguments) -> np.ndarray:
    """Return heads that see each other where query and key are the last axes."""
    return values + values.mean(axis=-3, keepdims=True) / 16


def tiled_key_heads(call: Arguments) -> Arguments:
    """Ask for key heads in the order that tiling gives them instead of repeating."""
    groups = call.arrays["q"].shape[1] // call.arrays["k"].shape[1]
    tiled = {name: np.tile(call.arrays[name], (1, groups, 1, 1)) for name in ("k", "v") if name in call.arrays}
    return call.with_arrays(**tiled)


def ladder_to_the_end(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return frequencies that end at 1 / base, as sinusoids of another library do."""
    return float(call.parameters["base"]) ** (-np.arange(values.size) / max(1, values.size - 1))


def one_series(values: np.ndarray, call: Arguments) -> np.ndarray:
    """Return slopes of one geometric series, whatever the number of heads."""
    return 2.0 ** (-float(call.parameters["max_bias"]) * np.arange(1, values.size + 1) / values.size)


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
        ("binary.encode", "unique", lambda code, _: 0 * code),
        ("binary.encode", "periodic", lambda code, _: code[:, ::-1]),
        ("binary.encode", "binary value", lambda code, _: 1 - code),
        ("learned.encode", "lookup", grown),
        ("learned.encode", "linear", softened),
        ("learned.add", "adds", grown),
        ("binary.add", "adds", softened),
        ("none.weights", "weights sum to one", squared_scores),
        ("none.weights", "permutation", lambda weights, _: np.sort(weights)),
        ("none.attend", "permutation", first_key_leaks),
        ("none.attend", "constant values", one_off),
        ("none.attend_selected", "selected", grown_with_scores),
        ("sinusoidal.shift_matrix", "identity at origin", lambda m, _: np.swapaxes(m, -1, -2)[..., ::-1]),
        ("alibi.slopes", "slopes in unit interval", one_off),
        ("alibi.bias", "translation", with_positions),
        ("alibi.bias", "row constant", steeper_with_queries),
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
        ("da_transformer.rescale", "symmetric", with_positions),
        ("da_transformer.rescale", "bounded", lambda f, _: 2 * f),
        ("da_transformer.rescale", "monotone", lambda f, _: 1 / f),
        ("da_transformer.rescale", "identity at origin", grown),
        ("da_transformer.rescale", "reduces to none", grown),
        ("da_transformer.attend", "constant values", one_off),
        ("kerple.bias", "symmetric", with_positions),
        ("kerple.bias", "monotone", lambda b, _: -b),
        ("kerple.bias", "zero at origin", lambda b, _: b - 1),
        ("kerple.bias", "translation", with_positions),
        ("relative_bias.bias", "lookup", grown),
        ("yarn.frequencies", "between", grown),
        ("yarn.frequencies", "reduces to rope", grown),
        ("yarn.frequencies", "ratio falls", reversed_ramp),
        ("yarn.attention_factor", "override", grown),
        ("yarn.attention_factor", "reduces to rope", one_off),
        ("yarn.rotate", "isometry", grown),
        ("partial_rope.rotate", "passes", grown),
        ("partial_rope.index_scores", "weighed", lambda scores, _: np.maximum(scores, 0.0)),
        ("position_interpolation.frequencies", "interpolates", without_factor),
        ("proportional_rope.frequencies", "however many", one_off),
        ("dynamic_ntk.frequencies", "slows with length", faster_with_length),
        ("resonance_rope.frequencies", "whole wavelengths", grown),
        ("resonance_rope.frequencies", "nearest", grown),
        ("resonance_yarn.frequencies", "falls", lambda theta, _: theta[::-1]),
        ("temperature.scale", "sharpens", lambda scale, _: 1 / scale),
        ("temperature.log_scale", "untouched", grown),
        ("temperature.learned_scale", "rises twice", lambda scale, _: scale**2),
        ("mrope.positions", "counts on", lambda places, _: 2 * places),
        ("mrope.positions", "follows", lambda places, _: places + (places > 0)),
        ("mrope.positions", "moved by text", lambda places, _: 2 * places),
        ("axial_rope.positions", "covers", lambda places, _: 2 * places),
        ("axial_rope.positions", "lies in blocks", lambda places, _: 2 * places),
        ("longrope.attention_factor", "override", grown),
        ("longrope.attention_factor", "reduces to rope", one_off),
        ("longrope.attention_factor", "grows", lambda factor, _: 1 / factor),
        ("longrope.attention_factor", "stretches add", lambda factor, _: factor**2),
        ("yarn.attention_factor", "logarithmic", lambda factor, _: factor**2),
        ("yarn.softmax_scale", "halves", lambda scale, _: scale**2),
        ("yarn.softmax_scale", "unstretched", grown),
        ("yarn.softmax_scale", "square of growth", lambda scale, _: scale**0.5),
        ("rope.frequencies", "nested", ladder_to_the_end),
        ("rope.frequencies", "reach", lambda theta, _: theta**2),
        ("alibi.slopes", "nested", one_series),
        ("alibi.slopes", "reach", lambda slopes, _: 2 * slopes),
        ("rope.rotate", "heads", mean_of_heads_leaks),
        ("rope.attend", "heads", mean_of_heads_leaks),
        ("t5.bias", "heads", mean_of_last_heads_leaks),
        ("rope.attend", "stepwise", first_key_leaks),
        ("transformer_xl.logits", "additive", softened),
        ("transformer_xl.terms", "global query", lambda terms, _: (*terms[:2], 2 * terms[2], terms[3])),
        ("transformer_xl.shift", "shift is gather", lambda scores, _: scores[..., ::-1]),
        ("rerope.weights", "within window", lambda weights, _: weights**2),
        ("lerope.frequencies", "exponential", lambda theta, _: theta**2),
        ("lerope.frequencies", "apart", lambda theta, _: theta * theta.sum()),
        ("self_extend.weights", "group translation", with_positions),
        ("dual_chunk.weights", "within window", lambda weights, _: weights**2),
        ("dual_chunk.weights", "group translation", with_positions),
        ("retnet.decay", "multiplies", lambda decay, _: decay / 2),
        ("rope.permute", "restored", lambda weight, _: np.roll(weight, 1, axis=0)),
        ("rope.permute", "paired", lambda weight, _: np.roll(weight, 1, axis=0)),
        ("rope.permute", "columns", lambda weight, _: weight if weight.ndim == 1 else weight[:, ::-1]),
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
        ("partial_rope.attend_turned", "moves along", doubled_key_positions),
        ("partial_rope.index_scores", "translation", doubled_key_positions),
        ("rope.weights", "causal", not_causal),
        ("rope.attend", "causal", not_causal),
        ("sinusoidal.encode", "shift matrix", half_positions),
        ("sinusoidal.encode", "dot product", half_positions),
        ("sinusoidal.encode", "unique", half_positions),
        ("learned.encode", "outside", clamping),
        ("none.attend", "causal", not_causal),
        ("sinusoidal.shift_matrix", "composition", half_positions),
        ("yarn.rotate", "composition", half_positions),
        ("yarn.rotate", "relative", half_positions),
        ("yarn.rotate", "reduces to rope", length_on_length),
        ("position_interpolation.rotate", "interpolates", half_positions),
        ("dynamic_ntk.frequencies", "plain within length", one_token_longer),
        ("dynamic_ntk.rotate", "plain within length", one_token_longer),
        ("dynamic_ntk.rotate", "inconsistent cache", of_one_length),
        ("longrope.frequencies", "switches", one_token_longer),
        ("longrope.rotate", "switches", one_token_longer),
        ("longrope.rotate", "inconsistent cache", one_token_longer),
        ("rope.tables", "stepwise", positions_by_index),
        ("rope.rotate", "stepwise", positions_by_index),
        ("rope.rotate_query_key", "stepwise", positions_by_index),
        ("rope.weights", "stepwise", positions_by_index),
        ("rope.attend", "stepwise", positions_by_index),
        ("sinusoidal.encode", "stepwise", positions_by_index),
        ("sinusoidal.add", "stepwise", positions_by_index),
        ("sinusoidal.add", "alike", positions_by_index),
        ("sinusoidal.shift_matrix", "stepwise", positions_by_index),
        ("alibi.bias", "stepwise", positions_by_index),
        ("t5.bias", "stepwise", positions_by_index),
        ("yarn.rotate", "stepwise", positions_by_index),
        ("rope.weights", "heads", tiled_key_heads),
        ("transformer_xl.attend", "memory", positions_by_index),
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


@pytest.mark.parametrize("operation", ["dynamic_ntk.rotate", "longrope.rotate"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_inconsistent_cache_is_demanded_in_every_dtype(operation: str, dtype: str) -> None:
    assert "inconsistent cache" in convicting(altered(operation, of_one_length, dtype))


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


def test_a_counterexample_that_is_told_as_it_was_met_has_every_call_of_its_law() -> None:
    added = changed("rope.rotate", lambda result, _: result * np.abs(result))
    found = findings(added, shrink=False)

    assert len(found["linear"].calls) > 1


class Decoder:
    """Attention that takes from its cache what keys it has of a sequence, known by its beginning, and drops what lies further on."""

    def __init__(self, *, to_the_first_query: bool) -> None:
        self.to_the_first_query = to_the_first_query
        self.sequences: dict[bytes, dict[int, np.ndarray]] = {}

    def __call__(self, q: Any, k: Any, v: Any, query_positions: Any, key_positions: Any, **said: Any) -> Any:
        begins = b"".join(array.tobytes() for array in (k[..., :1, :], v[..., :1, :], key_positions[..., :1]))
        places = key_positions.reshape(-1, key_positions.shape[-1])[0].tolist()
        end = int(query_positions.min()) if self.to_the_first_query else places[-1] + 1
        kept = {place: key for place, key in self.sequences.get(begins, {}).items() if place < end}
        for index, place in enumerate(places):
            kept.setdefault(place, k[..., index, :].copy())
        self.sequences[begins] = kept
        keys = np.stack([kept[place] for place in places], axis=-2)
        return rounding.attend(q, keys, v, query_positions, key_positions, **said)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_cache_that_keeps_a_rejected_draft_of_the_same_length_is_convicted_by_going_back_alone(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decoding(*, right: bool) -> set[str]:
        return convicting(subject("rope.attend", Decoder(to_the_first_query=right), dtype, takes=Takes("consecutive", "at_end")))

    assert decoding(right=False) == {"stepwise"}
    assert decoding(right=True) == set()

    monkeypatch.setattr(stepwise, "_after_a_draft", lambda *_: ())
    assert decoding(right=False) == set()
