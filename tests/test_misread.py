"""Code that takes a wrong number of a configuration, or one of another model, is told which."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from test_configured import (
    BASIC,
    BY_LAYER,
    BY_LENGTH,
    BY_STRETCH,
    DYNAMIC,
    GEMMA,
    LINEAR,
    MULTIMODAL,
    ON_AXES,
    PHI,
    READER,
    RESTING,
    ROTATE,
    STRETCHED,
    judged,
)

from conformance.diagnosis.miscounted import EXCHANGED, MISCOUNTS
from conformance.diagnosis.misread import misread
from conformance.isolate.session import Session

MODIFIED = (
    "    scaling = {{**configuration['rope_scaling'], {}}}\n    configuration = {{**configuration, 'rope_scaling': scaling}}\n    return"
)
OF_WIDTH = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration):
    width = WIDTH
    return turned(x, positions, configuration["rope_theta"] ** (-np.arange(0, COUNT, 2) / width))
"""
RAISED = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration):
    alpha, width, head_dim = configuration["rope_scaling"]["alpha"], 8, 16
    base = configuration["rope_theta"] * alpha ** (head_dim / (head_dim - 2))
    return turned(x, positions, base ** (-np.arange(0, width, 2) / width))
"""
CUT = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration):
    whole = frequencies({**configuration, "partial_rotary_factor": 1}, configuration["rope_theta"])
    return turned(x, positions, whole[:4])
"""
LONG_CUT = BY_LENGTH.replace("np.arange(0, width, 2) / width", "np.arange(0, width, 2) / 16")
TEMPERED = """

@adapter.implements("config.scale")
def scale(positions, *, configuration, layer):
    return np.ones(positions.shape, np.float32)
"""
PLAIN = {**BASIC, "rope_theta": 1e6, "head_dim": 32, "model_type": "qwen3"}
RESTING_TEMPERED = {
    **BASIC,
    "model_type": "llama4_text",
    "head_dim": 16,
    "num_hidden_layers": 4,
    "rope_theta": 1e4,
    "no_rope_layers": [1, 1, 1, 0],
    "attn_temperature_tuning": True,
    "floor_scale": 8192,
    "attn_scale": 0.1,
}
BOTH_WIDTHS = {
    **BASIC,
    "model_type": "gemma4_text",
    "head_dim": 16,
    "global_head_dim": 32,
    "layer_types": ["sliding_attention", "full_attention"],
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 20000.0},
        "full_attention": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.5},
    },
}
OF_KIND = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, layer):
    kinds, n = configuration["rope_parameters"], x.shape[-1]
    full = configuration["layer_types"][layer] == "full_attention"
    f = kinds["sliding_attention"]["rope_theta"] ** (-np.arange(0, n, 2) / n)
    return turned(x, positions, np.where(np.arange(n // 2) < n // 4, f, 0.0) if full else f)
"""
FIRST_LAYER = BY_LAYER.replace('configuration["layer_types"][layer]', 'configuration["layer_types"][5 - layer]')
WIDE = {**STRETCHED, "rope_scaling": {**STRETCHED["rope_scaling"], "low_freq_factor": 2.0, "high_freq_factor": 10.0}}
OF_NUMBERS = """

@adapter.implements("config.frequencies")
def numbers(*, configuration, length=None):
    return NUMBERS
"""
OF_RULE = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, length=None):
    return turned(x, positions, NUMBERS)
"""
PLAINLY = "configuration['rope_theta'] ** (-np.arange(0, {0}, 2) / {0})"
ONCE_LONGER = "(1e4 * ({} if length > 512 else 1.0) ** (16 / 14)) ** (-np.arange(0, 16, 2) / 16)"
FACTOR_OF_ONE = """

@adapter.implements("config.attention_factor")
def factor(*, configuration):
    return 1.0
"""
YARN = {**BASIC, "rope_theta": 1e6, "rope_scaling": {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 8192}}
NARROW = {**PLAIN, "head_dim": 8}
COUNTING = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, layer):
    count = configuration["num_hidden_layers"]
    return x if RESTS else turned(x, positions, configuration["rope_theta"] ** (-np.arange(0, 16, 2) / 16))
"""
COUNTED = {**BASIC, "model_type": "smollm3", "rope_theta": 5e5, "num_hidden_layers": 9, "no_rope_layer_interval": 4}
SHORT = {**STRETCHED, "rope_scaling": {**STRETCHED["rope_scaling"], "original_max_position_embeddings": 4096}}
HALF = {**DYNAMIC, "partial_rotary_factor": 0.5}
ALPHA = {
    **BASIC,
    "model_type": "hunyuan_v1_dense",
    "rope_theta": 1e4,
    "partial_rotary_factor": 0.5,
    "rope_scaling": {"type": "dynamic", "alpha": 1000.0},
}


def fixed(numbers: str) -> str:
    return ROTATE.replace("    return", MODIFIED.format(numbers))


@pytest.mark.parametrize(
    ("code", "configuration", "names"),
    [
        (
            BY_LENGTH.replace(
                'configuration["original_max_position_embeddings"]\n    factors', 'configuration["max_position_embeddings"]\n    factors'
            ),
            PHI,
            {"longrope.rotate/switch-at=131072", "longrope.frequencies/switch-at=131072"},
        ),
        (
            BY_STRETCH.replace('["max_position_embeddings"], 16', '["max_position_embeddings"] * 8, 16'),
            DYNAMIC,
            {"dynamic_ntk.rotate/original_length=4096"},
        ),
        (
            BY_STRETCH.replace("max(length, trained)", "(length if length > factor * trained else trained)"),
            DYNAMIC,
            {"dynamic_ntk.rotate/switch-at=4096"},
        ),
        (RAISED, ALPHA, {"ntk_aware.rotate/whole-head-raised"}),
        (
            BY_STRETCH.replace("width / (width - 2)", "16 / 14").replace('"], 16', '"], 8'),
            HALF,
            {"dynamic_ntk.rotate/whole-head-raised"},
        ),
        (CUT, LINEAR, {"position_interpolation.rotate/whole-head-ladder"}),
        (LONG_CUT, PHI, {"longrope.rotate/whole-head-ladder", "longrope.frequencies/whole-head-ladder"}),
        (OF_WIDTH.replace("WIDTH", "16").replace("COUNT", "32"), PLAIN, {"rope.rotate/head_dim=16"}),
        (OF_WIDTH.replace("WIDTH", "16").replace("COUNT", "16"), PLAIN, {"rope.rotate/head_dim=16"}),
        (OF_KIND, BOTH_WIDTHS, {"proportional_rope.rotate/base-of=sliding_attention"}),
        (
            ROTATE.replace("return turned", "return x; turned"),
            {**BASIC, "model_type": "smollm3", "rope_theta": 1e4},
            {"rope.rotate/not-turned"},
        ),
        (
            FIRST_LAYER,
            {**GEMMA, "num_hidden_layers": 12, "layer_types": [*GEMMA["layer_types"], *["sliding_attention"] * 6]},
            {"rope.rotate/as=full_attention", "position_interpolation.rotate/as=sliding_attention"},
        ),
        (
            BY_LAYER.replace("if full", "if not full"),
            GEMMA,
            {"rope.rotate/kinds-exchanged", "position_interpolation.rotate/kinds-exchanged"},
        ),
        (BY_LAYER.replace("(local, 10000.0)", "(configuration, 10000.0)"), GEMMA, {"rope.rotate/scaled-as=full_attention"}),
        (BY_LAYER.replace("(local, 10000.0)", "(local, 1e6)"), GEMMA, {"rope.rotate/base-of=full_attention"}),
        (ROTATE, RESTING, {"none.rotate/as=every-layer-with-rotation"}),
        (fixed("'low_freq_factor': 1.0, 'high_freq_factor': 4.0"), WIDE, {"llama3.rotate/low_freq_factor=1,high_freq_factor=4"}),
        (fixed("'factor': 32.0"), STRETCHED, {"llama3.rotate/factor=32"}),
        (fixed("'factor': 8.0"), LINEAR, {"position_interpolation.rotate/factor=8"}),
        (fixed("'original_max_position_embeddings': 8192"), SHORT, {"llama3.rotate/length-fixed"}),
        (fixed("'original_max_position_embeddings': 131072"), STRETCHED, {"llama3.rotate/original_length=131072"}),
    ],
)
@pytest.mark.usefixtures("unshrunk")
def test_what_is_taken_for_what_a_configuration_says_is_named(
    tmp_path: Path, code: str, configuration: Mapping[str, Any], names: set[str]
) -> None:
    report = judged(tmp_path, code, configuration)
    assert {found.mutants[0] for found in report.diagnoses.values()} == names
    assert all(len(found.mutants) == 1 and found.fix for found in report.diagnoses.values())


def test_layers_that_are_not_scaled_have_the_name_of_that(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, BY_LAYER.replace("(configuration, configuration", "(local, configuration"), GEMMA).diagnoses.values()
    assert found.mutants == ("position_interpolation.rotate/not-stretched",)


def test_lists_that_came_over_the_channel_are_those_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(READER + ON_AXES.replace("FOLLOWED", "np.arange(width // 2) % 3"))
    partial = {**MULTIMODAL, "model_type": "qwen3_5_text", "head_dim": 48, "full_attention_interval": 1}
    (tmp_path / "config.json").write_text(json.dumps(partial))
    path = tmp_path / "config.json"
    with Session(f"config:{path}:{tmp_path / 'mine.py'}") as session:
        (descriptor,) = session.implementations
    names = {name.partition("/")[2] for one in misread(descriptor, path) for name in one.names}
    assert names == {"whole-head-raised", "whole-head-ladder", "head_dim=16"}


@pytest.mark.usefixtures("unshrunk")
def test_no_declaration_is_advised_under_which_calls_stay_wrong(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, TEMPERED, RESTING_TEMPERED).diagnoses.values()
    assert found.mutants == ("temperature.scale/left-out",)
    assert found.fix == "multiply the queries by the temperature"


@pytest.mark.parametrize(
    ("code", "configuration", "name"),
    [
        (OF_RULE.replace("NUMBERS", PLAINLY.format(16)), YARN, "yarn.rotate/plain-rope"),
        (OF_RULE.replace("NUMBERS", PLAINLY.format(12)), PHI, "longrope.rotate/plain-rope"),
        (FACTOR_OF_ONE, PHI, "longrope.attention_factor/factor-missing"),
        (OF_NUMBERS.replace("NUMBERS", PLAINLY.format(16)), PLAIN, "rope.frequencies/head_dim=16"),
        (OF_NUMBERS.replace("NUMBERS", PLAINLY.format(16)), NARROW, "rope.frequencies/head_dim=16"),
        (OF_NUMBERS.replace("NUMBERS", PLAINLY.format(16) + " / 4"), LINEAR, "position_interpolation.frequencies/head_dim=16"),
        (OF_NUMBERS.replace("NUMBERS", ONCE_LONGER.format("8.0")), DYNAMIC, "dynamic_ntk.frequencies/factor-once-longer"),
        (OF_RULE.replace("NUMBERS", ONCE_LONGER.format("8.0")), DYNAMIC, "dynamic_ntk.rotate/factor-once-longer"),
        (OF_RULE.replace("NUMBERS", ONCE_LONGER.format("length / 64")), DYNAMIC, "dynamic_ntk.rotate/one-not-subtracted-once-longer"),
    ],
)
@pytest.mark.usefixtures("unshrunk")
def test_what_is_left_out_of_a_rule_or_of_a_head_is_named_first(
    tmp_path: Path, code: str, configuration: Mapping[str, Any], name: str
) -> None:
    (found,) = judged(tmp_path, code, configuration).diagnoses.values()
    assert found.mutants == (name,)


ODD = {**PLAIN, "hidden_size": 52, "head_dim": 16}


def test_no_width_is_named_that_cannot_be_paired(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, OF_NUMBERS.replace("NUMBERS", PLAINLY.format(12)), ODD).diagnoses.values()
    assert found.mutants == ("rope.frequencies/head_dim=12",)
    assert "12 channels, the hidden size divided among the heads, less an odd channel" in found.does


def test_as_many_frequencies_as_no_head_has_get_no_name(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, OF_NUMBERS.replace("NUMBERS", PLAINLY.format(24)), PLAIN).diagnoses.values()
    assert not found.named


@pytest.mark.parametrize(
    ("rests", "name"),
    [
        ("layer % 4 == 0", "layers-one-late"),
        ("(layer + 2) % 4 == 0", "layers-one-early"),
        ("(count - layer) % 4 == 0", "layers-from-the-end"),
        ("(layer + 1) % 4 != 0", "kinds-exchanged"),
    ],
)
@pytest.mark.usefixtures("unshrunk")
def test_layers_that_are_counted_wrongly_are_told_by_how(tmp_path: Path, rests: str, name: str) -> None:
    found = judged(tmp_path, COUNTING.replace("RESTS", rests), COUNTED).diagnoses.values()
    assert {each.mutants for each in found} == {(f"none.rotate/{name}",), (f"rope.rotate/{name}",)}


@pytest.mark.parametrize("rests", ["False", "True", "layer < 3"])
@pytest.mark.usefixtures("unshrunk")
def test_layers_that_no_count_explains_are_told_as_before(tmp_path: Path, rests: str) -> None:
    found = judged(tmp_path, COUNTING.replace("RESTS", rests), COUNTED).diagnoses.values()
    assert found
    assert not {each.mutants[0].partition("/")[2] for each in found} & {*MISCOUNTS, EXCHANGED[0]}
