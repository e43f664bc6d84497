"""What the attention of transformers' models multiplies queries by, beside the rotation: it runs until it has its queries."""

import copy
import functools
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface

from conformance.adapt.adapter import Unsupported
from conformance.adapters.transformers_adapter import adapter
from conformance.adapters.transformers_configured import Layers, layers

#: What a norm may call the number that it adds to the variance: without it ones stay ones.
SMALL = ("eps", "variance_epsilon")
#: How many tokens are asked for at once: some attention has a mask of the square.
MOST = 1_024


class _Attending(Exception):  # noqa: N818 - it is no error
    """Attention has its queries."""

    def __init__(self, queries: torch.Tensor) -> None:
        super().__init__()
        self.queries = queries


def _stop(_: object, queries: torch.Tensor, *__: object, **___: object) -> None:
    raise _Attending(queries)


AttentionInterface.register("queries", _stop)


@dataclass(frozen=True)
class _Cached:
    """A cache that holds so many tokens before those of a call."""

    length: int

    def get_seq_length(self, _: int = 0) -> int:
        """Return how many it holds."""
        return self.length

    def update(self, key: torch.Tensor, value: torch.Tensor, *_: object, **__: object) -> tuple[torch.Tensor, torch.Tensor]:
        """Keep nothing: the queries are what counts."""
        return key, value


class _Ones(torch.nn.Module):  # type: ignore[misc]  # the library has no types
    """What stands in the place of weights: it makes as many channels as they do, all like the first that it gets."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return these channels."""
        return states[..., :1].repeat(*[1] * (states.ndim - 1), self.width)


class _FirstKey(torch.nn.Module):  # type: ignore[misc]  # the library has no types
    """What stands in the place of an indexer: which keys a query meets doesn't change it."""

    def forward(self, states: torch.Tensor, *_: object, **__: object) -> torch.Tensor:
        """Return one key for each query."""
        return torch.zeros(*states.shape[:-1], 1, dtype=torch.int64)


class Attention:
    """A layer's attention that makes queries of ones, but for a factor that no position changes."""

    def __init__(self, found: Layers, layer: int, heads: int | None = None) -> None:
        """Make it without weights, with as many heads as the configuration says unless others are asked for."""
        self.found, self.layer = found, layer
        configuration = copy.deepcopy(found.configuration)
        if heads is not None:
            configuration.num_attention_heads = heads
        configuration._attn_implementation = "queries"  # noqa: SLF001 - from_pretrained's argument sets no other
        with torch.device("meta"):
            self.module = found.attention(configuration, layer).eval()
        self.masked = getattr(self.module, "indexer", None) is not None
        if self.masked:
            self.module.indexer = _FirstKey()
        if hasattr(self.module, "compressor"):
            self.module.compressor = None
        for name, each in [*self.module.named_modules()]:
            if isinstance(each, torch.nn.Linear):
                self.module.set_submodule(name, _Ones(each.out_features))
        self.module.to_empty(device="cpu")
        self.mixes = any(isinstance(each, torch.nn.Conv1d) for each in self.module.modules())
        _fill(self.module)

    def learn(self, slopes: torch.Tensor, biases: torch.Tensor) -> None:
        """Take what a checkpoint holds of the factors of its heads."""
        self.module.softmax_scaling.load_state_dict({"scale": slopes, "bias": biases})

    def queries(self, positions: torch.Tensor, before: int) -> torch.Tensor:
        """Return the first channel of the queries of tokens behind so many others, ``head token``, turned by no angle."""
        rows, tokens = positions[None], len(positions)
        given = {
            "hidden_states": torch.ones(1, tokens, 1), "position_embeddings": self._tables(rows), "position_ids": rows,
            "attention_mask": torch.zeros(1).expand(1, 1, tokens, tokens) if self.masked else None,
            "past_key_values": None if self.mixes else _Cached(before),
            "shared_kv_states": {}, "prev_topk_indices": torch.zeros_like(rows)[..., None],
        }  # fmt: skip
        asked = inspect.signature(self.module.forward).parameters
        try:
            with torch.no_grad():
                self.module(**{name: value for name, value in given.items() if name in asked})
        except _Attending as reached:
            reached.__traceback__ = None  # it holds all that attention made
            return reached.queries[0, ..., 0].clone()
        message = f"{type(self.module).__name__} hands its queries to no function"
        raise Unsupported(message)

    def _tables(self, rows: torch.Tensor) -> Any:
        """Return tables of position 0 as attention takes them: DeepSeek-V4's are named after kinds of layers."""
        if not self.found.held:
            return None
        held = self.found.tables(torch.zeros(1), torch.zeros_like(rows), self.layer)
        kind = getattr(self.module, "rope_layer_type", None)
        return (held if len(held) > 1 else held[0]) if kind is None else {kind: held}

    def scaled(self, positions: torch.Tensor) -> torch.Tensor:
        """Return it for any positions, ``[batch] head token``."""
        every, places = torch.unique(positions, return_inverse=True)
        factors = torch.cat([self.queries(part, int(part[0])) for part in _in_a_row(every)], dim=-1)
        return factors[:, places].movedim(0, -2)

    def unscaled(self) -> torch.Tensor:
        """Return what no position scales: the logarithm of 1 comes at position 0, or where code counts from 1, one before it."""
        return self.queries(torch.zeros(1, dtype=torch.int64), -1)[0, 0]


def _fill(module: Any) -> None:
    """Give a module weights of ones, norms that leave ones as they are, and convolutions in which a token gets nothing of others."""
    for each in module.modules():
        for weight in each.parameters(recurse=False):
            torch.nn.init.ones_(weight)
        for name in SMALL:
            if hasattr(each, name):
                setattr(each, name, 0.0)
        if isinstance(each, torch.nn.Conv1d):
            each.weight.data.zero_()[:, 0, -1] = 1


def _in_a_row(positions: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield rising positions as they follow one another, so many at the most: a cache holds all before the first one."""
    ends = (torch.nonzero(positions.diff() != 1).flatten() + 1).tolist()
    yield from (part for run in positions.tensor_split(ends) for part in run.split(MOST))


def attention(configuration: Mapping[str, Any], layer: int, heads: int | None = None) -> Attention:
    """Return the attention of a layer of a configuration, made once."""
    return _attention(json.dumps(configuration), layer, heads)


@functools.lru_cache(maxsize=8)
def _attention(configuration: str, layer: int, heads: int | None) -> Attention:
    found = layers(json.loads(configuration))
    try:
        made = Attention(found, layer, heads)
        made.unscaled()
    except Unsupported:
        raise
    except Exception as error:
        message = f"the attention of {found.modeling.__name__} doesn't run alone: {error}"
        raise Unsupported(message) from error
    return made


@adapter.implements("config.scale", dtypes=("float32",), lowest=0)
def scale(
    positions: torch.Tensor,
    *,
    configuration: Mapping[str, Any],
    layer: int,
    slopes: torch.Tensor | None = None,
    biases: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the queries of ones over those that no position scales; learned ones as they are, for each head."""
    made = attention(configuration, layer, None if slopes is None else len(slopes))
    if slopes is not None and biases is not None:
        made.learn(slopes, biases)
        return made.scaled(positions)
    return made.scaled(positions)[..., 0, :] / made.unscaled()
