"""``posenc check``: the verdict on every target, told and kept one after another, so that an interruption leaves those before it."""

import functools
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.calls.status import worst
from conformance.commands.limited import limited
from conformance.commands.places import Place
from conformance.commands.telling import keeping, refuse
from conformance.spec.profiles import CIRCUMSTANCES

if TYPE_CHECKING:
    from conformance.calls.outcomes import Report
    from conformance.show.baseline import Baseline


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET...]")
@click.option("--command", "commands", multiple=True, metavar="COMMAND", help="A program that speaks the line protocol (docs/protocol.md).")
@click.option("--config", "configurations", multiple=True, metavar="FILE", help="Judge code by this model's config.json; may be repeated.")
@click.option("--scheme", "schemes", multiple=True, help="Judge only this scheme; may be repeated.")
@click.option("--operation", "operations", multiple=True, help="Judge only this operation; may be repeated.")
@click.option("--case", "cases", multiple=True, metavar="ID", help="Judge only this case; may be repeated.")
@click.option("--profile", help="Require this precision instead of the declared one.")
@click.option("--level", type=click.Choice(["smoke", "core", "full"]), default="core", show_default=True, help="How many cases to judge.")
@click.option("--seed", type=click.IntRange(min=0), help="The seed of all draws; without it every run draws anew and prints its seed.")
@click.option("--under", type=click.Choice(CIRCUMSTANCES), help="Call under torch's autocast, or with modules cast, or built on meta.")
@click.option("--shard", metavar="K/N", help="Judge only part K of N; all parts together are the whole run.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="How many parts to judge at the same time.")
@click.option("--baseline", type=Place(dir_okay=False), metavar="FILE", help="Waive the known deviations of FILE (docs/deviations.md).")
@click.option("--update-baseline", "update", is_flag=True, help="Write what fails now into the file of --baseline.")
@click.option("--report", "folder", type=Place(file_okay=False), metavar="DIR", help="Write record, HTML, JUnit, Markdown and badge there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document per target, each on a line.")
@click.option("--verbose", is_flag=True, help="Print every failure and every reason.")
@limited
@click.pass_context
def check(
    context: click.Context,
    /,
    *,
    targets: tuple[str, ...],
    commands: tuple[str, ...],
    configurations: tuple[str, ...],
    baseline: Path | None,
    update: bool,
    folder: Path | None,
    as_json: bool,
    verbose: bool,
    **asked: Any,
) -> None:
    """Judge each TARGET: a file, file:object, module:object, or the name of a bundled adapter (see `posenc list`)."""
    from conformance.isolate import allocation

    allocation.collect_rarely()  # what is imported next lasts, too
    from conformance.isolate.targets import COMMAND, CONFIGURATION

    every = (*targets, *(COMMAND + command for command in commands))
    if configurations:
        _verify_readable(configurations)
        every = tuple(f"{CONFIGURATION}{path}:{target}" for path in configurations for target in every)
    if not every:
        message = "check must get a TARGET or a --command, got neither"
        raise click.UsageError(message)
    judge = _judge(**asked)
    allocation.keep_freed()
    part = any(asked[name] for name in ("schemes", "operations", "cases", "shard")) or asked["level"] == "smoke"
    deviations = _deviations(baseline, update=update, whole=not part)
    _make_ready(folder, baseline if update else None)
    tell = functools.partial(_tell, as_json=as_json, verbose=verbose)
    pass_over = tell if as_json else _nothing
    reports, unkept = _each(every, judge, deviations, tell, pass_over, _nowhere if folder is None else functools.partial(_keep, folder))
    status = worst(report.status for report in reports)
    with keeping(status):
        if deviations is not None and deviations.write():
            click.echo(f"wrote {baseline}", err=True)
        if unkept is not None:
            raise unkept
    context.exit(status)


def _verify_readable(paths: Sequence[str]) -> None:
    """Raise where a configuration can't be read."""
    from conformance.adapt.adapter import near_file
    from conformance.adapt.configured import ConfigurationError, loaded

    for path in paths:
        if not path.endswith(".json") or not Path(path).is_file():
            message = f"--config must be a file that exists and is called *.json, got {path!r}{near_file(Path(path))}"
            raise click.UsageError(message)
        try:
            loaded(Path(path))
        except ConfigurationError as error:
            raise click.UsageError(str(error)) from error


def _judge(
    *, schemes: Sequence[str], operations: Sequence[str], cases: Sequence[str], seed: int | None, shard: str | None, **others: Any
) -> "Callable[..., Report]":
    """Return what judges a target, once every name is one."""
    from conformance import run
    from conformance.adapt import selection
    from conformance.run import sharding

    selection.verify(schemes, operations, cases, others["profile"])
    part = sharding.parse(shard) if shard is not None else None
    names = functools.partial(run.check, schemes=schemes or None, operations=operations or None, cases=cases or None)
    return functools.partial(names, shard=part, seed=run.any_seed() if seed is None else seed, **others)


def _make_ready(folder: Path | None, file: Path | None) -> None:
    """Raise before anything is judged where what is found can't be kept."""
    from conformance.spec import files

    if folder is not None:
        from conformance.reports.files import FORMATS

        files.make_ready(folder)
        for name, _ in FORMATS.values():
            files.verify(folder / name)
    if file is not None:
        files.verify(file)


def _deviations(path: Path | None, *, update: bool, whole: bool) -> "Baseline | None":
    if path is None and update:
        message = "--update-baseline must come with --baseline FILE, got none"
        raise click.UsageError(message)
    if path is None:
        return None
    from conformance.show.baseline import Baseline

    return Baseline(path, update=update, whole=whole)


def _each(
    every: Sequence[str],
    judge: "Callable[..., Report]",
    deviations: "Baseline | None",
    tell: "Callable[[Report], None]",
    pass_over: "Callable[[Report], None]",
    keep: "Callable[[Sequence[Report]], None]",
) -> "tuple[list[Report], Exception | None]":
    """Judge, keep and tell one target after another; what went wrong meanwhile is raised when what was judged is told.

    Return the reports, and why they can't be kept where that is so; what is kept says at any time which targets weren't reached.
    """
    from conformance.calls.outcomes import Report
    from conformance.spec.files import OutputError

    reports: list[Report] = []
    trouble: Exception | None = None
    unkept: Exception | None = None
    interrupted = False
    for target in every:
        report = _judged(target, judge)
        if deviations is not None:
            report, failed = _waived(report, deviations, last=target == every[-1])
            trouble = failed or trouble
        reports.append(report)
        unreached = [Report(each, {}, (), complete=False) for each in every[len(reports) :]]
        try:
            keep([*reports, *unreached])
        except (OSError, OutputError) as error:  # what can't be kept can still be shown
            unkept = error
        except KeyboardInterrupt:  # all is kept, and to be told
            interrupted = True
        try:
            tell(report)
        except OSError as error:
            trouble = error
        if interrupted or not report.complete or (keep is _nowhere and isinstance(trouble, OSError)):
            for each in unreached:
                refuse(f"{each.target} isn't judged: the run ended before it was reached")
                with suppress(OSError):
                    pass_over(each)
            break
    if interrupted:
        raise KeyboardInterrupt
    if trouble is not None:
        raise trouble
    return reports, unkept


def _waived(report: "Report", deviations: "Baseline", *, last: bool) -> "tuple[Report, Exception | None]":
    """Return a report with known deviations applied, and what went wrong with that."""
    from conformance.show.baseline import BaselineError

    try:
        return deviations.applied(report, last=last), None
    except BaselineError as error:
        return report, error


def _judged(target: str, judge: "Callable[..., Report]") -> "Report":
    """Return what is found of a target, also where it can't be judged, or the run ends before there is anything to judge."""
    from conformance.adapt.selection import SelectionError
    from conformance.calls.outcomes import Report
    from conformance.isolate.targets import TargetError

    try:
        return _shown(target, judge)
    except (SelectionError, TargetError) as error:
        return Report(target, {}, (), refused=str(error))
    except KeyboardInterrupt:
        return Report(target, {}, (), complete=False)


def _shown(target: str, judge: "Callable[..., Report]") -> "Report":
    """Judge a target, and show meanwhile how far that is."""
    from conformance.show import terminal

    progress = terminal.Progress(target)
    try:
        return judge(target, progress=progress)
    finally:
        progress.clear()


def _tell(report: "Report", *, as_json: bool, verbose: bool) -> None:
    if report.refused:
        refuse(report.refused)
        if not as_json:
            return
    from conformance.show import record, terminal
    from conformance.show import report as screen

    if as_json:
        sys.stdout.write(record.text(report))
    else:
        terminal.write(screen.lines(report, verbose=verbose, width=terminal.width(sys.stdout)), sys.stdout)
    sys.stdout.flush()


def _keep(folder: Path, reports: "Sequence[Report]") -> None:
    """Write what is known after every target, all of it also where that is interrupted."""
    try:
        _written(folder, reports)
    except KeyboardInterrupt:
        _written(folder, reports)
        raise


def _written(folder: Path, reports: "Sequence[Report]") -> None:
    from conformance.reports import files

    files.write(reports, folder)


def _nothing(report: "Report") -> None:
    """Tell no more of a target that wasn't reached than that, which a person is told."""


def _nowhere(reports: "Sequence[Report]") -> None:
    """Keep nothing: nobody has said where."""
