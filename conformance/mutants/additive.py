"""What goes wrong with every sum of embeddings and an encoding: the scale, the batch, the rows; and all that goes wrong with its rows."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from conformance.mutants import binary, learned, sincos_2d, sinusoidal
from conformance.mutants.bias import made_of
from conformance.mutants.building import OPERATIONS, Function, Mistake, convention, conventions
from conformance.mutants.positions import position_mutants
from conformance.mutants.rounding import to
from conformance.spec.arguments import rows_of_their_own
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.forms.additive import Additive

#: From embeddings, the rows of their tokens, and the scale, to what comes out.
Meet = Callable[[Array, Array, float], Array]


def right(x: Array, code: Array, scale: float) -> Array:
    """Add the rows to the scaled embeddings."""
    return scale * x + code


def summed(operation: str, encode: Function, meet: Meet = right) -> Function:
    """Return the sum with an encoding, whose rows are made for each row of the batch."""
    axes = OPERATIONS[operation].arrays["positions"]

    def add(x: Array, positions: Array, *given: Array, embedding_scale: str, **rule: object) -> Array:
        code = np.stack([encode(row, *given, **rule) for row in (positions if rows_of_their_own(axes, positions) else positions[None])])
        return meet(x, code, math.sqrt(x.shape[-1]) if embedding_scale == "sqrt_dim" else 1.0)

    return add


def along_the_batch(code: Array, x: Array) -> Array:
    """Return for every token of row b the encoding of token b, as broadcasting along the wrong axis does."""
    every = np.broadcast_to(code, x.shape)
    return np.stack([row[[index % len(row)]] for index, row in enumerate(every)])


SCALE_THREADS = {"none": ("https://github.com/SamLynnEvans/Transformer/issues/10",)}
SCALE = "scale the embeddings and nothing else"
SLICED = "keep the scale beside the look-up of the embeddings, before the sum"
MISTAKES: tuple[tuple[Mistake, Meet], ...] = (
    (
        Mistake(
            "not-added",
            does="returns the embeddings without their positions",
            should="add the encoding",
            fix="use what the module of positions returns",
            threads=("https://github.com/Lightning-AI/pytorch-lightning/pull/20099",),
        ),
        lambda x, code, scale: scale * x + 0.0 * code,
    ),
    (
        Mistake(
            "added-twice",
            does="adds the encoding twice",
            should="add it once",
            fix="add it in the model or in the embedding, not in both",
            origin="in the style of embeddings that hold the sum already",
        ),
        lambda x, code, scale: scale * x + 2 * code,
    ),
    (
        Mistake(
            "along-the-batch",
            does="adds the encoding along the axis of the batch: all tokens of a row get that of the row's number",
            should="add the encoding of each token",
            fix="slice by x.size(1) where the batch comes first, and keep the axis of one batch first in the table",
            threads=(
                "https://github.com/songyangco/GETNext/issues/2",
                "https://github.com/tanjimin/C.Origami/issues/42",
                "https://github.com/AkiRusProd/numpy-transformer/issues/1",
            ),
        ),
        lambda x, code, scale: scale * x + along_the_batch(code, x),
    ),
    (
        Mistake(
            "first-row-only",
            does="adds the encoding to the first row of the batch, and none to the others",
            should="add it to every row",
            fix="broadcast the encoding over the batch",
            origin="in the style of assignments to one row",
        ),
        lambda x, code, scale: scale * x + code * (np.arange(len(x)) == 0)[:, None, None],
    ),
    (
        Mistake(
            "tokens-in-reverse",
            does="adds the encodings in the reversed order of tokens",
            should="add to every token its own",
            fix="keep the order of the rows",
            origin="in the style of sequences that are turned round for one direction of a model",
        ),
        lambda x, code, scale: scale * x + code[:, ::-1],
    ),
    (
        Mistake("sum-scaled", does="multiplies the encoding by the scale too", should=SCALE, fix=SLICED,
                threads=("https://github.com/Kyubyong/transformer/issues/60",)),
        lambda x, code, scale: scale * (x + code),
    ),
    (
        Mistake("encoding-scaled", does="multiplies the encoding by the scale, not the embeddings", should=SCALE, fix=SLICED,
                origin="in the style of scales that are put beside the wrong operand"),
        lambda x, code, scale: x + scale * code,
    ),
    (
        Mistake("embeddings-scaled-twice", does="multiplies the embeddings by the scale twice", should="multiply them once",
                fix="leave the scale to the embedding or to the sum", origin="in the style of embedding modules that scale already"),
        lambda x, code, scale: scale**2 * x + code,
    ),
    (
        Mistake("embeddings-scaled-down", does="divides the embeddings by the scale", should="multiply them by sqrt(dim)",
                fix="multiply by dim ** 0.5", threads=("https://github.com/Kyubyong/transformer/issues/132",),
                origin="in the style of: the thread asks for it, as attention divides"),
        lambda x, code, scale: x / scale + code,
    ),
)  # fmt: skip


def rounded(dtype: str) -> Meet:
    """Round the rows."""
    return lambda x, code, scale: scale * x + to(dtype)(code)


def rows_of(operation: str) -> str:
    """Return the operation that gives the rows of a sum."""
    return f"{operation.partition('.')[0]}.encode"


def halves(operation: str) -> Iterator[tuple[Mistake, Meet]]:
    """Return rows that are kept in a half format, which holds those that are integers."""
    for dtype in () if "result" in OPERATIONS[rows_of(operation)].integers else ("bfloat16", "float16"):
        mistake = Mistake(
            f"{dtype}-rows",
            does=f"rounds the encoding to {dtype} before the sum",
            should="add what was computed in the dtype of x or wider",
            fix="cast the sum, not the table",
            kind="precision",
            origin="in the style of buffers that are cast with their module",
        )
        yield mistake, rounded(dtype)


def of_rows(operation: str, known: Sequence[Mutant]) -> Iterator[Mutant]:
    """Return what goes wrong with the encoding, as it befalls the sum."""
    encode = rows_of(operation)
    for mutant in (mutant for mutant in known if mutant.operation == encode):
        if mutant.kind == "convention":
            yield from (convention(operation, name, value) for name, value in mutant.forces.items())
        else:
            name = mutant.name.replace(encode, operation)
            origin = mutant.origin or "reported for the encoding alone"
            yield replace(mutant, name=name, operation=operation, function=summed(operation, mutant.function), origin=origin, threads=())


def mutants() -> Iterator[Mutant]:
    """Return the mistakes of every operation that fills the form."""
    known = [mutant for family in (sinusoidal, sincos_2d, learned, binary) for mutant in family.mutants()]
    for operation in OPERATIONS:
        form = made_of(operation)
        if isinstance(form, Additive):
            own = [
                *conventions(operation, SCALE_THREADS, ("embedding_scale",)),
                *(mistake.at(operation, summed(operation, form.encode, meet)) for mistake, meet in (*MISTAKES, *halves(operation))),
                *of_rows(operation, known),
                *position_mutants(operation, ("first-row-for-all",)),
            ]
            yield from (replace(mutant, inherited=True) for mutant in own)
