"""The options that limit a worker, the same for every command that starts one."""

import functools
from collections.abc import Callable
from typing import Any

import click

from conformance.calls.limits import Limits

Command = Callable[..., Any]
USUAL = Limits()
TIMES = ("startup_seconds", "call_seconds")


def limited(function: Command, usual: Limits = USUAL, names: tuple[str, ...] = (*TIMES, "memory", "processes")) -> Command:
    """Return a command that gets its ``limits`` from options, one for each of the names."""
    option = functools.partial(click.option, show_default=True)
    seconds, count = click.FloatRange(0.1), click.IntRange(0)
    options = {
        "startup_seconds": option(
            "--startup-seconds", type=seconds, default=usual.startup_seconds, help="How long a target may take to start."
        ),
        "call_seconds": option("--call-seconds", type=seconds, default=usual.call_seconds, help="How long one call may take."),
        "memory": option(
            "--memory", type=count, default=usual.memory, metavar="MIB", help="How much memory a worker may use; 0 is no limit."
        ),
        "processes": option("--processes", type=count, default=usual.processes, help="How many processes a worker may run; 0 is no limit."),
    }

    @functools.wraps(function)
    def called(*given: Any, **others: Any) -> Any:
        said = {name: others.pop(name) for name in names}
        return function(*given, limits=Limits(**said), **others)

    return functools.reduce(lambda command, name: options[name](command), reversed(names), called)
