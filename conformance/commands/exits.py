"""What every command exits with, as its help and ``docs/command-line.md`` tell it."""

from collections.abc import Iterator, Mapping

import click

from conformance.calls.status import Status

EVERY = {
    Status.WRONG_USAGE: "wrong usage",
    Status.HARNESS_FAILED: "the harness itself failed",
    Status.INTERRUPTED: "interrupted",
}
EXITS: Mapping[str, Mapping[Status, str]] = {
    "check": {
        Status.CONFORMS: "conforms",
        Status.DIFFERS: "does not",
        Status.NOTHING_RAN: "nothing ran",
        Status.NOT_JUDGED: "not enough evidence for a verdict",
    },
    "identify": {
        Status.CONFORMS: "every function is an operation that posenc knows, and gave the same answer whenever a call was repeated",
        Status.DIFFERS: "a function is none, or not found to be one within --seconds, or answered a repeated call differently, or "
        "an adapter declares it to be something else, or the check of the printed adapter finds it wrong",
        Status.WRONG_USAGE: "wrong usage, or a function that refuses every call",
    },
    "explain": {
        Status.CONFORMS: "explained, and nothing is wrong",
        Status.DIFFERS: "the configuration has errors or warnings",
        Status.WRONG_USAGE: "wrong usage, or the configuration can't be read",
        Status.NOT_JUDGED: "posenc has no operation for a part of it",
    },
    "precision": {Status.CONFORMS: "measured, however large the error is"},
    "compare": {Status.CONFORMS: "measured"},
    "bench": {Status.CONFORMS: "measured"},
    "list": {Status.CONFORMS: "listed"},
    "show": {Status.CONFORMS: "described or drawn"},
    "init": {Status.CONFORMS: "written", Status.WRONG_USAGE: "wrong usage, or the file exists"},
    "doctor": {Status.CONFORMS: "the harness works here", Status.HARNESS_FAILED: "it does not"},
    "vectors verify": {
        Status.CONFORMS: "every file is as published",
        Status.HARNESS_FAILED: "a file was changed, or the harness itself failed",
    },
    "vectors export": {Status.CONFORMS: "written"},
    "report render": {Status.CONFORMS: "shown or written, whatever its verdict is"},
    "report diff": {Status.CONFORMS: "nothing got worse", Status.DIFFERS: "something got worse"},
    "protocol replay": {
        Status.CONFORMS: "every request was answered, rightly or not",
        Status.WRONG_USAGE: "wrong usage, or a request without one answer",
    },
}


def told(statuses: Mapping[Status, str]) -> str:
    """Return statuses with their meanings, in order."""
    return "; ".join(f"{status.value} {statuses[status]}" for status in sorted(statuses))


def add(group: click.Group) -> None:
    """Let the help of a group and of every command below it end with what they exit with."""
    group.epilog = f"Exit status of check: {told({**EVERY, **EXITS['check']})}. The help of each command has its own."
    for name, command in commands(group):
        command.epilog = f"Exit status: {told({**EVERY, **EXITS[name]})}."


def commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command below a group, by its whole name."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command
