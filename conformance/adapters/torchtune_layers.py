"""Rotations and T5's bias of torchtune, called as its models call them: written for torchtune 0.6.1, other releases are reported."""

import functools
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import torch
from torchtune.models.llama3_1 import Llama3ScaledRoPE
from torchtune.models.phi3 import Phi3RotaryPositionalEmbeddings
from torchtune.models.qwen2 import Qwen2RotaryPositionalEmbeddings
from torchtune.models.t5._encoder import T5EncoderRelativePositionBias
from torchtune.modules import RotaryPositionalEmbeddings, VisionRotaryPositionalEmbeddings

from conformance.adapt.adapter import Adapter
from conformance.adapters.get_rope import HIGHEST, rows, small

SUPPORTED = "0.6.1"
#: How many patches each side of an image has, and how far a whole matrix of biases is asked for.
SIDE, FARTHEST = 64, 2047

adapter = Adapter("torchtune", framework="torch", dtypes=("float32", "bfloat16", "float16"), version=version("torchtune"))
torch.set_num_threads(1)


def _fits(parameters: Mapping[str, Any]) -> bool:
    return small(parameters["head_dim"], HIGHEST + 1)


turns = functools.partial(adapter.implements, direction="positive", lowest=0, highest=HIGHEST, when=_fits)


@functools.lru_cache(maxsize=16)
def _layer(kind: Callable[..., Any], head_dim: int, length: int, base: float, **rule: float) -> Any:
    return kind(head_dim, length, base, **rule)


def turned(layer: Any, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Turn ``x``, whose tokens come before its heads there."""
    found: torch.Tensor = layer(x.transpose(1, 2), input_pos=positions.expand(x.shape[0], x.shape[2])).transpose(1, 2)
    return found


def _rule(factor: float, original_length: int, low_freq_factor: float, high_freq_factor: float) -> dict[str, float]:
    ends = {"low_freq_factor": low_freq_factor, "high_freq_factor": high_freq_factor}
    return {"scale_factor": factor, "old_context_len": original_length, **ends}


def offer(label: str, kind: Callable[..., Any], layout: str) -> None:
    """Offer the layer of a model without a rule."""

    @turns("rope.rotate", label=label, layout=layout)
    def rotate(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
        return turned(_layer(kind, head_dim, rows(positions), base), x, positions)


offer("torchtune", RotaryPositionalEmbeddings, "interleaved")
offer("phi3", Phi3RotaryPositionalEmbeddings, "half")
offer("qwen2", Qwen2RotaryPositionalEmbeddings, "half")


@adapter.implements("rope.frequencies", dtypes=("float32",))
def frequencies(*, head_dim: int, base: float) -> torch.Tensor:
    """Return the frequencies that the layer keeps."""
    found: torch.Tensor = _layer(RotaryPositionalEmbeddings, head_dim, 1, base).theta
    return found


@adapter.implements("rope.tables", lowest=0, highest=HIGHEST, when=_fits, dtypes=("float32",))
def tables(positions: torch.Tensor, *, head_dim: int, base: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the rows of the layer's table, which keeps cosine and sine side by side."""
    cos, sin = _layer(RotaryPositionalEmbeddings, head_dim, rows(positions), base).cache[positions].unbind(-1)
    return cos, sin


@turns("llama3.rotate", layout="interleaved")
def rotate_llama3(
    x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, layout: str, direction: str, **rule: Any
) -> torch.Tensor:
    """Turn by Llama 3's rule."""
    del layout, direction
    return turned(_layer(Llama3ScaledRoPE, head_dim, rows(positions), base, **_rule(**rule)), x, positions)


@adapter.implements("llama3.frequencies", dtypes=("float32",))
def frequencies_llama3(*, head_dim: int, base: float, **rule: Any) -> torch.Tensor:
    """Return the frequencies that Llama 3's layer keeps."""
    found: torch.Tensor = _layer(Llama3ScaledRoPE, head_dim, 1, base, **_rule(**rule)).theta
    return found


def _square(parameters: Mapping[str, Any]) -> bool:
    return len(parameters["axes"]) == 2 and len(set(parameters["axes"])) == 1


@adapter.implements(
    "axial_rope.rotate", label="vision", order="block", ladder="own", sides=(), layout="interleaved", direction="positive", when=_square,
    positions="whole", rows="shared", lowest=1, highest=SIDE,
)  # fmt: skip
def rotate_patches(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
    """Turn patches by their column and row, counted from 1; the layer takes a whole image, so it is left the rows of these patches."""
    layer = VisionRotaryPositionalEmbeddings(patch_size=1, tile_size=SIDE, max_num_tiles=1, dim=head_dim // 2, base=base)
    column, row = positions.unbind(-1)
    layer.cache = layer.cache[(row - 1) * SIDE + column - 1]
    turned: torch.Tensor = layer(x.transpose(1, 2)).transpose(1, 2)
    return turned


@adapter.implements("t5.bias", label="t5", convention="t5", bidirectional=True, rows="shared", lowest=0, highest=FARTHEST)
def bias(
    table: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor, *, num_buckets: int, max_distance: int, **_: object
) -> torch.Tensor:
    """Return what the encoder adds to the logits of these queries and keys."""
    length = max(int(query_positions.max()), int(key_positions.max())) + 1
    layer = T5EncoderRelativePositionBias(num_buckets, max_distance, table.shape[1], length)
    layer.embedding.weight = torch.nn.Parameter(table, requires_grad=False)
    whole: torch.Tensor = layer()[0]
    return whole[:, query_positions[:, None], key_positions]
