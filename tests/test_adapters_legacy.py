"""The adapter of a release that has an environment of its own says in one line what it needs."""

import importlib
import importlib.metadata
import sys

import pytest

from conformance.adapt.adapter import Unsupported
from conformance.isolate.targets import LibraryMissing, load

MODULE = "conformance.adapters.transformers4_adapter"


@pytest.mark.parametrize("found", ["5.23.0", "4.570.1", "4.56.2", "none"])
def test_another_release_or_none_is_named_with_the_one_that_is_needed(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if found == "none":
            raise importlib.metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)

    with pytest.raises(LibraryMissing) as caught:
        load("transformers4")

    assert str(caught.value) == f"transformers4 needs transformers 4.57, got {found} (make check-legacy)"


@pytest.mark.parametrize(("far", "refused"), [(4, False), (5, True)])
def test_a_module_that_clips_no_distance_is_not_asked_for_a_sequence_that_is_longer(far: int, refused: bool) -> None:  # noqa: FBT001  a case
    """The keys at 0 and ``far`` are looked up as a query and a key too, though the query that is asked for stands between them."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    rows = importlib.import_module("conformance.adapters.relative_rows")
    x = torch.zeros(1, 1, 1, 2)
    row = rows.Row(x, x, x, torch.zeros(9, 2), torch.zeros(9, 2), torch.tensor([2]), torch.tensor([0, far]), 4, causal=False)

    if refused:
        with pytest.raises(Unsupported, match="the model does not clip distances"):
            rows.never_clipped(row)
    else:
        rows.never_clipped(row)
    assert row.farthest <= row.max_distance
