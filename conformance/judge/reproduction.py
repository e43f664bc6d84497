"""What a person can paste: Python that makes the call, or the two calls, that show a failure; a command where a program gives it."""

import ast
import functools
import io
import json
import shlex
import textwrap
import tokenize
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from conformance.calls import subject
from conformance.calls.outcomes import Result
from conformance.judge.journal import Call
from conformance.spec.arguments import is_position
from conformance.spec.declarations import operations
from conformance.spec.profiles import REQUIRED

LARGEST = 400
#: How a line ends that a shell reads on from, and what the screen writes before a command.
BROKEN, SHOWN = "\\", "reproduce"
#: How wide a line is at most; the screen moves it by four.
COLUMNS = 76
OPENING, CLOSING = ("(", "[", "{"), (")", "]", "}")
#: The dtypes in which `posenc protocol replay` puts stored cases to a program, its own first.
REPLAYED = ("float32", "float64", "float16")
IMPORTS = "import numpy as np\n\nfrom conformance import Session\n"


def of_calls(opened: str, calls: Sequence[Call]) -> str | None:
    """Return a script that makes calls and prints what comes back, or ``None`` where the arrays are too long to read."""
    if not opened or _size(*calls) > LARGEST:
        return None
    prints = "".join(f"    print({_call(call, '    ')})\n" for call in calls)
    return f"{IMPORTS}\n{_with(opened, 'session')}{prints}"


def of_history(opened: str, earlier: Call, call: Call) -> str | None:
    """Return a script that makes a call alone and after the earlier one, and prints both; ``None`` where one is too long to read."""
    if not opened or max(_size(earlier), _size(call)) > LARGEST:
        return None
    return (
        f"{IMPORTS}\n\n"
        f"def earlier(session):\n    return {_call(earlier, '    ')}\n\n\n"
        f"def call(session):\n    return {_call(call, '    ')}\n\n\n"
        f"{_with(opened, 'alone', 'after')}"
        f'    print("alone:", call(alone))\n'
        f"    earlier(after)\n"
        f'    print("after:", call(after))\n'
    )


def of_program(command: str, result: Result, *, seed: int, level: str, profile: str | None) -> str:
    """Return the command that puts a case to a program again, or judges what is wrong again."""
    program = f"--command {shlex.quote(command)}"
    if result.kind == "vector" and result.dtype in REPLAYED and result.profile == REQUIRED[result.dtype]:
        dtype = "" if result.dtype == REPLAYED[0] else f"--dtype {result.dtype}"
        return _over_lines(f"posenc protocol replay {result.check}", dtype, program)
    asked = f"--case {result.check}" if result.kind in ("vector", "drawn") else f"--operation {result.operation}"
    drawn = "" if result.kind == "vector" else f"--seed {seed}"
    beside = f"--level {level}" if level != "core" else "", f"--profile {profile}" if profile else ""
    return _over_lines("posenc check", program, asked, drawn, *beside, "--verbose")


def _over_lines(*parts: str) -> str:
    """Return a command over lines that a shell joins, none wider than a screen where no part is."""
    lines = [parts[0]]
    for part in filter(None, parts[1:]):
        fits = len(lines[-1]) + len(part) + len(BROKEN) < COLUMNS - len(SHOWN)
        lines[-1:] = [f"{lines[-1]} {part}"] if fits else [f"{lines[-1]} {BROKEN}", f"    {part}"]
    return "\n".join(lines) + "\n"


def _size(*calls: Call) -> int:
    """Return how many numbers calls are given."""
    return sum(array.size for call in calls for array in call.arrays)


def words(call: Call) -> str:
    """Return the call in one line."""
    return subject.words(call.task.operation, call.arrays, call.parameters)


def described(call: Call) -> str:
    """Return the parameters of a call, and of its arrays the shapes, and where positions lie."""
    parameters = ", ".join(f"{name}={value!r}" for name, value in call.parameters.items())
    return f"{parameters}; {', '.join(_extent(name, array) for name, array in _named(call).items())}"


def _extent(name: str, array: np.ndarray) -> str:
    return f"{name} {array.shape}{f' from {array.min():,} to {array.max():,}' if is_position(name) and array.size else ''}"


def _call(call: Call, indent: str) -> str:
    """Return the call over several lines, none wider than a screen."""
    inner = indent + "    "
    arrays = ", ".join(_array(array) for array in call.arrays)
    parameters = ", ".join(f"{name!r}: {value!r}" for name, value in call.parameters.items())
    parts = [repr(call.task.operation), f"[{arrays}]", f"{{{parameters}}}"]
    parts += [f"label={call.task.descriptor.label!r}, dtype={call.task.dtype!r}"]
    parts += [f"views={call.manner.views!r}"] if call.manner.views else []
    beside = {"cotangents": call.manner.cotangents, "before": call.manner.before}
    parts += [f"{name}=[{', '.join(map(_array, arrays))}]" for name, arrays in beside.items() if arrays]
    return "session.call(\n" + "".join(f"{wrapped(f'{part},', inner)}\n" for part in parts) + f"{indent})"


def _with(opened: str, *names: str) -> str:
    """Return the line that opens a session, or some, under their names; over several lines where it is too wide."""
    every = [f"{opened} as {name}" for name in names]
    line = f"with {', '.join(every)}:\n"
    return line if len(line) <= COLUMNS else "with (\n" + "".join(f"{wrapped(f'{each},', '    ')}\n" for each in every) + "):\n"


def wrapped(source: str, indent: str, *, further: str = " ", depth: int = 1) -> str:
    """Break what stands between brackets wherever a space separates two tokens, and strings that are longer than a line.

    ``further`` is how much more further lines are indented; with a ``depth`` of 0 the source stands between no brackets itself.
    """
    lines = [indent]
    for piece in _pieces(source, depth, COLUMNS - len(f"{indent}{further}")):
        if len(lines[-1]) + len(piece.rstrip()) > COLUMNS and lines[-1].strip():
            lines[-1:] = [lines[-1].rstrip(), f"{indent}{further}"]
        lines[-1] += piece
    return "\n".join(lines).rstrip()


def _pieces(source: str, depth: int, room: int) -> Iterator[str]:
    """Yield what mustn't be broken, each with the space behind it, and none wider than there is room."""
    piece, end = "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.start[1] > end and piece:
            piece += " "
            if depth:
                yield piece
                piece = ""
        depth += token.string in OPENING
        depth -= token.string in CLOSING
        *whole, last = _shorter(token.string, len(piece), room) if token.type == tokenize.STRING else [token.string]
        for part in whole:
            yield f"{piece}{part} "
            piece = ""
        piece, end = piece + last, token.end[1]
        if token.type == tokenize.NEWLINE:
            break
    yield piece


def _shorter(literal: str, start: int, room: int) -> list[str]:
    """Return a string literal that starts so far in a line as several, which Python joins: words stay whole, unless one is wider."""
    if start + len(f"{literal},") <= room:
        return [literal]
    width = room - len("'',")
    pieces = textwrap.wrap(
        ast.literal_eval(literal), width, initial_indent=" " * start,
        expand_tabs=False, replace_whitespace=False, drop_whitespace=False, break_on_hyphens=False,
    )  # fmt: skip
    write = repr if literal.startswith("'") else functools.partial(json.dumps, ensure_ascii=False)
    return [write(piece) for piece in (pieces[0][start:], *pieces[1:])]


def _array(array: np.ndarray) -> str:
    if array.size and not np.isfinite(array).all():
        return f"np.array([float(x) for x in {' '.join(map(str, array.ravel().tolist()))!r}.split()]).reshape({array.shape})"
    empty = f", dtype={array.dtype.name!r}).reshape({array.shape}" if array.size == 0 else ""
    return f"np.array({[] if array.size == 0 else array.tolist()!r}{empty})"


def _named(call: Call) -> Mapping[str, np.ndarray]:
    return dict(zip(operations()[call.task.operation].arrays, call.arrays, strict=True))
