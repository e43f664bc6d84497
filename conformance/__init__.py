"""The harness: checks anyone's implementation against vectors and laws, and says which known mistake it sees."""

from typing import TYPE_CHECKING

from conformance.adapter import Adapter, Unsupported

if TYPE_CHECKING:
    from conformance.in_process import assert_conforms

__all__ = ["Adapter", "Unsupported", "assert_conforms"]


def __getattr__(name: str) -> object:
    """Import what is heavy when it is asked for."""
    if name == "assert_conforms":
        from conformance.in_process import assert_conforms

        return assert_conforms
    message = f"module 'conformance' has no attribute {name!r}"
    raise AttributeError(message)
