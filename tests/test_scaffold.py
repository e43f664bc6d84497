"""What ``posenc init`` writes is whole, says what every argument is, and its other ways to connect code judge right code as right."""

import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.adapt.scaffold import source, variants
from conformance.calls.outcomes import Errored, Report
from conformance.calls.status import Status
from conformance.isolate import targets
from conformance.run import check
from conformance.spec.declarations import operations

MODEL = """
import numpy as np

def tables(positions, width, base):
    angles = positions[..., None] * base ** -(np.arange(0, width, 2) / width)
    return np.cos(angles), np.sin(angles)

def apply_rope(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    return np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape).astype(x.dtype)

class RotaryEmbedding:
    def __init__(self, width, base):
        self.width, self.base = width, base

    def __call__(self, positions):
        return tables(positions, self.width, self.base)

def rotate(x, positions, head_dim, base):
    cos, sin = tables(positions, head_dim, base)
    return apply_rope(x, cos if cos.ndim == 2 else cos[:, None], sin if sin.ndim == 2 else sin[:, None])

def bias(num_heads, queries, keys):
    slopes = 2.0 ** (-8.0 * np.arange(1, num_heads + 1) / num_heads)
    return slopes[:, None, None] * (np.arange(keys) - np.arange(queries)[:, None])
"""
JITTED = """
import jax.numpy as jnp

def rotate(x, positions, base):
    angles = positions[..., None] * base ** -(jnp.arange(0, x.shape[-1], 2) / x.shape[-1])
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    cos, sin = (cos, sin) if cos.ndim == 2 else (cos[:, None], sin[:, None])
    a, b = x[..., ::2], x[..., 1::2]
    return jnp.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape).astype(x.dtype)
"""


@pytest.mark.parametrize("operation", operations())
def test_every_operation_gets_an_adapter_that_can_be_loaded(operation: str, tmp_path: Path) -> None:
    text = source("mine", operation, "numpy")
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")

    assert [each.operation for each in targets.load(str(tmp_path / "mine.py")).implementations] == [operation]
    assert all(f"  {name} (" in text for name in operations()[operation].arrays)
    assert "https://" in text


def freed(operation: str, word: str, folder: Path, *, framework: str = "numpy", more: str = "") -> Report:
    """Return what comes of the way to connect code whose title has a word, written as an adapter of its own."""
    (code,) = [code for title, code in variants(operations()[operation]) if word in title]
    head = f"import sys\nsys.path.insert(0, {str(folder)!r})\nfrom posenc import Adapter\nadapter = Adapter('mine', {framework!r})\n"
    declared = code.replace('"positive"', f'"positive"{more}').replace('"row"', f'"row"{more}')
    (folder / "mine.py").write_text(head + declared, encoding="utf-8")
    return check(str(folder / "mine.py"), level="smoke", seed=1)


@pytest.mark.parametrize(
    ("operation", "word", "more"),
    [
        ("rope.rotate", "call=", ""),
        ("rope.rotate", "cache", ""),
        ("alibi.bias", "how many queries", ", max_bias=8.0, num_heads=(2, 4, 8)"),
    ],
)
def test_another_way_to_connect_right_code_finds_it_right(operation: str, word: str, more: str, tmp_path: Path) -> None:
    (tmp_path / "my_model.py").write_text(MODEL, encoding="utf-8")

    assert freed(operation, word, tmp_path, more=more).status is Status.CONFORMS


def test_jitted_code_is_connected_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    (tmp_path / "my_model.py").write_text(JITTED, encoding="utf-8")

    report = freed("rope.rotate", "JAX", tmp_path, framework="jax", more=", lowest=0, highest=511")

    assert not [result.outcome for result in report.results if isinstance(result.outcome, Errored)]
    assert report.status is Status.CONFORMS


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_library_of_c_is_connected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(__file__).with_name("brought.c")
    monkeypatch.chdir(tmp_path)
    subprocess.run([str(shutil.which("cc")), "-O1", "-shared", "-fPIC", "-o", "libmine.so", source, "-lm"], check=True)

    assert freed("rope.rotate", "C library", tmp_path).status is Status.CONFORMS
