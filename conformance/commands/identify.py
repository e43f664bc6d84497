"""``posenc identify``."""

import functools
import json
import math
import sys
import warnings
from typing import TYPE_CHECKING, Any

import click

from conformance.calls.limits import Limits
from conformance.commands.limited import limited
from conformance.commands.telling import refuse, tell

if TYPE_CHECKING:
    from conformance.identify.screen import Told

#: How long one call may take unless said: what is asked is small.
SECONDS = 10.0


@click.command(name="identify")
@click.argument("target", metavar="TARGET[:FUNCTION]")
@click.option("--call", metavar="FORM", help="How to call it, such as 'f(x, positions)' or 'f(q, k, position_ids=positions)'.")
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="A setting for its calls, such as base=500000; may be repeated.")
@click.option("--framework", help="Whose arrays it takes: numpy, torch, jax ...; by default what its module imports.")
@click.option("--only", metavar="LABEL", help="Of an adapter, identify only implementations with this label.")
@click.option("--no-check", is_flag=True, help="Don't try the adapter that is printed.")
@click.option("--seconds", type=click.FloatRange(0.0), help="How long all of it may take; the output says what wasn't tried.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@functools.partial(limited, usual=Limits(call_seconds=SECONDS))
@click.pass_context
def identify(
    context: click.Context,
    target: str,
    call: str | None,
    given: tuple[str, ...],
    framework: str | None,
    only: str | None,
    seconds: float | None,
    *,
    no_check: bool,
    as_json: bool,
    limits: Limits,
) -> None:
    """Say what an undeclared function is, from its values: FILE.py:NAME, MODULE:NAME, or every implementation of an adapter."""
    from conformance.calls.status import Status
    from conformance.identify import identify as identified

    known: list[bool] = []
    documents: list[dict[str, object]] = []
    asked: dict[str, Any] = {"call": call, "given": dict(map(_setting, given)), "framework": framework, "only": only}
    if seconds is not None and math.isnan(seconds):
        message = "--seconds must be a number, got nan"
        raise click.BadParameter(message)
    asked |= {} if seconds is None else {"seconds": seconds}
    warnings.simplefilter("ignore", RuntimeWarning)  # of what NaN and infinities of others come to
    try:
        for each in identified(target, **asked, check=not no_check, limits=limits):
            known.append(each.known and not (each.faults or each.contradicted or (each.checked and each.checked.refuted)))
            if as_json:
                documents.append(each.document())  # now, since it asks the function about its declaration
            else:
                _write(each)
    except KeyboardInterrupt:
        if not known:
            refuse(f"{target} isn't identified: the run ended before any call")
        raise
    finally:  # an interruption leaves the functions before it
        if as_json:
            click.echo(json.dumps(documents))
    context.exit(Status.CONFORMS if all(known) else Status.DIFFERS)


def _setting(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        message = f"--set must be NAME=VALUE, got {text!r}"
        raise click.BadParameter(message)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _write(told: "Told") -> None:
    from conformance.identify import screen
    from conformance.show import terminal

    found = list(screen.lines(told))
    tell((style, line) for style, line in found if style != "code")
    terminal.write([("", line) for style, line in found if style == "code"], sys.stdout)
