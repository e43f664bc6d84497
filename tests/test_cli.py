"""The command line: what each command does, and its exit status."""

import fcntl
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from few_vectors import few_vectors

from conformance import cli, run
from conformance.calls.limits import Limits
from conformance.calls.outcomes import (
    Advisory,
    Evidence,
    Failed,
    HarnessError,
    NotJudged,
    Outcome,
    Passed,
    Reason,
    Report,
    Result,
    Unsupported,
)
from conformance.calls.status import Status
from conformance.commands import exits
from conformance.commands.posenc import posenc
from conformance.isolate.targets import BUNDLED
from conformance.reports import files
from conformance.run.sharding import Shard
from conformance.show import record
from conformance.spec import vectors
from conformance.spec.vectors import load

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
HEAVY = ("numpy", "hypothesis", "yaml", "rich", "jsonschema", "refimpl.schemes")


def report(target: str, *outcomes: Outcome, complete: bool = True) -> Report:
    """Return a report whose results have the given outcomes, with evidence enough."""
    results = (Result("mine", "rope.rotate", "rope.rotate/x", "vector", "float32", "float32", outcome) for outcome in outcomes)
    evidence = (Evidence("mine", "rope.rotate", "float32", golden=8, values=64),)
    return Report(target, {}, tuple(results), complete=complete, evidence=evidence)


@pytest.fixture
def canned(monkeypatch: pytest.MonkeyPatch) -> dict[str, Report]:
    """Replace the run by reports made by hand, by target."""
    reports: dict[str, Report] = {}
    monkeypatch.setattr(run, "check", lambda target, **_: reports[target])
    return reports


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Passed(), 0),
        (Failed(Reason.VALUE, "wrong"), 1),
        (HarnessError("broken"), 3),
        (Advisory("note"), 4),
        (Unsupported("no"), 5),
        (NotJudged("too wide"), 5),
    ],
)
def test_the_exit_status_is_the_verdict(canned: dict[str, Report], outcome: Outcome, status: int) -> None:
    canned["mine"] = report("mine", outcome)

    assert cli.main(["check", "mine"]) == status


def test_a_run_without_results_is_no_success(canned: dict[str, Report]) -> None:
    canned["mine"] = report("mine")

    assert cli.main(["check", "mine"]) == 4


def test_several_targets_are_all_judged_and_the_worst_status_counts(canned: dict[str, Report], capsys: pytest.CaptureFixture[str]) -> None:
    canned |= {"good": report("good", Passed()), "bad": report("bad", Failed(Reason.VALUE, "wrong"))}

    assert cli.main(["check", "bad", "good"]) == 1
    assert "good conforms" in capsys.readouterr().out


def test_a_run_in_which_nothing_ran_hides_no_failure_and_no_broken_harness(canned: dict[str, Report]) -> None:
    canned |= {"empty": report("empty"), "bad": report("bad", Failed(Reason.VALUE, "wrong")), "broken": report("broken", HarnessError("?"))}

    assert cli.main(["check", "empty", "bad"]) == 1
    assert cli.main(["check", "broken", "bad", "empty"]) == 3


def test_json_is_one_document_per_line_and_nothing_else(canned: dict[str, Report], capsys: pytest.CaptureFixture[str]) -> None:
    canned |= {"good": report("good", Passed()), "bad": report("bad", Failed(Reason.VALUE, "wrong"))}
    cli.main(["check", "--json", "good", "bad"])
    out, err = capsys.readouterr()

    assert [json.loads(line)["verdict"] for line in out.splitlines()] == ["conforms", "does not conform"]
    assert err == ""


def test_options_reach_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}
    monkeypatch.setattr(run, "check", lambda target, **said: asked.update(said) or report(target, Passed()))
    options = {"scheme": "rope", "operation": "rope.rotate", "profile": "float64", "level": "smoke"}
    options |= {"seed": "5", "shard": "2/3", "jobs": "4", "startup-seconds": "5", "call-seconds": "1.5", "memory": "700", "processes": "9"}
    options["under"] = "autocast"
    cli.main(["check", "mine", *(word for name, value in options.items() for word in (f"--{name}", value))])
    asked.pop("progress")

    assert asked == {
        "schemes": ("rope",),
        "operations": ("rope.rotate",),
        "cases": None,
        "profile": "float64",
        "level": "smoke",
        "seed": 5,
        "shard": Shard(2, 3),
        "jobs": 4,
        "limits": Limits(5.0, 1.5, 700, 9),
        "under": "autocast",
    }


def test_each_run_has_its_own_seed_unless_one_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(run, "any_seed", iter((3, 4)).__next__)
    monkeypatch.setattr(run, "check", lambda target, *, seed, **_: asked.append(seed) or report(target, Passed()))
    for given in ((), (), ("--seed", "9")):
        cli.main(["check", "mine", *given])

    assert asked == [3, 4, 9]


def test_an_interruption_exits_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> Report:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "check", interrupted)

    assert cli.main(["check", "mine"]) == 130
    assert capsys.readouterr().out.startswith("mine no verdict: interrupted before everything was run")


def test_an_interrupted_report_is_shown_and_exits_with_130(canned: dict[str, Report], capsys: pytest.CaptureFixture[str]) -> None:
    canned["mine"] = report("mine", Passed(), complete=False)

    assert cli.main(["check", "mine"]) == 130
    assert "mine no verdict: interrupted before everything was run" in capsys.readouterr().out


def test_targets_that_an_interrupted_run_has_not_reached_are_named(canned: dict[str, Report], capsys: pytest.CaptureFixture[str]) -> None:
    canned["first"] = report("first", Passed(), complete=False)
    canned["second"] = canned["third"] = report("second", Passed())

    assert cli.main(["check", "first", "second", "third"]) == 130
    told = capsys.readouterr().err
    assert [f"posenc: {target} isn't judged: the run ended before it was reached" in told for target in ("first", "second", "third")] == [
        False, True, True,
    ]  # fmt: skip


def test_an_interruption_while_reports_are_written_leaves_the_screen(
    canned: dict[str, Report], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write, times = files.write, iter([KeyboardInterrupt, None])

    def interrupted(reports: Sequence[Report], folder: Path) -> None:
        write(reports, folder)
        if next(times) is KeyboardInterrupt:
            raise KeyboardInterrupt

    monkeypatch.setattr(files, "write", interrupted)
    canned["first"] = canned["second"] = report("first", Passed())

    assert cli.main(["check", "first", "second", "--report", str(tmp_path / "found")]) == 130

    told = capsys.readouterr()
    assert told.out.startswith("first ")
    assert "second isn't judged: the run ended before it was reached" in told.err


def test_a_fault_of_ours_is_one_line_and_no_verdict(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object, **__: object) -> Report:
        message = "two\nlines"
        raise RuntimeError(message)

    monkeypatch.setattr(run, "check", broken)

    assert cli.main(["check", "mine"]) == 3
    assert capsys.readouterr().err == "posenc: internal error: RuntimeError: two lines (POSENC_TRACEBACK=1 shows where)\n"


def test_a_fault_of_ours_has_its_status_where_its_traceback_is_shown_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "check", lambda *_, **__: 1 // 0)
    monkeypatch.setenv("POSENC_TRACEBACK", "1")

    assert cli.main(["check", "mine"]) == 3
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_library_that_exits_is_no_interruption(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run, "check", lambda *_, **__: sys.exit(0))

    assert cli.main(["check", "mine"]) == 3
    assert "a library ended the program: SystemExit: 0" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_an_error_is_folded_on_a_terminal_and_one_line_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "empty.py").touch()
    monkeypatch.chdir(tmp_path)
    cli.main(["check", "empty.py"])
    line = capsys.readouterr().err
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "80")

    cli.main(["check", "empty.py"])

    folded = sys.stderr.getvalue()
    assert line.count("\n") == 1
    assert max(map(len, folded.splitlines())) <= 80
    assert folded.split() == line.split()


def test_help_names_every_command_and_every_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["--help"])
    out = capsys.readouterr().out

    assert status == 0
    for word in ("check", "list", "show", "doctor", "init", "vectors", "bench", "0 conforms", "130"):
        assert word in out


@pytest.mark.parametrize("name", dict(exits.commands(posenc)))
def test_the_help_of_a_command_and_the_page_have_its_exit_statuses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    own, every = exits.EXITS[name], {**exits.EVERY, **exits.EXITS[name]}
    rows = [f"| {status.value} | " for status in every] if name == "check" else [f"| `{name}` | {exits.told(own)} |"]

    assert cli.main([*name.split(), "--help"]) == 0
    assert f"Exit status: {exits.told(every)}." in " ".join(capsys.readouterr().out.split())
    assert [row for row in rows if f"\n{row}" not in page] == []


def test_the_page_names_every_bundled_adapter_and_every_key_of_the_document() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    names = [*BUNDLED, *record.document(Report("mine", {}, ()))]

    assert [name for name in names if f"`{name}`" not in page] == []


@pytest.mark.parametrize("command", dict(exits.commands(posenc)).values(), ids=dict(exits.commands(posenc)))
def test_every_option_of_a_command_stands_on_a_page(command: click.Command) -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("docs/*.md"))
    options = [word for option in command.params for word in option.opts if word.startswith("--")]

    assert [word for word in options if word not in pages] == []


def test_a_command_within_another_that_is_unknown_is_told_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "rendr"]) == Status.WRONG_USAGE
    assert "command must be one of render, diff, got 'rendr' (did you mean render?)" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", dict(exits.commands(posenc)))
def test_every_command_takes_an_unknown_option_for_wrong_usage(name: str) -> None:
    assert cli.main([*name.split(), "--no-such-option"]) == Status.WRONG_USAGE


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("list", 0),
        ("show alibi", 0),
        ("show nothing", 2),
        ("init nothing/else", 2),
        ("protocol replay nothing", 2),
        ("report diff nothing nothing", 2),
        ("vectors verify", 0),
        ("identify nothing.py:nothing", 2),
        ("precision nothing", 2),
        ("compare nothing", 2),
        ("explain tests/configurations/nothing.json", 2),
    ],
)
def test_a_command_exits_with_one_of_its_statuses(command: str, status: int) -> None:
    words = command.split()
    name = " ".join(words[:2]) if " ".join(words[:2]) in exits.EXITS else words[0]

    assert cli.main(words) == status
    assert status in {**exits.EVERY, **exits.EXITS[name]}


@pytest.mark.parametrize("summary", [command.get_short_help_str(sys.maxsize) for command in posenc.commands.values()])
def test_the_help_says_all_of_what_a_command_does(summary: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--help"])

    assert summary in " ".join(capsys.readouterr().out.split())


def test_no_command_shows_the_help_and_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "Usage: posenc" in capsys.readouterr().err


def test_help_imports_nothing_heavy() -> None:
    program = f"import sys\nfrom conformance import cli\ncli.main(['--help'])\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ended.stdout.splitlines()[-1] == "[]"


def test_list_names_schemes_operations_and_adapters(capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["list"])
    out = capsys.readouterr().out

    assert status == 0
    for word in ("rope.rotate_query_key", "t5.bucket", "yarn.attention_factor", "transformers", "equinox"):
        assert word in out


def test_show_describes_an_operation_with_its_laws_cases_and_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["show", "rope.rotate"])
    out = capsys.readouterr().out

    assert status == 0
    for word in ("batch, head, token, head_dim", "interleaved | half", "relative", "rope.rotate/", "mistakes"):
        assert word in out


def test_show_describes_a_scheme_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["show", "alibi"])
    out = capsys.readouterr().out

    assert status == 0
    assert "https://" in out
    assert "alibi.slopes" in out


def test_show_prints_the_numbers_of_a_case(capsys: pytest.CaptureFixture[str]) -> None:
    vector = next(vector for vector in load({"rope.frequencies"}) if vector.expected)
    status = cli.main(["show", vector.id])
    out = capsys.readouterr().out

    assert status == 0
    assert vector.exposes in out
    assert "expected result" in out
    assert "allowed result at float32: " in out


def test_init_writes_an_adapter_that_can_be_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written = cli.main(["init", "my_bias", "--operation", "t5.bias"])
    out = capsys.readouterr().out
    checked = cli.main(["check", "my_bias.py", "--level", "smoke"])

    assert written == 0
    assert "posenc check my_bias.py" in out
    assert checked == 2
    assert "fill in my_bias.py" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["posenc", "json", "numpy.py", "a" * 300])
def test_init_writes_no_file_that_hides_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert cli.main(["init", name]) == 2
    assert capsys.readouterr().err.startswith("posenc: name must ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--call-seconds", "--startup-seconds"])
def test_a_limit_that_is_no_number_is_wrong_usage(capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert cli.main(["check", "numpy", "--case", "binary.encode/far", option, "nan"]) == 2
    assert capsys.readouterr().err == f"posenc: {option[2:]} must be from 0.1 to 1,000,000, got nan\n"


def test_init_never_overwrites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("precious", encoding="utf-8")

    assert cli.main(["init", "mine"]) == 2
    assert (tmp_path / "mine.py").read_text(encoding="utf-8") == "precious"
    assert "mine.py must not exist yet" in capsys.readouterr().err


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the vectors by those of one operation."""
    folder = few_vectors(tmp_path / "vectors", "rope.rotate.yaml")
    monkeypatch.setattr(vectors, "vectors_directory", lambda: folder)


@pytest.mark.usefixtures("few")
def test_vectors_can_be_verified_and_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "vectors.json"

    assert cli.main(["vectors", "verify"]) == 0
    assert cli.main(["vectors", "export", str(path)]) == 0
    assert "rope.rotate/" in path.read_text(encoding="utf-8")
    assert "as published" in capsys.readouterr().out


@pytest.mark.usefixtures("few")
def test_doctor_says_that_the_harness_works(capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["doctor"])
    out = capsys.readouterr().out

    assert status == 0, out
    for word in ("numpy", "hypothesis", "every file is as published", "it conforms", "the harness works"):
        assert word in out


@pytest.mark.usefixtures("few")
def test_doctor_says_that_the_harness_is_broken(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run, "check", lambda target, **_: report(target, HarnessError("no worker")))

    assert cli.main(["doctor"]) == 3
    assert "the harness is broken" in capsys.readouterr().out


def posenc(*arguments: str, directory: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run ``python -m conformance`` as a person would, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "conformance", *arguments]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_who_reads_slowly_from_an_end_that_does_not_wait_gets_everything() -> None:
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)  # less than a list has
    running = subprocess.Popen([sys.executable, "-m", "conformance", "list"], cwd=ROOT, stdout=writes)
    os.close(writes)
    with os.fdopen(reads, encoding="utf-8") as slow:
        listed = slow.read()

    assert running.wait(timeout=120) == 0
    assert "yarn.rotate" in listed


def test_a_right_implementation_conforms_on_one_plain_screen() -> None:
    ended = posenc("check", str(EXAMPLES / "numpy_right.py"))

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "\x1b" not in ended.stdout
    assert ended.stderr == ""
    assert "numpy_right.py conforms" in ended.stdout
    assert len(ended.stdout.splitlines()) <= 40


def test_a_wrong_implementation_is_convicted_by_name() -> None:
    ended = posenc("check", str(EXAMPLES / "numpy_wrong.py"))

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "how-to-train-your-gpt/issues/6" in ended.stdout
    assert max(len(line) for line in ended.stdout.splitlines() if not line.startswith("    ")) <= 100


def test_json_of_a_real_run_is_complete() -> None:
    ended = posenc("check", "--json", str(EXAMPLES / "numpy_right.py"), "--level", "smoke")
    document = json.loads(ended.stdout)

    assert document["exit_status"] == ended.returncode == 0
    assert {entry["kind"] for entry in document["results"]} == {"vector", "drawn", "law"}
    assert document["counts"]["total"] == len(document["results"])
    assert document["precision"][0]["met"] == "float32"


HEEDING = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from conformance.cli import main; sys.exit(main())"


def test_a_signal_ends_the_run_with_130(tmp_path: Path) -> None:
    (tmp_path / "interrupting.py").write_text(
        "import os, signal\nfrom conformance import Adapter\nadapter = Adapter('interrupting')\n"
        "@adapter.implements('rope.rotate', layout='half')\n"
        "def rotate(x, positions, **_):\n    import psutil; os.kill(psutil.Process().parent().ppid(), signal.SIGINT)\n    return x\n",
        encoding="utf-8",
    )
    # A background job starts with the signal ignored; a person's shell doesn't.
    command = [sys.executable, "-c", HEEDING, "check", "interrupting.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120)

    assert ended.returncode == 130, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit of their own there")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("asked", [("explain", "examples/llama-3.1-8b.json", "--json"), ("show", "rope.rotate")])
def test_output_that_does_not_fit_on_the_disk_is_no_success(unbuffered: str, asked: tuple[str, ...], tmp_path: Path) -> None:
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))\n"
        f"from conformance.cli import main; sys.argv = ['posenc', *{list(asked)!r}]; sys.exit(main())"
    )
    with (tmp_path / "out").open("wb") as stream:
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        command = [sys.executable, "-c", program]
        ended = subprocess.run(command, cwd=ROOT, env=environment, stdout=stream, stderr=subprocess.PIPE, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (Status.HARNESS_FAILED, "posenc: File too large\n")


def test_a_seed_below_0_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "numpy", "--seed", "-1"]) == Status.WRONG_USAGE
    assert "--seed must be an integer from 0 on, got '-1'" in capsys.readouterr().err
