"""What worker and harness say to each other: a JSON header and raw bytes, never a pickle."""

import json
import math
import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conformance.calls.limits import LARGEST_PAYLOAD
from conformance.isolate.interrupts import DEAF_SECONDS
from conformance.spec.shown import shown

MAGIC = b"PEC1"
#: Our own, since code under test may change those of ``json``.
READER, WRITER = json.JSONDecoder(), json.JSONEncoder()
PREFIX = struct.Struct("<4sIQ")
LARGEST_HEADER = 4 << 20
#: Arrays up to so many bytes are sent in one piece with their header; larger ones from where they are.
SMALL = 1 << 16
#: What a frame may have, and an array, whose product is computed before anything of it is made.
MOST_ARRAYS = 10_000
MOST_AXES = 64
LONGEST_AXIS = (1 << 63) - 1
#: What the system is asked to hold while the other side is busy; it may give less.
BUFFER = 1 << 22
DTYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in (
        "float64",
        "float32",
        "float16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint64",
        "uint32",
        "uint16",
        "uint8",
        "bool",
    )
}
NAMES = {np.dtype(name): name for name in DTYPES}


class ChannelError(Exception):
    """The other side sent something that is no frame."""


class ChannelClosedError(ChannelError):
    """The other side is gone."""


class Channel:
    """Frames over a stream socket: magic, two lengths, JSON header, little-endian arrays."""

    def __init__(self, connection: socket.socket) -> None:
        """Own the connected socket."""
        self.connection = connection
        connection.settimeout(0.0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)

    def send(self, header: Mapping[str, object], arrays: Sequence[np.ndarray] = (), *, deadline: float | None = None) -> None:
        """Send one frame, or raise ``TimeoutError`` at the deadline."""
        described = [[_name(array), array.shape] for array in arrays]
        text = WRITER.encode({**header, "arrays": described}).encode()
        size = sum(array.nbytes for array in arrays)
        parts: list[bytes | memoryview] = [PREFIX.pack(MAGIC, len(text), size) + text, *(_bytes(_little_endian(array)) for array in arrays)]
        for part in [b"".join(parts)] if size <= SMALL else parts:
            self._write(memoryview(part), deadline)

    def receive(self, *, deadline: float | None = None) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Return the header and the arrays of one frame, or raise ``TimeoutError`` at the deadline."""
        magic, header_size, payload_size = PREFIX.unpack(self._read(PREFIX.size, deadline))
        if magic != MAGIC:
            message = f"a frame must start with {MAGIC!r}, got {magic!r}"
            raise ChannelError(message)
        _limited("a header", header_size, LARGEST_HEADER)
        _limited("the arrays of a frame", payload_size, LARGEST_PAYLOAD)
        header = _parse(self._read(header_size, deadline))
        arrays = _arrays(header.pop("arrays", None), payload_size)
        for array in arrays:
            self._fill(_bytes(array), deadline)
        return header, arrays

    def silent(self, seconds: float = 0.0) -> bool:
        """Whether there is nothing to receive for so long, not even the end."""
        return not select.select([self.connection], [], [], seconds)[0]

    def close(self) -> None:
        """Close the socket."""
        self.connection.close()

    def _write(self, data: memoryview, deadline: float | None) -> None:
        while data:
            try:
                data = data[self.connection.send(data) :]
            except BlockingIOError:
                self._wait(deadline, writing=True)
            except OSError as error:
                raise ChannelClosedError(str(error)) from error

    def _read(self, size: int, deadline: float | None) -> bytes:
        buffer = bytearray(size)
        self._fill(memoryview(buffer), deadline)
        return bytes(buffer)

    def _fill(self, view: memoryview, deadline: float | None) -> None:
        while view:
            try:
                count = self.connection.recv_into(view)
            except BlockingIOError:
                self._wait(deadline, writing=False)
                continue
            except OSError as error:
                raise ChannelClosedError(str(error)) from error
            if count == 0:
                message = "the other side closed the channel"
                raise ChannelClosedError(message)
            view = view[count:]

    def _wait(self, deadline: float | None, *, writing: bool) -> None:
        reads, writes = ([], [self.connection]) if writing else ([self.connection], [])
        while True:
            remaining = None if deadline is None else max(0.0, deadline - time.monotonic())
            if any(select.select(reads, writes, [], None if remaining is None else min(remaining, DEAF_SECONDS))):
                return
            if remaining is None or remaining <= DEAF_SECONDS:
                raise TimeoutError


def _limited(what: str, size: int, most: int) -> None:
    if size > most:
        message = f"{what} must have at most {most} bytes, got {size}"
        raise ChannelError(message)


def _name(array: np.ndarray) -> str:
    name = NAMES.get(array.dtype)
    if name is None:
        message = f"a dtype must be one of {', '.join(DTYPES)}, got {array.dtype.name!r}"
        raise ChannelError(message)
    return name


def _little_endian(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=DTYPES[_name(array)])


def _bytes(array: np.ndarray) -> memoryview:
    """Return the memory of a contiguous array."""
    flat: Any = array.reshape(-1).view(np.uint8)
    return memoryview(flat)


def _parse(text: bytes) -> dict[str, Any]:
    try:
        header = READER.decode(text.decode())
    except (ValueError, RecursionError) as error:
        message = f"a header must be JSON, got {text[:40]!r}"
        raise ChannelError(message) from error
    if not isinstance(header, dict):
        message = f"a header must be an object, got {text[:40]!r}"
        raise ChannelError(message)
    return header


def _arrays(described: object, size: int) -> list[np.ndarray]:
    """Return arrays to be filled with a payload of that size, which must be theirs alone."""
    if not isinstance(described, list):
        message = f"arrays must be a list, got {shown(described)}"
        raise ChannelError(message)
    if len(described) > MOST_ARRAYS:
        message = f"a frame must have at most {MOST_ARRAYS} arrays, got {len(described)}"
        raise ChannelError(message)
    layouts, left = [_layout(item) for item in described], size
    for dtype, shape in layouts:
        left -= dtype.itemsize * math.prod(shape)
        if left < 0:
            message = f"an array must fit its frame, got {-left} bytes more than the {size} there are"
            raise ChannelError(message)
    if left:
        message = f"a frame must hold its arrays and nothing else, got {left} bytes more"
        raise ChannelError(message)
    return [_empty(shape, dtype) for dtype, shape in layouts]


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    try:
        return np.empty(shape, dtype)
    except (ValueError, MemoryError):
        message = f"a shape must be one that an array can have, got {shown(shape)}"
        raise ChannelError(message) from None


def _is_length(length: object) -> bool:
    return type(length) is int and 0 <= length <= LONGEST_AXIS


def _layout(item: object) -> tuple[np.dtype[Any], tuple[int, ...]]:
    match item:
        case [str(name), list(shape)] if name in DTYPES and len(shape) <= MOST_AXES and all(map(_is_length, shape)):
            return DTYPES[name], tuple(shape)
    message = f"an array must be a known dtype and a shape, got {shown(item)}"
    raise ChannelError(message)
