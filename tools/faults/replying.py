"""Faults in what is said to the harness, and in what is left of processes: forged replies, and children that shall be forgotten."""

from tools.faults.fault import LASTING, PATIENT, Fault

#: What a worker says next, instead of the truth: other fields beside the true ones, or a frame with other arrays.
LIAR = """
    import json
    from conformance.isolate import channel as wire, serving, worker
    told = []
    honest = serving._send
    def send(channel, header, values):
        told.pop()(channel, header, values) if told else honest(channel, header, values)
    serving._send = send
    def field(**fields):
        told.append(lambda channel, header, values: honest(channel, {**header, **fields}, values))
    def frame(described, payload):
        def sent(channel, header, values):
            text = json.dumps({**header, "arrays": described}).encode()
            channel.connection.setblocking(True)
            channel.connection.sendall(wire.PREFIX.pack(wire.MAGIC, len(text), len(payload)) + text + payload)
        told.append(sent)
"""
DAEMONS = f"""
for _ in range(17):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve('/bin/sleep', ['sleep', '{LASTING}'], {{}})
        os._exit(0)
"""


def _lie(name: str, words: str, inside: str) -> Fault:
    return Fault(name, "crashed", f"sent garbage: {words}", inside, LIAR, limits=PATIENT)


def _after(what: str, words: str, then: str) -> Fault:
    inside = f"told.append(lambda channel, header, values: (honest(channel, header, values), channel.connection.{then}))"
    return Fault(f"a right answer, and after it {what}", "crashed", words, inside, LIAR)


REPLYING = (
    _lie("an array of 70 axes", "an array must be a known dtype and a shape, got", "frame([['float64', [1] * 70]], bytes(8))"),
    _lie("a shape larger than its bytes", "an array must fit its frame", "frame([['float64', [2**40]]], bytes(8))"),
    _lie("a length that is NaN", "an array must be a known dtype and a shape", "frame([['float64', [float('nan')]]], bytes(8))"),
    _lie("a length below 0", "an array must be a known dtype and a shape", "frame([['float64', [-1]]], bytes(8))"),
    _lie("a dtype that results don't travel as", "results must be sent as float64 or int64", "frame([['int8', [24]]], bytes(24))"),
    _lie("a list where words are due", "left must be a list of text", "field(left=[[1]])"),
    _lie("a number where words are due", "unlike must be text", "field(unlike=5)"),
    _lie("ten megabytes where a word is due", "a header must have at most 4194304 bytes", "field(call=0, unlike='x' * 10_000_000)"),
    _lie("an integer of 400 digits", "repeats must be a count, got an integer of 1329 bits", "field(repeats=10**400)"),
    _lie("results of other names", "results, and what has a dtype, must be result", "field(results=['other'])"),
    _lie("a result twice", "results, and what has a dtype, must be result", "field(results=['result', 'result'])"),
    _lie("the number of another call", "a reply must carry the number of its call, got another", "field(call=5)"),
    Fault(
        "a second reply, numbered ahead",
        "crashed",
        "sent an answer that nobody asked for",
        "told.append(lambda channel, header, values: [honest(channel, {**header, 'call': header['call'] + n}, values) for n in (0, 1)])",
        LIAR,
    ),
    _after("bytes that are no frame", "sent garbage: a frame must start with b'PEC1'", "sendall(b'garbage' * 10)"),
    _after("a part of a frame", "sent garbage: a frame must be whole, got a part of one", "sendall(b'PEC1' + b'\\x09' + bytes(11) + b'{')"),
    _after(
        "a whole frame that is no reply",
        "sent an answer that nobody asked for",
        "sendall(wire.PREFIX.pack(wire.MAGIC, 14, 0) + b'{\"arrays\": []}')",
    ),
    Fault(
        "a reason of ten megabytes",
        "unsupported",
        "no no no",
        "from conformance import Unsupported\nraise Unsupported('no ' * 4_000_000)",
        limits=PATIENT,
    ),
    Fault("a real-time signal", "crashed", "signal SIGRTMIN+3", "os.kill(os.getpid(), signal.SIGRTMIN + 3)"),
    Fault("the process that keeps it, killed", "crashed", "signal SIGKILL", "os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(100)"),
    Fault("seventeen daemons without an environment", "passed", "", DAEMONS, limits=PATIENT),
    Fault("seventeen daemons, and a crash at once", "crashed", "exit status 9", f"{DAEMONS}os._exit(9)", limits=PATIENT),
    Fault(
        "a child deaf to SIGTERM that holds standard output, and a crash",
        "crashed",
        "exit status 6",
        "if os.fork() == 0:\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    os.setsid()\n    time.sleep(100)\nos._exit(6)",
        limits=PATIENT,
    ),
    Fault(
        "an integer of 400 digits, returned", "failed", "must be within 9223372036854775807, got an integer of 1329 bits", "return 10**400"
    ),
    Fault("more than 64 signed bits", "failed", "a result of uint64 must hold at most", "return np.full(result.shape, 2**63, np.uint64)"),
    Fault("a name that is no text", "refused", "name must be text that can be printed", outside="adapter = Adapter(5)"),
)
