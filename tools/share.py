"""Read on a command line how much of everything is asked for."""

import argparse
from fractions import Fraction


def share_of_all(text: str) -> Fraction:
    """Return a share such as 1/20, or raise what argparse words as wrong usage."""
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if not 0 < found <= 1:
        message = f"a share must be over 0 and up to 1, like 1/20, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return found
