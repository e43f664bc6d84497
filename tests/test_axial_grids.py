"""Grids of released code: which positions, sides and base of axial rope give what each of them computes."""

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from conformance.in_process import assert_conforms
from refimpl.errors import SpecificationError
from refimpl.schemes import axial_rope

HEIGHT, WIDTH = 7, 5
#: Angles reach 16,000 radians, of which float64 leaves 2e-12; those of float32 that two modules return leave 6e-8.
FLOAT64, FLOAT32 = 1e-11, 1e-6
RISING: Mapping[str, Any] = {"layout": "interleaved", "direction": "positive", "order": "block", "ladder": "linear"}


def places(*axes: np.ndarray) -> np.ndarray:
    """Return the places of all tokens of a grid, the first axis the slowest."""
    return np.stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")], axis=-1)


def turned(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Turn neighbouring channels, each pair by its own angle."""
    cos, sin = np.repeat(np.cos(angles), 2, axis=-1), np.repeat(np.sin(angles), 2, axis=-1)
    across = np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    return x * cos + across * sin


def one_axis_after_the_other(grid: np.ndarray, *bands: np.ndarray) -> np.ndarray:
    """Return the angles of a block of pairs for each axis."""
    return np.concatenate([grid[:, [axis]] * each for axis, each in enumerate(bands)], axis=-1)


def rope(width: int, base: float = 10_000.0) -> np.ndarray:
    return base ** (-np.arange(0, width, 2) / width)


def ends(count: int) -> np.ndarray:
    """Return half steps from the middle, the first and the last of which are the ends."""
    return 2 * np.arange(count) + 1 - count


def timm_pixels() -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    bands = np.linspace(1.0, 224 / 2, 8) * math.pi
    grid = places(np.linspace(-1.0, 1.0, HEIGHT), np.linspace(-1.0, 1.0, WIDTH))
    sides = (2 * (HEIGHT - 1), 2 * (WIDTH - 1))
    rule = {"axes": (16, 16), "base": 112.0, "sides": sides, "ladder": "linear"}
    return one_axis_after_the_other(grid, bands, bands), places(ends(HEIGHT), ends(WIDTH)), rule


def timm_pixels_by_one_ratio() -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    bands = 2.0 ** np.linspace(0, math.log2(224) - 1, 8) * math.pi
    grid = places(np.linspace(-1.0, 1.0, HEIGHT), np.linspace(-1.0, 1.0, WIDTH))
    middle = places(np.arange(HEIGHT) - (HEIGHT - 1) / 2, np.arange(WIDTH) - (WIDTH - 1) / 2)
    return (
        one_axis_after_the_other(grid, bands, bands),
        middle,
        {"axes": (16, 16), "base": 112.0, "sides": (HEIGHT - 1, WIDTH - 1), "ladder": "exponential"},
    )


def eva_02() -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    grid = places(np.arange(HEIGHT) / HEIGHT * 16, np.arange(WIDTH) / WIDTH * 16)
    return one_axis_after_the_other(grid, rope(16), rope(16)), grid, {"axes": (16, 16)}


def eva_02_with_pixels() -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    bands = np.linspace(1.0, 10 / 2, 8) * math.pi
    grid = places(np.arange(HEIGHT) / HEIGHT * 16, np.arange(WIDTH) / WIDTH * 16)
    return one_axis_after_the_other(grid, bands, bands), grid, {"axes": (16, 16), "base": 5.0, "sides": (2, 2), "ladder": "linear"}


def cogvideox() -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    (top, left), (bottom, right) = (3, 0), (27, 45)
    height, width = (np.linspace(start, stop * (n - 1) / n, n) for start, stop, n in ((top, bottom, HEIGHT), (left, right, WIDTH)))
    grid = places(np.arange(3), height, width)
    return one_axis_after_the_other(grid, rope(16), rope(24), rope(24)), grid, {"axes": (16, 24, 24)}


def ltx_video() -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    theta, most = 10_000.0, np.array([20, 2_048, 2_048])
    grid = places(np.arange(3) * 8 / 25, np.arange(HEIGHT) * 32, np.arange(WIDTH) * 32)
    bands = theta ** np.linspace(0, 1, 3) * math.pi / 2
    angles = (bands * (2 * grid / most - 1)[..., None]).swapaxes(-1, -2).reshape(len(grid), -1)
    return angles, grid - most / 2, {"axes": (6, 6, 6), "sides": (40, 4_096, 4_096), "order": "alternating", "ladder": "exponential"}


def musicflamingo() -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    torch = pytest.importorskip("torch")
    model = pytest.importorskip("transformers.models.musicflamingo.modeling_musicflamingo")
    rope_parameters = {"rope_type": "default", "rope_theta": 1_200.0, "partial_rotary_factor": 0.5}
    config = SimpleNamespace(max_position_embeddings=1_200, rope_parameters=rope_parameters, head_dim=16, audio_frame_step=0.01)
    frames, windows = 5, 3
    times = 0.04 * (np.arange(windows)[:, None] * frames + np.arange(frames))
    cos, sin = model.MusicFlamingoRotaryEmbedding(config)(torch.from_numpy(times), seq_len=frames)
    seconds, window = times.ravel(), np.repeat(np.arange(windows), frames)
    moments = np.tile(np.arange(frames), windows) * 2 * math.pi
    grid = -2 * math.pi * seconds[:, None] * np.stack([window, moments], axis=-1) / 1_200
    angles = np.arctan2(*(each.reshape(-1, 16)[:, ::2].double().numpy() for each in (sin, cos)))
    return angles, grid, {"axes": (8, 8), "base": 1_200.0}


def sam_3() -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Return the places of a layer that sees the whole image: columns before rows, in windows of 2 patches instead of patches."""
    torch = pytest.importorskip("torch")
    model = pytest.importorskip("transformers.models.sam3.modeling_sam3")
    sizes = {"image_size": (WIDTH * 14, HEIGHT * 14), "patch_size": 14, "window_size": 2, "head_dim": 32}
    config = SimpleNamespace(**sizes, rope_parameters={"rope_type": "axial", "rope_theta": 10_000.0})
    cos, sin = model.Sam3ViTRotaryEmbedding(config)(torch.zeros(1), model.Sam3ViTLayer.precompute_positions(config, 0))
    angles = np.arctan2(*(each[0, :, ::2].double().numpy() for each in (sin, cos)))
    rows, columns = np.divmod(np.arange(HEIGHT * WIDTH), WIDTH)
    return angles, np.stack([columns, rows], axis=-1) * 2 / WIDTH, {"axes": (16, 16)}


@pytest.mark.parametrize(
    "released", [timm_pixels, timm_pixels_by_one_ratio, eva_02, eva_02_with_pixels, cogvideox, ltx_video, musicflamingo, sam_3]
)
def test_what_released_code_computes_is_axial_rope_at_real_positions(released: Any) -> None:
    angles, positions, rule = released()
    x = np.random.default_rng(1).standard_normal((1, 2, len(positions), sum(rule["axes"])))

    result = axial_rope.rotate(x, positions, head_dim=x.shape[-1], **rule)

    np.testing.assert_allclose(result, turned(x, angles), rtol=0, atol=FLOAT32 if released in (musicflamingo, sam_3) else FLOAT64)


class PixelRotary:
    """Frequencies and coordinates as timm makes them in float32, for places that are given."""

    def __init__(self, dim: int, max_res: float, *, half: float = 2.0) -> None:
        self.bands = np.linspace(1.0, max_res / half, dim // 4, dtype=np.float32) * np.float32(math.pi)

    def __call__(self, x: np.ndarray, positions: np.ndarray, sides: Sequence[int]) -> np.ndarray:
        grid = (positions / (np.array(sides) / 2)).astype(np.float32)
        angles = (grid[..., None] * self.bands).reshape(*positions.shape[:-1], -1)
        return turned(x, angles if angles.ndim == 2 else angles[:, None]).astype(x.dtype)


def equal_halves(parameters: Mapping[str, Any]) -> bool:
    return len(parameters["axes"]) == 2 and parameters["axes"][0] == parameters["axes"][1]


def by_pixels(x: np.ndarray, positions: np.ndarray, *, head_dim: int, base: float, sides: Sequence[int], **_: object) -> np.ndarray:
    return PixelRotary(head_dim, 2 * base)(x, positions, sides)


def by_all_pixels(x: np.ndarray, positions: np.ndarray, *, head_dim: int, base: float, sides: Sequence[int], **_: object) -> np.ndarray:
    return PixelRotary(head_dim, 2 * base, half=1.0)(x, positions, sides)


def test_pixel_frequencies_in_float32_conform() -> None:
    assert_conforms(by_pixels, "axial_rope.rotate", level="smoke", seed=1, dtypes=("float32",), when=equal_halves, **RISING)


def test_pixel_frequencies_that_end_at_all_pixels_are_named() -> None:
    with pytest.raises(AssertionError, match="rises-to-the-double"):
        assert_conforms(by_all_pixels, "axial_rope.rotate", level="smoke", seed=1, dtypes=("float32",), when=equal_halves, **RISING)


def tiled(x: np.ndarray, positions: np.ndarray, **_: object) -> np.ndarray:
    """Turn as V-JEPA 2 does: every axis a third of the head, by neighbouring pairs and tables of halves."""
    parts = []
    for part, places in zip(np.split(x, 3, axis=-1), np.moveaxis(positions, -1, 0), strict=True):
        half = part.shape[-1] // 2
        angles = np.tile(places[..., None] * 10_000.0 ** -(np.arange(half) / half), 2)
        angles = angles if angles.ndim == 2 else angles[:, None]
        swapped = np.stack([-part[..., 1::2], part[..., 0::2]], axis=-1).reshape(part.shape)
        parts.append(part * np.cos(angles) + swapped * np.sin(angles))
    return np.concatenate(parts, axis=-1).astype(x.dtype)


VIDEO: Mapping[str, Any] = {**RISING, "axes": [(20, 20, 20), (10, 10, 10)], "base": 10_000.0, "sides": (), "dtypes": ("float64",)}


def test_tables_of_halves_over_neighbouring_pairs_conform_where_they_are_declared() -> None:
    assert_conforms(tiled, "axial_rope.rotate", level="smoke", seed=1, **{**VIDEO, "ladder": "tiled"})


def test_tables_of_halves_over_neighbouring_pairs_are_a_mistake_where_they_are_not_declared() -> None:
    with pytest.raises(AssertionError, match=r"tiled-tables-neighbour-rotation(.|\n)*V-JEPA 2(.|\n)*ladder=\"tiled\""):
        assert_conforms(tiled, "axial_rope.rotate", level="smoke", seed=1, **{**VIDEO, "ladder": "own"})


def test_tiled_frequencies_over_neighbours_are_no_rotation() -> None:
    x, parameters = np.arange(1.0, 9.0).reshape(1, 1, 1, 8), {"head_dim": 8, "axes": (8,)}
    own, both = (axial_rope.rotate(x, np.array([[3]]), ladder=ladder, **parameters) for ladder in ("own", "tiled"))

    assert np.linalg.norm(own) == pytest.approx(np.linalg.norm(x))
    assert np.linalg.norm(both) == pytest.approx(1.053509665592917 * np.linalg.norm(x))


def test_tiled_frequencies_need_neighbours() -> None:
    with pytest.raises(SpecificationError, match=r"^layout must be interleaved with the ladder tiled, got half$"):
        axial_rope.rotate(np.ones((1, 1, 1, 4)), np.ones((1, 2)), head_dim=4, axes=(2, 2), ladder="tiled", layout="half")


@pytest.mark.parametrize("ladder", ["linear", "exponential"])
def test_frequencies_that_rise_need_sides(ladder: axial_rope.Ladder) -> None:
    with pytest.raises(SpecificationError, match=rf"^sides must be given with the ladder {ladder}, got \(\)$"):
        axial_rope.rotate(np.ones((1, 1, 1, 4)), np.ones((1, 2)), head_dim=4, axes=(2, 2), ladder=ladder)


def test_a_list_of_all_patches_from_which_some_are_picked_conforms() -> None:
    def picked(positions: np.ndarray, *, times: Any, heights: Any, widths: Any, merge: int) -> np.ndarray:
        every = []
        for time, height, width in zip(times, heights, widths, strict=True):
            blocks = np.indices((height, width)).reshape(2, height // merge, merge, width // merge, merge).transpose(1, 3, 2, 4, 0)
            every += [blocks.reshape(-1, 2)] * time
        return np.asarray(np.concatenate(every)[positions])

    assert_conforms(picked, "axial_rope.positions", level="smoke")
