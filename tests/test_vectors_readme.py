"""The loop that the README of the vectors shows to strangers runs, and sees a mistake."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOOP = re.findall(r"```python\n(.*?)```", (ROOT / "vectors" / "README.md").read_text(), re.DOTALL)


def run(code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(ROOT)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102  the README's own code
    return capsys.readouterr().out


def test_the_kernel_shown_is_right(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.fullmatch(r"0 of [1-9]\d+ elements wrong\n", run(LOOP[0], monkeypatch, capsys))


@pytest.mark.parametrize(
    ("right", "mistake"), [("a * cos - b * sin", "a * cos + b * sin"), ("positions[..., None]", "(positions[..., None] + 1)")]
)
def test_a_mistake_is_seen(right: str, mistake: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert right in LOOP[0]
    assert not run(LOOP[0].replace(right, mistake), monkeypatch, capsys).startswith("0 of")


def test_there_is_one_loop() -> None:
    assert len(LOOP) == 1
