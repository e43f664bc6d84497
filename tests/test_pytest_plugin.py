"""The plugin as its users meet it: other pytest processes, on examples that are right and wrong."""

import builtins
import functools
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings

from conformance import Adapter, Unsupported, assert_conforms, strategies
from conformance.in_process import InProcess
from conformance.isolate.targets import TargetError
from conformance.spec.declarations import operations
from conformance.spec.vectors import load
from refimpl.errors import SpecificationError
from refimpl.schemes import alibi, rope

ROOT = Path(__file__).parents[1]
RIGHT, WRONG = (str(ROOT / "examples" / f"numpy_{name}.py") for name in ("right", "wrong"))


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in an empty folder, as a user's project would."""
    plugin = () if installed() or environment else ("-p", "posenc.pytest_plugin")
    command = [sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", *arguments]
    around = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "HOME": str(folder), "COLUMNS": "100", **environment}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=around, check=False, timeout=300)


def installed() -> bool:
    from importlib.metadata import entry_points

    return any(point.value == "posenc.pytest_plugin" for point in entry_points(group="pytest11"))


def names(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return names(run(tmp_path_factory.mktemp("every"), "--posenc", RIGHT, "--posenc", WRONG, "--collect-only"))


def test_a_right_implementation_passes_one_test_per_case_and_law(tmp_path: Path) -> None:
    done = run(tmp_path, "--posenc", RIGHT, "-rs")

    vectors = [vector for vector in load(["rope.rotate"]) if vector.error is None]
    assert done.returncode == 0, done.stdout + done.stderr
    passed, skipped = (int(n) for n in re.findall(r"(\d+) (?:passed|skipped)", done.stdout))
    assert passed + skipped > len(vectors) + 6
    assert "it declares 'half'" in done.stdout


def test_a_wrong_implementation_fails_and_the_test_names_the_mistake(tmp_path: Path) -> None:
    done = run(tmp_path, "--posenc", WRONG, "-k", "rope.rotate/half-layout")

    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "wrong value: " in done.stdout
    assert "times the allowed error" in done.stdout
    assert "mistake   rope.rotate/repeated-tables-half-rotation" in done.stdout
    assert "https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6" in done.stdout
    assert "session.call(" in done.stdout
    assert "posenc/pytest_plugin.py" not in done.stdout


REFUSING = """
from conformance import Adapter, Unsupported

adapter = Adapter("refusing")


@adapter.implements("alibi.slopes")
def slopes(**_):
    raise Unsupported("not today")
"""


def test_too_little_evidence_fails_a_test_of_its_own_and_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "refusing.py").write_text(REFUSING, encoding="utf-8")
    done = run(tmp_path, "--posenc", "refusing.py", "-k", "evidence")

    assert done.returncode == 1
    assert "not enough evidence: all" in done.stdout
    assert "drawn calls were refused: 'not today'" in " ".join(done.stdout.split())


def test_what_a_verdict_rests_on_is_told_at_the_end(tmp_path: Path) -> None:
    done = run(tmp_path, "--posenc", RIGHT, "-k", "evidence", "--posenc-seed", "11")

    assert done.returncode == 0
    assert re.search(r"posenc: \S+numpy_right.py: covered rope.rotate: \d+ golden cases, .* known mistakes excluded", done.stdout)
    assert re.search(r"posenc: \S+numpy_right.py: no effect rope.rotate: .*no difference at any call", done.stdout)


def test_drawn_cases_are_tests_and_their_seed_is_printed(tmp_path: Path) -> None:
    done = run(tmp_path, "--posenc", RIGHT, "-k", "drawn-3[", "--posenc-seed", "11")

    assert done.returncode == 0
    assert "1 passed" in done.stdout
    assert "seed 11 (--posenc-seed 11 draws the same again)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-k", "rope.rotate/far"), "/far"),
        (("-m", "level_smoke"), "["),
        (("-m", "scheme_rope and level_core", "-k", "law:relative"), "law:relative"),
    ],
)
def test_names_and_marks_select(tmp_path: Path, every: list[str], arguments: tuple[str, ...], words: str) -> None:
    chosen = names(run(tmp_path, "--posenc", RIGHT, "--posenc", WRONG, "--collect-only", *arguments))

    assert 0 < len(chosen) < len(every)
    assert all(words in name for name in chosen)


def test_every_name_is_unique(every: list[str]) -> None:
    assert len(set(every)) == len(every) > 0


def test_the_ini_file_can_name_targets(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nposenc = {RIGHT}\n", encoding="utf-8")

    assert "rope.rotate/far" in "\n".join(names(run(tmp_path, "--collect-only")))


def test_several_processes_share_the_tests(tmp_path: Path) -> None:
    done = run(tmp_path, "--posenc", WRONG, "-n", "2", "-k", "layout")

    assert done.returncode == 1
    assert "failed" in done.stdout


def test_a_target_of_which_one_worker_can_run_is_told_in_one_line_where_processes_share_the_tests(tmp_path: Path) -> None:
    locked = "import fcntl\n\nLOCK = open('lock', 'w')\nfcntl.flock(LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
    (tmp_path / "locked.py").write_text(locked + Path(RIGHT).read_text(encoding="utf-8"), encoding="utf-8")

    done = run(tmp_path, "--posenc", "locked.py", "--posenc", RIGHT, "-n", "2", "-k", "byte-boundary")

    told = r"ERROR: locked\.py must start in every process of -n, got none in gw[01]: judge it without -n if only one of it can run"
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert re.fullmatch(told, done.stderr.strip()), done.stdout + done.stderr
    assert "Different tests were collected" not in done.stdout


def test_an_interruption_at_an_instruction_of_no_line_is_told_as_any_other(tmp_path: Path) -> None:
    ends = "def ends():\n    raise KeyboardInterrupt\n\n\nends.__code__ = ends.__code__.replace(co_linetable=b'')\n"
    (tmp_path / "test_x.py").write_text(f"{ends}\n\ndef test_x():\n    ends()\n", encoding="utf-8")

    done = run(tmp_path, "--posenc", RIGHT, "-k", "test_x")

    assert done.returncode == pytest.ExitCode.INTERRUPTED, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_target_that_doesn_t_exist_is_wrong_usage(tmp_path: Path) -> None:
    done = run(tmp_path, "--posenc", "no_such_adapter.py")

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "target must be a file that exists, got no_such_adapter.py" in done.stderr + done.stdout


def test_without_a_target_nothing_heavy_is_imported(tmp_path: Path) -> None:
    heavy = "{'numpy', 'hypothesis', 'refimpl.schemes', 'click'}"
    (tmp_path / "test_x.py").write_text(f"import sys\n\ndef test_x():\n    assert not {heavy} & set(sys.modules)\n", encoding="utf-8")

    done = run(tmp_path, "-p", "posenc.pytest_plugin", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")

    assert done.returncode == 0, done.stdout


def test_a_project_with_a_folder_named_conformance_runs_its_own_tests(tmp_path: Path) -> None:
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "test_x.py").write_text(
        "import conformance\n\ndef test_x():\n    assert len(conformance.__path__) == 1\n", encoding="utf-8"
    )

    done = run(tmp_path, "-p", "posenc.pytest_plugin", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")

    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_every_target_that_can_not_be_judged_is_told(tmp_path: Path) -> None:
    targets = ("--posenc", "no_such.py", "--posenc", "nor_this.py")
    together, chosen = run(tmp_path, *targets), run(tmp_path, *targets, "--posenc", RIGHT, "-k", "rope.rotate/half-layout")

    assert together.returncode == pytest.ExitCode.USAGE_ERROR
    for done in (together, chosen):
        assert all(f"got {name}" in done.stderr + done.stdout for name in targets[1::2])


def test_the_counterexample_of_a_law_is_saved_as_a_candidate(tmp_path: Path) -> None:
    done = run(tmp_path, "--posenc", WRONG, "--save-failures", "found", "-k", "law:isometry", "--posenc-seed", "0")

    (path,) = (tmp_path / "found").iterdir()
    said = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert f"saved     found/{path.name}" in done.stdout
    assert (said["operation"], said["breaks"], said["seed"]) == ("rope.rotate", "isometry", 0)
    assert set(said["cases"][0]["inputs"]) == {"x", "positions"}
    assert json.dumps(said["cases"][0]["parameters"])


SQUEEZED = """
from conformance import Adapter
from refimpl.schemes import binary

adapter = Adapter("squeezed")


@adapter.implements("binary.encode")
def encode(positions, **parameters):
    return binary.encode(positions, **parameters)[None]
"""


def half_rope(x: np.ndarray, positions: np.ndarray, **parameters: object) -> np.ndarray:
    return rope.rotate(x, positions, **parameters)


def test_a_function_that_conforms_is_quiet() -> None:
    assert_conforms(half_rope, "rope.rotate", dtypes=("float64", "float32"))


def test_a_function_that_doesn_t_conform_is_told_what_it_does() -> None:
    def printed(*, num_heads: int, max_bias: float) -> np.ndarray:
        return 2.0 ** (-max_bias * np.arange(1, num_heads + 1) / num_heads)

    with pytest.raises(AssertionError) as verdict:
        assert_conforms(printed, "alibi.slopes", slopes="code", dtypes=("float64",))

    assert verdict.traceback[-1].ishidden(verdict)  # so that pytest shows no line of ours
    assert "alibi.slopes must conform, got" in str(verdict.value)
    assert 'declare slopes="paper"' in str(verdict.value)


def test_a_function_that_refuses_everything_is_no_success() -> None:
    def refusing(*_: object, **__: object) -> None:
        message = "not today"
        raise Unsupported(message)

    with pytest.raises(AssertionError, match=r"not enough evidence: all \d+ drawn calls were refused: 'not today'"):
        assert_conforms(refusing, "rope.rotate", level="smoke")


def test_a_parameter_that_doesn_t_exist_is_refused() -> None:
    with pytest.raises(TargetError, match=r"rope.rotate must be restricted by .* got 'layuot' \(did you mean layout\?\)"):
        assert_conforms(half_rope, "rope.rotate", layuot="half")


def test_what_stands_in_the_function_s_place_is_refused() -> None:
    with pytest.raises(TypeError, match=r"function must be callable, got 'rope\.rotate'"):
        assert_conforms("rope.rotate", half_rope)  # type: ignore[arg-type]  # the wrong way round


def test_an_exception_of_the_function_is_a_failure() -> None:
    def broken(_: object, positions: np.ndarray, **__: object) -> None:
        message = f"position {positions.max()}"
        raise KeyError(message)

    with pytest.raises(AssertionError, match=r"an exception: KeyError: 'position \d+'"):
        assert_conforms(broken, "rope.rotate", level="smoke")


def test_the_same_exception_in_every_call_is_no_verdict() -> None:
    def broken(*_: object, **__: object) -> None:
        message = "not ready"
        raise RuntimeError(message)

    with pytest.raises(TargetError, match=r"can't be judged: every call raises RuntimeError: not ready \(test_.* in broken\)$"):
        assert_conforms(broken, "rope.rotate", level="smoke")


def test_what_fits_no_call_is_no_verdict() -> None:
    def broken(x: np.ndarray, positions: np.ndarray, **_: object) -> np.ndarray:
        return x + positions[:, None, None, None, None, :, :]

    with pytest.raises(TargetError, match=r"^rope\.rotate can't be judged: every call raises IndexError: .*framework="):
        assert_conforms(broken, "rope.rotate", level="smoke")


@pytest.mark.parametrize("level", ["smoke", "core"])
@pytest.mark.parametrize(
    ("returned", "got"),
    [(lambda y: y[0], r"\(\d+, \d+, \d+\)"), (lambda y: y[None], r"\(1, \d+, \d+, \d+, \d+\)"), (np.ravel, r"\(\d+,\)")],
)
def test_another_number_of_axes_in_every_call_is_no_verdict(level: str, returned: Callable[[np.ndarray], np.ndarray], got: str) -> None:
    def squeezed(*arrays: np.ndarray, **parameters: object) -> np.ndarray:
        return returned(half_rope(*arrays, **parameters))

    told = rf"can't be judged: result must have shape .*, got {got}; every call must return result \(batch head token head_dim\)"
    with pytest.raises(TargetError, match=rf"^rope\.rotate {told}"):
        assert_conforms(squeezed, "rope.rotate", level=level, seed=1)


def test_another_number_of_axes_in_every_call_is_told_at_the_end_of_all_tests(tmp_path: Path) -> None:
    (tmp_path / "squeezed.py").write_text(SQUEEZED, encoding="utf-8")
    every, some = (run(tmp_path, "--posenc", "squeezed.py", "--posenc-seed", "1", *chosen) for chosen in ([], ["-k", "drawn-1["]))

    words = "posenc: squeezed.py: binary.encode can't be judged: result must have shape"
    assert words in every.stdout
    assert words not in some.stdout


def test_a_fault_of_the_adapter_is_no_verdict_in_a_test_either() -> None:
    def nothing(*_: object, **__: object) -> None:
        pass

    with pytest.raises(TargetError, match=r"^rope\.rotate can't be judged: .*nothing \(test_.*\): the function must return one array"):
        assert_conforms(nothing, "rope.rotate", level="smoke")


def test_a_session_in_process_offers_what_the_adapter_says() -> None:
    adapter = Adapter("mine")
    adapter.implements("alibi.slopes", label="a")(functools.partial(alibi.slopes, like=np.zeros(1)))
    session = InProcess(adapter)

    assert [offered.label for offered in session.implementations] == ["a"]
    assert session.call("alibi.slopes", [], {"num_heads": 1, "max_bias": 8.0})["result"].tolist() == [2.0**-8]


@settings(max_examples=30)
@given(call=strategies.calls("rope.rotate", layout="half", head_dim={4, 6}))
def test_drawn_calls_obey_the_operation_and_its_restrictions(call: strategies.Call) -> None:
    arrays, parameters = call

    assert rope.rotate(arrays["x"], arrays["positions"], **parameters).shape == arrays["x"].shape
    assert parameters["layout"] == "half"
    assert parameters["head_dim"] in {4, 6}


@settings(max_examples=30)
@given(
    positions=strategies.positions(5, farthest=300, negative=True),
    inputs=strategies.inputs((2, 3)),
    length=strategies.lengths(longest=100),
    width=strategies.head_dims(widest=16),
    chosen=strategies.parameters("t5.bucket", bidirectional=False),
)
def test_drawn_parts_stay_in_their_range(
    positions: np.ndarray, inputs: np.ndarray, length: int, width: int, chosen: dict[str, object]
) -> None:
    assert positions.shape == (5,)
    assert np.abs(positions).max() <= 300
    assert np.array_equal(inputs, inputs.astype(np.float16).astype(np.float64))
    assert 1 <= length <= 100
    assert width % 2 == 0
    assert set(chosen) == set(operations()["t5.bucket"].parameters)
    assert chosen["bidirectional"] is False


def test_an_operation_that_doesn_t_exist_has_no_strategy() -> None:
    with pytest.raises(ValueError, match=r"got 'rope.rotat' \(did you mean rope.rotate\?\)"):
        strategies.calls("rope.rotat")


@pytest.mark.parametrize("draw", [strategies.calls, strategies.parameters])
def test_no_strategy_has_names_or_values_that_an_operation_does_not_have(draw: Callable[..., Any]) -> None:
    with pytest.raises(TargetError, match=r"layout must be one of .*, got 'hal' \(did you mean half\?\)"):
        draw("rope.rotate", layout="hal")
    with pytest.raises(TargetError, match=r"must be restricted by .*, got 'layot' \(did you mean layout\?\)"):
        draw("rope.rotate", layot="half")


@pytest.mark.parametrize(
    ("operation", "arrays", "parameters", "rule"),
    [
        ("alibi.slope", [], {}, r"operation must be one of alibi\.slopes, got 'alibi\.slope' \(did you mean alibi\.slopes\?\)"),
        ("alibi.slopes", [np.ones(1)], {}, r"alibi\.slopes must get 0 arrays \(\), got 1"),
        ("alibi.slopes", [], {}, "alibi.slopes must get num_heads, got nothing"),
    ],
)
def test_a_call_that_is_written_by_hand_is_told_what_is_wrong_with_it(
    operation: str, arrays: list[np.ndarray], parameters: dict[str, Any], rule: str
) -> None:
    adapter = Adapter("mine")
    adapter.implements("alibi.slopes")(functools.partial(alibi.slopes, like=np.zeros(1)))

    with pytest.raises((TargetError, SpecificationError), match=rule):
        InProcess(adapter).call(operation, arrays, parameters)


def test_what_a_function_replaces_meets_no_code_of_ours_and_no_other_test() -> None:
    def slopes(*, num_heads: int, max_bias: float) -> np.ndarray:
        result = 2.0 ** (-max_bias * np.arange(1, num_heads + 1) / num_heads)
        vars(builtins).pop("sorted", None)
        np.seterr(all="raise")
        return result

    assert_conforms(slopes, "alibi.slopes", level="smoke", seed=1, slopes="paper")

    assert sorted([2, 1]) == [1, 2]
    assert np.geterr()["over"] == "warn"


@pytest.mark.parametrize(
    ("option", "words"),
    [("--posenc-call-seconds=nan", "--posenc-call-seconds must be"), ("--posenc-memory=-5", "--posenc-memory must be"),
     ("--posenc-examples=0", "--posenc-examples must be"), ("--save-failures=", "--save-failures: folder must have a name, got ''")],
)  # fmt: skip
def test_limits_that_nothing_can_keep_are_wrong_usage(tmp_path: Path, option: str, words: str) -> None:
    done = run(tmp_path, "--posenc", "numpy", option)

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert words in done.stderr


def test_what_would_skip_or_end_the_test_is_an_exception_of_the_function() -> None:
    def slopes(*, num_heads: int, max_bias: float) -> np.ndarray:
        if num_heads > 1:
            pytest.skip(f"not today: {max_bias}")
        return np.asarray([2.0**-max_bias])

    with pytest.raises((AssertionError, pytest.skip.Exception), match="an exception: Skipped: not today"):
        assert_conforms(slopes, "alibi.slopes", level="smoke", seed=1, slopes="paper")


def test_an_exception_at_times_is_not_said_to_depend_on_earlier_calls_alone() -> None:
    calls = itertools.count()

    def slopes(*, num_heads: int, max_bias: float) -> np.ndarray:
        if next(calls) % 7 == 3:
            message = "out of luck"
            raise RuntimeError(message)
        return np.asarray(2.0 ** (-max_bias * np.arange(1, num_heads + 1) / num_heads))

    with pytest.raises(AssertionError, match="not deterministic: ") as told:
        assert_conforms(slopes, "alibi.slopes", level="smoke", seed=1, slopes="paper")

    assert "fresh worker" not in str(told.value)
