"""Laws of encodings that are added to an input: what is added knows positions alone."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.inexact import exact
from conformance.laws.roles import with_others
from conformance.laws.trial import Checker, Sides, Trial, same
from conformance.spec.arguments import rows_of_their_own
from refimpl.spec import Law


def adds(trial: Trial) -> Iterator[Sides]:
    """What two inputs differ by is what their results differ by, times the scale."""
    call, other = trial.arguments, with_others(trial, "x")
    scale = math.sqrt(call.arrays["x"].shape[-1]) if call.parameters["embedding_scale"] == "sqrt_dim" else 1.0
    yield same(trial.answer(call) - trial.answer(other), scale * exact(call.arrays["x"] - other.arrays["x"]))


def alike(trial: Trial) -> Iterator[Sides]:
    """Zeros become the same row wherever the position is the same: in every token, or, where code counts, in every row of the batch."""
    call, counted = trial.arguments, trial.subject.counted
    positions = call.arrays["positions"]
    sequence = positions[0] if rows_of_their_own(trial.operation.arrays["positions"], positions) else positions
    first = sequence if counted else sequence[:1]
    zeros = np.zeros_like(call.arrays["x"])
    rows = trial.answer(call.with_arrays(x=zeros, positions=np.broadcast_to(first, positions.shape).copy()))
    yield same(rows - rows[:1, : None if counted else 1], 0.0)


LAWS: Mapping[Law, Checker] = {Law.ADDS: adds, Law.ALIKE: alike}
