"""Edits of one key: of every class of transformers that posenc knows, each is read as the class turns, or it is told of."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_configuration import LIKE
from test_configuration_classes import FLOAT32, RAISING, flat, held, modules

from refimpl import configuration as config
from refimpl.configuration import Reading
from refimpl.configuration.computing import at_zero, factor_of, of
from refimpl.configuration.defaults import PARTS_WITHIN, TEXT_WITHIN
from refimpl.configuration.families import family, is_known

transformers = pytest.importorskip("transformers", minversion="5.23.0")
pytestmark = pytest.mark.filterwarnings("ignore")

#: Edits of a single key beside the mapping.
KEYS: dict[str, tuple[Any, ...]] = {
    "head_dim": (48, None),
    "hidden_size": (None,),
    "num_attention_heads": (None,),
    "partial_rotary_factor": (0.5, None),
    "rotary_dim": (32, None),
    "rotary_pct": (0.5, None),
    "rope_theta": (7e4, None),
    "max_position_embeddings": (1000, None),
    "original_max_position_embeddings": (1000, None),
    "qk_rope_head_dim": (32, None),
    "qk_nope_head_dim": (32, None),
    "layer_types": (None,),
    "rope_parameters": (None,),
    "rope_scaling": (None,),
}
ORIGINAL = {"original_max_position_embeddings": 1024}
BAND = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
#: What tells that transformers may raise an error, or reads nothing, besides what tells that it does.
TELLING = RAISING | {"no-sections", "not-flat", "not-nested", "unread-mapping"}
#: Numbers of these differ from those of the class, and that is what they tell.
DIFFERING = {"null-fraction", "taken-width", "unread-fraction"}


def scalings(pairs: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield mappings of every rope type, whole, and with a key left out or null."""
    lists = {"short_factor": [1.0] * pairs, "long_factor": [2.0] * pairs}
    rules = {"linear": {"factor": 4.0}, "dynamic": {"factor": 4.0}, "yarn": {"factor": 4.0, **ORIGINAL}}
    for name, keys in {**rules, "llama3": {**BAND, **ORIGINAL}, "longrope": {**lists, **ORIGINAL}, "default": {}}.items():
        whole: dict[str, Any] = {"rope_type": name, **keys}
        yield name, whole
        for key in keys:
            yield f"{name} without {key}", {each: value for each, value in whole.items() if each != key}
            yield f"{name} with {key} null", {**whole, key: None}
        for key in ("rope_theta", "partial_rotary_factor"):
            yield f"{name} with {key} null", {**whole, key: None}
    yield "yarn with what may be left out null", {"rope_type": "yarn", "factor": 4.0, **ORIGINAL, "truncate": None, "beta_fast": None}
    yield "linear under its old key", {"type": "linear", "factor": 4.0}
    yield "longrope under its old name", {"type": "su", **lists, **ORIGINAL}
    yield "a base", {"rope_type": "default", "rope_theta": 7e4}
    yield "nothing", {}


def edits(pairs: int, kinds: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what is put beside what a class writes of itself."""
    yield "nothing", {}
    for key, values in KEYS.items():
        yield from ((f"{key}={value}", {key: value}) for value in values)
    for name, scaling in scalings(pairs):
        yield f"rope_scaling: {name}", {"rope_scaling": scaling}
        if len(scaling) > 1 and "without" in name and "original" in name:
            yield f"{name}, that beside it", {"rope_scaling": scaling, "original_max_position_embeddings": 1000}
            yield f"{name}, and null beside it", {"rope_scaling": scaling, "original_max_position_embeddings": None}
    yield "rope_parameters: a base", {"rope_parameters": {"rope_type": "default", "rope_theta": 7e4}}
    yield "rope_parameters: linear", {"rope_parameters": {"rope_type": "linear", "factor": 4.0}}
    for name, inside in {"bases": {"rope_theta": 7e4}, "no base": {}}.items():
        yield f"nested, {name}", {"rope_parameters": {kind: {"rope_type": "default", **inside} for kind in kinds}}
