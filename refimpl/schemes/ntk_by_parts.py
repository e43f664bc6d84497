"""NTK-by-parts: a longer context slows the pairs that turned rarely in training, keeps those that turned often, and blends between."""

import math
from typing import Annotated

from refimpl.arrays import Array, array_namespace
from refimpl.cases.ntk_by_parts import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import rotary
from refimpl.forms.rotary import Rotary, Stretch
from refimpl.schemes import rope
from refimpl.spec import Count, EvenCount, Law, Positive, Scheme, Source, operation


def kept(theta: Array, original_length: int, slow: float, fast: float) -> Array:
    """Return ``gamma(r)``: 0 up to ``slow`` turns within the original length, 1 from ``fast`` turns on, linear between (eq. 17-18)."""
    xp, turns = array_namespace(theta), original_length * theta / (2 * math.pi)
    if slow == fast:
        return xp.astype(turns > slow, theta.dtype)
    return xp.clip((turns - slow) / (fast - slow), 0.0, 1.0)


def blended(theta: Array, factor: float, share: Array) -> Array:
    """Return ``(1 - gamma) theta / factor + gamma theta`` (eq. 19)."""
    return (1.0 - share) * theta / factor + share * theta


@operation
def frequencies(
    *,
    head_dim: EvenCount,
    base: Positive = 10_000.0,
    factor: Stretch,
    original_length: Count,
    alpha: Positive = 1.0,
    beta: Positive = 32.0,
    like: Array,
) -> Annotated[Array, "pair"]:
    """Return the radians per position of every pair: ``theta_j`` where it turns often, ``theta_j / factor`` where rarely (eq. 17-19)."""
    if beta <= alpha:
        message = f"beta must be greater than alpha ({alpha:g}), got {beta!r}"
        raise SpecificationError(message)
    theta = rope.frequencies(head_dim=head_dim, base=base, like=like)
    return blended(theta, factor, kept(theta, original_length, alpha, beta))


FORM = Rotary(frequencies)
rotate = FORM.operation(rotary.rotate, "Turn ``x`` by the blended frequencies: ``R_p x`` (eq. 14-19), in the dtype of ``x``.")
weights, attend = FORM.weights(), FORM.attend()


SCHEME = Scheme(
    name="ntk_by_parts",
    operations=(frequencies, rotate, weights, attend),
    source=Source("Peng et al. 2023, YaRN, section 3.2", "https://arxiv.org/abs/2309.00071", equations="17-19"),
    laws={"frequencies": rotary.SLOWING, "rotate": (*rotary.LAWS, Law.REDUCES_TO_ROPE), **rotary.ATTENTION_LAWS},
    cases=CASES,
    summary="RoPE in which pairs that turn rarely within the original length are slowed, and pairs that turn often are not.",
    meanings={
        **rotary.MEANINGS,
        **rotary.ATTENTION_MEANINGS,
        "factor": "how many times longer the context becomes, a pure number: the slow pairs' frequencies are divided by it",
        "original_length": "the positions that pre-training saw, in tokens",
        "alpha": "the turns within the original length up to which a pair is slowed by the whole factor, a pure number",
        "beta": "the turns within the original length from which a pair keeps its frequency, a pure number",
    },
    conventions={
        "layout=interleaved": "pairs (2j, 2j + 1): the paper's rope",
        "layout=half": "pairs (j, j + head_dim / 2): the authors' LlamaPartNTKScaledRotaryEmbedding, and Llama 3 in transformers",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves: transformers' DeepSeek-V3",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): the paper's rope and nearly all code",
        "direction=negative": "clockwise: nanochat's helper, which transformers keeps in its port",
    },
    notes=(
        (
            "This is the ramp that the YaRN paper prints, linear in a pair's number of turns. Code called YaRN has another, linear in the "
            "pair's index; for a head of 128 that grows 16 times from 4096 positions their frequencies differ by up to 204 % (pair 38)."
        ),
        "Llama 3's context extension is this rule with alpha 1 and beta 4, under other names.",
        "Keys that are cached stay right as long as the factor stays what it was when they were turned.",
    ),
    layer=rotary.layer(rotate, factor=4.0, original_length=64),
)
