"""Laws: equations that every correct implementation satisfies, each with what rounding may make of it."""

from collections.abc import Iterator, Mapping, Sequence

from conformance.calls.outcomes import Reason
from conformance.calls.subject import Subject
from conformance.laws import (
    additive,
    attention,
    binary,
    buckets,
    counting,
    distance_aware,
    distances,
    grids,
    ladders,
    learned,
    permuting,
    stepwise,
    sums,
    switching,
    tables,
    temperature,
    terms,
    turning,
    universal,
    windowed,
)
from conformance.laws.judging import Check
from conformance.laws.running import Finding, run_checks
from conformance.laws.trial import Checker
from refimpl.spec import Law, Operation

__all__ = ["GENERAL", "PECULIAR", "UNIVERSAL", "Check", "Finding", "checker", "checks", "law_name", "run"]

#: What falsifies every law of most operations.
GENERAL: Mapping[Law, Checker] = {
    **turning.LAWS, **ladders.LAWS, **switching.LAWS, **distances.LAWS, **attention.LAWS, **stepwise.LAWS, **sums.LAWS,
    **temperature.LAWS, **counting.LAWS, **grids.LAWS, **additive.LAWS,
}

#: What falsifies laws of operations in a form of their own, by a name that only these declare: of an argument, or of a result.
PECULIAR: Mapping[str, Mapping[Law, Checker]] = {
    "bits": binary.LAWS,
    "chunk_size": windowed.LAWS,
    "conversion": permuting.LAWS,
    "outside": learned.LAWS,
    "relative_positions": buckets.LAWS,
    "saturation": distance_aware.LAWS,
    "position_bias": terms.LAWS,
    "scores": terms.SHIFT,
    "spacing": tables.LAWS,
    "window": windowed.LAWS,
    "-> cos": tables.LAWS,
}

#: What holds for every operation, and why a result that breaks it is wrong.
UNIVERSAL: Mapping[str, tuple[Checker, Reason]] = {
    "shape": (universal.shape, Reason.SHAPE),
    "dtype": (universal.dtype, Reason.DTYPE),
    "inputs unmodified": (universal.inputs_unmodified, Reason.INPUT_MODIFIED),
    "determinism": (universal.determinism, Reason.NOT_DETERMINISTIC),
    "batch independence": (universal.batch_independence, Reason.LAW),
    "history independence": (universal.history_independence, Reason.HISTORY),
}


def law_name(law: Law) -> str:
    """Return a law's name in words (``identity at origin``)."""
    return law.name.lower().replace("_", " ")


def checker(operation: Operation, law: Law) -> Checker:
    """Return what falsifies a law of an operation."""
    declared = {*operation.arrays, *operation.parameters, *(f"-> {result}" for result in operation.results)}
    return next((laws[law] for name, laws in PECULIAR.items() if name in declared and law in laws), None) or GENERAL[law]


def run(
    subject: Subject, laws: Sequence[Law], *, examples: int, seed: int, patience: int = 0, shrink: bool = True
) -> Iterator[Finding]:
    """Put drawn examples to a subject and yield one finding per law, the universal ones first."""
    yield from run_checks(subject, checks(subject.operation, laws), examples=examples, seed=seed, patience=patience, shrink=shrink)


def checks(operation: Operation, laws: Sequence[Law]) -> list[Check]:
    """Return what is checked of an operation that claims laws, the universal ones first."""
    universally = [Check(name, falsify, reason) for name, (falsify, reason) in UNIVERSAL.items()]
    return [*universally, *(Check(law_name(law), checker(operation, law), Reason.LAW) for law in laws)]
