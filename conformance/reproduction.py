"""Python that a person can paste: the call, or the two calls, that show a failure."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from conformance.declarations import operations
from conformance.journal import Call

LARGEST = 400
COLUMNS = 74
IMPORTS = "import numpy as np\n\nfrom conformance.session import Session\n"


def of_calls(opened: str, calls: Sequence[Call]) -> str | None:
    """Return a script that makes calls and prints what comes back, or ``None`` where the arrays are too long to read."""
    if sum(array.size for call in calls for array in call.arrays) > LARGEST:
        return None
    prints = "".join(f"    print({_call(call, '    ')})\n" for call in calls)
    return f"{IMPORTS}\nwith {opened} as session:\n{prints}"


def of_history(opened: str, earlier: Call, call: Call) -> str:
    """Return a script that makes a call alone, and once more after the earlier one, and prints both answers."""
    return (
        f"{IMPORTS}\n\n"
        f"def earlier(session):\n    return {_call(earlier, '    ')}\n\n\n"
        f"def call(session):\n    return {_call(call, '    ')}\n\n\n"
        f"with {opened} as alone, {opened} as after:\n"
        f'    print("alone:", call(alone))\n'
        f"    earlier(after)\n"
        f'    print("after:", call(after))\n'
    )


def words(call: Call) -> str:
    """Return the call in one line."""
    parameters = ", ".join(f"{name}={value!r}" for name, value in call.parameters.items())
    places = [f"{name} {array.tolist()}" for name, array in _named(call).items() if array.dtype.kind == "i" and array.size <= 12]
    return f"{call.task.operation}({parameters}){' at ' + ', '.join(places) if places else ''}"


def _call(call: Call, indent: str) -> str:
    """Return the call over several lines, none wider than a screen but for what can't be broken."""
    inner = indent + "    "
    arrays = ", ".join(_array(array) for array in call.arrays)
    parameters = ", ".join(f"{name!r}: {value!r}" for name, value in call.parameters.items())
    parts = [repr(call.task.operation), _wrapped(f"[{arrays}]", inner), _wrapped(f"{{{parameters}}}", inner)]
    parts += [f"label={call.task.descriptor.label!r}, dtype={call.task.dtype!r}"]
    parts += ["strided=True"] if call.manner.strided else []
    parts += [f"cotangents=[{', '.join(map(_array, call.manner.cotangents))}]"] if call.manner.cotangents else []
    return "session.call(\n" + "".join(f"{inner}{part},\n" for part in parts) + f"{indent})"


def _wrapped(text: str, indent: str) -> str:
    """Break at spaces between numbers and names; a text with a space inside is left whole."""
    if ".split()" in text:
        return text
    return f"\n{indent} ".join(textwrap.wrap(text, COLUMNS - len(indent), break_long_words=False, break_on_hyphens=False))


def _array(array: np.ndarray) -> str:
    if array.size and not np.isfinite(array).all():
        return f"np.array([float(x) for x in {' '.join(map(str, array.ravel().tolist()))!r}.split()]).reshape({array.shape})"
    empty = f", dtype={array.dtype.name!r}).reshape({array.shape}" if array.size == 0 else ""
    return f"np.array({[] if array.size == 0 else array.tolist()!r}{empty})"


def _named(call: Call) -> Mapping[str, np.ndarray]:
    return dict(zip(operations()[call.task.operation].arrays, call.arrays, strict=True))
