"""One drawn example, put to one implementation: what a law is given, and what it says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from conformance.calls.manner import PLAIN, Manner
from conformance.calls.outcomes import Reason
from conformance.calls.subject import CallFailedError, CallRefusedError, Reply, Subject
from conformance.golden import answers
from conformance.judge.judge import allowance, holds
from conformance.laws.inexact import OWN, Inexact, exact
from conformance.spec.arguments import Arguments, Parameters, result_shape
from conformance.spec.declarations import operations
from conformance.spec.profiles import FORMATS
from conformance.spec.vectors import Vector
from refimpl.spec import Operation


@dataclass(frozen=True)
class Example:
    """What is drawn once and shared by all laws: a call, other values for its real arrays, a shift, two factors, and other parameters."""

    arguments: Arguments
    others: Mapping[str, np.ndarray]
    shift: int
    scalars: tuple[int, int]
    parameters: Parameters


@dataclass(frozen=True)
class Sides:
    """Both sides of an equation, and what they may differ by."""

    left: np.ndarray
    right: np.ndarray
    allowed: np.ndarray
    of: str = "result"


def same(left: Inexact, right: Inexact | np.ndarray | float, of: str = "result") -> Sides:
    """Return that two sides are the same."""
    other = exact(right)
    return Sides(left.values, other.values, left.error + other.error, of)


def exactly(left: np.ndarray, right: np.ndarray | float, of: str = "result") -> Sides:
    """Return that two sides are the same number by number, where nothing is computed."""
    return Sides(left, np.broadcast_to(right, left.shape), np.zeros(left.shape), of)


def at_most(smaller: Inexact, larger: Inexact | np.ndarray | float, where: np.ndarray | None = None) -> Sides:
    """Return that one side is nowhere above the other, or nowhere of those that count."""
    excess = smaller - larger
    above = np.maximum(excess.values, 0.0)
    return Sides(above if where is None else np.where(where, above, 0.0), np.zeros_like(above), excess.error)


class Violation(Exception):  # noqa: N818  a verdict, not an error
    """A law is broken in a way that is no number: a wrong shape, a changed input."""

    def __init__(self, reason: Reason, message: str) -> None:
        """Carry the reason."""
        super().__init__(message)
        self.reason = reason


class Checker(Protocol):
    """What falsifies a law: the two sides of every equation that it states about an example."""

    def __call__(self, trial: "Trial") -> Iterator[Sides]:
        """Yield them, or raise ``Violation``."""


@dataclass
class Patience:
    """How often laws may still have a call repeated many times."""

    left: int = 0


@dataclass
class Trial:
    """An example and the implementation that answers; equal calls are made once unless a law asks again."""

    subject: Subject
    example: Example
    patience: Patience = field(default_factory=Patience)
    answers: dict[bytes, Reply | CallFailedError | CallRefusedError] = field(default_factory=dict)
    calls: dict[bytes, Arguments] = field(default_factory=dict)
    shapes: dict[tuple[object, ...], tuple[int, ...]] = field(default_factory=dict)
    proofs: dict[bytes, Vector] = field(default_factory=dict)

    @property
    def arguments(self) -> Arguments:
        """The call that was drawn."""
        return self.example.arguments

    @property
    def operation(self) -> Operation:
        """The operation under test."""
        return self.subject.operation

    def number(self, name: str) -> float:
        """Return a numeric parameter of the drawn call."""
        return float(self.arguments.parameters[name])

    def whole(self, name: str) -> int:
        """Return an integer parameter of the drawn call."""
        return int(self.arguments.parameters[name])

    def ask(self, arguments: Arguments, manner: Manner = PLAIN) -> Reply:
        """Call the implementation, again if it was asked before."""
        self.calls.setdefault(arguments.key, arguments)
        if not all(holds(self.subject.dtype, array) for array in arguments.arrays.values() if array.dtype.kind == "f"):
            message = f"an input is no {self.subject.dtype}, and its rounding would be held against the implementation"
            raise CallRefusedError(message)
        if self.subject.takes.masked and hidden(arguments).any():
            message = "masked elements are for golden values to judge"
            raise CallRefusedError(message, declared=True)
        copies = [array.copy() for array in arguments.arrays.values()]
        return self.subject.ask(copies, dict(arguments.parameters), manner)

    def reply(self, arguments: Arguments) -> Reply:
        """Return the answer to a call, the one from before if it was asked before."""
        key = arguments.key
        if key not in self.answers:
            self.answers[key] = self._attempt(arguments)
        self.calls.setdefault(key, arguments)
        answer = self.answers[key]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _attempt(self, arguments: Arguments) -> Reply | CallFailedError | CallRefusedError:
        try:
            return self.ask(arguments)
        except (CallFailedError, CallRefusedError) as error:
            return error

    def values(self, arguments: Arguments, name: str = "result") -> np.ndarray:
        """Return one result in float64, or refuse it where its shape is wrong: that is for the shape law to say."""
        value = self.reply(arguments).values.get(name)
        if value is None or value.shape != self.shape(arguments, name):
            message = f"{name} has a wrong shape"
            raise CallRefusedError(message)
        return np.asarray(value, dtype=np.float64)

    def shape(self, arguments: Arguments, name: str) -> tuple[int, ...]:
        """Return the shape that a result must have."""
        key = name, *arguments.parameters.values(), *(array.shape for array in arguments.arrays.values())
        if key not in self.shapes:
            self.shapes[key] = result_shape(self.operation, arguments, name)
        return self.shapes[key]

    def answer(self, call: Arguments, name: str = "result") -> Inexact:
        """Return one result with what the oracle allows it to be off by; what isn't judged is 0, and off by anything.

        Where every row may have a constant of its own, that of its first element is taken off.
        """
        came = self.values(call, name)
        error = self.allowed(call, name)
        known = Inexact(np.where(np.isposinf(error), 0.0, came), error)
        return known - known[..., :1] if self.free_rows(call) else known

    def free_rows(self, call: Arguments) -> bool:
        """Whether the conventions of a call leave a constant of every row free."""
        return answers.equality(self.operation, call.parameters) == "row_constant"

    def allowed(self, call: Arguments, name: str = "result", at: np.ndarray | None = None) -> np.ndarray:
        """Return what the oracle allows one result to be off by, all of it or the elements of these flat indices."""
        dtype = self.reply(call).dtypes.get(name, "")
        vector = self._proven(self.operation.name, call) if at is None else self._asked(self.operation.name, call, {name: at})
        return allowed_by(vector, name, self.subject.profile, dtype if dtype in FORMATS else self.subject.dtype)

    def right(self, operation: str, call: Arguments) -> Inexact:
        """Return what an operation is proven to give for those arguments of a call that it takes."""
        takes = operations()[operation]
        arrays = {name: call.arrays[name] for name in takes.arrays}
        parameters = {name: call.parameters[name] for name in takes.parameters}
        values = np.asarray((self._proven(operation, Arguments(arrays, parameters)).expected or {})["result"], dtype=np.float64)
        return Inexact(values, OWN * np.abs(values))

    def _proven(self, operation: str, call: Arguments) -> Vector:
        """Return what the oracle says of a call, from before if it was asked before."""
        key = operation.encode() + call.key
        if key not in self.proofs:
            self.proofs[key] = self._asked(operation, call)
        return self.proofs[key]

    def _asked(self, operation: str, call: Arguments, at: Mapping[str, np.ndarray] | None = None) -> Vector:
        """Ask the oracle; where it can't say, a law can't either."""
        try:
            return answers.golden(operation, call, identity="", exposes="", profiles=[self.subject.profile], at=at)
        except answers.UnprovableError as refusal:
            raise CallRefusedError(str(refusal)) from refusal


def allowed_by(vector: Vector, name: str, profile: str, dtype: str) -> np.ndarray:
    """Return what a golden case allows one result in a dtype to be off by; endless where it isn't judged."""
    expected = (vector.expected or {})[name]
    if expected.dtype.kind == "i":
        allowed = np.zeros(expected.shape)
        for index, others in vector.also.get(profile, {}).get(name, {}).items():
            allowed.flat[index] = max(abs(other - expected.flat[index]) for other in others)
        return allowed
    allowed = allowance(expected, vector.allowed[profile][name], dtype)
    return np.where(np.isnan(allowed), np.inf, allowed)


def hidden(call: Arguments) -> np.ndarray:
    """Return where a key comes after its query."""
    return np.asarray(call.arrays["key_positions"][..., None, :] > call.arrays["query_positions"][..., :, None])
