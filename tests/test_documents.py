"""Documents lead where they say, and the glossary has every word once, in order."""

import re
from pathlib import Path

import pytest

from conformance.calls.status import Status
from conformance.run import check

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("vectors/*.md")])
ROWS = re.findall(r"^\| (.*?) \| (.*?) \|$", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)[1:]


def anchors(page: str) -> set[str]:
    """Return the addresses of a page's headings."""
    titles = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.*)$", page, re.MULTILINE))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def leads_nowhere(document: Path, address: str) -> bool:
    """Whether a link of a document names a file or a heading that isn't there."""
    name, _, anchor = address.partition("#")
    path = document.parent / name if name else document
    return not path.exists() or (bool(anchor) and path.suffix == ".md" and anchor not in anchors(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    prose = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    inside = [address for address in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in address]

    assert [address for address in inside if leads_nowhere(document, address)] == []


def test_the_glossary_has_every_word_once_and_in_order() -> None:
    words = [word for word, _ in ROWS]

    assert len(words) > 40
    assert words == sorted(set(words), key=lambda word: word.split(",")[0].lower())
    assert all(meaning for _, meaning in ROWS)


#: The code that the page on declarations declares: whole functions for torch, and right ones for the parts that follow.
MODEL = """
import torch

def turned(x, cos, sin):
    first, second = x.chunk(2, -1)
    return (x * cos + torch.cat((-second, first), -1) * sin).to(x.dtype)

def module(x, positions):
    rates = 10_000.0 ** -(torch.arange(0, x.shape[-1], 2) / x.shape[-1]).double()
    angles = torch.cat([positions[..., None] * rates] * 2, -1)
    angles = angles[:, None] if angles.ndim == 3 else angles
    return turned(x.double(), angles.cos(), angles.sin()).to(x.dtype)

def rotate(x, positions, theta, interleaved):
    rates = theta ** -(torch.arange(0, x.shape[-1], 2) / x.shape[-1]).double()
    angles = torch.cat([positions[..., None] * rates] * 2, -1)
    angles = angles[:, None, None] if angles.ndim == 2 else angles.transpose(0, 1)[:, :, None]
    return turned(x.double(), angles.cos(), angles.sin()).to(x.dtype)

def apply_rotary_pos_emb(q, k, cos, sin):
    return [turned(x, cos[:, None], sin[:, None]) for x in (q, k)]
"""
PARTS = """
import numpy as np
from posenc import Adapter
from refimpl.schemes import alibi, axial_rope, rope, sinusoidal

HALF = {"layout": "half", "direction": "positive"}
adapter = Adapter("mine")

def my_rotate(x, offset, base):
    return rope.rotate(x, offset + np.arange(x.shape[2]), head_dim=x.shape[-1], base=base, **HALF)

def turn_patches(x, height, width):
    places = np.stack([*map(np.ravel, np.indices((height, width)))], -1)
    return axial_rope.rotate(x, places, head_dim=x.shape[-1], axes=(x.shape[-1] // 2,) * 2, order="block", base=10000.0, **HALF)

def my_table(length, dim):
    return sinusoidal.encode(np.arange(length), dim=dim, layout="halves").astype(np.float32)

def my_bias(num_heads, length):
    return alibi.bias(np.arange(length), np.arange(length), num_heads=num_heads, form="row", slopes="code").astype(np.float32)

def my_attend(q, k, v, past, base):
    given = {"head_dim": q.shape[-1], "base": base, "causal": True}
    return rope.attend(q, k, v, past + np.arange(q.shape[2]), np.arange(k.shape[2]), **given, **HALF)
"""


def test_the_code_of_the_page_on_declarations_conforms_as_it_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="the page's model is torch's")
    first, *further = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "declarations.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "my_model.py").write_text(MODEL)
    (tmp_path / "whole.py").write_text(first)
    (tmp_path / "parts.py").write_text(PARTS + "\n\n".join(further))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    reports = [check(str(tmp_path / name), level="smoke", seed=1) for name in ("whole.py", "parts.py")]

    assert len(further) == 5
    assert [[f"{result.check}: {result.outcome}" for result in report.results if result.convicts] for report in reports] == [[], []]
    assert [report.status for report in reports] == [Status.CONFORMS] * 2
