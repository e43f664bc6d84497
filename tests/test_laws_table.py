"""Every operation claims laws, and every checker belongs to a law that some scheme claims."""

import pytest

from conformance import laws
from refimpl.schemes import SCHEMES, operations
from refimpl.spec import Law

OPERATIONS = operations()
CLAIMED = {(f"{scheme.name}.{short}", law) for scheme in SCHEMES.values() for short, claimed in scheme.laws.items() for law in claimed}


@pytest.mark.parametrize("law", Law)
def test_every_law_is_claimed_by_an_operation(law: Law) -> None:
    assert law in {claimed for _, claimed in CLAIMED}


def test_every_law_that_is_claimed_has_a_checker_and_every_checker_a_claim() -> None:
    used = {laws.checker(OPERATIONS[name], law) for name, law in CLAIMED}

    assert used == {checker for family in (laws.GENERAL, *laws.PECULIAR.values()) for checker in family.values()}


def test_laws_are_claimed_for_operations_that_exist() -> None:
    assert {name for name, _ in CLAIMED} <= set(OPERATIONS)


def test_laws_are_named_in_words() -> None:
    assert laws.law_name(Law.IDENTITY_AT_ORIGIN) == "identity at origin"
    assert len({laws.law_name(law) for law in Law} | set(laws.UNIVERSAL)) == len(Law) + len(laws.UNIVERSAL)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_claims_three_laws_besides_those_of_all(operation: str) -> None:
    scheme, _, short = operation.partition(".")
    claimed = SCHEMES[scheme].laws[short]

    assert len(set(claimed)) == len(claimed) >= 3
