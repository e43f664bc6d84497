"""Write a file whole or not at all."""

import contextlib
import errno
import os
import select
import shutil
import tempfile
from pathlib import Path

#: So many letters of a name stand in that of the temporary file beside it, which must not be too long where the name isn't.
SHOWN = 48
#: What is no regular file and was verified, by device and number: open until it is written into, since closing a pipe ends its reader.
OPENED: dict[tuple[int, int], int] = {}


class OutputError(Exception):
    """A place where nothing can be written, and why."""


def write(path: Path, content: str | bytes) -> None:
    """Write beside the file, then rename; an interruption leaves what was there.

    A file keeps its permissions, a link leads to its file, and what is no regular file (a pipe, a device) is written into.
    An ``OSError`` names the file.
    """
    verify(path)
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    try:
        if _special(path):
            with os.fdopen(OPENED.pop(_identity(path)), "wb") as stream:
                stream.write(data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        if error.errno is not None:
            error.filename = str(path)
        raise


def _replace(real: Path, data: bytes) -> None:
    """Write a regular file whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name[:SHOWN]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        if real.exists():
            shutil.copymode(real, temporary)
        else:
            _open_as_usual(temporary)
        Path(temporary).replace(real)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise


def _open(path: Path) -> None:
    """Open what is no regular file for writing, or raise ``OutputError`` where that can't be, as a pipe that nobody reads."""
    identity = _identity(path)
    if identity in OPENED and _read(OPENED[identity]):
        return
    with contextlib.suppress(KeyError):
        os.close(OPENED.pop(identity))
    try:
        opened = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        alone = path.is_fifo() and error.errno == errno.ENXIO
        rule = "pipe must have a reader, got none:" if alone else f"file must be one that can be written to ({error.strerror}), got"
        message = f"{rule} {str(path)!r}"
        raise OutputError(message) from error
    os.set_blocking(opened, True)
    OPENED[identity] = opened


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _read(opened: int) -> bool:
    """Whether what is open still has a reader, where it needs one."""
    waiting = select.poll()
    waiting.register(opened, 0)
    return not waiting.poll(0)


def _special(path: Path) -> bool:
    """Whether something is there that is no file, as a pipe or a device; where ``/dev/stdout`` is a pipe, it leads to no path."""
    return path.exists() and not path.is_file()


def verify(path: Path) -> None:
    """Raise ``OutputError`` where no file can be: its folder doesn't exist or can't be written to, or it is a folder itself.

    What is there and no regular file (a pipe, a device) is open from now on until it is written into.
    """
    if path.is_dir():
        message = f"file must not be a folder, got {str(path)!r}"
        raise OutputError(message)
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        message = f"link must lead to a file, got one that leads to itself: {str(path)!r}"
        raise OutputError(message)
    folder = real.parent
    if not folder.is_dir():
        message = f"folder of the file must exist, got {str(folder if path.is_symlink() else path.parent)!r}"
        raise OutputError(message)
    if _special(path):
        _open(path)
    else:
        make_ready(folder)


def make_ready(folder: Path) -> None:
    """Make a folder where there is none, or raise ``OutputError`` where no file can be written to it."""
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        message = f"folder must be one that files can be written to, got {str(folder)!r} ({error.strerror})"
        raise OutputError(message) from error


def _open_as_usual(name: str) -> None:
    """Give the file the permissions that a plain ``open`` would have given it."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)
