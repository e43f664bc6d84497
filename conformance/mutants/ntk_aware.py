"""What goes wrong with NTK-aware scaling: the exponent of the factor, and rules that are taken for it."""

from collections.abc import Callable, Iterator

from conformance.mutants.building import Mistake
from conformance.mutants.rotary import spectrum
from conformance.mutants.stretched import Ladder, inherited, of_ladder, right
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array

SCHEME = "ntk_aware"
UNSTRETCHED = ("https://github.com/turboderp-org/exllamav2/issues/704", "https://github.com/huggingface/transformers/pull/43411")
DYNAMIC = ("https://github.com/vllm-project/vllm/issues/5093",)


def slowed(head_dim: int, base: float, factor: float, fastest: str = "kept", power: float = 1.0) -> Array:
    """Return the right frequencies, also for a factor below 1."""
    return right(SCHEME)(head_dim=head_dim, base=base, factor=factor, fastest=fastest, power=power)


def where(convention: str, wrong: Callable[[int, float, float], Array]) -> Ladder:
    """Return what goes wrong in one convention, and nothing in the other."""

    def frequencies(head_dim: int, base: float, factor: float, fastest: str = "kept", power: float = 1.0) -> Array:
        return wrong(head_dim, base, factor) if fastest == convention and power == 1 else slowed(head_dim, base, factor, fastest, power)

    return frequencies


def of_pairs(head_dim: int, base: float, factor: float, fastest: str = "kept", power: float = 1.0) -> Array:
    """Return the frequencies with the number of pairs in the exponent of the factor."""
    if power != 1:
        return slowed(head_dim, base, factor, fastest, power)
    if fastest == "slowed":
        return spectrum(head_dim, base * factor) / factor ** (4 / head_dim)
    return spectrum(head_dim, base * factor ** (head_dim / max(1, head_dim - 4)))


LADDERS: tuple[tuple[Mistake, Ladder], ...] = (
    Mistake(
        "exponent-left-out",
        does="multiplies the base by the factor itself",
        should="multiply it by factor^(head_dim / (head_dim - 2)), or divide all frequencies by factor^(2 / head_dim) besides",
        fix="raise the factor to head_dim / (head_dim - 2), or slow the fastest pair too",
        origin="in the style of diffusers' ntk_factor, which multiplies the base",
    ).made_by(lambda head_dim, base, factor, **_: spectrum(head_dim, base * factor)),
    Mistake(
        "exponent-inverted",
        does="raises the factor to (head_dim - 2) / head_dim",
        should="raise it to head_dim / (head_dim - 2)",
        fix="divide by head_dim - 2",
        origin="in the style of the exponent mistakes of rope",
    ).made_by(where("kept", lambda head_dim, base, factor: spectrum(head_dim, base * factor ** ((head_dim - 2) / head_dim)))),
    Mistake(
        "pairs-in-the-exponent",
        does="takes the number of pairs for the width in the exponent",
        should="take the width that turns",
        fix="use the width that turns",
        origin="in the style of code that keeps the number of pairs as its dimension",
    ).made_by(of_pairs),
    Mistake(
        "every-pair-slowed",
        does="divides every frequency by factor^(head_dim / (head_dim - 2)): interpolation",
        should="multiply the base by it",
        fix="raise the base before frequencies are computed",
        origin="in the style of keras-hub 0.32, rope_type 'dynamic'",
    ).made_by(where("kept", lambda head_dim, base, factor: spectrum(head_dim, base) / factor ** (head_dim / (head_dim - 2)))),
    Mistake(
        "interpolated",
        does="divides every frequency by the factor: position interpolation",
        should="raise the base",
        fix="tell this rule from rope_type 'linear'",
        origin="in the style of code that knows one kind of scaling",
    ).made_by(lambda head_dim, base, factor, **_: spectrum(head_dim, base) / factor),
    Mistake(
        "dynamic-at-its-longest",
        does="takes factor^2 - (factor - 1) for the factor: the dynamic rule at its greatest length",
        should="take the factor as it is",
        fix="keep the dynamic rule for rope_type 'dynamic'",
        threads=DYNAMIC,
    ).made_by(lambda head_dim, base, factor, **convention: slowed(head_dim, base, factor**2 - factor + 1, **convention)),
)
POWER: tuple[Mistake, Ladder] = Mistake(
    "power-ignored",
    does="slows all pairs by equal steps, whatever the power is",
    should="raise each pair's share of the factor's logarithm to the power",
    fix="read mixed_b",
    origin="in the style of code that knows 'NTK-RoPE-fixed' only",
).made_by(lambda head_dim, base, factor, fastest, **_: slowed(head_dim, base, factor, fastest))
#: What goes wrong where the fastest pair is slowed too.
ALL_SLOWED: tuple[tuple[Mistake, Ladder], ...] = (
    Mistake(
        "base-not-raised",
        does="divides every frequency by factor^(2 / head_dim), and leaves the base as it is",
        should="multiply the base by the factor besides",
        fix="compute frequencies from base * factor, then divide them",
        origin="in the style of code that overrides one of two steps",
    ).made_by(where("slowed", lambda head_dim, base, factor: spectrum(head_dim, base) / factor ** (2 / head_dim))),
    Mistake(
        "base-raised-whole",
        does="multiplies the base by factor^(head_dim / (head_dim - 2)), and divides every frequency besides",
        should="multiply the base by the factor itself",
        fix="take one of the two rules, not both",
        origin="in the style of the two forms of the rule, mixed",
    ).made_by(where("slowed", lambda head_dim, base, factor: slowed(head_dim, base, factor) / factor ** (2 / head_dim))),
    Mistake(
        "fastest-multiplied",
        does="multiplies every frequency by factor^(2 / head_dim)",
        should="divide by it",
        fix="divide the frequencies, or multiply the wavelengths",
        origin="in the style of frequencies and wavelengths confused",
    ).made_by(where("slowed", lambda head_dim, base, factor: spectrum(head_dim, base * factor) * factor ** (2 / head_dim))),
)


def mutants() -> Iterator[Mutant]:
    """Return all mutants of NTK-aware scaling."""
    for mistake, ladder in (*LADDERS, *ALL_SLOWED, POWER):
        yield from of_ladder(SCHEME, mistake, ladder)
    yield from inherited(SCHEME, {"not-stretched": UNSTRETCHED})
