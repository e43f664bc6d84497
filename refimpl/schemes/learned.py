"""Learned absolute positions: one trained row per position, looked up and added to the input."""

from typing import Annotated, Literal

from refimpl.adding import added
from refimpl.arrays import Array, arange, array_namespace
from refimpl.attention import Layer
from refimpl.cases.learned import CASES
from refimpl.errors import SpecificationError
from refimpl.forms import additive
from refimpl.spec import INTEGER, Law, Number, Scheme, Source, operation

Outside = Literal["raise", "clamp", "wrap"]
Offset = Annotated[int, Number(minimum=0)]
LAYER_LENGTH = 512
PRIME = 1021


@operation
def encode(
    positions: Annotated[Array, "token", INTEGER],
    table: Annotated[Array, "length dim"],
    *,
    offset: Offset = 0,
    outside: Outside = "raise",
) -> Annotated[Array, "token dim"]:
    """Return row ``p + offset`` of the table for every position ``p``, in the dtype of the table: ``P[p + offset]``.

    Nothing is rounded. With ``outside="raise"`` a position below 0 or beyond ``length - offset - 1`` raises ``SpecificationError``;
    ``clamp`` reads the nearest row instead, and ``wrap`` counts rows modulo the length (Gehring et al. 2017, section 3.1).
    """
    xp = array_namespace(positions, table)
    length = table.shape[0]
    rows = xp.astype(positions, xp.int64) + offset
    if length <= offset:
        message = f"table must have more rows than the offset ({offset}), got {length}"
        raise SpecificationError(message)
    if outside == "raise":
        _refuse_outside(xp, rows, offset, length)
    inside = rows % length if outside == "wrap" else xp.clip(rows, min=0, max=length - 1)
    return xp.take(table, inside, axis=0)


def _refuse_outside(xp: Array, rows: Array, offset: int, length: int) -> None:
    """Raise where a position has no row of its own."""
    for wrong, pick in ((rows < offset, xp.min), (rows >= length, xp.max)):
        if bool(xp.any(wrong)):
            message = f"positions must lie between 0 and {length - offset - 1}, got {int(pick(rows)) - offset}"
            raise SpecificationError(message)


add = additive.Additive(encode).operation(
    "Return ``x_p + P[p + offset]``, ``x`` times ``sqrt(dim)`` where asked for, in its dtype (section 3.1)."
)


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return a table of 512 rows, as BERT has, added to the input; all its numbers are learned."""
    width = num_heads * head_dim
    row, column = arange(LAYER_LENGTH, like=like)[:, None], arange(width, like=like)[None, :]
    # Multiples of 2^-8 below 2: exact in float32, and no two rows are equal because the modulus is a prime above the length.
    table = ((37 * row + 11 * column + row * column) % PRIME - PRIME // 2) / 256
    return Layer(embed=lambda x, positions: added(x, positions, lambda flat: encode(flat, table)), learned=LAYER_LENGTH * width)


SCHEME = Scheme(
    name="learned",
    operations=(encode, add),
    source=Source(
        "Gehring et al. 2017, Convolutional Sequence to Sequence Learning",
        "https://arxiv.org/abs/1705.03122",
        equations="section 3.1; used by BERT, GPT-2, OPT and BART",
    ),
    laws={"encode": (Law.LOOKUP, Law.LINEAR, Law.OUTSIDE, Law.STEPWISE), "add": additive.LAWS},
    cases=CASES,
    summary="One trained row per position, looked up and added to the input.",
    meanings={
        **additive.MEANINGS,
        "positions": "the place of every token, counted from 0 (before the offset)",
        "table": "one learned row per position, with `offset` rows before the first that belong to no position (padding)",
        "offset": "how many rows stand before the row of position 0",
        "outside": "what happens to a position that has no row",
    },
    conventions={
        **additive.CONVENTIONS,
        "outside=raise": "the specification: position below 0 or past the end is an error; torch's embedding raises `IndexError`",
        "outside=clamp": "a hazard: the nearest row is read; JAX indexing past the end, `np.take(mode='clip')`",
        "outside=wrap": "a hazard: rows count modulo the length; NumPy and JAX indexing below 0, `np.take(mode='wrap')`",
    },
    notes=(
        (
            "The offset is a convention of a checkpoint: 0 in BERT and GPT-2; 2 in OPT and BART; padding index + 1, which is 2 as well, "
            "in fairseq and RoBERTa. A port that forgets it reads every row two places off."
        ),
        (
            "OPT and RoBERTa derive positions from the attention mask (the running count of real tokens), so left padding changes "
            "nothing; BART and GPT-2 count columns unless they are given positions. Padded tokens get -1 in OPT, which with offset 2 "
            "reads row 1."
        ),
        (
            "One table is shared by all layers in BERT, GPT-2, OPT and BART, where it is added once to the input. A table per layer is "
            "another argument of the same look-up, and counts once per layer among the learned numbers."
        ),
        (
            "Nothing relates the rows of different positions: uniqueness comes from training, no two shifts act alike, and there is no "
            "row past the end. Code that returns a row there hides the mistake: JAX clamps, NumPy takes negative positions from the end."
        ),
    ),
    layer=layer,
)
