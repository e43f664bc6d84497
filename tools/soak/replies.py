"""What a worker says, damaged: frames with its first words and with its replies, read as a session reads them."""

import copy
import json
import random
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from conformance.calls.subject import CallFailedError, CallRefusedError
from conformance.golden import calls
from conformance.identify.asking import Strangers
from conformance.isolate import replies
from conformance.isolate.channel import MAGIC, PREFIX, Channel, ChannelError
from conformance.isolate.conversation import received
from conformance.isolate.session import Session
from conformance.spec.declarations import operations
from tools.soak.mutations import changed, damaged

REFUSALS = (ChannelError, CallFailedError, CallRefusedError)
OPERATION = "rope.rotate_query_key"
SECONDS = 5.0
BY_TREE = 0.75
ANYHOW = {"positions": "any", "queries": "any", "rows": "any", "heads": "any"}
TAKES = {**ANYHOW, "lowest": 0, "highest": None, "masked": False, "contiguous": False}
OFFERED = {
    "label": "mine",
    "operation": OPERATION,
    "dtypes": ["float32", "float16"],
    "profile": {"float32": "float32", "float16": "float16-model"},
    "takes": TAKES,
    "modifies_inputs": False,
    "restrictions": {"layout": "half", "base": [1e4, 5e5]},
    "takes_dtype": False,
    "axes": "",
    "call": "",
    "by_predicate": True,
}
ABOUT = {"reaches_parent": False, "reached": ["opens vectors/rope.rotate.yaml"], "sought": ["MY_BACKEND"]}
READY = {
    "status": "ready",
    "adapter": "mine",
    "rejects_bad_input": False,
    "unjudged": [],
    "versions": {"python": "3.11", "numpy": "2.0", "mine": None},
    "device": "cpu",
    "circumstances": ["autocast"],
    "manners": ["repeated"],
    **ABOUT,
    "implementations": [OFFERED, {**OFFERED, "label": "other", "restrictions": {}}],
}
ARGUMENT = {"name": "x", "required": True, "default": None}
FLAGS = {"any_positional": False, "any_keyword": True, "training": False}
FUNCTION = {"label": "f", "framework": "numpy", "declared": [OPERATION, {"layout": "half"}], **FLAGS}
OFFERED_FUNCTION = {**FUNCTION, "positional": [ARGUMENT] * 2, "keywords": [ARGUMENT]}
FUNCTIONS = {"status": "ready", "alone": True, **ABOUT, "functions": [OFFERED_FUNCTION]}
EACH = {"call": 7, "left": ["the environment"], "reached": ["imports refimpl"], "sought": []}
RESULTS = list(operations()[OPERATION].results)
CALLED = {
    "status": "ok",
    **EACH,
    "results": RESULTS,
    "dtypes": dict.fromkeys(RESULTS, "float32"),
    "modified": ["query"],
    "aliases": ["query shares memory with query"],
    "foreign": [],
    "repeats": 1,
    "unlike": "",
    "overwritten": [],
    "layers": [],
}
VALUES = [np.ones((1, 2)), np.arange(3)]
#: What is said, with which arrays, and the forms that it must have.
SAID: Mapping[str, tuple[dict[str, Any], list[np.ndarray], Mapping[str, replies.Form]]] = {
    "first words": (READY, [], replies.DECLARED),
    "first words of functions": (FUNCTIONS, [], replies.UNDECLARED),
    "a refusal": ({"status": "bad target", "message": "no", "sought": []}, [], replies.DECLARED),
    "a reply": (CALLED, VALUES, replies.CALLED),
    "no result": ({"status": "unsupported", **EACH, "reason": "too wide", "declared": True}, [], replies.CALLED),
    "an exception": ({"status": "error", **EACH, "message": "no"}, [], replies.CALLED),
    "what is admitted": ({"status": "ok", **EACH, "refusal": None}, [], replies.ADMITTED),
    "an answer of a function": ({"status": "ok", **EACH, "complex": False}, VALUES, replies.ANSWERED),
}
WEIGHTS = (4, 2, 1, 6, 1, 1, 1, 2)


def make(chance: random.Random) -> bytes:
    """Return the name of something said, and its frame: other bytes, or a whole frame that says something else."""
    name = chance.choices(list(SAID), weights=WEIGHTS)[0]
    said, values, _ = SAID[name]
    payload = b"".join(value.tobytes() for value in values)
    header = {**said, "arrays": [[value.dtype.name, list(value.shape)] for value in values]}
    if chance.random() < BY_TREE:
        frame = _frame(json.dumps(changed(chance, copy.deepcopy(header))).encode(), payload)
    else:
        frame = damaged(chance, _frame(json.dumps(header).encode(), payload))
    return name.encode() + b"\n" + frame


def _frame(header: bytes, payload: bytes) -> bytes:
    return PREFIX.pack(MAGIC, len(header), len(payload)) + header + payload


def read(chance: random.Random, damage: bytes, folder: Path) -> None:  # noqa: ARG001  a frame needs neither
    """Read it as a session does, and use what was accepted."""
    name, _, frame = damage.partition(b"\n")
    forms = SAID[name.decode()][2]
    said, values = _received(frame)
    replies.verify(said, forms)
    if forms is replies.DECLARED and said["status"] == "ready":
        _used(Session("mine"), said)
    elif forms is replies.UNDECLARED and said["status"] == "ready":
        _used(Strangers("mine"), said)
    elif forms is replies.CALLED:
        replies.verify_results(said, values, RESULTS)
        hash((tuple(said["left"]), received(said, values).modified))


def _received(frame: bytes) -> tuple[dict[str, Any], list[np.ndarray]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours)
        theirs.sendall(frame)
        theirs.shutdown(socket.SHUT_WR)
        return channel.receive(deadline=time.monotonic() + SECONDS)


def _used(session: Session, said: Mapping[str, Any]) -> None:
    """Look at all that a session tells of its worker."""
    session._kin.about = said  # noqa: SLF001  no worker says it
    if isinstance(session, Strangers):
        hash((session.alone, *(each.label for each in session.functions)))
        return
    for descriptor in session.implementations:
        dtype = descriptor.dtypes[0]
        subject = session.subject(descriptor, dtype, descriptor.profile[dtype])
        next(calls.drawn(subject.operation, restrictions=descriptor.restrictions, takes=subject.takes, dtype=dtype, seed=0), None)
