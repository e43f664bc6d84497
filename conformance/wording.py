"""An exception in one line, whatever it does when it is asked for its text."""

import os
import traceback

LONGEST = 500
UNTOLD = "its text can't be had"


def told(error: BaseException) -> str:
    """Return type and message."""
    text = _text(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def told_with_place(error: BaseException) -> str:
    """Return type, message and the innermost frame, without the machine's paths."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno} in {frames[-1].name})" if frames else ""  # noqa: PTH119  a name, no file
    return told(error) + where


def _text(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:LONGEST]
    except BaseException:  # noqa: BLE001  its text is asked from code that isn't ours
        return UNTOLD
