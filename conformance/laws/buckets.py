"""Laws of buckets: whole numbers that climb with the distance, one by one at first, then by a logarithm, if there is one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from conformance.laws.inexact import Inexact
from conformance.laws.trial import Checker, Sides, Trial, at_most, exactly, same
from refimpl.spec import Law


@dataclass(frozen=True)
class Ladder:
    """The bucket of the token itself and the last of earlier keys, and how many distances have one of their own."""

    origin: int
    last: int
    exact: int

    @property
    def up(self) -> int:
        """Return 1 where earlier keys have higher buckets, else -1."""
        return 1 if self.last > self.origin else -1


def ladder(trial: Trial) -> Ladder:
    """Return the ladder of the convention that is asked for."""
    number, both = trial.whole("num_buckets"), bool(trial.arguments.parameters["bidirectional"])
    one_way = number // 2 if both else number
    ladders = {
        "t5": Ladder(0, one_way - 1, one_way // 2),
        "deberta": Ladder(number // 2, number - 1, number // 4),
        "clamped": Ladder(one_way, 0, one_way) if both else Ladder(0, number - 1, number),
    }
    return ladders[str(trial.arguments.parameters["convention"])]


def _buckets(trial: Trial, relative: np.ndarray) -> Inexact:
    return trial.answer(trial.arguments.with_arrays(relative_positions=relative))


def zero_at_origin(trial: Trial) -> Iterator[Sides]:
    """Distance 0 has the first bucket, and every distance before the logarithm its own, one after another."""
    shared = ladder(trial)
    near = np.arange(shared.exact)
    yield same(_buckets(trial, -near), shared.origin + shared.up * near)


def monotone(trial: Trial) -> Iterator[Sides]:
    """A greater distance is never a bucket nearer to the first, and no bucket lies beyond the last."""
    shared, distance = ladder(trial), np.sort(np.abs(trial.arguments.arrays["relative_positions"]))
    climbed = (_buckets(trial, -np.concatenate([distance, distance + 1])) - shared.origin) * shared.up
    here, further = climbed[: distance.size], climbed[distance.size :]
    yield at_most(here[:, None], further[None], where=distance[:, None] <= distance + 1)
    yield at_most(climbed, abs(shared.last - shared.origin))
    yield at_most(-climbed, 0.0)


def saturation(trial: Trial) -> Iterator[Sides]:
    """Beyond the largest distance every distance has the last bucket."""
    farthest, beyond = max(trial.whole("max_distance"), trial.whole("num_buckets")), np.abs(trial.arguments.arrays["relative_positions"])
    last = _buckets(trial, -(farthest + beyond))
    yield exactly(last.values, ladder(trial).last)


def mirror(trial: Trial) -> Iterator[Sides]:
    """A later key lands as many buckets higher as one direction has, or as far on the other side of the middle; or in bucket 0."""
    distance, parameters = np.abs(trial.arguments.arrays["relative_positions"]) + 1, trial.arguments.parameters
    later, earlier = _buckets(trial, distance), _buckets(trial, -distance)
    if not parameters["bidirectional"]:
        yield same(later, 0.0)
    elif parameters["convention"] == "t5":
        yield same(later, earlier + trial.whole("num_buckets") // 2)
    else:
        yield _opposite(trial, later, earlier)


def _opposite(trial: Trial, later: Inexact, earlier: Inexact) -> Sides:
    """Return that buckets lie as far above the middle as below it; the table ends one short above, so the upper side is held there."""
    shared = ladder(trial)
    lower, upper = (later, earlier) if shared.up > 0 else (earlier, later)
    opposite = 2 * shared.origin - lower.values
    return same(upper, Inexact(np.minimum(opposite, trial.whole("num_buckets") - 1), lower.error))


LAWS: Mapping[Law, Checker] = {
    Law.ZERO_AT_ORIGIN: zero_at_origin,
    Law.MONOTONE: monotone,
    Law.SATURATION: saturation,
    Law.MIRROR: mirror,
}
