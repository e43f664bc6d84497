"""Judge what a library makes of the configurations of released models: ``python -m tools.released TARGET`` writes a page of docs."""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from conformance import run
from conformance.calls.outcomes import Report, Unsupported
from conformance.calls.status import Status
from conformance.isolate.session import Session
from conformance.isolate.targets import CONFIGURATION, TargetError
from conformance.version import __version__
from tools import documents, share
from tools.generate.models import FACTS, facts, published

ROOT = Path(__file__).parents[1]
RELEASED = facts()
ASKED: dict[str, Any] = yaml.safe_load(FACTS.with_name("asked.yaml").read_text(encoding="utf-8"))
TRANSFORMERS = "transformers"
LEVEL, SEED = "smoke", 0
#: A model, the operations that its layers were judged as, and the verdict.
Row = tuple[str, str, str]
#: What kinds are called that aren't all of a model's layers, though its configuration names none.
SEVERAL = {"every layer with rotation": "layers with rotation", "every layer without rotation": "layers without rotation"}
HEAD = f"""# Released models, from configuration to rotation

Each configuration of `tests/configurations/released.yaml` is given to a library as it was published. What the library computes from it is
judged for each kind of layer, such as full or sliding attention: frequencies, attention factor, rotated vectors and, where the
adapter says it, what multiplies queries
([how](configurations.md#judging-code-that-reads-a-configuration)). Layers without a rotation must return vectors unchanged. A model of
text and images is judged twice: as `mrope.rotate` at positions on three axes, and as `rope.rotate` at positions of text. Golden values are
proven for the parameters that posenc reads from the configuration; `tests/test_configuration.py` compares these with facts that were
written down by hand. *Not judged* gives the reason.

Written by `python -m tools.released TARGET`, at level {LEVEL} with seed {SEED}.
"""


def page(target: str) -> Path:
    """Return the page about a target."""
    return ROOT / "docs" / f"released{'' if target == TRANSFORMERS else f'-{target}'}.md"


def judged(entry: Mapping[str, Any], target: str, folder: Path) -> Row:
    """Return a model, the operations that its layers were judged as, and the verdict."""
    path = folder / "config.json"
    path.write_text(json.dumps(published(entry)), encoding="utf-8")
    try:
        report = run.check(f"{CONFIGURATION}{path}:{target}", level=LEVEL, seed=SEED)
    except TargetError as error:
        return entry["id"], "", f"not judged: {str(error).replace(path.name, 'the configuration')}"
    turned = [result for result in report.results if result.operation.endswith(".rotate")]
    found = {(result.implementation.partition(", ")[2], result.operation) for result in turned}
    names = SEVERAL if len({kind for kind, _ in found}) > 1 else {}
    rotations = [f"{names.get(kind, kind)}: `{operation}`" for kind, operation in sorted(found)]
    return entry["id"], "; ".join(rotations), _words(report)


def _words(report: Report) -> str:
    if report.status is not Status.NOT_JUDGED:
        return report.status.words
    reasons = dict.fromkeys(
        result.outcome.reason for result in report.results if isinstance(result.outcome, Unsupported) and result.kind == "drawn"
    )
    return f"not judged: {'; '.join(reasons)}"


def _line(row: Row) -> str:
    return f"| {' | '.join(row)} |"


def lines(rows: Sequence[Row], target: str, versions: str) -> Iterator[str]:
    """Yield the lines of the document."""
    conform = sum(words.startswith("conforms") for _, _, words in rows)
    unjudged = sum(words.startswith("not judged") for _, _, words in rows)
    yield HEAD
    yield f"posenc {__version__}, {versions}."
    differ = len(rows) - conform - unjudged
    ends = "differs" if differ == 1 else "differ"
    yield f"Of {len(rows)} configurations `{target}` conforms to {conform}, {unjudged} are not judged, and {differ} {ends}."
    yield ""
    yield from ("| model | judged as | verdict |", "|---|---|---|", *map(_line, rows))
    if target == TRANSFORMERS:
        yield from ("", "## Not here, and why", "", "A configuration of these was asked for, but its facts are not sure.", "")
        yield from ("| model | why |", "|---|---|", *(f"| {model} | {why} |" for model, why in ASKED["not_here"].items()))


def changed(rows: Sequence[Row], document: Path) -> list[str]:
    """Return in words which rows a document doesn't have as they came."""
    told = document.read_text(encoding="utf-8").splitlines()
    return [f"{document.name} must have the row {_line(row)!r}, got another one" for row in rows if _line(row) not in told]


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge a target by every configuration; return 1 where one differs, or a share of them comes out otherwise than on the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", default=TRANSFORMERS, help="what is judged (default: transformers)")
    share.add_options(parser, "configurations; what comes of less than all is compared with the page")
    options = parser.parse_args(arguments)
    target, document, rows = options.target, page(options.target), list[Row]()
    asked = share.evenly(RELEASED, options.sample, options.sample_seed)
    with tempfile.TemporaryDirectory() as folder:
        for entry in asked:
            rows.append(judged(entry, target, Path(folder)))
            print(f"{len(rows)} of {len(asked)}: {rows[-1][0]}: {rows[-1][2]}", file=sys.stderr, flush=True)
    if options.sample < 1:
        return documents.complain(changed(rows, document))
    documents.write(document.parent, {document.name: "\n".join(lines(rows, target, _versions(target))) + "\n"})
    return int(any(not words.startswith(("conforms", "not judged")) for _, _, words in rows))


def _versions(target: str) -> str:
    with Session(target) as session:
        return ", ".join(f"{name} {version}" for name, version in session.about["versions"].items())


if __name__ == "__main__":
    sys.exit(main())
