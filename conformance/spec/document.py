"""Read the strict part of YAML that our files use: no aliases, anchors or tags, no repeated keys, no NaN."""

import math
import re
from pathlib import Path
from typing import Any

import yaml

MAXIMUM_BYTES = 16 * 1024 * 1024
MAXIMUM_DEPTH = 12
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
REAL = re.compile(r"-?[0-9]+\.[0-9]*(?:e[-+][0-9]+)?")
WORDS = {"null": None, "true": True, "false": False, ".inf": float("inf"), "-.inf": float("-inf")}

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class DocumentError(Exception):
    """A document outside the strict part of YAML: what, and at which line."""


def contents(path: Path) -> bytes:
    """Return the bytes of a file; of one that is too large, or never ends, no more is read than shows it."""
    with path.open("rb") as stream:
        found = stream.read(MAXIMUM_BYTES + 1)
    _check_size(found)
    return found


def read(text: bytes) -> Any:
    """Return the one document of a YAML text."""
    _check_size(text)
    loader = _Loader(text)
    try:
        return _document(loader)
    except yaml.YAMLError as error:
        message = f"a document must be YAML, got {' '.join(str(error).split())}"
        raise DocumentError(message) from None
    finally:
        loader.dispose()


def _check_size(text: bytes) -> None:
    if len(text) > MAXIMUM_BYTES:
        message = f"a document must have at most {MAXIMUM_BYTES} bytes, got more"
        raise DocumentError(message)


def _document(loader: Any) -> Any:
    loader.get_event()
    if isinstance(loader.get_event(), yaml.StreamEndEvent):
        message = "a document must say something, got nothing"
        raise DocumentError(message)
    value = _value(loader, loader.get_event(), 0)
    loader.get_event()
    if not isinstance(loader.get_event(), yaml.StreamEndEvent):
        message = "a file must hold one document, got a second one"
        raise DocumentError(message)
    return value


def _value(loader: Any, event: Any, depth: int) -> Any:
    kind = type(event)
    if kind is yaml.ScalarEvent:
        return _scalar(event)
    _refuse(event, depth)
    return _sequence(loader, depth + 1) if kind is yaml.SequenceStartEvent else _mapping(loader, depth + 1)


def _refuse(event: Any, depth: int) -> None:
    if isinstance(event, yaml.AliasEvent):
        raise _error(event, "an alias must not be used", f"*{event.anchor}")
    if event.anchor is not None:
        raise _error(event, "an anchor must not be used", f"&{event.anchor}")
    if event.tag is not None:
        raise _error(event, "a tag must not be used", event.tag)
    if depth >= MAXIMUM_DEPTH:
        raise _error(event, f"nesting must be at most {MAXIMUM_DEPTH} deep", "more")


def _error(event: Any, rule: str, value: object) -> DocumentError:
    return DocumentError(f"line {event.start_mark.line + 1}: {rule}, got {value}")


def _sequence(loader: Any, depth: int) -> list[Any]:
    values = []
    while type(event := loader.get_event()) is not yaml.SequenceEndEvent:
        values.append(_scalar(event) if type(event) is yaml.ScalarEvent else _value(loader, event, depth))
    return values


def _mapping(loader: Any, depth: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    while type(event := loader.get_event()) is not yaml.MappingEndEvent:
        key = _value(loader, event, depth)
        if not isinstance(key, str):
            raise _error(event, "a key must be text", repr(key))
        if key in values:
            raise _error(event, "a key must appear once", repr(key))
        values[key] = _value(loader, loader.get_event(), depth)
    return values


def _scalar(event: Any) -> Any:
    """Return one leaf; plain words that YAML versions read differently stay text, and fail where a number is due."""
    if event.anchor is not None or event.tag is not None:
        _refuse(event, 0)
    text = event.value
    if event.style:
        return text
    if REAL.fullmatch(text):
        return _finite(text)
    if INTEGER.fullmatch(text):
        return int(text)
    if text == ".nan":
        raise _error(event, "a number must not be NaN", text)
    return WORDS.get(text, text)


def _finite(text: str) -> float | str:
    """Return a number, or the text where it is beyond the range of a float."""
    value = float(text)
    return text if math.isinf(value) else value
