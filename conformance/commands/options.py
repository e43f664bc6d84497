"""What is said of options and arguments that a command doesn't have, and of values that they can't have: click's words in ours."""

import difflib
import re
from typing import Any

import click

#: What an adapter says and no option, by the names under which people look for an option.
DECLARED = {
    "framework": "Adapter(..., framework='torch')",
    "device": "Adapter(..., device='cuda')",
    **dict.fromkeys(("dtype", "dtypes"), "implements(..., dtypes='bfloat16')"),
    **{name: f"implements(..., {name}=...)" for name in ("layout", "direction", "base", "head_dim", "positions", "axes", "tables", "call")},
}
#: What click says of arguments that no command takes, and the value in what it says of one that it refuses.
EXTRA = re.compile(r"unexpected extra arguments? \((.*)\)", re.DOTALL)
VALUE = re.compile(r"'(.*)' (?:is|does)|^(\S+) is not in the range", re.DOTALL)
#: How much of a name must be that of another: less is no slip of the hand.
ALIKE = 0.75


def unknown(error: click.NoSuchOption) -> str:
    """Return the line about an option that doesn't exist: where those stand that do, and what was meant."""
    context = error.ctx
    if context is None:
        return error.format_message()
    parameters = context.command.params
    known = [name for parameter in parameters for name in parameter.opts if name.startswith("-")]
    close = difflib.get_close_matches(error.option_name, known, n=1, cutoff=ALIKE)
    judges = any(parameter.name == "targets" for parameter in parameters)
    declared = DECLARED.get(error.option_name.lstrip("-")) if judges else None
    hint = f" (did you mean {close[0]}?)" if close else f": an adapter declares it, as {declared}" if declared else ""
    return f"option must be one that `{context.command_path} --help` names, got {error.option_name!r}{hint}"


def told(error: click.ClickException) -> str:
    """Return the line about a command line that can't be read."""
    if isinstance(error, click.NoSuchOption):
        return unknown(error)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{_name(error.param)} must be given, got nothing"
    if isinstance(error, click.BadParameter):
        return _refused(error)
    if isinstance(error, click.BadOptionUsage):
        lacking = "requires" in error.message
        return f"{error.option_name} must {'have a value, got none' if lacking else 'stand without a value, got one'}"
    if (more := EXTRA.search(error.message)) is not None and isinstance(error, click.UsageError) and error.ctx is not None:
        return f"arguments must be those that `{error.ctx.command_path} --help` names, got {more[1]} too"
    return error.format_message()


def _refused(error: click.BadParameter) -> str:
    """Return the line about a value that an option or an argument can't have."""
    from conformance.adapt.adapter import near_miss

    if error.param is None:
        return error.message
    name, kind = _name(error.param), error.param.type
    if " must " in error.message:
        return error.message if error.message.startswith((name, name.strip("-"))) else f"{name}: {error.message}"
    got = VALUE.search(error.message)
    value = "" if got is None else got[1] or got[2]
    close = near_miss(value, kind.choices) if isinstance(kind, click.Choice) else ""
    return f"{name} must {_rule(kind)}, got {value!r}{close}" if got else f"{name}: {error.message}"


def _rule(kind: "click.ParamType[Any]") -> str:
    """Return what values of a type must be."""
    if isinstance(kind, click.Choice):
        return f"be one of {', '.join(map(str, kind.choices))}"
    if isinstance(kind, click.Path):
        return f"be a {'file' if kind.file_okay else 'folder'} that can be {'read' if kind.readable else 'used'}"
    number = "a number" if kind.name.startswith("float") else "an integer"
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    ends = f" from {low} on" if high is None else f" up to {high}" if low is None else f" from {low} to {high}"
    return f"be {number}{'' if low is high is None else ends}"


def _name(parameter: click.Parameter) -> str:
    """Return what a person writes, or what stands for it in the help."""
    return parameter.opts[0] if isinstance(parameter, click.Option) else parameter.make_metavar(click.Context(click.Command("posenc")))
