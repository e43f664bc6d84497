"""The release that an adapter is written for, where it needs an environment of its own."""

from importlib import metadata

from conformance.isolate.targets import LibraryMissing


def installed(library: str, needed: str, *, target: str, command: str) -> str:
    """Return the release of a library that is installed, or raise where it is another than a target's modules are written for."""
    try:
        found = metadata.version(library)
    except metadata.PackageNotFoundError:
        found = "none"
    if not f"{found}.".startswith(f"{needed}."):
        message = f"{target} needs {library} {needed}, got {found} (make {command})"
        raise LibraryMissing(message)
    return found
