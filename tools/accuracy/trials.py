"""What is put to the harness: every mutant in every dtype, and under every convention that can be declared."""

import itertools
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from conformance.mutants import for_operation
from conformance.spec.declarations import operations
from conformance.spec.mutant import Mutant
from refimpl.spec import Parameter
from tools.accuracy.hidden import asked

DTYPES = ("float32", "float64", "float16", "bfloat16")


@dataclass(frozen=True)
class Trial:
    """One mistake by its name, declared to offer only some values of the parameters on which correct code differs."""

    name: str
    operation: str
    dtype: str
    declared: Mapping[str, object] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The trial on one line."""
        return " ".join([self.name, "in", self.dtype, *(f"{name}={value}" for name, value in self.declared.items())])


def declarations(operation: str) -> list[dict[str, object]]:
    """Return every choice of conventions that code may declare: none of them, then each combination that a vector asks for."""
    forced = dict.fromkeys(name for mutant in for_operation(operation) for name in mutant.forces)
    choices = {name: choices_of(operations()[operation].parameters[name]) for name in forced}
    combined = [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())] if choices else []
    return [{}, *(declared for declared in combined if asked(operation, declared))]


def choices_of(parameter: Parameter) -> tuple[object, ...]:
    """Return the values of a parameter on which correct code differs."""
    return parameter.choices or ((False, True) if parameter.kind is bool else (parameter.default,))


def trials(operation: str) -> Iterator[Trial]:
    """Yield every mutant of an operation: in every dtype without a declaration, in float32 with each."""
    nothing, *declared = declarations(operation)
    for mutant in for_operation(operation):
        for dtype in DTYPES:
            yield Trial(mutant.name, operation, dtype, nothing)
        for choice in declared:
            if not conforms(mutant, choice):
                yield Trial(mutant.name, operation, "float32", choice)


def conforms(mutant: Mutant, declared: Mapping[str, object]) -> bool:
    """Whether a convention is what was declared, and so no mistake."""
    return bool(mutant.forces) and mutant.forces.items() <= declared.items()


def sampled(words: str, share: Fraction, seed: int) -> bool:
    """Whether one trial belongs to a share of all, whatever the others are."""
    return (zlib.crc32(words.encode()) + seed) % share.denominator < share.numerator
