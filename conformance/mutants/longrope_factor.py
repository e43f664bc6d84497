"""What goes wrong with LongRoPE's attention factor, computed or given."""

import math
from collections.abc import Callable

from conformance.mutants.building import Mistake
from conformance.mutants.rounding import rounded
from refimpl.schemes import longrope

#: An attention factor from the original length and the longest.
Size = Callable[[int, int], float]
#: The factor that is given, if one is, from the original length, the length, and the factors of short and of long sequences.
Given = Callable[[int, int, float | None, float | None], float | None]


def right_growth(original: int, longest: int) -> float:
    """Return the right factor."""
    return float(longrope.attention_factor(original_length=original, max_length=longest))


def where_stretched(size: Callable[[float, int], float]) -> Size:
    """Return a factor of the stretch and the original length, 1 where nothing is stretched."""
    return lambda original, longest: size(longest / original, original) if longest > original else 1.0


def with_lengths(change: Callable[[int, int], tuple[int, int]]) -> Size:
    """Return the right factor of other lengths."""
    return lambda original, longest: right_growth(*change(original, longest))


def with_stretch(change: Callable[[float], float]) -> Size:
    """Return the factor of another stretch."""
    return where_stretched(lambda stretch, original: math.sqrt(1.0 + math.log(change(stretch)) / math.log(original)))


def right_given(original: int, length: int, short: float | None, long: float | None) -> float | None:
    """Return the factor that is given for a length."""
    return long if length > original else short


def grown(size: Size = right_growth, given: Given = right_given) -> Callable[..., float]:
    """Return the operation of another computed factor, or of another choice of the one that is given."""

    def attention_factor(
        *, original_length: int, max_length: int, length: int, short_mscale: float | None, long_mscale: float | None
    ) -> float:
        found = given(original_length, length, short_mscale, long_mscale)
        return size(original_length, max_length) if found is None else found

    return attention_factor


def multiplied(*, original_length: int, max_length: int, length: int, short_mscale: float | None, long_mscale: float | None) -> float:
    """Return the computed factor times the one that is given."""
    return right_growth(original_length, max_length) * (right_given(original_length, length, short_mscale, long_mscale) or 1.0)


def unguarded(original: int, longest: int) -> float:
    """Return the factor also where the context shrinks."""
    return math.sqrt(max(0.0, 1.0 + math.log(longest / original) / math.log(original)))


FACTOR_MISTAKES: tuple[tuple[Mistake, Size], ...] = (
    Mistake(
        "factor-missing",
        does="has no attention factor",
        should="multiply by sqrt(1 + ln s / ln L)",
        fix="keep attn_factor when converting, and multiply cosine and sine by it",
        threads=("https://github.com/ggml-org/llama.cpp/issues/24820",),
    ).made_by(lambda *_: 1.0),
    Mistake(
        "factor-squared",
        does="leaves the root out, or multiplies twice",
        should="multiply by sqrt(1 + ln s / ln L)",
        fix="take the root: queries and keys have it each",
        origin="in the style of factors meant for logits",
    ).made_by(where_stretched(lambda stretch, original: 1.0 + math.log(stretch) / math.log(original))),
    Mistake(
        "factor-inverted",
        does="divides by the attention factor",
        should="multiply by it",
        fix="multiply cosine and sine by it",
        origin="in the style of temperatures",
    ).made_by(lambda original, longest: 1.0 / right_growth(original, longest)),
    Mistake(
        "grows-below-one",
        does="returns less than 1 where the context shrinks",
        should="return 1 unless the context is stretched",
        fix="test whether the stretch exceeds 1 first",
        threads=("https://github.com/ml-explore/mlx-lm/pull/660",),
    ).made_by(unguarded),
    Mistake(
        "yarn-factor",
        does="uses YaRN's factor, 0.1 ln s + 1",
        should="multiply by sqrt(1 + ln s / ln L)",
        fix="tell the two rope types apart",
        origin="older configurations of Phi-3 name their scaling 'su' or 'yarn'",
    ).made_by(where_stretched(lambda stretch, _: 0.1 * math.log(stretch) + 1.0)),
    Mistake(
        "logarithm-of-the-longest",
        does="divides by the logarithm of the longest length",
        should="divide by that of the original length",
        fix="use ln L",
        origin="in the style of confusing the two lengths",
    ).made_by(where_stretched(lambda stretch, original: math.sqrt(1.0 + math.log(stretch) / math.log(stretch * original)))),
    Mistake(
        "logarithms-mixed",
        does="divides a natural logarithm by one to base 2",
        should="use one base for both",
        fix="use the same logarithm twice",
        origin="in the style of libraries whose log and log2 stand side by side",
    ).made_by(where_stretched(lambda stretch, original: math.sqrt(1.0 + math.log(stretch) / math.log2(original)))),
    Mistake(
        "stretch-cut-to-integer",
        does="divides the lengths as integers",
        should="keep the fraction of the stretch",
        fix="divide as real numbers",
        origin="in the style of lengths divided as integers",
    ).made_by(with_stretch(math.floor)),
    Mistake(
        "stretch-rounded-up-to-a-power",
        does="rounds the stretch up to a power of two",
        should="use the stretch as it is",
        fix="divide the lengths",
        origin="in the style of contexts that grow by doubling",
    ).made_by(with_stretch(lambda stretch: 2.0 ** math.ceil(math.log2(stretch)))),
    Mistake(
        "stretch-below-two-ignored",
        does="treats a stretch below 2 as 1",
        should="take every stretch above 1 as it is",
        fix="compare with 1",
        origin="in the style of stretches cut to integers before they are compared",
    ).made_by(with_stretch(lambda stretch: stretch if stretch >= 2.0 else 1.0)),
    Mistake(
        "longest-is-131072",
        does="takes 131072 for the longest length, whatever the model",
        should="use the model's own length",
        fix="read max_position_embeddings",
        origin="in the style of one model's configuration written into the code",
    ).made_by(with_lengths(lambda original, _: (original, 131_072))),
    Mistake(
        "longest-capped-at-131072",
        does="clamps longest lengths above 131072 to 131072",
        should="use the model's own length",
        fix="don't clamp max_position_embeddings",
        origin="in the style of servers that clamp a context",
    ).made_by(with_lengths(lambda original, longest: (original, min(longest, 131_072)))),
    Mistake(
        "original-is-4096",
        does="takes 4096 for the original length, whatever the model",
        should="use the model's own length",
        fix="read original_max_position_embeddings",
        threads=("https://github.com/huggingface/transformers/issues/38224",),
        origin="in the style of the thread: the two lengths confused",
    ).made_by(with_lengths(lambda _, longest: (4_096, longest))),
    Mistake(
        "none-below-4096",
        does="has no factor for models of up to 4096 positions",
        should="stretch from the model's own original length",
        fix="compare the two lengths with each other",
        origin="in the style of guards written for one model",
    ).made_by(lambda original, longest: right_growth(original, longest) if longest > 4_096 else 1.0),
    Mistake(
        "bfloat16-factor",
        does="rounds the attention factor to bfloat16",
        should="keep it in float32 or wider",
        fix="multiply before the tables are cast",
        kind="precision",
        origin="in the style of a scale that is kept with the model's weights",
    ).made_by(lambda original, longest: float(rounded(right_growth(original, longest), "bfloat16"))),
)

GIVEN_MISTAKES: tuple[tuple[Mistake, Callable[..., float]], ...] = (
    Mistake(
        "given-ignored",
        does="ignores factors that are given, and computes its own",
        should="let short_mscale and long_mscale replace the computed factor",
        fix="read short_mscale, long_mscale and attention_factor",
        threads=("https://github.com/lablup/mlxcel/issues/1358",),
    ).made_by(grown(given=lambda *_: None)),
    Mistake(
        "given-multiplied",
        does="multiplies the computed factor by the one that is given",
        should="let the given one replace it",
        fix="compute a factor only where none is given",
        origin="in the style of vLLM's attn_factor, which multiplies YaRN's factor",
    ).made_by(multiplied),
    Mistake(
        "mscales-swapped",
        does="multiplies short sequences by long_mscale, and long ones by short_mscale",
        should="multiply by short_mscale up to the original length",
        fix="exchange the two",
        origin="in the style of arguments passed in the wrong order",
    ).made_by(grown(given=lambda original, length, short, long: right_given(original, length, long, short))),
    Mistake(
        "long-mscale-always",
        does="multiplies by long_mscale at any length",
        should="multiply by short_mscale up to the original length",
        fix="choose by the length of the sequence, as with the lists",
        threads=("https://github.com/ml-explore/mlx-lm/pull/660",),
    ).made_by(grown(given=lambda _original, _length, _short, long: long)),
    Mistake(
        "short-mscale-always",
        does="multiplies by short_mscale at any length",
        should="multiply by long_mscale beyond the original length",
        fix="choose by the length of the sequence, as with the lists",
        origin="in the style of a factor that is set once, when a module is built",
    ).made_by(grown(given=lambda _original, _length, short, _long: short)),
    Mistake(
        "mscale-at-original-length",
        does="multiplies by long_mscale at the original length already: one token early",
        should="switch beyond it, as the lists do",
        fix="compare with >",
        origin="in the style of a comparison that is off by one",
    ).made_by(grown(given=lambda original, length, short, long: long if length >= original else short)),
    Mistake(
        "given-only-where-stretched",
        does="leaves a given factor out where nothing is stretched",
        should="multiply by what is given at any stretch",
        fix="look for a given factor before the lengths are compared",
        origin="in the style of code that returns 1 first where the lengths are equal",
    ).made_by(
        lambda *, original_length, max_length, **given: (
            1.0 if max_length <= original_length else grown()(original_length=original_length, max_length=max_length, **given)
        )
    ),
)
