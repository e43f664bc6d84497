"""Sinusoidal encoding of images: half of the channels say the row of a patch, half its column."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from refimpl.adding import added
from refimpl.arrays import Array, array_namespace, of_text
from refimpl.attention import Layer
from refimpl.cases.sincos_2d import CASES
from refimpl.forms import additive
from refimpl.schemes import sinusoidal
from refimpl.spec import NUMBER, Law, Number, Positive, Scheme, Source, operation

Order = Literal["row_first", "column_first"]
Layout = Literal["halves", "interleaved", "joined"]
Width = Annotated[int, Number(minimum=4, multiple_of=4)]
AXES: dict[str, Sequence[int]] = {"row_first": (0, 1), "column_first": (1, 0)}


@operation
def encode(
    positions: Annotated[Array, "token axis", NUMBER],
    *,
    dim: Width,
    base: Positive = 10_000.0,
    order: Order = "row_first",
    layout: Layout = "halves",
) -> Annotated[Array, "token dim"]:
    """Return the sinusoids of the row and those of the column, each as wide as half of ``dim``, in float64."""
    return sided(sinusoidal.encode, positions, dim=dim, base=base, order=order, layout=layout)


def sided(line: Callable[..., Array], positions: Array, *, dim: int, order: str, layout: str, **rule: Any) -> Array:
    """Return what ``line`` writes of both coordinates in the order asked for; joined, the sines of both come before all cosines."""
    laid = "interleaved" if layout == "interleaved" else "halves"
    sides = [line(positions[:, axis], dim=dim // 2, layout=laid, **rule) for axis in AXES[order]]
    if layout == "joined":
        sides = [*(side[:, : dim // 4] for side in sides), *(side[:, dim // 4 :] for side in sides)]
    return array_namespace(positions).concat(sides, axis=-1)


add = additive.Additive(encode).operation("Return ``x + encode(p)``, ``x`` times ``sqrt(dim)`` where asked for, in its dtype.")


def layer(*, num_heads: int, head_dim: int, like: Array) -> Layer:
    """Return how it acts in attention: on text, whose tokens stand at the same row and column."""
    del like
    width = num_heads * head_dim

    def on_text(positions: Array) -> Array:
        return encode(of_text(positions, 2), dim=width + -width % 4)

    return Layer(embed=lambda x, positions: added(x, positions, on_text))


SCHEME = Scheme(
    name="sincos_2d",
    operations=(encode, add),
    source=Source(
        "He et al. 2021, Masked Autoencoders Are Scalable Vision Learners, and its code",
        "https://arxiv.org/abs/2111.06377",
        equations="appendix A.1; util/pos_embed.py",
    ),
    laws={
        "encode": (Law.SHIFT_MATRIX, Law.CONSTANT_NORM, Law.DOT_PRODUCT, Law.BOUNDED, Law.UNIQUE, Law.STEPWISE),
        "add": additive.LAWS,
    },
    cases=CASES,
    summary="Sinusoids on a grid: half of the channels encode the row, half the column.",
    meanings={
        **additive.MEANINGS,
        "positions": "the row and the column of every token, in patches, counted from 0; integer or real",
        "dim": "how many channels an encoding has, half of them for each axis, two per frequency",
        "base": "what sets the slowest frequency of each axis: about `1 / base` radians per patch",
        "order": "which axis has the first half of the channels",
        "layout": "where sines and cosines stand",
    },
    conventions={
        **additive.CONVENTIONS,
        "order=row_first": "the row (height, y), then the column: ViT-MAE, AIMv2 and RT-DETR in transformers 5, timm, DETR",
        "order=column_first": "the column (width, x), then the row: MAE's own code, diffusers, Granite-Docling, OmDet-Turbo",
        "layout=halves": "of each axis all sines, then all cosines: MAE, transformers, diffusers",
        "layout=interleaved": "of each axis sine and cosine of a frequency side by side: DETR",
        "layout=joined": "the sines of both axes, then the cosines of both: timm's `build_sincos2d_pos_embed`",
    },
    notes=(
        (
            "MAE's authors name the half that encodes the column `emb_h`, since their grid has columns first. Their checkpoints, and those "
            "of code that followed, have the column first, whatever the names say. A model that is trained with its own code never shows "
            "the difference; a checkpoint that is loaded into other code does."
        ),
        (
            "Tokens are flattened row by row, as images are. A grid that is flattened column by column (`meshgrid` of width and height "
            "with `indexing='ij'`) gives a square image the other order, and scrambles every other image."
        ),
        "Reshaping a grid to exchanged sides before it is flattened moves nothing: the order of its elements stays.",
        (
            "DETR counts patches from 1, and may divide by the last one and multiply by 2 pi; PixArt and Sana divide by a scale of "
            "interpolation. All of this is in the positions, which are real then. A class token has zeros, and no position."
        ),
        "Frequencies begin at 1 on both axes, and fall over `dim / 4` pairs, not over `dim / 2`: `base^(-4 i / dim)`.",
    ),
    layer=layer,
)
