"""One drawn example, put to one implementation: what a law is given, and what it says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from conformance.arguments import Arguments, Parameters
from conformance.judge import holds
from conformance.laws.budget import UNITS, Units, rounding
from conformance.manner import PLAIN, Manner
from conformance.outcomes import Reason
from conformance.subject import CallFailedError, CallRefusedError, Reply, Subject
from refimpl.spec import Operation, axis_names, bind, fixed_size

#: For an axis of results that no array has: the axis that is as long.
AS_LONG: Mapping[str, str] = {"key": "distance"}


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
    roundings: dict[bytes, np.ndarray] = field(default_factory=dict)

    @property
    def arguments(self) -> Arguments:
        """The call that was drawn."""
        return self.example.arguments

    @property
    def operation(self) -> Operation:
        """The operation under test."""
        return self.subject.operation

    @property
    def units(self) -> Units:
        """The unit roundoffs of the required profile."""
        return UNITS[self.subject.profile]

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

    def rounding(self, arguments: Arguments, name: str = "result") -> np.ndarray:
        """Return the final rounding of every element of one result."""
        key = name.encode() + arguments.key
        if key not in self.roundings:
            reply = self.reply(arguments)
            values = np.asarray(reply.values[name], dtype=np.float64)
            self.roundings[key] = rounding(values, reply.dtypes.get(name, self.subject.dtype))
        return self.roundings[key]


def hidden(call: Arguments) -> np.ndarray:
    """Return where a key comes after its query."""
    return np.asarray(call.arrays["key_positions"][..., None, :] > call.arrays["query_positions"][..., :, None])


def result_shape(operation: Operation, arguments: Arguments, name: str) -> tuple[int, ...]:
    """Return the shape that a result must have, from its axes."""
    axes = operation.results[name]
    if axes == "...":
        return next(iter(arguments.arrays.values())).shape
    shapes = {array: value.shape for array, value in arguments.arrays.items()}
    sizes = bind(operation.arrays, shapes, arguments.parameters)
    batched = axes.startswith("[batch]") and "batch" in sizes
    names = axis_names(axes, len(axes.split()) - (0 if batched else axes.count("["))) or ()
    return tuple(_size(axis, sizes, arguments.parameters) for axis in names)


def _size(axis: str, sizes: Mapping[str, int], parameters: Parameters) -> int:
    fixed = fixed_size(axis, parameters)
    return sizes[axis if axis in sizes else AS_LONG[axis]] if fixed is None else fixed
