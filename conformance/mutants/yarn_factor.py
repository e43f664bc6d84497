"""What goes wrong with YaRN's attention factor."""

import math
from collections.abc import Callable, Iterator

from conformance.mutants.building import Mistake, convention
from conformance.spec.mutant import Mutant
from refimpl.schemes import yarn

Size = Callable[[float, float | None, float | None, float | None], float]


def right_size(factor: float, mscale: float | None, all_dim: float | None, given: float | None) -> float:
    """Return the right factor."""
    found: float = yarn.attention_factor(factor=factor, mscale=mscale, mscale_all_dim=all_dim, attention_factor=given)
    return found


def override(size: Callable[[float, float | None, float | None], float]) -> Size:
    """Return a factor that a given one still replaces."""
    return lambda factor, mscale, all_dim, given: size(factor, mscale, all_dim) if given is None else given


def ratio_or_default(
    ratio: Callable[[float, float, float], float], default: Callable[[float], float] = yarn.growth
) -> Callable[[float, float | None, float | None], float]:
    """Return ``ratio`` where both mscales are set, else the default."""
    return lambda factor, mscale, all_dim: ratio(factor, mscale, all_dim) if mscale and all_dim else default(factor)


def right_ratio(factor: float, mscale: float, all_dim: float) -> float:
    """Return the ratio of the two growths."""
    return yarn.growth(factor, mscale) / yarn.growth(factor, all_dim)


def with_logarithm(logarithm: Callable[[float], float], *, shrinks: bool = False) -> Size:
    """Return the factor with another logarithm."""

    def growth(factor: float, mscale: float = 1.0) -> float:
        return 0.1 * mscale * logarithm(factor) + 1.0 if factor > 1.0 or shrinks else 1.0

    return override(ratio_or_default(lambda s, one, other: growth(s, one) / growth(s, other), growth))


FACTOR_MISTAKES: tuple[tuple[Mistake, Size], ...] = (
    Mistake(
        "factor-missing",
        does="doesn't multiply by an attention factor",
        should="multiply by 0.1 ln(factor) + 1",
        fix="multiply cosine and sine by the factor",
        threads=(
            "https://github.com/GaijinEntertainment/daScript/pull/3479",
            "https://github.com/onnxruntime/mobius/pull/548",
            "https://github.com/ggml-org/llama.cpp/pull/18006",
        ),
    ).made_by(lambda *_: 1.0),
    Mistake(
        "attention-factor-ignored",
        does="ignores an attention_factor that is given",
        should="let it win over everything else",
        fix="forward attention_factor",
        threads=("https://github.com/vllm-project/vllm/pull/46280", "https://github.com/ml-explore/mlx-lm/pull/1507"),
    ).made_by(lambda factor, mscale, all_dim, _: right_size(factor, mscale, all_dim, None)),
    Mistake(
        "mscales-ignored",
        does="ignores mscale and mscale_all_dim",
        should="use the ratio of their growths",
        fix="forward both",
        threads=("https://github.com/onnxruntime/mobius/pull/548",),
        origin="in the style of the thread",
    ).made_by(override(lambda factor, *_: yarn.growth(factor))),
    Mistake(
        "mscale-without-all-dim",
        does="uses mscale alone",
        should="divide by the growth of mscale_all_dim",
        fix="divide by it",
        threads=("https://github.com/NVIDIA/Megatron-LM/issues/1429",),
        origin="in the style of: the thread confuses the two keys",
    ).made_by(override(ratio_or_default(lambda factor, mscale, _: yarn.growth(factor, mscale)))),
    Mistake(
        "mscales-swapped",
        does="divides mscale_all_dim's growth by mscale's",
        should="divide mscale's growth by mscale_all_dim's",
        fix="swap the two",
        threads=("https://github.com/NVIDIA/Megatron-LM/issues/1429",),
        origin="in the style of: the thread confuses the two keys",
    ).made_by(override(ratio_or_default(lambda factor, mscale, all_dim: right_ratio(factor, all_dim, mscale)))),
    Mistake(
        "mscale-unset-is-one",
        does="takes an mscale that isn't set for 1, an mscale_all_dim that isn't set for 0, and divides their growths all the same",
        should="use the default unless both are set and not 0",
        fix="test both for being set and not 0",
        origin="in the style of `mscale or 1` defaults",
    ).made_by(
        override(
            lambda factor, mscale, all_dim: right_ratio(factor, 1.0 if mscale is None else mscale, 0.0 if all_dim is None else all_dim)
        )
    ),
    Mistake(
        "mscales-win",
        does="lets mscale and mscale_all_dim win over an attention_factor that is given",
        should="let attention_factor win over everything else",
        fix="look for attention_factor first",
        threads=("https://github.com/vllm-project/vllm/pull/46280",),
        origin="in the style of the thread, where both mscales are set",
    ).made_by(lambda factor, mscale, all_dim, given: right_size(factor, mscale, all_dim, None if mscale and all_dim else given)),
    Mistake(
        "factor-squared",
        does="multiplies by the factor twice",
        should="multiply once",
        fix="scale either the tables or the softmax",
        threads=("https://github.com/NVIDIA/TensorRT-LLM/pull/16378", "https://github.com/ollama/ollama/pull/13432"),
    ).made_by(lambda *arguments: right_size(*arguments) ** 2),
    Mistake(
        "logarithm-to-ten",
        does="takes the logarithm to base 10",
        should="take the natural one",
        fix="use ln",
        origin="in the style of log functions that differ by language",
    ).made_by(with_logarithm(math.log10)),
    Mistake(
        "logarithm-to-two",
        does="takes the logarithm to base 2",
        should="take the natural one",
        fix="use ln",
        origin="in the style of log functions that differ by language",
    ).made_by(with_logarithm(math.log2)),
    Mistake(
        "default-is-one",
        does="multiplies by 1 where no mscale is set, and by the growth of one that is set alone",
        should="use 0.1 ln(factor) + 1 unless both are set and not 0",
        fix="start from 0.1 ln(factor) + 1, and let only both mscales together replace it",
        origin="litgpt 0.5.13, build_rope_cache",
    ).made_by(override(lambda factor, mscale, all_dim: right_ratio(factor, mscale or all_dim or 0.0, (mscale and all_dim) or 0.0))),
    Mistake(
        "zero-counts-as-set",
        does="divides the growths where an mscale is 0, as if it were set",
        should="use the default unless both are set and not 0",
        fix="test both for truth, not for None",
        origin="SGLang 0.5.23, YaRNScalingRotaryEmbedding",
    ).made_by(
        override(
            lambda factor, mscale, all_dim: (
                yarn.growth(factor) if mscale is None or all_dim is None else right_ratio(factor, mscale, all_dim)
            )
        )
    ),
)
FACTOR_ONLY_MISTAKES: tuple[tuple[Mistake, Size], ...] = (
    Mistake(
        "grows-below-one",
        does="uses 0.1 ln(factor) + 1 for factors below 1 too",
        should="return 1 where nothing is stretched",
        fix="return 1 if factor <= 1",
        origin="keras-hub",
    ).made_by(with_logarithm(math.log, shrinks=True)),
    Mistake(
        "factor-cut-to-integer",
        does="cuts factor to an integer before the logarithm",
        should="use the factor that is given",
        fix="keep factor a real number",
        origin="in the style of configurations that declare the factor as an integer",
    ).made_by(lambda factor, *others: right_size(float(int(factor)), *others)),
)


def factor_function(size: Size) -> Callable[..., float]:
    """Return the operation of another factor, which is written for the slope 0.1: another one is that power of ``factor``."""

    def attention_factor(
        *, factor: float, mscale: float | None, mscale_all_dim: float | None, attention_factor: float | None, slope: float
    ) -> float:
        return size(factor if slope == 0.1 else factor ** (slope / 0.1), mscale, mscale_all_dim, attention_factor)

    return attention_factor


def slopes(operation: str) -> Iterator[Mutant]:
    """Return the conventions of the slope."""
    yield from (convention(operation, "slope", slope) for slope in (0.1, 0.07))
