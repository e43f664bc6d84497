"""Laws: equations that every correct implementation satisfies, each with what rounding may make of it."""

from collections.abc import Iterator, Mapping, Sequence

from conformance.laws import (
    additive,
    attention,
    bias,
    binary,
    distance_aware,
    interpolation,
    ladders,
    learned,
    longrope,
    relative_bias,
    rotary,
    shaw,
    stepwise,
    tabled,
    transformer_xl,
    unencoded,
    universal,
    yarn,
)
from conformance.laws.judging import Check
from conformance.laws.running import Finding, run_checks
from conformance.laws.trial import Checker
from conformance.outcomes import Reason
from conformance.subject import Subject
from refimpl.spec import Law, Operation

__all__ = ["LAWS", "SPECIAL", "UNIVERSAL", "Check", "Finding", "checker", "checks", "law_name", "run"]

#: The families of laws; each module says which laws it falsifies, and for which operations in a form of its own.
FAMILIES = (
    rotary, tabled, yarn, bias, relative_bias, distance_aware, attention, additive, stepwise, transformer_xl, ladders, shaw,
    binary, learned, unencoded, interpolation, longrope,
)

#: Every law, and what falsifies it.
LAWS: Mapping[Law, Checker] = {law: checker for family in FAMILIES for law, checker in family.LAWS.items()}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {key: checker for family in FAMILIES for key, checker in family.SPECIAL.items()}

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
    return SPECIAL.get((operation.name, law), LAWS[law])


def run(
    subject: Subject, laws: Sequence[Law], *, examples: int, seed: int, patience: int = 0, shrink: bool = True
) -> Iterator[Finding]:
    """Put drawn examples to a subject and yield one finding per law, the universal ones first."""
    yield from run_checks(subject, checks(subject.operation, laws), examples=examples, seed=seed, patience=patience, shrink=shrink)


def checks(operation: Operation, laws: Sequence[Law]) -> list[Check]:
    """Return what is checked of an operation that claims laws, the universal ones first."""
    universally = [Check(name, falsify, reason) for name, (falsify, reason) in UNIVERSAL.items()]
    return [*universally, *(Check(law_name(law), checker(operation, law), Reason.LAW) for law in laws)]
