"""Files and folders that a command is given by name."""

from pathlib import Path
from typing import Any

import click


class Place(click.Path):
    """A file or folder by its name: the empty one, as of a variable that isn't set, would be wherever the command runs.

    A name that ends as that of a folder is none of a file.
    """

    def __init__(self, **asked: Any) -> None:
        """Ask of it what ``click.Path`` can ask."""
        super().__init__(path_type=Path, **asked)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or tell that there is no name, or none of that name and which is close."""
        if not str(value) or (self.file_okay and str(value).endswith("/")):
            self.fail(f"{'file' if self.file_okay else 'folder'} must have a name, got {str(value)!r}", param, ctx)
        if self.exists and not Path(value).exists():
            from conformance.adapt.adapter import near_file

            self.fail(f"{self.name} must be one that exists, got {str(value)!r}{near_file(Path(value))}", param, ctx)
        there = Path(value)
        if there.is_dir() and not self.dir_okay:
            self.fail(f"file must not be a folder, got {str(value)!r}", param, ctx)
        if not self.file_okay and there.exists() and not there.is_dir():
            self.fail(f"folder must not be a file, got {str(value)!r}", param, ctx)
        return super().convert(value, param, ctx)
