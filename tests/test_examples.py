"""The examples, the README and the driver of ``make check`` say what is true."""

import importlib.util
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from conformance.calls.outcomes import Diagnosis, Failed, Passed, Reason, Report, Result
from conformance.isolate.session import Session
from conformance.run import check
from conformance.show import report as screen
from tools import readme

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def right() -> Report:
    return check(str(EXAMPLES / "numpy_right.py"), level="smoke")


@pytest.fixture(scope="module")
def wrong() -> Report:
    return check(str(EXAMPLES / "numpy_wrong.py"))


@pytest.fixture(scope="module")
def driver() -> ModuleType:
    spec = importlib.util.spec_from_file_location("examples_run", EXAMPLES / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_right_example_conforms(right: Report, driver: ModuleType) -> None:
    assert driver.conforms(right), screen.text(right)


def test_the_wrong_example_is_convicted_and_its_mistake_named(wrong: Report, driver: ModuleType) -> None:
    assert wrong.status == 1
    assert driver.named_as_repeated_tables(wrong), screen.text(wrong)


def test_another_mistake_would_not_be_taken_for_the_stated_one(right: Report, driver: ModuleType) -> None:
    other = Diagnosis(("rope.rotate/degrees",), "degrees", "radians", "convert", ("https://example.org",))
    failed = Result("numpy-wrong", "rope.rotate", "rope.rotate/x", "vector", "float32", "float32", Failed(Reason.VALUE, ""))
    convicted = Report("x", {}, (failed,), {"numpy-wrong:rope.rotate:float32": other})

    assert not driver.named_as_repeated_tables(convicted)
    assert not driver.named_as_repeated_tables(right)


def test_a_sample_is_of_what_a_target_offers_and_as_many_in_a_row_take_all(driver: ModuleType) -> None:
    target = str(EXAMPLES / "numpy_right.py")
    with Session(target) as session:
        offered = {each.operation for each in session.implementations}

    assert sorted(name for seed in (5, 6, 7) for name in driver.Sample(3, seed).operations(target)) == sorted(offered)


def test_only_history_may_be_wrong_with_equinox(driver: ModuleType) -> None:
    def told(*reasons: Reason) -> Report:
        results = [Result("e", "rope.rotate", "c", "law", "float32", "float32", Failed(reason, "")) for reason in reasons]
        return Report("equinox", {}, tuple(results))

    assert driver.only_history(told(Reason.HISTORY))
    assert not driver.only_history(told(Reason.HISTORY, Reason.VALUE))
    assert not driver.only_history(Report("equinox", {}, (Result("e", "rope.rotate", "c", "law", "float32", "float32", Passed()),)))


def test_an_absent_library_is_a_counted_reason(driver: ModuleType) -> None:
    examples = list(driver.EXAMPLES)
    rows = [driver.Row(example.target, "conforms", as_stated=True, seconds=1.0) for example in examples]
    rows[-1] = driver.Row("equinox", "skipped: equinox needs jax", as_stated=None, seconds=0.0)
    table = [line for _, line in driver.table(rows, examples)]

    assert table[-2] == "equinox            skipped: equinox needs jax"
    assert table[-1] == f"{len(rows) - 1} of {len(rows)} judged, 1 skipped; {len(rows) - 1} of {len(rows) - 1} verdicts as stated"


def test_the_adapter_in_the_readme_conforms(tmp_path: Path) -> None:
    source = re.search(r"```python\n(# my_rope\.py\n.*?)```", readme.README.read_text(encoding="utf-8"), re.DOTALL)
    assert source is not None
    (tmp_path / "my_rope.py").write_text(source[1], encoding="utf-8")
    shutil.copy(EXAMPLES / "numpy_right.py", tmp_path / "my_model.py")
    report = check(str(tmp_path / "my_rope.py"), level="smoke")

    assert report.status == 0, screen.text(report)


def test_the_tables_of_the_readme_are_fresh() -> None:
    assert readme.main(["--check"]) == 0


def test_the_screen_in_the_readme_is_the_real_one(wrong: Report) -> None:
    shown = readme.marked(readme.README.read_text(encoding="utf-8"), "screen").splitlines()[1:-1]
    real = screen.text(wrong).replace(str(EXAMPLES), "examples").split("\n")

    assert len(shown) > 8
    assert [line for line in shown if line not in real] == []
