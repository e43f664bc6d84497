"""What is printed to be pasted fits on a screen, is Python, and makes the very call."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pytest

from conformance.adapt.adapter import Adapter
from conformance.calls.manner import PLAIN, SWAPPED, Manner
from conformance.in_process import InProcess
from conformance.isolate import session
from conformance.judge import reproduction
from conformance.judge.journal import Call, Task

WIDTH = 80 - 4  # the screen moves every line by four
X = np.linspace(-2.0, 2.0, 24).reshape(1, 2, 3, 4) / 3
COTANGENT = np.linspace(-1.0, 1.0, 24).reshape(1, 2, 3, 4) / 7
POSITIONS = np.array([0, 131_071, 1_048_576])
PARAMETERS = {"head_dim": 4, "base": 11_158_840.0, "layout": "interleaved", "direction": "positive"}
NONE = np.zeros((1, 2, 0, 4))


def call(*arrays: np.ndarray, manner: Manner = PLAIN, label: str = "mine") -> Call:
    adapter = Adapter(label)
    adapter.implements("rope.rotate")(lambda x, *_, **__: x)
    (descriptor,) = InProcess(adapter).implementations
    return Call(Task(descriptor, "float32", "float32"), arrays, PARAMETERS, manner)


SNIPPETS: Mapping[str, tuple[Call, ...]] = {
    "one call": (call(X, POSITIONS),),
    "two calls of a law": (call(X, POSITIONS), call(X / 3, POSITIONS + 1)),
    "no tokens": (call(NONE, POSITIONS[:0]),),
    "numbers that aren't finite": (call(np.where(X > 1, np.inf, np.where(X < -1, np.nan, X)), POSITIONS),),
    "strided arrays": (call(X, POSITIONS, manner=Manner(views=SWAPPED)),),
    "a gradient": (call(X, POSITIONS, manner=Manner(cotangents=(COTANGENT,))),),
    "arrays that held other numbers": (call(X, POSITIONS, manner=Manner(before=(X / 3, POSITIONS + 1))),),
    "a long label": (call(X, POSITIONS, label="a label 'with' \"quotes\" " + "and more " * 12),),
}
OPENED = ("Session('mine.py')", f"Session('/home/{'somebody/' * 20}mine.py', under='autocast')")


class Noting:
    """A session that notes what it is opened with and asked for."""

    noted: list[Any]

    def __init__(self, *opened: str, **settings: str) -> None:
        self.noted.append((opened, settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, operation: str, arrays: list[np.ndarray], parameters: Mapping[str, object], **said: Any) -> None:
        self.noted.append((operation, arrays, parameters, said))


def pasted(source: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Run a snippet, and return what a session was asked for."""
    noted: list[Any] = []
    monkeypatch.setattr(session, "Session", type("Session", (Noting,), {"noted": noted}))
    exec(compile(source, "pasted", "exec"), {})  # noqa: S102  pasting it is the test
    return noted


@pytest.mark.parametrize("opened", OPENED, ids=["a short path", "a long path"])
@pytest.mark.parametrize("kind", SNIPPETS)
def test_a_snippet_fits_on_the_screen_and_makes_the_calls(kind: str, opened: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = SNIPPETS[kind]
    source = reproduction.of_calls(opened, calls)

    assert source is not None
    assert max(map(len, source.splitlines())) <= WIDTH
    first, *asked = pasted(source, monkeypatch)
    assert first == eval(opened, {"Session": lambda *path, **settings: (path, settings)})  # noqa: S307  what is pasted
    for (operation, arrays, parameters, said), each in zip(asked, calls, strict=True):
        assert (operation, parameters) == (each.task.operation, each.parameters)
        assert (said["label"], said["dtype"], said.get("views", "")) == (each.task.descriptor.label, "float32", each.manner.views)
        beside = (*said.get("cotangents", ()), *said.get("before", ()))
        for given, expected in zip([*arrays, *beside], [*each.arrays, *each.manner.beside], strict=True):
            assert np.array_equal(given, expected, equal_nan=expected.dtype.kind == "f")
            assert given.shape == expected.shape


@pytest.mark.parametrize("opened", OPENED, ids=["a short path", "a long path"])
@pytest.mark.parametrize("kind", SNIPPETS)
def test_a_snippet_of_history_fits_on_the_screen_and_asks_alone_and_after(kind: str, opened: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = SNIPPETS[kind][0], SNIPPETS["one call"][0]
    source = reproduction.of_history(opened, one, other)

    assert source is not None
    assert max(map(len, source.splitlines())) <= WIDTH
    assert [noted[0] for noted in pasted(source, monkeypatch)[2:]] == ["rope.rotate"] * 3


def test_a_call_that_is_too_long_to_be_pasted_is_described() -> None:
    long = call(np.zeros((2, 3, 400, 4)), np.arange(400) - 8)

    assert reproduction.of_calls(OPENED[0], (long,)) is None
    assert reproduction.of_history(OPENED[0], SNIPPETS["one call"][0], long) is None
    assert reproduction.described(long) == (
        "head_dim=4, base=11158840.0, layout='interleaved', direction='positive'; x (2, 3, 400, 4), positions (400,) from -8 to 391"
    )


def test_a_string_that_fits_on_a_line_stays_whole_and_a_longer_one_fills_lines() -> None:
    short, long = "f(positions, floor_scale=floor_scale, attn_scale=attn_scale)", f"f({', '.join(f'name_{i}=name_{i}' for i in range(9))})"
    source = f'layout="half", call="{short}", other="{long}", rows="each",'

    lines = reproduction.wrapped(source, "    ", further="").splitlines()

    assert any(f'call="{short}",' in line for line in lines)
    assert max(map(len, lines)) <= WIDTH
    assert not any('" "' in line or "' '" in line for line in lines)
    assert eval(f"dict({' '.join(lines)})") == {"layout": "half", "call": short, "other": long, "rows": "each"}  # noqa: S307  what is pasted
