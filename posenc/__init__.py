"""posenc under its own name: what adapters and tests import of it."""

from typing import TYPE_CHECKING

from conformance import __getattr__

if TYPE_CHECKING:
    from conformance import Adapter, Session, Unsupported, assert_conforms

__all__ = ["Adapter", "Session", "Unsupported", "__getattr__", "assert_conforms"]
