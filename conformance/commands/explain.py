"""``posenc explain``: a published configuration in words."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.calls.status import Status
from conformance.commands.places import Place
from conformance.commands.telling import tell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from refimpl.configuration import Finding, Kind, Reading


@click.command()
@click.argument("path", metavar="CONFIG.json", type=Place(exists=True, dir_okay=False))
@click.option("--layer", type=click.IntRange(0), metavar="N", help="Explain only the layer N, counted from 0.")
@click.option("--length", type=click.IntRange(1), metavar="N", help="The length of the sequence, where frequencies depend on it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, with the frequencies.")
@click.pass_context
def explain(context: click.Context, path: Path, *, layer: int | None, length: int | None, as_json: bool) -> None:
    """Say what CONFIG.json, a model's published configuration, does to positions: in each kind of layers, and why."""
    import numpy as np

    from refimpl.configuration import read, words

    reading = read(_loaded(path))
    kinds = reading.kinds if layer is None else (_of_layer(reading, layer),)
    like, findings = np.zeros(0), words.every(reading, kinds)
    if as_json:
        status = _status(findings)
        said = {**words.document(reading, kinds, length, like), "exit_status": int(status)}
        sys.stdout.write(json.dumps(said) + "\n")
    else:
        tell([("head", f"{path.name}: {reading.model_type or 'no model_type'}"), *words.lines(reading, kinds, length, like)])
    context.exit(_status(findings))


def _loaded(path: Path) -> "Mapping[str, Any]":
    from conformance.adapt.configured import ConfigurationError, loaded

    try:
        return loaded(path)
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error


def _of_layer(reading: "Reading", layer: int) -> "Kind":
    from refimpl.configuration import chosen
    from refimpl.errors import SpecificationError

    try:
        return chosen(reading, layer)
    except SpecificationError as error:
        message = f"--{error}"
        raise click.UsageError(message) from error


def _status(findings: "tuple[Finding, ...]") -> Status:
    """Return the exit status: errors and warnings are the configuration's, what is missing is ours."""
    levels = {finding.level for finding in findings}
    if levels & {"error", "warning"}:
        return Status.DIFFERS
    return Status.NOT_JUDGED if levels else Status.CONFORMS
