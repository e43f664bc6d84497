"""JSON in which every number is one that we can hold: finite, and of no more digits than 64 bits have."""

import json
import math
from collections.abc import Callable
from typing import Any

DIGITS = 19
SHOWN = 40


class NumberError(ValueError):
    """A number that is JSON and too large for us: what, in one line."""


def read(text: bytes | str, pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None) -> Any:
    """Return what a text says, objects made of their pairs; raise ``NumberError``, or another ``ValueError`` where it is no JSON."""
    return json.loads(text, parse_constant=_finite, parse_float=_finite, parse_int=_integer, object_pairs_hook=pairs)


def _finite(text: str) -> float:
    value = float(text)
    if math.isfinite(value):
        return value
    message = f"numbers must be finite, got {text[:SHOWN]}"
    raise NumberError(message)


def _integer(text: str) -> int:
    digits = len(text.lstrip("-"))
    if digits <= DIGITS:
        return int(text)
    message = f"integers must have at most {DIGITS} digits, got {digits}"
    raise NumberError(message)
