"""An implementation as laws and vectors see it: something to call with NumPy arrays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from conformance.outcomes import Outcome
from conformance.takes import Takes
from refimpl.spec import Operation


@dataclass(frozen=True)
class Reply:
    """What came back from one call: values (float64 or int64), the dtypes they had, which inputs were changed, and what else was."""

    values: Mapping[str, np.ndarray]
    dtypes: Mapping[str, str]
    modified: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class CallRefusedError(Exception):
    """The implementation doesn't take this call: it is out of its declaration, or (not ``declared``) it raised ``Unsupported`` inside."""

    def __init__(self, reason: str = "", *, declared: bool = False) -> None:
        """Carry the reason, and whether the declaration already says so."""
        super().__init__(reason)
        self.declared = declared


class CallFailedError(Exception):
    """The call gave no result: exception, crash, time-out or malformed answer."""

    def __init__(self, outcome: Outcome) -> None:
        """Carry the outcome."""
        super().__init__(str(outcome))
        self.outcome = outcome


Call = Callable[[Sequence[np.ndarray], Mapping[str, object]], Reply]


@dataclass(frozen=True)
class Subject:
    """One implementation of one operation at one dtype.

    ``call`` takes arrays in the declared order (float64 for floats, exact in ``dtype``; int64 for integers) and the
    parameters; it raises ``CallRefusedError`` or ``CallFailedError``. ``restrictions`` narrow what is drawn.
    """

    operation: Operation
    dtype: str
    profile: str
    call: Call
    restrictions: Mapping[str, object] = field(default_factory=dict)
    takes: Takes = field(default_factory=Takes)
    label: str = ""

    @property
    def positions(self) -> str:
        """Which positions it takes."""
        return self.takes.positions
