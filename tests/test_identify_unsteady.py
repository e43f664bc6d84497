"""What `posenc identify` says of code that answers the same call in more than one way."""

import json
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from conformance.calls.status import Status
from conformance.cli import main
from conformance.identify import steady
from conformance.identify.asking import OFTEN, Refused, Strangers

BESIDE = """
import os
import random
import numpy as np

CHANCE = random.SystemRandom()
ONCE = CHANCE.uniform(1, 2)
CALLS = []

def rope(x, positions, base=10000.0):
    angle = np.asarray(positions, dtype=float)[..., None] * base ** (-2 * np.arange(x.shape[-1] // 2) / x.shape[-1])
    first, second = np.split(x, 2, axis=-1)
    turned = first * np.cos(angle) - second * np.sin(angle), first * np.sin(angle) + second * np.cos(angle)
    return np.concatenate(turned, axis=-1).astype(x.dtype)
"""
#: What comes back, by when it changes.
CHANGING = {
    "always": "return np.random.default_rng().standard_normal(x.shape)",
    "always a little": "return rope(x, positions) + 1e-3 * CHANCE.random()",
    "in a half of the calls": "return rope(x, positions) * (1.5 if CHANCE.random() < 0.5 else 1)",
    "in a twentieth of the calls": "return rope(x, positions) * (1.5 if CHANCE.random() < 0.05 else 1)",
    "whether it raises": "return rope(x, positions) if CHANCE.random() < 0.5 else 1 / 0",
    "its shape": "return np.zeros(CHANCE.randrange(1, 9))",
    "how many there are": "return (x, x) if CHANCE.random() < 0.5 else x",
    "every second time": "CALLS.append(1); return x * (len(CALLS) % 2)",
}


def identified(
    folder: Path, capsys: pytest.CaptureFixture[str], body: str, *arguments: str, signature: str = "x, positions", beside: str = BESIDE
) -> tuple[int, str]:
    path = folder / "changing.py"
    path.write_text(f"{beside}\ndef f({signature}):\n{textwrap.indent(body, '    ')}\n", encoding="utf-8")
    status = main(["identify", f"{path}:f", *arguments])
    told = capsys.readouterr()
    assert told.err == ""
    return status, " ".join(told.out.split())


def test_the_start_of_a_process_takes_none_of_the_time_of_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = iter([0.3, 0.0, 0.0, 0.3, 0.0])
    monkeypatch.setattr(steady, "SECONDS", 0.2)
    monkeypatch.setattr(steady, "_answer", lambda *_: time.sleep(next(waits)) or [np.zeros(1)])

    assert len(steady._until(Strangers("nobody"), [None] * 5)) == 3  # type: ignore[list-item]  # noqa: SLF001  no call is made


@pytest.mark.parametrize("body", CHANGING.values(), ids=list(CHANGING))
def test_an_answer_that_changes_from_call_to_call_is_told_with_an_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    status, told = identified(tmp_path, capsys, body)

    assert status == Status.DIFFERS
    assert f"{steady.FROM_CALL_TO_CALL}: f(x, positions) in " in told
    assert " gave " in told
    assert " and then " in told
    assert "must answer" not in told


def test_code_of_which_nothing_is_seen_since_its_answers_change_is_blamed_for_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, told = identified(tmp_path, capsys, CHANGING["always"], "--json")

    (document,) = json.loads(told)
    assert status == Status.DIFFERS
    assert document["operation"] is None
    assert document["what"] == "unknown: the same call has several answers, so they don't show what it is"
    assert [fault.partition(":")[0] for fault in document["faults"]] == [steady.FROM_CALL_TO_CALL]


@pytest.mark.parametrize("body", ["return rope(x, positions, 10000 * ONCE)", "return rope(x, positions) * ONCE"])
def test_an_answer_that_changes_from_process_to_process_is_told_with_an_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    status, told = identified(tmp_path, capsys, body)

    assert status == Status.DIFFERS
    assert f"{steady.DIFFERS}: f(x, positions) in float" in told
    assert ".rotate in these calls: " in told or "no known scheme in these calls: " in told


def test_an_answer_that_changes_with_calls_before_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "CALLS.append(x.dtype) if x.dtype != 'float32' else None\nreturn x * positions.sum() ** 2 if len(CALLS) < 2 else 0 * x"

    status, told = identified(tmp_path, capsys, body, "--no-check")

    assert status == Status.DIFFERS
    assert f"{steady.HISTORY}: f(x, positions) in float" in told


SAME = ["raise ValueError(CHANCE.random())", "raise ValueError(object())", "return 0 * x / 0", "return x * positions.sum() ** 2"]


@pytest.mark.parametrize("body", SAME)
def test_what_is_said_in_other_words_each_time_is_no_other_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str) -> None:
    path = tmp_path / "constant.py"
    path.write_text(f"{BESIDE}\ndef f(x, positions):\n    {body}\n", encoding="utf-8")

    main(["identify", f"{path}:f"])

    told = capsys.readouterr()
    assert "answers differ" not in told.out + told.err


@pytest.mark.parametrize("result", ["()", "np.zeros((0, 5))", "np.zeros((2, 3))", "3.5"])
def test_an_answer_of_an_odd_shape_is_no_error_of_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str], result: str) -> None:
    signatures = ("x", "q, k", "x, cos, sin", "q, k, v", "length, dim", "positions, table", "relative_positions")
    functions = (f"def f{number}({signature}):\n    return {result}\n" for number, signature in enumerate(signatures))
    path = tmp_path / "odd.py"
    path.write_text("\n".join(["import numpy as np", *functions]), encoding="utf-8")

    assert main(["identify", str(path), "--no-check"]) in (Status.DIFFERS, Status.WRONG_USAGE)
    assert "internal error" not in capsys.readouterr().err


def test_what_differs_by_chance_from_worker_to_worker_is_blamed_on_no_hash_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    starts = tmp_path / "starts"
    counted = f"""
import pathlib
STARTS = pathlib.Path({str(starts)!r})
if not CALLS:
    STARTS.write_text((STARTS.read_text() if STARTS.exists() else "") + os.environ["PYTHONHASHSEED"])
    CALLS.append(STARTS.read_text().count("0"))
return rope(x, positions, 500.0 if os.environ["PYTHONHASHSEED"] == "1" or CALLS[0] > 6 else 10000.0)
"""

    _, told = identified(tmp_path, capsys, counted)

    assert steady.DIFFERS in told


def test_a_refusal_that_came_often_when_it_was_asked_again_is_asked_once(tmp_path: Path) -> None:
    """Code that refuses everything is asked in thousands of ways."""
    (tmp_path / "refusing.py").write_text(
        "from pathlib import Path\n\n\ndef f(x):\n    with Path(__file__).with_suffix('.txt').open('a') as calls:\n"
        "        calls.write('.')\n    raise ValueError('a shape' if x.ndim == 2 else 'never')\n"
    )

    def calls(strangers: Strangers, axes: int, times: int) -> int:
        before = len(written.read_text()) if written.exists() else 0
        for _ in range(times):
            with pytest.raises(Refused):
                strangers.answer(0, [np.zeros((1,) * axes)], {}, "float32")
        return len(written.read_text()) - before

    written = tmp_path / "refusing.txt"
    with Strangers(f"{tmp_path / 'refusing.py'}:f") as strangers:
        assert calls(strangers, 1, OFTEN) == 2 * OFTEN
        assert calls(strangers, 1, 5) == 5
        assert calls(strangers, 2, 5) == 2 * 5
