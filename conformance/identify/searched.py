"""Recover LongRoPE where the factors of the pairs are given: which list counts when, and what multiplies the result."""

import math
from dataclasses import replace

import numpy as np

from conformance.identify import angles, maps, numbers, rotary, turns
from conformance.identify.findings import Identity, Seen
from conformance.identify.maps import TOLERANCE
from conformance.identify.probe import Probe

SWITCH = 64


def rotate(probe: Probe) -> Identity:
    """Return the identity of a rotation with factors: without effect first, then one list apart from the other."""
    found = turns.opened(probe)
    plain = replace(rotary.identify(found), view=found)
    growth = plain.parameters.get("attention_factor")
    if "base" not in plain.parameters or (plain.operation is None and growth is None):
        return plain
    if probe.takes("factors"):
        return _searched(found, plain)
    return _switched(found, plain, 1.0 if growth is None else float(growth.value))


def frequencies(probe: Probe) -> Identity:
    """Return the identity of frequencies with factors."""
    ones = np.ones(int(probe.settings["width"]) // 2)
    plain = numbers.frequencies(numbers.one(probe.having(original_length=SWITCH, length=1, short_factors=ones, long_factors=ones)), probe)
    short, long = _lists(ones.size)
    given = probe.having(original_length=SWITCH, short_factors=short, long_factors=long)
    ratios = [numbers.one(given.having(length=length)) for length in (SWITCH, SWITCH + 1)]
    one = numbers.one(probe.having(length=1, short_factors=ones, long_factors=ones))
    if plain.operation == "rope.frequencies" and _close(one / ratios[0], short) and _close(one / ratios[1], long):
        what = f"{plain.what}, divided by short factors to the original length and by long ones beyond"
        return replace(plain, operation="longrope.frequencies", what=what)
    return Identity(None, "frequencies with factors, but not LongRoPE's choice of them", plain.parameters)


def _switched(found: turns.Turns, plain: Identity, growth: float) -> Identity:
    """Return LongRoPE as released models have it."""
    pairs = found.width // 2
    short, long = _lists(pairs)
    ratios = []
    for length in (SWITCH, SWITCH + 1):
        settings = {"original_length": SWITCH, "length": length, "short_factors": short, "long_factors": long}
        ratios.append(_slowed(replace(found, probe=found.probe.having(**settings)), plain))
    if not (_close(ratios[0], short) and _close(ratios[1], long)):
        return Identity(None, "rotary with factors for the pairs, but not LongRoPE's choice of them", plain.parameters)
    settings_ = found.probe.settings
    length, longest = int(settings_["original_length"]), int(settings_["max_length"])
    usual = math.sqrt(1 + math.log(longest / length) / math.log(length)) if longest > length else 1.0
    if abs(growth / usual - 1) > TOLERANCE[found.probe.dtype]:
        return Identity(None, f"LongRoPE, but times {growth:.6g} and not the usual {usual:.6g}", plain.parameters)
    shown = {name: seen for name, seen in plain.parameters.items() if name != "attention_factor"}
    what = f"base {plain.parameters['base'].value:g}, short factors to the original length and long ones beyond"
    return replace(plain, operation="longrope.rotate", what=what, parameters=shown)


def _searched(found: turns.Turns, plain: Identity) -> Identity:
    """Return LongRoPE as its paper has it: no factors before some token."""
    factors, _ = _lists(found.width // 2)
    probe = found.probe.having(factors=factors)
    ratio = _slowed(replace(found, probe=probe.having(start_tokens=0)), plain)
    start = int(found.probe.settings.get("start_tokens", 0))
    at = [_first_slow(replace(found, probe=probe.having(start_tokens=start)), plain, factors)]
    if not _close(ratio, factors):
        return Identity(None, "rotary with factors for the pairs, but not divided by them", plain.parameters)
    what = f"{plain.what}, divided by factors from token {at[0]} on"
    return replace(plain, operation="longrope.rotate_searched", what=what, parameters={**plain.parameters, "start_tokens": _start(at[0])})


def _start(first: int) -> Seen:
    """Return the start that makes this position the first slow one: position 0 doesn't turn, slow or not."""
    return Seen(0, 0, 1) if first == 1 else Seen(first)


def _slowed(found: turns.Turns, plain: Identity) -> np.ndarray:
    """Return by what the frequencies of the pairs are divided, from positions inside of the first length."""
    rotation = _rotation(found, plain)
    read = rotary.reader(found, rotation)
    positions = np.array([0, 1, 2, 4, 8, 16, 32, SWITCH - 1])
    start, *turned = read(positions)
    theta = angles.wrapped(turned[0] - start)
    for position, angle in zip(positions[2:], turned[1:], strict=True):
        theta = theta + angles.wrapped(angle - start - position * theta) / position
    return np.asarray(_plain(plain, found.width) / np.abs(theta))


def _first_slow(found: turns.Turns, plain: Identity, factors: np.ndarray) -> int:
    """Return the first of 32 positions whose fastest slowed pair is slow."""
    positions = np.arange(32)
    angle = rotary.reader(found, _rotation(found, plain))(positions)
    pair = int(np.argmax(np.abs(1 - 1 / factors) * _plain(plain, found.width)))
    sign = -1.0 if plain.parameters["direction"].value == "negative" else 1.0
    theta = sign * _plain(plain, found.width)[pair]
    slow = np.abs(angles.wrapped(angle[:, pair] - positions * theta)) > 1e-4
    return int(np.argmax(slow[1:])) + 1 if slow[1:].any() else 32


def _rotation(found: turns.Turns, plain: Identity) -> maps.Rotation:
    return maps.Rotation(maps.Pairing(str(plain.parameters["layout"].value), 0, found.width), 1.0)


def _plain(plain: Identity, width: int) -> np.ndarray:
    return np.asarray(float(plain.parameters["base"].value) ** (-2 * np.arange(width // 2) / width))


def _lists(pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two lists of factors that single precision holds exactly."""
    return 1 + np.arange(pairs) / 8, 2 + np.arange(pairs)[::-1] / 4


def _close(ratio: np.ndarray, factors: np.ndarray) -> bool:
    """Whether factors are these, as far as a few positions show them."""
    return bool(np.all(np.abs(ratio / factors - 1) < 0.02))


