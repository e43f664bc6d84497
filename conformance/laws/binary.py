"""Laws of the binary code: whole numbers, so nothing is allowed to differ."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.trial import Checker, Sides, Trial, exactly
from conformance.spec.arguments import Arguments
from refimpl.spec import Law

#: How many codes are asked for in a row.
RUN = 64


def unique(trial: Trial) -> Iterator[Sides]:
    """Different positions have different codes, and equal ones equal codes."""
    for call in _calls(trial):
        codes, positions = trial.values(call), call.arrays["positions"]
        alike = np.all(codes[:, None, :] == codes[None, :, :], axis=-1)
        yield exactly(alike.astype(np.float64), (positions[:, None] == positions[None, :]).astype(np.float64))


def binary_value(trial: Trial) -> Iterator[Sides]:
    """Every channel is 0 or 1, and the channels weighted with the powers of two sum to the position."""
    for call in _calls(trial):
        codes, positions = trial.values(call), call.arrays["positions"]
        yield exactly(codes, np.where(codes == 1.0, 1.0, 0.0))
        powers = np.left_shift(np.int64(1), np.arange(codes.shape[-1]))
        missing = np.where(codes == 1.0, powers, 0).sum(axis=-1) - positions
        yield exactly(missing.astype(np.float64), np.zeros(positions.shape))


def periodic(trial: Trial) -> Iterator[Sides]:
    """Channel k turns over after 2^k positions and is back after twice as many: along a run, and far out."""
    bits = trial.whole("bits")
    run = np.arange(min(RUN, 2**bits))
    codes = trial.values(trial.arguments.with_arrays(positions=run))
    for channel in range(bits):
        yield from _steps(codes[:, channel], codes[2**channel :, channel], codes[2 ** (channel + 1) :, channel])
    if not trial.subject.counted:
        yield from _far_out(trial, trial.example.shift % bits)


def _far_out(trial: Trial, channel: int) -> Iterator[Sides]:
    half = 2 ** (trial.whole("bits") - 1)
    start = (half - 1 - trial.arguments.arrays["positions"]) % half
    places = [start, start + 2**channel] + [start + 2 ** (channel + 1)] * (2 ** (channel + 1) <= half)
    codes = [trial.values(trial.arguments.with_arrays(positions=place))[:, channel] for place in places]
    yield from _steps(*codes, *[np.zeros(0)] * (3 - len(codes)))


def _steps(here: np.ndarray, turned: np.ndarray, back: np.ndarray) -> Iterator[Sides]:
    yield exactly(turned, 1.0 - here[: turned.size])
    yield exactly(back, here[: back.size])


def _calls(trial: Trial) -> Iterator[Arguments]:
    """Yield the drawn call; where positions can be chosen, also neighbours, and positions whose upper digits are all 1 or alternate."""
    call = trial.arguments
    yield call
    if not trial.subject.counted:
        positions, codes = call.arrays["positions"], 2 ** trial.whole("bits")
        near = np.concatenate([positions, positions + 1, positions + trial.example.shift]) % codes
        yield call.with_arrays(positions=near)
        yield call.with_arrays(positions=codes - 1 - near)
        yield call.with_arrays(positions=(codes // 3 + near) % codes)


LAWS: Mapping[Law, Checker] = {
    Law.UNIQUE: unique,
    Law.PERIODIC: periodic,
    Law.BINARY_VALUE: binary_value,
}
