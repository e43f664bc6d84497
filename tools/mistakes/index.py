"""The page that leads to the mistakes: by symptom, by topic, by scheme; and the list of public reports."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from conformance.mutants.catalogue import Entry, load, named
from conformance.mutants.told import FOLDER, anchor
from conformance.spec.mutant import slug
from refimpl.schemes import SCHEMES
from tools.mistakes.known import Mistake, mistakes
from tools.mistakes.page import CALLED, NOTICE
from tools.mistakes.topics import Symptom, matches, sorted_by_topic, symptoms, topics
from tools.pages.markdown import escaped, joined, link, section, table
from tools.pages.thread import thread

OPENING = """This page lists what goes wrong in implementations of positional encodings: RoPE, YaRN, LongRoPE, ALiBi, T5's bias, sinusoids,
Transformer-XL and others. Each mistake is a program that fails golden cases or a law. Of {every} mistakes, {own} were reported for
public code of the same scheme, and {lent} only for code of another scheme; the reports are linked. The others say where they come from.
`posenc check YOURS` compares your implementation with all of them, and names the one that it makes."""
BY_SYMPTOM = """Each heading is what you see; below it stands what it may be, likeliest first. A name such as `layout=half` is a
convention: it is wrong only where your weights, or your adapter's declaration, have another one."""
BY_SCHEME = "*Inherited* mistakes are those of every similar scheme (such as all rotations), or of everything that takes positions."
REPORTS = "All public reports behind these pages, each in a sentence."
LINKED = 3
REPORTS_OPENING = """These are public reports of mistakes and of differing conventions, in our words, sorted by what repeats them here:

- If an operation can show the mistake, a mutant repeats it: a program that makes this mistake.
- If the report is about a configuration, `posenc explain` names what is wrong in such a configuration.
- If the report took right code for wrong, a test judges such code, which passes.
- Some code is wrong only under what a framework does around it, such as building a model on the meta device. A test has a module
  that is wrong in this way.
- The other reports wait for a scheme that isn't here yet, or concern what no operation computes."""


def index(reports: str = f"{FOLDER}/reports.md") -> str:
    """Return the page that leads to the others."""
    known = every()
    return joined(
        NOTICE,
        "# Known mistakes in positional encodings",
        OPENING.format(every=len(known), **met(known)),
        contents(),
        section("By symptom", BY_SYMPTOM, *(symptom(seen, known) for seen in symptoms())),
        section("By topic", *map("".join, by_topic())),
        section("By scheme", BY_SCHEME, by_scheme()),
        section("Public reports", f"{REPORTS} {link('The list', reports)}."),
    )


def met(known: Iterable[Mistake]) -> dict[str, int]:
    """Return how many mistakes have a report on their own scheme, and how many one on another scheme only."""
    told = Counter("own" if mistake.own_threads else "lent" for mistake in known if mistake.threads or mistake.elsewhere)
    return {kind: told[kind] for kind in ("own", "lent")}


def contents() -> str:
    """Return the table of contents: what is seen, what goes wrong, where."""
    below = {"By symptom": [seen.sees for seen in symptoms()], "By topic": [topic.title for topic in topics()]}
    lines = [line for title, titles in below.items() for line in (_linked(title), *(f"  {_linked(each)}" for each in titles))]
    return "\n".join([*lines, _linked("By scheme"), _linked("Public reports")])


def _linked(title: str) -> str:
    return f"- {link(title, f'#{anchor(title)}')}"


def every() -> list[Mistake]:
    """Return the distinct mistakes of all schemes."""
    return [mistake for scheme in SCHEMES for mistake in mistakes(scheme)]


def symptom(seen: Symptom, known: Sequence[Mistake]) -> str:
    """Return one symptom with the mistakes that may cause it."""
    held = [mistake for pattern in seen.patterns for mistake in known if matches(mistake, [pattern])]
    return joined(f"### {seen.sees}", listed(held))


def listed(held: Iterable[Mistake]) -> str:
    """Return mistakes as a list, one that several schemes share once."""
    groups: dict[str, list[Mistake]] = {}
    for mistake in {mistake.address: mistake for mistake in held}.values():
        groups.setdefault(mistake.title, []).append(mistake)
    return "\n".join(f"- {_line(group)}" for group in groups.values())


def _line(group: Sequence[Mistake]) -> str:
    first, where = group[0], [link(mistake.scheme, f"{FOLDER}/{mistake.address}") for mistake in group[:LINKED]]
    more = [f"{len(group) - LINKED} more"] if len(group) > LINKED else []
    return f"**{first.title}**: {_said(first)} ({', '.join([*where, *more])})"


def _said(mistake: Mistake) -> str:
    """Return what a mistake does, or what a convention is without who uses it."""
    convention = SCHEMES[mistake.scheme].conventions.get(mistake.slug, "").partition(":")[0].rstrip(".")
    return escaped(convention[:1].lower() + convention[1:] if convention else "; or ".join(mistake.does))


def by_topic() -> Iterator[str]:
    """Yield a paragraph for every topic: what it is, and where it is told."""
    among = topics()
    told = {scheme: sorted_by_topic(mistakes(scheme), among) for scheme in SCHEMES}
    for topic in among:
        links = [link(f"{scheme} ({len(held[topic])})", _section(scheme, topic.title)) for scheme, held in told.items() if topic in held]
        yield joined(f"### {topic.title}", f"{escaped(topic.says)}\n\n{', '.join(links)}")


def _section(scheme: str, title: str) -> str:
    return f"{FOLDER}/{scheme}.md#{anchor(title)}"


def by_scheme() -> str:
    """Return the schemes with the number of their mistakes, own and inherited."""
    counts = {name: Counter(each.inherited for each in mistakes(name)) for name in SCHEMES}
    rows = ((_page(name), escaped(SCHEMES[name].summary), str(count[False]), str(count[True])) for name, count in counts.items() if count)
    return table(("scheme", "what it is", "own mistakes", "inherited"), rows)


def _page(scheme: str) -> str:
    return link(CALLED.get(scheme, scheme), f"{FOLDER}/{scheme}.md")


def reports() -> str:
    """Return the list of public reports."""
    entries, known = load(), every()
    parts = {
        "Repeated by a mutant": [entry for entry in entries if entry.mutants],
        "Told where a configuration is read": [
            entry for entry in entries if entry.configured and not entry.mutants and entry.nature != "false alarm"
        ],
        "False alarms: right code, which passes": [entry for entry in entries if entry.nature == "false alarm"],
        "Waiting for a scheme": [entry for entry in entries if entry.waits_for and not entry.mutants],
        "Shown by a module under a circumstance": [entry for entry in entries if entry.under],
        "Outside of any operation": [entry for entry in entries if entry.outside],
    }
    sections = (section(title, "\n".join(_report(entry, known) for entry in held)) for title, held in parts.items())
    return joined(NOTICE, "# Public reports", link("All mistakes", "../mistakes.md"), REPORTS_OPENING, *sections)


def _report(entry: Entry, known: Sequence[Mistake]) -> str:
    """Return one report: what went wrong, what repeats it or why nothing does, and where else it was met."""
    nature = "A convention." if entry.nature == "convention" else ""
    also = f"See also {', '.join(map(_related, entry.related))}." if entry.related else ""
    told = (f"{thread(entry.url)}: {escaped(entry.says)}", nature, _answer(entry, known), also)
    return f"- {' '.join(filter(None, told))}"


def _related(name: str) -> str:
    repository, _, number = name.partition("#")
    return link(name, f"https://github.com/{repository}/issues/{number}")


def _answer(entry: Entry, known: Sequence[Mistake]) -> str:
    names = ", ".join(_repeaters(entry, known))
    wants = f"Waits for `{entry.waits_for}`: {escaped(entry.because)}." if entry.waits_for else ""
    under = f"Shown with `--under {entry.under}`." if entry.under else ""
    return " ".join(part for part in (f"Repeated by {names}." if names else "", wants, under, escaped(entry.outside)) if part)


def _repeaters(entry: Entry, known: Sequence[Mistake]) -> Iterator[str]:
    """Yield a link to every mistake that repeats a report, once for all schemes."""
    names = {f"{each.operation.partition('.')[0]}/{slug(each.name)}" for pattern in entry.mutants for each in named(pattern)}
    seen: set[str] = set()
    for mistake in known:
        if names.intersection(mistake.names) and entry.url in mistake.threads and mistake.title not in seen:
            seen.add(mistake.title)
            yield link(mistake.title, mistake.address)
