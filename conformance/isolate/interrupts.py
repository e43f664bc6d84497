"""Have every way to end a run mean the same as Ctrl-C, and put that off while something is half done."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

#: What a person or a system ends a run with; not every system has all.
ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

#: After so many seconds what Python dropped comes again.
SOON = 0.05

Handler = Callable[[int, FrameType | None], Any]


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let an interruption wait until the block has ended: a process that is just being started has no owner yet who could end it."""
    waiting: list[int] = []
    try:
        with _handled(dict.fromkeys(ENDING, lambda number, _: waiting.append(number))):
            yield
    finally:
        for number in waiting[:1]:
            signal.raise_signal(number)


@contextlib.contextmanager
def heeded(*, once: bool = False) -> Iterator[None]:
    """Have each of them interrupt, unless it is ignored, as by ``nohup``; ``once`` says that further ones change nothing."""
    heard: list[int] = []

    def interrupted(number: int, frame: FrameType | None) -> None:
        if once and heard:
            return
        heard.append(number)
        signal.default_int_handler(number, frame)

    with _handled({number: interrupted for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN}), _sent_again(heard):
        yield


@contextlib.contextmanager
def _sent_again(heard: list[int]) -> Iterator[None]:
    """Send again what Python drops: it goes on after a destructor, or a callback of its collector or of a reference, that raises."""
    before = sys.unraisablehook

    def dropped(unraisable: "sys.UnraisableHookArgs") -> None:
        if not heard or not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)
            return
        again = threading.Timer(SOON, os.kill, (os.getpid(), heard.pop()))
        again.daemon = True
        again.start()

    sys.unraisablehook = dropped
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextlib.contextmanager
def _handled(handlers: Mapping[int, Handler]) -> Iterator[None]:
    """Handle signals so while the block lasts; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
