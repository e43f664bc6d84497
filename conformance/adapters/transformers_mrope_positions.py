"""Positions of transformers' multimodal models, each by its own model: a sequence up to the text after its last grid, then by decoding."""

import math
from collections.abc import Mapping
from itertools import groupby
from types import MethodType, SimpleNamespace
from typing import Any

import torch
from transformers.models.ernie4_5_vl_moe.modeling_ernie4_5_vl_moe import Ernie4_5_VLMoeModel
from transformers.models.glm4v.modeling_glm4v import Glm4vModel
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLModel
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLModel
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLModel

from conformance.adapters.transformers_adapter import adapter

#: What processors call a token.
TEXT, IMAGE, VIDEO = 0, 1, 2
#: How many patches are merged: on each side of a token of all these models, and frames of Ernie's videos.
MERGED, FRAMES = 2, 2
Parameters = Mapping[str, Any]
#: Time, height and width of images and of videos, in tokens.
Grids = dict[int, list[tuple[int, int, int]]]


def _separate(parameters: Parameters) -> bool:
    """Whether there are grids, with text between them: the models find grids by what kinds of tokens follow one another."""
    return bool(parameters["text"]) and all(parameters["text"][1:])


def _short(parameters: Parameters) -> bool:
    """Whether no video reaches farther in time than in height or width: transformers looks at these alone."""
    interval = parameters["tokens_per_second"] * parameters["seconds"]
    sides = zip(parameters["times"], parameters["heights"], parameters["widths"], strict=True)
    return _separate(parameters) and all((time - 1) * interval < max(height, width) for time, height, width in sides)


def _frames(parameters: Parameters) -> bool:
    """Whether every grid is an image, or a frame that has its time as text before it."""
    return _separate(parameters) and set(parameters["times"]) == {1}


def _whole(parameters: Parameters) -> tuple[list[int], Grids]:
    """Return what every grid is, an image or a video of several steps, and the grids of both."""
    every = list(zip(*(parameters[name] for name in ("times", "heights", "widths")), strict=True))
    kinds = [IMAGE if time == 1 else VIDEO for time, _, _ in every]
    return kinds, {kind: [grid for grid, other in zip(every, kinds, strict=True) if other == kind] for kind in (IMAGE, VIDEO)}


def _joined(parameters: Parameters) -> tuple[list[int], Grids]:
    """Return what every grid is, where frames of one size are listed as one video, and the grids of both."""
    kinds, grids = list[int](), Grids({IMAGE: [], VIDEO: []})
    for (height, width), frames in groupby(zip(parameters["heights"], parameters["widths"], strict=True)):
        count = len(list(frames))
        kind = IMAGE if count == 1 else VIDEO
        kinds += [kind] * count
        grids[kind].append((count, height, width))
    return kinds, grids


def _patches(grids: list[tuple[int, int, int]], frames: int = 1) -> torch.Tensor | None:
    """Return grids as processors list them: before patches, and frames, are merged."""
    return torch.tensor([(time * frames, height * MERGED, width * MERGED) for time, height, width in grids]) if grids else None


def _builder(model: type, **vision: int) -> Any:
    """Return what builds a model's positions: its methods, and the numbers that they read from a configuration."""
    numbers = SimpleNamespace(spatial_merge_size=MERGED, temporal_merge_size=FRAMES, **vision)
    builder = SimpleNamespace(config=SimpleNamespace(vision_config=numbers), rope_deltas=None)
    for name in ("get_vision_position_ids", "get_rope_index", "compute_3d_position_ids"):
        setattr(builder, name, MethodType(getattr(model, name), builder))
    return builder


def _built(
    builder: Any, positions: torch.Tensor, parameters: Parameters, listed: tuple[list[int], Grids], *, frames: int = 1, **seconds: Any
) -> torch.Tensor:
    """Return the places of tokens that count up: those of a prompt that ends with the text after its last grid, and decoded ones."""
    kinds, grids = listed
    tokens = list[int]()
    for kind, before, *sides in zip(kinds, *(parameters[name] for name in ("text", "times", "heights", "widths")), strict=True):
        tokens += [TEXT] * before + [kind] * math.prod(sides)
    ids = torch.tensor([[*tokens, TEXT]])
    first, end = int(positions[0]), int(positions[-1]) + 1
    after = max(first, ids.shape[1])
    given = {"image_grid_thw": _patches(grids[IMAGE]), "video_grid_thw": _patches(grids[VIDEO], frames), "attention_mask": None, **seconds}
    prompt = builder.compute_3d_position_ids(
        input_ids=ids, mm_token_type_ids=ids, inputs_embeds=ids[..., None], past_key_values=None, **given
    )
    decoded = builder.compute_3d_position_ids(
        input_ids=None,
        inputs_embeds=torch.zeros(1, max(end - after, 0), 1),
        past_key_values=SimpleNamespace(get_seq_length=lambda: after),
        **given,
    )
    return torch.cat([prompt[:, 0, first:end], decoded[:, 0]], dim=-1).T


#: Prompts, and what is decoded after them: tokens count up, from anywhere.
COUNTED: Mapping[str, Any] = {"positions": "consecutive", "lowest": 0, "dtypes": ("float32",)}


@adapter.implements("mrope.positions", label="qwen2-vl", when=_short, tokens_per_second=1, seconds=1.0, **COUNTED)
def by_qwen2_vl(positions: torch.Tensor, **parameters: Any) -> torch.Tensor:
    """Count steps in time."""
    return _built(_builder(Qwen2VLModel), positions, parameters, _whole(parameters))


@adapter.implements("mrope.positions", label="qwen2.5-vl", when=_short, **COUNTED)
def by_qwen2_5_vl(positions: torch.Tensor, *, tokens_per_second: int, seconds: float, **parameters: Any) -> torch.Tensor:
    """Measure time."""
    kinds, grids = _whole(parameters)
    builder = _builder(Qwen2_5_VLModel, tokens_per_second=tokens_per_second)
    return _built(builder, positions, parameters, (kinds, grids), second_per_grid_ts=torch.tensor([seconds] * len(grids[VIDEO])))


@adapter.implements("mrope.positions", label="qwen3-vl", when=_frames, **COUNTED)
def by_qwen3_vl(positions: torch.Tensor, **parameters: Any) -> torch.Tensor:
    """Begin every frame anew."""
    return _built(_builder(Qwen3VLModel), positions, parameters, _joined(parameters))


@adapter.implements("mrope.positions", label="glm-4v", when=_frames, **COUNTED)
def by_glm4v(positions: torch.Tensor, **parameters: Any) -> torch.Tensor:
    """Begin every frame anew."""
    return _built(_builder(Glm4vModel), positions, parameters, _joined(parameters))


@adapter.implements("mrope.positions", label="ernie-4.5-vl", when=_short, tokens_per_second=1, seconds=1.0, **COUNTED)
def by_ernie(positions: torch.Tensor, **parameters: Any) -> torch.Tensor:
    """Count steps in time, of two frames each."""
    return _built(_builder(Ernie4_5_VLMoeModel), positions, parameters, _whole(parameters), frames=FRAMES)
