"""No code is convicted by what is only assumed of a model type that posenc doesn't know; other mistakes still are."""

import json
from pathlib import Path
from typing import Any

import pytest

from conformance import run
from conformance.calls.outcomes import Report
from conformance.calls.status import Status

SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4, "max_position_embeddings": 4096}
NEW: dict[str, Any] = {"model_type": "new", **SIZES}
BASED = {**NEW, "rope_theta": 1e4}
BASELESS = {**NEW, "partial_rotary_factor": 1.0}
SLIDING = {"layer_types": ["sliding_attention"] * 3 + ["full_attention"]}
LINEAR = {**BASED, **SLIDING, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
CODE = """
import numpy as np
from posenc import Adapter

adapter = Adapter("mine")


@adapter.implements("config.frequencies")
def frequencies(*, configuration, layer):
    return BASE ** (-np.arange(0, WIDTH, 2) / WIDTH) / (8 if "rope_scaling" in configuration and SCALED(layer) else 1)


@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, layer):
    if not TURNS(layer):
        return x.copy()
    angles = (positions + SHIFT)[..., None] * frequencies(configuration=configuration, layer=layer) * SIGN
    cos, sin = np.cos(angles), np.sin(angles)
    cos, sin = (t[:, None] if t.ndim == 3 else t for t in (cos, sin))
    out, near = x.astype(float), NEIGHBOURS
    first = slice(0, WIDTH, 2) if near else slice(0, WIDTH // 2)
    second = slice(1, WIDTH, 2) if near else slice(WIDTH // 2, WIDTH)
    out[..., first], out[..., second] = x[..., first] * cos - x[..., second] * sin, x[..., first] * sin + x[..., second] * cos
    return out.astype(x.dtype)
"""
USUAL = {"BASE": "1e4", "WIDTH": "16", "SCALED": "bool", "TURNS": "(lambda layer: True)", "SHIFT": "0", "SIGN": "1", "NEIGHBOURS": "False"}
FULL = "(lambda layer: layer == 3)"


def judged(folder: Path, configuration: dict[str, Any], **changes: str) -> Report:
    code = CODE
    for name, value in {**USUAL, **changes}.items():
        code = code.replace(name, value)
    (folder / "mine.py").write_text(code)
    (folder / "config.json").write_text(json.dumps(configuration))
    return run.check(f"config:{folder / 'config.json'}:{folder / 'mine.py'}", level="smoke", seed=0)


def refusals(report: Report) -> str:
    return " ".join(str(each) for each in report.results)


@pytest.mark.parametrize(
    ("configuration", "changes", "told"),
    [
        (BASED, {"NEIGHBOURS": "True"}, "layout=interleaved: declare it"),
        (BASED, {"SIGN": "-1"}, "direction=negative: declare it"),
        (BASED, {"WIDTH": "8"}, "channels 0 to 7 of 16 turning: say it by partial_rotary_factor"),
        (BASED, {"WIDTH": "8", "NEIGHBOURS": "True"}, "say it by partial_rotary_factor; layout="),
        (BASED, {"TURNS": "(lambda layer: layer < 3)"}, "say which do by no_rope_layers"),
        (BASELESS, {"BASE": "5e5"}, "the base 10000 is assumed: say rope_theta"),
        (LINEAR, {"SCALED": FULL}, "nest rope_parameters by their kinds"),
    ],
    ids=["layout", "direction", "width", "width and layout", "still", "base", "scaling"],
)
def test_code_that_another_assumption_explains_gets_no_verdict_and_is_told_which(
    tmp_path: Path, configuration: dict[str, Any], changes: dict[str, str], told: str
) -> None:
    report = judged(tmp_path, configuration, **changes)
    assert report.status is Status.NOT_JUDGED
    assert "the model type 'new' isn't in posenc's tables; " in refusals(report)
    assert told in refusals(report)


@pytest.mark.parametrize(
    ("configuration", "changes"),
    [
        (BASED, {"SHIFT": "1"}),
        (BASED, {"BASE": "9e3"}),
        (BASED, {"NEIGHBOURS": "True", "SHIFT": "1"}),
        ({**BASED, "partial_rotary_factor": 0.5}, {}),
        ({**LINEAR, "layer_types": ["full_attention"] * 4}, {"SCALED": "(lambda layer: False)"}),
    ],
    ids=["shift", "base", "shift and layout", "width", "scaling"],
)
def test_code_that_no_assumption_explains_is_convicted(tmp_path: Path, configuration: dict[str, Any], changes: dict[str, str]) -> None:
    assert judged(tmp_path, configuration, **changes).status is Status.DIFFERS


@pytest.mark.parametrize("configuration", [BASELESS, BASED, {**BASED, **SLIDING}])
def test_code_that_is_as_assumed_conforms(tmp_path: Path, configuration: dict[str, Any]) -> None:
    assert judged(tmp_path, configuration).status is Status.CONFORMS


def test_code_of_a_known_model_type_is_convicted_of_its_layout(tmp_path: Path) -> None:
    assert judged(tmp_path, {**BASED, "model_type": "llama"}, NEIGHBOURS="True").status is Status.DIFFERS


@pytest.mark.parametrize(("width", "status"), [("16", Status.CONFORMS), ("8", Status.NOT_JUDGED)])
def test_a_fraction_that_other_code_of_a_type_reads_convicts_neither(tmp_path: Path, width: str, status: Status) -> None:
    configuration = {**BASED, "model_type": "llama", "partial_rotary_factor": 0.5}
    report = judged(tmp_path, configuration, WIDTH=width)
    assert report.status is status
    assert [warning.partition(":")[0] for warning in report.warnings] == ["unread-part"]
    assert ("code differs on partial_rotary_factor" in refusals(report)) == (status is Status.NOT_JUDGED)
