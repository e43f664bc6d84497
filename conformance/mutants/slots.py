"""What goes wrong with every scheme of a form, whatever fills its slots: a new one inherits it without a line of its own."""

from collections.abc import Iterator
from dataclasses import replace

from conformance.mutants import bias, rotary
from conformance.mutants.building import OPERATIONS, Mistake
from conformance.mutants.rope import operation_mutants
from conformance.mutants.rope_attention import of_attention, of_pairs
from conformance.spec.mutant import Mutant
from refimpl.schemes import rope

PLAIN = Mistake(
    "plain-rope",
    does="turns as plain rope does: by neither the frequencies of the rule nor its attention factor",
    should="apply both",
    fix="read rope_type and all that stands beside it in every spelling",
    origin="in the style of code that leaves out rope_scaling, which was reported for YaRN's frequencies",
)


def mutants(operation: str) -> Iterator[Mutant]:
    """Return the mistakes of rope that befall another rotary operation, whose threads are not its own, and the mistakes of every bias."""
    form = rotary.form_of(operation)
    if form not in (None, rope.FORM):
        weighs, meets = (name in (*OPERATIONS[operation].parameters, *OPERATIONS[operation].arrays) for name in ("causal", "q"))
        met = of_attention(operation) if weighs else of_pairs(operation) if meets else ()
        for mutant in (*operation_mutants(operation), *met):
            yield replace(mutant, threads=(), origin=mutant.origin or "reported for rope", inherited=True)
    if form is not None and form.factor is not None and form.frequencies is not rope.frequencies and operation.endswith(".rotate"):
        plain = rotary.Rotary(theta=lambda *_, head_dim, base, **__: rotary.spectrum(head_dim, base), size=lambda **_: 1.0)
        yield replace(PLAIN.at(operation, plain.of(operation)), inherited=True)
    if bias.form_of(operation) is not None:
        yield from (replace(mutant, inherited=True) for mutant in bias.inherited(operation))
