"""Modules of torch as people write and bring them, with caches and without; ``brought`` declares them."""

# ruff: noqa: ANN001, ANN201, ANN204, ANN205  code as people write it has no annotations

import functools

import torch
from torch import nn


def turned(x, cos, sin):
    cos, sin = (table[:, None] if table.ndim == 3 else table for table in (cos, sin))
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1).to(x.dtype)


def angles(positions, width, base=10_000.0):
    return positions[..., None].float() * base ** (-torch.arange(0, width, 2).float() / width)


class Rotary(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("inv_freq", angles(torch.tensor(1), width), persistent=False)

    def forward(self, x, positions):
        phases = positions[..., None] * self.inv_freq
        return turned(x, phases.cos(), phases.sin())


class OfBoth(Rotary):
    def forward(self, q, k, positions):
        return super().forward(q, positions), super().forward(k, positions)


class Tables(Rotary):
    def forward(self, x, position_ids):
        phases = torch.cat((position_ids[..., None] * self.inv_freq,) * 2, dim=-1)
        return phases.cos().to(x.dtype), phases.sin().to(x.dtype)


class Encoding(nn.Module):
    """Adds the paper's table, as torch's own tutorial does."""

    def __init__(self, width, length=2_048):
        super().__init__()
        table = torch.zeros(length, width)
        table[:, 0::2], table[:, 1::2] = angles(torch.arange(length), width).sin(), angles(torch.arange(length), width).cos()
        self.register_buffer("pe", table[None])

    def forward(self, x):
        return x + self.pe[:, : x.shape[1]]


class Distances(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.slopes = nn.Parameter(2.0 ** (-8.0 * torch.arange(1, count + 1) / count), requires_grad=False)

    def forward(self, queries, keys):
        return self.slopes[:, None, None] * (torch.arange(keys) - torch.arange(queries)[:, None])


class Growing(nn.Module):
    """Keeps tables, and makes longer ones where a position lies beyond them."""

    def __init__(self, width):
        super().__init__()
        self.width, self.cached = width, 0

    def forward(self, x, positions):
        if int(positions.max()) >= self.cached:
            self.cached = 2 * int(positions.max()) + 1
            phases = angles(torch.arange(self.cached), self.width)
            self.cos, self.sin = phases.cos(), phases.sin()
        return turned(x, self.cos[positions], self.sin[positions])


class Fixed(nn.Module):
    """Looks positions up in a table of complex numbers."""

    def __init__(self, width, length):
        super().__init__()
        phases = angles(torch.arange(length), width)
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(phases), phases), persistent=False)

    def forward(self, x, positions):
        waves = self.freqs_cis[positions]
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * (waves[:, None] if waves.ndim == 3 else waves)
        return torch.view_as_real(pairs).reshape(x.shape)


class OfLengths(nn.Module):
    """Keeps the tables of every length that it was asked for."""

    def __init__(self, width):
        super().__init__()
        self.tables = functools.lru_cache(maxsize=8)(functools.partial(self.made, width))

    @staticmethod
    def made(width, length):
        phases = angles(torch.arange(length), width)
        return phases.cos(), phases.sin()

    def forward(self, x):
        return turned(x, *self.tables(x.shape[2]))


class Kept(nn.Module):
    """Keeps the longest bias, and cuts shorter ones out of it."""

    def __init__(self, count):
        super().__init__()
        self.make, self.bias = Distances(count), torch.zeros(count, 0, 0)

    def forward(self, queries, keys):
        longest = max(queries, keys)
        if longest > self.bias.shape[-1]:
            self.bias = self.make(longest, longest)
        return self.bias[:, :queries, :keys]


class Appended(nn.Module):
    """Keeps rows of sinusoids, and appends those that lack."""

    def __init__(self, width):
        super().__init__()
        self.rows = torch.zeros(0, width)

    def forward(self, x):
        lacking = torch.arange(len(self.rows), max(len(self.rows), x.shape[1]))
        phases = angles(lacking, x.shape[2])
        self.rows = torch.cat((self.rows, torch.cat((phases.sin(), phases.cos()), dim=-1)))
        return x + self.rows[: x.shape[1]]
