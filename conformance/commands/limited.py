"""The options that limit a worker, the same for every command that starts one."""

import functools
from collections.abc import Callable
from typing import Any

import click

from conformance.calls.limits import Limits

Command = Callable[..., Any]
USUAL = Limits()


def limited(function: Command, usual: Limits = USUAL) -> Command:
    """Return a command that gets its ``limits`` from options."""
    option = functools.partial(click.option, show_default=True)
    seconds, count = click.FloatRange(0.1), click.IntRange(0)
    options = (
        option("--startup-seconds", type=seconds, default=usual.startup_seconds, help="How long a TARGET may take to start."),
        option("--call-seconds", type=seconds, default=usual.call_seconds, help="How long one call may take."),
        option("--memory", type=count, default=usual.memory, metavar="MIB", help="What a worker may use; 0: any."),
        option("--processes", type=count, default=usual.processes, help="How many a worker may run; 0: any."),
    )

    @functools.wraps(function)
    def called(*given: Any, startup_seconds: float, call_seconds: float, memory: int, processes: int, **others: Any) -> Any:
        return function(*given, limits=Limits(startup_seconds, call_seconds, memory, processes), **others)

    return functools.reduce(lambda command, each: each(command), reversed(options), called)
