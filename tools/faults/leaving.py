"""Faults that leave something behind: processes, threads, open or closed files, changed state."""

from tools.faults.fault import LASTING, PATIENT, Fault

STATE = "changes global state: "
LIBRARY = "names of the standard library ({})"
CHANNEL = """
    import socket, stat
    def channel():
        return next(number for number in range(3, 64) if is_socket(number))
    def is_socket(number):
        try:
            return stat.S_ISSOCK(os.fstat(number).st_mode)
        except OSError:
            return False
"""
DAEMON = """
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(100)
        os._exit(0)
"""

LEAVING = (
    Fault(
        "megabytes of binary noise on standard output and error",
        "passed",
        "",
        "for n in (1, 2):\n    os.write(n, b'\\0\\xffnoise' * 500_000)",
    ),
    Fault(
        "a thread that prints without end",
        "advisory",
        "leaves a thread running",
        outside="def print_on():\n    while True:\n        os.write(1, b'\\0\\xffnoise\\n' * 9000)",
        inside="if threading.active_count() == 1:\n    threading.Thread(target=print_on, daemon=True).start()",
    ),
    Fault("closed standard output and error", "advisory", STATE + "standard output or error", "os.close(1)\nos.close(2)"),
    Fault("replaced standard output", "advisory", STATE + "standard output or error", "sys.stdout = None"),
    Fault("closed channel", "crashed", "the channel to the harness was closed", "os.closerange(3, 64)"),
    Fault(
        "another file in place of the channel",
        "crashed",
        "the channel to the harness was closed",
        outside=CHANNEL,
        inside="os.dup2(os.open(os.devnull, os.O_RDWR), channel())",
    ),
    Fault(
        "garbage in the channel",
        "crashed",
        "sent garbage: a frame must start with b'PEC1'",
        outside=CHANNEL,
        inside="os.write(channel(), b'garbage' * 10)",
    ),
    Fault(
        "a frame of the channel's own, forged",
        "crashed",
        "a reply must carry the number of its call, got none",
        outside=CHANNEL,
        inside="""
        from conformance.isolate.channel import Channel
        Channel(socket.socket(fileno=os.dup(channel()))).send({"status": "ok", "results": [], "dtypes": {}, "modified": [], "left": []})
    """,
    ),
    Fault(
        "a frame that promises more than may be",
        "crashed",
        "a header must have at most 4194304 bytes, got 4294967295",
        outside=CHANNEL,
        inside="os.write(channel(), b'PEC1' + b'\\xff' * 12)",
    ),
    Fault(
        "a frame without JSON",
        "crashed",
        "a header must be JSON",
        outside=CHANNEL,
        inside="os.write(channel(), b'PEC1' + b'\\x04' + bytes(11) + b'{{{{')",
    ),
    Fault("a fork that comes back and answers too", "passed", "", "os.fork()"),
    Fault(
        "a crash beside a child that holds the channel", "crashed", "exit status 5", "if os.fork() == 0:\n    time.sleep(100)\nos._exit(5)"
    ),
    Fault("a child in a session of its own", "passed", "", "subprocess.Popen(['sleep', '100'], start_new_session=True)"),
    Fault("a daemon, twice forked", "passed", "", DAEMON),
    Fault("a daemon, and a crash", "crashed", "signal SIGABRT", DAEMON.replace("    if", "if", 1).replace("\n    ", "\n") + "os.abort()\n"),
    Fault(
        "a daemon without an environment", "passed", "", f"subprocess.run(['sh', '-c', 'setsid env -i sleep {LASTING} >/dev/null 2>&1 &'])"
    ),
    Fault("a thread that goes on", "advisory", "leaves a thread running", "threading.Thread(target=time.sleep, args=(100,)).start()"),
    Fault("a timer that kills later", "advisory", STATE + "timers", "signal.alarm(100)"),
    Fault("an atexit handler that hangs", "passed", "", "import atexit\natexit.register(time.sleep, 100)"),
    Fault("another handler for signals", "advisory", STATE + "signal handlers", "signal.signal(signal.SIGALRM, signal.SIG_IGN)"),
    Fault("lowered resource limits", "advisory", STATE + "resource limits", "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))"),
    Fault("another working directory", "advisory", STATE + "the working directory", "os.chdir('/')"),
    Fault(
        "a working directory that is gone",
        "advisory",
        STATE + "the working directory",
        "import tempfile\nwith tempfile.TemporaryDirectory() as folder:\n    os.chdir(folder)",
    ),
    Fault("another environment", "advisory", STATE + "the environment", "os.environ.clear()"),
    Fault("another search path for modules", "advisory", STATE + "where modules are searched", "sys.path.clear()"),
    Fault("warnings made errors", "advisory", STATE + "the warnings filters", "warnings.simplefilter('error')"),
    Fault("NumPy's errors made exceptions", "advisory", STATE + "NumPy's error handling", "np.seterr(all='raise')"),
    Fault("writes no JSON any more", "advisory", STATE + LIBRARY.format("json.dumps"), "import json\njson.dumps = lambda *a, **k: '{}'"),
    Fault(
        "writes JSON in a minute",
        "advisory",
        STATE + LIBRARY.format("json.encoder.JSONEncoder.encode"),
        "import json\njson.JSONEncoder.encode = lambda *a: time.sleep(60)",
    ),
    Fault(
        "sockets that send nothing",
        "advisory",
        STATE + LIBRARY.format("socket.socket.send"),
        "import socket\nsocket.socket.send = lambda self, data: len(data)",
    ),
    Fault("a system without processes", "advisory", STATE + LIBRARY.format("os.fork, os.getpid"), "del os.fork, os.getpid"),
    Fault("another seed for Python", "advisory", STATE + "the random numbers of Python", "import random\nrandom.seed(0)"),
    Fault("another seed for NumPy", "advisory", STATE + "the random numbers of NumPy", "np.random.seed(0)"),
    Fault(
        "another default dtype of torch",
        "advisory",
        STATE + "torch's default dtype",
        framework="torch",
        inside="import torch\ntorch.set_default_dtype(torch.float64)",
        limits=PATIENT,
    ),
    Fault(
        "JAX's 64 bits switched off",
        "advisory",
        STATE + "JAX's 64 bits",
        framework="jax",
        outside="import jax\njax.config.update('jax_enable_x64', True)",
        inside="jax.config.update('jax_enable_x64', False)",
        limits=PATIENT,
    ),
)
