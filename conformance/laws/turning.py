"""What the rotary operations have in common: vectors that are turned, and what says how far."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from conformance.arguments import Arguments
from conformance.laws.budget import Units, angle_noise, frequencies, in_any_layout, norm, pair_norms
from conformance.laws.trial import Trial


@dataclass(frozen=True)
class Stream:
    """An array of vectors, the positions that it is turned to, and the result that holds it."""

    vectors: str
    positions: str
    result: str


STREAMS = {
    "rope.apply": (Stream("x", "cos", "result"),),
    "rope.rotate": (Stream("x", "positions", "result"),),
    "rope.gradient": (Stream("cotangent", "positions", "result"),),
    "rope.rotate_query_key": (Stream("q", "query_positions", "query"), Stream("k", "key_positions", "key")),
    "yarn.rotate": (Stream("x", "positions", "result"),),
    "position_interpolation.rotate": (Stream("x", "positions", "result"),),
    "longrope.rotate": (Stream("x", "positions", "result"),),
    "longrope.rotate_searched": (Stream("x", "positions", "result"),),
}


@dataclass(frozen=True)
class Stretch:
    """The number that multiplies every turned vector, and its own relative error."""

    gain: float
    error: float


def yarn_gain(trial: Trial) -> float:
    """Return YaRN's attention factor by the documented rule: the one given, a ratio of growths, or one growth."""
    parameters = trial.arguments.parameters
    given = parameters["attention_factor"]
    scales = [float(parameters[name] or 0.0) for name in ("mscale", "mscale_all_dim")]
    factor = trial.number("factor")
    ratio = growth(factor, scales[0]) / growth(factor, scales[1]) if all(scales) else growth(factor, 1.0)
    return ratio if given is None else float(given)


def longrope_gain(trial: Trial) -> float:
    """Return LongRoPE's attention factor, ``sqrt(1 + ln s / ln L)``."""
    original = trial.number("original_length")
    return math.sqrt(1.0 + max(0.0, math.log(trial.number("max_length") / original)) / math.log(original))


#: The attention factors of the operations that have one.
GAINS: Mapping[str, Callable[[Trial], float]] = {"yarn.rotate": yarn_gain, "longrope.rotate": longrope_gain}


def stretch(trial: Trial) -> Stretch:
    """Return the attention factor and its error; 1 and none where there is no such factor."""
    units, name = trial.units, trial.operation.name
    gain = GAINS[name](trial) if name in GAINS else 1.0
    return Stretch(gain, 0.0 if gain == 1.0 else (3 * units.step + units.stored + units.product))


def given_gain(arguments: Arguments) -> float:
    """Return the most that tables which are given can stretch a pair."""
    return float(np.hypot(arguments.arrays["cos"], arguments.arrays["sin"]).max())


def growth(factor: float, scale: float) -> float:
    """Return ``0.1 scale ln(factor) + 1``, or 1 where nothing is stretched."""
    return 0.1 * scale * math.log(factor) + 1.0 if factor > 1.0 else 1.0


def reread(trial: Trial, turned: np.ndarray) -> np.ndarray:
    """Return a result in the channel order that the operation reads, for the layout that writes another one."""
    if trial.arguments.parameters["layout"] != "interleaved_to_half":
        return turned
    return to_half(turned) if trial.operation.name == "rope.gradient" else to_interleaved(turned)


def rewritten(trial: Trial, vectors: np.ndarray) -> np.ndarray:
    """Return vectors in the channel order that the operation writes."""
    if trial.arguments.parameters["layout"] != "interleaved_to_half":
        return vectors
    return to_interleaved(vectors) if trial.operation.name == "rope.gradient" else to_half(vectors)


def to_half(x: np.ndarray) -> np.ndarray:
    """Move members of pairs from side by side to half a head apart."""
    return np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)


def to_interleaved(x: np.ndarray) -> np.ndarray:
    """Move members of pairs from half a head apart to side by side."""
    return np.stack(np.split(x, 2, axis=-1), axis=-1).reshape(x.shape)


def placed(arguments: Arguments, streams: tuple[Stream, ...], positions: dict[str, np.ndarray]) -> Arguments:
    """Return the same call at other positions."""
    return arguments.with_arrays(**{stream.positions: positions[stream.positions] for stream in streams})


def interpolated(trial: Trial) -> np.ndarray:
    """Return the frequencies of position interpolation."""
    return frequencies(trial.whole("head_dim"), trial.number("base")) / trial.number("factor")


def chosen(trial: Trial) -> np.ndarray:
    """Return LongRoPE's frequencies by the list that the length chooses."""
    name = "long_factors" if trial.whole("length") > trial.whole("original_length") else "short_factors"
    return np.asarray(frequencies(trial.whole("head_dim"), trial.number("base")) / trial.arguments.arrays[name])


def searched(trial: Trial) -> np.ndarray:
    """Return the larger of the two frequencies that a pair may have, 1 only where both are."""
    plain = frequencies(trial.whole("head_dim"), trial.number("base"))
    rest = plain / trial.arguments.arrays["factors"]
    return np.where(plain == rest, plain, np.nextafter(np.maximum(plain, rest), np.inf))


#: Frequencies that aren't plain rope's, where the rounding of angles has to know them.
SPECTRA: Mapping[str, Callable[[Trial], np.ndarray]] = {
    "position_interpolation.rotate": interpolated,
    "longrope.rotate": chosen,
    "longrope.rotate_searched": searched,
}


def spectrum(trial: Trial) -> np.ndarray:
    """Return frequencies that bound the angles of a rotary operation: its own, or plain rope's where those are never smaller."""
    name = trial.operation.name
    return SPECTRA[name](trial) if name in SPECTRA else frequencies(trial.whole("head_dim"), trial.number("base"))


def noise_of(trial: Trial, positions: np.ndarray) -> np.ndarray:
    """Return the angle noise of every token (and pair), broadcast over heads."""
    noise = angle_noise(trial.units, positions, spectrum(trial))
    return noise[:, None] if positions.ndim == 2 else noise


def turning_error(units: Units, vectors: np.ndarray, gain: float, angles: np.ndarray | None = None) -> np.ndarray:
    """Return what every channel of a turned vector may be off by, whichever clean layout the pairs have."""

    def per_pair(reading: str) -> np.ndarray:
        sizes = pair_norms(vectors, reading)
        noise = 0.0 if angles is None else np.minimum(2.0, angles)
        return np.asarray(sizes * (units.turned + noise))

    return np.asarray(np.abs(gain) * in_any_layout(per_pair) + 4 * units.least)


def in_pairs(rounding: np.ndarray) -> np.ndarray:
    """Return what a rounding of the input may make of every channel: it is turned with its partner."""
    return np.broadcast_to(norm(rounding)[..., None], rounding.shape)


def arithmetic_error(units: Units, vectors: np.ndarray, gain: float = 1.0) -> np.ndarray:
    """Return what two products and a sum (and a factor) may be off by, with tables that both sides share."""
    return np.asarray(np.abs(gain) * 3 * units.product * in_any_layout(lambda reading: pair_norms(vectors, reading)) + 4 * units.least)


def radial_error(units: Units, vectors: np.ndarray, gain: float) -> np.ndarray:
    """Return what the norm of a turned vector may be off by: no angle term."""
    return gain * units.turned * norm(vectors) + 4 * units.least * math.sqrt(vectors.shape[-1])
