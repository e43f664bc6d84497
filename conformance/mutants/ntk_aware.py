"""What goes wrong with NTK-aware scaling: the exponent of the factor, and rules that are taken for it."""

from collections.abc import Iterator

import numpy as np

from conformance.mutants.building import Mistake
from conformance.mutants.rotary import spectrum
from conformance.mutants.stretched import Ladder, inherited, of_ladder
from conformance.spec.mutant import Mutant

SCHEME = "ntk_aware"
UNSTRETCHED = ("https://github.com/turboderp-org/exllamav2/issues/704", "https://github.com/huggingface/transformers/pull/43411")
DYNAMIC = ("https://github.com/vllm-project/vllm/issues/5093",)

LADDERS: tuple[tuple[Mistake, Ladder], ...] = (
    Mistake(
        "exponent-left-out",
        does="multiplies the base by the factor itself",
        should="multiply it by factor^(head_dim / (head_dim - 2))",
        fix="raise the factor to head_dim / (head_dim - 2)",
        origin="in the style of diffusers' ntk_factor, which multiplies the base",
    ).made_by(lambda head_dim, base, factor: spectrum(head_dim, base * factor)),
    Mistake(
        "exponent-inverted",
        does="raises the factor to (head_dim - 2) / head_dim",
        should="raise it to head_dim / (head_dim - 2)",
        fix="divide by head_dim - 2",
        origin="in the style of the exponent mistakes of rope",
    ).made_by(lambda head_dim, base, factor: spectrum(head_dim, base * factor ** ((head_dim - 2) / head_dim))),
    Mistake(
        "pairs-in-the-exponent",
        does="takes the number of pairs for the width in the exponent",
        should="raise the factor to head_dim / (head_dim - 2)",
        fix="use the width that turns",
        origin="in the style of code that keeps the number of pairs as its dimension",
    ).made_by(lambda head_dim, base, factor: spectrum(head_dim, base * factor ** (head_dim / max(1, head_dim - 4)))),
    Mistake(
        "every-pair-slowed",
        does="divides every frequency by factor^(head_dim / (head_dim - 2)): interpolation",
        should="multiply the base by it",
        fix="raise the base before frequencies are computed",
        origin="in the style of keras-hub 0.32, rope_type 'dynamic'",
    ).made_by(lambda head_dim, base, factor: spectrum(head_dim, base) / factor ** (head_dim / (head_dim - 2))),
    Mistake(
        "interpolated",
        does="divides every frequency by the factor: position interpolation",
        should="raise the base",
        fix="tell this rule from rope_type 'linear'",
        origin="in the style of code that knows one kind of scaling",
    ).made_by(lambda head_dim, base, factor: spectrum(head_dim, base) / factor),
    Mistake(
        "fastest-pair-slowed",
        does="slows pair j by factor^(2 (j + 1) / head_dim): also the fastest",
        should="slow it by factor^(2 j / (head_dim - 2)): the fastest not at all",
        fix="multiply the base, and nothing else",
        origin="another rule of the same kind, 'NTK-RoPE fixed'",
    ).made_by(lambda head_dim, base, factor: spectrum(head_dim, base) / factor ** (2 * (np.arange(head_dim // 2) + 1) / head_dim)),
    Mistake(
        "dynamic-at-its-longest",
        does="takes factor^2 - (factor - 1) for the factor: the dynamic rule at its greatest length",
        should="take the factor as it is",
        fix="keep the dynamic rule for rope_type 'dynamic'",
        threads=DYNAMIC,
    ).made_by(lambda head_dim, base, factor: spectrum(head_dim, base * (factor**2 - factor + 1) ** (head_dim / (head_dim - 2)))),
)


def mutants() -> Iterator[Mutant]:
    """Return all mutants of NTK-aware scaling."""
    for mistake, ladder in LADDERS:
        yield from of_ladder(SCHEME, mistake, ladder)
    yield from inherited(SCHEME, {"not-stretched": UNSTRETCHED})
