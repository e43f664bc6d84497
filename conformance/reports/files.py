"""Write reports into a folder, and render a record."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conformance.calls.outcomes import Report
from conformance.reports import badge, junit, lines, markdown, page
from conformance.spec import files

#: What a report can be rendered as, and the file that it becomes.
FORMATS: Mapping[str, tuple[str, Callable[[Sequence[Report]], str]]] = {
    "record": ("record.jsonl", lines.text),
    "junit": ("junit.xml", junit.text),
    "markdown": ("summary.md", markdown.text),
    "html": ("report.html", page.text),
    "badge": ("badge.svg", badge.text),
}


def write(reports: Sequence[Report], folder: Path) -> list[Path]:
    """Write every format into the folder, the record first, and return the files; one that can't be written keeps none of the others back.

    Raises the first ``OSError`` or ``OutputError`` when all were tried.
    """
    files.make_ready(folder)
    written, refused = list[Path](), list[Exception]()
    for name, render in FORMATS.values():
        try:
            files.write(folder / name, render(reports))
        except (OSError, files.OutputError) as error:
            refused.append(error)
        else:
            written.append(folder / name)
    if refused:
        raise refused[0]
    return written
