"""The adapter of a release that has an environment of its own says in one line what it needs."""

import importlib.metadata
import sys

import pytest

from conformance.targets import LibraryMissing, load

MODULE = "conformance.adapters.transformers4_adapter"


@pytest.mark.parametrize("found", ["5.23.0", "4.570.1", "4.56.2"])
def test_another_release_is_named_with_the_one_that_is_needed(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: found)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)

    with pytest.raises(LibraryMissing) as caught:
        load("transformers4")

    assert str(caught.value) == f"transformers4 needs transformers 4.57, got {found} (make check-legacy)"


def test_no_release_at_all_is_said_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)

    with pytest.raises(LibraryMissing) as caught:
        load("transformers4")

    assert str(caught.value) == "transformers4 needs transformers 4.57, got none (make check-legacy)"
