import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sampling
from hypothesis import HealthCheck, settings

from conformance.isolate import allocation
from conformance.laws import running

CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
DRIVER = shutil.which("chromedriver")

# Speed is measured in benchmarks, never asserted by a test.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

allocation.collect_rarely()

# pytest tells a failure a second time, in its summary, where these are set: tests that run pytest read what it prints elsewhere.
for variable in ("CI", "BUILD_NUMBER"):
    os.environ.pop(variable, None)

# A job in the background of a shell ignores Ctrl-C, and so would everything that it starts: the tests are about those who don't.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave counterexamples of laws as they were met, where a test reads none: to make one small takes longer than to find it."""
    monkeypatch.setattr(running, "smallest", lambda _subject, _check, met, _known, **_: met)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """Return a browser without a window, where there is one."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no Chromium with its driver is installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--window-size=1100,900"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    yield driver
    driver.quit()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sample-seed", type=int, default=0, help="what the samples begin at (make gives the number of the day)")
    parser.addoption("--whole", action="store_true", help="run what is sampled whole")


def whole(config: pytest.Config) -> bool:
    """Whether all tests run: that is asked for, or tests are asked for by their names."""
    return config.getoption("whole") or any("::" in argument for argument in config.args)


def pytest_report_header(config: pytest.Config) -> list[str]:
    return ["nothing is sampled"] if whole(config) else sampling.header(config.getoption("sample_seed"), sampling.parts())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if whole(config):
        return
    sample = sampling.taken([item.nodeid for item in items], config.getoption("sample_seed"), sampling.parts())
    taken = [is_taken or item.get_closest_marker("unsampled") is not None for item, is_taken in zip(items, sample, strict=True)]
    config.hook.pytest_deselected(items=[item for item, is_taken in zip(items, taken, strict=True) if not is_taken])
    items[:] = [item for item, is_taken in zip(items, taken, strict=True) if is_taken]
