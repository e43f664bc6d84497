"""What is asked of things that aren't ours, and told in few words: an exception, whatever it does when it is asked, and a multiple."""

import os
import signal
import traceback
from typing import Any

LONGEST = 500
#: Of so many letters at most, with the white space between them: a message may have millions.
READ = 10_000
#: What stands in the place of Python's imports, and is no place of theirs.
AUDIT = os.path.join("conformance", "isolate", "audit.py")  # noqa: PTH118  the end of a name
#: A debugger, in which a call ends that a person was to be asked about.
DEBUGGER = ("bdb.py", "pdb.py")
UNTOLD = "its text can't be had"
#: A larger multiple of what is allowed says no more.
MANY = 1e6


def attribute(thing: object, name: str, default: Any = None) -> Any:
    """Return an attribute, or the default where there is none, or asking for it raises."""
    try:
        return getattr(thing, name, default)
    except (Exception, SystemExit):  # noqa: BLE001  its attributes are asked from code that isn't ours
        return default


def told(error: BaseException) -> str:
    """Return type and message."""
    text = words(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def told_with_place(error: BaseException) -> str:
    """Return type, message and the innermost frame, without the machine's paths."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.endswith((AUDIT, *DEBUGGER))]
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno} in {frames[-1].name})" if frames else ""  # noqa: PTH119  a name, no file
    return told(error) + where


def ended_with(status: int) -> str:
    """Return in words what a process ended with: its exit status, or the name of a signal, also of one that only has a place in a range."""
    if status >= 0:
        return f"exit status {status}"
    number = -status
    first, last = getattr(signal, "SIGRTMIN", 1), getattr(signal, "SIGRTMAX", 0)
    if first < number < last:
        near, away = ("SIGRTMIN", f"+{number - first}") if number - first <= last - number else ("SIGRTMAX", f"-{last - number}")
        return f"signal {near}{away}"
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def times(ratio: float) -> str:
    """Return how many times more something is, as far as the number says something."""
    return f"{ratio:.3g} times" if ratio <= MANY else f"more than {MANY:,.0f} times"


def words(error: BaseException) -> str:
    """Return its message."""
    try:
        return " ".join(str(error)[:READ].split())[:LONGEST]
    except BaseException:  # noqa: BLE001  its text is asked from code that isn't ours
        return UNTOLD
