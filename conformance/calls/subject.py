"""An implementation as laws and vectors see it: something to call with NumPy arrays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from conformance.calls.manner import PLAIN, Manner
from conformance.calls.outcomes import NOT_RUN, Outcome
from conformance.calls.takes import SIDE, Takes, is_bias
from conformance.spec.declarations import operations
from refimpl.spec import Operation


@dataclass(frozen=True)
class Reply:
    """What came back from one call: values (float64 or int64), the dtypes they had, and which inputs were changed.

    ``aliases`` says in words which results share memory with which inputs, ``foreign`` which are arrays of another library. A call that
    was made again ``repeats`` times, and once gave other bits, says so in ``unlike``; ``overwritten`` are results of the call before that
    it changed. Code that reads a configuration was asked for these ``layers``.
    """

    values: Mapping[str, np.ndarray]
    dtypes: Mapping[str, str]
    modified: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    repeats: int = 0
    unlike: str = ""
    overwritten: tuple[str, ...] = ()
    layers: tuple[int, ...] = ()


class CallRefusedError(Exception):
    """The implementation doesn't take this call: it is out of its declaration, or (not ``declared``) it raised ``Unsupported`` inside."""

    def __init__(self, reason: str = "", *, declared: bool = False) -> None:
        """Carry the reason, and whether the declaration already says so."""
        super().__init__(reason)
        self.declared = declared


class CallNotMadeError(CallRefusedError):
    """The call wasn't made: the implementation has ended its worker too often after its answers."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__(NOT_RUN, declared=True)


class CallFailedError(Exception):
    """The call gave no result: exception, crash, time-out or malformed answer."""

    def __init__(self, outcome: Outcome) -> None:
        """Carry the outcome."""
        super().__init__(str(outcome))
        self.outcome = outcome


#: How many positions are told one by one.
FEW = 12
#: The farthest positions where a bias meets logits in a format of few exponents: it holds twice the distance between them.
FARTHEST_BIASED = {"float16": 16_376}


def asked(takes: Takes, operation: Operation, dtype: str) -> Takes:
    """Return what is asked of a declaration in a dtype: right code may keep a bias in it before the softmax, so it must hold that.

    Of a grid the places near the start are asked for, since all up to them are made.
    """
    if takes.gridded:
        return replace(takes, lowest=int(takes.bounds[0]), highest=int(min(takes.bounds[1], SIDE)))
    farthest = FARTHEST_BIASED.get(dtype)
    if farthest is None or is_bias(operation) or f"{operation.name.partition('.')[0]}.bias" not in operations():
        return takes
    low, high = takes.bounds
    if max(low, -farthest) > min(high, farthest):
        return takes
    return replace(takes, lowest=int(max(low, -farthest)), highest=int(min(high, farthest)))


Call = Callable[[Sequence[np.ndarray], Mapping[str, object]], Reply]
CallInManner = Callable[[Sequence[np.ndarray], Mapping[str, object], Manner], Reply]


@dataclass(frozen=True)
class Subject:
    """One implementation of one operation at one dtype.

    ``call`` takes arrays in the declared order (float64 for floats, exact in ``dtype``; int64 for integers) and the
    parameters; it raises ``CallRefusedError`` or ``CallFailedError``. ``restrictions`` narrow what is drawn. ``manners`` name how else
    ``call_in`` can call: ``repeated``, ``strided``, ``refilled``, ``differentiated``; and ``refusing``, where bad input is refused.
    """

    operation: Operation
    dtype: str
    profile: str
    call: Call
    restrictions: Mapping[str, object] = field(default_factory=dict)
    takes: Takes = field(default_factory=Takes)
    label: str = ""
    call_in: CallInManner | None = None
    manners: frozenset[str] = frozenset()

    def ask(self, arrays: Sequence[np.ndarray], parameters: Mapping[str, object], manner: Manner) -> Reply:
        """Make a call in a manner; plainly where there is no other."""
        if manner is PLAIN or self.call_in is None:
            return self.call(arrays, parameters)
        return self.call_in(arrays, parameters, manner)

    def always(self, manner: Manner) -> "Subject":
        """Return the subject with every call made in a manner."""
        return replace(self, call=lambda arrays, parameters: self.ask(arrays, parameters, manner))

    @property
    def counted(self) -> bool:
        """Whether it takes positions that count up and no others; of a bias, rows and columns are picked."""
        return self.takes.counted and not is_bias(self.operation)


def words(operation: str, arrays: Sequence[np.ndarray], parameters: Mapping[str, object]) -> str:
    """Return a call in one line."""
    said = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    named = zip(operations()[operation].arrays, arrays, strict=True)
    places = [f"{name} {array.tolist()}" for name, array in named if array.dtype.kind == "i" and array.size <= FEW]
    return f"{operation}({said}){' at ' + ', '.join(places) if places else ''}"
