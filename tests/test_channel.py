"""Frames arrive as they were sent, and what is no frame is refused."""

import json
import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from conformance.isolate import channel
from conformance.isolate.channel import MAGIC, PREFIX, Channel, ChannelClosedError, ChannelError


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    yield Channel(ours), theirs
    ours.close()
    theirs.close()


def frame(header: object, payload: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return PREFIX.pack(MAGIC, len(text), len(payload)) + text + payload


SHAPES = array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


@given(
    st.sampled_from(sorted(channel.DTYPES)).flatmap(lambda name: arrays(name, SHAPES)),
    st.dictionaries(st.text(), st.none() | st.integers() | st.floats() | st.text(), max_size=3),
)
def test_every_array_and_header_arrives_as_it_was_sent(array: np.ndarray, parameters: dict[str, object]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Channel(ours).send({"parameters": parameters}, [array, array])
        header, received = Channel(theirs).receive(deadline=time.monotonic() + 5.0)

    assert json.dumps(header["parameters"]) == json.dumps(parameters)
    for copy in received:
        assert (copy.dtype, copy.shape) == (array.dtype, array.shape)
        assert copy.tobytes() == array.tobytes()


def test_a_frame_longer_than_the_socket_buffer_arrives() -> None:
    ours, theirs = socket.socketpair()
    sent = np.arange(1_000_000, dtype=np.float64)
    with ours, theirs:
        sender = threading.Thread(target=Channel(ours).send, args=({}, [sent]))
        sender.start()
        _, (received,) = Channel(theirs).receive(deadline=time.monotonic() + 30.0)
        sender.join()

    assert np.array_equal(received, sent)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"HTTP/1.1 200 OK\r\n", "must start with"),
        (PREFIX.pack(MAGIC, 2, 1 << 40), "the arrays of a frame must have at most 1073741824 bytes"),
        (PREFIX.pack(MAGIC, 1 << 31, 0), "a header must have at most 4194304 bytes, got 2147483648"),
        (PREFIX.pack(MAGIC, 3, 0) + b"{1}", "must be JSON"),
        (frame([1]), "must be an object"),
        (frame({}), "arrays must be a list"),
        (frame({"arrays": [["object", [1]]]}, bytes(8)), "must be a known dtype"),
        (frame({"arrays": [["float64", [-1]]]}, bytes(8)), "must be a known dtype"),
        (frame({"arrays": [["float64", [True]]]}, bytes(8)), "must be a known dtype"),
        (frame({"arrays": [["float64", [float("nan")]]]}, bytes(8)), "must be a known dtype"),
        (frame({"arrays": [["float64", [1] * 70]]}, bytes(8)), "must be a known dtype"),
        (frame({"arrays": [["float64", [0, 10**400]]]}), r"got \['float64', \[0, an integer of 1329 bits\]\]"),
        (frame({"arrays": [["float64", [0, *[2**62] * 9]]]}), "must be one that an array can have"),
        (frame({"arrays": [["float64", [2**62]]]}, bytes(8)), "must fit its frame"),
        (PREFIX.pack(MAGIC, 40_000, 0) + b"[" * 20_000 + b"]" * 20_000, "must be JSON"),
        (frame({"arrays": "x" * 50_000}), r"must be a list, got 'xxx.*\.\.\..*xxx'$"),
        (frame({"arrays": [["float64", [2]]]}, bytes(8)), "must fit its frame"),
        (frame({"arrays": [["float64", [1]]]}, bytes(16)), "got 8 bytes more"),
    ],
)
def test_what_is_no_frame_is_refused(ends: tuple[Channel, socket.socket], data: bytes, complaint: str) -> None:
    ours, theirs = ends
    theirs.sendall(data)

    with pytest.raises(ChannelError, match=complaint):
        ours.receive(deadline=time.monotonic() + 5.0)


def test_a_closed_channel_is_told_apart(ends: tuple[Channel, socket.socket]) -> None:
    ours, theirs = ends
    theirs.sendall(PREFIX.pack(MAGIC, 10, 0))
    theirs.close()

    with pytest.raises(ChannelClosedError):
        ours.receive(deadline=time.monotonic() + 5.0)


def test_silence_times_out(ends: tuple[Channel, socket.socket]) -> None:
    with pytest.raises(TimeoutError):
        ends[0].receive(deadline=time.monotonic() + 0.01)


def test_an_object_array_is_never_sent(ends: tuple[Channel, socket.socket]) -> None:
    with pytest.raises(ChannelError, match="got 'object'"):
        ends[0].send({}, [np.array([{}])])
