"""``posenc``, also as ``python -m posenc``: our own packages, whatever is called as they are in the folder where it runs."""

import sys

from posenc import ROOT


def main() -> int:
    """Run the program; parts of it that run side by side look for modules where it does."""
    sys.path.insert(0, ROOT)
    from conformance.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
