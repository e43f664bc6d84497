"""Check the names that a person types against what exists, and say the near miss."""

from collections.abc import Collection, Sequence

from conformance.adapter import near_miss
from conformance.declarations import operations as declared
from conformance.profiles import PROFILES
from refimpl.schemes import SCHEMES


class SelectionError(Exception):
    """A name that doesn't exist."""


def case_ids() -> dict[str, str]:
    """Return what every case exposes, by its id."""
    return {f"{scheme.name}.{case.name}": case.exposes for scheme in SCHEMES.values() for case in scheme.cases}


def verify(schemes: Sequence[str], operations: Sequence[str], cases: Sequence[str], profile: str | None) -> None:
    """Raise ``SelectionError`` at the first name that doesn't exist."""
    verify_names("scheme", schemes, SCHEMES)
    verify_names("operation", operations, declared())
    verify_names("case", cases, case_ids() if cases else ())
    verify_names("profile", [profile] if profile else [], PROFILES)


def verify_names(thing: str, names: Sequence[str], known: Collection[str]) -> None:
    """Raise ``SelectionError`` at the first name that isn't known."""
    for name in names:
        if name not in known:
            message = f"{thing} must be one that `posenc list` names, got {name!r}{near_miss(name, known)}"
            if thing == "profile":
                message = f"profile must be one of {', '.join(known)}, got {name!r}{near_miss(name, known)}"
            raise SelectionError(message)
