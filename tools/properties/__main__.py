"""Write docs/properties.md, every cell of which is measured: ``python -m tools.properties [--check]``."""

import sys

from tools.properties.page import PAGE, text


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` return 1 where it isn't what is measured now."""
    if arguments == ["--check"]:
        fresh = PAGE.read_text(encoding="utf-8") == text()
        if not fresh:
            sys.stderr.write(f"{PAGE.name} must be what is measured now, got another text: run `make pages`\n")
        return int(not fresh)
    PAGE.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
