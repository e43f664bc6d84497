"""Judge the examples and every bundled adapter whose library is installed, and say whether each verdict is the documented one."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance import run
from conformance.calls.outcomes import Failed, Reason, Report
from conformance.calls.status import Status
from conformance.isolate.session import Session
from conformance.isolate.targets import LibraryMissing
from conformance.show import report as screen
from conformance.show import terminal
from conformance.show.summary import Conviction, convictions, verdict

HERE = Path(os.path.relpath(Path(__file__).parent))
#: How many parts of a target are judged side by side; each imports its framework.
JOBS = min(os.cpu_count() or 1, 4)


@dataclass(frozen=True)
class Example:
    """A target with the verdict that its documentation states."""

    target: str
    states: str
    holds: Callable[[Report], bool]
    many: bool = False
    """Whether it offers so many operations that a run may take a part of them."""


@dataclass(frozen=True)
class Row:
    """What came out of one example."""

    target: str
    verdict: str
    as_stated: bool | None
    seconds: float


def conforms(report: Report) -> bool:
    """Return whether everything that was judged is right."""
    return report.status is Status.CONFORMS


def named_as_repeated_tables(report: Report) -> bool:
    """Return whether the mistake of ``numpy_wrong.py`` is named, with the thread where others met it."""
    found = convictions(report)
    return bool(found) and all(_tells(conviction, "how-to-train-your-gpt/issues/6") for conviction in found)


def only_named(*mistakes: str, in_half: tuple[str, ...] = ()) -> Callable[[Report], bool]:
    """Return whether what is wrong is named as these known mistakes, and each of them is found; some are wrong in half precision alone."""

    def holds(report: Report) -> bool:
        every = convictions(report)
        found = [each for each in every if each.implementation not in in_half or "float32" in each.dtypes]
        named = [{mistake for mistake in mistakes if _tells(conviction, mistake)} for conviction in found]
        return all(named) and set().union(*named) == {*mistakes} and {*in_half} <= {each.implementation for each in every}

    return holds


def where_judged(operation: str, holds: Callable[[Report], bool]) -> Callable[[Report], bool]:
    """Return whether something holds if an operation was judged, and else that all conforms: a run may take a part of what is offered."""
    return lambda report: (holds if any(result.operation == operation for result in report.results) else conforms)(report)


def only_history(report: Report) -> bool:
    """Return whether nothing is wrong but that earlier calls change later answers."""
    outcomes = [result.outcome for result in report.results if result.convicts]
    return bool(outcomes) and all(isinstance(outcome, Failed) and outcome.reason is Reason.HISTORY for outcome in outcomes)


def _tells(conviction: Conviction, *words: str) -> bool:
    diagnosis = conviction.diagnosis
    told = "" if diagnosis is None else " ".join((*diagnosis.mutants, diagnosis.does, *diagnosis.threads))
    return all(word in told for word in words)


EXAMPLES = (
    Example(str(HERE / "numpy_right.py"), "conforms", conforms),
    Example(str(HERE / "numpy_wrong.py"), "pairs neighbours in its tables and halves in its rotation", named_as_repeated_tables),
    Example(f"config:{HERE / 'llama-3.1-8b.json'}:{HERE / 'numpy_configured.py'}", "conforms", conforms),
    Example("numpy", "conforms", conforms, many=True),
    Example("array_api_strict", "conforms", conforms, many=True),
    Example("ggml", "conforms", conforms),
    Example("transformers", "conforms", conforms, many=True),
    Example("transformers4", "conforms", conforms, many=True),
    Example("mlx", "conforms", conforms),
    Example(
        "mlx_lm",
        "conforms but for LongRoPE, which always takes the long factors, and YaRN with one of two mscales",
        only_named("always-long", "mscale-unset-is-one"),
    ),
    Example(f"config:{HERE / 'llama-3.1-8b.json'}:mlx_lm", "conforms", conforms),
    Example(
        "vllm",
        "conforms but for dynamic NTK as published configurations ask for it, which is plain rope",
        where_judged("dynamic_ntk.rotate", only_named("never-stretched")),
        many=True,
    ),
    Example(f"config:{HERE / 'llama-3.1-8b.json'}:vllm", "conforms", conforms),
    Example("torchtune", "conforms", conforms),
    Example(
        "litgpt",
        "conforms but for YaRN, whose ramp is inverted and whose attention factor is 1 where no mscale is set",
        only_named("ramp-inverted", "default-is-one"),
    ),
    Example(
        "keras_hub",
        "conforms but for Llama's ignored factor, rope_type dynamic, which slows every pair, and ESM and RoFormer in half precision",
        only_named("not-stretched", "every-pair-slowed", in_half=("esm", "roformer")),
    ),
    Example(f"config:{HERE / 'llama-3.1-8b.json'}:keras_hub", "conforms", conforms),
    Example(
        f"config:{HERE / 'qwen3-8b-yarn.json'}:keras_hub",
        "turns by no YaRN: the converter of Qwen 3 doesn't read the rule",
        only_named("factor=1"),
    ),
    Example(
        "sglang",
        "conforms but for dynamic NTK, always at its longest, LongRoPE, one position late, and YaRN with an mscale of 0 or one of two",
        only_named("at-its-longest", "switch-within-one-table", "zero-counts-as-set", "mscale-unset-is-one"),
    ),
    Example(f"config:{HERE / 'llama-3.1-8b.json'}:sglang", "conforms", conforms),
    Example(
        f"config:{HERE / 'gemma-3-27b.json'}:sglang",
        "ignores the factor of Gemma 3's layers of full attention, and nothing else",
        only_named("not-stretched"),
    ),
    Example("equinox", "depends on what was called before, and nothing else", only_history),
)


@dataclass(frozen=True)
class Sample:
    """Which of many operations are judged: one in so many, from a seed on."""

    of: int
    seed: int

    def operations(self, target: str) -> list[str]:
        """Return those of what a target offers."""
        with Session(target) as session:
            offered = sorted({each.operation for each in session.implementations})
        return offered[self.seed % self.of :: self.of]


def judge(example: Example, sample: Sample) -> Row:
    """Print one screen and return what came out."""
    started = time.perf_counter()
    progress = terminal.Progress(example.target)
    try:
        names = sample.operations(example.target) if example.many and sample.of > 1 else None
        report = run.check(example.target, operations=names, progress=progress, jobs=JOBS)
    except LibraryMissing as reason:
        return Row(example.target, f"skipped: {reason}", None, 0.0)
    finally:
        progress.clear()
    terminal.write(screen.lines(report, width=terminal.width(sys.stdout)), sys.stdout)
    terminal.write([("", ""), ("quiet", "-" * terminal.WIDTH), ("", "")], sys.stdout)
    return Row(example.target, verdict(report), example.holds(report), time.perf_counter() - started)


def table(rows: list[Row], examples: list[Example]) -> Iterator[screen.Line]:
    """Yield one line per example, and how many were judged."""
    for row, example in zip(rows, examples, strict=True):
        name = Path(row.target).name
        if row.as_stated is None:
            yield "quiet", f"{name:<18} {row.verdict}"
            continue
        style, words = ("good", "as stated") if row.as_stated else ("bad", "NOT AS STATED")
        yield style, f"{name:<18} {row.verdict}, {words}: {example.states} ({row.seconds:.1f} s)"
    judged = [row for row in rows if row.as_stated is not None]
    right = sum(row.as_stated is True for row in rows)
    yield "head", f"{len(judged)} of {len(rows)} judged, {len(rows) - len(judged)} skipped; {right} of {len(judged)} verdicts as stated"


def chosen(targets: list[str]) -> list[Example]:
    """Return the examples named, all where none is."""
    known = {Path(example.target).name: example for example in EXAMPLES}
    unknown = [target for target in targets if target not in known]
    if unknown:
        sys.exit(f"target must be one of {', '.join(known)}, got {unknown[0]!r}")
    return [known[target] for target in targets] or list(EXAMPLES)


def main() -> int:
    """Return 0 when every verdict is the stated one; what must be judged is what was named, else the examples that need NumPy only."""
    parser = argparse.ArgumentParser(prog="python examples/run.py", description=__doc__)
    parser.add_argument("targets", nargs="*", help="which examples (default: all)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of targets that offer many operations, judge every N-th")
    parser.add_argument("--sample-seed", type=int, default=0, metavar="N", help="which operation to begin at")
    options = parser.parse_args()
    examples, sample = chosen(options.targets), Sample(options.every, options.sample_seed)
    rows = [judge(example, sample) for example in examples]
    terminal.write(table(rows, examples), sys.stdout)
    needed = rows if options.targets else rows[:4]
    return 0 if all(row.as_stated is not False for row in rows) and all(row.as_stated for row in needed) else 1


if __name__ == "__main__":
    sys.exit(main())
