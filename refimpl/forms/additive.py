"""The form of encodings that are added to the input: every token's embedding plus the row of its position.

A scheme brings the rows. Embeddings may be multiplied before the sum (Vaswani et al. 2017, section 3.4); the rows never are.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from refimpl.arrays import Array, array_namespace, cast_like, exact_float64
from refimpl.forms.joining import declared
from refimpl.spec import Law

Scaling = Literal["none", "sqrt_dim"]


@dataclass(frozen=True)
class Additive:
    """The slot ``encode(positions, ...)``, an operation: a row of numbers for every position, as wide as an embedding."""

    encode: Callable[..., Array]

    def operation(self, says: str) -> Callable[..., Any]:
        """Return the sum as an operation, whose positions may have a batch; ``says`` is its summary."""

        def add(x: Array, positions: Array, *given: Array, embedding_scale: Scaling = "none", **rule: Any) -> Array:
            return cast_like(scaled(exact_float64(x), embedding_scale) + self.rows(x, positions, *given, **rule), x)

        add.__doc__ = says
        signature, scaling = inspect.signature(self.encode), inspect.signature(add).parameters["embedding_scale"]
        positions, *others = signature.parameters.values()
        array, tokens, *kinds = get_args(positions.annotation)
        embeddings = Annotated[Array, f"batch {get_args(signature.return_annotation)[1]}"]
        x = positions.replace(name="x", annotation=embeddings)
        batched = positions.replace(annotation=Annotated[array, f"[batch] {tokens}", *kinds])
        return declared(add, self, [x, batched, *others, scaling], embeddings)

    @property
    def beside(self) -> int:
        """How many axes positions have after the token's."""
        positions = next(iter(inspect.signature(self.encode).parameters.values()))
        return len(str(get_args(positions.annotation)[1]).split()) - 1

    def rows(self, x: Array, positions: Array, *given: Array, **rule: Any) -> Array:
        """Return what is added to each token of ``x``, in float64."""
        xp = array_namespace(x, positions)
        tokens = positions.shape[: positions.ndim - self.beside]
        flat = xp.reshape(positions, (math.prod(tokens), *positions.shape[len(tokens) :]))
        return xp.reshape(exact_float64(self.encode(flat, *given, **rule)), (*tokens, x.shape[-1]))


def scaled(x: Array, scaling: str) -> Array:
    """Return embeddings as the sum takes them."""
    return x * math.sqrt(x.shape[-1]) if scaling == "sqrt_dim" else x


#: What the arguments of the sum mean that an encoding has not.
MEANINGS = {
    "x": "the embeddings of all tokens, the channels of all heads side by side, before anything is added",
    "embedding_scale": "what the embeddings, not the encoding, are multiplied by before the sum",
}
CONVENTIONS = {
    "embedding_scale=none": "embeddings are added as they are: BERT, GPT-2, RoBERTa, OPT, ViT; and code that is given scaled embeddings",
    "embedding_scale=sqrt_dim": "embeddings are multiplied by the root of their width: the paper (section 3.4), tensor2tensor, fairseq, "
    "Marian, M2M100, ESPnet",
}
#: What holds for every sum.
LAWS = (Law.ADDS, Law.ALIKE, Law.STEPWISE)
