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

MAGIC = b"PEC1"
PREFIX = struct.Struct("<4sIQ")
LARGEST_HEADER = 4 << 20
LARGEST_PAYLOAD = 1 << 30
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

    def send(self, header: Mapping[str, object], arrays: Sequence[np.ndarray] = (), *, deadline: float | None = None) -> None:
        """Send one frame, or raise ``TimeoutError`` at the deadline."""
        described = [[_name(array), array.shape] for array in arrays]
        text = json.dumps({**header, "arrays": described}).encode()
        frame = b"".join([PREFIX.pack(MAGIC, len(text), sum(array.nbytes for array in arrays)), text, *map(_little_endian, arrays)])
        self._write(memoryview(frame), deadline)

    def receive(self, *, deadline: float | None = None) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Return the header and the arrays of one frame, or raise ``TimeoutError`` at the deadline."""
        magic, header_size, payload_size = PREFIX.unpack(self._read(PREFIX.size, deadline))
        if magic != MAGIC:
            message = f"a frame must start with {MAGIC!r}, got {magic!r}"
            raise ChannelError(message)
        if header_size > LARGEST_HEADER or payload_size > LARGEST_PAYLOAD:
            message = f"a frame must stay below {LARGEST_PAYLOAD} bytes, got {header_size + payload_size}"
            raise ChannelError(message)
        header = _parse(bytes(self._read(header_size, deadline)))
        return header, _arrays(header.pop("arrays", None), self._read(payload_size, deadline))

    def silent(self) -> bool:
        """Whether there is nothing to receive, not even the end."""
        return not select.select([self.connection], [], [], 0.0)[0]

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

    def _read(self, size: int, deadline: float | None) -> memoryview:
        buffer = bytearray(size)
        view = memoryview(buffer)
        filled = 0
        while filled < size:
            try:
                count = self.connection.recv_into(view[filled:])
            except BlockingIOError:
                self._wait(deadline, writing=False)
                continue
            except OSError as error:
                raise ChannelClosedError(str(error)) from error
            if count == 0:
                message = "the other side closed the channel"
                raise ChannelClosedError(message)
            filled += count
        return view

    def _wait(self, deadline: float | None, *, writing: bool) -> None:
        remaining = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready = select.select([] if writing else [self.connection], [self.connection] if writing else [], [], remaining)
        if not any(ready):
            raise TimeoutError


def _name(array: np.ndarray) -> str:
    name = NAMES.get(array.dtype)
    if name is None:
        message = f"a dtype must be one of {', '.join(DTYPES)}, got {array.dtype.name!r}"
        raise ChannelError(message)
    return name


def _little_endian(array: np.ndarray) -> bytes:
    return array.astype(DTYPES[_name(array)], copy=False).tobytes()


def _parse(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except ValueError as error:
        message = f"a header must be JSON, got {text[:40]!r}"
        raise ChannelError(message) from error
    if not isinstance(header, dict):
        message = f"a header must be an object, got {text[:40]!r}"
        raise ChannelError(message)
    return header


def _arrays(described: object, payload: memoryview) -> list[np.ndarray]:
    if not isinstance(described, list):
        message = f"arrays must be a list, got {described!r}"
        raise ChannelError(message)
    arrays, offset = [], 0
    for item in described:
        dtype, shape = _layout(item)
        size = dtype.itemsize * math.prod(shape)
        if offset + size > len(payload):
            message = f"an array must fit its frame, got {size} bytes at {offset} of {len(payload)}"
            raise ChannelError(message)
        arrays.append(np.frombuffer(payload[offset : offset + size], dtype=dtype).reshape(shape))
        offset += size
    if offset != len(payload):
        message = f"a frame must hold its arrays and nothing else, got {len(payload) - offset} bytes more"
        raise ChannelError(message)
    return arrays


def _layout(item: object) -> tuple[np.dtype[Any], tuple[int, ...]]:
    match item:
        case [str(name), list(shape)] if name in DTYPES and all(isinstance(n, int) and n >= 0 for n in shape):
            return DTYPES[name], tuple(shape)
    message = f"an array must be a known dtype and a shape, got {item!r}"
    raise ChannelError(message)
