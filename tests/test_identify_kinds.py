"""Of 41 kinds of functions, as people and libraries have them, at least 38 are named, and of none is anything false said."""

from types import ModuleType
from typing import Any

import identify_functions
import identify_natural
import identify_people
import identify_truths
import pytest
from test_identify import identity_of, pasted, told_of, verify

#: What each is, and what it shows.
NAMED: dict[str, tuple[ModuleType, str, dict[str, Any]]] = {
    "queries and keys in one call": (
        identify_functions,
        "queries_and_keys",
        {"operation": "rope.rotate", "layout": "half", "direction": "positive", "base": 1e4},
    ),
    "clockwise": (
        identify_functions,
        "clockwise",
        {"operation": "rope.rotate", "layout": "half", "direction": "negative", "base": 1e4},
    ),
    "some channels": (
        identify_functions,
        "some_channels",
        {"operation": "partial_rope.rotate", "layout": "half", "base": 1e4, "rotary_dim": 16, "placement": "first"},
    ),
    "complex waves": (identify_functions, "complex_waves", {"operation": "rope.tables", "base": 1e4, "head_dim": 64}),
    "inverse frequencies": (identify_functions, "inverse_frequencies", {"operation": "rope.frequencies", "base": 1e4}),
    "a temperature by steps": (
        identify_functions,
        "steps_of_8192",
        {"operation": "temperature.scale", "floor_scale": 8_192, "attn_scale": 0.1, "shift": 1},
    ),
    "keys of xPos": (
        identify_functions,
        "growing_keys",
        {"operation": "xpos.rotate_key", "layout": "interleaved", "base": 1e6, "scale_base": 256.0, "centre": 40},
    ),
    "whole wavelengths": (
        identify_functions,
        "whole_wavelengths",
        {"operation": "resonance_rope.rotate", "layout": "half", "direction": "positive", "base": 5e5},
    ),
    "NTK by parts": (
        identify_functions,
        "by_parts",
        {"operation": "ntk_by_parts.rotate", "base": 1e4, "factor": 16.0, "original_length": 4_096, "alpha": 1.0, "beta": 32.0},
    ),
    "rows of a table added": (
        identify_functions,
        "rows_added",
        {"operation": "learned.add", "offset": 2, "outside": "raise", "embedding_scale": "none"},
    ),
    "ALiBi's slopes": (
        identify_functions,
        "of_the_code",
        {"operation": "alibi.slopes", "max_bias": 8.0, "slopes": "code", "num_heads": 8},
    ),
    "tables side by side": (identify_natural, "side_by_side", {"operation": "rope.tables", "base": 1e4}),
    "ALiBi aligned at the end": (identify_natural, "last_of_keys", {"operation": "alibi.bias", "form": "symmetric"}),
    "ALiBi over a mask": (identify_natural, "over_a_mask", {"operation": "alibi.bias", "form": "column"}),
    "tables, tokens first": (identify_natural, "by_tables_of_tokens_first", {"operation": "rope.apply", "layout": "half"}),
    "tables on four axes": (identify_natural, "by_tables_of_four_axes", {"operation": "rope.apply", "layout": "half"}),
    "dynamic NTK by the farthest position": (
        identify_natural,
        "base_by_farthest",
        {"operation": "dynamic_ntk.rotate", "base": 1e4, "factor": 2.0, "original_length": 2_048},
    ),
    "log-n scaling": (identify_natural, "from_a_list_of_logarithms", {"operation": "temperature.log_scale", "original_length": 2_048}),
    "YaRN": (identify_natural, "by_what_is_given", {"operation": "yarn.rotate", "slope": 0.1, "attention_factor": None}),
    "retention": (identify_people, "retention", {"operation": "retnet.rotate", "base": 1e4}),
    "KERPLE": (identify_people, "kerple_power", {"operation": "kerple.bias", "form": "power"}),
    "NTK, mixed": (
        identify_people,
        "mixed_by_half",
        {"operation": "ntk_aware.frequencies", "base": 5e5, "factor": 6.0, "fastest": "slowed", "power": 0.5},
    ),
    "tables with an axis of heads": (identify_people, "tables_of_heads", {"operation": "rope.tables", "base": 1e4}),
    "three axes, sections inside": (
        identify_people,
        "sections_inside",
        {"operation": "mrope.rotate", "sections": (8, 12, 12), "head_dim": 64},
    ),
    "sinusoids of an image": (
        identify_people,
        "waves",
        {"operation": "sincos_2d.encode", "order": "column_first", "layout": "halves", "base": 1e4},
    ),
    "sinusoids added to patches": (identify_people, "added_to_patches", {"operation": "sincos_2d.add", "order": "column_first"}),
    "a turned image": (
        identify_people,
        "turned_image",
        {"operation": "axial_rope.rotate", "base": 100.0, "order": "block", "ladder": "own"},
    ),
    "ALiBi of keys": (identify_people, "bias_of_no_mask", {"operation": "alibi.bias", "form": "column", "num_heads": 8}),
    "xPos": (identify_people, "fading_both", {"operation": "xpos.rotate_query_key", "scale_base": 512.0, "base": 1e4}),
    "learned exponents beside YaRN": (
        identify_people,
        "learned_beside_yarn",
        {"operation": "lerope.rotate", "base": 1e4, "factor": 8.0, "original_length": 512, "truncate": True},
    ),
    "learned exponents": (identify_people, "learned_frequencies", {"operation": "lerope.frequencies", "base": 1e4, "factor": 1.0}),
    "tokens first": (identify_truths, "tokens_first", {"operation": "rope.rotate", "layout": "half", "base": 1e4}),
    "a module": (identify_truths, "module", {"operation": "rope.rotate", "layout": "half", "base": 1e6}),
    "vectors of tokens": (identify_truths, "one_of_tokens", {"operation": "rope.rotate", "layout": "half", "base": 1e4}),
    "tables of a cache": (identify_truths, "cached_tables", {"operation": "rope.tables", "base": 1e4}),
    "sinusoids of time steps": (
        identify_truths,
        "waves_of_a_batch",
        {"operation": "sinusoidal.encode", "layout": "halves", "spacing": "paper"},
    ),
    "ALiBi of a mask's keys": (identify_truths, "of_keys_only", {"operation": "alibi.bias", "slopes": "code", "form": "column"}),
    "a grid": (
        identify_truths,
        "on_a_grid",
        {"operation": "axial_rope.rotate", "layout": "interleaved", "base": 1e4, "axes": (32, 32)},
    ),
    "DETR's sinusoids": (
        identify_truths,
        "of_detr",
        {"operation": "sincos_2d.encode", "order": "row_first", "layout": "interleaved", "base": 20.0, "dim": 64},
    ),
    "timm's sinusoids": (
        identify_truths,
        "of_timm",
        {"operation": "sincos_2d.encode", "order": "row_first", "layout": "joined", "base": 1e4, "dim": 64},
    ),
}
#: What is no operation, and the words that are true of it.
UNKNOWN: dict[str, tuple[ModuleType, str, str]] = {
    "YaRN, its ramp turned round": (identify_natural, "ramp_turned_round", "learned, drawn, or of a rule that isn't known"),
}


def shown(module: ModuleType, name: str) -> dict[str, Any]:
    seen = identity_of(module, name)
    return {"operation": seen.operation, **{key: value.value for key, value in seen.parameters.items()}}


@pytest.mark.parametrize("kind", NAMED)
def test_a_kind_of_function_is_named_and_its_pasted_adapter_conforms(kind: str) -> None:
    module, name, expected = NAMED[kind]
    seen = shown(module, name)

    assert {key: seen.get(key) for key in expected} == expected
    verify(pasted(str(told_of(module, name).declaration())))


@pytest.mark.parametrize("kind", UNKNOWN)
def test_of_a_kind_of_function_that_is_unknown_nothing_false_is_said(kind: str) -> None:
    module, name, words = UNKNOWN[kind]
    seen = identity_of(module, name)

    assert (seen.operation, seen.values_of) == (None, None)
    assert words in seen.what


def test_at_least_38_of_41_kinds_of_functions_are_named() -> None:
    assert len({(module.__name__, name) for module, name, _ in (*NAMED.values(), *UNKNOWN.values())}) == 41
    assert len(NAMED) >= 38
