"""Decide which mutation is put to which operation: to every one that runs the function, but attention is asked for what it adds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.spec.vectors import Vector
from refimpl.schemes import SCHEMES
from tools.mutation.mutations import Mutation, of
from tools.mutation.sites import Site, read
from tools.mutation.specimen import Specimen, reached, run_by

#: What makes numbers: a mutation here is put to each operation by itself.
FORMS = ("rotary", "parted", "windowed", "bias", "attention", "additive")
NUMERIC = ("refimpl.attention", *(f"refimpl.forms.{name}" for name in FORMS), *(f"refimpl.schemes.{name}" for name in SCHEMES))
#: What every operation shares: a mutation here is put to all of them together.
SHARED = ("refimpl.arrays", "refimpl.spec")
EVERYTHING = "shared"
#: Operations made of others of their scheme: what another one runs is put to that one, whose result shows it as it is.
DERIVED = ("add", "weights", "attend", "attend_selected")


@dataclass(frozen=True, eq=False)
class Mutant:
    """One mutation, and the operations whose vectors and laws must convict it."""

    mutation: Mutation
    scheme: str
    operations: tuple[str, ...]

    @property
    def dtype(self) -> str:
        """The dtype at which it is judged: half formats are a mistake at single precision already."""
        return "float64" if self.mutation.narrows in (None, "float32") else "float32"

    @property
    def owner(self) -> str:
        """For whom it is a mistake."""
        return self.operations[0] if len(self.operations) == 1 else EVERYTHING


@dataclass(frozen=True)
class Reach:
    """Which functions each operation runs on its vectors, and the mutations of every function."""

    numeric: Sequence[Site]
    shared: Sequence[Site]
    sites: Mapping[str, Sequence[Site]]
    mutations: Mapping[str, Sequence[Mutation]]

    def plan(self, schemes: Sequence[str]) -> list[Mutant]:
        """Return every mutant of these schemes, by scheme and operation, in the order of the source."""
        own = [mutant for scheme in schemes for name in self.sites if name.startswith(f"{scheme}.") for mutant in self._of_operation(name)]
        return [*own, *self._of_all()] if EVERYTHING in schemes else own

    def unreached(self) -> list[str]:
        """Return the functions that no operation runs, whose mutations are therefore nobody's mistake."""
        seen = {site.label for sites in self.sites.values() for site in sites}
        return [site.label for site in (*self.numeric, *self.shared) if site.label not in seen]

    def _of_operation(self, name: str) -> Iterator[Mutant]:
        scheme, _, own = name.partition(".")
        spared = self._simpler(scheme) if own in DERIVED else set()
        for site in self.numeric:
            if site in self.sites[name] and site.label not in spared:
                yield from (Mutant(mutation, scheme, (name,)) for mutation in self.mutations[site.label])

    def _simpler(self, scheme: str) -> set[str]:
        """Return the functions that operations of a scheme run which aren't derived from others."""
        simple = (sites for name, sites in self.sites.items() if name.startswith(f"{scheme}.") and name.partition(".")[2] not in DERIVED)
        return {site.label for sites in simple for site in sites}

    def _of_all(self) -> Iterator[Mutant]:
        seen = {site.label for sites in self.sites.values() for site in sites}
        for site in self.shared:
            if site.label in seen:
                yield from (Mutant(mutation, EVERYTHING, tuple(self.sites)) for mutation in self.mutations[site.label])


def reach(specimen: Specimen, vectors: Mapping[str, Sequence[Vector]]) -> Reach:
    """Return which functions each operation runs, by running its vectors."""
    numeric, shared = ([site for name in names for site in read(name).sites] for names in (NUMERIC, SHARED))
    sites = {name: _met(specimen, own, name, (*numeric, *shared)) for name, own in vectors.items()}
    return Reach(numeric, shared, sites, {site.label: of(site) for site in (*numeric, *shared)})


def _met(specimen: Specimen, vectors: Sequence[Vector], name: str, sites: Sequence[Site]) -> list[Site]:
    codes = run_by(specimen, name, [(tuple(vector.inputs.values()), vector.parameters) for vector in vectors])
    return list(reached(specimen, sites, codes))
