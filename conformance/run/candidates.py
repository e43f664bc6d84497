"""Keep a counterexample as a candidate for a vector: its inputs and parameters, to be minted by the generator, never its outputs."""

import re
from collections.abc import Sequence
from pathlib import Path

import yaml

from conformance.judge.journal import Call
from conformance.spec import files
from conformance.spec.declarations import operations

#: How much of a label a file name bears, so that the system takes it.
LABEL = 80
NOTICE = "# Inputs that break a law. Name them and add them to the cases of the scheme; the oracle says what is right.\n"


def save(folder: Path, law: str, calls: Sequence[Call], *, seed: int) -> Path:
    """Write the calls that break a law into the folder, which is there, and return the file."""
    task = calls[0].task
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{task.descriptor.label[:LABEL]}-{task.operation}-{law}-{task.dtype}")
    said = {"operation": task.operation, "breaks": law, "dtype": task.dtype, "seed": seed, "cases": [_case(call) for call in calls]}
    path = folder / f"{name}.yaml"
    files.write(path, NOTICE + _text(said))
    return path


def _case(call: Call) -> dict[str, object]:
    arrays = zip(operations()[call.task.operation].arrays, call.arrays, strict=True)
    return {"parameters": dict(call.parameters), "inputs": {name: array.tolist() for name, array in arrays}}


def _text(said: object) -> str:
    return str(yaml.safe_dump(said, sort_keys=False, default_flow_style=None, width=120))
