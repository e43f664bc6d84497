"""``posenc``, also as ``python -m posenc``: our own packages, whatever is called as they are in the folder where it runs."""

import signal
import sys

from posenc import ROOT


def main() -> int:
    """Run the program; parts of it that run side by side look for modules where it does.

    Ctrl-C ends it without a word until the program heeds it: Python would show where in its imports it was.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.path.insert(0, ROOT)
    from conformance.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
