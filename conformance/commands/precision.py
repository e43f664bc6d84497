"""``posenc precision``: the error against the position."""

import sys
from pathlib import Path

import click


@click.command()
@click.argument("target")
@click.option("--operation", "operations", multiple=True, help="Only this operation, with a table; may be repeated.")
@click.option("--head-dim", type=int, default=128, show_default=True, help="Say what the error means in logits of heads so wide.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the curves into FILE, a .png or an .svg.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on a line.")
def precision(target: str, *, operations: tuple[str, ...], head_dim: int, plot: Path | None, as_json: bool) -> None:
    """Show TARGET's error over the allowed error by position, where weaker arithmetic shows, and what it does to attention logits."""
    from conformance.precision import record, screen, survey
    from conformance.show import terminal

    progress = terminal.Progress(target)
    try:
        curves = survey.survey(target, chosen=operations, head_dim=head_dim, progress=progress)
    finally:
        progress.clear()
    if plot is not None:
        from conformance.pictures import precision as picture

        picture.save(target, curves, plot)
    if as_json:
        sys.stdout.write(record.text(target, curves))
        return
    told = screen.lines(target, curves, tables=bool(operations))
    terminal.write(terminal.folded(told, terminal.width(sys.stdout)), sys.stdout)
    if plot is not None:
        click.echo(f"wrote {plot}")
