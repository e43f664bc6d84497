"""Every law can be falsified, every checker belongs to a law that some scheme claims."""

import pytest

from conformance import laws
from conformance.laws.noise import NOISE
from refimpl.schemes import SCHEMES, operations
from refimpl.spec import Law

OPERATIONS = operations()
CLAIMED = {(f"{scheme.name}.{short}", law) for scheme in SCHEMES.values() for short, claimed in scheme.laws.items() for law in claimed}


@pytest.mark.parametrize("law", Law)
def test_every_law_has_a_checker(law: Law) -> None:
    assert callable(laws.LAWS[law])


@pytest.mark.parametrize("law", Law)
def test_every_law_is_claimed_by_an_operation(law: Law) -> None:
    assert law in {claimed for _, claimed in CLAIMED}


def test_every_special_form_is_claimed() -> None:
    assert set(laws.SPECIAL) <= CLAIMED


def test_every_general_form_is_used() -> None:
    general = {law for name, law in CLAIMED if (name, law) not in laws.SPECIAL}

    assert general == set(Law)


def test_laws_are_claimed_for_operations_that_exist() -> None:
    assert {name for name, _ in CLAIMED} <= set(OPERATIONS)


def test_every_operation_claims_a_law() -> None:
    assert {name for name, _ in CLAIMED} == set(OPERATIONS)


def test_every_operation_says_what_computing_twice_may_change() -> None:
    assert set(NOISE) == set(OPERATIONS)


def test_laws_are_named_in_words() -> None:
    assert laws.law_name(Law.IDENTITY_AT_ORIGIN) == "identity at origin"
    assert len({laws.law_name(law) for law in Law} | set(laws.UNIVERSAL)) == len(Law) + len(laws.UNIVERSAL)
