"""What `posenc identify` says of code that keeps what it made of earlier calls, and answers later ones with it."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from careless_caches import CARELESS, Careless
from narrow_code import Function
from test_careless_caches import named
from test_identify import Here
from test_identify_unsteady import BESIDE, identified
from wrong_kernels import Kernel

from conformance.calls.status import Status
from conformance.identify import steady
from conformance.identify.asking import Signature, Strangers
from conformance.identify.plans import Plan
from conformance.identify.probe import MOST_KEPT, Probe
from conformance.identify.recognise import recognise
from conformance.spec.declarations import operations

#: Operations of which no call is tried as these declare them.
UNTRIED = ("learned.encode", "attend")
#: What no call that is made shows: positions below 0, numbers that count beside other settings only, far positions of a bias, rows of
#: far distances, lists of integers in another order.
UNSEEN = {
    ("axial_rope.rotate", "axes known by its numbers sorted"),
    ("mrope.rotate", "sections known by its numbers sorted"),
    ("rope.rotate", "argument 1 known by absolute values"),
    ("yarn.rotate", "mscale known by nothing"),
    ("longrope.rotate", "argument 3 known by its shape"),
    ("longrope.rotate", "argument 3 known by its sum"),
    ("longrope.rotate", "argument 3 known by its first number"),
    ("alibi.bias", "argument 1 known by half precision"),
    ("t5.bias", "argument 0 known by its every second number"),
    ("t5.bias", "argument 0 known by its words"),
}
TRIED = [each for each in CARELESS if not each.operation.endswith(UNTRIED)]
SHOWN = [each for each in TRIED if (each.operation, each.name) not in UNSEEN]
CAREFUL = list({(each.operation, each.right, each.of, each.size): each for each in TRIED}.values())


class Kept(Here):
    """A kernel of this process that has kept nothing yet in a fresh session."""

    def __init__(self, make: Callable[[], Kernel]) -> None:
        super().__init__(_as_declared(make()))
        self.make = make

    def fresh(self, *, hash_seed: int = 0) -> "Kept":
        del hash_seed  # there are no sets
        return Kept(self.make)


def _as_declared(kernel: Kernel) -> Function:
    """Return the kernel with the arguments that its operation declares."""

    def function(*arrays: Any, **said: Any) -> Any:
        return kernel.function(*arrays, **said)

    operation = operations()[kernel.operation]
    kinds = {**dict.fromkeys(operation.arrays, inspect.Parameter.POSITIONAL_OR_KEYWORD)}
    kinds |= dict.fromkeys(operation.parameters, inspect.Parameter.KEYWORD_ONLY)
    function.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name, kind in kinds.items()])  # type: ignore[attr-defined]
    return function


@pytest.fixture
def rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make few calls: code of this module answers alike each time."""
    monkeypatch.setattr(steady, "TIMES", 4)
    monkeypatch.setattr(steady, "EACH_WAY", 1)


def unsteady(make: Callable[[], Kernel]) -> steady.Unsteady | None:
    kept = Kept(make)
    found = recognise(kept, kept.functions[0], None, {})
    assert any(each.answered for each in found.asked)
    return steady.unsteady(kept, found.asked, found.before)


@pytest.mark.usefixtures("rarely")
@pytest.mark.parametrize("cache", SHOWN, ids=named)
def test_a_careless_cache_is_told(cache: Careless) -> None:
    found = unsteady(cache.kernel)

    assert found is not None
    assert found.what == steady.HISTORY


@pytest.mark.usefixtures("rarely")
@pytest.mark.parametrize("cache", CAREFUL, ids=named)
def test_a_cache_that_knows_all_of_what_it_is_of_is_not_told(cache: Careless) -> None:
    assert unsteady(cache.careful) is None


KEEPING = f"""{BESIDE}
import zlib
SEEN = {{}}

def by_shape(x, positions, base=10000.0):
    return rope(x, SEEN.setdefault(np.shape(positions), positions), base)

def by_all(x, positions, base=10000.0):
    return rope(x, SEEN.setdefault((np.shape(positions), positions.tobytes()), positions), base)

def by_width(x, positions, base=10000.0):
    return rope(x, positions, SEEN.setdefault(x.shape[-1], base))

def by_heads(x, positions, base=10000.0):
    return rope(x, positions, SEEN.setdefault(x.shape[1:-2], base))

def by_width_and_base(x, positions, base=10000.0):
    return rope(x, positions, SEEN.setdefault((x.shape[-1], base), base))

class Grown:
    length = 4
    tables = {{}}

def by_reach(x, positions, base=10000.0):
    assert positions.max() < 3000
    Grown.length = max(Grown.length, int(positions.max()) + 1)
    key = Grown.length, x.shape[-1], base
    if key not in Grown.tables:
        angle = np.arange(Grown.length)[:, None] * base ** (-2 * np.arange(x.shape[-1] // 2) / x.shape[-1])
        Grown.tables = {{key: (np.cos(angle), np.sin(angle))}}
    cos, sin = (table[positions] for table in Grown.tables[key])
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1).astype(x.dtype)

def by_tokens(x, positions, base=10000.0):
    Grown.length = max(Grown.length, x.shape[-2])
    return rope(x, np.minimum(positions, Grown.length - 1), base)

def by_farthest(x, positions, base=10000.0):
    Grown.length = max(Grown.length, int(positions.max()))
    return rope(x, positions / 4 if Grown.length >= 4096 else positions, base)

def by_widest(x, positions, base=10000.0):
    Grown.length = max(Grown.length, x.shape[-1])
    return rope(x, positions, base ** (x.shape[-1] / Grown.length))

def by_restart(x, positions, base=10000.0):
    if x.shape[-2] == 1 and positions[0] == 0:
        CALLS.append(1)
        return rope(x, positions + (len(CALLS) > 1), base)
    return rope(x, positions, base)

def by_few_bits(x, positions, base=10000.0):
    return rope(x, SEEN.setdefault((np.shape(positions), zlib.crc32(positions.tobytes()) % 256), positions), base)

def by_all_but_dtype(x, positions, base=10000.0):
    key = positions.tobytes(), x.shape[-1], base
    if key not in SEEN:
        angle = positions[:, None] * base ** (-2 * np.arange(x.shape[-1] // 2) / x.shape[-1])
        SEEN[key] = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    return by_tables(x, *SEEN[key])

def by_width_and_not_dtype(x, positions, base=10000.0):
    if x.shape[-1] not in SEEN:
        SEEN[x.shape[-1]] = (10000.0 ** (-2 * np.arange(x.shape[-1] // 2) / x.shape[-1])).astype(x.dtype)
    angle = positions[:, None] * SEEN[x.shape[-1]]
    return by_tables(x, np.cos(angle), np.sin(angle))

def by_all_and_dtype(x, positions, base=10000.0):
    key = positions.tobytes(), x.shape[-1], base, x.dtype
    if key not in SEEN:
        angle = positions[:, None] * base ** (-2 * np.arange(x.shape[-1] // 2) / x.shape[-1])
        SEEN[key] = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    return by_tables(x, *SEEN[key])

def by_tables(x, cos, sin):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1).astype(x.dtype)

def in_one_buffer(x, positions, base=10000.0):
    buffer = SEEN.setdefault((x.shape, x.dtype), np.empty_like(x))
    buffer[...] = rope(x, positions, base)
    return buffer

def refusing(x, positions, base=10000.0):
    CALLS.append(1)
    if len(CALLS) > LIMIT:
        raise RuntimeError("the cache is full")
    return rope(x, positions, base)

def drifting(x, positions, base=10000.0):
    CALLS.append(1)
    return rope(x, positions, base) * (1.0 if len(CALLS) < LIMIT else 1.5)
"""


#: What is said of code whose answers follow from the calls alone.
CLAIMS = ("certain", "positions: ", "arithmetic of the angles", "it conforms", "Adapter(")


def told(folder: Path, capsys: pytest.CaptureFixture[str], name: str, *arguments: str, limit: int = 20) -> tuple[int, str]:
    body = f"return {name}(x, positions, base)"
    return identified(folder, capsys, body, *arguments, signature="x, positions, base=10000.0", beside=f"{KEEPING}\nLIMIT = {limit}\n")


KEPT_SHOWS = {
    "by_shape": " other positions,",
    "by_width": " other base,",
    "by_heads": " other base,",
    "by_tokens": "",
    "by_farthest": " other positions,",
    "by_widest": " other ",
    "by_restart": "",
    "by_all_but_dtype": " other dtype,",
    "by_width_and_not_dtype": " other dtype,",
}


@pytest.mark.parametrize(("name", "argument"), KEPT_SHOWS.items())
def test_code_that_answers_with_what_it_kept_is_told_and_gets_no_adapter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, argument: str
) -> None:
    status, out = told(tmp_path, capsys, name)

    assert status == Status.DIFFERS
    assert f"{steady.HISTORY}: f(x, positions" in out
    assert (f" and, after a call with{argument}" if argument else " and then ") in out
    for claim in CLAIMS:
        assert claim not in out


@pytest.mark.parametrize("name", ["by_all", "by_width_and_base", "by_reach", "by_all_and_dtype"])
def test_code_that_keeps_all_of_what_it_answers_from_is_told_of_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    status, out = told(tmp_path, capsys, name, "--no-check")

    assert status == Status.CONFORMS
    assert "answers" not in out
    assert "certain" in out
    assert "Adapter(" in out


def test_a_cache_whose_key_is_a_number_of_few_bits_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = told(tmp_path, capsys, "by_few_bits")

    assert status == Status.DIFFERS
    assert steady.HISTORY in out
    for claim in CLAIMS:
        assert claim not in out


def test_results_that_share_a_buffer_are_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = told(tmp_path, capsys, "in_one_buffer", "--no-check")

    assert out.startswith("f changes a result after it was returned")


@pytest.mark.parametrize("name", ["refusing", "drifting"])
def test_nothing_is_certain_of_code_that_changes_from_some_call_on(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    status, out = told(tmp_path, capsys, name, "--no-check")

    assert status == Status.DIFFERS
    assert steady.HISTORY in out or steady.FROM_CALL_TO_CALL in out
    for claim in CLAIMS:
        assert claim not in out


@pytest.mark.parametrize(("numbers", "kept"), [(MOST_KEPT // 2, 1), (MOST_KEPT, 0)])
def test_a_call_of_millions_of_numbers_is_not_kept(numbers: int, kept: int) -> None:
    class Echo:
        def answer(self, _: int, arguments: list[np.ndarray], *__: object, **___: object) -> tuple[list[np.ndarray], bool]:
            return arguments, False

    signature = Signature(0, "echo", "numpy", (), (), any_positional=True, any_keyword=False)
    probe = Probe(cast("Strangers", Echo()), signature, Plan(("x",)), {}, seen=[])
    probe(x=np.zeros(numbers))
    assert len(probe.seen or ()) == kept
