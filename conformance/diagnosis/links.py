"""How a wrong number comes about: always the same, or what is asked for, changed."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.diagnosis.quantities import Chosen, Given, Quantity
from conformance.spec.vectors import Vector


@dataclass(frozen=True)
class Link:
    """The number that is used as a function of what is asked for, of all parameters, and of one unknown; how that is written and told."""

    used: Callable[[Any, Given, float], Any]
    unknown: Callable[[Any, Given, float], float]
    name: str
    told: str
    constant: bool = False


PLUS = Link(lambda asked, _, u: asked + u, lambda asked, _, used: used - asked, "{quantity}+{u}", "adds {u} to {quantity}")
TIMES = Link(lambda asked, _, u: asked * u, lambda asked, _, used: used / asked, "{quantity}*{u}", "multiplies {quantity} by {u}")
POWER = Link(
    lambda asked, _, u: math.pow(asked, u),
    lambda asked, _, used: math.log(used, asked),
    "{quantity}**{u}",
    "raises {quantity} to the power {u}",
)


def links(quantity: Quantity, vectors: Sequence[Vector]) -> list[Link]:
    """Return the links that the vectors can tell apart: where all ask for the same, only the constant one."""
    asked = {quantity.asked(vector.parameters) for vector in vectors}
    found = [_constant(quantity, asked.pop() if len(asked) == 1 else None)]
    changed = [PLUS, TIMES, POWER] if asked else []
    varied = [name for name in quantity.related if len({vector.parameters[name] for vector in vectors}) > 1]
    return found + changed + [_of_another(quantity, name) for name in varied]


def _constant(quantity: Quantity, asked: Any) -> Link:
    told = {"+": "adds {u} to the {quantity}", "*": "multiplies the {quantity} by {u}"}.get(quantity.sign)
    instead = "whatever is asked for" if asked is None else f"instead of {asked:g}"
    told = told or f"uses {{quantity}} {{u}} {instead}"

    def used(now: Any, _: Given, u: float) -> float:
        if asked not in (None, now):
            message = f"{quantity.name} must be {asked}, since nothing else was asked for, got {now}"
            raise ValueError(message)
        return u

    return Link(used, lambda _, __, used: used, f"{{quantity}}{quantity.sign}{{u}}", told, constant=True)


def _of_another(quantity: Quantity, name: str) -> Link:
    """Return what takes another parameter for the number, or has a power of it too many."""
    if quantity.sign == "*":
        return Link(
            lambda _, given, u: math.pow(given[name], u),
            lambda _, given, used: math.log(used, given[name]),
            f"{{quantity}}*{name}**{{u}}",
            f"multiplies the {{quantity}} by {name} to the power {{u}}",
        )
    return Link(
        lambda _, given, u: given[name] * u,
        lambda _, given, used: used / given[name],
        f"{{quantity}}={{u}}*{name}",
        f"uses {{u}} times {name} in the place of {{quantity}}",
    )


def used(link: Link, quantity: Quantity, unknown: float) -> Chosen:
    """Return the number that a call with such parameters uses; what isn't asked for stays away."""

    def chosen(given: Given) -> Any:
        asked = quantity.asked(given)
        return None if asked is None and link in (PLUS, TIMES, POWER) else link.used(asked, given, unknown)

    return chosen
