"""Laws of what turns vectors: cosines and sines, and the matrices made of them."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.inexact import Inexact
from conformance.laws.roles import from_origin, placed, shifted
from conformance.laws.trial import Checker, Sides, Trial, same
from conformance.spec.arguments import Arguments
from refimpl.spec import Law


def on_circle(trial: Trial) -> Iterator[Sides]:
    """The squares of cosine and sine add up to 1."""
    cos, sin = _waves(trial, trial.arguments)
    yield same(cos * cos + sin * sin, 1.0, "cos, sin")


def orthogonal(trial: Trial) -> Iterator[Sides]:
    """The matrix times its transpose is the identity."""
    matrices = trial.answer(trial.arguments)
    yield same(matrices @ matrices.transposed, np.eye(2))


def identity_at_origin(trial: Trial) -> Iterator[Sides]:
    """At position 0 every cosine is 1 and every sine 0; the matrix of offset 0 is the identity."""
    call = from_origin(trial)
    (start,) = call.arrays.values()
    for name in trial.operation.results:
        yield same(trial.answer(call, name)[start == 0], {"cos": 1.0, "sin": 0.0}.get(name, np.eye(2)), name)


def composition(trial: Trial) -> Iterator[Sides]:
    """What turns by a sum follows from what turns by its terms."""
    call, alone = trial.arguments, placed(trial.arguments, lambda positions: np.full_like(positions, trial.example.shift))
    both = shifted(trial, call)
    if "cos" not in trial.operation.results:
        yield same(trial.answer(call) @ trial.answer(alone), trial.answer(both))
        return
    (a, b), (c, d), (cos, sin) = (_waves(trial, each) for each in (call, alone, both))
    yield same(a * c - b * d, cos, "cos")
    yield same(b * c + a * d, sin, "sin")


def _waves(trial: Trial, call: Arguments) -> tuple[Inexact, Inexact]:
    return trial.answer(call, "cos"), trial.answer(call, "sin")


LAWS: Mapping[Law, Checker] = {
    Law.TABLES_ON_CIRCLE: on_circle,
    Law.ORTHOGONAL: orthogonal,
    Law.IDENTITY_AT_ORIGIN: identity_at_origin,
    Law.COMPOSITION: composition,
}
