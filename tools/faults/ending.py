"""Faults that end the process, never end, raise, or use too much."""

from conformance.calls.limits import Limits
from tools.faults.fault import Fault

SMALL = Limits(startup_seconds=30.0, call_seconds=20.0, memory=600, processes=24)

ENDING = (
    Fault("segmentation fault", "crashed", "signal SIGSEGV", "ctypes.string_at(0)"),
    Fault("abort", "crashed", "signal SIGABRT", "os.abort()"),
    Fault("killed by a signal", "crashed", "signal SIGKILL", "os.kill(os.getpid(), signal.SIGKILL)"),
    Fault("os._exit(0)", "crashed", "exit status 0", "os._exit(0)"),
    Fault("os._exit(7) with last words", "crashed", "exit status 7: out of luck", "os.write(2, b'out of luck')\nos._exit(7)"),
    Fault("sys.exit", "errored", "SystemExit: 3", "sys.exit(3)"),
    Fault("infinite loop in Python", "timed_out", "no answer within 2 s", "while True:\n    pass"),
    Fault(
        "infinite loop in native code that holds the interpreter", "timed_out", "no answer", "import re\nre.match('(a+)+$', 'a' * 60 + 'b')"
    ),
    Fault(
        "answers too late once, and in time when it is asked again",
        "not_judged",
        "passed when repeated in a fresh worker",
        "note = __file__ + '.late'\nif not os.path.exists(note):\n    open(note, 'w').close()\n    time.sleep(1e6)",
    ),
    Fault("sleeps for ever, deaf to SIGTERM", "timed_out", "no answer", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(1e6)"),
    Fault("reads from standard input", "errored", "EOFError", "input()"),
    Fault(
        "writes more than its own limit of file sizes",
        "errored",
        "File too large",
        """
        import tempfile
        with tempfile.TemporaryFile(buffering=0) as file:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
            file.write(b"1")
        """,
    ),
    Fault("stops itself", "crashed", "which says that SIGSTOP stopped it", "os.kill(os.getpid(), signal.SIGSTOP)"),
    Fault(
        "ends at a call that is made for what a cache may confuse",
        "crashed",
        "which no check judges",
        "if parameters['base'] == 15_000.0:\n    os._exit(9)",
        laws=True,
    ),
    Fault(
        "memory exhausted",
        "exhausted",
        "more than 600 MiB",
        "held = []\nwhile True:\n    held.append(np.ones(1 << 20))\n    time.sleep(0.002)",
        limits=SMALL,
    ),
    Fault(
        "memory exhausted by children",
        "exhausted",
        "more than 600 MiB",
        "code = 'import time; held = bytearray(b\"1\") * (300 << 20); time.sleep(100)'\n"
        "for _ in range(4):\n    subprocess.Popen([sys.executable, '-c', code])\ntime.sleep(100)",
        limits=SMALL,
    ),
    Fault("more memory than the machine has", "errored", "MemoryError", "np.ones(1 << 48)"),
    Fault(
        "keeps starting children",
        "exhausted",
        "more than 24 processes",
        "for _ in range(40):\n    subprocess.Popen(['sleep', '100'])\ntime.sleep(100)",
    ),
    Fault("raises", "errored", "RuntimeError: no such kernel", "raise RuntimeError('no such kernel')"),
    Fault(
        "raises an exception without a text",
        "errored",
        "Broken: its text can't be had",
        outside="""
        class Broken(Exception):
            def __str__(self):
                raise RuntimeError("no text")
            __repr__ = __str__
    """,
        inside="raise Broken",
    ),
    Fault(
        "raises a huge message of control characters",
        "errored",
        "ValueError: \x1b[31m",
        "raise ValueError('\\x1b[31m\\0\\ud800 ' * 1_000_000)",
    ),
    Fault("raises KeyboardInterrupt", "errored", "KeyboardInterrupt", "raise KeyboardInterrupt"),
    Fault("raises what is no Exception", "errored", "Odd: so", outside="class Odd(BaseException):\n    pass\n", inside="raise Odd('so')"),
    Fault("recursion without end", "errored", "RecursionError", "f = lambda: f()\nf()"),
    Fault("raises while it is imported", "refused", "can't be imported: OSError: no disk", outside="raise OSError('no disk')"),
    Fault("interrupts itself while it is imported", "refused", "KeyboardInterrupt", outside="raise KeyboardInterrupt"),
    Fault("exits while it is imported", "refused", "SystemExit: 4", outside="sys.exit(4)"),
    Fault("crashes while it is imported", "refused", "signal SIGSEGV", outside="ctypes.string_at(0)"),
    Fault("starts too slowly", "refused", "must be ready within 1 s", outside="time.sleep(100)", limits=Limits(startup_seconds=1.0)),
)
