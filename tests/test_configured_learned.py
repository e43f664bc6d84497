"""What weights hold is given to code by keyword, so that code whose frequencies and temperature are learned is judged by configuration."""

from pathlib import Path
from typing import Any

import pytest
from test_configured import judged

from conformance.calls.outcomes import Passed, Unsupported
from conformance.calls.status import Status
from conformance.cli import main

YARN = {
    "rope_type": "yarn", "rope_theta": 1e4, "factor": 2048.0, "original_max_position_embeddings": 512, "beta_fast": 32.0, "beta_slow": 1.0,
    "attention_factor": 1.0,
}  # fmt: skip
SIZES = {"num_hidden_layers": 8, "max_position_embeddings": 1_048_576, "qk_rope_head_dim": 16, "qk_nope_head_dim": 8}
MISTRAL: dict[str, Any] = {
    "model_type": "mistral_large4", "text_config": {"model_type": "mistral_large4_text", **SIZES, "rope_parameters": YARN},
}  # fmt: skip
CODE = """def thetas(c, exponents):
    rope = c["rope_parameters"]
    width, original, base = c["qk_rope_head_dim"], rope["original_max_position_embeddings"], rope["rope_theta"]
    plain = base ** (-np.arange(0, width, 2) / width)
    low, high = (width * np.log(original / (turns * 2 * np.pi)) / (2 * np.log(base)) for turns in (32.0, 1.0))
    low, high = max(np.floor(low), 0), min(np.ceil(high), width - 1)
    ramp = np.clip((np.arange(width // 2) - low) / (high - low), 0, 1)
    return plain * (1 - ramp + ramp / rope["factor"]) * np.exp(np.asarray(exponents, dtype=np.float64))


@adapter.implements("config.frequencies")
def frequencies(*, configuration, exponents):
    return thetas(configuration["text_config"], exponents)


@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, layer, exponents):
    c = configuration["text_config"]
    if (layer + 1) % 4 == 0:
        return x
    width = c["qk_rope_head_dim"]
    angles = positions[..., None] * thetas(c, exponents)
    angles = angles if angles.ndim == 2 else angles[:, None]
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[..., -width::2], x[..., 1 - width :: 2]
    turned = np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
    return np.concatenate([x[..., :-width], turned.astype(x.dtype)], axis=-1)


@adapter.implements("config.scale")
def scale(positions, *, slopes, biases):
    return slopes[:, None] * np.log1p(positions * 1.0)[..., None, :] + biases[:, None]
"""
TURNING, RESTING = "mine, every layer with rotation", "mine, every layer without rotation"


def test_code_that_uses_what_it_is_given_conforms_in_layers_that_turn_and_that_rest(tmp_path: Path) -> None:
    report = judged(tmp_path, CODE, MISTRAL)
    assert report.status is Status.CONFORMS
    assert {(each.implementation, each.operation) for each in report.evidence} == {
        (TURNING, "lerope.frequencies"),
        (TURNING, "lerope.rotate"),
        (RESTING, "none.rotate"),
        (TURNING, "temperature.learned_scale"),
        (RESTING, "temperature.learned_scale"),
    }


@pytest.mark.parametrize(
    ("right", "wrong", "kinds", "mistake"),
    [
        ("np.exp(np.asarray", "np.exp2(np.asarray", {TURNING}, "exponents-of-two"),
        ("np.exp(np.asarray(exponents", "np.exp(0 * np.asarray(exponents", {TURNING}, "exponents-ignored"),
        ("slopes[:, None] * np.log1p(", "slopes[:, None] * (", {TURNING, RESTING}, "linear"),
        ("+ biases[:, None]", "+ 1.0", {TURNING, RESTING}, "one-for-bias"),
    ],
)
def test_code_that_uses_it_otherwise_is_convicted_and_named(tmp_path: Path, right: str, wrong: str, kinds: set[str], mistake: str) -> None:
    report = judged(tmp_path, CODE.replace(right, wrong), MISTRAL)
    assert report.status is Status.DIFFERS
    assert {each.implementation for each in report.results if each.convicts} == kinds
    assert {name.partition("/")[2] for told in report.diagnoses.values() for name in told.mutants[:1]} == {mistake}


def test_code_that_has_weights_of_its_own_gets_no_verdict_where_they_count(tmp_path: Path) -> None:
    report = judged(tmp_path, CODE.replace(", exponents):", "):").replace("exponents)", "np.zeros(8))"), MISTRAL)
    told = {str(each.outcome) for each in report.results if isinstance(each.outcome, Unsupported) and each.operation == "lerope.rotate"}
    assert any("the function must take exponents by keyword in this layer, where these are learned" in each for each in told)
    passed = {each.operation for each in report.results if isinstance(each.outcome, Passed) and each.implementation == TURNING}
    assert passed == {"temperature.learned_scale"}
    assert report.status is not Status.CONFORMS


@pytest.mark.parametrize(
    ("function", "taken"),
    [("config.rotate", {"length", "exponents"}), ("config.frequencies", {"length", "exponents"}), ("config.scale", {"slopes", "biases"}),
     ("config.attention_factor", {"length"}), ("config.rotate_on_axes", set())],
)  # fmt: skip
def test_a_function_is_shown_with_what_weights_hold(capsys: pytest.CaptureFixture[str], function: str, taken: set[str]) -> None:
    assert main(["show", function]) == 0
    shown = capsys.readouterr().out
    assert {word for word in ("length", "exponents", "slopes", "biases") if f"  {word}: " in shown} == taken
