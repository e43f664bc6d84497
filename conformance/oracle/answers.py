"""Ask an operation for its proven value and for the error that every profile allows."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from flint import arb, ctx

from conformance.oracle.arithmetic import Ball, Exact, UndecidedError, Widened
from conformance.oracle.budget import PROFILES
from conformance.oracle.tensor import Tensor

FIRST_PRECISION = 128
LAST_PRECISION = 4096

#: An array of balls, or of the integers that each element may be.
Elements = tuple[tuple[int, ...], Sequence[Any]]
#: The elements of each result that are asked for, by flat index; ``None`` asks for all.
Wanted = Mapping[str, Sequence[int]] | None
Allowed = dict[str, tuple[float | None, ...]]
Also = dict[str, dict[int, tuple[int, ...]]]


def implementation(operation: str) -> Callable[..., Mapping[str, Elements]]:
    """Return the function of an operation: ``rope.rotate`` is ``rotate`` in ``rope.py`` of this package."""
    scheme, _, name = operation.partition(".")
    try:
        return getattr(import_module(f"conformance.oracle.{scheme}"), name)  # type: ignore[no-any-return]  # every operation has this type
    except (ModuleNotFoundError, AttributeError):
        message = f"conformance/oracle/{scheme}.py must say {operation}, got no function {name}"
        raise UnknownError(message) from None


class UnknownError(Exception):
    """An operation that the oracle does not say."""


class Refused(Exception):  # noqa: N818 - its name is part of the contract with the generator
    """A case whose value cannot be proven: it is a tie, or decides a discontinuity; choose other inputs."""


@dataclass(frozen=True)
class Answer:
    """The correctly rounded result, and what may differ from it.

    ``allowed`` is the largest distance of a profile's ball from ``expected`` (``None``: not judged), without the rounding of the result's
    dtype. ``also`` holds the other integers that a profile reaches, by flat index. ``straddles`` says that some profile's ball crossed a
    discontinuity. ``shapes`` are those of the whole results. Where only some elements were asked for, ``expected``, ``allowed`` and
    ``also`` hold just these, in the order in which they were asked for.
    """

    expected: dict[str, Tensor]
    allowed: dict[str, Allowed] = field(default_factory=dict)
    also: dict[str, Also] = field(default_factory=dict)
    straddles: bool = False
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)


def answer(
    operation: str,
    inputs: Mapping[str, Tensor],
    parameters: Mapping[str, object],
    *,
    profiles: Collection[str] = tuple(PROFILES),
    elements: Wanted = None,
) -> Answer:
    """Return the proven result of an operation and what each profile allows; parameters are complete.

    With ``elements`` only those are worked out: of each result the elements of these flat indices.
    """
    expected, shapes = _golden(operation, inputs, parameters, elements)
    arithmetics = {profile: Widened(profile) for profile in profiles}
    with ctx.workprec(FIRST_PRECISION):
        widened = {
            profile: _chosen(implementation(operation)(a, dict(inputs), **parameters), elements) for profile, a in arithmetics.items()
        }
        straddles = any(a.straddled for a in arithmetics.values())
        if _whole(expected):
            also = {profile: _also(expected, got) for profile, got in widened.items()}
            return Answer(expected, also=also, straddles=straddles, shapes=shapes)
        allowed = {profile: _allowed(expected, got) for profile, got in widened.items()}
        return Answer(expected, allowed, straddles=straddles, shapes=shapes)


def _golden(
    operation: str, inputs: Mapping[str, Tensor], parameters: Mapping[str, object], elements: Wanted
) -> tuple[dict[str, Tensor], dict[str, tuple[int, ...]]]:
    precision = FIRST_PRECISION
    while True:
        with ctx.workprec(precision):
            try:
                results = implementation(operation)(Exact(), dict(inputs), **parameters)
                return _settled(results, elements), {name: shape for name, (shape, _) in results.items()}
            except UndecidedError as undecided:
                if precision >= LAST_PRECISION:
                    message = f"{operation}: {undecided} must be decided within {LAST_PRECISION} bits, got a tie or an exact boundary"
                    raise Refused(message) from undecided
        precision *= 2


def _chosen(results: Mapping[str, Elements], elements: Wanted) -> dict[str, list[Any]]:
    """Return the values that are asked for; they are worked out here."""
    if elements is None:
        return {name: list(values) for name, (_, values) in results.items()}
    return {name: [values[index] for index in elements[name]] for name, (_, values) in results.items() if name in elements}


def _settled(results: Mapping[str, Elements], elements: Wanted) -> dict[str, Tensor]:
    settled = {}
    for name, values in _chosen(results, elements).items():
        where = range(len(values)) if elements is None else elements[name]
        shape = results[name][0] if elements is None else (len(values),)
        settled[name] = Tensor(shape, tuple(_decided(name, index, value) for index, value in zip(where, values, strict=True)))
    return settled


def _decided(name: str, index: int, value: Ball | tuple[int, ...]) -> float | int:
    if isinstance(value, tuple):
        return value[0]
    low, high = (float(value.lower()), float(value.upper())) if value.is_finite() else (0.0, math.inf)
    if low != high:
        element = f"element {index} of {name}"
        raise UndecidedError(element)
    return low + 0.0


def _whole(expected: Mapping[str, Tensor]) -> bool:
    return all(isinstance(value, int) for tensor in expected.values() for value in tensor.values)


def _allowed(expected: Mapping[str, Tensor], widened: Mapping[str, Sequence[Any]]) -> Allowed:
    return {name: tuple(map(_distance, widened[name], tensor.values)) for name, tensor in expected.items()}


def _distance(ball: Ball, golden: float) -> float | None:
    """Return the largest distance of the ball's ends from the golden value, rounded up."""
    if not ball.is_finite():
        return None
    distance = (ball - golden).abs_upper()
    nearest = float(distance)
    return nearest if arb(nearest) >= distance else math.nextafter(nearest, math.inf)


def _also(expected: Mapping[str, Tensor], widened: Mapping[str, Sequence[Any]]) -> Also:
    return {
        name: {i: others for i, value in enumerate(tensor.values) if (others := tuple(sorted(set(widened[name][i]) - {value})))}
        for name, tensor in expected.items()
    }
