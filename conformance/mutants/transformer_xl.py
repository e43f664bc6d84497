"""What goes wrong with Transformer-XL's four terms, its distances and its sinusoid."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.mutants import transformer_xl_shift
from conformance.mutants.building import Mistake, altered, conventions, moving
from conformance.mutants.positions import RELATIVE_SLUGS, index, position_mutants
from conformance.mutants.recurrence import Recurrent, Sides, four, scaled_once
from conformance.mutants.recurrence_distances import DISTANCE_MISTAKES, PRECISION, WAVE_MISTAKES
from conformance.mutants.rope_attention import MASK_MISTAKES
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes.transformer_xl import Terms

EVERY = tuple(f"transformer_xl.{name}" for name in ("terms", "logits", "weights", "attend"))
SUMMED = EVERY[1:]
ATTENTION = EVERY[2:]
SHIFTED_UNMASKED = (
    "https://github.com/ZhengkunTian/OpenTransformer/issues/25",
    "https://github.com/espnet/espnet/issues/2684",
    "https://github.com/espnet/espnet/pull/2816",
    "https://github.com/kimiyoung/transformer-xl/issues/132",
)
RENAMED = "in the style of formulas copied without a term, or with two names exchanged"


def exchanged(sides: Sides) -> Terms:
    """Let each bias meet what the other should."""
    return four(Sides(sides.q, sides.k, sides.r, sides.v, sides.u))


def without(*names: str) -> Callable[[Sides], Terms]:
    """Return the terms with some of them zero."""
    return lambda sides: (terms := four(sides))._replace(**{name: 0.0 * getattr(terms, name) for name in names})


def biases_on_keys(sides: Sides) -> Terms:
    """Add both biases to the query of both products."""
    return four(Sides(sides.q, sides.k, sides.r, sides.u + sides.v, sides.u + sides.v))


def first_head_biases(sides: Sides) -> Terms:
    """Give every head the first head's biases."""
    u, v = (np.broadcast_to(bias[:, :1], bias.shape) for bias in (sides.u, sides.v))
    return four(Sides(sides.q, sides.k, sides.r, u, v))


def first_head_distance(sides: Sides) -> Terms:
    """Give every head the first head's relative keys."""
    return four(Sides(sides.q, sides.k, np.broadcast_to(sides.r[:, :1], sides.r.shape), sides.u, sides.v))


def shifted_unmasked(sides: Sides) -> Terms:
    """Shift a table of the distances from keys - 1 to 0, and mask nothing: later keys get the next query's numbers."""
    queries, keys = sides.q.shape[2:4]
    terms, memory = four(sides), keys - queries
    if memory < 0:
        return terms
    later = np.arange(keys) - np.arange(queries)[:, None] - memory
    return Terms(terms[0], _leaked(terms[1], later), terms[2], _leaked(terms[3], later))


def _leaked(term: Array, later: Array) -> Array:
    """Return a term with what the shift leaves above the diagonal: nothing, then the next query's largest distances."""
    queries = term.shape[2]
    rows = np.minimum(np.arange(queries)[:, None] + 1, queries - 1)
    columns = np.clip(later - 2, 0, None)
    moved = term[:, :, rows, np.minimum(columns, term.shape[3] - 1)]
    return np.where(later <= 0, term, np.where(later == 1, 0.0, moved))


TERM_MISTAKES: tuple[tuple[Mistake, Callable[[Sides], Terms]], ...] = (
    Mistake(
        "biases-exchanged",
        does="gives the content the position's bias and the distance the content's",
        should="let u meet the keys' content and v the distance",
        fix="take r_w_bias for u and r_r_bias for v",
        origin=RENAMED,
    ).made_by(exchanged),
    Mistake(
        "global-content-missing",
        does="leaves out u k",
        should="add all four terms",
        fix="add the content bias to the query of the content product",
        origin=RENAMED,
    ).made_by(without("global_content")),
    Mistake(
        "global-position-missing",
        does="leaves out v r",
        should="add all four terms",
        fix="add the position bias to the query of the distance product",
        origin=RENAMED,
    ).made_by(without("global_position")),
    Mistake(
        "distance-missing",
        does="leaves out both terms of the distance",
        should="add all four terms",
        fix="add the shifted product with the relative keys",
        origin=RENAMED,
    ).made_by(without("content_position", "global_position")),
    Mistake(
        "biases-added-together",
        does="adds both biases to one query that meets contents and distances",
        should="let each bias meet its own product",
        fix="make (q + u) k and (q + v) r of two queries",
        origin=RENAMED,
    ).made_by(biases_on_keys),
    Mistake(
        "first-head-biases",
        does="gives every head the first head's biases",
        should="give each head its own",
        fix="index the biases by head",
        origin="in the style of head axes that are lost by broadcasting",
    ).made_by(first_head_biases),
    Mistake(
        "first-head-distance",
        does="gives every head the first head's relative keys",
        should="project the sinusoid for each head",
        fix="view the projected sinusoid as (head, head_dim)",
        origin="in the style of head axes that are lost by broadcasting",
    ).made_by(first_head_distance),
    Mistake(
        "shift-unmasked",
        does="lets later keys have the next query's numbers: the shift of a table that ends at distance 0",
        should="give later keys their own negative distance, or hide them",
        fix="build the table for distances K - 1 to -(Q - 1)",
        threads=SHIFTED_UNMASKED,
    ).made_by(shifted_unmasked),
)


def content_scaled(terms: Terms, width: int, dim: int) -> Array:
    """Scale the products with contents only."""
    del dim
    return (terms[0] + terms[2]) / math.sqrt(width) + terms[1] + terms[3]


def scaled_by(power: float) -> Callable[[Terms, int, int], Array]:
    """Return the sum over another power of the width."""
    return lambda terms, width, _: sum(terms[1:], start=terms[0]) / width**power


def scaled_by_model(terms: Terms, width: int, dim: int) -> Array:
    """Divide by the root of the model's width."""
    del width
    return scaled_once(terms, dim, dim)


SCALED = "scale the sum of all four terms once, by 1 / sqrt(head_dim)"
SCALE_ORIGIN = "in the style of attention kernels that scale q k themselves"
SCALE_MISTAKES: tuple[tuple[Mistake, Callable[[Terms, int, int], Array]], ...] = (
    (Mistake("position-not-scaled", does="scales the products with contents only", should=SCALED,
             fix="hand the kernel a bias that is scaled already, or scale after the sum", origin=SCALE_ORIGIN), content_scaled),
    (Mistake("scale-missing", does="doesn't scale", should=SCALED, fix="divide the sum by sqrt(head_dim)", origin=SCALE_ORIGIN),
     scaled_by(0.0)),
    (Mistake("scale-twice", does="divides by head_dim", should=SCALED, fix="scale in one place only", origin=SCALE_ORIGIN), scaled_by(1.0)),
    (Mistake("scale-of-the-model", does="divides by the root of the sinusoid's width", should=SCALED,
             fix="take the width of a head",
             threads=("https://github.com/sooftware/conformer/pull/55", "https://github.com/openspeech-team/openspeech/pull/182")),
     scaled_by_model),
)


def scaled_terms(*arrays: Array, **parameters: Any) -> tuple[Array, ...]:
    """Return every term over the root of the head's width."""
    return tuple(term / math.sqrt(arrays[0].shape[-1]) for term in Recurrent().terms(*arrays, **parameters))


def heads_last(weight: Array) -> Array:
    """Read the projected sinusoid as (head_dim, head)."""
    dim, head, width = weight.shape
    return np.moveaxis(weight.reshape(dim, width, head), 2, 1)


HEADS_LAST = Mistake(
    "heads-last",
    does="reads the projected sinusoid as (head_dim, head)",
    should="read it as (head, head_dim)",
    fix="view the projection as heads of channels",
    origin="in the style of views whose axes are exchanged",
)
QUERY_INDEX = Mistake(
    "query-index",
    does="counts queries from 0 after a memory",
    should="use the queries' own positions",
    fix="add the length of the memory to the queries' positions",
    threads=("https://github.com/lucidrains/x-transformers/pull/103", "https://github.com/huggingface/transformers/issues/19045"),
    origin="in the style of: memories and caches of other relative schemes",
)
SWAPPED_RESULTS = Mistake(
    "terms-exchanged",
    does="returns u k where q r belongs",
    should="return q k, q r, u k, v r in this order",
    fix="return terms (b) and (c) of section 3.3 in their order",
    origin=RENAMED,
)
SCALED_RESULTS = Mistake(
    "terms-scaled",
    does="scales every term",
    should="return the terms unscaled; their sum is scaled once",
    fix="scale after the sum",
    origin=RENAMED,
)


def term_mutants(operation: str) -> Iterator[Mutant]:
    """Return what befalls every operation with queries and keys."""
    yield from conventions(operation, {}, ("layout", "sign"))
    for mistake, terms_of in TERM_MISTAKES:
        yield mistake.at(operation, Recurrent(terms_of=terms_of).of(operation))
    for mistake, away in (*DISTANCE_MISTAKES, *PRECISION):
        yield mistake.at(operation, Recurrent(away=away).of(operation))
    for mistake, made in WAVE_MISTAKES:
        yield mistake.at(operation, Recurrent(waves=made).of(operation))
    yield HEADS_LAST.at(operation, Recurrent(weight=heads_last).of(operation))
    yield QUERY_INDEX.at(operation, moving(operation, index, only="query_positions"))
    yield from position_mutants(operation, RELATIVE_SLUGS)


def mutants() -> Iterator[Mutant]:
    """Return all mutants of Transformer-XL, those of its shift last."""
    for operation in EVERY:
        yield from term_mutants(operation)
    for operation in SUMMED:
        for mistake, logit in SCALE_MISTAKES:
            yield mistake.at(operation, Recurrent(logit=logit).of(operation))
    for operation in ATTENTION:
        for mistake, see in MASK_MISTAKES:
            yield mistake.at(operation, Recurrent(see=see).of(operation))
    yield SWAPPED_RESULTS.at(EVERY[0], altered(EVERY[0], result=lambda found: (found[0], found[2], found[1], found[3])))
    yield SCALED_RESULTS.at(EVERY[0], scaled_terms)
    yield from transformer_xl_shift.mutants()
