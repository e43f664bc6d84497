"""Rows and columns of patches in transformers, from the function that Qwen2-VL, GLM-4V, Ernie 4.5 VL and others call."""

from typing import Any

import torch
from transformers.vision_utils import get_vision_position_ids

from conformance.adapters.transformers_adapter import adapter


@adapter.implements("axial_rope.positions", lowest=0, dtypes=("float32",))
def by_grids(positions: torch.Tensor, *, times: tuple[int, ...], heights: tuple[int, ...], widths: tuple[int, ...], merge: int) -> Any:
    """Return the places of some patches, from a list of all."""
    return get_vision_position_ids(torch.tensor(list(zip(times, heights, widths, strict=True))), merge)[positions]
