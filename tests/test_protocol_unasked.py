"""What a program says or does after its answer is told of who answered, never of who is asked next."""

import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.calls.manner import PLAIN, TWICE, Manner
from conformance.calls.outcomes import FUTILE, NOT_RUN, Crashed, NotJudged, Outcome, Passed
from conformance.calls.status import Status
from conformance.calls.subject import CallFailedError, CallNotMadeError
from conformance.cli import main
from conformance.isolate.session import Session
from conformance.isolate.targets import COMMAND, TargetError
from conformance.protocol import lines
from conformance.protocol.errors import ProtocolError
from conformance.protocol.program import Program
from conformance.run import check
from conformance.run.orchestrator import AFTERWARDS
from conformance.run.questions import EVIDENCE, Judge
from conformance.spec.vectors import load

#: A program that answers two operations rightly; the test puts in what it does once it has described itself, after an answer to the first
#: operation, and before one to the second.
PROGRAM = """
import base64, json, os, select, struct, sys

def say(said):
    print(said if isinstance(said, str) else json.dumps(said), flush=True)

def computed(operation, head_dim=0, base=0, num_heads=0, max_bias=0, slopes=""):
    if operation == "alibi.slopes":
        return [2 ** (-max_bias * i / num_heads) for i in range(1, num_heads + 1)]
    return [base ** (-2 * i / head_dim) for i in range(head_dim // 2)]

offered = [{"operation": "rope.frequencies"}, {"operation": "alibi.slopes", "restrictions": {"num_heads": [4, 8]}}]
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "describe":
        say({"id": request["id"], "protocol": 1, "name": "miniature", "implementations": offered})
        DESCRIBED
        continue
    (call,) = request["calls"]
    values = computed(call["operation"], **call["parameters"])
    data = base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
    result = {"dtype": "float32", "shape": [len(values)], "base64": data}
    reply = {"id": request["id"], "replies": [{"results": {"result": result}}]}
    if call["operation"] == "alibi.slopes":
        BEFORE
        say(reply)
        continue
    say(reply)
    AFTER
"""
SENT = "sent an answer that nobody asked for"
ENDED = "the program ended with exit status 0"
#: What a faulty program does once it has answered, and how that is told: at once, or as the next request comes.
FAULTS = {
    "twice": ("say(reply)", SENT),
    "ahead": ('say({**reply, "id": request["id"] + 1})', SENT),
    "blank": ('say("")', "''"),
    "garbage": ('say("loading weights")', "'loading weights'"),
    "later garbage": ('select.select([0], [], []); say("loading weights")', "'loading weights'"),
    "exit": ("os._exit(0)", ENDED),
    "stop": ("os.kill(os.getpid(), 19)", "the program was stopped by a signal"),
    "later stop": ("select.select([0], [], []); os.kill(os.getpid(), 19)", "the program was stopped by a signal"),
    "later twice": ("select.select([0], [], []); say(reply)", SENT),
    "later exit": ("select.select([0], [], []); os._exit(0)", ENDED),
}
#: What is done in the first process alone.
ONCE = "if not os.path.exists(__file__ + '.once'): open(__file__ + '.once', 'w').close() or {}"


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., str]:
    def made(*, described: str = "pass", after: str = "pass", before: str = "pass") -> str:
        path = tmp_path / "miniature.py"
        path.write_text(PROGRAM.replace("DESCRIBED", described).replace("AFTER", after).replace("BEFORE", before), encoding="utf-8")
        return f"{sys.executable} {path}"

    return made


CALLS = {"rope.frequencies": {"head_dim": 4, "base": 100.0}, "alibi.slopes": {"num_heads": 4, "max_bias": 8.0, "slopes": "code"}}


def failed(target: str, manner: Manner = PLAIN) -> Outcome:
    """Return how a call of the second operation fails, after one of the first; nothing comes later."""
    with Session(target) as session:
        right, faulty = session.implementations
        session.request(right, "float32", (), CALLS[right.operation])
        with pytest.raises(CallFailedError) as failure:
            session.request(faulty, "float32", (), CALLS[faulty.operation], manner)
        assert session.late == {}
    return failure.value.outcome


@pytest.mark.parametrize(("after", "words"), FAULTS.values(), ids=FAULTS)
def test_the_next_call_is_answered_and_the_one_before_is_told(command: Callable[..., str], after: str, words: str) -> None:
    with Session(f"{COMMAND}{command(after=after)}") as session:
        faulty, right = session.implementations
        session.request(faulty, "float32", (), CALLS[faulty.operation])
        slopes = session.request(right, "float32", (), CALLS[right.operation]).values["result"]

        assert slopes.tolist() == [0.25, 0.0625, 0.015625, 0.00390625]
        assert list(session.late) == [(faulty.index, "float32")]
        ending = session.afterwards(faulty.index, "float32")
        assert isinstance(ending, Crashed)
        assert words in ending.message
        assert ending.message.endswith("; after rope.frequencies(head_dim=4, base=100.0)")


@pytest.mark.parametrize("fault", ["twice", "ahead", "exit", "garbage"])
def test_a_check_convicts_the_faulty_implementation_and_no_other(command: Callable[..., str], fault: str) -> None:
    after, words = FAULTS[fault]

    report = check(f"{COMMAND}{command(after=after)}", cases=["rope.frequencies/two-pairs", "alibi.slopes/eight-heads"])

    convicted = {(result.operation, result.check): str(result.outcome) for result in report.results if result.convicts}
    assert list(convicted) == [("rope.frequencies", "nothing afterwards")]
    assert words in convicted["rope.frequencies", "nothing afterwards"]
    assert {result.operation for result in report.results if not result.convicts} == {"rope.frequencies", "alibi.slopes"}


#: Garbage after every answer, and in place of every second one.
AT_TIMES = {
    "after": ({"after": 'say("garbage")'}, "rope.frequencies"),
    "in place": ({"before": 'globals().setdefault("asked", []).append(0); reply = reply if len(asked) % 2 else "garbage"'}, "alibi.slopes"),
}


@pytest.mark.parametrize(("places", "operation"), AT_TIMES.values(), ids=AT_TIMES)
def test_what_ends_its_worker_after_its_answers_again_and_again_is_asked_no_more(
    command: Callable[..., str], places: dict[str, str], operation: str
) -> None:
    with Session(f"{COMMAND}{command(**places)}") as session:
        right, faulty = sorted(session.implementations, key=lambda offered: offered.operation == operation)
        for _ in range(FUTILE + 1):
            session.request(faulty, "float32", (), CALLS[operation])
        with pytest.raises(CallNotMadeError, match=NOT_RUN):
            session.request(faulty, "float32", (), CALLS[operation])

        assert session.starts == FUTILE + 1
        assert session.request(right, "float32", (), CALLS[right.operation]).values["result"][0] in (1.0, 0.25)
        assert list(session.late) == [(faulty.index, "float32")]


def test_every_command_leaves_out_the_rest_of_what_ends_its_worker_after_its_answers(command: Callable[..., str]) -> None:
    target = COMMAND + command(after=FAULTS["garbage"][0])
    every = [vector.id for vector in load(["rope.frequencies"]) if vector.error is None]

    results = {result.check: result for result in check(target, cases=every).results}
    with Session(target) as session:
        judge = Judge(session, examples=12)
        asked = [question for question in judge.questions if question.task.operation == "rope.frequencies"]
        answered = [judge.answer(question) for question in asked if question.kind in ("vector", EVIDENCE)]
        judge.close()

    assert results.pop(AFTERWARDS).convicts
    assert [results[name].outcome for name in every[: FUTILE + 1]] == [Passed()] * (FUTILE + 1)
    assert {result.outcome for name, result in results.items() if name in every[FUTILE + 1 :]} == {NotJudged(NOT_RUN)}
    assert [result.kind for result in answered if result.convicts] == [EVIDENCE]
    passed = [result.check for result in answered if isinstance(result.outcome, Passed)]
    assert passed == every[: FUTILE + 1]


@pytest.mark.parametrize(
    ("before", "words"),
    [('reply["id"] += 1', "a reply must carry the id of its request, got another"), (ONCE.format("os._exit(0)"), ENDED)],
    ids=["another id", "exit once"],
)
def test_what_a_call_does_itself_is_told_of_no_other(command: Callable[..., str], before: str, words: str) -> None:
    outcome = failed(f"{COMMAND}{command(before=before)}")

    assert isinstance(outcome, Crashed)
    assert words in outcome.message


def test_what_a_call_leaves_between_its_own_repetitions_is_told_of_no_other(command: Callable[..., str]) -> None:
    assert SENT in str(failed(f"{COMMAND}{command(before=ONCE.format('say(reply)'))}", TWICE))


AGAIN = 'say({"id": 0, "protocol": 1, "name": "miniature", "implementations": offered})'
SECOND = ("it described itself again, which nobody asked for", "must hold answers to calls, got a second description of the program")
#: What a faulty program does before it is asked anything.
IMPATIENT = {
    "again": (AGAIN, SECOND[0]),
    "garbage": ('say("ready")', "it sent a line that nobody asked for: 'ready'"),
    "exit": ("os._exit(0)", ENDED),
    "closing": ("os.close(1); select.select([0], [], [])", "the program closed its output"),
}


@pytest.mark.parametrize(("described", "words"), IMPATIENT.values(), ids=IMPATIENT)
def test_what_a_program_does_before_it_is_asked_is_told_of_no_call(
    command: Callable[..., str], capsys: pytest.CaptureFixture[str], described: str, words: str
) -> None:
    asked = command(described=described)
    with Session(f"{COMMAND}{asked}") as session:
        first = session.implementations[0]
        with pytest.raises(TargetError, match="must wait until it is asked, got: the program") as error:
            session.request(first, "float32", (), {"head_dim": 4, "base": 100.0})

        assert words in str(error.value)
        assert session.late == {}

    for command_line in ("check --case", "protocol replay"):
        assert main([*command_line.split(), "rope.frequencies/two-pairs", "--command", asked]) == Status.WRONG_USAGE
        told = capsys.readouterr()
        assert "rope.frequencies" not in told.out
        assert "must wait until it is asked, got: the program" in told.err
        assert words in told.err


def test_what_a_program_does_once_before_it_is_asked_is_a_warning_and_convicts_nobody(command: Callable[..., str]) -> None:
    report = check(f"{COMMAND}{command(described=ONCE.format(AGAIN))}", cases=["rope.frequencies/two-pairs"])

    assert not any(result.convicts for result in report.results)
    assert any(SECOND[0] in warning for warning in report.warnings)


def test_the_id_of_a_request_says_nothing_of_the_next(command: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    plain, asked = Program._write, list[int]()  # noqa: SLF001  what is written is what the program sees
    monkeypatch.setattr(Program, "_write", lambda program, line: asked.append(json.loads(line)["id"]) or plain(program, line))
    program = Program(command())
    call = lines.call("rope.frequencies", "miniature", "float32", {}, {"head_dim": 2, "base": 9.0})

    program.describe()
    for _ in range(4):
        program.calls([call])
    program.close()

    steps = {after - before for before, after in itertools.pairwise(asked)}
    assert len(steps) == 4
    assert all(0 <= identity < 1 << 31 for identity in asked)


def test_a_second_description_in_place_of_an_answer_is_called_that_by_check(command: Callable[..., str]) -> None:
    with Session(f"{COMMAND}{command(before=AGAIN)}") as session:
        frequencies, slopes = session.implementations
        with pytest.raises(CallFailedError) as failure:
            session.request(slopes, "float32", (), {"num_heads": 4, "max_bias": 8.0, "slopes": "code"})

        assert any(words in str(failure.value.outcome) for words in SECOND)
        assert session.late == {}
        assert session.request(frequencies, "float32", (), {"head_dim": 2, "base": 100.0}).values["result"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("places", "told"),
    [
        ({"before": AGAIN}, "alibi.slopes/eight-heads: the program broke the protocol: the line must hold answers to calls, got a second"),
        ({"after": AGAIN}, "rope.frequencies/two-pairs: after its answer: the program broke the protocol"),
        ({"after": f"select.select([0], [], []); {AGAIN}"}, "rope.frequencies/two-pairs: after its answer: the program broke the protocol"),
    ],
    ids=["before an answer", "after an answer", "as the next request comes"],
)
def test_replay_tells_a_second_description_of_the_case_at_which_it_came(
    command: Callable[..., str], capsys: pytest.CaptureFixture[str], places: dict[str, str], told: str
) -> None:
    cases = ["rope.frequencies/two-pairs", "alibi.slopes/eight-heads"]

    assert main(["protocol", "replay", *cases, "--command", command(**places)]) == Status.WRONG_USAGE

    out = " ".join(capsys.readouterr().out.split())
    assert told in out
    assert out.count("broke the protocol") == 1


def test_replay_tells_a_second_description_that_came_before_any_case(
    command: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    once = ONCE.format(AGAIN)

    assert main(["protocol", "replay", "rope.frequencies/two-pairs", "--command", command(described=once)]) == Status.WRONG_USAGE

    out = " ".join(capsys.readouterr().out.split())
    assert any(words in out for words in SECOND)


def test_what_is_said_unasked_is_called_by_its_name_or_quoted() -> None:
    described = b'{"id":0,"protocol":1,"name":"x","implementations":[{"operation":"rope.rotate"}]}'

    assert lines.unasked(described + b"\nmore") == "described itself again, which nobody asked for"
    assert lines.unasked(b'{"id":0,"replies":[{"error":"x"}]}\n' + described) == SENT
    for other in (b"", b"\n", b"loading\n" + described, described[:-1]):
        assert lines.unasked(other).startswith(f"sent a line that nobody asked for: '{other.decode().partition(chr(10))[0][:60]}")


@pytest.mark.parametrize(
    ("kind", "line", "words"),
    [
        ("describe_reply", '{"id":0,"replies":[{"error":"x"}]}', "the line must hold a description of the program, got answers to calls"),
        ("call_reply", lines.line(lines.describe_request(0)).decode(), "the line must hold answers to calls, got a request"),
    ],
)
def test_another_message_than_the_one_that_is_due_is_called_by_its_name(kind: str, line: str, words: str) -> None:
    with pytest.raises(ProtocolError) as error:
        lines.message(kind, line.encode())

    assert str(error.value) == words


def test_the_exit_status_of_a_program_is_the_program_s(command: Callable[..., str]) -> None:
    for status in (70, 71, 74):
        ends = f'print("no licence", file=sys.stderr, flush=True); os._exit({status})'
        told = f"the program ended with exit status {status}; it last said: no licence"
        assert failed(f"{COMMAND}{command(before=ends)}") == Crashed(told)


IMITATING = """
import os
from posenc import Adapter

adapter = Adapter("imitating")

@adapter.implements("rope.frequencies", base=100.0, head_dim=4)
def frequencies(**_):
    return [1.0, 0.1]

@adapter.implements("alibi.slopes")
def slopes(**_):
    os._exit(STATUS)
"""


@pytest.mark.parametrize("status", [70, 71])
def test_an_adapter_that_ends_with_any_status_has_ended_by_itself(tmp_path: Path, status: int) -> None:
    path = tmp_path / "imitating.py"
    path.write_text(IMITATING.replace("STATUS", str(status)), encoding="utf-8")

    assert failed(str(path)) == Crashed(f"the process ended with exit status {status}")
