"""What is said of an option that a command doesn't have."""

import difflib

import click

#: What an adapter says and no option, by the names under which people look for an option.
DECLARED = {
    "framework": "Adapter(..., framework='torch')",
    "device": "Adapter(..., device='cuda')",
    **dict.fromkeys(("dtype", "dtypes"), "implements(..., dtypes='bfloat16')"),
    **{name: f"implements(..., {name}=...)" for name in ("layout", "direction", "base", "head_dim", "positions", "axes", "tables", "call")},
}
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
