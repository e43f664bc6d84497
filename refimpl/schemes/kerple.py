"""KERPLE: subtract from every attention logit a learned function of the distance that keeps growing, ever more slowly or as a power."""

from typing import Annotated, Literal

from refimpl.arrays import Array, array_namespace, exact_float64, row
from refimpl.attention import Layer
from refimpl.cases.kerple import CASES
from refimpl.forms.bias import APART_LAWS, ATTENTION_MEANINGS, MEANINGS, Weighed, attending
from refimpl.forms.bias import layer as biased
from refimpl.spec import Law, Number, Scheme, Source

Form = Literal["log", "power"]
PerHead = Annotated[Array, "head"]

#: What may be learned: beyond exponent 2 the power is no longer conditionally positive definite, and no kernel of the paper.
RATE, EXPONENT = Number(above=0.0), Number(above=0.0, maximum=2.0)


def check(name: str, learned: Array, rule: Number) -> None:
    """Raise unless every number obeys, the least and the greatest among them."""
    xp = array_namespace(learned)
    for extreme in (xp.min(learned), xp.max(learned)):
        rule.check(name, float(extreme))


def weight(first: PerHead) -> Array:
    """Return ``-r1``."""
    check("first", first, RATE)
    return -first


def grown(distance: Array, rate: Array, form: str) -> Array:
    """Return what ``-r1`` multiplies: ``ln(1 + r2 |m - n|)``, or ``|m - n|^r2``."""
    return array_namespace(distance, rate).log1p(rate * distance) if form == "log" else distance**rate


def steps(query: Array, key: Array, second: PerHead, *, form: Form = "log") -> Array:
    """Return what grows with the distance, in float64."""
    check("second", second, RATE if form == "log" else EXPONENT)
    distance = array_namespace(query, key).abs(key - query)
    return grown(exact_float64(distance), exact_float64(second)[:, None, None], form)


FORM = Weighed(steps, weight)
bias = FORM.operation(
    """Return ``-r1 ln(1 + r2 |m - n|)``, or ``-r1 |m - n|^r2``, ``r1`` and ``r2`` learned per head, in their dtype (section 4).

    Raises where one of them isn't above 0 or is infinite, or an exponent is above 2.
    """
)

ATTENTION = attending(bias)
weights = ATTENTION.weights("Return the attention weights ``softmax(q k^T / sqrt(head_dim) + bias)``, in the dtype of ``q`` (section 4).")
attend = ATTENTION.attend("Return ``softmax(q k^T / sqrt(head_dim) + bias) v``, in the dtype of ``v`` (section 4).")


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return attention whose scaled logits get the logarithmic bias, steeper with every head."""
    del head_dim
    first = row([0.5 + head / 4 for head in range(num_heads)], like=like)
    second = row([0.25 * (1 + head) for head in range(num_heads)], like=like)
    return biased(lambda m, n: bias(m, n, first, second), learned=2 * num_heads)


SCHEME = Scheme(
    name="kerple",
    operations=(bias, weights, attend),
    source=Source(
        "Chi, Fan, Ramadge, Rudnicky 2022, KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation",
        "https://arxiv.org/abs/2205.09921",
        equations="section 4",
    ),
    laws={
        "bias": (Law.TRANSLATION, Law.SYMMETRIC, Law.ZERO_AT_ORIGIN, Law.MONOTONE, Law.STEPWISE, Law.HEADS),
        **APART_LAWS,
    },
    cases=CASES,
    summary="Subtract from every attention logit a learned logarithm, or a learned power, of the distance.",
    meanings={
        **MEANINGS,
        **ATTENTION_MEANINGS,
        "first": "r1, learned, one per head, above 0: what multiplies the logarithm or the power, in logits",
        "second": "r2, learned, one per head, above 0: what multiplies the distance in the logarithm, or its exponent, at most 2",
        "form": "how the bias falls with the distance",
    },
    conventions={
        "form=log": "-r1 ln(1 + r2 |m - n|): ParallelKerpleLog of the authors, which extrapolates best in the paper",
        "form=power": "-r1 |m - n|^r2: ParallelKerplePower of the authors; with exponent 1 it is ALiBi with learned slopes",
    },
    notes=(
        (
            "The authors' code names the numbers otherwise in each form: in ParallelKerpleLog `bias_p` is r1 and `bias_a` is r2, in "
            "ParallelKerplePower `bias_a` is r1 and `bias_p` is r2. Code that takes one pair of names for both forms exchanges them."
        ),
        (
            "The authors' modules raise learned numbers below 0.01 to 0.01, and exponents above 2 to 2, whenever they are called. That "
            "keeps training inside of the domain and is no part of the bias: here the numbers that are given count, and numbers outside "
            "are refused. A checkpoint of another training may hold negative ones (the authors' issue 3)."
        ),
        (
            "The authors' code gives keys after the query distance 0, by torch.tril: they are hidden there. The bias is even in the "
            "distance, and here it is given for both sides."
        ),
        (
            "The paper has a logarithm with three numbers too, -b ln(1 + a |m - n|^p) (figure 1), as has NVIDIA NeMo. With p = 1 it is "
            "the form `log`, b = r1 and a = r2."
        ),
        (
            "The logarithm is the natural one. Where r2 |m - n| is small, 1 + r2 |m - n| loses most of its digits in single precision, "
            "and the bias with them: log1p keeps them. Either is allowed here."
        ),
    ),
    layer=layer,
)
