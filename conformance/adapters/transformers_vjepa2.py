"""V-JEPA 2's turn by one axis, which is no rotation: its tables are laid out for halves, and its pairs are neighbours."""

import torch
from transformers.models.vjepa2.modeling_vjepa2 import rotate_queries_or_keys

from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_rotary import batched


@adapter.implements("rope.rotate", label="v-jepa-2", base=10_000.0, layout="interleaved", direction="positive", dtypes=("float32",))
def rotate(x: torch.Tensor, positions: torch.Tensor, **_: object) -> torch.Tensor:
    """Turn queries or keys by their time, their height or their width."""
    turned: torch.Tensor = rotate_queries_or_keys(x, batched(positions)[:, None])
    return turned
