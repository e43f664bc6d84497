"""The process in which an implementation runs: load the target, describe it, answer calls until the channel closes."""

import atexit
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from faulthandler import cancel_dump_traceback_later
from typing import Any, Protocol

import numpy as np

from conformance.adapt.wording import told, told_with_place
from conformance.isolate import allocation, audit, kernel, targets, traces
from conformance.isolate.channel import Channel, ChannelClosedError
from conformance.isolate.library import Library
from conformance.isolate.replies import LONGEST
from conformance.protocol.errors import ProgramEndedError, UnaskedError

Answer = tuple[dict[str, Any], list[np.ndarray]]
#: The exit status of a worker that can't reach the harness (EX_IOERR).
CUT_OFF = 74


class UnreachableError(Exception):
    """The harness can't be reached any more."""


class Answering(Protocol):
    """What a worker process is asked for."""

    waits: Callable[[int], None] | None

    def call_within(self, foreign: AbstractContextManager[object]) -> None:
        """Call what is foreign inside of a context from now on."""

    def describe(self) -> dict[str, object]:
        """Return what the harness needs to know before it calls."""

    def answer(self, request: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> Answer:
        """Return the reply to one call."""


def main(descriptor: int, target: str, load: Callable[[str], Answering]) -> None:
    """Serve on an inherited socket, which what is started from here doesn't inherit; run exit handlers only where the harness waits."""
    os.set_inheritable(descriptor, False)  # noqa: FBT003  the name of the function says what
    kernel.write_no_core()
    allocation.keep_freed()
    audit.watch_environment()
    status = 1
    try:
        waited = serve(Channel(socket.socket(fileno=descriptor)), target, load)
        status = 0
        if waited:
            atexit._run_exitfuncs()  # noqa: SLF001  the way that ``os._exit`` leaves out
    except UnreachableError as error:
        status = CUT_OFF
        _say(f"\n{error}\n")
    except BaseException as error:  # noqa: BLE001  our own fault: say so on the log
        _say(f"the worker failed: {told_with_place(error)}\n")
    finally:
        with suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
        os._exit(status)


def serve(channel: Channel, target: str, load: Callable[[str], Answering]) -> bool:
    """Load the target and answer until the harness closes the channel, or asks for the end and waits for it: return whether it does."""
    ours, reaches, library = os.getpid(), kernel.reaches_parent(), Library()
    try:
        with library:
            worker = load(target)
            described = worker.describe()
            library.extend()
        worker.call_within(library)
    except targets.TargetError as error:
        kind = "library missing" if isinstance(error, targets.LibraryMissing) else "bad target"
        _refuse(channel, kind, str(error))
        return False
    except KeyboardInterrupt as error:
        _refuse(channel, "bad target", f"{target} can't be imported: {told(error)}")
        return False
    if os.getpid() != ours:
        return False
    _send(channel, {**described, "reaches_parent": reaches, **audit.news()}, [])
    with suppress(ChannelClosedError):
        try:
            while True:
                if worker.waits is not None:
                    worker.waits(channel.connection.fileno())
                request, arrays = channel.receive()
                if request.get("leave"):
                    return True
                header, values = _answer(worker, library, request, arrays)
                if os.getpid() != ours:
                    return False  # a copy of this process that a fork has left: the original answers
                _send(channel, {**header, "call": request["call"]}, values)
        except ProgramEndedError as error:
            channel.send(_clipped({"status": "program lost", "message": str(error), "unasked": isinstance(error, UnaskedError)}))
            while True:  # what is still asked has no answer
                channel.receive()
    return False


def _answer(worker: Answering, library: Library, request: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> Answer:
    """Return the reply to one call and what it left changed; where an implementation wants to end the process, that is an exception."""
    before, replaced = traces.state(), library.replaced
    try:
        header, values = worker.answer(request, arrays)
    except ProgramEndedError:
        raise
    except BaseException as error:  # noqa: BLE001  SystemExit, KeyboardInterrupt, and what else isn't an Exception
        header, values = {"status": "error", "message": told_with_place(error)}, []
    cancel_dump_traceback_later()  # nobody can see whether a call has asked for it, and it would end the process in another's name
    left = [*traces.changed(before), *library.since(replaced), *header.get("left", ())]
    return {**_clipped(header), "left": left, **audit.news()}, values


def _send(channel: Channel, header: Mapping[str, Any], values: Sequence[np.ndarray]) -> None:
    try:
        channel.send(header, values)
    except ChannelClosedError as error:
        message = "the channel to the harness was closed"
        raise UnreachableError(message) from error


def _refuse(channel: Channel, status: str, message: str) -> None:
    """Say why nothing can be called, and which variables were missed."""
    _send(channel, _clipped({"status": status, "message": message, "sought": audit.news()["sought"]}), [])


def _clipped(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said with each of its texts on one line, and no longer than the other side takes."""
    return {name: " ".join(said.split())[:LONGEST] if isinstance(said, str) else said for name, said in header.items()}


def _say(words: str) -> None:
    with suppress(OSError):
        os.write(2, words.encode(errors="replace"))
