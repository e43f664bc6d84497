"""Recover what a function without positions gives: frequencies of pairs, slopes of heads, or one factor."""

import math

import numpy as np

from conformance.identify import ladders
from conformance.identify.asking import Refused
from conformance.identify.findings import Confidence, Identity, Seen, near
from conformance.identify.probe import Probe

TOLERANCE = 1e-6
GROWTH = 0.1


def identify(probe: Probe) -> Identity:
    """Return what a function that takes settings only is."""
    value = one(probe)
    if value.ndim == 0 or (value.size == 1 and not {"width", "num_heads"} & set(probe.settings)):
        return _factor(probe, float(value.reshape(())))
    if value.ndim != 1:
        return Identity(None, f"one array of shape {value.shape}, which is neither frequencies nor slopes")
    if probe.takes("num_heads"):
        return slopes(value)
    return frequencies(value, probe)


def one(probe: Probe) -> np.ndarray:
    """Return the only result, without axes of one."""
    ones = np.ones(int(probe.settings.get("width", 64)) // 2)
    factors = dict.fromkeys(("short_factors", "long_factors", "factors"), ones)
    values = probe(**{**factors, **{name: value for name, value in probe.settings.items() if name in factors}})
    if len(values) != 1 or not np.all(np.isfinite(values[0])):
        message = f"it gave {len(values)} results, or numbers that aren't finite"
        raise Refused(message)
    return values[0].squeeze()


def frequencies(value: np.ndarray, probe: Probe) -> Identity:
    """Return the identity of radians per position."""
    width = int(probe.settings.get("width", 2 * value.size))
    if width != 2 * value.size:
        return Identity(None, f"{value.size} numbers for a width of {width}: frequencies are half as many")
    rule = ladders.rule(ladders.Ladder(value, np.full(value.shape, 2.0**-24), width), probe.settings)
    if rule is None:
        listed = ", ".join(f"{theta:.6g}" for theta in value)
        return Identity(None, "frequencies on no known ladder", {}, (f"radians per position: {listed}",))
    return Identity(f"{rule.name}.frequencies", rule.words, rule.parameters, (), rule.notes)


def slopes(value: np.ndarray) -> Identity:
    """Return the identity of one number per head."""
    found = max_bias(value)
    if found is None:
        listed = ", ".join(f"{slope:.6g}" for slope in value)
        return Identity(None, f"a slope per head, but not ALiBi's{even(value)}", seen=(f"slopes: {listed}",))
    return Identity("alibi.slopes", f"ALiBi's slopes of {value.size} heads, max_bias {found.value:g}", {"max_bias": found})


def max_bias(value: np.ndarray) -> Seen | None:
    """Return ALiBi's exponent if the slopes are ALiBi's, for any number of heads."""
    if np.any(value <= 0):
        return None
    whole = 1 << (value.size.bit_length() - 1)
    bias = -math.log2(float(value[whole - 1]))
    heads = [head / whole for head in range(1, whole + 1)] + [head / (2 * whole) for head in range(1, 2 * (value.size - whole), 2)]
    if bias <= 0 or np.any(np.abs(value / 2.0 ** (-bias * np.array(heads)) - 1) > SLOPE):
        return None
    return near(bias, SLOPE / bias)


#: Slopes are told apart where bfloat16 rounds them.
SLOPE = 2.0**-8


def even(value: np.ndarray) -> str:
    """Say where one ratio is kept for a number of heads that is no power of two."""
    ratios = value[1:] / value[:-1] if np.all(value != 0) else np.empty(0)
    return ": one ratio for all heads, whose number is no power of two" if ratios.size and np.ptp(ratios) < TOLERANCE else ""


def _factor(probe: Probe, value: float) -> Identity:
    """Return the identity of one number, by what it does when the factor or the lengths change."""
    if probe.takes("factor"):
        return _yarn(probe, value)
    if probe.takes("original_length") and probe.takes("max_length"):
        length, longest = (int(probe.settings[name]) for name in ("original_length", "max_length"))
        expected = math.sqrt(1 + math.log(longest / length) / math.log(length)) if longest > length else 1.0
        if abs(value - expected) <= TOLERANCE * 4:
            return Identity("longrope.attention_factor", "sqrt(1 + ln(max_length / original_length) / ln(original_length))")
    return Identity(None, f"one number, {value:.6g}, that no known rule gives")


def _yarn(probe: Probe, value: float) -> Identity:
    factor = float(probe.settings["factor"])
    given = probe.settings.get("attention_factor")
    if given is not None and abs(value - float(given)) <= TOLERANCE * 4:
        return Identity("yarn.attention_factor", "the factor that is given", {"attention_factor": near(value, TOLERANCE * 4)})
    if abs(value - (GROWTH * math.log(factor) + 1)) <= TOLERANCE * 4:
        usual = Seen(None, confidence=Confidence.LIKELY)
        return Identity("yarn.attention_factor", "0.1 ln(factor) + 1", {"factor": near(factor, TOLERANCE), "attention_factor": usual})
    return Identity(None, f"one number, {value:.6g}, which isn't YaRN's 0.1 ln(factor) + 1")
