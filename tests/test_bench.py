"""The arithmetic of the benchmark: whose time is whose."""

from pathlib import Path

import pytest

from conformance.calls.status import Status
from conformance.cli import main
from conformance.show import bench
from conformance.show.cost import Cost, Golden, costs, golden
from tools.bench import rotations

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_a_case_costs_what_neither_drawing_nor_the_implementation_took() -> None:
    assert Cost(cases=10, total=0.100, drawing=0.030, own=0.020).each == pytest.approx(5.0)


def test_costs_add_up() -> None:
    assert Cost(1, 2.0, 0.5, 0.25) + Cost(3, 4.0, 1.0, 0.75) == Cost(4, 6.0, 1.5, 1.0)


def test_no_case_costs_nothing() -> None:
    assert Cost(0, 0.0, 0.0, 0.0).each == 0.0


def test_vectors_and_examples_are_counted_apart() -> None:
    vectors, examples = costs(str(EXAMPLES / "numpy_right.py"))

    assert vectors.cases > 5
    assert examples.cases >= 20
    assert vectors.drawing == 0.0 < examples.drawing < examples.total
    assert 0.0 < vectors.own < vectors.total


def test_what_drawn_cases_take_is_told_apart_from_the_oracle_and_the_calls() -> None:
    cost = golden(str(EXAMPLES / "numpy_right.py"))

    assert cost.cases > 20
    assert cost.oracle > 0.0
    assert cost.calls > 0.0
    assert cost.oracle + cost.calls < cost.total
    assert Golden(cases=7, total=4.0, oracle=1.0, calls=2.0).words == "4.00 s for 7 cases in the first dtypes: the oracle 25%, calls 50%"


def test_a_command_is_weighed_with_its_children() -> None:
    megabytes = 64
    child = f"held = bytearray({megabytes} << 20); print('x', flush=True); input()"
    start = f"p = subprocess.Popen([sys.executable, '-c', {child!r}], stdin=-1, stdout=-1)"
    parent = f"import subprocess, sys; {start}; p.stdout.read(1); sum(range(20_000_000)); p.communicate(b'x')"
    seconds, memory = bench.run_and_weigh("-c", parent)

    assert seconds > 0.0
    assert memory > megabytes


def test_the_machine_is_named_with_its_cores_and_its_python() -> None:
    named = bench.machine()

    assert "cores" in named
    assert "Python 3." in named


def test_a_rotation_is_measured_in_copies_of_what_is_turned() -> None:
    half, interleaved = rotations((1, 2, 512, 64))

    assert half.startswith("reference, half ")
    assert interleaved.startswith("reference, interleaved ")
    assert all(float(line.split()[2]) > 1.0 for line in (half, interleaved))


def test_a_target_that_isnt_there_is_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--target", "nosuch"]) == Status.WRONG_USAGE.value

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("posenc: target must be a file")
