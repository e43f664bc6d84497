"""Kernels that keep what they make of their arguments by a key that doesn't tell all of them apart, each beside its careful twin."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from narrow_code import Function, attend, rotate, tables, turned
from wrong_kernels import Kernel

from refimpl.schemes import (
    alibi,
    axial_rope,
    da_transformer,
    kerple,
    learned,
    llama3,
    longrope,
    mrope,
    none,
    partial_rope,
    relative_bias,
    shaw,
    sinusoidal,
    t5,
    yarn,
)
from refimpl.schemes import transformer_xl as xl

#: Arrays by their index, parameters by their names.
Given = Mapping[int | str, Any]
Key = Callable[[Given], object]
Feature = Callable[[Any], object]


class Cache:
    """Code that answers with what it was given ``of`` some arguments when their key first came; the latest few keys are kept."""

    def __init__(self, right: Function, of: Collection[int | str], key: Key, size: int) -> None:
        self.right, self.of, self.key, self.size = right, of, key, size
        self.kept: dict[object, Given] = {}

    def __call__(self, *arrays: np.ndarray, **said: Any) -> Any:
        given: dict[int | str, Any] = {**dict(enumerate(arrays)), **said}
        key = self.key(given)
        if key not in self.kept:
            self.kept = dict([*self.kept.items(), (key, {name: _own(given[name]) for name in self.of})][-self.size :])
        now = {**given, **self.kept[key]}
        return self.right(*(now[index] for index in range(len(arrays))), **{name: now[name] for name in said})


def _own(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def whole(value: Any) -> object:
    """Return all of a value as a key."""
    return (value.shape, value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else value


@dataclass(frozen=True)
class Careless:
    """What a cache is of, and what its key is made of: a feature of one argument, all of the others that it is of."""

    operation: str
    right: Function
    of: tuple[int | str, ...]
    feature: Feature
    called: str
    declared: Mapping[str, Any] = field(default_factory=dict)
    size: int = 1 << 10
    shapes: bool = True
    around: Callable[[Function], Function] = lambda cached: cached

    @property
    def name(self) -> str:
        """What it does wrong."""
        declared = ", ".join(map(str, self.declared.values()))
        which = f"argument {self.of[0]}" if isinstance(self.of[0], int) else self.of[0]
        few = "where it has few tokens" * (self.around is of_few)
        return ", ".join(filter(None, (f"{which} known by {self.called}", declared, "the last one kept" * (self.size == 1), few)))

    def kernel(self) -> Kernel:
        """Return the kernel, which has kept nothing yet."""
        return self._kernel({**dict.fromkeys(self.of, whole), self.of[0]: self.feature})

    def careful(self) -> Kernel:
        """Return a kernel that keeps the same and knows all of it."""
        return self._kernel(dict.fromkeys(self.of, whole))

    def _kernel(self, known: Mapping[int | str, Feature]) -> Kernel:
        def key(given: Given) -> object:
            shapes = tuple(value.shape for value in given.values() if isinstance(value, np.ndarray))
            with np.errstate(over="ignore"):
                return shapes if self.shapes else (), tuple(feature(given[name]) for name, feature in known.items())

        return Kernel(self.name, self.operation, self.around(Cache(self.right, self.of, key, self.size)), self.declared)


def nothing(_: object) -> object:
    """Know nothing of a value; the shapes of all arrays are always known."""
    return None


def ends(row: np.ndarray) -> object:
    return row.flat[0].item(), row.flat[-1].item()


def rows(array: np.ndarray) -> np.ndarray:
    """Return positions as rows."""
    return array.reshape(-1, array.shape[-1])


#: What people make keys of where they have positions.
OF_POSITIONS: dict[str, Feature] = {
    "length": nothing,
    "first": lambda p: p.flat[0].item(),
    "last": lambda p: p.flat[-1].item(),
    "ends": ends,
    "sum": lambda p: p.sum().item(),
    "mean and deviation": lambda p: (p.mean().item(), p.std().item()),
    "ends and sum": lambda p: (ends(p), p.sum().item()),
    "set": lambda p: tuple(sorted(p.ravel().tolist())),
    "largest": lambda p: p.max().item(),
    "least and largest": lambda p: (p.min().item(), p.max().item()),
    "ends, least and largest": lambda p: (ends(p), p.min().item(), p.max().item()),
    "ends, sum and set": lambda p: (ends(p), tuple(sorted(p.ravel().tolist()))),
    "differences": lambda p: np.diff(p, axis=-1).tobytes(),
    "absolute values": lambda p: np.abs(p).tobytes(),
    "first row": lambda p: rows(p)[0].tobytes(),
    "last row": lambda p: rows(p)[-1].tobytes(),
    "last of each row": lambda p: p[..., -1].tobytes(),
    "sum of each row": lambda p: p.sum(axis=-1).tobytes(),
    "sum over rows": lambda p: rows(p).sum(axis=0).tobytes(),
    "every second": lambda p: p[..., ::2].tobytes(),
    "both ends of four": lambda p: (p[..., :4].tobytes(), p[..., -4:].tobytes()),
    "first eight": lambda p: p[..., :8].tobytes(),
    "words": str,
    "five digits": lambda p: tuple(map("{:.5g}".format, p.ravel().tolist())),
    "bytes": lambda p: p.astype(np.int8).tobytes(),
    "shorts": lambda p: p.astype(np.int16).tobytes(),
    "half precision": lambda p: np.clip(p, -6e4, 6e4).astype(np.float16).tobytes(),
    "squares": lambda p: (p * p).sum().item(),
    "exclusive or": lambda p: int(np.bitwise_xor.reduce(p.astype(np.int64).ravel())),
}
#: The same where positions have fractions, or several axes.
OF_OTHERS: dict[str, Feature] = {
    "whole numbers": lambda p: p.astype(np.int64).tobytes(),
    "first axis": lambda p: p[..., 0].tobytes(),
    "largest of each axis": lambda p: p.reshape(-1, p.shape[-1]).max(axis=0).tobytes(),
    "sum of the axes": lambda p: p.sum(axis=-1).tobytes(),
}
#: What they make keys of where they have numbers.
OF_NUMBERS: dict[str, Feature] = {
    "its shape": nothing,
    "its first number": lambda x: x.flat[0].item(),
    "its ends": ends,
    "its first token": lambda x: x[..., :1, :].tobytes(),
    "its last token": lambda x: x[..., -1:, :].tobytes(),
    "its first and last token": lambda x: (x[..., :1, :].tobytes(), x[..., -1:, :].tobytes()),
    "its sum": lambda x: round(float(x.astype(np.float64).sum()), 6),
    "its sizes": lambda x: (np.abs(x).max().item(), round(float(np.square(x.astype(np.float64)).sum()), 6)),
    "its first row": lambda x: x[0].tobytes(),
    "its first channel": lambda x: x[..., 0].tobytes(),
    "its every second number": lambda x: x.ravel()[::2].tobytes(),
    "its words": str,
}
FOUR: Feature = "{:.4g}".format
#: What they make of numbers that are parameters.
OF_PARAMETERS: dict[str, Feature] = {"nothing": nothing, "its whole part": int, "four digits": FOUR, "half precision": np.float16}
#: And of lists of integers.
OF_LISTS: dict[str, Feature] = {"its numbers sorted": lambda numbers: tuple(sorted(numbers)), "its sum": sum}

MODEL: dict[str, Any] = {"layout": "half", "direction": "positive", "head_dim": 128, "base": 500_000.0}
DECODING: dict[str, Any] = {"causal": True, "queries": "at_end"}
SETTINGS = "head_dim base layout direction"


def with_first_width(x: np.ndarray, positions: np.ndarray, *, head_dim: int, base: float, layout: str, direction: str) -> np.ndarray:
    """Turn by the frequencies of another width, of which as many are taken as there are pairs."""
    pairs = np.resize(np.arange(head_dim // 2), x.shape[-1] // 2)
    cos, sin = (table[..., pairs] for table in tables(positions, head_dim, base))
    return turned(x, cos, sin, layout, direction)


def of_turned(attention: Function) -> Function:
    """Return attention of queries and keys that are turned before."""

    def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray, n: np.ndarray, *, causal: bool, **said: Any) -> Any:
        return attention(rotate(q, m, **said), rotate(k, n, **said), v, m, n, causal=causal)

    return kernel


def of_few(cached: Function) -> Function:
    """Return a rotation that keeps what it makes of as few tokens as decoding has."""
    return lambda x, positions, **said: (cached if positions.size <= 16 else rotate)(x, positions, **said)


def made(operation: str, right: Function, of: str, *features: str, **others: Any) -> list[Careless]:
    """Return a cache for each feature by which one of the arguments that it is of, the first, is known."""
    names = tuple(int(name) if name.isdecimal() else name for name in of.split())
    kinds = OF_POSITIONS | OF_OTHERS | OF_NUMBERS if isinstance(names[0], int) else OF_PARAMETERS | OF_LISTS
    return [Careless(operation, right, names, kinds[feature], feature, **others) for feature in features]


def of_each(operation: str, right: Function, others: str, *parameters: str) -> list[Careless]:
    """Return a cache for each of some parameters that its key leaves out."""
    return [each for name in parameters for each in made(operation, right, f"{name} {others}", "nothing")]


CARELESS: list[Careless] = [
    *made("rope.rotate", rotate, "1 base", *OF_POSITIONS),
    *made("rope.rotate", rotate, "1 base", "length", "ends", "sum", "largest", "words", size=1),
    *made("rope.rotate", rotate, "1", "ends", "sum", "every second", "first row", "last of each row", declared=MODEL),
    *made("rope.rotate", rotate, "1 base", "length", "differences", declared={"positions": "consecutive"}),
    *made("rope.rotate", rotate, "1 base", "ends and sum", "ends, sum and set", "every second", "bytes", around=of_few),
    *made("rope.rotate", rotate, "base 1", *OF_PARAMETERS),
    *of_each("rope.rotate", rotate, "1 base", "layout", "direction"),
    *made("rope.rotate", with_first_width, "head_dim base", "nothing", shapes=False),
    *made("rope.rotate", rotate, f"0 1 {SETTINGS}", *OF_NUMBERS),
    *made("rope.rotate", rotate, f"0 1 {SETTINGS}", "its sum", "its first token", declared={"positions": "from_zero"}),
    *of_each("partial_rope.rotate", partial_rope.rotate, "1 base", "rotary_dim", "placement"),
    *made("axial_rope.rotate", axial_rope.rotate, "1 base axes", "sum", "every second", *list(OF_OTHERS)[1:]),
    *of_each("axial_rope.rotate", axial_rope.rotate, "1", "axes"),
    *made("axial_rope.rotate", axial_rope.rotate, "axes 1 head_dim base", *OF_LISTS),
    *made("mrope.rotate", mrope.rotate, "sections 1 head_dim base order", *OF_LISTS),
    *made("yarn.rotate", yarn.rotate, "factor 1", "nothing", "its whole part"),
    *of_each("yarn.rotate", yarn.rotate, "1", "original_length", "beta_fast", "mscale", "truncate"),
    *of_each("llama3.rotate", llama3.rotate, "1", "low_freq_factor"),
    *of_each("longrope.rotate", longrope.rotate, "1", "length"),
    *made("longrope.rotate", longrope.rotate, "3", "its shape", "its sum", "its first number"),
    *made("sinusoidal.encode", sinusoidal.encode, "0 base", "ends", "sum", "set", "every second", "both ends of four", "words"),
    *made("sinusoidal.encode", sinusoidal.encode, "0 base", "whole numbers"),
    *made("sinusoidal.encode", sinusoidal.encode, "base 0", "four digits"),
    *of_each("sinusoidal.encode", sinusoidal.encode, "0", "base", "scale", "spacing", "layout"),
    *made("learned.encode", learned.encode, "0 1", "set", "ends", "half precision"),
    *made("learned.encode", learned.encode, "1", *OF_NUMBERS),
    *of_each("learned.encode", learned.encode, "0 1", "offset"),
    *made("alibi.bias", alibi.bias, "0 1", "length", "last", "sum", "set", "ends, sum and set", "every second", "first row"),
    *made("alibi.bias", alibi.bias, "1 0", "length", "ends", "sum of each row", "half precision", "last row"),
    *made("alibi.bias", alibi.bias, "max_bias", "nothing", "its whole part"),
    *of_each("alibi.bias", alibi.bias, "0 1", "form"),
    *made("t5.bias", t5.bias, "0", *(name for name in OF_NUMBERS if name != "its first row")),
    *made("t5.bias", t5.bias, "1 2", "ends", "set", "every second"),
    *made("t5.bias", t5.bias, "2 1", "least and largest", size=1),
    *of_each("t5.bias", t5.bias, "1 2", "max_distance", "bidirectional"),
    *made("relative_bias.bias", relative_bias.bias, "0", "its sum", "its first token"),
    *of_each("relative_bias.bias", relative_bias.bias, "1 2", "sign"),
    *made("kerple.bias", kerple.bias, "2", "its shape", "its sum", "its first number"),
    *of_each("kerple.bias", kerple.bias, "0 1", "form"),
    *made("da_transformer.rescale", da_transformer.rescale, "2", "its shape", "its sizes"),
    *made("da_transformer.rescale", da_transformer.rescale, "3", "its sum"),
    *made("da_transformer.rescale", da_transformer.rescale, "1 0", "ends", "sum", "first row"),
    *made("none.attend", none.attend, "3 4 causal", "length", "ends", "sum", "set"),
    *made("none.attend", none.attend, "4 3 causal", "length", "ends", "sum of each row", "first row"),
    *made("none.attend", none.attend, "4 3", "length", "ends", declared=DECODING),
    *of_each("none.attend", none.attend, "", "causal"),
    *made("rope.attend", none.attend, "3 4 causal", "length", "ends", "last of each row", around=of_turned),
    *made("rope.attend", none.attend, "causal", "nothing", around=of_turned),
    *made("rope.attend", attend, f"1 4 {SETTINGS}", *(name for name in OF_NUMBERS if name != "its words")),
    *made("rope.attend", attend, "2", "its first token", "its sum", "its every second number", "its first row"),
    *made("rope.attend", attend, f"4 1 {SETTINGS}", "ends", "set", "first row"),
    *made("shaw.attend", shaw.attend, "3", "its shape", "its sum"),
    *made("shaw.attend", shaw.attend, "4", "its first token", "its sizes"),
    *made("transformer_xl.attend", xl.attend, "3", "its shape", "its first number", "its sum"),
    *made("transformer_xl.attend", xl.attend, "4", "its sizes"),
    *made("transformer_xl.attend", xl.attend, "7 6", "ends", "length"),
    *of_each("transformer_xl.attend", xl.attend, "6 7", "clamp_length"),
]


class Grown:
    """A rotation by a table that is made as long as the ``seen`` positions reach whenever it is too short for them; look-ups clip."""

    def __init__(self, seen: Feature, length: int = 1) -> None:
        self.seen, self.length = seen, length

    def __call__(self, x: np.ndarray, positions: np.ndarray, **said: Any) -> np.ndarray:
        farthest: Any = self.seen(positions)
        self.length = max(self.length, int(farthest.max()) + 1)
        return np.asarray(rotate(x, np.minimum(positions, self.length - 1), **said))


SEEN: dict[str, Feature] = {
    "the first row": lambda p: rows(p)[0],
    "the last row": lambda p: rows(p)[-1],
    "the last tokens": lambda p: p[..., -1],
    "the first tokens": lambda p: p[..., 0],
    "the last token": lambda p: p.ravel()[-1:],
    "every second token": lambda p: p[..., ::2],
}


def grown(seen: str, declared: Mapping[str, Any]) -> Kernel:
    return Kernel(f"a table as long as {seen} ask for", "rope.rotate", Grown(SEEN[seen]), declared)
