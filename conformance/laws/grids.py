"""Laws of patches in grids: each step in time has all rows and columns, and those that are merged stand together."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.trial import Checker, Sides, Trial, exactly, same
from refimpl.spec import Law


def covers(trial: Trial) -> Iterator[Sides]:
    """Each step of every grid has all of its rows, and all columns in each."""
    parameters, begin = trial.arguments.parameters, 0
    grids = list(zip(*(parameters[name] for name in ("times", "heights", "widths")), strict=True))
    came = trial.answer(trial.arguments.with_arrays(positions=np.arange(sum(map(math.prod, grids))))).values
    for time, height, width in grids:
        steps = came[begin : begin + time * height * width].reshape(time, height * width, 2)
        begin += time * height * width
        for step in steps:
            yield exactly(step[np.lexsort((step[:, 1], step[:, 0]))], np.argwhere(np.ones((height, width))))


def lies_in_blocks(trial: Trial) -> Iterator[Sides]:
    """A patch stands as far from the first of its block as its number says, and the first of every block at a multiple of the sides."""
    call, merge = trial.arguments, trial.whole("merge")
    inside = call.arrays["positions"] % merge**2
    first = trial.answer(call.with_arrays(positions=call.arrays["positions"] - inside))
    yield exactly(first.values % merge, 0.0)
    yield same(trial.answer(call), first + np.stack([inside // merge, inside % merge], axis=-1))


LAWS: Mapping[Law, Checker] = {Law.COVERS: covers, Law.LIES_IN_BLOCKS: lies_in_blocks}
