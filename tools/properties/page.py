"""The page of measured properties: three tables, how every column is measured, and where the lecture notes err."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from refimpl.attention import Layer
from refimpl.schemes import SCHEMES
from refimpl.spec import Scheme
from tools.properties import measures
from tools.properties.corrections import Correction, corrections

PAGE = Path(__file__).resolve().parents[2] / "docs" / "properties.md"


@dataclass(frozen=True)
class Subject:
    """A scheme under measurement."""

    scheme: Scheme
    maker: measures.Maker

    @cached_property
    def layer(self) -> Layer:
        """The scheme's layer for the tokens that properties are measured on."""
        return measures.made(self.maker)

    @cached_property
    def cost(self) -> measures.Cost:
        """What the scheme adds to attention in a model."""
        return measures.cost(self.maker)


@dataclass(frozen=True)
class Column:
    """A property: its name, how it is measured, and the words for what is measured of a scheme."""

    name: str
    how: str
    cell: Callable[[Subject], str]


def yes(*, holds: bool) -> str:
    """Return a truth in a word."""
    return "yes" if holds else "no"


def unique(subject: Subject) -> str:
    """Say how many positions have a code of their own."""
    count = measures.unique(subject.layer)
    return "yes" if count == measures.LENGTH else f"no: {count} of {measures.LENGTH}"


def linear(subject: Subject) -> str:
    """Say whether a step is one linear map; without codes there is nothing to map."""
    return "no codes" if measures.unique(subject.layer) == 1 else yes(holds=measures.linear(subject.layer))


def endless(subject: Subject) -> str:
    """Say whether every position has a code, and where they end."""
    last = measures.last(subject.layer)
    return "yes" if last is None else f"no: up to {last}"


def generated(subject: Subject) -> str:
    """Say whether the position alone gives the code, or a draw or training has a part in it."""
    if not measures.deterministic(subject.maker):
        return "no: drawn"
    return "no: learned" if subject.layer.learned else "yes"


def dimensions(subject: Subject) -> str:
    """Say how many cells of a grid are told apart."""
    told = measures.cells(subject.layer)
    return "yes" if told == 64 else f"no: {told} of 64 cells"


def cache(subject: Subject) -> str:
    """Say whether keys and values that are kept stay right."""
    if measures.cached(subject.layer) > measures.SAME:
        return "no"
    return "yes" if measures.outlives_length(subject.scheme) else "only while `length` stays"


def acts(subject: Subject) -> str:
    """Say where the scheme acts, and whether once or in every layer."""
    places = measures.places(subject.layer)
    if not places:
        return "nowhere"
    return "input, once" if places == ("input",) else f"{' and '.join(places)}, in every layer"


IDEAL = (
    Column("scheme", "", lambda subject: f"`{subject.scheme.name}`"),
    Column(
        "unique per position",
        f"how many of {measures.LENGTH} positions have different codes, rounded to 1e-9.",
        unique,
    ),
    Column(
        "linear relation",
        f"whether one affine map takes every code to the next. It is fitted by least squares on {measures.LENGTH // 2} positions chosen at "
        "random, and must give all other codes to 1e-6. *No codes* means that all positions have the same one.",
        linear,
    ),
    Column(
        "every position",
        f"whether a token can stand at position {measures.FAR:,}, and has a finite code in float64; if not, the last position where "
        "one has, found by bisection. Whether a model trained on short texts works there is not a property of the encoding, and is not "
        "measured.",
        endless,
    ),
    Column(
        "deterministic",
        "whether the position alone determines the code: a new layer gives the same bits, and no number in it is learned.",
        generated,
    ),
    Column(
        "more dimensions",
        "whether all 64 cells of an 8 x 8 grid get different codes, if half of the channels (or heads) encode the row and half the column.",
        dimensions,
    ),
)
ATTENTION = (
    Column("scheme", "", lambda subject: f"`{subject.scheme.name}`"),
    Column(
        "acts on",
        "which parts of `refimpl.attention.Layer` the scheme fills in. The input is encoded once, before the first layer; everything "
        "else is done in every layer.",
        acts,
    ),
    Column(
        "touches values",
        "whether attention to a single token, whose weight is 1, gives anything but that token's value.",
        lambda subject: yes(holds=measures.touches_values(subject.layer)),
    ),
    Column(
        "relative only",
        f"whether causal attention over 12 tokens stays the same to 1e-9 when all positions move by {measures.SHIFT}.",
        lambda subject: yes(holds=measures.relative(subject.layer)),
    ),
    Column(
        "keeps a KV cache valid",
        "whether 12 tokens decoded one by one, with each key and value computed once and kept, give the same as attention over all at "
        "once, to 1e-9. If an operation takes the length of the sequence, a key must also stay the same when the sequence grows one token "
        "longer than the original length.",
        cache,
    ),
)
PRICE = (
    Column("scheme", "", lambda subject: f"`{subject.scheme.name}`"),
    Column(
        "learned numbers",
        f"the parameters that one layer learns, for {measures.MODEL_HEADS} heads of {measures.MODEL_WIDTH} channels. A scheme that acts in "
        "every layer may learn them in every layer.",
        lambda subject: f"{subject.cost.learned:,}",
    ),
    Column(
        "operations per token",
        "additions, products, functions and comparisons that the reference computes in addition to plain attention. Counting arrays "
        "(`tools/properties/counting.py`) count them at 4, 8 and 16 tokens; the parabola through these counts must give that at 32 tokens "
        "exactly. Schemes that act on the input are counted once.",
        lambda subject: f"{subject.cost.per_token:,}",
    ),
    Column(
        "operations per pair",
        f"the part of the same count that grows with the pairs of tokens, for all {measures.MODEL_HEADS} heads together. The reference is "
        "not optimised: Transformer-XL's and Shaw's own efficient algorithms do per distance what it does per pair. RetNet has fewer than "
        "plain attention, since it takes no softmax.",
        lambda subject: f"{subject.cost.per_pair:,}",
    ),
)
TABLES = (
    ("What an ideal encoding does", IDEAL),
    ("In attention", ATTENTION),
    ("Its price", PRICE),
)


def subjects() -> list[Subject]:
    """Return every scheme that says how it acts in attention."""
    return [Subject(scheme, scheme.layer) for scheme in SCHEMES.values() if scheme.layer is not None]


def text() -> str:
    """Return the page."""
    return "\n".join(_lines(subjects())) + "\n"


def _lines(measured: list[Subject]) -> Iterator[str]:
    yield "# Properties of every scheme, measured"
    yield ""
    yield "`make pages` writes this page (`python -m tools.properties`). Each cell is measured on the reference in attention (each scheme's"
    yield f"`layer`, see `refimpl/attention.py`), with {measures.HEADS} heads of {measures.WIDTH} channels unless a column says otherwise."
    yield "The *code* of a position is what the scheme makes of one and the same key there: the key itself, if the scheme adds to it or"
    yield "turns it; otherwise its logits, and its value, as queries in the middle see them."
    yield "The schemes were collected from lecture notes; the page ends with what these say of the properties, and where they are wrong."
    for title, columns in TABLES:
        yield from ("", f"## {title}", "")
        yield from _table(columns, measured)
        yield ""
        yield from (f"- **{column.name}**: {column.how}" for column in columns if column.how)
    yield from ("", "## What the lecture notes say of these properties", "")
    yield "*RoPE has all five properties of an ideal encoding.*"
    yield ""
    yield _ideal(measured)
    yield from ("", "## Where the lecture notes are wrong", "")
    yield "Claims of the notes are in italics. The numbers are measured when this page is written."
    for correction in corrections():
        yield from _corrected(correction)


def _ideal(measured: list[Subject]) -> str:
    """Say which schemes have every property of an ideal encoding, and which of them nothing in attention speaks against."""
    every = [subject for subject in measured if all(column.cell(subject) == "yes" for column in IDEAL[1:])]
    names = ", ".join(f"`{subject.scheme.name}`" for subject in every)
    also = ", ".join(f"`{subject.scheme.name}`" for subject in every if measures.relative(subject.layer) and cache(subject) == "yes")
    told = f"These schemes have all five, as the first table measures them: {names}."
    return f"{told} Of these, {also} are also relative only and keep a cache valid."


def _table(columns: tuple[Column, ...], measured: list[Subject]) -> Iterator[str]:
    yield f"| {' | '.join(column.name for column in columns)} |"
    yield f"|{'---|' * len(columns)}"
    for subject in measured:
        yield f"| {' | '.join(column.cell(subject) for column in columns)} |"


def _corrected(correction: Correction) -> Iterator[str]:
    yield from ("", f"### {correction.title}", "", f"*{_escaped(correction.said)}*", "", _escaped(correction.found))


def _escaped(words: str) -> str:
    """Return words in which Markdown takes no stars, underscores or carets for marks."""
    return words.replace("*", r"\*").replace("_", r"\_")
