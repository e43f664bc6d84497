"""posenc under its own name: what adapters and tests import of it."""

from conformance import Adapter, Unsupported, __getattr__

__all__ = ["Adapter", "Session", "Unsupported", "__getattr__", "assert_conforms"]
