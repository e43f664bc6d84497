"""Laws: equations that every correct implementation satisfies, each with what rounding may make of it."""

from collections.abc import Iterator, Mapping, Sequence

from conformance.laws import additive, attention, bias, rotary, tabled, universal, yarn
from conformance.laws.judging import Check
from conformance.laws.running import Finding, run_checks
from conformance.laws.trial import Checker
from conformance.outcomes import Reason
from conformance.subject import Subject
from refimpl.spec import Law, Operation

__all__ = ["LAWS", "SPECIAL", "UNIVERSAL", "Check", "Finding", "checker", "law_name", "run"]

#: Every law, and what falsifies it.
LAWS: Mapping[Law, Checker] = {
    Law.LINEAR: rotary.linear,
    Law.ISOMETRY: rotary.isometry,
    Law.IDENTITY_AT_ORIGIN: rotary.identity_at_origin,
    Law.COMPOSITION: rotary.composition,
    Law.RELATIVE: rotary.relative,
    Law.INVERSE: rotary.inverse,
    Law.TABLES_ON_CIRCLE: tabled.on_circle,
    Law.GEOMETRIC: yarn.geometric,
    Law.TRANSLATION: bias.alibi_translation,
    Law.ROW_CONSTANT: bias.row_constant,
    Law.HOMOGENEOUS: bias.homogeneous,
    Law.MONOTONE: bias.alibi_monotone,
    Law.ZERO_AT_ORIGIN: bias.alibi_zero_at_origin,
    Law.SATURATION: bias.bucket_saturation,
    Law.MIRROR: bias.mirror,
    Law.LOOKUP: bias.lookup,
    Law.WEIGHTS_SUM_TO_ONE: attention.weights_sum_to_one,
    Law.CONSTANT_VALUES: attention.constant_values,
    Law.CAUSAL: attention.causal,
    Law.SHIFT_MATRIX: additive.shift_matrix,
    Law.CONSTANT_NORM: additive.constant_norm,
    Law.DOT_PRODUCT: additive.dot_product,
    Law.BOUNDED: additive.bounded,
    Law.ORTHOGONAL: additive.orthogonal,
    Law.REDUCES_TO_ROPE: yarn.frequencies_reduce_to_rope,
    Law.BETWEEN: yarn.between,
    Law.RATIO_FALLS: yarn.ratio_falls,
    Law.SLOPES_IN_UNIT_INTERVAL: bias.slopes_in_unit_interval,
    Law.OVERRIDE: yarn.override,
}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("rope.apply", Law.ISOMETRY): tabled.isometry,
    ("rope.apply", Law.IDENTITY_AT_ORIGIN): tabled.identity_at_origin,
    ("rope.apply", Law.COMPOSITION): tabled.composition,
    ("rope.apply", Law.INVERSE): tabled.inverse,
    ("rope.tables", Law.IDENTITY_AT_ORIGIN): tabled.tables_at_origin,
    ("rope.tables", Law.COMPOSITION): tabled.addition,
    ("rope.weights", Law.TRANSLATION): attention.weights_translation,
    ("rope.attend", Law.TRANSLATION): attention.average_translation,
    ("sinusoidal.shift_matrix", Law.IDENTITY_AT_ORIGIN): additive.matrix_at_origin,
    ("sinusoidal.shift_matrix", Law.COMPOSITION): additive.matrix_addition,
    ("t5.bucket", Law.ZERO_AT_ORIGIN): bias.bucket_zero_at_origin,
    ("t5.bucket", Law.MONOTONE): bias.bucket_monotone,
    ("t5.bias", Law.TRANSLATION): bias.bias_translation,
    ("t5.bias", Law.SATURATION): bias.bias_saturation,
    ("yarn.attention_factor", Law.REDUCES_TO_ROPE): yarn.factor_reduces_to_rope,
    ("yarn.rotate", Law.REDUCES_TO_ROPE): yarn.rotation_reduces_to_rope,
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
    return SPECIAL.get((operation.name, law), LAWS[law])


def run(subject: Subject, laws: Sequence[Law], *, examples: int, seed: int) -> Iterator[Finding]:
    """Put drawn examples to a subject and yield one finding per law, the universal ones first."""
    universally = [Check(name, falsify, reason) for name, (falsify, reason) in UNIVERSAL.items()]
    claimed = [Check(law_name(law), checker(subject.operation, law), Reason.LAW) for law in laws]
    yield from run_checks(subject, [*universally, *claimed], examples=examples, seed=seed)
