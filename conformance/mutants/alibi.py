"""What goes wrong with ALiBi: slopes, distances, and the half formats they are kept in."""

import math
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from conformance.mutant import Mutant
from conformance.mutants.building import Mistake, altered, conventions, forcing, moving
from conformance.mutants.composing import assembled
from conformance.mutants.positions import index, position_mutants
from conformance.mutants.rounding import to
from refimpl.arrays import Array
from refimpl.schemes import alibi

SLOPES, BIAS = "alibi.slopes", "alibi.bias"
CONVENTION_THREADS = {
    "column": ("https://github.com/ofirpress/attention_with_linear_biases/issues/20",),
    "reversed": ("https://github.com/mosaicml/llm-foundry/issues/186",),
}
Slopes = Callable[[int, float], Array]
Step = Callable[[Array], Array]
PARTS = {"slopes": "slopes", "key index": "key-index", "product": "product"}
FALCON = ("https://github.com/NVIDIA/TensorRT-Model-Connect/issues/667",)


def right_slopes(num_heads: int, max_bias: float) -> Array:
    """Return the right slopes."""
    return alibi.slopes(num_heads=num_heads, max_bias=max_bias, like=np.zeros(1))


def exact(values: Array) -> Array:
    """Keep the numbers as they are."""
    return values


def power(exponents: Array, max_bias: float) -> Array:
    """Return ``2^(-max_bias exponent)``."""
    return np.asarray(2.0 ** (-max_bias * exponents))


def heads(count: int) -> Array:
    """Return ``1, 2, ..., count``."""
    return np.arange(1, count + 1, dtype=np.float64)


def whole(count: int) -> int:
    """Return the largest power of two up to a number."""
    return 1 << (count.bit_length() - 1)


def even_rest(num_heads: int, max_bias: float) -> Array:
    """Take the even-numbered slopes of the longer sequence for the remaining heads."""
    first = whole(num_heads)
    rest = power(heads(2 * first)[1::2] / (2 * first), max_bias)[: num_heads - first]
    return np.concatenate([power(heads(first) / first, max_bias), rest])


def half_of_the_heads(num_heads: int, max_bias: float) -> Array:
    """Use the slopes of half the heads twice, as two devices do that count their own heads only."""
    return np.resize(right_slopes(max(1, num_heads // 2), max_bias), num_heads)


def reversed_rest(num_heads: int, max_bias: float) -> Array:
    """Append the remaining heads' slopes in reverse."""
    first, rest = np.split(right_slopes(num_heads, max_bias), [whole(num_heads)])
    return np.concatenate([first, rest[::-1]])


def nearest_logarithm(num_heads: int, max_bias: float) -> Array:
    """Take the nearest power of two, in place of the largest up to the number of heads."""
    nearest = 1 << round(math.log2(num_heads))
    return right_slopes(num_heads, max_bias) if nearest < num_heads else power(heads(num_heads) / nearest, max_bias)


def integer_ratio(num_heads: int, max_bias: float) -> Array:
    """Divide integers in the exponent of the ratio."""
    first = whole(num_heads)
    rest = power(heads(2 * first)[::2], max_bias // (2 * first))[: num_heads - first]
    return np.concatenate([power(heads(first), max_bias // first), rest])


SLOPE_MISTAKES: tuple[tuple[Mistake, Slopes], ...] = (
    (
        Mistake(
            "one-sequence-for-any-heads",
            does="uses 2^(-8 h / heads) for any number of heads",
            should="take the largest power of two c, then every second slope of 2 c",
            fix="follow get_slopes for head counts that are no power of two",
            threads=("https://github.com/ml-explore/mlx/pull/3071",),
        ),
        lambda count, max_bias: power(heads(count) / count, max_bias),
    ),
    (
        Mistake(
            "next-power-of-two-cut",
            does="cuts the slopes of the next power of two",
            should="take the largest power of two c, then every second slope of 2 c",
            fix="concatenate s[1::2] and s[::2] before cutting",
            threads=("https://github.com/huggingface/transformers/pull/28380",),
        ),
        lambda count, max_bias: power(heads(count) / (1 << (count - 1).bit_length()), max_bias),
    ),
    (
        Mistake(
            "even-slopes-for-the-rest",
            does="takes the even-numbered slopes of the longer sequence for the remaining heads",
            should="take the odd-numbered ones",
            fix="start at the first: [0::2]",
            threads=("https://github.com/huggingface/transformers/pull/28380",),
            origin="in the style of: the stride of the thread, off by one",
        ),
        even_rest,
    ),
    (
        Mistake(
            "halving-slopes",
            does="uses 1 / 2^h for any number of heads",
            should="use 2^(-8 h / heads)",
            fix="let the ratio depend on the number of heads",
            origin="expositions that print the slopes of 8 heads only",
        ),
        lambda count, max_bias: power(heads(count), 1.0) + 0.0 * max_bias,
    ),
    (
        Mistake(
            "heads-from-zero",
            does="counts heads from zero, so that the first slope is 1",
            should="start at 2^(-8 / heads)",
            fix="count heads from 1",
            origin="in the style of arange(heads) without the + 1",
        ),
        lambda count, max_bias: right_slopes(count, max_bias) * 2.0 ** (max_bias / whole(count)),
    ),
    (
        Mistake(
            "local-heads",
            does="computes slopes from the heads of one device",
            should="compute slopes from all heads",
            fix="use the global head index and count",
            threads=("https://github.com/flashinfer-ai/flashinfer/pull/5101",),
        ),
        half_of_the_heads,
    ),
    (
        Mistake(
            "heads-in-reverse",
            does="gives the heads their slopes in reverse",
            should="give the steepest slope to the first head",
            fix="reverse the slopes",
            origin="in the style of slopes that are sorted",
        ),
        lambda count, max_bias: right_slopes(count, max_bias)[::-1].copy(),
    ),
    (
        Mistake(
            "rest-in-reverse",
            does="gives the remaining heads their slopes in reverse",
            should="give the steeper slopes to the earlier heads, in both sequences",
            fix="take s[0::2] of the longer sequence from its start",
            threads=("https://github.com/huggingface/transformers/pull/28380",),
            origin="in the style of: the strided concatenation of the thread",
        ),
        reversed_rest,
    ),
    (
        Mistake(
            "logarithm-rounded",
            does="rounds log2(heads) to the nearest integer, and cuts where that is too many",
            should="round it down: the largest power of two up to the number of heads",
            fix="use floor(log2(heads)), or the bit length",
            threads=("https://github.com/ml-explore/mlx/pull/3071",),
            origin="in the style of the thread: right for powers of two only",
        ),
        nearest_logarithm,
    ),
    (
        Mistake(
            "ratio-in-integers",
            does="divides integers in the exponent of the ratio: 2^-(8 // c)",
            should="divide real numbers: 2^(-8 / c)",
            fix="divide real numbers",
            origin="in the style of C, where / of integers cuts",
        ),
        integer_ratio,
    ),
    (
        Mistake(
            "heads-from-64-flat",
            does="leaves the slopes of heads 64 and up at 0",
            should="give every head a slope",
            fix="size the table by the number of heads",
            origin="in the style of kernels with a table of fixed size",
        ),
        lambda count, max_bias: np.where(heads(count) <= 64.0, right_slopes(count, max_bias), 0.0),
    ),
)


def slope_function(made: Slopes) -> Callable[..., Array]:
    """Return the operation of other slopes."""
    return lambda *, num_heads, max_bias: made(num_heads, max_bias)


@assembled
def bias_function(
    *, made: Slopes = right_slopes, slope: Step = exact, place: Step = exact, distance: Step = exact, product: Step = exact
) -> Callable[..., Array]:
    """Return a bias with some steps replaced."""

    def bias(query_positions: Array, key_positions: Array, *, num_heads: int, max_bias: float, form: str) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            query, key = place(query_positions.astype(np.float64))[:, None], place(key_positions.astype(np.float64))[None, :]
            steps = distance(alibi.steps(query, key, form))
            return product(slope(made(num_heads, max_bias))[:, None, None] * steps[None])

    return bias


def half_mistake(dtype: str, parts: tuple[str, ...]) -> Mutant:
    """Return the mutant that keeps some parts of the bias in a half format."""
    words = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    mistake = Mistake(
        f"{dtype}-{'-'.join(PARTS[part] for part in parts)}",
        does=f"computes {words} in {dtype}",
        should="compute the bias in float32 and cast last",
        fix="compute slopes, key index and product in float32, or declare the deviation: weights may be trained with it",
        threads=FALCON,
        kind="precision",
        origin="" if len(parts) > 1 else "in the style of the thread, one part alone",
    )
    steps = {"slopes": "slope", "key index": "place", "product": "product"}
    rounding: dict[str, Any] = {steps[part]: to(dtype) for part in parts}
    return mistake.at(BIAS, bias_function(**rounding))


def half_mutants() -> Iterator[Mutant]:
    """Return every choice of parts in bfloat16 and in float16."""
    for dtype in ("bfloat16", "float16"):
        half = to(dtype)
        for count in (1, 2, 3):
            yield from (half_mistake(dtype, parts) for parts in combinations(PARTS, count))
        distances = Mistake(
            f"{dtype}-distances",
            does=f"rounds distances to {dtype}",
            should="compute the bias in float32 and cast last",
            fix="subtract integer positions and multiply in float32",
            threads=FALCON,
            kind="precision",
            origin="in the style of the thread, with relative distances",
        )
        yield distances.at(BIAS, bias_function(distance=half))
        slopes = Mistake(
            f"{dtype}-slopes",
            does=f"computes slopes in {dtype}",
            should="compute slopes in float32",
            fix="compute slopes in float32",
            threads=FALCON,
            kind="precision",
        )
        yield slopes.at(SLOPES, lambda half=half, **parameters: half(right_slopes(**parameters)))


MAX_BIAS_IGNORED = Mistake(
    "max-bias-ignored",
    does="uses a largest exponent of 8 whatever is asked for",
    should="use max_bias",
    fix="pass max_bias (alibi_bias_max) through",
    origin="in the style of MPT's alibi_bias_max, which most ports lack",
)
BIAS_MISTAKES: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    (
        Mistake(
            "sign-flipped",
            does="rewards far keys: slope (m - n)",
            should="penalise them: -slope (m - n)",
            fix="use slope * (key - query)",
            threads=("https://github.com/meta-pytorch/attention-gym/pull/86",),
        ),
        altered(BIAS, result=np.negative),
    ),
    (
        Mistake(
            "distance-from-one",
            does="counts distance from one: -slope (m - n + 1)",
            should="give the token itself a bias of 0",
            fix="count distance from 0; after the softmax it makes no difference",
            threads=("https://github.com/vllm-project/vllm/pull/945",),
            kind="convention",
        ),
        bias_function(distance=lambda steps: steps - 1.0),
    ),
    (
        Mistake(
            "scaled-with-the-logits",
            does="divides the bias by sqrt(64) with the logits",
            should="add the bias after the scale",
            fix="scale q k only, then add the bias",
            origin="Falcon divides the sum, and was trained so; the width 64 is ours",
        ),
        bias_function(product=lambda bias: bias / 8.0),
    ),
    (
        Mistake(
            "no-bias",
            does="returns no bias at all, as decoding without a mask does",
            should="add the bias at every step",
            fix="build the bias over the keys of the cache, not over the query's length",
            threads=(
                "https://github.com/keras-team/keras-hub/pull/2977",
                "https://github.com/ofirpress/attention_with_linear_biases/issues/20",
            ),
        ),
        bias_function(product=np.zeros_like),
    ),
    (
        Mistake(
            "query-index",
            does="uses the index of the query for its position",
            should="use the query's true position",
            fix="offset the query by the length of the cache",
            threads=("https://github.com/keras-team/keras-hub/pull/2977",),
            origin="in the style of the thread, with relative distances",
        ),
        moving(BIAS, index, only="query_positions"),
    ),
    (
        Mistake(
            "key-index",
            does="uses the index of the key for its position",
            should="use the key's true position",
            fix="take positions from the mask (cumsum), not from the column",
            threads=("https://github.com/mosaicml/llm-foundry/issues/186",),
            origin="in the style of the thread",
        ),
        moving(BIAS, index, only="key_positions"),
    ),
    (
        Mistake(
            "future-clamped",
            does="gives later keys a bias of 0",
            should="continue the line beyond the query",
            fix="don't clamp the distance; mask instead",
            origin="in the style of biases built for causal masks only",
        ),
        bias_function(distance=lambda steps: np.minimum(steps, 0.0)),
    ),
)
POSITION_SLUGS = ("positions-ignored", "first-position-counts", "clamped-at-2048", "clamped-at-4096", "negative-positions-clamped")


def mutants() -> Iterator[Mutant]:
    """Return all mutants of ALiBi."""
    yield from conventions(BIAS, CONVENTION_THREADS)
    for mistake, made in SLOPE_MISTAKES:
        yield mistake.at(SLOPES, slope_function(made))
        yield mistake.at(BIAS, bias_function(made=made))
    for operation in (SLOPES, BIAS):
        yield MAX_BIAS_IGNORED.at(operation, forcing(operation, {"max_bias": 8.0}))
    for mistake, function in BIAS_MISTAKES:
        yield mistake.at(BIAS, function)
    yield from position_mutants(BIAS, POSITION_SLUGS)
    yield from half_mutants()
