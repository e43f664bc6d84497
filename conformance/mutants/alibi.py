"""What goes wrong with ALiBi: slopes, distances, and the half formats they are kept in."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from conformance.mutants.bias import Pieces, ignored, met
from conformance.mutants.building import Mistake
from conformance.mutants.rounding import to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import alibi

SLOPES, BIAS = "alibi.slopes", "alibi.bias"
ATTENTION = ("alibi.weights", "alibi.attend")
Slopes = Callable[..., Array]
#: Parts of a bias, and the piece that makes each.
PARTS = {"slopes": "head", "key index": "place", "product": "product"}
FALCON = ("https://github.com/NVIDIA/TensorRT-Model-Connect/issues/667",)


def right_slopes(num_heads: int, max_bias: float, slopes: alibi.Slopes) -> Array:
    """Return the right slopes."""
    return alibi.slopes(num_heads=num_heads, max_bias=max_bias, slopes=slopes, like=np.zeros(1))


def power(exponents: Array, max_bias: float) -> Array:
    """Return ``2^(-max_bias exponent)``."""
    return np.asarray(2.0 ** (-max_bias * exponents))


def heads(count: int) -> Array:
    """Return ``1, 2, ..., count``."""
    return np.arange(1, count + 1, dtype=np.float64)


def whole(count: int) -> int:
    """Return the largest power of two up to a number."""
    return 1 << (count.bit_length() - 1)


def first_series(num_heads: int, slopes: alibi.Slopes) -> int:
    """Return how many heads have the slopes of one series: all of them by the paper's rule."""
    return num_heads if slopes == "paper" else whole(num_heads)


def in_code(made: Slopes) -> Slopes:
    """Return slopes that are wrong by the code's rule only: what is left beyond a power of two."""

    def of_rule(num_heads: int, max_bias: float, slopes: alibi.Slopes) -> Array:
        return made(num_heads, max_bias) if slopes == "code" else right_slopes(num_heads, max_bias, slopes)

    return of_rule


@in_code
def even_rest(num_heads: int, max_bias: float) -> Array:
    """Take the even-numbered slopes of the longer sequence for the remaining heads."""
    first = whole(num_heads)
    rest = power(heads(2 * first)[1::2] / (2 * first), max_bias)[: num_heads - first]
    return np.concatenate([power(heads(first) / first, max_bias), rest])


def half_of_the_heads(num_heads: int, max_bias: float, slopes: alibi.Slopes) -> Array:
    """Use the slopes of half the heads twice, as two devices do that count their own heads only."""
    return np.resize(right_slopes(max(1, num_heads // 2), max_bias, slopes), num_heads)


@in_code
def reversed_rest(num_heads: int, max_bias: float) -> Array:
    """Append the remaining heads' slopes in reverse."""
    first, rest = np.split(right_slopes(num_heads, max_bias, "code"), [whole(num_heads)])
    return np.concatenate([first, rest[::-1]])


@in_code
def nearest_logarithm(num_heads: int, max_bias: float) -> Array:
    """Take the nearest power of two, in place of the largest up to the number of heads."""
    nearest = 1 << round(math.log2(num_heads))
    return right_slopes(num_heads, max_bias, "code") if nearest < num_heads else power(heads(num_heads) / nearest, max_bias)


def integer_ratio(num_heads: int, max_bias: float, slopes: alibi.Slopes) -> Array:
    """Divide integers in the exponent of the ratio."""
    first = first_series(num_heads, slopes)
    rest = power(heads(2 * first)[::2], max_bias // (2 * first))[: num_heads - first]
    return np.concatenate([power(heads(first), max_bias // first), rest])


SLOPE_MISTAKES: tuple[tuple[Mistake, Slopes], ...] = (
    Mistake(
        "next-power-of-two-cut",
        does="takes the first slopes of the next power of two",
        should="take the largest power of two c, then every second slope of 2 c",
        fix="concatenate s[1::2] and s[::2] before cutting",
        threads=("https://github.com/huggingface/transformers/pull/28380",),
    ).made_by(in_code(lambda num_heads, max_bias: power(heads(num_heads) / (1 << (num_heads - 1).bit_length()), max_bias))),
    Mistake(
        "even-slopes-for-the-rest",
        does="takes the even-numbered slopes of the longer sequence for the remaining heads",
        should="take the odd-numbered ones",
        fix="start at the first: [0::2]",
        threads=("https://github.com/huggingface/transformers/pull/28380",),
        origin="in the style of: the stride of the thread, off by one",
    ).made_by(even_rest),
    Mistake(
        "halving-slopes",
        does="uses 1 / 2^h for any number of heads",
        should="use 2^(-8 h / heads)",
        fix="let the ratio depend on the number of heads",
        origin="expositions that print the slopes of 8 heads only",
    ).made_by(lambda num_heads, **_: power(heads(num_heads), 1.0)),
    Mistake(
        "slopes-of-thirds",
        does="uses 1 / 3^h for any number of heads",
        should="use 2^(-8 h / heads)",
        fix="take powers of two whose ratio depends on the number of heads",
        origin="in the style of 1 / 2^h with a base that nobody compared",
    ).made_by(lambda num_heads, **_: np.asarray(3.0 ** -heads(num_heads))),
    Mistake(
        "heads-from-zero",
        does="counts heads from zero, so that the first slope is 1",
        should="start at 2^(-8 / heads)",
        fix="count heads from 1",
        origin="in the style of arange(heads) without the + 1",
    ).made_by(
        lambda num_heads, max_bias, slopes: right_slopes(num_heads, max_bias, slopes) * 2.0 ** (max_bias / first_series(num_heads, slopes))
    ),
    Mistake(
        "local-heads",
        does="computes slopes from the heads of one device",
        should="compute slopes from all heads",
        fix="use the global head index and count",
        threads=("https://github.com/flashinfer-ai/flashinfer/pull/5101",),
    ).made_by(half_of_the_heads),
    Mistake(
        "heads-in-reverse",
        does="gives the heads their slopes in reverse",
        should="give the steepest slope to the first head",
        fix="reverse the slopes",
        origin="in the style of slopes that are sorted",
    ).made_by(lambda num_heads, max_bias, slopes: right_slopes(num_heads, max_bias, slopes)[::-1].copy()),
    Mistake(
        "slopes-sorted",
        does="sorts the slopes from the steepest to the flattest where heads are no power of two",
        should="give the remaining heads their slopes after those of the first heads",
        fix="don't sort: concatenate both sequences",
        origin="in the style of slopes that are put in order",
    ).made_by(in_code(lambda num_heads, max_bias: np.sort(right_slopes(num_heads, max_bias, "code"))[::-1].copy())),
    Mistake(
        "rest-in-reverse",
        does="gives the remaining heads their slopes in reverse",
        should="give the steeper slopes to the earlier heads, in both sequences",
        fix="take s[0::2] of the longer sequence from its start",
        threads=("https://github.com/huggingface/transformers/pull/28380",),
        origin="in the style of: the strided concatenation of the thread",
    ).made_by(reversed_rest),
    Mistake(
        "logarithm-rounded",
        does="rounds log2(heads) to the nearest integer, and cuts where that is too many",
        should="round it down: the largest power of two up to the number of heads",
        fix="use floor(log2(heads)), or the bit length",
        threads=("https://github.com/ml-explore/mlx/pull/3071",),
        origin="in the style of the thread: right for powers of two only",
    ).made_by(nearest_logarithm),
    Mistake(
        "ratio-in-integers",
        does="divides integers in the exponent of the ratio: 2^-(8 // c)",
        should="divide real numbers: 2^(-8 / c)",
        fix="divide real numbers",
        origin="in the style of C, where / of integers cuts",
    ).made_by(integer_ratio),
    Mistake(
        "heads-from-64-flat",
        does="leaves the slopes of heads 64 and up at 0",
        should="give every head a slope",
        fix="size the table by the number of heads",
        origin="in the style of kernels with a table of fixed size",
    ).made_by(lambda num_heads, max_bias, slopes: np.where(heads(num_heads) <= 64.0, right_slopes(num_heads, max_bias, slopes), 0.0)),
)


def of_form(made: Slopes) -> Callable[..., Array]:
    """Return slopes as a form keeps them."""

    def weight(num_heads: int, max_bias: float, slopes: alibi.Slopes, form: str) -> Array:
        return alibi.kept(made(num_heads=num_heads, max_bias=max_bias, slopes=slopes), form)

    return weight


def in_falcon(steps: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """Return steps that are wrong in Falcon's form only."""
    return lambda query, key, form: steps(query, key) if form == "falcon" else alibi.steps(query, key, form=form)


def cut(x: Array, form: str) -> Array:
    """Return numbers as Falcon's form keeps them, but cut where they should be rounded."""
    if form != "falcon":
        return x
    _, exponents = np.frexp(x)
    return np.ldexp(np.trunc(np.ldexp(x, 8 - exponents)), exponents - 8)


def cut_slopes(num_heads: int, max_bias: float, slopes: alibi.Slopes, form: str) -> Array:
    """Return slopes, cut in Falcon's form."""
    return cut(right_slopes(num_heads, max_bias, slopes), form)


def cut_keys(query: Array, key: Array) -> Array:
    """Return the key's position for every query, cut."""
    return cut(of_keys(query, key), "falcon")


def of_keys(query: Array, key: Array) -> Array:
    """Return the key's position for every query."""
    return key + np.zeros_like(query)


def of_distance(query: Array, key: Array) -> Array:
    """Return the key's position minus the query's, rounded."""
    return to("bfloat16")(key - query)


def falcon_mistake(name: str, does: str, should: str, fix: str) -> Mistake:
    """Return a mistake that shows in Falcon's form."""
    return Mistake(f"falcon-{name}", does, should, fix, threads=FALCON, kind="precision", origin="in the style of the thread")


FALCON_MISTAKES: tuple[tuple[Mistake, Pieces], ...] = (
    falcon_mistake(
        "slopes-exact", "keeps Falcon's slopes in float32", "round them to bfloat16", "round the slopes, whatever the model's dtype"
    ).made_by(Pieces(weight=right_slopes)),
    falcon_mistake(
        "key-index-exact", "multiplies Falcon's slopes by exact key positions", "round these to bfloat16", "round slope and position alike"
    ).made_by(Pieces(steps=in_falcon(of_keys))),
    falcon_mistake(
        "product-exact", "keeps Falcon's products in float32", "round them to bfloat16", "multiply in bfloat16"
    ).made_by(Pieces(kept=lambda product, _: product)),
    falcon_mistake(
        "product-cut", "cuts Falcon's products to bfloat16", "round to nearest, ties to even", "don't drop half of a float32's bits"
    ).made_by(Pieces(kept=cut)),
    falcon_mistake(
        "all-cut",
        "cuts Falcon's slopes, key positions and products to bfloat16",
        "round to nearest, ties to even",
        "don't drop half of a float32's bits",
    ).made_by(Pieces(weight=cut_slopes, steps=in_falcon(cut_keys), kept=cut)),
    falcon_mistake(
        "of-distances", "rounds the distance in Falcon's form", "round the key's position", "build the bias of key positions alone"
    ).made_by(Pieces(steps=in_falcon(of_distance))),
)
UNDIVIDED = replace(
    falcon_mistake(
        "bias-undivided",
        "adds Falcon's bias beside the scale",
        "divide it by sqrt(head_dim) with the products",
        "add the bias to q k^T, then scale the sum; or divide the mask that carries it",
    ),
    kind="mistake",  # it rounds nothing
)


def half_mistake(dtype: str, parts: Sequence[str]) -> Mistake:
    """Return the mistake of some parts that are kept in a half format."""
    words = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return Mistake(
        f"{dtype}-{'-'.join(parts).replace(' ', '-')}",
        does=f"computes {words} in {dtype}",
        should="compute the bias in float32 and cast last",
        fix="compute slopes, key index and product in float32, or declare the deviation: weights may be trained with it",
        threads=FALCON,
        kind="precision",
        origin="" if len(parts) > 1 else "in the style of the thread, one part alone",
    )


def half_mutants() -> Iterator[Mutant]:
    """Return slopes, alone and with other parts, and products with key indices, in bfloat16 and in float16."""
    for dtype in ("bfloat16", "float16"):
        half = to(dtype)
        for parts in (("slopes",), *combinations(PARTS, 2), tuple(PARTS)):
            rounding: dict[str, Any] = {PARTS[part]: half for part in parts}
            yield half_mistake(dtype, parts).at(BIAS, Pieces(**rounding).of(BIAS))
        yield half_mistake(dtype, ("slopes",)).at(SLOPES, lambda half=half, **parameters: half(right_slopes(**parameters)))


FROM_ONE = Mistake(
    "distance-plus-one",
    does="counts distance from one: -slope (m - n + 1)",
    should="give the token itself a bias of 0",
    fix="count distance from 0; after the softmax it makes no difference",
    threads=("https://github.com/vllm-project/vllm/pull/945",),
    kind="convention",
)
#: Threads in which mistakes of every bias were met in ALiBi's.
MET = {
    "slopes=paper": ("https://github.com/ml-explore/mlx/pull/3071",),
    "form=column": ("https://github.com/ofirpress/attention_with_linear_biases/issues/20",),
    "form=falcon": FALCON,
    "form=reversed": ("https://github.com/mosaicml/llm-foundry/issues/186",),
    "sign-flipped": ("https://github.com/meta-pytorch/attention-gym/pull/86",),
    "no-bias": (
        "https://github.com/keras-team/keras-hub/pull/2977",
        "https://github.com/ofirpress/attention_with_linear_biases/issues/20",
    ),
    "query-index": ("https://github.com/keras-team/keras-hub/pull/2977",),
    "key-index": ("https://github.com/mosaicml/llm-foundry/issues/186",),
    **{f"{dtype}-{part}": FALCON for dtype in ("bfloat16", "float16") for part in ("positions", "product", "distances")},
}


def mutants() -> Iterator[Mutant]:
    """Return the mutants of ALiBi's slopes, and those of its bias that are its own."""
    for mistake, made in SLOPE_MISTAKES:
        yield mistake.at(SLOPES, made)
        for operation in (BIAS, *ATTENTION):
            yield replace(mistake.at(operation, Pieces(weight=of_form(made)).of(operation)), inherited=operation != BIAS)
    for mistake, pieces in FALCON_MISTAKES:
        yield mistake.at(BIAS, pieces.of(BIAS))
        yield from (replace(mistake.at(operation, pieces.of(operation)), inherited=True) for operation in ATTENTION)
    yield from (UNDIVIDED.at(operation, Pieces(divided=lambda *_: 1.0).of(operation)) for operation in ATTENTION)
    yield from ignored(SLOPES, MET)
    yield FROM_ONE.at(BIAS, Pieces(step=lambda steps: steps - 1.0).of(BIAS))
    yield from met(BIAS, MET)
    yield from half_mutants()
