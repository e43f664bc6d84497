"""T5 relative bias: one learned number per head for every bucket of distances, exact near by and logarithmic far away."""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from refimpl import attention
from refimpl.arrays import Array, array_namespace
from refimpl.attention import Layer
from refimpl.cases.t5 import CASES
from refimpl.errors import SpecificationError
from refimpl.forms.bias import APART_LAWS, ATTENTION_MEANINGS, LookedUp, attending, numbers, whole
from refimpl.forms.bias import layer as biased
from refimpl.spec import INTEGER, Count, Law, Number, Scheme, Source, operation

Buckets = Annotated[int, Number(minimum=2)]
Convention = Literal["t5", "deberta", "clamped"]


def half_range(num_buckets: int, *, bidirectional: bool) -> tuple[int, int]:
    """Return how many buckets one direction has, and how many of them hold one distance each."""
    if bidirectional and (num_buckets % 2 or num_buckets < 4):
        message = f"num_buckets must be even and at least 4 where bidirectional, got {num_buckets}"
        raise SpecificationError(message)
    buckets = num_buckets // 2 if bidirectional else num_buckets
    return buckets, buckets // 2


def thresholds(buckets: int, exact: int, max_distance: int) -> list[int]:
    """Return the least distance of every logarithmic bucket but the first: ``a^n e^k >= D^k e^n``, decided in integers."""
    if max_distance <= exact:
        message = f"max_distance must be greater than the {exact} exact distances, got {max_distance}"
        raise SpecificationError(message)
    steps = buckets - exact
    return [ceiling_root(max_distance**k * exact ** (steps - k), steps) for k in range(1, steps)]


def ceiling_root(value: int, degree: int) -> int:
    """Return the least integer whose power of that degree reaches ``value``."""
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**degree >= value else (middle + 1, high)
    return low


def quarter_range(num_buckets: int, max_distance: int, *, bidirectional: bool) -> int:
    """Return how many distances DeBERTa keeps exact: a quarter of the buckets."""
    if not bidirectional:
        message = "bidirectional must be true where convention is deberta, got False"
    elif num_buckets % 4 or num_buckets < 8:
        message = f"num_buckets must be a multiple of 4 and at least 8 where convention is deberta, got {num_buckets}"
    elif max_distance <= num_buckets // 4 + 1:
        message = f"max_distance must be greater than {num_buckets // 4 + 1} where convention is deberta, got {max_distance}"
    else:
        return num_buckets // 4
    raise SpecificationError(message)


def lasts(exact: int, max_distance: int) -> list[int]:
    """Return the greatest distance of every bucket from the last exact one on: ``a^n e^k <= (D - 1)^k e^n``, ``n = e - 1``."""
    steps = exact - 1
    return [ceiling_root((max_distance - 1) ** k * exact ** (steps - k) + 1, steps) - 1 for k in range(exact)]


def truncated(relative: Array, *, bidirectional: bool, num_buckets: int, max_distance: int) -> Array:
    """Return T5's bucket: the logarithm truncated, later keys in the upper half of the buckets."""
    buckets, exact = half_range(num_buckets, bidirectional=bidirectional)
    xp = array_namespace(relative)
    later = buckets * whole(relative > 0) if bidirectional else xp.zeros_like(relative)
    distance = xp.abs(relative) if bidirectional else xp.clip(-relative, min=0)
    beyond = (whole(distance >= least) for least in thresholds(buckets, exact, max_distance))
    return sum(beyond, start=later + xp.clip(distance, max=exact))


def signed(relative: Array, *, bidirectional: bool, num_buckets: int, max_distance: int) -> Array:
    """Return DeBERTa's bucket: the logarithm rounded up, with the sign of query minus key, around the middle of the buckets."""
    exact = quarter_range(num_buckets, max_distance, bidirectional=bidirectional)
    xp = array_namespace(relative)
    distance = xp.abs(relative)
    beyond = (whole(distance > most) for most in lasts(exact, max_distance))
    away = sum(beyond, start=xp.clip(distance, max=exact))
    return xp.clip(2 * exact - xp.sign(relative) * away, min=0, max=num_buckets - 1)


def clamped(relative: Array, *, bidirectional: bool, num_buckets: int, max_distance: int) -> Array:
    """Return a bucket per offset: from the earliest key on where bidirectional, else from the token itself back."""
    del max_distance
    xp = array_namespace(relative)
    half, _ = half_range(num_buckets, bidirectional=bidirectional)
    return xp.clip(relative + half if bidirectional else -relative, min=0, max=num_buckets - 1)


BUCKETS: Mapping[str, Callable[..., Array]] = {"t5": truncated, "deberta": signed, "clamped": clamped}


@operation
def bucket(
    relative_positions: Annotated[Array, "...", INTEGER],
    *,
    bidirectional: bool,
    num_buckets: Buckets = 32,
    max_distance: Count = 128,
    convention: Convention = "t5",
) -> Annotated[Array, "...", INTEGER]:
    """Return the bucket of every key position minus query position (section 2.1; exact at every tie of the logarithm).

    With ``a`` the distance, ``e`` the exact distances of one direction, ``nb`` its buckets and ``D = max_distance``, ``t5`` gives ``a``
    below ``e`` and ``min(nb - 1, e + floor(ln(a / e) / ln(D / e) (nb - e)))`` from there; ``deberta`` gives ``a`` up to ``e`` and
    ``e + ceil(ln(a / e) / ln((D - 1) / e) (e - 1))`` beyond, with a sign. Raises where the buckets don't divide, or ``D`` leaves no room.
    """
    chosen = BUCKETS[convention]
    return chosen(whole(relative_positions), bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance)


def rows(
    query: Array,
    key: Array,
    table: Annotated[Array, "num_buckets head"],
    *,
    bidirectional: bool,
    num_buckets: Buckets = 32,
    max_distance: Count = 128,
    convention: Convention = "t5",
) -> Array:
    """Return the bucket of every pair of positions: its row of the table."""
    del table
    return bucket(key - query, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance, convention=convention)


FORM = LookedUp(rows)
bias = FORM.operation("Return the table's number for every head and pair of positions, in the dtype of the table (section 2.1).")

ATTENTION = attending(bias, content=attention.products)
weights = ATTENTION.weights("Return the attention weights ``softmax(q k^T + bias)``, in the dtype of ``q``, unscaled (section 2.1).")
attend = ATTENTION.attend("Return ``softmax(q k^T + bias) v``, in the dtype of ``v``, unscaled (section 2.1).")


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return attention with T5's logits: ``q k^T`` without ``1 / sqrt(head_dim)``, plus the bias of both directions."""
    del head_dim
    table = numbers(32, num_heads, like=like)
    return biased(lambda m, n: bias(table, m, n, bidirectional=True), learned=32 * num_heads, content=attention.products)


SCHEME = Scheme(
    name="t5",
    operations=(bucket, bias, weights, attend),
    source=Source(
        "Raffel et al. 2019, Exploring the Limits of Transfer Learning, and its code",
        "https://arxiv.org/abs/1910.10683",
        equations="section 2.1",
    ),
    laws={
        "bucket": (Law.ZERO_AT_ORIGIN, Law.MONOTONE, Law.SATURATION, Law.MIRROR),
        "bias": (Law.LOOKUP, Law.TRANSLATION, Law.SATURATION, Law.STEPWISE, Law.HEADS),
        **APART_LAWS,
    },
    cases=CASES,
    summary="Add to every attention logit a learned number for its head and its bucket of distances.",
    meanings={
        **ATTENTION_MEANINGS,
        "q": "queries, as projected: T5 doesn't scale them",
        "relative_positions": "the key's position minus the query's, in tokens; negative for keys of the past",
        "table": "the learned numbers: a row for every bucket, a column for every head; added to logits",
        "query_positions": "where each query stands, in tokens",
        "key_positions": "where each key stands, in tokens",
        "bidirectional": "whether later keys are told from the token itself: true in encoders, false in decoders",
        "num_buckets": "how many buckets there are, of both directions together: the rows of the table",
        "max_distance": (
            "at this distance, in tokens, and beyond everything is in the last bucket; with `t5` that begins earlier, at 91 of 128 with 32 "
            "buckets both ways; `clamped` has one bucket per distance and doesn't read it"
        ),
        "convention": "how distances share the buckets",
    },
    conventions={
        "convention=t5": (
            "half of a direction's buckets exact, then the logarithm truncated, later keys num_buckets / 2 above: T5 and its family, "
            "MPNet, WavLM with 320 buckets to 800 (transformers 5.23.0)"
        ),
        "convention=deberta": (
            "a quarter of the buckets exact on either side of the middle, then the logarithm rounded up, earlier keys above the "
            "middle: DeBERTa-v2 and v3 (transformers 5.23.0, make_log_bucket_position, whose position_buckets is num_buckets / 2, and "
            "the clamp of disentangled_attention_bias)"
        ),
        "convention=clamped": (
            "one bucket per offset from -num_buckets / 2 to num_buckets / 2 - 1, no logarithm: the audio encoder of Phi-4-multimodal "
            "(transformers 5.23.0, modeling_phi4_multimodal.py); where causal, one per distance back"
        ),
    },
    notes=(
        (
            "This project's lecture notes say that a T5-style bias can't use a KV cache, so that keys and values must be regenerated. That "
            "is false: the bias touches logits only. Cached keys and values stay valid, and a decoding step needs one new row of biases, "
            "for its own position. `tests/test_schemes_t5.py` decodes token by token over cached keys and values and gets what attention "
            "over everything at once gives."
        ),
        (
            "The paper describes the buckets in words; the formula is in the authors' code only "
            "(mesh_tensorflow/transformer/transformer_layers.py, _relative_position_bucket), and all that is published as T5 follows "
            "it."
        ),
        (
            "Bidirectional bucket num_buckets / 2 can't be reached in the convention t5: a later key is at least one token away, so "
            "31 of 32 rows are used."
        ),
        (
            "T5 doesn't divide logits by sqrt(head_dim): its initialisation holds the factor. A fused kernel that scales must not "
            "scale the bias."
        ),
        (
            "At exact ties, where the logarithm's argument is an integer, float32 code may land one bucket off: vectors tagged "
            "`boundary` list both buckets. At max_distance - 1 = 511, DeBERTa's default, the logarithm is exactly one, and an error that "
            "is rounded up gives the next row."
        ),
    ),
    layer=layer,
)
