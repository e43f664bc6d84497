"""Short names for the public threads where people met a mistake."""

import re

from tools.pages.markdown import link

GITHUB = re.compile(r"https://github\.com/([^/]+/[^/]+)/(?:issues|pull|discussions)/(\d+)")
COMMIT = re.compile(r"https://github\.com/([^/]+/[^/]+)/commit/(\w{7})")


def thread(address: str) -> str:
    """Return a link that bears the repository and the number (``owner/name#12``), or else the site."""
    found = GITHUB.match(address)
    if found:
        return link(f"{found[1]}#{found[2]}", address)
    found = COMMIT.match(address)
    return link(f"{found[1]}@{found[2]}", address) if found else link(address.split("/")[2], address)
