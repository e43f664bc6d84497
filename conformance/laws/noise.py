"""What the same values may differ by when they are computed again in another place of an array: no angle term."""

from collections.abc import Callable, Mapping
from types import ModuleType

import numpy as np

from conformance.arguments import Arguments
from conformance.laws import additive, attention, bias, binary, distance_aware, learned, relative_bias, shaw, transformer_xl, unencoded
from conformance.laws.budget import frequencies, frequency_error
from conformance.laws.trial import Trial
from conformance.laws.turning import STREAMS, arithmetic_error, given_gain, stretch, turning_error

Noise = Callable[[Trial, Arguments, str], np.ndarray]


def noise(trial: Trial, call: Arguments, result: str) -> np.ndarray:
    """Return both sides' allowances for one result, without the angle term."""
    computed = NOISE.get(trial.operation.name, _number)
    return np.asarray(2 * computed(trial, call, result) + 2 * trial.rounding(call, result))


def _turned(trial: Trial, call: Arguments, result: str) -> np.ndarray:
    stream = next(stream for stream in STREAMS[trial.operation.name] if stream.result == result)
    return turning_error(trial.units, call.arrays[stream.vectors], stretch(trial).gain)


def _applied(trial: Trial, call: Arguments, _: str) -> np.ndarray:
    return arithmetic_error(trial.units, call.arrays["x"], given_gain(call))


def _tables(trial: Trial, call: Arguments, result: str) -> np.ndarray:
    return np.asarray(3 * trial.units.step + trial.units.stored * np.abs(trial.values(call, result)))


def _encoding(trial: Trial, call: Arguments, _: str) -> np.ndarray:
    return additive.value_error(trial, call)


def _frequencies(trial: Trial, call: Arguments, _: str) -> np.ndarray:
    theta = frequencies(trial.whole("head_dim"), trial.number("base"))
    return np.asarray((frequency_error(trial.units, theta, trial.number("base")) + 5 * trial.units.step) * np.abs(trial.values(call)))


def _number(trial: Trial, call: Arguments, _: str) -> np.ndarray:
    return np.asarray(3 * trial.units.step * np.abs(trial.values(call)))


def _slopes(trial: Trial, call: Arguments, _: str) -> np.ndarray:
    return np.asarray(bias.slope_error(trial) * np.abs(trial.values(call)))


def _biases(trial: Trial, call: Arguments, _: str) -> np.ndarray:
    return bias.bias_error(trial, call)


def _buckets(trial: Trial, call: Arguments, _: str) -> np.ndarray:
    return bias.tie(trial, bias.bucket_distance(trial, call.arrays["relative_positions"])) / 2


def _looked_up(trial: Trial, call: Arguments, _: str) -> np.ndarray:
    return bias.undecided(trial, bias.relative_of(call))


#: Schemes that say in their own module of laws what computing twice may change.
FAMILIES: tuple[ModuleType, ...] = (attention, transformer_xl, shaw, binary, learned, unencoded, relative_bias, distance_aware)

NOISE: Mapping[str, Noise] = {
    "rope.frequencies": _frequencies,
    "rope.tables": _tables,
    "rope.apply": _applied,
    "rope.rotate": _turned,
    "rope.rotate_query_key": _turned,
    "rope.gradient": _turned,
    "sinusoidal.encode": _encoding,
    "sinusoidal.shift_matrix": _tables,
    "alibi.slopes": _slopes,
    "alibi.bias": _biases,
    "t5.bucket": _buckets,
    "t5.bias": _looked_up,
    "yarn.frequencies": _frequencies,
    "yarn.attention_factor": _number,
    "yarn.rotate": _turned,
    "position_interpolation.frequencies": _frequencies,
    "position_interpolation.rotate": _turned,
    "longrope.frequencies": _frequencies,
    "longrope.attention_factor": _number,
    "longrope.rotate": _turned,
    "longrope.rotate_searched": _turned,
    **{name: computed for family in FAMILIES for name, computed in family.NOISE.items()},
}
