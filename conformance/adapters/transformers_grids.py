"""Sinusoids on a grid in transformers: ViT-MAE and RT-DETR make those of a whole image in float64, DETR counts patches from 1."""

from typing import Any

import torch
from transformers.models.detr.modeling_detr import DetrSinePositionEmbedding
from transformers.models.rt_detr.modeling_rt_detr import RTDetrSinePositionEmbedding
from transformers.models.vit_mae.modeling_vit_mae import build_2d_sinusoidal_position_embedding

from conformance.adapters.transformers_adapter import adapter

#: So many patches has each side of the images that DETR's code is asked for.
SIDE = 64
ROWS_FIRST: dict[str, Any] = {"order": "row_first", "layout": "halves", "positions": "grid", "dtypes": ("float32",)}

adapter.implements("sincos_2d.encode", label="vit-mae", call="f(height, width, dim, base)", **ROWS_FIRST)(
    build_2d_sinusoidal_position_embedding
)


@adapter.implements("sincos_2d.encode", label="rt-detr", call="f(height, width, dim, base)", **ROWS_FIRST)
def rt_detr(height: int, width: int, dim: int, base: float) -> torch.Tensor:
    """Return what is added to the queries and keys of an image."""
    return RTDetrSinePositionEmbedding(dim, base)(width, height, torch.device("cpu"), torch.float32)[0]


@adapter.implements(
    "sincos_2d.encode", label="detr", order="row_first", layout="interleaved", positions="whole", lowest=1, highest=SIDE,
    dtypes=("float32",),
)  # fmt: skip
def detr(positions: torch.Tensor, *, dim: int, base: float, **_: object) -> torch.Tensor:
    """Return the channels of some patches, whose rows and columns the code counts from 1."""
    image = DetrSinePositionEmbedding(dim // 2, base)(torch.Size((1, 1, SIDE, SIDE)), "cpu", torch.float32)[0]
    return image[:, positions[:, 0] - 1, positions[:, 1] - 1].T
