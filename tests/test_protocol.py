"""The line protocol: its page, its examples in other languages, and everything that a program may do wrong."""

import base64
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.calls.limits import Limits
from conformance.calls.outcomes import Crashed, Errored, Failed, Reason, Report, TimedOut, Unsupported
from conformance.calls.status import Status
from conformance.calls.subject import CallFailedError, CallRefusedError
from conformance.cli import main
from conformance.commands import replay
from conformance.isolate.session import Session
from conformance.isolate.targets import COMMAND, TargetError
from conformance.protocol import lines
from conformance.protocol.errors import CommandError, ProtocolError
from conformance.protocol.program import split
from conformance.run import check
from conformance.show.summary import convictions

ROOT = Path(__file__).parents[1]
LANGUAGES = ROOT / "examples" / "languages"
PAGE = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
#: How the same answer is told when it came between looking and asking.
ANOTHER = "a reply must carry the id of its request, got another: "
ARRAYS = [np.ones((1, 1, 1, 4)), np.array([1])]
PARAMETERS = {"head_dim": 4, "base": 10_000.0, "layout": "half", "direction": "positive"}

#: A program that answers ``describe`` and leaves calls to what the test puts in: an expression for the reply to ``request``.
PROGRAM = """
import json, os, signal, sys, time
x = {"dtype": "float32", "shape": [1, 1, 1, 4], "base64": "AACAPwAAgD8AAIA/AACAPw=="}
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "describe":
        offered = [{"operation": "rope.rotate", "restrictions": {"layout": ["half"]}}]
        reply = {"id": request["id"], "protocol": 1, "name": "miniature", "implementations": offered}
    else:
        reply = REPLY
    print(reply if isinstance(reply, str) else json.dumps(reply), flush=True)
"""


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., str]:
    """Return what writes the program and returns the command that starts it."""

    def made(reply: str, *, offered: str = "", before: str = "", after: str = "") -> str:
        path = tmp_path / "miniature.py"
        source = re.sub("offered = .*", f"offered = {offered}", PROGRAM) if offered else PROGRAM
        path.write_text(before + source.replace("REPLY", reply) + after, encoding="utf-8")
        return f"{sys.executable} {path}"

    return made


@pytest.fixture
def program(command: Callable[..., str]) -> Callable[[str], Session]:
    return lambda reply: Session(f"{COMMAND}{command(reply)}", Limits(call_seconds=2.0))


def outcome(session: Session, **changed: object) -> object:
    with session:
        (offered,) = session.implementations
        try:
            return session.request(offered, "float32", ARRAYS, {**PARAMETERS, **changed}).values
        except CallFailedError as error:
            return error.outcome
        except CallRefusedError as refusal:
            return Unsupported(str(refusal))


@pytest.fixture(scope="module")
def c_program(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Report]:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    folder = tmp_path_factory.mktemp("c")

    def judged(*flags: str, **asked: Any) -> Report:
        binary = folder / f"rope{len(flags)}"
        warnings = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")
        subprocess.run([compiler, *warnings, *flags, "-o", str(binary), str(LANGUAGES / "rope.c"), "-lm"], check=True)
        return check(f"{COMMAND}{binary}", **asked)

    return judged


@pytest.fixture(scope="module")
def node_program() -> Callable[..., Report]:
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    return lambda *flags: check(f"{COMMAND}node {LANGUAGES / 'alibi.js'} {' '.join(flags)}")


def passed(report: Report) -> int:
    return sum(result.kind == "vector" and not result.convicts for result in report.results)


def test_the_c_example_conforms(c_program: Callable[..., Report]) -> None:
    report = c_program()

    assert report.status == 0
    assert report.header["device"] == "not told"
    assert passed(report) >= 12


#: What starts a process that holds the output for long.
CHILD = "__import__('subprocess').Popen(['sleep', '1000'], stdin=-3)"


@pytest.mark.parametrize("said", ["", '{"id"'])
def test_a_program_that_ends_beside_a_child_that_holds_its_output_has_crashed(program: Callable[[str], Session], said: str) -> None:
    ends = f"({CHILD}, sys.stdout.write({said!r}), sys.stdout.flush(), os._exit(3))"

    assert outcome(program(ends)) == Crashed("the program ended with exit status 3")


def test_an_answer_beside_a_child_that_holds_the_output_counts(program: Callable[[str], Session]) -> None:
    answers = f"({CHILD}, {{'id': request['id'], 'replies': [{{'results': {{'result': x}}}}]}})[1]"

    values = outcome(program(answers))

    assert isinstance(values, dict)
    assert np.array_equal(values["result"], np.ones((1, 1, 1, 4)))


def test_a_program_may_say_where_it_computes(tmp_path: Path) -> None:
    path = tmp_path / "miniature.py"
    path.write_text(PROGRAM.replace("REPLY", "0").replace('"protocol": 1,', '"protocol": 1, "device": "TPU v9",'), encoding="utf-8")

    with Session(f"{COMMAND}{sys.executable} {path}") as session:
        assert session.about["device"] == "TPU v9"


@pytest.mark.parametrize("reply", ["sys.exit('no licence')", "print('no licence', file=sys.stderr, flush=True) or os.abort()"])
def test_the_last_line_of_a_program_that_ends_is_told(command: Callable[..., str], reply: str) -> None:
    report = check(f"{COMMAND}{command(reply)}", level="smoke")

    ended = [result.outcome.message for result in report.results if isinstance(result.outcome, Crashed)]
    assert ended
    assert all(message.endswith("; it last said: no licence") for message in ended)


def test_the_last_line_of_a_program_that_does_not_describe_itself_is_told() -> None:
    target = f"{COMMAND}{sys.executable} -c \"import sys; sys.exit('no licence')\""

    with Session(target) as session, pytest.raises(TargetError, match="the program ended with exit status 1; it last said: no licence"):
        _ = session.about


def test_the_wrong_c_example_is_convicted_and_its_mistake_named(c_program: Callable[..., Report]) -> None:
    found = convictions(c_program("-DFROM_ONE"))

    assert [conviction.diagnosis.mutants for conviction in found if conviction.diagnosis] == [("rope.rotate/positions-from-one",)]


def in_a_shell(pasted: str) -> str:
    """Return what a person sees who pastes a command."""
    begun = f'posenc() {{ {shlex.quote(sys.executable)} -m conformance "$@"; }}'
    done = subprocess.run(["sh", "-c", f"{begun}\n{pasted}"], check=False, capture_output=True, text=True, cwd=ROOT)  # noqa: S607  any sh
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wrong_c_program(c_program: Callable[..., Report]) -> Report:
    return c_program("-DFROM_ONE", level="smoke", seed=5, profile="float32")


@pytest.mark.parametrize("kind", ["vector", "drawn", "law"])
def test_a_failure_of_a_program_is_seen_again_by_a_command_as_it_is_printed(kind: str, wrong_c_program: Report) -> None:
    report = wrong_c_program
    wrong = next(result for result in report.results if result.kind == kind and result.convicts)
    assert wrong.reproduction is not None
    assert all(len(line) <= 66 for line in wrong.reproduction.replace(report.target.removeprefix(COMMAND), "PROGRAM").splitlines())
    assert wrong.call is None or "head_dim=" in wrong.call

    shown = in_a_shell(wrong.reproduction)

    assert wrong.check in shown or kind == "law"
    assert "wrong value" in shown


def test_a_failure_at_another_level_and_profile_is_seen_again_there(wrong_c_program: Report) -> None:
    wrong = next(result for result in wrong_c_program.results if result.kind == "drawn" and result.convicts)

    assert shlex.split(str(wrong.reproduction).replace("\\\n", " "))[4:] == [
        "--case", wrong.check, "--seed", "5", "--level", "smoke", "--profile", "float32", "--verbose",
    ]  # fmt: skip


def test_a_case_is_put_to_every_implementation_by_its_label(command: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    replies = '{"id": request["id"], "replies": [{"error": "for " + call["label"]} for call in request["calls"]]}'
    asked = command(replies, offered="[{'operation': 'rope.rotate', 'label': label} for label in 'ab']")

    assert main(["protocol", "replay", "rope.rotate/half-layout", "--command", asked]) == 0

    shown = capsys.readouterr().out
    assert "rope.rotate/half-layout (a): error: for a\nrope.rotate/half-layout (b): error: for b\n" in shown


def test_replay_names_the_cases_that_an_interruption_left_unasked(
    command: Callable[..., str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = iter([{}, KeyboardInterrupt])

    def call(*given: Any) -> Any:
        if next(made) is KeyboardInterrupt:
            raise KeyboardInterrupt
        return plain(*given)

    plain = replay.call
    monkeypatch.setattr(replay, "call", call)
    asked = command('{"id": request["id"], "replies": [{"error": "no"}]}')

    assert main(["protocol", "replay", "rope.rotate/half-layout", "rope.rotate/far", "--command", asked]) == Status.INTERRUPTED

    assert "not asked to the end: rope.rotate/far" in capsys.readouterr().out


def test_an_answer_that_is_no_result_ends_no_replay(command: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    replies = '{"id": request["id"], "replies": [{"results": {"result": {**x, "base64": "AAA"}}}]}'

    main(["protocol", "replay", "rope.rotate/half-layout", "rope.rotate/far", "--command", command(replies)])

    told = ": not a result: result must be base64, got 'AAA'\n"
    assert f"rope.rotate/half-layout{told}rope.rotate/far{told}" in capsys.readouterr().out


#: Answers the layout *interleaved* only; of the other it does what is said here.
FAILING = 'DOES if request["calls"][0]["parameters"]["layout"] == "half" else {"id": request["id"], "replies": [{"error": "no"}]}'


@pytest.mark.parametrize(
    ("does", "words"),
    [("sys.exit(3)", "the program ended with exit status 3"), ("signal.pause()", "no answer within 1 s")],
    ids=["ends", "says nothing"],
)
def test_a_program_that_gives_no_answer_is_started_again_for_the_next_case(
    command: Callable[..., str], capsys: pytest.CaptureFixture[str], does: str, words: str
) -> None:
    cases = ["rope.rotate/half-layout", "rope.rotate/first-positions", "rope.rotate/half-layout"]
    asked = command(FAILING.replace("DOES", does))

    assert main(["protocol", "replay", *cases, "--call-seconds", "1", "--command", asked]) == Status.WRONG_USAGE

    told = capsys.readouterr()
    assert [line for line in told.out.splitlines() if line[0] != " "] == [
        "miniature", f"rope.rotate/half-layout: {words}", "rope.rotate/first-positions: error: no", f"rope.rotate/half-layout: {words}",
    ]  # fmt: skip
    assert "every request must be answered once, got otherwise for rope.rotate/half-layout, rope.rotate/half-layout" in told.err


def test_replay_ends_where_a_program_ends_after_each_description(command: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    asked = command("sys.exit(3)", after="    sys.exit(4)\n")

    assert main(["protocol", "replay", "rope.rotate/far", "rope.rotate/half-layout", "--command", asked]) == 2

    told = capsys.readouterr()
    assert "the program ended with exit status 4" in told.out + told.err


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ("sys.exit(0)", "the program ended with exit status 0"),
        ("print(json.dumps(reply), flush=True)", f"the program broke the protocol: ({ANOTHER})?it sent an answer that nobody asked for"),
    ],
    ids=["ends", "answers again"],
)
def test_what_a_program_does_after_an_answer_is_told_of_that_case_and_the_next_is_asked(
    command: Callable[..., str], capsys: pytest.CaptureFixture[str], after: str, words: str
) -> None:
    reply = '{"id": request["id"], "replies": [{"error": "no"}]}'
    ending = f"    if request['method'] == 'call' and request['calls'][0]['parameters']['layout'] == 'half': {after}\n"
    cases = ["rope.rotate/half-layout", "rope.rotate/first-positions"]

    assert main(["protocol", "replay", *cases, "--command", command(reply, after=ending)]) == Status.WRONG_USAGE

    told = capsys.readouterr()
    half, late = "rope.rotate/half-layout: error: no", f"rope.rotate/half-layout: after its answer: {words}"
    assert re.search(f"{half} {late} rope.rotate/first-positions: error: no", " ".join(told.out.split()))
    assert "got otherwise for rope.rotate/half-layout" in told.err


def test_a_program_that_can_t_be_started_again_leaves_a_line_for_every_case(
    command: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "miniature.sh"
    path.write_text(f"#!/bin/sh\nexec {command('os.unlink(sys.argv[1]) or sys.exit(3)')} $0\n", encoding="utf-8")
    path.chmod(0o755)

    assert main(["protocol", "replay", "rope.rotate/far", "rope.rotate/half-layout", "--command", str(path)]) == Status.WRONG_USAGE

    told = "".join(capsys.readouterr().out.split())
    assert "rope.rotate/far:theprogramendedwithexitstatus3rope" in told
    assert f"rope.rotate/half-layout:commandmuststartwithaprogramthatcanberun,got{str(path)!r}" in told


def test_a_program_that_ends_its_group_of_processes_ends_no_replay(command: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    asked = command("os.killpg(os.getpgrp(), signal.SIGKILL)")

    assert main(["protocol", "replay", "rope.rotate/far", "--command", asked]) == Status.WRONG_USAGE

    assert "rope.rotate/far: the program ended with signal SIGKILL" in capsys.readouterr().out


def test_replay_waits_for_a_description_as_long_as_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "miniature.py"
    path.write_text("import signal; signal.pause()", encoding="utf-8")

    assert main(["protocol", "replay", "rope.rotate/far", "--startup-seconds", "1", "--command", f"{sys.executable} {path}"]) == 2

    assert capsys.readouterr().err == "posenc: no answer within 1 s\n"


def test_what_a_program_says_moves_no_cursor_and_a_case_outside_of_its_declaration_is_told(
    command: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    replies = r'{"id": request["id"], "replies": [{"error": "\x1b[31mred"}]}'
    asked = command(replies, offered="[{'operation': 'rope.rotate', 'restrictions': {'layout': 'half'}}]")

    assert main(["protocol", "replay", "rope.rotate/first-positions", "--command", asked]) == 0

    shown = capsys.readouterr().out
    assert "rope.rotate/first-positions: error: \\x1b[31mred\n" in shown
    assert "  outside of what it declares: layout='interleaved'; it declares 'half'\n" in shown


def test_the_javascript_example_conforms(node_program: Callable[..., Report]) -> None:
    report = node_program()

    assert report.status == 0
    assert {result.operation for result in report.results} == {"alibi.slopes", "alibi.bias"}


def test_the_javascript_example_by_a_rule_that_it_does_not_declare_is_told_which(node_program: Callable[..., Report]) -> None:
    named = {name for conviction in convictions(node_program("--paper")) if conviction.diagnosis for name in conviction.diagnosis.mutants}

    assert named == {"alibi.slopes/slopes=paper", "alibi.bias/slopes=paper"}


def test_the_conversation_on_the_page_is_in_the_schema() -> None:
    said = re.findall(r"^    [<>] (.*)$", PAGE, re.MULTILINE)
    kinds = ("describe_request", "describe_reply", "call_request", "call_reply")

    assert len(said) == len(kinds)
    assert all(lines.message(kind, line.encode()) for kind, line in zip(kinds, said, strict=True))


def test_what_the_harness_writes_is_in_the_schema() -> None:
    call = lines.call("rope.rotate", "x", "float32", {"x": np.ones((1, 2), np.float32), "positions": np.array([3])}, {"base": 1e4})

    assert lines.message("call_request", lines.line(lines.call_request(7, [call])))["id"] == 7
    assert lines.message("describe_request", lines.line(lines.describe_request(0)))["method"] == "describe"


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "uint8", "bool"])
def test_a_tensor_survives_the_line(dtype: str) -> None:
    values = np.array([[0, 1, -0.0], [2, 5, 1]]).astype(dtype)

    read = lines.array("x", json.loads(json.dumps(lines.tensor(values[:, ::-1]))))

    assert read.dtype == dtype
    assert np.array_equal(read, values[:, ::-1])


def test_a_tensor_in_bfloat16_survives_the_line() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    values = np.array([1.5, -3.0]).astype(ml_dtypes.bfloat16)

    assert lines.tensor(values)["base64"] == base64.b64encode(b"\xc0\x3f\x40\xc0").decode()
    assert np.array_equal(lines.array("x", lines.tensor(values)), values)


@pytest.mark.parametrize("name", ["a\nb", "x" + "9" * 5_000])
def test_the_name_of_a_tensor_stays_part_of_one_readable_line(name: str) -> None:
    with pytest.raises(ProtocolError) as refusal:
        lines.array(name, {"dtype": "float64", "shape": [4], "base64": ""})

    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"id": request["id"], "replies": [{"unsupported": "too wide"}]}', Unsupported("too wide")),
        (
            '{"id": request["id"], "replies": [{"results": {"y": x}}]}',
            Failed(Reason.MALFORMED, "results must be result, got y"),
        ),
        (
            '{"id": request["id"], "replies": [{"results": {"result": {**x, "shape": [1, 1, 1, 5]}}}]}',
            Failed(Reason.MALFORMED, "result must hold 20 bytes for float32 of shape (1, 1, 1, 5), got 16"),
        ),
        (
            '{"id": request["id"], "replies": [{"results": {"result": {**x, "base64": "?"}}}]}',
            Failed(Reason.MALFORMED, "result must be base64, got '?'"),
        ),
    ],
    ids=["unsupported", "another-result", "another-shape", "no-base64"],
)
def test_an_answer_that_is_no_result_gets_its_own_outcome(program: Callable[[str], Session], reply: str, expected: object) -> None:
    assert outcome(program(reply)) == expected


def test_one_array_of_another_shape_is_one_result(program: Callable[[str], Session]) -> None:
    reply = '{"id": request["id"], "replies": [{"results": {"result": {"dtype": "bool", "shape": [1], "base64": "AQ=="}}}]}'

    assert outcome(program(reply)) == {"result": np.array([1])}


def test_an_error_of_the_program_is_an_error(program: Callable[[str], Session]) -> None:
    found = outcome(program('{"id": request["id"], "replies": [{"error": "out of tables"}]}'))

    assert isinstance(found, Errored)
    assert "out of tables" in str(found)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ('"loading weights"', "a line must be one JSON object, got 'loading weights'"),
        ('"[1, 2"', "a line must be one JSON object"),
        ('"[" * 100000 + "]" * 100000', "a line must be one JSON object"),
        ('"{\\"id\\": NaN}"', "a line must be one JSON object"),
        ('{"id": request["id"] + 1, "replies": [{"unsupported": ""}]}', "a reply must carry the id of its request, got another"),
        ('{"id": request["id"], "replies": [{"unsupported": ""}] * 2}', "a reply must answer 1 calls, got 2"),
        ('{"id": request["id"], "replies": [{"results": {"result": 1.5}}]}', "must obey call_reply of the schema"),
        ('{"id": request["id"], "replies": [{"results": {"result": {**x, "shape": [-4]}}}]}', "must obey call_reply of the schema"),
        ("os._exit(7)", "the program ended with exit status 7"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "the program ended with signal SIGSEGV"),
        ("os.close(1) or time.sleep(60)", "the program closed its output"),
    ],
    ids=["log", "truncated", "deep", "nan", "other-id", "too-many", "no-tensor", "negative-shape", "exit", "signal", "closed"],
)
def test_a_program_that_can_t_be_followed_has_crashed(program: Callable[[str], Session], reply: str, words: str) -> None:
    found = outcome(program(reply))

    assert isinstance(found, Crashed)
    assert words in str(found)


def test_a_program_that_hangs_has_timed_out_and_leaves_nothing_behind(program: Callable[[str], Session], tmp_path: Path) -> None:
    note = tmp_path / "pid"

    assert isinstance(outcome(program(f"open({str(note)!r}, 'w').write(str(os.getpid())) and time.sleep(60)")), TimedOut)
    assert not runs(int(note.read_text()))


def runs(pid: int) -> bool:
    """Return whether a process still runs; one that nobody has buried yet doesn't."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_restriction_keeps_a_call_from_the_program(program: Callable[[str], Session]) -> None:
    assert isinstance(outcome(program("os._exit(1)"), layout="interleaved"), Unsupported)


@pytest.mark.parametrize("command", ["", "no-such-program-anywhere", "'unbalanced"])
def test_a_command_that_can_t_be_started_is_refused(command: str) -> None:
    with pytest.raises(CommandError, match=r"^command must"):
        split(command)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check"], "check must get a TARGET or a --command, got neither"),
        (["check", "--command", "no-such-program-anywhere"], "command must start with a program that can be run"),
        (["check", "--command", f"{sys.executable} -c pass"], "must answer describe, got nothing usable: the program ended with exit"),
        (["protocol", "replay", "rope.rotate/no-such-case"], "case must be one that `posenc show rope.rotate` names"),
    ],
)
def test_what_is_wrong_with_a_command_is_said_in_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2

    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_replay_prints_lines_that_are_in_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocol", "replay", "rope.rotate/first-positions", "t5.bucket/near-causal"]) == 0

    first, *rest = capsys.readouterr().out.splitlines()
    assert lines.message("describe_request", first.encode())
    assert [lines.message("call_request", line.encode())["calls"][0]["operation"] for line in rest] == ["rope.rotate", "t5.bucket"]


#: A reply with one result.
ANSWER = '{"id": request["id"], "replies": [{"results": {"result": x}}]}'


def test_replay_leaves_nothing_that_a_program_started(command: Callable[..., str], tmp_path: Path) -> None:
    left = tmp_path / "left"
    starts = f"import subprocess; open({str(left)!r}, 'w').write(str(subprocess.Popen(['sleep', '300'], start_new_session=True).pid))\n"

    assert main(["protocol", "replay", "rope.rotate/half-layout", "--command", command(ANSWER, before=starts)]) == 0

    alive = [process.pid for process in psutil.process_iter() if process.status() != psutil.STATUS_ZOMBIE]
    assert int(left.read_text()) not in alive


def test_replay_shows_got_beside_expected(command: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocol", "replay", "rope.rotate/half-layout", "--command", command(ANSWER)]) == 0

    shown = capsys.readouterr().out
    assert "rope.rotate/half-layout: wrong shape" in shown
    assert "got      result 1 1 1 1" in shown


LINE = lines.line({"id": 1, "replies": [{"results": {"result": lines.tensor(np.arange(4.0))}}]})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "replies", "results", "result", "shape"]), inner),
    max_leaves=12,
)
BROKEN = st.one_of(
    st.binary(max_size=200),
    st.integers(0, len(LINE)).map(lambda end: LINE[:end]),
    st.tuples(st.integers(0, len(LINE) - 1), st.binary(max_size=3)).map(lambda cut: LINE[: cut[0]] + cut[1] + LINE[cut[0] + 1 :]),
    st.permutations(list(LINE.decode())).map(lambda letters: "".join(letters).encode()),
    JSON.map(lambda said: json.dumps(said).encode()),
)


@settings(max_examples=2_000)
@given(line=BROKEN)
def test_whatever_a_line_holds_it_is_a_reply_or_a_clear_error(line: bytes) -> None:
    told = read(line)

    assert isinstance(told, list) or ("must" in told and "\n" not in told)


def read(line: bytes) -> list[np.ndarray] | str:
    """Return the tensors of a reply, or the error."""
    try:
        reply = lines.message("call_reply", line)
        return [lines.array(*tensor) for answer in reply["replies"] for tensor in answer.get("results", {}).items()]
    except ProtocolError as error:
        return str(error)
