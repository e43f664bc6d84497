"""The form of biases taken apart, so that a mistake can replace one piece; and what goes wrong with every bias, said once."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.mutants.building import OPERATIONS, Function, Mistake, altered, convention, forcing, moving
from conformance.mutants.positions import RELATIVE_SLUGS, index, position_mutants
from conformance.mutants.rope_attention import INPUT_MISTAKES, MASK_MISTAKES, TILED_HEADS
from conformance.mutants.rotary import Step, both, exact
from conformance.mutants.rounding import to
from conformance.spec.mutant import Mutant, slug
from refimpl import attention
from refimpl.arrays import Array
from refimpl.forms.bias import Bias, Biased, Weighed
from refimpl.forms.joining import those_of
from refimpl.schemes import SCHEMES, alibi

FLAT = np.zeros(1)


def made_of(operation: str) -> object:
    """Return the form whose slots an operation fills, if it fills any."""
    scheme, name = operation.split(".")
    return next(getattr(each, "form", None) for each in SCHEMES[scheme].operations if each.__name__ == name)


def attending(operation: str) -> Biased | None:
    """Return the form, if it is one of attention with a bias."""
    form = made_of(operation)
    return form if isinstance(form, Biased) else None


def form_of(operation: str) -> Bias | None:
    """Return the form, if it is one of a bias, alone or in attention."""
    form = made_of(operation)
    form = form.bias if isinstance(form, Biased) else form
    return form if isinstance(form, Bias) else None


def added(content: Array, bias: Array, seen: Array) -> Array:
    """Return the softmax of the products and their bias."""
    return attention.softmax(content + bias, seen)


def unchanged(bias: Array, q: Array, k: Array) -> Array:
    """Leave the bias as it is, whatever queries and keys are."""
    del q, k
    return bias


def width(q: Array) -> float:
    """Return the root of a head's width."""
    return math.sqrt(q.shape[-1])


def divisor(q: Array, form: str) -> float:
    """Return what the bias of a form is divided by: 1, but in Falcon's."""
    return width(q) if form == "falcon" else 1.0


@dataclass(frozen=True)
class Pieces:
    """The pieces of a bias. ``steps`` and ``weight`` replace what fills the slots; the others come before and after them.

    ``pair`` changes the positions of query and key together; ``later`` is what later keys get, if not their number. Attention with the
    bias has more: what a query may ``see``, the ``content`` that meets the bias, by what this is ``divided``, how it is ``met``, and how
    both become each key's ``share``. What a form keeps in a half format is ``kept`` before the ``product`` changes.
    """

    form: Bias = alibi.FORM
    names: Sequence[str] = ()
    place: Step = exact
    pair: Callable[[Array, Array], tuple[Array, Array]] = both
    steps: Callable[..., Array] | None = None
    step: Step = exact
    weight: Callable[..., Array] | None = None
    head: Step = exact
    kept: Callable[[Array, str], Array] = alibi.kept
    product: Step = exact
    later: float | None = None
    see: Callable[..., Array] = attention.visible
    content: Callable[[Array, Array], Array] | None = None
    divided: Callable[[Array, str], float] = divisor
    met: Callable[[Array, Array, Array], Array] = unchanged
    share: Callable[[Array, Array, Array], Array] = added
    right: Callable[[Array, Array], Array] = attention.logits

    def bias(self, *arrays: Array, **parameters: Any) -> Array:
        """Return the bias that the pieces make."""
        given = {**dict(zip(self.names, arrays, strict=True)), **parameters, "like": FLAT}
        query, key = given.pop("query_positions")[..., None, :, None], given.pop("key_positions")[..., None, None, :]
        with np.errstate(all="ignore"):
            steps = self.step(self._between(self.steps or self.form.steps, *self.pair(self.place(query), self.place(key)), given))
            value = self.product(self.kept(self._met(steps, given), given.get("form", "")))
        return value if self.later is None else np.where(key > query, self.later, value)

    def _between(self, slot: Callable[..., Array], query: Array, key: Array, given: Mapping[str, Any]) -> Array:
        """Return what a slot makes of positions; rows of a table are made of whole ones."""
        if "table" in given:
            query, key = (np.clip(side, -(2**53), 2**53).astype(np.int64) for side in (query, key))
        return slot(query, key, **those_of(slot, given))

    def _met(self, steps: Array, given: Mapping[str, Any]) -> Array:
        """Return the weight of every head times the steps, or the rows of the table that they are."""
        if isinstance(self.form, Weighed):
            slot = self.weight or self.form.weight
            return self.head(slot(**those_of(slot, given)))[:, None, None] * steps
        return np.moveaxis(self.head(given["table"])[steps[..., 0, :, :]], -1, -3)

    def weights(self, q: Array, k: Array, *given: Array, causal: bool, **parameters: Any) -> Array:
        """Return the attention weights."""
        named = dict(zip(self.names, given, strict=True))
        seen = self.see(named["query_positions"], named["key_positions"], causal=causal)
        bias = self.bias(*given, **parameters) / self.divided(q, parameters.get("form", ""))
        return self.share((self.content or self.right)(q, k), self.met(bias, q, k), seen)

    def attend(self, q: Array, k: Array, v: Array, *given: Array, **parameters: Any) -> Array:
        """Return the averages of the values."""
        return attention.average(self.weights(q, k, *given, **parameters), v)

    def of(self, operation: str) -> Callable[..., Array]:
        """Return the bias of a scheme, or attention with it, made of these pieces."""
        names = tuple(name for name in OPERATIONS[operation].arrays if name not in ("q", "k", "v"))
        whole = attending(operation)
        made = replace(self, form=form_of(operation) or alibi.FORM, names=names, right=whole.content if whole else attention.logits)
        return getattr(made, operation.partition(".")[2])  # type: ignore[no-any-return]  # one of three methods


def away(query: Array, key: Array) -> tuple[Array, Array]:
    """Move every key one further from the query: itself and earlier ones back, later ones on."""
    return query, key + np.where(key > query, 1, -1)


def rounded(dtype: str) -> Callable[[Array, Array], tuple[Array, Array]]:
    """Round the distance between query and key."""
    return lambda query, key: (query, query + to(dtype)(key - query))


def of_key_head(bias: Array, q: Array, k: Array) -> Array:
    """Give all heads that share a key head the bias of the first so many heads."""
    return np.repeat(bias[..., : k.shape[1], :, :], q.shape[1] // k.shape[1], axis=-3)


SCALED = Mistake(
    "scaled-with-the-logits",
    does="divides the bias by sqrt(64) with the logits",
    should="add the bias after the scale",
    fix="scale q k only, then add the bias",
    origin="in the style of fused kernels that scale the bias too, as Falcon does, which was trained so; the width 64 is ours",
)
EVERY: tuple[tuple[Mistake, Callable[[str], Function]], ...] = (
    Mistake(
        "no-bias",
        does="returns no bias at all, as code does whose bias lies in a mask that decoding leaves out",
        should="add the bias at every step",
        fix="build the bias over the keys of the cache, not over the query's length, and add it on every path",
        origin="in the style of paths with a cache that lack it",
    ).made_by(Pieces(product=np.zeros_like).of),
    Mistake(
        "cut-to-integers",
        does="cuts the bias to integers",
        should="keep its fractions",
        fix="don't build the bias in the dtype of the positions",
        origin="in the style of arrays that are filled in the dtype they were made with",
    ).made_by(Pieces(product=np.trunc).of),
    Mistake(
        "later-at-minus-ten-thousand",
        does="gives later keys -10000",
        should="give later keys their own bias, and hide them by a mask",
        fix="keep the mask apart from the bias, or declare masked=True and hide later keys by minus infinity",
        origin="in the style of masks that are added with a large number",
    ).made_by(Pieces(later=-10_000.0).of),
    Mistake(
        "future-clamped",
        does="gives later keys the bias of the token itself",
        should="give later keys their own bias",
        fix="don't clamp the distance; mask instead",
        origin="in the style of biases built for causal masks only",
    ).made_by(Pieces(pair=lambda query, key: (query, np.minimum(query, key))).of),
    Mistake(
        "query-index",
        does="uses the index of the query for its position: every decoding step is step 0",
        should="use the query's true position",
        fix="offset the query by the length of the cache",
        origin="in the style of biases built for whole sequences",
    ).made_by(lambda operation: moving(operation, index, only="query_positions")),
    Mistake(
        "key-index",
        does="uses the index of the key for its position",
        should="use the key's true position",
        fix="take positions from the mask (cumsum), not from the column",
        origin="in the style of left padding that is forgotten",
    ).made_by(lambda operation: moving(operation, index, only="key_positions")),
    Mistake(
        "heads-in-reverse",
        does="gives the heads their numbers in reverse",
        should="give head h its own",
        fix="keep the order of the heads",
        origin="in the style of head orders that change on one device",
    ).made_by(Pieces(product=lambda bias: np.flip(bias, -3)).of),
    Mistake(
        "first-head-for-all",
        does="uses the first head's numbers for all",
        should="give every head its own",
        fix="index by head, not by the index on the device",
        origin="in the style of heads that are counted on one device",
    ).made_by(Pieces(product=lambda bias: np.broadcast_to(bias[..., :1, :, :], bias.shape)).of),
)
#: A bias alone has no width.
ALONE = ((SCALED, Pieces(product=lambda bias: bias / 8.0)),)
MET = (
    (
        replace(
            SCALED,
            does="divides the bias by sqrt(head_dim) with the logits",
            origin="in the style of fused kernels that scale the bias too, as Falcon does, which was trained so",
        ),
        Pieces(content=attention.logits, divided=lambda q, _: width(q)),
    ),
    Mistake(
        "multiplied-by-the-scale",
        does="multiplies the bias by sqrt(head_dim)",
        should="add the bias after the scale",
        fix="don't multiply the bias by sqrt(head_dim) for a kernel that doesn't divide it",
        origin="in the style of biases that are made for kernels that scale them",
    ).made_by(Pieces(met=lambda bias, q, _: bias * width(q))),
    Mistake(
        "added-to-the-weights",
        does="adds the bias to the weights, after the softmax",
        should="add the bias to the logits, before the softmax",
        fix="add the bias first",
        origin="in the style of masks that come after the softmax",
    ).made_by(Pieces(share=lambda content, bias, seen: added(content, 0.0 * bias, seen) + np.where(seen, bias, 0.0))),
    Mistake(
        "bias-of-the-key-head",
        does="reads the bias by the index of the key head, so that heads that share one get the same",
        should="give every head its own",
        fix="index by the query's head",
        origin="in the style of kernels for grouped heads that index by the key's head",
    ).made_by(Pieces(met=of_key_head)),
    *((mistake, Pieces(see=see)) for mistake, see in MASK_MISTAKES),
)
UNSCALED = Mistake(
    "scaled",
    does="divides q k by sqrt(head_dim)",
    should="add the bias to the products as they are",
    fix="ask the kernel for a scale of 1",
    origin="in the style of kernels whose scale is 1 / sqrt(head_dim) unless another is asked for",
).made_by(Pieces(content=attention.logits))
OF_WEIGHTS: tuple[tuple[Mistake, Callable[[str], Function]], ...] = (
    Mistake(
        "sign-flipped",
        does="rewards far keys",
        should="penalise them: subtract",
        fix="negate the bias",
        origin="in the style of signs lost where a distance becomes a bias",
    ).made_by(Pieces(product=np.negative).of),
    Mistake(
        "distance-from-one",
        does="counts a token as one away from itself",
        should="give a token distance 0 from itself",
        fix="don't add 1 to the distance",
        origin="in the style of off-by-one boundaries",
    ).made_by(Pieces(pair=away).of),
    Mistake(
        "distance-normalised",
        does="divides the distance by the number of keys",
        should="use the distance in tokens",
        fix="don't normalise",
        origin="in the style of FIRE (functional interpolation), which does",
    ).made_by(Pieces(pair=lambda query, key: (query / key.shape[-1], key / key.shape[-1])).of),
    Mistake(
        "distance-ends-at-127",
        does="lets the distance end at 127",
        should="use every distance",
        fix="don't clip the distance",
        origin="in the style of T5's largest distance",
    ).made_by(Pieces(pair=lambda query, key: (query, query + np.clip(key - query, -127, 127))).of),
)
OF_TABLES: tuple[tuple[Mistake, Callable[[str], Function]], ...] = (
    Mistake(
        "sign-flipped",
        does="takes query minus key for key minus query, or the other way round",
        should="take the difference that is asked for",
        fix="swap the two positions",
        origin="in the style of relative positions of the wrong sign",
    ).made_by(Pieces(pair=lambda query, key: (key, query)).of),
    Mistake(
        "from-one",
        does="counts offsets from one: a token reads its neighbour's row",
        should="give a token the row of offset 0",
        fix="don't add 1",
        origin="in the style of off-by-one boundaries",
    ).made_by(Pieces(pair=lambda query, key: (query, key + 1)).of),
    Mistake(
        "absolute",
        does="reads the row of the distance for both directions",
        should="tell earlier from later keys",
        fix="keep the sign of the offset",
        origin="in the style of formulas copied without a term",
    ).made_by(Pieces(pair=lambda query, key: (query, query + np.abs(key - query))).of),
)


def half(dtype: str, part: str, pieces: Pieces) -> tuple[Mistake, Callable[[str], Function]]:
    """Return the mistake of a part in a half format."""
    mistake = Mistake(
        f"{dtype}-{part}",
        does=f"rounds {part if part != 'product' else 'the bias'} to {dtype}",
        should="compute the bias in float32 and cast last",
        fix="subtract integer positions, and compute in float32",
        kind="precision",
        origin="in the style of biases that are computed in the dtype of the scores",
    )
    return mistake, pieces.of


def halves(*, weighed: bool) -> Iterator[tuple[Mistake, Callable[[str], Function]]]:
    """Return positions and products in half formats; and distances, of which tables tell near ones only."""
    for dtype in ("bfloat16", "float16"):
        yield half(dtype, "positions", Pieces(place=to(dtype)))
        yield half(dtype, "product", Pieces(product=to(dtype)))
        if weighed:
            yield half(dtype, "distances", Pieces(pair=rounded(dtype)))


def ignored(operation: str, threads: Mapping[str, tuple[str, ...]]) -> Iterator[Mutant]:
    """Return every value of a choice that is computed whatever is asked for, and every number that stays at its default."""
    contract = OPERATIONS[operation]
    sizes = {axis for axes in contract.arrays.values() for axis in axes.split()}
    for name, parameter in contract.parameters.items():
        yield from (convention(operation, name, value, threads.get(f"{name}={value}", ())) for value in parameter.choices)
        if not (parameter.required or parameter.choices or parameter.kind is bool or name in sizes):
            mistake = Mistake(
                f"{name.replace('_', '-')}-ignored",
                does=f"uses a {name} of {parameter.default} whatever is asked for",
                should=f"use {name}",
                fix=f"pass {name} through",
                origin="in the style of parameters that stay at their defaults",
            )
            yield mistake.at(operation, forcing(operation, {name: parameter.default}))


def inherited(operation: str) -> Iterator[Mutant]:
    """Return what goes wrong with a bias, whatever fills its slots."""
    weighed = isinstance(form_of(operation), Weighed)
    yield from ignored(operation, {})
    for mistake, made in (*EVERY, *(OF_WEIGHTS if weighed else OF_TABLES), *halves(weighed=weighed)):
        yield mistake.at(operation, made(operation))
    whole = attending(operation)
    for mistake, pieces in ALONE if whole is None else MET:
        yield mistake.at(operation, pieces.of(operation))
    yield from () if whole is None else of_content(operation, scales=whole.content is attention.logits)
    yield from position_mutants(operation, RELATIVE_SLUGS)


def of_content(operation: str, *, scales: bool) -> Iterator[Mutant]:
    """Return what goes wrong with the products that meet a bias, in attention that ``scales`` them or doesn't."""
    for mistake, change in INPUT_MISTAKES if scales else (TILED_HEADS,):
        yield mistake.at(operation, altered(operation, arrays=change))
    for mistake, pieces in () if scales else (UNSCALED,):
        yield mistake.at(operation, pieces.of(operation))


def met(operation: str, threads: Mapping[str, tuple[str, ...]]) -> Iterator[Mutant]:
    """Return those of them that others met in this very scheme, with their threads."""
    for mutant in inherited(operation):
        if cited := threads.get(slug(mutant.name)):
            yield replace(mutant, threads=cited, origin="")
