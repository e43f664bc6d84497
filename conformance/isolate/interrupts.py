"""Have every way to end a run mean the same as Ctrl-C, and put that off while something is half done."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

#: What a person or a system ends a run with; not every system has all.
ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

#: After so many seconds what Python dropped comes again.
SOON = 0.05
#: What comes within so many seconds of one that was heard is of the same end: a terminal, a runner and a person in a hurry send several.
ONE_END = 2.0

#: How long may be waited in one piece: of several signals at once the system may give all to threads that wake nobody.
DEAF_SECONDS = 0.5


class CutShort(KeyboardInterrupt):
    """An interruption, and what it left undone."""

    def __init__(self, undone: Sequence[str]) -> None:
        """Carry it, in words."""
        super().__init__()
        self.undone = tuple(undone)


@contextlib.contextmanager
def leaving(undone: Sequence[str]) -> Iterator[None]:
    """Have an interruption of the block carry what it leaves undone."""
    try:
        yield
    except CutShort:  # within, where more is known
        raise
    except KeyboardInterrupt as interruption:
        raise CutShort(undone) from interruption


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
def heeded(*, once: bool = False, to_the_end: bool = False) -> Iterator[None]:
    """Have each of them interrupt, unless it is ignored, as by ``nohup``, or one was heard just now.

    ``once`` says that further ones change nothing at all, ``to_the_end`` that those change nothing which come when the block has ended.
    """
    heard: list[tuple[int, float]] = []

    def interrupted(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if heard and (once or now - heard[-1][1] < ONE_END):
            return
        heard.append((number, now))
        signal.default_int_handler(number, frame)

    heeding = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    afterwards = dict.fromkeys(heeding, signal.SIG_IGN) if to_the_end else None
    with _handled(dict.fromkeys(heeding, interrupted), afterwards), _sent_again(heard):
        yield


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Have signals wait until the block has ended, and in a process that is started there until it says ``heard``."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING) if hasattr(signal, "pthread_sigmask") else set()
    try:
        yield
    finally:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def heard() -> None:
    """Hear what has waited since before this process was started, and what comes from now on."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def forgotten() -> None:
    """Have ``python -m`` end with our own status: text that was interrupted while Python evaluated it, until it has evaluated another."""
    namedtuple("Nothing", ())  # noqa: PYI024  it evaluates text


@contextlib.contextmanager
def _sent_again(heard: list[tuple[int, float]]) -> Iterator[None]:
    """Send again what Python drops: it goes on after a destructor, or a callback of its collector or of a reference, that raises."""
    before = sys.unraisablehook

    def dropped(unraisable: "sys.UnraisableHookArgs") -> None:
        if not heard or not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)
            return
        again = threading.Timer(SOON, os.kill, (os.getpid(), heard.pop()[0]))
        again.daemon = True
        again.start()

    sys.unraisablehook = dropped
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextlib.contextmanager
def _handled(handlers: Mapping[int, Handler], afterwards: Mapping[int, signal.Handlers] | None = None) -> Iterator[None]:
    """Handle signals so while the block lasts, and then as before unless something else is said; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in (before if afterwards is None else afterwards).items():
            signal.signal(number, handler or signal.SIG_DFL)
