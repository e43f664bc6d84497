"""Every scaling rule of the page on configurations works from a configuration alone."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conformance import run
from conformance.calls.status import Status
from conformance.cli import main
from conformance.spec.declarations import operations
from refimpl import configuration as config
from refimpl.configuration.scalings import LEARNED, RULES
from refimpl.schemes import SCHEMES

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| ([^|]+) \| `(\{.*\})` \| `(.+)` \|$", re.MULTILINE)
ROWS = {name: (keys, says) for name, keys, says in ROW.findall((ROOT / "docs" / "configurations.md").read_text(encoding="utf-8"))}
PLAIN = json.loads((ROOT / "examples" / "llama-3.1-8b.json").read_text(encoding="utf-8"))
#: What reads a configuration as the reference does.
CODE = """
import warnings
from posenc import Adapter
from refimpl import configuration as config

adapter = Adapter("mine")
warnings.simplefilter("ignore", config.ConfigurationWarning)


@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, layer, length, exponents):
    turned = config.rotate(configuration, x, positions, layer=layer, length=length, exponents=exponents)
    return turned.astype(x.dtype)


@adapter.implements("config.scale")
def scale(positions, *, configuration, layer, slopes, biases):
    return config.scale(configuration, positions, layer=layer, slopes=slopes, biases=biases)
"""


def configured(name: str) -> dict[str, Any]:
    return {**PLAIN, **json.loads(ROWS[name][0])}


def test_every_scheme_that_changes_frequencies_has_a_row_or_no_name_in_configurations() -> None:
    kinds = [kind for name in ROWS for kind in config.read(configured(name)).kinds]
    reached = {kind.rotation.scheme for kind in kinds if kind.rotation is not None}
    laddered = {name for name, scheme in SCHEMES.items() if "frequencies" in {each.__name__ for each in scheme.operations}}
    assert reached == {*(rule.scheme for rule in RULES.values()), *LEARNED.values()}
    assert reached == laddered - {"ntk_by_parts", "resonance_rope", "resonance_yarn"}


@pytest.mark.parametrize("name", ROWS)
def test_the_keys_of_a_row_are_explained_as_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(configured(name)))
    status, screen = main(["explain", str(tmp_path / "config.json")]), " ".join(capsys.readouterr().out.split())
    assert "".join(ROWS[name][1].split()) in screen.replace(" ", "")
    assert status == ("refused-type" in screen)


@pytest.mark.parametrize("name", ROWS)
def test_the_keys_of_a_row_leave_no_parameter_open_but_the_length(name: str) -> None:
    rotations = [kind.rotation for kind in config.read(configured(name)).kinds if kind.rotation is not None]
    for rotation in rotations:
        operation = operations()[f"{rotation.scheme}.rotate"]
        assert operation.parameters.keys() - rotation.settled(operation).keys() <= {"length"}


@pytest.mark.parametrize("name", ROWS)
def test_code_is_judged_by_the_keys_of_a_row(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(configured(name)))
    (tmp_path / "mine.py").write_text(CODE)
    report = run.check(f"config:{tmp_path / 'config.json'}:{tmp_path / 'mine.py'}", level="smoke", seed=0)
    assert report.status is Status.CONFORMS
