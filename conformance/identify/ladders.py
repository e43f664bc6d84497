"""Which rule a ladder of frequencies follows: one ratio, one ratio slowed by a factor, YaRN's ramp, one of turns, or none."""

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conformance.declarations import operations
from conformance.identify.findings import Confidence, Seen, digits, near, shortest
from refimpl.errors import SpecificationError

#: What a running product of float32 numbers may be off by for each factor.
STEP = 2.0**-23
#: How near to a whole pair the ends of a ramp must be to count as rounded, and how straight it must be.
STRAIGHT = 2e-3
USUAL = 10_000.0
BETAS = (32.0, 1.0)
#: Rules that are told by the settings of a call: several of them give the same frequencies.
SETTLED = ("ntk_aware", "ntk_by_parts", "llama3")
#: The ends of blends that are linear in turns, by scheme, and how many times as many turns the upper one is, where it is the usual one.
TURNS = {"llama3": ("low_freq_factor", "high_freq_factor"), "ntk_by_parts": ("alpha", "beta")}
PARTS = {"llama3": 4.0, "ntk_by_parts": 32.0}


@dataclass(frozen=True)
class Ladder:
    """Frequencies of the pairs, fastest first, with relative errors; ``width`` is what the exponents are divided by."""

    theta: np.ndarray
    error: np.ndarray
    width: int

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return int(self.theta.size)

    @property
    def tolerance(self) -> np.ndarray:
        """How far the logarithm of each frequency may be off: its own error and a running product's."""
        return np.asarray(4 * self.error + 4 * STEP * (1 + np.arange(self.count)))

    def part(self, pairs: slice) -> tuple[float, float] | None:
        """Return offset and slope of the logarithms of some pairs, if they lie on a line."""
        index, logarithm = np.arange(self.count)[pairs], np.log(self.theta[pairs])
        if index.size < 2:
            return None
        slope = (logarithm[-1] - logarithm[0]) / (index[-1] - index[0])
        start = float(logarithm[0] - slope * index[0])
        straight = np.all(np.abs(logarithm - start - slope * index) <= 2 * self.tolerance[pairs])
        return (start, float(slope)) if straight else None

    def base(self, slope: float, span: int) -> Seen:
        """Return the base that a slope over so many pairs means."""
        relative = self.width / 2 / max(1, span) * (2 * float(np.max(self.error)) + STEP * self.count)
        return near(math.exp(-slope * self.width / 2), relative)


@dataclass(frozen=True)
class Rule:
    """The rule that a ladder follows, and its parameters."""

    name: str
    words: str
    parameters: Mapping[str, Seen] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def rule(ladder: Ladder, asked: Mapping[str, Any]) -> Rule | None:
    """Return the rule of a ladder, or ``None`` where it follows none that is known; ``asked`` are the settings of the call."""
    if not np.all(np.isfinite(ladder.theta)) or np.any(ladder.theta <= 0):
        return None
    return _asked(ladder, asked) or _geometric(ladder) or _ramped(ladder)


def _asked(ladder: Ladder, asked: Mapping[str, Any]) -> Rule | None:
    """Return the rule, of those whose settings can't be told from frequencies alone, that gives these for what was asked."""
    for name in SETTLED:
        operation = operations()[f"{name}.frequencies"]
        given = {parameter: asked[parameter] for parameter in operation.parameters if parameter in asked}
        if given.keys() | {"head_dim"} != operation.parameters.keys():
            continue
        with contextlib.suppress(SpecificationError):
            theta = operation.function(**{**given, "head_dim": ladder.width}, like=np.zeros(1))
            if theta.shape == ladder.theta.shape and np.all(np.abs(np.log(ladder.theta / theta)) <= 2 * ladder.tolerance):
                words = ", ".join(f"{parameter} {_short(value)}" for parameter, value in given.items())
                return Rule(name, words, {parameter: Seen(value) for parameter, value in given.items()})
    return None


def _geometric(ladder: Ladder) -> Rule | None:
    if ladder.count == 1:
        return _alone(ladder)
    line = ladder.part(slice(None))
    if line is None or line[1] >= 0:
        return None
    base = ladder.base(line[1], ladder.count - 1)
    factor = near(math.exp(-line[0]), float(ladder.tolerance[0]) + 1e-6)
    if factor.holds(1.0):
        return Rule("rope", f"base {_short(base.value)}", {"base": base}, _raised(base, ladder.width))
    return Rule("position_interpolation", f"base {_short(base.value)}, slowed by {_short(factor.value)}", {"base": base, "factor": factor})


def _raised(base: Seen, width: int) -> tuple[str, ...]:
    """Say which factor of NTK-aware scaling gives a base that nobody would write."""
    if width < 4 or digits(float(base.value)) < 5 or base.low is None or base.high is None:
        return ()
    low, high = ((end / USUAL) ** ((width - 2) / width) for end in (base.low, base.high))
    factor = shortest((low + high) / 2, low, high)
    note = f"whether the base was raised: NTK-aware scaling by {factor:g} from base {USUAL:g} gives the same"
    return (note,) if digits(factor) < 4 else ()


def _alone(ladder: Ladder) -> Rule:
    factor = near(1.0 / float(ladder.theta[0]), float(ladder.tolerance[0]) + 1e-6)
    notes = ("base can't be seen: there is one pair, which has frequency 1 in every base",)
    if factor.holds(1.0):
        return Rule("rope", "one pair", {}, notes)
    return Rule("position_interpolation", f"one pair, slowed by {_short(factor.value)}", {"factor": factor}, notes)


def _ramped(ladder: Ladder) -> Rule | None:
    """Return the rule where fast pairs are plain, slow ones slower by one factor, and those between blended."""
    base = _base(ladder)
    if base is None:
        return None
    plain = float(base.value) ** (-2 * np.arange(ladder.count) / ladder.width)
    ratio = ladder.theta / plain
    near_one = 64 * float(ladder.tolerance.max())
    level = ladder.count - 1 - int(np.argmax(ratio[::-1] > ratio[-1] * (1 + near_one))) + 1
    if abs(ratio[0] - 1) > near_one or np.any(np.diff(ratio) > near_one) or level > ladder.count - 1:
        return None
    factor = near(1 / float(np.median(ratio[level:])), near_one)
    blend = (1 - ratio) / (1 - 1 / float(factor.value))
    return _yarn(ladder, base, factor, blend) or _by_turns(base, factor, blend, plain)


def _base(ladder: Ladder) -> Seen | None:
    """Return the base of the pairs at the slow end, or at the fast end, whichever has the longer run on one ratio."""
    last = ladder.count
    tail = next((i for i in range(last - 1) if ladder.part(slice(i, last))), last)
    head = next((i for i in range(last, 1, -1) if ladder.part(slice(0, i))), 0)
    pairs = slice(tail, last) if last - tail >= head else slice(0, head)
    line = ladder.part(pairs)
    if line is None or line[1] >= 0 or pairs.stop - pairs.start < 3:
        return None
    return ladder.base(line[1], pairs.stop - pairs.start - 1)


def _yarn(ladder: Ladder, base: Seen, factor: Seen, blend: np.ndarray) -> Rule | None:
    inner = np.flatnonzero((blend > STRAIGHT) & (blend < 1 - STRAIGHT))
    if inner.size < 2:
        return None
    slope, start = np.polyfit(inner, blend[inner], 1)
    low, high = -start / slope, (1 - start) / slope
    bent = np.abs(np.clip(start + slope * np.arange(ladder.count), 0, 1) - blend)
    if slope <= 0 or np.any(bent > STRAIGHT):
        return None
    whole = all(abs(end - round(end)) < 10 * STRAIGHT for end in (low, high))
    ends = (float(round(low)), float(round(high))) if whole else (float(low), float(high))
    parameters = {"base": base, "factor": factor, "truncate": Seen(whole), **_turns(ladder.width, base, ends, whole=whole)}
    words = f"base {_short(base.value)}, factor {_short(factor.value)}, ramp from pair {ends[0]:g} to {ends[1]:g}"
    length = "original_length, beta_fast and beta_slow show only as the ends of the ramp: other values give the same"
    return Rule("yarn", words, parameters, (length,))


def _turns(width: int, base: Seen, ends: tuple[float, float], *, whole: bool) -> dict[str, Seen]:
    """Return the original length and the betas that put a ramp between two pairs: the usual betas where they do."""
    number = float(base.value)
    slack = (0.0, 1.0) if whole else (-0.02, 0.02)
    fast, slow = ([2 * math.pi * number ** (2 * (end + shift) / width) for shift in at] for end, at in (
        (ends[0], slack),
        (ends[1], (-slack[1], -slack[0])),
    ))
    low, high = max(BETAS[0] * fast[0], BETAS[1] * slow[0]), min(BETAS[0] * fast[1], BETAS[1] * slow[1])
    if low <= high:
        usual = {name: Seen(value, confidence=Confidence.LIKELY) for name, value in zip(("beta_fast", "beta_slow"), BETAS, strict=True)}
        return {"original_length": Seen(_power(low, high), low, high, Confidence.LIKELY), **usual}
    length = _power(BETAS[1] * slow[0], BETAS[1] * slow[1])
    beta = Seen(shortest(length / fast[0], length / fast[1], length / fast[0]), length / fast[1], length / fast[0], Confidence.GUESS)
    slowest = Seen(BETAS[1], confidence=Confidence.GUESS)
    return {"original_length": Seen(length, slow[0], slow[1], Confidence.GUESS), "beta_fast": beta, "beta_slow": slowest}


def _power(low: float, high: float) -> int:
    """Return the power of two in an interval, or a short number."""
    power = 1 << math.floor(math.log2(high))
    return power if low <= power else math.ceil(shortest((low + high) / 2, low, high))


def _by_turns(base: Seen, factor: Seen, blend: np.ndarray, plain: np.ndarray) -> Rule | None:
    """Return the rule whose blend is linear in the number of turns: Llama 3's, or NTK-by-parts where its ends are as far apart."""
    inner = np.flatnonzero((blend > STRAIGHT) & (blend < 1 - STRAIGHT))
    if inner.size < 2:
        return None
    slope, start = np.polyfit(plain[inner], blend[inner], 1)
    if slope >= 0 or np.any(np.abs(np.clip(start + slope * plain, 0, 1) - blend) > STRAIGHT):
        return None
    longest, least = (float(2 * math.pi * slope / (end - start)) for end in (1.0, 0.0))
    apart = shortest(longest / least, longest / least * (1 - STRAIGHT), longest / least * (1 + STRAIGHT))
    name, (low, high) = next((each for each in TURNS.items() if PARTS[each[0]] == apart), ("llama3", TURNS["llama3"]))
    sure = Confidence.LIKELY if apart == PARTS[name] else Confidence.GUESS
    length = _power(longest * (1 - STRAIGHT), longest * (1 + STRAIGHT))
    ends = {"original_length": Seen(length, confidence=sure), low: Seen(1.0, confidence=sure), high: Seen(apart, confidence=sure)}
    words = f"base {_short(base.value)}, factor {_short(factor.value)}, blended between wavelengths {least:.4g} and {longest:.4g}"
    note = f"original_length, {low} and {high} show only as the ends of the blend: other values give the same"
    return Rule(name, words, {"base": base, "factor": factor, **ends}, (note,))


def _short(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)
