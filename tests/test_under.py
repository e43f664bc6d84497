"""A circumstance of the framework is around every call: autocast lowers products, a cast lowers buffers, and right code withstands both."""

from pathlib import Path

import numpy as np
import pytest

from conformance import run
from conformance.adapt.selection import SelectionError
from conformance.calls.outcomes import Report, Unsupported
from conformance.isolate.session import Session

ADAPTER = """
import torch
from conformance.adapt.adapter import Adapter

adapter = Adapter("under", framework="torch", dtypes=DTYPES)
SAYS = {"layout": "half", "direction": "positive"}


def turned(x, angles):
    cos, sin = torch.cat((angles.cos(),) * 2, -1), torch.cat((angles.sin(),) * 2, -1)
    if cos.ndim == 3:
        cos, sin = cos[:, None], sin[:, None]
    one, other = x.chunk(2, -1)
    return (x * cos + torch.cat((-other, one), -1) * sin).to(x.dtype)


def ladder(head_dim, base):
    return base ** (-torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)


class Rope(torch.nn.Module):
    def __init__(self, head_dim, base):
        super().__init__()
        self.register_buffer("frequencies", ladder(head_dim, base))

    def forward(self, x, positions):
        return turned(x, positions[..., None].float() * self.frequencies.float())


@adapter.implements("rope.rotate", label="elementwise", **SAYS)
def elementwise(x, positions, *, head_dim, base, layout, direction):
    return turned(x, positions[..., None].float() * ladder(head_dim, base))


@adapter.implements("rope.rotate", label="matmul", **SAYS)
def matmul(x, positions, *, head_dim, base, layout, direction):
    return turned(x, positions[..., None].float() @ ladder(head_dim, base)[None])


@adapter.implements("rope.rotate", label="buffer", **SAYS)
def buffer(x, positions, *, head_dim, base, layout, direction):
    return Rope(head_dim, base)(x, positions)
"""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("torch", reason="torch is not installed")
    return written(tmp_path_factory.mktemp("under"), ("float32", "bfloat16"))


@pytest.fixture(scope="module")
def at_smoke(target: str) -> Report:
    return run.check(target, under="autocast", level="smoke")


def written(folder: Path, dtypes: tuple[str, ...]) -> str:
    path = folder / "under.py"
    path.write_text(ADAPTER.replace("DTYPES", repr(dtypes)), encoding="utf-8")
    return str(path)


def convicted(report: Report) -> set[str]:
    return {result.implementation for result in report.results if result.convicts}


def named(report: Report) -> dict[str, str]:
    return {name.split(":")[0]: diagnosis.name for name, diagnosis in report.diagnoses.items()}


def test_all_are_right_where_nothing_is_around(target: str) -> None:
    assert convicted(run.check(target)) == set()


def test_autocast_convicts_angles_by_a_matrix_product_and_names_their_format(target: str) -> None:
    report = run.check(target, under="autocast")

    assert named(report) == {"matmul": "rope.rotate/bfloat16-angles"}
    assert convicted(report) == {"matmul"}


def test_a_cast_convicts_a_buffer_of_frequencies_and_names_its_format(target: str) -> None:
    report = run.check(target, under="cast")

    assert named(report) == {"buffer": "rope.rotate/bfloat16-frequencies"}
    assert convicted(report) == {"buffer"}


def test_the_report_says_what_was_around_and_features_are_half(at_smoke: Report) -> None:
    assert at_smoke.header["under"] == "autocast"
    assert {result.dtype for result in at_smoke.results} == {"bfloat16"}


def test_a_reproduction_opens_the_session_under_the_same(at_smoke: Report) -> None:
    scripts = [result.reproduction for result in at_smoke.results if result.reproduction is not None]

    assert scripts
    assert all("under='autocast') as" in " ".join(script.split()) for script in scripts)
    exec(compile(scripts[0], "pasted", "exec"), {})  # noqa: S102  pasting it is the test


def test_jobs_say_the_same(target: str, at_smoke: Report) -> None:
    side_by_side = run.check(target, under="autocast", level="smoke", jobs=2)

    assert convicted(side_by_side) == convicted(at_smoke)
    assert side_by_side.header["under"] == "autocast"


def test_what_has_no_half_precision_is_counted_with_its_reason(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    report = run.check(written(tmp_path, ("float32",)), under="cast")

    assert {result.implementation for result in report.results} == {"elementwise", "matmul", "buffer"}
    assert {result.outcome for result in report.results} == {Unsupported("it offers no half precision, in which cast is judged")}


def test_a_module_that_lives_on_is_cast_anew_for_every_dtype(target: str) -> None:
    with Session(target, under="cast") as session:
        described = session.implementations[0]
        operation = {"head_dim": 2, "base": 10_000.0, "layout": "half", "direction": "positive"}
        for dtype in ("bfloat16", "float32", "bfloat16"):
            x, positions = np.ones((1, 1, 1, 2)), np.zeros(1, dtype=int)
            session.request(described, dtype, [x, positions], operation)

        assert session.starts == 3


def test_a_framework_without_it_is_refused_before_anything_runs() -> None:
    with pytest.raises(SelectionError, match=r"under must be one that its framework has \(none\), got 'autocast' for numpy"):
        run.check("numpy", under="autocast")
