"""Sinusoidal tables of transformers in the four conventions that released models use; all start at position 0 with base 10000."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.musicgen.modeling_musicgen import MusicgenSinusoidalPositionalEmbedding
from transformers.models.xlm.modeling_xlm import create_sinusoidal_embeddings

from conformance.adapter import Unsupported
from conformance.adapters.transformers_adapter import adapter

Build = Callable[[int, int], torch.Tensor]
#: Marian and XLM fill their tables in a Python loop, the others by tensor operations.
SLOW, FAST = 1 << 16, 1 << 24
FEWEST = 4

offers = functools.partial(adapter.implements, "sinusoidal.encode", dtypes=("float32",), base=10_000.0, scale=1.0)


@functools.lru_cache(maxsize=32)
def _table(build: Build, length: int, dim: int) -> torch.Tensor:
    return build(length, dim)


def encode(build: Build, largest: int, positions: torch.Tensor, *, dim: int, **_: object) -> torch.Tensor:
    """Return the rows of a table long enough for the positions."""
    if positions.is_floating_point() or int(positions.min()) < 0:
        message = "a table has rows for the integers from 0 only"
        raise Unsupported(message)
    length = 1 << max(6, int(positions.max()).bit_length())
    if length * dim > largest:
        message = f"a table of {length} positions by {dim} is larger than this adapter builds"
        raise Unsupported(message)
    return _table(build, length, dim)[positions]


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
    return bool(parameters["dim"] % 2 == 0)


def _two_pairs(parameters: Mapping[str, Any]) -> bool:
    # With one pair the library divides by zero.
    return bool(parameters["dim"] >= FEWEST) and (_even(parameters) or parameters["odd"] == "zero_column")


offers(label="marian", layout="halves", spacing="paper", when=_even)(functools.partial(encode, marian, SLOW))
offers(label="xlm", layout="interleaved", spacing="paper", when=_even)(functools.partial(encode, xlm, SLOW))
offers(label="m2m-100", layout="halves", spacing="endpoint", when=_two_pairs)(functools.partial(encode, m2m_100, FAST))
offers(label="musicgen", layout="halves_cosine_first", spacing="endpoint", when=_two_pairs)(functools.partial(encode, musicgen, FAST))
