"""The adapter that the transformers4 modules fill: what only transformers 4.57 still has, in an environment of its own."""

from importlib.metadata import PackageNotFoundError, version

from conformance.adapt.adapter import Adapter
from conformance.isolate.targets import LibraryMissing

NEEDED = "4.57"


def installed() -> str:
    """Return the release of transformers that is installed, or raise where it is another than these modules are written for."""
    try:
        found = version("transformers")
    except PackageNotFoundError:
        found = "none"
    if not found.startswith(f"{NEEDED}."):
        message = f"transformers4 needs transformers {NEEDED}, got {found} (make check-legacy)"
        raise LibraryMissing(message)
    return found


adapter = Adapter("transformers4", framework="torch", dtypes=("float32",), version=installed())
