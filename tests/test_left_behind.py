"""What a call leaves changed in its process is told of the one who did it, and convicts nobody else; nor does hash order, nor a leak."""

import ctypes
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conformance.calls.limits import Limits
from conformance.calls.outcomes import Advisory, Crashed, Errored, Exhausted, Failed, Reason, Report, Result, TimedOut
from conformance.calls.status import Status
from conformance.calls.subject import CallFailedError
from conformance.checks.law_checks import HISTORY
from conformance.cli import main
from conformance.isolate.session import Session
from conformance.judge.journal import Call, Journal, Task
from conformance.run import check, history
from conformance.run.case import Case
from conformance.run.questions import EVIDENCE, Judge
from conformance.show import summary
from conformance.show.report import message

SOURCE = """\
import ctypes, decimal, fractions, gc, itertools, json, locale, math, os, resource, select, signal, socket, struct, subprocess, sys, time
from pathlib import Path
import numpy as np
from conformance import Adapter
from refimpl.schemes import alibi, rope
{outside}
adapter = Adapter("left", framework={framework!r})

@adapter.implements("rope.frequencies", label="faulty")
def faulty(**parameters):
    {inside}
    return rope.frequencies(**parameters, like=np.empty(0))

@adapter.implements("alibi.slopes", label="healthy")
def healthy(**parameters):
    return alibi.slopes(**parameters, like=np.empty(0))
"""
STATES = {
    "math.cos = math.sin": "names of the standard library (math.cos)",
    "np.cos = np.sin": "names of NumPy (numpy.cos)",
    "np.float32 = np.float64": "names of NumPy (numpy.float32)",
    "np.pi = 3.0": "names of NumPy (numpy.pi)",
    "os._exit = print": "names of the standard library (os._exit)",
    "math.pi = 3.0": "names of the standard library (math.pi)",
    "np.asarray = lambda *_, **__: None": "names of NumPy (numpy.asarray)",
    "sys.meta_path.insert(0, type('Finder', (), {'find_spec': lambda *_: None}))": "what finds modules",
    "sys.path_hooks.append(print)": "what finds modules",
    "np.seterr(all='raise')": "NumPy's error handling",
    "ctypes.CDLL(None).fesetround(0x800)": "how numbers are rounded",
    "decimal.getcontext().prec = 3": "decimal numbers",
    "locale.setlocale(locale.LC_ALL, 'C') == 'C' and locale.setlocale(locale.LC_ALL, 'C.UTF-8')": "the locale",
    "gc.disable()": "garbage collection",
    "sys.setrecursionlimit(500)": "the recursion limit",
    "os.umask(0o123)": "permissions of new files",
    "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})": "blocked signals",
    "signal.setitimer(signal.ITIMER_VIRTUAL, 1000)": "timers",
    "signal.signal(signal.SIGUSR1, signal.SIG_IGN)": "signal handlers",
    "resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))": "resource limits",
    "sys.stdout.reconfigure(encoding='ascii')": "standard output or error",
    "sys.stderr.reconfigure(errors='strict')": "standard output or error",
    "sys.stdout.close()": "standard output or error",
    "os.close(1)": "standard output or error",
    "sys.path.append('/nowhere')": "where modules are searched",
    "sys.modules['json'] = math": "imported modules",
    "del sys.modules['json']": "imported modules",
    "sys.settrace(lambda *_: None)": "what traces calls",
    "sys.setprofile(lambda *_: None)": "what traces calls",
    "os.close(0)": "standard input",
    "FILES = [os.open(os.devnull, os.O_RDONLY) for _ in range(100)]": "how many files are open",
    "import codecs; codecs.register_error('strict', codecs.ignore_errors)": "what can't be encoded",
    "sys.setswitchinterval(1.0)": "when threads are switched",
    "os.nice(1)": "how nice the process is",
    "sys.set_int_max_str_digits(1000)": "how long the text of integers may be",
    "np.setbufsize(16)": "NumPy's error handling",
    "np.seterrcall(print)": "NumPy's error handling",
    "os.set_blocking(1, False)": "standard output or error",
    "os.set_blocking(0, not os.get_blocking(0))": "standard input",
    "HEARS = socket.socketpair(); HEARS[0].setblocking(False); signal.set_wakeup_fd(HEARS[0].fileno())": "signal handlers",
    "import threading; threading.setprofile(print)": "what traces calls",
    "ctypes.CDLL(None).setlocale(1, b'C') and ctypes.CDLL(None).setlocale(1, b'C.UTF-8')": "the locale",
    "import builtins; builtins.profile = print": "names of the standard library (builtins.profile)",
    "Path.exists = Path.is_dir": "names of the standard library (pathlib.Path.exists)",
    "fractions.Fraction.limit_denominator = abs": "names of the standard library (fractions.Fraction.limit_denominator)",
}
TORCH = {
    "import torch; torch.set_flush_denormal(True)": "how numbers are rounded",
    "import torch; torch.set_grad_enabled(False)": "torch's gradients",
    "import torch; torch.set_num_threads(torch.get_num_threads() + 1)": "torch's number of threads",
    "import torch; torch.set_default_dtype(torch.float64)": "torch's default dtype",
    "import torch; torch.nn.functional.relu = abs": "names of torch",
    "import torch; torch.Tensor.cos = torch.Tensor.sin": "names of torch",
    "import torch; torch.kept = torch.inference_mode(); torch.kept.__enter__()": "torch's gradients",
    "import torch; torch.autocast('cpu').__enter__()": "torch's autocast",
    "import torch; torch.set_float32_matmul_precision('medium')": "torch's precision of products",
    "import torch; torch.nn.Module.__call__ = print": "names of torch",
    "import torch; torch.nn.modules.module.register_module_forward_hook(print)": "torch's hooks",
    "import torch; torch.autograd.graph.saved_tensors_hooks(abs, abs).__enter__()": "torch's hooks",
    "import torch; torch.overrides.BaseTorchFunctionMode().__enter__()": "torch's modes",
    "import torch; torch.utils._python_dispatch.BaseTorchDispatchMode().__enter__()": "torch's modes",
    "import torch; torch.kept = torch._C.DisableTorchFunctionSubclass(); torch.kept.__enter__()": "torch's modes",
    "import torch; torch.autograd.set_detect_anomaly(True)": "torch's modes",
    "import torch; torch.backends.mkldnn.enabled = False": "torch's backends",
    "import torch; torch.backends.cuda.enable_math_sdp(False)": "torch's backends",
    "import torch; torch.set_printoptions(precision=1)": "torch's print options",
}
JAX = {
    "import jax; jax.config.update('jax_enable_x64', not jax.config.jax_enable_x64)": "JAX's 64 bits",
    "import jax; jax.config.update('jax_default_matmul_precision', 'bfloat16')": "JAX's configuration",
    "import jax; jax.config.update('jax_numpy_rank_promotion', 'raise')": "JAX's configuration",
    "import jax; jax.numpy.cos = jax.numpy.sin": "names of JAX",
}
MADE = {"numpy": "", "torch": "torch.from_numpy", "jax": "jax.numpy.asarray"}
TRAPS = {"ctypes.CDLL(None).feenableexcept(1)": "which floating-point exceptions end the process"}
PROCESSORS = {"os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})": "on which processors it runs"}
SEVERAL = hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1
GROUPS = {"os.setgroups([54321])": "users and groups"}
PRIVILEGED = hasattr(os, "geteuid") and os.geteuid() == 0
HERE = {
    **STATES,
    **(PROCESSORS if SEVERAL else {}),
    **(GROUPS if PRIVILEGED else {}),
    **(TORCH if importlib.util.find_spec("torch") else {}),
    **(JAX if importlib.util.find_spec("jax") else {}),
    **(TRAPS if hasattr(ctypes.CDLL(None), "feenableexcept") else {}),
}


def written(folder: Path, inside: str, *, outside: str = "", framework: str = "numpy") -> str:
    path = folder / "left.py"
    path.write_text(SOURCE.format(inside=inside, outside=outside, framework=framework), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("leaves", "words"), HERE.items(), ids=HERE)
@pytest.mark.parametrize("fails", [False, True], ids=["and returns", "and raises"])
def test_what_a_call_leaves_is_seen_whether_it_returns_or_raises(tmp_path: Path, leaves: str, words: str, *, fails: bool) -> None:
    framework = "torch" if leaves in TORCH else "jax" if leaves in JAX else "numpy"
    outside = "import jax.numpy" if framework == "jax" else f"import {framework}"
    target = written(tmp_path, f"{leaves}\n    {'raise ValueError' if fails else 'pass'}", outside=outside, framework=framework)
    source = re.sub(r"return (.*)", rf"return {MADE[framework]}(\1)", Path(target).read_text(encoding="utf-8"))
    Path(target).write_text(source, encoding="utf-8")
    with Session(target) as session:
        healthy, faulty = sorted(session.implementations, key=lambda each: each.operation)

        try:
            session.request(faulty, "float32", [], {"head_dim": 8, "base": 10_000.0})
        except CallFailedError:
            assert fails
        answer = session.request(healthy, "float32", [], {"num_heads": 4, "max_bias": 8.0})

        assert any(words in told for told in session.left[faulty.index, "float32"])
        assert session.left[healthy.index, "float32"] == {}
        assert session.starts == 2
        assert np.array_equal(answer.values["result"], [0.25, 0.0625, 0.015625, 0.00390625])


@pytest.mark.parametrize("replaces", ["sys.modules.clear(); import warnings", "math.pow = math.pi; math.pow(2, 3)"])
def test_code_that_fails_for_what_it_replaced_itself_is_wrong_and_its_declaration_is_not_blamed(tmp_path: Path, replaces: str) -> None:
    report = check(written(tmp_path, replaces), level="smoke", seed=0)

    came = [result.outcome for result in report.results if result.implementation == "faulty" and result.convicts]
    assert report.status is Status.DIFFERS
    assert came
    assert all(isinstance(outcome, Errored) for outcome in came)
    assert not [result for result in report.results if result.implementation == "healthy" and result.convicts]


#: What a worker answers with, among others.
EVERYTHING = """json.dumps = json.JSONEncoder.encode = struct.pack = struct.Struct = select.select = select.poll = time.monotonic = None
    socket.socket.send = socket.socket.recv_into = lambda *given: time.sleep(100)
    os.getpid = os.write = lambda *given: 1"""


def test_a_call_that_replaces_what_a_worker_answers_with_is_answered_and_told(tmp_path: Path) -> None:
    imported = "rope.frequencies(head_dim=4, base=99.0, like=np.empty(0))"
    with Session(written(tmp_path, EVERYTHING, outside=imported)) as session:
        for _ in range(2):
            assert np.allclose(session.call("rope.frequencies", [], {"head_dim": 4, "base": 99.0})["result"], [1.0, 99**-0.5])
        answer = session.call("alibi.slopes", [], {"num_heads": 4, "max_bias": 8.0})["result"]

        told = "changes global state: names of the standard library (json.dumps, json.encoder.JSONEncoder.encode, os.getpid and 8 more)"
        assert np.array_equal(answer, [0.25, 0.0625, 0.015625, 0.00390625])
        assert [list(left) for left in session.left.values()] == [[told], []]
        assert session.starts == 2


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs a system that lists the threads of a process")
def test_no_end_of_the_process_that_a_call_planned_comes_after_it(tmp_path: Path) -> None:
    threads = "min(len(os.listdir('/proc/self/task')) for _ in range(1000))"  # a thread that has ended may be listed for a moment
    planning = f"import faulthandler; parameters['base'] += {threads} - THREADS; faulthandler.dump_traceback_later(99, exit=True)"
    with Session(written(tmp_path, planning, outside=f"THREADS = {threads}")) as session:
        values = [session.call("rope.frequencies", [], {"head_dim": 4, "base": 100.0})["result"][1] for _ in range(3)]

        assert np.allclose(values, 0.1)


@pytest.mark.parametrize("name", ["callable", "dict", "isinstance", "setattr", "vars"])
def test_a_builtin_that_a_call_replaces_is_told_by_name(tmp_path: Path, name: str) -> None:
    replaced = f"import builtins; builtins.{name} = lambda *_: False; return np.array([1.0, 0.1])"
    with Session(written(tmp_path, replaced)) as session:
        session.call("rope.frequencies", [], {"head_dim": 4, "base": 100.0})

        told = f"changes global state: names of the standard library (builtins.{name})"
        assert [list(left) for left in session.left.values()] == [[told]]


def test_what_a_call_replaces_in_the_standard_library_stays_so_for_its_own_calls(tmp_path: Path) -> None:
    target = written(tmp_path, "parameters['base'] += json.dumps(1) == 'x'; json.dumps = lambda *a, **k: 'x'")
    with Session(target) as session:
        values = [session.call("rope.frequencies", [], {"head_dim": 4, "base": 99.0})["result"][1] for _ in range(3)]

        assert np.allclose(values, [99**-0.5, 0.1, 0.1])
        assert [len(left) for left in session.left.values()] == [1]
        assert session.starts == 1


def test_what_a_target_replaces_when_it_is_imported_is_no_change_of_a_call(tmp_path: Path) -> None:
    target = written(tmp_path, "parameters['base'] += len(json.dumps(1))", outside="json.dumps = lambda *a, **k: 'x'\nos.write = None")
    with Session(target) as session:
        assert np.allclose(session.call("rope.frequencies", [], {"head_dim": 4, "base": 99.0})["result"], [1, 0.1])
        assert not any(session.left.values())


def test_a_module_that_a_call_imports_is_no_change(tmp_path: Path) -> None:
    with Session(written(tmp_path, "import http.client, numpy.ma, numpy.polynomial, sqlite3, unittest.mock, xml.etree")) as session:
        session.call("rope.frequencies", [], {"head_dim": 4, "base": 99.0})

        assert not any(session.left.values())


def results(report: Report, label: str, kind: type) -> list[str]:
    return [str(result.outcome) for result in report.results if result.implementation == label and isinstance(result.outcome, kind)]


def test_who_left_something_by_an_exception_is_named_and_nobody_else_is_convicted(tmp_path: Path) -> None:
    report = check(written(tmp_path, "math.cos = math.sin; raise ValueError"), level="smoke")

    assert any("names of the standard library" in told for told in results(report, "faulty", Advisory))
    assert not results(report, "healthy", Advisory)
    assert not [result for result in report.results if result.implementation == "healthy" and result.convicts]


def results_of(report: Report, label: str) -> list[Result]:
    return [result for result in report.results if result.implementation == label and result.convicts]


PREDICATE = """
def leaving(p):
    np.cos = np.sin
    return p.get("num_heads", 0) <= 32

@adapter.implements("alibi.slopes", label="asked", when=leaving)
def asked(**parameters):
    return alibi.slopes(**parameters, like=np.empty(0))

@adapter.implements("rope.rotate", label="turned", layout="half", direction="positive")
def turned(x, positions, *, base, **_):
    angles = positions[..., None] / base ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])
    cos, sin = (np.concatenate([f(angles)] * 2, axis=-1)[None] if positions.ndim < 2 else np.concatenate([f(angles)] * 2, axis=-1)[:, None]
                for f in (np.cos, np.sin))
    first, second = np.split(x, 2, axis=-1)
    return (x * cos + np.concatenate([-second, first], axis=-1) * sin).astype(x.dtype)
"""


def test_what_a_predicate_leaves_is_told_of_it_and_convicts_nobody_else(tmp_path: Path) -> None:
    target = written(tmp_path, "pass")
    with open(target, "a", encoding="utf-8") as file:  # noqa: PTH123  appends
        file.write(PREDICATE)

    report = check(target, level="smoke")

    words = "a predicate of its declaration changes global state: names of NumPy"
    assert any(words in told for told in results(report, "asked", Advisory))
    assert not results(report, "turned", Advisory)
    assert not results_of(report, "turned")
    assert not results_of(report, "healthy")


@pytest.mark.parametrize(
    ("inside", "limits", "resource"),
    [
        ("subprocess.Popen(['sleep', '100'])", Limits(processes=4), "processes"),
        ("HELD.append(np.ones(60_000_000 // 8))", Limits(memory=300), "memory"),
    ],
)
def test_what_piles_up_is_counted_to_who_piled_it_up(tmp_path: Path, inside: str, limits: Limits, resource: str) -> None:
    with Session(written(tmp_path, inside, outside="HELD = []"), limits) as session:
        healthy, faulty = sorted(session.implementations, key=lambda each: each.operation)
        met = []
        for _ in range(6):
            try:
                session.request(faulty, "float32", [], {"head_dim": 8, "base": 10_000.0})
            except CallFailedError as failure:  # on a busy machine
                met.append(failure.outcome)
        session.request(healthy, "float32", [], {"num_heads": 4, "max_bias": 8.0})

        assert session.late.keys() <= {(faulty.index, "float32")}
        assert [each.resource for each in (*met, *session.late.values()) if isinstance(each, Exhausted)] == [resource]
        assert session.starts == 2


def test_a_pile_below_the_limit_ends_before_another_implementation_is_asked(tmp_path: Path) -> None:
    with Session(written(tmp_path, "subprocess.Popen(['sleep', '100'])"), Limits(processes=4)) as session:
        healthy, faulty = sorted(session.implementations, key=lambda each: each.operation)
        session.request(faulty, "float32", [], {"head_dim": 8, "base": 10_000.0})
        session.request(healthy, "float32", [], {"num_heads": 4, "max_bias": 8.0})

        assert (session.starts, session.late) == (2, {})


RIGHT = "result = parameters['base'] ** (-np.arange(0, parameters['head_dim'], 2) / parameters['head_dim'])"


@pytest.mark.parametrize("change", ["vars(builtins).pop('sorted', None)", "builtins.len = None", "re.compile = None"])
def test_what_a_call_replaces_changes_no_answer_of_its_own(tmp_path: Path, change: str) -> None:
    report = check(written(tmp_path, f"{RIGHT}; {change}; return result", outside="import builtins, re"), level="smoke")

    faulty = [result for result in report.results if result.implementation == "faulty"]
    assert [result.outcome for result in faulty if result.convicts] == []
    assert any("names of the standard library" in result.outcome.message for result in faulty if isinstance(result.outcome, Advisory))


def convictions(report: Report, reason: Reason) -> list[str]:
    return [r.outcome.message for r in report.results if isinstance(r.outcome, Failed) and r.outcome.reason is reason]


DEPENDS = "if hash('positional') != HASH: parameters['base'] *= 2"


def test_what_depends_on_hash_order_is_called_that(tmp_path: Path) -> None:
    target = written(tmp_path, DEPENDS, outside=f"HASH = {hashed()}")

    report = check(target, level="smoke")

    assert "differs under PYTHONHASHSEED=1: sort what a set gives" in convictions(report, Reason.HASH_ORDER)[0]
    assert not convictions(report, Reason.HISTORY)


def test_values_that_are_wrong_under_each_hash_seed_show_no_mistake_of_values(tmp_path: Path) -> None:
    target = written(tmp_path, "parameters['base'] *= 2 + int(os.environ['PYTHONHASHSEED'])")

    report = check(target, level="smoke")

    (wrong,) = summary.convictions(report)
    assert wrong.diagnosis is None
    assert isinstance(wrong.smallest.outcome, Failed)
    assert wrong.smallest.outcome.reason is Reason.HASH_ORDER


@pytest.mark.parametrize(("ends", "kind"), [("os._exit(7)", Crashed), ("time.sleep(100)", TimedOut)], ids=["an exit", "a time-out"])
def test_what_ends_calls_under_another_hash_seed_only_is_told_of_it(
    tmp_path: Path, ends: str, kind: type[Crashed] | type[TimedOut]
) -> None:
    target = written(tmp_path, f"if os.environ['PYTHONHASHSEED'] == '1': {ends}")

    report = check(target, level="smoke", limits=Limits(call_seconds=1.0))

    (wrong,) = [result for result in report.results if result.convicts]
    assert isinstance(wrong.outcome, kind)
    assert "is answered under PYTHONHASHSEED=0, not under PYTHONHASHSEED=1: sort what a set gives" in str(wrong.outcome)


def test_a_target_that_starts_under_one_hash_seed_only_loses_no_other_check(tmp_path: Path) -> None:
    target = written(tmp_path, "pass", outside="if os.environ['PYTHONHASHSEED'] == '1': raise KeyError('order')")

    report = check(target, level="smoke")

    wrong = [result for result in report.results if result.convicts]
    assert {result.check for result in wrong} == {HISTORY}
    assert all("can't be started under PYTHONHASHSEED=1" in str(result.outcome) for result in wrong)


def hashed() -> int:
    """Return the hash under the hash seed of a run; a set's order depends on whether it was compiled or read from bytecode, too."""
    program = [sys.executable, "-c", "print(hash('positional'))"]
    return int(subprocess.run(program, env={"PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=True).stdout)


def test_the_hash_seed_of_the_environment_changes_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = written(tmp_path, "pass", outside="print(hash('a'), file=open(Path(__file__).parent / 'hashes', 'a'))")
    for seed in ("1", "random"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        with Session(target) as session:
            session.call("alibi.slopes", [], {"num_heads": 4, "max_bias": 8.0})

    assert len(set((tmp_path / "hashes").read_text(encoding="utf-8").split())) == 1


def test_implementations_that_a_set_puts_in_another_order_are_judged_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "shuffled.py"
    path.write_text(
        "import numpy as np\nfrom conformance import Adapter\nfrom refimpl.schemes import alibi\nadapter = Adapter('shuffled')\n"
        "for label in {'a', 'b', 'c', 'd', 'e', 'f'}:\n"
        "    adapter.implements('alibi.slopes', label=label)(lambda **p: alibi.slopes(**p, like=np.empty(0)))\n",
        encoding="utf-8",
    )

    assert check(str(path), level="smoke").status == 0


def test_answers_that_change_after_many_calls_depend_on_history_though_every_law_holds(tmp_path: Path) -> None:
    path = tmp_path / "late.py"
    path.write_text(
        "from conformance import Adapter\nfrom refimpl.schemes import rope\nadapter, calls = Adapter('late'), []\n"
        "@adapter.implements('rope.rotate', layout='half', direction='positive')\n"
        "def rotate(x, positions, *, layout, **parameters):\n"
        "    calls.append(1)\n"
        "    return rope.rotate(x, positions, layout=layout if len(calls) < 40 else 'interleaved', **parameters)\n",
        encoding="utf-8",
    )

    assert convictions(check(str(path), level="smoke", seed=1), Reason.HISTORY)


def test_an_answer_that_changes_from_worker_to_worker_is_called_not_deterministic(tmp_path: Path) -> None:
    outside = """
STARTS = Path(__file__).parent / "starts"
STARTS.open("a").write("x")
EVERY_SECOND = STARTS.stat().st_size % 2 == 0
"""

    report = check(written(tmp_path, "parameters['base'] *= 2 if EVERY_SECOND else 1", outside=outside), level="smoke")

    assert any("differs from one fresh worker to the next" in told for told in convictions(report, Reason.NOT_DETERMINISTIC))
    assert not convictions(report, Reason.HISTORY)


def test_an_exception_in_some_calls_is_called_not_deterministic(tmp_path: Path) -> None:
    some = "if next(COUNT) % 23 == 22: raise RuntimeError('out of luck')"

    report = check(written(tmp_path, some, outside="COUNT = itertools.count()"), level="core")

    assert any("got one and then RuntimeError: out of luck" in told for told in convictions(report, Reason.NOT_DETERMINISTIC))
    assert [result.check for result in report.results if isinstance(result.outcome, Errored)] == []


NUMBERED = """
STARTS = Path(__file__).parent / "starts"
STARTS.open("a").write("x")
NUMBER = STARTS.stat().st_size
COUNT = itertools.count()
"""


@pytest.mark.parametrize(
    ("inside", "suspected", "reason"),
    [
        ("if NUMBER == 6 and parameters['base'] == 100: os._exit(3)", True, Reason.NOT_DETERMINISTIC),
        ("if next(COUNT) == 1: os._exit(3)", True, Reason.HISTORY),
        ("if NUMBER == 6 and next(COUNT) == 4: parameters['base'] *= 2", False, Reason.NOT_DETERMINISTIC),
        ("if next(COUNT) == 4: parameters['base'] *= 2", False, Reason.HISTORY),
    ],
    ids=["a crash in one worker", "a crash at each second call", "a value in one worker", "a value at each fifth call"],
)
def test_an_earlier_call_is_the_cause_only_where_that_repeats(tmp_path: Path, inside: str, reason: Reason, *, suspected: bool) -> None:
    with Session(written(tmp_path, inside, outside=NUMBERED)) as session:
        task = Task(next(each for each in session.implementations if each.label == "faulty"), "float32", "float32")
        earlier, call = (Call(task, (), {"head_dim": 8, "base": base}) for base in (10_000.0, 100.0))
        journal = Journal()
        if suspected:
            journal.note("earlier", earlier)

        result = history.verdict(session, journal, Case(task, changed=[call]))

    assert result is not None
    assert isinstance(result.outcome, Failed)
    assert result.outcome.reason is reason


def judged(target: str, checks: str) -> list[Result]:
    """Return the answers to questions of the faulty implementation, one by one."""
    with Session(target) as session:
        judge = Judge(session, examples=2)
        mine = [each for each in judge.questions if each.task.descriptor.label == "faulty" and checks in each.check]
        answers = [judge.answer(question) for question in mine]
        judge.close()
    return answers


def test_an_exit_after_some_calls_stays_an_exit_one_by_one(tmp_path: Path) -> None:
    answers = judged(written(tmp_path, "if next(COUNT) == 5: os._exit(7)", outside="COUNT = itertools.count()"), "frequencies/")

    ended = [str(result.outcome) for result in answers if isinstance(result.outcome, Crashed)]
    assert ended
    assert all("exit status 7; the same call passes in a fresh worker" in told for told in ended)
    assert not [result for result in answers if isinstance(result.outcome, Failed)]


def test_hash_order_is_told_one_by_one(tmp_path: Path) -> None:
    target = written(tmp_path, DEPENDS, outside=f"HASH = {hashed()}")

    (evidence,) = judged(target, EVIDENCE)

    assert isinstance(evidence.outcome, Failed)
    assert evidence.outcome.reason is Reason.HASH_ORDER


def test_an_earlier_call_is_named_one_by_one(tmp_path: Path) -> None:
    first = "parameters['base'] = FIRST.setdefault('base', parameters['base'])"
    answers = judged(written(tmp_path, first, outside="FIRST = {}"), "frequencies/")

    told = [r.outcome.message for r in answers if isinstance(r.outcome, Failed) and r.outcome.reason is Reason.HISTORY]
    assert any("the same call passes in a fresh worker: the answer to" in words and "changes after" in words for words in told)


def test_an_exit_after_some_calls_stays_an_exit(tmp_path: Path) -> None:
    report = check(written(tmp_path, "if next(COUNT) == 9: os._exit(7)", outside="COUNT = itertools.count()"), level="smoke")

    ended = results(report, "faulty", Crashed)
    assert len(ended) >= 1
    assert "exit status 7" in ended[0]
    assert "the same call passes in a fresh worker" in ended[0]
    assert not convictions(report, Reason.HISTORY)


def test_a_pile_of_processes_stays_one(tmp_path: Path) -> None:
    pile = "subprocess.Popen(['sleep', '100']); time.sleep(next(COUNT) > 5)"  # so that the limit is met in a call of its own

    report = check(written(tmp_path, pile, outside="COUNT = itertools.count()"), level="smoke", limits=Limits(processes=8))

    ended = results(report, "faulty", Exhausted)
    assert ended
    assert "processes" in ended[0]
    assert "the same call passes in a fresh worker" in ended[0]
    assert not convictions(report, Reason.HISTORY)


def test_a_leak_stays_a_leak(tmp_path: Path) -> None:
    leak = "HELD.append(np.ones(60_000_000 // 8)); time.sleep(0.25 * (len(HELD) > 12))"

    report = check(written(tmp_path, leak, outside="HELD = []"), level="smoke", limits=Limits(memory=900))

    ended = results(report, "faulty", Exhausted)
    assert ended
    assert "the same call passes in a fresh worker" in ended[0]
    assert not convictions(report, Reason.HISTORY)


def test_a_worker_sees_no_secret_of_its_environment_unless_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = [
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "db_password",
        "DB_PASS",
        "TWINE_PASSPHRASE",
        "MYSQL_PWD",
        "SMTP_PW",
        "HF_TOKEN",
        "SSH_AUTH_SOCK",
        "OPENAI_API_KEY",
        "JAX_KEY",
        "X_AUTH",
        "GH_PAT",
        "CI_JOB_JWT",
        "COOKIE",
        "SENTRY_DSN",
        "SLACK_WEBHOOK",
    ]
    named_otherwise = {
        "PIP_INDEX_URL": "https://somebody:word@example.org/simple",
        "REPORT_TO": "https://0123456789abcdef@example.org/1",
        "HOOK": "https://example.org/hooks/0123456789abcdef",
        "DEPLOY": "0123456789abcdef",
    }
    libraries = [
        "OMP_NUM_THREADS",
        "CUDA_VISIBLE_DEVICES",
        "XLA_FLAGS",
        "PYTORCH_CUDA_ALLOC_CONF",
        "TORCHINDUCTOR_CACHE_DIR",
        "HF_HOME",
        "TOKENIZERS_PARALLELISM",
        "PYTHONWARNINGS",
        "LD_PRELOAD",
        "TMPDIR",
        "HOME",
        "PATH",
        "LANG",
        "LC_ALL",
        "PWD",
        "OLDPWD",
        "HTTPS_PROXY",
    ]
    for name in (*secrets, "MY_BACKEND"):
        monkeypatch.setenv(name, "x")
    for name in libraries:
        if name not in os.environ:
            monkeypatch.setenv(name, "")
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
    monkeypatch.setenv("MY_WEIGHTS", f"{tmp_path}{os.pathsep}/nowhere/at/all")
    for name, value in named_otherwise.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("POSENC_PASS", "HF_TOKEN,DEPLOY")
    target = written(tmp_path, "pass", outside="(Path(__file__).parent / 'names').write_text(' '.join(os.environ))")

    with Session(target) as session:
        assert session.implementations

    seen = set((tmp_path / "names").read_text(encoding="utf-8").split())
    assert seen & {*secrets, *named_otherwise} == {"HF_TOKEN", "DEPLOY"}
    assert {*libraries, "MY_BACKEND", "MY_WEIGHTS"} <= seen


ASKING = {
    "a name": "os.environ['MY_BACKEND']",
    "a name of two": "os.environ['MY_BACKEND'] + os.environ['OTHER']",
    "nothing comes of it": "os.getenv('MY_BACKEND').upper()",
    "a copy": "dict(os.environ)['MY_BACKEND']",
    "an end that says why": "print('MY_BACKEND must be set', flush=True) or os._exit(9)",
}
WITHHELD = "the code asks for MY_BACKEND, which is withheld from it: POSENC_PASS=OTHER,MY_BACKEND passes it on"


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_BACKEND", "flash_attention_2")
    monkeypatch.setenv("NOBODY_ASKS", "flash_attention_2")
    monkeypatch.setenv("OTHER", "flash_attention_2")
    monkeypatch.setenv("POSENC_PASS", "OTHER")


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("asking", ASKING.values(), ids=ASKING)
@pytest.mark.parametrize("command", ["check", "identify", "precision"])
def test_a_target_that_lacks_a_variable_when_it_is_imported_is_told_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, asking: str
) -> None:
    assert main([command, written(tmp_path, "pass", outside=asking)]) == Status.WRONG_USAGE

    assert capsys.readouterr().err.endswith(f"; {WITHHELD}\n")


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("asking", ASKING.values(), ids=ASKING)
def test_every_report_says_which_variable_a_call_lacks(tmp_path: Path, asking: str) -> None:
    assert WITHHELD in check(written(tmp_path, asking), cases=["rope.frequencies/one-pair"]).warnings


def test_a_worker_writes_no_core_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_CORE)
    if before[1] == 0:
        pytest.skip("no process here may write a core file")
    target = written(tmp_path, "(Path(__file__).parent / 'limit').write_text(str(resource.getrlimit(resource.RLIMIT_CORE)[0]))")

    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    try:
        with Session(target) as session:
            session.call("rope.frequencies", [], {"head_dim": 8, "base": 10_000.0})
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)

    assert (tmp_path / "limit").read_text(encoding="utf-8") == "0"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_change_no_verdict(tmp_path: Path, closed: str) -> None:
    command = f"{sys.executable} -m conformance check {written(tmp_path, 'pass')} --level smoke --report {tmp_path / 'report'} {closed}"

    assert subprocess.run(["sh", "-c", command], check=False).returncode == 0  # noqa: S607  our own command
    assert (tmp_path / "report" / "summary.md").is_file()


#: What nobody looks at: who needs it as it was, and what a call that raises leaves in its place.
UNSEEN = {
    "STATE['factor'] == 1": "STATE['factor'] = 2",
    "fractions.Fraction(1, 3).limit_denominator() == fractions.Fraction(1, 3)": (
        "fractions.Fraction.limit_denominator.__defaults__ = (1,)"
    ),
    "np.outer(np.ones(2), np.ones(2)).shape == (2, 2)": "np.outer.__wrapped__.__code__ = (lambda a, b, out=None: a).__code__",
    "json.loads('1') == 1": "json._default_decoder = None",
    "socket.getdefaulttimeout() is None": "socket.setdefaulttimeout(1)",
    "locks()": "LOCKED.append(lock())",
}
LOCKS = """
import fcntl

STATE, LOCKED = {"factor": 1}, []

def lock():
    file = open(Path(__file__).with_suffix(".lock"), "a")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file

def locks():
    lock().close()
    return True
"""


def _needing(needed: str, left: str) -> str:
    source = SOURCE.format(outside=LOCKS, framework="numpy", inside=f"{left}; raise RuntimeError('boom')")
    return source.replace("    return alibi", f"    assert {needed}\n    return alibi")


@pytest.mark.parametrize(("needed", "left"), UNSEEN.items())
def test_who_needs_what_a_call_that_raises_has_changed_is_judged_without_that(tmp_path: Path, needed: str, left: str) -> None:
    (tmp_path / "unseen.py").write_text(_needing(needed, left))

    report = check(str(tmp_path / "unseen.py"), level="smoke", seed=0)

    assert {result.implementation for result in report.results if result.convicts} == {"faulty"}
    assert [result.outcome for result in report.results if "the worker failed" in str(result.outcome)] == []
    assert not [each for each in report.evidence if each.implementation == "healthy" and each.missing]


@pytest.mark.parametrize(("needed", "left"), list(UNSEEN.items())[:1])
def test_so_are_the_questions_of_pytest_and_functions_that_are_identified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], needed: str, left: str
) -> None:
    target = str(tmp_path / "unseen.py")
    Path(target).write_text(_needing(needed, left))
    with Session(target) as session:
        judge = Judge(session, examples=5, level="smoke")
        answers = {(question.task.descriptor.label, judge.answer(question).convicts) for question in judge.questions}
        judge.close()

    assert answers >= {("faulty", True), ("healthy", False)}
    assert ("healthy", True) not in answers

    main(["identify", target])

    assert "alibi.slopes" in capsys.readouterr().out


#: Two implementations call one helper, which one of them exchanges for another; no look at a worker finds that.
SHARED = """
def slopes(num_heads, max_bias):
    return 2.0 ** (-max_bias * np.arange(1, num_heads + 1) / num_heads)

TAKES = {"num_heads": [2, 4, 8, 16], "slopes": "code"}
"""
SHARING = """
@adapter.implements("alibi.slopes", label="bad", **TAKES)
def bad(*, num_heads, max_bias):
    answer = slopes(num_heads, max_bias)
    slopes.__code__ = (lambda num_heads, max_bias: np.zeros(num_heads)).__code__
    return answer

@adapter.implements("alibi.slopes", label="innocent", **TAKES)
def innocent(*, num_heads, max_bias):
    return slopes(num_heads, max_bias)
"""


def test_whose_call_changes_what_another_answers_is_told_by_its_label(tmp_path: Path) -> None:
    target = written(tmp_path, "pass", outside=SHARED)
    with Path(target).open("a", encoding="utf-8") as file:
        file.write(SHARING)

    report = check(target, operations=["alibi.slopes"], level="smoke", seed=0)

    told = [result for result in report.results if result.implementation == "innocent" and result.convicts]
    assert told
    for result in told:
        assert "of another implementation, bad" in message(result.outcome)
        assert (result.earlier or "").endswith("of another implementation, bad")
    assert "healthy" not in {result.implementation for result in report.results if result.convicts}
