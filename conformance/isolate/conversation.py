"""What is said with one worker: its first words, a reply to each request, and why there is none."""

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conformance.calls.outcomes import Crashed, Errored, Exhausted, Failed, Reason, TimedOut
from conformance.calls.subject import CallFailedError, CallRefusedError, Reply
from conformance.isolate import environment, replies
from conformance.isolate.channel import ChannelClosedError, ChannelError
from conformance.isolate.process import Process
from conformance.isolate.targets import LibraryMissing, TargetError

#: Of the number of a call: JSON of any language holds it.
NUMBER_BITS = 53
NUMBERED = "a reply must carry the number of its call, got"
GARBAGE = "sent garbage:"
#: What a call ends with where another reply comes than its own; of a worker that was called before, that is one which that call left.
OTHERS = Crashed(f"{GARBAGE} {NUMBERED} another")
UNASKED = Crashed("sent an answer that nobody asked for")

#: What a target says in the words of another that ended itself: it has printed why.
EXITED = "can't be imported: SystemExit"


class UnaskedFailureError(CallFailedError):
    """A call wasn't answered, perhaps for what was called before: what came, or the end, may not be the call's."""

    def __init__(self, ending: Crashed | Exhausted) -> None:
        """Carry how the worker ended."""
        super().__init__(ending)
        self.ending = UNASKED if ending == OTHERS else ending


def greeting(process: Process, forms: Mapping[str, replies.Form], target: str, seconds: float, *, program: bool) -> dict[str, Any]:
    """Return what a worker says of itself, or raise ``TargetError`` where it can't be called."""
    try:
        about = process.channel.receive(deadline=time.monotonic() + seconds)[0]
        replies.verify(about, forms)
    except TimeoutError as error:
        message = f"{target} must be ready within {seconds:g} s, got no answer"
        raise TargetError(message) from error
    except ChannelError as error:
        ended = ending(process, error)
        message = f"{target} can't be loaded: {ended.message if isinstance(ended, Crashed) else ended.words()}"
        raise TargetError(_withheld(message)) from error
    if about["status"] == "ready":
        return about
    process.end()
    printed = program or EXITED in about["message"]
    words = f"{about['message']}{process.last_words if printed else ''}"
    raise (LibraryMissing if about["status"] == "library missing" else TargetError)(_withheld(words, about["sought"]))


def _withheld(words: str, sought: Sequence[str] = ()) -> str:
    """Return why a target can't be loaded, with the variables that it may lack for it."""
    return "; ".join(filter(None, (words, environment.told(os.environ, environment.missed(os.environ, sought, words)))))


def exchanged(
    process: Process,
    header: Mapping[str, object],
    arrays: Sequence[np.ndarray],
    forms: Mapping[str, replies.Form],
    results: Sequence[str] | None,
    seconds: float,
    *,
    program: bool,
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Send a request and return its reply: one that carries its number, which nobody can guess, and has one of the forms."""
    call = secrets.randbits(NUMBER_BITS)
    try:
        reply, values = process.exchange({**header, "call": call}, arrays, seconds)
        if program and reply.get("status") in replies.LOST:
            raise (UnaskedFailureError if reply.get("unasked") else CallFailedError)(_lost(process, reply))
        _numbered(reply, call)
        replies.verify(reply, forms)
        if results is not None:
            replies.verify_results(reply, values, results)
    except TimeoutError as error:
        raise CallFailedError(TimedOut(seconds)) from error
    except ChannelError as error:
        ended = ending(process, error)
        raise (UnaskedFailureError if ended == OTHERS else CallFailedError)(ended) from error
    return reply, values


def unasked(process: Process, *, program: bool) -> Crashed | Exhausted:
    """Return what became of a worker that isn't silent though nothing was asked."""
    try:
        said = process.channel.receive(deadline=time.monotonic())[0]
        lost = _lost(process, said) if program and said.get("status") in replies.LOST else UNASKED
    except TimeoutError:
        return ending(process, ChannelError("a frame must be whole, got a part of one"))
    except ChannelError as error:
        return ending(process, error)
    process.end()
    return lost


def ending(process: Process, error: Exception) -> Crashed | Exhausted:
    """Return how a worker ended, or what was wrong with its frame, and end what is left of it."""
    ended = process.ending() if isinstance(error, ChannelClosedError) else f"{GARBAGE} {error}"
    process.end()
    return process.watch.check() or Crashed(ended)


def _lost(process: Process, said: Mapping[str, Any]) -> Crashed | Exhausted:
    """Return what a worker says of a program with which it can't go on, with the program's last words, and end both."""
    replies.verify(said, replies.LOST)
    process.end()
    return process.watch.check() or Crashed(f"{said['message']}{process.last_words}")


def _numbered(reply: Mapping[str, Any], call: int) -> None:
    if reply.get("call") != call:
        message = f"{NUMBERED} {'another' if 'call' in reply else 'none'}"
        raise ChannelError(message)


def received(reply: Mapping[str, Any], values: Sequence[np.ndarray]) -> Reply:
    """Return what a worker answered, or raise where that is no result."""
    match reply["status"]:
        case "ok":
            return Reply(
                values=dict(zip(reply["results"], values, strict=True)),
                dtypes=reply["dtypes"],
                modified=tuple(reply["modified"]),
                aliases=tuple(reply["aliases"]),
                foreign=tuple(reply["foreign"]),
                repeats=reply["repeats"],
                unlike=reply["unlike"],
                overwritten=tuple(reply["overwritten"]),
                layers=tuple(reply["layers"]),
            )
        case "unsupported":
            raise CallRefusedError(reply["reason"] or "no reason is given", declared=reply["declared"])
        case "error":
            raise CallFailedError(Errored(reply["message"]))
        case "misfit":
            raise CallFailedError(Failed(Reason.ADAPTER, reply["message"]))
    raise CallFailedError(Failed(Reason.MALFORMED, reply["message"]))
