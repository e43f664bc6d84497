"""Where the vectors are."""

from importlib import resources
from pathlib import Path


def vectors_directory() -> Path:
    """Return where the vectors are: inside the installed package, or beside it in a checkout."""
    package = Path(str(resources.files("conformance")))
    installed = package / "_vectors"
    return installed if installed.is_dir() else package.parent / "vectors"
