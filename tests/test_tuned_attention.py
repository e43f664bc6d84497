"""The large call whose weights go with the positions of keys tells rounded positions from right ones in half precision."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_worker_manners import session

from conformance.calls.manner import PLAIN
from conformance.calls.outcomes import Passed
from conformance.calls.takes import Takes
from conformance.checks import vector_checks
from conformance.golden import judged, large
from conformance.golden.answers import golden
from conformance.golden.extents import PREFILL
from conformance.judge.journal import Task
from conformance.spec.declarations import operations

Places = Callable[[Any], Any]
DECLARED: dict[str, Any] = {"layout": "half", "direction": "positive", "head_dim": 64, "base": 10_000.0, "causal": True}


def attention(places: Places) -> Callable[..., Any]:
    """Return attention in float32 of what is stored in half precision, at positions that are changed."""
    import torch

    def turned(x: Any, positions: Any, base: float, head_dim: int) -> Any:
        angles = places(positions).double()[..., None] * base ** (-2.0 * torch.arange(head_dim // 2).double() / head_dim)
        cos, sin = angles.cos().float(), angles.sin().float()
        first, second = x.float().chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)

    def attend(q: Any, k: Any, v: Any, query_positions: Any, key_positions: Any, *, head_dim: int, base: float, **_: Any) -> Any:
        m, n = (turned(x, at, base, head_dim) for x, at in ((q, query_positions), (k, key_positions)))
        hidden = key_positions > query_positions[:, None]
        logits = (m @ n.mT / head_dim**0.5).masked_fill(hidden, -torch.inf)
        return (logits.softmax(-1) @ v.float()).to(q.dtype)

    return attend


def passes(places: Places, dtype: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether attention at changed positions passes the tuned call, and no other is asked for."""
    monkeypatch.setattr(large, "planned", lambda *_: (PREFILL,))
    taken = {"positions": "from_zero", "queries": "at_end", "rows": "shared", "dtypes": (dtype,)}
    opened = session(attention(places), "torch", "rope.attend", **taken, **DECLARED)
    (descriptor,) = opened.implementations
    profile = descriptor.profile[dtype]
    operation, takes = operations()["rope.attend"], descriptor.takes
    (each,) = large.large(operation, restrictions=descriptor.inside, takes=takes, dtype=dtype, seed=0, level="core")
    vector = golden(operation.name, each.arguments, identity="tuned", exposes="rounded positions", profiles=(profile,), at=each.at)
    checked = vector_checks.check(opened.subject(descriptor, dtype, profile), Task(descriptor, dtype, profile), vector, PLAIN)
    return isinstance(checked.judgement.outcome, Passed)


def rounded(dtype: str) -> Places:
    return lambda positions: positions.to(getattr(__import__("torch"), dtype))


def ended(positions: Any) -> Any:
    return positions.clamp(max=2_047)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_rounded_and_ended_positions_are_convicted_in_half_precision_and_right_ones_pass(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    assert passes(lambda positions: positions, dtype, monkeypatch)
    assert not any(passes(places, dtype, monkeypatch) for places in (rounded("bfloat16"), rounded("float16"), ended))


def test_values_that_go_with_the_turn_of_their_keys_are_needed_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(judged, "_going_along", lambda values, _: values)
    assert any(passes(places, "bfloat16", monkeypatch) for places in (rounded("bfloat16"), rounded("float16"), ended))


@pytest.mark.parametrize("placement", ["first", "last"])
def test_the_channel_that_is_looked_at_turns(placement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "planned", lambda *_: (PREFILL,))
    operation, restrictions = operations()["partial_rope.attend"], {"placement": placement, "rotary_dim": 16, "head_dim": 64}
    (each,) = large.large(operation, restrictions=restrictions, takes=Takes(), dtype="float32", seed=0, level="core")
    rows = np.unravel_index(each.at["result"], each.arguments.arrays["q"].shape)[:3]
    looked = np.unique(np.nonzero(each.arguments.arrays["q"][rows])[-1])
    assert looked.tolist() == [0 if placement == "first" else 48]
