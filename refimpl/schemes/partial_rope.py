"""Partial rotary embedding: rope on some channels of every head, and no position in the others."""

from typing import Literal

from refimpl.arrays import Array
from refimpl.attention import Layer
from refimpl.cases.partial_rope import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import rotary
from refimpl.forms.parted import Part, Parted
from refimpl.schemes import rope
from refimpl.spec import EvenCount, Law, Positions, Scheme, Source


def parts(
    positions: Positions, *, head_dim: EvenCount, rotary_dim: EvenCount, placement: Literal["first", "last"] = "first"
) -> tuple[Part, ...]:
    """Return the channels that turn: ``theta_j = base^(-2 j / rotary_dim)`` is rope's of a head that is as wide."""
    if rotary_dim > head_dim:
        message = f"rotary_dim must be at most head_dim ({head_dim}), got {rotary_dim}"
        raise SpecificationError(message)
    first = 0 if placement == "first" else head_dim - rotary_dim
    return (Part(range(first, first + rotary_dim), positions),)


FORM = Parted(rope.frequencies, parts=parts, width="rotary_dim")
rotate = FORM.operation(rotary.rotate, "Turn the first or last ``rotary_dim`` channels of ``x`` by rope (eq. 14-16); the others pass.")
weights, attend = FORM.weights(), FORM.attend()
attend_turned = FORM.operation(
    rotary.attend_turned,
    "Return ``R_(-m) sum_n w_mn R_n v_n``: attention in which the same channels of values turn, and those of outputs turn back or don't.",
)
index_scores = FORM.operation(
    rotary.index_scores,
    "Return ``sum_h w_hm max(0, <R_m q_h, R_n k>)``, by which a sparse attention selects keys: the same channels of ``q`` and ``k`` turn.",
)


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return how it acts in attention, with the first half of every head turned."""
    return rotary.layer(rotate, rotary_dim=head_dim // 2)(num_heads=num_heads, head_dim=head_dim, like=like)


SCHEME = Scheme(
    name="partial_rope",
    operations=(rotate, weights, attend, attend_turned, index_scores),
    source=Source("Black et al. 2022, GPT-NeoX-20B", "https://arxiv.org/abs/2204.06745", equations="section 2.1.1"),
    laws={"rotate": (*rotary.LAWS, Law.PASSES, Law.REDUCES_TO_ROPE), **rotary.ATTENTION_LAWS, **rotary.TURNED_LAWS, **rotary.INDEX_LAWS},
    cases=CASES,
    summary="RoPE on the first (or last) channels of every head; the other channels carry no position.",
    meanings={
        **rotary.MEANINGS,
        **rotary.ATTENTION_MEANINGS,
        "v": "values; `attend_turned` turns them, `attend` doesn't",
        "head_dim": "all channels of one head",
        "rotary_dim": "the channels of one head that turn: head_dim times the partial_rotary_factor of a configuration, cut to an integer",
        "base": "the ratio by which frequencies fall over the channels that turn (rope_theta), a pure number",
        "placement": "which end of a head turns",
        "head_weights": "how much the heads of a query count, which its token decides",
        "divisor": "what scores are divided by: the roots of head_dim and of the number of heads, or one",
        "outputs": "whether outputs turn back by the positions of their queries, where values turned by those of their keys",
    },
    conventions={
        "placement=first": "the first channels of a head turn: GPT-NeoX, GPT-J, Phi, StableLM, Persimmon, Nemotron, GLM, Qwen3-Next, "
        "MiniMax; ggml's `n_dims`, ONNX's `rotary_embedding_dim`",
        "placement=last": "the last channels turn, in heads put together as `[nope, rope]`: DeepSeek V2 to V4, Kimi K2 and others with "
        "latent attention",
        "outputs=turned_back": "a sum of `R_(n - m) v_n`, in which only distances count: DeepSeek-V4",
        "divisor=roots": "scores are divided by the roots of head_dim and of the number of heads: code of DeepSeek-V3.2, GLM-5 and "
        "DeepSeek-V4; the order of the scores is the same either way",
        "divisor=one": "scores aren't divided: DeepSeek-V3.2's paper (eq. 1), and kernels whose head weights contain the roots already",
        "outputs=kept": "a sum of `R_n v_n`, which turns along with all positions: RoFormer with `rotary_value=True` (the whole head) and "
        "CLVP in transformers",
        "layout=interleaved": "pairs (2j, 2j + 1) of the part: GPT-J, GLM, DeepSeek V2 and V4",
        "layout=half": "pairs (j, j + rotary_dim / 2) of the part: GPT-NeoX, Phi, StableLM, Qwen3-Next",
        "layout=interleaved_to_half": "reads neighbouring channels, writes halves of the part: DeepSeek-V3 in transformers",
        "direction=positive": "counter-clockwise, (a cos - b sin, a sin + b cos): nearly all code",
        "direction=negative": "clockwise: no released model with a part is known",
    },
    notes=(
        (
            "The exponent has the width of the part that turns: a head of 16 channels, of which a quarter turns, has the frequencies 1 "
            "and 0.01. The same key `partial_rotary_factor` means another rule with rope_type `proportional` (Gemma 4's full layers): "
            "there the exponent has the width of the whole head, pairs lie half a head apart, and the slow pairs don't turn."
        ),
        (
            "Fractions are cut: MiMo-V2-Flash turns int(192 * 0.334) = 64 channels. Configurations also give the width itself "
            "(`rotary_dim`, `qk_rope_head_dim`); whoever reads both must not multiply twice."
        ),
        (
            "DeepSeek-V4 has one vector for key and value, of which the last 64 of 512 channels turn, so that values turn as keys do, and "
            "turns outputs back by the query's position: `attend_turned`. An output is then a sum of `R_(n - m) v_n`, which a common shift "
            "of all positions leaves as it is. RoFormer with `rotary_value=True` and CLVP turn nothing back: weights that were trained so "
            "need `outputs=kept`, and their outputs depend on where a sequence begins."
        ),
        (
            "The indexer of DeepSeek-V3.2 (DeepSeek-AI 2025, eq. 1, https://arxiv.org/abs/2512.02556) scores every key for every query, "
            "and attention then sees the index_topk keys that score highest: `index_scores`. It has heads, a layout and a part that turns "
            "of its own: DeepSeek-V3.2 turns the first 64 of 128 channels in halves, beside an attention that turns neighbours; GLM-5 the "
            "first ones as neighbours; DeepSeek-V4 the last ones as neighbours. DeepSeek's first code of V3.2 had the layout wrong. No "
            "sequence of up to index_topk tokens shows such a mistake, since attention sees all of its keys: judge the scores, or ask for "
            "few keys."
        ),
        (
            "Where scores are computed in 8 bits, queries and keys of an indexer are multiplied by one Hadamard matrix first. It is "
            "orthogonal, so scores stay as they are. A divisor of all scores changes no choice of keys either, but kernels hand the "
            "scores to one another, so it is a convention."
        ),
        "Channels that don't turn keep every bit: a cast to a narrower dtype and back shows there first.",
    ),
    layer=layer,
)
