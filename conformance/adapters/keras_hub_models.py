"""What the models of keras-hub do beyond its layers: rotations, sinusoids and buckets of their own."""

from collections.abc import Mapping
from typing import Any

import torch

# The layers come first, since they choose the backend.
from conformance.adapters.keras_hub_layers import adapter, dtype, made, turns  # isort: split

from keras_hub.src.models.deberta_v3.disentangled_self_attention import DisentangledSelfAttention
from keras_hub.src.models.esm.esm_attention import ESMRotaryEmbedding
from keras_hub.src.models.flux.flux_layers import EmbedND
from keras_hub.src.models.flux.flux_maths import ApplyRoPE
from keras_hub.src.models.gemma4.gemma4_attention import Gemma4TextAttention, Gemma4VisionAttention
from keras_hub.src.models.llama.llama_rotary_embedding import LlamaRotaryEmbedding
from keras_hub.src.models.phi3.phi3_rotary_embedding import Phi3SuScaledRotaryEmbedding
from keras_hub.src.models.qwen3_5.qwen3_5_attention import Qwen3_5Attention
from keras_hub.src.models.roformer_v2.roformer_v2_attention import RoformrPositionalEmbedding
from keras_hub.src.models.sam3.sam3_layers import SAM3SinePositionEmbedding
from keras_hub.src.models.smollm3.smollm3_layers import SmolLM3RotaryEmbedding
from keras_hub.src.models.smollm3.smollm3_utils import apply_rotary_pos_single
from keras_hub.src.models.t5.t5_multi_head_attention import T5MultiHeadAttention
from keras_hub.src.models.video_prism.video_prism_layers import SinusoidalPositionalEmbedding

from conformance.adapt.adapter import Unsupported

__all__ = ["adapter"]

#: A sequence isn't filled to more numbers: they would take what memory there is.
LARGEST = 1 << 25

#: How far a row of biases is asked for, and how many patches each side of an image has.
FARTHEST_ROW, SIDE = 131_071, 64


@turns("rope.rotate", label="llama")
def rotate_llama(x: torch.Tensor, positions: torch.Tensor, *, base: float, **_: object) -> torch.Tensor:
    """Turn by Llama's layer without a rule."""
    turned: torch.Tensor = made(LlamaRotaryEmbedding, dtype=dtype(x), max_wavelength=base)(x, positions=positions)
    return turned


@turns("position_interpolation.rotate", label="llama")
def interpolate_llama(x: torch.Tensor, positions: torch.Tensor, *, base: float, factor: float, **_: object) -> torch.Tensor:
    """Turn by Llama's layer with a factor on its positions."""
    layer = made(LlamaRotaryEmbedding, dtype=dtype(x), max_wavelength=base, position_scaling_factor=factor)
    turned: torch.Tensor = layer(x, positions=positions)
    return turned


@turns("llama3.rotate")
def rotate_llama3(
    x: torch.Tensor, positions: torch.Tensor, *,
    base: float, factor: float, original_length: int, low_freq_factor: float, high_freq_factor: float, **_: object,
) -> torch.Tensor:  # fmt: skip
    """Turn by Llama 3's rule."""
    rule = {"frequency_adjustment_factor": factor, "pretraining_sequence_length": original_length}
    ends = {"low_freq_factor": low_freq_factor, "high_freq_factor": high_freq_factor}
    turned: torch.Tensor = made(LlamaRotaryEmbedding, dtype=dtype(x), max_wavelength=base, **rule, **ends)(x, positions=positions)
    return turned


@turns("longrope.rotate", positions="consecutive", lowest=0, short_mscale=None, long_mscale=None)
def rotate_phi3(
    x: torch.Tensor, positions: torch.Tensor, short_factors: torch.Tensor, long_factors: torch.Tensor, *,
    base: float, original_length: int, length: int, max_length: int, **_: object,
) -> torch.Tensor:  # fmt: skip
    """Turn by Phi-3's layer, which chooses the list by where a call ends; a sequence beyond the original length is filled to there."""
    first, tokens = int(positions[0]), x.shape[1]
    if length <= original_length < first + tokens:
        message = "the layer takes the largest position plus 1 for the length"
        raise Unsupported(message)
    missing = max(0, original_length + 1 - first - tokens) if length > original_length else 0
    if missing * x[:, :1].numel() > LARGEST:
        message = f"x must hold at most {LARGEST} numbers once it is filled to the original length"
        raise Unsupported(message)
    filled = torch.cat((x, x.new_zeros(x.shape[0], missing, *x.shape[2:])), dim=1)
    layer = Phi3SuScaledRotaryEmbedding(
        short_factors.tolist(), long_factors.tolist(), max_length, original_length, max_wavelength=base, dtype=dtype(x)
    )
    turned: torch.Tensor = layer(filled, start_index=first)[:, :tokens]
    return turned


@turns("rope.rotate", label="roformer", layout="interleaved", positions="from_zero", call="f(x, head_dim, base)")
def rotate_roformer(x: torch.Tensor, head_dim: int, base: float) -> torch.Tensor:
    """Turn by RoFormer's layer, which counts for itself."""
    turned: torch.Tensor = made(RoformrPositionalEmbedding, output_dim=head_dim, max_wavelength=base, dtype=dtype(x))([x])
    return turned


@turns("rope.rotate", label="esm", positions="from_zero", call="f(x, base)")
def rotate_esm(x: torch.Tensor, base: float) -> torch.Tensor:
    """Turn by ESM's layer, which counts for itself."""
    turned: torch.Tensor = made(ESMRotaryEmbedding, max_wavelength=base, dtype=dtype(x))(x, x)[0]
    return turned


@turns("rope.rotate", label="smollm3", positions="consecutive")
def rotate_smollm3(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
    """Turn by SmolLM3's tables."""
    sizes = {"hidden_size": head_dim, "num_attention_heads": 1, "max_position_embeddings": 64, "partial_rotary_factor": 1.0}
    cos, sin = made(SmolLM3RotaryEmbedding, rope_theta=base, **sizes)(x, start_index=int(positions[0]))
    turned: torch.Tensor = apply_rotary_pos_single(x, cos, sin, expansion_axis=2)
    return turned


def _qwen(kind: str, head_dim: int, base: float, share: float = 1.0, sections: tuple[int, ...] | None = None) -> Any:
    layer = Qwen3_5Attention(1, 1, head_dim, share, base, mrope_section=None if sections is None else list(sections), dtype=kind)
    layer.build((1, 1, 1))
    return layer


@turns("partial_rope.rotate", label="qwen3.5", placement="first", positions="consecutive")
def rotate_part(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, rotary_dim: int, base: float, **_: object) -> torch.Tensor:
    """Turn the first channels; half a channel more, since the library cuts the product."""
    layer = _qwen(dtype(x), head_dim, base, min(1.0, (rotary_dim + 0.5) / head_dim))
    turned: torch.Tensor = layer._apply_partial_rope(x, int(positions[0]))  # noqa: SLF001  what its attention calls
    return turned


def _three(parameters: Mapping[str, Any]) -> bool:
    return len(parameters["sections"]) == 3


@turns("mrope.rotate", label="qwen3.5", order="interleaved", when=_three, rows="each")
def rotate_sections(
    x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, sections: tuple[int, ...], **_: object
) -> torch.Tensor:
    """Turn by time, height and width, which come after the place in the text."""
    layer = _qwen(dtype(x), head_dim, base, sections=sections)
    places = torch.cat((positions[..., :1], positions), dim=-1).transpose(1, 2)
    turned: torch.Tensor = layer._apply_partial_rope(x, 0, places)  # noqa: SLF001  what its attention calls
    return turned


@turns("proportional_rope.rotate", label="gemma4")
def rotate_fast(
    x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, turned_pairs: int, factor: float, **_: object
) -> torch.Tensor:
    """Turn as Gemma 4's layers of full attention."""
    share = min(1.0, (2 * turned_pairs + 0.5) / head_dim)
    rope = {"rope_wavelength": base, "rope_scaling_factor": factor, "rope_partial_rotary_factor": share}
    layer = Gemma4TextAttention(head_dim, 1, 1, dtype=dtype(x), **rope)
    layer.build((1, 1, 1))
    turned: torch.Tensor = layer._apply_rope(x, 0, positions)  # noqa: SLF001  what its attention calls
    return turned


def _square(parameters: Mapping[str, Any]) -> bool:
    return len(parameters["axes"]) == 2 and len(set(parameters["axes"])) == 1


@turns("axial_rope.rotate", label="gemma4-vision", order="block", ladder="own", sides=(), when=_square, rows="each")
def rotate_patches(x: torch.Tensor, positions: torch.Tensor, *, head_dim: int, base: float, **_: object) -> torch.Tensor:
    """Turn by both axes as Gemma 4's encoder."""
    layer = made(Gemma4VisionAttention, head_dim=head_dim, num_query_heads=1, num_key_value_heads=1, rope_wavelength=base, dtype=dtype(x))
    turned: torch.Tensor = layer._apply_rope(x, positions)  # noqa: SLF001  what its attention calls
    return turned


@adapter.implements(
    "axial_rope.rotate", label="flux", order="block", ladder="own", sides=(), layout="interleaved", direction="positive", rows="each"
)
def rotate_flux(x: torch.Tensor, positions: torch.Tensor, *, base: float, axes: tuple[int, ...], **_: object) -> torch.Tensor:
    """Turn by the waves of any number of axes."""
    turned: torch.Tensor = ApplyRoPE()(x, x, EmbedND(base, axes)(positions.to(torch.float32)))[0]
    return turned.to(x.dtype)


@adapter.implements(
    "sinusoidal.encode", label="video-prism", layout="halves", spacing="endpoint", scale=1.0, odd="zero_column", positions="from_zero",
    call="f(tokens, like, dim, base)", dim=lambda dim: dim >= 4,
)  # fmt: skip
def encode(tokens: int, like: torch.Tensor, dim: int, base: float) -> torch.Tensor:
    """Return the sinusoids of a sequence."""
    layer = made(SinusoidalPositionalEmbedding, hidden_dim=dim, max_timescale=base, dtype=dtype(like))
    encoded: torch.Tensor = layer(torch.zeros(1, tokens, dim, dtype=like.dtype))[0]
    return encoded


@adapter.implements(
    "sincos_2d.encode", label="sam3", order="row_first", layout="interleaved", positions="whole", lowest=1, highest=SIDE,
    call="f(positions, dim, base)",
)  # fmt: skip
def encode_patches(positions: torch.Tensor, dim: int, base: float) -> torch.Tensor:
    """Return the channels of some patches, whose rows and columns the layer counts from 1."""
    layer = made(SAM3SinePositionEmbedding, num_pos_feats=dim // 2, temperature=base)
    image: torch.Tensor = layer(torch.zeros(1), height=SIDE, width=SIDE)[0]
    return image[positions[:, 0].long() - 1, positions[:, 1].long() - 1]


@adapter.implements("t5.bucket", label="t5", convention="t5", dtypes=("float32",))
def bucket(relative_positions: torch.Tensor, *, bidirectional: bool, num_buckets: int, max_distance: int, **_: object) -> torch.Tensor:
    """Return the bucket of every relative position."""
    found: torch.Tensor = T5MultiHeadAttention._relative_position_bucket(  # noqa: SLF001  the model's own function
        relative_positions, bidirectional=bidirectional, num_buckets=num_buckets, max_distance=max_distance
    )
    return found


@adapter.implements("t5.bucket", label="deberta-v3", convention="deberta", dtypes=("float32",))
def deberta_bucket(relative_positions: torch.Tensor, *, num_buckets: int, max_distance: int, **_: object) -> torch.Tensor:
    """Return the row of the relative embeddings, as the model clamps it: bucket_size is half of the rows."""
    span = num_buckets // 2
    layer = made(DisentangledSelfAttention, num_heads=1, hidden_dim=1, max_position_embeddings=max_distance, bucket_size=span)
    found: torch.Tensor = layer._make_log_bucket_position(-relative_positions)  # noqa: SLF001  the model's own function
    return torch.clamp(found + span, 0, span * 2 - 1)


@adapter.implements(
    "t5.bias", label="t5", convention="t5", num_buckets=32, max_distance=128, rows="shared", lowest=0, highest=FARTHEST_ROW
)
def bias(
    table: torch.Tensor, query_positions: torch.Tensor, key_positions: torch.Tensor, *, bidirectional: bool, **_: object
) -> torch.Tensor:
    """Return one row per query, each the bias of a decoding step with that many tokens seen."""
    heads, length = table.shape[1], int(key_positions.max()) + 1
    layer = T5MultiHeadAttention(not bidirectional, heads, 1, heads, 0.0, use_relative_attention_bias=True, dtype=dtype(table))
    layer.relative_attention_bias.assign(table)
    rows = [layer.compute_bias(1, length, int(query))[0, :, 0, key_positions] for query in query_positions]
    return torch.stack(rows, dim=1)
