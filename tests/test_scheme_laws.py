"""Every operation claims three laws or more besides those of every operation, or says here why fewer exist."""

import pytest

from refimpl.schemes import SCHEMES, operations

ENOUGH = 3
#: Operations of which fewer than three equations are known, with the reason.
FEWER: dict[str, str] = {}


def claimed(operation: str) -> int:
    """Return how many laws an operation claims."""
    scheme, _, short = operation.partition(".")
    return len(set(SCHEMES[scheme].laws[short]))


@pytest.mark.parametrize("operation", operations())
def test_every_operation_claims_three_laws_or_says_why_not(operation: str) -> None:
    assert claimed(operation) >= ENOUGH or FEWER.get(operation)


def test_no_operation_is_excused_without_need() -> None:
    assert set(FEWER) <= set(operations())
    assert all(claimed(operation) < ENOUGH for operation in FEWER)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_law_is_claimed_twice(scheme: str) -> None:
    assert all(len(set(laws)) == len(laws) for laws in SCHEMES[scheme].laws.values())
