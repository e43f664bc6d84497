"""Write YAML that every YAML 1.1 and 1.2 reader understands alike: one row of numbers per line, no aliases."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence

PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_ ./^*+()|<>;'-]*[A-Za-z0-9_)])?")
WORDS_OF_YAML = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})

Scalar = str | int | float | bool | None
Tree = Scalar | Mapping[str, "Tree"] | Sequence["Tree"]


def write(document: Mapping[str, Tree]) -> str:
    """Return the document as YAML text."""
    return "".join(f"{line}\n" for line in _mapping(document))


def _mapping(value: Mapping[str, Tree]) -> Iterator[str]:
    for key, item in value.items():
        yield from _item(f"{scalar(key)}:", item)


def _sequence(value: Sequence[Tree]) -> Iterator[str]:
    for item in value:
        first, *others = _mapping(item) if isinstance(item, Mapping) and item else _item("", item)
        yield f"- {first.lstrip()}".rstrip()
        yield from (f"  {line}" for line in others)


def _item(label: str, value: Tree) -> Iterator[str]:
    if _inline(value):
        yield f"{label} {_flow(value)}"
        return
    yield label
    lines = _mapping(value) if isinstance(value, Mapping) else _sequence(value)  # type: ignore[arg-type]  # not inline: no scalar
    yield from (f"  {line}" for line in lines)


def _inline(value: Tree) -> bool:
    """Say whether a value takes one line: a scalar, a row of scalars, or nothing at all."""
    if isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        return True
    if isinstance(value, Mapping):
        return not value
    return not any(isinstance(item, Mapping | Sequence) and not isinstance(item, str) for item in value)


def _flow(value: Tree) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(scalar, value))}]"  # type: ignore[arg-type]  # a row holds scalars
    return scalar(value)


def scalar(value: Scalar) -> str:
    """Return one leaf, quoted or dotted where YAML 1.1 would read it as something else."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _number(value)
        case _:
            return value if PLAIN.fullmatch(value) and value.lower() not in WORDS_OF_YAML else _quoted(value)


def _number(value: float) -> str:
    """Return the shortest text that reads back as the same float; YAML 1.1 wants a dot before an exponent."""
    if math.isnan(value):
        message = "a number must not be NaN, got nan"
        raise ValueError(message)
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    mantissa, mark, exponent = repr(value).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}{mark}{exponent}"


def _quoted(value: str) -> str:
    return f'"{"".join(map(_character, value))}"'


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    return f"\\U{ord(character):08x}"
