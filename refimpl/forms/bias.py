"""The form of biases: every head adds a number to the logit of a query and a key, by where they stand.

A scheme brings what lies between the two, and either a weight per head that multiplies it, or a table of which it is the row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from refimpl import attention
from refimpl.arrays import Array, array_namespace, cast_like, exact_float64, is_whole, row
from refimpl.attention import Layer
from refimpl.forms.attention import Attention
from refimpl.forms.joining import joined, those_of
from refimpl.spec import BatchedKeyPositions, BatchedQueryPositions, Law

Added = Annotated[Array, "[batch] head query key"]
Queries = Annotated[Array, "batch head query head_dim"]
Keys = Annotated[Array, "batch key_head key head_dim"]
Logits = Annotated[Array, "batch head query key"]


def whole(x: Array) -> Array:
    """Return integers as int64, where neither sign nor magnitude can overflow."""
    xp = array_namespace(x)
    return xp.astype(x, xp.int64)


@dataclass(frozen=True)
class Bias:
    """The slot that every bias has: ``steps(query, key, ...)``, what lies between positions, which broadcast over batch and heads."""

    steps: Callable[..., Array]

    def between(self, query_positions: Array, key_positions: Array, **rule: Any) -> Array:
        """Return the steps of every query and key."""
        query, key = whole(query_positions)[..., None, :, None], whole(key_positions)[..., None, None, :]
        return self.steps(query, key, **those_of(self.steps, rule))


@dataclass(frozen=True)
class Weighed(Bias):
    """Steps that are multiplied by ``weight(...)``, a number per head."""

    weight: Callable[..., Array]

    def operation(self, says: str, *, whole: Callable[..., Array] | None = None) -> Callable[..., Any]:
        """Return the bias as an operation; ``says`` is its summary, and ``whole`` the function if it isn't ``weighed``."""
        return joined(whole or weighed, self, [self.weight, self.steps], says, name="bias")


@dataclass(frozen=True)
class LookedUp(Bias):
    """Steps that are rows of a table, which has a column per head."""

    def operation(self, says: str) -> Callable[..., Any]:
        """Return the bias as an operation; ``says`` is its summary."""
        return joined(looked_up, self, [self.steps], says, name="bias")


def weighed(form: Weighed, /, query_positions: BatchedQueryPositions, key_positions: BatchedKeyPositions, **rule: Any) -> Added:
    """Return the weight of every head times the steps, in the dtype of the weight."""
    weight = form.weight(**those_of(form.weight, {**rule, "like": query_positions}))
    steps = form.between(query_positions, key_positions, **rule)
    return cast_like(exact_float64(weight)[:, None, None] * exact_float64(steps), weight)


def looked_up(
    form: LookedUp,
    /,
    table: Annotated[Array, "row head"],
    query_positions: BatchedQueryPositions,
    key_positions: BatchedKeyPositions,
    **rule: Any,
) -> Added:
    """Return the table's number for every head, query and key, in the dtype of the table."""
    xp = array_namespace(table, query_positions, key_positions)
    rows = form.between(query_positions, key_positions, table=table, **rule)[..., 0, :, :]
    chosen = xp.reshape(xp.take(table, xp.reshape(rows, (-1,)), axis=0), (*rows.shape, table.shape[1]))
    return xp.moveaxis(chosen, -1, -3)


#: From queries and keys to what a bias is added to: scaled products, or the products themselves.
Content = Callable[..., Array]


@dataclass(frozen=True, kw_only=True)
class Biased(Attention):
    """Attention with a bias; ``content(q, k, axis=...)`` is what the bias is added to, and ``axis`` what the heads are called."""

    bias: Bias
    content: Content


def met(content: Content, bias: Callable[..., Array], /, q: Queries, k: Keys, *given: Array, **rule: Any) -> Logits:
    """Return what the bias is added to plus the bias, in the dtype of ``q``."""
    return cast_like(content(q, k, axis="head") + bias(*map(exact, given), **rule), q)


def attending(bias: Callable[..., Array], content: Content = attention.logits, *, logits: Callable[..., Array] = met) -> Biased:
    """Return attention with a bias, which is an operation; ``logits`` says how it meets the content."""
    logits = joined(partial(logits, content), bias, [bias], name="logits")
    return Biased(logits=logits, bias=bias.form, content=content)  # type: ignore[attr-defined]  # made of a form


def exact(x: Array) -> Array:
    """Return what is learned in float64, so that no bias is rounded, and positions as they are."""
    return x if is_whole(x) else exact_float64(x)


def numbers(rows: int, columns: int, *, like: Array) -> Array:
    """Return a table of dyadic numbers between -1 and 1 in place of trained ones; up to 61 rows differ from one another."""
    xp = array_namespace(like)
    values = [(7 * r + 3 * h + 5 * r * h) % 61 / 32 - 1 for r in range(rows) for h in range(columns)]
    return xp.reshape(row(values, like=like), (rows, columns))


def layer(added: Callable[[Array, Array], Array], *, learned: int = 0, content: Content = attention.logits) -> Layer:
    """Return attention whose scaled logits, or products, get the bias of their positions."""

    def logits(q: Array, k: Array, query_positions: Array, key_positions: Array) -> Array:
        return content(q, k) + cast_like(added(query_positions, key_positions), q)

    return Layer(logits=logits, learned=learned)


#: What the positions of every bias mean.
MEANINGS = {"query_positions": "where each query stands, in tokens", "key_positions": "where each key stands, in tokens"}
#: What the arguments of attention mean that a bias has not.
ATTENTION_MEANINGS = {
    "q": "queries, as projected and not yet scaled",
    "k": "keys, as projected; consecutive query heads share a key head",
    "v": "values, as projected; grouped like the keys",
    "causal": "whether keys whose position exceeds the query's are hidden",
}
#: What holds for attention with every bias.
ATTENTION_LAWS = {
    "weights": (Law.WEIGHTS_SUM_TO_ONE, Law.TRANSLATION, Law.CAUSAL, Law.STEPWISE),
    "attend": (Law.CONSTANT_VALUES, Law.TRANSLATION, Law.CAUSAL, Law.STEPWISE),
}
#: What holds where no parameter counts the heads: they act apart.
APART_LAWS = {name: (*laws, Law.HEADS) for name, laws in ATTENTION_LAWS.items()}
