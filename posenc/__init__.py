"""posenc under its own name: what adapters and tests import of it, and pytest's plugin."""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance import Adapter, Session, Unsupported, assert_conforms

__all__ = ["Adapter", "Session", "Unsupported", "assert_conforms"]

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120  pytest loads this in every project


def import_ours() -> None:
    """Import the packages that lie beside this one, whatever else is called as they are, or raise ``ImportError``."""
    sys.path.insert(0, ROOT)
    try:
        for name in ("conformance", "refimpl"):
            found = [os.path.realpath(path) for path in getattr(import_module(name), "__path__", ())]
            if found != [os.path.join(ROOT, name)]:  # noqa: PTH118  the same
                message = f"{name} must be the package of posenc, got one that was imported before from {found}"
                raise ImportError(message)
    finally:
        sys.path.remove(ROOT)


def __getattr__(name: str) -> object:
    """Import what a name stands for when it is asked for: pytest loads this in every project, whatever is named conformance there."""
    import_ours()
    from conformance import __getattr__ as found

    return found(name)
