"""A picture of every scheme, drawn from the reference: ``posenc show SCHEME --plot FILE``; and those of no single scheme."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from conformance.pictures import absolute, alone, biases, edges, ladders, rotary, segments, together, weighting
from conformance.pictures.files import PictureError, digest, empty, save_figure

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

__all__ = ["PICTURES", "TOGETHER", "PictureError", "digest", "draw", "save"]

PICTURES: Mapping[str, Callable[["Figure"], None]] = {
    "none": alone.none,
    "binary": absolute.binary,
    "sinusoidal": absolute.sinusoidal,
    "sincos_2d": absolute.sincos_2d,
    "learned": absolute.learned,
    "relative_bias": biases.relative_bias,
    "t5": biases.t5,
    "alibi": biases.alibi,
    "shaw": edges.shaw,
    "transformer_xl": segments.transformer_xl,
    "rope": rotary.rope,
    "partial_rope": rotary.partial_rope,
    "axial_rope": rotary.axial_rope,
    "mixed_rope": rotary.mixed_rope,
    "mrope": rotary.mrope,
    "xpos": rotary.xpos,
    "position_interpolation": ladders.position_interpolation,
    "yarn": ladders.yarn,
    "ntk_aware": ladders.ntk_aware,
    "dynamic_ntk": ladders.dynamic_ntk,
    "proportional_rope": ladders.proportional_rope,
    "ntk_by_parts": ladders.ntk_by_parts,
    "llama3": ladders.llama3,
    "longrope": ladders.longrope,
    "lerope": ladders.lerope,
    "resonance_rope": ladders.resonance_rope,
    "resonance_yarn": ladders.resonance_yarn,
    "kerple": biases.kerple,
    "retnet": weighting.retnet,
    "rerope": weighting.rerope,
    "self_extend": weighting.self_extend,
    "dual_chunk": weighting.dual_chunk,
    "da_transformer": weighting.da_transformer,
    "temperature": weighting.temperature,
}
#: Those that show several schemes, or none.
TOGETHER: Mapping[str, Callable[["Figure"], None]] = {
    "weights": together.weights,
    "adding": together.adding,
    "biasing": together.biasing,
    "turning": together.turning,
}


def draw(name: str) -> "Figure":
    """Return the picture of a scheme, or one of those together, or raise ``PictureError`` where there is none or matplotlib is absent."""
    every = {**PICTURES, **TOGETHER}
    if name not in every:
        message = f"scheme must be one that has a picture ({', '.join(PICTURES)}), got {name!r}"
        raise PictureError(message)
    return empty(every[name])


def save(name: str, path: "Path") -> None:
    """Draw a picture into a .png or .svg file, whole or not at all."""
    save_figure(lambda: draw(name), path)
