"""What code does that takes tables as caches, with the row of every token, and reads other rows."""

import numpy as np

from conformance.adapt.calling import last_first
from conformance.calls.form import roles
from conformance.diagnosis.candidates import Candidate, called_as_declared
from conformance.judge.journal import Task
from conformance.mutants.building import Arrays, Parameters, altered


def of_caches(task: Task) -> list[Candidate]:
    """Return the mistakes of code whose declared call has the row of every token."""
    call = task.descriptor.call
    if not call or "position_ids" not in roles(call):
        return []
    ignored = Candidate(
        (f"{task.operation}/positions-ignored",),
        does="ignores position_ids: each token reads the row of its index from the cache",
        should="read the rows that position_ids name",
        fix="gather the caches by position_ids, as in cos_cache[position_ids]",
        function=altered(task.operation, arrays=_by_index),
        kind="mistake",
    )
    return [called_as_declared(ignored, task.descriptor.takes)]


def _by_index(arrays: Arrays, _: Parameters) -> Arrays:
    """Return tables in which every token has the row that stands at its index."""
    return {**arrays, **{name: _first_rows(arrays[name]) for name in ("cos", "sin")}}


def _first_rows(table: np.ndarray) -> np.ndarray:
    cache = table.reshape(-1, table.shape[-1])[last_first(table).ravel()]
    return np.broadcast_to(cache[: table.shape[-2]], table.shape).copy()
