"""Draw narrow declarations: a few parameters at one value each, what code takes of positions, and one dtype."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from conformance.calls.takes import PLACES, Takes, misplaced
from conformance.checks import golden_checks
from conformance.golden.calls import generator
from conformance.isolate.described import Descriptor
from conformance.judge.journal import Task
from conformance.spec.choices import candidates
from conformance.spec.declarations import operations
from conformance.spec.profiles import FORMATS, REQUIRED
from conformance.spec.ranges import VALUES
from refimpl.spec import Operation

#: How many parameters are declared at most.
MOST = 4
TAKES = (
    Takes(),
    Takes("from_zero"),
    Takes("consecutive"),
    Takes(queries="at_end"),
    Takes("from_zero", queries="at_end"),
    Takes(rows="shared"),
    Takes(lowest=0),
    Takes(highest=2_047),
    Takes("from_zero", highest=2_047),
    Takes(rows="shared", lowest=0, highest=2_047),
)


@dataclass(frozen=True)
class Declaration:
    """What one implementation declares, and the seed of the run that judges it."""

    operation: str
    dtype: str
    seed: int
    restrictions: Mapping[str, object] = field(default_factory=dict)
    takes: Takes = field(default_factory=Takes)

    @property
    def task(self) -> Task:
        """The task of an implementation that declares this."""
        profile = {self.dtype: REQUIRED[self.dtype]}
        described = Descriptor(
            index=0,
            label="mine",
            operation=self.operation,
            dtypes=(self.dtype,),
            profile=profile,
            takes=self.takes,
            modifies_inputs=False,
            restrictions=self.restrictions,
            takes_dtype=False,
        )
        return Task(described, self.dtype, profile[self.dtype])

    @property
    def words(self) -> str:
        """The declaration on one line."""
        plain = Takes().as_data()
        taken = {name: value for name, value in self.takes.as_data().items() if value != plain[name]}
        return " ".join([self.operation, self.dtype, *(f"{name}={value}" for name, value in {**self.restrictions, **taken}.items())])


def declarations(name: str, count: int, seed: int) -> Iterator[Declaration]:
    """Yield so many declarations of an operation, the same for the same seed; under each of them calls can be drawn."""
    operation = operations()[name]
    rng = generator(operation, seed, "narrow")
    found = 0
    while found < count:
        drawn = Declaration(name, str(rng.choice(list(FORMATS))), 1_000 * seed + found, _restricted(operation, rng), _taken(operation, rng))
        if next(golden_checks.drawn(drawn.task, drawn.seed), None) is not None:
            found += 1
            yield drawn


def _restricted(operation: Operation, rng: np.random.Generator) -> dict[str, object]:
    """Return one to four parameters at one of the values that code may declare."""
    names = list(operation.parameters)
    chosen = rng.permutation(len(names))[: int(rng.integers(1, MOST + 1))]
    values = {names[i]: candidates(operation.parameters[names[i]], ..., VALUES) for i in sorted(chosen)}
    return {name: each[int(rng.integers(len(each)))] for name, each in values.items()}


def _taken(operation: Operation, rng: np.random.Generator) -> Takes:
    """Return one of the ways to take positions that mean something for the operation."""
    placed = bool(set(PLACES.values()) & set(operation.arrays))
    meant = [takes for takes in TAKES if not any(misplaced(takes, operation)) and (placed or not takes.counted)]
    return meant[int(rng.integers(len(meant)))]
