"""What is written takes the place of a regular file only, whole or not at all."""

import ast
import errno
import os
import stat
import tempfile
from pathlib import Path

import pytest

from conformance.calls.outcomes import Report
from conformance.calls.status import Status
from conformance.cli import main
from conformance.reports import files as reports
from conformance.reports import lines
from conformance.spec import files
from conformance.spec.files import OutputError

PACKAGE = Path(__file__).parents[1] / "conformance"
#: What may write beside ``files.write``: an adapter that is new, a folder that is gone with its run, what the kernel reads.
OWN = {"identify/pasted.py", "isolate/control_group.py", "spec/files.py"}


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")

    files.write(path, "new")

    assert path.read_text(encoding="utf-8") == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_text_that_cannot_be_encoded_is_written_as_it_is_escaped(tmp_path: Path) -> None:
    files.write(tmp_path / "file", "a \ud800 b")

    assert (tmp_path / "file").read_text(encoding="utf-8") == "a \\ud800 b"


def test_every_report_of_a_target_that_is_refused_in_words_of_no_encoding_is_written(tmp_path: Path) -> None:
    target, folder = tmp_path / "target.py", tmp_path / "report"
    target.write_text('raise OSError("\\ud800 no")\n', encoding="utf-8")

    assert main(["check", str(target), "--report", str(folder)]) == Status.WRONG_USAGE

    assert sorted(path.name for path in folder.iterdir()) == sorted(name for name, _ in reports.FORMATS.values())
    assert "\\ud800 no" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_text("before", encoding="utf-8")
    path.chmod(mode)
    files.write(path, "after")

    assert path.read_text(encoding="utf-8") == "after"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_link_into_a_missing_folder_is_refused_with_the_folder_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "absent" / "file")

    with pytest.raises(OutputError, match=r"^folder of the file must exist, got '.*absent'"):
        files.write(tmp_path / "link", "new")


def test_a_link_that_leads_to_itself_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")

    with pytest.raises(OutputError, match=r"^link must lead to a file, got one that leads to itself: '.*one'"):
        files.write(tmp_path / "one", "new")
    assert (tmp_path / "one").is_symlink()


def test_a_link_leads_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to("file")

    files.write(link, b"new")

    assert link.is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_link_to_nothing_makes_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")

    files.write(tmp_path / "link", "new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "new"


@pytest.mark.parametrize("name", ["n" * 255, "ä" * 127])
def test_a_file_is_written_under_the_longest_name_that_there_is(tmp_path: Path, name: str) -> None:
    files.write(tmp_path / name, "whole")

    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("linked", [False, True], ids=["device", "link to it"])
def test_a_device_is_written_into(tmp_path: Path, *, linked: bool) -> None:
    path = Path(os.devnull)
    if linked:
        path = tmp_path / "link"
        path.symlink_to(os.devnull)

    files.write(path, "gone")

    assert Path(os.devnull).is_char_device()


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    files.write(path, "through it")

    assert os.read(reader, 100) == b"through it"
    os.close(reader)
    assert path.is_fifo()


def test_a_pipe_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    with pytest.raises(OutputError, match=r"^pipe must have a reader, got none: '.*pipe'$"):
        files.write(path, "gone")


def test_a_folder_for_reports_lies_in_one_that_is_there(tmp_path: Path) -> None:
    files.make_ready(tmp_path / "made")

    assert (tmp_path / "made").is_dir()
    with pytest.raises(OutputError, match=r"^folder must be one that files can be written to, got '.*absent/made' \(No such file"):
        files.make_ready(tmp_path / "absent" / "made")


@pytest.mark.parametrize(("name", "words"), [("absent/file", "folder of the file must exist"), (".", "file must not be a folder")])
def test_a_place_for_no_file_is_refused(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(OutputError, match=f"^{words}, got "):
        files.write(tmp_path / name, "new")


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "render", "record.jsonl", "--format", "html", "--output", "out.svg"),
        ("vectors", "export", "out.svg"),
        ("show", "rope", "--plot", "out.svg"),
        ("precision", "numpy", "--operation", "binary.encode", "--plot", "out.svg"),
        ("compare", "none", "--lengths", "4", "--phase", "forward", "--plot", "out.svg"),
    ],
    ids=["output", "export", "plot", "precision", "compare"],
)
def test_every_command_writes_through_a_link_and_into_a_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    if "--plot" in arguments:
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    Path("record.jsonl").write_text(lines.text([Report("x", {}, ())]), encoding="utf-8")
    for target in (os.devnull, "file.svg"):
        Path("out.svg").unlink(missing_ok=True)
        Path("out.svg").symlink_to(target)

        assert main(arguments) == 0
        assert Path("out.svg").is_symlink()

    assert Path(os.devnull).is_char_device()
    assert Path("file.svg").stat().st_size > 0

    Path("out.svg").unlink()
    Path("out.svg").symlink_to("absent/file.svg")

    assert main(arguments) == 2


def test_reports_are_written_through_links(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").symlink_to(os.devnull)
    (tmp_path / "badge.svg").symlink_to("another.svg")

    reports.write([Report("x", {}, ())], tmp_path)

    assert (tmp_path / "junit.xml").is_symlink()
    assert (tmp_path / "badge.svg").is_symlink()
    assert "<svg" in (tmp_path / "another.svg").read_text(encoding="utf-8")
    assert Path(os.devnull).is_char_device()


def writes(path: Path) -> bool:
    """Whether a file of ours writes, renames or opens for writing itself."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    names = {node.func.attr for node in calls if isinstance(node.func, ast.Attribute)}
    modes = {value.value for node in calls for value in node.args if isinstance(value, ast.Constant) and _opens(node)}
    return bool(names & {"write_text", "write_bytes", "mkstemp", "rename"} or modes & {"w", "wb", "a", "ab", "x", "xb"})


def _opens(call: ast.Call) -> bool:
    return (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) in ("open", "fdopen")


def test_files_are_written_in_one_place() -> None:
    assert {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if writes(path)} == OWN


def test_a_folder_that_is_missing_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", "export", str(tmp_path / "absent" / "all.json")]) == 2
    assert "folder of the file must exist" in capsys.readouterr().err


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))

    with pytest.raises(OSError, match="full"):
        files.write(path, "new")

    assert path.read_text(encoding="utf-8") == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_write_that_fails_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "full").symlink_to("/dev/full")

    with pytest.raises(OSError, match="No space left") as raised:
        files.write(tmp_path / "full", "x" * 100_000)

    assert raised.value.filename == str(tmp_path / "full")


def test_a_report_that_cannot_be_written_keeps_no_other_back(tmp_path: Path) -> None:
    (tmp_path / "record.jsonl").symlink_to("/dev/full")

    with pytest.raises(OSError, match="No space left"):
        reports.write([Report("x", {}, ())], tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {name for name, _ in reports.FORMATS.values()}


def test_a_pipe_without_a_name_is_written_into() -> None:
    reads, writes = os.pipe()
    try:
        files.write(Path(f"/dev/fd/{writes}"), "new")

        assert os.read(reads, 9) == b"new"
    finally:
        os.close(reads)
        os.close(writes)


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "numpy", "--baseline", "file.svg", "--update-baseline"),
        ("precision", "numpy", "--plot", "file.svg"),
        ("compare", "none", "--plot", "file.svg"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_folder_that_can_not_be_written_to_is_told_before_anything_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "TemporaryFile", read_only)

    assert main(arguments) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert "folder must be one that files can be written to" in told.err


def read_only(**_: object) -> None:
    raise OSError(errno.EROFS, "Read-only file system")


def test_an_adapter_to_fill_in_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")))

    assert main(["init", "mine"]) == 3

    assert capsys.readouterr().err == f"posenc: No space left on device: {tmp_path / 'mine.py'}\n"
    assert list(tmp_path.iterdir()) == []
