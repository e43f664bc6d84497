"""Several calls in one request: the examples answer each for itself and in order, and a reply that doesn't fit its request is refused."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.commands import replay
from conformance.protocol import lines
from conformance.protocol.errors import ProgramEndedError
from conformance.protocol.program import Program

LANGUAGES = Path(__file__).parents[1] / "examples" / "languages"
#: Cases that each example can do, around one that it can't.
CASES = {
    "rope.c": ("rope.rotate/far", "rope.rotate/negative-direction", "rope.rotate/half-layout", "rope.rotate/batched-positions"),
    "alibi.js": ("alibi.slopes/six-heads", "alibi.bias/column", "alibi.bias/first-positions", "alibi.slopes/one-head"),
}
DTYPES = {"rope.c": "float32", "alibi.js": "float64"}
Answers = list[dict[str, object]]

#: A program that answers every call by its operation, and does with its answers what the test puts in.
PROGRAM = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "describe":
        reply = {"id": 0, "protocol": 1, "name": "miniature", "implementations": [{"operation": "rope.rotate"}]}
    else:
        answers = [{"results": {"result": call["arrays"]["x"]}} for call in request["calls"]]
        reply = {"id": request["id"], "replies": CHANGED}
    print(json.dumps(reply), flush=True)
"""


def command(example: str, folder: Path) -> str:
    """Return what starts an example; C is compiled first."""
    tool = shutil.which("node") if example.endswith(".js") else shutil.which("gcc") or shutil.which("cc")
    if tool is None:
        pytest.skip(f"nothing that runs {example} is installed")
    if example.endswith(".js"):
        return f"{tool} {LANGUAGES / example}"
    subprocess.run([tool, "-O2", "-o", str(folder / "example"), str(LANGUAGES / example), "-lm"], check=True)
    return str(folder / "example")


@pytest.fixture(params=CASES)
def example(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    return request.param, command(request.param, tmp_path)


@pytest.fixture
def asked() -> Iterator[Callable[[str, list[dict[str, object]]], Answers]]:
    """Return what puts calls to a program in one request."""
    programs: list[Program] = []

    def put(started: str, calls: list[dict[str, object]]) -> Answers:
        programs.append(Program(started))
        programs[-1].describe()
        return programs[-1].calls(calls)

    yield put
    for program in programs:
        program.close()


def calls(name: str) -> list[dict[str, object]]:
    return [replay.call(vector, DTYPES[name], "x") for vector in replay.chosen(CASES[name])]


def test_an_example_answers_several_calls_as_it_answers_each(
    example: tuple[str, str], asked: Callable[[str, list[dict[str, object]]], Answers]
) -> None:
    name, started = example
    together = asked(started, calls(name))

    assert together == [answer for call in calls(name) for answer in asked(started, [call])]
    assert [next(iter(answer)) for answer in together] == ["results", "unsupported", "results", "results"]
    assert len({str(answer) for answer in together}) == len(together)


@pytest.mark.parametrize("batch", ["1", "3"])
def test_replay_judges_an_example_in_batches(example: tuple[str, str], batch: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, started = example

    assert main(["protocol", "replay", *CASES[name], "--dtype", DTYPES[name], "--batch", batch, "--command", started]) == 0

    told = [line.split(": ")[1] for line in capsys.readouterr().out.splitlines() if line.startswith(CASES[name])]
    assert told == ["passed", "unsupported", "passed", "passed"]


@pytest.mark.parametrize(("batch", "sizes"), [(1, [1, 1, 1, 1]), (3, [3, 1]), (9, [4])])
def test_replay_prints_so_many_calls_on_each_line(batch: int, sizes: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocol", "replay", *CASES["rope.c"], "--batch", str(batch)]) == 0

    _, *requests = [line.encode() for line in capsys.readouterr().out.splitlines()]
    assert [len(lines.message("call_request", request)["calls"]) for request in requests] == sizes


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ("answers[:-1]", "a reply must answer 4 calls, got 3"),
        ("answers + answers[:1]", "a reply must answer 4 calls, got 5"),
        ("[]", "must obey call_reply of the schema"),
        ("answers[0]", "must obey call_reply of the schema"),
        ("[answers]", "must obey call_reply of the schema"),
    ],
    ids=["too-few", "too-many", "none", "one-for-all", "nested"],
)
def test_a_reply_that_does_not_fit_its_request_ends_the_conversation(
    changed: str, words: str, tmp_path: Path, asked: Callable[[str, list[dict[str, object]]], Answers]
) -> None:
    path = tmp_path / "miniature.py"
    path.write_text(PROGRAM.replace("CHANGED", changed), encoding="utf-8")

    with pytest.raises(ProgramEndedError, match="the program broke the protocol") as ended:
        asked(f"{sys.executable} {path}", calls("rope.c"))
    assert words in str(ended.value)


def test_answers_in_another_order_are_answers_to_other_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "miniature.py"
    told = []
    for changed in ("answers", "answers[::-1]"):
        path.write_text(PROGRAM.replace("CHANGED", changed), encoding="utf-8")
        cases = ["rope.rotate/first-positions", "rope.rotate/half-layout"]
        main(["protocol", "replay", *cases, "--batch", "2", "--command", f"{sys.executable} {path}"])
        told.append(capsys.readouterr().out.splitlines()[1])

    assert [line.split(":")[1].strip() for line in told] == ["wrong value", "wrong shape"]
