"""The lock file: the first golden case that convicts each known mistake, and whether it does so alone."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.spec.mutant import slug

PATH = Path(__file__).resolve().parents[2] / "conformance" / "mutants" / "convictions.lock"
NOTICE = "# The first golden case that convicts each known mistake; alone: no other case does. Written by `make convictions`."
OPERATION = re.compile(r"(\S+): \d+ mutants, \d+ convicted by one case alone")
MUTANT = re.compile(r"  (\S+): (no case|\S+?)(, alone)?")
NOTHING = "no case"


class LockError(Exception):
    """A lock file that isn't as it was written."""


@dataclass(frozen=True)
class Conviction:
    """The first case that convicts a mutant, without its operation, and whether no other case does; or none."""

    case: str = NOTHING
    alone: bool = False

    def __bool__(self) -> bool:
        """Return whether any case convicts the mutant."""
        return self.case != NOTHING

    def __str__(self) -> str:
        """Return it as it is written in the file."""
        return f"{self.case}{', alone' * self.alone}"


Lock = Mapping[str, Conviction]
UNCONVICTED = Conviction()


def locked(convicting: Mapping[str, Sequence[str]]) -> Lock:
    """Return the lock of the cases that convict each mutant."""
    return {name: Conviction(slug(cases[0]), alone=len(cases) == 1) if cases else UNCONVICTED for name, cases in convicting.items()}


def cases(lock: Lock) -> dict[str, str]:
    """Return the case that convicts each mutant that a case convicts."""
    return {name: _case(name, conviction) for name, conviction in lock.items() if conviction}


def read(path: Path = PATH) -> Lock:
    """Return what a lock file says; raise where it isn't exactly as it was written."""
    if not path.is_file():
        message = f"{path.name} must be there, got no file; `git checkout` brings it back"
        raise LockError(message)
    found = path.read_text(encoding="utf-8", errors="replace")
    lock = dict(_read(found))
    pairs = itertools.zip_longest(text(lock).splitlines(), found.splitlines(), fillvalue="nothing")
    for number, (written, line) in enumerate(pairs, start=1):
        if written != line:
            message = f"{path.name}, line {number} must read {written.strip()!r}, got {line.strip()!r}; `git checkout` brings it back"
            raise LockError(message)
    return lock


def _read(found: str) -> Iterator[tuple[str, Conviction]]:
    operation = ""
    for line in found.splitlines():
        if heading := OPERATION.fullmatch(line):
            operation = heading[1]
        elif mutant := MUTANT.fullmatch(line):
            yield f"{operation}/{mutant[1]}", Conviction(mutant[2], alone=bool(mutant[3]))


def text(lock: Lock) -> str:
    """Return the file: sorted, a line for each mutant; counts of each operation and of all would contradict a lost line."""
    blocks = [_block(operation, list(names), lock) for operation, names in itertools.groupby(sorted(lock), key=operation_of)]
    return "\n".join([NOTICE, "", *blocks, f"# end: {len(lock)} mutants", ""])


def _block(operation: str, names: Sequence[str], lock: Lock) -> str:
    alone = sum(lock[name].alone for name in names)
    heading = f"{operation}: {len(names)} mutants, {alone} convicted by one case alone"
    return "\n".join([heading, *(f"  {slug(name)}: {lock[name]}" for name in names), ""])


def losses(before: Lock, after: Lock) -> dict[str, str]:
    """Return what is lost, in words: mutants that no case convicts any more, or yet, and cases that convict none alone any more."""
    return {**_unconvicted(before, after), **_no_longer_alone(before, after)}


def _unconvicted(before: Lock, after: Lock) -> dict[str, str]:
    lost = {name: f"{name} must stay a mutant, convicted by {before[name]}; got none of that name" for name in before if name not in after}
    for name in (name for name, conviction in after.items() if not conviction):
        if name not in before:
            lost[name] = f"{name} must be convicted by a golden case, got none; add one that exposes it to the cases of its scheme"
        elif before[name]:
            lost[name] = f"{name} must stay convicted by a golden case, got none; {before[name].case} convicted it"
    return lost


def _no_longer_alone(before: Lock, after: Lock) -> dict[str, str]:
    """Name the cases that convicted mutants alone, and convict none alone now, though others still convict these."""
    still = {_case(name, conviction) for name, conviction in after.items() if conviction.alone}
    alone = {name: _case(name, conviction) for name, conviction in before.items() if conviction.alone}
    return {
        case: f"{case} must stay the only case to convict a mutant, as it was of {slug(name)}; got other cases that convict it"
        for name, case in alone.items()
        if case not in still and after.get(name)
    }


def differences(before: Lock, after: Lock) -> Iterator[str]:
    """Yield in words where a lock isn't what is computed."""
    for name in sorted({*before, *after}):
        if name not in after:
            yield f"{name} must be a known mistake, got a name that no mutant has"
        elif before.get(name) != after[name]:
            yield f"{name} must be convicted by {after[name]}, got {before.get(name, 'no line')} in the lock"


def operation_of(name: str) -> str:
    """Return the operation of a mutant or case."""
    return name.partition("/")[0]


def _case(name: str, conviction: Conviction) -> str:
    return f"{operation_of(name)}/{conviction.case}"
