"""How a wrong number comes about: always the same, or what is asked for, changed."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.diagnosis.knobs import Chosen, Given, Knob
from conformance.spec.vectors import Vector


@dataclass(frozen=True)
class Link:
    """The number that is used as a function of what is asked for, of all parameters, and of one unknown; how that is written and told."""

    used: Callable[[Any, Given, float], Any]
    unknown: Callable[[Any, Given, float], float]
    name: str
    told: str
    constant: bool = False


PLUS = Link(lambda asked, _, u: asked + u, lambda asked, _, used: used - asked, "{knob}+{u}", "adds {u} to {knob}")
TIMES = Link(lambda asked, _, u: asked * u, lambda asked, _, used: used / asked, "{knob}*{u}", "multiplies {knob} by {u}")
POWER = Link(
    lambda asked, _, u: math.pow(asked, u),
    lambda asked, _, used: math.log(used, asked),
    "{knob}**{u}",
    "raises {knob} to the power {u}",
)


def links(knob: Knob, vectors: Sequence[Vector]) -> list[Link]:
    """Return the links that the vectors can tell apart: where all ask for the same, only the constant one."""
    asked = {knob.asked(vector.parameters) for vector in vectors}
    found = [_constant(knob, asked.pop() if len(asked) == 1 else None)]
    changed = [PLUS, TIMES, POWER] if asked else []
    varied = [name for name in knob.related if len({vector.parameters[name] for vector in vectors}) > 1]
    return found + changed + [_of_another(knob, name) for name in varied]


def _constant(knob: Knob, asked: Any) -> Link:
    told = {"+": "adds {u} to the {knob}", "*": "multiplies the {knob} by {u}"}.get(knob.sign)
    instead = "whatever is asked for" if asked is None else f"instead of {asked:g}"
    told = told or f"uses {{knob}} {{u}} {instead}"
    return Link(lambda _, __, u: u, lambda _, __, used: used, f"{{knob}}{knob.sign}{{u}}", told, constant=True)


def _of_another(knob: Knob, name: str) -> Link:
    """Return what takes another parameter for the number, or has a power of it too many."""
    if knob.sign == "*":
        return Link(
            lambda _, given, u: math.pow(given[name], u),
            lambda _, given, used: math.log(used, given[name]),
            f"{{knob}}*{name}**{{u}}",
            f"multiplies the {{knob}} by {name} to the power {{u}}",
        )
    return Link(
        lambda _, given, u: given[name] * u,
        lambda _, given, used: used / given[name],
        f"{{knob}}={{u}}*{name}",
        f"uses {{u}} times {name} in the place of {{knob}}",
    )


def used(link: Link, knob: Knob, unknown: float) -> Chosen:
    """Return the number that a call with such parameters uses; what isn't asked for stays away."""

    def chosen(given: Given) -> Any:
        asked = knob.asked(given)
        return None if asked is None and link in (PLUS, TIMES, POWER) else link.used(asked, given, unknown)

    return chosen
