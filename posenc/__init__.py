"""posenc under its own name: what adapters and tests import of it, and pytest's plugin."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance import Adapter, Session, Unsupported, assert_conforms

__all__ = ["Adapter", "Session", "Unsupported", "assert_conforms"]


def __getattr__(name: str) -> object:
    """Import what a name stands for when it is asked for: pytest loads this in every project, whatever is named conformance there."""
    from conformance import __getattr__ as found

    return found(name)
