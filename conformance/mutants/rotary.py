"""The form of rotary schemes taken apart, so that a mistake can replace one piece and leave the others right."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.mutants.building import OPERATIONS
from refimpl import attention
from refimpl.arrays import Array
from refimpl.forms import rotary
from refimpl.forms.attention import Attention
from refimpl.forms.joining import those_of
from refimpl.forms.mixed import Mixed
from refimpl.forms.parted import Part, Parted, ladder_of
from refimpl.forms.sectioned import Sectioned
from refimpl.forms.windowed import Windowed
from refimpl.schemes import SCHEMES, rope

Step = Callable[[Array], Array]


def exact(values: Array) -> Array:
    """Keep the numbers as they are."""
    return values


def spectrum(head_dim: int, base: float) -> Array:
    """Return the right frequencies."""
    return rope.frequencies(head_dim=head_dim, base=base, like=np.zeros(1))


def cut(head_dim: int, base: float, whole: int) -> Array:
    """Return the frequencies of a whole head, as many as the part needs."""
    return spectrum(whole, base)[: head_dim // 2]


def ladder_of_width(slot: Callable[..., Array], width: int, given: Sequence[Array], rule: Mapping[str, Any]) -> np.ndarray:
    """Return the frequencies of heads that wide, whose further pairs have the last of the numbers that are given for each pair."""
    longer = [np.pad(each, (0, max(0, width // 2 - each.size)), mode="edge") for each in given]
    return np.asarray(slot(*longer, **those_of(slot, {**rule, "head_dim": width, "like": np.zeros(1)})))


def both(query_positions: Array, key_positions: Array) -> tuple[Array, Array]:
    """Leave queries and keys at their own positions."""
    return query_positions, key_positions


def form_of(operation: str) -> rotary.Rotary | None:
    """Return the form whose slots the scheme of an operation fills, if it is a rotary one and the operation doesn't count."""
    if OPERATIONS[operation].integers >= set(OPERATIONS[operation].results):
        return None
    forms = [getattr(function, "form", None) for function in SCHEMES[operation.partition(".")[0]].operations]
    forms += [getattr(form.logits, "form", None) for form in forms if isinstance(form, Attention)]
    return next((form for form in forms if isinstance(form, rotary.Rotary)), None)


def unmoved(positions: Array, _: Mapping[str, Any]) -> Array:
    """Leave positions where they are."""
    return positions


def unturned(_: "Rotary", values: Array, *__: Array, **___: Any) -> Array:
    """Leave values as they are."""
    return values


def weighed(products: Array, head_weights: Array) -> Array:
    """Return the sum of what isn't negative over the heads, each times its weight."""
    return np.sum(head_weights[..., None] * np.maximum(products, 0.0), axis=1)


def members(one: Array, other: Array, layout: str) -> Array:
    """Return the first members of the pairs of one result, and the second ones of the other."""
    written = "interleaved" if layout == "interleaved" else "half"
    return rotary.join_pairs(rotary.split_pairs(one, written)[0], rotary.split_pairs(other, written)[1], written)


@dataclass(frozen=True)
class Rotary:
    """The pieces of a rotary scheme; every method is the operation of that name, made of them.

    ``theta``, ``size``, ``key_size``, ``parts`` and ``places`` replace what fills the slots of the form, ``spectrum`` the frequencies of
    rope where they do; ``near`` and ``far`` those of a window. To a part of a head ``head_dim`` is the part's width, ``whole`` the
    head's, and ``slot`` what computes its frequencies, if not what fills the form's.
    """

    form: rotary.Rotary = rope.FORM
    theta: Callable[..., Array] | None = None
    size: Callable[..., float | Array] | None = None
    key_size: Callable[..., float | Array] | None = None
    parts: Callable[..., Sequence[Part]] | None = None
    places: Callable[..., Array] | None = None
    spectrum: Callable[[int, float], Array] = spectrum
    move: Callable[[Array, Mapping[str, Any]], Array] = unmoved
    frequency: Step = exact
    position: Step = exact
    angle: Step = exact
    table: Step = exact
    cosine: Step = np.cos
    sine: Step = np.sin
    turn: Callable[..., Array] = rope.apply
    place: Callable[[Array, Array], tuple[Array, Array]] = both
    see: Callable[..., Array] = attention.visible
    soften: Callable[[Array, Array], Array] = attention.softmax
    near: Callable[..., Array] | None = None
    far: Callable[..., tuple[Array, Array]] | None = None
    carry: Callable[..., Array] = unturned
    values: Callable[[Array, Array], tuple[Array, Array]] = both
    score: Callable[[Array, Array], Array] = weighed

    def circle(self, positions: Array, theta: Array) -> rope.Tables:
        """Return cosine and sine of the position of every pair, or of all pairs, times its frequency, or of what mixes these."""
        times = self.form.mixed if isinstance(self.form, Mixed) else np.multiply
        with np.errstate(invalid="ignore", over="ignore"):
            angles = self.angle(times(self.position(positions.astype(np.float64)), self.frequency(theta)))
            return rope.Tables(self.table(self.cosine(angles)), self.table(self.sine(angles)))

    def standing(self, positions: Array, rule: Mapping[str, Any]) -> Array:
        """Return the position of every pair of a token, or one for all its pairs."""
        if not isinstance(self.form, Sectioned):
            return positions if isinstance(self.form, Mixed) else positions[..., None]
        slot = self.places or self.form.places
        return slot(positions, **those_of(self.form.places, rule))

    def frequencies(self, *given: Array, **rule: Any) -> Array:
        """Return the frequencies."""
        return self.frequency(self.ladder(*given, **rule))

    def ladder(self, *given: Array, **rule: Any) -> Array:
        """Return the frequencies as they fill the slot."""
        slot = rule.get("slot") or self.form.frequencies
        if self.theta is not None:
            return self.theta(*given, **those_of(slot, rule), **{name: rule[name] for name in ("whole",) if name in rule})
        if slot is rope.frequencies:
            return self.spectrum(rule["head_dim"], rule["base"])
        return slot(*given, **those_of(slot, {**rule, "like": np.zeros(1)}))

    def tables(self, positions: Array, *given: Array, **rule: Any) -> rope.Tables:
        """Return cosine and sine, times the factor."""
        theta, own = self.ladder(*given, **rule), rule.get("ladder")
        standing = self.standing(self.move(positions, rule), rule)
        theta = theta if own is None else theta[list(own)]
        circle = self.circle(standing, np.tile(theta, standing.shape[-1] // len(theta)) if isinstance(self.form, Sectioned) else theta)
        if self.form.factor is None:
            return circle
        size = (self.size or self.form.factor)(**those_of(self.form.factor, {**rule, "positions": positions}))
        return rope.Tables(*rotary.grown(*circle, size))

    def apply(self, x: Array, cos: Array, sin: Array, *, layout: str, direction: str) -> Array:
        """Turn by tables that are given."""
        return self.turn(x, self.table(cos), self.table(sin), layout=layout, direction=direction)

    def rotate(self, x: Array, positions: Array, *given: Array, layout: str, direction: str, **rule: Any) -> Array:
        """Turn to positions, every part of a head as a head of its own."""
        if isinstance(self.form, Mixed):
            tables = [self.tables(positions, *(each[:, head] for each in given), **rule) for head in range(x.shape[1])]
            heads = [self.turn(x[:, i : i + 1], *own, layout=layout, direction=direction) for i, own in enumerate(tables)]
            return np.concatenate(heads, axis=1)
        if not isinstance(self.form, Parted):
            return self.by_members(x, *self.tables(positions, *given, **rule), layout=layout, direction=direction)
        slot, result, asked = self.parts or self.form.parts, x.copy(), {**rule, "layout": layout}
        for part in slot(positions, **{**those_of(self.form.parts, asked), **those_of(slot, asked)}):
            channels, own = list(part.channels), {"whole": rule["head_dim"], "slot": part.frequencies, **ladder_of(part)}
            cos, sin = self.tables(part.positions, *given, **{**rule, **own})
            result[..., channels] = self.by_members(x[..., channels], cos, sin, layout=layout, direction=direction)
        return result

    def by_members(self, x: Array, cos: Array, sin: Array, *, layout: str, direction: str) -> Array:
        """Turn by the angles of pairs, or, where parts or sections have as many as channels, each member by its own."""
        apart = isinstance(self.form, Sectioned | Parted) and cos.shape[-1] == x.shape[-1]
        sides = np.split(cos, 2 if apart else 1, axis=-1), np.split(sin, 2 if apart else 1, axis=-1)
        turned = [self.turn(x, *tables, layout=layout, direction=direction) for tables in zip(*sides, strict=True)]
        return members(turned[0], turned[1], layout) if apart else turned[0]

    @property
    def of_keys(self) -> "Rotary":
        """The pieces of keys, where something else multiplies these."""
        return self if self.form.key_factor is None else replace(self, form=self.form.of_keys, size=self.key_size)

    def rotate_query(self, *arrays: Array, **parameters: Any) -> Array:
        """Turn queries."""
        return self.rotate(*arrays, **parameters)

    def rotate_key(self, *arrays: Array, **parameters: Any) -> Array:
        """Turn keys."""
        return self.of_keys.rotate(*arrays, **parameters)

    def gradient(self, x: Array, positions: Array, cotangent: Array, *given: Array, layout: str, direction: str, **rule: Any) -> Array:
        """Turn the cotangent back."""
        cos, sin = self.tables(positions, *given, **rule)
        written, read = ("half", "interleaved") if layout == "interleaved_to_half" else (layout, layout)
        turned = rotary.turn(*rotary.split_pairs(cotangent, written), cos, sin if direction == "negative" else -sin)
        return rotary.join_pairs(*turned, read).reshape(x.shape)

    def rotate_query_key(
        self, q: Array, k: Array, query_positions: Array, key_positions: Array, *given: Array, **parameters: Any
    ) -> rotary.QueryKey:
        """Turn queries and keys."""
        m, n = self.place(query_positions, key_positions)
        return rotary.QueryKey(self.rotate(q, m, *given, **parameters), self.of_keys.rotate(k, n, *given, **parameters))

    def weights(
        self, q: Array, k: Array, query_positions: Array, key_positions: Array, *given: Array, causal: bool, **parameters: Any
    ) -> Array:
        """Return attention weights."""
        seen = self.see(query_positions, key_positions, causal=causal)
        return self.soften(self.logits(q, k, query_positions, key_positions, *given, **parameters), seen)

    def logits(self, q: Array, k: Array, query_positions: Array, key_positions: Array, *given: Array, **parameters: Any) -> Array:
        """Return the scaled products, of other turned queries and keys beyond a window where there is one."""
        inside = attention.logits(*self.rotate_query_key(q, k, query_positions, key_positions, *given, **parameters))
        if not isinstance(self.form, Windowed):
            return inside
        near = (self.near or self.form.near)(query_positions, key_positions, **those_of(self.form.near, parameters))
        places = (self.far or self.form.far)(query_positions, key_positions, **those_of(self.form.far, parameters))
        outside = attention.logits(*self.rotate_query_key(q, k, *places, *given, **parameters))
        return np.where(near, inside, outside)

    def attend(
        self, q: Array, k: Array, v: Array, query_positions: Array, key_positions: Array, *given: Array, causal: bool, **parameters: Any
    ) -> Array:
        """Return the output of attention."""
        weights = self.weights(q, k, query_positions, key_positions, *given, causal=causal, **parameters)
        return attention.average(weights, self.carry(self, v, key_positions, *given, **parameters))

    def attend_turned(
        self, q: Array, k: Array, v: Array, query_positions: Array, key_positions: Array, *given: Array,
        causal: bool, layout: str, direction: str, outputs: str, **rule: Any,
    ) -> Array:  # fmt: skip
        """Return attention whose values turn and whose outputs may turn back, by positions that ``values`` makes of theirs."""
        weights = self.weights(q, k, query_positions, key_positions, *given, causal=causal, layout=layout, direction=direction, **rule)
        m, n = self.values(*self.place(query_positions, key_positions))
        if outputs == "kept":
            return attention.average(weights, self.of_keys.rotate(v, n, *given, layout=layout, direction=direction, **rule))
        rule["layout"] = "interleaved" if layout == "interleaved_to_half" else layout
        means = attention.average(weights, self.of_keys.rotate(v, n, *given, direction=direction, **rule))
        return self.rotate(means, m, *given, direction="positive" if direction == "negative" else "negative", **rule)

    def index_scores(
        self, q: Array, k: Array, head_weights: Array, query_positions: Array, key_positions: Array, *given: Array,
        divisor: str, **parameters: Any,
    ) -> Array:  # fmt: skip
        """Return the scores of an indexer, made of turned products and weights by ``score``."""
        turned = self.rotate_query_key(q, k[:, None], query_positions, key_positions, *given, **parameters)
        root = math.sqrt(q.shape[1] * q.shape[-1]) if divisor == "roots" else 1.0
        return self.score(attention.products(*turned), head_weights) / root

    def of(self, operation: str) -> Callable[..., Any]:
        """Return the method that stands for an operation of a rotary scheme."""
        method: Callable[..., Any] = getattr(replace(self, form=form_of(operation) or rope.FORM), operation.partition(".")[2])
        return method


def turned_by(layout: str, base: float) -> Callable[..., Array]:
    """Return plain rope where nothing should turn; heads of odd width are left alone."""

    def turned(x: Array, positions: Array, *, head_dim: int) -> Array:
        return x if head_dim % 2 else rope.rotate(x, positions, head_dim=head_dim, base=base, layout=layout)

    return turned
