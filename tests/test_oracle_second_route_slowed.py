"""Rules that slow the pairs of rope, by a second route: 60 digits, frequencies from other formulas, complex numbers."""

from collections.abc import Callable
from typing import Any

import pytest
from second_route import X, golden, members, mp, real, rounded, turned
from second_route import whole as integers

mpf, log = mp.mpf, mp.log
Frequencies = list[Any]


def plain(*, head_dim: int, base: float, **_: Any) -> Frequencies:
    """Return rope's frequencies as powers."""
    return [mpf(base) ** (mpf(-2 * pair) / head_dim) for pair in range(head_dim // 2)]


def lengthened(*, head_dim: int, base: float, factor: float) -> Frequencies:
    """Return one turn over a wavelength that is a root of the base to a power, and longer by the factor."""
    return [2 * mp.pi / (2 * mp.pi * mp.root(mpf(base), head_dim // 2) ** pair * mpf(factor)) for pair in range(head_dim // 2)]


def by_powers(stretch: Any, *, head_dim: int, base: float) -> Frequencies:
    """Return rope's frequencies over ``stretch^(2 j / (head_dim - 2))``, the ratio to plain rope in the place of another base."""
    return [theta / stretch ** (mpf(2 * pair) / (head_dim - 2)) for pair, theta in enumerate(plain(head_dim=head_dim, base=base))]


def by_factor(*, factor: float, fastest: str, power: float = 1.0, **ladder: Any) -> Frequencies:
    """Return frequencies slowed in equal steps, of which the fastest pair has none, or one, or by powers of the pair's number."""
    if power != 1:
        least = log(mpf(factor)) / mpf(ladder["head_dim"] // 2) ** mpf(power)
        return [theta * mp.exp(-least * mpf(pair + 1) ** mpf(power)) for pair, theta in enumerate(plain(**ladder))]
    if fastest == "kept":
        return by_powers(mpf(factor), **ladder)
    step = mp.root(mpf(factor), ladder["head_dim"] // 2)
    return [theta / step ** (pair + 1) for pair, theta in enumerate(plain(**ladder))]


def by_length(*, factor: float, original_length: int, length: int, growth: str, **ladder: Any) -> Frequencies:
    """Return frequencies slowed by the stretch as transformers writes it, or with the power of two that Qwen's first models have."""
    times = mpf(max(length, original_length)) / original_length
    times = times if growth == "tokens" else 2 ** mp.ceil(log(times, 2))
    return by_powers(mpf(factor) * times - (mpf(factor) - 1), **ladder)


def series(*, head_dim: int, base: float, turned_pairs: int, factor: float) -> Frequencies:
    """Return so many terms of a series that falls by a root of the base, and zeros."""
    ratio = 1 / mp.root(mpf(base), head_dim // 2)
    return [ratio**pair / mpf(factor) for pair in range(turned_pairs)] + [mpf(0)] * (head_dim // 2 - turned_pairs)


def by_turns(low: str, high: str) -> Callable[..., Frequencies]:
    """Return one turn over every pair's own wavelength, the longer one, or one between, as ``apply_scaling`` tells them apart."""

    def blended(*, head_dim: int, base: float, factor: float, original_length: int, **ends: float) -> Frequencies:
        found = []
        for pair in range(head_dim // 2):
            own = 2 * mp.pi * mpf(base) ** (mpf(2 * pair) / head_dim)
            band = mpf(ends[high]) - mpf(ends[low])
            smooth = (mpf(original_length) / own - mpf(ends[low])) / band if band else mpf(0)
            between = 1 / ((1 - smooth) / (own * mpf(factor)) + smooth / own) if 0 < smooth < 1 else own
            found.append(2 * mp.pi / (own * mpf(factor) if own > mpf(original_length) / mpf(ends[low]) else between))
        return found

    return blended


def ramped(
    *, head_dim: int, base: float, factor: float, original_length: int, beta_fast: float, beta_slow: float, truncate: bool, **_: Any
) -> Frequencies:
    """Blend wavelengths pair by pair, as YaRN does."""
    low, high = (head_dim * log(original_length / (2 * mp.pi * turns)) / (2 * log(mpf(base))) for turns in (beta_fast, beta_slow))
    low, high = (mp.floor(low), mp.ceil(high)) if truncate else (low, high)
    low, high = max(low, mpf(0)), min(high, mpf(head_dim - 1))
    ramps = [min(mpf(1), max(mpf(0), (pair - low) / (high - low))) for pair in range(head_dim // 2)]
    return [theta * (1 - ramp * (1 - 1 / mpf(factor))) for theta, ramp in zip(plain(head_dim=head_dim, base=base), ramps, strict=True)]


def whole(frequencies: Callable[..., Frequencies]) -> Callable[..., Frequencies]:
    """Return one turn over every wavelength's nearest integer."""
    return lambda **rule: [2 * mp.pi / mp.nint(2 * mp.pi / theta) for theta in frequencies(**rule)]


def grown(
    *,
    factor: float,
    mscale: float | None = None,
    mscale_all_dim: float | None = None,
    attention_factor: float | None = None,
    slope: float = 0.1,
) -> Any:
    """Return what multiplies cosine and sine in YaRN: what is given, else the logarithms of the factor."""
    if attention_factor is not None:
        return mpf(attention_factor)
    over = mscale_all_dim if mscale else None
    logarithm = log(mpf(factor)) * mpf(repr(slope))
    return (mpf(mscale) * logarithm + 1) / (mpf(over) * logarithm + 1) if over else logarithm + 1


FREQUENCIES: dict[str, Callable[..., Frequencies]] = {
    "rope": plain,
    "position_interpolation": lengthened,
    "ntk_aware": by_factor,
    "dynamic_ntk": by_length,
    "proportional_rope": series,
    "ntk_by_parts": by_turns("alpha", "beta"),
    "llama3": by_turns("low_freq_factor", "high_freq_factor"),
    "yarn": ramped,
    "resonance_rope": whole(plain),
    "resonance_yarn": whole(ramped),
}
TURNS = [(16, 10_000.0, 4.0, 4_096, 1.0, 32.0), (64, 500_000.0, 32.0, 8_192, 1.0, 4.0), (10, 10_000.7, 3.3, 777, 0.7, 9.1)]
BLEND = (64, 150_000.0, 32.0, 4_096, 32.0, 1.0)
#: The parameters of every operation, and what they are asked for.
ASKED: dict[str, tuple[tuple[str, ...], list[tuple[float, ...]]]] = {
    "rope.frequencies": (("head_dim", "base"), [(128, 10_000.1)]),
    "position_interpolation.frequencies": (("head_dim", "base", "factor"), [(8, 10_000.0, 4.0), (8, 10_000.7, 3.3), (8, 100.0, 1.0)]),
    "ntk_aware.frequencies": (
        ("head_dim", "base", "factor", "fastest", "power"),
        [
            (8, 10_000.0, 4.0, "kept", 1.0), (4, 10_000.7, 3.3, "kept", 1.0), (128, 10_000.0, 1_000.0, "kept", 1.0),
            (8, 10_000.0, 4.0, "slowed", 1.0), (4, 10_000.7, 3.3, "slowed", 1.0), (128, 10_000.0, 1.0, "slowed", 1.0),
            (8, 10_000.0, 4.0, "slowed", 0.625), (4, 10_000.7, 3.3, "slowed", 2.0), (128, 10_000.0, 8.0, "slowed", 0.3),
        ],
    ),
    "dynamic_ntk.frequencies": (
        ("head_dim", "base", "factor", "original_length", "length", "growth"),
        [
            (8, 1e4, 4.0, 4_096, 8_192, "tokens"), (4, 10_000.7, 3.3, 777, 1_000, "tokens"), (8, 100.0, 2.0, 512, 3, "tokens"),
            (128, 500_000.0, 2.0, 8_192, 1_048_576, "tokens"), (128, 1e4, 2.0, 2_048, 8_193, "doublings"),
            (8, 10_000.7, 3.3, 777, 777, "doublings"), (8, 1e4, 1.0, 512, 1_025, "doublings"), (8, 1e4, 2.0, 512, 3, "doublings"),
        ],
    ),
    "proportional_rope.frequencies": (
        ("head_dim", "base", "turned_pairs", "factor"),
        [(8, 10_000.0, 2, 4.0), (6, 10_000.7, 1, 3.3), (512, 1_000_000.0, 64, 1.0), (4, 100.0, 2, 1.0)],
    ),
    "ntk_by_parts.frequencies": (("head_dim", "base", "factor", "original_length", "alpha", "beta"), TURNS),
    "llama3.frequencies": (
        ("head_dim", "base", "factor", "original_length", "low_freq_factor", "high_freq_factor"),
        [*TURNS, (128, 500_000.0, 16.0, 8_192, 1.0, 1.0), (10, 10_000.7, 3.3, 777, 2.5, 2.5)],
    ),
    "yarn.frequencies": (
        ("head_dim", "base", "factor", "original_length", "beta_fast", "beta_slow", "truncate"), [(*BLEND, True), (*BLEND, False)],
    ),
    "resonance_rope.frequencies": (("head_dim", "base"), [(128, 10_000.0), (16, 1.5), (64, 1e10)]),
    "resonance_yarn.frequencies": (
        ("head_dim", "base", "factor", "original_length", "beta_fast", "beta_slow", "truncate"), [(*BLEND, True), (*BLEND, False)],
    ),
}
STRETCH = {"factor": 4.0, "original_length": 64}
UNSET = {"mscale": None, "mscale_all_dim": None, "attention_factor": None}
YARN = {"beta_fast": 32.0, "beta_slow": 1.0, "truncate": True, **UNSET, "slope": 0.07}
LLAMA = {"base": 500_000.0, "factor": 8.0, "original_length": 8_192}
ROTATED: dict[str, dict[str, Any]] = {
    "position_interpolation.rotate": {"base": 500_000.0, "factor": 3.3},
    "ntk_aware.rotate": {"factor": 4.0, "fastest": "slowed", "power": 0.625},
    "dynamic_ntk.rotate": {"factor": 4.0, "original_length": 512, "length": 1_024, "growth": "tokens"},
    "proportional_rope.rotate": {"turned_pairs": 3, "factor": 2.0},
    "ntk_by_parts.rotate": {**LLAMA, "alpha": 1.0, "beta": 4.0},
    "llama3.rotate": {**LLAMA, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "yarn.rotate": {**STRETCH, **YARN},
    "resonance_rope.rotate": {},
    "resonance_yarn.rotate": {**STRETCH, **YARN},
}


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [(operation, dict(zip(names, row, strict=True))) for operation, (names, rows) in ASKED.items() for row in rows],
)
def test_frequencies_are_those_of_another_formula(operation: str, parameters: dict[str, Any]) -> None:
    assert golden(operation, {}, **parameters) == rounded(FREQUENCIES[operation.partition(".")[0]](**parameters))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("operation", ROTATED)
def test_rotate_is_a_complex_product(operation: str, sign: int) -> None:
    parameters = {"head_dim": 8, "base": 10_000.0, **ROTATED[operation]}
    thetas = FREQUENCIES[operation.partition(".")[0]](**parameters)
    size = grown(factor=parameters["factor"], slope=parameters["slope"]) if "slope" in parameters else 1

    direction = "positive" if sign == 1 else "negative"
    inputs = {"x": real(*X, shape=(1, 1, 1, 8)), "positions": integers(1_000)}

    result = golden(operation, inputs, **parameters, layout="half", direction=direction)
    assert result == turned(X, members("half", 4), [sign * 1_000 * theta for theta in thetas], size)


@pytest.mark.parametrize("operation", ["lerope.frequencies", "lerope.rotate"])
def test_learned_exponents_are_added_to_the_logarithms_of_yarns_frequencies(operation: str) -> None:
    exponents, place = (0.3125, -1.5, 0.1, -7.25), 1_000
    parameters = {"head_dim": 8, "base": 10_000.7, **STRETCH, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": True}
    thetas = [mp.exp(log(theta) + mpf(exponent)) for theta, exponent in zip(ramped(**parameters), exponents, strict=True)]

    if operation == "lerope.frequencies":
        assert golden(operation, {"exponents": real(*exponents)}, **parameters) == rounded(thetas)
        return
    inputs = {"x": real(*X, shape=(1, 1, 1, 8)), "positions": integers(place), "exponents": real(*exponents)}
    result = golden(operation, inputs, **parameters, layout="interleaved_to_half", direction="negative")
    assert result == turned(X, members("interleaved_to_half", 4), [-place * theta for theta in thetas])
