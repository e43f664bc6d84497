"""The harness: checks anyone's implementation against vectors and laws, and says which known mistake it sees."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.adapt.adapter import Adapter, Unsupported
    from conformance.in_process import assert_conforms
    from conformance.isolate.session import Session

__all__ = ["Adapter", "Session", "Unsupported", "assert_conforms"]

#: Where the names are.
LATE = {
    "Adapter": "conformance.adapt.adapter",
    "Session": "conformance.isolate.session",
    "Unsupported": "conformance.adapt.adapter",
    "assert_conforms": "conformance.in_process",
}


def __getattr__(name: str) -> object:
    """Import what a name stands for when it is asked for."""
    if name in LATE:
        return getattr(import_module(LATE[name]), name)
    message = f"module 'conformance' has no attribute {name!r}"
    raise AttributeError(message)
