"""The error of one implementation against the position, as a multiple of what every profile allows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from conformance.calls.outcomes import Failed
from conformance.calls.subject import Reply
from conformance.judge import logits
from conformance.judge.journal import Task
from conformance.judge.judge import came, compare
from conformance.precision import allowance
from conformance.precision.answers import Answer
from conformance.show.report import message
from conformance.spec.profiles import LARGEST, PROFILES, attainable
from conformance.spec.vectors import Vector

#: The farthest position that is asked about.
FARTHEST = 1 << 20
LOOSE = "float32-loose-frequencies"


@dataclass(frozen=True)
class Point:
    """What was found at one position.

    ``ratios`` holds the error as a multiple of what each profile allows, ``error`` the error itself as ``logits.errors`` means it,
    ``allowances`` what each profile allows as a multiple of what the required one does.
    """

    position: int
    ratios: Mapping[str, float]
    error: float | None = None
    allowances: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Wide:
    """How far off a rotation is in a head of some width, as a share of the length, at every position."""

    head_dim: int
    errors: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Curve:
    """Everything that was measured of one implementation of one operation at one dtype; ``left`` says what its calls left behind."""

    implementation: str
    operation: str
    dtype: str
    required: str
    met: str | None
    points: tuple[Point, ...]
    faults: tuple[str, ...] = ()
    wide: Wide | None = None
    depends: bool = False
    left: tuple[str, ...] = ()

    def wrong_from(self, profile: str) -> int | None:
        """Return the first position at which the error is larger than a profile allows, or ``None``."""
        return next((point.position for point in self.points if not point.ratios.get(profile, 0.0) <= 1.0), None)

    @property
    def reach(self) -> int | None:
        """The last position up to which the required profile holds everywhere, or ``None``."""
        wrong = self.wrong_from(self.required)
        return max((point.position for point in self.points if wrong is None or point.position < wrong), default=None)

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles worth showing, strongest first: exact ones, and all of the dtype's own or in question up to the weakest."""
        asked = [profile for profile in (self.required, self.met) if profile is not None]
        last = max(map(PROFILES.index, asked))
        own = f"{self.dtype}-"
        chosen = [p for p in PROFILES[: last + 1] if p in {"float64", "float32", *asked} or (p.startswith(own) and p != LOOSE)]
        return tuple(chosen)


@dataclass
class _Found:
    """What the vectors so far have shown."""

    ratios: dict[str, dict[int, float]] = field(default_factory=lambda: {profile: {} for profile in PROFILES})
    errors: dict[int, float] = field(default_factory=dict)
    allowances: dict[str, dict[int, float]] = field(default_factory=lambda: {profile: {} for profile in PROFILES})
    beyond: set[str] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)


def measure(answers: Sequence[Answer], task: Task, *, depends: bool) -> Curve:
    """Return the errors of an implementation's answers by position; ``depends`` says that they depended on earlier calls."""
    found = _Found()
    for answer in answers:
        if answer.reply is None:
            found.faults.append(answer.fault or "")
        else:
            _judge(answer.vector, answer.reply, task, found)
    return Curve(
        *(task.descriptor.label, task.operation, task.dtype, task.profile),
        met=None if found.faults else _strongest(found),
        points=tuple(_points(found)),
        faults=tuple(found.faults),
        depends=depends,
    )


def _judge(vector: Vector, reply: Reply, task: Task, found: _Found) -> None:
    found.dtypes |= came(reply, task.dtype)
    whole = replace(reply, values={name: _finite(values) for name, values in reply.values.items()})
    for profile in PROFILES:
        judgement = compare(vector, whole, task.dtype, profile)
        if isinstance(judgement.outcome, Failed) and judgement.ratio is None:
            found.faults.append(f"{vector.id}: {message(judgement.outcome)}")
            return
        if isinstance(judgement.outcome, Failed):
            found.beyond.add(profile)
        _take_larger(found.ratios[profile], dict(judgement.by_position))
        _take_larger(found.allowances[profile], allowance.by_position(vector, profile, task.profile, task.dtype))
    _take_larger(found.errors, logits.errors(vector, whole.values))


def _finite(values: np.ndarray) -> np.ndarray:
    """Return the values with what isn't finite made large, so that its position is known as wrong."""
    return np.where(np.isfinite(values), values, LARGEST["float32"]) if values.dtype.kind == "f" else values


def _take_larger(known: dict[int, float], new: Mapping[int, float]) -> None:
    for position, value in new.items():
        known[abs(position)] = float(np.fmax(known.get(abs(position), 0.0), value))


def _strongest(found: _Found) -> str | None:
    """Return the first profile that holds everywhere, among those that the dtypes that came back can meet."""
    known = [profile for profile in attainable(found.dtypes) if found.ratios[profile]]
    return next((profile for profile in known if profile not in found.beyond), None)


def _points(found: _Found) -> Iterator[Point]:
    positions = {position for ratios in found.ratios.values() for position in ratios}
    for position in sorted(place for place in positions if place <= FARTHEST):
        ratios = {profile: known[position] for profile, known in found.ratios.items() if position in known}
        allowances = {profile: known[position] for profile, known in found.allowances.items() if position in known}
        yield Point(position, ratios, found.errors.get(position), allowances)
