"""What goes wrong with every rotary scheme, whatever fills its slots: a new one inherits it without a line of its own."""

from collections.abc import Iterator
from dataclasses import replace

from conformance.mutant import Mutant
from conformance.mutants.building import OPERATIONS
from conformance.mutants.rope import operation_mutants
from conformance.mutants.rotary import form_of
from refimpl.schemes import rope


def mutants() -> Iterator[Mutant]:
    """Return the mistakes of rope that befall the operations of other rotary schemes; threads in which rope met them are not theirs."""
    for operation in OPERATIONS:
        if form_of(operation) not in (None, rope.FORM):
            for mutant in operation_mutants(operation):
                yield replace(mutant, threads=(), origin=mutant.origin or "reported for rope", inherited=True)
