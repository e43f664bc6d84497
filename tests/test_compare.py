"""The comparison of costs and the answers over a length: structure, ratios and errors, never a time."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from conformance import cli
from conformance.adapt.selection import SelectionError
from conformance.calls.status import Status
from conformance.show import compare
from conformance.show.compare import Backend, Comparison, Measurement
from refimpl.errors import SpecificationError
from refimpl.schemes import SCHEMES

SCREEN = 80


def written(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    error = capsys.readouterr().err
    assert error.startswith("posenc: ")
    assert error.count("\n") == 1
    return error.removeprefix("posenc: ").rstrip("\n")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every call take a second more than the one before it."""
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)) ** 2)


def test_the_schemes_of_the_paper_are_compared_where_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "--lengths", "3,5"]) == Status.CONFORMS
    lines = written(capsys)

    named = [line.split()[0] for line in lines if line.split() and line.split()[0] in SCHEMES]
    assert named == ["none", "rope", "sinusoidal", "alibi", "t5"] * 2
    assert [line.split()[:2] for line in lines if " tokens " in line] == [["3", "tokens"], ["5", "tokens"]]


def test_no_encoding_costs_exactly_itself(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["compare", "alibi", "--lengths", "4"])
    row = next(line.split() for line in written(capsys) if line.startswith("none"))

    assert (row[2], row[4]) == ("1.00", "1.00")


def test_the_screen_says_backend_device_and_versions_and_fits(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["compare", *SCHEMES, "--lengths", "4,9"])
    lines = written(capsys)

    assert any(line.startswith(f"backend numpy {np.__version__}, posenc ") for line in lines)
    assert any(line.startswith("device ") for line in lines)
    assert max(map(len, lines)) <= SCREEN


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_can_be_compared(scheme: str) -> None:
    library = compare.backend("numpy")
    found = compare.compare(compare.verified([scheme]), (7,), library).measurements[-1]

    assert found.scheme == scheme
    assert found.reason == ""
    assert found.seconds is not None
    assert found.memory is not None


@pytest.mark.usefixtures("clock")
def test_runs_are_interleaved_and_the_median_counts() -> None:
    order: list[str] = []
    backend = Backend("numpy", "here", lambda values: values, order.append, None)
    found = compare.compare(("none", "alibi"), (2,), backend).measurements

    # Reading the clock at k and k + 1 gives 2 k + 1 seconds; the schemes take turns, so their third rounds start at 8 and 10.
    assert [one.seconds for one in found] == [17.0, 21.0]
    assert len(order) == 2 * compare.REPEATS


def test_a_scheme_that_refuses_a_length_says_why() -> None:
    refused = compare.compare(("learned",), (513,), compare.backend("numpy"))
    lines = [line for _, line in compare.lines(refused)]

    assert next(line.split() for line in lines if line.startswith("learned ")) == ["learned", "-", "-", "-", "-"]
    assert "- learned at 513 tokens: positions must lie between 0 and 511, got 512" in lines


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "needs more memory than there is"),
        (RuntimeError("CUDA out of memory"), "needs more memory than there is"),
        (SpecificationError("head_dim must be even, got 3"), "head_dim must be even, got 3"),
    ],
)
def test_a_call_that_is_refused_says_why(error: Exception, reason: str) -> None:
    def call() -> object:
        raise error

    assert compare.refusal(call) == reason


def test_any_other_failure_is_not_hidden() -> None:
    def call() -> object:
        message = "a bug"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="a bug"):
        compare.refusal(call)


def test_memory_that_cannot_be_told_is_a_dash_with_its_reason() -> None:
    backend = Backend("torch", "a processor", lambda values: values, lambda _: None, None, "torch counts no memory on a processor")
    comparison = Comparison(backend, (Measurement("none", 8, 0.5, None), Measurement("rope", 8, 1.0, None)))
    lines = [line for _, line in compare.lines(comparison)]

    assert lines[-1] == "- torch counts no memory on a processor"
    assert [line.split() for line in lines if line.startswith("rope")] == [["rope", "1000.00", "2.00", "-", "-"]]


@pytest.fixture
def narrow_jax() -> Iterator[None]:
    """Give back the width of numbers that JAX had."""
    library = pytest.importorskip("jax", reason="jax is not installed")
    before = library.config.jax_enable_x64
    yield
    library.config.update("jax_enable_x64", val=before)


@pytest.mark.usefixtures("narrow_jax")
def test_jax_measures_too() -> None:
    measures("jax")


def test_torch_measures_too() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    measures("torch")


def measures(name: str) -> None:
    found = compare.compare(("none", "rope"), (4,), compare.backend(name)).measurements

    assert [one.scheme for one in found] == ["none", "rope"]
    assert all(one.seconds is not None and one.seconds > 0 for one in found)


def test_numpy_weighs_what_a_call_allocates() -> None:
    peak = compare.backend("numpy").peak
    assert peak is not None

    assert 1 << 20 <= peak(lambda: np.ones(1 << 17)) < (1 << 20) + 100_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rop"], "scheme must be one that `posenc list` names, got 'rop' (did you mean rope?)"),
        (["--lengths", "0"], "lengths must be whole numbers from 1 to 8192 with commas between, got '0'"),
        (["--lengths", "8,-8"], "lengths must be whole numbers from 1 to 8192 with commas between, got '-8'"),
        (["--lengths", "8,,9"], "lengths must be whole numbers from 1 to 8192 with commas between, got ''"),
        (["--lengths", "9999999"], "lengths must be whole numbers from 1 to 8192 with commas between, got '9999999'"),
        (["--lengths", "²"], "lengths must be whole numbers from 1 to 8192 with commas between, got '²'"),
        (["--backend", "nunpy"], "backend must be one of numpy, torch, cupy, jax, got 'nunpy' (did you mean numpy?)"),
    ],
)
def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert cli.main(["compare", *arguments]) == Status.WRONG_USAGE
    assert refusal(capsys) == message


def test_an_absent_library_is_said_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "find_spec", lambda _: None)

    with pytest.raises(SelectionError, match=r"^backend must be installed, got 'cupy' \(pip install 'posenc\[cupy\]'\)$"):
        compare.backend("cupy")


def test_lengths_are_taken_once_and_in_their_order() -> None:
    assert compare.lengths("512, 8,512") == (512, 8)


def test_a_scheme_without_a_layer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCHEMES, "t5", replace(SCHEMES["t5"], layer=None))

    with pytest.raises(SelectionError, match=r"^scheme must say how it acts in attention, got 't5'$"):
        compare.verified(["t5"])


def test_the_notes_question_is_answered_with_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "sinusoidal", "--length", "4096"]) == Status.CONFORMS
    lines = written(capsys)
    text = " ".join(" ".join(lines).split())

    assert "181 of 256 pairs use their whole circle" in text
    assert "75 of 256 pairs never complete a turn within 4096 positions" in text
    # The first pair turns once in 2 pi positions: 4095 / 6.2832 = 651.74.
    assert next(line.split() for line in lines if line.split()[:1] == ["0"]) == ["0", "6.3", "651.7395", "100.00%"]
    assert max(map(len, lines)) <= SCREEN


def test_the_decay_of_rope_is_told_truthfully(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "rope", "--length", "4097"]) == Status.CONFORMS
    lines = written(capsys)

    assert "Envelope: first rises from distance 11 to 12, and on 1992 of 4096 steps." in lines
    assert "Bound: first rises from distance 18 to 19, and on 2020 of 4096 steps." in lines
    assert max(map(len, lines)) <= SCREEN


def test_a_short_rope_falls_on_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["show", "rope", "--length", "8"])

    assert "Envelope: falls on every one of 7 steps." in written(capsys)


def test_the_reach_of_alibi_is_the_lead_over_the_slope(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "alibi", "--length", "1024"]) == Status.CONFORMS
    lines = written(capsys)

    assert next(line.split() for line in lines if line.split()[:1] == ["7"]) == ["7", "0.003906", "256", "1,024", "4,096"]
    assert any(line.startswith("A lead of 4 survives a distance of 1023 in 1 of 8 heads") for line in lines)


@pytest.mark.parametrize(
    ("scheme", "length", "message"),
    [
        ("t5", "9", "--length must go with one of rope, sinusoidal, alibi, got 't5'"),
        ("rope", "1", "length must be between 2 and 1048576, got 1"),
        ("rope", "-3", "length must be between 2 and 1048576, got -3"),
        ("alibi", "1048577", "length must be between 2 and 1048576, got 1048577"),
    ],
)
def test_a_length_that_cannot_be_answered_is_one_line(capsys: pytest.CaptureFixture[str], scheme: str, length: str, message: str) -> None:
    assert cli.main(["show", scheme, "--length", length]) == Status.WRONG_USAGE
    assert refusal(capsys) == message


@pytest.mark.parametrize("scheme", ["rope", "sinusoidal", "alibi"])
@pytest.mark.parametrize("length", [2, 3, 100_000])
def test_every_length_fits_the_screen(capsys: pytest.CaptureFixture[str], scheme: str, length: int) -> None:
    assert cli.main(["show", scheme, "--length", str(length)]) == Status.CONFORMS
    assert max(map(len, written(capsys))) <= SCREEN
