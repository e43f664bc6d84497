"""Fuzz what is read and kill what writes: ``python -m tools.soak --scale 1.0 --record docs/soak.md``.

A failure names its subject, seed and item: ``--only SUBJECT --seed N --item N`` repeats that one.
"""

import argparse
import datetime as dt
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from conformance.spec.files import write
from conformance.version import __version__
from tools.soak.fuzz import MEMORY, PATIENCE, Tally, fuzz
from tools.soak.kills import COMMANDS, Killed, kill
from tools.soak.moments import PATIENCE as PATIENT

#: How many of each at scale 1: the counts that the project promises; 200 kills, of which a quarter is by SIGTERM.
FUZZED: Mapping[str, int] = {
    "protocol lines": 100_000,
    "vector files": 20_000,
    "files of deviations": 10_000,
    "records": 10_000,
    "replies of workers": 100_000,
}
KILLS: Mapping[str, int] = dict(zip(COMMANDS, (52, 48, 52, 48), strict=True))
LIBRARIES = ("numpy", "pyyaml", "jsonschema", "packaging")
SHOWN = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak; return 1 where anything failed."""
    options = _options(arguments)
    started = time.perf_counter()
    print(f"seed {options.seed}, scale {options.scale:g}", flush=True)
    tallies = {name: _fuzzed(name, count, options) for name, count in FUZZED.items() if _wanted(name, options)}
    killed = _killed([name for name in KILLS if _wanted(name, options)], options)
    failures = _failures(tallies, killed)
    for failure in failures[:SHOWN]:
        print(failure, file=sys.stderr)
    if options.record is not None:
        write(options.record, record(tallies, killed, options.seed, time.perf_counter() - started))
    print(f"{len(failures)} failures, {time.perf_counter() - started:.0f} s")
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="how much of the full counts (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="which damage, which kills")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write what was tried and what failed there, as Markdown")
    parser.add_argument("--only", choices=[*FUZZED, *KILLS], metavar="SUBJECT", help="one of " + ", ".join([*FUZZED, *KILLS]))
    parser.add_argument("--item", type=int, metavar="N", help="one item of that subject, as a failure names it")
    return parser


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.item is not None and options.only is None:
        parser.error("--item must come with --only SUBJECT, got none")
    if options.record is not None and options.only is not None:
        parser.error(f"--record must be of everything, got --only {options.only!r}")
    return options


def _wanted(name: str, options: argparse.Namespace) -> bool:
    return options.only in (None, name)


def _items(count: int, options: argparse.Namespace) -> range:
    """Return which items are tried: as many as the scale asks for, or the one that is asked for."""
    return range(max(1, round(count * options.scale))) if options.item is None else range(options.item, options.item + 1)


def _fuzzed(name: str, count: int, options: argparse.Namespace) -> Tally:
    found = fuzz(name, _items(count, options), options.seed)
    print(f"{name}: {found.accepted} read, {found.refused} refused, {len(found.failures)} failed", flush=True)
    return found


def _killed(names: Sequence[str], options: argparse.Namespace) -> dict[str, Killed]:
    """Kill two commands side by side, since most of the time is spent waiting for imports."""
    with ThreadPoolExecutor(2) as pool:
        each = pool.map(lambda name: kill(name, _items(KILLS[name], options), options.seed), names)
        found = dict(zip(names, each, strict=True))
    for name, killed in found.items():
        print(f"{name}: killed {killed.kills} times, {len(killed.failures)} failed", flush=True)
    return found


def _failures(tallies: Mapping[str, Tally], killed: Mapping[str, Killed]) -> list[str]:
    return [
        *(failure for tally in tallies.values() for failure in tally.failures),
        *(failure for each in killed.values() for failure in each.failures),
    ]


def _row(name: str, tally: Tally) -> str:
    tried = tally.accepted + tally.refused + len(tally.failures)
    return f"| {name} | {tried:,} | {tally.accepted:,} | {tally.refused:,} | {len(tally.failures)} | {tally.peak >> 10} MiB |"


def record(tallies: Mapping[str, Tally], killed: Mapping[str, Killed], seed: int, seconds: float) -> str:
    """Return the record of a soak."""
    failures = _failures(tallies, killed)
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    fuzzed = [_row(name, tally) for name, tally in tallies.items()]
    kills = [f"| `{name}` | {k.kills} | {k.asked} | {k.partial} | {k.leftovers} | {len(k.failures)} |" for name, k in killed.items()]
    return "\n".join(
        [
            "# Soak",
            "",
            f"Written by `python -m tools.soak` on {dt.datetime.now(tz=dt.UTC).date()}, seed {seed}, in {seconds:.0f} s:",
            f"posenc {__version__}, {versions},",
            f"Python {platform.python_version()}, {platform.system()} {platform.machine()}.",
            "",
            "Inputs are damaged on purpose (cut, repeated, moved, other bytes, other types, huge numbers, deep nesting, aliases, tags,",
            f"repeated keys) and read. Each must give a right result or one clear line, within {PATIENCE} seconds and {MEMORY >> 30} GiB.",
            "What is accepted is checked against another reader, or written and read again.",
            "",
            "| what | tried | read | refused | failed | most memory |",
            "|---|---|---|---|---|---|",
            *fuzzed,
            "",
            "Commands are killed at a random moment of a run, or (half of the times) at a random step of changing files: before it, or",
            "up to 20 ms after. Three of four are killed by SIGKILL, the fourth by SIGTERM. Whatever is there must be whole, nothing",
            f"may be left running, and the next run must be right. After SIGTERM a command must end within {PATIENT} s: with status 130,",
            "or by the signal if it doesn't handle it. A report that it leaves may be partial, and says so.",
            "",
            "| command | kills | by SIGTERM | partial reports | left a `.….tmp` behind | failed |",
            "|---|---|---|---|---|---|",
            *kills,
            "",
            "What failed: " + ("none." if not failures else ""),
            *(f"- {failure}" for failure in failures[:SHOWN]),
            "",
        ]
    ).replace("\n\n\n", "\n\n")


if __name__ == "__main__":
    sys.exit(main())
