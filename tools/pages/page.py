"""The page of one scheme."""

from collections.abc import Iterable, Iterator, Sequence

from conformance.laws import law_name
from conformance.mutants import for_operation
from conformance.show.declaration import counts, rule, special
from conformance.spec.mutant import Mutant, slug
from refimpl.spec import Case, Law, Operation, Scheme
from tools.pages.gaps import choices_of, contracts
from tools.pages.markdown import code, escaped, joined, link, section, sentence, table
from tools.pages.thread import met

NOTICE = "<!-- Written by `make pages` from the declarations; edit those. -->"
REFUSED = "Bad input, with the error message of the reference. If an implementation accepts it, the report says so; that is no failure."
MISTAKES = """Each mistake is a program that fails a vector or a law. `posenc check` names it if an implementation gives the same values.
The last column links public reports of it. *In the style of* says what an unreported mistake is modelled on; *ours* marks a number or
an idea of this project."""
CASES = "Each case is a call with a known result. Code that makes the mistake in the last column fails it."
PRECISION = "These are right in real arithmetic, but too coarse: their error exceeds what the implementation's profile allows."


def page(scheme: Scheme, picture: str | None = None) -> str:
    """Return the whole page; ``picture`` is the address of its picture."""
    return joined(
        NOTICE,
        f"# {scheme.name}",
        sentence(escaped(scheme.summary or scheme.source.title)),
        f"![{escaped(scheme.summary)}]({picture})" if picture else "",
        source(scheme),
        overview(scheme),
        *(described(scheme, contract) for contract in contracts(scheme)),
        section("Conventions in the wild", conventions(scheme)),
        section("Where the literature errs, and code departs from it", notes(scheme)),
        section("Laws", laws(scheme)),
        section("Known mistakes", *mistakes(scheme)),
        section("Cases", *cases(scheme)),
    )


def source(scheme: Scheme) -> str:
    """Return where the scheme is printed, and where it is said here."""
    printed = f"{link(escaped(scheme.source.title), scheme.source.address)}, {escaped(scheme.source.where)}"
    files = ((f"{folder}/{scheme.name}.py", f"../../{folder}/{scheme.name}.py") for folder in ("refimpl/schemes", "conformance/oracle"))
    return f"{sentence(f'Source: {printed}')}\n\nReference: {'; oracle: '.join(link(code(words), address) for words, address in files)}."


def overview(scheme: Scheme) -> str:
    """Return the operations with what each has."""
    names = (contract.name for contract in contracts(scheme))
    rows = ((link(code(name), f"#{_anchor(name)}"), *map(str, counts(name))) for name in names)
    return table(("operation", "cases", "laws", "known mistakes"), rows)


def _anchor(name: str) -> str:
    return name.replace(".", "").lower()


def described(scheme: Scheme, contract: Operation) -> str:
    """Return an operation: its equation, arguments and results."""
    vectors = link("vectors", f"../../vectors/{contract.name}.yaml")
    return joined(f"## `{contract.name}`", _docstring(contract), arguments(scheme, contract), f"Golden values: {vectors}.")


def _docstring(contract: Operation) -> str:
    paragraphs = (contract.function.__doc__ or "").split("\n\n")
    return "\n\n".join(escaped(paragraph) for paragraph in paragraphs)


def arguments(scheme: Scheme, contract: Operation) -> str:
    """Return arrays and parameters with their meaning, then the results."""
    rows = [*_arrays(scheme, contract), *_parameters(scheme, contract), *_results(scheme, contract)]
    return table(("argument", "kind", "meaning"), rows)


def _arrays(scheme: Scheme, contract: Operation) -> Iterator[tuple[str, str, str]]:
    for name, axes in contract.arrays.items():
        yield code(name), _axes(axes, integer=name in contract.integers), escaped(scheme.meanings.get(name, ""))


def _parameters(scheme: Scheme, contract: Operation) -> Iterator[tuple[str, str, str]]:
    for name, parameter in contract.parameters.items():
        yield code(name), escaped(rule(parameter)), escaped(scheme.meanings.get(name, ""))


def _results(scheme: Scheme, contract: Operation) -> Iterator[tuple[str, str, str]]:
    for name, axes in contract.results.items():
        said = scheme.meanings.get(name, "the result of that name") if len(contract.results) > 1 else "what the operation returns"
        yield f"*{name}*", _axes(axes, integer=name in contract.integers), escaped(said)


def _axes(axes: str, *, integer: bool) -> str:
    kind = "integers" if integer else "numbers"
    return f"{kind} {code('(' + ', '.join(axes.split()) + ')')}" if axes else "a number"


def conventions(scheme: Scheme) -> str:
    """Return what correct code may choose, and who chose it."""
    rows = ((code(choice), sentence(escaped(scheme.conventions.get(choice, "")))) for choice in [*choices_of(scheme), *_other(scheme)])
    return table(("choice", "what it is, and who uses it"), rows)


def _other(scheme: Scheme) -> list[str]:
    return [choice for choice in scheme.conventions if choice not in choices_of(scheme)]


def notes(scheme: Scheme) -> str:
    """Return the sentences that a reader of the literature needs."""
    return "\n".join(f"- {escaped(note)}" for note in scheme.notes)


def laws(scheme: Scheme) -> str:
    """Return every law once, with the operations that must obey it."""
    claimed: dict[Law, list[str]] = {}
    for name, own in scheme.laws.items():
        for law in own:
            claimed.setdefault(law, []).append(name)
    rows = ((law_name(law), escaped(law.value), _listed(names)) for law, names in claimed.items())
    every = f"Every operation also obeys the {link('universal laws', 'README.md#universal-laws')}.\n"
    return table(("law", "what it says", "operations"), rows) + "\n" + every


def mistakes(scheme: Scheme) -> tuple[str, ...]:
    """Return the known mistakes, then what is only too coarse; conventions have a section of their own."""
    every = [mutant for contract in contracts(scheme) for mutant in for_operation(contract.name)]
    wrong = _groups((slug(mutant.name), mutant) for mutant in every if mutant.kind == "mistake")
    coarse = _groups(("", mutant) for mutant in every if mutant.kind == "precision")
    told = f"{MISTAKES} {link('How to see each', f'../mistakes/{scheme.name}.md')}." if wrong else ""
    return told, _table_of_mistakes(wrong), PRECISION if coarse else "", _table_of_roundings(coarse)


def _groups(keyed: Iterable[tuple[str, Mutant]]) -> list[list[Mutant]]:
    """Return together what has one key and one remedy."""
    groups: dict[tuple[str, str, str], list[Mutant]] = {}
    for key, mutant in keyed:
        groups.setdefault((key, mutant.should, mutant.fix), []).append(mutant)
    return list(groups.values())


def _table_of_mistakes(groups: Iterable[Sequence[Mutant]]) -> str:
    rows = ((code(slug(group[0].name)), _does(group), escaped(group[0].fix), *_where(group)) for group in groups)
    return table(("mistake", "what it does", "the fix", "operations", "seen in"), rows)


def _table_of_roundings(groups: Iterable[Sequence[Mutant]]) -> str:
    rows = ((_slugs(group), escaped(group[0].should), escaped(group[0].fix), *_where(group)) for group in groups)
    return table(("too coarse", "what it should do", "the fix", "operations", "seen in"), rows)


def _slugs(group: Sequence[Mutant]) -> str:
    return _listed(slug(mutant.name) for mutant in group)


def _does(group: Sequence[Mutant]) -> str:
    does = dict.fromkeys(mutant.does for mutant in group)
    return f"{'; or '.join(map(escaped, does))}; should {escaped(group[0].should)}"


def _where(group: Sequence[Mutant]) -> tuple[str, str]:
    threads = dict.fromkeys(address for mutant in group for address in mutant.threads)
    origins = dict.fromkeys(mutant.origin for mutant in group if mutant.origin)
    scheme = group[0].operation.partition(".")[0]
    return _listed(mutant.operation.partition(".")[2] for mutant in group), ", ".join([*met(threads, scheme), *map(escaped, origins)])


def cases(scheme: Scheme) -> tuple[str, ...]:
    """Return the cases of each operation, simple ones first, with what they expose; one of several operations once; the bad input apart."""
    order = [case.operation for case in scheme.cases]
    every = sorted(scheme.cases, key=lambda case: (order.index(case.operation), special(case)))
    good, bad = [case for case in every if case.error is None], [case for case in every if case.error is not None]
    refused = table(("case", "operations", "error"), ((*_case(group), escaped(group[0].error or "")) for group in _alike(bad)))
    exposed = table(("case", "operations", "exposes"), ((*_case(group), escaped(group[0].exposes)) for group in _alike(good)))
    return CASES if exposed else "", exposed, REFUSED if refused else "", refused


def _alike(every: Iterable[Case]) -> list[list[Case]]:
    groups: dict[tuple[str, str, str], list[Case]] = {}
    for case in every:
        groups.setdefault((slug(case.name), case.exposes, case.error or ""), []).append(case)
    return list(groups.values())


def _case(group: Sequence[Case]) -> tuple[str, str]:
    return code(slug(group[0].name)), _listed(case.operation for case in group)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(code(name) for name in dict.fromkeys(names))
