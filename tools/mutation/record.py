"""Write what the mutants said, for a terminal and as a page."""

from collections import Counter
from collections.abc import Iterator, Sequence

from tools.mutation.equivalents import Equivalent, Equivalents
from tools.mutation.identities import RULES
from tools.mutation.score import Score, Trial, by_kind, scores

COLUMNS = ("mutants", "no mistake", "equivalent", "by vectors", "by laws", "unseen", "survivors", "without laws", "with laws")
HEAD = """\
# Systematic mistakes

Written by `make mutation`. Every function that an operation runs is changed in one place at a time: each constant, sign, operator,
comparison, branch, argument, parameter, slice, axis, order and call, degrees for radians, checks of input left out, and each intermediate
value rounded to float32, float16 or bfloat16. Nobody picks the changes, and the generator (`tools/mutation/operators.py`, `precision.py`)
does not know the vectors. Each mutant is put to every operation that runs the function, and must be convicted by that operation's own
vectors and laws at level core. Functions of `refimpl.arrays` and `refimpl.spec` are shared, so their mutants are put to all operations
together. `add`, `weights`, `attend` and `attend_selected` get only mutants of what they add themselves: if another operation of the
scheme runs the function, such as a bias or a rotation, its mutants are put to that operation alone.

- **no mistake**: it gives no result for any vector (nobody could ship it), or its rounding changes nothing: the value is no number, or a
  whole number that float32 holds.
- **equivalent**: it changes no result that the specification judges; the proof, in words, is below and in `tools/mutation/equivalent.yaml`.
- **unseen**: a mistake that shows for no input that a vector could store; the reason is below.
- **by vectors**: convicted by a golden vector. **by laws**: convicted by a law alone, drawn as at level core with seed 0.
- **without laws**, **with laws**: convicted mutants as percent of the mistakes, which are the mutants without the first two groups. Laws
  are tried only on mutants that survive the vectors and aren't explained.
- Values are judged at profile float64. Roundings to a half format are judged as an implementation that promises float32.
- Bad-input vectors compare the text of the error, so a changed text is a mistake too (kind *text of errors*).
- Defaults in the signature of an operation are its declaration and are not changed: vectors give every parameter.
"""


def table(found: Sequence[Trial]) -> str:
    """Return the scores of schemes for a terminal of 80 columns."""
    lines = [f"{'scheme':<23}{'mutants':>8}{'equivalent':>11}{'survivors':>10}{'without laws':>13}{'with laws':>10}"]
    for score in scores(found):
        count = score.counts
        lines.append(
            f"{score.name:<23}{count.total():>8}{count['equivalent']:>11}{score.survivors:>10}"
            f"{score.share('vector'):>11.2f} %{score.share('vector', 'law'):>8.2f} %"
        )
    return "\n".join(lines)


def survivors(found: Sequence[Trial]) -> list[str]:
    """Return every survivor in a line."""
    return [f"{trial.mutant.owner}: {trial.mutant.mutation.words}" for trial in found if trial.survivor]


def page(found: Sequence[Trial], known: Equivalents, unreached: Sequence[str]) -> str:
    """Return the record as Markdown."""
    parts = [
        HEAD,
        "## By scheme\n", *_rows("scheme", scores(found)),
        "\n## By kind of mistake\n", *_rows("kind", by_kind(found)),
        "\n## Survivors\n", *(_items(survivors(found)) or ["None."]),
        "\n## Unseen, and why\n", *(_reasons(found, [entry for entry in known.entries if entry.unseen]) or ["None."]),
        "\n## Proven equivalent\n", *_reasons(found, [entry for entry in known.entries if not entry.unseen]),
        "\n## Never generated\n", "Changes that change nothing whatever the numbers are:\n", *_rules(),
        "\n## Not reached\n", "No operation runs these; tests of attention and of declarations judge them:\n", *_items(unreached),
    ]
    return "\n".join(parts) + "\n"


def _rows(name: str, counted: Sequence[Score]) -> Iterator[str]:
    yield f"| {name} | {' | '.join(COLUMNS)} |"
    yield f"|---|{'--:|' * len(COLUMNS)}"
    for score in counted:
        count = score.counts
        spared = count["stillborn"] + count["untouched"]
        kinds = [count[kind] for kind in ("equivalent", "vector", "law", "unseen")]
        numbers = [count.total(), spared, *kinds, score.survivors]
        yield f"| {score.name} | {' | '.join(map(str, numbers))} | {score.share('vector'):.2f} % | {score.share('vector', 'law'):.2f} % |"


def _reasons(found: Sequence[Trial], entries: Sequence[Equivalent]) -> list[str]:
    """Return every reason once, with what it speaks of and how many mutants it settles."""
    settled = Counter(id(trial.known) for trial in found if trial.kind in ("unseen", "equivalent"))
    return [f"- {_spoken(entry)} ({settled[id(entry)]}): {entry.proof}" for entry in entries]


def _spoken(entry: Equivalent) -> str:
    functions = ", ".join(f"`{name.removeprefix('refimpl.')}`" for name in entry.means["function"])
    places = ", ".join(f"`{text}`" for text in entry.means.get("was", entry.means.get("statement", ())))
    return f"{functions}: {places}" if places else functions


def _rules() -> list[str]:
    return [f"- {rule.__name__.replace('_', ' ')}: {rule.__doc__}" for rule in RULES]


def _items(lines: Sequence[str]) -> list[str]:
    return [f"- {line}" for line in lines]
