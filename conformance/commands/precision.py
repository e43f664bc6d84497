"""``posenc precision``: the error against the position."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from conformance.commands.limited import limited
from conformance.commands.places import Place
from conformance.commands.telling import keeping, tell, unmeasured
from conformance.isolate.interrupts import CutShort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.calls.limits import Limits
    from conformance.precision.curve import Curve


@click.command()
@click.argument("target")
@click.option("--operation", "operations", multiple=True, help="Measure only this operation, and print a table; may be repeated.")
@click.option("--head-dim", type=int, default=128, show_default=True, help="The width of the heads whose logits are estimated.")
@click.option("--plot", type=Place(), metavar="FILE", help="Draw the curves into FILE, a .png or an .svg.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on a line.")
@limited
def precision(target: str, *, operations: tuple[str, ...], head_dim: int, plot: Path | None, as_json: bool, limits: "Limits") -> None:
    """Show TARGET's error by position, as a multiple of the allowed error, and what it does to attention logits."""
    from conformance.precision import survey
    from conformance.show import terminal

    if plot is not None:
        from conformance.pictures.files import verify

        verify(plot)
    progress = terminal.Progress(target)
    curves: list[Curve] = []
    try:
        for curve in survey.curves(target, chosen=operations, head_dim=head_dim, limits=limits, progress=progress):
            curves.append(curve)  # noqa: PERF402  an interruption leaves those before it
    except KeyboardInterrupt as interruption:  # it leaves the curves before it
        progress.clear()
        undone = interruption.undone if isinstance(interruption, CutShort) else (target,)
        _show(target, curves, tables=bool(operations), as_json=as_json, undone=undone)
        raise
    finally:
        progress.clear()
    _show(target, curves, tables=bool(operations), as_json=as_json)
    if plot is not None:
        from conformance.pictures import precision as picture

        with keeping():
            picture.save(target, curves, plot)
        click.echo(f"wrote {plot}", err=as_json)


def _show(target: str, curves: "list[Curve]", *, tables: bool, as_json: bool, undone: "Sequence[str]" = ()) -> None:
    from conformance.precision import record, screen

    if as_json:
        sys.stdout.write(record.text(target, curves, undone))
    else:
        tell([*screen.lines(target, curves, tables=tables), *unmeasured(undone)])
    sys.stdout.flush()
