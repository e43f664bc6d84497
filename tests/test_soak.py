"""The soak: a hundredth of it passes, it sees what it looks for, and what it once found stays mended."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from few_vectors import few_vectors

from conformance.protocol import lines as protocol
from conformance.protocol.errors import ProtocolError
from conformance.reports import lines as records
from conformance.show.baseline import BaselineError
from conformance.show.baseline import read as read_baseline
from conformance.spec import vectors
from conformance.spec.vector_cases import attested, generated
from conformance.spec.vectors import VectorError
from tools.soak import __main__ as soak
from tools.soak import kills, moments, subjects
from tools.soak.fuzz import batch, one
from tools.soak.kills import COMMANDS, kill
from tools.soak.mutations import seeded

ROOT = Path(__file__).parents[1]
TENSOR = {"dtype": "float32", "shape": [1, 4], "base64": "AACAPwAAgD8AAIA/AACAPw=="}


@pytest.mark.parametrize("name", soak.FUZZED)
def test_a_hundredth_of_the_damage_is_read_or_refused_clearly(name: str) -> None:
    tally = batch((name, 1, 0, soak.FUZZED[name] // 100))

    assert tally.failures == []
    assert tally.accepted > 0
    assert tally.refused > 0


@pytest.mark.parametrize("name", ["posenc report render", "python -m tools.generate"])
def test_a_killed_command_leaves_whole_files_and_the_next_run_is_right(name: str) -> None:
    killed = kill(name, range(1), seed=1)

    assert killed.failures == []
    assert killed.kills == 1


def test_a_command_that_is_asked_to_end_leaves_whole_files_too() -> None:
    killed = kill("posenc report render", range(3, 4), seed=1)

    assert killed.failures == []
    assert (killed.kills, killed.asked) == (1, 1)


def started(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a module that writes one file, ``out``, into a folder and stops before it does."""
    words = [sys.executable, "-m", "tools.soak.stopping", str(folder), *arguments]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, cwd=ROOT, start_new_session=True)


def copying(folder: Path) -> subprocess.Popen[bytes]:
    (folder / "in").write_text("{}", encoding="utf-8")
    return started(folder, "json.tool", str(folder / "in"), str(folder / "out"))


def test_a_command_stops_before_every_step_of_writing_and_can_be_killed_there(tmp_path: Path) -> None:
    assert moments.stops(copying(tmp_path)) == 1
    assert (tmp_path / "out").read_text(encoding="utf-8") == "{}\n"
    (tmp_path / "out").unlink()

    process = copying(tmp_path)
    assert moments.stops(process, until=1) == 1
    assert moments.end(process) == (True, [])
    assert not (tmp_path / "out").exists()


def test_a_kill_after_the_end_is_none_and_makes_the_run_known_to_be_shorter(tmp_path: Path) -> None:
    lengths = moments.Lengths(seconds=1e9, stops=1)
    process = copying(tmp_path)
    moments.stops(process)

    lengths.wait(process, seeded("1"))

    assert moments.end(process) == (False, [])
    assert lengths.seconds < 1e9


def test_a_kill_that_never_hits_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []
    monkeypatch.setattr(kills, "_Trial", lambda *_: SimpleNamespace(round=lambda _, label, __, **___: tries.append(label)))

    killed = kill("posenc report render", range(3, 4), seed=5)

    assert killed.failures == ["posenc report render, seed 5, item 3: one kill in 20 must hit it, got none"]
    assert len(tries) == kills.TRIES


def test_one_item_can_be_repeated_alone(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for _ in range(2):
        assert soak.main(["--only", "protocol lines", "--seed", "3", "--item", "70000"]) == 0
        shown.append([line for line in capsys.readouterr().out.splitlines() if line.startswith("protocol lines")])

    assert shown[0] == shown[1] != []
    assert sum(map(int, re.findall(r"\d+", shown[0][0]))) == 1


@pytest.mark.parametrize(("arguments", "words"), [(["--item", "1"], "--only"), (["--only", "records", "--record", "x.md"], "everything")])
def test_what_repeats_one_item_is_refused_where_it_makes_no_sense(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        soak.main(arguments)

    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("x"), "KeyError"),
        (RecursionError("deep"), "RecursionError"),
        (ProtocolError("two\nlines"), "must be one line"),
        (ProtocolError(""), "must be one line"),
        (ProtocolError("x" * 2_000), "at most 1000 letters"),
    ],
)
def test_the_soak_sees_what_is_neither_a_result_nor_one_clear_line(error: Exception, words: str, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise error

    accepted, failure = one(subjects.Subject(lambda _: b"", fail, (ProtocolError,)), "0", tmp_path)

    assert not accepted
    assert words in str(failure)


def test_the_same_seed_makes_the_same_damage() -> None:
    for subject in subjects.SUBJECTS.values():
        assert subject.make(seeded("7/3")) == subject.make(seeded("7/3"))
        assert len({subject.make(seeded(f"7/{item}")) for item in range(20)}) > 10


@pytest.mark.parametrize("command", COMMANDS)
def test_half_a_file_is_seen_after_a_kill(command: str, tmp_path: Path) -> None:
    half = {"posenc check --report": "record.jsonl", "posenc check --update-baseline": "known.yaml", "posenc report render": "page.html"}
    path = tmp_path / half.get(command, "binary.encode.yaml")
    path.write_text('{"line": "header", "form', encoding="utf-8")

    with pytest.raises((ValueError, BaselineError, records.RecordError)):
        COMMANDS[command].whole(path, b"right\n")


@pytest.mark.parametrize(
    "line",
    [
        b'{"id": 1, "id": 2, "replies": [{"unsupported": ""}]}',
        b'{"id": 1, "replies": [{"results": {"x": 1e999}}]}',
        b'{"id": 1, "replies": ' + b"[" * 900 + b"]" * 900 + b"}",
        json.dumps({"id": 1, "replies": [{"results": {"a\nb": 1}}]}).encode(),
    ],
    ids=["key-twice", "infinite", "deep", "name-of-two-lines"],
)
def test_a_reply_that_is_no_reply_is_refused_in_one_line(line: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        protocol.message("call_reply", line)

    assert "\n" not in str(caught.value)


def test_a_parameter_on_a_line_must_be_finite() -> None:
    call = protocol.call("rope.rotate", "x", "float32", {"x": np.ones(2, np.float32)}, {"base": 1e4})
    line = protocol.line(protocol.call_request(1, [call])).replace(b"10000.0", b"1e999")

    with pytest.raises(ProtocolError, match="a line must be one JSON object"):
        protocol.message("call_request", line)


def test_a_size_may_be_written_as_a_real_number() -> None:
    assert protocol.array("x", {**TENSOR, "shape": [1.0, 4.0]}).shape == (1, 4)


def test_a_shape_that_no_array_can_have_is_refused() -> None:
    with pytest.raises(ProtocolError, match="x must have a shape that an array can have"):
        protocol.array("x", {**TENSOR, "shape": [0, *[2**30] * 7], "base64": ""})


def cases(change: dict[str, object], name: str = "binary.encode.yaml", part: str = "inputs") -> Iterator[vectors.Vector]:
    """Return the vectors of a file with the first array of its first case changed."""
    case, *others = subjects.TREES[name]["cases"]
    first, *_ = case[part]
    tree = {**subjects.TREES[name], "cases": [{**case, part: {**case[part], first: {**case[part][first], **change}}}, *others]}
    return generated(tree) if part == "inputs" else attested(tree)


def test_a_vector_with_a_shape_that_no_array_can_have_is_refused() -> None:
    with pytest.raises(VectorError, match="shape must be one that an array can have"):
        list(cases({"shape": [0, *[2**23] * 8], "values": []}))


def test_a_published_integer_must_fit_its_dtype() -> None:
    change = {"dtype": "int64", "shape": [1, 1], "values": [["999999999999999999e99"]]}

    with pytest.raises(VectorError, match="must hold integers that fit int64"):
        list(cases(change, subjects.ATTESTED, "printed"))


def test_what_is_wrong_with_a_vector_file_is_one_line_that_can_be_read(tmp_path: Path) -> None:
    name = subjects.FILE
    files = {**subjects.WHOLE, vectors.SCHEMA: subjects.SCHEMA, name: b'"x\\ny' + b"z" * 900 + b'": 1\n' + subjects.WHOLE[name]}
    subjects._lay(tmp_path, files, files)  # noqa: SLF001  a manifest that vouches for the damage

    with pytest.raises(VectorError, match="must have no unknown key") as caught:
        vectors.verify(tmp_path)

    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_what_a_kill_left_behind_is_no_vector_file(tmp_path: Path) -> None:
    files = {**subjects.WHOLE, vectors.SCHEMA: subjects.SCHEMA}
    subjects._lay(tmp_path, files, files)  # noqa: SLF001  a whole folder
    (tmp_path / f".{subjects.FILE}.abc.tmp").write_text("half", encoding="utf-8")

    assert vectors.verify(tmp_path) == sum(len(tree["cases"]) for tree in subjects.TREES.values())


def test_an_export_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, path = few_vectors(tmp_path / "vectors", subjects.FILE), tmp_path / "vectors.json"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("no space left")))

    with pytest.raises(OSError, match="no space left"):
        vectors.export(path, directory=home)

    assert path.read_text(encoding="utf-8") == "old"
    assert set(tmp_path.iterdir()) == {home, path}


def test_a_wrong_condition_is_told_in_one_short_line(tmp_path: Path) -> None:
    path = tmp_path / "deviations.yaml"
    entry = {"match": "x" * 400, "outcome": "failed", "reason": "known", "when": {"posenc": "a\nb"}}
    path.write_text(json.dumps({"format": 1, "deviations": [entry]}), encoding="utf-8")

    with pytest.raises(BaselineError, match="must have versions as specifiers") as caught:
        read_baseline(path)

    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1_000


RECORD = records.text([subjects.REPORT]).splitlines(keepends=True)


def recorded(tmp_path: Path, *text: str) -> Path:
    path = tmp_path / "record.jsonl"
    path.write_text("".join(text), encoding="utf-8")
    return path


def test_damage_in_the_middle_of_a_record_is_no_cut(tmp_path: Path) -> None:
    with pytest.raises(records.RecordError, match=r":2 must be a JSON object"):
        records.read(recorded(tmp_path, RECORD[0], RECORD[1][:40] + "\n", *RECORD[2:]))


def test_a_second_report_cut_in_its_header_is_not_dropped_in_silence(tmp_path: Path) -> None:
    with pytest.raises(records.RecordError, match=rf":{len(RECORD) + 1} must be a JSON object"):
        records.read(recorded(tmp_path, *RECORD, RECORD[0][:20]))


@pytest.mark.parametrize("number", ["NaN", "1e999"])
def test_a_record_holds_finite_numbers_only(tmp_path: Path, number: str) -> None:
    line = RECORD[2].replace('"seconds": 0.0', f'"seconds": {number}')
    assert line != RECORD[2]

    with pytest.raises(records.RecordError, match=r":3 must be a JSON object"):
        records.read(recorded(tmp_path, *RECORD[:2], line, *RECORD[3:]))


def test_the_record_tells_of_two_hundred_kills_fifty_of_them_by_sigterm_and_of_no_failure() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", (ROOT / "docs" / "soak.md").read_text(encoding="utf-8"), re.MULTILINE)
    killed = [list(map(int, cells.split(" | "))) for name, cells in rows if "posenc" in name or "python -m" in name]

    assert len(killed) == len(COMMANDS)
    assert [sum(column) for column in zip(*killed, strict=True)][:2] == [200, 50]
    assert not any(row[-1] for row in killed)
