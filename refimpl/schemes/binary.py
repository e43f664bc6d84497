"""Binary position code: write the position in base 2. Every channel toggles half as often as the one before, as sinusoids turn slower."""

from typing import Annotated

from refimpl.adding import added
from refimpl.arrays import Array, array_namespace
from refimpl.attention import Layer
from refimpl.cases.binary import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import additive
from refimpl.spec import FROM_ZERO, INTEGER, Law, Number, Scheme, Source, operation

WIDEST = 62
Bits = Annotated[int, Number(minimum=1, maximum=WIDEST)]


@operation
def encode(positions: Annotated[Array, "token", INTEGER, FROM_ZERO], *, bits: Bits) -> Annotated[Array, "token bits", INTEGER]:
    """Return the binary digits of every position, ``b_k(p) = floor(p / 2^k) mod 2`` for ``k = 0 ... bits - 1``.

    The least significant digit stands first, where sinusoids have their fastest pair. Positions are integers from 0 to
    ``2^bits - 1``; others raise ``SpecificationError``. No paper prints it: tutorials do.
    """
    xp = array_namespace(positions)
    whole = xp.astype(positions, xp.int64)
    _refuse_outside(xp, whole, bits)
    return xp.stack([whole // 2**k % 2 for k in range(bits)], axis=-1)


def _refuse_outside(xp: Array, positions: Array, bits: int) -> None:
    """Raise where a position has no code of so many digits."""
    if bool(xp.any(positions >= 2**bits)):
        message = f"positions must lie below 2^bits ({2**bits}), got {int(xp.max(positions))}"
        raise SpecificationError(message)


add = additive.Additive(encode).operation(
    "Return ``x`` plus its digit in every channel, ``x`` times the root of ``bits`` where asked for, in its dtype."
)


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return the code added to the input, one digit per channel: nothing is learned."""
    del like
    bits = min(num_heads * head_dim, WIDEST)

    def padded(positions: Array) -> Array:
        code = encode(positions, bits=bits)
        xp = array_namespace(code)
        return xp.concat([code] + [xp.zeros_like(code[:, :1])] * (num_heads * head_dim - bits), axis=-1)

    return Layer(embed=lambda x, positions: added(x, positions, padded))


SCHEME = Scheme(
    name="binary",
    operations=(encode, add),
    source=Source(
        "Kazemnejad 2019, Transformer Architecture: The Positional Encoding (a tutorial; no paper proposes it)",
        "https://kazemnejad.com/blog/transformer_architecture_positional_encoding/",
        equations="the section on intuition",
    ),
    laws={"encode": (Law.UNIQUE, Law.PERIODIC, Law.BINARY_VALUE, Law.STEPWISE), "add": additive.LAWS},
    cases=CASES,
    summary="Write the position in base 2: channel k toggles every 2^k positions.",
    meanings={
        **additive.MEANINGS,
        "positions": "the place of every token, counted from 0; below `2^bits`",
        "bits": f"how many digits the code has, so how many channels; at most {WIDEST}, so that every power fits a signed 64-bit integer",
    },
    conventions=additive.CONVENTIONS,
    notes=(
        (
            "It is an illustration, not an encoding that models use: digits jump where sinusoids turn smoothly. Digit k and the "
            "sinusoid of pair i agree in one thing only: each repeats after a length that grows geometrically with its channel."
        ),
        (
            "No matrix moves the code by an offset, as one does for sinusoids: adding 1 to the code of 1 changes two digits and adding "
            "1 to the code of 0 changes one, by the carry. So the shift law of `sinusoidal.encode` is not claimed here."
        ),
        (
            "Tutorials print the most significant digit first. Channels of sinusoids start with the fastest, so here the least "
            "significant digit comes first; the other order is the mutant `most-significant-first`."
        ),
        "The code ends: position `2^bits` has none, and is refused instead of repeating the code of 0.",
    ),
    layer=layer,
)
