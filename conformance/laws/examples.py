"""Draw what the laws of one subject are put to."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, configuration, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from hypothesis.strategies import DrawFn, SearchStrategy

from conformance.calls.subject import Subject
from conformance.calls.takes import is_bias
from conformance.laws import draw
from conformance.laws.trial import Example
from conformance.spec.arguments import Arguments, is_position

SCALARS = ((1, 1), (1, -1), (2, -1), (-1, 2), (2, 2), (-2, 1))
FRACTION = st.binary(min_size=1, max_size=1)
#: The farthest position whose distance, shifted and doubled, float16 can hold.
HALF_RANGE = 5_000
#: How far code is moved beyond what was drawn that has to count there from 0.
FEW_ROWS = 2


def silent(examples: int, *phases: Phase) -> settings:
    """Return settings that print, store and time nothing."""
    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=phases,
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )


def leaving_nothing() -> contextlib.AbstractContextManager[object]:
    """Have Hypothesis find no folder for what it keeps of its own accord, as ``.hypothesis`` where a person happens to be.

    It does without where it can't write. Afterwards the folder is what it was before: a person's own tests keep theirs.
    """
    name = "__hypothesis_home_directory"
    return _replaced(configuration, name, Path(os.devnull))


def by_seed_alone() -> contextlib.AbstractContextManager[object]:
    """Keep Hypothesis from mixing in constants of whatever modules a process has loaded: one seed draws the same everywhere."""
    provider, name = providers.HypothesisProvider, "_maybe_draw_constant"
    return _replaced(provider, name, _no_constant)


@contextlib.contextmanager
def _replaced(owner: object, name: str, value: object) -> Iterator[None]:
    """Have what an owner holds by that name be another while this lasts, if it holds anything; ``unittest.mock`` takes long to import.

    Where it is the other already, in another thread or after an interruption, whoever put it there puts back what was before.
    """
    if vars(owner).get(name, value) == value:
        yield
        return
    was = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, was)


def _no_constant(*_: object, **__: object) -> None:
    """Draw no constant."""


def example_for(subject: Subject) -> SearchStrategy[Example]:
    """Draw an example inside what the subject takes."""
    operation = subject.operation
    farthest = HALF_RANGE if subject.dtype == "float16" and is_bias(operation) else None
    calls = draw.arguments(operation, restrictions=subject.restrictions, takes=subject.takes, farthest=farthest)
    parameters = draw.parameters(operation, subject.restrictions)

    @st.composite
    def drawn(draw_one: DrawFn) -> Example:
        call = draw_one(calls)
        real = [name for name, array in call.arrays.items() if array.dtype.kind == "f" and not is_position(name)]
        others = draw_one(draw.dyadic((sum(call.arrays[name].size for name in real),))) if real else np.zeros(0)
        fraction = draw_one(FRACTION)[0] if call.arrays else 0
        split = np.split(others, np.cumsum([call.arrays[name].size for name in real])[:-1])
        other = {name: part.reshape(call.arrays[name].shape) for name, part in zip(real, split, strict=False)}
        shift = _shift(subject, call, fraction)
        return Example(_lasting(subject, call, shift), other, shift, SCALARS[fraction % len(SCALARS)], draw_one(parameters))

    return drawn()


def _shift(subject: Subject, call: Arguments, fraction: int) -> int:
    """Return a shift of at least 1 that leaves positions in reach; a small one where longer inputs must be made for it."""
    farthest = call.farthest or 0
    reach = next((reach for reach in draw.REACHES if reach >= farthest), farthest)
    longer = FEW_ROWS if subject.counted and subject.takes.positions == "from_zero" else draw.LONGEST_SQUARE
    room = min(longer if subject.takes.counted else reach - farthest, subject.takes.bounds[1] - farthest - 1)
    room = min(room, int(call.parameters.get("length", reach + room)) - farthest - 2)
    return 1 + int(max(room, 0)) * fraction // 255


def _lasting(subject: Subject, call: Arguments, shift: int) -> Arguments:
    """Return the call in a sequence that lasts until its positions are moved, where it has a length that isn't declared to be another."""
    if "length" not in call.parameters or "length" in subject.restrictions or call.farthest is None:
        return call
    return call.with_parameters(length=max(int(call.parameters["length"]), call.farthest + shift + 1))
