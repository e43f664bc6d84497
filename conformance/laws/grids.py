"""Laws of patches in grids: each step in time has all rows and columns, and those that are merged stand together."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.trial import Checker, Sides, Trial, exactly, same
from conformance.spec.arguments import Arguments
from refimpl.spec import Law


def covers(trial: Trial) -> Iterator[Sides]:
    """Each step of every grid has all of its rows, and all columns in each."""
    grids, every = _every_patch(trial)
    came, begin = trial.answer(every).values, 0
    for time, height, width in grids:
        steps = came[begin : begin + time * height * width].reshape(time, height * width, 2)
        begin += time * height * width
        for step in steps:
            yield exactly(step[np.lexsort((step[:, 1], step[:, 0]))], np.argwhere(np.ones((height, width))))


def lies_in_blocks(trial: Trial) -> Iterator[Sides]:
    """A patch stands as far from the first of its block as its number says, and the first of every block at a multiple of the sides."""
    (_, call), merge = _every_patch(trial), trial.whole("merge")
    inside = call.arrays["positions"] % merge**2
    first = trial.answer(call.with_arrays(positions=call.arrays["positions"] - inside))
    yield exactly(first.values % merge, 0.0)
    yield same(trial.answer(call), first + np.stack([inside // merge, inside % merge], axis=-1))


def _every_patch(trial: Trial) -> tuple[list[tuple[int, int, int]], Arguments]:
    """Return the sides of all grids, and the call with all of their patches."""
    sides = (trial.arguments.parameters[name] for name in ("times", "heights", "widths"))
    grids = list(zip(*sides, strict=True))
    return grids, trial.arguments.with_arrays(positions=np.arange(sum(map(math.prod, grids))))


LAWS: Mapping[Law, Checker] = {Law.COVERS: covers, Law.LIES_IN_BLOCKS: lies_in_blocks}
