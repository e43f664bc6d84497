"""What goes wrong with the scale of DeepSeek's softmax."""

import math
from collections.abc import Callable, Iterator

from conformance.mutants.building import Mistake
from conformance.spec.mutant import Mutant
from refimpl.schemes.yarn import growth

SOFTMAX = "yarn.softmax_scale"
ABSENT = "https://github.com/onnxruntime/mobius/pull/548"
OF_MSCALE = "https://github.com/NVIDIA/Megatron-LM/issues/1429"
OF_CHANNELS = "https://github.com/NVIDIA/Megatron-LM/issues/1501"
COPIED = "in the style of formulas copied without a term"
Scale = Callable[[int, float, float | None], float]


def grown(multiplied: Callable[[float], float], strength: Callable[[float | None], float] = lambda given: given or 0.0) -> Scale:
    """Return a scale that uses the growth otherwise, or another strength."""
    return lambda width, factor, given: multiplied(growth(factor, strength(given))) / math.sqrt(width)


def growing(grows: Callable[[float, float], float]) -> Scale:
    """Return a scale with another growth, of the factor and the strength, where both count."""
    return lambda width, factor, given: (grows(factor, given) if given and factor > 1.0 else 1.0) ** 2 / math.sqrt(width)


def wide(root: Callable[[int], float]) -> Scale:
    """Return a scale that is divided by something else of the width."""
    return lambda width, factor, given: growth(factor, given or 0.0) ** 2 / root(width)


MISTAKES: tuple[tuple[Mistake, Scale], ...] = (
    Mistake("scale-without-growth", "divides logits by the root of the width only", "multiply by the square of the growth too",
            "multiply by mscale ** 2 where mscale_all_dim is set",
            threads=(ABSENT, "https://github.com/huggingface/transformers/pull/47435")).made_by(grown(lambda _: 1.0)),
    Mistake("scale-grown-once", "multiplies by the growth once", "multiply by its square",
            "multiply twice: queries and keys both have it", origin=COPIED).made_by(grown(lambda size: size)),
    Mistake("scale-grown-four-times", "multiplies by the fourth power of the growth", "multiply by its square",
            "scale the logits, or queries and keys, not both", origin="in the style of factors applied in two places").made_by(
        grown(lambda size: size**4)
    ),
    Mistake("scale-shrunk", "divides by the square of the growth", "multiply by it",
            "multiply: a longer context needs sharper attention", origin=COPIED).made_by(grown(lambda size: 1.0 / size**2)),
    Mistake("scale-of-growth-alone", "returns the square of the growth without the root of the width", "divide by the root too",
            "multiply by qk_head_dim ** -0.5", origin=COPIED).made_by(lambda _, factor, given: growth(factor, given or 0.0) ** 2),
    Mistake("scale-strength-ignored", "takes mscale_all_dim for 1, whatever it is", "use mscale_all_dim",
            "use mscale_all_dim, neither mscale nor a default", threads=(OF_MSCALE,),
            origin="in the style of the thread: mscale, which is mostly 1, in its place").made_by(
        grown(lambda size: size**2, lambda _: 1.0)
    ),
    Mistake("scale-unset-is-one", "takes an mscale_all_dim that isn't set for 1", "leave the growth out",
            "use 0 where it isn't set",
            threads=("https://github.com/guoqingbao/xinfer/pull/329",),
            origin="in the style of the thread, which scales every model with YaRN").made_by(
        grown(lambda size: size**2, lambda given: 1.0 if given is None else given)
    ),
    Mistake("scale-zero-is-one", "takes an mscale_all_dim of 0 for 1", "leave the growth out",
            "test for None, not for truth, or use 0", threads=("https://github.com/sgl-project/sglang/pull/26203",),
            origin="in the style of the thread, where `apply_scale: false` switches the growth off").made_by(
        grown(lambda size: size**2, lambda given: 0.0 if given is None else given or 1.0)
    ),
    Mistake("scale-strength-outside", "multiplies the whole growth by mscale_all_dim",
            "multiply the logarithm by it", "0.1 * mscale_all_dim * ln(factor) + 1", origin="in the style of misplaced brackets").made_by(
        growing(lambda factor, given: given * growth(factor))
    ),
    Mistake("scale-strength-squared-alone", "multiplies by the square of the growth without strength, times mscale_all_dim",
            "multiply the logarithm by mscale_all_dim, then square", "square last", origin="in the style of misplaced brackets").made_by(
        growing(lambda factor, given: math.sqrt(given) * growth(factor))
    ),
    Mistake("scale-logarithm-squared", "squares the logarithm only: 1 + (0.1 m ln s)^2", "square the whole growth",
            "(0.1 m ln s + 1)^2", origin="in the style of misplaced brackets").made_by(
        growing(lambda factor, given: math.sqrt(1.0 + (growth(factor, given) - 1.0) ** 2))
    ),
    Mistake("scale-growth-doubled", "uses 1 + 0.2 m ln s, the first terms of the square", "square the growth",
            "(0.1 m ln s + 1)^2", origin="in the style of expansions that end early").made_by(
        growing(lambda factor, given: math.sqrt(2.0 * growth(factor, given) - 1.0))
    ),
    Mistake("scale-logarithm-to-ten", "takes the logarithm to base 10", "take the natural one", "use ln",
            origin="in the style of log functions that differ by language").made_by(
        growing(lambda factor, given: 0.1 * given * math.log10(factor) + 1.0)
    ),
    Mistake("scale-logarithm-to-two", "takes the logarithm to base 2", "take the natural one", "use ln",
            origin="in the style of log functions that differ by language").made_by(
        growing(lambda factor, given: 0.1 * given * math.log2(factor) + 1.0)
    ),
    Mistake("scale-of-one-more", "takes the logarithm of 1 + factor", "take that of the factor", "use ln, not log1p",
            origin="in the style of log1p for ln").made_by(
        growing(lambda factor, given: 0.1 * given * math.log1p(factor) + 1.0)
    ),
    Mistake("scale-share-of-seven", "uses 0.07 m ln s + 1", "use 0.1 m ln s + 1",
            "use 0.1, unless the weights were trained with 0.07", origin="TeleChat-3").made_by(
        growing(lambda factor, given: 0.07 * given * math.log(factor) + 1.0)
    ),
    Mistake("scale-falls-below-one", "uses the growth for factors below 1 too", "leave it out where nothing is stretched",
            "use 1 if factor <= 1", origin="keras-hub's attention factor").made_by(
        lambda width, factor, given: (0.1 * (given or 0.0) * math.log(factor) + 1.0) ** 2 / math.sqrt(width)
    ),
    Mistake("scale-factor-cut-to-integer", "cuts factor to an integer before the logarithm", "use the factor that is given",
            "keep factor a real number", origin="in the style of configurations that declare the factor as an integer").made_by(
        growing(lambda factor, given: growth(float(int(factor)), given))
    ),
    Mistake("scale-of-the-width", "divides by the width", "divide by its root", "use the power -0.5", origin=COPIED).made_by(wide(float)),
    Mistake("scale-of-fixed-width", "divides by the root of 192 whatever the width is", "divide by the root of qk_head_dim",
            "add qk_nope_head_dim and qk_rope_head_dim of the model", threads=(OF_CHANNELS,),
            origin="in the style of the thread: another width than the model's heads have").made_by(wide(lambda _: math.sqrt(192))),
    Mistake("scale-of-padded-width", "divides by the root of the next power of two", "divide by the root of qk_head_dim",
            "take the width before heads are padded for a kernel", origin="in the style of kernels that pad heads").made_by(
        wide(lambda width: math.sqrt(1 << (width - 1).bit_length()))
    ),
    Mistake("scale-without-turning-channels", "divides by the root of the width without the 64 channels that turn",
            "divide by the root of the whole width", "add qk_rope_head_dim", threads=(OF_CHANNELS,),
            origin="in the style of the thread: another width than the model's heads have").made_by(
        wide(lambda width: math.sqrt(width - 64 if width > 64 else width))
    ),
)  # fmt: skip


def mutants() -> Iterator[Mutant]:
    """Return what goes wrong with the number that multiplies logits."""

    def at(scale: Scale) -> Callable[..., float]:
        return lambda *, qk_head_dim, factor, mscale_all_dim: scale(qk_head_dim, factor, mscale_all_dim)

    yield from (mistake.at(SOFTMAX, at(scale)) for mistake, scale in MISTAKES)
