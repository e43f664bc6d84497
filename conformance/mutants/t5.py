"""What goes wrong with T5's buckets and the bias that they look up."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.mutants.bias import Pieces, ignored, met
from conformance.mutants.building import Mistake, forcing, moving
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import t5

BUCKET, BIAS = "t5.bucket", "t5.bias"
Bucket = Callable[..., Array]


def logarithmic(
    *,
    step: Callable[[Array], Array] = np.floor,
    exact_less: int = 0,
    ratio: Callable[[Array, int, int], Array] = lambda a, e, d: np.log(a / e) / np.log(d / e),
    clipped: bool = True,
    offset: Callable[[Array, int], Array] = lambda relative, buckets: buckets * (relative > 0),
    distance: Callable[[Array], Array] = lambda relative: np.maximum(-relative, 0),
) -> Bucket:
    """Return the usual floating-point bucket with some steps replaced."""

    def bucket(relative: Array, *, bidirectional: bool, num_buckets: int, max_distance: int) -> Array:
        buckets, exact = t5.half_range(num_buckets, bidirectional=bidirectional)
        exact = max(1, exact - exact_less)
        away = np.abs(relative) if bidirectional else distance(relative)
        raw = exact + step(ratio(np.maximum(away, exact), exact, max_distance) * (buckets - exact) + 1e-9)
        far = np.minimum(raw, buckets - 1) if clipped else raw
        later = offset(relative, buckets) if bidirectional else 0
        return (later + np.where(away < exact, away, far)).astype(np.int64)

    return only_in("t5", bucket)


def signed(
    *,
    step: Callable[[Array], Array] = lambda value: np.ceil(value - 1e-9),
    end: int = 1,
    earlier: int = 1,
    clipped: bool = True,
) -> Bucket:
    """Return DeBERTa's floating-point bucket with some steps replaced; the logarithm ends ``end`` below max_distance."""

    def bucket(relative: Array, *, num_buckets: int, max_distance: int, **_: object) -> Array:
        exact, away = num_buckets // 4, np.abs(relative)
        ratio = np.log(np.maximum(away, exact) / exact) / np.log((max_distance - end) / exact)
        rows = num_buckets // 2 - earlier * np.sign(relative) * np.where(away <= exact, away, exact + step(ratio * (exact - 1)))
        return (np.clip(rows, 0, num_buckets - 1) if clipped else rows).astype(np.int64)

    return only_in("deberta", bucket)


def only_in(convention: str, mistaken: Bucket) -> Bucket:
    """Return buckets that are mistaken in one convention and right in the others."""

    def bucket(relative: Array, **parameters: Any) -> Array:
        asked = parameters.pop("convention")
        return mistaken(relative, **parameters) if asked == convention else t5.bucket(relative, convention=asked, **parameters)

    return bucket


def linear(relative: Array, *, bidirectional: bool, num_buckets: int, max_distance: int) -> Array:
    """Space the buckets of a direction evenly up to max_distance."""
    buckets, _ = t5.half_range(num_buckets, bidirectional=bidirectional)
    away = np.abs(relative) if bidirectional else np.maximum(-relative, 0)
    later = buckets * (relative > 0) if bidirectional else 0
    return (later + np.minimum(away * buckets // max_distance, buckets - 1)).astype(np.int64)


def odd_table(relative: Array, *, bidirectional: bool, num_buckets: int, max_distance: int) -> Array:
    """Clamp to as many offsets on either side, so that one row is never read."""
    half = num_buckets // 2
    right = t5.bucket(relative, bidirectional=False, num_buckets=num_buckets, max_distance=max_distance, convention="clamped")
    return np.clip(relative, 1 - half, half - 1) + half if bidirectional else right


def earlier_mirrored(relative: Array, *, bidirectional: bool, num_buckets: int, max_distance: int) -> Array:
    """Clamp query minus key instead of key minus query."""
    return t5.bucket(-relative, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance, convention="clamped")


def bias_of(bucket: Bucket) -> Callable[..., Array]:
    """Return the bias that other buckets look up."""

    def rows(query: Array, key: Array, *, bidirectional: bool, num_buckets: int, max_distance: int, convention: str) -> Array:
        return bucket(key - query, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance, convention=convention)

    return Pieces(steps=rows).of(BIAS)


def whole_range(relative: Array, *, bidirectional: bool, num_buckets: int, max_distance: int) -> Array:
    """Give both directions all buckets: the half is forgotten."""
    earlier = t5.bucket(-np.abs(relative), bidirectional=False, num_buckets=num_buckets, max_distance=max_distance)
    later = num_buckets * (relative > 0)
    right = t5.bucket(relative, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance)
    return earlier + later if bidirectional else right


def forced(**parameters: object) -> Bucket:
    """Return buckets with parameters fixed."""
    return forcing(BUCKET, parameters)


BUCKET_MISTAKES: tuple[tuple[Mistake, Bucket], ...] = (
    Mistake(
        "always-bidirectional",
        does="uses the encoder's buckets, half for each direction, whatever is asked for",
        should="use all buckets for the past where bidirectional is false",
        fix="pass bidirectional=False in the decoder's self-attention",
        threads=("https://github.com/TransformerLensOrg/TransformerLens/pull/1681",),
    ).made_by(forced(bidirectional=True)),
    Mistake(
        "never-bidirectional",
        does="uses the decoder's buckets whatever is asked for: later keys are all at distance 0",
        should="give later keys the upper half of the buckets where bidirectional is true",
        fix="pass bidirectional=True in the encoder",
        threads=("https://github.com/TransformerLensOrg/TransformerLens/pull/1681",),
        origin="in the style of: the thread the other way round",
    ).made_by(forced(bidirectional=False)),
    Mistake(
        "sign-flipped",
        does="takes query minus key for key minus query",
        should="bucket the key's position minus the query's",
        fix="swap the two positions",
        threads=("https://github.com/NVIDIA/TensorRT-LLM/issues/1343",),
        origin="in the style of: relative positions of the wrong sign",
    ).made_by(moving(BUCKET, np.negative, only="relative_positions")),
    Mistake(
        "rounded",
        does="rounds the logarithm to the nearest bucket",
        should="truncate it",
        fix="cast to integers instead of rounding",
        origin="in the style of ports to languages whose cast rounds",
    ).made_by(logarithmic(step=np.rint)),
    Mistake(
        "rounded-up",
        does="rounds the logarithm up",
        should="truncate it",
        fix="use floor",
        origin="in the style of ports to languages whose cast rounds",
    ).made_by(logarithmic(step=lambda value: np.ceil(value - 2e-9))),
    Mistake(
        "exact-region-short",
        does="starts the logarithm one bucket early",
        should="keep half of the buckets exact",
        fix="use num_buckets // 2 of one direction",
        origin="in the style of off-by-one boundaries",
    ).made_by(logarithmic(exact_less=1)),
    Mistake(
        "logarithm-of-whole-distance",
        does="divides by ln(max_distance) instead of ln(max_distance / exact)",
        should="divide by ln(max_distance / exact)",
        fix="divide max_distance by the exact distances first",
        origin="in the style of formulas copied without a term",
    ).made_by(logarithmic(ratio=lambda a, e, d: np.log(a / e) / np.log(d))),
    Mistake(
        "linear",
        does="spaces the buckets evenly up to max_distance",
        should="give each near distance a bucket of its own, and space the others by the logarithm",
        fix="keep distances below half of the buckets as they are, and take the logarithm from there",
        origin="in the style of simplified buckets",
    ).made_by(only_in("t5", linear)),
    Mistake(
        "max-distance-doubled",
        does="ends the logarithm at twice max_distance",
        should="end it at max_distance in either direction",
        fix="max_distance is how far one direction reaches, not the span of both",
        origin="in the style of a range that is taken for that of both directions",
    ).made_by(logarithmic(ratio=lambda a, e, d: np.log(a / e) / np.log(2 * d / e))),
    Mistake(
        "far-not-clipped",
        does="lets far distances run beyond the last bucket",
        should="clip at the last bucket",
        fix="take the minimum with num_buckets - 1",
        origin="in the style of formulas copied without a term",
    ).made_by(logarithmic(clipped=False)),
    Mistake(
        "halves-not-halved",
        does="gives each direction all buckets",
        should="give each direction half of them",
        fix="halve num_buckets where bidirectional",
        origin="in the style of formulas copied without a term",
    ).made_by(only_in("t5", whole_range)),
    Mistake(
        "later-not-offset",
        does="puts later keys into the buckets of earlier ones",
        should="add half of the buckets for later keys",
        fix="add num_buckets // 2 where the relative position is positive",
        origin="in the style of formulas copied without a term",
    ).made_by(logarithmic(offset=lambda relative, _: np.zeros_like(relative))),
    Mistake(
        "self-counted-as-later",
        does="puts the token itself among the later keys",
        should="give it bucket 0",
        fix="compare with > 0, not >= 0",
        origin="in the style of off-by-one boundaries",
    ).made_by(logarithmic(offset=lambda relative, buckets: buckets * (relative >= 0))),
    Mistake(
        "future-not-clipped",
        does="gives later keys the bucket of their distance where only the past counts",
        should="give them bucket 0",
        fix="clip the distance at 0 instead of taking its magnitude",
        origin="in the style of formulas copied without a term",
    ).made_by(logarithmic(distance=np.abs)),
    Mistake(
        "deberta-truncated",
        does="truncates DeBERTa's logarithm, as T5 does",
        should="round it up",
        fix="use ceil in the convention deberta",
        origin="in the style of two conventions that are taken for one",
    ).made_by(signed(step=np.floor)),
    Mistake(
        "deberta-whole-distance",
        does="ends DeBERTa's logarithm at max_distance",
        should="end it at max_distance - 1",
        fix="divide by ln((max_distance - 1) / exact)",
        origin="in the style of off-by-one boundaries",
    ).made_by(signed(end=0)),
    Mistake(
        "deberta-later-above",
        does="puts DeBERTa's later keys above the middle of the table",
        should="put earlier keys there: the bucket has the sign of query minus key",
        fix="don't negate the bucket of query minus key before the middle is added",
        threads=("https://github.com/nntrainer/nntrainer/pull/3982",),
    ).made_by(signed(earlier=-1)),
    Mistake(
        "deberta-not-clamped",
        does="reads DeBERTa's row beyond the table for keys far in the past",
        should="clamp rows to the table: the bucket of earlier keys reaches one too far",
        fix="clamp to 2 span - 1 after span is added",
        origin="in the style of formulas copied without a term",
    ).made_by(signed(clipped=False)),
    Mistake(
        "clamped-odd",
        does="clamps offsets to as many on either side: the first row is never read",
        should="clamp to one more earlier offset than later ones",
        fix="clamp to [-num_buckets / 2, num_buckets / 2 - 1]",
        origin="in the style of off-by-one boundaries",
    ).made_by(only_in("clamped", odd_table)),
    Mistake(
        "clamped-mirrored",
        does="clamps query minus key",
        should="clamp key minus query",
        fix="swap the two positions in the convention clamped",
        threads=("https://github.com/NVIDIA/TensorRT-LLM/issues/1343",),
        origin="in the style of relative positions of the wrong sign",
    ).made_by(only_in("clamped", earlier_mirrored)),
)

OUTSIDE_THE_TABLE = frozenset({"far-not-clipped", "halves-not-halved", "deberta-not-clamped"})
WRONG_SIGN = ("https://github.com/NVIDIA/TensorRT-LLM/issues/1343",)
#: Threads in which mistakes of every bias were met in T5's.
MET = {
    "sign-flipped": WRONG_SIGN,
    "query-index": WRONG_SIGN,
    "no-bias": ("https://github.com/NVIDIA/TensorRT-LLM/pull/13870", "https://github.com/huggingface/transformers/pull/4499"),
}


def mutants() -> Iterator[Mutant]:
    """Return the mutants of T5's buckets, and those of its bias that are its own."""
    for mistake, bucket in BUCKET_MISTAKES:
        yield mistake.at(BUCKET, bucket)
        if mistake.slug not in {*OUTSIDE_THE_TABLE, *MET}:
            yield mistake.at(BIAS, bias_of(bucket))
    yield from met(BIAS, MET)
    yield from ignored(BUCKET, {})
