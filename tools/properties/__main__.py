"""Write docs/properties.md, every cell of which is measured: ``python -m tools.properties [--check]``."""

import sys

from tools import documents
from tools.properties.page import PAGE, text


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` return 1 where it isn't what is measured now."""
    texts = {PAGE.name: text()}
    if arguments == ["--check"]:
        stale = documents.differing(PAGE.parent, texts)
        return documents.complain(f"{name} must be what is measured now, got another text: run `make pages`" for name in stale)
    documents.write(PAGE.parent, texts)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
