"""Turn a mistake that is said once into one mutant for every operation that it can befall."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from conformance.spec.arguments import on_every_axis
from conformance.spec.mutant import Kind, Mutant
from refimpl.arrays import Array
from refimpl.schemes import operations

Arrays = dict[str, Array]
Parameters = dict[str, Any]
Function = Callable[..., Any]
Piece = TypeVar("Piece")
OPERATIONS = operations()
CONVENTIONS = ("layout", "direction", "placement", "order", "form", "spacing", "growth", "ladder", "rates", "fastest", "outputs", "divisor")


@dataclass(frozen=True)
class Mistake:
    """What goes wrong, what should happen, and how to repair it; ``origin`` where no thread is known."""

    slug: str
    does: str
    should: str
    fix: str
    threads: tuple[str, ...] = ()
    kind: Kind = "mistake"
    origin: str = ""

    def made_by(self, piece: Piece) -> tuple["Mistake", Piece]:
        """Return it with what makes it: code, or pieces of which code is made."""
        return self, piece

    def of_width(self, name: str) -> "Mistake":
        """Return it for heads of which parts turn, whose width has that name."""
        return replace(self, **{words: getattr(self, words).replace("head_dim", name) for words in ("does", "should", "fix")})

    def at(self, operation: str, function: Function) -> Mutant:
        """Return the mutant of one operation."""
        return Mutant(
            name=f"{operation}/{self.slug}",
            operation=operation,
            kind=self.kind,
            does=self.does,
            should=self.should,
            fix=self.fix,
            function=function,
            threads=self.threads,
            origin=self.origin,
        )


def same_arrays(arrays: Arrays, _: Parameters) -> Arrays:
    """Leave the arrays as they are."""
    return arrays


@dataclass(frozen=True)
class Altered:
    """An operation, called with other arrays or other parameters, or with its result changed; so may be what stands for the operation."""

    operation: str
    arrays: Callable[[Arrays, Parameters], Arrays]
    parameters: Callable[[Parameters], Parameters]
    result: Callable[[Any], Any]

    @property
    def by_parameters(self) -> bool:
        """Whether it is called with other parameters, and with the arrays that are given."""
        return self.arrays is same_arrays and self.parameters is not dict

    def __call__(self, *given: Array, **chosen: Any) -> Any:
        """Return what the operation does then."""
        return self.around(right(self.operation))(*given, **chosen)

    def around(self, function: Function) -> Function:
        """Return the same change of another function in the operation's place."""

        def mutated(*given: Array, **chosen: Any) -> Any:
            named = self.arrays(dict(zip(OPERATIONS[self.operation].arrays, given, strict=True)), chosen)
            return self.result(function(*named.values(), **self.parameters(chosen)))

        return mutated


def right(operation: str) -> Function:
    """Return the operation itself, on NumPy arrays."""
    contract = OPERATIONS[operation]
    return functools.partial(contract.function, like=np.zeros(1)) if contract.takes_like else contract.function


def altered(
    operation: str,
    *,
    arrays: Callable[[Arrays, Parameters], Arrays] = same_arrays,
    parameters: Callable[[Parameters], Parameters] = dict,
    result: Callable[[Any], Any] = lambda value: value,
) -> Altered:
    """Return the operation, called with other arrays or other parameters, or with its result changed."""
    return Altered(operation, arrays, parameters, result)


def forcing(operation: str, forced: Mapping[str, object]) -> Function:
    """Return the operation with some parameters fixed, whatever is asked for."""
    return altered(operation, parameters=lambda chosen: {**chosen, **forced})


def moving(operation: str, change: Callable[[Array], Array], *, only: str = "positions") -> Function:
    """Return the operation with its positions changed; ``only`` is how the names of the arrays to change end."""
    axes = OPERATIONS[operation].arrays
    chosen = [name for name in axes if name.endswith(only)]
    return altered(operation, arrays=lambda a, _: {**a, **{name: on_every_axis(axes[name], a[name], change) for name in chosen}})


def conventions(operation: str, threads: Mapping[str, tuple[str, ...]], names: Iterable[str] = CONVENTIONS) -> Iterable[Mutant]:
    """Return a mutant for every value of every parameter on which correct code differs."""
    for parameter in (OPERATIONS[operation].parameters.get(name) for name in names):
        for value in parameter.choices if parameter else ():
            yield convention(operation, parameter.name, value, threads.get(value, ()))  # type: ignore[union-attr]  # choices: not None


def shown(value: object) -> str:
    """Return a value as it is written in a declaration."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def declaring(operation: str, forced: Mapping[str, object]) -> str:
    """Return what to write where code computes one value of some parameters only."""
    values = [f"{name}={shown(value)}" for name, value in forced.items()]
    declared = f"declare {' and '.join(values)} in implements({shown(operation)}, {', '.join(values)})"
    return f"{declared}, or honour the {' and the '.join(forced)} asked for"


def convention(operation: str, parameter: str, value: object, threads: tuple[str, ...] = ()) -> Mutant:
    """Return the mutant that conforms to one value of a parameter, whatever is asked for."""
    forced = {parameter: value}
    return Mutant(
        name=f"{operation}/{parameter}={value}",
        operation=operation,
        kind="convention",
        does=f"computes {parameter}={shown(value)} whatever is asked for",
        should=f"compute the {parameter} asked for, or declare what it computes",
        fix=declaring(operation, forced),
        function=forcing(operation, forced),
        threads=threads,
        forces=forced,
        origin="" if threads else "a convention of the specification",
    )
