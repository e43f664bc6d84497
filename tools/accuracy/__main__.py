"""Hide every known mistake and count how often it is named: ``python -m tools.accuracy --scheme rope --jobs 2 --sample 1/20``."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from conformance.adapt.adapter import near_miss
from conformance.mutants import for_operation
from conformance.spec.declarations import operations
from conformance.spec.files import write
from tools.accuracy import answers, beside, between_calls, score
from tools.accuracy.answers import Answer, Answered
from tools.accuracy.held_out import held_out
from tools.accuracy.record import WRONG, record
from tools.accuracy.trials import Trial, sampled, trials
from tools.share import add_options, share_of_all, spread

#: Of the mistakes that a vector shows by enough, how many must be named right first.
AIM = 0.97
#: A single one that isn't is no rate, in however small a sample.
LONE = 1


def chosen(scheme: str | None) -> list[str]:
    """Return the operations of one scheme, or all."""
    return [name for name in operations() if scheme in (None, name.split(".", 1)[0])]


def known(names: Sequence[str], share: Fraction, seed: int = 0) -> list[Trial]:
    """Return the trials of known mistakes."""
    return [trial for name in names for trial in trials(name) if sampled(trial.words, share, seed)]


def unknown(names: Sequence[str], share: Fraction, seed: int = 0) -> list[Trial]:
    """Return the trials of mistakes that no table knows."""
    every = (Trial(words, name, beside.DTYPE) for name in names for words in held_out(name))
    return [trial for trial in every if sampled(trial.words, share, seed)]


def equals(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the groups of known mistakes that no vector tells apart."""
    return [group for name in names for group in answers.equals(name, {mutant.name: mutant.function for mutant in for_operation(name)})]


def shortcomings(found: Sequence[Answered], between: Sequence[Answered], new: Sequence[Answered]) -> Iterator[str]:
    """Yield what isn't as it must be."""
    kinds = {f"of {kind}": score.of_kind(found, kind) for kind in score.KINDS}
    for kind, own in {**kinds, "between calls": between}.items():
        if answers.share(own, answers.RIGHT) < AIM and answers.missed(own) > LONE:
            yield f"mistakes {kind} must be named right first in {100 * AIM:g} % of the trials, got {score.rate(own)}"
    for each in (*found, *between, *new):
        if each.answer is Answer.MISNAMED:
            yield f"a wrong name must not stand alone, got {each.named[0]} for {each.trial.words}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the score; return 1 where it isn't as it must be."""
    options = _parser().parse_args(arguments)
    started, names, seed = time.perf_counter(), chosen(options.scheme), options.sample_seed
    found = list(spread("accuracy", answers.answered, known(names, options.sample, seed), options.jobs))
    for kind in score.KINDS:
        _show(f"mistakes of {kind}", score.of_kind(found, kind), *WRONG, Answer.NOT_NAMED)
        print(score.verdict(score.of_kind(found, kind)), end="\n\n")
    between = between_calls.answered([trial for trial in between_calls.trials(names) if sampled(trial.words, options.sample, seed)])
    _show("mistakes between calls", between, *WRONG, Answer.NOT_NAMED)
    new = list(spread("accuracy", beside.answered, unknown(names, options.sample * options.held_out, seed), options.jobs))
    _show("mistakes that no table knows (not to be named is no error)", new, *WRONG)
    if options.record is not None:
        asked = {"scheme": options.scheme, "sample": options.sample, "sample-seed": seed or None, "held-out": options.held_out}
        write(options.record, record(found, between, new, equals(names), asked))
    wrong = list(shortcomings(found, between, new))
    print("\n".join([score.LEGEND, *wrong, f"{len(wrong)} shortcomings, {time.perf_counter() - started:.0f} s"]))
    return 1 if wrong else 0


def _show(title: str, found: Sequence[Answered], *listed: Answer) -> None:
    print(title, *score.aligned(found, "scheme"), *score.confused(found, *listed), "", sep="\n", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy", description=__doc__)
    parser.add_argument("--scheme", type=_scheme, help="one scheme (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (default: 1)")
    add_options(parser, "trials")
    parser.add_argument(
        "--held-out", type=share_of_all, default=Fraction(1), metavar="1/4", help="a share of the mistakes that no table knows"
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="write what was measured there, as Markdown")
    return parser


def _scheme(text: str) -> str:
    schemes = dict.fromkeys(name.split(".", 1)[0] for name in operations())
    if text not in schemes:
        message = f"scheme must be one of {', '.join(schemes)}, got {text!r}{near_miss(text, schemes)}"
        raise argparse.ArgumentTypeError(message)
    return text


if __name__ == "__main__":
    sys.exit(main())
