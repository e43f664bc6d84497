"""Every command of ``posenc``: each reads names, and calls the rest of the package."""

import functools
import sys
from pathlib import Path

import click

from conformance.calls.limits import Limits
from conformance.calls.status import Status
from conformance.commands import exits
from conformance.commands.check import check
from conformance.commands.explain import explain
from conformance.commands.identify import identify
from conformance.commands.limited import TIMES, limited
from conformance.commands.places import Place
from conformance.commands.precision import precision
from conformance.commands.telling import keeping, tell, unmeasured
from conformance.isolate.interrupts import CutShort
from conformance.version import __version__

#: What stands before the name of a released model, and what lists them.
MODEL, MODELS = "model", "models"


class Commands(click.Group):
    """A group that says the near miss of an unknown command, and all of what a known one does, as those inside of it do."""

    group_class = type

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write every command with its whole summary, over several lines where that is longer than one."""
        summaries = [(name, self.commands[name].get_short_help_str(sys.maxsize)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(summaries)

    def resolve_command(self, context: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one is close."""
        from conformance.adapt.adapter import near_miss

        if args and args[0] not in self.commands and not args[0].startswith("-"):
            close = f" (did you mean check {args[0]}?)" if args[0].endswith(".py") else near_miss(args[0], self.commands)
            message = f"command must be one of {', '.join(self.commands)}, got {args[0]!r}{close}"
            raise click.UsageError(message)
        return super().resolve_command(context, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="posenc", message="%(prog)s %(version)s")
def posenc() -> None:
    """Judge an implementation of a positional encoding: right or wrong, which known mistake, how precise."""


@posenc.command(name="list")
@click.argument("what", metavar="[models]", required=False)
def list_(what: str | None) -> None:
    """List schemes, operations and bundled adapters, or the released models that have golden values."""
    from conformance.show import declaration, models

    if what not in (None, MODELS):
        message = f"what is listed must be `{MODELS}` or nothing, got {what!r}"
        raise click.UsageError(message)
    tell([*declaration.listing(), *declaration.adapters()] if what is None else models.listing())


@posenc.command(name="show")
@click.argument("name", metavar="SCHEME|OPERATION|CASE|model")
@click.argument("model", metavar="[MODEL]", required=False)
@click.option("--length", type=int, metavar="N", help="Say in numbers what a scheme does over N positions.")
@click.option("--plot", type=Place(), metavar="FILE", help="Draw a scheme or a model into FILE, a .png or an .svg.")
def show_(name: str, model: str | None, length: int | None, plot: Path | None) -> None:
    """Describe a scheme, an operation, a case, or a released model (`posenc show model MODEL`)."""
    from conformance.adapt import selection
    from conformance.show import declaration as show
    from conformance.show import lengths

    if name == MODEL:
        return _show_model(model, length, plot)
    if model is not None:
        message = f"a second name must stand behind `{MODEL}` only, got {model!r}"
        raise click.UsageError(message)
    if length is not None:
        tell(lengths.describe(name, length))
    if plot is not None:
        from conformance import pictures

        selection.verify_names("scheme", [name], pictures.PICTURES)
        pictures.save(name, plot)
        click.echo(f"wrote {plot}")
    if length is None and plot is None:
        tell(show.describe(name))
    return None


def _show_model(name: str | None, length: int | None, plot: Path | None) -> None:
    """Describe or draw a released model."""
    from conformance.show import models

    if name is None:
        message = "model must be one that `posenc list models` names, got nothing"
        raise click.UsageError(message)
    if length is not None:
        message = "--length must be asked of a scheme, got a model"
        raise click.UsageError(message)
    if plot is None:
        tell(models.describe(name))
    else:
        from conformance.pictures import models as picture

        picture.save(models.named(name), plot)
        click.echo(f"wrote {plot}")


@posenc.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Say whether the harness itself works here, and which libraries are installed."""
    from conformance.show.doctor import examine

    lines, healthy = examine()
    tell(lines)
    context.exit(Status.CONFORMS if healthy else Status.HARNESS_FAILED)


@posenc.command()
@click.argument("name")
@click.option("--operation", help="The operation that it offers; by default the rotation of queries or keys.")
@click.option("--framework", default="numpy", show_default=True, help="The library whose arrays it takes.")
def init(name: str, operation: str | None, framework: str) -> None:
    """Write NAME.py, an adapter to fill in."""
    from conformance.adapt.scaffold import write
    from conformance.spec.declarations import example

    path = write(name, operation or example(), framework, Path.cwd())
    click.echo(f"wrote {path.name}: call your function there, then run `posenc check {path.name}`")


@posenc.group()
def vectors() -> None:
    """Verify or export the golden vectors."""


@vectors.command()
@click.option(
    "--directory", type=Place(exists=True, file_okay=False), help="The directory of the vectors, if they aren't the bundled ones."
)
def verify(directory: Path | None) -> None:
    """Compare every vector file with the manifest and the schema."""
    from conformance.spec.vectors import vectors_directory, verify

    verify(directory or vectors_directory())
    click.echo("every file is as published")


@vectors.command()
@click.argument("path", type=Place())
def export(path: Path) -> None:
    """Write all vectors to PATH as JSON."""
    from conformance.spec.vectors import export

    export(path)
    click.echo(f"wrote {path}")


@posenc.group()
def report() -> None:
    """Show a record that `posenc check --report DIR` wrote, or compare two."""


@report.command()
@click.argument("record", type=Place(exists=True, dir_okay=False))
@click.option("--format", "name", type=click.Choice(["screen", "html", "junit", "markdown", "badge"]), default="screen", show_default=True)
@click.option("--output", type=Place(dir_okay=False), help="Write into this file instead of printing.")
def render(record: Path, name: str, output: Path | None) -> None:
    """Show RECORD again, or write it in another format."""
    from conformance.reports import lines
    from conformance.reports.files import FORMATS
    from conformance.show import report as screen
    from conformance.show import terminal
    from conformance.spec import files

    if output is not None and output.exists() and output.samefile(record):
        message = f"--output must be another file than the record, got {str(output)!r}"
        raise click.UsageError(message)
    reports = lines.read(record)
    if name == "screen" and output is None:
        for told in reports:
            terminal.write(screen.lines(told, width=terminal.width(sys.stdout)), sys.stdout)
        return
    text = "".join(map(screen.text, reports)) if name == "screen" else FORMATS[name][1](reports)
    if output is None:
        sys.stdout.write(text)
    else:
        files.write(output, text)


@report.command()
@click.argument("old", type=Place(exists=True, dir_okay=False))
@click.argument("new", type=Place(exists=True, dir_okay=False))
@click.pass_context
def diff(context: click.Context, old: Path, new: Path) -> None:
    """Say what changed from the record OLD to the record NEW."""
    from conformance.reports import changes, lines

    found = changes.between(lines.read(old), lines.read(new))
    tell(changes.lines(found))
    context.exit(Status.DIFFERS if found.worse else Status.CONFORMS)


@posenc.group()
def protocol() -> None:
    """Send cases to a program over the line protocol, without judging it."""


@protocol.command()
@click.argument("cases", nargs=-1, required=True, metavar="CASE...")
@click.option(
    "--dtype", type=click.Choice(["float64", "float32", "float16"]), default="float32", show_default=True, help="The dtype of real arrays."
)
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="How many calls a request has.")
@click.option("--command", help="Ask this program and show its answers; without it, print the lines to pipe into one.")
@functools.partial(limited, names=TIMES)
def replay(cases: tuple[str, ...], dtype: str, batch: int, command: str | None, limits: Limits) -> None:
    """Print the requests for CASES, or send them to a program and show its answers."""
    from conformance.commands import replay

    vectors = replay.chosen(cases)
    if command is None:
        for line in replay.requests(vectors, dtype, batch):
            sys.stdout.write(line.decode())
        return
    tell(("", line) for line in replay.answers(command, vectors, dtype, batch, limits))


@posenc.command()
@click.option("--target", default="numpy", show_default=True, help="What to judge.")
def bench(target: str) -> None:
    """Measure what the harness costs on this machine."""
    from conformance.isolate import targets
    from conformance.show.bench import measure

    targets.load(target)  # a target that isn't there costs nothing
    for line in measure(target):
        click.echo(line)


PHASE = click.Choice(["forward", "backward", "decoding"])


@posenc.command(name="compare")
@click.argument("schemes", nargs=-1, metavar="[SCHEME]...")
@click.option("--lengths", "tokens", default="128,256,512", show_default=True, help="Numbers of tokens, separated by commas.")
@click.option("--phase", "phases", multiple=True, type=PHASE, help="Measure only this phase; may be repeated.")
@click.option("--backend", default="numpy", show_default=True, help="The array library: numpy, torch, cupy or jax.")
@click.option("--plot", type=Place(), metavar="FILE", help="Draw the ratios into FILE, a .png or an .svg.")
def compare_(schemes: tuple[str, ...], tokens: str, phases: tuple[str, ...], backend: str, plot: Path | None) -> None:
    """Measure what SCHEMES cost in attention, beside no encoding; without names, one scheme of each of four kinds."""
    from conformance.show import backends, compare, terminal

    chosen, counts, library = compare.verified(schemes), compare.lengths(tokens), backends.backend(backend)
    if plot is not None:
        from conformance.pictures.files import verify

        verify(plot)
    asked = compare.phases(phases, library)
    progress = terminal.Progress("compare")
    measured: list[compare.Table] = []
    undone: tuple[str, ...] = ()
    try:
        for table in compare.tables(chosen, counts, asked, library, progress):
            measured.append(table)  # noqa: PERF402  an interruption leaves those before it
    except KeyboardInterrupt as interruption:
        left = interruption.undone if isinstance(interruption, CutShort) else ["any length"]
        undone = (*left, *([f"the picture {plot}"] if plot is not None else ()))
        raise
    finally:
        progress.clear()
        if measured:
            tell(compare.lines(compare.Comparison(library, tuple(measured))))
        tell(unmeasured(undone))
    if plot is not None:
        from conformance.pictures import costs

        with keeping():
            costs.save(compare.Comparison(library, tuple(measured)), plot)
        click.echo(f"wrote {plot}")


posenc.add_command(check)
posenc.add_command(explain)
posenc.add_command(identify)
posenc.add_command(precision)
exits.add(posenc)
