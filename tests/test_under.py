"""Circumstances: autocast lowers products, a cast lowers buffers, the meta device loses them; right code withstands all."""

from pathlib import Path

import numpy as np
import pytest

from conformance import run
from conformance.adapt.selection import SelectionError
from conformance.calls.outcomes import Advisory, Failed, Passed, Reason, Report, Unsupported
from conformance.isolate.session import Session
from conformance.mutants.catalogue import load

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


#: Modules by what becomes of frequencies that `__init__` computes where a loader of large models builds them.
MODULES = """
import copy
import functools
import typing


class Turning(torch.nn.Module):
    def __init__(self, head_dim, base):
        super().__init__()
        self.of = head_dim, base

    def forward(self, x, positions):
        return turned(x, positions[..., None].float() * self.frequencies)


class Unfilled(Turning):  # as in transformers#45902
    def __init__(self, head_dim, base):
        super().__init__(head_dim, base)
        self.register_buffer("frequencies", ladder(head_dim, base), persistent=False)
        self.register_buffer("original", self.frequencies.clone(), persistent=False)


class Scaled(Unfilled):  # as in unsloth#4112: it must be told what to fill it with
    def reset_parameters(self, frequencies):
        self.frequencies.copy_(frequencies)


class Within(Turning):  # as in Bacformer#36
    def __init__(self, head_dim, base):
        super().__init__(head_dim, base)
        self.projection, self.rotary = torch.nn.Linear(2, 2), Unfilled(head_dim, base)

    def forward(self, x, positions):
        return self.rotary(x, positions)


class OnTheHost(Turning):
    def __init__(self, head_dim, base):
        super().__init__(head_dim, base)
        with torch.device("cpu"):
            self.register_buffer("frequencies", ladder(head_dim, base), persistent=False)


class NoBuffer(Turning):
    def __init__(self, head_dim, base):
        super().__init__(head_dim, base)
        self.frequencies = ladder(head_dim, base)


class NoBufferOnTheHost(Turning):
    def __init__(self, head_dim, base):
        super().__init__(head_dim, base)
        with torch.device("cpu"):
            self.frequencies = ladder(head_dim, base)


class Saved(Turning):
    def __init__(self, head_dim, base):
        super().__init__(head_dim, base)
        self.register_buffer("frequencies", ladder(head_dim, base))


class Learned(Turning):
    def __init__(self, head_dim, base):
        super().__init__(head_dim, base)
        self.frequencies = torch.nn.Parameter(ladder(head_dim, base), requires_grad=False)


class Computed(Turning):
    @property
    def frequencies(self):
        return ladder(*self.of)


class Numbers(Turning):
    def __init__(self, head_dim, base):
        super().__init__(head_dim, base)
        self.numbers = [base ** (-2 * pair / head_dim) for pair in range(head_dim // 2)]

    @property
    def frequencies(self):
        return torch.tensor(self.numbers)


class Filled(Unfilled):
    def reset_parameters(self):
        self.frequencies.copy_(ladder(*self.of))


class FilledInside(Within):
    def rope_init(self):
        self.rotary.frequencies.copy_(ladder(*self.of))


class BuiltAgain(Unfilled):
    def init_weights(self, device=None):
        self.__init__(*self.of)


class Given(Turning, typing.Generic[typing.TypeVar("T")]):
    def __init__(self, frequencies):
        super().__init__(None, None)
        self.register_buffer("frequencies", frequencies, persistent=False)


def loaded(head_dim, base):
    module = Unfilled(head_dim, base)
    module.frequencies = ladder(head_dim, base)
    return module


def materialised(head_dim, base):
    with torch.device("meta"):
        module = Unfilled(head_dim, base)
    module.to_empty(device="cpu").frequencies.copy_(ladder(head_dim, base))
    return module


WRONG = {each.__name__: each for each in (Unfilled, Scaled, Within, OnTheHost, NoBuffer)}
RIGHT = {each.__name__: each for each in (NoBufferOnTheHost, Saved, Learned, Computed, Numbers, Filled, FilledInside, BuiltAgain)}
RIGHT |= {"loaded": loaded, "materialised": materialised, "copied": lambda *of: copy.deepcopy(Filled(*of))}
RIGHT |= {"given": lambda *of: Given(ladder(*of)), "in_a_row": lambda *of: torch.nn.Sequential(Saved(*of))[0]}


def implement(name, build):
    built = functools.lru_cache(build)

    @adapter.implements("rope.rotate", label=name, **SAYS)
    def rotate(x, positions, *, head_dim, base, **_):
        return built(head_dim, base)(x, positions)


for name, build in (WRONG | RIGHT).items():
    implement(name, build)
early = Unfilled(4, 10_000.0)
adapter.implements("rope.rotate", early, label="early", call="f(x, positions)", head_dim=4, base=10_000.0, **SAYS)
"""
#: The reports whose mistake a module repeats, each with the module.
REPORTED = {
    "https://github.com/huggingface/transformers/issues/45902": "Unfilled",
    "https://github.com/unslothai/unsloth/pull/4112": "Scaled",
    "https://github.com/macwiatrak/Bacformer/pull/36": "Within",
}
LOST = {*REPORTED.values(), "OnTheHost", "NoBuffer", "early"}
KEPT = {"NoBufferOnTheHost", "Saved", "Learned", "Computed", "Numbers", "Filled", "FilledInside", "BuiltAgain"}
KEPT |= {"loaded", "materialised", "copied", "given", "in_a_row"}
CASE = ("rope.rotate/byte-boundary-half",)
CASES = (
    *CASE,
    "axial_rope.rotate/joined",
    "mrope.rotate/image",
    "relative_bias.bias/wide-window",
    "sinusoidal.add/shared-positions",
)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("torch", reason="torch is not installed")
    return written(tmp_path_factory.mktemp("under"), ("float32", "bfloat16"))


@pytest.fixture(scope="module")
def at_smoke(target: str) -> Report:
    return run.check(target, under="autocast", level="smoke")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("torch", reason="torch is not installed")
    return written(tmp_path_factory.mktemp("meta"), ("float32",), MODULES)


@pytest.fixture(scope="module")
def without_memory(modules: str) -> Report:
    return run.check(modules, under="meta", cases=CASE)


def written(folder: Path, dtypes: tuple[str, ...], more: str = "") -> str:
    path = folder / "under.py"
    path.write_text(ADAPTER.replace("DTYPES", repr(dtypes)) + more, encoding="utf-8")
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


def test_modules_are_right_where_nothing_is_around(modules: str) -> None:
    report = run.check(modules, cases=CASE)

    assert {result.implementation for result in report.results if isinstance(result.outcome, Passed)} > LOST | KEPT
    assert convicted(report) == set()


def test_a_module_that_loses_its_frequencies_on_the_meta_device_is_convicted_and_no_other(without_memory: Report) -> None:
    assert convicted(without_memory) == LOST
    assert {result.implementation for result in without_memory.results if isinstance(result.outcome, Passed)} > KEPT


def test_a_tensor_without_memory_is_no_result(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    returned = """
class Kept(torch.nn.Module):
    def __init__(self, head_dim, base):
        super().__init__()
        self.frequencies = ladder(head_dim, base)

    def forward(self):
        return self.frequencies


@adapter.implements("rope.frequencies")
def frequencies(*, head_dim, base):
    return Kept(head_dim, base)()
"""
    report = run.check(written(tmp_path, ("float32",), returned), under="meta", cases=["rope.frequencies/six-wide"])

    (result,) = report.results
    assert isinstance(result.outcome, Failed)
    assert result.outcome.reason is Reason.MALFORMED
    assert "a result must be readable as an array, got Tensor: " in result.outcome.message


def test_every_dtype_is_judged_there(target: str) -> None:
    report = run.check(target, under="meta", cases=CASE)

    assert convicted(report) == set()
    assert {result.dtype for result in report.results} == {"float32", "bfloat16"}
    assert not [result for result in report.results if isinstance(result.outcome, Advisory)], "what torch imports is no call's doing"


def test_the_report_says_that_modules_were_built_without_memory(without_memory: Report) -> None:
    scripts = [result.reproduction for result in without_memory.results if result.reproduction is not None]

    assert without_memory.header["under"] == "meta"
    assert all("under='meta') as" in " ".join(script.split()) for script in scripts)
    said = [str(result.outcome) for result in without_memory.results if result.implementation == "NoBuffer"]
    assert all("Tensor on device meta" in each for each in said)


def test_every_report_that_needs_the_meta_device_is_repeated_by_a_module() -> None:
    assert {entry.url: entry.under for entry in load() if entry.under} == dict.fromkeys(REPORTED, "meta")


def test_modules_of_transformers_are_filled_by_their_own_models() -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    report = run.check("transformers", under="meta", cases=CASES)

    assert convicted(report) == set()
    assert {result.check for result in report.results if isinstance(result.outcome, Passed)} == set(CASES)


@pytest.mark.parametrize("circumstance", ["autocast", "meta"])
def test_a_framework_without_it_is_refused_before_anything_runs(circumstance: str) -> None:
    with pytest.raises(SelectionError, match=rf"under must be one that its framework has \(none\), got '{circumstance}' for numpy"):
        run.check("numpy", under=circumstance)


CLEARING = """
import sys
import numpy as np
import torch
from conformance import Adapter
from refimpl.schemes import alibi, rope

adapter = Adapter("clearing", framework="torch")

@adapter.implements("rope.rotate", dtypes=["bfloat16"])
def rotate(x, positions, **parameters):
    result = torch.as_tensor(rope.rotate(x.double().numpy(), positions.numpy(), **parameters)).to(x.dtype)
    sys.modules.clear()
    return result

@adapter.implements("alibi.slopes")
def slopes(**parameters):
    return torch.as_tensor(alibi.slopes(**parameters, like=np.empty(0)))
"""


def test_code_that_forgets_what_is_imported_is_named_and_neither_its_declaration_nor_another_is_blamed(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "clearing.py").write_text(CLEARING, encoding="utf-8")

    report = run.check(str(tmp_path / "clearing.py"), level="smoke", under="cast", seed=0)

    told = {result.operation for result in report.results if "imported modules (" in str(result.outcome)}
    wrong = {result.operation: result.outcome.reason for result in report.results if isinstance(result.outcome, Failed)}
    assert told == {"rope.rotate"}
    assert wrong.items() <= {("rope.rotate", Reason.HISTORY)}
    assert {result.operation for result in report.results if isinstance(result.outcome, Passed)} == {"rope.rotate", "alibi.slopes"}
