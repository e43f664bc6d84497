"""The numbers that an implementation may get wrong: parameters, where positions start, how large the result is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.mutants.building import Function, altered, right
from conformance.mutants.rotary import Rotary, form_of
from conformance.spec.declarations import features, operations
from refimpl.spec import Operation, Parameter

#: A number as an implementation works it out from the parameters of a call.
Given = Mapping[str, Any]
Chosen = Callable[[Given], Any]

SHIFTS = tuple(sorted({sign * size for size in (*range(1, 17), 32, 64, 100, 128, 256, 512, 1000, 1024, 2048) for sign in (1, -1)}, key=abs))
STRETCHES = (-1, *range(2, 17))
FACTORS = (-1.0, 0.5, 2.0)
NEIGHBOURS = 40
USUAL = (100, 500, 1000, 2048, 4096, 5000, 8192, 10_000, 50_000, 100_000, 500_000, 1_000_000)


@dataclass(frozen=True)
class Quantity:
    """One number: how it is called, what is right, and the operation with another."""

    name: str
    should: str
    using: Callable[[Chosen], Function]
    asked: Chosen
    #: The numbers to try first, from what is asked; the others are searched where the number is ``real``.
    tried: Callable[[Any], tuple[float, ...]]
    real: bool = False
    related: tuple[str, ...] = ()
    sign: str = "="
    #: Shares of what is asked for that are tried on all vectors at once, where single vectors round them.
    shares: tuple[float, ...] = ()


#: A whole number isn't taken for one so many times larger, or for more than that many times a few.
TIMES_AT_MOST, FEW = 64, 16


def quantities(operation: str) -> Iterator[Quantity]:
    """Yield every number of an operation that can be wrong alone."""
    contract = operations()[operation]
    for parameter in contract.parameters.values():
        if not parameter.choices and parameter.kind in (int, float):
            yield _of_parameter(contract, operation, parameter)
    for name in (name for name in contract.arrays if name in contract.integers | contract.numbers):
        yield _shift(operation, name)
        yield _stretch(operation, name)
    if not contract.integers & contract.results.keys():
        yield _factor(operation)
    yield from _of_rotations(contract, operation)


def _of_parameter(contract: Operation, operation: str, parameter: Parameter) -> Quantity:
    name = parameter.name
    numbers = [one.name for one in contract.parameters.values() if one.kind in (int, float) and not one.choices and one.name != name]

    def using(chosen: Chosen) -> Function:
        return altered(operation, parameters=lambda given: {**given, name: _as(parameter.kind, chosen(given))})

    return Quantity(
        name,
        f"take the {name} that is asked for",
        using,
        lambda given: given[name],
        _whole_near if parameter.kind is int else lambda asked: _often(asked, parameter.default),
        parameter.kind is float,
        tuple(numbers),
    )


def _as(kind: type, value: Any) -> Any:
    return None if value is None else kind(value)


def _whole_near(asked: Any) -> tuple[int, ...]:
    """Return whole numbers to try, those near to what was asked first."""
    number = asked or 0
    near = range(max(0, number - NEIGHBOURS), number + NEIGHBOURS + 1)
    parts = (number // 4, number // 3, number // 2, number * 2, number * 3, number * 4, number * 8, 128, 256, 512, 1024)
    tried = {value for value in (*near, *parts, *USUAL) if value <= TIMES_AT_MOST * max(number, FEW)}
    return tuple(sorted(tried, key=lambda value: abs(value - number)))


def _often(asked: Any, default: Any) -> tuple[float, ...]:
    """Return the real numbers that are often mistaken for what was asked: one off, doubled, squared, usual, the default, off by one."""
    number = 1.0 if asked is None else asked
    near = (number + 1, number - 1, number * 2, number / 2, number**2, number**0.5 if number > 0 else number, number * 10, number / 10)
    usual = () if default is None else (default, default + 1, default - 1)
    return tuple(map(float, dict.fromkeys((*near, *usual, 1.0 / number if number else 1.0, 0.0, 1.0, *USUAL))))


def _shift(operation: str, array: str) -> Quantity:
    def using(chosen: Chosen) -> Function:
        return altered(operation, arrays=lambda arrays, given: {**arrays, array: arrays[array] + int(chosen(given))})

    return Quantity(array, f"use the {array.replace('_', ' ')} that are given", using, lambda _: 0, lambda _: SHIFTS, sign="+")


def _stretch(operation: str, array: str) -> Quantity:
    def using(chosen: Chosen) -> Function:
        return altered(operation, arrays=lambda arrays, given: {**arrays, array: arrays[array] * int(chosen(given))})

    return Quantity(array, f"use the {array.replace('_', ' ')} that are given", using, lambda _: 1, lambda _: STRETCHES, sign="*")


def _factor(operation: str) -> Quantity:
    numbers = tuple(one.name for one in operations()[operation].parameters.values() if one.kind in (int, float) and not one.choices)

    def using(chosen: Chosen) -> Function:
        def scaled(*arrays: Any, **given: Any) -> Any:
            return _times(right(operation)(*arrays, **given), chosen(given))

        return scaled

    return Quantity("result", "return the result as it is", using, lambda _: 1.0, lambda _: FACTORS, real=True, related=numbers, sign="*")


def _times(value: Any, factor: float) -> Any:
    return type(value)(*(factor * one for one in value)) if isinstance(value, tuple) else factor * np.asarray(value)


def _of_rotations(contract: Operation, operation: str) -> Iterator[Quantity]:
    if form_of(operation) is not None and _turns_unslowed(contract):
        yield _frequency(operation)
    if set(contract.arrays) == {features(contract), "positions"} and "head_dim" in contract.parameters:
        yield _width(operation)


def _turns_unslowed(contract: Operation) -> bool:
    """Whether an operation of a rotary scheme turns to positions, by frequencies that no parameter divides."""
    placed = any(name.endswith("positions") for name in contract.arrays)
    return placed and "factor" not in contract.parameters and hasattr(Rotary, contract.name.partition(".")[2])


def _frequency(operation: str) -> Quantity:
    def using(chosen: Chosen) -> Function:
        return lambda *arrays, **given: Rotary(frequency=lambda theta: chosen(given) * theta).of(operation)(*arrays, **given)

    return Quantity("frequencies", "use the frequencies as they are", using, lambda _: 1.0, lambda _: FACTORS, real=True, sign="*")


def _width(operation: str) -> Quantity:
    def using(chosen: Chosen) -> Function:
        def partly(x: np.ndarray, positions: np.ndarray, **given: Any) -> np.ndarray:
            width = 2 * int(chosen(given) / 2)
            if not width:
                return x
            front = right(operation)(np.ascontiguousarray(x[..., :width]), positions, **{**given, "head_dim": width})
            return np.concatenate([front, x[..., width:]], axis=-1)

        return partly

    every = "turn every channel that it is given"
    return Quantity("rotary width", every, using, lambda given: given["head_dim"], _narrower, shares=(0.25, 0.5, 0.75))


def _narrower(head_dim: int) -> tuple[int, ...]:
    return tuple(range(2, head_dim, 2))


def constants(operation: str) -> Iterator[tuple[str, Any, Function]]:
    """Yield every parameter that has few values with each of them, and the operation that knows no other."""
    for parameter in operations()[operation].parameters.values():
        for value in (False, True) if parameter.kind is bool else parameter.choices:
            yield parameter.name, value, _set(operation, parameter.name, value)


def _set(operation: str, name: str, value: Any) -> Function:
    return altered(operation, parameters=lambda given: {**given, name: value})
