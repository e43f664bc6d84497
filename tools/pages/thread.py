"""Short names for the public threads where people met a mistake."""

import re
from collections.abc import Iterable, Iterator

from conformance.mutants.catalogue import about
from tools.pages.markdown import code, link

GITHUB = re.compile(r"https://github\.com/([^/]+/[^/]+)/(?:issues|pull|discussions)/(\d+)")
COMMIT = re.compile(r"https://github\.com/([^/]+/[^/]+)/commit/(\w{7})")


def thread(address: str) -> str:
    """Return a link that bears the repository and the number (``owner/name#12``), or else the site."""
    found = GITHUB.match(address)
    if found:
        return link(f"{found[1]}#{found[2]}", address)
    found = COMMIT.match(address)
    return link(f"{found[1]}@{found[2]}", address) if found else link(address.split("/")[2], address)


def met(addresses: Iterable[str], scheme: str) -> Iterator[str]:
    """Yield a link for every thread, those about another scheme last and with its name: the same mistake was made there."""
    others: dict[str, list[str]] = {}
    for address in addresses:
        if about(address) in ("", scheme):
            yield thread(address)
        else:
            others.setdefault(about(address), []).append(thread(address))
    yield from (f"with {code(other)}: {', '.join(threads)}" for other, threads in others.items())
