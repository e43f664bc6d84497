"""Sinusoidal tables of transformers in the four conventions that released models use; all start at position 0 with base 10000."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from transformers import SpeechT5Config
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.musicgen.modeling_musicgen import MusicgenSinusoidalPositionalEmbedding
from transformers.models.speecht5.modeling_speecht5 import SpeechT5ScaledPositionalEncoding
from transformers.models.xlm.modeling_xlm import create_sinusoidal_embeddings

from conformance.adapters.transformers_adapter import adapter, initialised

Build = Callable[[int, int], torch.Tensor]
#: Marian and XLM fill their tables in a Python loop, the others by tensor operations.
SLOW, FAST = 8191, 131_071
FEWEST, WIDEST = 4, 128

offers = functools.partial(adapter.implements, "sinusoidal.encode", positions="from_zero", dtypes=("float32",), base=10_000.0, scale=1.0)


@functools.lru_cache(maxsize=32)
def _table(build: Build, length: int, dim: int) -> torch.Tensor:
    return build(length, dim)


def encode(build: Build, positions: torch.Tensor, *, dim: int, **_: object) -> torch.Tensor:
    """Return the first rows of a table."""
    length = len(positions)
    return _table(build, 1 << max(6, (length - 1).bit_length()), dim)[:length]


def marian(length: int, dim: int) -> torch.Tensor:
    """Return Marian's weight: sines, then cosines."""
    return MarianSinusoidalPositionalEmbedding(length, dim).create_weight()


def xlm(length: int, dim: int) -> torch.Tensor:
    """Return XLM's table: sines and cosines in turn."""
    return create_sinusoidal_embeddings(length, dim, torch.empty(length, dim))


def m2m_100(length: int, dim: int) -> torch.Tensor:
    """Return M2M100's table before its rows are moved by the padding index."""
    return M2M100SinusoidalPositionalEmbedding.get_embedding(length, dim)


def musicgen(length: int, dim: int) -> torch.Tensor:
    """Return MusicGen's table: cosines, then sines."""
    return MusicgenSinusoidalPositionalEmbedding.get_embedding(length, dim)


def _even(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters["dim"] % 2 == 0 and parameters["dim"] <= WIDEST)


def _two_pairs(parameters: Mapping[str, Any]) -> bool:
    # With one pair the library divides by zero.
    return bool(FEWEST <= parameters["dim"] <= WIDEST and (_even(parameters) or parameters["odd"] == "zero_column"))


offers(label="marian", layout="halves", spacing="paper", when=_even, highest=SLOW)(functools.partial(encode, marian))
offers(label="xlm", layout="interleaved", spacing="paper", when=_even, highest=SLOW)(functools.partial(encode, xlm))
offers(label="m2m-100", layout="halves", spacing="endpoint", when=_two_pairs, highest=FAST)(functools.partial(encode, m2m_100))
offers(label="musicgen", layout="halves_cosine_first", spacing="endpoint", when=_two_pairs, highest=FAST)(
    functools.partial(encode, musicgen)
)


@adapter.implements(
    "sinusoidal.add", label="speecht5", positions="from_zero", highest=SLOW, dtypes=("float32",), layout="interleaved", spacing="paper",
    odd="error", base=10_000.0, embedding_scale="none", when=_even,
)  # fmt: skip
def speecht5(x: torch.Tensor, positions: torch.Tensor, *, scale: float, **_: object) -> torch.Tensor:
    """Return SpeechT5's embeddings plus its table times the number that it learns."""
    module = _speecht5(x.shape[-1], 1 << max(6, (positions.shape[-1] - 1).bit_length()))
    module.alpha.data.fill_(scale)
    return module(x)


@functools.lru_cache(maxsize=32)
def _speecht5(dim: int, length: int) -> torch.nn.Module:
    module = SpeechT5ScaledPositionalEncoding(0.0, dim, length).requires_grad_(requires_grad=False)
    return initialised(module, SpeechT5Config())
