"""What is said on a line: requests and replies as JSON, tensors as dtype, shape and base64 of little-endian bytes."""

import base64
import binascii
import contextlib
import functools
import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from conformance.protocol.errors import ProtocolError
from conformance.spec import strict_json
from conformance.spec.schema import Schema

VERSION = 1
LARGEST_LINE = 256 << 20
WIDTHS = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1}
SHOWN = 60
#: What a line says, by what it is, and where another is due: a program that is asked to compute has described itself before.
SAID = {
    "describe_reply": "a description of the program",
    "call_reply": "answers to calls",
    "describe_request": "a request",
    "call_request": "a request",
}
OTHERWISE = {**SAID, "describe_reply": "a second description of the program"}
#: What it does that says such a thing unasked.
UNASKED = {"describe_reply": "described itself again, which nobody asked for", "call_reply": "sent an answer that nobody asked for"}


@functools.cache
def _schema(kind: str) -> Schema:
    schema = json.loads(resources.files("conformance.protocol").joinpath("schema.json").read_text(encoding="utf-8"))
    return Schema({"$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]})


def message(kind: str, line: bytes) -> dict[str, Any]:
    """Return what a line says, or raise where it is no such message (``describe_reply``, ``call_reply``, ...)."""
    try:
        said = strict_json.read(line.decode(), _once)
        wrong = _schema(kind).wrong(said)
    except (ValueError, RecursionError) as error:
        why = f": {error}" if isinstance(error, strict_json.NumberError) else ""
        raise ProtocolError(f"a line must be one JSON object, got {_shown(line)}{why}") from error  # noqa: TRY003, EM102  the line is the reason
    other = None if wrong is None else next((name for name in SAID if _schema(name).wrong(said) is None), None)
    if other is not None:
        reason = f"the line must hold {SAID[kind]}, got {OTHERWISE[other]}"
        raise ProtocolError(reason)
    if wrong is not None:
        where = "/".join(map(str, wrong.absolute_path)) or "the line"
        reason = f"{' '.join(where.split())[:200]} must obey {kind} of the schema: {' '.join(wrong.message.split())[:200]}"
        raise ProtocolError(reason)
    return dict(said)


def unasked(held: bytes) -> str:
    """Return in words what can be read although nothing was asked."""
    line = held.partition(b"\n")[0]
    for kind, did in UNASKED.items():
        with contextlib.suppress(ProtocolError):
            message(kind, line)
            return did
    return f"sent a line that nobody asked for: {_shown(line)}"


def identity(line: bytes) -> object:
    """Return the id that a line carries, whatever else is wrong with it; nothing where it carries none."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said.get("id") if isinstance(said, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    said = dict(pairs)
    if len(said) == len(pairs):
        return said
    reason = "a key must appear once"
    raise ValueError(reason)


def _shown(line: bytes) -> str:
    text = line[:SHOWN].decode(errors="replace").strip()
    return repr(text + ("..." if len(line) > SHOWN else "")) + " (a program prints its log on stderr)"


def line(said: Mapping[str, object]) -> bytes:
    """Return a message as one line."""
    return json.dumps(said, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def describe_request(identity: int) -> dict[str, object]:
    """Return the question that opens a conversation."""
    return {"posenc": VERSION, "id": identity, "method": "describe"}


def call_request(identity: int, calls: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the request for some calls, to be answered in their order."""
    return {"posenc": VERSION, "id": identity, "method": "call", "calls": list(calls)}


def call(operation: str, label: str, dtype: str, arrays: Mapping[str, np.ndarray], parameters: Mapping[str, object]) -> dict[str, object]:
    """Return one call: its real arrays in the dtype asked for, integers as int64."""
    named = {name: tensor(array) for name, array in arrays.items()}
    return {"operation": operation, "label": label, "dtype": dtype, "arrays": named, "parameters": dict(parameters)}


def tensor(array: np.ndarray) -> dict[str, object]:
    """Return an array as data."""
    contiguous = np.ascontiguousarray(array)
    little = contiguous.astype(contiguous.dtype.newbyteorder("<"), copy=False)
    return {"dtype": array.dtype.name, "shape": list(array.shape), "base64": base64.b64encode(little.tobytes()).decode()}


def _named(name: str) -> str:
    """Return a name that a program made up as part of one readable line."""
    return " ".join(name.split())[:SHOWN]


def array(name: str, said: Mapping[str, Any]) -> np.ndarray:
    """Return data as an array, or raise where its bytes don't fit its shape."""
    name, dtype, shape = _named(name), str(said["dtype"]), tuple(map(int, said["shape"]))
    try:
        data = base64.b64decode(said["base64"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise ProtocolError(f"{name} must be base64, got {said['base64'][:SHOWN]!r}") from error  # noqa: TRY003, EM102  the text is the reason
    needed = WIDTHS[dtype] * math.prod(shape)
    if len(data) != needed:
        reason = f"{name} must hold {needed} bytes for {dtype} of shape {shape}, got {len(data)}"
        raise ProtocolError(reason)
    try:
        return np.frombuffer(data, dtype=_numpy(name, dtype)).reshape(shape).copy()
    except ValueError as error:
        reason = f"{name} must have a shape that an array can have, got {shape}"
        raise ProtocolError(reason) from error


def _numpy(name: str, dtype: str) -> np.dtype[Any]:
    if dtype != "bfloat16":
        return np.dtype(dtype).newbyteorder("<")
    try:
        import ml_dtypes
    except ModuleNotFoundError as error:
        raise ProtocolError(f"{name}: bfloat16 needs ml_dtypes: pip install ml-dtypes") from error  # noqa: TRY003, EM102  one place
    half: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return half
