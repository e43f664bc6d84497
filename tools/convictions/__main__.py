"""``python -m tools.convictions``: write what convicts each known mistake, or refuse where that loses something; ``--check`` compares."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from conformance.spec import files
from conformance.spec.declarations import operations
from tools import documents
from tools.convictions import lock
from tools.convictions.computed import convicting, vectors
from tools.convictions.lock import Lock, LockError


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check; return 1 where, with ``--check``, the lock isn't what it would be now, or where a loss isn't acknowledged."""
    options = _options(arguments)
    try:
        before = lock.read(options.lock)
    except LockError as error:
        return documents.complain([str(error)])
    found = {name: cases for operation in operations() for name, cases in convicting(operation).items()}
    after = lock.locked(found)
    refused = stale(before, after) if options.check else unacknowledged(before, after, options.lose)
    if status := documents.complain(refused):
        return status
    if not options.check:
        files.write(options.lock, lock.text(after))
    print("\n".join(told(found, after, redundant=options.redundant)))
    return 0


def stale(before: Lock, after: Lock) -> list[str]:
    """Return where a lock isn't what is computed, and what to do."""
    found = list(lock.differences(before, after))
    return [*found, "the lock must be written again (make convictions)"] if found else []


def unacknowledged(before: Lock, after: Lock, acknowledged: Iterable[str]) -> list[str]:
    """Return every loss that isn't acknowledged, and every name that is acknowledged and not lost."""
    lost, named = lock.losses(before, after), set(acknowledged)
    refused = [f"{sentence}; if that is meant: --lose {name}" for name, sentence in lost.items() if name not in named]
    return [*refused, *(f"--lose must name what would be lost, got {name}" for name in sorted(named - lost.keys()))]


def told(found: Mapping[str, Sequence[str]], after: Lock, *, redundant: bool) -> Iterator[str]:
    """Yield how many cases convict something alone, and which convict nothing; all that convict nothing alone where that is asked for."""
    convicted = Counter(case for cases in found.values() for case in cases)
    alone = {cases[0] for cases in found.values() if len(cases) == 1}
    idle = [case for case in vectors() if not convicted[case]]
    yield f"{len(after):,} mutants, {sum(each.alone for each in after.values())} of them convicted by one case alone"
    yield f"{len(alone)} of {len(vectors()):,} cases convict a mutant alone; {len(idle)} convict none: {', '.join(idle)}"
    if redundant:
        yield from (f"{case} convicts {convicted[case]}, none alone" for case in vectors() if case not in alone)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.convictions", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name what isn't up to date")
    parser.add_argument("--lose", action="append", default=[], metavar="NAME", help="acknowledge the loss of this mutant or case")
    parser.add_argument("--redundant", action="store_true", help="list the cases that convict no mutant alone")
    parser.add_argument("--lock", type=Path, default=lock.PATH, help="where the lock file is")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
