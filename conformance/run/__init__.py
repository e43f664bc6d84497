"""Judge a target: start its worker, and only then import all that judges it, since both take their time."""

import contextlib
import functools
import os
import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.adapt.adapter import near_miss
from conformance.calls.limits import Limits
from conformance.calls.outcomes import Report
from conformance.isolate import allocation
from conformance.isolate.session import Session
from conformance.isolate.targets import TargetError, configured

if TYPE_CHECKING:
    from conformance.run.sharding import Shard

LEVELS = ("smoke", "core", "full")
#: Seeds of runs that were given none: short enough to be typed again.
SEEDS = 1_000_000
#: The environment variable by which Hypothesis is told so.
PLUGINLESS = "HYPOTHESIS_NO_PLUGINS"

Progress = Callable[[int, int, str], None]


def check(
    target: str,
    *,
    schemes: Collection[str] | None = None,
    operations: Collection[str] | None = None,
    cases: Collection[str] | None = None,
    profile: str | None = None,
    level: str = "core",
    seed: int = 0,
    shard: "Shard | Callable[[], Shard] | None" = None,
    jobs: int = 1,
    progress: Progress | None = None,
    limits: Limits | None = None,
    under: str | None = None,
) -> Report:
    """Judge every implementation that the target offers; an interruption returns what there is, marked incomplete.

    ``under`` names a circumstance of the target's framework in which every call is made (``autocast``, ``cast``).
    A ``shard`` that can be called is asked for once there is a worker. Raises ``SelectionError`` where the framework doesn't have
    the circumstance, and ``TargetError`` where the adapter is at fault in all that is asked: nothing else is lost by that.
    """
    if level not in LEVELS:
        message = f"level must be one of {', '.join(LEVELS)}, got {level!r}{near_miss(level, LEVELS)}"
        raise ValueError(message)
    if jobs > 1 and shard is None:
        part = functools.partial(
            check,
            target,
            schemes=schemes,
            operations=operations,
            cases=cases,
            profile=profile,
            level=level,
            seed=seed,
            limits=limits,
            under=under,
        )
        from conformance.run import sharding

        return _judgeable(sharding.side_by_side(part, target, jobs, progress))
    report: Report | None = None
    try:
        with Session(target, limits, under=under) as session:
            session.start()
            with _without_plugins():
                from conformance.run import orchestrator

            allocation.keep_imported()  # Hypothesis collects once, by itself
            if callable(shard):
                session.about  # noqa: B018  only one that has a worker takes a share
                shard = shard()
            by_configuration = configured(target)[0] is not None
            selection = orchestrator.Selection(schemes, operations, cases, profile, level, seed, shard, under, by_configuration)
            report = orchestrator.judge(session, selection, progress or _silent)
    except KeyboardInterrupt:
        if report is None:
            raise
        report = replace(report, complete=False)  # the worker was just being ended
    return report if shard else _judgeable(report)


def _judgeable(report: Report) -> Report:
    report = report.blamed()
    if report.fault:
        raise TargetError(report.fault)
    return report


@contextlib.contextmanager
def _without_plugins() -> Iterator[None]:
    """Have Hypothesis import no plugins of other packages: what is drawn is no matter of theirs, and some import a test framework."""
    before = os.environ.get(PLUGINLESS)
    os.environ[PLUGINLESS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[PLUGINLESS]
        else:
            os.environ[PLUGINLESS] = before


def any_seed() -> int:
    """Return a seed for a run that was given none."""
    return random.SystemRandom().randrange(SEEDS)


def _silent(done: int, total: int, text: str) -> None:
    """Show nothing."""
