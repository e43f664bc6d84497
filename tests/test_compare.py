"""The comparison of costs and the answers over a length: structure, ratios and errors, never a time."""

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance import cli
from conformance.adapt.selection import SelectionError
from conformance.calls.status import Status
from conformance.pictures import costs
from conformance.show import backends, compare
from conformance.show.backends import Backend, Call
from conformance.show.compare import Comparison, Measurement, Table
from refimpl.attention import Layer
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


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time each call once, however short."""
    monkeypatch.setattr(compare, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(compare, "TRIES", 1)


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every call take a second."""
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))


def rows(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines if line.split() and line.split()[0] in SCHEMES]


def table(*schemes: str, phase: str = "forward", length: int = 4, library: str = "numpy") -> Table:
    (found,) = compare.tables(schemes, (length,), (phase,), backends.backend(library))
    return found


@pytest.mark.usefixtures("steady")
def test_the_schemes_of_the_paper_are_compared_in_every_phase_where_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "--lengths", "3,5"]) == Status.CONFORMS
    lines = written(capsys)

    assert [row[0] for row in rows(lines)] == ["none", "rope", "sinusoidal", "alibi", "t5"] * 4
    headings = [line.split("  ")[0] for line in lines if " tokens, " in line]
    assert headings == ["3 tokens, forward", "3 tokens, decoding", "5 tokens, forward", "5 tokens, decoding"]


@pytest.mark.usefixtures("steady")
def test_no_encoding_costs_exactly_itself(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["compare", "alibi", "--lengths", "4", "--phase", "forward"])
    row = rows(written(capsys))[0]

    assert (row[0], row[2:6], row[7]) == ("none", ["1.00", "1.00", "-", "1.00"], "1.00")


def test_the_screen_says_backend_device_and_versions_and_fits(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["compare", *SCHEMES, "--lengths", "4,9"])
    lines = written(capsys)

    assert any(line.startswith(f"backend numpy {np.__version__}, posenc ") for line in lines)
    assert any(line.startswith("device ") for line in lines)
    assert max(map(len, lines)) <= SCREEN


@pytest.mark.parametrize("phase", ["forward", "decoding"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_can_be_compared(scheme: str, phase: str) -> None:
    found = table(*compare.verified([scheme]), phase=phase, length=7).rows[-1]

    assert (found.scheme, found.reason) == (scheme, "")
    assert len(found.seconds) == compare.REPEATS
    assert found.memory is not None


@pytest.mark.usefixtures("steady")
def test_runs_are_interleaved() -> None:
    order: list[object] = []
    backend = Backend("numpy", "here", lambda values: values, order.append)
    (found,) = compare.tables(("none", "alibi"), (2,), ("forward",), backend)

    assert [row.seconds for row in found.rows] == [(1.0,) * compare.REPEATS] * 2
    warmed, *taken = order
    assert len(taken) == 2 * compare.REPEATS
    one, other = taken[:2]
    assert not np.array_equal(one, other)
    assert all(np.array_equal(each, one) for each in (warmed, *taken[::2]))
    assert all(np.array_equal(each, other) for each in taken[1::2])


def measured(*seconds: float) -> Measurement:
    return Measurement("rope", "forward", 8, seconds)


def test_a_ratio_is_of_runs_in_the_same_turn() -> None:
    found = Table((measured(1.0, 1.0, 1.25, 1.25, 1.0), measured(2.0, 2.0, 2.5, 2.5, 2.2)))

    assert found.ratios(found.rows[1]) == (2.0, 2.0, 2.0, 2.0, 2.2)


def test_a_busy_machine_gets_times_and_no_ratio() -> None:
    found = Table((measured(1.0, 1.1, 1.5, 1.1, 1.0), measured(2.0, 4.0, 2.5, 2.5, 9.0)))
    lines = [line for _, line in compare.lines(Comparison(Backend("numpy", "here", np.asarray, len), (found,)))]

    assert rows(lines)[1] == ["rope", "2500.00", "-", "-", "-", "-"]
    assert lines[-1] == "- 8 tokens, forward: the machine is too busy for ratios; rope took 2e+03 to 9e+03 ms"


def test_a_busy_moment_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "TRIES", 2)
    calls = 2 + compare.REPEATS // 2  # the call before, then half of the first turns
    times = iter([*(1.0 + (number >= calls) for number in range(2 * compare.REPEATS + 1)), *[1.0] * 4 * compare.REPEATS])
    monkeypatch.setattr(compare, "_seconds", lambda *_: next(times))

    found = table("none", "alibi")

    assert not found.noisy
    assert found.ratios(found.rows[1]) == (1.0,) * compare.REPEATS


def test_what_is_written_into_the_input_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def embed(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        written.append(len(positions))
        return x

    monkeypatch.setattr(compare, "_layer", lambda *_: Layer(embed=embed))

    call = compare.ready(lambda: compare._call("sinusoidal", "forward", 5, backends.backend("numpy")))  # noqa: SLF001

    assert callable(call)
    assert written == [5]


def test_decoding_gives_what_the_last_token_gets_in_all() -> None:
    library = backends.backend("numpy")
    for scheme in ("rope", "alibi", "t5"):
        whole, last = (compare._call(scheme, phase, 9, library)() for phase in ("forward", "decoding"))  # noqa: SLF001  what it times
        np.testing.assert_allclose(np.asarray(whole)[..., -1:, :], np.asarray(last), rtol=1e-6)


def test_a_scheme_that_refuses_a_length_says_why() -> None:
    refused = Comparison(backends.backend("numpy"), (table("none", "learned", length=513),))
    lines = [line for _, line in compare.lines(refused)]

    assert rows(lines)[1] == ["learned", "-", "-", "-", "-", "-"]
    assert "- learned, 513 tokens, forward: positions must lie between 0 and 511, got 512" in lines


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

    assert compare.ready(lambda: call) == reason


def test_any_other_failure_is_not_hidden() -> None:
    def call() -> object:
        message = "a bug"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="a bug"):
        compare.ready(lambda: call)


def test_memory_that_cannot_be_told_is_a_dash_with_its_reason() -> None:
    backend = Backend("torch", "a processor", np.asarray, len, lacks=("torch counts no memory on a processor",))
    both = Table((Measurement("none", "forward", 8, (0.5,) * 5), Measurement("rope", "forward", 8, (1.0,) * 5)))
    lines = [line for _, line in compare.lines(Comparison(backend, (both,)))]

    assert lines[-1] == "- torch counts no memory on a processor"
    assert rows(lines)[1] == ["rope", "1000.00", "2.00", "2.00", "-", "2.00", "-", "-"]


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
    found = table("none", "rope", phase="backward", library=name)

    assert [row.scheme for row in found.rows] == ["none", "rope"]
    assert all(seconds > 0 for row in found.rows for seconds in row.seconds)


@pytest.mark.parametrize("name", ["torch", "jax"])
@pytest.mark.usefixtures("narrow_jax")
def test_a_gradient_is_that_of_the_product_with_what_is_given(name: str) -> None:
    pytest.importorskip(name, reason=f"{name} is not installed")
    library = backends.backend(name)
    assert library.gradients is not None
    x, y = (library.put(np.asarray(values, dtype=np.float32)) for values in ([2.0, 3.0], [5.0, 7.0]))

    of_x, of_y = library.gradients(lambda given: [given[0] * given[0] * given[1]], [x, y], [library.put(np.ones(2, dtype=np.float32))])

    assert np.asarray(of_x).tolist() == [20.0, 42.0]
    assert np.asarray(of_y).tolist() == [4.0, 9.0]


def test_what_has_no_gradients_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["compare", "alibi", "--lengths", "4"])

    assert written(capsys)[-1] == "- NumPy has no gradients"


def test_the_ratios_are_drawn_for_every_phase_and_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    cli.main(["compare", "alibi", "--lengths", "4,8", "--plot", str(tmp_path / "costs.svg")])

    assert f"wrote {tmp_path / 'costs.svg'}" in capsys.readouterr().out
    assert (tmp_path / "costs.svg").stat().st_size > 0


def test_a_picture_shows_ratios_with_their_range() -> None:
    figure = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed").Figure()
    both = Table((measured(1.0, 1.0, 1.0, 1.0, 1.0), Measurement("alibi", "forward", 8, (2.0, 2.0, 2.0, 2.0, 2.5), 1)))
    costs.fill(figure, Comparison(Backend("numpy", "here", np.asarray, len), (both,)))

    (panel,) = figure.axes
    bars = panel.containers[1]
    assert bars[0].get_ydata().tolist() == [2.0]
    ((_, low), (_, high)) = bars[2][0].get_segments()[0]
    assert (low, high) == (2.0, 2.5)


def test_a_picture_of_ratios_that_are_nearly_one_has_room_above_them() -> None:
    figure = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed").Figure()
    both = Table((measured(1.0, 1.0, 1.0, 1.0, 1.0), Measurement("alibi", "forward", 8, (1.0, 1.0, 1.0, 1.0, 1.01), 1)))
    costs.fill(figure, Comparison(Backend("numpy", "here", np.asarray, len), (both,)))

    assert figure.axes[0].get_ylim()[1] > 1.05


def test_a_picture_says_where_a_busy_machine_left_no_ratios() -> None:
    figure = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed").Figure()
    quiet, busy = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    tables = tuple(Table((measured(*quiet), Measurement("alibi", "forward", tokens, taken))) for tokens, taken in ((8, busy), (16, quiet)))
    costs.fill(figure, Comparison(Backend("numpy", "here", np.asarray, len), tables))

    (panel,) = figure.axes
    assert panel.get_xlabel() == "tokens (no ratios at 8:\nthe machine was too busy)"


def test_numpy_weighs_what_a_call_allocates() -> None:
    peak = backends.backend("numpy").peak
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
        (["--lengths", "9" * 5_000], f"lengths must be whole numbers from 1 to 8192 with commas between, got '{'9' * 5_000}'"),
        (["--phase", "backward"], "--phase backward must come with a backend that has gradients (torch, jax), got numpy"),
        (["--lengths", "²"], "lengths must be whole numbers from 1 to 8192 with commas between, got '²'"),
        (["--backend", "nunpy"], "backend must be one of numpy, torch, cupy, jax, got 'nunpy' (did you mean numpy?)"),
    ],
)
def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert cli.main(["compare", *arguments]) == Status.WRONG_USAGE
    assert refusal(capsys) == message


def test_an_absent_library_is_said_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "find_spec", lambda _: None)

    with pytest.raises(SelectionError, match=r"^backend must be installed, got 'cupy' \(pip install '\.\[cupy\]' from a checkout\)$"):
        backends.backend("cupy")


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
        ("t5", "9", "--length must go with one of rope, sinusoidal, sincos_2d, alibi, got 't5'"),
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


@pytest.mark.parametrize(
    "line", ["raise RuntimeError('no licence')", "raise SystemExit(0)", "import os; os._exit(0)"], ids=["raises", "exits", "ends"]
)
@pytest.mark.parametrize(
    ("library", "arguments"),
    [("torch", ["compare", "--backend", "torch"]), ("matplotlib", ["show", "rope", "--plot"]), ("matplotlib", ["compare", "--plot"])],
    ids=["measures", "draws", "draws what is measured"],
)
def test_a_library_that_cannot_be_imported_is_named_before_anything_is_measured(
    tmp_path: Path, line: str, library: str, arguments: list[str]
) -> None:
    (tmp_path / f"{library}.py").write_text(line, encoding="utf-8")
    program = "import sys; from conformance.cli import main; sys.exit(main())"
    words = [*arguments, str(tmp_path / "picture.png")] if arguments[-1] == "--plot" else arguments
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[1])])

    done = subprocess.run(
        [sys.executable, "-c", program, *words], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )

    came = "ImportError: the process ended with exit status 0" if "_exit" in line else line.split()[1].partition("(")[0]
    assert done.returncode == 2
    assert f"posenc: {library} must be a library that can be imported, got {came}" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("lacking", [("none",), ("none", "rope")])
def test_what_needs_more_memory_than_there_is_gets_a_dash_the_baseline_too(
    monkeypatch: pytest.MonkeyPatch, lacking: tuple[str, ...]
) -> None:
    def call(scheme: str, *_: object) -> Call:
        if scheme in lacking:
            raise MemoryError
        return lambda: None

    monkeypatch.setattr(compare, "_call", call)

    (table,) = compare.tables(("none", "rope"), (16,), ("forward",), backends.numpy())

    assert [row.reason for row in table.rows if row.scheme in lacking] == ["needs more memory than there is"] * len(lacking)
    assert "\n".join(text for _, text in compare.lines(Comparison(backends.numpy(), (table,)))).count("more memory") == len(lacking)
