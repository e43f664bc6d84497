"""Functions that read a configuration are judged in half precision: cast, under autocast, and as they are loaded."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from conformance import run
from conformance.calls.outcomes import Failed, Outcome, Passed, Report
from conformance.calls.status import Status
from conformance.calls.subject import CallRefusedError, Reply
from conformance.diagnosis.diagnose import Observation, diagnose
from conformance.isolate.session import Session
from conformance.judge.judge import compare, exact_in
from conformance.spec.vectors import Vector, load, of_models
from tools.generate.models import published
from tools.released import RELEASED

pytest.importorskip("torch", reason="torch is not installed")

CONFIGURATION: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096,
    "rope_theta": 500000.0,
}  # fmt: skip
#: A model whose rotary module keeps what is multiplied by positions, and attention that turns queries by it.
MODEL = """
import functools
import json
import torch
from posenc import Adapter

adapter = Adapter("mine", framework="torch", dtypes=("float32", "bfloat16", "float16"))


class Rotary(torch.nn.Module):
    def __init__(self, configuration):
        super().__init__()
        width = configuration["hidden_size"] // configuration["num_attention_heads"]
        self.of = width, configuration["rope_theta"]
        self.register_buffer("held", self.ladder(), persistent=False)

    def ladder(self):
        width, base = self.of
        return 1.0 / base ** (torch.arange(0, width, 2, dtype=torch.float32) / width)

    def forward(self, x, positions):
        angles = positions[..., None].float() * FREQUENCIES
        angles = angles[None] if angles.ndim == 2 else angles
        cos, sin = (torch.cat((table, table), -1)[:, None] for table in (angles.cos(), angles.sin()))
        one, other = x.chunk(2, -1)
        return (x * cos + torch.cat((-other, one), -1) * sin).to(x.dtype)


@functools.lru_cache
def module(written):
    return Rotary(json.loads(written))


@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration):
    return module(json.dumps(configuration))(x, positions)
"""
HELD, COMPUTED = "self.held.float()", "self.ladder()"


def judged(folder: Path, code: str, under: str | None, configuration: dict[str, Any] | None = None) -> Report:
    (folder / "config.json").write_text(json.dumps(configuration or CONFIGURATION), encoding="utf-8")
    (folder / "mine.py").write_text(code, encoding="utf-8")
    return run.check(f"config:{folder / 'config.json'}:{folder / 'mine.py'}", level="smoke", seed=0, under=under)


def passed(report: Report) -> set[str]:
    return {result.dtype for result in report.results if isinstance(result.outcome, Passed)}


def failed(report: Report) -> set[str]:
    return {result.dtype for result in report.results if isinstance(result.outcome, Failed)}


def named(report: Report) -> dict[str, str]:
    """Return the names that were found, by the dtype."""
    return {told.rpartition(":")[2]: each.name for told, each in report.diagnoses.items()}


def test_frequencies_in_a_buffer_conform_in_every_dtype_where_nothing_casts_them(tmp_path: Path) -> None:
    report = judged(tmp_path, MODEL.replace("FREQUENCIES", HELD), None)

    assert report.status is Status.CONFORMS
    assert passed(report) == {"float32", "bfloat16", "float16"}


def test_frequencies_in_a_buffer_are_convicted_by_a_cast_and_named(tmp_path: Path) -> None:
    report = judged(tmp_path, MODEL.replace("FREQUENCIES", HELD), "cast")

    assert report.status is Status.DIFFERS
    assert failed(report) == {"bfloat16", "float16"}
    assert named(report) == {"bfloat16": "rope.rotate/bfloat16-frequencies", "float16": "rope.rotate/float16-frequencies"}


def test_frequencies_that_are_computed_at_every_call_conform_under_a_cast(tmp_path: Path) -> None:
    report = judged(tmp_path, MODEL.replace("FREQUENCIES", COMPUTED), "cast")

    assert report.status is Status.CONFORMS
    assert passed(report) == {"bfloat16", "float16"}


@pytest.mark.parametrize("model_type", ["llama", "somebodys"])
def test_angles_by_a_matrix_product_are_convicted_under_autocast(tmp_path: Path, model_type: str) -> None:
    code = MODEL.replace("positions[..., None].float() * FREQUENCIES", "positions[..., None].float() @ self.ladder()[None]")
    report = judged(tmp_path, code, "autocast", {**CONFIGURATION, "model_type": model_type})

    assert report.status is Status.DIFFERS
    assert named(report) == {each: f"rope.rotate/{each}-positions-frequencies-angles" for each in ("bfloat16", "float16")}


def test_a_function_without_half_precision_is_counted_with_its_reason(tmp_path: Path) -> None:
    code = MODEL.replace("FREQUENCIES", HELD).replace('("float32", "bfloat16", "float16")', '("float32",)')
    report = judged(tmp_path, code, "cast")

    assert report.status is Status.NOT_JUDGED
    assert {str(result.outcome) for result in report.results if "half precision" in str(result.outcome)}


#: Golden cases of released models: layers that rest beside those that turn by complex tables, YaRN in two kinds of layers, text of a
#: model with three axes, and an encoder of images; a rounding of frequencies must fail each but the one of layers that rest.
RESTING = ("meta-llama/Llama-4-Scout-17B-16E", "none.rotate/common-width")
TURNING = (
    ("meta-llama/Llama-4-Scout-17B-16E", "llama3.rotate/meta-llama-llama-4-scout-17b-16e-last"),
    ("openai/gpt-oss-120b", "yarn.rotate/openai-gpt-oss-20b-sliding-attention-last"),
    ("Qwen/Qwen2.5-VL-7B-Instruct", "rope.rotate/qwen-qwen2-5-vl-7b-instruct-last"),
    ("Qwen/Qwen2-VL-7B-Instruct (vision)", "axial_rope.rotate/qwen-qwen2-vl-7b-instruct-vision"),
)
ENTRIES = {entry["id"]: entry for entry in RELEASED}


def of_transformers(folder: Path, model: str, case: str, under: str | None, dtype: str) -> tuple[Outcome, set[str]]:
    """Return what comes of a golden case, and what the values of all that the model takes are named."""
    pytest.importorskip("transformers", minversion="5.23.0")
    path, operation = folder / "config.json", case.partition("/")[0]
    path.write_text(json.dumps(published(ENTRIES[model])), encoding="utf-8")
    replies = list[tuple[Vector, Reply]]()
    with Session(f"config:{path}:transformers", under=under) as session:
        implementation = next(each for each in session.implementations if each.operation == operation)
        profile = implementation.profile[dtype]
        subject = session.subject(implementation, dtype, profile)
        for vector in [*load([operation]), *of_models([operation])]:
            if vector.error is None and exact_in(vector, dtype):
                with suppress(CallRefusedError):
                    replies.append((vector, subject.call(list(vector.inputs.values()), vector.parameters)))
    found = diagnose(operation, [Observation(vector, dict(reply.values), dtype, masked=False) for vector, reply in replies], profile)
    outcome = next(compare(vector, reply, dtype, profile).outcome for vector, reply in replies if vector.id == case)
    return outcome, {*found.mutants} if found else set()


@pytest.mark.parametrize(("model", "case"), TURNING)
def test_a_cast_model_of_transformers_is_convicted_of_frequencies_in_half_precision(tmp_path: Path, model: str, case: str) -> None:
    """docs/findings.md has it reproduced by hand."""
    outcome, named = of_transformers(tmp_path, model, case, "cast", "bfloat16")

    assert isinstance(outcome, Failed)
    assert f"{case.partition('/')[0]}/bfloat16-frequencies" in named


def test_the_frequencies_that_a_cast_module_of_transformers_holds_are_rounded(tmp_path: Path) -> None:
    case = "llama3.frequencies/meta-llama-llama-3-1-8b-instruct"
    outcome, named = of_transformers(tmp_path, RESTING[0], case, "cast", "float32")

    assert isinstance(outcome, Failed)
    assert named == {"llama3.frequencies/bfloat16-frequencies"}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(("model", "case", "under"), [*((*each, None) for each in TURNING), (*TURNING[0], "autocast"), (*RESTING, "cast")])
def test_a_model_of_transformers_that_is_loaded_in_half_precision_is_right(
    tmp_path: Path, model: str, case: str, under: str | None, dtype: str
) -> None:
    assert isinstance(of_transformers(tmp_path, model, case, under, dtype)[0], Passed)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_v_jepa_2_is_wrong_in_half_precision_since_its_frequencies_have_the_dtype_of_x(tmp_path: Path, dtype: str) -> None:
    model, case = "facebook/vjepa2-vitl-fpc64-256", "axial_rope.rotate/facebook-vjepa2-vitl-fpc64-256"

    assert isinstance(of_transformers(tmp_path, model, case, None, "float32")[0], Passed)
    outcome, named = of_transformers(tmp_path, model, case, None, dtype)
    assert isinstance(outcome, Failed)
    assert named == ({"axial_rope.rotate/float16-throughout"} if dtype == "float16" else set()), "two cases don't settle bfloat16"
