"""The laws that must convict known mistakes: claimed by hand, since asking every law about every mistake takes hours."""

import functools
from collections.abc import Mapping

from conformance.spec import document
from tools.convictions.lock import PATH


@functools.cache
def claimed() -> Mapping[str, tuple[str, ...]]:
    """Return the laws that must convict each mutant that laws are claimed of."""
    written = document.read(PATH.with_name("laws.yaml").read_bytes())
    claims = [(f"{operation}/{slug}", law) for operation, laws in written.items() for law, slugs in laws.items() for slug in slugs]
    return {name: tuple(law for mutant, law in claims if mutant == name) for name, _ in claims}
